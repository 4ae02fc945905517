//! The bits of a page word and of a chunk header.

use crate::ids::{ChunkId, WriterId};
use crate::shm::layout::Layout;

const LAYOUT_SHIFT: u32 = 28;
const LAYOUT_MASK: u32 = 0x7000_0000;
const ALL_CHUNKS_MASK: u32 = 0x0fff_ffff;

/// The length of a fragment whose packet was given up by its writer: `ff ff ff 7f`
/// (`kPacketSizeDropPacket`, `shared_memory_abi.h`).
pub const PACKET_DROPPED: u32 = 0x0fff_ffff;

/// The owner of a chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[repr(u8)]
pub enum ChunkState {
    /// Any writer may acquire it.
    Free = 0,
    /// Owned by the writer that acquired it.
    BeingWritten = 1,
    /// Owned by the service.
    BeingRead = 2,
    /// Written, and not yet taken by the service.
    Complete = 3,
}

/// Where the state of chunk `idx` lies in a page word.
const fn state_shift(idx: usize) -> usize {
    (idx << 1) & 31
}

/// A snapshot of a page's first word.
///
/// All facts of one step (index, size, state) must come from one snapshot: a hostile peer changes the
/// word between two loads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageWord(pub u32);

impl PageWord {
    /// A page that is not partitioned.
    pub const FREE: Self = Self(0);
    /// A page that somebody cuts into chunks. To others it has a single one, whose writer has not stored its header.
    #[inline]
    pub(super) const fn claimed() -> Self {
        Self::partitioned(Layout::Div1).with_state(0, ChunkState::BeingWritten)
    }

    /// A page cut into chunks, all of them free.
    #[inline]
    pub const fn partitioned(layout: Layout) -> Self {
        Self(layout.bits() << LAYOUT_SHIFT)
    }

    /// How the page is cut; `None` if it is not, or in a way the ABI does not know.
    #[inline]
    pub const fn layout(self) -> Option<Layout> {
        Layout::from_bits((self.0 & LAYOUT_MASK) >> LAYOUT_SHIFT)
    }

    /// State of chunk `idx` (below 14; beyond, and in an unpartitioned page, the bits mean nothing).
    #[inline]
    pub const fn state(self, idx: usize) -> ChunkState {
        match (self.0 & ALL_CHUNKS_MASK) >> state_shift(idx) & 3 {
            0 => ChunkState::Free,
            1 => ChunkState::BeingWritten,
            2 => ChunkState::BeingRead,
            _ => ChunkState::Complete,
        }
    }

    /// The word with chunk `idx` in `state`, or 0 if that leaves all chunks free: the page then has no
    /// layout any more and can be partitioned anew.
    #[inline]
    pub const fn with_state(self, idx: usize, state: ChunkState) -> Self {
        let shift = state_shift(idx);
        let word = (self.0 & !(3 << shift)) | ((state as u32) << shift);
        if word & ALL_CHUNKS_MASK == 0 { Self::FREE } else { Self(word) }
    }

    /// Whether the page is not partitioned. A page whose chunks are all free but which is partitioned is
    /// *not* free.
    #[inline]
    pub const fn is_free(self) -> bool {
        self.0 & (LAYOUT_MASK | ALL_CHUNKS_MASK) == 0
    }

    /// Whether every chunk of the page is complete.
    #[inline]
    pub const fn is_complete(self) -> bool {
        match self.layout() {
            None => false,
            Some(layout) => {
                let mask = (1u32 << (2 * layout.chunk_count())) - 1;
                self.0 & mask == mask
            }
        }
    }

    /// Bit `i` is set if chunk `i` is free; 0 for an unpartitioned page.
    #[inline]
    pub fn free_chunks(self) -> u32 {
        let Some(layout) = self.layout() else { return 0 };
        (0..layout.chunk_count())
            .filter(|&idx| self.state(idx) == ChunkState::Free)
            .fold(0, |mask, idx| mask | 1 << idx)
    }
}

/// Flags of a chunk: how its first and last fragments continue, and whether lengths are missing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub struct ChunkFlags(pub u8);

impl ChunkFlags {
    /// The first fragment continues the last packet of the writer's previous chunk.
    pub const CONTINUES_FROM_PREV: Self = Self(1);
    /// The last fragment's packet goes on in the writer's next chunk.
    pub const CONTINUES_ON_NEXT: Self = Self(2);
    /// Lengths inside are still missing. Until they come, neither this chunk nor its successors can be read.
    pub const NEEDS_PATCHING: Self = Self(4);
    /// The bits that have a meaning.
    pub const MASK: u8 = 7;

    /// Whether all bits of `other` are set.
    #[inline]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both sets.
    #[inline]
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// This set less `other`.
    #[inline]
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

/// The `packets` field: fragments begun, and flags.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub struct Packets(pub u16);

impl Packets {
    /// Most fragments the ten bits count.
    pub const COUNT_MAX: u16 = 1023;

    /// Packs. A count above 1023 would spill into the flags and is cut to its ten bits.
    #[inline]
    pub const fn new(count: u16, flags: ChunkFlags) -> Self {
        Self((count & Self::COUNT_MAX) | ((flags.0 & ChunkFlags::MASK) as u16) << 10)
    }

    /// Fragments begun.
    #[inline]
    pub const fn count(self) -> u16 {
        self.0 & Self::COUNT_MAX
    }

    /// Flags; reserved bits are dropped.
    #[inline]
    pub const fn flags(self) -> ChunkFlags {
        ChunkFlags(((self.0 >> 10) & ChunkFlags::MASK as u16) as u8)
    }
}

/// The eight bytes before a payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ChunkHeader {
    /// Number of the chunk among those of its writer.
    pub chunk: ChunkId,
    /// The writer. Zero until the header is stored.
    pub writer: WriterId,
    /// Fragments and flags.
    pub packets: Packets,
}

impl ChunkHeader {
    /// From its two words. Numbers are little-endian in memory, as upstream's. On a big-endian machine
    /// the halves would be swapped; neither upstream nor this crate supports shared memory there.
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "splits a word into its halves")]
    pub const fn from_words(words: [u32; 2]) -> Self {
        Self {
            chunk: ChunkId::new(words[0]),
            writer: WriterId::new(words[1] as u16),
            packets: Packets((words[1] >> 16) as u16),
        }
    }

    /// Its two words.
    #[inline]
    pub const fn to_words(self) -> [u32; 2] {
        [self.chunk.get(), self.writer.get() as u32 | (self.packets.0 as u32) << 16]
    }

    /// From the first bytes of a chunk that came by value; `None` if there are fewer than eight.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let head: [u8; 8] = bytes.get(..8)?.try_into().ok()?;
        let [a, b, c, d, e, f, g, h] = head;
        Some(Self::from_words([u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h])]))
    }

    /// As in memory.
    pub fn to_bytes(self) -> [u8; 8] {
        let [low, high] = self.to_words();
        let [[a, b, c, d], [e, f, g, h]] = [low.to_le_bytes(), high.to_le_bytes()];
        [a, b, c, d, e, f, g, h]
    }
}
