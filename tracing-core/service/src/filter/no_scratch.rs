//! In place of [`scratch`](super::scratch) in builds that cannot filter strings.

/// Nothing, because there are no searches.
#[derive(Debug, Default)]
pub(super) struct Scratch {}
