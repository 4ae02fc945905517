//! A seam for tests: a buffer around a buffer.

use core::fmt;

use super::{ChunkMeta, Inner, PacketRef, Patch, TakePacket, TraceBuffer};
use abi::ids::{ChunkId, ProducerId, WriterId};

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
    fn patch(
        &mut self,
        producer: ProducerId,
        writer: WriterId,
        chunk: ChunkId,
        patches: &[Patch],
        more: bool,
    ) -> bool;
    /// As [`TraceBuffer::begin_read`].
    fn begin_read(&mut self);
    /// As [`TraceBuffer::next_packet`].
    fn next_packet(&mut self) -> Option<PacketRef<'_>>;
    /// As [`TraceBuffer::read_while`].
    fn read_while(&mut self, take: &mut dyn TakePacket);
    /// Wraps a clone of the buffer inside that was just begun.
    fn wrap_clone(&self, clone: TraceBuffer) -> TraceBuffer;
}

impl TraceBuffer {
    #[cold]
    #[inline(never)]
    pub(super) fn copy_chunk_wrapped(&mut self, meta: &ChunkMeta, payload: &[u8]) {
        if let Inner::Wrapped(wrapper) = &mut self.inner {
            wrapper.copy_chunk(meta, payload);
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn patch_wrapped(
        &mut self,
        producer: ProducerId,
        writer: WriterId,
        chunk: ChunkId,
        patches: &[Patch],
        more: bool,
    ) -> bool {
        match &mut self.inner {
            Inner::Wrapped(wrapper) => wrapper.patch(producer, writer, chunk, patches, more),
            _ => false,
        }
    }

    /// A buffer with a wrapper around it.
    #[doc(hidden)]
    #[must_use]
    pub fn wrapped(wrapper: Box<dyn WrapBuffer>) -> Self {
        let read_only = wrapper.inner().is_read_only();
        Self { inner: Inner::Wrapped(wrapper), read_only }
    }
}
