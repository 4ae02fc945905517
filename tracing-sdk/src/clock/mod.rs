//! The time of events: the boot clock of the kernel, or the same computed from a counter of the processor. Events that
//! happened on another clock have its time: [`event_time`].

pub(crate) mod event_time;
mod last_snapshot;
pub(crate) mod snapshots;

use core::sync::atomic::{AtomicBool, Ordering};

use os::counter_clock::{self, CounterClock};

/// By how much the times of two threads can differ when they are computed, ns. Each can be half as far from the
/// kernel's clock.
const DIFFERENCE_NS: u64 = 3_000;

static IS_COUNTER: AtomicBool = AtomicBool::new(false);

thread_local! {
    static COUNTER: CounterClock = const { CounterClock::new() };
}

/// Computes times from the counter from now on, where it is reliable.
pub(crate) fn use_counter() {
    IS_COUNTER.store(counter_clock::is_reliable(), Ordering::Relaxed);
}

/// The time of an event that is recorded now: nanoseconds of the boot clock (`CLOCK_BOOTTIME`), which goes on while the
/// machine is suspended.
///
/// For times that are computed: what the key `ts` of [`instant!`](crate::instant!) and
/// [`Counter::record_at`](crate::Counter::record_at) take as `u64`, and timestamps of packets of a
/// [data source](crate::data_source). An `Instant`, a `SystemTime` and times of other [clocks](crate::Clock) can be
/// passed as they are, see [`EventTime`](crate::EventTime).
///
/// ```
/// use tracing_sdk::{categories, instant, now_ns};
///
/// categories! { GPU = "gpu"; }
///
/// // A device counts microseconds since it was started.
/// let device_started_ns = now_ns();
/// let of_device_us = 17;
/// instant!(GPU, "frame", ts = device_started_ns + of_device_us * 1_000);
/// ```
#[inline(always)]
#[must_use]
pub fn now_ns() -> u64 {
    match IS_COUNTER.load(Ordering::Relaxed) {
        true => COUNTER.with(CounterClock::now_ns),
        false => os::clock::boot_ns(),
    }
}

/// As [`now_ns`], but not after what any other thread gets from now on.
pub(crate) fn past_ns() -> u64 {
    let difference_ns = if IS_COUNTER.load(Ordering::Relaxed) { DIFFERENCE_NS } else { 0 };
    now_ns().saturating_sub(difference_ns)
}
