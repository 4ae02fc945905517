//! `linux.process_stats`: processes and threads, with their memory, times and files.
//!
//! ```text
//!  start: all processes ──> ProcessTree, ...       (scan_all_processes_on_start)
//!  every poll:  new ones ──> ProcessTree
//!               counters that changed ──> ProcessStats
//!  facts of ftrace:  threads that ran, or were renamed ──> ProcessTree
//!                    files that they opened ──> ProcessStats     (resolve_process_fds)
//! ```
//!
//! On demand, which is the default in a session with `linux.ftrace`, a thread is described when its first event was
//! read, with the process that it belongs to, and again after it was renamed ([`on_demand`]).
//!
//! The probe remembers what it wrote and writes changes only. It forgets at the age `proc_stats_cache_ttl_ms`,
//! and when the service clears the incremental state.

mod counters;
mod on_demand;
mod scan;
mod status;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::Duration;

use protos::{
    DataSourceConfig, ProcessStatsConfig, ProcessStatsConfigQuirks as Quirks, ProcessTreeWriter,
};

use self::counters::{Changes, CounterFile, LastValues, Pieces};
use self::status::{Stat, Status};
use crate::Root;
use crate::facts::{Facts, Wanted};
use crate::limits::{
    CMDLINE_BYTES_MAX, FDS_PER_PROCESS_MAX, FILES_BYTES_PER_INSTANCE_MAX, PROCESS_STATS_POLL_MS_MIN,
};
use crate::output::Output;
use crate::parse::{signed, text};
use crate::probe::Probe;
use crate::sys_stats::tick_ns;
use abi::map::{SortedMap, SortedSet};

/// One instance.
#[derive(Debug)]
pub(crate) struct ProcessStatsProbe {
    root: Root,
    config: ProcessStatsConfig,
    poll_ms: u32,
    /// Counters are forgotten after this many ticks; 0: never.
    ttl_ticks: u32,
    ticks: u32,
    tick_ns: u64,
    /// The numbers of threads that events have are those of `/proc`.
    knows_threads: bool,
    /// The next packet says that a reader needs no earlier one.
    cleared: bool,
    /// Processes that were written into a tree.
    described: SortedSet<i32>,
    /// Other threads than the first of their process that were written on demand, with their processes.
    threads: SortedMap<i32, i32>,
    /// Processes without memory of their own: kernel threads.
    without_memory: SortedSet<i32>,
    /// The values that were written last.
    last_values: BTreeMap<i32, LastValues>,
    /// What the open files among them take, bytes.
    files_bytes: usize,
    text: Vec<u8>,
}

impl Probe for ProcessStatsProbe {
    const NAME: &'static str = "linux.process_stats";
    const HAS_INCREMENTAL_STATE: bool = true;

    type Shared = Root;

    fn new(root: &mut Root, config: &DataSourceConfig) -> Self {
        let config = config.process_stats_config.clone().unwrap_or_default();
        let poll_ms = match config.proc_stats_poll_ms {
            None | Some(0) => 0,
            Some(ms) if ms < PROCESS_STATS_POLL_MS_MIN => {
                root.warn(&format!(
                    "process_stats: a poll period of {ms} ms is raised to {PROCESS_STATS_POLL_MS_MIN} ms"
                ));
                PROCESS_STATS_POLL_MS_MIN
            }
            Some(ms) => ms,
        };
        let ttl_ticks = match config.proc_stats_cache_ttl_ms {
            Some(ttl_ms) if ttl_ms > 0 && poll_ms > 0 => (ttl_ms / poll_ms).max(1),
            _ => 0,
        };
        Self {
            root: root.clone(),
            config,
            poll_ms,
            ttl_ticks,
            ticks: 0,
            tick_ns: tick_ns(),
            knows_threads: root.is_first_pid_namespace() != Some(false),
            cleared: true,
            described: SortedSet::new(),
            threads: SortedMap::new(),
            without_memory: SortedSet::new(),
            last_values: BTreeMap::new(),
            files_bytes: 0,
            text: Vec::new(),
        }
    }

    fn start(&mut self, _: &mut Root, out: &mut dyn Output) {
        let wanted = self.config.scan_all_processes_on_start == Some(true);
        if wanted && !self.config.quirks.contains(&Quirks::DISABLE_INITIAL_DUMP) {
            let pids = self.pids();
            self.describe(&pids, out);
        }
    }

    fn period(&self) -> Option<Duration> {
        (self.poll_ms > 0).then(|| Duration::from_millis(self.poll_ms.into()))
    }

    fn tick(&mut self, _: &mut Root, out: &mut dyn Output) {
        let clock = out.clock();
        let begin_ns = clock();
        let pids = self.pids();
        let alive: SortedSet<i32> = pids.iter().copied().collect();
        // The kernel may give the number of a process that ended to another one.
        self.described.retain(|pid| alive.contains(pid));
        self.threads.retain(|_, pid| alive.contains(pid));
        self.without_memory.retain(|pid| alive.contains(pid));
        self.last_values.retain(|pid, _| alive.contains(pid));
        self.files_bytes = self.last_values.values().map(LastValues::files_bytes).sum();

        let mut changed = Vec::new();
        let mut new = Vec::new();
        for pid in pids {
            let changes = self.changes(pid);
            // A thread of the kernel has no memory, but may have CPU times, and these need a name.
            let is_written = !self.without_memory.contains(&pid) || !changes.is_empty();
            if is_written && !self.described.contains(&pid) {
                new.push(pid);
            }
            if !changes.is_empty() {
                changed.push((pid, changes));
            }
        }
        if !new.is_empty() {
            self.describe(&new, out);
        }
        self.write_changes(begin_ns, &changed, out);
        self.ticks = self.ticks.wrapping_add(1);
        if self.ttl_ticks > 0 && self.ticks.is_multiple_of(self.ttl_ticks) {
            self.last_values.clear();
        }
    }

    fn wanted(config: &DataSourceConfig) -> Wanted {
        let config = config.process_stats_config.as_ref();
        let is_off =
            config.is_some_and(|config| config.quirks.contains(&Quirks::DISABLE_ON_DEMAND));
        let resolves_fds = config.is_some_and(|config| config.resolve_process_fds == Some(true));
        Wanted { threads: !is_off, fds: !is_off && resolves_fds, inodes: false }
    }

    fn facts(&mut self, _: &mut Root, facts: &Facts, out: &mut dyn Output) {
        self.take_facts(facts, out);
    }

    fn clear_incremental_state(&mut self, root: &mut Root, out: &mut dyn Output) {
        self.described.clear();
        self.threads.clear();
        self.without_memory.clear();
        self.last_values.clear();
        self.cleared = true;
        self.start(root, out);
    }
}

impl ProcessStatsProbe {
    /// All processes, sorted.
    fn pids(&self) -> Vec<i32> {
        let Some(pids) = self.root.numbers("proc", "") else {
            self.root.warn("/proc cannot be read: no processes are recorded");
            return Vec::new();
        };
        pids.into_iter().filter_map(|pid| i32::try_from(pid).ok()).collect()
    }

    fn status(&mut self, path: &str) -> Option<Status> {
        self.root.read(path, &mut self.text).ok()?;
        Some(Status::parse(&self.text))
    }

    fn stat(&mut self, pid: i32) -> Option<Stat> {
        self.root.read(&format!("proc/{pid}/stat"), &mut self.text).ok()?;
        Stat::parse(&self.text)
    }

    /// Writes what has changed, in as many packets as it takes.
    fn write_changes(&mut self, begin_ns: u64, changed: &[(i32, Changes)], out: &mut dyn Output) {
        let clock = out.clock();
        let mut pieces = Pieces::new(changed);
        while !pieces.is_done() {
            let cleared = std::mem::take(&mut self.cleared);
            out.packet(&mut |packet| {
                packet.timestamp(begin_ns);
                if cleared {
                    packet.incremental_state_cleared(true);
                }
                let mut stats = packet.process_stats();
                pieces.write(&mut stats);
                stats.collection_end_timestamp(clock());
            });
        }
    }

    /// Writes a packet with a tree.
    fn write_tree(
        &mut self,
        out: &mut dyn Output,
        fill: &mut dyn FnMut(&mut Self, &mut ProcessTreeWriter<'_>),
    ) {
        let clock = out.clock();
        let begin_ns = clock();
        let cleared = std::mem::take(&mut self.cleared);
        out.packet(&mut |packet| {
            packet.timestamp(begin_ns);
            if cleared {
                packet.incremental_state_cleared(true);
            }
            let mut tree = packet.process_tree();
            fill(self, &mut tree);
            tree.collection_end_timestamp(clock());
        });
    }

    /// Writes a process with its first thread.
    fn describe_main(&mut self, pid: i32, status: &Status, tree: &mut ProcessTreeWriter<'_>) {
        let age = self.config.record_process_age == Some(true);
        let start_ticks = if age { self.stat(pid).map(|stat| stat.start_ticks) } else { None };
        self.text.clear();
        let _ = self.root.read(&format!("proc/{pid}/cmdline"), &mut self.text);
        self.text.truncate(CMDLINE_BYTES_MAX);
        // Programs that write a title over their arguments leave zeros behind it.
        let end = self.text.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        let cmdline = self.text.get(..end).unwrap_or_default();

        let mut process = tree.processes();
        process.pid(pid);
        process.ppid(status.ppid);
        if cmdline.is_empty() {
            process.cmdline(&text(&status.name)).cmdline_is_comm(true);
        } else {
            for argument in cmdline.split(|b| *b == 0) {
                process.cmdline(&text(argument));
            }
        }
        process.uid(status.uid);
        for pid in &status.inner_pids {
            process.nspid(*pid);
        }
        if let Some(ticks) = start_ticks {
            process.process_start_from_boot(ticks.saturating_mul(self.tick_ns));
        }
        if status.is_kernel {
            process.is_kthread(true);
        }
        drop(process);
        if self.config.skip_main_thread_message != Some(true) {
            describe_thread(pid, pid, status, tree);
        }
    }

    /// Reads the counters of a process. Returns what has changed since the last time.
    fn changes(&mut self, pid: i32) -> Changes {
        let mut changes = Changes::default();
        let mut last = self.last_values.remove(&pid).unwrap_or_default();
        if self.config.record_process_runtime == Some(true)
            && let Some(stat) = self.stat(pid)
        {
            let ns = |ticks: u64| Some(ticks.saturating_mul(self.tick_ns));
            let values = [ns(stat.user_ticks), ns(stat.kernel_ticks)];
            changes.record(&mut last, CounterFile::Stat, &values);
        }
        if self.config.resolve_process_fds == Some(true) {
            // Files of other users cannot be read without privilege, which is no reason for a warning.
            let fds = self.root.numbers(&format!("proc/{pid}/fd"), "").unwrap_or_default();
            self.files(pid, &fds, &mut last, &mut changes);
        }
        if !self.without_memory.contains(&pid) {
            self.memory(pid, &mut last, &mut changes);
        }
        if !last.is_empty() {
            self.last_values.insert(pid, last);
        }
        changes
    }

    fn memory(&mut self, pid: i32, last: &mut LastValues, changes: &mut Changes) {
        let Some(status) = self.status(&format!("proc/{pid}/status")) else { return };
        if status.memory.first().is_none_or(Option::is_none) {
            // A kernel thread: it never gets memory of its own.
            self.without_memory.insert(pid);
            return;
        }
        changes.record(last, CounterFile::Status, &status.memory);
        if self.config.scan_smaps_rollup == Some(true)
            && self.root.read(&format!("proc/{pid}/smaps_rollup"), &mut self.text).is_ok()
        {
            let values = counters::rows(&self.text, CounterFile::Smaps);
            changes.record(last, CounterFile::Smaps, &values);
        }
        if self.config.record_process_dmabuf_rss == Some(true) {
            let bytes = self.root.read_number(&format!("proc/{pid}/dmabuf_rss"));
            changes.record(last, CounterFile::Dmabuf, &[bytes.map(|bytes| bytes / 1024)]);
        }
        let score = self.root.read_line(&format!("proc/{pid}/oom_score_adj"));
        if let Some(score) = score.and_then(|line| signed(line.trim().as_bytes())) {
            changes.record_oom_score(last, score);
        }
    }

    fn files(&mut self, pid: i32, fds: &[u32], last: &mut LastValues, changes: &mut Changes) {
        for fd in fds.iter().copied().take(FDS_PER_PROCESS_MAX) {
            if self.files_bytes >= FILES_BYTES_PER_INSTANCE_MAX {
                return self.root.warn("process_stats: open files are left out: too many");
            }
            if let Some(path) = self.root.link(&format!("proc/{pid}/fd/{fd}")) {
                self.files_bytes += changes.record_file(last, fd, path);
            }
        }
    }
}

fn describe_thread(tid: i32, pid: i32, status: &Status, tree: &mut ProcessTreeWriter<'_>) {
    let mut thread = tree.threads();
    thread.tid(tid).name(&text(&status.name)).tgid(pid);
    for tid in &status.inner_pids {
        thread.nstid(*tid);
    }
}
