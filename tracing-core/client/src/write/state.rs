//! The state of an arbiter, which its one mutex guards.

use core::fmt;
use std::collections::VecDeque;

use protos::RegisterTraceWriterRequest;
use protos::producer_port::Request;

use crate::write::commit::{FlushCallback, LossMark, PendingCommit};
use crate::write::patches::PatchList;
use crate::write::reservations::{Held, Reservations};
use crate::write::writers::{Target, Writers};
use abi::ids::{BufferId, WriterId};
use abi::shm::{ChunkFlags, ChunkHeader, Layout, Smb, SmbReader, WritableChunk};
use abi::sync::{Arc, Mutex};
use abi::time::BootTime;

/// How many empty commits are kept: while one is sent, the next is put together.
pub(super) const SPARE_MAX: usize = 2;

/// Every so many pages a scan checks whether it can go back to the first one.
const NEAR_PAGES: usize = 32;

/// Options of an arbiter: take the default, then set the fields that differ.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ArbiterOptions {
    /// How pages are cut. Upstream's producers always take whole pages.
    pub layout: Layout,
    /// How the service takes chunks.
    pub service: ServiceSupport,
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
            service: ServiceSupport::default(),
            batch_commits_ms: 0,
            scrape_on_flush: false,
        }
    }
}

/// How a service takes chunks. The default is a service that can do neither.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServiceSupport {
    /// It accepts chunks that complete late. Lengths of a chunk that is not committed yet are then patched in shared
    /// memory.
    pub direct_patching: bool,
    /// It does not share the memory: chunks travel by value, inside commits.
    pub by_value: bool,
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
pub(super) enum Due {
    /// No time is set.
    No,
    /// A batch period after the next poll, which tells the time.
    Batch,
    /// At this time.
    At(BootTime),
    /// With the next poll.
    Now,
}

pub(super) enum Item {
    Request(Box<Request>),
    Commit(PendingCommit, Option<FlushCallback>),
    /// Copies of the chunks that writers hold, made when this item is polled.
    Scrape,
}

/// What the arbiter keeps under its lock: its writers, the commit that is being collected, and requests that were not
/// polled yet.
pub(super) struct ArbiterState {
    /// Page of the last success: where the next scan starts.
    pub(super) page_idx: usize,
    pub(super) pending: Option<PendingCommit>,
    /// Empty commits, for their memory.
    pub(super) spare: Vec<PendingCommit>,
    /// How many chunks the memory can have.
    pub(super) chunk_count: usize,
    pub(super) due: Due,
    /// Closed commits and other requests that were not polled yet.
    pub(super) outbox: VecDeque<Item>,
    /// Requests of a commit that was split, ready to be polled.
    pub(super) ready: VecDeque<Outgoing>,
    pub(super) writers: Writers,
    pub(super) reservations: Reservations,
    pub(super) options: ArbiterOptions,
    /// For chunks that travel by value: then this arbiter frees them, and no service does. Locked after
    /// the state, if both are.
    pub(super) reader: Option<Arc<Mutex<SmbReader>>>,
    pub(super) is_attached: bool,
    pub(super) disconnected: bool,
}

impl ArbiterState {
    pub(super) fn send_registration(&mut self, id: WriterId, buffer: BufferId) {
        self.outbox.push_back(Item::Request(Box::new(Request::RegisterTraceWriter(
            RegisterTraceWriterRequest {
                trace_writer_id: Some(u32::from(id.get())),
                target_buffer: Some(u32::from(buffer.get())),
                ..Default::default()
            },
        ))));
    }

    /// Whether memory may be in use for longer than the service needs to free it.
    pub(super) fn may_hold_memory(&self) -> bool {
        !self.is_attached || self.reservations.any_open()
    }

    /// Takes a chunk, and patches, whose buffer is not known.
    pub(super) fn hold(
        &mut self,
        writer: WriterId,
        target: Target,
        chunk: Option<WritableChunk>,
        patches: &mut PatchList,
    ) {
        if let Some(held) = self.reservations.held(target) {
            held.add(writer, chunk, patches);
            self.writers.set_held_chunks(writer);
        }
    }

    /// Commits what was held for a reservation. Returns callbacks to be dropped.
    pub(super) fn commit_held(
        &mut self,
        smb: &Smb,
        held: Held,
        buffer: BufferId,
    ) -> Vec<FlushCallback> {
        if !buffer.is_none() {
            (0..held.mark_count()).for_each(|_| smb.note_loss());
        }
        let callbacks = held.move_to(self.pending(), buffer);
        self.due = Due::Now;
        if buffer.is_none() || callbacks.is_empty() {
            return callbacks;
        }
        self.close_pending(Some(Box::new(|| callbacks.into_iter().for_each(|done| done()))));
        Vec::new()
    }

    /// The commit that is being put together.
    pub(super) fn pending(&mut self) -> &mut PendingCommit {
        let (spare, chunk_count) = (&mut self.spare, self.chunk_count);
        self.pending.get_or_insert_with(|| {
            spare.pop().unwrap_or_else(|| PendingCommit::with_capacity(chunk_count))
        })
    }

    /// The same for chunks and marks. They come behind an acknowledgement that was made before: what was dropped until
    /// then is told with it, and the service must not take a gap that begins or ends later for one of those.
    fn pending_unacknowledging(&mut self) -> &mut PendingCommit {
        if self.pending.as_ref().is_some_and(PendingCommit::acknowledges) {
            self.close_pending(None);
        }
        self.pending()
    }

    /// Keeps the memory of a commit that was sent.
    pub(super) fn recycle(&mut self, commit: PendingCommit) {
        if self.spare.len() < SPARE_MAX {
            self.spare.push(commit);
        }
    }

    /// Adds a chunk and patches for `target`, which is `buffer`, to the pending commit. True if the commit should leave
    /// at once.
    pub(super) fn add_to_commit(
        &mut self,
        writer: WriterId,
        target: Target,
        buffer: BufferId,
        chunk: Option<WritableChunk>,
        patches: &mut PatchList,
        half: usize,
    ) -> bool {
        let ArbiterOptions { service, batch_commits_ms, .. } = self.options;
        let ServiceSupport { direct_patching, by_value } = service;
        if let Some(chunk) = chunk.as_ref().filter(|_| buffer.is_none()) {
            self.reservations.count_discarded(target, chunk.packet_count());
        }
        let pending = if chunk.is_some() { self.pending_unacknowledging() } else { self.pending() };
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
        emitted || by_value || pending.chunk_bytes >= half || batch_commits_ms == 0
    }

    /// Takes the mark of a writer of `target`. True if the transport has to know.
    ///
    /// A mark that is to be sent is counted in the memory, too: a process that is killed before tells so of the loss.
    pub(super) fn add_mark(&mut self, smb: &Smb, mark: LossMark, target: Target) -> bool {
        match self.reservations.buffer(target) {
            _ if self.disconnected => false,
            None => {
                if let Some(held) = self.reservations.held(target) {
                    held.add_mark(mark);
                    self.writers.set_held_chunks(mark.writer);
                }
                false
            }
            // What it writes is discarded.
            Some(buffer) if buffer.is_none() => false,
            Some(buffer) => {
                smb.note_loss();
                self.pending_unacknowledging().add_mark(mark, buffer);
                self.set_due(self.options.service.by_value || self.options.batch_commits_ms == 0)
            }
        }
    }

    /// Adds to the pending commit how many packets writers dropped that the service was not told of: those of one
    /// writer, or of all.
    pub(super) fn tell_drops(&mut self, of: Option<WriterId>) {
        let Self { writers, reservations, .. } = self;
        let buffer = |target| reservations.buffer(target).filter(|buffer| !buffer.is_none());
        let mut drops = Vec::new();
        match of {
            Some(writer) => drops.extend(writers.untold_drops_of(writer, buffer)),
            None => writers.tell_drops(buffer, |buffer, packets| drops.push((buffer, packets))),
        }
        for (buffer, packets) in drops {
            self.pending().add_dropped(buffer, packets);
        }
    }

    /// The pending commit has something new. True if the transport has to know.
    pub(super) fn set_due(&mut self, is_urgent: bool) -> bool {
        let before = self.due;
        if is_urgent {
            self.due = Due::Now;
        } else if self.due == Due::No {
            self.due = Due::Batch;
        }
        self.due != before
    }

    pub(super) fn close_pending(&mut self, done: Option<FlushCallback>) {
        self.pending();
        let commit = self.pending.take().unwrap_or_default();
        self.due = Due::No;
        self.outbox.push_back(Item::Commit(commit, done));
    }

    /// Finds a free chunk: pages round-robin from the last success, the lowest chunk of each first.
    ///
    /// Every [`NEAR_PAGES`] pages it starts anew if the first page is free. While the service keeps up, the writers
    /// then use the same few pages, which stay in the caches, and never touch the rest of the memory.
    pub(super) fn scan(&mut self, smb: &Smb, header: ChunkHeader) -> Option<WritableChunk> {
        let layout = self.options.layout;
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
