//! Overwritten chunks, and which of them count as lost.

use super::*;

#[test]
fn wrap_around_with_incomplete_chunk() {
    let mut buffer = ring(4096);
    chunk(1, 1, 0).packet(500, 'a').packet(500, 'x').pad_to(1008).incomplete().copy(&mut buffer);
    chunk(2, 1, 0).packet(3072 - 16, 'z').copy(&mut buffer);
    assert_eq!(losses(&mut buffer), "a z");
    chunk(2, 1, 1).packet(1024 - 16, 'y').copy(&mut buffer);
    assert_eq!(buffer.stats().chunks_overwritten, 0, "all that was there had been read");
    chunk(1, 1, 1).packet(20, 'b').copy(&mut buffer);
    assert_eq!(losses(&mut buffer), "y b");
}

#[test]
fn overwrite_size_diff_less_than_chunk_header() {
    let mut buffer = ring(4096);
    for (id, seed) in (0..8).zip("abcdefgh".chars()) {
        chunk(1, 1, id).packet(512 - 16, seed).copy(&mut buffer);
    }
    chunk(1, 1, 8).packet(496 - 16, 'i').copy(&mut buffer);
    assert_eq!(buffer.stats().padding_bytes_written, 16);
    assert_eq!(losses(&mut buffer), "b=65 c d e f g h i");
    chunk(1, 1, 9).packet(528 - 16, 'j').copy(&mut buffer);
    assert_eq!(losses(&mut buffer), "j");
}

#[test]
fn no_overwrite_count_if_reader_catches_up() {
    let mut buffer = ring(4096);
    for id in 0..50 {
        chunk(1, 1, id).packet(900, 'a').copy(&mut buffer);
        assert_eq!(text(&mut buffer), "a");
    }
    let stats = buffer.stats();
    assert_eq!((stats.chunks_overwritten, stats.bytes_overwritten), (0, 0));
    assert_eq!((stats.chunks_read, stats.bytes_read), (50, stats.bytes_written));
}

/// Reads `reads` packets, then overwrites everything. Returns the chunks and bytes that counted as lost.
fn overwritten(buffer: &mut TraceBuffer, reads: usize) -> (u64, u64) {
    assert_eq!(read(buffer, reads).len(), reads);
    chunk(9, 1, 0).packet(4096 - 16, 'z').copy(buffer);
    (buffer.stats().chunks_overwritten, buffer.stats().bytes_overwritten)
}

#[test]
fn bytes_overwritten_consumed_whole_packet_counted_as_lost() {
    let mut buffer = ring(4096);
    chunk(1, 1, 0).packet(48, 'a').copy(&mut buffer);
    chunk(1, 1, 1).packet(48, 'b').copy(&mut buffer);
    // No later read has removed the first chunk, which has no unread fragments.
    assert_eq!(overwritten(&mut buffer, 1), (1, 64));
}

#[test]
fn bytes_overwritten_consumed_fragmented_packet_counted_as_lost() {
    let mut buffer = ring(4096);
    chunk(1, 1, 0).packet(48, 'a').flags(NEXT).copy(&mut buffer);
    chunk(1, 1, 1).packet(48, 'b').flags(PREV).copy(&mut buffer);
    chunk(1, 1, 2).packet(48, 'c').copy(&mut buffer);
    assert_eq!(overwritten(&mut buffer, 1), (1, 64));
}

#[test]
fn bytes_overwritten_consumed_chunk_survives_begin_read_boundary() {
    let mut buffer = ring(4096);
    chunk(1, 1, 0).packet(48, 'a').copy(&mut buffer);
    assert_eq!(read(&mut buffer, 1).len(), 1);
    buffer.begin_read();
    assert_eq!(overwritten(&mut buffer, 0), (0, 0));
}

#[test]
fn bytes_overwritten_pending_patch_chunk_overwritten_is_counted() {
    let mut buffer = ring(4096);
    chunk(1, 1, 0).packet(48, 'a').flags(NEXT | PATCH).copy(&mut buffer);
    assert_eq!(overwritten(&mut buffer, 0), (1, 64));
    chunk(1, 1, 1).packet(20, 'b').packet(20, 'c').flags(PREV).copy(&mut buffer);
    assert_eq!(losses(&mut buffer), format!("c={}", 1 | 64 | 8));
}
