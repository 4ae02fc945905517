//! The sequences of a buffer, each in an allocation of its own: of one that is forgotten nothing is left but its place,
//! which the next one gets.

use super::chunks::ALLOCATION_BYTES;

/// Places that are added at least.
const GROWTH_MIN: usize = 16;

/// Values by number. A value keeps its number until it is removed.
#[derive(Clone, Debug)]
pub(super) struct Slots<T> {
    all: Vec<Option<Box<T>>>,
    free: Vec<u32>,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self { all: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slots<T> {
    #[inline]
    pub(super) fn get(&self, slot: u32) -> Option<&T> {
        self.all.get(usize::try_from(slot).ok()?)?.as_deref()
    }

    #[inline]
    pub(super) fn get_mut(&mut self, slot: u32) -> Option<&mut T> {
        self.all.get_mut(usize::try_from(slot).ok()?)?.as_deref_mut()
    }

    /// Adds a value. Returns its number.
    pub(super) fn add(&mut self, value: T) -> Option<u32> {
        if let Some(slot) = self.free.pop() {
            *self.all.get_mut(usize::try_from(slot).ok()?)? = Some(Box::new(value));
            return Some(slot);
        }
        let len = self.all.len();
        let slot = u32::try_from(len).ok()?;
        if len == self.all.capacity() {
            // Not twice as many: what an index may take is charged for its buffer.
            self.all.reserve_exact((len / 4).max(GROWTH_MIN));
        }
        self.all.push(Some(Box::new(value)));
        Some(slot)
    }

    /// A copy in which each value is changed.
    pub(super) fn clone_with(&self, change: impl Fn(&mut T)) -> Self
    where
        T: Clone,
    {
        let copy = |value: &Option<Box<T>>| {
            let mut value = value.clone();
            value.as_deref_mut().into_iter().for_each(&change);
            value
        };
        Self { all: self.all.iter().map(copy).collect(), free: self.free.clone() }
    }

    /// Removes a value.
    pub(super) fn remove(&mut self, slot: u32) {
        let place = usize::try_from(slot).ok().and_then(|slot| self.all.get_mut(slot));
        if place.and_then(Option::take).is_some() {
            if self.free.len() == self.free.capacity() {
                self.free.reserve_exact((self.free.len() / 4).max(GROWTH_MIN));
            }
            self.free.push(slot);
        }
    }

    /// All values.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.all.iter().flatten().map(Box::as_ref)
    }

    /// How many places there are, those of removed values included.
    pub(super) fn places(&self) -> usize {
        self.all.len()
    }

    /// Drops the values in the last `count` places.
    pub(super) fn drop_last(&mut self, count: usize) {
        self.all.truncate(self.all.len().saturating_sub(count));
    }

    /// Memory of all, bytes, with what `of` says that each value has elsewhere.
    pub(super) fn memory_bytes(&self, of: impl Fn(&T) -> usize) -> usize {
        let value = const { size_of::<T>() + ALLOCATION_BYTES };
        let values = self.iter().map(|sequence| of(sequence).saturating_add(value));
        let places = self.all.capacity().saturating_mul(size_of::<Option<Box<T>>>());
        let free = self.free.capacity().saturating_mul(size_of::<u32>());
        values.fold(places.saturating_add(free), usize::saturating_add)
    }
}
