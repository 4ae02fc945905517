//! The spans that have not ended, by their ids.
//!
//! They are not among the extensions of the registry, which needs memory for each: here a span gets the memory of one
//! that has ended. The parts have a lock each, so that threads seldom meet.

use core::array;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::callsite::AddressHasher;
use super::span::Span;
use super::values::Values;

const PARTS: usize = 64;
/// How many ended spans of a part leave their memory to later ones.
const FREE_MAX: usize = 64;

#[derive(Default)]
struct Part {
    live: HashMap<u64, Span, BuildHasherDefault<AddressHasher>>,
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

    pub(super) fn insert(&self, id: u64, span: Span) {
        if let Some(mut part) = self.part(id) {
            part.live.insert(id, span);
        }
    }

    pub(super) fn remove(&self, id: u64) -> Option<Span> {
        self.part(id)?.live.remove(&id)
    }

    /// Calls `run` with span `id`, if there is one. The values of a span were formatted before, so no code of the
    /// program runs under the lock.
    pub(super) fn with(&self, id: u64, run: impl FnOnce(&mut Span)) {
        if let Some(mut part) = self.part(id)
            && let Some(span) = part.live.get_mut(&id)
        {
            run(span);
        }
    }
}
