//! Targets for all bytes that a peer of the service can send, or a user can write.

use std::sync::OnceLock;

use abi::ipc::port::{ConsumerPort, Port, ProducerPort};
use abi::ipc::{Bind, Body, Client, Deframer, Frame, Host};
use client::consumer::ReplyReader;
use os::socket::Address;
use protos::{ReadBuffersResponse, TraceConfig};
use protozero::Message;
use protozero::dynamic::MessageDescriptor;
use protozero::text::{Options, parse_message};
use service::packet::PacketStreamValidator;

/// Any `CommitDataRequest` over any contents of shared memory.
pub fn commit_data(input: &[u8]) {
    testing::commit_data(input);
}

/// Chunks, patches and reads in any order, with any values: a buffer agrees with its reference buffer.
pub fn trace_buffer(input: &[u8]) {
    testing::buffer::play(input);
}

/// Any text as a config, strict and lossy: it is refused with a position, or its encoding can be decoded.
pub fn text_config(text: &[u8]) {
    static CONFIG: OnceLock<MessageDescriptor> = OnceLock::new();
    let config = CONFIG.get_or_init(|| TraceConfig::DESCRIPTOR.into());
    for lossy in [false, true] {
        match parse_message(config, text, &Options { file: "fuzz", lossy, ..Options::default() }) {
            Ok(message) => assert!(TraceConfig::decode(&message.encode()).is_ok()),
            Err(errors) => assert!(errors.to_string().lines().count() >= 3),
        }
    }
}

/// Any bytes from a peer, in pieces whose length the first byte gives, at both ends of both ports: no panic, a frame
/// that is too long ends the connection, and what waits to be sent has at most 25 bytes and the number of
/// the request for each frame that was received, the shortest of which has 5 bytes, and 8 tables of methods.
pub fn ipc_frames(input: &[u8]) {
    let Some((step, bytes)) = input.split_first() else { return };
    let mut producer = Host::<ProducerPort, u8>::default();
    let mut consumer = Host::<ConsumerPort, u8>::default();
    let mut client = Client::<ProducerPort, u8>::new();
    let mut deframer = Deframer::default();
    let mut received = 0;
    for piece in bytes.chunks(usize::from(*step) + 1) {
        received += piece.len();
        let fd = piece.first().filter(|byte| **byte > 200).copied();
        let open = producer.receive(piece, fd).is_ok();
        assert_eq!(open, cut(&bytes[..received]).is_some(), "a frame of the wrong length");
        assert_eq!(open, consumer.receive(piece, fd).is_ok());
        assert_eq!(open, client.receive(piece, fd).is_ok());
        assert_eq!(open, deframer.push(piece).is_ok());
        while producer.poll_event().is_some() {}
        while consumer.poll_event().is_some() {}
        while client.poll_event().is_some() {}
        while deframer.pop().is_some() {}
        assert!(deframer.partial_len() < FRAME_BYTES_MAX + 4);
        if !open {
            break;
        }
        let frames = cut(&bytes[..received]).unwrap_or_default();
        check_answers(
            &frames,
            producer.queued_len(),
            ProducerPort::NAME,
            table_len::<ProducerPort>(),
        );
        check_answers(
            &frames,
            consumer.queued_len(),
            ConsumerPort::NAME,
            table_len::<ConsumerPort>(),
        );
    }
    client.close();
}

// Numbers, because the limits of the code could be wrong.
/// The longest body of a frame, and how many binds get the methods.
const FRAME_BYTES_MAX: usize = 131_068;
const BINDS_MAX: usize = 8;

/// The bodies of the complete frames in `bytes`; `None` if one is too long.
fn cut(mut bytes: &[u8]) -> Option<Vec<&[u8]>> {
    let mut frames = Vec::new();
    while let Some((len, rest)) = bytes.split_first_chunk::<4>() {
        let len = u32::from_le_bytes(*len) as usize;
        if len > FRAME_BYTES_MAX {
            return None;
        }
        let Some((frame, rest)) = rest.split_at_checked(len) else { break };
        frames.push(frame);
        bytes = rest;
    }
    Some(frames)
}

/// An answer has the number of its request, which the request contains, and at most 25 bytes beside it: a length, tags
/// and "unknown request". Only the first binds that name the port get its method table.
fn check_answers(frames: &[&[u8]], queued: usize, port: &str, table: usize) {
    let name = port.as_bytes();
    let binds = frames.iter().filter(|frame| frame.windows(name.len()).any(|part| part == name));
    let answers = frames.iter().filter(|frame| !frame.is_empty());
    let answers: usize = answers.map(|frame| 25 + frame.len().min(10)).sum();
    let most = answers + binds.count().min(BINDS_MAX) * table;
    assert!(queued <= most, "{queued} bytes of answers to {} frames, not {most}", frames.len());
}

/// The answer to a bind.
fn table_len<P: Port>() -> usize {
    let mut host = Host::<P, u8>::default();
    let bind = Bind { service_name: P::NAME.into() };
    let frame = Frame { request_id: u64::MAX, body: Some(Body::Bind(bind)) };
    host.receive(&frame.encode().expect("a short frame"), None).expect("a short frame");
    assert!(host.poll_event().is_none());
    host.queued_len()
}

/// Clients of both ports, each with its real state machine, that send and do what the input says,
/// around one service with its timers, files and clones.
pub fn conversation(input: &[u8]) {
    testing::conversation(input);
}

/// Any arguments for any method: what can be read can be written, and reads the same again.
pub fn requests(input: &[u8]) {
    fn check<P: Port>(method: u32, args: &[u8]) {
        let Ok(request) = P::decode(method, args) else { return };
        let encoded = P::encode(&request);
        let again = P::decode(method, &encoded).expect("what we wrote");
        assert_eq!(encoded, P::encode(&again));
        P::takes_descriptor(&request);
    }
    let Some((method, args)) = input.split_first() else { return };
    check::<ProducerPort>((*method).into(), args);
    check::<ConsumerPort>((*method).into(), args);
}

/// Replies to `ReadBuffers`, in pieces whose length the first byte gives: the packets are those that the
/// owned messages have.
pub fn replies(input: &[u8]) {
    let Some((step, bytes)) = input.split_first() else { return };
    let mut reader = ReplyReader::new();
    let mut packets: Vec<Vec<u8>> = Vec::new();
    let (mut expected, mut begun) = (Vec::new(), Vec::new());
    for reply in bytes.chunks(usize::from(*step) + 1) {
        let read = reader.read(reply, |packet| {
            packets.push(packet.bytes().to_vec());
            Ok(())
        });
        let Ok(response) = ReadBuffersResponse::decode(reply) else { return };
        assert!(read.is_ok(), "a reply that decodes is refused");
        for slice in response.slices {
            begun.extend_from_slice(slice.data.as_deref().unwrap_or_default());
            if slice.last_slice_for_packet == Some(true) {
                expected.push(std::mem::take(&mut begun));
            }
        }
    }
    assert_eq!(packets, expected);
}

/// A packet in pieces (the first byte is their length): it is accepted or refused as in one piece, and what is
/// accepted is whole fields without those of the service.
pub fn validator(input: &[u8]) {
    let Some((step, packet)) = input.split_first() else { return };
    let valid = PacketStreamValidator::validate(&[packet]);
    let pieces: Vec<&[u8]> = packet.chunks(usize::from(*step) + 1).collect();
    assert_eq!(valid, PacketStreamValidator::validate(&pieces));
    if !valid {
        return;
    }
    let mut reader = protozero::Reader::new(packet);
    while let Ok(Some(field)) = reader.next_field() {
        assert!(![3, 10, 33, 35, 36, 50, 69, 79, 98, 124, 125, 133].contains(&field.number));
    }
    // The fields that the service appends are not read as part of it.
    let stamped = [packet, &[3 << 3, 77]].concat();
    assert!(!PacketStreamValidator::validate(&[&stamped]));
}

/// Any text as the address of a socket, or as several.
pub fn addresses(text: &[u8]) {
    use std::os::unix::ffi::OsStrExt as _;
    let text = std::ffi::OsStr::from_bytes(text);
    let one = Address::parse(text);
    if let Err(error) = &one {
        assert!(!error.to_string().is_empty());
    }
    let several = Address::parse_list(text);
    if !text.as_bytes().contains(&b',') {
        assert_eq!(one.map(|a| vec![a]), several);
    }
}
