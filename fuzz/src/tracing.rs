//! What a peer of the service can send, and a user can write.

use std::sync::OnceLock;

use protos::TraceConfig;
use protozero::Message;
use protozero::dynamic::MessageDescriptor;
use protozero::text::{Options, parse_message};
use tracing_core::ipc::port::{ConsumerPort, ProducerPort};
use tracing_core::ipc::{Client, Host};
use tracing_core::limits::IPC_FRAME_BYTES_MAX;

/// Any `CommitDataRequest` over any contents of shared memory.
pub fn commit_data(input: &[u8]) {
    tracing_core::testing::commit_data(input);
}

/// Chunks, patches and reads in any order, with any claim in them: the buffer and its slow twin agree.
pub fn trace_buffer(input: &[u8]) {
    tracing_core::buffer::testing::play(input);
}

/// Any text as a config, strict and lossy: refused with a place, or read into what decodes again.
pub fn text_config(text: &[u8]) {
    static CONFIG: OnceLock<MessageDescriptor> = OnceLock::new();
    let config = CONFIG.get_or_init(|| TraceConfig::DESCRIPTOR.into());
    for lossy in [false, true] {
        match parse_message(config, text, &Options { file: "fuzz", lossy }) {
            Ok(message) => assert!(TraceConfig::decode(&message.encode()).is_ok()),
            Err(errors) => assert!(errors.to_string().lines().count() >= 3),
        }
    }
}

/// A peer that says anything, cut anywhere (the first byte tells into what): both ends of both ports.
/// No panic, and nothing kept beyond one frame and what was asked for.
pub fn ipc_frames(input: &[u8]) {
    let Some((step, bytes)) = input.split_first() else { return };
    let mut producer = Host::<ProducerPort, u8>::default();
    let mut consumer = Host::<ConsumerPort, u8>::default();
    let mut client = Client::<ProducerPort, u8>::new();
    for piece in bytes.chunks(usize::from(*step) + 1) {
        let fd = piece.first().filter(|byte| **byte > 200).copied();
        let open = producer.receive(piece, fd).is_ok();
        assert_eq!(open, consumer.receive(piece, fd).is_ok());
        assert_eq!(open, client.receive(piece, fd).is_ok());
        while let Some(event) = producer.poll_event() {
            drop(event);
        }
        while client.poll_event().is_some() {}
        if !open {
            break;
        }
    }
    // An answer is at most the producer port's method table, for a bind of a few bytes.
    assert!(producer.queued_len() <= bytes.len() * 100 + IPC_FRAME_BYTES_MAX);
    client.close();
}
