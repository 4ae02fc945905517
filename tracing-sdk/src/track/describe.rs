//! The descriptor of a track, field by field (`track_descriptor.proto`).

use core::sync::atomic::{AtomicBool, Ordering as MemoryOrdering};

use protos::{
    CounterDescriptorUnit, TrackDescriptorChildTracksOrdering as Ordering,
    TrackDescriptorSiblingMergeBehavior as MergeBehavior, TrackDescriptorWriter,
};

use protozero::Writer as _;

use super::process;
use super::{CounterOptions, Kind, Merge, Name, Order, Parent, Track, Unit};
use crate::fields;
use crate::report::report;

impl<'a> Track<'a> {
    /// The track that must be described before this one.
    pub(crate) fn parent_track(&self) -> Option<&'a Track<'a>> {
        match self.parent {
            Parent::Track(parent) => Some(parent),
            Parent::Process | Parent::Global => None,
        }
    }

    /// Whether a sequence has to describe it.
    pub(crate) fn needs_descriptor(&self) -> bool {
        match self.kind {
            Kind::Known => false,
            // With another id it is not the track of the thread.
            Kind::Thread { tid } => self.id == u64::from(tid),
            Kind::Slices | Kind::Counter(_) | Kind::State => true,
        }
    }

    /// Whether it is the same as one above it, which has not been described before: its process for the most part. Told
    /// once.
    pub(crate) fn is_same_as_one_above(&self) -> bool {
        let mut track = self;
        // What lies between both, which cancels out then.
        let mut between = 0;
        loop {
            between ^= track.id ^ track.hash;
            track = match track.parent {
                Parent::Global => return false,
                Parent::Process | Parent::Track(_) if between == 0 => break,
                Parent::Process => return false,
                Parent::Track(parent) => parent,
            };
        }
        static IS_TOLD: AtomicBool = AtomicBool::new(false);
        if !IS_TOLD.swap(true, MemoryOrdering::Relaxed) {
            let name = match self.name {
                Name::None => "",
                Name::Static(name) | Name::Dynamic(name) => name,
            };
            report!(
                "the track {name:?} is the same as one above it, because names and ids are combined with exclusive or: \
                 give it an `id`"
            );
        }
        true
    }
}

// Fields of `TrackDescriptor` (`track_descriptor.proto`).
const UUID: u32 = 1;
const NAME: u32 = 2;
const PARENT_UUID: u32 = 5;
const STATIC_NAME: u32 = 10;
const CHILD_ORDERING: u32 = 11;
const SIBLING_ORDER_RANK: u32 = 12;
const DESCRIPTION: u32 = 14;
const SIBLING_MERGE_BEHAVIOR: u32 = 15;
const SIBLING_MERGE_KEY: u32 = 16;

/// Fields of `ThreadDescriptor` (`thread_descriptor.proto`).
pub(crate) mod thread_field {
    pub(crate) const PID: u32 = 1;
    pub(crate) const TID: u32 = 2;
    pub(crate) const THREAD_NAME: u32 = 5;
}

/// Fields of `CounterDescriptor` (`counter_descriptor.proto`).
pub(crate) mod counter_field {
    pub(crate) const TYPE: u32 = 1;
    pub(crate) const UNIT: u32 = 3;
    pub(crate) const UNIT_MULTIPLIER: u32 = 4;
    pub(crate) const IS_INCREMENTAL: u32 = 5;
    pub(crate) const UNIT_NAME: u32 = 6;
    pub(crate) const Y_AXIS_SHARE_KEY: u32 = 7;
}

/// Begins the description of track `uuid`.
pub(crate) fn begin(out: &mut TrackDescriptorWriter<'_>, uuid: u64, parent: Option<u64>) {
    fields::number(out.scope_mut(), UUID, uuid);
    if let Some(parent) = parent {
        fields::number(out.scope_mut(), PARENT_UUID, parent);
    }
}

/// Writes a name that is a literal of the program.
pub(crate) fn static_name(out: &mut TrackDescriptorWriter<'_>, name: &str) {
    fields::text(out.scope_mut(), STATIC_NAME, name.as_bytes());
}

/// Writes all fields of `track` but those of its ancestors.
pub(crate) fn describe(track: &Track<'_>, out: &mut TrackDescriptorWriter<'_>) {
    let uuid = track.uuid();
    let parent = uuid ^ track.id ^ track.hash;
    begin(out, uuid, (parent != 0).then_some(parent));
    match track.name {
        Name::None => {}
        Name::Static(name) => static_name(out, name),
        Name::Dynamic(name) => fields::text(out.scope_mut(), NAME, name.as_bytes()),
    }
    match &track.kind {
        Kind::Known | Kind::Slices => {}
        Kind::Thread { tid } => thread(*tid, out),
        Kind::Counter(options) => counter(options, out),
        Kind::State => {
            out.state();
        }
    }
    let out = out.scope_mut();
    if let Some(order) = track.order {
        let order = match order {
            Order::Lexicographic => Ordering::LEXICOGRAPHIC,
            Order::Chronological => Ordering::CHRONOLOGICAL,
            Order::Explicit => Ordering::EXPLICIT,
        };
        fields::number(out, CHILD_ORDERING, signed(order.0.into()));
    }
    if let Some(rank) = track.rank {
        fields::number(out, SIBLING_ORDER_RANK, signed(rank.into()));
    }
    if let Some(description) = track.description {
        fields::text(out, DESCRIPTION, description.as_bytes());
    }
    if let Some(merge) = track.merge {
        let (behavior, key) = match merge {
            Merge::ByName => (MergeBehavior::SIBLING_MERGE_BEHAVIOR_BY_TRACK_NAME, None),
            Merge::Never => (MergeBehavior::SIBLING_MERGE_BEHAVIOR_NONE, None),
            Merge::ByKey(key) => {
                (MergeBehavior::SIBLING_MERGE_BEHAVIOR_BY_SIBLING_MERGE_KEY, Some(key))
            }
        };
        fields::number(out, SIBLING_MERGE_BEHAVIOR, signed(behavior.0.into()));
        if let Some(key) = key {
            fields::text(out, SIBLING_MERGE_KEY, key.as_bytes());
        }
    }
}

/// A signed number and an enum, as a varint of 64 bits.
fn signed(value: i64) -> u64 {
    value.cast_unsigned()
}

fn thread(tid: u32, out: &mut TrackDescriptorWriter<'_>) {
    let mut thread = out.thread();
    let out = thread.scope_mut();
    fields::number(out, thread_field::PID, std::process::id().into());
    fields::number(out, thread_field::TID, tid.into());
    if let Some(name) = process::name_of_thread(tid) {
        fields::text(out, thread_field::THREAD_NAME, name.as_bytes());
    }
}

fn counter(options: &CounterOptions<'_>, out: &mut TrackDescriptorWriter<'_>) {
    // Present also when it is empty: it makes the track a counter.
    let mut counter = out.counter();
    let out = counter.scope_mut();
    let unit = match options.unit {
        Unit::None => None,
        Unit::Count => Some(CounterDescriptorUnit::UNIT_COUNT),
        Unit::Bytes => Some(CounterDescriptorUnit::UNIT_SIZE_BYTES),
        Unit::Nanoseconds => Some(CounterDescriptorUnit::UNIT_TIME_NS),
        Unit::Other(name) => {
            fields::text(out, counter_field::UNIT_NAME, name.as_bytes());
            None
        }
    };
    if let Some(unit) = unit {
        fields::number(out, counter_field::UNIT, signed(unit.0.into()));
    }
    if options.multiplier != 1 {
        fields::number(out, counter_field::UNIT_MULTIPLIER, signed(options.multiplier));
    }
    if let Some(axis) = options.axis {
        fields::text(out, counter_field::Y_AXIS_SHARE_KEY, axis.as_bytes());
    }
}
