//! Times of the program as times of the boot clock, which traces have.

use std::time::{Duration, Instant, SystemTime};

use crate::clock;

/// A time of the program: what the key `ts` of the macros and [`Counter::record_at`](crate::Counter::record_at) take.
/// An `Instant`, a `SystemTime`, or a `u64`: nanoseconds of the boot clock, as [`now_ns`](crate::now_ns) has them.
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
    note = "a time is an `Instant`, a `SystemTime`, or a `u64`: nanoseconds of the boot clock"
)]
pub trait EventTime {
    /// The time in nanoseconds of the boot clock.
    fn boot_ns(&self) -> u64;
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
