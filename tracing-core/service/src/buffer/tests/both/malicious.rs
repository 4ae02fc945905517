//! Chunks with false claims.

use super::*;

pub fn malicious_zero_sized_chunk(version: Version) {
    let mut buffer = ring(4096, version);
    chunk(1, 1, 0).packet(16, 'a').copy(&mut buffer);
    chunk(1, 1, 1).copy(&mut buffer);
    chunk(1, 1, 2).count(7).copy(&mut buffer);
    chunk(1, 1, 3).packet(16, 'b').copy(&mut buffer);
    assert_eq!(text(&mut buffer), "a b");
    assert_eq!(buffer.stats().abi_violations, 1, "seven fragments in nothing");
}

pub fn malicious_chunk_too_big(version: Version) {
    let mut buffer = ring(4096, version);
    for len in [4096, 4096 - 15, 8192] {
        chunk(1, 1, 0).packet(len, 'a').copy(&mut buffer);
    }
    assert!(!buffer.has_data());
    assert_eq!((buffer.stats().abi_violations, buffer.stats().chunks_written), (3, 0));
    chunk(1, 1, 0).packet(4096 - 16, 'a').copy(&mut buffer);
    assert_eq!(text(&mut buffer), "a");
}

/// A bad fragment between good chunks only costs the rest of its own chunk.
#[track_caller]
fn between_good_ones(version: Version, bytes: &[u8], fragments: u16, violations: u64) {
    let mut buffer = ring(256 * 1024, version);
    chunk(1, 1, 0).packet(20, 'a').copy(&mut buffer);
    chunk(1, 1, 1).packet(20, 'b').bytes(bytes).count(1 + fragments).copy(&mut buffer);
    chunk(1, 1, 2).packet(20, 'c').copy(&mut buffer);
    chunk(2, 1, 0).packet(20, 'z').copy(&mut buffer);
    assert_eq!(text(&mut buffer), "a b c z", "{bytes:?}");
    assert_eq!(buffer.stats().abi_violations, violations, "{bytes:?}");
}

pub fn malicious_declare_more_packets_beyond_boundaries(version: Version) {
    for count in [30, 300, 1023] {
        between_good_ones(version, &[], count, 1);
    }
}

pub fn malicious_zero_varint_header(version: Version) {
    let mut buffer = ring(4096, version);
    chunk(1, 1, 0).packet(4, 'a').bytes(&[0]).count(2).copy(&mut buffer);
    chunk(1, 1, 1).bytes(&[0]).packet(4, 'b').count(2).copy(&mut buffer);
    chunk(1, 1, 2).bytes(&[0]).count(1).copy(&mut buffer);
    chunk(1, 1, 3).packet(4, 'c').copy(&mut buffer);
    assert_eq!(text(&mut buffer), "a b c");
    assert_eq!(buffer.stats().abi_violations, 0);
}

pub fn malicious_overflowing_varint_header(version: Version) {
    between_good_ones(version, &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80], 12, 1);
    between_good_ones(version, &[0x80], 1, u64::from(version == Version::V2));
}

pub fn malicious_varint_header_too_big(version: Version) {
    between_good_ones(version, &[13, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], 1, 1); // off by one
    between_good_ones(version, &[0xff, 0xff, 0xff, 0x7f], 1, 0); // the mark of a dropped packet
    between_good_ones(version, &[0xff, 0xff, 0xff, 0x3f], 1, 1);
    between_good_ones(version, &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1], 1, 1);
}

pub fn malicious_jumbo_varint(version: Version) {
    between_good_ones(version, &[0xff; 60_000], 1, 1);
    between_good_ones(version, &[0xff; 60_000], 1023, 1);
}

pub fn malicious_zero_varint_header_in_sequence(version: Version) {
    let mut buffer = ring(4096, version);
    chunk(1, 1, 0).packet(20, 'a').flags(NEXT).copy(&mut buffer);
    chunk(1, 1, 1).bytes(&[0]).count(1).flags(PREV | NEXT).copy(&mut buffer);
    chunk(1, 1, 2).packet(20, 'b').flags(PREV).copy(&mut buffer);
    assert_eq!(text(&mut buffer), "ab");
    // A packet of empty fragments has no slices.
    chunk(1, 1, 3).bytes(&[0]).count(1).flags(NEXT).copy(&mut buffer);
    chunk(1, 1, 4).bytes(&[0]).count(1).flags(PREV).copy(&mut buffer);
    buffer.begin_read();
    assert!(buffer.next_packet().is_some_and(|p| p.slices.is_empty()));
    assert!(buffer.next_packet().is_none());
    assert_eq!(buffer.stats().abi_violations, 0);
}

pub fn malicious_zero_varint_header_at_end_of_chunk(version: Version) {
    let mut buffer = ring(4096, version);
    chunk(1, 1, 0).packet(15, 'a').bytes(&[0]).count(2).flags(NEXT).copy(&mut buffer);
    chunk(1, 1, 1).packet(16, 'b').flags(PREV).copy(&mut buffer);
    chunk(1, 1, 2).packet(15, 'c').bytes(&[0]).count(2).copy(&mut buffer);
    chunk(1, 1, 3).packet(16, 'd').copy(&mut buffer);
    assert_eq!(text(&mut buffer), "a b c d");
    assert_eq!(buffer.stats().abi_violations, 0);
}

/// A chunk with three packets comes again, shorter.
fn overridden_shorter(version: Version, reads: usize) {
    let mut buffer = ring(4096, version);
    let full = || chunk(1, 1, 0).packet(100, 'a').packet(100, 'b').packet(100, 'c').pad_to(400);
    full().incomplete().copy(&mut buffer);
    assert_eq!(read(&mut buffer, reads).len(), reads);
    chunk(1, 1, 0).packet(40, 'x').pad_to(100).copy(&mut buffer);
    assert_eq!(buffer.stats().abi_violations, 1);
    full().copy(&mut buffer);
    chunk(1, 1, 1).packet(100, 'd').copy(&mut buffer);
    assert_eq!(text(&mut buffer), &"a b c d"[2 * reads..]);
    assert_eq!((buffer.stats().abi_violations, buffer.stats().chunks_read), (1, 2));
}

pub fn malicious_override_with_shorter_chunk_size(version: Version) {
    overridden_shorter(version, 0);
}

pub fn malicious_override_with_shorter_chunk_size_after_read(version: Version) {
    overridden_shorter(version, 1);
}

pub fn malicious_override_with_different_offset_after_read(version: Version) {
    let mut buffer = ring(4096, version);
    let first = chunk(1, 1, 0).packet(30, 'a').packet(40, 'b').packet(50, 'c').pad_to(400);
    first.incomplete().copy(&mut buffer);
    assert_eq!(read(&mut buffer, 1).len(), 1);
    // It has more fragments, which are shorter, so that they are at other offsets.
    let moved = chunk(1, 1, 0).packet(4, 'x').packet(5, 'x').packet(6, 'x').packet(7, 'x');
    moved.pad_to(400).copy(&mut buffer);
    chunk(1, 1, 1).packet(100, 'd').copy(&mut buffer);
    assert_eq!(buffer.stats().abi_violations, u64::from(version == Version::V2));
    let packets = text(&mut buffer);
    match version {
        // Reading goes on at the old offset, where there are two empty fragments now.
        Version::V1 => assert_eq!(packets, "d"),
        // Ignored: the stored chunk waits for its real end.
        Version::V2 => {
            assert_eq!(packets, "b");
            let whole = chunk(1, 1, 0).packet(30, 'a').packet(40, 'b').packet(50, 'c');
            whole.pad_to(400).copy(&mut buffer);
            assert_eq!(text(&mut buffer), "c d");
        }
    }
}
