//! The order in which version 2 reads, and packets over several chunks.

use super::*;

#[test]
fn read_write_random_chunks_no_wrapping() {
    let mut buffer = ring(64 * 1024);
    let mut next = [[0u32; 6]; 6];
    let mut expected = Vec::new();
    let mut state = 1u32;
    for i in 0..200u32 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let (producer, writer) = ((state >> 16) as u16 % 5 + 1, (state >> 24) as u16 % 5 + 1);
        let seed = (b'a' + (i % 26) as u8) as char;
        let next = &mut next[usize::from(producer)][usize::from(writer)];
        let len = (state >> 8) as usize % 250 + 2;
        chunk(producer, writer, *next).packet(len, seed).copy(&mut buffer);
        *next += 1;
        expected.push(seed.to_string());
    }
    assert_eq!(seeds(&mut buffer), expected.join(" "), "as they came, and nothing was lost");
}

/// All chunks of a batch come before it is read. Another sequence is read between the batches.
#[track_caller]
fn out_of_order(base: u32, order: &str, late: &[u64]) {
    let mut buffer = ring(8192);
    let mut sorted: Vec<String> = order.chars().map(String::from).collect();
    sorted.sort_unstable();
    for (i, seed) in order.chars().enumerate() {
        let id = base.wrapping_add(u32::from(seed as u8 - b'a'));
        chunk(1, 1, id).packet(20, seed).copy(&mut buffer);
        chunk(2, 1, i as u32).packet(20, 'z').copy(&mut buffer);
        assert_eq!(buffer.stats().chunks_committed_out_of_order, late[i], "after {seed}");
    }
    let own = seeds(&mut buffer).replace(" z", "");
    assert_eq!(own, sorted.join(" "));
    assert_eq!(buffer.stats().chunks_read, 2 * order.len() as u64);
}

#[test]
fn fragments_out_of_order_last_chunk_is_middle() {
    out_of_order(0, "acb", &[0, 0, 1]);
    // The other chunks were read before, so the chunk in the middle is late.
    let mut buffer = ring(4096);
    chunk(1, 1, 0).packet(20, 'a').copy(&mut buffer);
    chunk(1, 1, 2).packet(20, 'c').copy(&mut buffer);
    assert_eq!(losses(&mut buffer), "a c=3");
    chunk(1, 1, 1).packet(20, 'b').copy(&mut buffer);
    assert_eq!((losses(&mut buffer), buffer.stats().chunks_discarded), (String::new(), 1));
}

#[test]
fn fragments_out_of_order_last_chunk_is_max_fragmentation() {
    out_of_order(0, "acbd", &[0, 0, 1, 1]);
    let mut buffer = ring(4096);
    chunk(1, 1, 0).packet(10, 'a').flags(NEXT).copy(&mut buffer);
    chunk(1, 1, 2).packet(10, 'c').flags(PREV | NEXT).copy(&mut buffer);
    chunk(1, 1, 1).packet(10, 'b').flags(PREV | NEXT).copy(&mut buffer);
    assert_eq!(text(&mut buffer), "");
    chunk(1, 1, 3).packet(10, 'd').flags(PREV).copy(&mut buffer);
    assert_eq!(losses(&mut buffer), "abcd");
}

#[test]
fn fragments_out_of_order_last_chunk_is_middle_fragmentation() {
    let mut buffer = ring(4096);
    chunk(1, 1, 0).packet(10, 'a').packet(10, 'b').flags(NEXT).copy(&mut buffer);
    assert_eq!(losses(&mut buffer), "a");
    chunk(1, 1, 2).packet(10, 'd').packet(10, 'e').flags(PREV).copy(&mut buffer);
    assert_eq!(buffer.stats().chunks_committed_out_of_order, 0);
    chunk(1, 1, 1).packet(10, 'c').flags(PREV | NEXT).copy(&mut buffer);
    assert_eq!(buffer.stats().chunks_committed_out_of_order, 1);
    assert_eq!(losses(&mut buffer), "bcd e");
}

#[test]
fn fragments_out_of_order_with_id_overflow_adcb() {
    out_of_order(u32::MAX - 1, "adcb", &[0, 0, 1, 2]);
}

#[test]
fn fragments_out_of_order_with_id_overflow_acbd() {
    out_of_order(u32::MAX - 1, "acbd", &[0, 0, 1, 1]);
}

#[test]
fn fragments_long_packet_with_wrapping_id() {
    let mut buffer = ring(64 * 1024);
    both::long_packet(&mut buffer, u32::MAX - 4, 10);
}

#[test]
fn fragments_chunk_id_max_wraparound_fragmentation() {
    let mut buffer = ring(4096);
    chunk(1, 1, u32::MAX).packet(20, 'a').packet(20, 'b').flags(NEXT).copy(&mut buffer);
    assert_eq!(losses(&mut buffer), "a");
    chunk(1, 1, 0).packet(20, 'c').packet(20, 'd').flags(PREV).copy(&mut buffer);
    chunk(1, 1, 1).packet(20, 'e').copy(&mut buffer);
    assert_eq!(losses(&mut buffer), "bc d e");
}

#[test]
fn fragments_large_fragment() {
    let mut buffer = ring(64 * 1024);
    both::long_packet(&mut buffer, 0, 10);
    assert_eq!(buffer.stats().chunks_read, 10);
}

#[test]
fn fragments_empty_chunks_in_long_chain() {
    let mut buffer = ring(4096);
    chunk(1, 1, 0).packet(20, 'a').flags(NEXT).copy(&mut buffer);
    chunk(1, 1, 1).copy(&mut buffer);
    chunk(1, 1, 2).packet(20, 'b').flags(PREV | NEXT).copy(&mut buffer);
    chunk(1, 1, 3).copy(&mut buffer);
    chunk(1, 1, 4).copy(&mut buffer);
    assert_eq!(text(&mut buffer), "");
    chunk(1, 1, 5).packet(20, 'c').packet(20, 'd').flags(PREV).copy(&mut buffer);
    assert_eq!(losses(&mut buffer), "abc d");
}

#[test]
fn fragments_packet_size_drop_packet_is_not_abi_violation() {
    let mut buffer = ring(4096);
    let gives_up = chunk(1, 1, 0).packet(20, 'a').bytes(&[0xff, 0xff, 0xff, 0x7f]).count(2);
    gives_up.copy(&mut buffer);
    chunk(1, 1, 1).packet(20, 'b').copy(&mut buffer);
    let stats = buffer.stats();
    assert_eq!((stats.abi_violations, stats.trace_writer_packet_loss), (0, 1));
    // The next packet that is read reports it, although that packet was written before.
    assert_eq!(losses(&mut buffer), "a=129 b");
}

#[test]
fn patching_out_of_order_patches_with_fragmentation() {
    let mut buffer = ring(4096);
    for (id, seed) in (0..4).zip("abcd".chars()) {
        let flags = [NEXT, PREV | NEXT, PREV | NEXT, PREV][id as usize];
        let patched = if id == 3 { 0 } else { PATCH };
        chunk(1, 1, id).packet(64, seed).flags(flags | patched).copy(&mut buffer);
    }
    for id in [2, 0, 1] {
        assert_eq!(text(&mut buffer), "");
        assert!(patch(&mut buffer, id, 60, b"YMCA", false));
    }
    assert_eq!(losses(&mut buffer), "aYMCAbYMCAcYMCAd");
}

/// A stalled sequence is counted in each batch, also in one that resumes the scan of the batch before.
#[test]
fn batches_go_on_where_the_last_one_ended() {
    let mut buffer = ring(4096);
    chunk(1, 1, 0).packet(20, 'w').flags(NEXT).copy(&mut buffer);
    for id in 0..9 {
        chunk(2, 1, id).packet(20, 'z').copy(&mut buffer);
    }
    for pass in 1..10 {
        assert_eq!(read(&mut buffer, 1).len(), 1);
        assert_eq!(buffer.stats().readaheads_failed, pass);
    }
    assert_eq!(read(&mut buffer, 1).len(), 0);
    chunk(1, 1, 1).packet(20, 'x').flags(PREV).copy(&mut buffer);
    assert_eq!(losses(&mut buffer), "wx");
}

/// An incomplete chunk without a finished fragment may continue the packet: the next chunk must not be read as the
/// continuation.
#[test]
fn an_unfinished_chunk_without_fragments_ends_no_packet() {
    let mut buffer = ring(4096);
    chunk(1, 1, 0).packet(20, 'a').flags(NEXT).copy(&mut buffer);
    let middle = || chunk(1, 1, 1).packet(20, 'b').flags(PREV | NEXT);
    middle().incomplete().copy(&mut buffer);
    chunk(1, 1, 2).packet(20, 'c').flags(PREV).copy(&mut buffer);
    assert_eq!(losses(&mut buffer), "");
    middle().copy(&mut buffer);
    assert_eq!(losses(&mut buffer), "abc");
}
