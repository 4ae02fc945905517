//! One behaviour each. The histories that no one thought of are in `props.rs`.

use super::testing::read;
use super::{ChunkMeta, Identity, Patch, Policy, Stats, TraceBuffer, Version};
use crate::ids::{ChunkId, ProducerId, WriterId};
use crate::shm::ChunkFlags;

const PREV: u8 = 1;
const NEXT: u8 = 2;
const PATCH: u8 = 4;

/// A chunk in the making.
struct Chunk {
    meta: ChunkMeta,
    payload: Vec<u8>,
}

fn chunk(producer: u16, writer: u16, id: u32) -> Chunk {
    let meta = ChunkMeta {
        producer: ProducerId(producer),
        identity: Identity { uid: u32::from(producer) * 10, pid: None, machine_id: 0 },
        writer: WriterId(writer),
        chunk: ChunkId(id),
        fragments: 0,
        flags: ChunkFlags(0),
        complete: true,
    };
    Chunk { meta, payload: Vec::new() }
}

/// What a fragment that takes `len` bytes with its length in front holds.
fn body(len: usize, seed: char) -> Vec<u8> {
    let header = if len <= 128 { 1 } else { 2 };
    vec![seed as u8; len - header]
}

impl Chunk {
    /// A fragment of `len` bytes in all.
    fn packet(mut self, len: usize, seed: char) -> Self {
        let body = body(len, seed);
        if len <= 128 {
            self.payload.push(body.len() as u8);
        } else {
            self.payload.extend([body.len() as u8 | 0x80, (body.len() >> 7) as u8]);
        }
        self.payload.extend(body);
        self.meta.fragments += 1;
        self
    }

    /// Raw bytes.
    fn bytes(mut self, bytes: &[u8]) -> Self {
        self.payload.extend(bytes);
        self
    }

    fn count(mut self, fragments: u16) -> Self {
        self.meta.fragments = fragments;
        self
    }

    fn flags(mut self, flags: u8) -> Self {
        self.meta.flags = ChunkFlags(flags);
        self
    }

    fn pad_to(mut self, len: usize) -> Self {
        self.payload.resize(len, 0);
        self
    }

    fn incomplete(mut self) -> Self {
        self.meta.complete = false;
        self
    }

    fn copy(self, buffer: &mut TraceBuffer) {
        buffer.copy_chunk(&self.meta, &self.payload);
    }
}

fn ring(bytes: usize) -> TraceBuffer {
    TraceBuffer::new(bytes, Policy::Ring, Version::V1).expect("memory")
}

/// What is read: the seed of each packet, `len` in brackets where packets are joined, `!` before
/// one that follows a loss.
fn seeds(buffer: &mut TraceBuffer) -> String {
    let mut out = String::new();
    for packet in read(buffer, usize::MAX) {
        if packet.dropped != 0 {
            out.push('!');
        }
        let mut seeds = packet.bytes;
        seeds.dedup();
        out.push_str(&String::from_utf8(seeds).expect("made of letters"));
        out.push(' ');
    }
    out.trim_end().to_owned()
}

fn patch(buffer: &mut TraceBuffer, id: u32, offset: u32, text: &[u8; 4], more: bool) -> bool {
    let patches = [Patch { offset, data: *text }];
    buffer.patch(ProducerId(1), WriterId(1), ChunkId(id), &patches, more)
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

#[test]
fn an_empty_buffer_has_nothing() {
    let mut buffer = ring(4096);
    assert!(buffer.next_packet().is_none());
    assert_eq!(seeds(&mut buffer), "");
}

#[test]
fn write_then_read_round_after_round() {
    let mut buffer = ring(64 * 1024);
    for id in 0..1000 {
        chunk(1, 1, id).packet(42, 'a').pad_to(48).copy(&mut buffer);
        assert_eq!(seeds(&mut buffer), if id == 0 { "!a" } else { "a" });
    }
    let stats = buffer.stats();
    assert_eq!((stats.chunks_written, stats.bytes_written), (1000, 64_000));
    assert_eq!((stats.chunks_read, stats.bytes_read), (1000, 64_000));
    assert_eq!((stats.chunks_overwritten, stats.padding_bytes_written), (0, 0));
    assert_eq!(stats.write_wrap_count, 0);
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
fn filled_exactly_to_the_end() {
    let mut buffer = ring(4096);
    for round in 0..3u32 {
        for (i, seed) in "abcdefgh".chars().enumerate() {
            chunk(1, 1, round * 8 + i as u32).packet(512 - 16, seed).copy(&mut buffer);
        }
        assert_eq!(buffer.stats().write_wrap_count, u64::from(round) + 1, "wraps at once");
        let dropped = if round == 0 { "!" } else { "" };
        // Everything older was evicted meanwhile, which looks like a loss.
        let expected = format!("{}a b c d e f g h", if round == 0 { dropped } else { "!" });
        assert_eq!(seeds(&mut buffer), expected);
    }
    assert_eq!(buffer.used_bytes(), 4096);
}

#[test]
fn padding_at_the_end_and_in_gaps() {
    let mut buffer = ring(4096);
    chunk(1, 1, 0).packet(128 - 16, 'a').copy(&mut buffer);
    chunk(1, 1, 1).packet(256 - 16, 'b').copy(&mut buffer);
    chunk(1, 1, 2).packet(2048 - 16, 'c').copy(&mut buffer);
    chunk(1, 1, 3).packet(1024 - 16, 'd').copy(&mut buffer);
    assert_eq!(buffer.used_bytes(), 128 + 256 + 2048 + 1024);
    // 640 bytes are left: padded. At 0, two chunks of 384 go for 192 (192 of padding).
    chunk(1, 1, 4).packet(704 - 16, 'e').copy(&mut buffer);
    let stats = *buffer.stats();
    // 'a', 'b' and 'c' had to go; of their 2432 bytes 704 are used.
    assert_eq!((stats.chunks_overwritten, stats.bytes_overwritten), (3, 2432));
    assert_eq!(stats.padding_bytes_written, 640 + 2432 - 704);
    assert_eq!((stats.write_wrap_count, buffer.used_bytes()), (1, 4096));
    assert_eq!(seeds(&mut buffer), "!d e");
    chunk(1, 1, 5).packet(1728 - 16, 'f').copy(&mut buffer);
    assert_eq!(buffer.stats().padding_bytes_cleared, 2432 - 704);
    assert_eq!(seeds(&mut buffer), "f");
}

#[test]
fn sixteen_bytes_left_over() {
    let mut buffer = ring(4096);
    chunk(1, 1, 0).packet(2048 - 16, 'a').copy(&mut buffer);
    chunk(1, 1, 1).packet(2032 - 16, 'b').copy(&mut buffer);
    chunk(1, 1, 2).packet(2032 - 16, 'c').copy(&mut buffer);
    assert_eq!(buffer.stats().padding_bytes_written, 32);
    assert_eq!(seeds(&mut buffer), "!b c");
}

#[test]
fn empty_packets_are_skipped_silently() {
    let mut buffer = ring(4096);
    chunk(1, 1, 0).packet(20, 'a').bytes(&[0]).packet(20, 'b').count(3).copy(&mut buffer);
    assert_eq!(seeds(&mut buffer), "!a b");
    assert_eq!(buffer.stats().abi_violations, 0);
}

#[test]
fn an_orphan_is_skipped_and_a_packet_in_pieces_joined() {
    let mut buffer = ring(4096);
    chunk(1, 1, 0)
        .packet(10, 'o')
        .packet(20, 'a')
        .packet(30, 'b')
        .flags(PREV | NEXT)
        .copy(&mut buffer);
    chunk(1, 1, 1).packet(10, 'c').packet(20, 'd').flags(PREV).copy(&mut buffer);
    chunk(1, 2, 7).packet(10, 'o').flags(PREV | NEXT).copy(&mut buffer);
    let packets = read(&mut buffer, 9);
    let joined = [body(30, 'b'), body(10, 'c')].concat();
    let bytes: Vec<_> = packets.iter().map(|p| p.bytes.clone()).collect();
    assert_eq!(bytes, [body(20, 'a'), joined, body(20, 'd')]);
    assert_eq!(packets.iter().map(|p| p.dropped).collect::<Vec<_>>(), [1, 0, 0]);
    assert_eq!(buffer.stats().readaheads_succeeded, 1);
}

#[test]
fn the_tail_arrives_later() {
    let mut buffer = ring(4096);
    chunk(1, 1, 0).packet(20, 'a').packet(30, 'b').flags(NEXT).copy(&mut buffer);
    assert_eq!(seeds(&mut buffer), "!a");
    chunk(1, 1, 1).packet(30, 'c').flags(PREV | NEXT).copy(&mut buffer);
    assert_eq!(seeds(&mut buffer), "");
    assert_eq!(buffer.stats().readaheads_failed, 2);
    chunk(1, 1, 2).packet(10, 'd').packet(10, 'e').flags(PREV).copy(&mut buffer);
    assert_eq!(seeds(&mut buffer), "bcd e");
}

/// Chunks in this order; each is a letter, and both neighbours hold parts of one packet.
#[track_caller]
fn out_of_order(base: u32, order: &[u32], expected: &[&str]) {
    let mut buffer = ring(8192);
    // Ids before `base` exist, so that the first is not taken for one out of order.
    buffer.copy_chunk(&chunk(1, 1, base).meta, &[]);
    for (other, (id, expected)) in (0u32..).zip(order.iter().zip(expected)) {
        let seed = (b'a' + *id as u8) as char;
        let writer = chunk(1, 1, base.wrapping_add(1 + id)).packet(20, seed);
        writer.copy(&mut buffer);
        chunk(2, 1, other).packet(20, 'z').copy(&mut buffer);
        assert_eq!(seeds(&mut buffer), *expected, "after {id}");
    }
}

#[test]
fn out_of_order_waits_for_the_hole_while_others_flow() {
    out_of_order(0, &[0, 2, 1], &["!a !z", "z", "b c z"]);
    out_of_order(0, &[0, 2, 1, 3], &["!a !z", "z", "b c z", "d z"]);
    out_of_order(0, &[0, 3, 1, 2], &["!a !z", "z", "b z", "c d z"]);
}

/// A buffer of 1 KiB where the last id of sequence (1, 1) was 2^32 - 3, and nothing of it is left.
fn near_the_end_of_ids() -> TraceBuffer {
    let mut buffer = ring(1024);
    // In steps of less than half the range: a larger one would count as one back.
    for id in [0x7000_0000, 0xe000_0000, u32::MAX - 2] {
        chunk(1, 1, id).pad_to(496).copy(&mut buffer);
    }
    chunk(9, 9, 0).pad_to(1008).copy(&mut buffer);
    assert_eq!(buffer.stats().chunks_committed_out_of_order, 0);
    buffer
}

#[test]
fn out_of_order_around_the_wrap_of_ids() {
    for (order, expected) in [
        ([0u32, 3, 2, 1], ["!a", "", "", "b c d"]),
        ([0, 2, 1, 3], ["!a", "", "b c", "d"]),
        ([1, 0, 3, 2], ["!b", "!a", "", "c d"]),
    ] {
        let mut buffer = near_the_end_of_ids();
        for (i, expected) in order.into_iter().zip(expected) {
            let seed = (b'a' + i as u8) as char;
            chunk(1, 1, (u32::MAX - 1).wrapping_add(i)).packet(20, seed).copy(&mut buffer);
            assert_eq!(seeds(&mut buffer), expected, "{order:?} at {i}");
        }
    }
}

#[test]
fn ids_wrap_in_the_middle_of_a_packet() {
    let mut buffer = near_the_end_of_ids();
    for (i, seed) in (0u32..).zip("abcd".chars()) {
        let flags = [NEXT, PREV | NEXT, PREV | NEXT, PREV][i as usize];
        let id = (u32::MAX - 1).wrapping_add(i);
        chunk(1, 1, id).packet(200, seed).flags(flags).copy(&mut buffer);
    }
    assert_eq!(seeds(&mut buffer), "!abcd");
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
    // The chunk that ends the batch has nothing read, and nothing was lost before it.
    assert_eq!(seeds(&mut buffer), "c");
    assert_eq!(buffer.stats().chunks_read, 3);
}

#[test]
fn long_packets() {
    for pieces in 1..=10u32 {
        let mut buffer = ring(64 * 1024);
        let mut expected = Vec::new();
        for i in 0..pieces {
            let seed = (b'a' + i as u8) as char;
            let first = if i == 0 { 0 } else { PREV };
            let last = if i + 1 == pieces { 0 } else { NEXT };
            chunk(1, 1, i).packet(512, seed).flags(first | last).copy(&mut buffer);
            expected.extend(body(512, seed));
        }
        let packets = read(&mut buffer, 9);
        assert_eq!(packets.len(), 1);
        assert_eq!(packets[0].bytes, expected);
    }
}

#[test]
fn identity_is_that_of_the_chunk() {
    let mut buffer = ring(4096);
    chunk(1, 1, 0).packet(10, 'a').packet(10, 'b').flags(NEXT).copy(&mut buffer);
    chunk(2, 1, 0).packet(10, 'c').copy(&mut buffer);
    let mut other = chunk(1, 1, 1).packet(10, 'd').packet(10, 'e').flags(PREV);
    other.meta.identity.uid = 77;
    other.copy(&mut buffer);
    let uids: Vec<_> = read(&mut buffer, 9).iter().map(|p| p.identity.uid).collect();
    assert_eq!(uids, [10, 10, 77, 20]);
}

#[test]
fn a_packet_given_up_is_dropped_and_the_next_says_so() {
    let mut buffer = ring(4096);
    chunk(1, 1, 0).packet(20, 'a').packet(30, 'b').flags(NEXT).copy(&mut buffer);
    chunk(1, 1, 1).bytes(&[0xff, 0xff, 0xff, 0x7f]).count(1).flags(PREV).copy(&mut buffer);
    chunk(1, 1, 2).packet(20, 'c').copy(&mut buffer);
    assert_eq!(seeds(&mut buffer), "!a !c");
    let stats = buffer.stats();
    assert_eq!((stats.trace_writer_packet_loss, stats.abi_violations), (1, 0));
}

#[test]
fn an_unfinished_chunk_counts_without_its_last_fragment() {
    let mut buffer = ring(4096);
    let begun = || chunk(1, 1, 0).packet(20, 'a').packet(30, 'b').flags(NEXT | PATCH);
    begun().incomplete().copy(&mut buffer);
    assert_eq!(seeds(&mut buffer), "!a");
    begun().copy(&mut buffer);
    assert_eq!(buffer.stats().chunks_rewritten, 1);
    assert_eq!(seeds(&mut buffer), "", "it needs patches");
    assert!(patch(&mut buffer, 0, 21, b"BBBB", false));
    chunk(1, 1, 1).packet(20, 'c').flags(PREV).copy(&mut buffer);
    assert_eq!(seeds(&mut buffer), "Bbc");
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
    // None with none to come is legal and ends the waiting.
    chunk(1, 1, 1).packet(20, 'b').flags(PATCH).copy(&mut buffer);
    assert!(buffer.patch(ProducerId(1), WriterId(1), ChunkId(1), &[], false));
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
    assert!(!buffer.patch(ProducerId(1), WriterId(2), ChunkId(0), &none, false));
    assert!(!buffer.patch(ProducerId(2), WriterId(1), ChunkId(0), &none, false));
    assert_eq!(buffer.stats().patches_failed, 9);
    assert_eq!(seeds(&mut buffer), "", "still waiting");
    // Those before the bad one stay, and it counts once.
    let half = [Patch { offset: 1, data: *b"good" }, Patch { offset: 99, data: *b"evil" }];
    assert!(!buffer.patch(ProducerId(1), WriterId(1), ChunkId(0), &half, false));
    assert_eq!((buffer.stats().patches_failed, buffer.stats().patches_succeeded), (10, 0));
    assert!(buffer.patch(ProducerId(1), WriterId(1), ChunkId(0), &none, false));
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

/// A bad fragment between good chunks costs its own chunk's rest only.
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

#[test]
fn malicious_lengths() {
    bad_fragment(&[0], 1, 0); // an empty packet
    bad_fragment(&[], 5, 0); // fewer fragments than declared: slack reads as empty ones
    bad_fragment(&[], 50, 1); // until it ends
    bad_fragment(&[0x80], 1, 0); // ends in the slack: a zero of two bytes
    bad_fragment(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80], 12, 1); // no end
    bad_fragment(&[30, 1, 2], 1, 1);
    bad_fragment(&[0xff, 0xff, 0xff, 0xff], 1, 1);
    bad_fragment(&[0x80, 0x80, 0x80, 0x80, 0], 1, 1); // five bytes
    bad_fragment(&[0xff; 10], 1, 1);
    bad_fragment(&[0xff; 65_000], 1023, 1); // jumbo
    bad_fragment(&[0xff, 0xff, 0xff, 0x3f], 1, 1); // large, but not the mark of a writer
}

#[test]
fn zero_length_in_the_middle_of_a_packet() {
    let mut buffer = ring(4096);
    chunk(1, 1, 0).packet(20, 'a').flags(NEXT).copy(&mut buffer);
    chunk(1, 1, 1).bytes(&[0]).count(1).flags(PREV | NEXT).copy(&mut buffer);
    chunk(1, 1, 2).packet(20, 'b').flags(PREV).copy(&mut buffer);
    // A packet of nothing but empty pieces is one without slices.
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
    assert_eq!(read(&mut buffer, 1).len(), 1); // 'c'; its orphaned 'b' is gone
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
fn committed_again_before_between_and_after_reads() {
    let begun = |n: usize| {
        "abcd".chars().take(n).fold(chunk(1, 1, 0), |c, seed| c.packet(20, seed)).pad_to(100)
    };
    let mut buffer = ring(4096);
    begun(3).incomplete().copy(&mut buffer);
    begun(4).copy(&mut buffer);
    assert_eq!(seeds(&mut buffer), "!a b c d");
    assert_eq!(buffer.stats().chunks_rewritten, 1);

    let mut buffer = ring(4096);
    begun(3).incomplete().copy(&mut buffer);
    assert_eq!(read(&mut buffer, 1).len(), 1);
    begun(4).copy(&mut buffer);
    assert_eq!(seeds(&mut buffer), "b c d");
    begun(4).copy(&mut buffer);
    assert_eq!(seeds(&mut buffer), "");
    let stats = buffer.stats();
    assert_eq!((stats.chunks_read, stats.chunks_rewritten, stats.abi_violations), (1, 1, 0));
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
fn a_discarding_buffer_stops_for_good() {
    let mut buffer = TraceBuffer::new(4096, Policy::Discard, Version::V1).expect("memory");
    chunk(1, 1, 0).packet(2048 - 16, 'a').copy(&mut buffer);
    assert_eq!(seeds(&mut buffer), "!a");
    // As long as the reader keeps up it goes round.
    chunk(1, 1, 1).packet(2048 - 16, 'b').copy(&mut buffer);
    chunk(1, 1, 2).packet(1024 - 16, 'c').copy(&mut buffer);
    assert_eq!(buffer.stats().chunks_discarded, 0);
    chunk(2, 1, 0).packet(2048 - 16, 'd').copy(&mut buffer);
    assert_eq!(buffer.stats().chunks_discarded, 1, "'b' is unread");
    assert_eq!(seeds(&mut buffer), "!b c");
    chunk(3, 1, 0).packet(20, 'e').copy(&mut buffer);
    assert_eq!(seeds(&mut buffer), "");
    let stats = buffer.stats();
    assert_eq!((stats.chunks_discarded, stats.chunks_overwritten), (2, 0));
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
fn losses_are_told_once() {
    let mut buffer = ring(4096);
    chunk(1, 1, 0).packet(20, 'a').copy(&mut buffer);
    chunk(1, 1, 1).packet(20, 'b').bytes(&[0xff; 8]).count(3).copy(&mut buffer);
    chunk(1, 1, 2).packet(20, 'c').packet(20, 'd').copy(&mut buffer);
    assert_eq!(seeds(&mut buffer), "!a b !c d");
    // All that was read is overwritten: nothing was lost, but this buffer cannot know.
    chunk(1, 1, 3).packet(4096 - 16, 'e').copy(&mut buffer);
    assert_eq!(seeds(&mut buffer), "!e");
    assert_eq!(buffer.stats().chunks_overwritten, 0);
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
    assert_eq!((stats[0].producer, stats[0].writer), (ProducerId(1), WriterId(1)));
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
