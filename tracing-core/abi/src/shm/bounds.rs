//! Which bytes an access touches: pure arithmetic, no memory. The unsafe code of [`region`](super::Region) asks it
//! before each access.
//!
//! `cargo xtask no-panic` proves that none of it overflows, for all numbers; tests compare it with sets of bytes.

/// Whether the `len` bytes at `off` lie in memory of `whole` bytes.
#[inline(always)]
pub const fn contains(whole: usize, off: usize, len: usize) -> bool {
    off <= whole && len <= whole - off
}

/// Whether a word of four bytes lies there, at a multiple of four.
#[inline(always)]
pub const fn contains_word(whole: usize, off: usize) -> bool {
    off & 3 == 0 && contains(whole, off, 4)
}

/// Whether the `len` bytes at `off` lie there, and `by` bytes more behind them.
#[inline(always)]
pub const fn contains_moved(whole: usize, off: usize, len: usize, by: usize) -> bool {
    contains(whole, off, len) && by <= whole - off - len
}

/// Whether a word lies at `off`, and the `len` bytes at `other_off` lie there and behind it.
#[inline(always)]
pub const fn contains_word_and(whole: usize, off: usize, other_off: usize, len: usize) -> bool {
    contains_word(whole, off) && other_off >= off + 4 && contains(whole, other_off, len)
}

/// Words of a [block](Part::Block).
pub const BLOCK_WORDS: usize = 8;

/// A part of a copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// One byte.
    Byte,
    /// Eight bytes, whose offset in the memory is a multiple of eight.
    Word,
    /// [`BLOCK_WORDS`] such words: a loop over few long parts copies faster than one over many words, because the
    /// processor then loads several cache lines at the same time. It need not begin at one.
    Block,
}

impl Part {
    /// How many bytes it has.
    #[inline(always)]
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::Byte => 1,
            Self::Word => 8,
            Self::Block => 8 * BLOCK_WORDS,
        }
    }
}

/// Calls `copy` with the parts of a copy of the `len` bytes at `off`, in order: single bytes until the source is
/// aligned to eight, then blocks, then words, then the rest. Positions count from `off`.
#[inline(always)]
pub fn parts(off: usize, len: usize, mut copy: impl FnMut(usize, Part)) {
    let head = (off.wrapping_neg() & 7).min(len);
    let mut at: usize = 0;
    while at < len {
        // No sum exceeds `len`. That is too hard for the optimiser, so a checked sum would cost time.
        let left = len - at;
        let part = match at >= head {
            true if left >= Part::Block.bytes() => Part::Block,
            true if left >= Part::Word.bytes() => Part::Word,
            _ => Part::Byte,
        };
        copy(at, part);
        at = at.wrapping_add(part.bytes());
    }
}
