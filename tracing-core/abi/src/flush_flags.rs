//! Why producers are asked to commit what they hold, and by whom (`flush_flags.h`).
//!
//! ```text
//!   bits 0-3    reason       1 periodic, 2 the session ends, 3 it is cloned, 4 a consumer asks
//!   bits 4-7    initiator    1 the service, 2 the perfetto tool, 3 a consumer of the SDK
//!   bits 8-11   clone for    1 a bug report
//! ```
//!
//! The bits may come from a peer of another version: those without a meaning here pass through.

/// Why a session is flushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FlushReason {
    /// The one that asks does not say it.
    Unknown,
    /// The config asks for it at intervals.
    Periodic,
    /// The session ends.
    Stop,
    /// The session is copied.
    Clone,
    /// A consumer asked for it.
    Explicit,
}

/// Reason and initiator of a flush, as producers get them. See the [module](self).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlushFlags(u64);

impl FlushFlags {
    /// Started by the service itself, periodically.
    pub const PERIODIC: Self = Self(0x11);
    /// Started by the service before it stops a session.
    pub const STOP: Self = Self(0x12);
    /// Started by the service for a clone.
    pub const CLONE: Self = Self(0x13);
    /// Started by the service for a clone that goes into a bug report.
    pub const CLONE_FOR_BUGREPORT: Self = Self(0x113);
    /// Started by the perfetto tool, because its user asked for it.
    pub const EXPLICIT_OF_TOOL: Self = Self(0x24);

    /// These bits.
    #[inline]
    pub const fn new(bits: u64) -> Self {
        Self(bits)
    }

    /// All bits.
    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// What the flush is for.
    pub const fn reason(self) -> FlushReason {
        match self.0 & 0xf {
            1 => FlushReason::Periodic,
            2 => FlushReason::Stop,
            3 => FlushReason::Clone,
            4 => FlushReason::Explicit,
            _ => FlushReason::Unknown,
        }
    }
}
