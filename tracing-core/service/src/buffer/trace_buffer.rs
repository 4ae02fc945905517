//! A buffer of a session: one of the two versions, or a buffer that a test has wrapped.

use core::fmt;

use super::ring::{Common, Ring as _};
use super::snapshot::FaultIn;
use super::stats::{Histograms, Stats, WriterStats};
use super::types::{
    BufferLimits, ChunkMeta, ChunkPatches, PacketRef, Policy, SequenceEnd, SequenceKey, TakePacket,
    Version,
};
use super::{Remains, index_size, v1, v2};

/// One buffer of one session.
#[derive(Debug)]
pub struct TraceBuffer {
    pub(super) inner: Inner,
    pub(super) read_only: bool,
}

/// The kinds of buffers. A tag of its own is compared faster than one that hides in a field.
#[derive(Debug)]
#[repr(u8)]
pub(super) enum Inner {
    V1(v1::Buffer),
    V2(v2::Buffer),
    /// See [`WrapBuffer`].
    Wrapped(Box<dyn WrapBuffer>),
}

/// Calls a method of the buffer inside: `$call` if it is of either version, `$wrapped` if a test has wrapped it. The
/// compiler can inline through a `match`, but not through a trait object.
macro_rules! on_buffer {
    ($inner:expr, $buffer:ident => $call:expr) => {
        on_buffer!($inner, $buffer => $call, $buffer => $call)
    };
    ($inner:expr, $buffer:ident => $call:expr, $wrapper:ident => $wrapped:expr) => {
        match $inner {
            Inner::V1($buffer) => $call,
            Inner::V2($buffer) => $call,
            Inner::Wrapped($wrapper) => $wrapped,
        }
    };
}

impl TraceBuffer {
    /// A buffer of `bytes` bytes, rounded up: to 16 (V1) or 4096 (V2). Memory is reserved, and used as data comes in.
    ///
    /// None if there is no such memory, or for 0 or more than 2^32 - 1 bytes.
    #[must_use]
    pub fn new(bytes: usize, policy: Policy, version: Version) -> Option<Self> {
        Self::with_limits(bytes, policy, version, BufferLimits::DEFAULT)
    }

    /// The same with limits of the caller's: tests reach small ones with little data.
    #[must_use]
    pub(crate) fn with_limits(
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
        on_buffer!(&mut self.inner,
            b => b.copy_chunk(meta, payload),
            w => copy_chunk_wrapped(&mut **w, meta, payload))
    }

    /// Patches a chunk.
    ///
    /// Returns whether all could be applied. The chunk may be gone (evicted, or never here), which
    /// is normal, or the offset outside of it; those before the bad one stay applied.
    pub fn patch(&mut self, patches: &ChunkPatches<'_>) -> bool {
        if self.read_only {
            return false;
        }
        on_buffer!(&mut self.inner, b => b.patch(patches))
    }

    /// Counts a chunk that broke a rule before it came here.
    pub fn note_violation(&mut self) {
        if self.read_only {
            return;
        }
        on_buffer!(&mut self.inner,
            b => b.note_violation(),
            w => w.note_violation())
    }

    /// Counts what another buffer refused, too, whose place this one takes.
    pub fn add_refused(&mut self, of: &Stats) {
        on_buffer!(&mut self.inner,
            b => b.common_mut().stats.add_refused(of),
            w => w.add_refused(of))
    }

    /// Whether [`take_quarters`](Self::take_quarters) would return some.
    #[inline]
    pub(crate) fn has_quarters(&self) -> bool {
        self.common().has_quarters()
    }

    /// How many quarters of a ring chunks filled since this last returned some.
    pub(crate) fn take_quarters(&mut self) -> u64 {
        self.common_mut().take_quarters()
    }

    /// How the chunks of a sequence end: what is left of a writer whose producer is gone.
    pub fn sequence_end(&mut self, sequence: SequenceKey) -> SequenceEnd {
        on_buffer!(&mut self.inner,
            b => b.sequence_end(sequence),
            w => w.inner_mut().sequence_end(sequence))
    }

    /// Begins a batch of [`next_packet`](Self::next_packet) or [`read_while`](Self::read_while).
    pub fn begin_read(&mut self) {
        on_buffer!(&mut self.inner, b => b.begin_read());
    }

    /// The next packet that is whole. It is consumed: it will not be given again.
    ///
    /// None when everything was read that can be read now; also when the buffer changed since
    /// [`begin_read`](Self::begin_read).
    #[inline]
    pub fn next_packet(&mut self) -> Option<PacketRef<'_>> {
        on_buffer!(&mut self.inner, b => b.next_packet())
    }

    /// Gives the packets that [`next_packet`](Self::next_packet) would give, one after the other, to `take`,
    /// until that returns false or there are none. Faster than one call for each packet.
    #[inline]
    pub fn read_while(&mut self, take: &mut impl TakePacket) {
        on_buffer!(&mut self.inner, b => b.read_while(take), w => match take.as_dyn() {
            Some(take) => w.read_while(take),
            None => while w.next_packet().is_some_and(|packet| take.take(packet)) {},
        });
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

    /// It takes chunks and patches again.
    pub(crate) fn set_writable(&mut self) {
        self.read_only = false;
    }

    /// Whether a chunk was ever stored.
    #[must_use]
    pub fn has_data(&self) -> bool {
        self.common().has_data
    }

    /// Memory of the written part, of the index, and of the histograms, bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let own = self.used_bytes().saturating_add(self.common().histograms.memory_bytes());
        own.saturating_add(self.index_bytes())
    }

    /// What a buffer of `bytes` can ever take at most, bytes: with its index and its histograms.
    #[must_use]
    pub fn memory_bytes_max(bytes: usize) -> usize {
        // Those of version 2 are rounded up to so many.
        let bytes = bytes.checked_next_multiple_of(4096).unwrap_or(bytes);
        let own = bytes.saturating_add(Histograms::bytes_max(bytes));
        own.saturating_add(index_size::bytes_max(bytes))
    }

    /// What this buffer takes at most from now on, bytes, if it gets no more chunks. Reading makes histograms.
    #[must_use]
    pub(crate) fn bytes_left(&self) -> usize {
        self.bytes_with(&self.common().histograms)
    }

    /// What a copy of it takes at most, bytes.
    #[must_use]
    pub(crate) fn copied_bytes(&self) -> usize {
        self.bytes_with(&self.common().histograms.emptied())
    }

    fn bytes_with(&self, histograms: &Histograms) -> usize {
        let own = self.used_bytes().saturating_add(self.index_bytes_max());
        own.saturating_add(histograms.bytes_with(self.places()))
    }

    /// Places for sequences in the index.
    fn places(&self) -> usize {
        on_buffer!(&self.inner, b => b.places(), w => w.inner().places())
    }

    /// What the index takes at most now, bytes.
    #[must_use]
    pub(crate) fn index_bytes_max(&self) -> usize {
        on_buffer!(&self.inner, b => b.index_bytes_max(), w => w.inner().index_bytes_max())
    }

    /// Records that were removed so far to make space for others, and sequences looked at to forget some.
    #[must_use]
    #[inline]
    pub(crate) fn evicted(&self) -> u64 {
        self.common().evicted
    }

    /// Memory of the index, bytes.
    #[must_use]
    pub fn index_bytes(&self) -> usize {
        on_buffer!(&self.inner, b => b.index_bytes(), w => w.inner().index_bytes())
    }

    /// Bytes of the written part, which takes memory.
    #[must_use]
    pub fn used_bytes(&self) -> usize {
        self.common().memory.used()
    }

    /// Goes on with memory that another buffer of this size had. It must be empty so far.
    pub(crate) fn use_memory(&mut self, bytes: Vec<u8>) {
        debug_assert_eq!(self.used_bytes(), 0, "it has data");
        on_buffer!(&mut self.inner, b => b.common_mut().memory.reuse(bytes), _w => ());
    }

    /// What is to be freed in pieces; nothing of a buffer that a test has wrapped: the wrapper looks at it when it is
    /// dropped. The rest of it is dropped.
    #[must_use]
    pub(crate) fn into_remains(self) -> Remains {
        on_buffer!(self.inner, b => b.into_remains(), _w => Remains::default())
    }

    pub(super) fn common(&self) -> &Common {
        on_buffer!(&self.inner, b => b.common(), w => w.inner().common())
    }

    pub(super) fn common_mut(&mut self) -> &mut Common {
        on_buffer!(&mut self.inner, b => b.common_mut(), w => w.inner_mut().common_mut())
    }
}

/// Sees each operation that changes or reads the buffer inside it, and has to pass it on.
///
/// Simulations check a service whose buffers are wrapped: `CheckedBuffer` compares each with a reference buffer. The
/// service sees no difference, and buffers without a wrapper are not slower. Everything that is not
/// listed here goes to the buffer inside, so that a wrapper needs nothing but the public interface.
#[doc(hidden)]
pub trait WrapBuffer: fmt::Debug + Send + Sync {
    /// The buffer inside.
    fn inner(&self) -> &TraceBuffer;
    /// The buffer inside.
    fn inner_mut(&mut self) -> &mut TraceBuffer;
    /// As [`TraceBuffer::copy_chunk`].
    fn copy_chunk(&mut self, meta: &ChunkMeta, payload: &[u8]);
    /// As [`TraceBuffer::patch`].
    fn patch(&mut self, patches: &ChunkPatches<'_>) -> bool;
    /// As [`TraceBuffer::note_violation`].
    fn note_violation(&mut self);
    /// As [`TraceBuffer::add_refused`].
    fn add_refused(&mut self, of: &Stats);
    /// As [`TraceBuffer::begin_read`].
    fn begin_read(&mut self);
    /// As [`TraceBuffer::next_packet`].
    fn next_packet(&mut self) -> Option<PacketRef<'_>>;
    /// As [`TraceBuffer::read_while`].
    fn read_while(&mut self, take: &mut dyn TakePacket);
    /// Wraps a clone of the buffer inside that was just begun.
    fn wrap_clone(&self, clone: TraceBuffer) -> TraceBuffer;
}

/// Out of line: few buffers are wrapped.
#[cold]
#[inline(never)]
fn copy_chunk_wrapped(wrapper: &mut dyn WrapBuffer, meta: &ChunkMeta, payload: &[u8]) {
    wrapper.copy_chunk(meta, payload);
}

impl TraceBuffer {
    /// A buffer with a wrapper around it.
    #[doc(hidden)]
    #[must_use]
    pub fn wrapped(wrapper: Box<dyn WrapBuffer>) -> Self {
        let read_only = wrapper.inner().is_read_only();
        Self { inner: Inner::Wrapped(wrapper), read_only }
    }
}
