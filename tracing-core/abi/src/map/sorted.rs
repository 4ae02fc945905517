//! A map and a set for few entries: a sorted array.
//!
//! A traced program has few data sources, instances and writers, and a service few sessions. For so few entries an
//! array is as fast as a tree. A hostile peer must not decide how many entries there are: an insertion or removal moves
//! all larger ones.

use core::borrow::Borrow;
use core::fmt;
use core::ops::{Bound, RangeBounds};

use crate::outlined::Outlined;

/// A map in an array that is sorted by key. See the [module](super).
#[derive(Clone, PartialEq, Eq)]
pub struct SortedMap<K, V> {
    entries: Outlined<Vec<(K, V)>>,
}

impl<K, V> SortedMap<K, V> {
    /// An empty map.
    #[must_use]
    pub const fn new() -> Self {
        Self { entries: Outlined::new(Vec::new()) }
    }

    /// The number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.entries.clear();
    }

    /// All entries by key.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&K, &V)> + ExactSizeIterator + Clone {
        self.entries.iter().map(|(key, value)| (key, value))
    }

    /// All entries by key, with values that can be changed.
    pub fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = (&K, &mut V)> {
        self.entries.iter_mut().map(|(key, value)| (&*key, value))
    }

    /// All keys, sorted.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &K> + ExactSizeIterator + Clone {
        self.entries.iter().map(|(key, _)| key)
    }

    /// All values, by key.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> + ExactSizeIterator + Clone {
        self.entries.iter().map(|(_, value)| value)
    }

    /// All values, by key, to change.
    pub fn values_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut V> {
        self.entries.iter_mut().map(|(_, value)| value)
    }

    /// All values, by key, taken out.
    pub fn into_values(self) -> impl DoubleEndedIterator<Item = V> {
        self.into_iter().map(|(_, value)| value)
    }

    /// The entry of the smallest key.
    #[must_use]
    pub fn first_key_value(&self) -> Option<(&K, &V)> {
        self.entries.first().map(|(key, value)| (key, value))
    }

    /// The entry of the largest key.
    #[must_use]
    pub fn last_key_value(&self) -> Option<(&K, &V)> {
        self.entries.last().map(|(key, value)| (key, value))
    }

    /// Keeps the entries for which `keep` is true.
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &mut V) -> bool) {
        self.entries.retain_mut(|(key, value)| keep(key, value));
    }
}

impl<K: Ord, V> SortedMap<K, V> {
    fn find<Q: Ord + ?Sized>(&self, key: &Q) -> Result<usize, usize>
    where
        K: Borrow<Q>,
    {
        self.entries.binary_search_by(|(other, _)| other.borrow().cmp(key))
    }

    /// Whether `key` has an entry.
    #[must_use]
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.find(key).is_ok()
    }

    /// The value of `key`.
    #[must_use]
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let at = self.find(key).ok()?;
        self.entries.get(at).map(|(_, value)| value)
    }

    /// The value of `key`, to change.
    #[must_use]
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let at = self.find(key).ok()?;
        self.entries.get_mut(at).map(|(_, value)| value)
    }

    /// The value of `key`, which is `make()` if it has none yet.
    pub fn get_or_insert_with(&mut self, key: K, make: impl FnOnce() -> V) -> &mut V {
        let at = match self.find(&key) {
            Ok(at) => at,
            Err(at) => {
                self.entries.insert(at, (key, make()));
                at
            }
        };
        &mut self.entries[at].1
    }

    /// Sets the value of `key` and returns the one it had.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.find(&key) {
            Ok(at) => Some(core::mem::replace(&mut self.entries[at].1, value)),
            Err(at) => {
                self.entries.insert(at, (key, value));
                None
            }
        }
    }

    /// Removes the entry of `key` and returns its value.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let at = self.find(key).ok()?;
        Some(self.entries.remove(at).1)
    }

    /// Removes the entry of the smallest key and returns it.
    pub fn pop_first(&mut self) -> Option<(K, V)> {
        (!self.entries.is_empty()).then(|| self.entries.remove(0))
    }

    /// The entries whose keys are in `range`, by key. None if the range ends before it starts.
    pub fn range(&self, range: impl RangeBounds<K>) -> impl DoubleEndedIterator<Item = (&K, &V)> {
        let from = match range.start_bound() {
            Bound::Unbounded => 0,
            Bound::Included(first) => self.entries.partition_point(|(key, _)| key < first),
            Bound::Excluded(before) => self.entries.partition_point(|(key, _)| key <= before),
        };
        let to = match range.end_bound() {
            Bound::Unbounded => self.entries.len(),
            Bound::Included(last) => self.entries.partition_point(|(key, _)| key <= last),
            Bound::Excluded(end) => self.entries.partition_point(|(key, _)| key < end),
        };
        let found = self.entries.get(from..to).unwrap_or_default();
        found.iter().map(|(key, value)| (key, value))
    }
}

impl<K, V> Default for SortedMap<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for SortedMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for SortedMap<K, V> {
    /// Of two equal keys the later one counts.
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut entries: Vec<(K, V)> = entries.into_iter().collect();
        entries.sort_by(|(a, _), (b, _)| a.cmp(b));
        entries.dedup_by(|later, earlier| {
            let is_same = later.0 == earlier.0;
            if is_same {
                core::mem::swap(later, earlier);
            }
            is_same
        });
        Self { entries: Outlined::new(entries) }
    }
}

impl<K, V> IntoIterator for SortedMap<K, V> {
    type Item = (K, V);
    type IntoIter = std::vec::IntoIter<(K, V)>;

    fn into_iter(mut self) -> Self::IntoIter {
        core::mem::take(&mut *self.entries).into_iter()
    }
}

/// A set in a sorted array. See the [module](super).
#[derive(Clone, PartialEq, Eq)]
pub struct SortedSet<K> {
    keys: Outlined<Vec<K>>,
}

impl<K> SortedSet<K> {
    /// An empty set.
    #[must_use]
    pub const fn new() -> Self {
        Self { keys: Outlined::new(Vec::new()) }
    }

    /// The number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.keys.clear();
    }

    /// All entries, sorted.
    pub fn iter(&self) -> core::slice::Iter<'_, K> {
        self.keys.iter()
    }

    /// The smallest entry.
    #[must_use]
    pub fn first(&self) -> Option<&K> {
        self.keys.first()
    }

    /// Keeps the entries for which `keep` is true.
    pub fn retain(&mut self, keep: impl FnMut(&K) -> bool) {
        self.keys.retain(keep);
    }
}

impl<K: Ord> SortedSet<K> {
    /// Whether `key` is in the set.
    #[must_use]
    pub fn contains<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.keys.binary_search_by(|other| other.borrow().cmp(key)).is_ok()
    }

    /// Adds `key`. False if it was in the set.
    pub fn insert(&mut self, key: K) -> bool {
        match self.keys.binary_search(&key) {
            Ok(_) => false,
            Err(at) => {
                self.keys.insert(at, key);
                true
            }
        }
    }

    /// Removes `key`. False if it was not in the set.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        let found = self.keys.binary_search_by(|other| other.borrow().cmp(key));
        found.map(|at| self.keys.remove(at)).is_ok()
    }

    /// Removes the smallest entry and returns it.
    pub fn pop_first(&mut self) -> Option<K> {
        (!self.keys.is_empty()).then(|| self.keys.remove(0))
    }
}

impl<K> Default for SortedSet<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: fmt::Debug> fmt::Debug for SortedSet<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(&*self.keys).finish()
    }
}

impl<K: Ord> FromIterator<K> for SortedSet<K> {
    fn from_iter<I: IntoIterator<Item = K>>(keys: I) -> Self {
        let mut keys: Vec<K> = keys.into_iter().collect();
        keys.sort_unstable();
        keys.dedup();
        Self { keys: Outlined::new(keys) }
    }
}

impl<K> IntoIterator for SortedSet<K> {
    type Item = K;
    type IntoIter = std::vec::IntoIter<K>;

    fn into_iter(mut self) -> Self::IntoIter {
        core::mem::take(&mut *self.keys).into_iter()
    }
}

impl<'a, K> IntoIterator for &'a SortedSet<K> {
    type Item = &'a K;
    type IntoIter = core::slice::Iter<'a, K>;

    fn into_iter(self) -> Self::IntoIter {
        self.keys.iter()
    }
}
