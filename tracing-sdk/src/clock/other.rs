//! Times of other clocks than the boot clock: those of the kernel, and those of devices.
//!
//! An event has such a time as it is, with the id of its clock. A reader converts it by snapshots: moments at which
//! several clocks were read. The service writes those of the kernel's clocks. A clock of the program has an id that is
//! known in one sequence alone, so each sequence that uses it writes its newest snapshot in front of the event:
//!
//! ```text
//!   snapshot ──> NEWEST: one of each clock
//!                  │ newer than what this sequence has written
//!   event ─────────┴──> ClockSnapshot (boot clock, this clock) ──> event (timestamp, timestamp_clock_id)
//! ```

use core::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use super::now_ns;

/// Ids of clocks of a sequence (`clock_snapshot.proto`), without 64 and 65, which are those of the SDK.
const IDS: core::ops::RangeInclusive<u32> = 66..=127;

/// A clock of the kernel, for times that the program has from somewhere else. What the program reads itself needs none:
/// an `Instant` and a `SystemTime` are times of events, see [`EventTime`](crate::EventTime).
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

/// Ids of the kernel's clocks (`builtin_clock.proto`).
mod id {
    pub(super) const REALTIME: u32 = 1;
    pub(super) const REALTIME_COARSE: u32 = 2;
    pub(super) const MONOTONIC: u32 = 3;
    pub(super) const MONOTONIC_COARSE: u32 = 4;
    pub(super) const MONOTONIC_RAW: u32 = 5;
}

impl Clock {
    /// The time `ns` of this clock, in nanoseconds.
    #[must_use]
    pub fn at(self, ns: u64) -> ClockTime<'static> {
        static REALTIME: CustomClock = CustomClock::of_kernel(id::REALTIME);
        static REALTIME_COARSE: CustomClock = CustomClock::of_kernel(id::REALTIME_COARSE);
        static MONOTONIC: CustomClock = CustomClock::of_kernel(id::MONOTONIC);
        static MONOTONIC_COARSE: CustomClock = CustomClock::of_kernel(id::MONOTONIC_COARSE);
        static MONOTONIC_RAW: CustomClock = CustomClock::of_kernel(id::MONOTONIC_RAW);
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
    /// 0: it has no snapshot.
    id: AtomicU32,
    unit_ns: u64,
    /// How many snapshots it has.
    version: AtomicU32,
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
        Self::of_kernel(0)
    }

    const fn of_kernel(id: u32) -> Self {
        Self { id: AtomicU32::new(id), unit_ns: 1, version: AtomicU32::new(0) }
    }

    /// How many nanoseconds it takes to count one further; 0 counts as 1. Times of a clock for which that is no whole
    /// number are converted to nanoseconds first.
    #[must_use]
    pub const fn unit_ns(mut self, ns: u64) -> Self {
        self.unit_ns = if ns == 0 { 1 } else { ns };
        self
    }

    /// The time `value` of this clock.
    #[must_use]
    pub const fn at(&self, value: u64) -> ClockTime<'_> {
        ClockTime { clock: self, value }
    }

    /// Its id. None without a snapshot.
    pub(crate) fn id(&self) -> Option<u32> {
        Some(self.id.load(Ordering::Relaxed)).filter(|id| *id != 0)
    }

    /// The snapshot that a sequence has to write, which has written number `written`; 0 is none.
    pub(crate) fn newer(&self, written: u32) -> Option<Snapshot> {
        let is_newer = self.version.load(Ordering::Relaxed) != written;
        self.id().filter(|_| is_newer).and_then(newest)
    }

    /// A moment at which both clocks were read. It must be later than the one before, or it is ignored.
    pub(crate) fn add_snapshot(&self, value: u64, boot_ns: u64) {
        let mut all = lock();
        let id = self.id();
        if let Some(known) = all.iter_mut().find(|snapshot| Some(snapshot.id) == id) {
            if value >= known.value && boot_ns >= known.boot_ns {
                (known.value, known.boot_ns) = (value, boot_ns);
                known.version = known.version.wrapping_add(1).max(1);
                self.version.store(known.version, Ordering::Relaxed);
            }
            return;
        }
        let Some(id) = IDS.clone().nth(all.len()) else { return };
        all.push(Snapshot { id, unit_ns: self.unit_ns, version: 1, value, boot_ns });
        self.version.store(1, Ordering::Relaxed);
        // It has a snapshot from here on.
        self.id.store(id, Ordering::Relaxed);
    }
}

/// A time of a clock that is not the boot clock: what the key `ts` of the macros takes, and whatever else takes an
/// [`EventTime`](crate::EventTime).
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

impl<'c> ClockTime<'c> {
    /// As an event has it.
    pub(crate) fn written(self) -> When<'c> {
        if self.clock.id().is_none() {
            tell_of_no_snapshot();
            return When::NOW;
        }
        When { time: Some(self.value), clock: Some(self.clock) }
    }

    /// In nanoseconds of the boot clock, as far as this process knows.
    pub(crate) fn on_boot_clock(self) -> u64 {
        match self.clock.id() {
            None => now_ns(),
            Some(id) => boot_ns_of(id, self.value),
        }
    }
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
            (Some(value), Some(clock)) => clock.at(value).on_boot_clock(),
        }
    }
}

/// A moment at which two clocks were read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Snapshot {
    /// That of the clock.
    pub(crate) id: u32,
    pub(crate) unit_ns: u64,
    /// Counts the snapshots of the clock, from 1.
    pub(crate) version: u32,
    pub(crate) value: u64,
    pub(crate) boot_ns: u64,
}

impl Snapshot {
    /// The time of the boot clock at `value`.
    pub(crate) fn boot_ns_at(&self, value: u64) -> u64 {
        let units = i128::from(value) - i128::from(self.value);
        shifted(self.boot_ns, units.saturating_mul(self.unit_ns.into()))
    }
}

/// The newest snapshot of each clock of the program.
static NEWEST: Mutex<Vec<Snapshot>> = Mutex::new(Vec::new());

fn lock() -> MutexGuard<'static, Vec<Snapshot>> {
    NEWEST.lock().unwrap_or_else(PoisonError::into_inner)
}

fn newest(id: u32) -> Option<Snapshot> {
    lock().iter().find(|snapshot| snapshot.id == id).copied()
}

/// The list, while the process forks.
pub(crate) struct Locked(
    #[expect(dead_code, reason = "it is held")] MutexGuard<'static, Vec<Snapshot>>,
);

pub(crate) fn lock_for_fork() -> Locked {
    Locked(lock())
}

/// The time of the boot clock at `value` of the clock `id`, if this process knows the clock; otherwise `value`.
pub(crate) fn boot_ns_of(id: u32, value: u64) -> u64 {
    if let Some(snapshot) = newest(id) {
        return snapshot.boot_ns_at(value);
    }
    let now = os::clock::now();
    let then = match id {
        id::REALTIME => now.real_ns,
        id::REALTIME_COARSE => now.real_coarse_ns,
        id::MONOTONIC => now.mono_ns,
        id::MONOTONIC_COARSE => now.mono_coarse_ns,
        id::MONOTONIC_RAW => now.mono_raw_ns,
        _ => return value,
    };
    shifted(now.boot_ns, i128::from(value) - i128::from(then))
}

fn shifted(ns: u64, by: i128) -> u64 {
    let ns = i128::from(ns).saturating_add(by).max(0);
    u64::try_from(ns).unwrap_or(u64::MAX)
}

#[cold]
fn tell_of_no_snapshot() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        crate::report::report!(
            "an event has the present time, because its clock has no snapshot: call `CustomClock::snapshot` before the \
             first event; a program can have {} clocks",
            IDS.count()
        );
    });
}
