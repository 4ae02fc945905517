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
        fn decode_within(
            id: u32,
            args: &[u8],
            growth: &DecodeMemory<'_>,
        ) -> Result<Request, Unroutable> {
            DECODED.set(DECODED.get() + 1);
            Echo::decode_within(id, args, growth)
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

/// What decoding cost is counted: bytes of frames, and of structs, which may be many times as many. So it is when the
/// request is refused.
#[cfg(feature = "consumer")]
#[test]
fn what_was_decoded_is_counted() {
    use crate::ipc::port::ConsumerPort;
    use crate::limits::IPC_DECODED_BYTES_MAX;
    let decoded = |sources: usize| {
        let config = [0x12, 0].repeat(sources);
        let len = config.len();
        let mut args = vec![0x0a, len as u8 | 0x80, (len >> 7) as u8 | 0x80, (len >> 14) as u8];
        args.extend(config);
        let frame = invoke_frame(1, 1, 1, args.leak(), false);
        let mut host = Host::<ConsumerPort, u32>::default();
        host.receive(&frame, None).unwrap();
        let is_call = host.poll_event().is_some();
        assert_eq!(host.take_refused(), u64::from(!is_call));
        let bytes = host.decoded();
        assert_eq!(host.take_decoded(), bytes);
        assert_eq!(host.take_decoded(), 0);
        (is_call, bytes - (frame.len() - 4))
    };
    // A request of the port that makes no structs.
    let frame = invoke_frame(1, 1, 1, &[b'a'; 1000], false);
    let mut host = Host::<Echo, u32>::default();
    host.receive(&frame, None).unwrap();
    assert!(host.poll_event().is_some());
    assert_eq!(host.take_decoded(), frame.len() - 4);
    let (_, config) = decoded(0);
    let (is_call, grown) = decoded(1000);
    assert!(is_call && grown >= config + 1000 * size_of::<usize>(), "{config} {grown}");
    let (is_call, grown) = decoded(60_000);
    assert!(!is_call && grown > IPC_DECODED_BYTES_MAX / 2, "{grown}");
}

/// Frames before a descriptor are decoded when that arrives, and may become many times as long.
#[cfg(feature = "consumer")]
#[test]
fn requests_that_wait_are_part_of_the_memory() {
    use crate::ipc::port::ConsumerPort;
    let args = [&[0x0a, 0xd0, 0x0f][..], &[0x12, 0].repeat(1000)].concat();
    let frame = invoke_frame(1, 1, 1, args.leak(), false);
    let mut host = Host::<ConsumerPort, u32>::default();
    for _ in 0..3 {
        host.receive(&frame, None).unwrap();
    }
    host.receive(&[], Some(7)).unwrap();
    let waiting = host.memory();
    while host.poll_event().is_some() {}
    let decoded = host.take_decoded();
    assert!(decoded > 5 * 3 * frame.len());
    assert!(waiting >= decoded && host.memory() <= waiting - decoded, "{waiting} {decoded}");
}

/// A peer that takes no replies chooses how many there are. One in the queue takes far more memory than its bytes.
#[test]
fn replies_that_nobody_takes_are_kept_as_bytes() {
    let mut host = Host::<Echo, u32>::default();
    let mut expected = Vec::new();
    for id in 0..20_000 {
        let call = CallId::new(id % 100);
        let result = if id % 3 == 0 { Err(Rejected) } else { Ok(vec![id as u8; id as usize % 40]) };
        let mut alone = Host::<Echo, u32>::default();
        alone.reply(call, result.clone(), false, None).unwrap();
        expected.extend(drain(alone.outbox()).0);
        host.reply(call, result, false, None).unwrap();
    }
    let (memory, len) = (host.outbox().memory(), host.queued_len());
    assert_eq!(len, expected.len());
    assert!(memory < 2 * len, "{memory} bytes of memory for {len}");
    // Sent in pieces that end anywhere.
    let mut sent = Vec::new();
    while !host.outbox().is_empty() {
        let mut parts = Vec::new();
        host.outbox().next(&mut parts);
        let piece: Vec<u8> = parts.iter().flat_map(|part| part.iter().copied()).take(777).collect();
        host.outbox().advance(piece.len());
        sent.extend(piece);
    }
    assert!(sent == expected);
}

#[test]
fn a_queue_that_was_long_keeps_no_memory() {
    let mut host = Host::<Echo, u32>::default();
    for _ in 0..1000 {
        host.reply(CallId::new(1), Ok(vec![0; 5000]), true, None).unwrap();
    }
    assert!(host.memory() > 5_000_000);
    drain(host.outbox());
    assert!(host.memory() < 16 * 1024, "{} bytes", host.memory());
}

/// What a peer sent is given back when it is handled; of a frame that is not complete there is as much as it claims.
#[test]
fn frames_that_were_handled_keep_no_memory() {
    let mut host = Host::<Echo, u32>::default();
    let long = invoke_frame(1, 1, 2, &[7; 100_000], false);
    for _ in 0..3 {
        host.receive(&long, None).unwrap();
        assert!(host.memory() > 100_000);
        assert!(host.poll_event().is_some());
        assert!(host.memory() < 16 * 1024, "{} bytes", host.memory());
    }
    // A frame, and the beginning of another one.
    let (begin, rest) = long.split_at(50_000);
    host.receive(&[&long[..], begin].concat(), None).unwrap();
    assert!(host.poll_event().is_some() && host.poll_event().is_none());
    let memory = host.memory();
    assert!((100_000..110_000).contains(&memory), "{memory} bytes");
    host.receive(rest, None).unwrap();
    let Some(HostEvent::Call { request, .. }) = host.poll_event() else { panic!("no call") };
    assert_eq!(request.args, vec![7; 100_000]);
}
