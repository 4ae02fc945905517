//! Times of the program as times of events: those of the boot clock, which traces have, or of another one.
//!
//! An event has the time of another clock as it is, with the id of that clock. A reader converts it by snapshots:
//! moments at which several clocks were read. The service writes those of the kernel's clocks. A clock of the program
//! has an id that is known in one sequence alone, so each sequence that uses it writes its newest snapshot in front of
//! the event:
//!
//! ```text
//!   snapshot ──> NEWEST: one of each clock
//!                  │ newer than what this sequence has written
//!   event ─────────┴──> ClockSnapshot (boot clock, this clock) ──> event (timestamp, timestamp_clock_id)
//! ```

use abi::sync::AtomicU32;
use std::sync::Once;
use std::time::{Duration, Instant, SystemTime};

use super::last_snapshot::LastSnapshot;
use super::now_ns;
use super::snapshots::{self, IDS, Snapshot, id};
use crate::on::ON;

/// A clock of the kernel, for times that the program has from somewhere else. What the program reads itself needs none:
/// an `Instant` and a `SystemTime` are times of events, see [`EventTime`].
///
/// ```
/// use tracing_sdk::{Clock, categories, end, instant, slice};
///
/// categories! { CAPTURE = "capture"; }
///
/// // What a driver says of a frame, in nanoseconds of `CLOCK_MONOTONIC`.
/// struct Frame { begun_ns: u64, ended_ns: u64 }
///
/// fn on_frame(frame: &Frame) {
///     let slice = slice!(CAPTURE, "exposure", ts = Clock::Monotonic.at(frame.begun_ns));
///     end!(slice, ts = Clock::Monotonic.at(frame.ended_ns));
/// }
/// # on_frame(&Frame { begun_ns: 1, ended_ns: 2 });
/// ```
///
/// Readers convert these times by the snapshots that the service writes. They lose the events of a session whose config
/// has `disable_clock_snapshotting`, and those of the realtime clock if that was set back meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Clock {
    /// `CLOCK_REALTIME`: the time of day.
    Realtime,
    /// `CLOCK_REALTIME_COARSE`.
    RealtimeCoarse,
    /// `CLOCK_MONOTONIC`: stands still while the machine is suspended.
    Monotonic,
    /// `CLOCK_MONOTONIC_COARSE`.
    MonotonicCoarse,
    /// `CLOCK_MONOTONIC_RAW`.
    MonotonicRaw,
}

impl Clock {
    /// The time `ns` of this clock, in nanoseconds.
    #[must_use]
    pub fn at(self, ns: u64) -> ClockTime<'static> {
        static REALTIME: CustomClock = CustomClock::with_id(id::REALTIME);
        static REALTIME_COARSE: CustomClock = CustomClock::with_id(id::REALTIME_COARSE);
        static MONOTONIC: CustomClock = CustomClock::with_id(id::MONOTONIC);
        static MONOTONIC_COARSE: CustomClock = CustomClock::with_id(id::MONOTONIC_COARSE);
        static MONOTONIC_RAW: CustomClock = CustomClock::with_id(id::MONOTONIC_RAW);
        let clock = match self {
            Self::Realtime => &REALTIME,
            Self::RealtimeCoarse => &REALTIME_COARSE,
            Self::Monotonic => &MONOTONIC,
            Self::MonotonicCoarse => &MONOTONIC_COARSE,
            Self::MonotonicRaw => &MONOTONIC_RAW,
        };
        clock.at(ns)
    }
}

/// A clock that the program knows, such as that of a device.
///
/// The program reads it now and then together with a clock of the kernel: [`snapshot`](Self::snapshot). Then events can
/// have its times. They are in the trace as they are, and readers convert them: by the last snapshot before the event,
/// or else by the first. So take snapshots as often as the clock drifts, and the first one before the first event: an
/// event of a clock without any has the time at which it is recorded.
///
/// ```
/// use std::time::Instant;
/// use tracing_sdk::{CustomClock, categories, instant};
///
/// categories! { GPU = "gpu"; }
///
/// /// It counts microseconds.
/// static GPU_CLOCK: CustomClock = CustomClock::new().unit_ns(1_000);
/// # fn read_gpu_clock() -> u64 { 17 }
///
/// GPU_CLOCK.snapshot(read_gpu_clock(), Instant::now());
/// // What the device tells later:
/// let finished_us = 42;
/// instant!(GPU, "frame", ts = GPU_CLOCK.at(finished_us));
/// ```
///
/// A program can have 62 of them. A clock that begins again from zero, for example when its device is reset, is another
/// one from then on, because readers give up a clock that goes back.
#[derive(Debug)]
pub struct CustomClock {
    unit_ns: u64,
    last: LastSnapshot,
}

impl Default for CustomClock {
    fn default() -> Self {
        Self::new()
    }
}

impl CustomClock {
    /// A clock that counts nanoseconds.
    #[must_use]
    pub const fn new() -> Self {
        Self::with_id(0)
    }

    /// 0: it gets its id with its first snapshot.
    const fn with_id(id: u32) -> Self {
        let last = LastSnapshot { clock_id: AtomicU32::new(id), version: AtomicU32::new(0) };
        Self { unit_ns: 1, last }
    }

    /// How many nanoseconds it takes to count one further; 0 counts as 1. Times of a clock for which that is no whole
    /// number are converted to nanoseconds first.
    #[must_use]
    pub const fn unit_ns(mut self, ns: u64) -> Self {
        self.unit_ns = if ns == 0 { 1 } else { ns };
        self
    }

    /// The time at which this clock shows `value`, in its units ([`unit_ns`](Self::unit_ns)).
    #[must_use]
    pub const fn at(&self, value: u64) -> ClockTime<'_> {
        ClockTime { clock: self, value }
    }

    /// Says that the clock showed `value`, in its units, at `time`. Pass an `Instant` that was read right before or
    /// after `value`. Each snapshot must be later than the one before on both clocks, or else it is ignored.
    pub fn snapshot(&self, value: u64, time: impl EventTime) {
        if ON {
            snapshots::add(&self.last, self.unit_ns, value, time.boot_ns());
        }
    }

    /// Its id. None without a snapshot.
    pub(crate) fn id(&self) -> Option<u32> {
        self.last.clock_id()
    }

    /// The snapshot that a sequence has to write, which has written number `written`; 0 is none.
    pub(crate) fn newer(&self, written: u32) -> Option<Snapshot> {
        let id = self.id()?;
        if self.last.version() == written { None } else { snapshots::newest(id) }
    }
}

/// A time of a clock that is not the boot clock: what the key `ts` of the macros takes, and whatever else takes an
/// [`EventTime`].
///
/// ```
/// use tracing_sdk::{Clock, ClockTime, Counter, categories};
///
/// categories! { DISK = "disk"; }
///
/// fn record(bytes: u64, time: ClockTime<'_>) {
///     Counter::new("read").record_at(&DISK, time, bytes);
/// }
/// record(512, Clock::Monotonic.at(17));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ClockTime<'c> {
    clock: &'c CustomClock,
    value: u64,
}

/// When an event happened.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct When<'c> {
    /// Nanoseconds of the boot clock, or a value of `clock`, in its units; none: now.
    pub(crate) time: Option<u64>,
    /// None: the boot clock.
    pub(crate) clock: Option<&'c CustomClock>,
}

impl When<'_> {
    /// Without a time of its own.
    pub const NOW: Self = Self { time: None, clock: None };

    /// Nanoseconds of the boot clock.
    #[inline(always)]
    #[must_use]
    pub const fn boot(ns: u64) -> Self {
        Self { time: Some(ns), clock: None }
    }

    /// The time on the boot clock, ns, as far as this process knows; `now_ns` of an event without one.
    pub(crate) fn boot_ns(self, now_ns: u64) -> u64 {
        match (self.time, self.clock) {
            (None, _) => now_ns,
            (Some(ns), None) => ns,
            (Some(value), Some(clock)) => clock.at(value).boot_ns(),
        }
    }
}

/// A time of the program: what the key `ts` of the macros and [`Counter::record_at`](crate::Counter::record_at) take.
/// An `Instant`, a `SystemTime`, a `u64`: nanoseconds of the boot clock, as [`now_ns`] has them, or a time of another
/// clock, such as `Clock::Monotonic.at(ns)` ([`Clock`], [`CustomClock`]).
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
    /// As far as this process knows.
    fn boot_ns(&self) -> u64 {
        match self.clock.id() {
            None => now_ns(),
            Some(id) => snapshots::boot_ns_of(id, self.value),
        }
    }

    fn when(&self) -> When<'_> {
        if self.clock.id().is_none() {
            report_missing_snapshot();
            return When::NOW;
        }
        When { time: Some(self.value), clock: Some(self.clock) }
    }
}

/// `Ok`: so long ago; `Err`: so much later than now.
fn from_now(distance: Result<Duration, Duration>) -> u64 {
    let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    // Read last: a time that has passed is never later than now.
    let now_ns = now_ns();
    match distance {
        Ok(ago) => now_ns.saturating_sub(ns(ago)),
        Err(later) => now_ns.saturating_add(ns(later)),
    }
}

#[cold]
fn report_missing_snapshot() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        crate::report::report!(
            "an event has the present time, because its clock has no snapshot: call `CustomClock::snapshot` before the \
             first event; a program can have {} clocks",
            IDS.count()
        );
    });
}
