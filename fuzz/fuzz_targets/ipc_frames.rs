//! A peer that says anything, cut anywhere: both ends of both ports. No panic, and nothing kept
//! beyond one frame and what was asked for.
#![no_main]
use tracing_core::ipc::port::{ConsumerPort, ProducerPort};
use tracing_core::ipc::{Client, Host};
use tracing_core::limits::IPC_FRAME_BYTES_MAX;

libfuzzer_sys::fuzz_target!(|input: (u8, &[u8])| {
    let (step, bytes) = (usize::from(input.0) + 1, input.1);
    let mut producer = Host::<ProducerPort, u8>::default();
    let mut consumer = Host::<ConsumerPort, u8>::default();
    let mut client = Client::<ProducerPort, u8>::new();
    for piece in bytes.chunks(step) {
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
});
