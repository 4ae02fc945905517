//! Sets of a few packets, which are numbered as they are written.

/// A set of packets below 8.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Set(u8);

impl Set {
    pub fn of(packet: u8) -> Self {
        Self(1 << packet)
    }

    /// The packets below `count`.
    pub fn below(count: u8) -> Self {
        Self((1 << count) - 1)
    }

    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn has(self, packet: u8) -> bool {
        self.0 >> packet & 1 == 1
    }

    pub fn first(self) -> Option<u8> {
        (0..8).find(|packet| self.has(*packet))
    }

    pub fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }

    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub fn contains(self, other: Self) -> bool {
        other.without(self).is_empty()
    }

    /// All of it, which is left empty.
    pub fn take(&mut self) -> Self {
        std::mem::take(self)
    }
}

impl std::fmt::Debug for Set {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries((0..8).filter(|packet| self.has(*packet))).finish()
    }
}
