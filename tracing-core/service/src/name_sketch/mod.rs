//! A set of names that takes 128 bytes, however many there are: it may have names that were not put in, but has all
//! that were.

use std::hash::{DefaultHasher, Hasher as _};

const WORDS: usize = 16;

/// See the [module](self).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NameSketch([u64; WORDS]);

impl NameSketch {
    pub(crate) fn add(&mut self, name: &str) {
        let mut hasher = DefaultHasher::new();
        hasher.write(name.as_bytes());
        let hash = hasher.finish();
        if let Some(word) = self.0.get_mut((hash >> 32) as usize % WORDS) {
            *word |= 1 << (hash % 64);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// Whether there may be a name in both. False only if there is none.
    pub(crate) fn may_share(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(one, other)| one & other != 0)
    }
}

#[cfg(test)]
mod tests;
