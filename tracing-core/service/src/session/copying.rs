//! Buffers on their way into a clone: copied a piece in each turn, while everybody else is served.
//!
//! ```text
//!   clone_group ── begins: from here on it is settled what the clone holds
//!        │ 1 MiB            │ handle: chunks, patches, reads ...       ┌─> finish_clone_if_ready
//!        └──> ... handle_timeout: 1 MiB ... handle_timeout: 1 MiB ... ─┘
//!
//!   source freed, or its buffer emptied:  buffers ── retire ──> donors, until the last copy is done
//! ```
//!
//! The oldest clone comes first: in turns all would be done as late as the last one. What fits into one piece
//! is copied in the turn in which it begins. While a copy is on its way the service is always due, so a shell
//! that does what is due goes on with it.

use std::collections::BTreeMap;

use super::clone::{NO_MEMORY, PendingClone};
use crate::buffer::{TraceBuffer, UnfinishedClone};
use crate::core::Service;
use abi::ids::BufferId;

/// A buffer that a clone takes.
#[derive(Debug)]
pub(super) struct Part {
    /// Boot time of the instant that it shows, ns.
    pub(super) at_ns: u64,
    pub(super) bytes: PartBytes,
}

#[derive(Debug)]
pub(super) enum PartBytes {
    /// The buffer, whole.
    Here(TraceBuffer),
    /// It is being copied.
    Copying(UnfinishedClone, Origin),
}

/// What a part is copied from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// A buffer of the source.
    Buffer(BufferId),
    /// One that the source has no more, by number.
    Donor(u64),
}

impl Origin {
    fn find<'a>(
        self,
        buffers: &'a mut BTreeMap<BufferId, TraceBuffer>,
        donors: &'a mut BTreeMap<u64, TraceBuffer>,
    ) -> Option<&'a mut TraceBuffer> {
        match self {
            Self::Buffer(id) => buffers.get_mut(&id),
            Self::Donor(number) => donors.get_mut(&number),
        }
    }
}

impl Part {
    fn is_copying(&self) -> bool {
        matches!(self.bytes, PartBytes::Copying(..))
    }
}

impl PendingClone {
    /// Whether bytes of it are yet to be copied.
    pub(super) fn is_copying(&self) -> bool {
        self.buffers.values().any(Part::is_copying)
    }
}

impl Service {
    /// Whether a clone waits for its bytes.
    pub(crate) fn is_copying(&self) -> bool {
        self.pending_clones.values().any(PendingClone::is_copying)
    }

    /// Begins to copy a buffer. None: there is no memory.
    pub(super) fn begin_part(&mut self, id: BufferId) -> Option<PartBytes> {
        let unfinished = self.buffers.get_mut(&id)?.begin_clone()?;
        Some(PartBytes::Copying(unfinished, Origin::Buffer(id)))
    }

    /// Goes on with what is copied, as far as one turn may.
    pub(crate) fn copy_piece(&mut self) {
        while self.copied_in_turn < self.clone_piece_bytes {
            let part_of = |clone: &PendingClone| {
                clone.buffers.iter().find(|(_, part)| part.is_copying()).map(|(index, _)| *index)
            };
            let mut clones = self.pending_clones.iter();
            let next = clones.find_map(|(token, clone)| Some((*token, part_of(clone)?)));
            let Some((token, index)) = next else { return };
            if !self.copy_part(token, index) {
                return;
            }
            self.finish_clone_if_ready(token);
        }
    }

    /// Goes on with one part; returns whether that is over.
    fn copy_part(&mut self, token: u64, index: usize) -> bool {
        let room = self.clone_piece_bytes - self.copied_in_turn;
        let Some(clone) = self.pending_clones.get_mut(&token) else { return true };
        let Some(Part { at_ns, bytes: PartBytes::Copying(unfinished, origin) }) =
            clone.buffers.remove(&index)
        else {
            return true;
        };
        let source = origin.find(&mut self.buffers, &mut self.donors);
        let mut whole = None;
        if let Some(source) = source {
            let before = source.continue_clone(&unfinished, 0);
            let left = source.continue_clone(&unfinished, room);
            self.copied_in_turn += before - left;
            if left > 0 {
                let bytes = PartBytes::Copying(unfinished, origin);
                clone.buffers.insert(index, Part { at_ns, bytes });
                return false;
            }
            whole = source.finish_clone(unfinished);
        }
        self.let_go(origin);
        match (whole, self.pending_clones.get_mut(&token)) {
            (Some(buffer), Some(clone)) => {
                let bytes = PartBytes::Here(buffer);
                clone.buffers.insert(index, Part { at_ns, bytes });
            }
            _ => self.end_clone(token, Some(NO_MEMORY)),
        }
        true
    }

    /// Nobody wants these parts any more.
    pub(super) fn abandon_parts(&mut self, parts: BTreeMap<usize, Part>) {
        for part in parts.into_values() {
            let PartBytes::Copying(unfinished, origin) = part.bytes else { continue };
            if let Some(source) = origin.find(&mut self.buffers, &mut self.donors) {
                source.abandon_clone(unfinished);
            }
            self.let_go(origin);
        }
    }

    /// A donor goes with the last copy of it.
    fn let_go(&mut self, origin: Origin) {
        if let Origin::Donor(number) = origin
            && self.donors.get(&number).is_some_and(|donor| donor.unfinished_clones() == 0)
        {
            self.donors.remove(&number);
        }
    }

    /// Takes a buffer away from its session, or puts another one into its place. If it is being copied it
    /// stays until that is done.
    pub(crate) fn retire(&mut self, id: BufferId, instead: Option<TraceBuffer>) {
        let old = match instead {
            Some(fresh) => self.buffers.insert(id, fresh),
            None => self.buffers.remove(&id),
        };
        let Some(old) = old.filter(|old| old.unfinished_clones() > 0) else { return };
        self.last_token += 1;
        let number = self.last_token;
        self.donors.insert(number, old);
        let clones = self.pending_clones.values_mut();
        for part in clones.flat_map(|clone| clone.buffers.values_mut()) {
            if let PartBytes::Copying(_, origin) = &mut part.bytes
                && *origin == Origin::Buffer(id)
            {
                *origin = Origin::Donor(number);
            }
        }
    }
}
