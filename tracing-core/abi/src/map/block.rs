//! A map and a set for any number of entries: sorted blocks of sorted entries.
//!
//! ```text
//!  blocks   [ 1 2 3 7 ]  [ 9 12 ]  [ 20 21 40 41 ]
//! ```
//!
//! A search looks for the block, then in it. No block is empty. A full one is split; one with few entries is joined
//! with a neighbour, so that memory stays in proportion to the entries.

use core::borrow::Borrow;
use core::fmt;
use core::ops::{Bound, RangeBounds};
use core::slice;

use crate::outlined::Outlined;

/// A map in sorted blocks. See the [module](super).
#[derive(Clone)]
pub struct BlockMap<K, V> {
    blocks: Outlined<Vec<Vec<(K, V)>>>,
    len: usize,
}

/// A place in a map: the block, and the entry in it.
type Place = (usize, usize);

impl<K, V> BlockMap<K, V> {
    /// Entries of a block: about a page of small ones, and not too few large ones.
    const BLOCK_MAX: usize = {
        let in_a_page = 4096 / (size_of::<(K, V)>() + 1);
        if in_a_page < 16 {
            16
        } else if in_a_page > 128 {
            128
        } else {
            in_a_page
        }
    };

    /// An empty map.
    #[must_use]
    pub const fn new() -> Self {
        Self { blocks: Outlined::new(Vec::new()), len: 0 }
    }

    /// The number of entries.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no entry.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Memory of all blocks, bytes, with what an allocator adds to each.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        const ADDED: usize = 16;
        let of = |capacity: usize, size: usize| capacity.saturating_mul(size).saturating_add(ADDED);
        let blocks = self.blocks.iter().map(|block| of(block.capacity(), size_of::<(K, V)>()));
        let own = match self.blocks.capacity() {
            0 => 0,
            capacity => of(capacity, size_of::<Vec<(K, V)>>()),
        };
        blocks.fold(own, usize::saturating_add)
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        *self = Self::new();
    }

    /// All entries by key.
    #[must_use]
    pub fn iter(&self) -> Iter<'_, K, V> {
        Iter { front: [].iter(), blocks: self.blocks.iter(), back: [].iter() }
    }

    /// All keys, sorted.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &K> + Clone {
        self.iter().map(|(key, _)| key)
    }

    /// All values, by key.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> + Clone {
        self.iter().map(|(_, value)| value)
    }

    /// All entries by key, with values that can be changed.
    pub fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = (&K, &mut V)> {
        self.blocks.iter_mut().flatten().map(|(key, value)| (&*key, value))
    }

    /// All values, by key, to change.
    pub fn values_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut V> {
        self.blocks.iter_mut().flatten().map(|(_, value)| value)
    }

    /// All values, by key, taken out.
    pub fn into_values(self) -> impl DoubleEndedIterator<Item = V> {
        self.into_iter().map(|(_, value)| value)
    }

    /// The entry of the smallest key.
    #[must_use]
    pub fn first_key_value(&self) -> Option<(&K, &V)> {
        self.blocks.first()?.first().map(|(key, value)| (key, value))
    }

    /// The entry of the largest key.
    #[must_use]
    pub fn last_key_value(&self) -> Option<(&K, &V)> {
        self.blocks.last()?.last().map(|(key, value)| (key, value))
    }

    /// Keeps the entries for which `keep` is true.
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &mut V) -> bool) {
        let old = core::mem::take(self);
        for (key, mut value) in old {
            if keep(&key, &mut value) {
                self.push((key, value));
            }
        }
    }

    /// Adds an entry behind all others.
    fn push(&mut self, entry: (K, V)) {
        let block = self.blocks.len().saturating_sub(1);
        let at = self.blocks.last().map_or(0, Vec::len);
        self.insert_at((block, at), entry);
    }

    /// Adds an entry. Gives the place that it has then: a split moves it.
    fn insert_at(&mut self, (mut block, mut at): Place, entry: (K, V)) -> Place {
        self.len += 1;
        if self.blocks.is_empty() {
            self.blocks.push(vec![entry]);
            return (0, 0);
        }
        if self.blocks[block].len() >= Self::BLOCK_MAX {
            // Behind the last entry of all nothing is split: rising keys fill their blocks.
            let is_last = block + 1 == self.blocks.len() && at == Self::BLOCK_MAX;
            let from = if is_last { at } else { Self::BLOCK_MAX / 2 };
            let upper = self.blocks[block].split_off(from);
            self.blocks.insert(block + 1, upper);
            if is_last || at > from {
                (block, at) = (block + 1, at - from);
            }
        }
        self.blocks[block].insert(at, entry);
        (block, at)
    }

    fn remove_at(&mut self, (block, at): Place) -> (K, V) {
        self.len -= 1;
        let entry = self.blocks[block].remove(at);
        if self.blocks[block].len() <= Self::BLOCK_MAX / 4 {
            self.join(block);
            if block > 0 {
                self.join(block - 1);
            }
        }
        entry
    }

    /// Appends the next block to this one if both are half a block together; removes this one if it is the only one
    /// and empty.
    fn join(&mut self, block: usize) {
        let len = |block: usize| self.blocks.get(block).map(Vec::len);
        match (len(block), len(block + 1)) {
            (Some(this), Some(next)) if this + next <= Self::BLOCK_MAX / 2 => {
                let mut next = self.blocks.remove(block + 1);
                self.blocks[block].append(&mut next);
            }
            (Some(0), _) => {
                self.blocks.remove(block);
            }
            _ => {}
        }
    }
}

impl<K: Ord, V> BlockMap<K, V> {
    /// The place of `key`, or the one where it belongs.
    fn find<Q: Ord + ?Sized>(&self, key: &Q) -> Result<Place, Place>
    where
        K: Borrow<Q>,
    {
        let first = |block: &Vec<(K, V)>| block[0].0.borrow() <= key;
        // Most maps have one block.
        let block = match self.blocks.len() {
            0 | 1 => 0,
            _ => self.blocks.partition_point(first).saturating_sub(1),
        };
        let entries = self.blocks.get(block).map_or(&[][..], Vec::as_slice);
        let found = entries.binary_search_by(|(other, _)| other.borrow().cmp(key));
        found.map(|at| (block, at)).map_err(|at| (block, at))
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
        self.get_key_value(key).map(|(_, value)| value)
    }

    /// The entry of `key`.
    #[must_use]
    pub fn get_key_value<Q: Ord + ?Sized>(&self, key: &Q) -> Option<(&K, &V)>
    where
        K: Borrow<Q>,
    {
        let (block, at) = self.find(key).ok()?;
        let (key, value) = &self.blocks[block][at];
        Some((key, value))
    }

    /// The value of `key`, to change.
    #[must_use]
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let (block, at) = self.find(key).ok()?;
        Some(&mut self.blocks[block][at].1)
    }

    /// The value of `key`, which is `make()` if it has none yet.
    pub fn get_or_insert_with(&mut self, key: K, make: impl FnOnce() -> V) -> &mut V {
        let (block, at) = match self.find(&key) {
            Ok(place) => place,
            Err(place) => self.insert_at(place, (key, make())),
        };
        &mut self.blocks[block][at].1
    }

    /// Sets the value of `key` and returns the one it had.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.find(&key) {
            Ok((block, at)) => Some(core::mem::replace(&mut self.blocks[block][at].1, value)),
            Err(place) => {
                self.insert_at(place, (key, value));
                None
            }
        }
    }

    /// Removes the entry of `key` and returns its value.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let place = self.find(key).ok()?;
        Some(self.remove_at(place).1)
    }

    /// Removes the entry of the smallest key and returns it.
    pub fn pop_first(&mut self) -> Option<(K, V)> {
        (self.len > 0).then(|| self.remove_at((0, 0)))
    }

    /// The entries whose keys are in `range`, by key. None if the range ends before it starts.
    pub fn range(&self, range: impl RangeBounds<K>) -> Iter<'_, K, V> {
        // The place of a bound, or the one behind it.
        let place = |bound: Bound<&K>, unbounded: Place, behind: fn(&Bound<&K>) -> bool| {
            let (Bound::Included(key) | Bound::Excluded(key)) = bound else { return unbounded };
            match self.find(key) {
                Ok((block, at)) => (block, at + usize::from(behind(&bound))),
                Err(place) => place,
            }
        };
        let end = (self.blocks.len(), 0);
        let from = place(range.start_bound(), (0, 0), |b| matches!(b, Bound::Excluded(_)));
        let to = place(range.end_bound(), end, |b| matches!(b, Bound::Included(_)));
        self.between(from, to)
    }

    /// Fails if a block is empty, too long, or should have been joined with its neighbour.
    #[cfg(test)]
    pub(super) fn check_blocks(&self) {
        let lens: Vec<usize> = self.blocks.iter().map(Vec::len).collect();
        assert!(lens.iter().all(|len| (1..=Self::BLOCK_MAX).contains(len)), "{lens:?}");
        assert_eq!(self.len, lens.iter().sum(), "{lens:?}");
        // Rising keys start a block, so the last one may have few entries.
        let inner = lens.split_last().map_or(&[][..], |(_, inner)| inner);
        let short = |pair: &[usize]| pair[0] + pair[1] <= Self::BLOCK_MAX / 2;
        assert!(!inner.windows(2).any(short), "{lens:?}");
    }

    fn between(&self, from: Place, to: Place) -> Iter<'_, K, V> {
        let block = |at: usize| self.blocks.get(at).map_or(&[][..], Vec::as_slice);
        let (front, blocks, back) = if from >= to {
            (&[][..], &[][..], &[][..])
        } else if from.0 == to.0 {
            (&block(from.0)[from.1..to.1], &[][..], &[][..])
        } else {
            let whole = &self.blocks[from.0 + 1..to.0];
            (&block(from.0)[from.1..], whole, &block(to.0)[..to.1])
        };
        Iter { front: front.iter(), blocks: blocks.iter(), back: back.iter() }
    }
}

/// Entries of a [`BlockMap`], by key.
#[derive(Debug)]
pub struct Iter<'a, K, V> {
    front: slice::Iter<'a, (K, V)>,
    blocks: slice::Iter<'a, Vec<(K, V)>>,
    back: slice::Iter<'a, (K, V)>,
}

impl<K, V> Clone for Iter<'_, K, V> {
    fn clone(&self) -> Self {
        let Self { front, blocks, back } = self;
        Self { front: front.clone(), blocks: blocks.clone(), back: back.clone() }
    }
}

impl<'a, K, V> Iterator for Iter<'a, K, V> {
    type Item = (&'a K, &'a V);

    fn next(&mut self) -> Option<(&'a K, &'a V)> {
        loop {
            if let Some((key, value)) = self.front.next() {
                return Some((key, value));
            }
            let Some(block) = self.blocks.next() else { break };
            self.front = block.iter();
        }
        self.back.next().map(|(key, value)| (key, value))
    }
}

impl<'a, K, V> DoubleEndedIterator for Iter<'a, K, V> {
    fn next_back(&mut self) -> Option<(&'a K, &'a V)> {
        loop {
            if let Some((key, value)) = self.back.next_back() {
                return Some((key, value));
            }
            let Some(block) = self.blocks.next_back() else { break };
            self.back = block.iter();
        }
        self.front.next_back().map(|(key, value)| (key, value))
    }
}

impl<K, V> Default for BlockMap<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for BlockMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<K: PartialEq, V: PartialEq> PartialEq for BlockMap<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.iter().eq(other.iter())
    }
}

impl<K: Eq, V: Eq> Eq for BlockMap<K, V> {}

impl<K: Ord, V> FromIterator<(K, V)> for BlockMap<K, V> {
    /// Of two equal keys the later one counts.
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = Self::new();
        for (key, value) in entries {
            map.insert(key, value);
        }
        map
    }
}

impl<K, V> IntoIterator for BlockMap<K, V> {
    type Item = (K, V);
    type IntoIter = core::iter::Flatten<std::vec::IntoIter<Vec<(K, V)>>>;

    fn into_iter(mut self) -> Self::IntoIter {
        core::mem::take(&mut *self.blocks).into_iter().flatten()
    }
}

impl<'a, K, V> IntoIterator for &'a BlockMap<K, V> {
    type Item = (&'a K, &'a V);
    type IntoIter = Iter<'a, K, V>;

    fn into_iter(self) -> Iter<'a, K, V> {
        self.iter()
    }
}

/// A set in sorted blocks. See the [module](super).
#[derive(Clone, PartialEq, Eq)]
pub struct BlockSet<K> {
    map: BlockMap<K, ()>,
}

impl<K> BlockSet<K> {
    /// An empty set.
    #[must_use]
    pub const fn new() -> Self {
        Self { map: BlockMap::new() }
    }

    /// The number of entries.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.map.len()
    }

    /// Whether there is no entry.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.map.clear();
    }

    /// All entries, sorted.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &K> + Clone {
        self.map.keys()
    }

    /// The smallest entry.
    #[must_use]
    pub fn first(&self) -> Option<&K> {
        self.map.first_key_value().map(|(key, ())| key)
    }

    /// Keeps the entries for which `keep` is true.
    pub fn retain(&mut self, mut keep: impl FnMut(&K) -> bool) {
        self.map.retain(|key, ()| keep(key));
    }
}

impl<K: Ord> BlockSet<K> {
    /// Whether `key` is in the set.
    #[must_use]
    pub fn contains<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.map.contains_key(key)
    }

    /// Adds `key`. False if it was in the set.
    pub fn insert(&mut self, key: K) -> bool {
        self.map.insert(key, ()).is_none()
    }

    /// Removes `key`. False if it was not in the set.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.map.remove(key).is_some()
    }

    /// Removes the smallest entry and returns it.
    pub fn pop_first(&mut self) -> Option<K> {
        self.map.pop_first().map(|(key, ())| key)
    }
}

impl<K> Default for BlockSet<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: fmt::Debug> fmt::Debug for BlockSet<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl<K: Ord> FromIterator<K> for BlockSet<K> {
    fn from_iter<I: IntoIterator<Item = K>>(keys: I) -> Self {
        Self { map: keys.into_iter().map(|key| (key, ())).collect() }
    }
}

impl<K> IntoIterator for BlockSet<K> {
    type Item = K;
    type IntoIter = core::iter::Map<<BlockMap<K, ()> as IntoIterator>::IntoIter, fn((K, ())) -> K>;

    fn into_iter(self) -> Self::IntoIter {
        self.map.into_iter().map(|(key, ())| key)
    }
}
