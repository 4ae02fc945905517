//! How large the index becomes, and what is evicted when it is too large.

use proptest::prelude::*;

use super::harness::{buffer, chunk, read};
use crate::buffer::index_size::IndexEntries;
use crate::buffer::{Policy, TraceBuffer, Version};
use crate::limits::{
    BYTES_PER_INDEX_ENTRY, ENTRIES_PER_OUTLIER, ENTRIES_PER_SEQUENCE, INDEX_ENTRIES_MAX,
    INDEX_ENTRIES_MIN,
};

const VERSIONS: [Version; 2] = [Version::V1, Version::V2];

fn index_bytes(buffer: &TraceBuffer) -> usize {
    buffer.memory_bytes() - buffer.used_bytes()
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
        assert!(index_bytes(&buffer) <= 2 * size, "{version:?}: {}", index_bytes(&buffer));
        // The same writers again, and others.
        write_each(&mut buffer, 150_000..400_000, 1);
        assert!(index_bytes(&buffer) <= 2 * size, "{version:?}: {}", index_bytes(&buffer));
    }
}

/// The index of a small buffer is small, however many writers it had.
#[test]
fn a_small_buffer_remembers_few_writers() {
    for version in VERSIONS {
        let mut buffer = TraceBuffer::new(4096, Policy::Ring, version).expect("memory");
        write_each(&mut buffer, 0..100_000, 0);
        assert!(index_bytes(&buffer) <= 1 << 20, "{version:?}: {}", index_bytes(&buffer));
    }
}

/// A sequence with one chunk, entries.
const SEQUENCE: usize = ENTRIES_PER_SEQUENCE + 1;

/// Of so many writers the newest chunks stay, and those of one more make the oldest leave.
#[test]
fn a_buffer_has_as_many_sequences_as_its_size_allows() {
    let per_mib = (1 << 20) / BYTES_PER_INDEX_ENTRY / SEQUENCE;
    for (bytes, max) in [(1 << 20, per_mib), (128 * 1024, INDEX_ENTRIES_MIN / SEQUENCE)] {
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
        let outliers = size / BYTES_PER_INDEX_ENTRY / ENTRIES_PER_OUTLIER;
        let kept = chunks(&buffer);
        assert!(kept.abs_diff(outliers) < ENTRIES_PER_SEQUENCE, "{version:?}: {kept}");
        // The count is right when they leave.
        for id in 0..100_000 {
            chunk(1, 2, id).packet(16, 'b').copy(&mut buffer);
        }
        assert_eq!(chunks(&buffer), size / 32, "{version:?}");
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
