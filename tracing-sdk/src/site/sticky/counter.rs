//! Counters, whose last value is in the static itself: a call takes no lock.

use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

use protos::TrackEventType;

use super::{Entry, Sticky, all};
use crate::category::{CategoryRef, Members};
use crate::clock;
use crate::clock::event_time::{EventTime, When};
use crate::event::counter_value::CounterValue;
use crate::intern::EventName;
use crate::on::ON;
use crate::sequence::{Spec, thread};
use crate::site::remembered::Remembered;
use crate::track::{Track, Unit};

/// A counter: a number that changes over time.
///
/// ```
/// use tracing_sdk::{Counter, Unit, categories, counter};
///
/// categories! { MEMORY = "memory"; }
///
/// // At one place in the program:
/// counter!(MEMORY, "heap", 4096, unit = Unit::Bytes);
///
/// // At several:
/// static CACHED: Counter = Counter::new("cached").unit(Unit::Bytes);
/// CACHED.set(&MEMORY, 1024);
/// CACHED.add(&MEMORY, -24);
/// ```
///
/// With a scale, and below another track:
///
/// ```
/// use tracing_sdk::{Counter, Track, Unit, categories};
///
/// categories! { MEMORY = "memory"; }
///
/// static CACHE: Track = Track::named("cache");
/// static PAGES: Counter = Counter::new("pages").unit(Unit::Bytes).multiplier(4096).parent(&CACHE);
///
/// PAGES.set(&MEMORY, 3);
/// // The cache is gone: later sessions shall not begin with a value.
/// PAGES.forget();
/// assert_ne!(PAGES.track().uuid(), CACHE.uuid());
/// ```
#[derive(Debug)]
pub struct Counter<'a> {
    pub(in crate::site) track: Track<'a>,
    pub(in crate::site) last: Remembered,
    is_listed: AtomicBool,
}

impl Counter<'static> {
    /// A counter below the process.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self::of(Track::counter(name))
    }

    /// Sets its value. It is remembered also while no session records: the next one begins with it, if it records the
    /// category of the first call of this or of [`add`](Self::add). Give a counter one category.
    ///
    /// Each thread records the values that it sets, in its own order. If two threads change the counter at the same
    /// moment, here or in [`add`](Self::add), the trace may have their values in the other order. Its last value then
    /// differs from the remembered one until the next change. Where that matters, hold a lock during the call.
    #[inline]
    pub fn set(&'static self, category: impl CategoryRef, value: impl Into<CounterValue>) {
        if !ON {
            return;
        }
        let value = value.into();
        self.last.set(value);
        self.changed(category, value);
    }

    /// Adds to its value, from any number of threads. The first value is 0. The sum is only right while no other thread
    /// sets a value of the other kind, a whole number in place of one with a fraction or the other way round.
    #[inline]
    pub fn add(&'static self, category: impl CategoryRef, delta: i64) {
        if !ON {
            return;
        }
        let sum = self.last.add(delta);
        self.changed(category, sum);
    }

    /// Forgets the value: sessions no longer begin with it.
    pub fn forget(&self) {
        self.last.forget();
    }

    #[inline]
    fn changed(&'static self, category: impl CategoryRef, value: CounterValue) {
        if !self.is_listed.load(Ordering::Relaxed) {
            self.list(category);
        }
        self.last.changed();
        self.record(category, value);
    }

    #[cold]
    fn list(&'static self, category: impl CategoryRef) {
        if !self.is_listed.swap(true, Ordering::Relaxed) {
            let members = category.members();
            all().push(Entry::new(self, members));
        }
    }

    /// See [`Remembered::settled`].
    pub(in crate::site) fn settled(&self) -> Option<(u64, CounterValue)> {
        self.last.settled(clock::past_ns)
    }
}

impl<'a> Counter<'a> {
    pub(in crate::site) const fn of(track: Track<'a>) -> Self {
        Self {
            track,
            last: Remembered { bits: AtomicU64::new(0), form: AtomicU8::new(0) },
            is_listed: AtomicBool::new(false),
        }
    }

    /// The unit of its values.
    #[must_use]
    pub const fn unit(mut self, unit: Unit<'a>) -> Self {
        self.track = self.track.unit(unit);
        self
    }

    /// Readers multiply each value with this; 0 counts as 1.
    #[must_use]
    pub const fn multiplier(mut self, multiplier: i64) -> Self {
        self.track = self.track.multiplier(multiplier);
        self
    }

    /// Counters with equal keys and parents are drawn on one scale.
    ///
    /// ```
    /// use tracing_sdk::Counter;
    ///
    /// static READ: Counter = Counter::new("read").axis("disk");
    /// static WRITTEN: Counter = Counter::new("written").axis("disk");
    /// ```
    #[must_use]
    pub const fn axis(mut self, key: &'a str) -> Self {
        self.track = self.track.axis(key);
        self
    }

    /// Puts the counter below `parent`.
    #[must_use]
    pub const fn parent(mut self, parent: &'a Track<'a>) -> Self {
        self.track = self.track.parent(parent);
        self
    }

    /// Its track.
    #[must_use]
    pub const fn track(&self) -> &Track<'a> {
        &self.track
    }

    /// Records a value without remembering it: for counters that are not statics.
    #[inline]
    pub fn record(&self, category: impl CategoryRef, value: impl Into<CounterValue>) {
        if category.bits() != 0 {
            write_counter(category.members().instances(), &self.track, value.into(), When::NOW);
        }
    }

    /// As [`record`](Self::record), at a time of the program ([`EventTime`]): for values that were measured before.
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// use tracing_sdk::{Counter, categories, now_ns};
    ///
    /// categories! { DISK = "disk"; }
    ///
    /// let read = Counter::new("read");
    /// read.record_at(&DISK, Instant::now() - Duration::from_millis(5), 512);
    /// // A device that counts from its own start, which was now.
    /// let start_ns = now_ns();
    /// for (after_ns, bytes) in [(1_000_000, 1024), (2_000_000, 2048)] {
    ///     read.record_at(&DISK, start_ns + after_ns, bytes);
    /// }
    /// ```
    pub fn record_at(
        &self,
        category: impl CategoryRef,
        time: impl EventTime,
        value: impl Into<CounterValue>,
    ) {
        if category.bits() != 0 {
            let bits = category.members().instances();
            write_counter(bits, &self.track, value.into(), time.when());
        }
    }
}

impl Sticky for Counter<'static> {
    fn track(&self) -> &Track<'static> {
        &self.track
    }

    fn replay(&self, bits: u32, _: Members) {
        if let Some((time_ns, value)) = self.settled() {
            write_counter(bits, &self.track, value, When::boot(time_ns));
        }
    }

    fn forget(&self) {
        self.last.forget();
    }
}

#[inline(never)]
fn write_counter(bits: u32, track: &Track<'_>, value: CounterValue, when: When<'_>) {
    if bits == 0 {
        return;
    }
    let spec = Spec {
        kind: TrackEventType::TYPE_COUNTER,
        // The descriptor has the name; categories of counters are not recorded.
        members: None,
        name: EventName::None,
        track: Some(track),
        place: None,
        when,
        value: Some(value),
    };
    thread::write(bits, &spec, None);
}
