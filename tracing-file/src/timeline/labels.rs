//! Where an event happens: its process, its thread, and the tracks below them.

use std::collections::BTreeMap;

use crate::escape;
use crate::limits::{LABELS_BYTES_MAX, SHOWN_CHARS_MAX};
use crate::read::{Track, TrackKind, Tracks};

/// What stands for the place of an event on no track.
const NOWHERE: &str = "-";

/// Where an event happens.
#[derive(Clone, Debug, Default)]
pub(super) struct Label {
    pub(super) process: Option<Named<i32>>,
    pub(super) thread: Option<Named<i64>>,
    /// Names of the tracks below, the outermost first.
    pub(super) path: Vec<String>,
    /// For each of them: its number among those of this name and parent, if there are several.
    numbers: Vec<Option<u32>>,
    pub(super) is_counter: bool,
    pub(super) unit: Option<String>,
    /// All of it for people. For a counter: without its own name.
    pub(super) shown: String,
}

/// A number of the kernel, and its name.
#[derive(Clone, Debug)]
pub(super) struct Named<N> {
    pub(super) id: N,
    pub(super) name: Option<String>,
}

impl Label {
    fn new(tracks: &Tracks, twins: &Twins, machine: u32, uuid: u64) -> Self {
        let mut label = Self::default();
        let named = |name: &Option<Box<str>>| name.as_deref().map(str::to_owned);
        let mut process = None;
        for (level, track) in tracks.chain(uuid).enumerate() {
            match &track.kind {
                TrackKind::Process { pid } => process = Some((*pid, named(&track.name))),
                TrackKind::Thread { pid, tid } => {
                    process = Some((*pid, None));
                    label.thread = Some(Named { id: *tid, name: named(&track.name) });
                }
                kind => {
                    if let (0, TrackKind::Counter(counter)) = (level, kind) {
                        label.is_counter = true;
                        label.unit = named(&counter.unit);
                    }
                    let name = named(&track.name);
                    label.path.push(name.unwrap_or_else(|| unnamed(track.uuid)));
                    label.numbers.push(twins.number(track.uuid));
                }
            }
        }
        label.path.reverse();
        label.numbers.reverse();
        if tracks.get(uuid).is_none() && uuid != 0 {
            label.path.push(unnamed(uuid));
        }
        label.process = process.map(|(id, name)| {
            let of_pid = || named(&tracks.process(machine, id)?.name);
            Named { id, name: name.or_else(of_pid) }
        });
        label.shown = label.show();
        label
    }

    /// The name of the innermost track.
    pub(super) fn name(&self) -> Option<&str> {
        self.path.last().map(String::as_str)
    }

    pub(super) fn has_numbers(&self) -> bool {
        self.numbers.iter().any(Option::is_some)
    }

    /// As [`name`](Self::name), with its number.
    pub(super) fn numbered_name(&self) -> Option<String> {
        self.numbered_path().last()
    }

    /// Names of the tracks below, those of one name and parent with their numbers.
    pub(super) fn numbered_path(&self) -> impl Iterator<Item = String> {
        let numbers = self.numbers.iter().copied().chain(std::iter::repeat(None));
        self.path.iter().zip(numbers).map(|(name, number)| match number {
            Some(number) => format!("{name} #{number}"),
            None => name.clone(),
        })
    }

    fn show(&self) -> String {
        let mut parts = Vec::new();
        if let Some(Named { id, name }) = &self.process {
            // The name is often the path of the program.
            let name = name.as_deref().and_then(|name| name.rsplit('/').next());
            parts.push(numbered(name, "pid", id));
        }
        if let Some(Named { id, name }) = &self.thread {
            parts.push(numbered(name.as_deref(), "tid", id));
        }
        let own = usize::from(self.is_counter);
        let levels = self.path.len().saturating_sub(own);
        if parts.is_empty() && levels == 0 {
            return NOWHERE.into();
        }
        let path = self.numbered_path().take(levels).map(|name| plain(&name));
        joined(parts.into_iter().chain(path))
    }

    fn bytes(&self) -> usize {
        let names = self.path.iter().map(|name| 32 + name.len());
        size_of::<Self>() + names.sum::<usize>() + 2 * self.shown.len()
    }
}

fn numbered(name: Option<&str>, what: &str, id: impl ToString) -> String {
    let name = name.filter(|name| !name.is_empty());
    format!("{} {}", name.map_or_else(|| what.into(), plain), id.to_string())
}

/// As much of a path as a line has room for. Each of its names may be as long as that.
fn joined(parts: impl IntoIterator<Item = String>) -> String {
    let mut path = String::new();
    for (at, part) in parts.into_iter().enumerate() {
        if at > 0 {
            path.push_str(" / ");
        }
        path.push_str(&part);
        if let Some((end, _)) = path.char_indices().nth(SHOWN_CHARS_MAX) {
            path.truncate(end);
            path.push('…');
            break;
        }
    }
    path
}

/// What stands for a name.
fn unnamed(uuid: u64) -> String {
    format!("track {uuid}")
}

fn plain(name: &str) -> String {
    let mut out = String::new();
    escape::plain(&mut out, name);
    out
}

/// Tracks of one name and parent, which only a number tells apart: 1 is the one that is described first.
#[derive(Debug)]
struct Twins(
    /// Uuids and numbers, sorted: an entry for each track of a trace must be small.
    Vec<(u64, u32)>,
);

impl Twins {
    fn new(tracks: &Tracks) -> Self {
        let mut named: Vec<_> = tracks.iter().filter_map(Self::key).collect();
        named.sort_unstable();
        let groups =
            named.chunk_by(|(parent, name, ..), next| (*parent, *name) == (next.0, next.1));
        let numbered = groups
            .filter(|group| group.len() > 1)
            .flat_map(|group| group.iter().zip(1..).map(|((.., uuid), number)| (*uuid, number)));
        let mut numbered: Vec<_> = numbered.collect();
        numbered.sort_unstable();
        Self(numbered)
    }

    /// What makes twins, and their order.
    fn key(track: &Track) -> Option<(u64, &str, u64, u64)> {
        let is_numbered =
            matches!(track.kind, TrackKind::Process { .. } | TrackKind::Thread { .. });
        let name = track.name.as_deref().filter(|_| !is_numbered)?;
        Some((track.parent, name, track.described?.packet, track.uuid))
    }

    fn number(&self, uuid: u64) -> Option<u32> {
        let at = self.0.binary_search_by_key(&uuid, |(uuid, _)| *uuid).ok()?;
        self.0.get(at).map(|(_, number)| *number)
    }
}

/// A track for people, the outermost first: `app 1 / worker 7 / requests`. `None` if the trace says no more of it than
/// its uuid. Tracks of one name and parent have the same path. Behind 4096 characters, `…` stands for the rest.
///
/// ```
/// use tracing_file::read::TraceReader;
/// use tracing_file::timeline::track_path;
/// use tracing_file::write::TraceFile;
///
/// # let mut bytes = Vec::new();
/// let mut trace = TraceFile::create(&mut bytes)?;
/// let worker = trace.thread(1, 7, "worker");
/// trace.slice(&worker, 1_000, 250, "work");
/// trace.finish()?;
///
/// let mut reader = TraceReader::new(bytes.as_slice());
/// let track = reader.next_event()?.map(|event| event.track_uuid());
/// let path = track.and_then(|uuid| track_path(reader.tracks(), uuid));
/// assert_eq!(path.as_deref(), Some("pid 1 / worker 7"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn track_path(tracks: &Tracks, uuid: u64) -> Option<String> {
    tracks.get(uuid)?.described?;
    let label = Label::new(tracks, &Twins(Vec::new()), 0, uuid);
    let is_known = !label.path.is_empty() || label.process.is_some();
    match label.name().filter(|_| label.is_counter) {
        None => (is_known && label.shown != unnamed(uuid)).then_some(label.shown),
        Some(name) if label.shown == NOWHERE => Some(plain(name)),
        Some(name) => Some(joined([label.shown.clone(), plain(name)])),
    }
}

/// Labels that were needed lately.
#[derive(Debug)]
pub(super) struct Labels {
    twins: Twins,
    known: BTreeMap<(u32, u64), Label>,
    pub(super) bytes: usize,
    /// Bytes of all labels that were made.
    pub(super) made_bytes: u64,
}

impl Labels {
    pub(super) fn new(tracks: &Tracks) -> Self {
        Self { twins: Twins::new(tracks), known: BTreeMap::new(), bytes: 0, made_bytes: 0 }
    }

    pub(super) fn of(&mut self, tracks: &Tracks, machine: u32, uuid: u64) -> &Label {
        if self.bytes > LABELS_BYTES_MAX {
            self.known.clear();
            self.bytes = 0;
        }
        let Self { twins, bytes, made_bytes, .. } = self;
        self.known.entry((machine, uuid)).or_insert_with(|| {
            let label = Label::new(tracks, twins, machine, uuid);
            *bytes += label.bytes();
            *made_bytes += label.bytes() as u64;
            label
        })
    }
}
