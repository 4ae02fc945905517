//! The spans that have not ended, by their ids.
//!
//! They are not among the extensions of the registry, which needs memory for each: here a span gets the memory of one
//! that has ended. The table is in parts that have a lock each, so that threads seldom meet. All subscribers share it,
//! so that a fork can wait for its locks.

use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tracing::Metadata;

use super::callsite::AddressHasher;
use super::span::Span;
use super::values::Values;
use crate::sequence::thread;

const PARTS: usize = 64;
/// How many ended spans of a part leave their memory to later ones.
const FREE_MAX: usize = 64;

struct Live {
    span: Span,
    /// Handles and children, of a subscriber that counts them.
    handles: usize,
    metadata: Option<&'static Metadata<'static>>,
    parent: Option<u64>,
}

struct Part {
    /// By the number of the subscriber and the id of the span.
    live: HashMap<(u64, u64), Live, BuildHasherDefault<AddressHasher>>,
    free: Vec<Values>,
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

    /// Empty values for span `id`.
    pub(super) fn take_values(&self, id: u64) -> Values {
        self.part(id).and_then(|mut part| part.free.pop()).unwrap_or_default()
    }

    /// Keeps the memory of values for later spans.
    pub(super) fn recycle(&self, id: u64, mut values: Values) {
        values.clear();
        if let Some(mut part) = self.part(id)
            && part.free.len() < FREE_MAX
        {
            part.free.push(values);
        }
    }

    /// Adds a span with one handle. Its parent was [acquired](Self::acquire) for it.
    pub(super) fn insert(
        &self,
        id: u64,
        span: Span,
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
    pub(super) fn release(&self, id: u64) -> Option<(Span, Option<u64>)> {
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

    pub(super) fn remove(&self, id: u64) -> Option<Span> {
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
