//! How large the index becomes, and what is evicted when it is too large.

use proptest::prelude::*;

use super::harness::{LIMITS, chunk, read};
use crate::buffer::{BufferLimits, Policy, TraceBuffer, Version};
use crate::limits::{
    BYTES_PER_SEQUENCE, OUTLIERS_PER_SEQUENCE, SEQUENCES_PER_BUFFER_MAX, SEQUENCES_PER_BUFFER_MIN,
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

/// Of so many writers the newest chunks stay, and those of one more make the oldest leave.
#[test]
fn a_buffer_has_as_many_sequences_as_its_size_allows() {
    let per_mib = (1 << 20) / BYTES_PER_SEQUENCE;
    for (bytes, max) in [(1 << 20, per_mib), (256 * 1024, SEQUENCES_PER_BUFFER_MIN)] {
        for version in VERSIONS {
            let mut buffer = TraceBuffer::new(bytes, Policy::Ring, version).expect("memory");
            let writers = max as u32 + 10;
            for number in 0..writers {
                chunk(1, number as u16 + 1, 0).packet(20, 'a').copy(&mut buffer);
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
        let size = 2 * SEQUENCES_PER_BUFFER_MAX * BYTES_PER_SEQUENCE;
        let mut buffer = TraceBuffer::new(size, Policy::Ring, version).expect("memory");
        let writers = SEQUENCES_PER_BUFFER_MAX as u32 + 1000;
        for number in 0..writers {
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
        let outliers = size / BYTES_PER_SEQUENCE * OUTLIERS_PER_SEQUENCE;
        let kept = chunks(&buffer);
        assert!(kept.abs_diff(outliers) <= OUTLIERS_PER_SEQUENCE, "{version:?}: {kept}");
        // The count is right when they leave.
        for id in 0..100_000 {
            chunk(1, 2, id).packet(16, 'b').copy(&mut buffer);
        }
        assert_eq!(chunks(&buffer), size / 32, "{version:?}");
    }
}

/// A buffer that discards keeps what came first.
#[test]
fn a_discarding_buffer_with_a_large_index_is_full() {
    for version in VERSIONS {
        let limits = BufferLimits { chunks_per_buffer_max: 10, ..LIMITS };
        let buffer = TraceBuffer::with_limits(4096, Policy::Discard, version, limits);
        let mut buffer = buffer.expect("memory");
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

const CHUNKS_MAX: usize = 10;

proptest! {
    /// A buffer with few chunks at most has the newest ones of a buffer without that limit.
    #[test]
    fn the_oldest_chunks_leave(
        sizes in proptest::collection::vec((0..3_u16, prop_oneof![4..40_usize, 100..1000_usize]), 0..200),
    ) {
        for version in VERSIONS {
            let limits = BufferLimits { chunks_per_buffer_max: CHUNKS_MAX, ..LIMITS };
            let mut limited =
                TraceBuffer::with_limits(4096, Policy::Ring, version, limits).expect("memory");
            let mut other =
                TraceBuffer::with_limits(4096, Policy::Ring, version, LIMITS).expect("memory");
            let mut ids = [0; 3];
            for (number, (writer, len)) in sizes.iter().enumerate() {
                let id = &mut ids[usize::from(*writer)];
                // The packet begins with its number, in the order of writing.
                let mut packet = (number as u32).to_be_bytes().to_vec();
                packet.resize(*len, 0);
                let mut header = vec![packet.len() as u8 | 0x80, (packet.len() >> 7) as u8];
                header.append(&mut packet);
                for buffer in [&mut limited, &mut other] {
                    chunk(1, writer + 1, *id).bytes(&header).count(1).copy(buffer);
                }
                *id += 1;
                let (kept, all) = (content(&limited), content(&other));
                let newest = all.len().saturating_sub(CHUNKS_MAX);
                prop_assert_eq!(&kept, &all[newest..], "{:?} {}", version, number);
            }
        }
    }
}
