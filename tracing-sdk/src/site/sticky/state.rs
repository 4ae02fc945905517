//! States, whose last value is in the list, because it is a text.

use core::sync::atomic::{AtomicUsize, Ordering};

use protos::TrackEventType;

use super::{Entry, Last, List, Sticky, all};
use crate::category::{CategoryRef, Members};
use crate::clock;
use crate::clock::event_time::{EventTime, When};
use crate::intern::EventName;
use crate::on::ON;
use crate::sequence::{Spec, thread};
use crate::track::Track;

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
    pub(in crate::site) track: Track<'a>,
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
    pub(in crate::site) fn settled(&self) -> Option<(u64, Option<String>)> {
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

    /// Adds what `entry` makes to the list, unless it is there.
    pub(in crate::site) fn list(
        &'static self,
        all: &mut List,
        members: Members,
        entry: fn(&'static dyn Sticky, Members) -> Entry,
    ) {
        if self.number.load(Ordering::Relaxed) == 0 {
            all.push(entry(self, members));
            self.number.store(all.len(), Ordering::Relaxed);
        }
    }

    pub(in crate::site) fn remember(&'static self, members: Members, value: Option<&str>) {
        let mut all = all();
        self.list(&mut all, members, Entry::new);
        if let Some(Entry { last, .. }) = self.entry(&mut all) {
            last.is_known = true;
            last.is_cleared = value.is_none();
            last.text.clear();
            last.text.push_str(value.unwrap_or_default());
        }
    }
}

impl<'a> State<'a> {
    pub(in crate::site) const fn of(track: Track<'a>) -> Self {
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

impl Sticky for State<'static> {
    fn track(&self) -> &Track<'static> {
        &self.track
    }

    fn replay(&self, bits: u32, members: Members) {
        if let Some((time_ns, value)) = self.settled() {
            write_state(bits, members, &self.track, value.as_deref(), When::boot(time_ns));
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
