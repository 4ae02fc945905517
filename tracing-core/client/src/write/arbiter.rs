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

use core::fmt;
use std::collections::VecDeque;

use protos::producer_port::Request;
use protos::{RegisterTraceWriterRequest, UnregisterTraceWriterRequest};

use crate::write::commit::{self, PendingCommit, Scraped};
use crate::write::patches::PatchList;
use crate::write::policy::{BufferExhaustedPolicy, Park, StallSchedule, Waker};
use abi::ids::{BufferId, FlushId, WriterId};
use abi::map::SortedMap;
use abi::shm::{ChunkFlags, ChunkHeader, Layout, Smb, SmbReader, WritableChunk};
use abi::sync::{Arc, Mutex, lock};
use abi::time::BootTime;

/// Every so many pages a scan checks whether it can go back to the first one.
const NEAR_PAGES: usize = 32;

/// Called when everything committed before has reached the service.
pub type FlushCallback = Box<dyn FnOnce() + Send>;

/// Options of an arbiter: take the default, then set the fields that differ.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ArbiterOptions {
    /// How pages are cut. Upstream's producers always take whole pages.
    pub layout: Layout,
    /// The service accepts chunks that complete late. Lengths of a chunk that is not committed yet are then
    /// patched in shared memory.
    pub direct_patching: bool,
    /// The memory is not shared with the service: chunks travel by value, inside commits.
    pub by_value: bool,
    /// Commits are collected for this long, ms; with 0 each is sent at the next poll.
    pub batch_commits_ms: u32,
    /// Before a flush is acknowledged, copies of the chunks that writers still hold are sent. This is only for
    /// chunks that travel by value: the service scrapes shared memory itself.
    pub scrape_on_flush: bool,
}

impl Default for ArbiterOptions {
    fn default() -> Self {
        Self {
            layout: Layout::Div1,
            direct_patching: false,
            by_value: false,
            batch_commits_ms: 0,
            scrape_on_flush: false,
        }
    }
}

/// Something to send to the service.
pub struct Outgoing {
    /// The request.
    pub request: Request,
    /// If there is one: ask for a reply, and call this when it comes, whatever it says. If the connection
    /// ends first, drop it.
    pub on_reply: Option<FlushCallback>,
}

impl fmt::Debug for Outgoing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outgoing")
            .field("on_reply", &self.on_reply.is_some())
            .finish_non_exhaustive()
    }
}

/// When the pending commit is to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    /// No time is set.
    No,
    /// A batch period after the next poll, which tells the time.
    Batch,
    /// At this time.
    At(BootTime),
    /// With the next poll.
    Now,
}

enum Item {
    Request(Box<Request>),
    Commit(PendingCommit, Option<FlushCallback>),
    /// Copies of the chunks that writers hold, made when this item is polled.
    Scrape,
}

struct ArbiterState {
    /// Page of the last success: where the next scan starts.
    page_idx: usize,
    pending: Option<PendingCommit>,
    due: Due,
    /// Closed commits and other requests that were not polled yet.
    outbox: VecDeque<Item>,
    /// Requests of a commit that was split, ready to be polled.
    ready: VecDeque<Outgoing>,
    writers: SortedMap<u16, BufferId>,
    last_writer: u16,
    batch_commits_ms: u32,
    disconnected: bool,
}

struct Shared {
    smb: Smb,
    options: ArbiterOptions,
    state: Mutex<ArbiterState>,
    /// For chunks that travel by value: then this arbiter frees them, and no service does. Locked after
    /// `state`, if both are.
    reader: Option<Mutex<SmbReader>>,
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
        let state = ArbiterState {
            page_idx: 0,
            pending: None,
            due: Due::No,
            outbox: VecDeque::new(),
            ready: VecDeque::new(),
            writers: SortedMap::new(),
            last_writer: 0,
            batch_commits_ms: options.batch_commits_ms,
            disconnected: false,
        };
        let reader = options.by_value.then(|| {
            let reader = smb.reader();
            assert!(reader.is_some(), "memory that is not shared has no other reader");
            reader.map(Mutex::new)
        });
        let (state, reader) = (Mutex::new(state), reader.flatten());
        Self(Arc::new(Shared { smb, options, state, reader, waker, park }))
    }

    /// The memory.
    pub fn smb(&self) -> &Smb {
        &self.0.smb
    }

    // ------------------------------------------------------------ for data sources

    /// Takes an id for a writer whose packets go to `buffer`, if there is one.
    pub(super) fn register_writer(&self, buffer: BufferId) -> Option<WriterId> {
        let id = self.with(|state| {
            let id = state.new_writer_id(buffer)?;
            state.outbox.push_back(Item::Request(Box::new(Request::RegisterTraceWriter(
                RegisterTraceWriterRequest {
                    trace_writer_id: Some(u32::from(id.get())),
                    target_buffer: Some(u32::from(buffer.get())),
                    ..Default::default()
                },
            ))));
            Some(id)
        });
        self.0.waker.wake();
        id
    }

    /// From the next commit on, commits are collected for `ms` milliseconds.
    pub fn set_batch_commits_ms(&self, ms: u32) {
        self.with(|state| state.batch_commits_ms = ms);
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
            if self.0.options.by_value && self.0.options.scrape_on_flush {
                if state.pending.is_some() {
                    state.close_pending(None);
                }
                state.outbox.push_back(Item::Scrape);
            }
            state.pending.get_or_insert_default().ack_flush(id);
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
        self.with(|state| state.writers.is_empty())
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
                            let ms = u64::from(state.batch_commits_ms);
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
                Item::Commit(commit, done) => {
                    let mut reader = self.0.reader.as_ref().map(lock);
                    (commit.into_requests(reader.as_deref_mut()), done)
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
        let Some(reader) = &self.0.reader else { return Vec::new() };
        let state = lock(&self.0.state);
        let mut reader = lock(reader);
        let (smb, mut scraped) = (&self.0.smb, Vec::new());
        for page_idx in 0..smb.page_count() {
            for chunk_idx in 0..smb.chunk_count(page_idx) {
                let mut payload = Vec::new();
                let copied = reader.scrape_chunk(page_idx, chunk_idx, &mut payload);
                let Some((header, complete)) = copied else {
                    continue;
                };
                if complete || header.packets.count() < 2 {
                    continue;
                }
                if let Some(&buffer) = state.writers.get(&header.writer.get()) {
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
            let queues = (core::mem::take(&mut state.outbox), core::mem::take(&mut state.ready));
            (queues, state.pending.take())
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
                if let Some(chunk) = state.scan(&self.0.smb, self.0.options.layout, header) {
                    return Some(chunk);
                }
                if policy == BufferExhaustedPolicy::Drop {
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
        buffer: BufferId,
        patches: &mut PatchList,
    ) {
        self.update(chunk.writer(), buffer, Some(chunk), patches);
    }

    /// Takes the patches that can be sent.
    pub(super) fn send_patches(&self, writer: WriterId, buffer: BufferId, patches: &mut PatchList) {
        if patches.is_ready() {
            self.update(writer, buffer, None, patches);
        }
    }

    /// A writer is gone; its last chunk was returned before.
    pub(super) fn release_writer(&self, id: WriterId) {
        self.with(|state| state.writers.remove(&id.get()));
        self.send(Request::UnregisterTraceWriter(UnregisterTraceWriterRequest {
            trace_writer_id: Some(u32::from(id.get())),
            ..Default::default()
        }));
    }

    fn update(
        &self,
        writer: WriterId,
        buffer: BufferId,
        chunk: Option<WritableChunk>,
        patches: &mut PatchList,
    ) {
        let ArbiterOptions { direct_patching, by_value, .. } = self.0.options;
        let half = self.0.smb.bytes() / 2;
        let wake = self.with(|state| {
            if state.disconnected {
                while patches.pop_ready().is_some() {}
                return false;
            }
            let before = state.due;
            let pending = state.pending.get_or_insert_default();
            if let Some(chunk) = chunk {
                let unpatched = chunk.packets().flags().contains(ChunkFlags::NEEDS_PATCHING);
                pending.add_chunk(chunk, buffer, by_value || (direct_patching && unpatched));
            }
            let mut emitted = false;
            while let Some(patch) = patches.pop_ready() {
                if !(direct_patching && pending.patch_held(writer, patch, by_value)) {
                    pending.add_patch(buffer, writer, patch);
                    emitted = true;
                }
            }
            if emitted || by_value || pending.chunk_bytes >= half || state.batch_commits_ms == 0 {
                state.due = Due::Now;
            } else if state.due == Due::No {
                state.due = Due::Batch;
            }
            state.due != before
        });
        if wake {
            self.0.waker.wake();
        }
    }

    fn with<T>(&self, f: impl FnOnce(&mut ArbiterState) -> T) -> T {
        f(&mut lock(&self.0.state))
    }
}

impl ArbiterState {
    /// The next free id after the last one given out. A freed id is reused as late as possible, because the
    /// message that unregisters it may still be on its way.
    fn new_writer_id(&mut self, buffer: BufferId) -> Option<WriterId> {
        if self.disconnected || self.writers.len() >= usize::from(WriterId::MAX) {
            return None;
        }
        loop {
            self.last_writer =
                if self.last_writer >= WriterId::MAX { 1 } else { self.last_writer + 1 };
            if !self.writers.contains_key(&self.last_writer) {
                self.writers.insert(self.last_writer, buffer);
                return Some(WriterId::new(self.last_writer));
            }
        }
    }

    fn close_pending(&mut self, done: Option<FlushCallback>) {
        let commit = self.pending.take().unwrap_or_default();
        self.due = Due::No;
        self.outbox.push_back(Item::Commit(commit, done));
    }

    /// Finds a free chunk: pages round-robin from the last success, the lowest chunk of each first.
    ///
    /// Every [`NEAR_PAGES`] pages it starts anew if the first page is free. While the service keeps up, the writers
    /// then use the same few pages, which stay in the caches, and never touch the rest of the memory.
    fn scan(&mut self, smb: &Smb, layout: Layout, header: ChunkHeader) -> Option<WritableChunk> {
        let pages = smb.page_count();
        for i in 0..pages {
            let page_idx = (self.page_idx + i) % pages;
            let mut free = smb.page_hint(page_idx).free_chunks();
            if free == 0 && smb.page_hint(page_idx).is_free() && smb.try_partition(page_idx, layout)
            {
                free = (1 << layout.chunk_count()) - 1;
            }
            while free != 0 {
                let chunk_idx = free.trailing_zeros() as usize;
                free &= free - 1;
                if let Some(chunk) = smb.try_acquire(page_idx, chunk_idx, header) {
                    let behind = page_idx + 1;
                    let anew = behind.is_multiple_of(NEAR_PAGES) && smb.page_hint(0).is_free();
                    self.page_idx = if anew { 0 } else { page_idx };
                    return Some(chunk);
                }
            }
        }
        None
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
