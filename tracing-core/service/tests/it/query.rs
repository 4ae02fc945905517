//! Descriptors that are as large as a frame lets them be.

use super::*;
use abi::ipc::{Body, Frame, InvokeReply};
use protos::QueryServiceStateResponse;
use protos::consumer_port::Request;
use protozero::Message as _;
use service::limits;

/// A descriptor of that many bytes.
fn of_bytes(name: &str, bytes: usize) -> DataSourceDescriptor {
    let with = |len: usize| DataSourceDescriptor {
        track_event_descriptor: Some(protos::TrackEventDescriptor {
            available_categories: vec![protos::TrackEventCategory {
                name: Some("x".repeat(len)),
                ..Default::default()
            }],
            ..Default::default()
        }),
        ..descriptor(name)
    };
    let envelope = with(bytes).encode_to_vec().len() - bytes;
    let made = with(bytes - envelope);
    assert_eq!(made.encode_to_vec().len(), bytes);
    made
}

/// The data sources in the answer to a question, all replies of which fit into frames.
fn sources(shell: &mut Shell) -> Vec<DataSourceDescriptor> {
    let consumer = MockConsumer::connect(shell, 0);
    let replies = consumer.call(shell, Request::QueryServiceState(Default::default()));
    let mut all = Vec::new();
    for reply in &replies {
        let message = reply.response.clone().unwrap();
        let response = QueryServiceStateResponse::decode(&message).unwrap();
        let call = reply.call.get();
        let reply = InvokeReply::Succeeded { has_more: true, reply: &message };
        let frame = Frame { request_id: call, body: Some(Body::InvokeReply(reply)) };
        frame.encode().unwrap();
        let sources = response.service_state.unwrap().data_sources;
        all.extend(sources.into_iter().map(|source| (*source.ds_descriptor.unwrap()).clone()));
    }
    consumer.disconnect(shell);
    all
}

fn log_lines(shell: &Shell, text: &str) -> usize {
    shell.log.iter().filter(|line| line.1.contains(text)).count()
}

#[test]
fn a_descriptor_that_fills_a_request_is_in_the_answer() {
    let mut shell = Shell::new();
    let producer = producer(&mut shell, "producer");
    let (small, large) = (descriptor("small"), of_bytes("large", 128 * 1024 - 64));
    for descriptor in [&small, &large] {
        producer.register(&mut shell, descriptor.clone());
    }
    assert_eq!(sources(&mut shell), [large, small]);
    assert_eq!(log_lines(&shell, "too large for a reply"), 0);
}

/// The frame of a reply has a longer envelope than that of a request, so a request has room for some bytes more.
#[test]
fn of_a_larger_one_there_is_the_name_and_a_line_in_the_log() {
    let mut shell = Shell::new();
    let producer = producer(&mut shell, "producer");
    let most = (limits::IPC_STATE_BYTES_MAX - 8..limits::IPC_STATE_BYTES_MAX + 8).rev();
    for bytes in most {
        producer.register(&mut shell, of_bytes(&format!("{bytes}"), bytes));
    }
    let answer = sources(&mut shell);
    assert!(answer.iter().all(|descriptor| descriptor.id.is_none()), "none had one");
    let whole: Vec<bool> = answer.iter().map(|d| d.track_event_descriptor.is_some()).collect();
    let count = whole.iter().filter(|whole| **whole).count();
    assert!((1..16).contains(&count), "{count} of 16 fit");
    assert!(whole.is_sorted_by(|a, b| a >= b), "the smaller ones: {whole:?}");
    assert_eq!(log_lines(&shell, "too large for a reply"), 16 - count);
}
