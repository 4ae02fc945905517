//! The timers of the service.
//!
//! The name of a timer is its purpose: setting a [`Timer`] again moves it. So the number of timers is bounded by
//! the sessions and flushes, and none fires twice for one purpose. Timers that are due together fire in the order
//! of their times, then of their names: the same inputs give the same outputs.
//!
//! Most delays run on CLOCK_MONOTONIC, which stands still in suspend; a config may ask for boot time. Each deadline
//! is kept in its clock, and converted to boot time for the shell with the offset of the latest instant. If that
//! offset grows in a suspend, the shell wakes too early: nothing fires, and the shell asks again.

use abi::ids::{CloneId, FlushId, SessionId};
use abi::map::{BlockMap, BlockSet};
use abi::time::{BootTime, Now};

/// Which clock a deadline counts in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Clock {
    /// Stands still in suspend.
    Monotonic,
    /// Runs through suspend.
    Boot,
}

/// The purpose of a timer, and what it is for. In order of firing at one instant: timers that end a wait come before
/// timers that start new work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    /// A flush was not acknowledged in time.
    FlushTimeout(FlushId),
    /// Data sources of a session did not acknowledge their stop.
    StopTimeout(SessionId),
    /// The file of a freed session takes no bytes.
    FileStall(SessionId),
    /// A clone takes too long to copy a file.
    CloneCopy(CloneId),
    /// No trigger started a session in time.
    TriggerTimeout(SessionId),
    /// The delay of a trigger that stops a session is over.
    TriggerStop(SessionId),
    /// A session's duration is over.
    Duration(SessionId),
    /// The delay of a trigger that asks for a clone is over; by the number of the trigger.
    CloneHit(u64),
    /// Some data sources have not started yet.
    SlowStart(SessionId),
    /// Clock snapshot, sync marker and stats are due.
    Snapshot(SessionId),
    /// Data is due in the file.
    FileWrite(SessionId),
    /// Periodic flush.
    Flush(SessionId),
    /// Periodic clear of incremental state.
    ClearState(SessionId),
}

/// All timers that are set, by clock and by name. See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct Timers {
    monotonic: BlockSet<(u64, Timer)>,
    boot: BlockSet<(u64, Timer)>,
    by_name: BlockMap<Timer, (Clock, u64)>,
}

impl Timers {
    fn by_time(&self, clock: Clock) -> &BlockSet<(u64, Timer)> {
        match clock {
            Clock::Monotonic => &self.monotonic,
            Clock::Boot => &self.boot,
        }
    }

    fn by_time_mut(&mut self, clock: Clock) -> &mut BlockSet<(u64, Timer)> {
        match clock {
            Clock::Monotonic => &mut self.monotonic,
            Clock::Boot => &mut self.boot,
        }
    }

    /// Sets a timer that fires in `delay_ns`. An earlier deadline of it is forgotten.
    pub(crate) fn set_in(&mut self, now: &Now, clock: Clock, delay_ns: u64, timer: Timer) {
        self.cancel(timer);
        let at = time_of(now, clock).saturating_add(delay_ns);
        self.by_name.insert(timer, (clock, at));
        self.by_time_mut(clock).insert((at, timer));
    }

    /// Sets a timer that fires at the next multiple of `period_ms` of the monotonic clock: sessions with one period
    /// then wake the machine together.
    pub(crate) fn set_aligned(&mut self, now: &Now, period_ms: u64, timer: Timer) {
        self.set_aligned_on(now, Clock::Monotonic, period_ms, timer);
    }

    /// The same for any clock.
    pub(crate) fn set_aligned_on(&mut self, now: &Now, clock: Clock, period_ms: u64, timer: Timer) {
        let period_ms = period_ms.max(1);
        let now_ns = time_of(now, clock);
        let elapsed_ms = (now_ns / 1_000_000).checked_rem(period_ms).unwrap_or(0);
        let delay_ms = period_ms.saturating_sub(elapsed_ms);
        // Counted from the start of the current millisecond, so that the phase does not drift.
        let delay_ns = delay_ms.saturating_mul(1_000_000).saturating_sub(now_ns % 1_000_000);
        self.set_in(now, clock, delay_ns, timer);
    }

    /// Lets a timer that is set fire in `delay_ns` if it would fire later.
    pub(crate) fn hasten(&mut self, now: &Now, delay_ns: u64, timer: Timer) {
        let Some(&(clock, at)) = self.by_name.get(&timer) else { return };
        if time_of(now, clock).saturating_add(delay_ns) < at {
            self.set_in(now, clock, delay_ns, timer);
        }
    }

    /// Cancels a timer, if it is set.
    pub(crate) fn cancel(&mut self, timer: Timer) {
        if let Some((clock, at)) = self.by_name.remove(&timer) {
            self.by_time_mut(clock).remove(&(at, timer));
        }
    }

    /// The earliest deadline, in boot time.
    pub(crate) fn next(&self, now: &Now) -> Option<BootTime> {
        let in_boot = |clock: Clock| {
            let (at, timer) = *self.by_time(clock).first()?;
            let left = at.saturating_sub(time_of(now, clock));
            Some((now.boot_ns.saturating_add(left), timer))
        };
        let earliest = [in_boot(Clock::Monotonic), in_boot(Clock::Boot)].into_iter().flatten();
        earliest.min().map(|(at, _)| BootTime::from_ns(at))
    }

    /// Takes the next timer that is due.
    pub(crate) fn pop_due(&mut self, now: &Now) -> Option<Timer> {
        let late = |clock: Clock| {
            let (at, timer) = *self.by_time(clock).first()?;
            let late = time_of(now, clock).checked_sub(at)?;
            Some((std::cmp::Reverse(late), timer))
        };
        let due = [late(Clock::Monotonic), late(Clock::Boot)].into_iter().flatten();
        let (_, timer) = due.min()?;
        self.cancel(timer);
        Some(timer)
    }

    /// How many timers are set.
    pub(crate) fn len(&self) -> usize {
        self.by_name.len()
    }
}

fn time_of(now: &Now, clock: Clock) -> u64 {
    match clock {
        Clock::Monotonic => now.mono_ns,
        Clock::Boot => now.boot_ns,
    }
}

#[cfg(test)]
mod tests;
