#![allow(unsafe_code)]

use super::*;
use crate::ids::{ChunkId, WriterId};
use crate::shm::present::Present;
use crate::shm::words::{ChunkBytes as _, PageWords as _};
use crate::sync::Ordering;

fn store(region: &Region, off: usize, bytes: &[u8]) -> bool {
    // SAFETY: one thread uses this memory.
    unsafe { region.store(off, bytes) }
}

fn copy_out(region: &Region, off: usize, len: usize, out: &mut Vec<u8>) -> bool {
    // SAFETY: one thread uses this memory.
    unsafe { region.copy_out(off, len, out) }
}

fn write(chunk: &mut WritableChunk, off: usize, bytes: &[u8]) -> bool {
    // SAFETY: one thread uses this memory.
    unsafe { chunk.write(off, bytes) }
}

fn start_fragment(chunk: &mut WritableChunk) {
    // SAFETY: one thread uses this memory.
    unsafe { chunk.start_fragment() }
}

/// Miri runs these tests, too, and is slow.
const PAGE_SIZES: &[usize] = if cfg!(miri) { &[4096] } else { &[4096, 8192, 16384, 32768, 65536] };
const PAGES: usize = if cfg!(miri) { 5 } else { 14 };

fn smb(pages: usize, page_bytes: usize) -> Smb {
    Smb::new(Region::heap(pages * page_bytes), PageSize::new(page_bytes).unwrap()).unwrap()
}

pub(super) fn reader(smb: &Smb) -> SmbReader {
    smb.reader().expect("nobody else reads it")
}

pub(super) fn header(writer: u16, chunk: u32) -> ChunkHeader {
    ChunkHeader {
        chunk: ChunkId::new(chunk),
        writer: WriterId::new(writer),
        packets: Packets::default(),
    }
}

fn word(smb: &Smb, off: usize) -> u32 {
    smb.region().word(off).unwrap().load(Ordering::Relaxed)
}

fn poke(smb: &Smb, off: usize, value: u32) {
    smb.region().word(off).unwrap().store(value, Ordering::Relaxed);
}

#[test]
fn chunk_sizes_are_those_of_the_abi() {
    let table = [
        (4096, [4088, 2044, 1020, 584, 292]),
        (8192, [8184, 4092, 2044, 1168, 584]),
        (16384, [16376, 8188, 4092, 2336, 1168]),
        (32768, [32760, 16380, 8188, 4680, 2340]),
        (65536, [65528, 32764, 16380, 9360, 4680]),
    ];
    for (page, sizes) in table {
        let page = PageSize::new(page).unwrap();
        for (layout, size) in Layout::ALL.into_iter().zip(sizes) {
            assert_eq!(layout.chunk_bytes(page), size, "{layout:?} of {page:?}");
            let last = layout.chunk_count() - 1;
            assert!(layout.chunk_off(page, last).unwrap() + size <= page.bytes());
            assert_eq!(layout.chunk_off(page, layout.chunk_count()), None);
        }
    }
}

/// Services that do not know marks find no chunk at their place.
#[test]
fn marks_are_where_no_complete_chunk_is() {
    assert_eq!(LOSS_MARK_CHUNK_IDX, Layout::Div14.chunk_count() - 1);
}

#[test]
fn losses_are_counted_in_the_first_page() {
    let smb = Smb::new(Region::heap(2 * 4096), PageSize::DEFAULT).unwrap();
    let mut reader = smb.reader().unwrap();
    assert_eq!(reader.losses_noted(), 0);
    (0..3).for_each(|_| smb.note_loss());
    assert_eq!(reader.losses_noted(), 3);
    assert!(smb.page_hint(0).is_free(), "no word of the page changes");
}

#[test]
fn page_sizes_are_checked() {
    for bytes in [0, 1, 4095, 4097, 6144, 65536 + 4096, usize::MAX] {
        assert_eq!(PageSize::new(bytes), Err(ShmError::PageBytes { bytes }));
    }
    assert_eq!(PageSize::new(12288).unwrap().bytes(), 12288);
    let page = PageSize::new(8192).unwrap();
    assert_eq!(
        Smb::new(Region::heap(4096), page).unwrap_err(),
        ShmError::RegionBytes { bytes: 4096, page_bytes: 8192 }
    );
    assert!(Smb::new(Region::heap(0), page).is_err());
}

/// Pages of two sizes over one memory would be cut into chunks that overlap: two writers could own the same
/// bytes.
#[test]
fn a_region_has_pages_of_one_size() {
    let region = Region::heap(8192);
    let small = Smb::new(region.clone(), PageSize::DEFAULT).unwrap();
    let large = Smb::new(region.clone(), PageSize::new(8192).unwrap());
    assert_eq!(large.unwrap_err(), ShmError::PageSizeFixed { fixed: 4096, page_bytes: 8192 });
    drop(small);
    let large = Smb::new(region.clone(), PageSize::new(8192).unwrap());
    assert!(large.is_err(), "a chunk of the first size may still be about");
    assert_eq!(Smb::new(region, PageSize::DEFAULT).unwrap().page_count(), 2);
}

#[test]
fn a_region_that_was_refused_can_be_cut() {
    let region = Region::heap(4096);
    assert!(Smb::new(region.clone(), PageSize::new(8192).unwrap()).is_err());
    assert!(Smb::new(region, PageSize::DEFAULT).is_ok());
}

/// Freeing chunks is for one at a time: a scrape relies on it.
#[test]
fn a_region_has_one_reader() {
    let smb = smb(1, 4096);
    let reader = smb.reader().unwrap();
    assert!(smb.reader().is_none());
    let same = Smb::new(smb.region().clone(), PageSize::DEFAULT).unwrap();
    assert!(same.reader().is_none());
    drop(reader);
    assert!(same.reader().is_some());
}

/// A thread frees and acquires chunks all the while another scrapes: without the reader this is a data
/// race, which Miri finds.
#[test]
fn scraping_against_freeing() {
    let smb = smb(1, 4096);
    let reader = std::sync::Mutex::new(reader(&smb));
    let rounds = if cfg!(miri) { 5 } else { 200 };
    std::thread::scope(|scope| {
        let scraper = scope.spawn(|| {
            let mut payload = Vec::new();
            for _ in 0..rounds {
                reader.lock().unwrap().scrape_chunk(0, 0, &mut payload);
                std::thread::yield_now();
            }
        });
        let mut chunks = 0;
        while chunks < rounds || !scraper.is_finished() {
            smb.try_partition(0, Layout::Div14);
            let mut chunk = smb.try_acquire(0, 0, header(1, chunks)).unwrap();
            start_fragment(&mut chunk);
            assert!(write(&mut chunk, 0, &[2, 0xaa, 0xbb]));
            start_fragment(&mut chunk);
            assert!(chunk.complete());
            assert!(reader.lock().unwrap().read_chunk(0, 0, &mut Vec::new()).is_some());
            chunks += 1;
        }
    });
}

#[test]
fn chunks_of_other_memory_are_not_freed() {
    let (one, other) = (smb(1, 4096), smb(1, 4096));
    assert!(other.try_partition(0, Layout::Div1));
    let chunk = other.try_acquire(0, 0, header(1, 1)).unwrap();
    let mut data = Vec::new();
    reader(&one).take_by_value(chunk, &mut data);
    assert!(data.is_empty());
    assert_eq!(other.page_hint(0).state(0), ChunkState::BeingWritten);
}

#[test]
fn layout_bits() {
    let bits: Vec<_> = (0..8).map(Layout::from_bits).collect();
    let [a, b, c, d, e] = Layout::ALL.map(Some);
    assert_eq!(bits, [None, a, b, c, d, e, None, None]);
}

/// Div4 with its first chunk being written, and a count of 1 with flags 6, as upstream stores them.
#[test]
fn bytes_in_memory_are_upstreams() {
    let smb = smb(1, 4096);
    assert!(smb.try_partition(0, Layout::Div4));
    let mut chunk = smb.try_acquire(0, 0, header(7, 9)).unwrap();
    start_fragment(&mut chunk);
    chunk.add_flags(ChunkFlags::CONTINUES_ON_NEXT.with(ChunkFlags::NEEDS_PATCHING));
    let mut bytes = Vec::new();
    copy_out(smb.region(), 0, 16, &mut bytes);
    assert_eq!(bytes, [1, 0, 0, 0x30, 0, 0, 0, 0, 9, 0, 0, 0, 7, 0, 0x01, 0x18]);
}

/// Every page size and layout: partition, acquire all, complete, read, free; the last free clears the page.
#[test]
fn nominal_cases() {
    for &page_bytes in PAGE_SIZES {
        let smb = smb(PAGES, page_bytes);
        let mut reader = reader(&smb);
        for page in 0..PAGES {
            let layout = Layout::ALL[page % 5];
            let count = layout.chunk_count();
            assert!(smb.page_hint(page).is_free());
            assert_eq!(smb.page_hint(page).free_chunks(), 0);
            assert!(smb.try_partition(page, layout));
            assert!(!smb.try_partition(page, layout), "partitioned already");
            assert!(!smb.page_hint(page).is_free(), "partitioned, so not free");
            assert_eq!(smb.page_hint(page).free_chunks(), (1 << count) - 1);
            let mut chunks: Vec<_> = (0..count)
                .map(|idx| {
                    let chunk = smb.try_acquire(page, idx, header(page as u16 + 1, idx as u32));
                    assert!(smb.try_acquire(page, idx, header(99, 0)).is_none(), "taken");
                    assert!(reader.try_read(page, idx).is_none(), "not complete");
                    chunk.unwrap()
                })
                .collect();
            assert!(smb.try_acquire(page, count, header(1, 1)).is_none(), "no such chunk");
            assert_eq!(smb.page_hint(page).free_chunks(), 0);
            for (idx, chunk) in chunks.iter_mut().enumerate() {
                let last = chunk.payload_len() - 1;
                assert!(write(chunk, 0, &[1, idx as u8]));
                assert!(write(chunk, last, &[0xee]));
                assert!(!write(chunk, last, &[1, 2]), "beyond the payload");
                assert!(!write(chunk, usize::MAX, &[]));
                start_fragment(chunk);
            }
            for chunk in chunks {
                assert!(chunk.complete());
            }
            assert!(smb.page_hint(page).is_complete());
            for idx in 0..count {
                let mut payload = Vec::new();
                let header = reader.read_chunk(page, idx, &mut payload).unwrap();
                assert_eq!(payload.len(), layout.chunk_bytes(smb.page_size()) - 8);
                assert_eq!(
                    (payload[0], payload[1], *payload.last().unwrap()),
                    (1, idx as u8, 0xee)
                );
                assert_eq!(header.writer, WriterId::new(page as u16 + 1));
                assert_eq!(header.chunk, ChunkId::new(idx as u32));
                assert_eq!(header.packets.count(), 1);
                assert!(reader.read_chunk(page, idx, &mut payload).is_none(), "free again");
                let word = smb.page_hint(page);
                assert_eq!(word == PageWord::FREE, idx + 1 == count, "the last one clears it");
            }
            assert!(smb.try_partition(page, Layout::Div2), "can be cut anew");
        }
    }
}

#[test]
fn a_freed_chunk_has_no_header() {
    let smb = smb(1, 4096);
    smb.try_partition(0, Layout::Div2);
    smb.try_acquire(0, 0, header(5, 6)).unwrap().complete();
    let _other = smb.try_acquire(0, 1, header(5, 7)).unwrap();
    let mut payload = Vec::new();
    reader(&smb).read_chunk(0, 0, &mut payload).unwrap();
    assert_eq!((word(&smb, 8), word(&smb, 12)), (0, 0));
    assert_eq!(word(&smb, 0), 0x2000_0004, "chunk 1 is being written");
}

/// What an older layout left there would be a header for a scrape, until the writer has stored its own.
#[test]
fn a_page_that_is_cut_has_no_headers() {
    for layout in Layout::ALL {
        let smb = smb(1, 4096);
        assert!(store(smb.region(), 16, &[0xff; 4080]));
        assert!(smb.try_partition(0, layout));
        for idx in 0..layout.chunk_count() {
            let off = layout.chunk_off(smb.page_size(), idx).unwrap();
            assert_eq!((word(&smb, off), word(&smb, off + 4)), (0, 0), "{layout:?}, chunk {idx}");
        }
        assert_eq!(smb.page_hint(0), PageWord::partitioned(layout));
    }
}

#[test]
fn pages_and_chunks_that_are_not_there() {
    let smb = smb(2, 4096);
    let mut reader = reader(&smb);
    let mut payload = Vec::new();
    for (page, chunk) in [(0, 0), (2, 0), (usize::MAX, 0), (0, 14), (0, usize::MAX)] {
        assert!(reader.read_chunk(page, chunk, &mut payload).is_none());
        assert!(reader.scrape_chunk(page, chunk, &mut payload).is_none());
        assert!(smb.try_acquire(page, chunk, header(1, 1)).is_none());
    }
    assert!(!smb.try_partition(2, Layout::Div1));
    assert_eq!(smb.chunk_count(usize::MAX), 0);
    assert!(payload.is_empty());
}

/// Whatever a peer does to the page word between our steps, they fail softly and touch no state that is
/// not ours.
#[test]
fn hostile_page_words() {
    for evil in
        [0, u32::MAX, 0x7000_0000, 0x3000_0000, 0x1000_0002, 0x5fff_ffff, 0x2000_0001, 0x2000_0003]
    {
        let smb = smb(1, 4096);
        smb.try_partition(0, Layout::Div1);
        let chunk = smb.try_acquire(0, 0, header(1, 1)).unwrap();
        poke(&smb, 0, evil);
        assert!(!chunk.complete(), "{evil:#x}");
        assert_eq!(word(&smb, 0), evil);

        poke(&smb, 0, 0x1000_0003);
        let reader = reader(&smb);
        let chunk = reader.try_read(0, 0).unwrap();
        poke(&smb, 0, evil);
        let mut payload = Vec::new();
        chunk.copy_payload(&mut Present::new(smb.region()), &mut payload);
        assert_eq!(payload.len(), 4080, "from the snapshot at which it was taken");
        drop(chunk);
        // 0x10000002 is the one word that says that chunk 0 is being read.
        let expected = if evil == 0x1000_0002 { 0 } else { evil };
        assert_eq!(word(&smb, 0), expected, "{evil:#x}");
    }
}

#[test]
fn counts_do_not_spill_into_flags() {
    let packets = Packets::new(1024, ChunkFlags(0xff));
    assert_eq!((packets.count(), packets.flags()), (0, ChunkFlags(7)));
    let packets = Packets(0xffff);
    assert_eq!((packets.count(), packets.flags()), (1023, ChunkFlags(7)));
    assert_eq!(Packets::new(1, ChunkFlags(6)).0.to_le_bytes(), [0x01, 0x18]);
}

#[test]
fn header_by_value() {
    let header = ChunkHeader {
        chunk: ChunkId::new(0x0403_0201),
        writer: WriterId::new(0x0605),
        packets: Packets(0x0807),
    };
    assert_eq!(header.to_bytes(), [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(ChunkHeader::from_bytes(&[1, 2, 3, 4, 5, 6, 7, 8, 9]), Some(header));
    assert_eq!(ChunkHeader::from_bytes(&[1, 2, 3, 4, 5, 6, 7]), None);
}

/// A chunk being written shows its finished fragments, and zeros where the writer may be storing.
#[test]
fn scrape_sees_finished_fragments_only() {
    let smb = smb(1, 4096);
    smb.try_partition(0, Layout::Div4);
    let mut chunk = smb.try_acquire(0, 0, header(3, 0)).unwrap();
    let mut payload = Vec::new();
    write(&mut chunk, 0, &[3, 0xaa, 0xbb, 0xcc, 0x82, 0x80, 0x80, 0x00, 0xdd, 0xee, 0x55, 0x66]);
    let mut reader = reader(&smb);
    let mut scrape = |payload: &mut Vec<u8>| {
        payload.clear();
        reader.scrape_chunk(0, 0, payload).unwrap()
    };
    for (count, visible) in [(0, 0), (1, 0), (2, 4), (3, 10)] {
        while chunk.packets().count() < count {
            start_fragment(&mut chunk);
        }
        let (header, complete) = scrape(&mut payload);
        assert_eq!((header.packets.count(), complete), (count, false));
        assert_eq!(payload.len(), 1012);
        assert_eq!(payload.iter().rposition(|&byte| byte != 0).map_or(0, |at| at + 1), visible);
    }
    write(&mut chunk, 10, &[1, 0x66]);
    chunk.complete();
    let (_, complete) = scrape(&mut payload);
    assert!(complete);
    assert_eq!(payload[..12], [3, 0xaa, 0xbb, 0xcc, 0x82, 0x80, 0x80, 0, 0xdd, 0xee, 1, 0x66]);
    assert_eq!(word(&smb, 0) & 3, 3, "a scrape changes no state");
}

#[test]
fn scrape_survives_any_lengths() {
    let smb = smb(1, 4096);
    smb.try_partition(0, Layout::Div1);
    let mut chunk = smb.try_acquire(0, 0, header(3, 0)).unwrap();
    for fill in if cfg!(miri) { vec![0xff] } else { vec![0x00, 0x7f, 0x80, 0xff] } {
        assert!(write(&mut chunk, 0, &vec![fill; 4080]));
        while chunk.packets().count() < 1023 {
            start_fragment(&mut chunk);
        }
        let mut payload = Vec::new();
        reader(&smb).scrape_chunk(0, 0, &mut payload).unwrap();
        assert_eq!(payload.len(), 4080);
    }
}

#[test]
fn scrape_skips_chunks_without_a_header() {
    let smb = smb(1, 4096);
    poke(&smb, 0, 0x1000_0001);
    assert!(reader(&smb).scrape_chunk(0, 0, &mut Vec::new()).is_none());
}

#[test]
fn nothing_is_outside_of_a_page_or_a_chunk() {
    let smb = smb(2, 4096);
    assert!(smb.page(1).is_some() && smb.page(2).is_none());
    let page = smb.page(0).unwrap();
    assert!(page.word(4092).is_some() && page.word(4096).is_none());
    let span = smb.region().span(8, 8).unwrap();
    assert!(span.word(4).is_some() && span.word(8).is_none());
    assert!(span.at(8).is_some() && span.at(9).is_none());
}

#[test]
fn shmem_emulation() {
    let smb = smb(1, 4096);
    smb.try_partition(0, Layout::Div1);
    let mut chunk = smb.try_acquire(0, 0, header(2, 1)).unwrap();
    start_fragment(&mut chunk);
    write(&mut chunk, 0, &[1, 0x42]);
    let mut data = Vec::new();
    reader(&smb).take_by_value(chunk, &mut data);
    assert_eq!(data.len(), 4088);
    assert_eq!(data[..10], [1, 0, 0, 0, 2, 0, 1, 0, 1, 0x42]);
    assert_eq!(smb.page_hint(0), PageWord::FREE);
}

#[test]
fn copies_of_any_alignment() {
    let region = Region::heap(4096);
    let bytes: Vec<u8> = (0..=255).collect();
    assert!(store(&region, 0, &bytes));
    let lens: Vec<usize> = if cfg!(miri) { vec![0, 1, 7, 8, 9, 23] } else { (0..40).collect() };
    for off in 0..20 {
        for &len in &lens {
            let mut out = vec![0xff];
            assert!(copy_out(&region, off, len, &mut out));
            assert_eq!(out[1..], bytes[off..off + len]);
        }
    }
    let mut out = Vec::new();
    assert!(!copy_out(&region, 4096, 1, &mut out));
    assert!(!copy_out(&region, usize::MAX, 2, &mut out));
    assert!(!store(&region, 4095, &[1, 2]));
    assert!(copy_out(&region, 4096, 0, &mut out));
    assert!(region.word(2).is_none() && region.word(4096).is_none());
    assert!(region.span(2, 4).is_none() && region.span(4, 4).is_some());
}

#[test]
fn moving_forward_by_three() {
    let smb = smb(1, 4096);
    smb.try_partition(0, Layout::Div14);
    let mut chunk = smb.try_acquire(0, 0, header(1, 0)).unwrap();
    let len_max = chunk.payload_len();
    let source: Vec<u8> = (0..len_max).map(|i| i as u8).collect();
    for len in [0, 1, 2, 3, 4, 15, 127, 200] {
        for off in [0, 1, 17, len_max - 3 - len] {
            assert!(write(&mut chunk, 0, &source));
            assert!(chunk.move_forward_3(off, len));
            let mut out = Vec::new();
            copy_out(smb.region(), 16, len_max, &mut out);
            let (to, end) = (off + 3, off + 3 + len);
            assert_eq!(out[to..end], source[off..off + len], "{len} at {off}");
            assert_eq!(out[..off], source[..off], "nothing before it changes");
            assert_eq!(out[end..], source[end..], "nor behind it");
        }
    }
    for (off, len) in [(len_max - 3, 1), (len_max, 0), (usize::MAX, 1), (4, usize::MAX)] {
        assert!(!chunk.move_forward_3(off, len), "{len} at {off}");
    }
    let mut beyond = Vec::new();
    copy_out(smb.region(), 16 + len_max, 16, &mut beyond);
    assert_eq!(beyond, [0; 16], "the next chunk is untouched");
}

/// True if the chunk is full.
fn fragment(chunk: &mut WritableChunk, bytes: &[u8]) -> bool {
    let body = chunk.begin_fragment(12).unwrap();
    assert!(bytes.len() <= body.len());
    assert!(write(chunk, body.start, bytes));
    chunk.end_fragment(body.start + bytes.len()).unwrap()
}

/// A length of one byte up to 126 bytes, one of four for more, and the bytes behind it.
#[test]
fn a_length_takes_one_byte_or_four() {
    for len in [0, 1, 126, 127, 128, 200] {
        let smb = smb(1, 4096);
        smb.try_partition(0, Layout::Div14);
        let mut chunk = smb.try_acquire(0, 0, header(1, 0)).unwrap();
        let bytes: Vec<u8> = (0..len).collect();
        assert!(!fragment(&mut chunk, &bytes));
        assert!(!fragment(&mut chunk, b"next"));
        assert!(chunk.complete());
        let mut payload = Vec::new();
        reader(&smb).read_chunk(0, 0, &mut payload).unwrap();
        let head = if len < 127 { vec![len] } else { vec![len | 0x80, 0x80 | len >> 7, 0x80, 0] };
        let expected = [&head, &bytes, &b"\x04next\0"[..]].concat();
        assert_eq!(payload[..expected.len()], expected, "{len}");
    }
}

/// A finished fragment may be read by a scrape at any moment, so nothing writes to it again.
#[test]
fn patches_reach_only_the_fragment_that_was_cut() {
    let smb = smb(1, 4096);
    smb.try_partition(0, Layout::Div14);
    let mut chunk = smb.try_acquire(0, 0, header(1, 0)).unwrap();
    assert_eq!(chunk.end_fragment(8), None, "none is open");
    assert!(!fragment(&mut chunk, &[0xaa; 20]));
    let body = chunk.begin_fragment(12).unwrap().start;
    assert_eq!(chunk.begin_fragment(12), None, "one is open");
    assert_eq!(chunk.end_fragment(body - 1), None, "a message that failed has no end");
    assert!(!chunk.patch(body, [1; 4]), "not cut yet");
    chunk.cut_fragment(body + 8, true);
    assert_eq!(chunk.begin_fragment(12), None, "it was the last one");
    for off in [0, 20, 21, 24, chunk.payload_len() - 3, usize::MAX] {
        assert!(!chunk.patch(off, [1; 4]), "{off}");
    }
    assert!(chunk.patch(25, [1; 4]));
    assert_eq!((chunk.packets().count(), chunk.packets().flags()), (2, ChunkFlags(6)));
    assert!(chunk.complete());
    let mut payload = Vec::new();
    reader(&smb).read_chunk(0, 0, &mut payload).unwrap();
    assert_eq!(payload[..21], [&[20][..], &[0xaa; 20]].concat());
    assert_eq!(payload[21..29], [0x88, 0x80, 0x80, 0, 1, 1, 1, 1]);
}

#[test]
fn the_count_has_room_for_the_reserved_fragment() {
    let smb = smb(1, 4096);
    smb.try_partition(0, Layout::Div1);
    let mut chunk = smb.try_acquire(0, 0, header(1, 0)).unwrap();
    let mut begun = 0;
    while let Some(body) = chunk.begin_fragment(12) {
        assert_eq!(chunk.end_fragment(body.start), Some(false));
        begun += 1;
    }
    assert_eq!((begun, chunk.packets().count()), (1022, 1023));
    // The reserved fragment becomes an empty one, over stale bytes.
    assert!(write(&mut chunk, 1022, &[0x55; 8]));
    assert!(chunk.complete());
    let mut payload = Vec::new();
    reader(&smb).read_chunk(0, 0, &mut payload).unwrap();
    assert_eq!(payload[..1024], [[0; 1023].as_slice(), &[0x55]].concat());
}

/// Begins and ends a fragment of `len` bytes.
fn short(chunk: &mut WritableChunk, len: usize) -> bool {
    let Some(mut fragment) = chunk.begin_short(1 + len) else { return false };
    (0..len).for_each(|_| fragment.append([7], 1));
    fragment.end();
    true
}

#[test]
fn a_short_fragment_follows_another_and_leaves_room_for_one() {
    let smb = smb(1, 4096);
    smb.try_partition(0, Layout::Div14);
    let mut chunk = smb.try_acquire(0, 0, header(1, 0)).unwrap();
    assert!(!short(&mut chunk, 0), "none is reserved");
    let len = chunk.payload_len();
    assert!(!fragment(&mut chunk, &vec![7; len - 108]));
    assert!(short(&mut chunk, 89));
    assert!(!short(&mut chunk, 9), "no fragment could be reserved behind it");
    assert!(short(&mut chunk, 8));
    assert!(!short(&mut chunk, 0));
    assert_eq!(chunk.packets().count(), 4);
    assert!(chunk.complete());
    let mut payload = Vec::new();
    reader(&smb).read_chunk(0, 0, &mut payload).unwrap();
    assert_eq!(payload[len - 15..], [7, 8, 7, 7, 7, 7, 7, 7, 7, 7, 0, 0, 0, 0, 0]);
}

#[test]
fn a_short_fragment_stores_nothing_behind_its_bytes() {
    let smb = smb(1, 4096);
    smb.try_partition(0, Layout::Div14);
    let mut chunk = smb.try_acquire(0, 0, header(1, 0)).unwrap();
    assert!(!fragment(&mut chunk, &[]));
    assert!(write(&mut chunk, 1, &[0x55; 80]));
    let mut short = chunk.begin_short(5).unwrap();
    short.append_slice(&[1, 2]);
    short.append_slice(&[3; 40]);
    short.append([4; 8], 0);
    short.replace(60, 5);
    assert!(chunk.complete());
    let mut payload = Vec::new();
    reader(&smb).read_chunk(0, 0, &mut payload).unwrap();
    // The first byte is the length of the fragment that never was.
    assert_eq!(payload[1..81], [[0, 1, 2].as_slice(), &[0x55; 77]].concat());
}

#[test]
fn a_word_and_the_piece_behind_it_are_inside_and_apart() {
    let smb = smb(1, 4096);
    let mut span = smb.region().span(0, 64).unwrap();
    assert!(span.word_and_piece(4, 8, 56).is_some());
    assert!(span.word_and_piece(4, 64, 0).is_some());
    for (word, piece, len) in [(4, 7, 1), (4, 8, 57), (4, 65, 0), (6, 12, 1), (60, 64, 1)] {
        assert!(span.word_and_piece(word, piece, len).is_none(), "{word} {piece} {len}");
    }
}

#[test]
fn short_fragments_are_counted() {
    let smb = smb(1, 4096);
    smb.try_partition(0, Layout::Div1);
    let mut chunk = smb.try_acquire(0, 0, header(1, 0)).unwrap();
    assert!(!fragment(&mut chunk, &[]));
    let begun = (0..).take_while(|_| short(&mut chunk, 0)).count();
    assert_eq!((begun, chunk.packets().count()), (1021, 1023));
    assert!(chunk.begin_fragment(12).is_none());
}

#[test]
fn a_fragment_that_fills_its_chunk_is_the_last() {
    let smb = smb(1, 4096);
    smb.try_partition(0, Layout::Div14);
    let mut chunk = smb.try_acquire(0, 0, header(1, 0)).unwrap();
    assert_eq!(chunk.begin_fragment(chunk.payload_len() + 1), None);
    let len = chunk.payload_len();
    assert!(fragment(&mut chunk, &vec![7; len - 4]));
    assert_eq!(chunk.begin_fragment(4), None);
    assert_eq!(chunk.packets().count(), 1);
}

/// A chunk whose writer is gone, and the last fragment of it.
#[test]
fn a_leftover_tells_whether_its_last_fragment_was_begun() {
    let leftover = |fill: &dyn Fn(&mut WritableChunk)| {
        let smb = smb(1, 4096);
        smb.try_partition(0, Layout::Div1);
        // As after an earlier use.
        let mut chunk = smb.try_acquire(0, 0, header(3, 0)).unwrap();
        write(&mut chunk, 0, &[0x77; 4080]);
        chunk.complete();
        reader(&smb).read_chunk(0, 0, &mut Vec::new()).unwrap();
        smb.try_partition(0, Layout::Div1);
        let mut chunk = smb.try_acquire(0, 0, header(3, 1)).unwrap();
        fill(&mut chunk);
        let mut reader = reader(&smb);
        let shared = reader.scrape_leftover(0, 0, &mut Vec::new()).unwrap();
        drop((chunk, smb));
        let left = reader.scrape_leftover(0, 0, &mut Vec::new()).unwrap();
        let is_continued = left.header.packets.flags().contains(ChunkFlags::CONTINUES_FROM_PREV);
        assert_eq!(shared.begun, is_continued, "the bytes may be changing");
        (left.header.packets.count(), left.finished, left.begun)
    };
    let begin = |chunk: &mut WritableChunk| chunk.begin_fragment(16).unwrap();
    let packet = |chunk: &mut WritableChunk, bytes: &[u8]| {
        let body = begin(chunk);
        write(chunk, body.start, bytes);
        chunk.end_fragment(body.start + bytes.len()).unwrap()
    };
    let nothing = leftover(&|_| {});
    assert_eq!(nothing, (0, 0, false));
    let ended = leftover(&|chunk| {
        packet(chunk, &[8, 1]);
    });
    assert_eq!(ended, (2, 3, false));
    let short = leftover(&|chunk| {
        packet(chunk, &[8, 1]);
        let mut short = chunk.begin_short(64).unwrap();
        short.append([8, 1, 0x77, 0x77, 0x77, 0x77], 2);
        short.end();
    });
    assert_eq!(short, (3, 6, false));
    let open = leftover(&|chunk| {
        packet(chunk, &[8, 1]);
        let body = begin(chunk);
        write(chunk, body.start, &[8]);
    });
    assert_eq!(open, (2, 3, true));
    let full = leftover(&|chunk| {
        packet(chunk, &vec![8; 4080 - 4 - 4]);
    });
    assert_eq!(full, (2, 4076, false), "no packet begins in so few bytes");

    // Upstream: lengths of four bytes, and nothing is reserved.
    for (bytes, begun) in [
        (&[0x82, 0x80, 0x80, 0, 8, 1][..], true),
        (&[0, 0, 0, 0, 8, 1], true),
        (&[0, 0, 0, 0, 0, 0], false),
    ] {
        let upstream = leftover(&|chunk| {
            write(chunk, 0, bytes);
            start_fragment(chunk);
        });
        assert_eq!(upstream, (1, 0, begun));
    }
    let continued = leftover(&|chunk| {
        write(chunk, 0, &[0; 5]);
        chunk.add_flags(ChunkFlags::CONTINUES_FROM_PREV);
        start_fragment(chunk);
    });
    assert_eq!(continued, (1, 0, true), "the packet began in another chunk");
}
