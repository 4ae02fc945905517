//! `linux.frozen_ftrace`: a ring of ftrace in memory that survived a reboot, with the events before it.
//!
//! The kernel gives such a ring as an instance of tracefs. All events of it that the schema knows are recorded, in one
//! go at the start, so that a session which ends early takes all. Afterwards the ring is empty: the next session does
//! not find the same events again. Names of kernel functions are those of a kernel that is gone, so there are none; and
//! events outside the schema have formats that nobody knows any more.
//! (`frozen_ftrace_data_source.cc`.)

#[cfg(test)]
mod tests;

use std::time::Duration;

use abi::map::SortedMap;
use protos::{DataSourceConfig, FtraceParseStatus as Status, FtraceStatsPhase as Phase};

use super::config::{self, Refusal};
use super::controller::{commit_width, subbuf_bytes, write_refusal};
use super::drain::{self, Batch, Take};
use super::subscriber::{Shared, Subscriber, Wishes};
use super::table::{Options, Table};
use super::tracefs::{BufferKb, Directory, Mounted, Tracefs, buffer_kb, find_root};
use crate::Root;
use crate::output::Output;
use crate::probe::Probe;

/// Pages of a CPU that are read before the next CPU.
const PAGES_PER_ROUND: usize = 32;

/// One instance.
#[derive(Debug)]
pub(crate) struct FrozenFtraceProbe {
    name: String,
    /// What was read.
    ring: Option<(Mounted, Directory)>,
}

impl Probe for FrozenFtraceProbe {
    const NAME: &'static str = "linux.frozen_ftrace";
    const HAS_INCREMENTAL_STATE: bool = false;

    type Shared = Root;

    fn new(_: &mut Root, config: &DataSourceConfig) -> Self {
        let config = config.frozen_ftrace_config.as_ref();
        let name = config.and_then(|config| config.instance_name.clone()).unwrap_or_default();
        Self { name, ring: None }
    }

    fn start(&mut self, root: &mut Root, out: &mut dyn Output) {
        let tracefs = find_root(root.path()).map_err(Refusal);
        let read = tracefs.and_then(|tracefs| {
            let directory = directory(&tracefs, &self.name)?;
            read(&tracefs, &directory, out)?;
            Ok((tracefs, directory))
        });
        match read {
            Ok(ring) => self.ring = Some(ring),
            Err(refusal) => {
                root.warn(&format!("{}: {}", Self::NAME, refusal.0));
                write_refusal(out, Self::NAME, &refusal, false);
            }
        }
    }

    fn period(&self) -> Option<Duration> {
        None
    }

    fn tick(&mut self, _: &mut Root, _: &mut dyn Output) {}
}

impl Drop for FrozenFtraceProbe {
    fn drop(&mut self) {
        if let Some((tracefs, directory)) = &self.ring {
            // Nobody is left to tell; the next session finds the rest.
            _ = tracefs.truncate(&directory.path("trace"));
        }
    }
}

/// The directory of the ring.
fn directory(tracefs: &dyn Tracefs, name: &str) -> Result<Directory, Refusal> {
    let missing =
        || Refusal("instance_name is missing: name the instance of tracefs to read".into());
    let name = config::instance(name)?.ok_or_else(missing)?;
    Directory::instance(tracefs, &name).map_err(Refusal)
}

/// Records the ring: as many pages as it has, also if it is written meanwhile.
fn read(tracefs: &dyn Tracefs, directory: &Directory, out: &mut dyn Output) -> Result<(), Refusal> {
    let table = Table::new(Options::default(), &mut |group, name| {
        tracefs.read(&directory.path(&format!("events/{group}/{name}/format"))).ok()
    });
    let mut pipes = Vec::new();
    for cpu in 0..directory.cpus(tracefs) {
        let path = directory.path(&format!("per_cpu/cpu{cpu}/trace_pipe_raw"));
        pipes.push(tracefs.open_pipe(&path).ok());
    }
    if pipes.iter().all(Option::is_none) {
        return Err(Refusal(format!("no pipe of a CPU of {} can be opened", directory.name())));
    }
    let page_bytes = subbuf_bytes(tracefs, directory, rustix::param::page_size());
    let mut left = ring_pages(tracefs, directory, page_bytes);
    let (mut batch, commit) = (Batch::new(page_bytes), commit_width(tracefs, directory));
    let wishes = Wishes { plans: table.plans(), has_symbols: false, filter: None };
    let printk = SortedMap::new();
    let shared = Shared { commit, printk: &printk, clocks: None, symbols: None, own_threads: &[] };
    let mut rounds = Rounds { subscriber: Subscriber::new(wishes), shared, out };
    rounds.stats(Phase::START_OF_TRACE);
    while left > 0 {
        let pages_max = PAGES_PER_ROUND.min(left);
        let passed = drain::pass(&mut pipes, &mut batch, commit, pages_max, &mut rounds);
        rounds.subscriber.end_pass(&mut |_| {});
        if passed.pages == 0 {
            break;
        }
        left -= pages_max;
    }
    rounds.stats(Phase::END_OF_TRACE);
    Ok(())
}

/// Pages of the ring of a CPU. One more is being written.
fn ring_pages(tracefs: &dyn Tracefs, directory: &Directory, page_bytes: usize) -> usize {
    let text = tracefs.read(&directory.path("buffer_size_kb")).unwrap_or_default();
    let kb = match buffer_kb(&text) {
        Some(BufferKb::Each(kb) | BufferKb::Unused { now: kb, .. }) => kb,
        // All are read until there is nothing: this is for a ring that is written meanwhile.
        Some(BufferKb::Differs) | None => 1 << 20,
    };
    let bytes = usize::try_from(kb.saturating_mul(1024)).unwrap_or(usize::MAX);
    bytes.div_ceil(page_bytes).saturating_add(1)
}

/// Pages become packets.
struct Rounds<'a> {
    subscriber: Subscriber,
    shared: Shared<'a>,
    out: &'a mut dyn Output,
}

impl Rounds<'_> {
    /// Without *preserved*, readers drop events from before the session.
    fn stats(&mut self, phase: Phase) {
        let subscriber = &self.subscriber;
        self.out.packet(&mut |packet| {
            let mut stats = packet.ftrace_stats();
            stats.phase(phase);
            if phase == Phase::START_OF_TRACE {
                stats.preserve_ftrace_buffer(true);
                return;
            }
            for status in subscriber.errors() {
                stats.ftrace_parse_errors(status);
            }
        });
    }
}

impl Take for Rounds<'_> {
    fn batch(&mut self, cpu: u32, batch: &Batch) {
        self.subscriber.batch(cpu, batch, &self.shared, self.out);
    }

    fn failed(&mut self, _: u32, status: Status) {
        self.subscriber.failed(status);
    }
}
