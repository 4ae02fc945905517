//! Memory with pages that were never written.
#![allow(unsafe_code)]

use super::tests::{header, reader};
use super::*;

/// Memory from `off` on, with what a system says of its holes.
struct Sparse {
    memory: Region,
    off: usize,
    written_from: Box<dyn Fn(usize) -> Option<std::ops::Range<usize>> + Send + Sync>,
}

// SAFETY: `memory` lives as long as this, and nobody else has a handle of it.
unsafe impl Mapping for Sparse {
    fn ptr(&self) -> std::ptr::NonNull<u8> {
        self.memory.range(self.off, 0).unwrap()
    }

    fn len(&self) -> usize {
        self.memory.len() - self.off
    }

    fn written_from(&self, off: usize) -> Option<std::ops::Range<usize>> {
        (self.written_from)(off)
    }
}

fn sparse(
    off: usize,
    written_from: impl Fn(usize) -> Option<std::ops::Range<usize>> + Send + Sync + 'static,
) -> Result<Region, ShmError> {
    let written_from = Box::new(written_from);
    Region::from_mapping(Box::new(Sparse { memory: Region::heap(2 * 4096), off, written_from }))
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
    let plain = Plain(Region::heap(4096));
    assert_eq!(plain.written_from(8), Some(8..4096));
    assert_eq!(plain.written_from(4096), None);
}

#[test]
fn a_mapping_begins_at_a_page() {
    assert!(sparse(4096, |_| None).is_ok());
    assert!(matches!(sparse(8, |_| None), Err(ShmError::Alignment { .. })));
}

/// A page that was never written belongs to the first process that touches it, even to read.
#[test]
fn a_reader_touches_no_page_without_data() {
    for with_data in [0, 1] {
        let (from, end) = (with_data * 4096, (with_data + 1) * 4096);
        let region = sparse(0, move |off| (off < end).then(|| off.max(from)..end)).unwrap();
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

/// A system that goes back would make a scrape endless.
#[test]
fn written_pages_come_in_order() {
    for wrong in [0..4096, 4096..4096] {
        let region = sparse(0, move |_| Some(wrong.clone())).unwrap();
        let smb = Smb::new(region, PageSize::new(4096).unwrap()).unwrap();
        assert_eq!(smb.written_pages(1).next(), None);
    }
}
