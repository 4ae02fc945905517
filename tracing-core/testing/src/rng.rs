//! Random numbers from a seed (SplitMix64): the same on every machine. Or from the input of a fuzz target, so
//! that the fuzzer controls every random choice.

/// A stream of numbers.
#[derive(Clone, Debug)]
pub(crate) struct Rng(Source);

#[derive(Clone, Debug)]
enum Source {
    Seed(u64),
    /// In reverse order. When none are left, all numbers are 0.
    Bytes(Vec<u8>),
}

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Source::Seed(seed))
    }

    pub(super) fn of_bytes(bytes: &[u8]) -> Self {
        Self(Source::Bytes(bytes.iter().rev().copied().collect()))
    }

    /// Whether all bytes are used; a seed never ends.
    pub(super) fn is_used_up(&self) -> bool {
        matches!(&self.0, Source::Bytes(bytes) if bytes.is_empty())
    }

    pub(crate) fn next(&mut self) -> u64 {
        match &mut self.0 {
            Source::Seed(state) => {
                *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let mut z = *state;
                z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                z ^ (z >> 31)
            }
            Source::Bytes(_) => u64::from_le_bytes(std::array::from_fn(|_| self.byte())),
        }
    }

    fn byte(&mut self) -> u8 {
        match &mut self.0 {
            Source::Seed(_) => self.next() as u8,
            Source::Bytes(bytes) => bytes.pop().unwrap_or(0),
        }
    }

    /// An independent stream, so that the choices of one actor do not change those of another.
    pub(super) fn fork(&mut self) -> Self {
        Self::new(self.next())
    }

    /// Below `n`; zero for zero.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        let number = match &self.0 {
            // As few bytes as possible: a changed byte then changes one choice, not all that follow.
            Source::Bytes(_) if n <= 1 << 8 => self.byte().into(),
            Source::Bytes(_) if n <= 1 << 16 => {
                u16::from_le_bytes([self.byte(), self.byte()]).into()
            }
            _ => self.next(),
        };
        if n == 0 { 0 } else { number % n }
    }

    /// From `low` to `high`, both included.
    pub(super) fn within(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// True with a probability of `percent`.
    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    /// Random bytes, fewer than `max`.
    pub(super) fn bytes(&mut self, max: u64) -> Vec<u8> {
        let count = self.below(max);
        (0..count).map(|_| self.byte()).collect()
    }
}
