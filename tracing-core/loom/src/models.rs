//! Models of one page: writers and the service, in every order of their steps.

use loom::cell::UnsafeCell;
use loom::thread;

use crate::ids::{ChunkId, WriterId};
use crate::shm::header::{ChunkHeader, ChunkState, Packets, PageWord};
use crate::shm::layout::{Layout, PageSize};
use crate::shm::page::{self, Grant, PublishedHeader};
use crate::shm::words::PageWords;
use crate::sync::{Arc, AtomicU32};

/// A page of two chunks: its word, two headers, and a payload of one cell each, which loom watches for
/// accesses that are not ordered.
struct Page {
    word: AtomicU32,
    headers: [[AtomicU32; 2]; 2],
    payload: [UnsafeCell<u32>; 2],
}

/// Where chunk 1 of Div2 lies in a page of 4 KiB.
const SECOND: usize = 8 + 2044;

impl Page {
    fn new() -> Self {
        let header = || [AtomicU32::new(0), AtomicU32::new(0)];
        Self {
            word: AtomicU32::new(0),
            headers: [header(), header()],
            payload: [UnsafeCell::new(0), UnsafeCell::new(0)],
        }
    }

    fn write(&self, grant: Grant, value: u32) {
        // SAFETY: the grant says that this chunk is ours; loom checks that it is.
        self.payload[grant.idx].with_mut(|cell| unsafe { *cell = value });
    }

    /// The word that a `WritableChunk` publishes through.
    fn published(&self, grant: Grant) -> Option<&AtomicU32> {
        self.word(grant.off + 4)
    }

    fn read(&self, grant: Grant) -> u32 {
        // SAFETY: as above.
        self.payload[grant.idx].with(|cell| unsafe { *cell })
    }
}

impl PageWords for Page {
    fn page_size(&self) -> PageSize {
        PageSize::DEFAULT
    }

    fn word(&self, off: usize) -> Option<&AtomicU32> {
        match off {
            0 => Some(&self.word),
            8 => Some(&self.headers[0][0]),
            12 => Some(&self.headers[0][1]),
            SECOND => Some(&self.headers[1][0]),
            off if off == SECOND + 4 => Some(&self.headers[1][1]),
            _ => None,
        }
    }
}

fn header(writer: u16, chunk: u32) -> ChunkHeader {
    ChunkHeader {
        chunk: ChunkId::new(chunk),
        writer: WriterId::new(writer),
        packets: Packets::default(),
    }
}

/// Explores `f`. Whatever is to be interleaved runs on threads of its own: what the model's first thread
/// does between spawning and joining is not moved around by loom as freely (seen: a reader was never
/// run whole in front of it).
pub fn model(f: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(f);
}

/// What a writer does for one chunk; false if it found none.
fn write_one(page: &Page, writer: u16) -> bool {
    if page::hint(page).is_free() {
        page::try_partition(page, Layout::Div2);
    }
    for idx in 0..2 {
        let header = header(writer, 7);
        if let Some(grant) = page::try_acquire(page, idx, header) {
            page.write(grant, u32::from(writer));
            PublishedHeader::new(header).start_fragment(page.published(grant));
            assert!(page::complete(page, grant), "nobody else changes a chunk being written");
            return true;
        }
    }
    false
}

/// What the service does: take a complete chunk, check it, free it. Gives the writer.
fn read_one(page: &Page, idx: usize) -> Option<u16> {
    let grant = page::try_read(page, idx)?;
    let header = page::load_header(page, grant);
    let value = page.read(grant);
    assert_eq!(value, u32::from(header.writer.get()), "header and payload are of one writer");
    assert_eq!(header.chunk, ChunkId::new(7));
    assert_eq!(header.packets.count(), 1);
    assert!(page::free(page, grant, ChunkState::BeingRead), "nobody else frees it");
    Some(header.writer.get())
}

/// Two writers, of which each may cut the page, acquire, and complete, and a service that reads and
/// frees: no chunk has two owners, none is lost, and the page ends up free.
#[test]
fn two_writers_and_a_reader() {
    model(|| {
        let page = Arc::new(Page::new());
        let writers: Vec<_> = (1..3)
            .map(|writer| {
                let page = page.clone();
                thread::spawn(move || write_one(&page, writer))
            })
            .collect();
        let reader = {
            let page = page.clone();
            thread::spawn(move || (0..2).filter_map(|idx| read_one(&page, idx)).collect())
        };
        let mut seen: Vec<u16> = reader.join().unwrap();
        let wrote = writers.into_iter().map(|writer| writer.join().unwrap());
        let wrote = wrote.filter(|&wrote| wrote).count();
        seen.extend((0..2).filter_map(|idx| read_one(&page, idx)));
        assert_eq!(seen.len(), wrote, "each chunk is read once");
        assert_eq!(page::snapshot(&*page), PageWord::FREE);
    });
}

/// The last free clears the page word while a writer wants a chunk of it, or to cut it anew.
#[test]
fn freeing_a_page_against_acquiring_it() {
    model(|| {
        let page = Arc::new(Page::new());
        assert!(write_one(&page, 1));
        let reader = {
            let page = page.clone();
            thread::spawn(move || read_one(&page, 0))
        };
        let writer = {
            let page = page.clone();
            thread::spawn(move || write_one(&page, 2))
        };
        assert_eq!(reader.join().unwrap(), Some(1));
        let wrote = writer.join().unwrap();
        if wrote {
            let seen: Vec<_> = (0..2).filter_map(|idx| read_one(&page, idx)).collect();
            assert_eq!(seen, [2]);
            assert_eq!(page::snapshot(&*page), PageWord::FREE);
        } else {
            // The page was being freed when it looked: it is free, or cut and free.
            assert!(page::snapshot(&*page).layout().is_none_or(|layout| layout == Layout::Div2));
        }
    });
}
