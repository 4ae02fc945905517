//! Pages and chunks as the protocol sees them: atomic words, and bytes that their writer stores.

use crate::shm::layout::PageSize;
use crate::sync::AtomicU32;

/// The atomic words of one page.
///
/// There are two implementations: a page of a [`Region`](super::Region), and the words of loom's models, which
/// cannot map memory. The state machine in [`page`](super::page) is the same code over both.
pub trait PageWords {
    /// Size of the page.
    fn page_size(&self) -> PageSize;

    /// The word at byte `off` (a multiple of 4) of the page; `None` outside it.
    fn word(&self, off: usize) -> Option<&AtomicU32>;
}

/// Bytes that one owner stores.
pub trait Bytes {
    /// Stores `bytes` at `off`. False, and nothing stored, if they do not fit.
    fn store(&mut self, off: usize, bytes: &[u8]) -> bool;
}

/// The bytes of a chunk being written, header included, by its writer. As for pages, [`fragment`](super::fragment) is
/// the same code over mapped memory and over that of models.
pub trait ChunkBytes: Bytes {
    /// Some of them, borrowed.
    type Piece<'a>: Bytes
    where
        Self: 'a;

    /// The atomic word at `off`; `None` outside, or if `off` is no multiple of 4.
    fn word(&self, off: usize) -> Option<&AtomicU32>;

    /// The atomic word at `off`, and the `len` bytes at `piece_off`. `None` unless all are inside, the word as in
    /// [`word`](Self::word), and the bytes behind it.
    fn word_and_piece(
        &mut self,
        off: usize,
        piece_off: usize,
        len: usize,
    ) -> Option<(&AtomicU32, Self::Piece<'_>)>;

    /// Moves the `len` bytes at `off` towards the end by three, when a length of one byte grows to four. False, and
    /// nothing moved, if they do not fit there.
    fn move_forward_3(&mut self, off: usize, len: usize) -> bool;
}
