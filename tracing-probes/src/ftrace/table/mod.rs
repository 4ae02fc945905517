//! The events of this kernel, by the id that begins their records.

pub(super) mod plan;
pub(super) mod plans;
