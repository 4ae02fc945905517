//! How long a reader may search without finding a packet.

/// Counts fragments that give no packet, because they are empty or broken, until a bound is reached.
///
/// A buffer full of empty fragments must not stall the reader: at the bound the search ends, and the caller decides
/// whether it goes on.
#[derive(Debug)]
pub(super) struct ScanBudget {
    max: u32,
    left: u32,
    /// The search came to the end of what is there.
    ended: bool,
}

impl ScanBudget {
    /// A budget of `max` fragments, at least one.
    pub(super) const fn new(max: u32) -> Self {
        let max = if max == 0 { 1 } else { max };
        Self { max, left: max, ended: false }
    }

    /// Charges one fragment. True: the budget is used up.
    #[inline]
    pub(super) fn charge(&mut self) -> bool {
        self.left = self.left.saturating_sub(1);
        self.is_used_up()
    }

    /// Whether nothing is left.
    #[inline]
    pub(super) fn is_used_up(&self) -> bool {
        self.left == 0
    }

    /// Fills the budget again. Returns whether it was used up, so that there may be more to find.
    pub(super) fn renew(&mut self) -> bool {
        debug_assert!(!self.ended, "a search goes on that came to its end");
        let used_up = self.is_used_up();
        self.ended = !used_up;
        self.left = self.max;
        used_up
    }
}
