//! Writing and reading whole packets.

use super::*;

pub fn read_write_empty_buffer(version: Version) {
    let mut buffer = ring(4096, version);
    assert!(buffer.next_packet().is_none(), "not begun");
    assert_eq!(text(&mut buffer), "");
    assert_eq!((buffer.used_bytes(), buffer.has_data()), (0, false));
}

pub fn read_write_simple(version: Version) {
    let mut buffer = ring(64 * 1024, version);
    for id in 0..1000 {
        chunk(1, 1, id).packet(42, 'a').packet(6, 'b').copy(&mut buffer);
        assert_eq!(text(&mut buffer), "a b");
    }
    let stats = buffer.stats();
    assert_eq!((stats.chunks_written, stats.bytes_written), (1000, 64_000));
    assert_eq!((stats.chunks_read, stats.bytes_read), (1000, 64_000));
    assert_eq!((stats.chunks_overwritten, stats.bytes_overwritten), (0, 0));
    assert_eq!((stats.padding_bytes_written, stats.padding_bytes_cleared), (0, 0));
    assert_eq!(stats.write_wrap_count, 0);
}

pub fn read_write_one_chunk_per_writer(version: Version) {
    for writers in 1..=10u16 {
        let mut buffer = ring(4096, version);
        let seeds: Vec<String> =
            "abcdefghij".chars().take(writers.into()).map(String::from).collect();
        for (writer, seed) in (1..).zip(&seeds) {
            chunk(1, writer, 0).packet(32, seed.chars().next().expect("one")).copy(&mut buffer);
        }
        assert_eq!(text(&mut buffer), seeds.join(" "));
        assert_eq!(buffer.used_bytes(), usize::from(writers) * 48);
    }
}

pub fn read_write_fill_till_end(version: Version) {
    let mut buffer = ring(4096, version);
    for round in 0..3u32 {
        for (i, (len, seed)) in
            [(512, 'a'), (512, 'b'), (1024, 'c'), (2048, 'd')].iter().enumerate()
        {
            let id = round * 4 + i as u32;
            chunk(1, 1, id).packet(len - 16, *seed).copy(&mut buffer);
        }
        assert_eq!(text(&mut buffer), "a b c d");
    }
    let stats = buffer.stats();
    assert_eq!((stats.bytes_written, stats.bytes_read), (3 * 4096, 3 * 4096));
    assert_eq!((stats.chunks_overwritten, stats.padding_bytes_written), (0, 0));
    // Version 1 wraps around as soon as it is full, version 2 with the next chunk.
    let wraps = if version == Version::V1 { 3 } else { 2 };
    assert_eq!((stats.write_wrap_count, buffer.used_bytes()), (wraps, 4096));
}

pub fn read_write_wrapping_cases(version: Version) {
    for left_over in [0, 16, 32, 512] {
        let mut buffer = ring(4096, version);
        chunk(1, 1, 0).packet(2048 - 16, 'a').copy(&mut buffer);
        chunk(1, 1, 1).packet(2048 - 16 - left_over, 'b').copy(&mut buffer);
        assert_eq!(text(&mut buffer), "a b");
        chunk(1, 1, 2).packet(1024 - 16, 'c').copy(&mut buffer);
        chunk(1, 1, 3).packet(1024 - 16, 'd').copy(&mut buffer);
        assert_eq!(text(&mut buffer), "c d", "{left_over} left");
        assert_eq!(buffer.stats().write_wrap_count, 1);
        assert_eq!(buffer.stats().chunks_overwritten, 0);
    }
}

pub fn read_write_empty_packet(version: Version) {
    let mut buffer = ring(4096, version);
    chunk(1, 1, 0).packet(20, 'a').bytes(&[0]).packet(20, 'b').count(3).copy(&mut buffer);
    chunk(1, 1, 1).bytes(&[0x80, 0x80, 0x80, 0]).count(1).copy(&mut buffer);
    chunk(1, 1, 2).packet(20, 'c').copy(&mut buffer);
    assert_eq!(text(&mut buffer), "a b c");
    let stats = buffer.stats();
    assert_eq!((stats.abi_violations, stats.trace_writer_packet_loss), (0, 0));
    assert_eq!(stats.chunks_read, 3);
}

/// Takes packets, and stops whenever the reader asks.
#[derive(Default)]
struct Impatient {
    seeds: String,
    empty: u32,
}

impl TakePacket for Impatient {
    fn take(&mut self, packet: PacketRef<'_>) -> bool {
        self.seeds.extend(packet.slices.iter().map(|slice| char::from(slice[0])));
        true
    }

    fn skipped_fragments(&mut self, fragments: u32) -> bool {
        self.empty += fragments;
        false
    }
}

pub fn fragments_that_give_nothing_are_paused_in(version: Version) {
    let mut buffer = ring(65536, version);
    for id in 0..40 {
        let first = if id % 2 == 0 { 0 } else { PREV };
        let empty = chunk(1, 1, id).bytes(&[0; 300]).count(300);
        let (last, goes_on) = if id % 2 == 0 { (20, NEXT) } else { (30, 0) };
        empty.packet(last, 'a').flags(first | goes_on).copy(&mut buffer);
        chunk(1, 2, id).packet(20, 'b').copy(&mut buffer);
    }
    let mut taken = Impatient::default();
    let mut pauses = 0;
    loop {
        let before = taken.empty;
        buffer.begin_read();
        buffer.read_while(&mut taken);
        assert!(
            taken.empty - before <= LIMITS.empty_fragments_max,
            "it goes on after it was told to stop"
        );
        if taken.empty == before {
            break;
        }
        pauses += 1;
    }
    assert!(pauses > 20 * 300 / LIMITS.empty_fragments_max, "{pauses}");
    let count = |seed| taken.seeds.matches(seed).count();
    assert_eq!((count('a'), count('b')), (40, 40), "{}", taken.seeds);
}
