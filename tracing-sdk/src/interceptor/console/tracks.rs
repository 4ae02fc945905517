//! The tracks of a session: their titles, and the slices that are open on them. All threads share them, because a slice
//! may end on another thread than it has begun on.

use std::collections::HashMap;

use protos::{TrackDescriptor, TrackDescriptorStaticOrDynamicName, TrackEvent, TrackEventType};

use super::names::Names;

/// How many tracks are remembered. Then those without open slices are forgotten.
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

/// An event, as it is printed.
pub(super) struct Printed {
    pub(super) kind: TrackEventType,
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
            self.tracks.retain(|_, track| !track.open.is_empty());
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

    pub(super) fn describe(&mut self, descriptor: &TrackDescriptor) {
        use TrackDescriptorStaticOrDynamicName as Name;
        let name = match &descriptor.static_or_dynamic_name {
            Some(Name::Name(name) | Name::StaticName(name)) => Some(name),
            _ => None,
        };
        let (process, thread) = (descriptor.process.as_ref(), descriptor.thread.as_ref());
        let process_name = process.and_then(|process| process.process_name.as_ref());
        let name = name.or(process_name).or(thread.and_then(|thread| thread.thread_name.as_ref()));
        let name = name.filter(|name| !name.is_empty()).cloned();
        let title = name.or_else(|| match (process, thread) {
            (_, Some(thread)) => {
                Some(format!("{}:{}", thread.pid.unwrap_or(0), thread.tid.unwrap_or(0)))
            }
            (Some(process), None) => Some(process.pid.unwrap_or(0).to_string()),
            (None, None) => None,
        });
        let track = self.track(descriptor.uuid.unwrap_or(0));
        if let Some(title) = title {
            track.title = title;
        }
    }

    /// None if the event is not printed.
    pub(super) fn add(
        &mut self,
        event: &TrackEvent,
        names: &Names,
        time_ns: u64,
    ) -> Option<Printed> {
        let kind = event.r#type.unwrap_or_default();
        if kind == TrackEventType::TYPE_COUNTER || kind == TrackEventType::TYPE_UNSPECIFIED {
            return None;
        }
        let track = self.track(event.track_uuid.unwrap_or(names.track));
        let mut printed = Printed {
            kind,
            title: track.title.clone(),
            track: track.number,
            depth: track.open.len() + track.more,
            name: names.event(event).to_owned(),
            category: names.category(event).to_owned(),
            duration_ns: 0,
        };
        if kind == TrackEventType::TYPE_SLICE_BEGIN {
            if printed.depth < DEPTH_MAX {
                let (name, category) = (printed.name.clone(), printed.category.clone());
                track.open.push(Slice { begun_ns: time_ns, name, category });
            } else {
                track.more += 1;
            }
        } else if kind == TrackEventType::TYPE_SLICE_END {
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
