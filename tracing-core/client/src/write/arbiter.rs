//! One producer's side of a shared memory buffer, shared by all its writers.
//!
//! ```text
//!  writer threads                        arbiter                         transport thread
//!  acquire  ──────────> scan pages for a free chunk
//!  return   ──────────> complete it, add to the pending commit ── wake ──>
//!  patch    ──────────> into the chunk, or the commit                    poll_request ──> service
//!  flush    ──────────> close the commit, keep the callback
//! ```
//!
//! One mutex guards all of it, and no callback runs while it is locked. A writer locks it once per chunk,
//! not per packet. Everything leaves through one queue, so the service sees it in order.
//!
//! An arbiter may begin before there is a service:
//!
//! ```text
//!   unattached ── attach ──> attached ── disconnect ──> disconnected
//!        └──────────────────── disconnect ──────────────────┘
//! ```
//!
//! Then its writers write for [`reservations`](super::reservations), and no writer waits for memory while that may
//! last: what holds the memory is not on its way to the service.

use core::fmt;
use std::collections::VecDeque;

use protos::UnregisterTraceWriterRequest;
use protos::producer_port::Request;

use crate::write::commit::{self, FlushCallback, LossMark, PendingCommit, Scraped};
use crate::write::patches::PatchList;
use crate::write::policy::{BufferExhaustedPolicy, Park, StallSchedule, Waker};
use crate::write::reservations::Reservations;
use crate::write::state::{
    ArbiterOptions, ArbiterState, Due, Item, Outgoing, SPARE_MAX, ServiceSupport,
};
use crate::write::writers::{DropCounter, Target, Writers};
use abi::ids::{BufferId, FlushId, ReservationId, WriterId};
use abi::shm::{ChunkHeader, Smb, WritableChunk};
use abi::sync::{Arc, AtomicU64, Mutex, lock};
use abi::time::BootTime;

struct Shared {
    smb: Smb,
    state: Mutex<ArbiterState>,
    waker: Arc<dyn Waker>,
    park: Arc<dyn Park>,
}

/// See the [module](self). Clones are the same arbiter.
#[derive(Clone)]
pub struct Arbiter(Arc<Shared>);

impl Arbiter {
    /// An arbiter over `smb`, whose chunks must all be free.
    ///
    /// `waker` is called when [`poll_request`](Self::poll_request) has something new; `park` is how
    /// stalled writers wait.
    ///
    /// # Panics
    /// If chunks travel by value and `smb` has a reader already.
    pub fn new(
        smb: Smb,
        options: ArbiterOptions,
        waker: Arc<dyn Waker>,
        park: Arc<dyn Park>,
    ) -> Self {
        let arbiter = Self::unattached(smb, options, waker, park);
        arbiter.attach(options.service);
        arbiter
    }

    /// An arbiter over `smb`, as with [`new`](Self::new), whose service is not there yet. Until
    /// [`attach`](Self::attach), its writers must be those of [reservations](Self::reserve), and nothing may be polled.
    pub fn unattached(
        smb: Smb,
        options: ArbiterOptions,
        waker: Arc<dyn Waker>,
        park: Arc<dyn Park>,
    ) -> Self {
        let chunk_count = smb.page_count() * options.layout.chunk_count();
        let state = ArbiterState {
            page_idx: 0,
            pending: None,
            spare: (0..SPARE_MAX).map(|_| PendingCommit::with_capacity(chunk_count)).collect(),
            chunk_count,
            due: Due::No,
            outbox: VecDeque::new(),
            ready: VecDeque::new(),
            writers: Writers::default(),
            reservations: Reservations::default(),
            options,
            reader: None,
            is_attached: false,
            disconnected: false,
        };
        Self(Arc::new(Shared { smb, state: Mutex::new(state), waker, park }))
    }

    /// The service is there, and takes chunks as `service` says: this was not known before.
    ///
    /// # Panics
    /// If chunks travel by value and the memory has a reader already.
    pub fn attach(&self, service: ServiceSupport) {
        let reader = service.by_value.then(|| {
            let reader = self.0.smb.reader();
            assert!(reader.is_some(), "memory that is not shared has no other reader");
            reader.map(|reader| Arc::new(Mutex::new(reader)))
        });
        self.with(|state| {
            state.is_attached = true;
            state.options.service = service;
            state.reader = reader.flatten();
        });
    }

    /// The memory.
    pub fn smb(&self) -> &Smb {
        &self.0.smb
    }

    // ------------------------------------------------------------ for data sources

    /// Takes an id for a writer whose packets go to `target`, if there is one, and if its packets are wanted. With the
    /// counter of the packets that it drops.
    pub(super) fn register_writer(&self, target: Target) -> Option<(WriterId, DropCounter)> {
        let writer = self.with(|state| {
            let buffer = state.reservations.buffer(target);
            let aborted =
                matches!(target, Target::Reservation(_)) && buffer.is_some_and(BufferId::is_none);
            if state.disconnected || aborted {
                return None;
            }
            let (id, dropped) = state.writers.add(target)?;
            if let Some(buffer) = buffer {
                state.send_registration(id, buffer);
            }
            Some((id, dropped))
        });
        self.0.waker.wake();
        writer
    }

    /// Reserves a buffer that the service will name later, if a number is left.
    pub fn reserve(&self) -> Option<ReservationId> {
        self.with(|state| state.reservations.reserve().filter(|_| !state.disconnected))
    }

    /// Commits what was written for `reservation` to `buffer`, and what will be. Only the first call for a reservation
    /// has an effect, of this and [`abort`](Self::abort).
    pub fn bind(&self, reservation: ReservationId, buffer: BufferId) {
        self.resolve(reservation, buffer);
    }

    /// Discards what was written for `reservation`, and what will be: the service only frees the chunks.
    pub fn abort(&self, reservation: ReservationId) {
        self.resolve(reservation, BufferId::new(0));
    }

    fn resolve(&self, reservation: ReservationId, buffer: BufferId) {
        let dropped = self.with(|state| {
            let held = state.reservations.resolve(reservation, buffer)?;
            // Before those that are gone are forgotten.
            state.tell_drops(None);
            let writers = state.writers.resolve(reservation);
            if !buffer.is_none() {
                writers.into_iter().for_each(|id| state.send_registration(id, buffer));
            }
            Some(state.commit_held(&self.0.smb, held, buffer))
        });
        // Dropping a callback can run any code, so it is not dropped under the lock.
        drop(dropped);
        self.0.waker.wake();
    }

    /// Packets that were written for `reservation` and discarded.
    pub fn discarded_packets(&self, reservation: ReservationId) -> u64 {
        self.with(|state| state.reservations.discarded(reservation))
    }

    /// Packets that were written for all reservations and discarded, as a counter that outlives the arbiter.
    pub fn discarded_packets_total(&self) -> Arc<AtomicU64> {
        self.with(|state| state.reservations.discarded_packets.clone())
    }

    /// Whether [`disconnect`](Self::disconnect) was called.
    pub fn is_disconnected(&self) -> bool {
        self.with(|state| state.disconnected)
    }

    /// From the next commit on, commits are collected for `ms` milliseconds.
    pub fn set_batch_commits_ms(&self, ms: u32) {
        self.with(|state| state.options.batch_commits_ms = ms);
    }

    /// Sends everything committed; `done` is called when it has reached the service.
    ///
    /// Chunks that writers still hold are not included: flush the writers first. If there is no connection, or it
    /// ends, `done` is dropped without being called.
    pub fn flush(&self, done: Option<FlushCallback>) {
        let dropped = self.with(|state| {
            if state.disconnected {
                return done;
            }
            if state.pending.is_some() || done.is_some() {
                state.close_pending(done);
            }
            None
        });
        // Dropping a callback can run any code, so it is not dropped under the lock.
        drop(dropped);
        self.0.waker.wake();
    }

    /// Acknowledges flush `id`, after everything committed before.
    pub fn notify_flush_complete(&self, id: FlushId) {
        self.with(|state| {
            if state.disconnected {
                return;
            }
            if state.options.service.by_value && state.options.scrape_on_flush {
                if state.pending.is_some() {
                    state.close_pending(None);
                }
                state.outbox.push_back(Item::Scrape);
            }
            state.tell_drops(None);
            state.pending().ack_flush(id);
            state.due = Due::Now;
        });
        self.0.waker.wake();
    }

    /// Queues a request behind everything committed before.
    pub fn send(&self, request: Request) {
        self.with(|state| {
            if state.disconnected {
                return;
            }
            if state.pending.is_some() {
                state.close_pending(None);
            }
            state.outbox.push_back(Item::Request(Box::new(request)));
        });
        self.0.waker.wake();
    }

    /// Whether there is no writer.
    pub fn is_idle(&self) -> bool {
        self.with(|state| state.writers.len() == 0)
    }

    // ------------------------------------------------------------ for the transport

    /// The next request to send. `now` starts the clock of a batch.
    pub fn poll_request(&self, now: BootTime) -> Option<Outgoing> {
        loop {
            let item = {
                let mut state = lock(&self.0.state);
                if let Some(outgoing) = state.ready.pop_front() {
                    return Some(outgoing);
                }
                match state.outbox.pop_front() {
                    Some(item) => item,
                    None => {
                        if state.due == Due::Batch {
                            let ms = u64::from(state.options.batch_commits_ms);
                            state.due = Due::At(now.plus_ms(ms));
                        }
                        match state.due {
                            Due::Now => {}
                            Due::At(time) if time <= now => {}
                            _ => return None,
                        }
                        state.close_pending(None);
                        continue;
                    }
                }
            };
            let (requests, done) = match item {
                Item::Request(request) => {
                    return Some(Outgoing { request: *request, on_reply: None });
                }
                Item::Scrape => (self.scrape(), None),
                // Copying chunks and building messages needs no lock on the state: the commit has left it.
                Item::Commit(mut commit, done) => {
                    let reader = self.with(|state| state.reader.clone());
                    let mut reader = reader.as_deref().map(lock);
                    let requests = commit.drain_requests(reader.as_deref_mut());
                    // A scrape locks the state first.
                    drop(reader);
                    self.with(|state| state.recycle(commit));
                    (requests, done)
                }
            };
            let mut state = lock(&self.0.state);
            for request in requests {
                state.ready.push_back(Outgoing { request, on_reply: None });
            }
            if let Some(last) = state.ready.back_mut().filter(|_| done.is_some()) {
                last.on_reply = done;
            }
        }
    }

    /// Copies of all chunks in which registered writers have begun at least two fragments; the last one may not
    /// be finished.
    fn scrape(&self) -> Vec<Request> {
        let state = lock(&self.0.state);
        let Some(reader) = state.reader.clone() else { return Vec::new() };
        let mut reader = lock(&reader);
        let (smb, mut scraped) = (&self.0.smb, Vec::new());
        for page_idx in 0..smb.page_count() {
            if !reader.begin_touching(page_idx) {
                continue;
            }
            for chunk_idx in 0..smb.chunk_count(page_idx) {
                let mut payload = Vec::new();
                let copied = reader.scrape_chunk(page_idx, chunk_idx, &mut payload);
                let Some((header, complete)) = copied else {
                    continue;
                };
                if complete || header.packets.count() < 2 {
                    continue;
                }
                let target = state.writers.target(header.writer);
                if let Some(buffer) = target.and_then(|target| state.reservations.buffer(target)) {
                    scraped.push(Scraped { page_idx, chunk_idx, buffer, header, payload });
                }
            }
        }
        drop((state, reader));
        commit::scraped_requests(scraped)
    }

    /// The latest time for the next poll, as long as nothing new comes.
    pub fn poll_timeout(&self) -> Option<BootTime> {
        match lock(&self.0.state).due {
            Due::At(time) => Some(time),
            Due::No | Due::Batch | Due::Now => None,
        }
    }

    /// The connection is gone, so the service frees no chunk and answers no request any more. From now on
    /// writers drop their packets, and writers that stall stop waiting.
    pub fn disconnect(&self) {
        let dropped = self.with(|state| {
            state.disconnected = true;
            state.due = Due::No;
            let held = state.reservations.abort_all();
            let queues = (core::mem::take(&mut state.outbox), core::mem::take(&mut state.ready));
            (queues, state.pending.take(), held)
        });
        // Dropping callbacks can run any code, so they are not dropped under the lock.
        drop(dropped);
    }

    // ------------------------------------------------------------ for writers

    /// A free chunk under `header`; waits for one if the policy says so.
    pub(super) fn acquire(
        &self,
        header: ChunkHeader,
        policy: BufferExhaustedPolicy,
    ) -> Option<WritableChunk> {
        let mut schedule = StallSchedule::default();
        loop {
            {
                let mut state = lock(&self.0.state);
                if state.disconnected {
                    return None;
                }
                if let Some(chunk) = state.scan(&self.0.smb, header) {
                    return Some(chunk);
                }
                if policy == BufferExhaustedPolicy::Drop || state.may_hold_memory() {
                    return None;
                }
                // The service can free complete chunks only after it is told of them.
                if state.pending.is_some() {
                    state.due = Due::Now;
                }
            }
            self.0.waker.wake();
            match schedule.next_sleep() {
                Some(time) => self.0.park.park(time),
                None => {
                    if policy == BufferExhaustedPolicy::Stall {
                        self.0.park.give_up();
                    }
                    return None;
                }
            }
        }
    }

    /// Takes a chunk that its writer has finished, and the patches that can be sent.
    pub(super) fn return_chunk(
        &self,
        chunk: WritableChunk,
        target: Target,
        patches: &mut PatchList,
    ) {
        self.add_to_commit(chunk.writer(), target, Some(chunk), patches);
    }

    /// Takes the patches that can be sent.
    pub(super) fn send_patches(&self, writer: WriterId, target: Target, patches: &mut PatchList) {
        if patches.is_ready() {
            self.add_to_commit(writer, target, None, patches);
        }
    }

    /// Tells the service, behind everything that the writer has returned, that it drops packets.
    pub(super) fn mark_loss(&self, mark: LossMark, target: Target) {
        let wake = self.with(|state| state.add_mark(&self.0.smb, mark, target));
        if wake {
            self.0.waker.wake();
        }
    }

    /// Sends everything committed; `done` is called when the data for `target` has reached the service.
    pub(super) fn flush_target(&self, target: Target, done: Option<FlushCallback>) {
        let done = self.with(|state| match state.reservations.held(target) {
            Some(held) => Err(done.and_then(|done| held.add_callback(done))),
            None => Ok(done),
        });
        match done {
            Ok(done) => self.flush(done),
            Err(dropped) => drop(dropped),
        }
    }

    /// A writer is gone; its last chunk was returned before.
    pub(super) fn release_writer(&self, id: WriterId) {
        let is_registered = self.with(|state| {
            let target = state.writers.target(id);
            if !state.disconnected {
                state.tell_drops(Some(id));
            }
            state.writers.remove(id);
            let buffer = target.and_then(|target| state.reservations.buffer(target));
            matches!(target, Some(Target::Buffer(_))) || buffer.is_some_and(|it| !it.is_none())
        });
        if is_registered {
            self.send(Request::UnregisterTraceWriter(UnregisterTraceWriterRequest {
                trace_writer_id: Some(u32::from(id.get())),
                ..Default::default()
            }));
        }
    }

    /// Adds a chunk and patches to the pending commit, or to what is held for a reservation.
    fn add_to_commit(
        &self,
        writer: WriterId,
        target: Target,
        chunk: Option<WritableChunk>,
        patches: &mut PatchList,
    ) {
        let half = self.0.smb.bytes() / 2;
        let wake = self.with(|state| {
            if state.disconnected {
                while patches.pop_ready().is_some() {}
                let packets = chunk.as_ref().map_or(0, WritableChunk::packet_count);
                state.reservations.count_discarded(target, packets);
                return false;
            }
            let Some(buffer) = state.reservations.buffer(target) else {
                state.hold(writer, target, chunk, patches);
                return false;
            };
            let is_urgent = state.add_to_commit(writer, target, buffer, chunk, patches, half);
            state.set_due(is_urgent)
        });
        if wake {
            self.0.waker.wake();
        }
    }

    fn with<T>(&self, f: impl FnOnce(&mut ArbiterState) -> T) -> T {
        f(&mut lock(&self.0.state))
    }
}

impl fmt::Debug for Arbiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = lock(&self.0.state);
        f.debug_struct("Arbiter")
            .field("smb", &self.0.smb)
            .field("due", &state.due)
            .field("writers", &state.writers.len())
            .field("disconnected", &state.disconnected)
            .finish_non_exhaustive()
    }
}
