//! Packets over several chunks.

use super::*;

pub fn fragments_simple(version: Version) {
    let mut buffer = ring(4096, version);
    let begun = chunk(1, 1, 0).packet(10, 'o').packet(20, 'a').packet(30, 'b');
    begun.flags(PREV | NEXT).copy(&mut buffer);
    chunk(1, 1, 1).packet(10, 'c').packet(20, 'd').flags(PREV).copy(&mut buffer);
    chunk(1, 2, 7).packet(10, 'o').flags(PREV | NEXT).copy(&mut buffer);
    let packets = read(&mut buffer, 9);
    let joined = [body(30, 'b'), body(10, 'c')].concat();
    let bytes: Vec<_> = packets.iter().map(|p| p.bytes.clone()).collect();
    assert_eq!(bytes, [body(20, 'a'), joined, body(20, 'd')]);
    assert!(packets[0].dropped != 0, "the orphan is a loss");
    assert_eq!((packets[1].dropped, packets[2].dropped), (0, 0));
    assert_eq!(buffer.stats().readaheads_succeeded, 1);
}

pub fn fragments_edge_cases(version: Version) {
    let mut buffer = ring(4096, version);
    chunk(1, 1, 0).packet(20, 'a').packet(30, 'b').flags(NEXT).copy(&mut buffer);
    assert_eq!(text(&mut buffer), "a");
    chunk(1, 1, 1).packet(30, 'c').flags(PREV | NEXT).copy(&mut buffer);
    assert_eq!(text(&mut buffer), "");
    assert_eq!(buffer.stats().readaheads_failed, 2);
    chunk(1, 1, 2).packet(10, 'd').packet(10, 'e').flags(PREV | NEXT).copy(&mut buffer);
    assert_eq!(text(&mut buffer), "bcd");
    chunk(1, 1, 3).packet(10, 'f').flags(PREV).copy(&mut buffer);
    assert_eq!(text(&mut buffer), "ef");
}

/// Chunks without fragments (their ids are `at`) before, behind or between chunks with fragments.
fn with_empty_chunks(version: Version, at: &[u32]) {
    let mut buffer = ring(4096, version);
    let mut pieces = "abc".chars();
    let mut is_first = true;
    for id in 0..5 {
        if at.contains(&id) {
            chunk(1, 1, id).copy(&mut buffer);
            continue;
        }
        let Some(seed) = pieces.next() else { break };
        let first = if is_first { 0 } else { PREV };
        let last = if pieces.as_str().is_empty() { 0 } else { NEXT };
        chunk(1, 1, id).packet(20, seed).flags(first | last).copy(&mut buffer);
        is_first = false;
    }
    assert_eq!(text(&mut buffer), "abc", "{at:?}");
    let stats = buffer.stats();
    assert_eq!((stats.chunks_read, stats.abi_violations, stats.readaheads_failed), (3, 0, 0));
}

pub fn fragments_empty_chunk_before(version: Version) {
    with_empty_chunks(version, &[0]);
    with_empty_chunks(version, &[0, 1]);
}

pub fn fragments_empty_chunk_after(version: Version) {
    with_empty_chunks(version, &[3]);
    with_empty_chunks(version, &[3, 4]);
}

pub fn fragments_empty_chunk_in_the_middle(version: Version) {
    with_empty_chunks(version, &[1]);
    with_empty_chunks(version, &[1, 2]);
    with_empty_chunks(version, &[1, 3]);
}

/// A packet of several fragments, from chunk `base` on.
pub fn long_packet(buffer: &mut TraceBuffer, base: u32, pieces: u32) {
    let mut expected = Vec::new();
    for i in 0..pieces {
        let seed = (b'a' + i as u8) as char;
        let first = if i == 0 { 0 } else { PREV };
        let last = if i + 1 == pieces { 0 } else { NEXT };
        let id = base.wrapping_add(i);
        chunk(1, 1, id).packet(512, seed).flags(first | last).copy(buffer);
        expected.extend(body(512, seed));
    }
    let packets = read(buffer, 9);
    assert_eq!(packets.len(), 1, "{pieces} pieces");
    assert_eq!(packets[0].bytes, expected);
}

pub fn fragments_long_packets(version: Version) {
    for pieces in 1..=11 {
        long_packet(&mut ring(64 * 1024, version), 0, pieces);
    }
}

pub fn fragments_preserve_uid(version: Version) {
    let mut buffer = ring(4096, version);
    chunk(1, 1, 0).packet(10, 'a').packet(10, 'b').flags(NEXT).copy(&mut buffer);
    chunk(2, 1, 0).packet(10, 'c').packet(10, 'd').copy(&mut buffer);
    chunk(1, 1, 1).packet(10, 'e').packet(10, 'f').flags(PREV).copy(&mut buffer);
    let mut uids: Vec<_> =
        read(&mut buffer, 9).iter().map(|p| (p.identity.uid, p.bytes[0] as char)).collect();
    uids.sort_unstable();
    assert_eq!(uids, [(10, 'a'), (10, 'b'), (10, 'f'), (20, 'c'), (20, 'd')]);
}

pub fn fragments_discarded_on_packet_size_drop_packet(version: Version) {
    let mut buffer = ring(4096, version);
    chunk(1, 1, 0).packet(20, 'a').packet(30, 'b').flags(NEXT).copy(&mut buffer);
    chunk(1, 1, 1).bytes(&[0xff, 0xff, 0xff, 0x7f]).count(1).flags(PREV).copy(&mut buffer);
    chunk(1, 1, 2).packet(20, 'c').packet(20, 'd').copy(&mut buffer);
    let packets = seeds(&mut buffer);
    assert!(packets.ends_with("a !c d"), "{packets}");
    let stats = buffer.stats();
    assert_eq!((stats.trace_writer_packet_loss, stats.abi_violations), (1, 0));
}

pub fn fragments_incomplete_chunk_needs_patching(version: Version) {
    let mut buffer = ring(4096, version);
    let begun = || chunk(1, 1, 0).packet(20, 'a').packet(30, 'b').flags(NEXT | PATCH);
    begun().incomplete().copy(&mut buffer);
    assert_eq!(text(&mut buffer), "a");
    begun().copy(&mut buffer);
    assert_eq!(text(&mut buffer), "", "it needs patches");
    assert!(patch(&mut buffer, 0, 21, b"BBBB", false));
    chunk(1, 1, 1).packet(20, 'c').flags(PREV).copy(&mut buffer);
    assert_eq!(text(&mut buffer), "Bbc");
}
