//! The open slices of all tracks of a trace, in the order of the file.

use std::collections::{BTreeMap, VecDeque};

use crate::packets::Place;
use crate::read::{Budget, Event};

/// Slices of one track that upstream's reader keeps open.
const DEPTH_MAX: usize = 512;

/// Closed slices of a track that later ones are compared with.
const CLOSED_MAX: usize = 64;

/// Bytes of one open slice, and of a track.
const OPEN_COST: usize = 64;
const TRACK_COST: usize = 128 + CLOSED_MAX * 16;

/// Open slices, and what was wrong with them.
#[derive(Debug)]
pub(crate) struct Slices {
    tracks: BTreeMap<u64, TrackSlices>,
    budget: Budget,
}

#[derive(Debug, Default)]
struct TrackSlices {
    open: Vec<OpenSlice>,
    closed: VecDeque<(u64, u64)>,
    latest_end: u64,
}

/// A slice that has begun.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenSlice {
    pub(crate) begin_ns: u64,
    pub(crate) place: Place,
    /// What the caller wants to remember of it.
    pub(crate) tag: u32,
    name: Option<u64>,
    categories: Option<u64>,
}

/// How an event changed the slices of its track.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Outcome {
    Fine,
    /// No memory is left.
    Refused,
    TooDeep,
    /// No open slice fits the end.
    NotOpen,
    EndsBeforeBegin,
    /// A slice is over.
    Closed {
        tag: u32,
        duration_ns: u64,
        /// It overlaps an earlier slice of its track, and neither contains the other.
        is_crossing: bool,
    },
}

impl Slices {
    pub(crate) const fn new(bytes: usize) -> Self {
        Self { tracks: BTreeMap::new(), budget: Budget::new(bytes) }
    }

    pub(crate) fn begin(&mut self, event: &Event<'_>, tag: u32) -> Outcome {
        let uuid = event.track_uuid();
        if !self.tracks.contains_key(&uuid) && !self.budget.take(TRACK_COST) {
            return Outcome::Refused;
        }
        let track = self.tracks.entry(uuid).or_default();
        if track.open.len() >= DEPTH_MAX {
            return Outcome::TooDeep;
        }
        if !self.budget.take(OPEN_COST) {
            return Outcome::Refused;
        }
        let (name, categories) = labels(event);
        let (begin_ns, place) = (event.timestamp_ns(), event.place());
        track.open.push(OpenSlice { begin_ns, place, tag, name, categories });
        Outcome::Fine
    }

    pub(crate) fn end(&mut self, event: &Event<'_>) -> Outcome {
        let Some(track) = self.tracks.get_mut(&event.track_uuid()) else {
            return Outcome::NotOpen;
        };
        let (name, categories) = labels(event);
        // A name or category that the end leaves out fits any slice.
        let fits = |slice: &OpenSlice| {
            (name.is_none() || name == slice.name)
                && (categories.is_none() || categories == slice.categories)
        };
        let Some(at) = track.open.iter().rposition(fits) else { return Outcome::NotOpen };
        let Some(slice) = track.open.get(at).copied() else { return Outcome::NotOpen };
        // The slices within it end with it.
        self.budget.give_back((track.open.len() - at) * OPEN_COST);
        track.open.truncate(at);
        let end_ns = event.timestamp_ns();
        let Some(duration_ns) = end_ns.checked_sub(slice.begin_ns) else {
            return Outcome::EndsBeforeBegin;
        };
        let is_crossing = track.close(slice.begin_ns, end_ns);
        Outcome::Closed { tag: slice.tag, duration_ns, is_crossing }
    }

    /// Open slices, with their tracks.
    pub(crate) fn open(&self) -> impl Iterator<Item = (u64, &OpenSlice)> {
        self.tracks.iter().flat_map(|(uuid, track)| track.open.iter().map(|open| (*uuid, open)))
    }
}

impl TrackSlices {
    /// Notes a closed slice. Returns whether it crosses an earlier one.
    fn close(&mut self, begin: u64, end: u64) -> bool {
        let crosses = |(other_begin, other_end): &(u64, u64)| {
            let (b, e) = (*other_begin, *other_end);
            (b < begin && begin < e && e < end) || (begin < b && b < end && end < e)
        };
        let is_crossing = begin < self.latest_end && self.closed.iter().any(crosses);
        self.latest_end = self.latest_end.max(end);
        if self.closed.len() >= CLOSED_MAX {
            self.closed.pop_front();
        }
        self.closed.push_back((begin, end));
        is_crossing
    }
}

/// Hashes of the name and of the categories, if they are there.
fn labels(event: &Event<'_>) -> (Option<u64>, Option<u64>) {
    let name = event.name().map(|name| fnv(0, name.as_bytes()));
    let categories = event.categories().map(|name| fnv(1, name.as_bytes())).reduce(|a, b| {
        // In their order.
        a.rotate_left(1) ^ b
    });
    (name, categories)
}

fn fnv(seed: u64, bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325 ^ seed, step)
}
