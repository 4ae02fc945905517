//! The models: writers, commits, patches and the service on one page, in every order of their steps.

use loom::cell::UnsafeCell;
use loom::thread;

use crate::ids::{ChunkId, WriterId};
use crate::shm::header::{ChunkFlags, ChunkHeader, ChunkState, Packets, PageWord};
use crate::shm::layout::{Layout, PageSize};
use crate::shm::page::{self, Grant, PublishedHeader};
use crate::shm::words::PageWords;
use crate::sync::{Arc, AtomicU32, Mutex, lock};

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

/// A scraper looks at a chunk while it is being written: the count covers only what is finished.
#[test]
fn scraping_a_chunk_being_written() {
    model(|| {
        let page = Arc::new(Page::new());
        assert!(page::try_partition(&*page, Layout::Div2));
        let writer = {
            let page = page.clone();
            thread::spawn(move || {
                let header = header(3, 7);
                let grant = page::try_acquire(&*page, 0, header).unwrap();
                let mut header = PublishedHeader::new(header);
                header.start_fragment(page.published(grant));
                page.write(grant, 3);
                // One packet finished and the next begun: one fragment may be looked at.
                header.start_fragment(page.published(grant));
                grant
            })
        };
        let scraper = thread::spawn(move || {
            let word = page::snapshot(&*page);
            let (grant, state) = page::peek(&*page, word, 0).unwrap();
            if state == ChunkState::BeingWritten {
                let header = page::load_header(&*page, grant);
                if header.packets.count() == 2 {
                    assert_eq!(page.read(grant), 3);
                    assert_eq!(header.writer, WriterId::new(3));
                } else {
                    // Not there yet, or nothing finished.
                    assert!(matches!(header.writer.get(), 0 | 3));
                }
            }
        });
        writer.join().unwrap();
        scraper.join().unwrap();
    });
}

/// The chunk that is in use on a page, as a scrape sees it before it copies.
fn look(page: &Page) -> Option<ChunkId> {
    let (grant, state) = page::peek(page, page::snapshot(page), 0)?;
    let header = page::load_header(page, grant);
    let in_use = matches!(state, ChunkState::Complete | ChunkState::BeingWritten);
    (in_use && !header.writer.is_none()).then_some(header.chunk)
}

/// A writer begins a chunk on the first page, completes it, and begins the next one on the second page, while a scrape
/// looks at both pages twice: whatever is the newest chunk of the first look, the second one finds all up to it.
#[test]
fn a_second_look_finds_all_chunks_up_to_the_newest_of_the_first() {
    model(|| {
        let pages = Arc::new([Page::new(), Page::new()]);
        let writer = {
            let pages = pages.clone();
            thread::spawn(move || {
                for (page, chunk) in pages.iter().zip(0..) {
                    assert!(page::try_partition(page, Layout::Div1));
                    let grant = page::try_acquire(page, 0, header(1, chunk)).unwrap();
                    assert!(page::complete(page, grant));
                }
            })
        };
        let scrape = {
            let pages = pages.clone();
            thread::spawn(move || {
                let newest = pages.iter().filter_map(look).max();
                let found: Vec<_> = pages.iter().filter_map(look).collect();
                for chunk in 0..newest.map_or(0, |newest| newest.get() + 1) {
                    assert!(
                        found.contains(&ChunkId::new(chunk)),
                        "{chunk} of {newest:?}: {found:?}"
                    );
                }
            })
        };
        writer.join().unwrap();
        scrape.join().unwrap();
    });
}

/// A chunk that needs patching stays with the producer: the writer, in the arbiter's lock, patches it, or
/// the transport, in the same lock, commits it unpatched. The first one decides; the service never sees a
/// chunk that changes, and never one without its patch unless the flag says so.
#[test]
fn patching_against_committing() {
    model(|| {
        let page = Arc::new(Page::new());
        assert!(page::try_partition(&*page, Layout::Div2));
        let held = header(4, 7);
        let grant = page::try_acquire(&*page, 0, held).unwrap();
        let mut held = PublishedHeader::new(held);
        held.start_fragment(page.published(grant));
        held.add_flags(page.published(grant), ChunkFlags::NEEDS_PATCHING);
        let pending = Arc::new(Mutex::new(Some((grant, held))));

        let writer = {
            let (page, pending) = (page.clone(), pending.clone());
            thread::spawn(move || {
                let mut pending = lock(&pending);
                let Some((grant, mut held)) = pending.take() else { return false };
                page.write(grant, 0x55);
                held.remove_flags(page.published(grant), ChunkFlags::NEEDS_PATCHING);
                assert!(page::complete(&*page, grant));
                true
            })
        };
        let transport = {
            let (page, pending) = (page.clone(), pending.clone());
            thread::spawn(move || {
                let taken = lock(&pending).take();
                if let Some((grant, _)) = taken {
                    assert!(page::complete(&*page, grant));
                }
            })
        };
        let look = |page: &Page| {
            let grant = page::try_read(page, 0)?;
            let header = page::load_header(page, grant);
            let value = page.read(grant);
            assert!(page::free(page, grant, ChunkState::BeingRead));
            Some((header.packets.flags(), value))
        };
        let reader = {
            let page = page.clone();
            thread::spawn(move || look(&page))
        };
        let early = reader.join().unwrap();
        let patched = writer.join().unwrap();
        transport.join().unwrap();
        let (flags, value) =
            early.or_else(|| look(&page)).expect("it was committed by one of them");
        let expected =
            if patched { (ChunkFlags::default(), 0x55) } else { (ChunkFlags::NEEDS_PATCHING, 0) };
        assert_eq!((flags, value), expected);
    });
}
