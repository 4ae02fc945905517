//! What a reader knows at one point of a trace, and what the next packet changes.

use std::collections::BTreeMap;

use super::budget::Budget;
use super::clocks::{Clocks, is_of_sequence};
use super::decoded::{CounterValue, Decoded, EventKind};
use super::extensions::Extensions;
use super::found::Found;
use super::head::{EventHead, Head};
use super::interned::{
    ARG_NAMES, ARG_TEXTS, CATEGORIES, LOCATIONS, LOG_BODIES, NAMES, number, string,
};
use super::problem::Problem;
use super::sequence::{SEQUENCE_COST, Sequence, SequenceId};
use super::tracks::{TrackKind, Tracks};
use crate::limits::{CATEGORIES_MAX, EXTRA_VALUES_MAX, FINDINGS_MAX};
use crate::packets::Place;

/// Tables of a trace.
#[derive(Debug)]
pub(crate) struct State {
    pub(super) budget: Budget,
    pub(super) clocks: Clocks,
    pub(super) tracks: Tracks,
    pub(super) sequences: BTreeMap<SequenceId, Sequence>,
    pub(super) found: Found,
    pub(super) losses: u64,
    /// The sequence of the last packet.
    pub(super) last: SequenceId,
    extensions: Extensions,
    /// For an event of a sequence that has no place left.
    pub(super) no_sequence: Sequence,
}

impl State {
    pub(super) fn new(memory: usize) -> Self {
        Self {
            budget: Budget::new(memory),
            clocks: Clocks::default(),
            tracks: Tracks::default(),
            sequences: BTreeMap::new(),
            found: Found::default(),
            losses: 0,
            last: SequenceId::default(),
            extensions: Extensions::default(),
            no_sequence: Sequence::default(),
        }
    }

    pub(super) fn find(&mut self, problem: Problem, value: u64) {
        self.found.add(problem, value);
    }

    /// Reads a packet. Returns the event in it, if there is one that is not refused.
    pub(super) fn packet(&mut self, packet: &[u8], place: Place) -> Option<Decoded> {
        self.found.begin(place);
        let head = match Head::read(packet) {
            Ok(head) => head,
            Err(error) => {
                self.find(Problem::BrokenPacket, error.offset as u64);
                return None;
            }
        };
        if let Some(descriptor) = head.extensions {
            self.extensions.read(descriptor);
        }
        self.last = head.sequence;
        let is_skipped = self.follow_sequence(&head);
        if let Some(snapshot) = head.snapshot {
            let read = self.clocks.snapshot(head.sequence, snapshot, &mut self.budget);
            if let Err((problem, clock)) = read {
                self.find(problem, clock.into());
            }
            if head.event.is_some() || head.descriptor.is_some() {
                self.find(Problem::EventWithSnapshot, head.sequence.id.into());
            }
            return None;
        }
        if is_skipped {
            return None;
        }
        let time = head.timestamp.map(|stamp| self.time(&head, stamp));
        if let Some(descriptor) = head.descriptor {
            let Self { tracks, budget, found, .. } = self;
            let find = |problem, value| found.add(problem, value);
            tracks.describe(descriptor, head.sequence.machine, place, budget, find);
        }
        let event = head.event?;
        let start = (event.as_ptr() as usize).saturating_sub(packet.as_ptr() as usize);
        self.event(&head, time, event, start..start + event.len())
    }

    /// The time of a packet. Packets without an event have one, too: an incremental clock goes on with each.
    fn time(&mut self, packet: &Head<'_>, stamp: u64) -> Result<u64, (Problem, u64)> {
        let default = self.sequence(packet.sequence).clock;
        let ns = match packet.clock.filter(|clock| *clock != 0).or(default) {
            None | Some(0) => stamp,
            Some(clock) => {
                let ns = self.clocks.trace_ns(packet.sequence, clock, stamp);
                ns.map_err(|problem| {
                    let is_stamp = problem == Problem::InvalidTimestamp;
                    (problem, if is_stamp { stamp } else { clock.into() })
                })?
            }
        };
        i64::try_from(ns).map(|_| ns).map_err(|_| (Problem::InvalidTimestamp, stamp))
    }

    /// Flags, losses, defaults and interned data. Returns whether the rest of the packet is skipped.
    fn follow_sequence(&mut self, head: &Head<'_>) -> bool {
        let needs_state = head.flags & 2 != 0;
        let (key, id) = (head.sequence, head.sequence.id);
        if id == 0 {
            let clock = head.clock.unwrap_or(0);
            if needs_state || is_of_sequence(clock) {
                self.find(Problem::FatalSequence, clock.into());
                return true;
            }
            if head.is_cleared || head.defaults.is_some() || head.interned.is_some() {
                self.find(Problem::StateMissingSequenceId, 0);
            }
            return false;
        }
        if !self.sequences.contains_key(&key) && !self.budget.take(SEQUENCE_COST) {
            self.find(Problem::LimitReached, id.into());
            return needs_state;
        }
        let Self { sequences, budget, found, .. } = self;
        let sequence = sequences.entry(key).or_default();
        sequence.packets += 1;
        // Services set bit 1 alone in the first packet of every sequence.
        let is_loss = head.dropped > 1 || (head.dropped == 1 && sequence.packets > 1);
        if head.is_cleared {
            sequence.clear(budget);
        } else if head.dropped != 0 {
            sequence.invalidate(head.dropped, head.is_first, budget);
        }
        if let Some(defaults) = head.defaults {
            sequence.set_defaults(defaults);
        }
        self.losses += u64::from(is_loss);
        if is_loss {
            found.add(Problem::Loss, id.into());
        }
        match head.interned {
            Some(_) if !sequence.is_valid => found.add(Problem::InternedInvalid, id.into()),
            Some(data) => sequence.intern(data, budget, |it, value| found.add(it, value)),
            None => {}
        }
        let is_skipped = needs_state && !sequence.is_valid;
        let problem = if sequence.is_cut { Problem::SkippedCut } else { Problem::SkippedInvalid };
        // A packet with a snapshot alone is read whatever its flags are.
        if is_skipped && head.snapshot.is_none() {
            self.find(problem, id.into());
        }
        is_skipped
    }

    /// The sequence of an event.
    pub(super) fn sequence(&self, id: SequenceId) -> &Sequence {
        self.sequences.get(&id).unwrap_or(&self.no_sequence)
    }

    fn event(
        &mut self,
        packet: &Head<'_>,
        time: Option<Result<u64, (Problem, u64)>>,
        body: &[u8],
        range: std::ops::Range<usize>,
    ) -> Option<Decoded> {
        let id = packet.sequence;
        let event = EventHead::read(body);
        if let Some(error) = event.error {
            self.find(Problem::BrokenPacket, (range.start + error.offset) as u64);
            return None;
        }
        if id.id == 0 {
            self.find(Problem::MissingSequenceId, 0);
            return None;
        }
        let default_track = self.sequence(id).track;
        let ts_ns = match time {
            Some(Ok(ns)) => ns,
            Some(Err((problem, value))) => {
                self.find(problem, value);
                return None;
            }
            None => {
                self.find(Problem::MissingTimestamp, id.id.into());
                return None;
            }
        };
        let named = event.track.or(default_track);
        let track = named.unwrap_or(0);
        self.check_names(id, &event);
        let kind = self.kind(id, track, named, &event)?;
        let extra = self.extra(id, &event)?;
        if track != 0 {
            self.tracks.note_undescribed(track, self.found.place, &mut self.budget);
        }
        if event.log.is_some() && self.tracks.thread(track).is_none() {
            self.find(Problem::LogTrack, track);
        }
        Some(Decoded { kind, ts_ns, sequence: id, track, body: range, extra })
    }

    /// What the event is. `None` if it is refused.
    fn kind(
        &mut self,
        id: SequenceId,
        track: u64,
        named: Option<u64>,
        event: &EventHead<'_>,
    ) -> Option<EventKind> {
        if let Some(phase) = event.phase {
            return Some(EventKind::Legacy(phase as u8));
        }
        match event.of {
            1 => Some(EventKind::SliceBegin),
            2 => Some(EventKind::SliceEnd),
            3 => Some(EventKind::Instant),
            4 => {
                let value = match (event.value, event.double) {
                    (_, Some(value)) => CounterValue::Double(value),
                    (Some(value), None) => CounterValue::Int(value),
                    (None, None) => {
                        self.find(Problem::CounterValue, track);
                        return None;
                    }
                };
                let value = self.value(id, track, value);
                if value.is_none() {
                    self.find(Problem::CounterTrack, track);
                }
                value.map(EventKind::Counter)
            }
            5 if named.is_none() => {
                self.find(Problem::StateNoTrack, id.id.into());
                None
            }
            5 => {
                let is_state = matches!(
                    self.tracks.get(track),
                    Some(super::Track { kind: TrackKind::State, .. })
                );
                if !is_state {
                    self.find(Problem::StateTrack, track);
                }
                is_state.then_some(EventKind::State)
            }
            _ => {
                self.find(Problem::NoType, id.id.into());
                None
            }
        }
    }

    /// The value that a counter has, with its unit and its sum. `None`: the track is no counter.
    fn value(&mut self, id: SequenceId, track: u64, value: CounterValue) -> Option<CounterValue> {
        let TrackKind::Counter(counter) = &self.tracks.get(track)?.kind else { return None };
        let (multiplier, is_incremental) = (counter.multiplier, counter.is_incremental);
        let value = match value {
            CounterValue::Int(value) => match value.checked_mul(multiplier) {
                Some(value) => CounterValue::Int(value),
                None => CounterValue::Double(value as f64 * multiplier as f64),
            },
            CounterValue::Double(value) => CounterValue::Double(value * multiplier as f64),
        };
        if !is_incremental {
            return Some(value);
        }
        let Self { sequences, budget, .. } = self;
        let sum = sequences.get_mut(&id)?.sum(track, value.as_f64(), budget);
        Some(CounterValue::Double(sum.unwrap_or(value.as_f64())))
    }

    /// Extra values with their tracks. `None`: the event is lost.
    fn extra(&mut self, id: SequenceId, event: &EventHead<'_>) -> Option<Vec<(u64, CounterValue)>> {
        let ints = event.extra.iter().map(|value| CounterValue::Int(*value));
        let doubles = event.extra_double.iter().map(|value| CounterValue::Double(*value));
        let sequence = self.sequence(id);
        let int_tracks = event.extra_tracks.as_ref().unwrap_or(&sequence.extra);
        let double_tracks = event.extra_double_tracks.as_ref().unwrap_or(&sequence.extra_double);
        let is_bare = |count: usize, tracks: &[u64]| count > 0 && tracks.is_empty();
        let problem = if event.extra.len() + event.extra_double.len() > EXTRA_VALUES_MAX {
            Some(Problem::ExtraTooMany)
        } else if is_bare(event.extra.len(), int_tracks)
            || is_bare(event.extra_double.len(), double_tracks)
        {
            Some(Problem::ExtraNoTracks)
        } else if event.extra.len() > int_tracks.len()
            || event.extra_double.len() > double_tracks.len()
        {
            Some(Problem::ExtraTrack)
        } else {
            None
        };
        if let Some(problem) = problem {
            self.find(problem, id.id.into());
            return None;
        }
        let pairs = int_tracks.iter().copied().zip(ints);
        let pairs: Vec<_> = pairs.chain(double_tracks.iter().copied().zip(doubles)).collect();
        let mut values = Vec::with_capacity(pairs.len());
        for (track, value) in pairs {
            let Some(value) = self.value(id, track, value) else {
                self.find(Problem::ExtraTrack, id.id.into());
                return None;
            };
            values.push((track, value));
        }
        Some(values)
    }

    /// Names that nothing defines, and fields that are misread.
    fn check_names(&mut self, id: SequenceId, event: &EventHead<'_>) {
        match event.name_iid {
            Some(0) => self.find(Problem::ZeroIid, id.id.into()),
            Some(iid) if !self.sequence(id).has(NAMES, iid) => {
                self.find(Problem::UnknownIid, iid);
            }
            _ => {}
        }
        for (kind, field) in [(LOG_BODIES, 2), (LOCATIONS, 1)] {
            let iid = event.log.and_then(|log| number(log, field));
            if let Some(iid) = iid
                && !self.sequence(id).has(kind, iid)
            {
                self.find(Problem::UnknownIid, iid);
            }
        }
        if event.categories > CATEGORIES_MAX {
            self.find(Problem::LimitReached, id.id.into());
        }
        if let Some(field) = event.packed {
            self.find(Problem::Packed, field.into());
        }
        if let Some(field) = event.extension
            && !self.extensions.has(field)
        {
            self.find(Problem::ExtensionUnknown, field.into());
        }
    }

    /// Checks of what an event carries, which reading alone does not need.
    pub(super) fn check_body(&mut self, decoded: &Decoded, body: &[u8]) {
        let id = decoded.sequence;
        let (mut begun, mut ended) = (Vec::new(), Vec::new());
        let mut reader = protozero::Reader::new(body);
        while let Ok(Some(field)) = reader.next_field() {
            match (field.number, field.value) {
                (3, protozero::Value::Varint(iid)) => {
                    if iid == 0 {
                        self.find(Problem::ZeroIid, id.id.into());
                    } else if !self.sequence(id).has(CATEGORIES, iid) {
                        self.find(Problem::UnknownIid, iid);
                    }
                }
                (4, protozero::Value::Len(annotation)) => self.check_annotation(id, annotation),
                (47, protozero::Value::Fixed64(flow)) if begun.len() < FINDINGS_MAX => {
                    begun.push(flow)
                }
                (48, protozero::Value::Fixed64(flow)) if ended.len() < FINDINGS_MAX => {
                    ended.push(flow)
                }
                _ => {}
            }
        }
        if let Some(flow) = ended.iter().find(|flow| begun.contains(flow)) {
            self.find(Problem::FlowInBothLists, *flow);
        }
        if matches!(decoded.kind, EventKind::Counter(_) | EventKind::State)
            && let Some(flow) = begun.first().or(ended.first())
        {
            self.find(Problem::FlowIgnored, *flow);
        }
    }

    fn check_annotation(&mut self, id: SequenceId, annotation: &[u8]) {
        let iid = number(annotation, 1);
        match iid {
            Some(iid) if iid != 0 && !self.sequence(id).has(ARG_NAMES, iid) => {
                self.find(Problem::UnknownIid, iid);
            }
            None | Some(0) if string(annotation, 10).is_none() => {
                self.find(Problem::NamelessAnnotation, id.id.into());
            }
            _ => {}
        }
        if let Some(iid) = number(annotation, 17)
            && !self.sequence(id).has(ARG_TEXTS, iid)
        {
            self.find(Problem::UnknownIid, iid);
        }
    }
}
