//! Central buffers: where a session keeps the chunks of all its producers until they are read.
//!
//! ```text
//!  copy_chunk ──>  | chunk | chunk | padding | chunk | chunk | ...       |
//!  patch ───────>      ^ by (producer, writer, chunk id)   ^ write position, goes round
//!                      │
//!  begin_read,         └── next_packet: per sequence, in order of chunk ids, fragments joined
//!  next_packet
//! ```
//!
//! Layer 2. One buffer is private memory of the service and one contiguous allocation; producers
//! only ever hand in copies. A *sequence* is what one writer of one producer writes; its chunks
//! carry rising ids and may arrive out of order, come twice (copied while being written, then
//! whole) or never. Packets are read out once, in order within their sequence, and the first packet
//! after a loss says so.
//!
//! Trust: the producer's number and identity come from the connection. Everything else (writer,
//! chunk id, counts, flags, payload, patches) is a claim. A false claim costs its own sequence data
//! and moves [`Stats::abi_violations`]; it never reaches another producer's packets, panics or
//! grows us beyond what the limits below say.
//!
//! [`TraceBuffer`] is the one type others see. Behind it stands the ring that every service of the
//! last years has by default ([`v1`](self) in Perfetto's words, `trace_buffer_v1.cc`); a second
//! kind can come beside it without a change for callers.
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
mod length;
pub mod loss;
mod memory;
mod recent;
mod snapshot;
mod stats;
mod v1;
mod v2;

pub use self::clones::UnfinishedClone;
pub use self::memory::FaultIn;
pub use self::stats::{HISTOGRAM_BUCKETS, Stats, WriterStats};

use crate::packet::Slices;
use abi::ids::{ChunkId, ProducerId, WriterId};
use abi::shm::ChunkFlags;

#[cfg(any(test, fuzzing, feature = "testing"))]
pub mod testing;

#[cfg(test)]
mod props;
#[cfg(test)]
mod tests;

/// What a buffer does when it is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Policy {
    /// The oldest chunks make room for new ones.
    #[default]
    Ring,
    /// The first chunk that would cost an unread one is refused, and all that come after it.
    Discard,
}

/// Which kind of buffer: `BufferConfig.experimental_mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Version {
    /// Keeps chunks until they are overwritten; sequences are read one after the other.
    #[default]
    V1,
    /// Gives space back as it is read, in nearly the order of writing, and says why data is missing.
    V2,
}

/// Who is behind a producer, as the kernel or the machine's relay told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Identity {
    /// User.
    pub uid: u32,
    /// Process, if known.
    pub pid: Option<i32>,
    /// Machine; 0 is the one the service runs on.
    pub machine_id: u32,
}

/// What comes with a chunk's payload.
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
    /// Claimed number of fragments, whole ones and parts of packets.
    pub fragments: u16,
    /// Claimed flags.
    pub flags: ChunkFlags,
    /// Whether the writer is done with it. Of an unfinished chunk the last fragment is not taken.
    pub complete: bool,
}

/// Four bytes that replace those a writer left open in a chunk it gave away already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patch {
    /// Where, bytes from the start of the chunk's payload.
    pub offset: u32,
    /// What.
    pub data: [u8; 4],
}

/// A packet lying in the buffer.
#[derive(Clone, Debug)]
pub struct PacketRef<'a> {
    /// Its bytes; none of the slices is empty. No slices at all is an odd but legal packet: one
    /// spread over several chunks with nothing in any.
    pub slices: Slices<'a>,
    /// Who wrote it.
    pub producer: ProducerId,
    /// With which writer.
    pub writer: WriterId,
    /// On whose behalf.
    pub identity: Identity,
    /// Whether packets of this sequence were lost before this one: [`loss`] bits, as in
    /// `TracePacket.previous_packet_dropped`. [`Version::V1`] only knows [`loss::PRESENT`], and says it
    /// of the first packet of a sequence always.
    pub dropped: u32,
}

/// Who takes packets in a run: [`TraceBuffer::read_while`]. Closures do; a type of one's own can say how it
/// wants to be inlined.
pub trait TakePacket {
    /// Takes one; false: no more after this.
    fn take(&mut self, packet: PacketRef<'_>) -> bool;

    /// So many fragments gave no packet, for being empty or broken, since this was said last; false: stop
    /// here, there may be more. Nobody should have to wait for who fills a buffer with nothing.
    #[inline]
    fn passed_over(&mut self, fragments: u32) -> bool {
        let _ = fragments;
        true
    }
}

impl<F: FnMut(PacketRef<'_>) -> bool> TakePacket for F {
    #[inline]
    fn take(&mut self, packet: PacketRef<'_>) -> bool {
        self(packet)
    }
}

/// How many fragments that give nothing are gone over until who reads is asked whether to go on.
const BARREN_MAX: u32 = if cfg!(test) { 3 } else { 256 };

/// What is left of [`BARREN_MAX`].
#[derive(Debug)]
struct Patience {
    left: u32,
    /// Reading ended for want of it, not of packets.
    over: bool,
}

impl Patience {
    const fn new() -> Self {
        Self { left: BARREN_MAX, over: false }
    }

    /// A fragment gave nothing. True: it is time to ask.
    #[inline]
    fn tire(&mut self) -> bool {
        self.left = self.left.saturating_sub(1);
        self.over = self.left == 0;
        self.over
    }

    /// After reading ended: whether that was for want of it, which is mended.
    fn renew(&mut self) -> bool {
        core::mem::replace(self, Self::new()).over
    }
}

/// One buffer of one session.
#[derive(Debug)]
pub struct TraceBuffer {
    inner: Inner,
    read_only: bool,
    /// Holds it against a slow twin, in simulations.
    #[cfg(any(test, fuzzing, feature = "testing"))]
    witness: Option<testing::Witness>,
}

/// The kinds of buffer there are.
#[derive(Debug)]
enum Inner {
    V1(v1::Buffer),
    V2(v2::Buffer),
}

impl TraceBuffer {
    /// A buffer of `bytes` bytes, rounded up to 16. Memory is reserved, and used as data comes in.
    ///
    /// None if there is no such memory, or for 0 or more than 2^32 - 1 bytes.
    #[must_use]
    pub fn new(bytes: usize, policy: Policy, version: Version) -> Option<Self> {
        let inner = match version {
            Version::V1 => Inner::V1(v1::Buffer::new(bytes, policy)?),
            Version::V2 => Inner::V2(v2::Buffer::new(bytes, policy)?),
        };
        Some(Self {
            inner,
            read_only: false,
            #[cfg(any(test, fuzzing, feature = "testing"))]
            witness: None,
        })
    }

    /// From now on memory is taken by `fault_in`, a little ahead of what is written.
    pub fn set_fault_in(&mut self, fault_in: FaultIn) {
        match &mut self.inner {
            Inner::V1(b) => b.set_fault_in(fault_in),
            Inner::V2(b) => b.set_fault_in(fault_in),
        }
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
        }
        #[cfg(any(test, fuzzing, feature = "testing"))]
        self.witness(|twin| twin.copy_chunk(meta, payload));
    }

    /// Patches a chunk; `more` says that others are to come, and keeps the chunk unreadable.
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
        let done = match &mut self.inner {
            Inner::V1(b) => b.patch(producer, writer, chunk, patches, more),
            Inner::V2(b) => b.patch(producer, writer, chunk, patches, more),
        };
        #[cfg(any(test, fuzzing, feature = "testing"))]
        self.witness(|twin| {
            let also = twin.patch(producer, writer, chunk, patches, more);
            assert_eq!(done, also, "whether patches were applied");
        });
        done
    }

    /// Goes to the first sequence. To be called before each batch of [`next_packet`](Self::next_packet).
    pub fn begin_read(&mut self) {
        match &mut self.inner {
            Inner::V1(b) => b.begin_read(),
            Inner::V2(b) => b.begin_read(),
        }
        #[cfg(any(test, fuzzing, feature = "testing"))]
        self.witness(|_| {});
    }

    /// The next packet that is whole, taken out: it will not be given again.
    ///
    /// None when all has been read that can be now; also when the buffer changed since
    /// [`begin_read`](Self::begin_read).
    #[inline]
    pub fn next_packet(&mut self) -> Option<PacketRef<'_>> {
        let packet = match &mut self.inner {
            Inner::V1(b) => b.next_packet(),
            Inner::V2(b) => b.next_packet(),
        };
        #[cfg(any(test, fuzzing, feature = "testing"))]
        if let Some(witness) = &self.witness {
            witness.gave(packet.as_ref());
        }
        packet
    }

    /// Gives the packets that [`next_packet`](Self::next_packet) would give, one after the other, to `take`,
    /// until that returns false or there are none. The faster of the two.
    #[inline]
    pub fn read_while(&mut self, take: &mut impl TakePacket) {
        #[cfg(any(test, fuzzing, feature = "testing"))]
        if self.witness.is_some() {
            return self.read_witnessed(take);
        }
        match &mut self.inner {
            Inner::V1(b) => b.read_while(take),
            Inner::V2(b) => b.read_while(take),
        }
    }

    /// The counters.
    #[must_use]
    pub fn stats(&self) -> &Stats {
        match &self.inner {
            Inner::V1(b) => b.stats(),
            Inner::V2(b) => b.stats(),
        }
    }

    /// How full the chunks of each sequence were, in order of first sight.
    pub fn writer_stats(&self) -> impl Iterator<Item = &WriterStats> {
        match &self.inner {
            Inner::V1(b) => b.writer_stats().iter(),
            Inner::V2(b) => b.writer_stats().iter(),
        }
    }

    /// Which kind it is.
    #[must_use]
    pub fn version(&self) -> Version {
        match &self.inner {
            Inner::V1(_) => Version::V1,
            Inner::V2(_) => Version::V2,
        }
    }

    /// Whether it is a clone, or was made to take nothing more.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// From now on chunks and patches are ignored.
    pub fn set_read_only(&mut self) {
        self.read_only = true;
    }

    /// What it does when full.
    #[must_use]
    pub fn policy(&self) -> Policy {
        match &self.inner {
            Inner::V1(b) => b.policy(),
            Inner::V2(b) => b.policy(),
        }
    }

    /// Whether a chunk ever came.
    #[must_use]
    pub fn has_data(&self) -> bool {
        match &self.inner {
            Inner::V1(b) => b.has_data(),
            Inner::V2(b) => b.has_data(),
        }
    }

    /// Memory it takes: what was written, and what is needed to find it again, bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let index = match &self.inner {
            Inner::V1(b) => b.index_bytes(),
            Inner::V2(b) => b.index_bytes(),
        };
        self.used_bytes().saturating_add(index)
    }

    /// Bytes that were ever written to, which is what the buffer costs in memory.
    #[must_use]
    pub fn used_bytes(&self) -> usize {
        match &self.inner {
            Inner::V1(b) => b.used_bytes(),
            Inner::V2(b) => b.used_bytes(),
        }
    }
}

#[cfg(any(test, fuzzing, feature = "testing"))]
impl TraceBuffer {
    /// From now on, which is best the beginning, a slow twin goes along, and `given` gets what comes out,
    /// as that of buffer `id`.
    ///
    /// Whatever is done then panics if the two do not agree.
    pub fn watch(&mut self, id: abi::ids::BufferId, given: &testing::Given) {
        if self.witness.is_none() && !self.has_data() && !self.read_only {
            self.witness = Some(testing::Witness::new(id, self, given));
        }
    }

    #[cold]
    fn read_witnessed(&mut self, take: &mut impl TakePacket) {
        let Some(witness) = &self.witness else { return };
        let mut take = witness.watch(take);
        match &mut self.inner {
            Inner::V1(b) => b.read_while(&mut take),
            Inner::V2(b) => b.read_while(&mut take),
        }
        take.read();
    }

    fn witness(&self, action: impl FnOnce(&mut dyn testing::Twin)) {
        if let Some(witness) = &self.witness {
            witness.also(self.stats(), action);
        }
    }
}
