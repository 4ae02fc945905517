//! Ids of 16 bits, which are used again.

/// The next id after `last`, around the end, that is neither zero nor taken.
pub(crate) fn free_id(last: u16, is_free: impl Fn(u16) -> bool) -> Option<u16> {
    let steps = (1..=u16::MAX).chain([0]);
    steps.map(|step| last.wrapping_add(step)).find(|id| *id != 0 && is_free(*id))
}
