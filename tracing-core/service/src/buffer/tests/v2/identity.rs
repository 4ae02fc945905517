//! The identities of sequences, and how long they are remembered.

use super::*;
use crate::limits::{EMPTY_SEQUENCES_V2_KEPT, EMPTY_SEQUENCES_V2_MAX};

fn on_behalf_of(uid: u32, id: u32, seed: char) -> Chunk {
    chunk(1, 1, id).packet(20, seed).of_user(uid)
}

#[test]
fn a_number_given_to_another_producer_begins_another_sequence() {
    let mut buffer = ring(4096);
    on_behalf_of(10, 7, 'a').flags(NEXT).copy(&mut buffer);
    on_behalf_of(10, 8, 'b').packet(20, 'c').flags(PREV).copy(&mut buffer);
    // Its ids begin anew, and are not late.
    on_behalf_of(20, 0, 'd').copy(&mut buffer);
    on_behalf_of(20, 1, 'e').copy(&mut buffer);
    let packets = read(&mut buffer, 9);
    let who: Vec<_> = packets.iter().map(|p| (p.identity.uid, p.dropped)).collect();
    assert_eq!(who, [(10, 0), (10, 0), (20, 0), (20, 0)]);
    assert_eq!(buffer.stats().chunks_discarded, 0);
}

#[test]
fn sequences_without_chunks_are_forgotten_oldest_first() {
    let mut buffer = ring(64 * 1024);
    let count = EMPTY_SEQUENCES_V2_MAX as u16 + 1;
    for writer in 0..count {
        chunk(1, writer, 0).packet(20, 'a').copy(&mut buffer);
        assert_eq!(losses(&mut buffer), "a");
    }
    // Sequences are forgotten before a chunk is read, so it takes one more chunk.
    chunk(2, 1, 0).packet(20, 'z').copy(&mut buffer);
    assert_eq!(losses(&mut buffer), "z");
    let forgotten = count - EMPTY_SEQUENCES_V2_KEPT as u16;
    for (writer, expected) in
        [(0, "b"), (forgotten - 1, "b"), (forgotten, "b=3"), (count - 1, "b=3")]
    {
        chunk(1, writer, 2).packet(20, 'b').copy(&mut buffer);
        assert_eq!(losses(&mut buffer), expected, "writer {writer}");
    }
}

/// To forget some, a buffer looks at all, so it does that less often if many have chunks.
#[test]
fn more_are_remembered_beside_many_sequences_with_chunks() {
    const WITH_CHUNKS: u16 = 800;
    let mut buffer = ring(256 * 1024);
    for writer in 0..WITH_CHUNKS {
        // They wait for a patch, so they are not read.
        chunk(2, writer, 0).packet(20, 'a').flags(NEXT | PATCH).copy(&mut buffer);
    }
    let mut write = |writers: core::ops::Range<u16>, id, expected: &str| {
        let writers: Vec<u16> = writers.collect();
        for some in writers.chunks(100) {
            for writer in some {
                chunk(1, *writer, id).packet(20, 'a').copy(&mut buffer);
            }
            assert_eq!(losses(&mut buffer), vec![expected; some.len()].join(" "));
        }
    };
    let max = EMPTY_SEQUENCES_V2_MAX as u16 + WITH_CHUNKS / 8;
    write(0..max, 0, "a");
    // One for each eight: nothing is forgotten yet, and chunk 1 of each is missed.
    write(0..max, 2, "a=3");
    write(max..max + 1, 0, "a");
    write(max + 1..max + 2, 0, "a");
    write(0..1, 4, "a");
}

#[test]
fn any_ids() {
    let mut buffer = ring(16 * 1024);
    for i in (0..100_000u32).rev() {
        chunk(1, 1, i.wrapping_mul(0x9e37_79b9)).packet(20, 'a').copy(&mut buffer);
    }
    let stats = buffer.stats();
    assert_eq!(stats.chunks_written + stats.chunks_discarded, 100_000);
    buffer.begin_read();
    while buffer.next_packet().is_some() {}
}
