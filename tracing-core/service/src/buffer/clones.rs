//! Read-only clones: at once, or in pieces while their source goes on.
//!
//! ```text
//!   begin_clone ──> counters, sequences, offsets of chunks: copied   │ the source takes chunks and patches,
//!   continue_clone  a piece of the bytes                             │ and is read, between any two of these
//!   continue_clone  the next one ...                                 │
//!   finish_clone ─> the clone: the source as it was when it began   <┘
//! ```

#[cfg(any(test, fuzzing, feature = "testing"))]
use super::testing;
use super::{Inner, TraceBuffer};
use crate::buffer::memory::Memory;

/// A clone that has everything but its bytes. Its source has to be told what becomes of it:
/// [`TraceBuffer::finish_clone`], [`TraceBuffer::abandon_clone`].
#[derive(Debug)]
#[must_use = "its source keeps what was copied"]
pub struct UnfinishedClone {
    clone: TraceBuffer,
    number: u64,
}

impl TraceBuffer {
    /// All that is in here now, to be read independently of this buffer and never changed: it takes no
    /// chunks and no patches. What was read here already does not come again.
    ///
    /// Its counters go on from those of this buffer, but for what counts reading; histograms and
    /// [`has_data`](Self::has_data) start anew. None if there is no memory.
    #[must_use]
    pub fn clone_read_only(&self) -> Option<Self> {
        let inner = match &self.inner {
            Inner::V1(b) => Inner::V1(b.try_clone()?),
            Inner::V2(b) => Inner::V2(b.try_clone()?),
        };
        Some(self.clone_of(inner))
    }

    /// Begins what [`clone_read_only`](Self::clone_read_only) does at once: the clone will be what this buffer
    /// is now, whatever happens to it meanwhile. There may be several clones on their way.
    ///
    /// None if there is no memory.
    pub fn begin_clone(&mut self) -> Option<UnfinishedClone> {
        let (inner, number) = match &mut self.inner {
            Inner::V1(b) => b.begin_clone().map(|(b, number)| (Inner::V1(b), number))?,
            Inner::V2(b) => b.begin_clone().map(|(b, number)| (Inner::V2(b), number))?,
        };
        Some(UnfinishedClone { clone: self.clone_of(inner), number })
    }

    /// Copies about `bytes` more of a clone of this buffer. Returns how many are left to be copied.
    pub fn continue_clone(&mut self, clone: &UnfinishedClone, bytes: usize) -> usize {
        self.memory_mut().continue_snapshot(clone.number, bytes)
    }

    /// A clone of this buffer, complete: what is left is copied now. None if there was no memory to keep what
    /// changed meanwhile.
    #[must_use]
    pub fn finish_clone(&mut self, clone: UnfinishedClone) -> Option<Self> {
        let UnfinishedClone { mut clone, number } = clone;
        self.memory_mut().continue_snapshot(number, usize::MAX);
        let snapshot = self.memory_mut().take_snapshot(number)?;
        clone.memory_mut().fill(snapshot)?;
        Some(clone)
    }

    /// Forgets a clone of this buffer that nobody wants any more.
    pub fn abandon_clone(&mut self, clone: UnfinishedClone) {
        self.memory_mut().take_snapshot(clone.number);
    }

    /// How many clones were begun that are neither finished nor abandoned.
    #[must_use]
    pub fn unfinished_clones(&self) -> usize {
        match &self.inner {
            Inner::V1(b) => b.memory().snapshots(),
            Inner::V2(b) => b.memory().snapshots(),
        }
    }

    fn memory_mut(&mut self) -> &mut Memory {
        match &mut self.inner {
            Inner::V1(b) => b.memory_mut(),
            Inner::V2(b) => b.memory_mut(),
        }
    }

    fn clone_of(&self, inner: Inner) -> Self {
        Self {
            inner,
            read_only: true,
            #[cfg(any(test, fuzzing, feature = "testing"))]
            witness: self.witness.as_ref().map(testing::Witness::of_clone),
        }
    }
}
