//! The spans that have not ended, by their ids.
//!
//! They are not among the extensions of the registry, which needs memory for each: here a span gets the memory of one
//! that has ended. The table is in parts that have a lock each, so that threads seldom meet. All subscribers share it,
//! so that a fork can wait for its locks.

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::callsite::CallSite;
use super::span::{Span, SpanStyle};
use crate::hash::WordHasher;
use crate::sequence::thread;

const PARTS: usize = 64;
/// How many ended spans of a thread leave their memory to its later ones, and of a part to those of all threads.
const FREE_MAX: usize = 64;

/// Spans that have ended, whose memory is used again.
#[allow(clippy::vec_box, reason = "spans are large, so they stay where they are")]
type Free = Vec<Box<Live>>;

thread_local! {
    /// Without a lock: most spans end on the thread that made them.
    static FREE: RefCell<Free> = const { RefCell::new(Vec::new()) };
}

/// A span of the table, or one that will be there.
pub(super) struct Live {
    id: SpanId,
    pub(super) span: Span,
    /// Handles and children, of a subscriber that counts them.
    handles: usize,
    parent: Option<SpanId>,
}

struct Spans {
    /// The last one that was added: most spans end before the next one of their part begins, and are never in the map.
    newest: Option<Box<Live>>,
    others: HashMap<SpanId, Box<Live>, BuildHasherDefault<WordHasher>>,
    free: Free,
}

impl Spans {
    fn insert(&mut self, live: Box<Live>) {
        if let Some(older) = self.newest.replace(live) {
            self.others.insert(older.id, older);
        }
    }

    fn get_mut(&mut self, id: SpanId) -> Option<&mut Live> {
        match &mut self.newest {
            Some(newest) if newest.id == id => Some(newest),
            _ => self.others.get_mut(&id).map(Box::as_mut),
        }
    }

    fn remove(&mut self, id: SpanId) -> Option<Box<Live>> {
        self.newest.take_if(|newest| newest.id == id).or_else(|| self.others.remove(&id))
    }
}

struct Part {
    spans: Mutex<Spans>,
    /// Whether there is any span; it changes under the lock.
    has_spans: AtomicBool,
    /// How often a span got late values or flows; it changes under the lock.
    changes: AtomicU32,
}

impl Part {
    const fn new() -> Self {
        let others = HashMap::with_hasher(BuildHasherDefault::new());
        let spans = Spans { newest: None, others, free: Vec::new() };
        Self {
            spans: Mutex::new(spans),
            has_spans: AtomicBool::new(false),
            changes: AtomicU32::new(0),
        }
    }

    /// Spans were added or removed.
    fn count(&self, spans: &Spans) {
        let has_spans = spans.newest.is_some() || !spans.others.is_empty();
        self.has_spans.store(has_spans, Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, Spans> {
        self.spans.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

static TABLE: [Part; PARTS] = [const { Part::new() }; PARTS];

/// The table, while the process forks.
pub(crate) struct Locked(
    #[expect(dead_code, reason = "they are held")] [MutexGuard<'static, Spans>; PARTS],
);

/// A thread that holds one of these locks may wait for any lock of the library but that of
/// [`rebuild`](super::rebuild).
pub(crate) fn lock_for_fork() -> Locked {
    Locked(TABLE.each_ref().map(Part::lock))
}

/// A thread that is ending has none.
fn with_free<T: Default>(run: impl FnOnce(&mut Free) -> T) -> T {
    FREE.try_with(|free| run(&mut free.borrow_mut())).unwrap_or_default()
}

/// Takes the span, if there is room.
fn keep(free: &mut Free, ended: &mut Option<Box<Live>>) {
    if free.len() < FREE_MAX {
        free.extend(ended.take());
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
        for part in &TABLE {
            let mut spans = part.lock();
            let _ended = spans.newest.take_if(|newest| newest.id.subscriber == self.0);
            spans.others.retain(|span, _| span.subscriber != self.0);
            part.count(&spans);
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

impl SpanId {
    #[inline]
    fn part(self) -> &'static Part {
        // The low bits count, the others name a thread and how often a place was used.
        let number = self.id ^ (self.id >> 32) ^ self.subscriber;
        &TABLE[(number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 58) as usize % PARTS]
    }

    /// A span that is not in the table yet, in the memory of one that has ended.
    pub(super) fn make(self, site: &'static CallSite, style: SpanStyle) -> Box<Live> {
        let own = with_free(Vec::pop);
        match own.or_else(|| self.part().lock().free.pop()) {
            Some(mut live) => {
                live.id = self;
                live.span.renew(site, style);
                live
            }
            None => {
                let span = Span::new(site, style);
                Box::new(Live { id: self, span, handles: 0, parent: None })
            }
        }
    }

    /// False if there is no such span. No lock is taken. True if there may be one.
    #[inline]
    pub(super) fn may_exist(self) -> bool {
        self.part().has_spans.load(Ordering::Relaxed)
    }

    /// Counts one more handle. False if there is no such span.
    pub(super) fn acquire(self) -> bool {
        let mut spans = self.part().lock();
        let live = spans.get_mut(self);
        live.map(|live| live.handles = live.handles.saturating_add(1)).is_some()
    }

    /// Gives a handle back. True if it was the last one: then the span has ended, and lets go of its parent.
    pub(super) fn release(self) -> bool {
        let mut ended = self.remove_handle();
        let is_last = ended.is_some();
        while let Some(mut live) = ended {
            live.span.close();
            let parent = live.parent.take();
            live.recycle();
            ended = parent.and_then(Self::remove_handle);
        }
        is_last
    }

    /// The span, if this was its last handle.
    fn remove_handle(self) -> Option<Box<Live>> {
        let part = self.part();
        let mut spans = part.lock();
        let live = spans.get_mut(self)?;
        live.handles -= 1;
        if live.handles != 0 {
            return None;
        }
        let ended = spans.remove(self);
        part.count(&spans);
        ended
    }

    /// Calls `run` with the span, if there is one. No code of the program runs under the lock: the values of a span
    /// were formatted before, and `run` writes events as a caller that holds a lock ([`thread::write_locked`]).
    pub(super) fn with<T>(self, run: impl FnOnce(&mut Span) -> T) -> Option<T> {
        let result = self.part().lock().get_mut(self).map(|live| run(&mut live.span));
        thread::deliver_late();
        result
    }

    /// As [`with`](Self::with), for what the end of the slice that has begun must say.
    pub(super) fn change(self, run: impl FnOnce(&mut Span)) {
        self.with(|span| {
            run(span);
            self.part().changes.fetch_add(1, Ordering::Relaxed);
        });
    }

    /// A number that differs once the span was [changed](Self::change).
    #[inline]
    pub(super) fn changes(self) -> u32 {
        self.part().changes.load(Ordering::Relaxed)
    }
}

impl Live {
    /// Adds the span to the table, with one handle. Its parent was [acquired](SpanId::acquire) for it.
    pub(super) fn insert(mut self: Box<Self>, parent: Option<SpanId>) {
        (self.handles, self.parent) = (1, parent);
        let part = self.id.part();
        let mut spans = part.lock();
        spans.insert(self);
        part.count(&spans);
    }

    /// Keeps the memory of a span that has ended.
    pub(super) fn recycle(self: Box<Self>) {
        let part = self.id.part();
        let mut ended = Some(self);
        with_free(|free| keep(free, &mut ended));
        // Of spans that end on other threads than those that made them.
        if ended.is_some() {
            keep(&mut part.lock().free, &mut ended);
        }
    }
}
