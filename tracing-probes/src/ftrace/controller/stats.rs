//! `FtraceStats`: what the kernel and the reader counted, and what of a config has no effect.
//!
//! At each flush a session gets two packets: *start*, with what was found when it started, and *end*, with what is now.
//! A reader takes what a set-up could not do from the first one.

use protos::{FtraceClock, FtraceStatsPhase as Phase, FtraceStatsWriter};

use crate::ftrace::bundle::{Clocks, Readings};
use crate::ftrace::config::Refusal;
use crate::ftrace::mux::Mux;
use crate::ftrace::subscriber::Subscriber;
use crate::ftrace::symbols::Symbols;
use crate::ftrace::tracefs::{
    CpuStats, Directory, KprobeProfile, Stamp, Tracefs, cpu_stats, kprobe_profile,
};
use crate::output::Output;

/// What is known when a session starts.
#[derive(Debug, Default)]
pub(super) struct Setup {
    /// Entries of the config that this kernel has nothing for.
    pub(super) unknown: Vec<String>,
    /// Events that exist and cannot be recorded.
    pub(super) failed: Vec<String>,
    /// What else has no effect, in words.
    pub(super) errors: Vec<String>,
    pub(super) is_preserved: bool,
    pub(super) has_kprobes: bool,
    pub(super) before: Now,
}

/// What is now.
#[derive(Debug, Default)]
pub(super) struct Now {
    cpus: Vec<(u32, CpuStats)>,
    kprobes: KprobeProfile,
    symbols: usize,
    symbols_bytes: usize,
    /// See `InUse::ring_sizes`.
    ring_sizes: [usize; 2],
}

impl Now {
    /// Reads the statistics of an instance, but for the counters of its rings.
    pub(super) fn read(
        tracefs: &dyn Tracefs,
        cpus: Vec<(u32, CpuStats)>,
        ring_sizes: [usize; 2],
        symbols: Option<&Symbols>,
    ) -> Self {
        Self {
            cpus,
            kprobes: kprobe_profile(&tracefs.read("kprobe_profile").unwrap_or_default()),
            symbols: symbols.map_or(0, Symbols::len),
            symbols_bytes: symbols.map_or(0, Symbols::bytes),
            ring_sizes,
        }
    }

    /// The events that the rings lost since then.
    pub(super) fn lost_until(&self, rings: &[(u32, CpuStats)]) -> u64 {
        let lost = |stats: &CpuStats| {
            stats.overrun.saturating_add(stats.commit_overrun).saturating_add(stats.dropped_events)
        };
        let cpu = |(cpu, stats): &(u32, CpuStats)| {
            let found = self.cpus.iter().find(|(before, _)| before == cpu);
            // Without the value before, nobody knows what is new.
            found.map_or(0, |(_, before)| lost(stats).saturating_sub(lost(before)))
        };
        rings.iter().map(cpu).fold(0, u64::saturating_add)
    }

    fn write(&self, to: &mut FtraceStatsWriter<'_>, has_kprobes: bool) {
        for (cpu, stats) in &self.cpus {
            let mut to = to.cpu_stats();
            to.cpu(u64::from(*cpu));
            to.entries(stats.entries);
            to.overrun(stats.overrun);
            to.commit_overrun(stats.commit_overrun);
            to.bytes_read(stats.bytes);
            to.oldest_event_ts(seconds(stats.oldest_event));
            to.now_ts(seconds(stats.now));
            to.dropped_events(stats.dropped_events);
            to.read_events(stats.read_events);
        }
        to.kernel_symbols_parsed(u32::try_from(self.symbols).unwrap_or(u32::MAX));
        to.kernel_symbols_mem_kb(u32::try_from(self.symbols_bytes / 1024).unwrap_or(u32::MAX));
        if has_kprobes && self.kprobes != KprobeProfile::default() {
            let mut to = to.kprobe_stats();
            to.hits(self.kprobes.hits.cast_signed());
            to.misses(self.kprobes.misses.cast_signed());
        }
        let [pages, wished] = self.ring_sizes.map(|size| u32::try_from(size).unwrap_or(u32::MAX));
        to.cpu_buffer_size_pages(pages);
        to.cached_cpu_buffer_size_pages(wished);
    }
}

/// As `stats` has it: seconds, or for some clocks a number of their units.
fn seconds(stamp: Stamp) -> f64 {
    let value = stamp.value as f64;
    if stamp.is_seconds { value / 1e9 } else { value }
}

/// Tells the user of a session that `source` records nothing, and why. `is_exclusive`: because it, or a session before
/// it, has what only one can have.
pub(crate) fn write_refusal(
    out: &mut dyn Output,
    source: &str,
    refusal: &Refusal,
    is_exclusive: bool,
) {
    out.packet(&mut |packet| {
        let mut stats = packet.ftrace_stats();
        stats.phase(Phase::START_OF_TRACE);
        stats.atrace_errors(&format!("{source} records nothing: {}", refusal.0));
        if is_exclusive {
            stats.exclusive_feature_error(&refusal.0);
        }
    });
}

/// Writes both packets.
pub(super) fn write(out: &mut dyn Output, setup: &Setup, now: &Now, subscriber: &Subscriber) {
    write_start(out, setup);
    out.packet(&mut |packet| {
        let mut stats = packet.ftrace_stats();
        stats.phase(Phase::END_OF_TRACE);
        now.write(&mut stats, setup.has_kprobes);
        for status in subscriber.errors() {
            stats.ftrace_parse_errors(status);
        }
    });
}

/// Writes the first one.
pub(super) fn write_start(out: &mut dyn Output, setup: &Setup) {
    out.packet(&mut |packet| {
        let mut stats = packet.ftrace_stats();
        stats.phase(Phase::START_OF_TRACE);
        setup.before.write(&mut stats, setup.has_kprobes);
        if !setup.errors.is_empty() {
            stats.atrace_errors(&setup.errors.join("\n"));
        }
        for event in &setup.unknown {
            stats.unknown_ftrace_events(event);
        }
        for event in &setup.failed {
            stats.failed_ftrace_events(event);
        }
        if setup.is_preserved {
            stats.preserve_ftrace_buffer(true);
        }
    });
}

/// The clock of an instance and the boot clock, read together; `None` if they are one.
pub(super) fn clocks(
    tracefs: &dyn Tracefs,
    directory: &Directory,
    mux: &Mux,
    boot_ns: impl FnOnce() -> u64,
) -> Option<Clocks> {
    let clock = mux.instance()?.clock;
    if clock == FtraceClock::FTRACE_CLOCK_UNSPECIFIED {
        return None;
    }
    let now = |cpu: u32| {
        let text = tracefs.read(&directory.path(&format!("per_cpu/cpu{cpu}/stats"))).ok()?;
        Some(cpu_stats(&text).now.value).filter(|now| *now != 0)
    };
    // All CPUs have this clock. The first is there on nearly all machines.
    let ftrace = now(0).or_else(|| (1..directory.cpus(tracefs)).find_map(now));
    let readings = ftrace
        .map(|ftrace| Readings { ftrace: ftrace.cast_signed(), boot_ns: boot_ns().cast_signed() });
    Some(Clocks { clock, readings })
}
