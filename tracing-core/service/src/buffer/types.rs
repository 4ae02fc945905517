//! The types that buffers take and give.

use super::snapshot::SnapshotLimits;
#[cfg(doc)]
use super::{TraceBuffer, WrapBuffer, loss};
use crate::limits::EMPTY_SEQUENCES_PER_BUFFER_MAX;
use crate::packet::Slices;
use abi::ids::{ChunkId, ProducerId, WriterId};
use abi::shm::ChunkFlags;

/// What a buffer does when it is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Policy {
    /// The oldest chunks make room for new ones.
    #[default]
    Ring,
    /// The first chunk that would overwrite an unread one is refused, and so are all chunks after it.
    Discard,
}

/// The version of a buffer: `BufferConfig.experimental_mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Version {
    /// Keeps chunks until they are overwritten; sequences are read one after the other.
    #[default]
    V1,
    /// Frees the space of read chunks, gives packets in nearly the order of writing, and reports why data is missing.
    V2,
}

/// The identity of a producer, which comes from the kernel or from the relay of its machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Identity {
    /// User id.
    pub uid: u32,
    /// Process id, if known.
    pub pid: Option<i32>,
    /// Machine id; 0 is the machine of the service.
    pub machine_id: u32,
}

/// What makes two chunks or packets parts of one sequence. The identity is a part of it, as the id of a producer that
/// left is given out again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SequenceKey {
    /// The producer, trusted.
    pub producer: ProducerId,
    /// Claimed writer.
    pub writer: WriterId,
    /// The identity of the producer, trusted.
    pub identity: Identity,
}

/// The header of a chunk, with the identity of its producer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkMeta {
    /// The producer, trusted.
    pub producer: ProducerId,
    /// Its identity, trusted.
    pub identity: Identity,
    /// Claimed writer.
    pub writer: WriterId,
    /// Claimed chunk id.
    pub chunk: ChunkId,
    /// Claimed number of fragments.
    pub fragments: u16,
    /// Claimed flags.
    pub flags: ChunkFlags,
    /// Whether the writer has finished the chunk. The last fragment of an incomplete chunk is ignored.
    pub complete: bool,
}

impl ChunkMeta {
    /// The sequence that the chunk is a part of.
    #[must_use]
    #[inline]
    pub fn sequence(&self) -> SequenceKey {
        SequenceKey { producer: self.producer, writer: self.writer, identity: self.identity }
    }
}

/// Four bytes that a writer left open in a chunk, and knows now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patch {
    /// Offset from the start of the chunk's payload, bytes.
    pub offset: u32,
    /// The new bytes.
    pub data: [u8; 4],
}

/// The patches of one chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkPatches<'a> {
    /// The sequence of the chunk.
    pub sequence: SequenceKey,
    /// Claimed chunk id.
    pub chunk: ChunkId,
    /// In the order in which they are applied.
    pub patches: &'a [Patch],
    /// Other patches will follow, so the chunk stays unreadable.
    pub more: bool,
}

/// How the chunks of one writer end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SequenceEnd {
    /// With a whole packet, or there are none.
    Whole,
    /// With a part of a packet, which goes on in chunk `next`.
    Open {
        /// The chunk after the last one.
        next: ChunkId,
    },
    /// One of the last chunks waits for patches, so neither it nor the chunks behind it can be read.
    Unpatched,
}

/// Chunks at the end of a sequence that [`SequenceEnd`] looks at: a writer sends patches with its next commit, so those
/// that miss are of its last chunks.
pub(super) const END_CHUNKS: usize = 256;

/// A packet in the buffer.
#[derive(Clone, Debug)]
pub struct PacketRef<'a> {
    /// Its bytes; none of the slices is empty. A packet without slices is odd but legal: it was
    /// written in several empty fragments.
    pub slices: Slices<'a>,
    /// Its producer.
    pub producer: ProducerId,
    /// Its writer.
    pub writer: WriterId,
    /// The identity of the producer.
    pub identity: Identity,
    /// Losses of this sequence before this packet: [`loss`] bits, as in
    /// `TracePacket.previous_packet_dropped`. [`Version::V1`] only knows [`loss::PRESENT`], and always sets it for
    /// the first packet of a sequence.
    pub dropped: u32,
}

impl PacketRef<'_> {
    /// The sequence that the packet is a part of.
    #[must_use]
    #[inline(always)]
    pub fn sequence(&self) -> SequenceKey {
        SequenceKey { producer: self.producer, writer: self.writer, identity: self.identity }
    }
}

/// Receives the packets of [`TraceBuffer::read_while`]. A closure can do it; a type can also say how it is inlined,
/// and override [`skipped_fragments`](Self::skipped_fragments).
pub trait TakePacket {
    /// Takes one packet; false: no more after this.
    fn take(&mut self, packet: PacketRef<'_>) -> bool;

    /// So many fragments gave no packet since the last call, because they are empty or broken. False ends the
    /// reading, although there may be more packets. A buffer full of empty fragments must not stall the reader.
    #[inline]
    fn skipped_fragments(&mut self, fragments: u32) -> bool {
        let _ = fragments;
        true
    }

    /// This, for a [`WrapBuffer`]; None makes it give its packets one by one. The state of a receiver cannot stay in
    /// registers when a reference to it escapes, so only the receivers that simulations use return themselves.
    #[doc(hidden)]
    #[inline]
    fn as_dyn(&mut self) -> Option<&mut dyn TakePacket> {
        None
    }
}

impl<F: FnMut(PacketRef<'_>) -> bool> TakePacket for F {
    #[inline]
    fn take(&mut self, packet: PacketRef<'_>) -> bool {
        self(packet)
    }
}

/// Bounds of what a buffer does at a time. A value, so that tests can make them small and reach them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BufferLimits {
    /// Fragments without a packet after which [`TraceBuffer::read_while`] asks whether to go on; at least one.
    pub(super) empty_fragments_max: u32,
    /// Sequences without chunks that V1 remembers.
    pub(super) empty_sequences_per_buffer_max: usize,
    /// What an unfinished clone keeps.
    pub(super) clone: SnapshotLimits,
}

impl BufferLimits {
    /// Those of the service.
    pub(crate) const DEFAULT: Self = Self {
        empty_fragments_max: EMPTY_FRAGMENTS_MAX,
        empty_sequences_per_buffer_max: EMPTY_SEQUENCES_PER_BUFFER_MAX,
        clone: SnapshotLimits::DEFAULT,
    };

    /// Small ones, which tests reach with little data.
    pub(crate) const SMALL: Self = Self {
        empty_fragments_max: 3,
        empty_sequences_per_buffer_max: 8,
        clone: SnapshotLimits {
            block_bytes: 64,
            clone_saved_bytes_max: 512,
            clone_copy_per_change_bytes: 1024,
        },
    };
}

/// Fragments without a packet that are skipped before the caller is asked whether to go on.
const EMPTY_FRAGMENTS_MAX: u32 = 256;
