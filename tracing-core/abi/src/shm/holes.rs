//! Memory with pages that were never written.
#![allow(unsafe_code)]

use super::tests::{header, reader};
use super::*;

/// Memory from `off` on, with what a system says of its bytes.
struct Sparse {
    memory: Region,
    off: usize,
    is_written: Box<dyn Fn(usize) -> bool + Send + Sync>,
}

// SAFETY: `memory` lives as long as this, and nobody else has a handle of it.
unsafe impl Mapping for Sparse {
    fn ptr(&self) -> std::ptr::NonNull<u8> {
        self.memory.range(self.off, 0).unwrap()
    }

    fn len(&self) -> usize {
        self.memory.len() - self.off
    }

    fn is_written(&self, off: usize, _: usize) -> bool {
        (self.is_written)(off)
    }
}

fn sparse(
    off: usize,
    is_written: impl Fn(usize) -> bool + Send + Sync + 'static,
) -> Result<Region, ShmError> {
    let is_written = Box::new(is_written);
    Region::from_mapping(Box::new(Sparse { memory: Region::heap(2 * 4096), off, is_written }))
}

/// Memory whose system says nothing of its holes.
struct Plain(Region);

// SAFETY: as above.
unsafe impl Mapping for Plain {
    fn ptr(&self) -> std::ptr::NonNull<u8> {
        self.0.range(0, 0).unwrap()
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}

#[test]
fn without_knowledge_of_holes_all_may_be_written() {
    let plain = Region::from_mapping(Box::new(Plain(Region::heap(4096)))).unwrap();
    assert!(plain.is_written(8, 8) && Region::heap(4096).is_written(0, 4096));
}

#[test]
fn a_mapping_begins_at_a_page() {
    assert!(sparse(4096, |_| false).is_ok());
    assert!(matches!(sparse(8, |_| false), Err(ShmError::Alignment { .. })));
}

/// A page that was never written belongs to the first process that touches it, even to read.
#[test]
fn a_reader_touches_no_page_without_data() {
    for with_data in [0, 1] {
        let region = sparse(0, move |off| off / 4096 == with_data).unwrap();
        let smb = Smb::new(region, PageSize::new(4096).unwrap()).unwrap();
        smb.note_loss();
        let mut written = Vec::new();
        for page in 0..2 {
            assert!(smb.try_partition(page, Layout::Div2));
            assert!(smb.try_acquire(page, 0, header(1, 1)).unwrap().complete());
            written.push(smb.try_acquire(page, 1, header(1, 2)).unwrap());
        }
        let mut reader = reader(&smb);
        assert_eq!(reader.losses_noted(), u32::from(with_data == 0));
        for page in 0..2 {
            let has_data = page == with_data;
            assert_eq!(reader.scrape_chunk(page, 1, &mut Vec::new()).is_some(), has_data);
            assert_eq!(reader.read_chunk(page, 0, &mut Vec::new()).is_some(), has_data);
        }
    }
}

/// A page of shared memory may be larger than one of the system, so that its header has data and a chunk has none.
#[test]
fn a_chunk_that_was_claimed_where_nothing_was_written_is_free_again() {
    let region = sparse(0, |off| off < 4096).unwrap();
    let smb = Smb::new(region, PageSize::new(8192).unwrap()).unwrap();
    assert!(smb.try_partition(0, Layout::Div2));
    for chunk in 0..2 {
        assert!(smb.try_acquire(0, chunk, header(1, 1)).unwrap().complete());
    }
    let mut reader = reader(&smb);
    assert_eq!(reader.read_chunk(0, 1, &mut Vec::new()), None);
    assert!(smb.try_acquire(0, 1, header(1, 2)).is_some(), "it is free");
    assert!(reader.read_chunk(0, 0, &mut Vec::new()).is_some());
}
