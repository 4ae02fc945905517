//! Finds the processes of a command by reading `/proc` again and again.
//!
//! A process that lives for less than the pause between two reads may be missed, and so may a child whose
//! parent ended within that time: the kernel gives it to another parent.

use std::time::{Duration, Instant};

use crate::recorder::command::proc_files::{ChildLists, Stat};
use crate::recorder::command::process_tree::{Image, ProcessTree};

/// Shortest pause between two reads.
const PAUSE_MIN: Duration = Duration::from_millis(1);

/// A read that takes long is followed by a pause this many times as long, so that a command with many
/// processes keeps its processor.
const PAUSE_PER_READ: u32 = 9;

/// The state of polling.
#[derive(Debug)]
pub(super) struct Polling {
    lists: ChildLists,
    pause: Duration,
}

impl Polling {
    pub(super) fn new() -> Self {
        Self { lists: ChildLists::detect(), pause: PAUSE_MIN }
    }

    /// The pause before the next read.
    pub(super) fn pause(&self) -> Duration {
        self.pause
    }

    /// Brings `tree` up to date. `root` is the command: its end is reported by the thread that waits for it.
    pub(super) fn read_proc(&mut self, tree: &mut ProcessTree, root: i32, now_ns: u64) {
        let begun = Instant::now();
        let known: Vec<i32> = tree.processes().map(|process| process.pid).collect();
        // First the new ones: a process that is about to end still has its list of children.
        let mut parents = known.clone();
        while !parents.is_empty() {
            let children = self.lists.children(&parents);
            let new = children.into_iter().filter(|(_, child)| !tree.contains(*child));
            parents = new
                .collect::<Vec<_>>()
                .into_iter()
                .filter_map(|(parent, child)| {
                    tree.handle_begin(child, parent, now_ns, Image::read(child)?);
                    Some(child)
                })
                .collect();
        }
        for pid in known {
            if Stat::read(pid).is_none_or(|stat| stat.has_ended) {
                if pid != root {
                    tree.handle_exit(pid, now_ns, None);
                }
            } else if let Some(image) = Image::read(pid) {
                tree.handle_exec(pid, now_ns, image);
            }
        }
        self.pause = PAUSE_MIN.max(begun.elapsed() * PAUSE_PER_READ);
    }
}

#[cfg(test)]
mod tests;
