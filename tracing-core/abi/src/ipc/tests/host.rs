//! The end of the service: binds, requests, replies, descriptors.

use super::*;

/// What a host answers to `sent` by itself, without a service.
fn answer(sent: &[u8]) -> Vec<u8> {
    let mut host = Host::<Echo, u32>::default();
    host.receive(sent, None).unwrap();
    host.decode_waiting();
    drain(host.outbox()).0
}

#[test]
fn replies_have_upstreams_bytes() {
    let mut host = Host::<Echo, u32>::default();
    host.reply(CallId::new(1), Ok(Vec::new()), false, None).unwrap();
    host.reply(CallId::new(1), Ok(b"x".to_vec()), true, None).unwrap();
    host.reply(CallId::new(1), Err(Rejected), false, None).unwrap();
    let expected = "0a 00 00 00 10 01 | 32 06 08 01 10 00 1a 00 \
        | 0b 00 00 00 10 01 | 32 07 08 01 10 01 1a 01 78 | 06 00 00 00 10 01 | 32 02 10 00";
    assert_eq!(drain(host.outbox()).0, hex(expected));
}

#[test]
fn what_cannot_be_routed_fails_even_without_a_reply_wanted() {
    let failed = hex("06 00 00 00 10 05 | 32 02 08 00");
    for drop in [false, true] {
        assert_eq!(answer(&invoke_frame(5, 2, 1, b"", drop)), failed, "service");
        assert_eq!(answer(&invoke_frame(5, 1, 0, b"", drop)), failed, "method 0");
        assert_eq!(answer(&invoke_frame(5, 1, 4, b"", drop)), failed, "method past the table");
        assert_eq!(answer(&invoke_frame(5, 1, 1, b"bad", drop)), failed, "arguments");
    }
}

#[test]
fn unknown_binds_and_requests_leave_the_connection_usable() {
    let unknown = encode(&Frame {
        request_id: 1,
        body: Some(Body::Bind(Bind { service_name: "NoPort".into() })),
    });
    assert_eq!(answer(&unknown), hex("04 00 00 00 10 01 22 00"));

    let error = b"\x0a\x0funknown request";
    let expected = [&hex("15 00 00 00 10 07 3a 11")[..], error].concat();
    assert_eq!(answer(&encode(&Frame { request_id: 7, body: None })), expected);

    // Not protobuf: no answer, and the next frame counts.
    let garbage = hex("02 00 00 00 ff ff");
    let stream = [garbage, bind_frame(2), bind_frame(2)].concat();
    let answers = answer(&stream);
    let replies = decode_all(&answers);
    assert_eq!(replies.len(), 2, "binding twice is fine");
    assert_eq!(replies[0], replies[1]);
    let Some(Body::BindReply(reply)) = &replies[0].body else { panic!("not a bind reply") };
    assert_eq!((reply.service_id, reply.methods.len()), (1, 3));
}

/// Frames that call nothing are answered some at a time, and counted.
#[test]
fn calls_of_unknown_methods_are_counted() {
    let mut host = Host::<Echo, u32>::default();
    for id in 0..100 {
        host.receive(&invoke_frame(id, 1, 99, b"", false), None).unwrap();
    }
    host.receive(&hex("02 00 00 00 08 ff"), None).unwrap();
    host.receive(&invoke_frame(200, 1, 1, b"", false), None).unwrap();
    assert!(host.poll_event().is_none() && host.has_events());
    assert_eq!((host.take_refused(), host.take_refused()), (64, 0));
    assert!(matches!(host.poll_event(), Some(HostEvent::Call { .. })));
    assert_eq!((host.take_refused(), host.has_events()), (37, false));
    assert_eq!(host.undecodable(), 1);
    let (bytes, _) = drain(host.outbox());
    assert!(bytes.len() > 100 * 4, "each call was answered");
}

#[test]
fn absent_arguments_are_empty_ones() {
    let mut host = Host::<Echo, u32>::default();
    host.receive(&hex("08 00 00 00 10 04 2a 04 08 01 10 02"), None).unwrap();
    host.decode_waiting();
    let Some(HostEvent::Call { call, request, fd }) = host.poll_event() else { panic!("no call") };
    assert_eq!((call, request, fd), (Some(CallId::new(4)), observe(), None));
}

#[test]
fn a_descriptor_waits_for_a_method_that_takes_it_and_the_last_wins() {
    let mut host = Host::<Echo, u32>::default();
    host.receive(&bind_frame(1), Some(10)).unwrap();
    host.receive(&invoke_frame(2, 1, 2, b"", false), Some(11)).unwrap();
    host.receive(&invoke_frame(3, 1, 1, b"", true), None).unwrap();
    host.receive(&invoke_frame(4, 1, 1, b"", true), None).unwrap();
    let fds: Vec<_> = std::iter::from_fn(|| host.poll_event())
        .map(|event| match event {
            HostEvent::Call { call, fd, .. } => (call, fd),
            HostEvent::PeerIdentity(_) => panic!("no identity was sent"),
        })
        .collect();
    assert_eq!(fds, [(Some(CallId::new(2)), None), (None, Some(11)), (None, None)]);
}
