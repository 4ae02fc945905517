//! A region of loom's atomics and cells, because loom cannot watch mapped memory. It has the functions of
//! `tracing-core/abi/src/shm/region.rs`, so that all other files are the same over both.
//!
//! ```text
//!   page word, headers of chunks    an atomic each
//!   first bytes of a payload        a cell each: loom fails a model where one thread may store into it while another
//!                                   one uses it, so it checks R4 of the mapped region
//!   all other bytes                 zero; a model that stores into them fails
//! ```

use std::collections::BTreeMap;
use std::fmt;
use std::ptr::NonNull;

use loom::cell::UnsafeCell;

use crate::shm::layout::{CHUNK_HEADER_BYTES, Layout, PAGE_HEADER_BYTES, PageSize};
use crate::shm::rights::Rights;
use crate::shm::words::{Bytes, ChunkBytes};
use crate::sync::{Arc, AtomicU32, Ordering};

/// How many bytes of each payload exist: enough for the fragments of a model, and for the zeros behind them.
const PAYLOAD_BYTES: usize = 24;

struct Inner {
    len: usize,
    has_holes: bool,
    words: BTreeMap<usize, AtomicU32>,
    bytes: BTreeMap<usize, UnsafeCell<u8>>,
    rights: Rights,
}

#[derive(Clone)]
pub struct Region(Arc<Inner>);

impl Region {
    /// Memory of `pages` pages of the default size, that may be cut in these ways. With `has_holes`, as in mapped
    /// memory, a reader has to ask whether something was written there.
    pub fn new(pages: usize, layouts: &[Layout], has_holes: bool) -> Self {
        Self::with_words(pages, layouts, has_holes, 0)
    }

    /// The same, with what former chunks left: each word of a header of another layout was payload.
    pub fn used(pages: usize, layouts: &[Layout], word: u32) -> Self {
        Self::with_words(pages, layouts, false, word)
    }

    fn with_words(pages: usize, layouts: &[Layout], has_holes: bool, word: u32) -> Self {
        let size = PageSize::DEFAULT;
        let (mut words, mut bytes) = (BTreeMap::new(), BTreeMap::new());
        for start in (0..pages).map(|page| page * size.bytes()) {
            words.entry(start).or_insert_with(|| AtomicU32::new(0));
            words.entry(start + 4).or_insert_with(|| AtomicU32::new(0));
            let offs = layouts.iter().flat_map(|&layout| {
                (0..layout.chunk_count()).filter_map(move |idx| layout.chunk_off(size, idx))
            });
            for off in offs {
                // The first header has the same place in all layouts.
                let left = if off == PAGE_HEADER_BYTES { 0 } else { word };
                words.entry(start + off).or_insert_with(|| AtomicU32::new(left));
                words.entry(start + off + 4).or_insert_with(|| AtomicU32::new(left));
                let payload = start + off + CHUNK_HEADER_BYTES;
                for at in payload..payload + PAYLOAD_BYTES {
                    bytes.entry(at).or_insert_with(|| UnsafeCell::new(0));
                }
            }
        }
        let (len, rights) = (pages * size.bytes(), Rights::default());
        Self(Arc::new(Inner { len, has_holes, words, bytes, rights }))
    }

    pub(super) fn rights(&self) -> &Rights {
        &self.0.rights
    }

    pub(super) fn len(&self) -> usize {
        self.0.len
    }

    pub(super) fn is_alone(&mut self) -> bool {
        Arc::get_mut(&mut self.0).is_some()
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub(super) fn has_holes(&self) -> bool {
        self.0.has_holes
    }

    /// A system call orders nothing. Bytes of a payload are left out: the first word of a page is not zero before they
    /// are stored.
    pub(super) fn is_written(&self, off: usize, len: usize) -> bool {
        let mut words = self.0.words.range(off..off + len);
        words.any(|(_, word)| word.load(Ordering::Relaxed) != 0)
    }

    pub(super) fn copy_untouched(&self, _off: usize, _len: usize) -> Option<Self> {
        None
    }

    /// # Panics
    /// If there is no such word: the model uses a layout that it did not name.
    pub(crate) fn word(&self, off: usize) -> Option<&AtomicU32> {
        let word = self.0.words.get(&off);
        Some(word.unwrap_or_else(|| panic!("byte {off} is no word of this model")))
    }

    pub(crate) fn byte(&self, off: usize) -> Option<u8> {
        (off < self.0.len).then(|| self.0.bytes.get(&off).map_or(0, load))
    }

    pub(super) fn copy_to(&self, off: usize, len: usize, out: &mut Vec<u8>) -> bool {
        if off + len > self.0.len {
            return false;
        }
        let old = out.len();
        out.resize(old + len, 0);
        for (at, byte) in self.0.bytes.range(off..off + len) {
            out[old + at - off] = load(byte);
        }
        true
    }

    /// # Panics
    /// If there is no such byte.
    fn store(&self, off: usize, bytes: &[u8]) {
        for (at, byte) in (off..).zip(bytes) {
            let cell = self.0.bytes.get(&at);
            let cell = cell.unwrap_or_else(|| panic!("byte {at} is in no payload of this model"));
            // SAFETY: loom fails the model if another thread may use the cell meanwhile.
            cell.with_mut(|cell| unsafe { *cell = *byte });
        }
    }

    pub(super) fn span(&self, off: usize, len: usize) -> Option<Span> {
        (off + len <= self.0.len).then(|| Span { off, len, region: self.clone() })
    }
}

fn load(cell: &UnsafeCell<u8>) -> u8 {
    // SAFETY: loom fails the model if another thread may store into the cell meanwhile.
    cell.with(|cell| unsafe { *cell })
}

/// The bytes of a chunk being written.
pub(super) struct Span {
    off: usize,
    len: usize,
    region: Region,
}

impl Span {
    /// Models write by `WritableChunk::write`, which loom can watch, and never through a pointer.
    pub(super) fn at(&self, _off: usize) -> Option<NonNull<u8>> {
        None
    }

    fn piece(&self, off: usize, len: usize) -> Piece<'_> {
        Piece { off: self.off + off, len, region: &self.region }
    }
}

impl Bytes for Span {
    fn store(&mut self, off: usize, bytes: &[u8]) -> bool {
        self.piece(0, self.len).store(off, bytes)
    }
}

impl ChunkBytes for Span {
    type Piece<'a> = Piece<'a>;

    fn word(&self, off: usize) -> Option<&AtomicU32> {
        self.region.word(self.off + off)
    }

    fn word_and_piece(
        &mut self,
        off: usize,
        piece_off: usize,
        len: usize,
    ) -> Option<(&AtomicU32, Piece<'_>)> {
        if piece_off + len > self.len {
            return None;
        }
        Some((self.word(off)?, self.piece(piece_off, len)))
    }

    fn move_forward_3(&mut self, off: usize, len: usize) -> bool {
        let mut bytes = Vec::new();
        off + len + 3 <= self.len
            && self.region.copy_to(self.off + off, len, &mut bytes)
            && self.store(off + 3, &bytes)
    }
}

/// Some bytes of a span.
pub(super) struct Piece<'s> {
    off: usize,
    len: usize,
    region: &'s Region,
}

impl Bytes for Piece<'_> {
    fn store(&mut self, off: usize, bytes: &[u8]) -> bool {
        let fits = off + bytes.len() <= self.len;
        if fits {
            self.region.store(self.off + off, bytes);
        }
        fits
    }
}

impl fmt::Debug for Piece<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Piece({} bytes)", self.len)
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Span({} bytes)", self.len)
    }
}

impl fmt::Debug for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Region(of loom, {} bytes)", self.0.len)
    }
}
