//! Processes that are described with all of their threads, some in each packet: a machine may have ten thousands of
//! threads, and a packet of all would be longer than most buffers.

use protos::ProcessTreeWriter;

use super::{ProcessStatsProbe, describe_thread};
use crate::limits::THREADS_PER_TREE_MAX;
use crate::output::Output;

/// What is left to describe.
struct Scan<'a> {
    pids: std::slice::Iter<'a, i32>,
    /// The process that is being described, and its other threads.
    pid: i32,
    tids: std::vec::IntoIter<i32>,
}

impl<'a> Scan<'a> {
    fn new(pids: &'a [i32]) -> Self {
        Self { pids: pids.iter(), pid: 0, tids: Vec::new().into_iter() }
    }

    fn is_done(&self) -> bool {
        self.pids.len() == 0 && self.tids.len() == 0
    }

    /// Writes the next ones into a packet.
    fn fill(&mut self, probe: &mut ProcessStatsProbe, tree: &mut ProcessTreeWriter<'_>) {
        let mut written = 0;
        while written < THREADS_PER_TREE_MAX {
            if let Some(tid) = self.tids.next() {
                probe.describe_task(self.pid, tid, tree);
            } else if let Some(pid) = self.pids.next() {
                // `None`: it has ended meanwhile.
                let Some(tids) = probe.describe_process(*pid, tree) else { continue };
                (self.pid, self.tids) = (*pid, tids.into_iter());
            } else {
                return;
            }
            written += 1;
        }
    }
}

impl ProcessStatsProbe {
    /// Writes these processes with all of their threads, in as many packets as it takes.
    pub(super) fn describe(&mut self, pids: &[i32], out: &mut dyn Output) {
        let mut scan = Scan::new(pids);
        loop {
            self.write_tree(out, &mut |this, tree| scan.fill(this, tree));
            if scan.is_done() {
                break;
            }
        }
    }

    /// Writes a process with its first thread. Gives the others.
    fn describe_process(&mut self, pid: i32, tree: &mut ProcessTreeWriter<'_>) -> Option<Vec<i32>> {
        let status = self.status(&format!("proc/{pid}/status"))?;
        self.describe_main(pid, &status, tree);
        self.described.insert(pid);
        let tids = self.root.numbers(&format!("proc/{pid}/task"), "").unwrap_or_default();
        let tids = tids.into_iter().filter_map(|tid| i32::try_from(tid).ok());
        Some(tids.filter(|tid| *tid != pid).collect())
    }

    /// Writes another thread of a process.
    fn describe_task(&mut self, pid: i32, tid: i32, tree: &mut ProcessTreeWriter<'_>) {
        if self.config.record_thread_names != Some(true) {
            tree.threads().tid(tid).tgid(pid);
        } else if let Some(status) = self.status(&format!("proc/{pid}/task/{tid}/status")) {
            describe_thread(tid, pid, &status, tree);
            self.threads.insert(tid, pid);
        }
    }
}
