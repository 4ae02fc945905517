//! The writers of an arbiter: their ids, and where their packets go.

use abi::ids::{BufferId, ReservationId, WriterId};
use abi::map::SortedMap;
use abi::sync::{Arc, AtomicU64, Ordering};

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
    dropped: DropCounter,
    /// Of these, what the service was told of.
    dropped_told: u64,
}

/// How many packets a writer dropped. The writer counts, and its arbiter tells the service.
pub(super) type DropCounter = Arc<AtomicU64>;

impl Writer {
    /// The buffer, and the packets that were dropped and are not told yet, which count as told from now on. None if
    /// there are none, or `buffer` does not know where they belong.
    fn take_untold(
        &mut self,
        buffer: impl Fn(Target) -> Option<BufferId>,
    ) -> Option<(BufferId, u64)> {
        let dropped = self.dropped.load(Ordering::Relaxed);
        let untold = dropped.saturating_sub(self.dropped_told);
        let buffer = (untold > 0).then(|| buffer(self.target)).flatten()?;
        self.dropped_told = dropped;
        Some((buffer, untold))
    }
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
    pub(super) fn add(&mut self, target: Target) -> Option<(WriterId, DropCounter)> {
        if self.entries.len() >= usize::from(WriterId::MAX) {
            return None;
        }
        loop {
            self.last = if self.last >= WriterId::MAX { 1 } else { self.last + 1 };
            if !self.entries.contains_key(&self.last) {
                let dropped = DropCounter::default();
                let writer = Writer {
                    target,
                    has_held_chunks: false,
                    is_gone: false,
                    dropped: dropped.clone(),
                    dropped_told: 0,
                };
                self.entries.insert(self.last, writer);
                return Some((WriterId::new(self.last), dropped));
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

    /// Calls `tell` with the packets that writers dropped and the service was not told of. `buffer` says where the
    /// packets of a writer go, if that is known.
    pub(super) fn tell_drops(
        &mut self,
        buffer: impl Fn(Target) -> Option<BufferId>,
        mut tell: impl FnMut(BufferId, u64),
    ) {
        for (_, writer) in self.entries.iter_mut() {
            if let Some((buffer, packets)) = writer.take_untold(&buffer) {
                tell(buffer, packets);
            }
        }
    }

    /// The same for one writer.
    pub(super) fn untold_drops_of(
        &mut self,
        id: WriterId,
        buffer: impl Fn(Target) -> Option<BufferId>,
    ) -> Option<(BufferId, u64)> {
        self.entries.get_mut(&id.get())?.take_untold(buffer)
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
