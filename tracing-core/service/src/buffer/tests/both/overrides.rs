//! Chunks that come again: first while they were being written, then complete.

use super::*;

/// Chunk 0 with the first `n` packets.
pub fn begun(n: usize) -> Chunk {
    "abcd".chars().take(n).fold(chunk(1, 1, 0), |c, seed| c.packet(20, seed)).pad_to(100)
}

pub fn override_re_commit_before_read(version: Version) {
    let mut buffer = ring(4096, version);
    begun(3).incomplete().copy(&mut buffer);
    begun(4).copy(&mut buffer);
    chunk(1, 1, 1).packet(20, 'e').copy(&mut buffer);
    assert_eq!(text(&mut buffer), "a b c d e");
    let stats = buffer.stats();
    assert_eq!((stats.chunks_rewritten, stats.chunks_written, stats.abi_violations), (1, 2, 0));
}

pub fn override_re_commit_after_partial_read(version: Version) {
    let mut buffer = ring(4096, version);
    begun(4).incomplete().copy(&mut buffer);
    assert_eq!(read(&mut buffer, 1).len(), 1);
    begun(4).copy(&mut buffer);
    assert_eq!(text(&mut buffer), "b c d");
    assert_eq!(buffer.stats().chunks_rewritten, 1);
}

pub fn override_re_commit_after_full_read(version: Version) {
    let mut buffer = ring(4096, version);
    begun(3).incomplete().copy(&mut buffer);
    assert_eq!(text(&mut buffer), "a b");
    begun(4).copy(&mut buffer);
    assert_eq!(text(&mut buffer), "c d");
    begun(4).copy(&mut buffer);
    assert_eq!(text(&mut buffer), "");
    assert_eq!(buffer.stats().abi_violations, 0);
}

pub fn override_re_commit_invalid(version: Version) {
    let mut buffer = ring(4096, version);
    begun(2).copy(&mut buffer);
    chunk(1, 1, 1).packet(20, 'c').packet(20, 'd').copy(&mut buffer);
    assert_eq!(read(&mut buffer, 3).len(), 3);
    // The next chunk is being read: nothing may be added before it.
    begun(3).copy(&mut buffer);
    let stats = buffer.stats();
    let refused = stats.abi_violations + stats.chunks_discarded;
    assert_eq!((refused, stats.chunks_rewritten), (1, 0));
    assert_eq!(text(&mut buffer), "d");
}

pub fn override_re_commit_reordered(version: Version) {
    let mut buffer = ring(4096, version);
    begun(3).incomplete().copy(&mut buffer);
    chunk(1, 1, 1).packet(20, 'e').copy(&mut buffer);
    begun(4).copy(&mut buffer);
    chunk(1, 1, 2).packet(20, 'f').copy(&mut buffer);
    assert_eq!(text(&mut buffer), "a b c d e f");
    assert_eq!(buffer.stats().chunks_rewritten, 1);
}

pub fn override_re_commit_reordered_fragmenting(version: Version) {
    let mut buffer = ring(4096, version);
    begun(3).flags(NEXT).incomplete().copy(&mut buffer);
    chunk(1, 1, 1).packet(20, 'e').packet(20, 'f').flags(PREV).copy(&mut buffer);
    begun(4).flags(NEXT).copy(&mut buffer);
    assert_eq!(text(&mut buffer), "a b c de f");
}

pub fn override_re_commit_same_before_read(version: Version) {
    let mut buffer = ring(4096, version);
    begun(4).copy(&mut buffer);
    begun(4).copy(&mut buffer);
    begun(4).copy(&mut buffer);
    assert_eq!(text(&mut buffer), "a b c d");
    let stats = buffer.stats();
    assert_eq!((stats.chunks_rewritten, stats.chunks_written, stats.abi_violations), (0, 1, 0));
}

pub fn override_re_commit_same_after_read(version: Version) {
    let mut buffer = ring(4096, version);
    begun(4).copy(&mut buffer);
    assert_eq!(read(&mut buffer, 2).len(), 2);
    begun(4).copy(&mut buffer);
    assert_eq!(text(&mut buffer), "c d");
    begun(4).copy(&mut buffer);
    assert_eq!(text(&mut buffer), "");
    assert_eq!((buffer.stats().chunks_rewritten, buffer.stats().abi_violations), (0, 0));
}

pub fn override_re_commit_incomplete_after_read_out_of_order(version: Version) {
    let mut buffer = ring(4096, version);
    begun(3).incomplete().copy(&mut buffer);
    assert_eq!(text(&mut buffer), "a b");
    chunk(1, 1, 1).packet(20, 'e').copy(&mut buffer);
    assert_eq!(text(&mut buffer), "", "the first may still grow");
    begun(4).copy(&mut buffer);
    assert_eq!(text(&mut buffer), "c d e");
}

pub fn override_re_commit_incomplete_fragmenting(version: Version) {
    let mut buffer = ring(4096, version);
    begun(3).flags(NEXT).incomplete().copy(&mut buffer);
    chunk(1, 1, 1).packet(20, 'e').packet(20, 'f').flags(PREV).copy(&mut buffer);
    assert_eq!(text(&mut buffer), "a b");
    assert_eq!(text(&mut buffer), "");
    begun(3).flags(NEXT).copy(&mut buffer);
    assert_eq!(text(&mut buffer), "ce f");
}

pub fn override_end_of_buffer(version: Version) {
    let mut buffer = ring(4096, version);
    chunk(1, 1, 0).packet(2048 - 16, 'a').copy(&mut buffer);
    let last = |n: usize| {
        let packets = "bcd".chars().take(n);
        packets.fold(chunk(1, 1, 1), |c, seed| c.packet(600, seed)).pad_to(2048 - 16)
    };
    last(2).incomplete().copy(&mut buffer);
    assert_eq!(buffer.used_bytes(), 4096);
    last(3).copy(&mut buffer);
    chunk(2, 1, 0).packet(1024 - 16, 'z').copy(&mut buffer);
    let packets = text(&mut buffer);
    assert!(packets.contains("b c d") && packets.contains('z'), "{packets}");
    assert_eq!((buffer.stats().chunks_rewritten, buffer.stats().chunks_overwritten), (1, 1));
}
