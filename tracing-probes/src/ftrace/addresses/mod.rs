//! Addresses of the kernel leave as indices: 1, 2, ... by first appearance in a session and a pass. The address itself
//! stays here: it would tell where the kernel lies in memory.

/// The indices of a session in a pass.
#[derive(Debug, Default)]
pub(crate) struct Addresses {
    /// Addresses in the order of their indices: `seen[0]` has index 1.
    seen: Vec<u64>,
    /// A table without gaps in its chains: an index, or 0. A power of two, at least half of it empty.
    slots: Vec<u32>,
    /// How many of `seen` have been handed out by [`Addresses::fresh`].
    told: usize,
}

impl Addresses {
    /// Begins a new pass.
    pub(crate) fn clear(&mut self) {
        self.seen.clear();
        self.slots.fill(0);
        self.told = 0;
    }

    /// The index of an address.
    #[inline]
    pub(crate) fn index(&mut self, address: u64) -> u64 {
        if self.slots.len() < 2 * (self.seen.len() + 1) {
            self.grow();
        }
        let slot = self.slot_of(address);
        match self.slots.get_mut(slot) {
            Some(0) | None => {
                self.seen.push(address);
                let index = self.seen.len() as u32;
                if let Some(slot) = self.slots.get_mut(slot) {
                    *slot = index;
                }
                index.into()
            }
            Some(index) => (*index).into(),
        }
    }

    /// Whether the pass has any.
    pub(crate) fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }

    /// Indices and addresses that appeared since the last call.
    pub(crate) fn fresh(&mut self) -> impl Iterator<Item = (u64, u64)> {
        let first = std::mem::replace(&mut self.told, self.seen.len());
        (first as u64 + 1..).zip(self.seen.iter().skip(first).copied())
    }

    /// Where `address` is, or where it belongs.
    #[inline]
    fn slot_of(&self, address: u64) -> usize {
        // A multiplication mixes the low bits, which differ, into the high ones.
        let hash = address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let mask = self.slots.len().wrapping_sub(1);
        let mut slot = hash as usize & mask;
        loop {
            match self.slots.get(slot) {
                None | Some(0) => return slot,
                Some(index) if self.seen.get(*index as usize - 1) == Some(&address) => return slot,
                Some(_) => slot = (slot + 1) & mask,
            }
        }
    }

    #[cold]
    fn grow(&mut self) {
        self.slots.clear();
        self.slots.resize((4 * (self.seen.len() + 1)).next_power_of_two().max(64), 0);
        for (index, address) in (1..).zip(&self.seen) {
            let slot = self.slot_of(*address);
            if let Some(slot) = self.slots.get_mut(slot) {
                *slot = index;
            }
        }
    }
}

#[cfg(test)]
mod tests;
