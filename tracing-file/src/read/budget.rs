//! The memory of all tables of a reader together.

/// How much memory tables may take.
#[derive(Debug)]
pub(crate) struct Budget {
    left: usize,
}

impl Budget {
    pub(crate) const fn new(bytes: usize) -> Self {
        Self { left: bytes }
    }

    /// Takes `bytes`, if that many are left.
    pub(crate) fn take(&mut self, bytes: usize) -> bool {
        match self.left.checked_sub(bytes) {
            Some(left) => {
                self.left = left;
                true
            }
            None => false,
        }
    }

    pub(crate) fn give_back(&mut self, bytes: usize) {
        self.left = self.left.saturating_add(bytes);
    }
}
