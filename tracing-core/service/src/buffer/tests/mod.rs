//! Tests of one behaviour each. Tests that are named after a test of the C++ sources are in [`v1`], [`v2`] and [`both`].
//! Random histories are in the crate `testing`.

mod both;
mod chunks;
mod harness;
mod index_size;
mod v1;
mod v2;

use self::harness::{Chunk, NEXT, PATCH, PREV, chunk, patch, patches_of, read, seeds};
use super::{Patch, Policy, Stats, TraceBuffer, Version};
use crate::limits::EMPTY_SEQUENCES_PER_BUFFER_MAX;
use abi::ids::{ProducerId, WriterId};

fn ring(bytes: usize) -> TraceBuffer {
    harness::buffer(bytes, Policy::Ring, Version::V1)
}

#[test]
fn creation() {
    assert!(TraceBuffer::new(0, Policy::Ring, Version::V1).is_none());
    assert!(TraceBuffer::new(1 << 32, Policy::Ring, Version::V1).is_none());
    assert!(TraceBuffer::new(usize::MAX, Policy::Ring, Version::V1).is_none());
    let buffer = TraceBuffer::new(1000, Policy::Discard, Version::V1).expect("memory");
    assert_eq!((buffer.stats().buffer_size, buffer.used_bytes()), (1000, 0));
    assert_eq!((buffer.policy(), buffer.has_data()), (Policy::Discard, false));
}

/// Several may be written between two questions.
#[test]
fn quarters_of_a_ring_are_counted() {
    let mut buffer = ring(4096);
    let mut ids = 0..;
    let mut write = |chunks| {
        let ids = ids.by_ref().take(chunks);
        ids.for_each(|id| chunk(1, 1, id).pad_to(512).copy(&mut buffer));
        buffer.take_quarters()
    };
    assert_eq!([write(1), write(1), write(1), write(6), write(0)], [0, 1, 0, 3, 0]);
    let mut discards = harness::buffer(4096, Policy::Discard, Version::V1);
    (0..4).for_each(|id| chunk(1, 1, id).pad_to(512).copy(&mut discards));
    assert_eq!(discards.take_quarters(), 0);
}

#[test]
fn reading_stops_when_the_buffer_changes() {
    let mut buffer = ring(4096);
    chunk(1, 1, 0).packet(20, 'a').packet(20, 'b').copy(&mut buffer);
    buffer.begin_read();
    assert!(buffer.next_packet().is_some());
    chunk(1, 1, 1).packet(20, 'c').copy(&mut buffer);
    assert!(buffer.next_packet().is_none());
    assert_eq!(seeds(&mut buffer), "b c");
}

#[test]
fn one_chunk_per_writer_in_order_of_producer_and_writer() {
    let mut buffer = ring(8192);
    for (i, (producer, writer)) in [(2, 1), (1, 9), (1, 2), (3, 1)].into_iter().enumerate() {
        let seed = (b'a' + i as u8) as char;
        chunk(producer, writer, 0).packet(32, seed).copy(&mut buffer);
    }
    assert_eq!(seeds(&mut buffer), "!c !b !a !d");
}

#[test]
fn chunks_without_fragments_break_nothing() {
    let mut buffer = ring(8192);
    chunk(1, 1, 0).copy(&mut buffer);
    chunk(1, 1, 1).packet(20, 'a').flags(NEXT).copy(&mut buffer);
    chunk(1, 1, 2).copy(&mut buffer);
    chunk(1, 1, 3).packet(20, 'b').flags(PREV).copy(&mut buffer);
    chunk(1, 1, 4).copy(&mut buffer);
    assert_eq!(seeds(&mut buffer), "!ab");
    chunk(1, 1, 5).packet(20, 'c').copy(&mut buffer);
    // Nothing is read of the chunk that ends the batch, and nothing was lost before it.
    assert_eq!(seeds(&mut buffer), "c");
    assert_eq!(buffer.stats().chunks_read, 3);
}

#[test]
fn a_number_given_to_another_producer_begins_another_sequence() {
    let on_behalf_of = |uid: u32, id: u32, seed: char| {
        let mut chunk = chunk(1, 1, id).packet(10, seed);
        chunk.meta.identity.uid = uid;
        chunk
    };
    let mut buffer = ring(4096);
    on_behalf_of(10, 0, 'a').packet(10, 'b').flags(NEXT).copy(&mut buffer);
    // Its ids begin anew: they do not extend a chunk, or end a packet, of the earlier owner.
    on_behalf_of(20, 0, 'c').copy(&mut buffer);
    on_behalf_of(20, 1, 'd').flags(PREV).copy(&mut buffer);
    on_behalf_of(20, 2, 'e').copy(&mut buffer);
    assert!(!patch(&mut buffer, 9, 0, b"evil", false));
    let packets = read(&mut buffer, 9);
    let who: Vec<_> = packets.iter().map(|p| (p.identity.uid, p.bytes[0] as char)).collect();
    assert_eq!(who, [(10, 'a'), (20, 'c'), (20, 'e')]);
    assert_eq!(buffer.stats().abi_violations, 0);
    // The chunks of the earlier owner are overwritten, and then its sequence is forgotten.
    chunk(3, 1, 0).packet(4096 - 16, 'z').copy(&mut buffer);
    assert_eq!(seeds(&mut buffer), "!z");
}

/// The lowest and the highest ids are not mixed up with free entries of the cache.
#[test]
fn sequences_with_the_lowest_and_highest_ids() {
    for version in [Version::V1, Version::V2] {
        for id in [0, u16::MAX] {
            let mut buffer = harness::buffer(4096, Policy::Ring, version);
            chunk(id, id, 0).packet(20, 'a').copy(&mut buffer);
            // Another identity takes over a producer id, and the cache of V1 is cleared.
            chunk(1, 1, 0).packet(20, 'b').copy(&mut buffer);
            let mut other = chunk(1, 1, 0).packet(20, 'c');
            other.meta.identity.uid = 77;
            other.copy(&mut buffer);
            chunk(id, id, 1).packet(20, 'd').copy(&mut buffer);
            let read: String =
                seeds(&mut buffer).chars().filter(char::is_ascii_lowercase).collect();
            assert!(read.contains('b') && read.contains('c'), "{version:?} {id}: {read}");
            assert_eq!(read.replace(['b', 'c'], ""), "ad", "{version:?} {id}");
        }
    }
}

/// Chunks of ever new writers: those that are gone are forgotten, for a limit of the service, too.
#[test]
fn sequences_without_chunks_are_forgotten() {
    let mut buffer = TraceBuffer::new(64 * 1024, Policy::Ring, Version::V1).expect("memory");
    let max = EMPTY_SEQUENCES_PER_BUFFER_MAX as u32;
    let mut fill = |writers: core::ops::Range<u32>| {
        for number in writers {
            let (producer, writer) = ((number >> 10) as u16 + 1, (number & 0x3ff) as u16 + 1);
            chunk(producer, writer, 0).packet(20, 'a').copy(&mut buffer);
        }
        buffer.memory_bytes()
    };
    let once = fill(0..max + 4000);
    assert!(fill(max + 4000..8 * max) <= once * 2);
}

/// The index takes little memory in comparison with the chunks, even if these are small.
#[test]
fn memory_of_tiny_chunks() {
    for version in [Version::V1, Version::V2] {
        let mut buffer = harness::buffer(1 << 20, Policy::Ring, version);
        for id in 0..200_000 {
            chunk(1, 1, id).copy(&mut buffer);
        }
        assert_eq!(buffer.used_bytes(), 1 << 20);
        let index = buffer.memory_bytes() - buffer.used_bytes();
        assert!(index <= 1 << 19, "{version:?}: {index}");
        // Memory of a sequence is freed when other sequences overwrite its chunks.
        for writer in 2..20u16 {
            for id in 0..70_000 {
                chunk(1, writer, id).copy(&mut buffer);
            }
        }
        let index = buffer.memory_bytes() - buffer.used_bytes();
        assert!(index <= 1 << 19, "{version:?}: {index}");
    }
}

/// A pass does not start again at the first of many chunks without fragments.
#[test]
fn chunks_without_fragments_are_passed_once() {
    let mut buffer = ring(1 << 20);
    chunk(1, 1, 0).packet(20, 'a').copy(&mut buffer);
    assert_eq!(seeds(&mut buffer), "!a");
    for id in 1..40_000 {
        chunk(1, 1, id).copy(&mut buffer);
        buffer.begin_read();
        assert!(buffer.next_packet().is_none());
    }
    chunk(1, 1, 40_000).packet(20, 'b').copy(&mut buffer);
    assert_eq!(seeds(&mut buffer), "b");
}

#[test]
fn patches() {
    let mut buffer = ring(4096);
    chunk(1, 1, 0).packet(64, 'a').flags(PATCH).copy(&mut buffer);
    chunk(2, 1, 0).packet(64, 'z').copy(&mut buffer);
    assert_eq!(seeds(&mut buffer), "!z");
    assert!(patch(&mut buffer, 0, 5, b"YMCA", true));
    assert_eq!(seeds(&mut buffer), "");
    assert!(patch(&mut buffer, 0, 60, b"last", false), "at the very end");
    let text = String::from_utf8(read(&mut buffer, 1).remove(0).bytes).expect("letters");
    assert_eq!(&text[4..8], "YMCA");
    assert!(text.ends_with("last"));
    assert_eq!((buffer.stats().patches_succeeded, buffer.stats().patches_failed), (2, 0));
    // A request without patches is legal, and says that no patches will follow.
    chunk(1, 1, 1).packet(20, 'b').flags(PATCH).copy(&mut buffer);
    assert!(buffer.patch(&patches_of(1, 1, 1, &[])));
    assert_eq!(seeds(&mut buffer), "b");
}

#[test]
fn patches_that_miss() {
    let mut buffer = ring(4096);
    chunk(1, 1, 0).packet(16, 'a').flags(PATCH).copy(&mut buffer);
    for offset in [13, 16, 17, 100, u32::MAX, u32::MAX - 3] {
        assert!(!patch(&mut buffer, 0, offset, b"evil", false), "{offset}");
    }
    assert!(!patch(&mut buffer, 1, 0, b"evil", false));
    let none: [Patch; 0] = [];
    assert!(!buffer.patch(&patches_of(1, 2, 0, &none)));
    assert!(!buffer.patch(&patches_of(2, 1, 0, &none)));
    assert_eq!(buffer.stats().patches_failed, 9);
    assert_eq!(seeds(&mut buffer), "", "still waiting");
    // The patches before the bad one stay applied; the request counts once.
    let half = [Patch { offset: 1, data: *b"good" }, Patch { offset: 99, data: *b"evil" }];
    assert!(!buffer.patch(&patches_of(1, 1, 0, &half)));
    assert_eq!((buffer.stats().patches_failed, buffer.stats().patches_succeeded), (10, 0));
    assert!(buffer.patch(&patches_of(1, 1, 0, &none)));
    assert_eq!(seeds(&mut buffer), "!goda");
}

#[test]
fn zero_sized_chunks() {
    let mut buffer = ring(4096);
    chunk(1, 1, 0).packet(16, 'a').copy(&mut buffer);
    chunk(1, 1, 1).copy(&mut buffer);
    chunk(1, 1, 2).count(7).copy(&mut buffer);
    chunk(1, 1, 3).packet(16, 'b').copy(&mut buffer);
    assert_eq!(seeds(&mut buffer), "!a !b");
    assert_eq!(buffer.stats().abi_violations, 1);
}

#[test]
fn chunks_that_cannot_fit() {
    let mut buffer = ring(4096);
    chunk(1, 1, 0).pad_to(4096 - 15).copy(&mut buffer);
    assert!(!buffer.has_data());
    chunk(1, 1, 0).packet(4096 - 16, 'a').copy(&mut buffer);
    assert_eq!(seeds(&mut buffer), "!a");
    let mut buffer = ring(1 << 20);
    for len in [65_505, 65_520, 65_535, 65_536, 1 << 19] {
        chunk(1, 1, 0).pad_to(len).copy(&mut buffer);
    }
    assert_eq!((buffer.stats().abi_violations, buffer.stats().chunks_written), (5, 0));
    chunk(1, 1, 0).pad_to(65_504).copy(&mut buffer);
    assert_eq!(buffer.stats().chunks_written, 1);
}

/// A bad fragment between good chunks only costs the rest of its own chunk.
#[track_caller]
fn bad_fragment(bytes: &[u8], fragments: u16, violations: u64) {
    let mut buffer = ring(256 * 1024);
    chunk(1, 1, 0).packet(20, 'a').copy(&mut buffer);
    chunk(1, 1, 1).packet(20, 'b').bytes(bytes).count(1 + fragments).copy(&mut buffer);
    chunk(1, 1, 2).packet(20, 'c').copy(&mut buffer);
    chunk(2, 1, 0).packet(20, 'z').copy(&mut buffer);
    let loss = if violations == 0 { "" } else { "!" };
    assert_eq!(seeds(&mut buffer), format!("!a b {loss}c !z"), "{bytes:?}");
    assert_eq!(buffer.stats().abi_violations, violations, "{bytes:?}");
}

/// A clone keeps the count of its source.
#[test]
fn a_clone_notes_no_violation() {
    let mut buffer = ring(4096);
    buffer.note_violation();
    let mut clone = buffer.clone_read_only().expect("memory");
    clone.note_violation();
    assert_eq!((buffer.stats().abi_violations, clone.stats().abi_violations), (1, 1));
}

#[test]
fn malicious_lengths() {
    bad_fragment(&[0], 1, 0); // an empty packet
    bad_fragment(&[], 5, 0); // fewer fragments than declared: the zeros behind them are empty fragments
    bad_fragment(&[], 50, 1); // up to the end of the zeros
    bad_fragment(&[0x80], 1, 0); // ends in the zeros: a length of 0 in two bytes
    bad_fragment(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80], 12, 1); // no end
    bad_fragment(&[30, 1, 2], 1, 1);
    bad_fragment(&[0xff, 0xff, 0xff, 0xff], 1, 1);
    bad_fragment(&[0x80, 0x80, 0x80, 0x80, 0], 1, 1); // five bytes
    bad_fragment(&[0xff; 10], 1, 1);
    bad_fragment(&[0xff; 65_000], 1023, 1); // jumbo
    bad_fragment(&[0xff, 0xff, 0xff, 0x3f], 1, 1); // large, but not the mark of a dropped packet
}

#[test]
fn zero_length_in_the_middle_of_a_packet() {
    let mut buffer = ring(4096);
    chunk(1, 1, 0).packet(20, 'a').flags(NEXT).copy(&mut buffer);
    chunk(1, 1, 1).bytes(&[0]).count(1).flags(PREV | NEXT).copy(&mut buffer);
    chunk(1, 1, 2).packet(20, 'b').flags(PREV).copy(&mut buffer);
    // A packet of empty fragments has no slices.
    chunk(1, 1, 3).bytes(&[0]).count(1).flags(NEXT).copy(&mut buffer);
    chunk(1, 1, 4).bytes(&[0]).count(1).flags(PREV).copy(&mut buffer);
    assert_eq!(seeds(&mut buffer), "!ab");
    let mut buffer = ring(4096);
    chunk(1, 1, 3).bytes(&[0]).count(1).flags(NEXT).copy(&mut buffer);
    chunk(1, 1, 4).bytes(&[0]).count(1).flags(PREV).copy(&mut buffer);
    buffer.begin_read();
    assert!(buffer.next_packet().is_some_and(|p| p.slices.is_empty()));
    assert_eq!(buffer.stats().abi_violations, 0);
}

#[test]
fn a_continuation_that_is_none_stalls() {
    let mut buffer = ring(4096);
    chunk(1, 1, 0).packet(20, 'a').flags(NEXT).copy(&mut buffer);
    chunk(1, 1, 1).packet(20, 'b').copy(&mut buffer);
    assert_eq!(seeds(&mut buffer), "");
    assert_eq!(seeds(&mut buffer), "");
    assert_eq!(buffer.stats().readaheads_failed, 2);
}

#[test]
fn late_begin_of_a_packet_whose_rest_was_skipped() {
    let mut buffer = ring(4096);
    chunk(1, 1, 1).packet(20, 'b').packet(20, 'c').packet(20, 'd').flags(PREV).copy(&mut buffer);
    assert_eq!(read(&mut buffer, 1).len(), 1); // 'c'; the orphan 'b' was skipped
    chunk(1, 1, 0).packet(20, 'a').flags(NEXT).copy(&mut buffer);
    assert_eq!(seeds(&mut buffer), "!d", "'a' is not joined with a stranger");
}

#[test]
fn overrides_that_break_rules() {
    let stored = || chunk(1, 1, 0).packet(20, 'a').packet(20, 'b').flags(PREV);
    let check = |again: Chunk, violations: u64| {
        let mut buffer = ring(4096);
        stored().copy(&mut buffer);
        again.copy(&mut buffer);
        assert_eq!(buffer.stats().abi_violations, violations);
        assert_eq!(buffer.stats().chunks_rewritten, 0);
        assert_eq!(seeds(&mut buffer), "!b");
    };
    check(stored(), 0);
    check(stored().count(1), 1);
    check(stored().pad_to(100), 1);
    check(stored().packet(20, 'c').flags(0), 1);
    check(chunk(1, 1, 0).packet(5, 'x').flags(PREV), 1);
}

#[test]
fn scraped_twice_then_completed() {
    let begun = |n: usize| {
        "abcd".chars().take(n).fold(chunk(1, 1, 0), |c, seed| c.packet(20, seed)).pad_to(100)
    };
    let mut buffer = ring(4096);
    begun(2).incomplete().copy(&mut buffer);
    assert_eq!(seeds(&mut buffer), "!a");
    begun(3).incomplete().copy(&mut buffer);
    chunk(1, 1, 1).packet(20, 'e').copy(&mut buffer);
    assert_eq!(seeds(&mut buffer), "b", "it may still grow");
    begun(3).copy(&mut buffer);
    assert_eq!(seeds(&mut buffer), "c e");
}

#[test]
fn an_override_may_not_slip_in_before_what_was_read() {
    let mut buffer = ring(4096);
    chunk(1, 1, 1).packet(20, 'c').copy(&mut buffer);
    assert_eq!(seeds(&mut buffer), "!c");
    chunk(1, 1, 0).packet(20, 'a').packet(20, 'b').incomplete().copy(&mut buffer);
    chunk(1, 1, 0).packet(20, 'a').packet(20, 'b').copy(&mut buffer);
    assert_eq!((buffer.stats().abi_violations, buffer.stats().chunks_rewritten), (1, 0));
}

#[test]
fn incomplete_without_fragments_stalls_until_overwritten() {
    let mut buffer = ring(512);
    chunk(1, 1, 0).pad_to(48).incomplete().copy(&mut buffer);
    chunk(1, 1, 0).pad_to(48).copy(&mut buffer);
    chunk(1, 1, 1).packet(48, 'a').copy(&mut buffer);
    assert_eq!(seeds(&mut buffer), "");
    chunk(2, 1, 0).packet(400 - 16, 'x').copy(&mut buffer);
    assert_eq!(seeds(&mut buffer), "!x", "gone with the first");
}

#[test]
fn a_full_discarding_buffer_still_takes_the_rest_of_its_chunks() {
    let mut buffer = TraceBuffer::new(4096, Policy::Discard, Version::V1).expect("memory");
    let begun = |n: usize| {
        "abcd".chars().take(n).fold(chunk(1, 1, 0), |c, seed| c.packet(20, seed)).pad_to(4080)
    };
    begun(2).incomplete().copy(&mut buffer);
    chunk(1, 1, 1).packet(20, 'x').copy(&mut buffer);
    assert_eq!(buffer.stats().chunks_discarded, 1);
    begun(4).copy(&mut buffer);
    assert_eq!(seeds(&mut buffer), "!a b c d");
}

#[test]
fn a_histogram_per_writer() {
    let mut buffer = ring(64 * 1024);
    chunk(1, 1, 0).packet(8, 'a').copy(&mut buffer);
    chunk(1, 1, 1).packet(9, 'a').copy(&mut buffer);
    chunk(2, 5, 0).packet(16_000, 'a').packet(4000, 'a').copy(&mut buffer);
    chunk(1, 1, 2).packet(20, 'a').incomplete().copy(&mut buffer);
    seeds(&mut buffer);
    let stats: Vec<_> = buffer.writer_stats().cloned().collect();
    assert_eq!(stats.len(), 2);
    assert_eq!(
        (stats[0].sequence.producer, stats[0].sequence.writer),
        (ProducerId::new(1), WriterId::new(1))
    );
    assert_eq!((&stats[0].counts[..3], &stats[0].sums[..3]), (&[1, 1, 0][..], &[8, 9, 0][..]));
    assert_eq!(stats[1].counts[10], 1);
    assert_eq!(stats[1].sums[10], 20_000);
}

#[test]
fn any_number_of_sequences() {
    let mut buffer = ring(4096);
    for i in 0..20_000u32 {
        chunk((i >> 8) as u16, i as u16, 0).packet(20, 'a').copy(&mut buffer);
    }
    let packets = read(&mut buffer, usize::MAX);
    assert_eq!(packets.len(), 4096 / 48);
    assert!(packets.is_sorted_by_key(|p| p.sequence));
    let expected = Stats {
        chunks_written: 20_000,
        chunks_read: 85,
        chunks_overwritten: 20_000 - 85,
        ..*buffer.stats()
    };
    assert_eq!(buffer.stats(), &expected);
}

#[test]
fn any_ids() {
    let mut buffer = ring(16 * 1024);
    for i in (0..100_000u32).rev() {
        chunk(1, 1, i.wrapping_mul(0x9e37_79b9)).packet(20, 'a').copy(&mut buffer);
    }
    assert_eq!(buffer.stats().chunks_written, 100_000);
    buffer.begin_read();
    while buffer.next_packet().is_some() {}
}

#[test]
fn a_clone_is_read_on_its_own() {
    let mut buffer = ring(4096);
    chunk(1, 1, 0).packet(20, 'a').packet(20, 'b').copy(&mut buffer);
    assert_eq!(read(&mut buffer, 1).len(), 1);
    let mut clone = buffer.clone_read_only().expect("memory");
    let stats = clone.stats();
    assert_eq!((stats.chunks_written, stats.chunks_read), (1, 0));
    assert!(clone.is_read_only() && !clone.has_data() && !buffer.is_read_only());
    chunk(1, 1, 1).packet(20, 'c').copy(&mut clone);
    assert!(!patch(&mut clone, 0, 5, b"YMCA", false));
    chunk(1, 1, 1).packet(20, 'd').copy(&mut buffer);
    assert_eq!(seeds(&mut clone), "b");
    assert_eq!(seeds(&mut buffer), "b d");
}
