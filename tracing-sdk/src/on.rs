//! Whether the feature `off` is off.

/// Whether anything is recorded. A constant, so that the compiler leaves out what it excludes.
pub const ON: bool = cfg!(not(feature = "off"));
