//! The order in which version 1 visits chunks, and where it stops.

use super::*;

/// Chunks of one writer in the order in which they come; each is named by a letter, counted from `base`.
fn commit(buffer: &mut TraceBuffer, (producer, writer): (u16, u16), base: u32, order: &str) {
    for seed in order.chars() {
        let id = base.wrapping_add(u32::from(seed as u8 - b'a'));
        chunk(producer, writer, id).packet(20, seed).copy(buffer);
    }
}

/// A buffer of 1 KiB without chunks of sequence (1, 1), whose last id was 2^32 - 3.
fn near_the_end_of_ids() -> TraceBuffer {
    let mut buffer = ring(1024);
    // In steps of less than half the range of ids: a larger step would count as a step back.
    for id in [0x7000_0000, 0xe000_0000, u32::MAX - 2] {
        chunk(1, 1, id).pad_to(496).copy(&mut buffer);
    }
    chunk(9, 9, 0).pad_to(1008).copy(&mut buffer);
    assert_eq!(buffer.stats().chunks_committed_out_of_order, 0);
    buffer
}

const WRAPPING: u32 = u32::MAX - 1;

#[test]
fn iterator_one_stream_ordered() {
    let mut buffer = ring(4096);
    commit(&mut buffer, (1, 1), 0, "abcfg");
    assert_eq!(text(&mut buffer), "a b c", "'d' and 'e' are missing");
}

#[test]
fn iterator_one_stream_wrapping() {
    let mut buffer = near_the_end_of_ids();
    commit(&mut buffer, (1, 1), WRAPPING, "abcdfg");
    assert_eq!(text(&mut buffer), "a b c d");
}

#[test]
fn iterator_many_streams_ordered() {
    let mut buffer = ring(4096);
    commit(&mut buffer, (2, 1), 0, "ace");
    commit(&mut buffer, (1, 3), 0, "xyz");
    commit(&mut buffer, (1, 1), 0, "klm");
    commit(&mut buffer, (2, 1), 0, "bd");
    // 'x' is not the first chunk of its sequence, but the first one in the buffer.
    assert_eq!(text(&mut buffer), "k l m x y z a b c d e");
}

#[test]
fn iterator_many_streams_wrapping() {
    let mut buffer = near_the_end_of_ids();
    commit(&mut buffer, (2, 1), 0, "abd");
    commit(&mut buffer, (1, 1), WRAPPING, "klmn");
    commit(&mut buffer, (1, 2), 0, "xz");
    assert_eq!(text(&mut buffer), "k l m n x a b");
}

/// Reads after each chunk. Another sequence is read all the time.
#[track_caller]
fn out_of_order(order: &str, expected: &[&str], late: &[u64]) {
    let mut buffer = ring(8192);
    for (i, seed) in order.chars().enumerate() {
        commit(&mut buffer, (1, 1), 0, &seed.to_string());
        chunk(2, 1, i as u32).packet(20, 'z').copy(&mut buffer);
        let own = text(&mut buffer).replace('z', "");
        assert_eq!(own.trim_end(), expected[i], "after {seed}");
        assert_eq!(buffer.stats().chunks_committed_out_of_order, late[i]);
    }
    assert_eq!(buffer.stats().chunks_read, 2 * order.len() as u64);
}

#[test]
fn fragments_out_of_order_last_chunk_is_middle() {
    out_of_order("acb", &["a", "", "b c"], &[0, 0, 1]);
}

#[test]
fn fragments_out_of_order_last_chunk_is_max_fragmentation() {
    out_of_order("acbd", &["a", "", "b c", "d"], &[0, 0, 1, 1]);
}

#[test]
fn fragments_out_of_order_last_chunk_is_middle_fragmentation() {
    let mut buffer = ring(4096);
    chunk(1, 1, 0).packet(10, 'a').packet(10, 'b').flags(NEXT).copy(&mut buffer);
    assert_eq!(text(&mut buffer), "a");
    chunk(1, 1, 2).packet(10, 'd').packet(10, 'e').flags(PREV).copy(&mut buffer);
    assert_eq!(text(&mut buffer), "");
    assert_eq!(buffer.stats().chunks_committed_out_of_order, 0);
    chunk(1, 1, 1).packet(10, 'c').flags(PREV | NEXT).copy(&mut buffer);
    assert_eq!(buffer.stats().chunks_committed_out_of_order, 1);
    assert_eq!(text(&mut buffer), "bcd e");
}

#[track_caller]
fn around_the_wrap(order: &str, expected: &[&str]) {
    let mut buffer = near_the_end_of_ids();
    for (seed, expected) in order.chars().zip(expected) {
        commit(&mut buffer, (1, 1), WRAPPING, &seed.to_string());
        assert_eq!(text(&mut buffer), *expected, "{order} at {seed}");
    }
}

#[test]
fn fragments_out_of_order_with_id_overflow_adcb() {
    around_the_wrap("adcb", &["a", "", "", "b c d"]);
}

#[test]
fn fragments_out_of_order_with_id_overflow_acbd() {
    around_the_wrap("acbd", &["a", "", "b c", "d"]);
}

#[test]
fn fragments_long_packet_with_wrapping_id() {
    let mut buffer = near_the_end_of_ids();
    for (i, seed) in (0u32..).zip("abcd".chars()) {
        let flags = [NEXT, PREV | NEXT, PREV | NEXT, PREV][i as usize];
        chunk(1, 1, WRAPPING.wrapping_add(i)).packet(200, seed).flags(flags).copy(&mut buffer);
    }
    assert_eq!(seeds(&mut buffer), "!abcd");
}
