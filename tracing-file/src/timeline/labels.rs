//! Where an event happens: its process, its thread, and the tracks below them.

use std::collections::BTreeMap;

use super::escape;
use crate::read::{TrackKind, Tracks};

/// Bytes that labels in memory may take. Beyond that they are made again.
const BYTES_MAX: usize = 16 << 20;

/// Where an event happens.
#[derive(Clone, Debug, Default)]
pub(super) struct Label {
    pub(super) process: Option<Named<i32>>,
    pub(super) thread: Option<Named<i64>>,
    /// Names of the tracks below, the outermost first.
    pub(super) path: Vec<String>,
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
    pub(super) fn new(tracks: &Tracks, machine: u32, uuid: u64) -> Self {
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
                    label.path.push(name.unwrap_or_else(|| format!("track {}", track.uuid)));
                }
            }
        }
        label.path.reverse();
        if tracks.get(uuid).is_none() && uuid != 0 {
            label.path.push(format!("track {uuid}"));
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
        let path = self.path.iter().take(self.path.len().saturating_sub(own));
        parts.extend(path.map(|name| plain(name)));
        if parts.is_empty() {
            return "-".into();
        }
        parts.join(" / ")
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

fn plain(name: &str) -> String {
    let mut out = String::new();
    escape::plain(&mut out, name);
    out
}

/// Labels that were needed lately.
#[derive(Debug, Default)]
pub(super) struct Labels {
    known: BTreeMap<(u32, u64), Label>,
    pub(super) bytes: usize,
}

impl Labels {
    pub(super) fn of(&mut self, tracks: &Tracks, machine: u32, uuid: u64) -> &Label {
        if self.bytes > BYTES_MAX {
            self.known.clear();
            self.bytes = 0;
        }
        let bytes = &mut self.bytes;
        self.known.entry((machine, uuid)).or_insert_with(|| {
            let label = Label::new(tracks, machine, uuid);
            *bytes += label.bytes();
            label
        })
    }
}
