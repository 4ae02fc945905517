use std::io::Write;

use protos::TraceConfigCompressionConfigZstd;
use protos::{TraceConfig, TraceConfigCompressionConfig, TraceConfigCompressionConfigDeflate};
use tracing_core::service::compress::Codec;

use super::*;

#[test]
fn compressed_packets_and_files() {
    // Two of one sequence, the second after a gap.
    let packets = b"\x0a\x05\x50\x01\xd0\x02\x00\x0a\x05\x50\x01\xd0\x02\x01";
    let config =
        |compression| TraceConfig { compression: Some(compression), ..TraceConfig::default() };
    let deflate = TraceConfigCompressionConfig {
        deflate: Some(TraceConfigCompressionConfigDeflate::default()),
        ..TraceConfigCompressionConfig::default()
    };
    let zstd = TraceConfigCompressionConfig {
        zstd: Some(TraceConfigCompressionConfigZstd::default()),
        ..TraceConfigCompressionConfig::default()
    };
    for compression in [deflate, zstd] {
        let codec = Codec::choose(&config(compression)).unwrap();
        let compressed = codec.compress(packets).unwrap();
        let mut packet: Vec<u8> = compressed.slices().flatten().copied().collect();
        for (thorough, found) in [(false, 0), (true, 1)] {
            let mut gaps = LossScanner::new(thorough);
            gaps.look(&packet);
            assert_eq!(gaps.found, found, "{codec:?}");
            let mut file = tempfile::tempfile().unwrap();
            let len = u8::try_from(packet.len()).unwrap();
            file.write_all(&[&[0x0a, len][..], &packet].concat()).unwrap();
            let mut gaps = LossScanner::new(thorough);
            gaps.look_through(&file).unwrap();
            assert_eq!(gaps.found, found, "{codec:?}");
        }
        // Behind the tag and the length.
        packet[3..7].fill(0xff);
        let mut gaps = LossScanner::new(true);
        gaps.look(&packet);
        assert_ne!(gaps.found, 0, "{codec:?}: what cannot be read");
    }
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(b"\x0a\x05cut").unwrap();
    assert!(LossScanner::new(true).look_through(&file).is_err());
}

#[test]
fn gaps() {
    let mut gaps = LossScanner::default();
    let mut check = |packet: &[u8]| {
        let before = gaps.found;
        gaps.look(packet);
        gaps.found != before
    };
    assert!(!check(b""));
    assert!(!check(b"\x50\x01"));
    assert!(!check(b"\x50\x01\xd0\x02\x00"));
    assert!(check(b"\x50\x01\xd0\x02\x01"));
    assert!(!check(b"\x50\x02\xd0\x02\x01"), "the first of its sequence");
    assert!(check(b"\x50\x02\xd0\x02\x01"));
    // As a producer writes it, cut anywhere, followed by what the service adds.
    assert!(check(b"\xd0\x02\x81\x02\x08\x01\x50\x03\xd0\x02\x01"));
    assert!(!check(b"\x50\x03\x0a\x03\xd0\x02\x01"), "inside of another field");
}

/// The short way gives what the long one gives.
#[test]
fn packets_that_end_alike() {
    let mut gaps = LossScanner::default();
    let mut found = |packet: &[u8]| {
        gaps.look(packet);
        gaps.found
    };
    assert_eq!(found(b"\x08\x01\x18\x00\x50\x02\xf8\x04\x07\xd0\x02\x01"), 0);
    for _ in 0..3 {
        assert_eq!(found(b"\x08\x02\x18\x00\x50\x02\xf8\x04\x07"), 0);
    }
    assert_eq!(found(b"\x08\x03\x18\x00\x50\x02\xf8\x04\x07\xd0\x02\x01"), 1);
    assert_eq!(found(b"\x08\x04\x18\x00\x50\x02\xf8\x04\x07"), 1);
    // The producer's own word, and a byte that only looks like one.
    assert_eq!(found(b"\xd0\x02\x80\x02\x18\x00\x50\x02\xf8\x04\x07"), 2);
    assert_eq!(found(b"\x0a\x02\xd0\x02\x18\x00\x50\x02\xf8\x04\x07"), 2);
    assert_eq!(found(b"\x08\x05\x18\x00\x50\x03\xf8\x04\x07\xd0\x02\x01"), 2);
    assert_eq!(found(b"\x08\x05\x18\x00\x50\x03\xf8\x04\x07\xd0\x02\x01"), 3);
}
