//! The spans that have not ended, by their ids.
//!
//! They are not among the extensions of the registry, which needs memory for each: here a span gets the slot of one
//! that has ended.
//!
//! ```text
//!   a thread that has seen the span:  id ──> its own table ──┐
//!   a thread that has not:            id ──> index ──────────┴──> slot ──> still this span?
//! ```
//!
//! The index has room for most programs. Spans that find none are behind a lock, and so are slots that threads leave to
//! each other. A thread that holds this lock waits for no other one, but for a fork, which then locks the slots.

use core::mem::ManuallyDrop;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::callsite::{self, CallSite};
use super::chunks::Chunks;
use super::index::{Bucket, ENTRIES};
use super::slot::{Details, Slot, Start};
use crate::hash::WordHasher;

/// 4096 entries of 8 bytes: 32 KB of each program.
const BUCKETS: usize = 512;
/// How many spans a thread finds without the index.
const RECENT: usize = 32;
/// How many slots a thread keeps for its later spans.
const FREE_MAX: usize = 64;
/// How many slots a thread takes or leaves at a time, so that it seldom needs the lock.
const MOVED: usize = 32;

static SLOTS: Chunks<Slot> = Chunks::new();

static INDEX: [Bucket; BUCKETS] =
    [const { Bucket { entries: [const { AtomicU64::new(0) }; ENTRIES] } }; BUCKETS];

static SHARED: Mutex<Shared> = Mutex::new(Shared {
    free: Vec::new(),
    unindexed: HashMap::with_hasher(BuildHasherDefault::new()),
});

/// How many spans [`Shared::unindexed`] has; it changes under the lock.
static UNINDEXED_COUNT: AtomicUsize = AtomicUsize::new(0);

struct Shared {
    /// Slots of no span that no thread keeps.
    free: Vec<&'static Slot>,
    /// Spans that the index has no room for.
    unindexed: HashMap<SpanId, &'static Slot, BuildHasherDefault<WordHasher>>,
}

fn shared() -> MutexGuard<'static, Shared> {
    SHARED.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// None if there is no number left for another slot.
    fn take(&mut self) -> Option<&'static Slot> {
        if self.free.is_empty() {
            let numbers = SLOTS.grow(Slot::new);
            self.free.extend(numbers.rev().filter_map(|number| SLOTS.get(number)));
        }
        self.free.pop()
    }
}

/// Slots that a thread keeps for its later spans, and gives back when it ends.
struct Free(Vec<&'static Slot>);

/// One more slot, which is found without [`Free`].
#[derive(Clone, Copy)]
enum Spare {
    /// The thread has not used [`Free`] yet, or is ending: nothing would give a slot back.
    Forbidden,
    None,
    Slot(&'static Slot),
}

impl Drop for Free {
    fn drop(&mut self) {
        if let Spare::Slot(slot) = SPARE.replace(Spare::Forbidden) {
            self.0.push(slot);
        }
        shared().free.append(&mut self.0);
    }
}

impl Free {
    fn take(&mut self) -> Option<&'static Slot> {
        if self.0.is_empty() {
            self.fill();
        }
        self.0.pop()
    }

    fn put(&mut self, slot: &'static Slot) {
        if self.0.len() >= FREE_MAX {
            let moved = self.0.len() - MOVED;
            shared().free.extend(self.0.drain(moved..));
        }
        self.0.push(slot);
    }

    #[cold]
    fn fill(&mut self) {
        let mut shared = shared();
        self.0.extend(core::iter::from_fn(|| shared.take()).take(MOVED));
    }
}

thread_local! {
    static FREE: RefCell<Free> = const { RefCell::new(Free(Vec::new())) };
    /// The slot that was left last. A thread local without a destructor is found without a check of its state.
    static SPARE: Cell<Spare> = const { Cell::new(Spare::Forbidden) };
    /// The span that was used last of those that share a place.
    static LAST: [Cell<Option<LiveSpan>>; RECENT] = const { [const { Cell::new(None) }; RECENT] };
}

/// A slot of no span. None if there is no number left for another one.
#[inline]
fn take_slot() -> Option<&'static Slot> {
    match SPARE.get() {
        Spare::Slot(slot) => {
            SPARE.set(Spare::None);
            Some(slot)
        }
        Spare::None | Spare::Forbidden => take_kept(),
    }
}

#[inline(never)]
fn take_kept() -> Option<&'static Slot> {
    with_free(Free::take).unwrap_or_else(|| shared().take())
}

#[inline]
fn put_slot(slot: &'static Slot) {
    match SPARE.get() {
        Spare::None => SPARE.set(Spare::Slot(slot)),
        Spare::Slot(other) => {
            SPARE.set(Spare::Slot(slot));
            put_kept(other);
        }
        Spare::Forbidden => put_kept(slot),
    }
}

#[inline(never)]
fn put_kept(slot: &'static Slot) {
    if with_free(|free| free.put(slot)).is_none() {
        shared().free.push(slot);
    }
}

/// None if the thread is ending: it keeps no slot.
fn with_free<T>(run: impl FnOnce(&mut Free) -> T) -> Option<T> {
    let result = FREE.try_with(|free| run(&mut free.borrow_mut())).ok()?;
    // From here on, the destructor of `FREE` gives the spare slot back.
    if let Spare::Forbidden = SPARE.get() {
        SPARE.set(Spare::None);
    }
    Some(result)
}

/// How many slots there are.
#[cfg(test)]
pub(super) fn slot_count() -> usize {
    SLOTS.iter().count()
}

/// The slots, while the process forks.
pub(super) struct LockedSpans {
    #[expect(dead_code, reason = "it is held")]
    shared: MutexGuard<'static, Shared>,
    details: Vec<MutexGuard<'static, Details>>,
}

pub(super) fn lock_for_fork() -> LockedSpans {
    // The lock comes first: there are no new slots meanwhile.
    let shared = shared();
    LockedSpans { shared, details: SLOTS.iter().map(Slot::lock_details).collect() }
}

impl LockedSpans {
    /// In a forked process, which frees nothing.
    pub(super) fn unlock_slots(&mut self) {
        let mut details = ManuallyDrop::new(core::mem::take(&mut self.details));
        while let Some(details) = details.pop() {
            drop(details);
        }
    }
}

/// Tells subscribers apart.
pub(super) struct SubscriberNumber(u64);

impl Default for SubscriberNumber {
    fn default() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

impl Drop for SubscriberNumber {
    /// Spans that have not ended are recorded by nobody any more.
    fn drop(&mut self) {
        let mut shared = shared();
        for slot in SLOTS.iter() {
            let Some(id) = slot.identity.id_of(self.0) else { continue };
            SpanId { subscriber: self.0, id }.forget(slot, Some(&mut *shared));
            slot.drop_large();
            shared.free.push(slot);
        }
    }
}

impl SubscriberNumber {
    pub(super) fn get(&self) -> u64 {
        self.0
    }

    /// Its span `id`.
    pub(super) fn span(&self, id: &tracing::Id) -> SpanId {
        SpanId { subscriber: self.0, id: id.into_u64() }
    }
}

/// The number of a subscriber and an id that it knows.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct SpanId {
    pub(super) subscriber: u64,
    pub(super) id: u64,
}

/// A span that has not ended.
#[derive(Clone, Copy)]
pub(super) struct LiveSpan {
    pub(super) site: &'static CallSite,
    pub(super) slot: &'static Slot,
}

impl SpanId {
    #[inline]
    fn bucket(self) -> &'static Bucket {
        // In the ids of the registry (`sharded-slab`) the low 38 bits count, the 13 above them are the number of a
        // thread, and the 13 at the top are how often a place was used. So the spans of one thread use few buckets, and
        // those of two threads different ones.
        let id = self.id & (u64::MAX >> 13);
        let place = id
            .wrapping_add((id >> 38).wrapping_mul(37))
            .wrapping_add(self.subscriber.wrapping_mul(73));
        &INDEX[place as usize % BUCKETS]
    }

    /// What entries of this span and of few others begin with.
    #[inline]
    fn tag(self) -> u64 {
        (self.id ^ (self.id >> 32) ^ self.subscriber) & u64::from(u32::MAX)
    }

    /// Never 0.
    #[inline]
    fn entry(self, slot: &Slot) -> u64 {
        self.tag() << 32 | (u64::from(slot.number) + 1)
    }

    /// A span that was made just now. Its parent has a handle for it. None if there is no slot.
    #[inline]
    pub(super) fn begin(self, site: &'static CallSite, start: &Start<'_>) -> Option<LiveSpan> {
        let slot = take_slot()?;
        slot.start(start);
        slot.identity.begin(self.subscriber, self.id, site.number);
        if !self.bucket().insert(self.entry(slot)) {
            self.insert_unindexed(slot);
        }
        let span = LiveSpan { site, slot };
        self.remember(span);
        Some(span)
    }

    #[cold]
    fn insert_unindexed(self, slot: &'static Slot) {
        let mut shared = shared();
        shared.unindexed.insert(self, slot);
        UNINDEXED_COUNT.store(shared.unindexed.len(), Ordering::Relaxed);
    }

    /// The place in the table of a thread.
    #[inline]
    fn place(self) -> usize {
        (self.id.wrapping_add(self.subscriber)) as usize % RECENT
    }

    /// The span, if there is one.
    #[inline]
    pub(super) fn find(self) -> Option<LiveSpan> {
        let last = LAST.with(|last| last[self.place()].get());
        match last {
            Some(span) if span.is(self) => Some(span),
            _ => self.find_in_index(),
        }
    }

    /// The calling thread finds it without the index.
    #[inline]
    fn remember(self, span: LiveSpan) {
        LAST.with(|last| last[self.place()].set(Some(span)));
    }

    #[inline(never)]
    fn find_in_index(self) -> Option<LiveSpan> {
        let in_slot = |slot: &'static Slot| {
            let site = slot.identity.site_of(self.subscriber, self.id)?;
            Some(LiveSpan { site: callsite::numbered(site)?, slot })
        };
        let tag = self.tag();
        let span_of = |entry: u64| {
            let number = (entry as u32).checked_sub(1).filter(|_| entry >> 32 == tag)?;
            in_slot(SLOTS.get(number)?)
        };
        let found = self.bucket().find(span_of);
        let span = found.or_else(|| self.find_unindexed().and_then(in_slot))?;
        self.remember(span);
        Some(span)
    }

    fn find_unindexed(self) -> Option<&'static Slot> {
        if UNINDEXED_COUNT.load(Ordering::Relaxed) == 0 {
            return None;
        }
        shared().unindexed.get(&self).copied()
    }

    /// Nobody finds the span any more. The caller may hold the lock.
    fn forget(self, slot: &'static Slot, locked: Option<&mut Shared>) {
        if !self.bucket().remove(self.entry(slot)) {
            match locked {
                Some(shared) => self.remove_unindexed(shared),
                None => self.remove_unindexed(&mut shared()),
            }
        }
        slot.identity.end();
    }

    #[cold]
    fn remove_unindexed(self, shared: &mut Shared) {
        shared.unindexed.remove(&self);
        UNINDEXED_COUNT.store(shared.unindexed.len(), Ordering::Relaxed);
    }

    /// Counts one more handle. False if there is no such span.
    pub(super) fn acquire(self) -> bool {
        self.find().map(|span| span.slot.handles.add()).is_some()
    }

    /// Gives a handle back. Returns the span, if that was the last one.
    #[inline]
    pub(super) fn without_handle(self) -> Option<LiveSpan> {
        self.find().filter(|span| span.slot.handles.remove())
    }
}

impl LiveSpan {
    #[inline]
    fn is(self, id: SpanId) -> bool {
        self.slot.identity.is_at(id.subscriber, id.id, self.site.number)
    }

    #[inline]
    pub(super) fn id(self) -> SpanId {
        let (subscriber, id) = self.slot.identity.of();
        SpanId { subscriber, id }
    }

    /// Nobody finds the span any more: it has ended.
    #[inline]
    pub(super) fn forget(self) {
        self.id().forget(self.slot, None);
        self.slot.drop_large();
        put_slot(self.slot);
    }

    /// Calls `run` with the details of the span, under its lock: no code of the program runs there, and no event is
    /// written.
    pub(super) fn with<T>(self, run: impl FnOnce(&mut Details) -> T) -> T {
        run(&mut self.slot.lock())
    }

    /// As [`with`](Self::with), for what the end of the slice that has begun must say.
    pub(super) fn change(self, run: impl FnOnce(&mut Details)) {
        self.with(|details| {
            run(details);
            self.slot.set_changed(details);
        });
    }
}
