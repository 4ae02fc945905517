//! Read-only clones: copied at once, or in pieces while their source changes.
//!
//! ```text
//!   begin_clone ──> counters, sequences, offsets of chunks: copied   │ the source takes chunks and patches,
//!   continue_clone  a piece of the bytes                             │ and is read, between any two of these
//!   continue_clone  the next one ...                                 │
//!   finish_clone ─> the clone: the source as it was when it began   <┘
//! ```

use super::memory::Memory;
use super::ring::Ring as _;
use super::snapshot::Snapshot;
use super::trace_buffer::{Inner, TraceBuffer};

/// A clone that has everything but its bytes. To be given back to its source:
/// [`TraceBuffer::finish_clone`], [`TraceBuffer::abandon_clone`].
#[derive(Debug)]
#[must_use = "its source keeps the copied bytes"]
pub struct UnfinishedClone {
    clone: TraceBuffer,
    number: u64,
}

impl TraceBuffer {
    /// A copy of what is in this buffer now. It is read independently and never changes: it takes no
    /// chunks and no patches. What was read from this buffer before is not in it.
    ///
    /// Its counters continue from those of this buffer, except those that count reading; histograms and
    /// [`has_data`](Self::has_data) start anew. None if there is no memory.
    #[must_use]
    pub fn clone_read_only(&self) -> Option<Self> {
        Some(self.clone_with(self.common().memory.try_clone()?))
    }

    /// Begins what [`clone_read_only`](Self::clone_read_only) does at once: the clone will be what this buffer
    /// is now, whatever happens to it meanwhile. Several clones may be unfinished at a time.
    ///
    /// None if there is no memory.
    pub fn begin_clone(&mut self) -> Option<UnfinishedClone> {
        let common = self.common_mut();
        let (number, memory) = common.memory.begin_snapshot(common.limits.clone)?;
        Some(UnfinishedClone { clone: self.clone_with(memory), number })
    }

    /// Copies about `bytes` more of a clone of this buffer. Returns how many bytes are not copied yet.
    pub fn continue_clone(&mut self, clone: &UnfinishedClone, bytes: usize) -> usize {
        self.common_mut().memory.continue_snapshot(clone.number, bytes)
    }

    /// Copies the rest of a clone of this buffer, and returns it. None if there was no memory to keep what
    /// changed meanwhile.
    #[must_use]
    pub fn finish_clone(&mut self, clone: UnfinishedClone) -> Option<Self> {
        let UnfinishedClone { mut clone, number } = clone;
        let memory = &mut self.common_mut().memory;
        memory.continue_snapshot(number, usize::MAX);
        clone.common_mut().memory.fill(memory.take_snapshot(number)?)?;
        Some(clone)
    }

    /// Ends an unfinished clone of this buffer. Returns the memory with what was copied so far: to free it may take a
    /// while.
    pub fn abandon_clone(&mut self, clone: UnfinishedClone) -> Vec<u8> {
        let snapshot = self.common_mut().memory.take_snapshot(clone.number);
        snapshot.map(Snapshot::into_copied).unwrap_or_default()
    }

    /// How many clones were begun that are neither finished nor abandoned.
    #[must_use]
    pub fn unfinished_clones(&self) -> usize {
        self.common().memory.snapshots()
    }

    fn clone_with(&self, memory: Memory) -> Self {
        let inner = match &self.inner {
            Inner::V1(b) => Inner::V1(b.clone_with(memory)),
            Inner::V2(b) => Inner::V2(b.clone_with(memory)),
            Inner::Wrapped(b) => return b.wrap_clone(b.inner().clone_with(memory)),
        };
        Self { inner, read_only: true }
    }
}
