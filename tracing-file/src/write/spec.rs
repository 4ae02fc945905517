//! What a track is called and where it is shown.

use protos::{
    CounterDescriptorWriter, TrackDescriptorChildTracksOrdering as Ordering,
    TrackDescriptorSiblingMergeBehavior as Merge, TrackDescriptorWriter,
};

use super::error::WriteError;
use super::track::{Parent, TrackId};

/// A track to be described. A `&str` is a track of that name without a parent.
#[derive(Clone, Copy, Debug)]
pub struct TrackSpec<'a> {
    pub(super) name: &'a str,
    pub(super) parent: Option<TrackId>,
    rank: Option<i32>,
    ordering: Option<Ordering>,
    description: Option<&'a str>,
    is_unmerged: bool,
}

impl<'a> TrackSpec<'a> {
    /// A track called `name`.
    #[must_use]
    pub const fn new(name: &'a str) -> Self {
        let (rank, ordering, description) = (None, None, None);
        Self { name, parent: None, rank, ordering, description, is_unmerged: false }
    }

    /// Below `parent`.
    #[must_use]
    pub fn under(self, parent: &impl Parent) -> Self {
        Self { parent: Some(parent.id()), ..self }
    }

    /// Its place among its siblings, smallest first, if the parent has an explicit order.
    #[must_use]
    pub const fn rank(self, rank: i32) -> Self {
        Self { rank: Some(rank), ..self }
    }

    /// Its children are shown in the order of their ranks.
    #[must_use]
    pub const fn children_by_rank(self) -> Self {
        Self { ordering: Some(Ordering::EXPLICIT), ..self }
    }

    /// Its children are shown in the order of their names.
    #[must_use]
    pub const fn children_by_name(self) -> Self {
        Self { ordering: Some(Ordering::LEXICOGRAPHIC), ..self }
    }

    /// Its children are shown in the order of their first events.
    #[must_use]
    pub const fn children_by_time(self) -> Self {
        Self { ordering: Some(Ordering::CHRONOLOGICAL), ..self }
    }

    /// A text that explains the track.
    #[must_use]
    pub const fn description(self, text: &'a str) -> Self {
        Self { description: Some(text), ..self }
    }

    /// It is not joined with siblings of the same name.
    #[must_use]
    pub const fn unmerged(self) -> Self {
        Self { is_unmerged: true, ..self }
    }

    /// Everything but the uuid.
    pub(super) fn write(&self, track: &mut TrackDescriptorWriter<'_>) {
        if let Some(parent) = self.parent {
            track.parent_uuid(parent.uuid);
        }
        track.name(self.name);
        if let Some(it) = self.ordering {
            track.child_ordering(it);
        }
        if let Some(it) = self.rank {
            track.sibling_order_rank(it);
        }
        if let Some(it) = self.description {
            track.description(it);
        }
        if self.is_unmerged {
            track.sibling_merge_behavior(Merge::SIBLING_MERGE_BEHAVIOR_NONE);
        }
    }
}

impl<'a> From<&'a str> for TrackSpec<'a> {
    fn from(name: &'a str) -> Self {
        Self::new(name)
    }
}

impl<'a> From<&'a String> for TrackSpec<'a> {
    fn from(name: &'a String) -> Self {
        Self::new(name)
    }
}

/// What the values of a counter count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit<'a> {
    /// Nanoseconds.
    TimeNs,
    /// Things.
    Count,
    /// Bytes.
    Bytes,
    /// Anything else, such as `"°C"`.
    Named(&'a str),
}

/// A counter to be described. A `&str` is a counter of that name without a parent and a unit.
#[derive(Clone, Copy, Debug)]
pub struct CounterSpec<'a> {
    pub(super) track: TrackSpec<'a>,
    unit: Option<Unit<'a>>,
    multiplier: Option<i64>,
    pub(super) is_incremental: bool,
    axis: Option<&'a str>,
}

impl<'a> CounterSpec<'a> {
    /// A counter on the described track.
    #[must_use]
    pub fn new(track: impl Into<TrackSpec<'a>>) -> Self {
        let (unit, multiplier, axis) = (None, None, None);
        Self { track: track.into(), unit, multiplier, is_incremental: false, axis }
    }

    /// What it counts.
    #[must_use]
    pub const fn unit(self, unit: Unit<'a>) -> Self {
        Self { unit: Some(unit), ..self }
    }

    /// A reader multiplies values by this number. A counter with 0 or less is refused
    /// ([`WriteError::BadMultiplier`]), because readers ignore that.
    #[must_use]
    pub const fn multiplier(self, multiplier: i64) -> Self {
        Self { multiplier: Some(multiplier), ..self }
    }

    /// Values are written as differences to the one before. Callers give absolute values all the same.
    #[must_use]
    pub const fn incremental(self) -> Self {
        Self { is_incremental: true, ..self }
    }

    /// Counters of one parent with the same key are drawn to the same scale.
    #[must_use]
    pub const fn shared_axis(self, key: &'a str) -> Self {
        Self { axis: Some(key), ..self }
    }

    pub(super) fn check(&self) -> Result<(), WriteError> {
        match self.multiplier {
            Some(multiplier @ ..=0) => Err(WriteError::BadMultiplier { multiplier }),
            _ => Ok(()),
        }
    }

    pub(super) fn write(&self, counter: &mut CounterDescriptorWriter<'_>) {
        use protos::CounterDescriptorUnit as Known;
        match self.unit {
            None => {}
            Some(Unit::TimeNs) => {
                counter.unit(Known::UNIT_TIME_NS);
            }
            Some(Unit::Count) => {
                counter.unit(Known::UNIT_COUNT);
            }
            Some(Unit::Bytes) => {
                counter.unit(Known::UNIT_SIZE_BYTES);
            }
            Some(Unit::Named(name)) => {
                counter.unit_name(name);
            }
        }
        if let Some(it) = self.multiplier {
            counter.unit_multiplier(it);
        }
        if let Some(it) = self.axis {
            counter.y_axis_share_key(it);
        }
        if self.is_incremental {
            counter.is_incremental(true);
        }
    }
}

impl<'a> From<&'a str> for CounterSpec<'a> {
    fn from(name: &'a str) -> Self {
        Self::new(name)
    }
}

impl<'a> From<TrackSpec<'a>> for CounterSpec<'a> {
    fn from(track: TrackSpec<'a>) -> Self {
        Self::new(track)
    }
}
