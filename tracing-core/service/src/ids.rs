//! Ids that the service gives out: how 16 bits are used again, those of registrations, and those of traces.

/// The next id after `last`, around the end, that is neither zero nor taken.
pub(crate) fn free_id(last: u16, is_free: impl Fn(u16) -> bool) -> Option<u16> {
    let steps = (1..=u16::MAX).chain([0]);
    steps.map(|step| last.wrapping_add(step)).find(|id| *id != 0 && is_free(*id))
}

/// Names one registration of a data source, of any producer. Later ones are greater.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SourceId(u64);

impl SourceId {
    /// Before all registrations.
    pub(crate) const NONE: Self = Self(0);
    /// Behind all registrations.
    pub(crate) const MAX: Self = Self(u64::MAX);

    pub(crate) fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

/// Names one trace among those of all services. That of a clone has the least significant half of its source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceUuid {
    /// The least significant half.
    pub lsb: i64,
    /// The most significant half.
    pub msb: i64,
}
