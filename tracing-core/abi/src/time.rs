//! Time as a value: all clocks of one instant, sampled by the shell.
//!
//! Only `os::clock` reads clocks, once per event, so that all code which handles the event sees
//! one consistent [`Now`], and a simulator can make one up.

use core::fmt;

/// Nanoseconds since boot, suspended time included (`CLOCK_BOOTTIME`): the clock of timers and, by
/// default, of packets.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct BootTime(u64);

impl BootTime {
    /// The moment `ns` nanoseconds after boot.
    #[must_use]
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns)
    }

    /// Nanoseconds since boot.
    #[must_use]
    pub const fn as_ns(self) -> u64 {
        self.0
    }

    /// This moment plus `ms` milliseconds; saturates instead of wrapping.
    #[must_use]
    pub const fn plus_ms(self, ms: u64) -> Self {
        self.plus_ns(ms.saturating_mul(1_000_000))
    }

    /// This moment plus `ns` nanoseconds; saturates.
    #[must_use]
    pub const fn plus_ns(self, ns: u64) -> Self {
        Self(self.0.saturating_add(ns))
    }

    /// Nanoseconds from `earlier` to this moment; zero if it is not earlier.
    #[must_use]
    pub const fn since_ns(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl fmt::Debug for BootTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BootTime({self})")
    }
}

impl fmt::Display for BootTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09}s", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

/// The value of each clock of the machine at one instant, in nanoseconds except for the last.
///
/// The fields are read one after the other, within a few hundred nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Now {
    /// `CLOCK_BOOTTIME`: since boot, with suspended time.
    pub boot_ns: u64,
    /// `CLOCK_MONOTONIC`: since boot, without suspended time.
    pub mono_ns: u64,
    /// `CLOCK_MONOTONIC_COARSE`.
    pub mono_coarse_ns: u64,
    /// `CLOCK_MONOTONIC_RAW`: not slewed by time daemons.
    pub mono_raw_ns: u64,
    /// `CLOCK_REALTIME`: since 1970; jumps when it is set.
    pub real_ns: u64,
    /// `CLOCK_REALTIME_COARSE`.
    pub real_coarse_ns: u64,
    /// Ticks of the processor's time stamp counter, where it can be read.
    pub tsc: Option<u64>,
}

impl Now {
    /// The instant on the clock of timers.
    #[must_use]
    pub const fn boot(&self) -> BootTime {
        BootTime(self.boot_ns)
    }

    /// A made-up instant at which every clock says `ns`, for tests and simulations.
    #[must_use]
    pub const fn at_ns(ns: u64) -> Self {
        Self {
            boot_ns: ns,
            mono_ns: ns,
            mono_coarse_ns: ns,
            mono_raw_ns: ns,
            real_ns: ns,
            real_coarse_ns: ns,
            tsc: None,
        }
    }
}
