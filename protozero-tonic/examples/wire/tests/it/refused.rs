//! Messages that are none, and methods that are none: a status with a reason.

use echo::Repeater;
use echo::example::echo::v1::Echo::client::EchoClient;
use echo::example::echo::v1::Echo::server::{Echo, EchoServer};
use echo::example::echo::v1::{Payload, RepeatRequest, Total};
use protozero_tonic::Codec;
use tokio_stream::StreamExt;
use tonic::client::Grpc;
use tonic::codegen::BoxStream;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::Channel;
use tonic::{Code, Request, Response, Status, Streaming};
use wire::Loose;

use crate::served::channel;

/// Sends `Loose` to the method at `path`, which expects another message.
async fn send(channel: &Channel, path: &'static str, message: Loose) -> Result<Loose, Status> {
    let mut grpc = Grpc::new(channel.clone());
    grpc.ready().await.unwrap();
    let codec = Codec::<Loose, Loose>::default();
    let path = PathAndQuery::from_static(path);
    grpc.unary(Request::new(message), path, codec).await.map(|answer| answer.into_inner())
}

const ONCE: &str = "/example.echo.v1.Echo/Once";

#[tokio::test]
async fn bytes_that_are_no_message_are_an_internal_error() {
    let channel = channel(EchoServer::new(Repeater)).await;
    let text = Loose { one: b"text".into(), ..Loose::default() };
    assert_eq!(send(&channel, ONCE, text.clone()).await.unwrap(), text);
    // A text that is no UTF-8, and a nested message that ends too early.
    let texts = Loose { one: b"\xff".into(), ..Loose::default() };
    let nested = Loose { four: b"\x0a\x09".into(), ..Loose::default() };
    for wrong in [texts, nested] {
        let status = send(&channel, ONCE, wrong).await.unwrap_err();
        assert_eq!(status.code(), Code::Internal);
        let start = "the message cannot be decoded: ";
        assert!(status.message().starts_with(start), "{status}");
    }
}

#[tokio::test]
async fn methods_and_services_that_are_not_there() {
    let channel = channel(EchoServer::new(Repeater)).await;
    for path in ["/example.echo.v1.Echo/Twice", "/example.echo.Echo/Once", "/Echo/Once"] {
        let status = send(&channel, path, Loose::default()).await.unwrap_err();
        assert_eq!(status.code(), Code::Unimplemented, "{path}");
    }
}

/// Answers with more levels than decoders accept.
struct Deep;

fn deep() -> Payload {
    let mut deep = Payload::default();
    for _ in 0..200 {
        let mut outer = Payload::default();
        outer.parts.insert("part".into(), deep);
        deep = outer;
    }
    deep
}

#[tonic::async_trait]
impl Echo for Deep {
    async fn once(&self, _: Request<Payload>) -> Result<Response<Payload>, Status> {
        Ok(Response::new(deep()))
    }

    type RepeatStream = BoxStream<Payload>;

    async fn repeat(
        &self,
        _: Request<RepeatRequest>,
    ) -> Result<Response<Self::RepeatStream>, Status> {
        let one = Payload { text: "one".into(), ..Payload::default() };
        Ok(Response::new(Box::pin(tokio_stream::iter([Ok(one), Ok(deep())]))))
    }

    async fn count(&self, _: Request<Streaming<Payload>>) -> Result<Response<Total>, Status> {
        Err(Status::unimplemented("count"))
    }

    type ChatStream = BoxStream<Payload>;

    async fn chat(
        &self,
        _: Request<Streaming<Payload>>,
    ) -> Result<Response<Self::ChatStream>, Status> {
        Err(Status::unimplemented("chat"))
    }
}

fn is_about_encoding(status: &Status) {
    assert_eq!(status.code(), Code::Internal);
    assert!(status.message().contains("the message cannot be encoded: "), "{status}");
}

#[tokio::test]
async fn an_answer_that_cannot_be_encoded_is_an_internal_error() {
    let mut client = EchoClient::new(channel(EchoServer::new(Deep)).await);
    is_about_encoding(&client.once(Payload::default()).await.unwrap_err());
    // tonic may drop the payload before it, which waits in the same buffer.
    let status = match client.repeat(RepeatRequest::default()).await {
        Ok(many) => many.into_inner().collect::<Result<Vec<_>, _>>().await.unwrap_err(),
        Err(status) => status,
    };
    is_about_encoding(&status);
}

#[tokio::test]
async fn a_request_that_cannot_be_encoded_is_not_sent() {
    let mut client = EchoClient::new(channel(EchoServer::new(Repeater)).await);
    // tonic resets the stream of such a request, and knows no reason.
    assert_eq!(client.once(deep()).await.unwrap_err().code(), Code::Internal);
    client.once(Payload::default()).await.unwrap();
}
