use std::io::Write;

use protos::{
    TestEvent, TraceConfigCompressionConfigZstd, TracePacket, TracePacketData, TrackEvent,
};
use protos::{TraceConfig, TraceConfigCompressionConfig, TraceConfigCompressionConfigDeflate};
use protozero::Message;
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
        let mut scanner = LossScanner::default();
        scanner.scan_packet(&packet);
        assert_eq!((scanner.packets, scanner.gaps), (2, 1), "{codec:?}");
        assert!(compressed::begins_with_compressed(&packet), "{codec:?}");
        let mut file = tempfile::tempfile().unwrap();
        let len = u8::try_from(packet.len()).unwrap();
        file.write_all(&[&[0x0a, len][..], &packet].concat()).unwrap();
        let mut scanner = LossScanner::default();
        scanner.scan_file(&file, |_| true).unwrap();
        assert_eq!((scanner.packets, scanner.gaps), (2, 1), "{codec:?}");
        // Behind the tag and the length.
        packet[3..7].fill(0xff);
        let mut scanner = LossScanner::default();
        scanner.scan_packet(&packet);
        assert_ne!(scanner.gaps, 0, "{codec:?}: what cannot be read");
    }
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(b"\x0a\x05cut").unwrap();
    assert!(LossScanner::default().scan_file(&file, |_| true).is_err());
    let stopped = LossScanner::default().scan_file(&file, |_| false);
    assert_eq!(stopped.unwrap_err().kind(), ErrorKind::Interrupted);
}

/// A program can write packets that unpack to more than a thousand times their length.
#[test]
fn packets_that_unpack_to_a_lot() {
    const COUNT: usize = 1 << 16;
    let trace = b"\x0a\x01\x00".repeat(COUNT);
    let config = TraceConfig {
        compression: Some(TraceConfigCompressionConfig {
            zstd: Some(TraceConfigCompressionConfigZstd::default()),
            ..TraceConfigCompressionConfig::default()
        }),
        ..TraceConfig::default()
    };
    let compressed = Codec::choose(&config).unwrap().compress(&trace).unwrap();
    let packet: Vec<u8> = compressed.slices().flatten().copied().collect();
    assert!(packet.len() * 1200 < trace.len(), "{}", packet.len());
    let mut scanner = LossScanner { unpacked_bytes_max: 1 << 20, ..LossScanner::default() };
    let whole = (0..100).take_while(|_| {
        scanner.scan_packet(&packet);
        scanner.gaps == 0
    });
    let whole = whole.count();
    assert!((5..100).contains(&whole), "{whole}");
    assert_eq!(scanner.unpacked_bytes, scanner.compressed_bytes * UNPACKED_PER_BYTE + (1 << 20));
    assert!(scanner.packets < ((whole + 1) * COUNT) as u64);
    // As much for each of those that follow.
    scanner.scan_packet(&packet);
    assert_eq!(scanner.gaps, 2);
}

/// Behind the last sequence that is remembered, a packet may be the first of its own.
#[test]
fn sequences_without_end() {
    let mut scanner = LossScanner::default();
    let packet = |sequence: u32, dropped| {
        let mut packet = b"\x50".to_vec();
        protozero::wire::write::append_varint(&mut packet, sequence.into());
        packet.extend_from_slice(&[0xd0, 0x02, dropped]);
        packet
    };
    let all = u32::try_from(SEQUENCES_MAX).unwrap();
    for sequence in 0..all {
        scanner.scan_packet(&packet(sequence, 1));
    }
    assert_eq!((scanner.gaps, scanner.undecided), (0, 0));
    for count in 1..=3 {
        scanner.scan_packet(&packet(all + 7, 1));
        assert_eq!((scanner.gaps, scanner.undecided), (0, count));
    }
    assert_eq!(scanner.sequences.len(), SEQUENCES_MAX);
    scanner.scan_packet(&packet(all + 7, 2));
    scanner.scan_packet(&packet(all - 1, 1));
    assert_eq!((scanner.gaps, scanner.undecided), (2, 3), "this is known");
}

#[test]
fn gaps() {
    let mut scanner = LossScanner::default();
    let mut check = |packet: &[u8]| {
        let before = scanner.gaps;
        scanner.scan_packet(packet);
        scanner.gaps != before
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

/// The fast path has the results of the slow one.
#[test]
fn packets_that_end_alike() {
    let mut scanner = LossScanner::default();
    let mut found = |packet: &[u8]| {
        scanner.scan_packet(packet);
        scanner.gaps
    };
    assert_eq!(found(b"\x08\x01\x18\x00\x50\x02\xf8\x04\x07\xd0\x02\x01"), 0);
    for _ in 0..3 {
        assert_eq!(found(b"\x08\x02\x18\x00\x50\x02\xf8\x04\x07"), 0);
    }
    assert_eq!(found(b"\x08\x03\x18\x00\x50\x02\xf8\x04\x07\xd0\x02\x01"), 1);
    assert_eq!(found(b"\x08\x04\x18\x00\x50\x02\xf8\x04\x07"), 1);
    // The producer's own field, and a byte that only looks like it.
    assert_eq!(found(b"\xd0\x02\x80\x02\x18\x00\x50\x02\xf8\x04\x07"), 2);
    assert_eq!(found(b"\x0a\x02\xd0\x02\x18\x00\x50\x02\xf8\x04\x07"), 2);
    assert_eq!(found(b"\x08\x05\x18\x00\x50\x03\xf8\x04\x07\xd0\x02\x01"), 2);
    assert_eq!(found(b"\x08\x05\x18\x00\x50\x03\xf8\x04\x07\xd0\x02\x01"), 3);
}

#[test]
fn track_events_of_other_processes() {
    let packet = |pid: u32, event| {
        let mut packet =
            TracePacket { trusted_pid: Some(pid.cast_signed()), ..TracePacket::default() };
        packet.data = Some(if event {
            TracePacketData::TrackEvent(TrackEvent::default())
        } else {
            TracePacketData::ForTesting(TestEvent::default())
        });
        packet.encode_to_vec()
    };
    let own = std::process::id();
    let mut scanner = LossScanner::new(true);
    for packet in [packet(own, true), packet(own + 1, false), packet(own + 1, false)] {
        scanner.scan_packet(&packet);
        assert!(scanner.seeks_event);
    }
    scanner.scan_packet(&packet(own + 1, true));
    assert!(!scanner.seeks_event);
    scanner.scan_packet(&packet(own, false));
    assert!(!scanner.seeks_event);
    assert_eq!(scanner.packets, 5);
}

/// Missing events are found although their packet begins like the one before.
#[test]
fn events_of_the_kernel_that_are_missing() {
    let stats = protos::FtraceStats {
        unknown_ftrace_events: vec!["mmc".to_owned()],
        ..protos::FtraceStats::default()
    };
    let packet = |data| TracePacket { timestamp: Some(1 << 60), data, ..TracePacket::default() };
    let mut scanner = LossScanner::default();
    let suffix = b"\x18\x00\x50\x01";
    for data in [None, Some(TracePacketData::FtraceStats(stats))] {
        let packet = [&packet(data).encode_to_vec()[..], suffix].concat();
        scanner.scan_packet(&packet);
    }
    assert_eq!(scanner.packets, 2);
    assert_eq!(scanner.ftrace.lines().len(), 1);
}

/// Behind a time of any length, also in a short packet.
#[test]
fn counters_of_rings_are_found() {
    for bits in 0..64 {
        let packet = |data| {
            let packet = TracePacket { timestamp: Some(1 << bits), data, ..TracePacket::default() };
            [&packet.encode_to_vec()[..], b"\x18\x00\x50\x01"].concat()
        };
        let stats = protos::FtraceStats {
            unknown_ftrace_events: vec!["m".to_owned()],
            ..protos::FtraceStats::default()
        };
        let mut scanner = LossScanner::default();
        scanner.scan_packet(&packet(None));
        assert_eq!(scanner.ftrace.lines().len(), 0, "{bits}");
        scanner.scan_packet(&packet(Some(TracePacketData::FtraceStats(stats))));
        assert_eq!(scanner.ftrace.lines().len(), 1, "{bits}");
    }
}

/// Wherever the tags are in what the producer wrote, and with bytes of the service behind it that look like them.
#[test]
fn packets_that_may_tell_something_are_looked_at() {
    for tag in [LossScanner::DROPPED_TAG, LossScanner::FTRACE_STATS_TAG] {
        for (own_len, at) in (2..40).flat_map(|len| (0..len - 1).map(move |at| (len, at))) {
            for suffix in [&[][..], &[0; 12], &tag, &[[0; 12].as_slice(), &tag].concat()] {
                let mut packet = [&vec![1; own_len], suffix].concat();
                let own = |packet: &[u8]| packet[..own_len].to_vec();
                let tells = tag == LossScanner::DROPPED_TAG || at < BEGIN_BYTES - 1;
                // A tag may be longer than it needs to be.
                for second in [tag[1] | 0x80, tag[1]] {
                    packet[at..at + 2].copy_from_slice(&[tag[0], second]);
                    let told = !LossScanner::has_nothing_to_tell(&packet, &own(&packet));
                    assert_eq!(told, tells, "{tag:?} at {at} of {own_len}, before {suffix:?}");
                }
                packet[at] = 1;
                assert!(LossScanner::has_nothing_to_tell(&packet, &own(&packet)), "{packet:?}");
            }
        }
    }
}
