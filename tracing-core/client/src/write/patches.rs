//! Lengths that became known after their chunk was given away.
//!
//! A message that spans chunks leaves the four bytes of its length behind in the chunk where it began.
//! Each such slot is a patch: made empty when the chunk is left, filled when the message ends, and
//! sent to wherever the chunk is by then.
//!
//! ```text
//!   made, outermost first:    [c0 @8 ?] [c0 @13 ?] [c1 @4 ?]
//!   filled, innermost first:  [c0 @8 ?] [c0 @13 ?] [c1 @4 !]
//!   taken, only from the front once it is filled, chunk by chunk
//! ```
//!
//! First in, first out, whatever order they are filled in: the service keeps a chunk and all later
//! ones of the sequence until the last patch of it is there, so nothing is gained by overtaking.

use std::collections::VecDeque;

use protozero::encode::Slot;

use abi::ids::ChunkId;

/// One outstanding length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patch {
    /// The chunk whose payload has the slot.
    pub chunk: ChunkId,
    /// What the stream calls the slot. The offset is also the one from the start of the payload.
    slot: Slot,
    /// The padded length, once known.
    data: Option<[u8; 4]>,
}

impl Patch {
    /// Byte offset of the four bytes from the start of the chunk's payload.
    #[inline]
    pub fn offset(&self) -> u16 {
        // A payload is shorter than 64 KiB (`layout.rs` asserts it).
        u16::try_from(self.slot.offset).unwrap_or(u16::MAX)
    }
}

/// A length to be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilledPatch {
    /// The chunk whose payload has the slot.
    pub chunk: ChunkId,
    /// Byte offset from the start of its payload.
    pub offset: u16,
    /// A varint of four bytes.
    pub data: [u8; 4],
    /// Whether a later patch of the same writer is for the same chunk: it stays unreadable.
    pub has_more: bool,
}

/// The outstanding patches of one writer.
#[derive(Debug, Default)]
pub struct PatchList(VecDeque<Patch>);

impl PatchList {
    /// The length at `slot` of `chunk` will come later. Slots come in the order of the stream.
    pub fn push(&mut self, chunk: ChunkId, slot: Slot) {
        debug_assert!(self.0.back().is_none_or(|last| last.slot < slot), "slots come in order");
        self.0.push_back(Patch { chunk, slot, data: None });
    }

    /// The length at `slot` is known. A slot that is not waiting is ignored.
    pub fn fill(&mut self, slot: Slot, data: [u8; 4]) {
        let found = self.0.binary_search_by_key(&slot, |patch| patch.slot);
        if let Some(patch) = found.ok().and_then(|idx| self.0.get_mut(idx)) {
            patch.data = Some(data);
        }
    }

    /// Whether the first patch can be sent.
    #[inline]
    pub fn is_ready(&self) -> bool {
        self.0.front().is_some_and(|patch| patch.data.is_some())
    }

    /// Takes the first patch if it is filled.
    pub fn pop_ready(&mut self) -> Option<FilledPatch> {
        let data = self.0.front()?.data?;
        let patch = self.0.pop_front()?;
        let has_more = self.0.front().is_some_and(|next| next.chunk == patch.chunk);
        Some(FilledPatch { chunk: patch.chunk, offset: patch.offset(), data, has_more })
    }

    /// Gives up on what was never filled: its packet ended without it. The lengths become zero, so that
    /// the service is not left waiting; a reader sees a broken packet, which it is.
    pub fn abandon(&mut self) {
        for patch in &mut self.0 {
            patch.data.get_or_insert([0x80, 0x80, 0x80, 0]);
        }
    }

    /// Outstanding patches.
    #[inline]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether none is outstanding.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
