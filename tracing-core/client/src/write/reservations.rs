//! Reservations: buffers that the service has not named yet. Startup tracing writes for them.
//!
//! ```text
//!                    ┌── bind(buffer) ──> Resolved(buffer)   what was held is committed, later chunks at once
//!   reserve ──> Open ┤
//!                    └── abort ─────────> Resolved(0)        the same, but the service only frees the chunks
//! ```
//!
//! While a reservation is open, its chunks wait here. They keep the state "being written": so their lengths can be
//! patched in place, and they can still travel by value when it turns out that the service shares no memory. What
//! waits needs no more memory than the chunks that there are.
//!
//! Other writers of the arbiter are not held up. (Upstream's arbiter commits nothing at all while a reservation is
//! open: `shared_memory_arbiter_impl.cc`, `fully_bound_`.)

use crate::limits::HELD_CALLBACKS_MAX;
use crate::write::commit::FlushCallback;
use crate::write::commit::PendingCommit;
use crate::write::patches::PatchList;
use crate::write::writers::Target;
use abi::ids::{BufferId, ReservationId, WriterId};
use abi::map::SortedMap;
use abi::shm::WritableChunk;

/// What was written for a reservation that is open.
#[derive(Default)]
pub(super) struct Held {
    commit: PendingCommit,
    /// To be called when the service has the commit.
    pub(super) callbacks: Vec<FlushCallback>,
}

impl Held {
    /// Takes a chunk that its writer has finished, and patches of earlier ones.
    pub(super) fn update(
        &mut self,
        writer: WriterId,
        chunk: Option<WritableChunk>,
        patches: &mut PatchList,
    ) {
        if let Some(chunk) = chunk {
            self.commit.add_chunk(chunk, BufferId::new(0), true);
        }
        while let Some(patch) = patches.pop_ready() {
            // All earlier chunks of the writer are here.
            let _ = self.commit.patch_held(writer, patch, true);
        }
    }

    /// Keeps `done`, or returns it if there are too many.
    pub(super) fn add_callback(&mut self, done: FlushCallback) -> Option<FlushCallback> {
        if self.callbacks.len() >= HELD_CALLBACKS_MAX {
            return Some(done);
        }
        self.callbacks.push(done);
        None
    }

    pub(super) fn packet_count(&self) -> u64 {
        self.commit.packet_count()
    }

    /// Moves the chunks into `commit`, for `buffer`, and returns the callbacks.
    pub(super) fn move_to(
        self,
        commit: &mut PendingCommit,
        buffer: BufferId,
    ) -> Vec<FlushCallback> {
        commit.append(self.commit, buffer);
        self.callbacks
    }
}

enum Reservation {
    Open(Held),
    Resolved(BufferId),
}

/// See the [module](self).
#[derive(Default)]
pub(super) struct Reservations {
    entries: SortedMap<u16, Reservation>,
    open_count: usize,
}

impl Reservations {
    /// A new reservation, unless all numbers are used.
    pub(super) fn reserve(&mut self) -> Option<ReservationId> {
        let last = self.entries.last_key_value().map_or(0, |(id, _)| *id);
        let id = last.checked_add(1)?;
        self.entries.insert(id, Reservation::Open(Held::default()));
        self.open_count += 1;
        Some(ReservationId::new(id))
    }

    pub(super) fn any_open(&self) -> bool {
        self.open_count > 0
    }

    /// The buffer behind `target`, if it is known.
    pub(super) fn buffer(&self, target: Target) -> Option<BufferId> {
        match target {
            Target::Buffer(buffer) => Some(buffer),
            Target::Reservation(id) => match self.entries.get(&id.get()) {
                Some(Reservation::Open(_)) => None,
                Some(Reservation::Resolved(buffer)) => Some(*buffer),
                None => Some(BufferId::new(0)),
            },
        }
    }

    /// What is held for `target`, if that is an open reservation.
    pub(super) fn held(&mut self, target: Target) -> Option<&mut Held> {
        let Target::Reservation(id) = target else { return None };
        match self.entries.get_mut(&id.get()) {
            Some(Reservation::Open(held)) => Some(held),
            _ => None,
        }
    }

    /// The buffer of `id` is `buffer` from now on. Returns what was held, if the reservation was open.
    pub(super) fn resolve(&mut self, id: ReservationId, buffer: BufferId) -> Option<Held> {
        let entry = self.entries.get_mut(&id.get())?;
        if let Reservation::Resolved(_) = entry {
            return None;
        }
        self.open_count -= 1;
        match core::mem::replace(entry, Reservation::Resolved(buffer)) {
            Reservation::Open(held) => Some(held),
            Reservation::Resolved(_) => None,
        }
    }

    /// Aborts all that are open, and returns what they held.
    pub(super) fn abort_all(&mut self) -> Vec<Held> {
        let ids: Vec<_> = self.entries.keys().copied().collect();
        let none = BufferId::new(0);
        ids.into_iter().filter_map(|id| self.resolve(ReservationId::new(id), none)).collect()
    }
}
