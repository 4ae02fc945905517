//! The writers of an arbiter: their ids, and where their packets go.

use abi::ids::{BufferId, ReservationId, WriterId};
use abi::map::SortedMap;

/// Where the packets of a writer go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A buffer of the service.
    Buffer(BufferId),
    /// A buffer that the service names later; see [`reservations`](super::reservations).
    Reservation(ReservationId),
}

impl From<BufferId> for Target {
    fn from(buffer: BufferId) -> Self {
        Self::Buffer(buffer)
    }
}

impl From<ReservationId> for Target {
    fn from(reservation: ReservationId) -> Self {
        Self::Reservation(reservation)
    }
}

struct Writer {
    target: Target,
    /// The writer has returned a chunk for a reservation that is open.
    has_held_chunks: bool,
    /// The writer is gone, but a chunk of it has not reached the service: a new writer with its id would continue it.
    is_gone: bool,
}

/// See the [module](self).
#[derive(Default)]
pub(super) struct Writers {
    entries: SortedMap<u16, Writer>,
    last: u16,
}

impl Writers {
    /// The next free id after the last one given out. A freed id is reused as late as possible, because the
    /// message that unregisters it may still be on its way.
    pub(super) fn add(&mut self, target: Target) -> Option<WriterId> {
        if self.entries.len() >= usize::from(WriterId::MAX) {
            return None;
        }
        loop {
            self.last = if self.last >= WriterId::MAX { 1 } else { self.last + 1 };
            if !self.entries.contains_key(&self.last) {
                let writer = Writer { target, has_held_chunks: false, is_gone: false };
                self.entries.insert(self.last, writer);
                return Some(WriterId::new(self.last));
            }
        }
    }

    pub(super) fn target(&self, id: WriterId) -> Option<Target> {
        self.entries.get(&id.get()).map(|writer| writer.target)
    }

    /// The writer has returned a chunk for a reservation that is open.
    pub(super) fn set_held_chunks(&mut self, id: WriterId) {
        if let Some(writer) = self.entries.get_mut(&id.get()) {
            writer.has_held_chunks = true;
        }
    }

    /// The writer is gone.
    pub(super) fn remove(&mut self, id: WriterId) {
        match self.entries.get_mut(&id.get()) {
            Some(writer) if writer.has_held_chunks => writer.is_gone = true,
            _ => drop(self.entries.remove(&id.get())),
        }
    }

    /// The chunks of `reservation` are on their way to the service. Returns its writers that still write.
    pub(super) fn resolve(&mut self, reservation: ReservationId) -> Vec<WriterId> {
        let is_of = |writer: &Writer| writer.target == Target::Reservation(reservation);
        self.entries.retain(|_, writer| !(writer.is_gone && is_of(writer)));
        let mut live = Vec::new();
        for (id, writer) in self.entries.iter_mut() {
            if is_of(writer) {
                writer.has_held_chunks = false;
                live.push(WriterId::new(*id));
            }
        }
        live
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }
}
