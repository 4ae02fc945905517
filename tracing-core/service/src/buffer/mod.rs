//! Trace buffers: a session keeps the chunks of all its producers in them until they are read.
//!
//! ```text
//!  copy_chunk ──>  | chunk | chunk | padding | chunk | chunk | ...       |
//!  patch ───────>      ^ by (producer, writer, chunk id)   ^ write position, wraps around
//!                      │
//!  begin_read,         └── next_packet: per sequence, in order of chunk ids, fragments joined
//!  next_packet
//! ```
//!
//! One buffer is one contiguous allocation in private memory of the service, into which chunks are copied.
//! A *sequence* is everything that one writer of one producer writes. Its chunks have rising ids. A chunk may come
//! out of order, twice (first while it is being written, then complete) or never. Each packet is read once, in order
//! within its sequence, and the first packet after a loss reports the loss.
//!
//! Trust: the producer's id and identity come from the connection. Everything else (writer,
//! chunk id, counts, flags, payload, patches) is a claim of the producer. A false claim costs data of its own sequence
//! and increments [`Stats::abi_violations`]. It never changes packets of another producer, causes a panic, or takes
//! more memory than the limits allow.
//!
//! [`TraceBuffer`] is the type that callers use. It holds one of two versions, which a config chooses:
//! [`Version::V1`] (`trace_buffer_v1.cc`), the default, and [`Version::V2`] (`trace_buffer_v2.cc`).
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::cast_possible_truncation
    )
)]

mod chunks;
mod clones;
pub mod loss;
mod memory;
mod ring;
mod scan_budget;
mod slot_cache;
mod snapshot;
mod stats;
mod v1;
mod v2;
mod wrapper;

pub use self::clones::UnfinishedClone;
pub use self::memory::FaultIn;
#[doc(hidden)]
pub use self::snapshot::SnapshotLimits;
pub use self::stats::{HISTOGRAM_BUCKETS, Stats, WriterStats};
#[doc(hidden)]
pub use self::wrapper::WrapBuffer;

use self::ring::{Common, Ring as _};
use crate::limits::EMPTY_SEQUENCES_PER_BUFFER_MAX;
use crate::packet::Slices;
use abi::ids::{ChunkId, ProducerId, WriterId};
use abi::shm::ChunkFlags;

#[cfg(test)]
mod tests;

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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Identity {
    /// User id.
    pub uid: u32,
    /// Process id, if known.
    pub pid: Option<i32>,
    /// Machine id; 0 is the machine of the service.
    pub machine_id: u32,
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

/// Four bytes that a writer left open in a chunk, and knows now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patch {
    /// Offset from the start of the chunk's payload, bytes.
    pub offset: u32,
    /// The new bytes.
    pub data: [u8; 4],
}

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
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferLimits {
    /// Fragments without a packet after which [`TraceBuffer::read_while`] asks whether to go on; at least one.
    pub empty_fragments_max: u32,
    /// Sequences without chunks that V1 remembers.
    pub empty_sequences_max: usize,
    /// What an unfinished clone keeps.
    pub clone: SnapshotLimits,
}

impl Default for BufferLimits {
    fn default() -> Self {
        Self {
            empty_fragments_max: EMPTY_FRAGMENTS_MAX,
            empty_sequences_max: EMPTY_SEQUENCES_PER_BUFFER_MAX,
            clone: SnapshotLimits::default(),
        }
    }
}

/// Fragments without a packet that are skipped before the caller is asked whether to go on.
const EMPTY_FRAGMENTS_MAX: u32 = 256;

/// One buffer of one session.
#[derive(Debug)]
pub struct TraceBuffer {
    inner: Inner,
    read_only: bool,
}

/// The kinds of buffers. A tag of its own is compared faster than one that hides in a field.
#[derive(Debug)]
#[repr(u8)]
enum Inner {
    V1(v1::Buffer),
    V2(v2::Buffer),
    /// See [`WrapBuffer`].
    Wrapped(Box<dyn WrapBuffer>),
}

impl TraceBuffer {
    /// A buffer of `bytes` bytes, rounded up: to 16 (V1) or 4096 (V2). Memory is reserved, and used as data comes in.
    ///
    /// None if there is no such memory, or for 0 or more than 2^32 - 1 bytes.
    #[must_use]
    pub fn new(bytes: usize, policy: Policy, version: Version) -> Option<Self> {
        Self::with_limits(bytes, policy, version, BufferLimits::default())
    }

    /// The same with limits of the caller's: tests reach small ones with little data.
    #[doc(hidden)]
    #[must_use]
    pub fn with_limits(
        bytes: usize,
        policy: Policy,
        version: Version,
        limits: BufferLimits,
    ) -> Option<Self> {
        let inner = match version {
            Version::V1 => Inner::V1(v1::Buffer::new(bytes, policy, limits)?),
            Version::V2 => Inner::V2(v2::Buffer::new(bytes, policy, limits)?),
        };
        Some(Self { inner, read_only: false })
    }

    /// Sets the function that gets memory from the system, a little ahead of what is written.
    pub fn set_fault_in(&mut self, fault_in: FaultIn) {
        self.common_mut().memory.set_fault_in(fault_in);
    }

    /// Takes in a chunk: `payload` is what follows the chunk's header, however much of it is used.
    ///
    /// A chunk that breaks a rule, or finds no room in a [`Policy::Discard`] buffer, is counted and
    /// dropped. A chunk that is here already is extended in place if this copy has more fragments.
    #[inline]
    pub fn copy_chunk(&mut self, meta: &ChunkMeta, payload: &[u8]) {
        if self.read_only {
            return;
        }
        match &mut self.inner {
            Inner::V1(b) => b.copy_chunk(meta, payload),
            Inner::V2(b) => b.copy_chunk(meta, payload),
            Inner::Wrapped(_) => self.copy_chunk_wrapped(meta, payload),
        }
    }

    /// Patches a chunk; `more` says that other patches will follow, and keeps the chunk unreadable.
    ///
    /// Returns whether all could be applied. The chunk may be gone (evicted, or never here), which
    /// is normal, or the offset outside of it; those before the bad one stay applied.
    pub fn patch(
        &mut self,
        producer: ProducerId,
        writer: WriterId,
        chunk: ChunkId,
        patches: &[Patch],
        more: bool,
    ) -> bool {
        if self.read_only {
            return false;
        }
        match &mut self.inner {
            Inner::V1(b) => b.patch(producer, writer, chunk, patches, more),
            Inner::V2(b) => b.patch(producer, writer, chunk, patches, more),
            Inner::Wrapped(_) => self.patch_wrapped(producer, writer, chunk, patches, more),
        }
    }

    /// Begins a batch of [`next_packet`](Self::next_packet) or [`read_while`](Self::read_while).
    pub fn begin_read(&mut self) {
        match &mut self.inner {
            Inner::V1(b) => b.begin_read(),
            Inner::V2(b) => b.begin_read(),
            Inner::Wrapped(b) => b.begin_read(),
        }
    }

    /// The next packet that is whole. It is consumed: it will not be given again.
    ///
    /// None when everything was read that can be read now; also when the buffer changed since
    /// [`begin_read`](Self::begin_read).
    #[inline]
    pub fn next_packet(&mut self) -> Option<PacketRef<'_>> {
        match &mut self.inner {
            Inner::V1(b) => b.next_packet(),
            Inner::V2(b) => b.next_packet(),
            Inner::Wrapped(b) => b.next_packet(),
        }
    }

    /// Gives the packets that [`next_packet`](Self::next_packet) would give, one after the other, to `take`,
    /// until that returns false or there are none. Faster than one call for each packet.
    #[inline]
    pub fn read_while(&mut self, take: &mut impl TakePacket) {
        match &mut self.inner {
            Inner::V1(b) => b.read_while(take),
            Inner::V2(b) => b.read_while(take),
            Inner::Wrapped(b) => match take.as_dyn() {
                Some(take) => b.read_while(take),
                None => while b.next_packet().is_some_and(|packet| take.take(packet)) {},
            },
        }
    }

    /// The counters.
    #[must_use]
    pub fn stats(&self) -> &Stats {
        &self.common().stats
    }

    /// How full the chunks of each sequence were, in the order in which the sequences first came.
    pub fn writer_stats(&self) -> impl Iterator<Item = &WriterStats> {
        self.common().histograms.all().iter()
    }

    /// Its version.
    #[must_use]
    pub fn version(&self) -> Version {
        match &self.inner {
            Inner::V1(_) => Version::V1,
            Inner::V2(_) => Version::V2,
            Inner::Wrapped(b) => b.inner().version(),
        }
    }

    /// Whether it ignores chunks and patches: it is a clone, or [`set_read_only`](Self::set_read_only) was called.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// From now on chunks and patches are ignored.
    pub fn set_read_only(&mut self) {
        self.read_only = true;
    }

    /// What it does when it is full.
    #[must_use]
    pub fn policy(&self) -> Policy {
        self.common().policy
    }

    /// Whether a chunk was ever stored.
    #[must_use]
    pub fn has_data(&self) -> bool {
        self.common().has_data
    }

    /// Memory of the written part and of the index, bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let index = match &self.inner {
            Inner::V1(b) => b.index_bytes(),
            Inner::V2(b) => b.index_bytes(),
            Inner::Wrapped(b) => return b.inner().memory_bytes(),
        };
        self.used_bytes().saturating_add(index)
    }

    /// Bytes of the written part, which takes memory.
    #[must_use]
    pub fn used_bytes(&self) -> usize {
        self.common().memory.used()
    }

    fn common(&self) -> &Common {
        match &self.inner {
            Inner::V1(b) => b.common(),
            Inner::V2(b) => b.common(),
            Inner::Wrapped(b) => b.inner().common(),
        }
    }

    fn common_mut(&mut self) -> &mut Common {
        match &mut self.inner {
            Inner::V1(b) => b.common_mut(),
            Inner::V2(b) => b.common_mut(),
            Inner::Wrapped(b) => b.inner_mut().common_mut(),
        }
    }
}
