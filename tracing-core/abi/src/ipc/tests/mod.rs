//! Frames, captures of real peers (annotated in the order they were seen), and both ends together.

mod bounds;

use protozero::DecodeMemory;
use protozero::rt::MethodInfo;

use super::port::Unroutable;
use super::*;
use crate::ids::CallId;
use crate::limits::IPC_FRAME_BYTES_MAX;

/// A port with three methods whose requests are their arguments.
struct Echo;

#[derive(Clone, Debug, PartialEq, Eq)]
struct Request {
    id: u32,
    args: Vec<u8>,
}

const METHODS: &[MethodInfo] = &[
    MethodInfo { id: 1, name: "Open", streaming: false, client_streaming: false },
    MethodInfo { id: 2, name: "Watch", streaming: true, client_streaming: false },
    MethodInfo { id: 3, name: "New", streaming: false, client_streaming: false },
];

impl Port for Echo {
    type Request = Request;
    const NAME: &'static str = "EchoPort";
    const METHODS: &'static [MethodInfo] = METHODS;

    fn decode_within(id: u32, args: &[u8], _: &DecodeMemory<'_>) -> Result<Request, Unroutable> {
        if !(1..=3).contains(&id) || args == b"bad" {
            return Err(Unroutable);
        }
        Ok(Request { id, args: args.to_vec() })
    }

    fn method_name(request: &Request) -> &'static str {
        METHODS[request.id as usize - 1].name
    }

    fn encode(request: &Request) -> Vec<u8> {
        request.args.clone()
    }

    fn takes_descriptor(request: &Request) -> bool {
        request.id == 1
    }
}

/// `Echo` before `New` was added.
struct OldEcho;

impl Port for OldEcho {
    type Request = Request;
    const NAME: &'static str = "EchoPort";
    const METHODS: &'static [MethodInfo] = METHODS.split_at(2).0;

    fn decode_within(
        id: u32,
        args: &[u8],
        growth: &DecodeMemory<'_>,
    ) -> Result<Request, Unroutable> {
        Echo::decode_within(id, args, growth)
    }
    fn method_name(request: &Request) -> &'static str {
        Echo::method_name(request)
    }
    fn encode(request: &Request) -> Vec<u8> {
        Echo::encode(request)
    }
    fn takes_descriptor(request: &Request) -> bool {
        Echo::takes_descriptor(request)
    }
}

fn open(args: &'static [u8]) -> Request {
    Request { id: 1, args: args.to_vec() }
}

fn observe() -> Request {
    Request { id: 2, args: Vec::new() }
}

/// Bytes of a hex dump; `|` and line breaks are for the eye.
pub(super) fn hex(dump: &str) -> Vec<u8> {
    let digits: Vec<u32> = dump.chars().filter_map(|c| c.to_digit(16)).collect();
    assert_eq!(digits.len() % 2, 0, "odd dump: {dump}");
    digits.chunks(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect()
}

/// Everything an outbox would send, and the descriptors.
fn drain<F: Copy>(outbox: &mut Outbox<F>) -> (Vec<u8>, Vec<F>) {
    let (mut bytes, mut fds) = (Vec::new(), Vec::new());
    while !outbox.is_empty() {
        let mut parts = Vec::new();
        fds.extend(outbox.next(&mut parts).copied());
        let sent: Vec<u8> = parts.iter().flat_map(|part| part.iter().copied()).collect();
        outbox.advance(sent.len());
        bytes.extend(sent);
    }
    assert_eq!(outbox.len(), 0);
    (bytes, fds)
}

/// The frames of a stream, which a deframer finds as well.
fn decode_all(stream: &[u8]) -> Vec<Frame<'_>> {
    let mut deframer = Deframer::default();
    deframer.push(stream).unwrap();
    assert_eq!(deframer.partial_len(), 0);
    let (mut frames, mut rest) = (Vec::new(), stream);
    while let Some((len, body)) = rest.split_first_chunk() {
        let (frame, next) = body.split_at(u32::from_le_bytes(*len) as usize);
        assert_eq!(deframer.pop(), Some(frame));
        frames.push(Frame::decode(frame).unwrap());
        rest = next;
    }
    assert_eq!(deframer.pop(), None);
    frames
}

fn decode_one(stream: &[u8]) -> Frame<'_> {
    let mut frames = decode_all(stream);
    assert_eq!(frames.len(), 1);
    frames.remove(0)
}

fn encode(frame: &Frame<'_>) -> Vec<u8> {
    let mut bytes = frame.encode().unwrap();
    if let Some(Body::InvokeReply(InvokeReply::Succeeded { reply, .. })) = &frame.body {
        bytes.extend_from_slice(reply);
    }
    bytes
}

// ---------------------------------------------------------------- frames

#[test]
fn frames_come_out_whole_however_the_stream_is_cut() {
    let stream = hex("03 00 00 00 | 10 01 00 | 00 00 00 00 | 01 00 00 00 | 61 | 02 00 00 00 62 63");
    for cut in 1..=stream.len() {
        let mut deframer = Deframer::default();
        let mut frames = Vec::new();
        for piece in stream.chunks(cut) {
            deframer.push(piece).unwrap();
            while let Some(frame) = deframer.pop() {
                frames.push(frame.to_vec());
            }
        }
        assert_eq!(frames, [&hex("10 01 00")[..], b"a", b"bc"], "pieces of {cut}");
        assert_eq!(deframer.partial_len(), 0);
    }
}

#[test]
fn the_largest_frame_passes_and_one_byte_more_does_not() {
    let mut deframer = Deframer::default();
    for _ in 0..3 {
        deframer.push(&131_068_u32.to_le_bytes()).unwrap();
        deframer.push(&vec![7; 131_067]).unwrap();
        assert_eq!(deframer.pop(), None);
        deframer.push(&[7]).unwrap();
        assert_eq!(deframer.pop().unwrap().len(), 131_068);
    }
    // Refused before the body comes.
    assert_eq!(deframer.push(&131_069_u32.to_le_bytes()), Err(FrameError { len: 131_069 }));
    assert_eq!(deframer.push(&[0xff; 4]), Err(FrameError { len: 0xffff_ffff }));
}

#[test]
fn a_refused_frame_takes_the_burst_along() {
    let mut host = Host::<Echo, u32>::default();
    let burst = [bind_frame(1), hex("fd ff 01 00")].concat();
    assert!(host.receive(&burst, None).is_err());
    assert!(host.outbox().is_empty(), "no bind reply");
    assert!(host.poll_event().is_none());
}

#[test]
fn every_message_survives_a_round_trip() {
    let bodies = [
        None,
        Some(Body::Bind(Bind { service_name: "ProducerPort".into() })),
        Some(Body::BindReply(BindReply::default())),
        Some(Body::Invoke(Invoke {
            service_id: 3,
            method_id: 300,
            args: b"args",
            drop_reply: true,
        })),
        Some(Body::InvokeReply(InvokeReply::Succeeded { has_more: true, reply: b"x" })),
        Some(Body::InvokeReply(InvokeReply::Unroutable)),
        Some(Body::InvokeReply(InvokeReply::Rejected)),
        Some(Body::RequestError("no".into())),
        Some(Body::PeerIdentity(PeerIdentity {
            pid: Some(-1),
            uid: Some(i32::MAX),
            machine_id_hint: "m".into(),
            machine_name: String::new(),
        })),
    ];
    for body in bodies {
        for request_id in [0, 1, u64::MAX] {
            let frame = Frame { request_id, body: body.clone() };
            assert_eq!(decode_all(&encode(&frame)), [frame]);
        }
    }
}

#[test]
fn a_frame_too_long_is_not_encoded() {
    let zeros = vec![0; IPC_FRAME_BYTES_MAX];
    let reply = |len| Frame {
        request_id: 1,
        body: Some(Body::InvokeReply(InvokeReply::Succeeded {
            has_more: false,
            reply: &zeros[..len],
        })),
    };
    let overhead = 2 + 4 + 4 + 4; // id, three-byte lengths of reply and message, flags
    assert!(reply(IPC_FRAME_BYTES_MAX - overhead).encode().is_ok());
    assert!(reply(IPC_FRAME_BYTES_MAX - overhead + 1).encode().is_err());
    let mut host = Host::<Echo, u32>::default();
    host.reply(CallId::new(9), Ok(vec![0; IPC_FRAME_BYTES_MAX]), true, None).unwrap_err();
    assert_eq!(drain(host.outbox()).0, hex("06 00 00 00 10 09 32 02 10 00"));
}

// ---------------------------------------------------------------- captures: frames of real peers

#[test]
fn capture_producer_binds() {
    let dump = "12 00 00 00 | 10 01 1a 0e 0a 0c 50 72 6f 64 75 63 65 72 50 6f 72 74";
    let bytes = hex(dump);
    let frame = decode_one(&bytes);
    assert_eq!(frame.body, Some(Body::Bind(Bind { service_name: "ProducerPort".into() })));
    assert_eq!(encode(&frame), bytes);
}

#[test]
fn capture_producer_bind_reply_with_a_padded_length() {
    let dump = "20 01 00 00 | 10 01 22 99 82 80 00 08 01 10 01 1a 18 08 01 12 14 49 6e 69 74 69 61 \
        6c 69 7a 65 43 6f 6e 6e 65 63 74 69 6f 6e 1a 16 08 02 12 12 52 65 67 69 73 74 65 72 44 61 \
        74 61 53 6f 75 72 63 65 1a 18 08 03 12 14 55 6e 72 65 67 69 73 74 65 72 44 61 74 61 53 6f \
        75 72 63 65 1a 0e 08 04 12 0a 43 6f 6d 6d 69 74 44 61 74 61 1a 13 08 05 12 0f 47 65 74 41 \
        73 79 6e 63 43 6f 6d 6d 61 6e 64 1a 17 08 06 12 13 52 65 67 69 73 74 65 72 54 72 61 63 65 \
        57 72 69 74 65 72 1a 19 08 07 12 15 55 6e 72 65 67 69 73 74 65 72 54 72 61 63 65 57 72 69 \
        74 65 72 1a 1b 08 08 12 17 4e 6f 74 69 66 79 44 61 74 61 53 6f 75 72 63 65 53 74 61 72 74 \
        65 64 1a 1b 08 09 12 17 4e 6f 74 69 66 79 44 61 74 61 53 6f 75 72 63 65 53 74 6f 70 70 65 \
        64 1a 14 08 0a 12 10 41 63 74 69 76 61 74 65 54 72 69 67 67 65 72 73 1a 08 08 0b 12 04 53 \
        79 6e 63 1a 14 08 0c 12 10 55 70 64 61 74 65 44 61 74 61 53 6f 75 72 63 65";
    let Some(Body::BindReply(reply)) = decode_one(&hex(dump)).body else {
        panic!("not a bind reply")
    };
    assert!(reply.success);
    assert_eq!(reply.service_id, 1);
    let names: Vec<_> = reply.methods.iter().map(|m| (m.id, m.name.as_str())).collect();
    assert_eq!(names[0], (1, "InitializeConnection"));
    assert_eq!(names[11], (12, "UpdateDataSource"));
    assert_eq!(names.len(), 12);
}

#[test]
fn capture_invocations_of_a_producer() {
    // GetAsyncCommand, NotifyDataSourceStarted, RegisterTraceWriter, CommitData, a commit as fence,
    // a flush acknowledged, NotifyDataSourceStopped.
    let dumps = [
        ("0c 00 00 00 | 10 03 2a 08 08 01 10 05 1a 00 20 00", 3, 5, "", false),
        ("0e 00 00 00 | 10 05 2a 0a 08 01 10 08 1a 02 08 01 20 01", 5, 8, "08 01", true),
        (
            "10 00 00 00 | 10 06 2a 0c 08 01 10 06 1a 04 08 01 10 01 20 01",
            6,
            6,
            "08 01 10 01",
            true,
        ),
        (
            "14 00 00 00 | 10 07 2a 10 08 01 10 04 1a 08 0a 06 08 00 10 00 18 01 20 01",
            7,
            4,
            "0a 06 08 00 10 00 18 01",
            true,
        ),
        ("0c 00 00 00 | 10 08 2a 08 08 01 10 04 1a 00 20 00", 8, 4, "", false),
        ("0e 00 00 00 | 10 0c 2a 0a 08 01 10 04 1a 02 18 01 20 01", 12, 4, "18 01", true),
        ("0e 00 00 00 | 10 0d 2a 0a 08 01 10 09 1a 02 08 01 20 01", 13, 9, "08 01", true),
    ];
    for (dump, id, method_id, args, drop_reply) in dumps {
        let bytes = hex(dump);
        let frame = decode_one(&bytes);
        let invoke = Invoke { service_id: 1, method_id, args: &hex(args), drop_reply };
        assert_eq!(frame, Frame { request_id: id, body: Some(Body::Invoke(invoke)) });
        assert_eq!(encode(&frame), bytes);
    }
}

#[test]
fn capture_replies_of_a_service() {
    let dumps = [
        // InitializeConnection: no shared memory of the producer's, direct patching, no emulation.
        (
            "10 00 00 00 | 10 02 32 0c 08 01 10 00 1a 06 08 00 10 01 18 00",
            2,
            false,
            "08 00 10 01 18 00",
        ),
        ("0a 00 00 00 | 10 04 32 06 08 01 10 00 1a 00", 4, false, ""),
        // SetupTracing, Flush, StopDataSource on the command stream.
        ("0e 00 00 00 | 10 03 32 0a 08 01 10 01 1a 04 1a 02 08 04", 3, true, "1a 02 08 04"),
        (
            "12 00 00 00 | 10 03 32 0e 08 01 10 01 1a 08 2a 06 08 01 10 01 18 12",
            3,
            true,
            "2a 06 08 01 10 01 18 12",
        ),
        ("0e 00 00 00 | 10 03 32 0a 08 01 10 01 1a 04 12 02 08 01", 3, true, "12 02 08 01"),
        // A consumer: all data sources started; tracing ended.
        ("0e 00 00 00 | 10 02 32 0a 08 01 10 01 1a 04 0a 02 10 01", 2, true, "0a 02 10 01"),
        ("0c 00 00 00 | 10 03 32 08 08 01 10 00 1a 02 08 01", 3, false, "08 01"),
    ];
    for (dump, request_id, has_more, reply) in dumps {
        let bytes = hex(dump);
        let frame = decode_one(&bytes);
        let reply = InvokeReply::Succeeded { has_more, reply: &hex(reply) };
        assert_eq!(frame, Frame { request_id, body: Some(Body::InvokeReply(reply)) });
        assert_eq!(encode(&frame), bytes);
    }
}

#[test]
fn capture_set_peer_identity() {
    let dump = "1f 00 00 00 10 00 42 1b 08 92 21 10 e9 07 1a 0b 62 6f 6f 74 2d 69 64 2d 78 79 7a \
        22 06 67 75 65 73 74 31";
    let bytes = hex(dump);
    let frame = decode_one(&bytes);
    let identity = PeerIdentity {
        pid: Some(4242),
        uid: Some(1001),
        machine_id_hint: "boot-id-xyz".into(),
        machine_name: "guest1".into(),
    };
    assert_eq!(identity.machine_id(), 3_533_847_299, "as a real service computes it");
    assert_eq!(frame, Frame { request_id: 0, body: Some(Body::PeerIdentity(identity)) });
    assert_eq!(encode(&frame), bytes);
}

#[test]
fn capture_relay_port_bound() {
    let dump = "26 00 00 00 10 01 22 22 08 01 10 02 1a 0d 08 01 12 09 49 6e 69 74 52 65 6c 61 79 \
        1a 0d 08 02 12 09 53 79 6e 63 43 6c 6f 63 6b";
    let bytes = hex(dump);
    let frame = decode_one(&bytes);
    let method = |id, name: &str| Method { id, name: name.into() };
    let reply = BindReply {
        success: true,
        service_id: 2,
        methods: vec![method(1, "InitRelay"), method(2, "SyncClock")],
    };
    assert_eq!(frame.body, Some(Body::BindReply(reply)));
    assert_eq!(encode(&frame), bytes);
}

// ---------------------------------------------------------------- host

fn bind_frame(id: u64) -> Vec<u8> {
    let bind = Bind { service_name: "EchoPort".into() };
    encode(&Frame { request_id: id, body: Some(Body::Bind(bind)) })
}

fn invoke_frame(
    id: u64,
    service_id: u32,
    method_id: u32,
    args: &'static [u8],
    drop: bool,
) -> Vec<u8> {
    let invoke = Invoke { service_id, method_id, args, drop_reply: drop };
    encode(&Frame { request_id: id, body: Some(Body::Invoke(invoke)) })
}

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

// ---------------------------------------------------------------- client, and both together

/// Carries bytes between both until none are left, `step` at a time.
fn exchange<P: Port, Q: Port>(client: &mut Client<P, u32>, host: &mut Host<Q, u32>, step: usize) {
    loop {
        let (bytes, fds) = drain(client.outbox());
        let (back, back_fds) = drain(host.outbox());
        if bytes.is_empty() && back.is_empty() {
            return;
        }
        let mut fds = fds.into_iter();
        for piece in bytes.chunks(step) {
            host.receive(piece, fds.next()).unwrap();
            host.decode_waiting();
        }
        let mut fds = back_fds.into_iter();
        for piece in back.chunks(step) {
            client.receive(piece, fds.next()).unwrap();
        }
    }
}

fn events<P: Port>(client: &mut Client<P, u32>) -> Vec<ClientEvent> {
    std::iter::from_fn(|| client.poll_event()).collect()
}

fn reply(call: CallId, body: &'static [u8], has_more: bool) -> ClientEvent {
    ClientEvent::Reply { call, result: Ok(body.to_vec()), has_more }
}

fn rejected(call: CallId) -> ClientEvent {
    ClientEvent::Reply { call, result: Err(Rejected), has_more: false }
}

#[test]
fn a_call_before_the_bind_waits_for_it() {
    for step in [1, 3, 1 << 20] {
        let mut client = Client::<Echo, u32>::new();
        let mut host = Host::<Echo, u32>::default();
        let call = client.invoke(&open(b"now"), true, Some(5)).unwrap();
        assert_eq!(call, CallId::new(2), "the bind is 1");
        exchange(&mut client, &mut host, step);
        let Some(HostEvent::Call { call: Some(got), request, fd }) = host.poll_event() else {
            panic!("no call")
        };
        assert_eq!((got, request, fd), (call, open(b"now"), Some(5)));
        host.reply(got, Ok(b"done".to_vec()), false, Some(6)).unwrap();
        exchange(&mut client, &mut host, step);
        assert_eq!(events(&mut client), [ClientEvent::Bound, reply(call, b"done", false)]);
        assert_eq!(client.take_fd(), Some(6));
        assert_eq!(client.take_fd(), None);
    }
}

#[test]
fn streams_end_with_their_last_reply() {
    let mut client = Client::<Echo, u32>::new();
    let mut host = Host::<Echo, u32>::default();
    let call = client.invoke(&observe(), true, None).unwrap();
    exchange(&mut client, &mut host, 7);
    host.reply(call, Ok(b"1".to_vec()), true, None).unwrap();
    host.reply(call, Ok(b"2".to_vec()), false, None).unwrap();
    host.reply(call, Ok(b"too late".to_vec()), false, None).unwrap();
    host.reply(CallId::new(99), Ok(b"nobody's".to_vec()), false, None).unwrap();
    exchange(&mut client, &mut host, 7);
    assert_eq!(
        events(&mut client),
        [ClientEvent::Bound, reply(call, b"1", true), reply(call, b"2", false)]
    );
}

#[test]
fn a_method_the_service_lacks_is_rejected_without_a_frame() {
    let mut client = Client::<Echo, u32>::new();
    let mut host = Host::<OldEcho, u32>::default();
    exchange(&mut client, &mut host, 64);
    assert_eq!(client.has_method("Watch"), Some(true));
    assert_eq!(client.has_method("New"), Some(false));
    let new = Request { id: 3, args: Vec::new() };
    let call = client.invoke(&new, true, None).unwrap();
    client.invoke(&new, false, None).unwrap();
    assert!(client.outbox().is_empty());
    assert_eq!(events(&mut client), [ClientEvent::Bound, rejected(call)]);
}

#[test]
fn a_call_without_reply_leaves_no_trace() {
    let mut client = Client::<Echo, u32>::new();
    let mut host = Host::<Echo, u32>::default();
    let call = client.invoke(&open(b"bad"), false, None).unwrap();
    exchange(&mut client, &mut host, 64);
    // The host answers all the same (it cannot be routed), and the client ignores the answer.
    assert_eq!(events(&mut client), [ClientEvent::Bound]);
    host.reply(call, Ok(Vec::new()), false, None).unwrap();
    exchange(&mut client, &mut host, 64);
    assert_eq!(events(&mut client), []);
}

#[test]
fn a_request_error_is_a_rejection() {
    let mut client = Client::<Echo, u32>::new();
    let mut host = Host::<Echo, u32>::default();
    exchange(&mut client, &mut host, 64);
    let call = client.invoke(&observe(), true, None).unwrap();
    let error = |id| {
        encode(&Frame { request_id: id, body: Some(Body::RequestError("unknown request".into())) })
    };
    client.receive(&error(call.get()), None).unwrap();
    client.receive(&error(call.get()), None).unwrap();
    assert_eq!(events(&mut client), [ClientEvent::Bound, rejected(call)]);
}

#[test]
fn a_refused_bind_ends_the_client() {
    let refusals = [
        hex("04 00 00 00 10 01 22 00"),
        encode(&Frame { request_id: 1, body: Some(Body::RequestError("who?".into())) }),
    ];
    for refusal in refusals {
        let mut client = Client::<Echo, u32>::new();
        let call = client.invoke(&observe(), true, None).unwrap();
        client.receive(&refusal, None).unwrap();
        assert_eq!(events(&mut client), [rejected(call), ClientEvent::Disconnected]);
        assert_eq!(client.invoke(&observe(), true, None), Err(ClientClosed));
    }
}

#[test]
fn an_answer_to_another_bind_is_none() {
    let mut client = Client::<Echo, u32>::new();
    let call = client.invoke(&observe(), true, None).unwrap();
    for (answer, expected) in [
        ("04 00 00 00 10 02 22 00", vec![]),
        ("04 00 00 00 10 01 22 00", vec![rejected(call), ClientEvent::Disconnected]),
    ] {
        client.receive(&hex(answer), None).unwrap();
        assert_eq!(events(&mut client), expected);
    }
}

#[test]
fn closing_rejects_every_pending_call_once() {
    let mut client = Client::<Echo, u32>::new();
    let mut host = Host::<Echo, u32>::default();
    exchange(&mut client, &mut host, 64);
    let stream = client.invoke(&observe(), true, None).unwrap();
    let one = client.invoke(&open(b""), true, None).unwrap();
    client.invoke(&open(b""), false, None).unwrap();
    client.close();
    client.close();
    assert_eq!(
        events(&mut client),
        [ClientEvent::Bound, rejected(stream), rejected(one), ClientEvent::Disconnected]
    );
    assert!(client.is_closed());
}

#[test]
fn method_numbers_are_the_hosts() {
    let mut client = Client::<Echo, u32>::new();
    let methods = [(9, "Open"), (0, "Watch"), (4, "")]
        .map(|(id, name)| Method { id, name: name.into() })
        .to_vec();
    let bound = BindReply { success: true, service_id: 70, methods };
    client
        .receive(&encode(&Frame { request_id: 1, body: Some(Body::BindReply(bound)) }), None)
        .unwrap();
    drain(client.outbox());
    let call = client.invoke(&open(b""), true, None).unwrap();
    let (sent, _) = drain(client.outbox());
    let sent = decode_all(&sent);
    let Some(Body::Invoke(invoke)) = &sent[0].body else { panic!("not an invoke") };
    assert_eq!((invoke.service_id, invoke.method_id), (70, 9));
    let missing = client.invoke(&observe(), true, None).unwrap();
    assert_eq!(events(&mut client), [ClientEvent::Bound, rejected(missing)]);
    assert_ne!(call, missing);
}

// ---------------------------------------------------------------- outbox

#[test]
fn a_descriptor_goes_once_and_with_its_first_byte() {
    let mut host = Host::<Echo, u32>::default();
    host.reply(CallId::new(1), Ok(b"aa".to_vec()), true, None).unwrap();
    host.reply(CallId::new(1), Ok(b"bb".to_vec()), true, Some(3)).unwrap();
    host.reply(CallId::new(1), Ok(b"cc".to_vec()), false, None).unwrap();
    let outbox = host.outbox();
    let mut parts = Vec::new();
    assert_eq!(outbox.next(&mut parts), None);
    let first: usize = parts.iter().map(|part| part.len()).sum();
    assert_eq!(first, 16, "stops before the frame with a descriptor");
    outbox.advance(first);

    let mut parts = Vec::new();
    assert_eq!(outbox.next(&mut parts), Some(&3));
    let rest: usize = parts.iter().map(|part| part.len()).sum();
    assert_eq!((rest, outbox.len()), (32, 32));
    // Nothing left: it must be offered again.
    outbox.advance(0);
    assert_eq!(outbox.next(&mut Vec::new()), Some(&3));
    // One byte left, and it took the descriptor along.
    outbox.advance(1);
    assert_eq!(outbox.next(&mut Vec::new()), None);
    assert_eq!(drain(outbox).0.len(), 31);
}

#[test]
fn the_memory_of_a_message_comes_back_with_its_last_byte() {
    let mut host = Host::<Echo, u32>::default();
    let (one, two) = (vec![b'a'; 5000], vec![b'b'; 5000]);
    host.reply(CallId::new(1), Ok(one.clone()), true, None).unwrap();
    host.reply(CallId::new(1), Err(Rejected), false, None).unwrap();
    host.reply(CallId::new(2), Ok(two.clone()), false, None).unwrap();
    let (len, first) = (host.queued_len(), 5000 + 16);
    let mut back = Vec::new();
    host.outbox().advance_with(first - 1, |message| back.push(message));
    assert_eq!((back.len(), host.queued_len()), (0, len - first + 1));
    host.outbox().advance_with(1, |message| back.push(message));
    assert_eq!(back, std::slice::from_ref(&one));
    // Two frames at once, of which one has no message.
    host.outbox().advance_with(len - first, |message| back.push(message));
    assert_eq!(back, [one, two]);
    assert!(host.outbox().is_empty());
}
