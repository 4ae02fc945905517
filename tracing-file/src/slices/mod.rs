//! The slices of all tracks of a trace: which end belongs to which begin.
//!
//! ```text
//!   a track of one sequence      paired in the order of the file, as its writer meant it
//!   a track of several           paired in the order of time, as readers show it: the end may come before
//!                                the begin in the file
//! ```
//!
//! That a track has several sequences is known when the second one writes to it. So the last pairs of each track wait
//! until then, or until the end of the trace. Of a track of several, the last 4,096 marks are put in order.

use std::collections::{BTreeMap, VecDeque};

use crate::limits::{MARKS_MAX, OPEN_SLICES_MAX, PAIRS_MAX};
use crate::packets::Place;
use crate::read::{Budget, Event, EventKind};

#[cfg(test)]
mod tests;

/// Bytes of a begin or an end, and of a track.
const MARK_COST: usize = 128;
const TRACK_COST: usize = 256;

/// Open slices, and what was wrong with them.
#[derive(Debug)]
pub(crate) struct Slices {
    tracks: BTreeMap<u64, TrackSlices>,
    budget: Budget,
}

#[derive(Debug, Default)]
struct TrackSlices {
    sequence: (u32, u32),
    open: Vec<Mark>,
    pairs: VecDeque<Pair>,
    latest_end: u64,
    /// Ends that found no begin.
    loose: Vec<Mark>,
    /// There are several sequences: what is not yet paired.
    unordered: Option<Vec<Mark>>,
}

/// The begin or the end of a slice.
#[derive(Clone, Copy, Debug)]
struct Mark {
    at_ns: u64,
    is_begin: bool,
    /// Machine and sequence.
    sequence: (u32, u32),
    place: Place,
    tag: u32,
    /// Hashes of the name and of the categories, if they are there.
    name: Option<u64>,
    categories: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Pair {
    begin: Mark,
    end: Mark,
    is_crossing: bool,
}

/// The result for a begin or an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) track: u64,
    pub(crate) place: Place,
    pub(crate) kind: OutcomeKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutcomeKind {
    /// No memory is left.
    Refused {
        sequence: u32,
    },
    TooDeep,
    /// No open slice fits the end.
    NotOpen,
    EndsBeforeBegin,
    /// The end closes a slice of another sequence, and one of its own is open, which it may be meant for.
    SlicesOfTwoSequences,
    /// It is open at the end of the trace.
    NotEnded,
    /// A slice is over.
    Closed {
        /// What the caller wanted to remember of it.
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

    /// Adds an event, if it is a begin or an end. `done` is called with what is decided by it.
    pub(crate) fn add(&mut self, event: &Event<'_>, tag: u32, mut done: impl FnMut(Outcome)) {
        let is_begin = match event.kind() {
            EventKind::SliceBegin => true,
            EventKind::SliceEnd => false,
            _ => return,
        };
        let (track, place) = (event.track_uuid(), event.place());
        let mut done = |place, kind| done(Outcome { track, place, kind });
        let cost = MARK_COST + if self.tracks.contains_key(&track) { 0 } else { TRACK_COST };
        if !self.budget.take(cost) && !self.take_from(track, cost, &mut done) {
            return done(place, OutcomeKind::Refused { sequence: event.sequence() });
        }
        let sequence = (event.machine(), event.sequence());
        let slices = self
            .tracks
            .entry(track)
            .or_insert_with(|| TrackSlices { sequence, ..TrackSlices::default() });
        let (name, categories) = (event.name_hash(), event.categories_hash());
        let at_ns = event.timestamp_ns();
        let mark = Mark { at_ns, is_begin, sequence, place, tag, name, categories };
        if slices.sequence != sequence && slices.unordered.is_none() {
            slices.unpair();
        }
        let before = slices.marks();
        match &mut slices.unordered {
            Some(marks) => {
                marks.push(mark);
                if marks.len() >= MARKS_MAX {
                    slices.pair_in_order(MARKS_MAX / 2, &mut done);
                }
            }
            None => slices.pair_as_written(mark, &mut done),
        }
        // The new one is paid for.
        let freed = (before + 1).saturating_sub(slices.marks());
        self.budget.give_back(freed * MARK_COST);
    }

    /// Takes memory that pairs of the track hold, which are decided early then.
    fn take_from(
        &mut self,
        track: u64,
        cost: usize,
        done: &mut impl FnMut(Place, OutcomeKind),
    ) -> bool {
        let Some(slices) = self.tracks.get_mut(&track) else { return false };
        let before = slices.marks();
        slices.pairs.drain(..).for_each(|pair| pair.close(done));
        let unordered = slices.unordered.as_ref().map_or(0, Vec::len);
        slices.pair_in_order(unordered.div_ceil(2), done);
        self.budget.give_back(before.saturating_sub(slices.marks()) * MARK_COST);
        self.budget.take(cost)
    }

    /// At the end of the trace.
    pub(crate) fn finish(&mut self, mut done: impl FnMut(Outcome)) {
        for (track, mut slices) in std::mem::take(&mut self.tracks) {
            let mut done = |place, kind| done(Outcome { track, place, kind });
            slices.pair_in_order(usize::MAX, &mut done);
            slices.pairs.iter().for_each(|pair| pair.close(&mut done));
            slices.loose.iter().for_each(|end| done(end.place, OutcomeKind::NotOpen));
            slices.open.iter().for_each(|begin| done(begin.place, OutcomeKind::NotEnded));
        }
    }
}

impl TrackSlices {
    fn marks(&self) -> usize {
        let unordered = self.unordered.as_ref().map_or(0, Vec::len);
        self.open.len() + 2 * self.pairs.len() + self.loose.len() + unordered
    }

    fn begin(&mut self, begin: Mark, done: &mut impl FnMut(Place, OutcomeKind)) {
        if self.open.len() >= OPEN_SLICES_MAX {
            done(begin.place, OutcomeKind::TooDeep);
        } else {
            self.open.push(begin);
        }
    }

    /// The begin of an end. The slices within it end with it.
    fn take_begin(&mut self, end: &Mark) -> Option<Mark> {
        let at = self.open.iter().rposition(|begin| begin.fits(end))?;
        self.open.drain(at..).next()
    }

    fn pair_as_written(&mut self, mark: Mark, done: &mut impl FnMut(Place, OutcomeKind)) {
        if mark.is_begin {
            return self.begin(mark, done);
        }
        let Some(begin) = self.take_begin(&mark) else {
            if self.loose.len() < PAIRS_MAX {
                self.loose.push(mark);
            } else {
                done(mark.place, OutcomeKind::NotOpen);
            }
            return;
        };
        if mark.at_ns < begin.at_ns {
            return done(mark.place, OutcomeKind::EndsBeforeBegin);
        }
        let is_crossing =
            begin.at_ns < self.latest_end && self.pairs.iter().any(|it| it.crosses(&begin, &mark));
        self.latest_end = self.latest_end.max(mark.at_ns);
        if self.pairs.len() >= PAIRS_MAX
            && let Some(pair) = self.pairs.pop_front()
        {
            pair.close(done);
        }
        self.pairs.push_back(Pair { begin, end: mark, is_crossing });
    }

    /// A second sequence writes to the track: its slices are paired anew, in the order of time.
    fn unpair(&mut self) {
        let mut marks = std::mem::take(&mut self.open);
        marks.append(&mut self.loose);
        marks.extend(self.pairs.drain(..).flat_map(|pair| [pair.begin, pair.end]));
        self.unordered = Some(marks);
    }

    /// Pairs the `count` earliest marks.
    fn pair_in_order(&mut self, count: usize, done: &mut impl FnMut(Place, OutcomeKind)) {
        let Some(mut marks) = self.unordered.take() else { return };
        marks.sort_unstable_by_key(|mark| (mark.at_ns, mark.place));
        let later = marks.split_off(count.min(marks.len()));
        for mark in marks {
            if mark.is_begin {
                self.begin(mark, done);
            } else if let Some(begin) = self.take_begin(&mark) {
                let is_own = |open: &Mark| open.sequence == mark.sequence;
                if !is_own(&begin) && self.open.iter().any(is_own) {
                    done(mark.place, OutcomeKind::SlicesOfTwoSequences);
                }
                Pair { begin, end: mark, is_crossing: false }.close(done);
            } else {
                done(mark.place, OutcomeKind::NotOpen);
            }
        }
        self.unordered = Some(later);
    }
}

impl Mark {
    /// Whether `end` may end it. A name or category that the end leaves out fits any slice.
    fn fits(&self, end: &Self) -> bool {
        (end.name.is_none() || end.name == self.name)
            && (end.categories.is_none() || end.categories == self.categories)
    }
}

impl Pair {
    fn crosses(&self, begin: &Mark, end: &Mark) -> bool {
        let (b, e) = (self.begin.at_ns, self.end.at_ns);
        let (begin, end) = (begin.at_ns, end.at_ns);
        (b < begin && begin < e && e < end) || (begin < b && b < end && end < e)
    }

    fn close(&self, done: &mut impl FnMut(Place, OutcomeKind)) {
        let duration_ns = self.end.at_ns.saturating_sub(self.begin.at_ns);
        let (tag, is_crossing) = (self.begin.tag, self.is_crossing);
        done(self.end.place, OutcomeKind::Closed { tag, duration_ns, is_crossing });
    }
}
