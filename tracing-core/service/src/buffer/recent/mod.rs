//! The way from a writer to its sequence, for those that wrote lately.
//!
//! A table in front of the ordered map that knows all: a place for each hash, the last one stays. Whatever
//! the keys, a look costs the same; who makes his keys clash only gets to the map more often.

/// Places of a new table.
const PLACES_MIN: usize = 16;
/// Places at the most: of 64 KiB.
const PLACES_MAX: usize = 4096;
/// A place without a key. No slot has this number.
const NONE: (u64, u32) = (0, u32::MAX);

/// Slots by key.
#[derive(Clone, Debug)]
pub(super) struct Recent {
    places: Vec<(u64, u32)>,
}

impl Default for Recent {
    fn default() -> Self {
        Self { places: vec![NONE; PLACES_MIN] }
    }
}

impl Recent {
    #[inline]
    fn place(&self, key: u64) -> usize {
        // Numbers of writers count up: a multiplication spreads them best.
        let hash = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48;
        usize::try_from(hash).unwrap_or(0) & self.places.len().wrapping_sub(1)
    }

    #[inline]
    pub(super) fn find(&self, key: u64) -> Option<u32> {
        let (known, slot) = *self.places.get(self.place(key))?;
        (known == key && slot != NONE.1).then_some(slot)
    }

    /// Notes a key that was found or made. `all` is the number of keys there are.
    pub(super) fn note(&mut self, key: u64, slot: u32, all: usize) {
        let wanted = all.saturating_mul(2).min(PLACES_MAX);
        if self.places.len() < wanted {
            self.places = vec![NONE; wanted.next_power_of_two()];
        }
        let place = self.place(key);
        if let Some(known) = self.places.get_mut(place) {
            *known = (key, slot);
        }
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.places.fill(NONE);
    }

    /// Memory it takes, bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.places.capacity().saturating_mul(size_of::<(u64, u32)>())
    }
}

#[cfg(test)]
mod tests;
