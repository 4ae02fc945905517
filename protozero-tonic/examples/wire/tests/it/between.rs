//! Our client with prost's server, and prost's client with ours.

use echo::Repeater;
use echo::example::echo::v1 as ours;
use ours::Echo::client::EchoClient as OurClient;
use ours::Echo::server::EchoServer as OurServer;
use tokio_stream::StreamExt;
use tonic::codegen::BoxStream;
use tonic::{Code, Request, Response, Status, Streaming};
use wire::theirs;
use wire::theirs::echo_client::EchoClient as TheirClient;
use wire::theirs::echo_server::EchoServer as TheirServer;

use crate::served::channel;

/// The echo, of prost's messages.
struct TheirRepeater;

#[tonic::async_trait]
impl theirs::echo_server::Echo for TheirRepeater {
    async fn once(
        &self,
        request: Request<theirs::Payload>,
    ) -> Result<Response<theirs::Payload>, Status> {
        Ok(Response::new(request.into_inner()))
    }

    type RepeatStream = BoxStream<theirs::Payload>;

    async fn repeat(
        &self,
        request: Request<theirs::RepeatRequest>,
    ) -> Result<Response<Self::RepeatStream>, Status> {
        let theirs::RepeatRequest { payload, times } = request.into_inner();
        let payload = payload.ok_or_else(|| Status::invalid_argument("there is no payload"))?;
        let all = (0..times).map(move |_| Ok(payload.clone()));
        Ok(Response::new(Box::pin(tokio_stream::iter(all))))
    }

    async fn count(
        &self,
        request: Request<Streaming<theirs::Payload>>,
    ) -> Result<Response<theirs::Total>, Status> {
        let mut payloads = request.into_inner();
        let mut total = theirs::Total::default();
        while let Some(payload) = payloads.message().await? {
            total.payloads += 1;
            total.bytes += payload.data.len() as u64;
        }
        Ok(Response::new(total))
    }

    type ChatStream = BoxStream<theirs::Payload>;

    async fn chat(
        &self,
        request: Request<Streaming<theirs::Payload>>,
    ) -> Result<Response<Self::ChatStream>, Status> {
        let answers = request.into_inner().map(|payload| {
            let mut payload = payload?;
            payload.text.insert_str(0, "echo: ");
            Ok(payload)
        });
        Ok(Response::new(Box::pin(answers)))
    }
}

/// All methods, with the messages of one implementation.
macro_rules! exchange {
    ($client:expr, $messages:ident, $kind:expr, $repeat:expr) => {{
        let mut client = $client;
        let part = $messages::Payload { numbers: vec![-1, 0, 70000], ..Default::default() };
        let mut sent = $messages::Payload {
            text: "zażółć".into(),
            data: vec![0, 255],
            kind: Some($kind),
            ..Default::default()
        };
        sent.parts.insert("part".into(), part);
        assert_eq!(client.once(sent.clone()).await.unwrap().into_inner(), sent);

        let request = $repeat;
        let got = client.repeat(request(Some(sent.clone()), 3)).await.unwrap().into_inner();
        let got: Vec<_> = got.collect::<Result<_, _>>().await.unwrap();
        assert_eq!(got, [sent.clone(), sent.clone(), sent.clone()]);
        let refused = client.repeat(request(None, 1)).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument);
        assert_eq!(refused.message(), "there is no payload");

        let total = client.count(tokio_stream::iter(vec![sent.clone(); 5])).await.unwrap();
        let total = total.into_inner();
        assert_eq!((total.payloads, total.bytes), (5, 10));

        let answers = client.chat(tokio_stream::iter(vec![sent.clone(); 2])).await.unwrap();
        let answers: Vec<_> = answers.into_inner().collect::<Result<_, _>>().await.unwrap();
        sent.text.insert_str(0, "echo: ");
        assert_eq!(answers, [sent.clone(), sent]);
    }};
}

fn our_request(payload: Option<ours::Payload>, times: u32) -> ours::RepeatRequest {
    ours::RepeatRequest { payload, times, ..ours::RepeatRequest::default() }
}

fn their_request(payload: Option<theirs::Payload>, times: u32) -> theirs::RepeatRequest {
    theirs::RepeatRequest { payload, times }
}

#[tokio::test]
async fn our_client_with_our_server() {
    let client = OurClient::new(channel(OurServer::new(Repeater)).await);
    exchange!(client, ours, ours::Payload_KindOneof::Yes(true), our_request);
}

#[tokio::test]
async fn our_client_with_the_server_of_prost() {
    let client = OurClient::new(channel(TheirServer::new(TheirRepeater)).await);
    exchange!(client, ours, ours::Payload_KindOneof::Weight(0.5), our_request);
}

#[tokio::test]
async fn the_client_of_prost_with_our_server() {
    let client = TheirClient::new(channel(OurServer::new(Repeater)).await);
    exchange!(client, theirs, theirs::payload::Kind::Yes(false), their_request);
}
