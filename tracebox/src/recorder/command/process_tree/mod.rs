//! The processes of a command, and the program that each of them runs.
//!
//! ```text
//!   began ──▶ executed* ──▶ ended
//! ```
//!
//! The process connector or polling reports what happens; the tree queues an [`Event`] for each change.

use std::collections::{BTreeMap, VecDeque};
use std::process::ExitStatus;

/// The program that a process runs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Image {
    /// Its name for the kernel, `comm`.
    pub name: String,
    /// Its arguments, the program first. Empty if the process ended before they could be read.
    pub cmdline: Vec<String>,
    /// Its user.
    pub uid: u32,
}

/// A process of the command.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Process {
    pub pid: i32,
    pub parent: i32,
    /// Uuid of its track in the trace.
    pub track: u64,
    /// When it began, boot clock.
    pub start_ns: u64,
    pub image: Image,
}

/// A change, with its time on the boot clock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Event {
    Began {
        process: Process,
    },
    /// It runs another program now.
    Executed {
        process: Process,
        at_ns: u64,
    },
    /// With its status, if that is known.
    Ended {
        process: Process,
        at_ns: u64,
        status: Option<ExitStatus>,
    },
}

/// Events that wait while nothing takes them; more are dropped.
const EVENTS_MAX: usize = 1 << 16;

/// The processes of a command that run.
#[derive(Debug)]
pub(super) struct ProcessTree {
    processes: BTreeMap<i32, Process>,
    next_track: u64,
    events: VecDeque<Event>,
}

impl ProcessTree {
    /// An empty tree. Tracks are numbered from `first_track` on.
    pub(super) fn new(first_track: u64) -> Self {
        Self { processes: BTreeMap::new(), next_track: first_track, events: VecDeque::new() }
    }

    pub(super) fn contains(&self, pid: i32) -> bool {
        self.processes.contains_key(&pid)
    }

    pub(super) fn processes(&self) -> impl Iterator<Item = &Process> {
        self.processes.values()
    }

    /// Process `pid` began.
    pub(super) fn handle_begin(&mut self, pid: i32, parent: i32, start_ns: u64, image: Image) {
        // Its number was free, so a process with this number has ended unnoticed.
        self.handle_exit(pid, start_ns, None);
        let track = self.next_track;
        self.next_track = track.wrapping_add(1);
        let process = Process { pid, parent, track, start_ns, image };
        self.processes.insert(pid, process.clone());
        self.push(Event::Began { process });
    }

    /// Process `pid` runs `image`.
    pub(super) fn handle_exec(&mut self, pid: i32, at_ns: u64, image: Image) {
        let Some(process) = self.processes.get_mut(&pid) else { return };
        // Of a process that ended meanwhile only the name is known.
        let is_same = image.cmdline.is_empty() && image.name == process.image.name;
        if is_same || image == process.image {
            return;
        }
        process.image = image;
        let process = process.clone();
        self.push(Event::Executed { process, at_ns });
    }

    /// Process `pid` ended.
    pub(super) fn handle_exit(&mut self, pid: i32, at_ns: u64, status: Option<ExitStatus>) {
        if let Some(process) = self.processes.remove(&pid) {
            self.push(Event::Ended { process, at_ns, status });
        }
    }

    fn push(&mut self, event: Event) {
        if self.events.len() < EVENTS_MAX {
            self.events.push_back(event);
        }
    }

    /// The next change.
    pub(super) fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }
}

#[cfg(test)]
mod tests;
