//! The descriptor of a track, field by field (`track_descriptor.proto`).

use protos::{
    CounterDescriptorUnit, TrackDescriptorChildTracksOrdering as Ordering,
    TrackDescriptorSiblingMergeBehavior as MergeBehavior, TrackDescriptorWriter,
};

use super::process;
use super::{CounterOptions, Kind, Merge, Name, Order, Parent, Track, Unit};

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
}

/// Writes all fields of `track` but those of its ancestors.
pub(crate) fn describe(track: &Track<'_>, out: &mut TrackDescriptorWriter<'_>) {
    let uuid = track.uuid();
    out.uuid(uuid);
    match uuid ^ track.id ^ track.hash {
        0 => {}
        parent => {
            out.parent_uuid(parent);
        }
    }
    match track.name {
        Name::None => {}
        Name::Static(name) => {
            out.static_name(name);
        }
        Name::Dynamic(name) => {
            out.name(name);
        }
    }
    match &track.kind {
        Kind::Known | Kind::Slices => {}
        Kind::Thread { tid } => thread(*tid, out),
        Kind::Counter(options) => counter(options, out),
        Kind::State => {
            out.state();
        }
    }
    if let Some(order) = track.order {
        out.child_ordering(match order {
            Order::Lexicographic => Ordering::LEXICOGRAPHIC,
            Order::Chronological => Ordering::CHRONOLOGICAL,
            Order::Explicit => Ordering::EXPLICIT,
        });
    }
    if let Some(rank) = track.rank {
        out.sibling_order_rank(rank);
    }
    if let Some(description) = track.description {
        out.description(description);
    }
    match track.merge {
        None => {}
        Some(Merge::ByName) => {
            out.sibling_merge_behavior(MergeBehavior::SIBLING_MERGE_BEHAVIOR_BY_TRACK_NAME);
        }
        Some(Merge::Never) => {
            out.sibling_merge_behavior(MergeBehavior::SIBLING_MERGE_BEHAVIOR_NONE);
        }
        Some(Merge::ByKey(key)) => {
            out.sibling_merge_behavior(MergeBehavior::SIBLING_MERGE_BEHAVIOR_BY_SIBLING_MERGE_KEY);
            out.sibling_merge_key(key);
        }
    }
}

fn thread(tid: u32, out: &mut TrackDescriptorWriter<'_>) {
    let mut thread = out.thread();
    thread.pid(i32::try_from(std::process::id()).unwrap_or(0)).tid(i64::from(tid));
    if let Some(name) = process::name_of_thread(tid) {
        thread.thread_name(&name);
    }
}

fn counter(options: &CounterOptions<'_>, out: &mut TrackDescriptorWriter<'_>) {
    // Present also when it is empty: it makes the track a counter.
    let mut counter = out.counter();
    match options.unit {
        Unit::None => {}
        Unit::Count => {
            counter.unit(CounterDescriptorUnit::UNIT_COUNT);
        }
        Unit::Bytes => {
            counter.unit(CounterDescriptorUnit::UNIT_SIZE_BYTES);
        }
        Unit::Nanoseconds => {
            counter.unit(CounterDescriptorUnit::UNIT_TIME_NS);
        }
        Unit::Other(name) => {
            counter.unit_name(name);
        }
    }
    if options.multiplier != 1 {
        counter.unit_multiplier(options.multiplier);
    }
    if let Some(axis) = options.axis {
        counter.y_axis_share_key(axis);
    }
}
