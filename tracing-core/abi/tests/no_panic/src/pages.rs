//! Pages and chunks of any size, page words and headers of any value.

use core::cell::Cell;
use core::hint::black_box;

use crate::any;
use crate::ids::{BufferId, ChunkId, WriterId};
use crate::memory::{Memory, page_size};
use crate::shm::bounds;
use crate::shm::header::{ChunkFlags, ChunkHeader, ChunkState, Packets, PageWord};
use crate::shm::layout::Layout;
use crate::shm::lengths;
use crate::shm::page::{self, Grant};

fn layout() -> Option<Layout> {
    black_box(Layout::from_bits(any() as u32))
}

fn flags() -> ChunkFlags {
    black_box(ChunkFlags(any() as u8))
}

fn state() -> ChunkState {
    black_box(PageWord(any() as u32).state(any()))
}

pub fn header() -> ChunkHeader {
    black_box(ChunkHeader::from_words([any() as u32, any() as u32]))
}

/// Sizes and offsets of every layout, page size and index. (That a chunk lies in its page is a test over all of them.)
#[inline(never)]
pub fn arithmetic() -> Option<usize> {
    let (layout, page) = (layout()?, page_size());
    let off = layout.chunk_off(page, any())?;
    let bytes = layout.chunk_bytes(page);
    assert!(bytes <= 0xffff, "a size has 16 bits");
    assert!(layout.chunk_count() <= 14 && layout.bits() < 8);
    Some(page.whole_pages(any()) + off)
}

/// Words of a page.
#[inline(never)]
pub fn words() -> u32 {
    let word = black_box(PageWord(any() as u32));
    let cut = layout().map_or(PageWord::FREE, PageWord::partitioned);
    let next = black_box(word.with_state(any(), state()));
    let found = next.layout().map_or(0, Layout::bits);
    cut.0 ^ found ^ word.free_chunks() ^ u32::from(word.is_free()) ^ u32::from(word.is_complete())
}

/// Headers of chunks.
#[inline(never)]
pub fn headers(bytes: &[u8]) -> u32 {
    let header = black_box(ChunkHeader::from_bytes(bytes).unwrap_or(header()));
    let flags = flags().with(flags()).without(flags());
    let packets = black_box(Packets::new(header.packets.count(), flags));
    let known = packets.flags().contains(flags) || header.writer.is_none();
    let distance = header.chunk.next().distance(ChunkId::new(any() as u32));
    let ids = WriterId::new(any() as u16).get() ^ BufferId::new(any() as u16).get();
    let [low, high] = header.to_words();
    low ^ high
        ^ u32::from(header.to_bytes()[0])
        ^ distance as u32
        ^ u32::from(ids)
        ^ u32::from(known)
}

/// The states of a page whose words change at any time.
#[inline(never)]
pub fn states(memory: &Memory) -> Option<u32> {
    let grant = match black_box(0) {
        0 => page::try_acquire(memory, any(), header())?,
        1 => page::try_read(memory, any())?,
        _ => page::peek(memory, page::snapshot(memory), any())?.0,
    };
    let cut = layout().is_some_and(|layout| page::try_partition(memory, layout));
    let grant: Grant = black_box(grant);
    let writer = page::load_header(memory, grant).writer.get();
    page::note_loss(memory);
    let cut = cut ^ (page::losses_noted(memory) == 0);
    let done = page::complete(memory, grant) ^ page::free(memory, grant, state()) ^ cut;
    Some(page::hint(memory).0 ^ u32::from(writer) ^ u32::from(done) ^ grant.payload_len() as u32)
}

/// Copies of any length from anywhere.
#[inline(never)]
pub fn copies() -> usize {
    let (off, len) = (any(), any());
    let mut sum = 0;
    bounds::parts(off, len, |at, part| {
        assert!(at < len && part.bytes() <= len - at, "a part lies in its copy");
        sum ^= black_box(at);
    });
    sum
}

/// Lengths of fragments, which change at any time.
#[inline(never)]
pub fn scrape(memory: &Memory) -> usize {
    let len = any();
    let reads = Cell::new(0_usize);
    let end = lengths::fragments_end(any() as u16, len, |at| {
        assert!(at < len, "a byte lies in its payload");
        reads.set(reads.get().wrapping_add(1));
        memory.bytes().get(at).copied()
    });
    assert!(end <= len, "fragments end in their payload");
    end ^ reads.get()
}

/// Patches of the copy of a payload.
#[inline(never)]
pub fn patches(payload: &mut [u8]) -> bool {
    lengths::patch(payload, any() as u32, (any() as u32).to_le_bytes()).is_some()
}
