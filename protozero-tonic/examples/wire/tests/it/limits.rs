//! Sizes at their limits and above them.

use echo::Repeater;
use echo::example::echo::v1::Echo::client::EchoClient;
use echo::example::echo::v1::Echo::server::EchoServer;
use echo::example::echo::v1::Payload;
use protozero::Message;
use tonic::{Code, Request, Response, Status};
use wire::within::within::Counter::client::CounterClient;
use wire::within::within::Counter::server::{Counter as CounterOfServer, CounterServer};
use wire::within::within::{List, List_Element, Total};

use crate::served::channel;

fn payload() -> Payload {
    Payload { data: vec![1; 5000], ..Payload::default() }
}

/// Counts elements.
struct Counter;

#[tonic::async_trait]
impl CounterOfServer for Counter {
    async fn count(&self, request: Request<List>) -> Result<Response<Total>, Status> {
        let count = request.get_ref().elements.len().try_into().expect("a small number");
        Ok(Response::new(Total { count, ..Total::default() }))
    }
}

/// An element takes two bytes on the wire and a struct in memory, of which a megabyte is allowed.
#[tokio::test]
async fn a_server_takes_no_more_memory_than_it_was_made_for() {
    let mut client = CounterClient::new(channel(CounterServer::new(Counter)).await);
    let fits = (1 << 20) / size_of::<List_Element>();
    let of = |count| List { elements: vec![List_Element::default(); count], ..List::default() };
    assert_eq!(client.count(of(fits)).await.unwrap().get_ref().count as usize, fits);
    let refused = client.count(of(fits + 1)).await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted, "{refused}");
    assert!(refused.message().contains("memory"), "{refused}");
}

/// The default of tonic.
const DECODED_MAX: usize = 4 << 20;

#[tokio::test]
async fn a_server_decodes_no_larger_message_than_it_allows() {
    let at = payload().encoded_len();
    let exact = EchoServer::new(Repeater).max_decoding_message_size(at);
    EchoClient::new(channel(exact).await).once(payload()).await.unwrap();
    let below = EchoServer::new(Repeater).max_decoding_message_size(at - 1);
    let refused = EchoClient::new(channel(below).await).once(payload()).await.unwrap_err();
    assert_eq!(refused.code(), Code::OutOfRange, "{refused}");
}

#[tokio::test]
async fn a_client_decodes_no_larger_message_than_it_allows() {
    let (at, channel) = (payload().encoded_len(), channel(EchoServer::new(Repeater)).await);
    let mut client = EchoClient::new(channel.clone()).max_decoding_message_size(at);
    client.once(payload()).await.unwrap();
    let mut client = EchoClient::new(channel).max_decoding_message_size(at - 1);
    assert_eq!(client.once(payload()).await.unwrap_err().code(), Code::OutOfRange);
}

#[tokio::test]
async fn both_encode_no_larger_message_than_they_allow() {
    let at = payload().encoded_len();
    let server = EchoServer::new(Repeater).max_encoding_message_size(at - 1);
    let channel = channel(server).await;
    let mut client = EchoClient::new(channel.clone()).max_encoding_message_size(at);
    let from_server = client.once(payload()).await.unwrap_err();
    assert_eq!(from_server.code(), Code::OutOfRange);
    let mut client = EchoClient::new(channel).max_encoding_message_size(at - 1);
    // tonic resets the stream of a request that it cannot encode.
    assert_eq!(client.once(payload()).await.unwrap_err().code(), Code::Internal);
}

#[tokio::test]
async fn four_mebibytes_are_decoded_by_default() {
    let mut client = EchoClient::new(channel(EchoServer::new(Repeater)).await);
    let of = |len| Payload { data: vec![1; len], ..Payload::default() };
    let around = of(DECODED_MAX).encoded_len() - DECODED_MAX;
    let largest = of(DECODED_MAX - around);
    assert_eq!(client.once(largest.clone()).await.unwrap().into_inner(), largest);
    let refused = client.once(of(DECODED_MAX - around + 1)).await.unwrap_err();
    assert_eq!(refused.code(), Code::OutOfRange);
}
