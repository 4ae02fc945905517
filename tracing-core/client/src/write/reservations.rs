//! Reservations: buffers that the service has not named yet. Startup tracing writes for them.
//!
//! ```text
//!                    ┌── bind(buffer) ──> Bound     what was held is committed, later chunks at once
//!   reserve ──> Open ┤
//!                    └── abort ─────────> Aborted   the same, for buffer 0: the service only frees the chunks
//! ```
//!
//! While a reservation is open, its chunks wait here. They keep the state "being written": so their lengths can be
//! patched in place, and they can still travel by value when it turns out that the service shares no memory. What
//! waits needs no more memory than the chunks that there are.
//!
//! Other writers of the arbiter are not held up. (Upstream's arbiter commits nothing at all while a reservation is
//! open: `shared_memory_arbiter_impl.cc`, `fully_bound_`.)

use crate::limits::HELD_CALLBACKS_MAX;
use crate::write::commit::{FlushCallback, LossMark, PendingCommit};
use crate::write::patches::PatchList;
use crate::write::writers::Target;
use abi::ids::{BufferId, ReservationId, WriterId};
use abi::map::SortedMap;
use abi::shm::WritableChunk;
use abi::sync::{Arc, AtomicU64, Ordering};

/// What was written for a reservation that is open.
#[derive(Default)]
pub(super) struct Held {
    commit: PendingCommit,
    /// To be called when the service has the commit.
    callbacks: Vec<FlushCallback>,
}

impl Held {
    /// Takes a chunk that its writer has finished, and patches of earlier ones.
    pub(super) fn add(
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

    /// Takes a mark behind the chunks of its writer.
    pub(super) fn add_mark(&mut self, mark: LossMark) {
        self.commit.add_mark(mark, BufferId::new(0));
    }

    /// How many marks there are.
    pub(super) fn mark_count(&self) -> usize {
        self.commit.mark_count()
    }

    /// Keeps `done`, or returns it if there are too many.
    pub(super) fn add_callback(&mut self, done: FlushCallback) -> Option<FlushCallback> {
        if self.callbacks.len() >= HELD_CALLBACKS_MAX {
            return Some(done);
        }
        self.callbacks.push(done);
        None
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
    Bound(BufferId),
    Aborted { discarded_packets: u64 },
}

/// See the [module](self).
#[derive(Default)]
pub(super) struct Reservations {
    entries: SortedMap<u16, Reservation>,
    open_count: usize,
    /// Packets of all aborted reservations.
    pub(super) discarded_packets: Arc<AtomicU64>,
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

    /// The buffer behind `target`, if it is known; 0 if there will be none.
    pub(super) fn buffer(&self, target: Target) -> Option<BufferId> {
        match target {
            Target::Buffer(buffer) => Some(buffer),
            Target::Reservation(id) => match self.entries.get(&id.get()) {
                Some(Reservation::Open(_)) => None,
                Some(Reservation::Bound(buffer)) => Some(*buffer),
                Some(Reservation::Aborted { .. }) | None => Some(BufferId::new(0)),
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

    /// The buffer of `id` is `buffer` from now on; with 0 it is aborted. Returns what was held, if it was open.
    pub(super) fn resolve(&mut self, id: ReservationId, buffer: BufferId) -> Option<Held> {
        let entry = self.entries.get_mut(&id.get())?;
        let Reservation::Open(held) = entry else { return None };
        let held = core::mem::take(held);
        self.open_count -= 1;
        if buffer.is_none() {
            *entry = Reservation::Aborted { discarded_packets: 0 };
            self.count_discarded(Target::Reservation(id), held.commit.packet_count());
        } else {
            *entry = Reservation::Bound(buffer);
        }
        Some(held)
    }

    /// Aborts all that are open, and returns what they held.
    pub(super) fn abort_all(&mut self) -> Vec<Held> {
        let ids: Vec<_> = self.entries.keys().copied().collect();
        let none = BufferId::new(0);
        ids.into_iter().filter_map(|id| self.resolve(ReservationId::new(id), none)).collect()
    }

    /// Packets for `target` are discarded, if it is a reservation that was aborted.
    pub(super) fn count_discarded(&mut self, target: Target, packets: u64) {
        let Target::Reservation(id) = target else { return };
        if let Some(Reservation::Aborted { discarded_packets }) = self.entries.get_mut(&id.get()) {
            *discarded_packets += packets;
            self.discarded_packets.fetch_add(packets, Ordering::Relaxed);
        }
    }

    /// Packets for `id` that were discarded.
    pub(super) fn discarded(&self, id: ReservationId) -> u64 {
        match self.entries.get(&id.get()) {
            Some(Reservation::Aborted { discarded_packets }) => *discarded_packets,
            _ => 0,
        }
    }
}
