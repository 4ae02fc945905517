//! Threads that ftrace has seen: who they are, and which files they opened.
//!
//! A thread is read once until the incremental state is cleared, a poll finds its process gone, it is renamed or its
//! number is that of a new thread (`task_newtask`, `sched_process_fork`). Its process is written before it, with its
//! first thread; other threads of the process wait until they run. One that has ended is left out, and nothing about it
//! is remembered.
//!
//! Events have the numbers of the first PID namespace. A probe in another one would find other processes by them, so it
//! describes none.

use protos::ProcessTreeWriter;

use super::counters::Changes;
use super::status::Status;
use super::{ProcessStatsProbe, describe_thread};
use crate::facts::Facts;
use crate::limits::{FILES_BYTES_PER_INSTANCE_MAX, KNOWN_THREADS_MAX, THREADS_PER_TREE_MAX};
use crate::output::Output;

impl ProcessStatsProbe {
    /// New and renamed threads first, so that they are described again; files last: their threads must be known.
    pub(super) fn take_facts(&mut self, facts: &Facts, out: &mut dyn Output) {
        if !self.knows_threads {
            return self.root.warn(
                "process_stats: the kernel's events have other numbers of threads than this container: threads that \
                 they name are not described; start the container with --pid=host",
            );
        }
        for tid in &facts.renamed {
            self.described.remove(tid);
            self.threads.remove(tid);
            // Its number may have been that of another process.
            self.without_memory.remove(tid);
            if let Some(last) = self.last_values.remove(tid) {
                self.files_bytes = self.files_bytes.saturating_sub(last.files_bytes());
            }
        }
        let mut new = Vec::new();
        for tid in facts.pids.iter().copied().filter(|tid| *tid > 0) {
            if self.described.contains(&tid) || self.threads.contains_key(&tid) {
                continue;
            }
            // Read before there is a packet: one without a thread would say nothing.
            if let Some(status) = self.status(&format!("proc/{tid}/status")) {
                new.push((tid, status));
            }
            if new.len() == THREADS_PER_TREE_MAX {
                self.describe_threads(&std::mem::take(&mut new), out);
            }
        }
        self.describe_threads(&new, out);
        self.write_opened_files(&facts.fds, out);
    }

    /// Writes these threads, and their processes.
    fn describe_threads(&mut self, new: &[(i32, Status)], out: &mut dyn Output) {
        if new.is_empty() {
            return;
        }
        if self.described.len() + self.threads.len() > KNOWN_THREADS_MAX {
            // Most of them have ended. Those that run are described again.
            self.described.clear();
            self.threads.clear();
        }
        self.write_tree(out, &mut |this, tree| {
            for (tid, status) in new {
                this.describe_one(*tid, status, tree);
            }
        });
    }

    fn describe_one(&mut self, tid: i32, status: &Status, tree: &mut ProcessTreeWriter<'_>) {
        let pid = if status.tgid > 0 { status.tgid } else { tid };
        if pid == tid {
            // Its process may have been written for another thread just now.
            if self.described.insert(pid) {
                self.describe_main(pid, status, tree);
            }
            return;
        }
        if !self.described.contains(&pid)
            && let Some(status) = self.status(&format!("proc/{pid}/status"))
        {
            self.described.insert(pid);
            self.describe_main(pid, &status, tree);
        }
        self.threads.insert(tid, pid);
        describe_thread(tid, pid, status, tree);
    }

    /// Writes the paths of files that known threads opened.
    fn write_opened_files(&mut self, fds: &[(i32, u64)], out: &mut dyn Output) {
        let begin_ns = out.clock()();
        let mut changed: Vec<(i32, Changes)> = Vec::new();
        for (tid, fd) in fds {
            let known = self.described.contains(tid).then_some(*tid);
            let Some(pid) = known.or_else(|| self.threads.get(tid).copied()) else { continue };
            let Ok(fd) = u32::try_from(*fd) else { continue };
            if self.files_bytes >= FILES_BYTES_PER_INSTANCE_MAX {
                // Polls forget processes that have ended; without polls all are forgotten, and may be written again.
                if self.poll_ms > 0 {
                    self.root.warn("process_stats: open files are left out: too many");
                    break;
                }
                self.last_values.clear();
                self.files_bytes = 0;
            }
            // It may be closed by now.
            let Some(path) = self.root.link(&format!("proc/{pid}/fd/{fd}")) else { continue };
            let last = self.last_values.entry(pid).or_default();
            if changed.last().is_none_or(|(of, _)| *of != pid) {
                changed.push((pid, Changes::default()));
            }
            if let Some((_, changes)) = changed.last_mut() {
                self.files_bytes += changes.record_file(last, fd, path);
            }
        }
        changed.retain(|(_, changes)| !changes.is_empty());
        self.write_changes(begin_ns, &changed, out);
    }
}
