//! A set of names that takes 128 bytes, however many there are: it may have names that were not put in, but has all
//! that were.

const WORDS: usize = 16;

/// See the [module](self).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NameSketch([u64; WORDS]);

/// What a sketch has of one name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NameBit {
    word: usize,
    bit: u64,
}

impl NameBit {
    pub(crate) fn of(name: &str) -> Self {
        // FNV-1a.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self { word: (hash >> 32) as usize % WORDS, bit: 1 << (hash % 64) }
    }
}

impl NameSketch {
    pub(crate) fn add(&mut self, name: NameBit) {
        if let Some(word) = self.0.get_mut(name.word) {
            *word |= name.bit;
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// Whether it may have a name. False only if it has not.
    pub(crate) fn may_have(&self, name: NameBit) -> bool {
        self.0.get(name.word).is_some_and(|word| word & name.bit != 0)
    }
}

#[cfg(test)]
mod tests;
