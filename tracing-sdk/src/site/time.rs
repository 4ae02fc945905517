//! Times of the program as times of events: those of the boot clock, which traces have, or of another one.

use std::time::{Duration, Instant, SystemTime};

use crate::clock;
use crate::clock::other::{ClockTime, CustomClock, When};
use crate::on::ON;

/// A time of the program: what the key `ts` of the macros and [`Counter::record_at`](crate::Counter::record_at) take.
/// An `Instant`, a `SystemTime`, a `u64`: nanoseconds of the boot clock, as [`now_ns`](crate::now_ns) has them, or a
/// time of another clock, such as `Clock::Monotonic.at(ns)` ([`Clock`](crate::Clock), [`CustomClock`]).
///
/// ```
/// use std::time::{Duration, Instant};
/// use tracing_sdk::{EventTime as _, now_ns};
///
/// let then = Instant::now() - Duration::from_millis(1);
/// assert!(then.boot_ns() < now_ns());
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the time of an event",
    label = "not a time",
    note = "a time is an `Instant`, a `SystemTime`, a `u64`: ns of the boot clock, or `Clock::Monotonic.at(ns)`"
)]
pub trait EventTime {
    /// The time in nanoseconds of the boot clock.
    fn boot_ns(&self) -> u64;

    /// The time as it is written.
    #[doc(hidden)]
    #[inline(always)]
    fn when(&self) -> When<'_> {
        When::boot(self.boot_ns())
    }
}

impl EventTime for u64 {
    #[inline(always)]
    fn boot_ns(&self) -> u64 {
        *self
    }
}

/// As far from now as the two clocks say. While the machine is suspended an `Instant` stands still.
impl EventTime for Instant {
    fn boot_ns(&self) -> u64 {
        let now = Self::now();
        from_now(now.checked_duration_since(*self).ok_or_else(|| *self - now))
    }
}

/// As far from now as the clock of the machine says. It may have been set meanwhile.
impl EventTime for SystemTime {
    fn boot_ns(&self) -> u64 {
        from_now(Self::now().duration_since(*self).map_err(|later| later.duration()))
    }
}

/// The event has it as it is, and readers convert it.
impl EventTime for ClockTime<'_> {
    fn boot_ns(&self) -> u64 {
        self.on_boot_clock()
    }

    fn when(&self) -> When<'_> {
        self.written()
    }
}

impl CustomClock {
    /// Relates it to the clock of the trace: it had `value` at `time`, which is best an `Instant` that was read right
    /// before or after it. Each snapshot must be later than the one before on both clocks, or else it is ignored.
    pub fn snapshot(&self, value: u64, time: impl EventTime) {
        if ON {
            self.add_snapshot(value, time.boot_ns());
        }
    }
}

/// `Ok`: so long ago; `Err`: so much later than now.
fn from_now(distance: Result<Duration, Duration>) -> u64 {
    let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    // Read last: a time that has passed is never later than now.
    let now_ns = clock::now_ns();
    match distance {
        Ok(ago) => now_ns.saturating_sub(ns(ago)),
        Err(later) => now_ns.saturating_add(ns(later)),
    }
}
