//! The boot clock, computed from the processor's counter, in about half the time that reading the kernel's clock takes.
//!
//! ```text
//!   boot clock ^              ┌ line: starts at a reading of both clocks,
//!              │           _,─┘ has the rate between this reading and an older one
//!              │      _,─'│
//!              │  _,─'    │
//!              │x───────x─x──────x───> counter
//!             anchor          readings: one each millisecond that has events
//! ```
//!
//! A line ends after a millisecond, then both clocks are read again. So a wrong rate (the machine slept, or the kernel
//! slews its clock, which it does by at most 0.05 %) has no effect for longer than that; a line that is more than 0.1 %
//! wrong is not continued. Times of one clock never go back: a line that was ahead is followed by one that is less
//! steep. Each thread needs a clock of its own.

use std::cell::Cell;

use crate::clock::boot_ns;
use crate::counter;

#[cfg(test)]
mod tests;

/// How long a line is used, ns of the boot clock.
const LINE_NS: u64 = 1_000_000;
/// The shortest time between two readings whose rate is used, ns.
const BASELINE_MIN_NS: u64 = 1_000_000;
/// After this time the rate is measured from a later anchor, ns: the kernel changes the rate of its clock.
const ANCHOR_NS: u64 = 500_000_000;
/// How far a line may be off, ns, in addition to 0.1 % of its length.
const ERROR_MAX_NS: u64 = 1_000;
/// Counters have 1 MHz to 10 GHz: 1,000 to 0.1 ns for each tick. Here in 2^-32 ns.
const RATES: core::ops::RangeInclusive<u64> = (1 << 32) / 10..=1_000 << 32;
/// How often both clocks are read again if the thread was interrupted between them.
const TRIES: usize = 3;

/// Whether the kernel's own clock is computed from the counter on this machine, which it does only where all processors
/// count alike. False elsewhere, and where `/sys` cannot be read.
#[must_use]
pub fn is_reliable() -> bool {
    let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let is_counter = |name: &str| {
        ["tsc", "hyperv_clocksource_tsc_page", "arch_sys_counter"].contains(&name.trim_end())
    };
    counter::read().is_some() && std::fs::read_to_string(path).is_ok_and(|name| is_counter(&name))
}

/// One thread's clock. See the [module](self).
#[derive(Debug)]
pub struct CounterClock {
    line: Cell<Line>,
    calibration: Cell<Calibration>,
}

impl Default for CounterClock {
    fn default() -> Self {
        Self::new()
    }
}

impl CounterClock {
    /// It reads the kernel's clock for its first millisecond.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            line: Cell::new(Line { start: Moment { ticks: 0, ns: 0 }, rate: 0, ticks: 0 }),
            calibration: Cell::new(Calibration::NEW),
        }
    }

    /// Nanoseconds since boot with suspended time, as [`boot_ns`].
    #[inline(always)]
    pub fn now_ns(&self) -> u64 {
        let Some(ticks) = counter::read() else { return boot_ns() };
        self.line.get().at(ticks).unwrap_or_else(|| self.read_both())
    }

    #[cold]
    #[inline(never)]
    fn read_both(&self) -> u64 {
        let mut calibration = self.calibration.get();
        let now = calibration.moment(|| counter::read().unwrap_or_default(), boot_ns);
        let line = calibration.line_from(now, &self.line.get());
        self.line.set(line);
        self.calibration.set(calibration);
        line.start.ns
    }
}

/// One moment on both clocks.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Moment {
    ticks: u64,
    ns: u64,
}

/// Times from a moment on.
#[derive(Clone, Copy, Debug)]
struct Line {
    start: Moment,
    /// Nanoseconds for each tick, times 2^32.
    rate: u64,
    /// For how many ticks it is used; zero without a rate.
    ticks: u64,
}

impl Line {
    /// The time at a value of the counter; none if the line does not reach it.
    #[inline(always)]
    fn at(&self, ticks: u64) -> Option<u64> {
        let ticks = ticks.wrapping_sub(self.start.ticks);
        (ticks < self.ticks).then(|| self.start.ns + ((ticks * self.rate) >> 32))
    }

    /// A time that is not before any that it has given until the counter was at `ticks`.
    fn reached(&self, ticks: u64) -> u64 {
        let ticks = ticks.wrapping_sub(self.start.ticks).min(self.ticks);
        self.start.ns + ((ticks * self.rate) >> 32)
    }
}

/// How the rate is measured.
#[derive(Clone, Copy, Debug)]
struct Calibration {
    /// The reading that the rate is measured from, and the one that follows it.
    anchors: Option<[Moment; 2]>,
    /// The last reading, and the rate that it had.
    last: Option<(Moment, u64)>,
    /// Ticks between the two readings of the counter around one of the kernel's clock, at best.
    gap: u64,
}

impl Calibration {
    const NEW: Self = Self { anchors: None, last: None, gap: u64::MAX / 4 };

    /// Reads the kernel's clock between two readings of the counter.
    fn moment(&mut self, counter: impl Fn() -> u64, clock: impl Fn() -> u64) -> Moment {
        let mut best = (u64::MAX, Moment { ticks: 0, ns: 0 });
        for _ in 0..TRIES {
            let before = counter();
            let ns = clock();
            let gap = counter().wrapping_sub(before);
            if gap < best.0 {
                best = (gap, Moment { ticks: before.wrapping_add(gap / 2), ns });
            }
            if gap <= self.gap * 4 {
                break;
            }
        }
        self.gap = self.gap.min(best.0);
        best.1
    }

    /// The line that starts now, after the one before. Its start is the present time.
    fn line_from(&mut self, now: Moment, before: &Line) -> Line {
        let start = Moment { ns: now.ns.max(before.reached(now.ticks)), ..now };
        let kernel = Line { start, rate: 0, ticks: 0 };
        let lead_ns = start.ns - now.ns;
        let Some(rate) = self.rate(now) else { return kernel };
        // So the product of both is at most 2^52.
        let ticks = (LINE_NS << 32) / rate;
        let rate =
            u128::from(rate) * u128::from(LINE_NS.saturating_sub(lead_ns)) / u128::from(LINE_NS);
        Line { start, rate: u64::try_from(rate).unwrap_or(0), ticks }
    }

    /// The rate up to now, if it can be measured and goes on as before.
    fn rate(&mut self, now: Moment) -> Option<u64> {
        let [first, second] = *self.anchors.get_or_insert([now, now]);
        if now.ns.saturating_sub(first.ns) < BASELINE_MIN_NS {
            return None;
        }
        let rate = rate_between(first, now).filter(|rate| RATES.contains(rate));
        let goes_on = self.last.is_none_or(|(last, rate)| is_near(last, now, rate));
        let Some(rate) = rate.filter(|_| goes_on) else {
            self.anchors = Some([now, now]);
            self.last = None;
            return None;
        };
        if now.ns.saturating_sub(second.ns) >= ANCHOR_NS {
            self.anchors = Some([second, now]);
        }
        self.last = Some((now, rate));
        Some(rate)
    }
}

/// Nanoseconds for each tick, times 2^32.
fn rate_between(from: Moment, to: Moment) -> Option<u64> {
    let ns = u128::from(to.ns.checked_sub(from.ns)?) << 32;
    u64::try_from(ns.checked_div(to.ticks.wrapping_sub(from.ticks).into())?).ok()
}

/// Whether both clocks went on from one reading to the next as the rate says.
fn is_near(from: Moment, to: Moment, rate: u64) -> bool {
    let ns = u128::from(to.ns.saturating_sub(from.ns));
    let computed = (u128::from(to.ticks.wrapping_sub(from.ticks)) * u128::from(rate)) >> 32;
    computed.abs_diff(ns) <= ns / 1_000 + u128::from(ERROR_MAX_NS)
}
