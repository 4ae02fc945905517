//! Chunks that were scraped, then committed: no packet comes twice, none is lost.

use super::*;

/// Fills the buffer of 4 KiB once more with other data.
fn fill(buffer: &mut TraceBuffer) {
    let first = buffer.stats().chunks_written as u32;
    for id in first..first + 5 {
        chunk(9, 1, id).packet(1024 - 16, 'z').copy(buffer);
    }
}

/// Reads the packets that are not from [`fill`].
fn own(buffer: &mut TraceBuffer) -> String {
    let packets = losses(buffer);
    let own: Vec<_> = packets.split(' ').filter(|p| !p.starts_with('z')).collect();
    own.join(" ")
}

#[test]
fn scraped_chunk_recommit_relocate_to_write_pos() {
    let mut buffer = ring(4096);
    begun(3).incomplete().copy(&mut buffer);
    assert_eq!(losses(&mut buffer), "a b");
    chunk(2, 1, 0).packet(20, 'z').copy(&mut buffer);
    begun(4).copy(&mut buffer);
    let stats = buffer.stats();
    assert_eq!((stats.chunks_relocated, stats.chunks_rewritten, stats.chunks_written), (1, 0, 3));
    // Its new fragments are read behind the chunks that came before.
    assert_eq!(losses(&mut buffer), "z c d");
    chunk(1, 1, 1).packet(20, 'e').copy(&mut buffer);
    assert_eq!(losses(&mut buffer), "e");
}

#[test]
fn scraped_chunk_recommit_in_place_when_gates_fail() {
    // It was not read to the end.
    let mut buffer = ring(4096);
    begun(3).incomplete().copy(&mut buffer);
    assert_eq!(read(&mut buffer, 1).len(), 1);
    begun(4).copy(&mut buffer);
    assert_eq!((buffer.stats().chunks_relocated, buffer.stats().chunks_rewritten), (0, 1));
    assert_eq!(losses(&mut buffer), "b c d");
    // It is still being written.
    let mut buffer = ring(4096);
    begun(3).incomplete().copy(&mut buffer);
    assert_eq!(losses(&mut buffer), "a b");
    begun(4).incomplete().copy(&mut buffer);
    assert_eq!((buffer.stats().chunks_relocated, buffer.stats().chunks_rewritten), (0, 1));
    assert_eq!(losses(&mut buffer), "c");
    // It is not the first chunk of its sequence.
    let mut buffer = ring(4096);
    begun(1).incomplete().copy(&mut buffer);
    let before = chunk(1, 1, u32::MAX).packet(20, 'x').flags(NEXT | PATCH);
    before.copy(&mut buffer);
    begun(2).copy(&mut buffer);
    assert_eq!((buffer.stats().chunks_relocated, buffer.stats().chunks_rewritten), (0, 1));
}

#[test]
fn scraped_chunk_recommit_in_place_on_full_discard_buffer() {
    let mut buffer = discarding(4096);
    begun(3).incomplete().copy(&mut buffer);
    chunk(2, 1, 0).packet(4096 - 16 - 128, 'z').copy(&mut buffer);
    assert_eq!(losses(&mut buffer), "a b z");
    begun(4).copy(&mut buffer);
    assert_eq!((buffer.stats().chunks_relocated, buffer.stats().chunks_rewritten), (0, 1));
    assert_eq!(losses(&mut buffer), "c d");
    // A discarding buffer that refused a chunk refuses all others.
    let mut buffer = discarding(4096);
    begun(3).incomplete().copy(&mut buffer);
    chunk(2, 1, 0).packet(4096 - 16, 'z').copy(&mut buffer);
    begun(4).copy(&mut buffer);
    assert_eq!(buffer.stats().chunks_discarded, 2);
    assert_eq!(losses(&mut buffer), "a b");
}

#[test]
fn scraped_chunk_recommit_continuation_already_present() {
    let mut buffer = ring(4096);
    begun(3).incomplete().copy(&mut buffer);
    assert_eq!(losses(&mut buffer), "a b");
    chunk(1, 1, 1).packet(20, 'e').packet(20, 'f').flags(PREV).copy(&mut buffer);
    assert_eq!(losses(&mut buffer), "");
    begun(4).flags(NEXT).copy(&mut buffer);
    assert_eq!(buffer.stats().chunks_relocated, 1);
    assert_eq!(buffer.stats().chunks_committed_out_of_order, 1);
    assert_eq!(losses(&mut buffer), "c de f");
}

#[test]
fn recommit_incomplete_to_complete_with_fragments() {
    let mut buffer = ring(4096);
    chunk(1, 1, 0).packet(20, 'a').packet(20, 'b').flags(NEXT).copy(&mut buffer);
    let middle = |n: usize| {
        let packets = "cde".chars().take(n);
        packets.fold(chunk(1, 1, 1), |c, seed| c.packet(20, seed)).pad_to(100)
    };
    middle(2).flags(PREV | NEXT).incomplete().copy(&mut buffer);
    assert_eq!(losses(&mut buffer), "a bc");
    middle(3).flags(PREV | NEXT).copy(&mut buffer);
    assert_eq!(losses(&mut buffer), "d");
    chunk(1, 1, 2).packet(20, 'f').flags(PREV).copy(&mut buffer);
    assert_eq!(losses(&mut buffer), "ef");
}

#[test]
fn rescrape_after_eviction_fully_read() {
    let mut buffer = ring(4096);
    begun(3).incomplete().copy(&mut buffer);
    assert_eq!(own(&mut buffer), "a b");
    fill(&mut buffer);
    begun(3).incomplete().copy(&mut buffer);
    assert_eq!((own(&mut buffer), buffer.stats().chunks_discarded), (String::new(), 1));
    begun(4).incomplete().copy(&mut buffer);
    assert_eq!(own(&mut buffer), "c", "only what is new");
}

#[test]
fn rescrape_after_eviction_complete_commit() {
    let mut buffer = ring(4096);
    begun(3).incomplete().copy(&mut buffer);
    assert_eq!(own(&mut buffer), "a b");
    fill(&mut buffer);
    begun(4).copy(&mut buffer);
    chunk(1, 1, 1).packet(20, 'e').copy(&mut buffer);
    assert_eq!(own(&mut buffer), "c d e");
}

#[test]
fn rescrape_after_eviction_partially_read() {
    let mut buffer = ring(4096);
    begun(4).incomplete().copy(&mut buffer);
    assert_eq!(read(&mut buffer, 1).len(), 1);
    fill(&mut buffer);
    assert_eq!(buffer.stats().chunks_overwritten, 3, "it, and two others");
    begun(4).copy(&mut buffer);
    assert_eq!(own(&mut buffer), "d=65", "'b' and 'c' were lost when they were written over");
}

#[test]
fn scrape_recommit_preserves_incomplete() {
    let mut buffer = ring(4096);
    begun(2).incomplete().copy(&mut buffer);
    assert_eq!(losses(&mut buffer), "a");
    begun(3).incomplete().copy(&mut buffer);
    chunk(1, 1, 1).packet(20, 'e').copy(&mut buffer);
    assert_eq!(losses(&mut buffer), "b", "it may still grow");
    begun(3).incomplete().copy(&mut buffer);
    assert_eq!(losses(&mut buffer), "");
    begun(4).copy(&mut buffer);
    assert_eq!(losses(&mut buffer), "c d e");
}

#[test]
fn scrape_with_late_recommit_after_read() {
    let mut buffer = ring(4096);
    begun(3).incomplete().copy(&mut buffer);
    chunk(1, 1, 1).packet(20, 'e').copy(&mut buffer);
    assert_eq!(losses(&mut buffer), "a b");
    begun(4).copy(&mut buffer);
    assert_eq!(losses(&mut buffer), "c d e");
    begun(4).copy(&mut buffer);
    chunk(1, 1, 2).packet(20, 'f').copy(&mut buffer);
    assert_eq!(losses(&mut buffer), "f");
    assert_eq!(buffer.stats().chunks_discarded, 1);
}

#[test]
fn override_re_commit_incomplete_on_full_buffer() {
    let mut buffer = ring(4096);
    chunk(2, 1, 0).packet(4096 - 128 - 16, 'z').copy(&mut buffer);
    begun(3).incomplete().copy(&mut buffer);
    assert_eq!(buffer.used_bytes(), 4096);
    assert_eq!(losses(&mut buffer), "z a b");
    begun(4).copy(&mut buffer);
    assert_eq!(losses(&mut buffer), "c d");
    assert_eq!(buffer.stats().chunks_overwritten, 0);
}

/// The last fragment of an incomplete chunk is not stored: a patch of the fragments before succeeds, a patch of the last
/// one fails.
#[test]
fn patching_incomplete_chunks() {
    let mut buffer = ring(4096);
    begun(3).incomplete().copy(&mut buffer);
    assert!(patch(&mut buffer, 0, 1, b"AAAA", false));
    assert!(patch(&mut buffer, 0, 36, b"BBBB", false));
    assert!(!patch(&mut buffer, 0, 37, b"evil", false));
    assert_eq!(losses(&mut buffer), "Aa bB");
}
