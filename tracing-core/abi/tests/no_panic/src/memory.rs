//! Memory whose contents, length and pages the compiler does not know: it stands for a region and its chunks.

use core::hint::black_box;

use crate::any;
use crate::shm::bounds;
use crate::shm::layout::PageSize;
use crate::shm::words::{Bytes, ChunkBytes, PageWords};
use crate::sync::AtomicU32;

/// Words for the atomic side, bytes for the other.
pub struct Memory {
    words: [AtomicU32; 2],
    bytes: [u8; 64],
}

impl Memory {
    pub fn new() -> Self {
        Self { words: [const { AtomicU32::new(0) }; 2], bytes: [0; 64] }
    }

    /// Any bytes, as many as you like.
    #[inline(never)]
    pub fn bytes(&self) -> &[u8] {
        black_box(&self.bytes)
    }

    #[inline(never)]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        black_box(&mut self.bytes)
    }
}

/// Any legal page size.
pub fn page_size() -> PageSize {
    black_box(PageSize::new(any()).unwrap_or(PageSize::DEFAULT))
}

impl PageWords for Memory {
    #[inline(never)]
    fn page_size(&self) -> PageSize {
        page_size()
    }

    #[inline(never)]
    fn word(&self, off: usize) -> Option<&AtomicU32> {
        black_box(self.words.get(usize::from(bounds::contains_word(any(), off))))
    }
}

/// Bytes of a length that the compiler does not know.
pub struct Piece;

impl Bytes for Piece {
    #[inline(never)]
    fn store(&mut self, off: usize, bytes: &[u8]) -> bool {
        black_box(bytes);
        bounds::contains(any(), off, bytes.len())
    }
}

impl Bytes for &mut Memory {
    #[inline(never)]
    fn store(&mut self, off: usize, bytes: &[u8]) -> bool {
        Piece.store(off, bytes)
    }
}

impl ChunkBytes for &mut Memory {
    type Piece<'a>
        = Piece
    where
        Self: 'a;

    #[inline(never)]
    fn word(&self, off: usize) -> Option<&AtomicU32> {
        PageWords::word(&**self, off)
    }

    #[inline(never)]
    fn word_and_piece(
        &mut self,
        off: usize,
        piece_off: usize,
        len: usize,
    ) -> Option<(&AtomicU32, Piece)> {
        let is_inside = bounds::contains_word_and(any(), off, piece_off, len);
        Some((PageWords::word(&**self, off)?, Piece)).filter(|_| is_inside)
    }

    #[inline(never)]
    fn move_forward_3(&mut self, off: usize, len: usize) -> bool {
        bounds::contains_moved(any(), off, len, 3)
    }
}
