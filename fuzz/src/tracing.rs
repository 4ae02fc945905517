//! Targets for all bytes that a peer of the service can send, or a user can write.

use std::sync::OnceLock;

use abi::ipc::port::{ConsumerPort, Port, ProducerPort};
use abi::ipc::{Client, Host};
use abi::limits::IPC_BINDS_MAX;
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
        match parse_message(config, text, &Options { file: "fuzz", lossy }) {
            Ok(message) => assert!(TraceConfig::decode(&message.encode()).is_ok()),
            Err(errors) => assert!(errors.to_string().lines().count() >= 3),
        }
    }
}

/// Any bytes from a peer, in pieces whose length the first byte gives, at both ends of both ports: no panic, and a
/// connection keeps at most one frame and the answers to its calls.
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
    // An answer to a bind is the method table, which has less than a KiB, but only a few binds get it; others are
    // "unknown request", for a frame of five bytes.
    let tables = IPC_BINDS_MAX as usize * 1024;
    assert!(producer.queued_len() <= bytes.len() * 6 + tables, "{}", producer.queued_len());
    client.close();
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
