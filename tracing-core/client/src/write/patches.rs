//! Lengths that became known after their chunk was returned.
//!
//! The length of a message that spans chunks lies in the chunk where the message began. Each such slot
//! is a patch: made when its chunk is full, filled when the message ends, and sent after the chunk.
//!
//! ```text
//!   made, outermost first:    [c0 @8 ?] [c0 @13 ?] [c1 @4 ?]
//!   filled, innermost first:  [c0 @8 ?] [c0 @13 ?] [c1 @4 !]
//!   taken, only from the front once it is filled, chunk by chunk
//! ```
//!
//! Patches leave in the order in which they were made: the service cannot read a chunk, or a later one of
//! its sequence, before all patches of the chunk are there, so overtaking would gain nothing.

use protozero::wire::varint;
use std::collections::VecDeque;

use protozero::encode::Slot;

use abi::ids::ChunkId;

/// One outstanding length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patch {
    /// The chunk whose payload has the slot.
    pub chunk: ChunkId,
    /// The slot as the stream names it.
    slot: Slot,
    /// Byte offset of the four bytes from the start of the chunk's payload.
    offset: usize,
    /// The padded length, once known.
    data: Option<[u8; 4]>,
}

impl Patch {
    /// Byte offset of the four bytes from the start of the chunk's payload.
    #[inline]
    pub fn offset(&self) -> u16 {
        // A payload is shorter than 64 KiB (`layout.rs` asserts it).
        u16::try_from(self.offset).unwrap_or(u16::MAX)
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
#[derive(Debug)]
pub struct PatchList(VecDeque<Patch>);

/// How many patches have room without an allocation: one for each open message of a packet that leaves its chunk.
const PATCHES_RESERVED: usize = 16;

impl Default for PatchList {
    fn default() -> Self {
        Self(VecDeque::with_capacity(PATCHES_RESERVED))
    }
}

impl PatchList {
    /// The length at `slot` of `chunk` will come later. Slots come in the order of the stream. The chunk moves this one
    /// towards its end by `growth` bytes.
    pub fn push(&mut self, chunk: ChunkId, slot: Slot, growth: usize) {
        debug_assert!(self.0.back().is_none_or(|last| last.slot < slot), "slots come in order");
        let offset = slot.offset as usize + growth;
        self.0.push_back(Patch { chunk, slot, offset, data: None });
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

    /// Fills the patches that were not filled when their packet ended. Their lengths become zero, so that
    /// the service can go on; the packet is broken.
    pub fn abandon(&mut self) {
        for patch in &mut self.0 {
            patch.data.get_or_insert(varint::padded(0));
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
