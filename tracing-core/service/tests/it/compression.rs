//! Sessions whose passes are compressed.

use std::io::Read as _;

use protos::TraceConfigCompressionConfig as Config;
use protozero::Message as _;

use super::*;
use service::compress::Codecs;
use testing::mock::decode_file;

pub(super) fn deflate() -> Config {
    Config { deflate: Some(Default::default()), ..Config::default() }
}

pub(super) fn zstd(level: i32) -> Config {
    let zstd =
        protos::TraceConfigCompressionConfigZstd { level: Some(level), ..Default::default() };
    Config { zstd: Some(zstd), ..Config::default() }
}

/// The packets inside a packet that has no other field.
pub(super) fn unpack(packet: &TracePacket) -> Vec<TracePacket> {
    let mut bytes = Vec::new();
    match &packet.data {
        Some(TracePacketData::CompressedPackets(stream)) => {
            flate2::read::ZlibDecoder::new(&stream[..]).read_to_end(&mut bytes).unwrap();
        }
        Some(TracePacketData::ZstdCompressedPackets(stream)) => {
            let mut frame = &stream[..];
            let mut decoder = ruzstd::decoding::StreamingDecoder::new(&mut frame).unwrap();
            decoder.read_to_end(&mut bytes).unwrap();
        }
        other => panic!("not compressed: {other:?}"),
    }
    assert_eq!(trusted_uid(packet), None);
    assert_eq!(sequence(packet), None);
    decode_file(&bytes)
}

/// Records two packets with this compression and reads them; all packets must be compressed by `codec`.
fn read_ipc(config: TraceConfig, is_codec: fn(&TracePacketData) -> bool) {
    let mut shell = Shell::new();
    let (mut producer, consumer) = recording(&mut shell, config);
    producer.write(&mut shell, WRITER, BUFFER, &[payload("a"), payload("b")]);
    let packets = consumer.read(&mut shell);
    assert!(packets.iter().all(|p| p.data.as_ref().is_some_and(is_codec)));
    let inner: Vec<_> = packets.iter().flat_map(unpack).collect();
    assert_eq!(payloads(&inner), ["a", "b"]);
    assert_eq!(kinds(&inner).last().unwrap(), "TraceStats");
}

fn is_deflate(data: &TracePacketData) -> bool {
    matches!(data, TracePacketData::CompressedPackets(_))
}

fn is_zstd(data: &TracePacketData) -> bool {
    matches!(data, TracePacketData::ZstdCompressedPackets(_))
}

#[test]
#[allow(deprecated, reason = "what configs of today still say")]
fn compression_read_ipc() {
    let legacy = protos::TraceConfigCompressionType::COMPRESSION_TYPE_DEFLATE;
    read_ipc(TraceConfig { compression_type: Some(legacy), ..config(&["ds"]) }, is_deflate);
}

#[test]
fn compression_config_deflate() {
    read_ipc(TraceConfig { compression: Some(deflate()), ..config(&["ds"]) }, is_deflate);
}

#[test]
fn compression_zstd_read_ipc() {
    read_ipc(TraceConfig { compression: Some(zstd(0)), ..config(&["ds"]) }, is_zstd);
}

#[test]
fn compression_zstd_configured_level() {
    read_ipc(TraceConfig { compression: Some(zstd(19)), ..config(&["ds"]) }, is_zstd);
}

#[test]
fn compression_config_unknown_codec_does_not_crash() {
    let mut shell = Shell::new();
    // A codec that this build does not know.
    let unknown = Config::decode(&[0x7a, 2, 8, 1]).unwrap();
    let config = TraceConfig { compression: Some(unknown), ..config(&["ds"]) };
    let (mut producer, consumer) = recording(&mut shell, config);
    producer.write(&mut shell, WRITER, BUFFER, &[payload("a")]);
    assert_eq!(payloads(&consumer.read(&mut shell)), ["a"]);
}

#[test]
fn compression_write_into_file() {
    for compression in [deflate(), zstd(3)] {
        let mut shell = Shell::new();
        let config = TraceConfig {
            compression: Some(compression),
            write_into_file: Some(true),
            output_path: Some("/x".into()),
            file_write_period_ms: Some(100),
            buffers: vec![buffer(4096)],
            ..config(&["ds"])
        };
        let (mut producer, mut consumer) = recording(&mut shell, config);
        let mut expected = Vec::new();
        for number in 0..50 {
            let text = format!("{number:01000}");
            producer.write(&mut shell, WRITER, BUFFER, &[payload(&text)]);
            expected.push(text);
            if number == 20 {
                shell.advance_ms(100);
            }
        }
        consumer.disable(&mut shell);
        assert_eq!(consumer.ended(&mut shell).as_deref(), Some(""));
        let file = shell.files.values().next().unwrap();
        assert!(file.bytes.len() < 20_000, "{}", file.bytes.len());
        let packets = decode_file(&file.bytes);
        assert!(packets.len() >= 2, "each pass is one packet");
        assert_eq!(payloads(&packets.iter().flat_map(unpack).collect::<Vec<_>>()), expected);
    }
}

#[test]
fn a_file_gets_passes_of_one_size() {
    let mut shell = Shell::new();
    let config = TraceConfig {
        compression: Some(deflate()),
        write_into_file: Some(true),
        output_path: Some("/x".into()),
        buffers: vec![buffer(8192)],
        ..config(&["ds"])
    };
    let (mut producer, consumer) = recording(&mut shell, config);
    let text = "x".repeat(4000);
    let count = 5 * service::limits::FILE_PASS_BYTES / text.len();
    for _ in 0..count {
        producer.write(&mut shell, WRITER, BUFFER, &[payload(&text)]);
    }
    consumer.disable(&mut shell);
    let packets = decode_file(&shell.files.values().next().unwrap().bytes);
    assert!((5..=7).contains(&packets.len()), "{} passes", packets.len());
    assert_eq!(payloads(&packets.iter().flat_map(unpack).collect::<Vec<_>>()).len(), count);
}

/// A compressed packet that does not shrink is cut into slices and replies, and can be joined again.
#[test]
fn a_pass_larger_than_a_reply() {
    let mut shell = Shell::new();
    let config =
        TraceConfig { compression: Some(zstd(1)), buffers: vec![buffer(4096)], ..config(&["ds"]) };
    let (producer, consumer) = recording(&mut shell, config);
    let mut state = 1u64;
    let text: String = (0..400_000)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            char::from(b' ' + (state >> 58) as u8)
        })
        .collect();
    write_large(&mut shell, &producer, &payload(&text));
    let inner: Vec<_> = consumer.read(&mut shell).iter().flat_map(unpack).collect();
    assert_eq!(payloads(&inner), [text]);
}

/// The packets of a session that a service with these codecs records.
fn read_with(codecs: Codecs, config: TraceConfig) -> (Vec<TracePacket>, Shell) {
    let mut shell = Shell::with(|service| service.codecs = codecs);
    let (mut producer, consumer) = recording(&mut shell, config);
    producer.write(&mut shell, WRITER, BUFFER, &[payload("a"), payload("b")]);
    (consumer.read(&mut shell), shell)
}

/// No codec built: plain packets, and a line in the log.
#[test]
fn compression_configured_but_unsupported() {
    for compression in [deflate(), zstd(3)] {
        let config = TraceConfig { compression: Some(compression), ..config(&["ds"]) };
        let (packets, shell) = read_with(Codecs::NONE, config);
        assert_eq!(payloads(&packets), ["a", "b"]);
        assert!(shell.log.iter().any(|line| line.1.contains("will be uncompressed")));
    }
}

#[test]
#[allow(deprecated, reason = "what configs of today still say")]
fn compression_config_zstd_falls_back_to_legacy_deflate() {
    let config = TraceConfig {
        compression: Some(zstd(3)),
        compression_type: Some(protos::TraceConfigCompressionType::COMPRESSION_TYPE_DEFLATE),
        ..config(&["ds"])
    };
    let (packets, shell) = read_with(Codecs { deflate: true, zstd: false }, config);
    assert!(packets.iter().all(|p| p.data.as_ref().is_some_and(is_deflate)));
    assert_eq!(payloads(&packets.iter().flat_map(unpack).collect::<Vec<_>>()), ["a", "b"]);
    assert!(!shell.log.iter().any(|line| line.1.contains("will be uncompressed")));
}

#[test]
#[allow(deprecated, reason = "what configs of today still say")]
fn compression_config_zstd_used_when_available() {
    let config = TraceConfig {
        compression: Some(Config { zstd: zstd(3).zstd, ..deflate() }),
        compression_type: Some(protos::TraceConfigCompressionType::COMPRESSION_TYPE_DEFLATE),
        ..config(&["ds"])
    };
    read_ipc(config, is_zstd);
}

/// A packet in several chunks is one packet of the compressed stream.
fn multi_slice_input(compression: Config) {
    let mut shell = Shell::new();
    let config = TraceConfig {
        compression: Some(compression),
        buffers: vec![buffer(4096)],
        ..config(&["ds"])
    };
    let (mut producer, consumer) = recording(&mut shell, config);
    let text: String = (0..100_000).map(|at| char::from(b'a' + (at / 7 % 26) as u8)).collect();
    write_large(&mut shell, &producer, &payload(&text));
    producer.write(&mut shell, WriterId::new(2), BUFFER, &[payload("behind")]);
    let inner: Vec<_> = consumer.read(&mut shell).iter().flat_map(unpack).collect();
    assert_eq!(payloads(&inner), [text.as_str(), "behind"]);
}

#[test]
fn deflate_multi_slice_input_packet() {
    multi_slice_input(deflate());
}

#[test]
fn zstd_multi_slice_input_packet() {
    multi_slice_input(zstd(0));
}
