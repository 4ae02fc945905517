//! Models of the reader that the service has, with writers of the same region. What runs is the code of `abi`, from
//! [`SmbReader`] and [`WritableChunk`] down to the words of a page.

use loom::thread;

use crate::ids::{ChunkId, WriterId};
use crate::models::model;
use crate::shm::header::{ChunkFlags, ChunkHeader, Packets};
use crate::shm::layout::{Layout, PageSize};
use crate::shm::{FRAGMENT_HEADER_BYTES, Leftover, Region, Smb, SmbReader, WritableChunk};
use crate::sync::{Arc, Mutex, lock};

fn smb(region: Region) -> Smb {
    Smb::new(region, PageSize::DEFAULT).expect("these are whole pages")
}

fn reader(smb: &Smb) -> SmbReader {
    smb.reader().expect("nobody else reads it")
}

/// Each writer has one chunk, of the same number.
fn header(writer: u16) -> ChunkHeader {
    ChunkHeader {
        chunk: ChunkId::new(writer.into()),
        writer: WriterId::new(writer),
        packets: Packets::default(),
    }
}

/// What the fragments of a writer have: bytes of this value.
fn value(writer: WriterId) -> u8 {
    0x10 + u8::try_from(writer.get()).expect("a small number")
}

/// Opens a fragment and stores bytes of it. Gives the offset behind them.
fn begin(chunk: &mut WritableChunk, count: usize) -> usize {
    let place = chunk.begin_fragment(FRAGMENT_HEADER_BYTES).expect("space is left");
    let bytes = vec![value(chunk.writer()); count];
    // SAFETY: these are bytes of the open fragment.
    assert!(unsafe { chunk.write(place.start, &bytes) });
    place.start + count
}

/// Writes two fragments of one byte, in both ways.
fn fill(chunk: &mut WritableChunk) {
    let used = begin(chunk, 1);
    assert_eq!(chunk.end_fragment(used), Some(false));
    let byte = value(chunk.writer());
    let mut short = chunk.begin_short(2).expect("space is left");
    short.append([byte], 1);
    short.end();
}

/// Takes a chunk of page 0, fills and completes it. False if there is none.
fn write_chunk(smb: &Smb, layout: Layout, writer: u16) -> bool {
    if smb.page_hint(0).is_free() {
        smb.try_partition(0, layout);
    }
    let chunk = (0..2).find_map(|idx| smb.try_acquire(0, idx, header(writer)));
    let is_found = chunk.is_some();
    if let Some(mut chunk) = chunk {
        fill(&mut chunk);
        assert!(chunk.complete(), "nobody else changes a chunk being written");
    }
    is_found
}

/// Checks what a reader found in a chunk of [`fill`].
fn check(header: ChunkHeader, is_complete: bool, payload: &[u8]) {
    let writer = header.writer;
    assert_eq!(header.chunk.get(), u32::from(writer.get()), "the header is of one writer");
    let count = header.packets.count();
    let finished = if is_complete { count } else { count.saturating_sub(1) };
    let mut expected = [1, value(writer), 1, value(writer)].to_vec();
    // A third fragment is counted, which has not begun.
    expected.truncate(2 * usize::from(finished));
    expected.resize(payload.len(), 0);
    assert_eq!(payload, expected, "{header:?}");
}

/// Scrapes a chunk. Gives its writer.
fn scrape(reader: &mut SmbReader, idx: usize) -> Option<u16> {
    let mut payload = Vec::new();
    let (header, is_complete) = reader.scrape_chunk(0, idx, &mut payload)?;
    check(header, is_complete, &payload);
    Some(header.writer.get())
}

/// Takes a complete chunk, and frees it.
fn read(reader: &mut SmbReader, idx: usize) -> Option<u16> {
    let mut payload = Vec::new();
    let header = reader.read_chunk(0, idx, &mut payload)?;
    check(header, true, &payload);
    assert_eq!(header.packets.count(), 3, "all of it is there");
    Some(header.writer.get())
}

/// A scrape finds the fragments that are finished, whole, and no byte of the others.
#[test]
fn a_chunk_is_scraped_while_it_is_filled() {
    for has_holes in [false, true] {
        model(move || {
            let smb = smb(Region::new(1, &[Layout::Div2], has_holes));
            let mut reader = reader(&smb);
            let writer = thread::spawn(move || {
                assert!(write_chunk(&smb, Layout::Div2, 1));
                smb
            });
            let service = thread::spawn(move || {
                scrape(&mut reader, 0);
                reader
            });
            let smb = writer.join().unwrap();
            let mut reader = service.join().unwrap();
            assert_eq!(read(&mut reader, 0), Some(1));
            assert!(smb.page_hint(0).is_free());
        });
    }
}

/// The service scrapes, reads and frees a chunk, again and again, and one writer after the other takes it: what is
/// found is of one writer, and each chunk is read once.
#[test]
fn a_chunk_is_freed_and_taken_again_among_scrapes() {
    model(|| {
        let smb = smb(Region::new(1, &[Layout::Div1], false));
        let mut reader = reader(&smb);
        let writers = thread::spawn(move || {
            (1..3).filter(|writer| write_chunk(&smb, Layout::Div1, *writer)).collect::<Vec<_>>()
        });
        let service = thread::spawn(move || {
            let mut seen = Vec::new();
            for _ in 0..2 {
                scrape(&mut reader, 0);
                seen.extend(read(&mut reader, 0));
            }
            (reader, seen)
        });
        let wrote = writers.join().unwrap();
        let (mut reader, mut seen) = service.join().unwrap();
        seen.extend(read(&mut reader, 0));
        assert_eq!(seen, wrote);
    });
}

/// The last free of a page clears its word while a writer wants a chunk of it, or cuts it in another way.
#[test]
fn a_page_is_freed_and_cut_anew_among_scrapes() {
    model(|| {
        let smb = smb(Region::new(1, &[Layout::Div1, Layout::Div2], false));
        assert!(write_chunk(&smb, Layout::Div2, 1));
        let mut reader = reader(&smb);
        let writer = {
            let smb = smb.clone();
            thread::spawn(move || write_chunk(&smb, Layout::Div1, 2))
        };
        let service = thread::spawn(move || {
            assert_eq!(read(&mut reader, 0), Some(1));
            for idx in 0..2 {
                scrape(&mut reader, idx);
            }
            reader
        });
        let wrote = writer.join().unwrap();
        let mut reader = service.join().unwrap();
        let seen: Vec<_> = (0..2).filter_map(|idx| read(&mut reader, idx)).collect();
        assert_eq!(seen, if wrote { vec![2] } else { vec![] });
        assert!(smb.page_hint(0).is_free() || !wrote);
    });
}

/// Where a header will be, an older layout had a payload. A scrape does not take that for a header, when it looks
/// after the chunk was taken and before its header was stored.
#[test]
fn what_an_older_layout_left_is_no_header() {
    model(|| {
        let smb = smb(Region::used(1, &[Layout::Div2], 0x0403_0201));
        let mut reader = reader(&smb);
        let writer = thread::spawn(move || {
            assert!(smb.try_partition(0, Layout::Div2));
            let mut chunk = smb.try_acquire(0, 1, header(1)).expect("it is free");
            fill(&mut chunk);
            assert!(chunk.complete());
        });
        let service = thread::spawn(move || {
            scrape(&mut reader, 1);
        });
        writer.join().unwrap();
        service.join().unwrap();
    });
}

/// What a patch replaces, and with what. The payload begins with a fragment of one byte; that of six bytes has four
/// for its length.
const PATCH_OFF: usize = 2 + FRAGMENT_HEADER_BYTES + 1;
const PATCH: [u8; 4] = [0x81, 0x82, 0x83, 0x04];

/// The chunk of writer 1, whose second fragment goes on in another chunk and waits for a patch.
fn cut_chunk(smb: &Smb) -> WritableChunk {
    assert!(smb.try_partition(0, Layout::Div1));
    let mut chunk = smb.try_acquire(0, 0, header(1)).expect("it is free");
    let used = begin(&mut chunk, 1);
    assert_eq!(chunk.end_fragment(used), Some(false));
    let used = begin(&mut chunk, 6);
    chunk.cut_fragment(used, true);
    chunk
}

/// Checks what a reader found in it.
fn check_cut(header: ChunkHeader, is_complete: bool, payload: &[u8]) {
    let byte = value(header.writer);
    let mut expected = vec![1, byte];
    if is_complete {
        expected.extend([0x86, 0x80, 0x80, 0]);
        expected.extend([byte; 6]);
        if !header.packets.flags().contains(ChunkFlags::NEEDS_PATCHING) {
            expected[PATCH_OFF..PATCH_OFF + 4].copy_from_slice(&PATCH);
        }
    }
    expected.resize(payload.len(), 0);
    assert_eq!(payload, expected, "{header:?}");
}

/// A chunk that needs patching stays with the producer: the writer, in the arbiter's lock, patches it, or
/// the transport, in the same lock, commits it unpatched. The first one decides; the service never sees bytes that
/// change, and never a chunk without its patch unless the flag says so.
#[test]
fn a_chunk_is_patched_or_committed_among_scrapes() {
    model(|| {
        let smb = smb(Region::new(1, &[Layout::Div1], false));
        let mut reader = reader(&smb);
        let pending = Arc::new(Mutex::new(Some(cut_chunk(&smb))));
        let writer = {
            let pending = pending.clone();
            thread::spawn(move || {
                let mut pending = lock(&pending);
                let Some(mut chunk) = pending.take() else { return false };
                assert!(chunk.patch(PATCH_OFF, PATCH));
                chunk.remove_flags(ChunkFlags::NEEDS_PATCHING);
                assert!(chunk.complete());
                true
            })
        };
        let transport = thread::spawn(move || {
            if let Some(chunk) = lock(&pending).take() {
                assert!(chunk.complete());
            }
        });
        let service = thread::spawn(move || {
            let mut payload = Vec::new();
            let (header, is_complete) = reader.scrape_chunk(0, 0, &mut payload).expect("in use");
            check_cut(header, is_complete, &payload);
            reader
        });
        let patched = writer.join().unwrap();
        transport.join().unwrap();
        let mut payload = Vec::new();
        let header = service.join().unwrap().read_chunk(0, 0, &mut payload).expect("complete");
        check_cut(header, true, &payload);
        assert_eq!(header.packets.flags().contains(ChunkFlags::NEEDS_PATCHING), !patched);
    });
}

/// One thread scrapes a chunk, another one frees it, and a writer takes it: the right to read orders the first two.
#[test]
fn the_right_to_read_is_handed_on() {
    model(|| {
        let smb = smb(Region::new(1, &[Layout::Div1], false));
        assert!(write_chunk(&smb, Layout::Div1, 1));
        let scraper = {
            let smb = smb.clone();
            thread::spawn(move || smb.reader().map(|mut reader| scrape(&mut reader, 0)))
        };
        let freer = {
            let smb = smb.clone();
            thread::spawn(move || smb.reader().and_then(|mut reader| read(&mut reader, 0)))
        };
        let writer = thread::spawn(move || {
            write_chunk(&smb, Layout::Div1, 2);
        });
        scraper.join().unwrap();
        assert!(matches!(freer.join().unwrap(), None | Some(1)));
        writer.join().unwrap();
    });
}

/// The bytes of an open fragment are looked at once no thread can store into them any more.
#[test]
fn an_open_fragment_is_looked_at_when_its_writer_is_gone() {
    model(|| {
        let smb = smb(Region::new(1, &[Layout::Div1], false));
        let mut reader = reader(&smb);
        let leftover = |reader: &mut SmbReader| {
            let mut payload = Vec::new();
            let left = reader.scrape_leftover(0, 0, &mut payload)?;
            assert!(payload.iter().all(|byte| *byte == 0), "nothing is finished");
            Some(left)
        };
        let writer = thread::spawn(move || {
            assert!(smb.try_partition(0, Layout::Div1));
            let mut chunk = smb.try_acquire(0, 0, header(1)).expect("it is free");
            begin(&mut chunk, 4);
        });
        let service = thread::spawn(move || {
            leftover(&mut reader);
            reader
        });
        writer.join().unwrap();
        let left = leftover(&mut service.join().unwrap());
        assert!(matches!(left, Some(Leftover { complete: false, finished: 0, begun: true, .. })));
    });
}

/// A writer begins a chunk on the first page, completes it, and begins the next one on the second page, while a scrape
/// looks at both pages twice: whatever is the newest chunk of the first look, the second one finds all up to it.
#[test]
fn a_second_look_finds_all_chunks_up_to_the_newest_of_the_first() {
    model(|| {
        let smb = smb(Region::new(2, &[Layout::Div1], false));
        let mut reader = reader(&smb);
        let writer = thread::spawn(move || {
            for chunk in 0..2 {
                let (page, chunk) = (chunk as usize, ChunkId::new(chunk));
                assert!(smb.try_partition(page, Layout::Div1));
                let header = ChunkHeader { chunk, ..header(1) };
                assert!(smb.try_acquire(page, 0, header).expect("it is free").complete());
            }
        });
        let mut look = move || -> Vec<ChunkId> {
            let headers = (0..2).filter_map(|page| reader.header_in_use(page, 0));
            headers.map(|header| header.chunk).collect()
        };
        let scrape = thread::spawn(move || {
            let newest = look().into_iter().max();
            let found = look();
            for chunk in 0..newest.map_or(0, |newest| newest.get() + 1) {
                let is_found = found.contains(&ChunkId::new(chunk));
                assert!(is_found, "{chunk} of {newest:?}: {found:?}");
            }
        });
        writer.join().unwrap();
        scrape.join().unwrap();
    });
}
