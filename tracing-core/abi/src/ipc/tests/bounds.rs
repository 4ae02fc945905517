//! How much a client can make a host keep and send.

use super::*;

/// A request may take many times the memory of its frame, so it is decoded when it is handled.
#[test]
fn a_request_is_decoded_when_it_is_taken_out() {
    thread_local!(static DECODED: core::cell::Cell<u32> = const { core::cell::Cell::new(0) });
    struct Counted;
    impl Port for Counted {
        type Request = Request;
        const NAME: &'static str = "EchoPort";
        const METHODS: &'static [MethodInfo] = METHODS;
        fn decode(id: u32, args: &[u8]) -> Result<Request, Unroutable> {
            DECODED.set(DECODED.get() + 1);
            Echo::decode(id, args)
        }
        fn method_name(_: &Request) -> &'static str {
            ""
        }
        fn encode(request: &Request) -> Vec<u8> {
            request.args.clone()
        }
        fn takes_descriptor(_: &Request) -> bool {
            false
        }
    }
    let mut host = Host::<Counted, u32>::default();
    host.receive(&bind_frame(1), None).unwrap();
    for id in 2..10 {
        host.receive(&invoke_frame(id, 1, 2, b"", false), None).unwrap();
    }
    assert!(host.has_events());
    assert_eq!(DECODED.get(), 0);
    assert!(host.poll_event().is_some());
    assert_eq!(DECODED.get(), 1);
    assert_eq!(core::iter::from_fn(|| host.poll_event()).count(), 7);
    assert!(!host.has_events());
}

/// The answer to a bind is many times as long as the question.
#[test]
fn only_a_few_binds_get_the_methods() {
    let mut host = Host::<Echo, u32>::default();
    let mut lengths = Vec::new();
    for id in 0..100 {
        host.receive(&bind_frame(id), None).unwrap();
        host.decode_waiting();
        lengths.push(drain(host.outbox()).0.len());
    }
    let full = lengths.iter().filter(|len| **len == lengths[0]).count();
    assert_eq!(full, crate::limits::IPC_BINDS_MAX as usize);
    assert!(lengths[99] < bind_frame(0).len(), "{} bytes", lengths[99]);
}

/// A small frame must not become a large request.
#[cfg(feature = "consumer")]
#[test]
fn a_request_whose_structs_take_too_much_is_unroutable() {
    use crate::ipc::port::{ConsumerPort, ProducerPort};
    let framed = |number: u8, body: &[u8]| {
        let mut out = vec![number << 3 | 2];
        let len = body.len();
        out.extend([len as u8 | 0x80, (len >> 7) as u8 | 0x80, (len >> 14) as u8]);
        out.extend_from_slice(body);
        out
    };
    let config = |sources: usize| framed(1, &[0x12, 0].repeat(sources));
    assert!(ConsumerPort::decode(1, &config(100)).is_ok());
    assert!(ConsumerPort::decode(1, &config(60_000)).is_err());
    let descriptor = |categories| framed(1, &framed(6, &[0x0a, 0].repeat(categories)));
    assert!(ProducerPort::decode(2, &descriptor(4_000)).is_ok());
    assert!(ProducerPort::decode(2, &descriptor(65_000)).is_err());
}
