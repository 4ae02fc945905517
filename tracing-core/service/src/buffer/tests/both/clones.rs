//! Read-only clones.

use super::*;

fn clone(buffer: &TraceBuffer) -> TraceBuffer {
    let clone = buffer.clone_read_only().expect("memory");
    assert!(clone.is_read_only());
    assert_eq!(clone.used_bytes(), buffer.used_bytes());
    clone
}

/// The packets that were read before the clone was made are not in the clone.
pub fn clone_no_fragments(version: Version) {
    let mut buffer = ring(4096, version);
    for (id, seed) in (0..12).zip("abcdefghijkl".chars()) {
        chunk(1, 1, id).packet(32, seed).packet(16, seed).copy(&mut buffer);
    }
    assert_eq!(read(&mut buffer, 7).len(), 7);
    let mut copy = clone(&buffer);
    let stats = copy.stats();
    assert_eq!((stats.chunks_written, stats.chunks_read, stats.bytes_read), (12, 0, 0));
    assert_eq!(copy.writer_stats().count(), 0);
    let rest = "d e e f f g g h h i i j j k k l l";
    assert_eq!(text(&mut copy), rest);
    assert_eq!(text(&mut copy), "");
    assert_eq!(text(&mut buffer), rest, "the original is as it was");
}

pub fn clone_fragments_out_of_order(version: Version) {
    let mut buffer = ring(4096, version);
    chunk(1, 1, 0).packet(10, 'a').packet(10, 'b').flags(NEXT).copy(&mut buffer);
    chunk(1, 1, 2).packet(10, 'd').packet(10, 'e').flags(PREV).copy(&mut buffer);
    let mut early = clone(&buffer);
    chunk(1, 1, 1).packet(10, 'c').flags(PREV | NEXT).copy(&mut buffer);
    let mut late = clone(&buffer);
    assert_eq!(text(&mut late), "a bcd e");
    // The missing chunk cannot come to a clone: version 1 waits for it, version 2 goes on.
    let expected = if version == Version::V1 { "a" } else { "a e" };
    assert_eq!(text(&mut early), expected);
    assert_eq!(text(&mut buffer), "a bcd e");
}

pub fn clone_with_patches(version: Version) {
    let mut buffer = ring(4096, version);
    chunk(1, 1, 0).packet(64, 'a').flags(NEXT | PATCH).copy(&mut buffer);
    chunk(1, 1, 1).packet(64, 'b').packet(20, 'c').flags(PREV).copy(&mut buffer);
    let mut early = clone(&buffer);
    assert!(patch(&mut buffer, 0, 60, b"YMCA", false));
    let mut late = clone(&buffer);
    assert!(!patch(&mut early, 0, 60, b"YMCA", false), "a clone is not patched");
    assert_eq!(text(&mut early), "");
    assert_eq!(text(&mut late), "aYMCAb c");
    assert_eq!(text(&mut buffer), "aYMCAb c");
}

pub fn clone_wrapping(version: Version) {
    let mut buffer = ring(4096, version);
    for (id, seed) in (0..20).zip("abcdefghijklmnopqrst".chars()) {
        chunk(1, 1, id).packet(512 - 16, seed).copy(&mut buffer);
    }
    let mut copy = clone(&buffer);
    assert_eq!((copy.used_bytes(), copy.stats().chunks_overwritten), (4096, 12));
    assert_eq!(text(&mut copy), "m n o p q r s t");
    assert_eq!(text(&mut buffer), "m n o p q r s t");
}

pub fn clone_wrapping_with_padding(version: Version) {
    let mut buffer = ring(4096, version);
    chunk(1, 1, 0).packet(2560 - 16, 'a').copy(&mut buffer);
    chunk(1, 1, 1).packet(2048 - 16, 'b').copy(&mut buffer);
    // Version 1 pads the end that it could not use, version 2 leaves it as it is.
    let used = if version == Version::V1 { 4096 } else { 2560 };
    let mut copy = clone(&buffer);
    assert_eq!(copy.used_bytes(), used);
    assert_eq!(text(&mut copy), "b");
}

pub fn clone_commit_only_used_size(version: Version) {
    let mut buffer = ring(1 << 30, version);
    chunk(1, 1, 0).packet(1024, 'a').copy(&mut buffer);
    let mut copy = clone(&buffer);
    assert_eq!(copy.used_bytes(), 1024 + 16);
    // A clone is never written to, so it reserves no memory for writes.
    assert!(copy.memory_bytes() < 64 * 1024, "{}", copy.memory_bytes());
    assert_eq!(copy.stats().buffer_size, 1 << 30);
    assert_eq!(text(&mut copy), "a");
}
