//! The tracks of a session: their titles, and the slices that are open on them. All threads share them, because a slice
//! may end on another thread than it has begun on.

use std::collections::HashMap;

use super::names::Names;
use super::numbers;
use super::packet::{all, number, text};

/// How many tracks are remembered. Then those without open slices are forgotten, but for threads and processes: their
/// sequences describe them once.
const TRACKS_MAX: usize = 8192;
/// How many open slices of a track are remembered.
const DEPTH_MAX: usize = 256;

struct Slice {
    begun_ns: u64,
    name: String,
    category: String,
}

#[derive(Default)]
struct Track {
    title: String,
    number: u32,
    /// A thread or a process.
    is_of_system: bool,
    open: Vec<Slice>,
    /// Open slices beyond those that are remembered.
    more: usize,
}

/// See the [module](self).
#[derive(Default)]
pub(super) struct Tracks {
    tracks: HashMap<u64, Track>,
    /// Tracks so far.
    count: u32,
}

/// What is printed. Counters are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Begin,
    End,
    /// An instant, or a state.
    Moment,
}

/// An event, as it is printed.
pub(super) struct Printed {
    pub(super) kind: Kind,
    pub(super) title: String,
    /// The number of its track.
    pub(super) track: u32,
    /// How many slices are around it.
    pub(super) depth: usize,
    pub(super) name: String,
    pub(super) category: String,
    /// Of a slice that ends.
    pub(super) duration_ns: u64,
}

impl Tracks {
    fn track(&mut self, uuid: u64) -> &mut Track {
        if self.tracks.len() >= TRACKS_MAX && !self.tracks.contains_key(&uuid) {
            self.tracks.retain(|_, track| track.is_of_system || !track.open.is_empty());
            // Many threads: if a few were forgotten, the next tracks would go through all of them again.
            if self.tracks.len() > TRACKS_MAX / 2 {
                self.tracks.retain(|_, track| !track.open.is_empty());
            }
            if self.tracks.len() >= TRACKS_MAX {
                self.tracks.clear();
            }
        }
        self.tracks.entry(uuid).or_insert_with(|| {
            self.count = self.count.wrapping_add(1);
            Track { title: uuid.to_string(), number: self.count, ..Track::default() }
        })
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.tracks.len()
    }

    /// From a `TrackDescriptor`.
    pub(super) fn describe(&mut self, descriptor: &[u8]) {
        let process = all(descriptor, numbers::track::PROCESS).last();
        let thread = all(descriptor, numbers::track::THREAD).last();
        let name = text(descriptor, numbers::track::NAME)
            .or_else(|| text(descriptor, numbers::track::STATIC_NAME));
        let name = name
            .or_else(|| process.and_then(|process| text(process, numbers::process::PROCESS_NAME)));
        let name =
            name.or_else(|| thread.and_then(|thread| text(thread, numbers::thread::THREAD_NAME)));
        let id = |message, field| number(message, field).unwrap_or(0);
        let title = match (name, process, thread) {
            (Some(name), ..) if !name.is_empty() => name.into_owned(),
            (_, _, Some(thread)) => {
                format!("{}:{}", id(thread, numbers::thread::PID), id(thread, numbers::thread::TID))
            }
            (_, Some(process), None) => id(process, numbers::process::PID).to_string(),
            (_, None, None) => return,
        };
        let is_of_system = process.is_some() || thread.is_some();
        let track = self.track(id(descriptor, numbers::track::UUID));
        (track.title, track.is_of_system) = (title, is_of_system);
    }

    /// A `TrackEvent`. None if it is not printed.
    pub(super) fn add(&mut self, event: &[u8], names: &Names, time_ns: u64) -> Option<Printed> {
        let kind = match number(event, numbers::event::TYPE)? {
            1 => Kind::Begin,
            2 => Kind::End,
            3 | 5 => Kind::Moment,
            _ => return None,
        };
        let track = self.track(number(event, numbers::event::TRACK_UUID).unwrap_or(names.track));
        let mut printed = Printed {
            kind,
            title: track.title.clone(),
            track: track.number,
            depth: track.open.len() + track.more,
            name: names.event(event).into_owned(),
            category: names.category(event).into_owned(),
            duration_ns: 0,
        };
        if kind == Kind::Begin {
            if printed.depth < DEPTH_MAX {
                let (name, category) = (printed.name.clone(), printed.category.clone());
                track.open.push(Slice { begun_ns: time_ns, name, category });
            } else {
                track.more += 1;
            }
        } else if kind == Kind::End {
            printed.depth = printed.depth.saturating_sub(1);
            if track.more > 0 {
                track.more -= 1;
            } else if let Some(slice) = track.open.pop() {
                printed.duration_ns = time_ns.saturating_sub(slice.begun_ns);
                (printed.name, printed.category) = (slice.name, slice.category);
            }
        }
        // Lines do not grow without bounds.
        printed.depth = printed.depth.min(DEPTH_MAX);
        Some(printed)
    }
}
