//! What is left of a buffer that nobody needs any more: it is freed in pieces.

use super::slots::Slots;
use super::{v1, v2};
use crate::limits::{FREE_PIECE_BYTES, FREE_PIECE_SEQUENCES};

/// The memory of a buffer, and its sequences.
#[derive(Debug, Default)]
pub(crate) struct Remains {
    pub(super) bytes: Vec<u8>,
    pub(super) sequences: Sequences,
}

/// The sequences of a buffer of either version.
#[derive(Debug, Default)]
pub(super) enum Sequences {
    #[default]
    None,
    V1(Slots<v1::Sequence>),
    V2(Slots<v2::Sequence>),
}

impl Sequences {
    fn places(&self) -> usize {
        match self {
            Self::None => 0,
            Self::V1(slots) => slots.places(),
            Self::V2(slots) => slots.places(),
        }
    }

    fn drop_last(&mut self, count: usize) {
        match self {
            Self::None => {}
            Self::V1(slots) => slots.drop_last(count),
            Self::V2(slots) => slots.drop_last(count),
        }
    }
}

impl Remains {
    /// Those of which only bytes are left.
    pub(crate) fn of(bytes: Vec<u8>) -> Self {
        Self { bytes, sequences: Sequences::None }
    }

    /// Takes the bytes out of it.
    pub(crate) fn take_bytes(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    /// Whether it can be dropped at once.
    pub(crate) fn is_small(&self) -> bool {
        self.bytes.len() <= FREE_PIECE_BYTES && self.sequences.places() <= FREE_PIECE_SEQUENCES
    }

    /// Memory that it has, bytes; that of its sequences is not counted.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.capacity()
    }

    /// Frees a piece: sequences first, and bytes with the last of them. Returns how many bytes and sequences it had.
    pub(crate) fn free_piece(&mut self) -> (usize, usize) {
        let places = self.sequences.places();
        self.sequences.drop_last(FREE_PIECE_SEQUENCES);
        if places > FREE_PIECE_SEQUENCES {
            return (0, FREE_PIECE_SEQUENCES);
        }
        let len = self.bytes.len();
        let left = len.saturating_sub(FREE_PIECE_BYTES);
        self.bytes.truncate(left);
        self.bytes.shrink_to(left);
        (len.saturating_sub(left), places)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty() && self.sequences.places() == 0
    }
}
