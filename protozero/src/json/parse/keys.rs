//! The keys of the maps that are parsed to a struct: none may occur twice.

use alloc::vec::Vec;
use core::cell::Cell;

use super::order::Key;

/// The keys of the open maps, each behind those of the maps around it.
pub(super) struct Keys<'t> {
    all: Cell<Vec<Key<'t>>>,
    /// Where those of the innermost map begin.
    begin: Cell<usize>,
    /// They go up, as printers write them.
    is_sorted: Cell<bool>,
}

/// The map around another one.
pub(super) struct Around {
    begin: usize,
    is_sorted: bool,
}

impl<'t> Keys<'t> {
    pub(super) fn new() -> Self {
        Self { all: Cell::new(Vec::new()), begin: Cell::new(0), is_sorted: Cell::new(true) }
    }

    /// Begins a map.
    #[inline]
    pub(super) fn begin(&self) -> Around {
        let all = self.all.take();
        let begin = self.begin.replace(all.len());
        self.all.set(all);
        Around { begin, is_sorted: self.is_sorted.replace(true) }
    }

    /// Adds a key of the innermost map.
    #[inline]
    pub(super) fn add(&self, key: Key<'t>) {
        let mut all = self.all.take();
        let last = all.get(self.begin.get()..).and_then(<[_]>::last);
        if last.is_some_and(|last| *last >= key) {
            self.is_sorted.set(false);
        }
        all.push(key);
        self.all.set(all);
    }

    /// Ends a map. False if a key occurs twice.
    #[inline]
    pub(super) fn end(&self, around: Around) -> bool {
        let mut all = self.all.take();
        let begin = self.begin.replace(around.begin);
        let is_sorted = self.is_sorted.replace(around.is_sorted);
        let differ = is_sorted || all.get_mut(begin..).is_some_and(differ);
        all.truncate(begin);
        self.all.set(all);
        differ
    }
}

#[cold]
fn differ(keys: &mut [Key<'_>]) -> bool {
    keys.sort_unstable();
    keys.windows(2).all(|pair| !matches!(pair, [first, second] if first == second))
}
