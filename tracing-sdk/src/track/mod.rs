//! Tracks: the lines of a timeline that events are drawn on.
//!
//! A track is a small value that describes itself. Its uuid is computed from its name, its id and its parent's uuid, by
//! the rules of the C++ SDK, so that equal tracks of several libraries in one process are one track:
//!
//! ```text
//!   uuid = id ^ FNV1a(name) ^ a number of the kind ^ uuid of the parent
//!
//!   process ──┬── thread (id = tid)
//!             ├── "Uploads" ──┬── "upload" 1
//!             │               └── "upload" 2
//!             └── counter "queue depth"
//! ```
//!
//! Each sequence describes a track, and before it all its ancestors, when it uses the track for the first time.

pub(crate) mod describe;
pub(crate) mod process;
#[cfg(test)]
mod tests;

pub(crate) use self::describe::describe;
use crate::hash::fnv1a;

/// Numbers that keep tracks of one name and different kinds apart (`track_event_internal.h`, `track.h`).
const NAMED: u64 = 0xCD57_1EC5_EAD3_7024;
const STATE: u64 = 0x2E23_98EC_92E8_9138;
const COUNTER: u64 = 0xB1A4_A67D_7970_839E;

/// A track. Copies are the same track.
///
/// ```
/// use tracing_sdk::{Order, Track, categories, slice};
///
/// categories! { NET = "net"; }
///
/// static UPLOADS: Track = Track::named("Uploads").order(Order::Chronological);
///
/// fn upload(job: u64) {
///     // One line for each job, below "Uploads".
///     let track = UPLOADS.child("upload").id(job);
///     let _slice = slice!(NET, "PUT", track = track);
/// }
/// # upload(1);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Track<'a> {
    id: u64,
    /// Hash of the name and number of the kind.
    hash: u64,
    parent: Parent<'a>,
    name: Name<'a>,
    kind: Kind<'a>,
    order: Option<Order>,
    rank: Option<i32>,
    merge: Option<Merge<'a>>,
    description: Option<&'a str>,
}

#[derive(Clone, Copy, Debug)]
enum Parent<'a> {
    Process,
    /// No parent.
    Global,
    Track(&'a Track<'a>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name<'a> {
    None,
    /// A literal of the program, which filters of names let pass.
    Static(&'static str),
    Dynamic(&'a str),
}

#[derive(Clone, Copy, Debug)]
enum Kind<'a> {
    /// Described with every opening of a sequence, or by somebody else.
    Known,
    /// A thread, which may never record an event itself.
    Thread {
        tid: u32,
    },
    Slices,
    Counter(CounterOptions<'a>),
    State,
}

#[derive(Clone, Copy, Debug)]
struct CounterOptions<'a> {
    unit: Unit<'a>,
    multiplier: i64,
    axis: Option<&'a str>,
}

/// The unit of a counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unit<'a> {
    /// None.
    #[default]
    None,
    /// A number of things.
    Count,
    /// Bytes.
    Bytes,
    /// Nanoseconds.
    Nanoseconds,
    /// Any other, such as `°C`.
    Other(&'a str),
}

/// How the children of a track are sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Order {
    /// By name.
    Lexicographic,
    /// By their first event.
    Chronological,
    /// By their [`rank`](Track::rank).
    Explicit,
}

/// Which sibling tracks are shown as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Merge<'a> {
    /// Those of one name: the default.
    ByName,
    /// None: each track has its own line.
    Never,
    /// Those of one key.
    ByKey(&'a str),
}

impl Track<'static> {
    /// The track of the current process: the parent of a track that names none.
    #[must_use]
    pub const fn process() -> Self {
        Self::new(Parent::Process, Name::None, Kind::Known, 0)
    }

    /// A track for events that belong to no process.
    pub const GLOBAL: Self = Self::new(Parent::Global, Name::None, Kind::Known, 0);

    /// The track of the calling thread, on which events are by default. Other threads can record events there with it:
    ///
    /// ```
    /// # use tracing_sdk::{Track, categories, instant};
    /// # categories! { NET = "net"; }
    /// let caller = Track::current_thread();
    /// std::thread::spawn(move || instant!(NET, "cancelled", track = caller));
    /// ```
    #[must_use]
    pub fn current_thread() -> Self {
        Self::thread(os::thread::id())
    }

    /// The track of the thread of this process whose id in the kernel is `tid`.
    #[must_use]
    pub fn thread(tid: u32) -> Self {
        Self::new(Parent::Process, Name::None, Kind::Thread { tid }, 0).id(u64::from(tid))
    }

    /// A track with a uuid that was made and is described by other code:
    ///
    /// ```
    /// # use tracing_sdk::{Track, categories, instant};
    /// # categories! { GPU = "gpu"; }
    /// # let uuid_of_the_driver = 17;
    /// instant!(GPU, "submit", track = Track::from_uuid(uuid_of_the_driver));
    /// ```
    #[must_use]
    pub const fn from_uuid(uuid: u64) -> Self {
        Self::new(Parent::Global, Name::None, Kind::Known, 0).id(uuid)
    }

    /// A track below the process.
    #[must_use]
    pub const fn named(name: &'static str) -> Self {
        Self::new(Parent::Process, Name::Static(name), Kind::Slices, NAMED)
    }

    /// A track below the process that has a number and no name: readers call it as its first event. Take a
    /// [`named`](Self::named) one where you can. `number` is not 0, which is the process, and not the id of a thread,
    /// which is that thread.
    #[must_use]
    pub const fn numbered(number: u64) -> Self {
        Self::new(Parent::Process, Name::None, Kind::Slices, 0).id(number)
    }

    /// A track below no process.
    #[must_use]
    pub const fn global(name: &'static str) -> Self {
        Self::new(Parent::Global, Name::Static(name), Kind::Slices, NAMED)
    }

    pub(crate) const fn counter(name: &'static str) -> Self {
        let options = CounterOptions { unit: Unit::None, multiplier: 1, axis: None };
        Self::new(Parent::Process, Name::Static(name), Kind::Counter(options), COUNTER)
    }

    pub(crate) const fn state(name: &'static str) -> Self {
        Self::new(Parent::Process, Name::Static(name), Kind::State, STATE)
    }
}

impl<'a> Track<'a> {
    const fn new(parent: Parent<'a>, name: Name<'a>, kind: Kind<'a>, number: u64) -> Self {
        let hash = match name {
            Name::None => 0,
            Name::Static(text) | Name::Dynamic(text) => fnv1a(text.as_bytes()),
        };
        Self {
            id: 0,
            hash: hash ^ number,
            parent,
            name,
            kind,
            order: None,
            rank: None,
            merge: None,
            description: None,
        }
    }

    /// A track below this one. Below a track of the same name it needs an [`id`](Self::id).
    #[must_use]
    pub const fn child(&'a self, name: &'static str) -> Self {
        Self::new(Parent::Track(self), Name::Static(name), Kind::Slices, NAMED)
    }

    /// As [`child`](Self::child), with a name that was made at run time.
    #[must_use]
    pub const fn child_dynamic(&'a self, name: &'a str) -> Self {
        Self::new(Parent::Track(self), Name::Dynamic(name), Kind::Slices, NAMED)
    }

    /// As [`named`](Track::named), with a name that was made at run time.
    #[must_use]
    pub const fn dynamic(name: &'a str) -> Self {
        Self::new(Parent::Process, Name::Dynamic(name), Kind::Slices, NAMED)
    }

    pub(crate) const fn dynamic_counter(name: &'a str) -> Self {
        let options = CounterOptions { unit: Unit::None, multiplier: 1, axis: None };
        Self::new(Parent::Process, Name::Dynamic(name), Kind::Counter(options), COUNTER)
    }

    pub(crate) const fn dynamic_state(name: &'a str) -> Self {
        Self::new(Parent::Process, Name::Dynamic(name), Kind::State, STATE)
    }

    /// The same track, with copies of all texts and ancestors that are never given back.
    pub(crate) fn leaked_copy(&self) -> Track<'static> {
        let leak = |text: &str| -> &'static str { Box::leak(Box::from(text)) };
        Track {
            id: self.id,
            hash: self.hash,
            parent: match self.parent {
                Parent::Process => Parent::Process,
                Parent::Global => Parent::Global,
                Parent::Track(parent) => Parent::Track(Box::leak(Box::new(parent.leaked_copy()))),
            },
            name: match self.name {
                Name::None => Name::None,
                Name::Static(name) => Name::Static(name),
                Name::Dynamic(name) => Name::Dynamic(leak(name)),
            },
            kind: match self.kind {
                Kind::Known => Kind::Known,
                Kind::Thread { tid } => Kind::Thread { tid },
                Kind::Slices => Kind::Slices,
                Kind::Counter(CounterOptions { unit, multiplier, axis }) => {
                    let unit = match unit {
                        Unit::None => Unit::None,
                        Unit::Count => Unit::Count,
                        Unit::Bytes => Unit::Bytes,
                        Unit::Nanoseconds => Unit::Nanoseconds,
                        Unit::Other(name) => Unit::Other(leak(name)),
                    };
                    Kind::Counter(CounterOptions { unit, multiplier, axis: axis.map(leak) })
                }
                Kind::State => Kind::State,
            },
            order: self.order,
            rank: self.rank,
            merge: self.merge.map(|merge| match merge {
                Merge::ByName => Merge::ByName,
                Merge::Never => Merge::Never,
                Merge::ByKey(key) => Merge::ByKey(leak(key)),
            }),
            description: self.description.map(leak),
        }
    }

    /// Tells apart tracks of one name and parent: for one line per request, say. Siblings of one name are shown as one
    /// track with as many lines as are in use, unless [`merge`](Self::merge) says otherwise.
    ///
    /// Ids and names of a track and its ancestors are combined with exclusive or. Two tracks are the same if the result
    /// is, so do not give small numbers to two levels of one chain. The order of the levels does not count either, and
    /// two equal names cancel out. There the inner track needs an id:
    ///
    /// ```
    /// use tracing_sdk::Track;
    ///
    /// let (cpu, gpu) = (Track::named("cpu"), Track::named("gpu"));
    /// assert_eq!(cpu.child("gpu").uuid(), gpu.child("cpu").uuid());
    /// assert_eq!(cpu.child("cpu").uuid(), Track::process().uuid());
    /// assert_ne!(cpu.child("gpu").id(1).uuid(), gpu.child("cpu").id(2).uuid());
    /// assert_ne!(cpu.child("cpu").id(1).uuid(), Track::process().uuid());
    /// ```
    ///
    /// A track that is the same as its process is told on standard error when it is used for the first time. One that
    /// is the same as another track above it is not told: its events are on that one.
    #[must_use]
    pub const fn id(mut self, id: u64) -> Self {
        self.id = id;
        self
    }

    /// Puts the track below `parent`.
    ///
    /// ```
    /// use tracing_sdk::Track;
    ///
    /// static DEVICES: Track = Track::named("devices");
    /// static CAMERA: Track = Track::named("camera").parent(&DEVICES);
    ///
    /// // The same track.
    /// assert_eq!(CAMERA.uuid(), DEVICES.child("camera").uuid());
    /// ```
    #[must_use]
    pub const fn parent(mut self, parent: &'a Track<'a>) -> Self {
        self.parent = Parent::Track(parent);
        self
    }

    /// How its children are sorted.
    #[must_use]
    pub const fn order(mut self, order: Order) -> Self {
        self.order = Some(order);
        self
    }

    /// Its place below a parent with [`Order::Explicit`]: lower ones come first.
    #[must_use]
    pub const fn rank(mut self, rank: i32) -> Self {
        self.rank = Some(rank);
        self
    }

    /// Which of its siblings it is shown with.
    #[must_use]
    pub const fn merge(mut self, merge: Merge<'a>) -> Self {
        self.merge = Some(merge);
        self
    }

    /// A text that is shown with the track.
    #[must_use]
    pub const fn description(mut self, text: &'a str) -> Self {
        self.description = Some(text);
        self
    }

    /// For counters.
    pub(crate) const fn unit(mut self, unit: Unit<'a>) -> Self {
        if let Kind::Counter(options) = &mut self.kind {
            options.unit = unit;
        }
        self
    }

    /// For counters; 0 counts as 1.
    pub(crate) const fn multiplier(mut self, multiplier: i64) -> Self {
        if let Kind::Counter(options) = &mut self.kind {
            options.multiplier = if multiplier == 0 { 1 } else { multiplier };
        }
        self
    }

    /// For counters.
    pub(crate) const fn axis(mut self, key: &'a str) -> Self {
        if let Kind::Counter(options) = &mut self.kind {
            options.axis = Some(key);
        }
        self
    }

    /// The number of the track in the trace, which other libraries and tools can use.
    #[must_use]
    pub fn uuid(&self) -> u64 {
        match self.key() {
            (uuid, true) => uuid ^ process::uuid(),
            (uuid, false) => uuid,
        }
    }

    /// Its uuid without that of the process, which is another one after a fork, and whether it is below the process.
    #[inline]
    pub(crate) fn key(&self) -> (u64, bool) {
        let mut uuid = 0;
        let mut track = self;
        loop {
            uuid ^= track.id ^ track.hash;
            match track.parent {
                Parent::Process => return (uuid, true),
                Parent::Global => return (uuid, false),
                Parent::Track(parent) => track = parent,
            }
        }
    }
}

/// What the key `track` of the macros takes: a track, or a reference to one.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a track",
    label = "not a track",
    note = "make one: `track = Track::named(\"Uploads\")`, or `Track::dynamic(name)` of any text"
)]
pub trait TrackRef<'a> {
    /// The track.
    fn track(&self) -> Track<'a>;
}

impl<'a> TrackRef<'a> for Track<'a> {
    #[inline(always)]
    fn track(&self) -> Track<'a> {
        *self
    }
}

impl<'a, T: TrackRef<'a> + ?Sized> TrackRef<'a> for &T {
    #[inline(always)]
    fn track(&self) -> Track<'a> {
        (**self).track()
    }
}
