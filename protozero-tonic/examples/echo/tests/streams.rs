//! All four kinds of streaming over TCP.

use std::net::SocketAddr;

use echo::example::echo::v1::Echo::client::EchoClient;
use echo::example::echo::v1::Echo::server::EchoServer;
use echo::example::echo::v1::{Payload, RepeatRequest};
use echo::{Repeater, TIMES_MAX};
use tokio::net::TcpListener;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::Code;
use tonic::transport::{Channel, Server};

async fn started() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = Server::builder().add_service(EchoServer::new(Repeater));
    tokio::spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
    address
}

async fn client() -> EchoClient<Channel> {
    EchoClient::connect(format!("http://{}", started().await)).await.unwrap()
}

fn payload(text: &str, len: usize) -> Payload {
    Payload { text: text.into(), data: vec![7; len], ..Payload::default() }
}

#[tokio::test]
async fn one_payload_for_one() {
    let sent = payload("once", 3);
    let got = client().await.once(sent.clone()).await.unwrap();
    assert_eq!(got.into_inner(), sent);
}

#[tokio::test]
async fn many_for_one_and_an_error_behind_them() {
    let request = |payload, times| RepeatRequest { payload, times, ..RepeatRequest::default() };
    let mut echo = client().await;
    let mut got =
        echo.repeat(request(Some(payload("again", 2)), TIMES_MAX + 1)).await.unwrap().into_inner();
    for _ in 0..TIMES_MAX {
        assert_eq!(got.message().await.unwrap().unwrap(), payload("again", 2));
    }
    assert_eq!(got.message().await.unwrap_err().code(), Code::ResourceExhausted);
    let refused = echo.repeat(request(None, 1)).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
}

#[tokio::test]
async fn one_for_many() {
    let many = tokio_stream::iter((0..100).map(|len| payload("many", len)));
    let total = client().await.count(many).await.unwrap().into_inner();
    assert_eq!((total.payloads, total.bytes), (100, 4950));
}

#[tokio::test]
async fn an_answer_comes_before_the_next_question() {
    let (ask, questions) = tokio::sync::mpsc::unbounded_channel();
    let questions = tokio_stream::wrappers::UnboundedReceiverStream::new(questions);
    let mut answers = client().await.chat(questions).await.unwrap().into_inner();
    for word in ["one", "two", "three"] {
        ask.send(payload(word, 0)).unwrap();
        let answer = answers.next().await.unwrap().unwrap();
        assert_eq!(answer.text, format!("echo: {word}"));
    }
    drop(ask);
    assert!(answers.next().await.is_none());
}
