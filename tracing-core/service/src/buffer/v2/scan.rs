//! The state of the reader; see [`read`](super::read).

use super::sequences::Sequences;
use super::step::Span;

/// A packet that was found: its sequence, and where it lies.
#[derive(Clone, Copy, Debug)]
pub(in crate::buffer) struct Found {
    pub(super) slot: u32,
    /// None: in [`Buffer::parts`](super::Buffer::parts).
    pub(super) one: Option<Span>,
}

/// A scan along one sequence, up to the end of a target chunk.
#[derive(Clone, Copy, Debug)]
pub(super) struct SequenceScan {
    pub(super) slot: u32,
    /// Offset of the target.
    pub(super) target: usize,
    /// Offset of the chunk that is being read.
    pub(super) off: u32,
    /// It ended at a packet that is not all here.
    pub(super) unfinished: bool,
}

/// A scan over the memory, in the order in which chunks were written.
#[derive(Clone, Copy, Debug)]
pub(super) struct BufferScan {
    /// Offset of the record it is at; none at the end.
    pub(super) at: Option<usize>,
    pub(super) sequence: Option<SequenceScan>,
    /// Where the padding begins that reaches up to `at` without a chunk between.
    pub(super) padding_from: Option<usize>,
    /// Packets it met that are not all here.
    pub(super) unfinished: u64,
    /// A new batch resumes the scan of the last one.
    pub(super) resumed: bool,
    /// It was at the end of the memory, and goes on at its begin.
    pub(super) wrapped: bool,
}

impl SequenceScan {
    /// A scan from the first chunk of a sequence on.
    pub(super) fn begin(sequences: &mut Sequences, slot: u32, target: usize) -> Option<Self> {
        let sequence = sequences.slot_mut(slot)?;
        let id = sequence.first()?;
        let off = sequence.chunks.get(id)?;
        sequence.note_gap(id);
        Some(Self { slot, target, off, unfinished: false })
    }
}
