//! The spans that have not ended, by their ids.
//!
//! They are not among the extensions of the registry, which needs memory for each: here a span gets the memory of one
//! that has ended. The table is in parts that have a lock each, so that threads seldom meet. All subscribers share it,
//! so that a fork can wait for its locks.

use core::sync::atomic::{AtomicU64, Ordering};
use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tracing::Metadata;

use super::callsite::CallSite;
use super::span::{Span, SpanStyle};
use crate::hash::WordHasher;
use crate::sequence::thread;

const PARTS: usize = 64;
/// How many ended spans of a thread leave their memory to its later ones, and of a part to those of all threads.
const FREE_MAX: usize = 64;

/// Spans that have ended, whose memory is used again.
#[allow(clippy::vec_box, reason = "spans are large, so they stay where they are")]
type Free = Vec<Box<Span>>;

thread_local! {
    /// Without a lock: most spans end on the thread that made them.
    static FREE: RefCell<Free> = const { RefCell::new(Vec::new()) };
}

struct Live {
    span: Box<Span>,
    /// Handles and children, of a subscriber that counts them.
    handles: usize,
    metadata: Option<&'static Metadata<'static>>,
    parent: Option<u64>,
}

struct Part {
    /// By the number of the subscriber and the id of the span.
    live: HashMap<(u64, u64), Live, BuildHasherDefault<WordHasher>>,
    free: Free,
}

impl Part {
    const EMPTY: Self =
        Self { live: HashMap::with_hasher(BuildHasherDefault::new()), free: Vec::new() };
}

static TABLE: [Mutex<Part>; PARTS] = [const { Mutex::new(Part::EMPTY) }; PARTS];

fn lock(part: &'static Mutex<Part>) -> MutexGuard<'static, Part> {
    part.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The table, while the process forks.
pub(crate) struct Locked(
    #[expect(dead_code, reason = "they are held")] Vec<MutexGuard<'static, Part>>,
);

/// A thread that holds one of these locks may wait for any lock of the library but that of
/// [`rebuild`](super::rebuild).
pub(crate) fn lock_for_fork() -> Locked {
    Locked(TABLE.iter().map(lock).collect())
}

/// A thread that is ending has none.
fn with_free<T: Default>(run: impl FnOnce(&mut Free) -> T) -> T {
    FREE.try_with(|free| run(&mut free.borrow_mut())).unwrap_or_default()
}

/// Takes the span, if there is room.
fn keep(free: &mut Free, span: &mut Option<Box<Span>>) {
    if free.len() < FREE_MAX {
        free.extend(span.take());
    }
}

/// The spans of one subscriber.
pub(super) struct Spans {
    number: u64,
}

impl Default for Spans {
    fn default() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self { number: NEXT.fetch_add(1, Ordering::Relaxed) }
    }
}

impl Drop for Spans {
    /// Those that have not ended are recorded by nobody any more.
    fn drop(&mut self) {
        for part in &TABLE {
            lock(part).live.retain(|(number, _), _| *number != self.number);
        }
    }
}

impl Spans {
    /// Tells subscribers apart.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    fn key(&self, id: u64) -> (u64, u64) {
        (self.number, id)
    }

    fn part(&self, id: u64) -> Option<MutexGuard<'static, Part>> {
        // The low bits count, the others name a thread and how often a place was used.
        let at = (id ^ (id >> 32) ^ self.number).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 58;
        TABLE.get(usize::try_from(at).unwrap_or(0)).map(lock)
    }

    /// A span that is not in the table yet, in the memory of one that has ended.
    pub(super) fn make(&self, id: u64, site: &'static CallSite, style: SpanStyle) -> Box<Span> {
        let own = with_free(Vec::pop);
        match own.or_else(|| self.part(id)?.free.pop()) {
            Some(mut span) => {
                span.renew(site, style);
                span
            }
            None => Box::new(Span::new(site, style)),
        }
    }

    /// Keeps the memory of a span that has ended.
    pub(super) fn recycle(&self, id: u64, span: Box<Span>) {
        let mut span = Some(span);
        with_free(|free| keep(free, &mut span));
        // Of spans that end on other threads than those that made them.
        if span.is_some()
            && let Some(mut part) = self.part(id)
        {
            keep(&mut part.free, &mut span);
        }
    }

    /// Adds a span with one handle. Its parent was [acquired](Self::acquire) for it.
    pub(super) fn insert(
        &self,
        id: u64,
        span: Box<Span>,
        metadata: Option<&'static Metadata<'static>>,
        parent: Option<u64>,
    ) {
        if let Some(mut part) = self.part(id) {
            part.live.insert(self.key(id), Live { span, handles: 1, metadata, parent });
        }
    }

    /// Counts one more handle. False if there is no such span.
    pub(super) fn acquire(&self, id: u64) -> bool {
        let Some(mut part) = self.part(id) else { return false };
        let live = part.live.get_mut(&self.key(id));
        live.map(|live| live.handles = live.handles.saturating_add(1)).is_some()
    }

    /// Gives a handle back. The last one returns the span and its parent.
    pub(super) fn release(&self, id: u64) -> Option<(Box<Span>, Option<u64>)> {
        let mut part = self.part(id)?;
        let live = part.live.get_mut(&self.key(id))?;
        live.handles -= 1;
        if live.handles > 0 {
            return None;
        }
        part.live.remove(&self.key(id)).map(|live| (live.span, live.parent))
    }

    pub(super) fn metadata(&self, id: u64) -> Option<&'static Metadata<'static>> {
        self.part(id)?.live.get(&self.key(id))?.metadata
    }

    pub(super) fn remove(&self, id: u64) -> Option<Box<Span>> {
        self.part(id)?.live.remove(&self.key(id)).map(|live| live.span)
    }

    /// Calls `run` with span `id`, if there is one. The values of a span were formatted before, so no code of the
    /// program runs under the lock.
    pub(super) fn with(&self, id: u64, run: impl FnOnce(&mut Span)) {
        if let Some(mut part) = self.part(id)
            && let Some(live) = part.live.get_mut(&self.key(id))
        {
            run(&mut live.span);
        }
        thread::deliver_late();
    }
}
