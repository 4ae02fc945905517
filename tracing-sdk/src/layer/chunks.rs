//! Values that stay in memory until the program ends, found by their numbers without a lock.
//!
//! Each chunk is twice as large as the one before it, so that there are few:
//!
//! ```text
//!   0 .. 63 | 64 .. 191 | 192 .. 447 | ...
//! ```

use core::ops::Range;
use std::sync::OnceLock;

/// How many values the first chunk has.
const FIRST: usize = 64;
/// All chunks together have numbers for 67 million values.
const CHUNKS: usize = 20;

/// See the [module](self).
pub(super) struct Chunks<T> {
    chunks: [OnceLock<Box<[T]>>; CHUNKS],
}

impl<T> Chunks<T> {
    pub(super) const fn new() -> Self {
        Self { chunks: [const { OnceLock::new() }; CHUNKS] }
    }

    #[inline]
    pub(super) fn get(&self, number: u32) -> Option<&T> {
        let at = number as usize + FIRST;
        let chunk = (at.ilog2() - FIRST.ilog2()) as usize;
        self.chunks.get(chunk)?.get()?.get(at - (FIRST << chunk))
    }

    /// Adds a chunk of values that `make` makes of their numbers, and returns these numbers; none are returned when
    /// there are too many. The caller holds a lock, so that no other thread does the same.
    pub(super) fn grow(&self, make: impl Fn(u32) -> T) -> Range<u32> {
        let Some(chunk) = self.chunks.iter().position(|chunk| chunk.get().is_none()) else {
            return 0..0;
        };
        let len = (FIRST << chunk) as u32;
        let numbers = len - FIRST as u32..2 * len - FIRST as u32;
        if let Some(place) = self.chunks.get(chunk) {
            place.get_or_init(|| numbers.clone().map(make).collect());
        }
        numbers
    }

    /// All values.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.chunks.iter().map_while(OnceLock::get).flat_map(|chunk| chunk.iter())
    }
}
