//! How much of something there is, and may be: an item of the accounts that answers to queries have.

use protos::UserAccountItem;

/// See the [module](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) held: u64,
    /// [`Usage::UNLIMITED`] where there is no limit.
    pub(crate) max: u64,
    /// How often more was refused; none where nobody counts that.
    pub(crate) refused: Option<u64>,
}

impl Usage {
    pub(crate) const UNLIMITED: u64 = u64::MAX;

    /// Where nobody counts what was refused.
    pub(crate) fn new(held: u64, max: u64) -> Self {
        Self { held, max, refused: None }
    }

    pub(crate) fn to_proto(self) -> UserAccountItem {
        let max = Some(self.max).filter(|max| *max < Self::UNLIMITED);
        let Self { held, refused, .. } = self;
        UserAccountItem { held: Some(held), max, refused, ..Default::default() }
    }
}
