//! Servers that were written before their service had a method.

use std::sync::Arc;

use tonic::codegen::BoxStream;
use tonic::{Code, Request, Response, Status};
use wire::stubs::example::echo::v1::Echo::client::EchoClient;
use wire::stubs::example::echo::v1::Echo::server::{Echo, EchoServer};
use wire::stubs::example::echo::v1::{Payload, RepeatRequest};

use crate::served::channel;

/// Has no method.
struct Nothing;

impl Echo for Nothing {}

/// Has one, which takes an `Arc`.
struct Once;

#[tonic::async_trait]
impl Echo for Once {
    async fn once(self: Arc<Self>, request: Request<Payload>) -> Result<Response<Payload>, Status> {
        Ok(Response::new(request.into_inner()))
    }

    async fn repeat(
        self: Arc<Self>,
        request: Request<RepeatRequest>,
    ) -> Result<Response<BoxStream<Payload>>, Status> {
        let payload = request.into_inner().payload.unwrap_or_default();
        Ok(Response::new(Box::pin(tokio_stream::once(Ok(payload)))))
    }
}

#[tokio::test]
async fn a_method_without_a_body_is_unimplemented() {
    let mut client = EchoClient::new(channel(EchoServer::new(Nothing)).await);
    let requests = || tokio_stream::once(Payload::default());
    let answers = [
        client.once(Payload::default()).await.map(drop),
        client.repeat(RepeatRequest::default()).await.map(drop),
        client.count(requests()).await.map(drop),
        client.chat(requests()).await.map(drop),
    ];
    assert_eq!(answers.map(|answer| answer.unwrap_err().code()), [Code::Unimplemented; 4]);
}

#[tokio::test]
async fn other_methods_answer() {
    let mut client = EchoClient::new(channel(EchoServer::new(Once)).await);
    let payload = Payload { text: "one".into(), ..Payload::default() };
    assert_eq!(client.once(payload.clone()).await.unwrap().into_inner(), payload);
    let request = RepeatRequest { payload: Some(payload.clone()), ..RepeatRequest::default() };
    let mut many = client.repeat(request).await.unwrap().into_inner();
    assert_eq!(many.message().await.unwrap(), Some(payload));
    assert_eq!(client.count(tokio_stream::empty()).await.unwrap_err().code(), Code::Unimplemented);
}
