//! The state of the reader; see [`read`](super::read).

use super::read::Span;
use abi::ids::ChunkId;

/// The state of the reader.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cursor {
    /// Reading was not begun, is over, or the buffer changed since.
    Idle,
    /// Goes to the first sequence after this key; none: to the first of all.
    NextSequence(Option<u64>),
    /// Reads a sequence.
    InSequence(SequenceScan),
}

/// A position in a sequence.
#[derive(Clone, Copy, Debug)]
pub(super) struct SequenceScan {
    pub(super) slot: u32,
    /// First chunk of the sequence.
    pub(super) first: ChunkId,
    /// The chunk that is being read, and its offset.
    pub(super) chunk: ChunkId,
    pub(super) off: u32,
    /// A packet goes on through an empty chunk that waits for patches. The next pass stops there until they come, so
    /// it may not resume beyond.
    pub(super) resume_blocked: bool,
    /// The next packet follows a loss.
    pub(super) dropped: bool,
}

/// A packet that was found.
#[derive(Clone, Copy, Debug)]
pub(in crate::buffer) struct Found {
    pub(super) slot: u32,
    /// None: in [`Buffer::parts`](super::Buffer::parts).
    pub(super) one: Option<Span>,
    pub(super) dropped: bool,
}
