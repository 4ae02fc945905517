//! Each loss is reported once, at the next packet, with its reason.

use super::*;

#[test]
fn data_loss_read_gap() {
    let mut buffer = ring(4096);
    chunk(1, 1, 0).packet(20, 'a').copy(&mut buffer);
    chunk(1, 1, 2).packet(20, 'b').packet(20, 'c').copy(&mut buffer);
    assert_eq!(losses(&mut buffer), "a b=3 c");
}

#[test]
fn data_loss_overwrite_vs_chunk_count() {
    let mut buffer = ring(4096);
    for (id, seed) in (0..6).zip("abcdef".chars()) {
        chunk(1, 1, id).packet(500, seed).packet(524 - 16, seed).copy(&mut buffer);
    }
    assert_eq!(buffer.stats().chunks_overwritten, 2);
    assert_eq!(losses(&mut buffer), "c=65 c d d e e f f");
}

#[test]
fn data_loss_orphan_continuation() {
    let mut buffer = ring(4096);
    chunk(1, 1, 0).packet(20, 'o').packet(20, 'a').flags(PREV).copy(&mut buffer);
    chunk(1, 2, 0).packet(20, 'o').flags(PREV | NEXT).copy(&mut buffer);
    chunk(1, 2, 1).packet(20, 'b').copy(&mut buffer);
    assert_eq!(losses(&mut buffer), "a=9 b=9");
}

#[test]
fn data_loss_reassembly_broken_chain() {
    let mut buffer = ring(4096);
    chunk(1, 1, 0).packet(20, 'a').packet(20, 'x').flags(NEXT).copy(&mut buffer);
    chunk(1, 1, 1).packet(20, 'b').copy(&mut buffer);
    assert_eq!(losses(&mut buffer), "a b=33");
    assert_eq!(buffer.stats().readaheads_failed, 1);
}

#[test]
fn data_loss_reassembly_gap() {
    let mut buffer = ring(4096);
    chunk(1, 1, 0).packet(20, 'a').packet(20, 'x').flags(NEXT).copy(&mut buffer);
    chunk(1, 1, 2).packet(20, 'x').packet(20, 'b').packet(20, 'c').flags(PREV).copy(&mut buffer);
    assert_eq!(losses(&mut buffer), format!("a b={} c", 1 | 2 | 16 | 8));
}

#[test]
fn chunk_gaps_within_same_read_cycle() {
    let mut buffer = ring(4096);
    for (id, seed) in [(0, 'a'), (1, 'b'), (3, 'd'), (4, 'e'), (7, 'h')] {
        chunk(1, 1, id).packet(20, seed).copy(&mut buffer);
    }
    assert_eq!(losses(&mut buffer), "a b d=3 e h=3");
}

/// A hole in the ids before a chunk that came earlier.
#[test]
fn chunk_gaps_within_one_read() {
    let mut buffer = ring(4096);
    for (id, seed) in [(9, 'j'), (0, 'a'), (1, 'b'), (3, 'd'), (8, 'i')] {
        chunk(1, 1, id).packet(20, seed).copy(&mut buffer);
    }
    assert_eq!(losses(&mut buffer), "a b d=3 i=3 j");
    // Packets over several chunks are joined behind such a hole.
    chunk(1, 1, 13).packet(20, 'z').copy(&mut buffer);
    chunk(1, 1, 11).packet(20, 'x').flags(NEXT).copy(&mut buffer);
    chunk(1, 1, 12).packet(20, 'y').flags(PREV).copy(&mut buffer);
    assert_eq!(losses(&mut buffer), "xy=3 z");
}

#[test]
fn chunk_gaps_across_read_cycles() {
    let mut buffer = ring(4096);
    for (id, expected) in [(0, "a"), (1, "a"), (3, "a=3"), (4, "a"), (6, "a=3")] {
        chunk(1, 1, id).packet(20, 'a').copy(&mut buffer);
        assert_eq!(losses(&mut buffer), expected, "chunk {id}");
    }
}

/// A gap is reported once, even if the chunk behind it is visited several times.
#[test]
fn chunk_gaps_are_told_once() {
    let mut buffer = ring(4096);
    chunk(1, 1, 0).packet(20, 'a').copy(&mut buffer);
    let more = |n: usize| {
        "cdef".chars().take(n).fold(chunk(1, 1, 2), |c, seed| c.packet(20, seed)).pad_to(100)
    };
    more(2).incomplete().copy(&mut buffer);
    assert_eq!(losses(&mut buffer), "a c=3");
    more(3).incomplete().copy(&mut buffer);
    assert_eq!(losses(&mut buffer), "d");
    more(4).copy(&mut buffer);
    assert_eq!(losses(&mut buffer), "e f");
}

#[test]
fn chunk_gaps_even_if_sequence_disappears() {
    let mut buffer = ring(4096);
    chunk(1, 1, 0).packet(20, 'a').copy(&mut buffer);
    assert_eq!(losses(&mut buffer), "a");
    for id in 0..40 {
        chunk(2, 1, id).packet(1000, 'z').copy(&mut buffer);
        losses(&mut buffer);
    }
    chunk(1, 1, 2).packet(20, 'c').copy(&mut buffer);
    assert_eq!(losses(&mut buffer), "c=3");
    chunk(1, 1, 3).packet(20, 'd').copy(&mut buffer);
    assert_eq!(losses(&mut buffer), "d");
}

#[test]
fn sequence_gaps_detection_with_chunk_id_wrap() {
    let mut buffer = ring(4096);
    for id in [u32::MAX - 1, u32::MAX, 0, 1] {
        chunk(1, 1, id).packet(20, 'a').copy(&mut buffer);
        assert_eq!(losses(&mut buffer), "a");
    }
    let mut buffer = ring(4096);
    for (id, expected) in [(u32::MAX - 1, "a"), (0, "a=3"), (1, "a"), (3, "a=3")] {
        chunk(1, 1, id).packet(20, 'a').copy(&mut buffer);
        assert_eq!(losses(&mut buffer), expected);
    }
}

#[test]
fn no_data_loss_if_reader_catches_up() {
    let mut buffer = ring(4096);
    for id in 0..100 {
        chunk(1, 1, id).packet(1000, 'a').copy(&mut buffer);
        chunk(1, 2, id).packet(300, 'b').copy(&mut buffer);
        assert_eq!(losses(&mut buffer), "a b");
    }
    assert_eq!(buffer.stats().chunks_overwritten, 0);
}

#[test]
fn packet_drop_on_overwrite() {
    let mut buffer = ring(4096);
    chunk(1, 1, 0).packet(1024 - 16, 'a').copy(&mut buffer);
    assert_eq!(losses(&mut buffer), "a");
    for (id, seed) in (1..7).zip("bcdefg".chars()) {
        chunk(1, 1, id).packet(1024 - 16, seed).copy(&mut buffer);
    }
    assert_eq!(losses(&mut buffer), "d=65 e f g");
}

#[test]
fn pending_patches_data_loss_on_overwrite() {
    let mut buffer = ring(4096);
    let waiting = chunk(1, 1, 0).packet(512 - 16, 'a').packet(512, 'b').flags(NEXT | PATCH);
    waiting.copy(&mut buffer);
    chunk(1, 1, 1).packet(512, 'c').packet(512 - 16, 'd').flags(PREV).copy(&mut buffer);
    assert_eq!(losses(&mut buffer), "a");
    chunk(2, 1, 0).packet(2048 - 16, 'z').copy(&mut buffer);
    chunk(2, 1, 1).packet(1024 - 16, 'z').copy(&mut buffer);
    assert!(!patch(&mut buffer, 0, 500, b"late", false));
    // The begin was evicted with its chunk, so the rest of the packet is an orphan.
    assert_eq!(losses(&mut buffer), format!("d={} z z", 1 | 64 | 8));
}
