//! Counters and states. Their last value is remembered, and every session gets it when it starts and after each clear:
//! otherwise a value that rarely changes would be missing in most traces.
//!
//! | | remembered | forgotten |
//! |---|---|---|
//! | static | always | by `forget` |
//! | call site of `counter!` and `state!` | while a session records it | when a session starts before which none did |
//!
//! A call site that no session records does not look at its value, so what was recorded before is not known to be true
//! any more.
//!
//! What is remembered belongs to the category of the first call: a comparison of categories at each call would cost too
//! much.
//!
//! The thread of the data source writes the remembered values, on its own sequence. Another thread may change a value
//! meanwhile. So a remembered value is written with a time at which it was true.

use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use protos::TrackEventType;

use crate::category::{CategoryRef, Members};
use crate::clock;
use crate::clock::event_time::{EventTime, When};
use crate::event::counter_value::CounterValue;
use crate::fork::Held;
use crate::intern::EventName;
use crate::on::ON;
use crate::sequence::{Spec, thread};
use crate::site::remembered::Remembered;
use crate::track::{Track, Unit};

/// What can be replayed. Only what sets such a static names its type, so a program contains the code of those it has.
pub(super) trait Sticky: Sync {
    /// Writes the last value to the instances in `bits`.
    fn replay(&self, bits: u32, members: Members);

    /// Its track, and what it is, if call sites may share it.
    fn shared(&'static self) -> Shared;

    /// Forgets what is not in the list.
    fn forget(&self) {}
}

/// What call sites of one track share.
#[derive(Clone, Copy)]
pub(super) enum Shared {
    Counter(&'static Counter<'static>),
    State(&'static State<'static>),
}

impl Shared {
    fn track(self) -> &'static Track<'static> {
        match self {
            Self::Counter(counter) => &counter.track,
            Self::State(state) => &state.track,
        }
    }
}

impl Sticky for Counter<'static> {
    fn replay(&self, bits: u32, _: Members) {
        if let Some((time_ns, value)) = self.settled() {
            write_counter(bits, &self.track, value, When::boot(time_ns));
        }
    }

    fn shared(&'static self) -> Shared {
        Shared::Counter(self)
    }

    fn forget(&self) {
        self.last.forget();
    }
}

impl Sticky for State<'static> {
    fn replay(&self, bits: u32, members: Members) {
        if let Some((time_ns, value)) = self.settled() {
            write_state(bits, members, &self.track, value.as_deref(), When::boot(time_ns));
        }
    }

    fn shared(&'static self) -> Shared {
        Shared::State(self)
    }
}

/// One lock for all statics: a fork must take it, and cannot find others.
static ALL: Mutex<List> = Mutex::new(Vec::new());

pub(crate) type List = Vec<Entry>;

#[derive(Clone)]
pub(crate) struct Entry {
    sticky: &'static dyn Sticky,
    members: Members,
    last: Last,
    /// Call sites have it: they do not set it while no session records it.
    is_of_sites: bool,
}

impl Entry {
    pub(super) fn new(sticky: &'static dyn Sticky, members: Members, is_of_sites: bool) -> Self {
        Self { sticky, members, last: Last::default(), is_of_sites }
    }

    /// Whether a call site with this track and these categories shares it.
    fn is_of(&self, track: &Track<'_>, members: Members) -> bool {
        let names = |members: &Members| {
            members.as_slice().iter().map(|category| category.name()).collect::<Vec<_>>()
        };
        self.sticky.shared().track().uuid() == track.uuid()
            && names(&self.members) == names(&members)
    }
}

/// The last value of a state. The memory of the text is kept, so that a change allocates nothing.
#[derive(Clone, Debug, Default)]
struct Last {
    /// It was set or cleared, and is not forgotten.
    is_known: bool,
    /// It is in no state.
    is_cleared: bool,
    text: String,
}

/// The list, while the process forks.
pub(crate) fn lock_for_fork() -> Held<List> {
    all().into()
}

pub(super) fn all() -> MutexGuard<'static, List> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is remembered for a track and these categories.
pub(super) fn find(list: &[Entry], track: &Track<'_>, members: Members) -> Option<Shared> {
    let found = list.iter().find(|entry| entry.is_of(track, members));
    found.map(|entry| entry.sticky.shared())
}

/// Forgets what call sites have set and no session records. Called before a session starts, while no other one can.
pub(crate) fn forget_unrecorded() {
    for entry in all().iter_mut() {
        if entry.is_of_sites && entry.members.known_instances() == 0 {
            entry.last = Last::default();
            entry.sticky.forget();
        }
    }
}

/// Writes the last values to the instances in `bits`.
pub(crate) fn replay(bits: u32) {
    let entries: Vec<_> = all().iter().map(|entry| (entry.sticky, entry.members)).collect();
    for (sticky, members) in entries {
        let bits = bits & members.instances();
        if bits != 0 {
            sticky.replay(bits, members);
        }
    }
}

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
    pub(super) track: Track<'a>,
    pub(super) last: Remembered,
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
            all().push(Entry::new(self, members, false));
        }
    }

    /// See [`Remembered::settled`].
    pub(super) fn settled(&self) -> Option<(u64, CounterValue)> {
        self.last.settled(clock::past_ns)
    }
}

impl<'a> Counter<'a> {
    pub(super) const fn of(track: Track<'a>) -> Self {
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

/// A state: what something is doing, one of several words, until it changes.
///
/// ```
/// use tracing_sdk::{State, categories, state};
///
/// categories! { GPU = "gpu"; }
///
/// // At one place in the program:
/// state!(GPU, "clock", "boost");
///
/// // At several:
/// static POWER: State = State::new("power");
/// POWER.set(&GPU, "busy");
/// POWER.clear(&GPU);
/// ```
///
/// Below another track, and of an object that comes and goes:
///
/// ```
/// use tracing_sdk::{State, Track, categories};
///
/// categories! { GPU = "gpu"; }
///
/// static DEVICE: Track = Track::named("device");
/// static MODE: State = State::new("mode").parent(&DEVICE);
/// MODE.set(&GPU, "idle");
/// MODE.forget();
/// assert_ne!(MODE.track().uuid(), DEVICE.uuid());
///
/// let lane = Track::named("lane").id(3);
/// State::new("what it does").parent(&lane).record(&GPU, Some("copies"));
/// ```
#[derive(Debug)]
pub struct State<'a> {
    pub(super) track: Track<'a>,
    /// Its place in the list, from 1; 0 if it was never set. It changes under the lock of the list.
    number: AtomicUsize,
}

impl State<'static> {
    /// A state below the process.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self::of(Track::state(name))
    }

    /// Sets it. It is remembered also while no session records: the next one begins with it, if it records the category
    /// of the first call of this or of [`clear`](Self::clear). Give a state one category.
    pub fn set(&'static self, category: impl CategoryRef, value: &str) {
        self.change(category, Some(value));
    }

    /// Says that it is in no state.
    pub fn clear(&'static self, category: impl CategoryRef) {
        self.change(category, None);
    }

    /// Forgets the value: sessions no longer begin with it.
    pub fn forget(&self) {
        if let Some(entry) = self.entry(&mut all()) {
            entry.last = Last::default();
        }
    }

    /// The last value, and a time at which it was the last one.
    pub(super) fn settled(&self) -> Option<(u64, Option<String>)> {
        let mut all = all();
        let last = Some(&self.entry(&mut all)?.last).filter(|last| last.is_known)?;
        let text = (!last.is_cleared).then(|| last.text.clone());
        // Under the lock: the value does not change meanwhile.
        Some((clock::past_ns(), text))
    }

    fn entry<'l>(&self, list: &'l mut List) -> Option<&'l mut Entry> {
        list.get_mut(self.number.load(Ordering::Relaxed).checked_sub(1)?)
    }

    fn change(&'static self, category: impl CategoryRef, value: Option<&str>) {
        if !ON {
            return;
        }
        self.remember(category.members(), value);
        self.record(category, value);
    }

    pub(super) fn list(&'static self, all: &mut List, members: Members, is_of_sites: bool) {
        if self.number.load(Ordering::Relaxed) == 0 {
            all.push(Entry::new(self, members, is_of_sites));
            self.number.store(all.len(), Ordering::Relaxed);
        }
    }

    pub(super) fn remember(&'static self, members: Members, value: Option<&str>) {
        let mut all = all();
        self.list(&mut all, members, false);
        if let Some(Entry { last, .. }) = self.entry(&mut all) {
            last.is_known = true;
            last.is_cleared = value.is_none();
            last.text.clear();
            last.text.push_str(value.unwrap_or_default());
        }
    }
}

impl<'a> State<'a> {
    pub(super) const fn of(track: Track<'a>) -> Self {
        Self { track, number: AtomicUsize::new(0) }
    }

    /// Puts the state below `parent`.
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

    /// Records a value without remembering it: for states that are not statics.
    pub fn record(&self, category: impl CategoryRef, value: Option<&str>) {
        if category.bits() != 0 {
            let members = category.members();
            write_state(members.instances(), members, &self.track, value, When::NOW);
        }
    }

    /// As [`record`](Self::record), at a time of the program ([`EventTime`]).
    pub fn record_at(&self, category: impl CategoryRef, time: impl EventTime, value: Option<&str>) {
        if category.bits() != 0 {
            let members = category.members();
            write_state(members.instances(), members, &self.track, value, time.when());
        }
    }
}

fn write_state(
    bits: u32,
    members: Members,
    track: &Track<'_>,
    value: Option<&str>,
    when: When<'_>,
) {
    if bits == 0 {
        return;
    }
    let spec = Spec {
        kind: TrackEventType::TYPE_STATE,
        members: Some(members),
        name: value.map_or(EventName::None, EventName::interned),
        track: Some(track),
        place: None,
        when,
        value: None,
    };
    thread::write(bits, &spec, None);
}

/// What `state!` takes: a text, or an option of one.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a state: a state is one of several words",
    label = "not a state",
    note = "a state is a text: a `&str`, a `String`, an `Option<&str>`, or `None`; for a number use `counter!`"
)]
pub trait StateValue {
    /// The text.
    fn text(&self) -> Option<&str>;
}

impl StateValue for str {
    fn text(&self) -> Option<&str> {
        Some(self)
    }
}

impl StateValue for String {
    fn text(&self) -> Option<&str> {
        Some(self)
    }
}

impl<T: StateValue + ?Sized> StateValue for &T {
    fn text(&self) -> Option<&str> {
        (**self).text()
    }
}

/// `None` needs a type, and the one of a literal is at hand.
impl StateValue for Option<&str> {
    fn text(&self) -> Option<&str> {
        *self
    }
}
