//! Sizes of shared memory beyond what a config can say in one field, and when it is unmapped. Of how many gaps the
//! buffer is looked at.

use super::UntoldGaps;
use super::smb::{Touched, smb_sizes};
use abi::ids::{BufferId, ChunkId, WriterId};
use abi::shm::{ChunkFlags, ChunkHeader, Packets};

#[test]
fn a_size_beyond_32_bits_is_clamped() {
    // Upstream multiplies in 32 bits here.
    assert_eq!(smb_sizes(u64::from(u32::MAX) * 1024, 0).0, 32 * 1024 * 1024);
}

/// After how many pages of 32 KiB at `off` memory of `whole` KiB is unmapped, twice.
fn unmapped_after(whole_kb: usize, off_kb: usize) -> [Option<usize>; 2] {
    let mut touched = Touched::default();
    let mut add = |_: &usize| touched.add(whole_kb * 1024, off_kb * 1024, 32 * 1024);
    [(); 2].map(|()| (1..100).find(&mut add))
}

#[test]
fn memory_beyond_the_first_pages_is_unmapped_now_and_then() {
    assert_eq!(unmapped_after(1024, 128), [Some(8); 2]);
    assert_eq!(unmapped_after(1024, 992), [Some(8); 2]);
    // What is read again and again stays.
    assert_eq!(unmapped_after(1024, 127), [None; 2]);
    // So does memory that is not much larger than that.
    assert_eq!(unmapped_after(384, 128), [None; 2]);
    assert_eq!(unmapped_after(385, 128), [Some(8); 2]);
}

/// More gaps than are looked at may be of any buffer: those that are open, and those that ended, together.
#[test]
fn many_gaps_may_concern_any_buffer() {
    let (buffer, other) = (BufferId::new(1), BufferId::new(2));
    let header = |writer, chunk| ChunkHeader {
        chunk: ChunkId::new(chunk),
        writer: WriterId::new(writer),
        packets: Packets::new(0, ChunkFlags::default()),
    };
    let mut gaps = UntoldGaps::default();
    for writer in 1..=64 {
        gaps.begin(Some((&header(writer, 0), buffer)));
        if writer % 2 == 0 {
            gaps.note_chunk(&header(writer, 1));
        }
        assert!(gaps.may_concern(&[buffer]) && !gaps.may_concern(&[other]), "{writer}");
    }
    gaps.begin(Some((&header(65, 0), buffer)));
    assert!(gaps.may_concern(&[other]));
    gaps.note_told();
    assert!(!gaps.may_concern(&[other]), "those that ended are told");
}
