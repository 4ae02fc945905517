//! Rows of numbers, which become columns of packed varints.
//!
//! ```text
//! row      a b c d e         stored as they are; nothing is encoded
//! 64 rows  aaaa.. bbbb.. ..  each column is encoded at once: the largest value says how
//! ```

use protozero::wire::varint;

use crate::ftrace::varint::{LONG_END, SHORT_END, long, short};

/// Rows that are encoded together.
const BLOCK: usize = 64;
/// Bytes that they take at most, and the bytes that the last store writes beyond; rounded up to a power of two.
const ENCODED: usize = 1024;

/// Rows of `N` numbers. Clearing keeps the memory.
#[derive(Debug)]
pub(super) struct Rows<const N: usize> {
    /// The last rows, by column.
    last: [[u64; BLOCK]; N],
    /// How many they are, less than [`BLOCK`].
    len: usize,
    /// Those before, encoded.
    columns: [Vec<u8>; N],
    scratch: Scratch,
}

/// Memory of an encoder.
#[derive(Debug)]
struct Scratch([u8; ENCODED + varint::LEN_MAX]);

impl<const N: usize> Default for Rows<N> {
    fn default() -> Self {
        Self {
            last: [[0; BLOCK]; N],
            len: 0,
            columns: std::array::from_fn(|_| Vec::new()),
            scratch: Scratch([0; ENCODED + varint::LEN_MAX]),
        }
    }
}

impl<const N: usize> Rows<N> {
    pub(super) fn clear(&mut self) {
        self.len = 0;
        self.columns.iter_mut().for_each(Vec::clear);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0 && self.columns.iter().all(Vec::is_empty)
    }

    #[inline]
    pub(super) fn add(&mut self, row: [u64; N]) {
        let at = self.len % BLOCK;
        for (column, value) in self.last.iter_mut().zip(row) {
            column[at] = value;
        }
        self.len = at + 1;
        if self.len == BLOCK {
            self.encode();
        }
    }

    /// All columns, encoded.
    pub(super) fn columns(&mut self) -> &[Vec<u8>; N] {
        self.encode();
        &self.columns
    }

    #[inline(never)]
    fn encode(&mut self) {
        for (column, values) in self.columns.iter_mut().zip(&self.last) {
            self.scratch.encode(values.get(..self.len).unwrap_or_default(), column);
        }
        self.len = 0;
    }
}

impl Scratch {
    /// Appends the varints of `values`, at most [`BLOCK`].
    fn encode(&mut self, values: &[u64], to: &mut Vec<u8>) {
        let bits = values.iter().fold(0, |bits, value| bits | value);
        let len = match bits {
            0..0x80 => return to.extend(values.iter().map(|value| *value as u8)),
            0x80..SHORT_END => self.fill(values, |value| {
                let (word, len) = short(value as u32);
                (word.into(), len)
            }),
            SHORT_END..LONG_END => self.fill(values, long),
            LONG_END.. => self.fill_wide(values),
        };
        to.extend_from_slice(self.0.get(..len).unwrap_or_default());
    }

    /// Eight bytes are stored of each, of which the next overwrites those that do not count.
    #[inline(always)]
    fn fill(&mut self, values: &[u64], encode: impl Fn(u64) -> (u64, usize)) -> usize {
        let mut at = 0;
        for value in values {
            let (word, len) = encode(*value);
            // The remainder, for the compiler: it sees that this is within the array.
            let begin = at % ENCODED;
            self.0[begin..begin + 8].copy_from_slice(&word.to_le_bytes());
            at += len;
        }
        at
    }

    /// [`Scratch::fill`] of values of which some take nine or ten bytes: negative ones.
    #[cold]
    fn fill_wide(&mut self, values: &[u64]) -> usize {
        let mut at = 0;
        for value in values {
            let (word, end, len) = if *value < LONG_END {
                let (word, len) = long(*value);
                (word, 0, len)
            } else {
                varint::wide(*value)
            };
            let begin = at % ENCODED;
            self.0[begin..begin + 8].copy_from_slice(&word.to_le_bytes());
            self.0[begin + 8..begin + varint::LEN_MAX].copy_from_slice(&end.to_le_bytes());
            at += len;
        }
        at
    }
}
