//! The tracks that a trace has described so far.

use std::collections::BTreeMap;

use protozero::Reader;

use super::budget::Budget;
use super::problem::Problem;
pub use crate::limits::LEVELS_MAX;
use crate::limits::TRACK_NAME_BYTES_MAX;
use crate::packets::Place;

/// Bytes that a track takes beside its texts.
const TRACK_COST: usize = 256;

/// What a track shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrackKind {
    /// Slices of one's own.
    Named,
    /// A process.
    Process {
        /// Its id.
        pid: i32,
    },
    /// A thread.
    Thread {
        /// Id of its process.
        pid: i32,
        /// Its id.
        tid: i64,
    },
    /// Values.
    Counter(Counter),
    /// States.
    State,
}

/// How values of a counter are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counter {
    /// `ns`, `count`, `bytes`, or a name of its own.
    pub unit: Option<Box<str>>,
    /// What values were multiplied with. 1 if the trace has none.
    pub multiplier: i64,
    /// Values were written as differences.
    pub is_incremental: bool,
    builtin: i32,
}

/// A track.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Track {
    /// Its id in the trace.
    pub uuid: u64,
    /// Uuid of the track above it, 0 if there is none. That track may be described later, or never.
    pub parent: u64,
    /// Its name; of a process or thread the name of that.
    pub name: Option<Box<str>>,
    /// What it shows.
    pub kind: TrackKind,
    /// Where it was described first. `None`: an event names it, and no descriptor does.
    pub described: Option<Place>,
    /// `sibling_order_rank`.
    pub rank: i32,
    merge: (i32, Option<Box<[u8]>>),
    /// Where an event named it first, if no descriptor came before.
    pub(crate) first_event: Option<Place>,
}

/// All tracks that were described so far, by uuid.
#[derive(Debug, Default)]
pub struct Tracks {
    known: BTreeMap<u64, Track>,
    /// By machine, process and thread.
    threads: BTreeMap<(u32, i32, i64), u64>,
    /// By machine and process.
    processes: BTreeMap<(u32, i32), u64>,
}

impl Tracks {
    /// The track with this uuid.
    #[must_use]
    pub fn get(&self, uuid: u64) -> Option<&Track> {
        self.known.get(&uuid)
    }

    /// The track of the process `pid` of a machine.
    #[must_use]
    pub fn process(&self, machine: u32, pid: i32) -> Option<&Track> {
        self.get(*self.processes.get(&(machine, pid))?)
    }

    /// All tracks.
    pub fn iter(&self) -> impl Iterator<Item = &Track> {
        self.known.values()
    }

    /// The track and those above it, from the inside out. Ends at an unknown one, and after 100.
    pub fn chain(&self, uuid: u64) -> impl Iterator<Item = &Track> {
        let above = |track: &&Track| match track.kind {
            // The kernel's numbers say where they belong.
            TrackKind::Process { .. } | TrackKind::Thread { .. } => None,
            _ if track.parent == 0 => None,
            _ => self.get(track.parent),
        };
        std::iter::successors(self.get(uuid), above).take(LEVELS_MAX)
    }

    /// The thread that the track belongs to: its process and its id.
    #[must_use]
    pub fn thread(&self, uuid: u64) -> Option<(i32, i64)> {
        self.chain(uuid).find_map(|track| match track.kind {
            TrackKind::Thread { pid, tid } => Some((pid, tid)),
            _ => None,
        })
    }

    /// The process that the track belongs to.
    #[must_use]
    pub fn pid(&self, uuid: u64) -> Option<i32> {
        self.chain(uuid).find_map(|track| match track.kind {
            TrackKind::Thread { pid, .. } | TrackKind::Process { pid } => Some(pid),
            _ => None,
        })
    }

    /// Why a reader loses all events of the track, if it does, once the whole trace is read.
    #[must_use]
    pub fn hierarchy_problem(&self, uuid: u64) -> Option<Problem> {
        let mut seen: Vec<u64> = self.chain(uuid).map(|track| track.uuid).collect();
        let last = self.get(*seen.last()?)?;
        let is_root = matches!(last.kind, TrackKind::Process { .. } | TrackKind::Thread { .. });
        if seen.len() < LEVELS_MAX {
            return (!is_root && last.parent != 0).then_some(Problem::UnknownParent);
        }
        // A loop never ends, so its chain is as long as it can be.
        seen.sort_unstable();
        seen.dedup();
        let is_loop = seen.len() < LEVELS_MAX;
        Some(if is_loop { Problem::ParentLoop } else { Problem::TracksTooDeep })
    }

    /// Notes that an event names a track without a descriptor, which may follow.
    pub(super) fn note_undescribed(&mut self, uuid: u64, place: Place, budget: &mut Budget) {
        if self.known.contains_key(&uuid) || !budget.take(TRACK_COST) {
            return;
        }
        let track = Track {
            uuid,
            parent: 0,
            name: None,
            kind: TrackKind::Named,
            described: None,
            rank: 0,
            merge: (0, None),
            first_event: Some(place),
        };
        self.known.insert(uuid, track);
    }

    /// Reads a `TrackDescriptor`. `problem` is called with the number that it is about.
    pub(super) fn describe(
        &mut self,
        body: &[u8],
        machine: u32,
        place: Place,
        budget: &mut Budget,
        mut problem: impl FnMut(Problem, u64),
    ) {
        let (track, flaws) = read(body, place);
        flaws.into_iter().flatten().for_each(|flaw| problem(flaw, track.uuid));
        if flaws.iter().flatten().any(|flaw| *flaw != Problem::CounterIgnored) {
            return;
        }
        if let Some(known) = self.known.get_mut(&track.uuid)
            && known.described.is_some()
        {
            if !known.agrees(&track) {
                return problem(Problem::TrackConflict, track.uuid);
            }
            /// `SIBLING_MERGE_BEHAVIOR_NONE`.
            const UNMERGED: i32 = 2;
            let is_renamed = track.name.is_some() && known.name != track.name;
            if is_renamed && (known.name.is_none() || known.merge.0 == UNMERGED) {
                let len = |track: &Track| track.name.as_ref().map_or(0, |name| name.len());
                if !budget.take(len(&track)) {
                    return problem(Problem::LimitReached, track.uuid);
                }
                budget.give_back(len(known));
                known.name = track.name;
            } else if is_renamed {
                problem(Problem::TrackRenamed, track.uuid);
            }
            return;
        }
        if !budget.take(TRACK_COST + track.text_bytes()) {
            return problem(Problem::LimitReached, track.uuid);
        }
        if let TrackKind::Thread { pid, tid } = track.kind {
            let first = *self.threads.entry((machine, pid, tid)).or_insert(track.uuid);
            if first != track.uuid {
                problem(Problem::ThreadTwice, track.uuid);
            }
        }
        if let TrackKind::Process { pid } = track.kind {
            let first = *self.processes.entry((machine, pid)).or_insert(track.uuid);
            if first != track.uuid {
                problem(Problem::ProcessTwice, track.uuid);
            }
        }
        self.known.insert(track.uuid, track);
    }
}

impl Track {
    fn text_bytes(&self) -> usize {
        let unit = match &self.kind {
            TrackKind::Counter(Counter { unit: Some(unit), .. }) => unit.len(),
            _ => 0,
        };
        let merge_key = self.merge.1.as_ref().map_or(0, |key| key.len());
        self.name.as_ref().map_or(0, |name| name.len()) + unit + merge_key
    }

    fn agrees(&self, other: &Self) -> bool {
        (self.parent, &self.kind, &self.merge) == (other.parent, &other.kind, &other.merge)
    }
}

/// The descriptor, and what is wrong with it.
fn read(body: &[u8], place: Place) -> (Track, [Option<Problem>; 3]) {
    let (mut uuid, mut parent, mut rank, mut merge) = (None, 0, 0, (0, None));
    let (mut name, mut os_name) = (None, None);
    let (mut process, mut thread, mut counter, mut is_state) = (None, None, None, false);
    let mut reader = Reader::new(body);
    while let Ok(Some(field)) = reader.next_field() {
        let bytes = field.value.bytes().unwrap_or_default();
        let number = field.value.uint64().unwrap_or_default();
        match field.number {
            1 => uuid = Some(number),
            2 | 10 | 13 => name = Some(text(bytes)),
            3 => process = Some(bytes),
            4 => thread = Some(bytes),
            5 => parent = number,
            8 => counter = Some(bytes),
            12 => rank = number as i32,
            15 => merge.0 = number as i32,
            16 | 17 => {
                merge.1 = Some(field.raw.get(..TRACK_NAME_BYTES_MAX).unwrap_or(field.raw).into())
            }
            18 => is_state = true,
            _ => {}
        }
    }
    let mut flaws = [None; 3];
    let kind = if let Some(body) = thread {
        let [pid, tid] = numbers(body, [1, 2]);
        if pid.is_none() || tid.is_none() {
            flaws[0] = Some(Problem::MissingTid);
        }
        os_name = string(body, 5);
        TrackKind::Thread { pid: pid.unwrap_or(0) as i32, tid: tid.unwrap_or(0) as i64 }
    } else if let Some(body) = process {
        let [pid, _] = numbers(body, [1, 0]);
        os_name = string(body, 6);
        TrackKind::Process { pid: pid.unwrap_or(0) as i32 }
    } else if let Some(body) = counter {
        let (counter, flaw) = Counter::read(body);
        flaws[1] = flaw;
        TrackKind::Counter(counter)
    } else if is_state {
        TrackKind::State
    } else {
        TrackKind::Named
    };
    if (thread.is_some() || process.is_some()) && (counter.is_some() || is_state) {
        flaws[1] = Some(Problem::CounterIgnored);
    }
    flaws[2] = match uuid {
        None => Some(Problem::MissingUuid),
        Some(0) if parent != 0 => Some(Problem::RootWithParent),
        Some(_) => None,
    };
    let name = os_name.or(name);
    let uuid = uuid.unwrap_or(0);
    let described = Some(place);
    (Track { uuid, parent, name, kind, described, rank, merge, first_event: None }, flaws)
}

impl Counter {
    /// The counter, and what is wrong with it.
    fn read(body: &[u8]) -> (Self, Option<Problem>) {
        let [unit, multiplier] = numbers(body, [3, 4]);
        let [incremental, builtin] = numbers(body, [5, 1]);
        let multiplier = multiplier.map_or(1, |value| value as i64);
        let builtin = builtin.unwrap_or(0) as i32;
        let unit = match (builtin, unit) {
            (1, _) | (0, Some(1)) => Some("ns".into()),
            (2, _) | (0, Some(2)) => Some("count".into()),
            (_, Some(3)) => Some("bytes".into()),
            _ => string(body, 6),
        };
        let flaw = (multiplier <= 0).then_some(Problem::CounterMultiplier);
        let multiplier = if multiplier > 0 { multiplier } else { 1 };
        let is_incremental = incremental.is_some_and(|it| it != 0);
        (Self { unit, multiplier, is_incremental, builtin }, flaw)
    }
}

fn text(bytes: &[u8]) -> Box<str> {
    let kept = bytes.get(..TRACK_NAME_BYTES_MAX).unwrap_or(bytes);
    String::from_utf8_lossy(kept).into()
}

/// The last value of each of two numeric fields.
fn numbers(body: &[u8], wanted: [u32; 2]) -> [Option<u64>; 2] {
    let mut found = [None; 2];
    let mut reader = Reader::new(body);
    while let Ok(Some(field)) = reader.next_field() {
        for (number, found) in wanted.iter().zip(&mut found) {
            if field.number == *number {
                *found = field.value.uint64().ok();
            }
        }
    }
    found
}

/// The last text of a field.
fn string(body: &[u8], wanted: u32) -> Option<Box<str>> {
    let mut found = None;
    let mut reader = Reader::new(body);
    while let Ok(Some(field)) = reader.next_field() {
        if field.number == wanted {
            found = field.value.bytes().ok().map(text);
        }
    }
    found
}
