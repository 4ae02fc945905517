//! The clocks of the machine, all at once.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use abi::time::Now;

/// Samples every clock. About 200 ns: no system call where the kernel maps its clock page.
#[must_use]
pub fn now() -> Now {
    Now {
        boot_ns: read(ClockId::Boottime),
        mono_ns: read(ClockId::Monotonic),
        mono_coarse_ns: read(ClockId::MonotonicCoarse),
        mono_raw_ns: read(ClockId::MonotonicRaw),
        real_ns: read(ClockId::Realtime),
        real_coarse_ns: read(ClockId::RealtimeCoarse),
        tsc: super::tsc::read(),
    }
}

/// Nanoseconds since boot with suspended time: the default clock of packets.
#[must_use]
pub fn boot_ns() -> u64 {
    read(ClockId::Boottime)
}

fn read(clock: ClockId) -> u64 {
    // Miri has the other clocks only.
    #[cfg(miri)]
    let clock = match clock {
        ClockId::Boottime | ClockId::MonotonicRaw => ClockId::Monotonic,
        other => other,
    };
    let at = clock_gettime(clock);
    // Negative only for a wall clock set before 1970; such a machine gets zero.
    let seconds = u64::try_from(at.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(at.tv_nsec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(nanos)
}

/// When a wait ends: after some time, or never.
#[derive(Clone, Copy, Debug)]
pub struct Deadline(Option<u64>);

impl Deadline {
    /// `timeout` from now; `None` is never. Time does not pass while the machine is suspended.
    #[must_use]
    pub fn after(timeout: Option<Duration>) -> Self {
        Self(timeout.map(|timeout| {
            let ns = u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
            read(ClockId::Monotonic).saturating_add(ns)
        }))
    }

    /// The remaining time: zero after the deadline, `None` for ever.
    #[must_use]
    pub fn left(self) -> Option<Duration> {
        let until = self.0?;
        Some(Duration::from_nanos(until.saturating_sub(read(ClockId::Monotonic))))
    }
}
