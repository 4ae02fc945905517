//! The clocks of the machine, all at once.

use std::time::Duration;

use libc::{
    CLOCK_BOOTTIME, CLOCK_MONOTONIC, CLOCK_MONOTONIC_COARSE, CLOCK_MONOTONIC_RAW, CLOCK_REALTIME,
    CLOCK_REALTIME_COARSE, CLOCK_THREAD_CPUTIME_ID,
};

use crate::sys;
use abi::time::Now;

/// Samples every clock. About 200 ns: no system call where the kernel maps its clock page.
#[must_use]
pub fn now() -> Now {
    Now {
        boot_ns: read(CLOCK_BOOTTIME),
        mono_ns: read(CLOCK_MONOTONIC),
        mono_coarse_ns: read(CLOCK_MONOTONIC_COARSE),
        mono_raw_ns: read(CLOCK_MONOTONIC_RAW),
        real_ns: read(CLOCK_REALTIME),
        real_coarse_ns: read(CLOCK_REALTIME_COARSE),
        tsc: crate::counter::tsc(),
    }
}

/// Nanoseconds since boot with suspended time: the default clock of packets.
#[must_use]
pub fn boot_ns() -> u64 {
    read(CLOCK_BOOTTIME)
}

/// Nanoseconds since boot without suspended time.
#[must_use]
pub fn mono_ns() -> u64 {
    read(CLOCK_MONOTONIC)
}

/// Nanoseconds that the calling thread has been on a processor.
#[must_use]
pub fn thread_ns() -> u64 {
    sys::clock_ns(CLOCK_THREAD_CPUTIME_ID)
}

fn read(clock: libc::clockid_t) -> u64 {
    // Miri has the other clocks only.
    #[cfg(miri)]
    let clock = match clock {
        CLOCK_BOOTTIME | CLOCK_MONOTONIC_RAW => CLOCK_MONOTONIC,
        other => other,
    };
    sys::clock_ns(clock)
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
            read(CLOCK_MONOTONIC).saturating_add(ns)
        }))
    }

    /// The remaining time: zero after the deadline, `None` for ever.
    #[must_use]
    pub fn left(self) -> Option<Duration> {
        let until = self.0?;
        Some(Duration::from_nanos(until.saturating_sub(read(CLOCK_MONOTONIC))))
    }
}
