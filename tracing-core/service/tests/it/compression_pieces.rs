//! A pass is compressed in pieces, while other things happen.

use protos::consumer_port::Request;

use super::clone::{ask, done};
use super::compression::{deflate, unpack, zstd};
use super::files::started;
use super::*;
use abi::ids::CallId;
use service::limits;
use testing::mock::{decode_file, decode_replies};

/// A text that takes a codec long: two letters, at random.
fn slow_text(len: usize) -> String {
    let mut state = 1u64;
    let mut letter = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        char::from(b'a' + (state >> 63) as u8)
    };
    (0..len).map(|_| letter()).collect()
}

/// What one turn may cost.
const PIECE: u64 = limits::COMPRESS_PIECE_BYTES as u64 * limits::WORK_PER_COMPRESSED_BYTE;

/// Turns until nothing waits; none costs more than a piece.
#[track_caller]
fn turns(shell: &mut Shell) -> usize {
    let (mut turns, mut all) = (0, 0);
    let compressed = shell.service.compressed_bytes();
    while shell.service.has_work() {
        let before = shell.service.work();
        shell.turn();
        let cost = shell.service.work() - before;
        assert!(cost <= PIECE, "a turn cost {cost}");
        turns += 1;
        all += cost;
    }
    let compressed = shell.service.compressed_bytes() - compressed;
    assert!(all >= compressed * limits::WORK_PER_COMPRESSED_BYTE, "{compressed} bytes cost {all}");
    turns
}

/// Asks for packets; what is to be compressed waits.
fn ask_packets(shell: &mut Shell, consumer: &MockConsumer) -> CallId {
    shell.work_waits = true;
    shell.call_consumer(consumer.client, Request::ReadBuffers(Default::default()), None)
}

fn inner(packets: &[TracePacket]) -> Vec<String> {
    payloads(&packets.iter().flat_map(unpack).collect::<Vec<_>>())
}

fn compressed(compression: protos::TraceConfigCompressionConfig) -> TraceConfig {
    TraceConfig {
        compression: Some(compression),
        buffers: vec![buffer(4096)],
        file_write_period_ms: Some(100_000),
        ..config(&["ds"])
    }
}

const LARGE: usize = 3_900_000;
const PIECES: usize = LARGE / limits::COMPRESS_PIECE_BYTES;

/// One packet as large as its buffer, at the highest level: no turn compresses more than a piece of it.
#[test]
fn a_packet_as_large_as_its_buffer_in_replies() {
    for compression in [zstd(22), zstd(i32::MAX), zstd(i32::MIN), deflate()] {
        let mut shell = Shell::new();
        let (producer, consumer) = recording(&mut shell, compressed(compression));
        let text = slow_text(LARGE);
        write_large(&mut shell, &producer, &payload(&text));
        let call = ask_packets(&mut shell, &consumer);
        assert_eq!(shell.service.compressed_bytes(), 0, "the request itself compresses");
        let turns = turns(&mut shell);
        assert!(turns >= PIECES, "{turns} turns");
        let replies = shell.take_replies_to(consumer.client, call);
        assert!(!replies.last().unwrap().has_more);
        assert!(inner(&decode_replies(&replies)) == [text], "another text");
    }
}

#[test]
fn a_packet_as_large_as_its_buffer_in_a_file() {
    for compression in [zstd(22), deflate()] {
        let mut shell = Shell::new();
        let config = TraceConfig { write_into_file: Some(true), ..compressed(compression) };
        let (producer, mut consumer, file) = started(&mut shell, config);
        let text = slow_text(LARGE);
        write_large(&mut shell, &producer, &payload(&text));
        shell.work_waits = true;
        consumer.disable(&mut shell);
        shell.input(service::Input::ProducerDisconnected { client: producer.client });
        assert_eq!(shell.service.compressed_bytes(), 0, "the end itself compresses");
        assert_eq!(consumer.ended(&mut shell), None, "the file is not complete");
        let turns = turns(&mut shell);
        assert!(turns >= PIECES, "{turns} turns");
        assert_eq!(consumer.ended(&mut shell).as_deref(), Some(""));
        let file = &shell.files[&file];
        assert!(file.closed && inner(&decode_file(&file.bytes)) == [text], "another text");
    }
}

/// Sessions take turns: a small trace does not wait for a large one.
#[test]
fn sessions_take_turns() {
    let mut shell = Shell::new();
    let (mut producer, large) = recording(&mut shell, compressed(deflate()));
    write_large(&mut shell, &producer, &payload(&slow_text(LARGE)));
    let mut small = MockConsumer::connect(&mut shell, 0);
    small.enable(&mut shell, compressed(deflate()), None);
    producer.commands(&mut shell);
    let call = ask_packets(&mut shell, &large);
    let small_call = ask_packets(&mut shell, &small);
    let mut turns = 0;
    while shell.take_replies_to(small.client, small_call).is_empty() {
        shell.turn();
        turns += 1;
        assert!(turns <= 2, "the small trace waits");
    }
    assert!(shell.take_replies_to(large.client, call).is_empty());
}

/// Another read takes the place of one that waits: it gets the pass, and what came since.
#[test]
fn a_read_that_is_replaced_loses_nothing() {
    let mut shell = Shell::new();
    let (mut producer, consumer) = recording(&mut shell, compressed(zstd(0)));
    producer.write(&mut shell, WRITER, BUFFER, &[payload("a")]);
    let first = ask_packets(&mut shell, &consumer);
    shell.work_waits = true;
    producer.write(&mut shell, WRITER, BUFFER, &[payload("b")]);
    let second = ask_packets(&mut shell, &consumer);
    let rejected = shell.take_replies_to(consumer.client, first);
    assert!(rejected.len() == 1 && rejected[0].response.is_none());
    turns(&mut shell);
    let replies = shell.take_replies_to(consumer.client, second);
    assert!(!replies.last().unwrap().has_more);
    assert_eq!(inner(&decode_replies(&replies)), ["a", "b"]);
}

/// A consumer that leaves its session behind leaves what it was about to read, too.
#[test]
fn a_pass_waits_for_the_consumer_that_attaches() {
    let mut shell = Shell::new();
    let (mut producer, consumer) = recording(&mut shell, compressed(zstd(0)));
    producer.write(&mut shell, WRITER, BUFFER, &[payload("a")]);
    ask_packets(&mut shell, &consumer);
    let key = Some("key".to_owned());
    let detach = protos::DetachRequest { key: key.clone(), ..Default::default() };
    consumer.call(&mut shell, Request::Detach(detach));
    turns(&mut shell);
    let second = MockConsumer::connect(&mut shell, 0);
    second.call(&mut shell, Request::Attach(protos::AttachRequest { key, ..Default::default() }));
    shell.work_waits = false;
    assert_eq!(inner(&second.read(&mut shell)), ["a"]);
}

/// A consumer that goes away in between leaves nothing behind.
#[test]
fn a_session_that_is_freed_is_not_compressed() {
    for leaves in [false, true] {
        let mut shell = Shell::new();
        let (producer, consumer) = recording(&mut shell, compressed(deflate()));
        write_large(&mut shell, &producer, &payload(&slow_text(LARGE)));
        ask_packets(&mut shell, &consumer);
        shell.turn();
        match leaves {
            true => consumer.disconnect(&mut shell),
            false => consumer.free(&mut shell),
        }
        assert!(turns(&mut shell) <= 1);
        assert_eq!(shell.service.footprint().sessions, 0);
    }
}

/// A clone copies the file of its source: what is about to get there has to be in it, so it is written as it is.
#[test]
fn a_clone_has_what_is_about_to_be_written() {
    let mut shell = Shell::new();
    let config = TraceConfig {
        write_into_file: Some(true),
        flush_timeout_ms: Some(10),
        ..compressed(deflate())
    };
    let (mut producer, mut consumer, file) = started(&mut shell, config);
    let text = slow_text(300_000);
    write_large(&mut shell, &producer, &payload(&text));
    shell.work_waits = true;
    let end = shell.now_ns + 150_000_000_000;
    while !shell.service.has_work() && shell.now_ns < end {
        shell.advance_to_next();
    }
    assert!(shell.service.has_work(), "nothing is compressed");
    assert!(shell.files[&file].bytes.is_empty());
    producer.write(&mut shell, WriterId::new(2), BUFFER, &[payload("b")]);
    let copy = shell.open_file();
    let (clone, call) = ask(&mut shell, 0, Some(copy));
    producer.ack_flush(&mut shell, 3);
    shell.work_waits = false;
    shell.advance_ms(20);
    done(&mut shell, &clone, call);
    let plain = |packets: Vec<TracePacket>| {
        let mut texts = Vec::new();
        for packet in packets {
            match &packet.data {
                Some(
                    TracePacketData::CompressedPackets(_)
                    | TracePacketData::ZstdCompressedPackets(_),
                ) => texts.extend(inner(&[packet])),
                _ => texts.extend(payloads(&[packet])),
            }
        }
        texts
    };
    assert_eq!(plain(decode_file(&shell.files[&copy].bytes)), [text.as_str(), "b"]);
    consumer.disable(&mut shell);
    assert_eq!(consumer.ended(&mut shell).as_deref(), Some(""));
    assert_eq!(plain(decode_file(&shell.files[&file].bytes)), [text.as_str(), "b"]);
}

/// A drain that begins while the last pass of the one before is compressed is not lost.
#[test]
fn the_end_comes_while_a_pass_is_compressed() {
    let mut shell = Shell::new();
    let config = TraceConfig { write_into_file: Some(true), ..compressed(zstd(3)) };
    let (mut producer, mut consumer, file) = started(&mut shell, config);
    let text = slow_text(300_000);
    write_large(&mut shell, &producer, &payload(&text));
    shell.work_waits = true;
    let end = shell.now_ns + 150_000_000_000;
    while !shell.service.has_work() && shell.now_ns < end {
        shell.advance_to_next();
    }
    assert!(shell.service.has_work(), "nothing is compressed");
    producer.write(&mut shell, WriterId::new(2), BUFFER, &[payload("b")]);
    consumer.disable(&mut shell);
    producer.disconnect(&mut shell);
    shell.work_waits = false;
    shell.advance_ms(10);
    assert_eq!(consumer.ended(&mut shell).as_deref(), Some(""));
    assert_eq!(inner(&decode_file(&shell.files[&file].bytes)), [text.as_str(), "b"]);
}

/// A session with a file of at most `bytes_max` bytes (0: any) whose pass is being compressed: "a", a large packet, "b".
fn being_compressed(
    shell: &mut Shell,
    bytes_max: u64,
    mut begin: impl FnMut(&mut Shell, &MockConsumer),
) -> (MockConsumer, abi::ids::FileId) {
    let config = TraceConfig {
        write_into_file: Some(true),
        max_file_size_bytes: Some(bytes_max),
        flush_timeout_ms: Some(10),
        ..compressed(deflate())
    };
    let (mut producer, consumer, file) = started(shell, config);
    producer.write(shell, WRITER, BUFFER, &[payload("a")]);
    write_large_from(shell, &producer, 1, &payload(&slow_text(300_000)));
    producer.write(shell, WriterId::new(2), BUFFER, &[payload("b")]);
    shell.work_waits = true;
    begin(shell, &consumer);
    let end = shell.now_ns + 150_000_000_000;
    while !shell.service.has_work() && shell.now_ns < end {
        shell.advance_to_next();
    }
    assert!(shell.service.has_work(), "nothing is compressed");
    assert!(shell.files[&file].bytes.is_empty());
    (consumer, file)
}

/// What is about to be written does not fit without compression. That ends the file, so that there is nothing to clone;
/// and nothing comes behind what does not fit.
#[test]
fn a_clone_that_makes_the_file_of_its_source_full() {
    let mut shell = Shell::new();
    let (mut consumer, file) = being_compressed(&mut shell, 100_000, |_, _| {});
    let copy = shell.open_file();
    let (clone, call) = ask(&mut shell, 0, Some(copy));
    shell.work_waits = false;
    shell.advance_ms(20);
    super::clone::refused(&mut shell, &clone, call, "its file is being closed");
    assert!(shell.files[&copy].closed && shell.files[&copy].bytes.is_empty());
    shell.advance_ms(10_000);
    assert_eq!(consumer.ended(&mut shell).as_deref(), Some(""));
    assert!(shell.files[&file].closed);
    let packets = decode_file(&shell.files[&file].bytes);
    assert_eq!(payloads(&packets), ["a"], "{:?}", kinds(&packets));
}

/// A clone that is refused changes nothing: the last pass of its source stays compressed.
#[test]
fn a_clone_of_a_file_that_is_being_closed() {
    let mut shell = Shell::new();
    let disable = |shell: &mut Shell, consumer: &MockConsumer| consumer.disable(shell);
    let (mut consumer, file) = being_compressed(&mut shell, 0, disable);
    let copy = shell.open_file();
    let (clone, call) = ask(&mut shell, 0, Some(copy));
    shell.work_waits = false;
    shell.advance_ms(20);
    super::clone::refused(&mut shell, &clone, call, "its file is being closed");
    assert!(shell.files[&copy].closed);
    assert_eq!(consumer.ended(&mut shell).as_deref(), Some(""));
    assert_eq!(inner(&decode_file(&shell.files[&file].bytes)).len(), 3);
}
