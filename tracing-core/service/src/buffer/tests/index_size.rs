//! How large the index becomes, and what is evicted when it is too large.

use proptest::prelude::*;

use super::harness::{buffer, chunk, read};
use crate::buffer::index_size::IndexEntries;
use crate::buffer::{Policy, TraceBuffer, Version};
use crate::limits::{
    BYTES_PER_INDEX_ENTRY, ENTRIES_OF_OUTLIERS, ENTRIES_PER_OUTLIER, ENTRIES_PER_SEQUENCE,
    INDEX_ENTRIES_MAX, INDEX_ENTRIES_MIN,
};

const VERSIONS: [Version; 2] = [Version::V1, Version::V2];

/// Fails if a buffer takes more than its user is charged, or more than it says that it takes now.
fn check(buffer: &TraceBuffer, size: usize, what: &str) {
    let (takes, max) = (buffer.memory_bytes(), TraceBuffer::memory_bytes_max(size));
    let version = buffer.version();
    assert!(takes <= max, "{what}, {version:?}: {takes} of at most {max}");
    let now = buffer.bytes_left();
    assert!((takes..=max).contains(&now), "{what}, {version:?}: {takes} now, at most {now}");
}

/// How many chunks are in a buffer that nobody has read.
fn chunks(buffer: &TraceBuffer) -> usize {
    let stats = buffer.stats();
    (stats.chunks_written - stats.chunks_overwritten) as usize
}

/// Writes chunk `id` of each of so many writers, with nothing in it: as small as a record is.
fn write_each(buffer: &mut TraceBuffer, writers: core::ops::Range<u32>, id: u32) {
    for number in writers {
        chunk((number >> 16) as u16 + 1, number as u16, id).copy(buffer);
    }
}

/// Each chunk may be of another writer, which the index keeps much more for than a chunk takes.
#[test]
fn chunks_of_many_writers_do_not_make_the_index_large() {
    for version in VERSIONS {
        let size = 1 << 20;
        let mut buffer = TraceBuffer::new(size, Policy::Ring, version).expect("memory");
        write_each(&mut buffer, 0..200_000, 0);
        check(&buffer, size, "once");
        // The same writers again, and others.
        write_each(&mut buffer, 150_000..400_000, 1);
        check(&buffer, size, "again");
        // Most of what it takes now is the index.
        assert!(buffer.index_bytes() > size / 8, "{}", buffer.index_bytes());
        // One writer alone, whose chunks are in the places of theirs.
        for id in 0..100_000 {
            chunk(60_000, 1, id).copy(&mut buffer);
        }
        check(&buffer, size, "one writer");
    }
}

/// The index of a small buffer is small, however many writers it had.
#[test]
fn a_small_buffer_remembers_few_writers() {
    for version in VERSIONS {
        let mut buffer = TraceBuffer::new(4096, Policy::Ring, version).expect("memory");
        write_each(&mut buffer, 0..100_000, 0);
        check(&buffer, 4096, "small");
    }
}

/// A sequence with one chunk, entries.
const SEQUENCE: usize = ENTRIES_PER_SEQUENCE + 1;

/// Of so many writers the newest chunks stay, and those of one more make the oldest leave.
#[test]
fn a_buffer_has_as_many_sequences_as_its_size_allows() {
    let of_four_mib = (4 << 20) / BYTES_PER_INDEX_ENTRY / SEQUENCE;
    for (bytes, max) in [(4 << 20, of_four_mib), (128 * 1024, INDEX_ENTRIES_MIN / SEQUENCE)] {
        for version in VERSIONS {
            let mut buffer = TraceBuffer::new(bytes, Policy::Ring, version).expect("memory");
            for number in 0..max as u16 + 10 {
                chunk(1, number + 1, 0).packet(20, 'a').copy(&mut buffer);
            }
            let packets = read(&mut buffer, usize::MAX);
            assert_eq!(packets.len(), max, "{version:?}");
            let first = packets.iter().map(|p| p.sequence.1.get()).min();
            assert_eq!(first, Some(11), "{version:?}");
            assert_eq!(buffer.stats().chunks_overwritten, 10, "{version:?}");
        }
    }
}

/// However large it is, a buffer of version 1 remembers 8 * 1024 sequences without chunks.
#[test]
fn a_large_buffer_remembers_so_many_sequences() {
    const SIZE: usize = 48 << 20;
    let mut buffer = TraceBuffer::new(SIZE, Policy::Ring, Version::V1).expect("memory");
    let with_chunks = (SIZE / BYTES_PER_INDEX_ENTRY / SEQUENCE) as u32;
    // One comes late if its sequence is known.
    let late = |buffer: &mut TraceBuffer, writer| {
        let before = buffer.stats().chunks_committed_out_of_order;
        write_each(buffer, writer..writer + 1, 3);
        buffer.stats().chunks_committed_out_of_order - before
    };
    write_each(&mut buffer, 0..with_chunks + 8 * 1024, 5);
    assert_eq!(late(&mut buffer, 0), 1);
    write_each(&mut buffer, with_chunks + 8 * 1024..with_chunks + 8 * 1024 + 2, 5);
    assert_eq!(late(&mut buffer, 1), 0);
}

/// A clone copies all of the index in one turn, so it has a limit of its own, too.
#[test]
fn the_largest_buffer_has_a_limited_index() {
    for version in VERSIONS {
        let size = 2 * INDEX_ENTRIES_MAX * BYTES_PER_INDEX_ENTRY;
        let mut buffer = TraceBuffer::new(size, Policy::Ring, version).expect("memory");
        for number in 0..(INDEX_ENTRIES_MAX / SEQUENCE) as u32 + 1000 {
            let (producer, writer) = ((number >> 16) as u16 + 1, number as u16);
            chunk(producer, writer, 0).packet(20, 'a').copy(&mut buffer);
        }
        assert_eq!(buffer.stats().chunks_overwritten, 1000, "{version:?}");
    }
}

/// Ids that are far from each other take more memory than consecutive ones.
#[test]
fn distant_chunks_do_not_make_the_index_large() {
    for version in VERSIONS {
        let size = 1 << 20;
        let mut buffer = TraceBuffer::new(size, Policy::Ring, version).expect("memory");
        for number in 0..100_000 {
            chunk(1, 1, number * 1000).packet(16, 'a').copy(&mut buffer);
        }
        let entries = (size / BYTES_PER_INDEX_ENTRY).max(INDEX_ENTRIES_MIN);
        let outliers = (entries - ENTRIES_OF_OUTLIERS) / ENTRIES_PER_OUTLIER;
        let kept = chunks(&buffer);
        assert!(kept.abs_diff(outliers) < ENTRIES_PER_SEQUENCE, "{version:?}: {kept}");
        check(&buffer, size, "outliers");
        // The count is right when they leave.
        for id in 0..100_000 {
            chunk(1, 2, id).packet(16, 'b').copy(&mut buffer);
        }
        assert_eq!(chunks(&buffer), size / 32, "{version:?}");
    }
}

/// However the ids and writers of chunks are chosen, a buffer takes no more than its user is charged.
#[test]
fn a_buffer_takes_no_more_than_is_charged_for_it() {
    const SIZE: usize = 4 << 20;
    type Choice = fn(u32) -> (u32, u32);
    let choices: [(&str, Choice); 6] = [
        ("holes", |number| (0, number / 2 * 3 + number % 2)),
        ("holes of each", |number| (number / 12, number % 12 * 3 / 2)),
        ("one far from another", |number| (number / 2, number % 2 * 1_000_000)),
        ("many far", |number| (number % 700, number / 700 * 5000)),
        ("grown and gone", |number| (number / 200, number % 200)),
        ("in turns", |number| (number % 9000, number / 9000)),
    ];
    for version in VERSIONS {
        for (what, choice) in choices {
            let mut buffer = TraceBuffer::new(SIZE, Policy::Ring, version).expect("memory");
            for number in 0..150_000 {
                let (writer, id) = choice(number);
                chunk((writer >> 16) as u16 + 1, writer as u16, id).copy(&mut buffer);
                if number % 30_000 == 0 {
                    check(&buffer, SIZE, what);
                    read(&mut buffer, 1000);
                }
            }
            check(&buffer, SIZE, what);
            let mut copy = buffer.clone_read_only().expect("memory");
            assert!(copy.memory_bytes() <= buffer.copied_bytes(), "{what}, {version:?}");
            read(&mut copy, usize::MAX);
            assert!(copy.memory_bytes() <= buffer.copied_bytes(), "{what}, {version:?}");
        }
    }
}

/// Chunks of the usual sizes are never evicted because of the index.
#[test]
fn chunks_of_usual_sizes_fill_a_buffer() {
    const SIZE: usize = 4 << 20;
    for version in VERSIONS {
        // Those of a page that is divided into as many as possible, of a writer for each six of them.
        for (len, chunks_of_one) in [(256, 6), (1300, 1), (16, u32::MAX)] {
            let mut buffer = TraceBuffer::new(SIZE, Policy::Ring, version).expect("memory");
            for number in 0..150_000 {
                let writer = number / chunks_of_one;
                let (producer, writer) = ((writer >> 14) as u16 + 1, writer as u16 & 0x3fff);
                chunk(producer, writer, number).packet(len - 4, 'a').copy(&mut buffer);
            }
            let stored = chunks(&buffer);
            assert!(stored >= SIZE / (len + 32) - 1, "{version:?} {len}: {stored}");
        }
    }
}

/// A buffer whose index may have so many entries.
fn limited(policy: Policy, version: Version, entries: usize) -> TraceBuffer {
    let mut buffer = buffer(4096, policy, version);
    buffer.common_mut().index_max = IndexEntries::new(entries);
    buffer
}

/// A buffer that discards keeps what came first.
#[test]
fn a_discarding_buffer_with_a_large_index_is_full() {
    for version in VERSIONS {
        let mut buffer = limited(Policy::Discard, version, ENTRIES_PER_SEQUENCE + 10);
        for id in 0..20 {
            chunk(1, 1, id).packet(20, char::from(b'a' + id as u8)).copy(&mut buffer);
        }
        let all = super::harness::text(&mut buffer).replace(' ', "");
        assert_eq!(all, "abcdefghijk", "{version:?}");
        assert_eq!(buffer.stats().chunks_discarded, 9, "{version:?}");
    }
}

/// What is in a buffer, without reading it: the packets of each writer.
fn content(buffer: &TraceBuffer) -> Vec<Vec<u8>> {
    let mut clone = buffer.clone_read_only().expect("memory");
    let mut packets: Vec<_> = read(&mut clone, usize::MAX).into_iter().map(|p| p.bytes).collect();
    packets.sort_unstable();
    packets
}

/// Chunks of two writers: with 20 of these there is no room for a third one.
const ENTRIES_MAX: usize = 3 * ENTRIES_PER_SEQUENCE;

/// How many of the last chunks, by their writers, have so few entries.
fn newest(writers: impl DoubleEndedIterator<Item = u16>) -> usize {
    let mut entries = 0;
    let mut known = [false; 3];
    let fits = |writer: &u16| {
        let known = core::mem::replace(&mut known[usize::from(*writer)], true);
        entries += 1 + usize::from(!known) * ENTRIES_PER_SEQUENCE;
        entries <= ENTRIES_MAX
    };
    writers.rev().take_while(fits).count()
}

proptest! {
    /// A buffer with a small index has the newest chunks of one without that limit.
    #[test]
    fn the_oldest_chunks_leave(
        sizes in proptest::collection::vec((0..3_u16, prop_oneof![4..40_usize, 100..1000_usize]), 0..200),
    ) {
        for version in VERSIONS {
            let mut small = limited(Policy::Ring, version, ENTRIES_MAX);
            let mut other = buffer(4096, Policy::Ring, version);
            let mut ids = [0; 3];
            for (number, (writer, len)) in sizes.iter().enumerate() {
                let id = &mut ids[usize::from(*writer)];
                // The packet begins with its number, in the order of writing.
                let mut packet = (number as u32).to_be_bytes().to_vec();
                packet.resize(*len, 0);
                let mut bytes = vec![packet.len() as u8 | 0x80, (packet.len() >> 7) as u8];
                bytes.append(&mut packet);
                for buffer in [&mut small, &mut other] {
                    chunk(1, writer + 1, *id).bytes(&bytes).count(1).copy(buffer);
                }
                *id += 1;
                let (kept, all) = (content(&small), content(&other));
                let newest = newest(sizes[..=number].iter().map(|(writer, _)| *writer));
                let from = all.len().saturating_sub(newest);
                prop_assert_eq!(&kept, &all[from..], "{:?} {}", version, number);
            }
        }
    }
}
