//! The time of events: the boot clock of the kernel, or the same computed from a counter of the processor.

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

/// Nanoseconds since boot with suspended time.
#[inline(always)]
pub(crate) fn now_ns() -> u64 {
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
