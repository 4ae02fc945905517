//! A cache of sequence slots, by writer.
//!
//! It stands in front of an ordered map that knows all writers: a table with an entry for each hash, in which the
//! newest key replaces an older one. A lookup costs the same for all keys; colliding keys only fall back to the map.

/// Entries of a new table.
const ENTRIES_MIN: usize = 16;
/// Entries of the largest table, which has 64 KiB.
const ENTRIES_MAX: usize = 4096;
/// An entry without a key: no writer has this one.
const NONE: (u64, u32) = (u64::MAX, u32::MAX);

/// The cache.
#[derive(Clone, Debug)]
pub(super) struct SlotCache {
    entries: Vec<(u64, u32)>,
}

impl Default for SlotCache {
    fn default() -> Self {
        Self { entries: vec![NONE; ENTRIES_MIN] }
    }
}

impl SlotCache {
    /// Memory of the largest table, bytes.
    pub(super) const BYTES_MAX: usize = ENTRIES_MAX * size_of::<(u64, u32)>();

    #[inline]
    fn index(&self, key: u64) -> usize {
        // Writer ids are consecutive numbers, which a multiplication spreads evenly.
        let hash = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48;
        usize::try_from(hash).unwrap_or(0) & self.entries.len().wrapping_sub(1)
    }

    #[inline]
    pub(super) fn find(&self, key: u64) -> Option<u32> {
        let (known, slot) = *self.entries.get(self.index(key))?;
        (known == key).then_some(slot)
    }

    /// Adds a key. `key_count` is the number of keys in the map: the table grows with it.
    pub(super) fn insert(&mut self, key: u64, slot: u32, key_count: usize) {
        let wanted = key_count.saturating_mul(2).min(ENTRIES_MAX);
        if self.entries.len() < wanted {
            self.entries = vec![NONE; wanted.next_power_of_two()];
        }
        let index = self.index(key);
        if let Some(entry) = self.entries.get_mut(index) {
            *entry = (key, slot);
        }
    }

    /// Removes all keys.
    pub(super) fn clear(&mut self) {
        self.entries.fill(NONE);
    }

    /// Memory of the table, bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.entries.capacity().saturating_mul(size_of::<(u64, u32)>())
    }
}

#[cfg(test)]
mod tests;
