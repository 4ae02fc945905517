//! Memory with pages that were never written.
#![allow(unsafe_code)]

use super::tests::{header, reader};
use super::*;
use crate::sync::{Arc, AtomicBool, AtomicUsize, Ordering};

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

/// A peer removes memory that it wrote, and what it left of a page is known again only from there.
#[test]
fn a_page_that_was_removed_is_found() {
    let (is_there, of_rest) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicBool::new(true)));
    let (first, second) = (Arc::clone(&is_there), Arc::clone(&of_rest));
    let region = sparse(0, move |off| match off / 4096 {
        0 => first.load(Ordering::Relaxed),
        _ => second.load(Ordering::Relaxed),
    });
    let smb = Smb::new(region.unwrap(), PageSize::new(8192).unwrap()).unwrap();
    let mut reader = reader(&smb);
    let check = |reader: &mut SmbReader| {
        let PageCheck { bytes, is_removed } = reader.check_page(0);
        (bytes, is_removed, reader.touched_bytes())
    };
    assert_eq!(check(&mut reader), (0, false, 0), "nothing is known of it");
    assert_eq!(reader.check_page(1), PageCheck::default(), "there is no such page");
    assert!(smb.try_partition(0, Layout::Div1));
    assert!(smb.try_acquire(0, 0, header(1, 1)).unwrap().complete());
    assert!(reader.read_chunk(0, 0, &mut Vec::new()).is_some());
    assert_eq!(check(&mut reader), (8192, false, 8192));
    of_rest.store(false, Ordering::Relaxed);
    // What the system may have provided stays counted.
    assert_eq!(check(&mut reader), (8192, true, 8192));
    assert_eq!(check(&mut reader), (4096, false, 8192), "it is told once");
    assert!(reader.begin_touching(0));
    is_there.store(false, Ordering::Relaxed);
    assert_eq!(check(&mut reader), (4096, true, 8192));
    assert!(!reader.begin_touching(0) && !reader.has_header_data(0));
    is_there.store(true, Ordering::Relaxed);
    assert!(reader.begin_touching(0));
    assert_eq!(reader.touched_bytes(), 8192, "each page once");
}

#[test]
fn pages_that_are_copied_are_not_touched_before_a_chunk_is_freed() {
    let region = sparse(0, |off| off < 4096).unwrap();
    let smb = Smb::new(region, PageSize::new(4096).unwrap()).unwrap();
    let mut reader = reader(&smb);
    let headers = [0, 1, 2].map(|page| reader.has_header_data(page));
    let holes = [0, 1, 2].map(|page| reader.is_hole(page));
    assert_eq!((headers, holes), ([true, false, false], [false, true, false]));
    assert_eq!(reader.touched_bytes(), 0);
    assert_eq!([0, 2].map(|page| reader.touched_bytes_with(page)), [4096, 0]);
    assert!(smb.try_partition(1, Layout::Div1));
    assert!(smb.try_acquire(1, 0, header(1, 1)).unwrap().complete());
    reader.note_touched(1);
    reader.note_touched(2);
    assert_eq!(reader.touched_bytes(), 4096, "there is no page 2");
    assert_eq!([0, 1].map(|page| reader.touched_bytes_with(page)), [8192, 4096]);
    let freed = [(1, 1), (1, 0), (1, 0), (2, 0)];
    let freed = freed.map(|(page, chunk)| reader.free_copied(page, chunk));
    assert_eq!(freed, [false, true, false, false]);
    assert!(smb.page_hint(1).is_free());
}

/// Memory whose bytes are read without the mapping, which is empty.
struct Hidden {
    memory: Region,
    content: Vec<u8>,
}

// SAFETY: as above.
unsafe impl Mapping for Hidden {
    fn ptr(&self) -> std::ptr::NonNull<u8> {
        self.memory.range(0, 0).unwrap()
    }

    fn len(&self) -> usize {
        self.memory.len()
    }

    fn read(&self, off: usize, out: &mut [u8]) -> bool {
        let bytes = self.content.get(off..off.saturating_add(out.len()));
        bytes.map(|bytes| out.copy_from_slice(bytes)).is_some()
    }
}

/// Memory whose writer goes on between two reads: each read finds what comes next.
struct Growing {
    memory: Region,
    contents: Vec<Vec<u8>>,
    reads: AtomicUsize,
}

// SAFETY: as above.
unsafe impl Mapping for Growing {
    fn ptr(&self) -> std::ptr::NonNull<u8> {
        self.memory.range(0, 0).unwrap()
    }

    fn len(&self) -> usize {
        self.memory.len()
    }

    fn read(&self, off: usize, out: &mut [u8]) -> bool {
        let content = self.contents.get(self.reads.fetch_add(1, Ordering::Relaxed));
        let bytes = content.and_then(|content| content.get(off..off.saturating_add(out.len())));
        bytes.map(|bytes| out.copy_from_slice(bytes)).is_some()
    }
}

/// A fragment that a header counts was written before that header.
#[test]
fn a_copy_has_all_fragments_that_its_headers_count() {
    // One chunk that is being written, with so many fragments of a byte and one that is begun (`shared_memory_abi.h`).
    let page = |fragments: u32| {
        let header = [0x1000_0001, 0, 7, (fragments + 1) << 16 | 5].map(u32::to_le_bytes).concat();
        let payload = (0..fragments).flat_map(|_| *b"\x01x");
        let mut page: Vec<u8> = header.into_iter().chain(payload).collect();
        page.resize(4096, 0);
        page
    };
    // The page is read twice.
    let contents = vec![page(1), page(2)];
    let memory = Region::heap(4096);
    let growing = Growing { memory, contents, reads: AtomicUsize::new(0) };
    let region = Region::from_mapping(Box::new(growing)).unwrap();
    let smb = Smb::new(region, PageSize::new(4096).unwrap()).unwrap();
    let mut copy = reader(&smb).copy_of_page(0).unwrap();
    let mut payload = Vec::new();
    let (header, complete) = copy.scrape_chunk(0, 0, &mut payload).unwrap();
    assert_eq!((header.packets.count(), complete), (2, false));
    assert!(payload.starts_with(b"\x01x\0"), "one is finished");
}

#[test]
fn a_page_is_copied_without_touching_it() {
    for page_bytes in [4096, 8192] {
        let size = PageSize::new(page_bytes).unwrap();
        let written = Smb::new(Region::heap(3 * page_bytes), size).unwrap();
        assert!(written.try_partition(1, Layout::Div2));
        assert!(written.try_acquire(1, 1, header(7, 5)).unwrap().complete());
        let mut content = Vec::new();
        // SAFETY: one thread uses this memory. What is left out is read from the last page.
        assert!(unsafe { written.region().copy_out(0, 2 * page_bytes + 4095, &mut content) });
        let mapping = Hidden { memory: Region::heap(3 * page_bytes), content };
        let hidden = Smb::new(Region::from_mapping(Box::new(mapping)).unwrap(), size).unwrap();
        let reader = reader(&hidden);
        let mut copy = reader.copy_of_page(1).unwrap();
        assert_eq!((copy.smb().page_count(), copy.smb().page_size()), (1, size));
        let left = copy.scrape_leftover(0, 1, &mut Vec::new()).unwrap();
        assert_eq!((left.header, left.complete), (header(7, 5), true));
        assert!(reader.copy_of_page(0).unwrap().smb().page_hint(0).is_free());
        let none = [2, 3, usize::MAX].map(|page| reader.copy_of_page(page).is_some());
        assert_eq!(none, [false; 3], "the system does not give it, or there is none");
        let mapping = Hidden { memory: Region::heap(page_bytes), content: vec![1; 2 * page_bytes] };
        let shorter = Region::from_mapping(Box::new(mapping)).unwrap();
        assert!(shorter.copy_untouched(0, 2 * page_bytes).is_none(), "not all of it is inside");
        assert!(shorter.copy_untouched(0, page_bytes).is_some());
        let of_heap = super::tests::reader(&written);
        assert!(of_heap.copy_of_page(1).is_none(), "it is there anyway");
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
