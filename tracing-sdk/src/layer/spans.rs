//! The spans that have not ended, by their ids.
//!
//! They are not among the extensions of the registry, which needs memory for each: here a span gets the memory of one
//! that has ended. The parts have a lock each, so that threads seldom meet.

use core::array;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tracing::Metadata;

use super::callsite::AddressHasher;
use super::span::Span;
use super::values::Values;

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

#[derive(Default)]
struct Part {
    live: HashMap<u64, Live, BuildHasherDefault<AddressHasher>>,
    free: Vec<Values>,
}

/// See the [module](self).
pub(super) struct Spans([Mutex<Part>; PARTS]);

impl Default for Spans {
    fn default() -> Self {
        Self(array::from_fn(|_| Mutex::default()))
    }
}

impl Spans {
    fn part(&self, id: u64) -> Option<MutexGuard<'_, Part>> {
        // The low bits count, the others name a thread and how often a place was used.
        let at = (id ^ (id >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 58;
        let part = self.0.get(usize::try_from(at).unwrap_or(0))?;
        Some(part.lock().unwrap_or_else(PoisonError::into_inner))
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
            part.live.insert(id, Live { span, handles: 1, metadata, parent });
        }
    }

    /// Counts one more handle. False if there is no such span.
    pub(super) fn acquire(&self, id: u64) -> bool {
        let Some(mut part) = self.part(id) else { return false };
        let live = part.live.get_mut(&id);
        live.map(|live| live.handles = live.handles.saturating_add(1)).is_some()
    }

    /// Gives a handle back. The last one returns the span and its parent.
    pub(super) fn release(&self, id: u64) -> Option<(Span, Option<u64>)> {
        let mut part = self.part(id)?;
        let live = part.live.get_mut(&id)?;
        live.handles -= 1;
        if live.handles > 0 {
            return None;
        }
        part.live.remove(&id).map(|live| (live.span, live.parent))
    }

    pub(super) fn metadata(&self, id: u64) -> Option<&'static Metadata<'static>> {
        self.part(id)?.live.get(&id)?.metadata
    }

    pub(super) fn remove(&self, id: u64) -> Option<Span> {
        self.part(id)?.live.remove(&id).map(|live| live.span)
    }

    /// Calls `run` with span `id`, if there is one. The values of a span were formatted before, so no code of the
    /// program runs under the lock.
    pub(super) fn with(&self, id: u64, run: impl FnOnce(&mut Span)) {
        if let Some(mut part) = self.part(id)
            && let Some(live) = part.live.get_mut(&id)
        {
            run(&mut live.span);
        }
    }
}
