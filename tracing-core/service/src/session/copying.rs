//! Copying the buffers of a clone: a piece in each turn, so that other peers are served between the pieces.
//!
//! ```text
//!   CloneGroup ── begins: from here on it is settled what the clone holds
//!        │ 1 MiB            │ handle: chunks, patches, reads ...       ┌─> FinishClone
//!        └──> ... handle_timeout: 1 MiB ... handle_timeout: 1 MiB ... ─┘
//!
//!   source freed, or its buffer emptied:  the buffer is detached, until the last copy is done
//! ```
//!
//! The oldest clone comes first: if clones took turns, all would end as late as the last one. What fits into one
//! piece is copied in the turn in which it begins. While there is something to copy, the service is always due, so
//! the next timeout copies the next piece.

use crate::buffer::{TraceBuffer, UnfinishedClone};
use crate::buffers::{Buffers, CopySource};
use abi::ids::BufferId;
use abi::map::SortedMap;

/// The buffers that a clone takes, by index in the config.
pub(crate) type Parts = SortedMap<usize, Part>;

/// A buffer that a clone takes.
#[derive(Debug)]
pub(crate) struct Part {
    /// Boot time of the instant that it shows, ns.
    pub(crate) at_ns: u64,
    bytes: PartBytes,
}

/// The buffer that is in the place of one that a clone took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// The fresh one that came there.
    Fresh,
    /// Perhaps another one: what was taken would come behind newer packets.
    Other,
}

#[derive(Debug)]
enum PartBytes {
    Whole(TraceBuffer),
    Taken(TraceBuffer, Place),
    Copying(UnfinishedClone, CopySource),
}

/// The result of copying a piece.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Copied {
    /// More pieces are needed.
    Partly,
    Whole,
    /// There was no memory.
    Failed,
}

impl Part {
    /// Begins to copy a buffer. None: there is no memory.
    pub(crate) fn begin_copy(id: BufferId, at_ns: u64, buffers: &mut Buffers) -> Option<Self> {
        let unfinished = buffers.get_mut(id)?.begin_clone()?;
        Some(Self { at_ns, bytes: PartBytes::Copying(unfinished, CopySource::Buffer(id)) })
    }

    /// Takes a whole buffer of a session, which gets a fresh one. None: there is no memory.
    pub(crate) fn take(
        id: BufferId,
        config: &protos::TraceConfigBufferConfig,
        at_ns: u64,
        buffers: &mut Buffers,
    ) -> Option<Self> {
        let mut taken = buffers.replace(id, buffers.fresh(id, config).ok()?)?;
        taken.set_read_only();
        Some(Self { at_ns, bytes: PartBytes::Taken(taken, Place::Fresh) })
    }

    /// The buffers of the source are taken or emptied again.
    pub(crate) fn note_place_taken(&mut self) {
        if let PartBytes::Taken(_, place) = &mut self.bytes {
            *place = Place::Other;
        }
    }

    pub(crate) fn is_copying(&self) -> bool {
        matches!(self.bytes, PartBytes::Copying(..))
    }

    /// Copies up to `bytes_left` bytes, and subtracts what was copied from it.
    pub(crate) fn copy_piece(
        self,
        bytes_left: &mut usize,
        buffers: &mut Buffers,
    ) -> (Copied, Option<Self>) {
        let at_ns = self.at_ns;
        let (unfinished, source) = match self.bytes {
            PartBytes::Copying(unfinished, source) => (unfinished, source),
            whole @ (PartBytes::Whole(_) | PartBytes::Taken(..)) => {
                return (Copied::Whole, Some(Self { at_ns, bytes: whole }));
            }
        };
        let Some(buffer) = buffers.copy_source(source) else { return (Copied::Failed, None) };
        let before = buffer.continue_clone(&unfinished, 0);
        let left = buffer.continue_clone(&unfinished, *bytes_left);
        *bytes_left = bytes_left.saturating_sub(before.saturating_sub(left));
        if left > 0 {
            let bytes = PartBytes::Copying(unfinished, source);
            return (Copied::Partly, Some(Self { at_ns, bytes }));
        }
        let whole = buffer.finish_clone(unfinished);
        buffers.release_copy_source(source);
        match whole {
            Some(buffer) => (Copied::Whole, Some(Self { at_ns, bytes: PartBytes::Whole(buffer) })),
            None => (Copied::Failed, None),
        }
    }

    /// Whether its source lacks packets that it took.
    pub(crate) fn took_data(&self) -> bool {
        matches!(&self.bytes, PartBytes::Taken(buffer, _) if buffer.has_data())
    }

    /// The buffer, if all of it is copied.
    pub(crate) fn into_buffer(self) -> Option<TraceBuffer> {
        match self.bytes {
            PartBytes::Whole(buffer) | PartBytes::Taken(buffer, _) => Some(buffer),
            PartBytes::Copying(..) => None,
        }
    }

    /// The clone is given up. What was taken goes back to the place of buffer `id` of the source, if nothing was stored
    /// there meanwhile. Returns whether something of the source is lost.
    pub(crate) fn abandon(self, id: Option<BufferId>, buffers: &mut Buffers) -> bool {
        let (unfinished, source) = match self.bytes {
            PartBytes::Copying(unfinished, source) => (unfinished, source),
            PartBytes::Whole(buffer) => {
                buffers.retire(buffer);
                return false;
            }
            PartBytes::Taken(buffer, place) => {
                let id = id.filter(|_| place == Place::Fresh);
                return Self::put_back(buffer, id, buffers);
            }
        };
        if let Some(buffer) = buffers.copy_source(source) {
            let memory = buffer.abandon_clone(unfinished);
            buffers.retire_memory(memory);
        }
        buffers.release_copy_source(source);
        false
    }

    /// Returns whether something is lost.
    fn put_back(mut taken: TraceBuffer, id: Option<BufferId>, buffers: &mut Buffers) -> bool {
        let is_empty = |id: &BufferId| buffers.get(*id).is_some_and(|fresh| !fresh.has_data());
        let Some(id) = id.filter(is_empty) else {
            let is_lost = taken.has_data();
            buffers.retire(taken);
            return is_lost;
        };
        taken.set_writable();
        if let Some(fresh) = buffers.replace(id, taken) {
            if let Some(back) = buffers.get_mut(id) {
                back.add_refused(fresh.stats());
            }
            buffers.retire(fresh);
        }
        false
    }

    /// The buffer that it is copied from is detached, and has this number now.
    pub(crate) fn note_source_detached(&mut self, id: BufferId, number: u64) {
        if let PartBytes::Copying(_, source) = &mut self.bytes
            && *source == CopySource::Buffer(id)
        {
            *source = CopySource::Detached(number);
        }
    }
}
