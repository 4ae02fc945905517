//! Frames, captures of real peers (annotated in the order they were seen), and both ends together.

mod bounds;
mod captures;
mod frames;
mod host;
mod outbox;
mod together;

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
