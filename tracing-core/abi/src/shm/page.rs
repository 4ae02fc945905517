//! The state machine of a page: partition, acquire, complete, read, free.
//!
//! Every function takes one snapshot of the page word, decides on it, and installs the outcome with
//! a compare-and-swap. If the word changed meanwhile it starts over, at most [`TRIES`] times: another
//! writer changes the word only when it makes progress, but a hostile peer can change it at will. After
//! the last try an acquire finds nothing, and a release leaks the chunk. Upstream sleeps in the second
//! half of its tries while it holds the arbiter's lock; this code only yields.
//!
//! Orderings: the transition that gives a chunk away releases its bytes, and the one that takes it
//! acquires them. In between the `packets` half of the header is stored with release, so that a service
//! that scrapes a chunk being written sees the bytes of all fragments that the count covers.

use crate::shm::header::{ChunkFlags, ChunkHeader, ChunkState, Packets, PageWord};
use crate::shm::layout::{CHUNK_HEADER_BYTES, Layout};
use crate::shm::words::PageWords;
use crate::sync::{AtomicU32, Ordering, yield_now};

/// Attempts of one transition (`kRetryAttempts`, `shared_memory_abi.cc`).
const TRIES: u32 = if cfg!(loom) { 4 } else { 64 };

/// Where a chunk is: geometry from the snapshot with which it was taken, never read again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grant {
    /// How the page was cut.
    pub layout: Layout,
    /// Which chunk of the page.
    pub idx: usize,
    /// Byte offset of its header in the page.
    pub off: usize,
    /// Its size, bytes, header included.
    pub bytes: usize,
}

impl Grant {
    /// Bytes of its payload.
    #[inline]
    pub const fn payload_len(self) -> usize {
        self.bytes.saturating_sub(CHUNK_HEADER_BYTES)
    }

    fn new(words: &impl PageWords, layout: Layout, idx: usize) -> Option<Self> {
        let page = words.page_size();
        let off = layout.chunk_off(page, idx)?;
        Some(Self { layout, idx, off, bytes: layout.chunk_bytes(page) })
    }
}

/// The page word, with acquire: where a scrape starts.
#[inline]
pub fn snapshot(words: &impl PageWords) -> PageWord {
    words.word(0).map_or(PageWord::FREE, |word| PageWord(word.load(Ordering::Acquire)))
}

/// The page word, relaxed: a hint where to try.
#[inline]
pub fn hint(words: &impl PageWords) -> PageWord {
    words.word(0).map_or(PageWord::FREE, |word| PageWord(word.load(Ordering::Relaxed)))
}

/// Cuts a free page into chunks. False if it is not free any more.
///
/// Where a header will be, a chunk of another layout had its payload. A scrape that found that in a chunk just
/// acquired would take it for a header, so it is cleared before any chunk can be acquired. The header of the first
/// chunk has the same place in all layouts, and is zero in a free page.
pub fn try_partition(words: &impl PageWords, layout: Layout) -> bool {
    let Some(word) = words.word(0) else { return false };
    let claim = |next: PageWord| {
        word.compare_exchange(0, next.0, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    };
    let (cut, others) = (PageWord::partitioned(layout), 1..layout.chunk_count());
    if others.is_empty() {
        return claim(cut);
    }
    if !claim(PageWord::claimed()) {
        return false;
    }
    for grant in others.filter_map(|idx| Grant::new(words, layout, idx)) {
        clear_header(words, grant);
    }
    word.store(cut.0, Ordering::Release);
    true
}

/// Takes free chunk `idx` for writing and stores its header.
///
/// `None` if the page has no such chunk or it is not free.
pub fn try_acquire(words: &impl PageWords, idx: usize, header: ChunkHeader) -> Option<Grant> {
    let grant = transition(words, idx, None, ChunkState::Free, ChunkState::BeingWritten)?;
    let [low, high] = header.to_words();
    // Until these stores the header is zero, because a partition and a free clear it first, and a scrape skips the
    // chunk. The half with writer and count comes last, with release.
    chunk_word(words, grant, 0)?.store(low, Ordering::Relaxed);
    chunk_word(words, grant, 4)?.store(high, Ordering::Release);
    Some(grant)
}

/// Hands a chunk being written to the service. False if the page says that it was not being written: a
/// peer tampered with the page, and the chunk is lost.
#[must_use]
pub fn complete(words: &impl PageWords, grant: Grant) -> bool {
    let Grant { layout, idx, .. } = grant;
    transition(words, idx, Some(layout), ChunkState::BeingWritten, ChunkState::Complete).is_some()
}

/// Takes complete chunk `idx` for reading. `None` if there is no such chunk or it is in another
/// state.
pub fn try_read(words: &impl PageWords, idx: usize) -> Option<Grant> {
    transition(words, idx, None, ChunkState::Complete, ChunkState::BeingRead)
}

/// Gives a chunk back: `from` is [`ChunkState::BeingRead`] for the service, [`ChunkState::Complete`]
/// for a producer that copied the chunk because its memory is not shared with the service.
///
/// False if the page says otherwise; its state is then left as it is.
#[must_use]
pub fn free(words: &impl PageWords, grant: Grant, from: ChunkState) -> bool {
    // Before the state changes, so that a scrape never sees parts of this header and of the next owner's.
    clear_header(words, grant);
    transition(words, grant.idx, Some(grant.layout), from, ChunkState::Free).is_some()
}

/// The word behind the page word: on the first page, how often packets began to be lost.
fn losses(words: &impl PageWords) -> Option<&AtomicU32> {
    words.word(4)
}

/// Counts that packets begin to be lost.
pub fn note_loss(words: &impl PageWords) {
    if let Some(word) = losses(words) {
        // A process that is killed tells nothing else, so no other memory depends on the order.
        word.fetch_add(1, Ordering::Relaxed);
    }
}

/// How often that was.
pub fn losses_noted(words: &impl PageWords) -> u32 {
    losses(words).map_or(0, |word| word.load(Ordering::Relaxed))
}

/// The header of a chunk, with acquire on its second half: bytes of the fragments it counts are
/// visible after it.
pub fn load_header(words: &impl PageWords, grant: Grant) -> ChunkHeader {
    let high = chunk_word(words, grant, 4).map_or(0, |word| word.load(Ordering::Acquire));
    let low = chunk_word(words, grant, 0).map_or(0, |word| word.load(Ordering::Relaxed));
    ChunkHeader::from_words([low, high])
}

/// The header of a chunk being written, as its writer stored it last. The writer never reads it back from
/// memory, where a peer could have changed it.
///
/// Each change is one store into the second word of the header, which the caller finds, in a mapped chunk
/// or in a model.
#[derive(Debug)]
pub struct PublishedHeader(ChunkHeader);

impl PublishedHeader {
    /// What [`try_acquire`] stored.
    #[inline]
    pub const fn new(header: ChunkHeader) -> Self {
        Self(header)
    }

    /// The header as it is now.
    #[inline(always)]
    pub const fn get(&self) -> ChunkHeader {
        self.0
    }

    /// One fragment more has begun. Everything before it is published.
    #[inline(always)]
    pub fn start_fragment(&mut self, word: Option<&AtomicU32>) {
        let Packets(old) = self.0.packets;
        debug_assert!(Packets(old).count() < Packets::COUNT_MAX, "the writer caps its fragments");
        // The flags are above the count, which has not reached its end.
        self.store(word, Packets(old.wrapping_add(1)));
    }

    /// Sets `flags` on top of those there are.
    #[inline]
    pub fn add_flags(&mut self, word: Option<&AtomicU32>, flags: ChunkFlags) {
        let packets = self.0.packets;
        self.store(word, Packets::new(packets.count(), packets.flags().with(flags)));
    }

    /// Takes `flags` back.
    #[inline]
    pub fn remove_flags(&mut self, word: Option<&AtomicU32>, flags: ChunkFlags) {
        let packets = self.0.packets;
        self.store(word, Packets::new(packets.count(), packets.flags().without(flags)));
    }

    #[inline(always)]
    fn store(&mut self, word: Option<&AtomicU32>, packets: Packets) {
        self.0.packets = packets;
        let [_, high] = self.0.to_words();
        if let Some(word) = word {
            // Release: a scraper that sees the count sees the fragments it covers. A store and no
            // read-modify-write: no other thread stores here, and the last value stored is known.
            word.store(high, Ordering::Release);
        }
    }
}

/// The chunk as `word` describes it, for a scrape, which does not own it.
pub fn peek(words: &impl PageWords, word: PageWord, idx: usize) -> Option<(Grant, ChunkState)> {
    let grant = Grant::new(words, word.layout()?, idx)?;
    Some((grant, word.state(idx)))
}

fn clear_header(words: &impl PageWords, grant: Grant) {
    if let Some(word) = chunk_word(words, grant, 0) {
        word.store(0, Ordering::Relaxed);
    }
    if let Some(word) = chunk_word(words, grant, 4) {
        word.store(0, Ordering::Release);
    }
}

fn chunk_word(words: &impl PageWords, grant: Grant, off: usize) -> Option<&AtomicU32> {
    words.word(grant.off.checked_add(off)?)
}

/// Moves chunk `idx` from one state to the next, if it is there, under `layout` if given.
fn transition(
    words: &impl PageWords,
    idx: usize,
    layout: Option<Layout>,
    from: ChunkState,
    to: ChunkState,
) -> Option<Grant> {
    let word = words.word(0)?;
    let load = match from {
        // This step depends on an earlier one of this thread only.
        ChunkState::BeingWritten | ChunkState::BeingRead => Ordering::Relaxed,
        ChunkState::Free | ChunkState::Complete => Ordering::Acquire,
    };
    let mut seen = word.load(load);
    for attempt in 0..TRIES {
        let now = PageWord(seen);
        let cut = now.layout()?;
        if layout.is_some_and(|layout| layout != cut) {
            return None;
        }
        let grant = Grant::new(words, cut, idx)?;
        if now.state(idx) != from {
            return None;
        }
        let next = now.with_state(idx, to);
        match word.compare_exchange_weak(seen, next.0, Ordering::AcqRel, load) {
            Ok(_) => return Some(grant),
            Err(other) => seen = other,
        }
        if attempt >= TRIES / 2 {
            yield_now();
        }
    }
    None
}
