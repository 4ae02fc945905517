//! `linux.sys_stats`: counters of the whole machine.
//!
//! Each group of counters has its own period. The shortest one is the period of the ticks; a group with `n`
//! times that period is read at every `n`th tick. All groups of a tick go into one packet.

mod memory_counters;
mod readers;

#[cfg(test)]
mod tests;

use std::time::Duration;

use protos::{DataSourceConfig, SysStatsConfig, SysStatsWriter};

pub(crate) use self::readers::tick_ns;

use self::memory_counters::MemoryCounters;
use self::readers::StatReader;
use crate::Root;
use crate::output::Output;
use crate::root::PolledFile;
use crate::source::Probe;

/// Shorter periods are raised to this.
const PERIOD_MS_MIN: u32 = 10;

/// Counters that are read together, in the order in which they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Group {
    Meminfo,
    Vmstat,
    Stat,
    Devfreq,
    Cpufreq,
    Buddyinfo,
    Diskstat,
    Psi,
    Thermal,
    Cpuidle,
    Gpufreq,
    Slab,
}

/// The groups to read, each with its period in ticks.
#[derive(Debug, Default, PartialEq)]
struct Schedule {
    period_ms: u32,
    groups: Vec<(Group, u32)>,
}

impl Schedule {
    fn new(root: &Root, config: &SysStatsConfig) -> Self {
        let configured = [
            (Group::Meminfo, config.meminfo_period_ms),
            (Group::Vmstat, config.vmstat_period_ms),
            (Group::Stat, config.stat_period_ms),
            (Group::Devfreq, config.devfreq_period_ms),
            (Group::Cpufreq, config.cpufreq_period_ms),
            (Group::Buddyinfo, config.buddyinfo_period_ms),
            (Group::Diskstat, config.diskstat_period_ms),
            (Group::Psi, config.psi_period_ms),
            (Group::Thermal, config.thermal_period_ms),
            (Group::Cpuidle, config.cpuidle_period_ms),
            (Group::Gpufreq, config.gpufreq_period_ms),
            (Group::Slab, config.slab_period_ms),
        ];
        let mut groups = Vec::new();
        for (group, period_ms) in configured {
            let period_ms = match period_ms {
                None | Some(0) => continue,
                Some(ms) if ms < PERIOD_MS_MIN => {
                    root.warn_once(&format!(
                        "sys_stats: a period of {ms} ms for {group:?} is raised to {PERIOD_MS_MIN} ms"
                    ));
                    PERIOD_MS_MIN
                }
                Some(ms) => ms,
            };
            groups.push((group, period_ms));
        }
        let Some(shortest) = groups.iter().map(|(_, ms)| *ms).min() else {
            return Self::default();
        };
        if let Some((group, ms)) = groups.iter().find(|(_, ms)| ms % shortest != 0) {
            root.warn_once(&format!(
                "sys_stats: nothing is recorded, since the period of {group:?}, {ms} ms, is no \
                 multiple of the shortest, {shortest} ms"
            ));
            return Self::default();
        }
        groups.iter_mut().for_each(|(_, ms)| *ms /= shortest);
        Self { period_ms: shortest, groups }
    }

    fn has(&self, group: Group) -> bool {
        self.groups.iter().any(|(g, _)| *g == group)
    }
}

/// Files that stay open.
#[derive(Debug)]
struct Files {
    meminfo: Option<PolledFile>,
    vmstat: Option<PolledFile>,
    stat: Option<PolledFile>,
    buddyinfo: Option<PolledFile>,
    diskstat: Option<PolledFile>,
    slab: Option<PolledFile>,
    psi: Vec<(readers::PsiFile, PolledFile)>,
}

/// One instance.
#[derive(Debug)]
pub(crate) struct SysStatsProbe {
    root: Root,
    schedule: Schedule,
    memory: MemoryCounters,
    stat: StatReader,
    files: Files,
    tick: u32,
    /// The file that was read last. It is kept for its memory.
    text: Vec<u8>,
}

impl Probe for SysStatsProbe {
    const NAME: &'static str = "linux.sys_stats";
    const HAS_INCREMENTAL_STATE: bool = false;

    fn new(root: &Root, config: &DataSourceConfig) -> Self {
        let config = config.sys_stats_config.clone().unwrap_or_default();
        let schedule = Schedule::new(root, &config);
        let open = |group, path| schedule.has(group).then(|| PolledFile::open(root, path));
        let files = Files {
            meminfo: open(Group::Meminfo, "proc/meminfo"),
            vmstat: open(Group::Vmstat, "proc/vmstat"),
            stat: open(Group::Stat, "proc/stat"),
            buddyinfo: open(Group::Buddyinfo, "proc/buddyinfo"),
            diskstat: open(Group::Diskstat, "proc/diskstats"),
            slab: open(Group::Slab, "proc/slabinfo"),
            psi: readers::PSI
                .iter()
                .filter(|_| schedule.has(Group::Psi))
                .map(|file| (*file, PolledFile::open(root, file.path)))
                .collect(),
        };
        Self {
            root: root.clone(),
            schedule,
            memory: MemoryCounters::new(&config),
            stat: StatReader::new(&config),
            files,
            tick: 0,
            text: Vec::new(),
        }
    }

    fn start(&mut self, _: &mut dyn Output) {}

    fn period(&self) -> Option<Duration> {
        let period_ms = self.schedule.period_ms;
        (period_ms > 0).then(|| Duration::from_millis(period_ms.into()))
    }

    fn tick(&mut self, out: &mut dyn Output) {
        let due: Vec<Group> = self
            .schedule
            .groups
            .iter()
            .filter(|(_, every)| self.tick.is_multiple_of(*every))
            .map(|(group, _)| *group)
            .collect();
        self.tick = self.tick.wrapping_add(1);
        let clock = out.clock();
        let begin_ns = clock();
        out.packet(&mut |packet| {
            packet.timestamp(begin_ns);
            let mut stats = packet.sys_stats();
            for group in &due {
                self.write(*group, &mut stats);
            }
            stats.collection_end_timestamp(clock());
        });
    }
}

impl SysStatsProbe {
    fn write(&mut self, group: Group, stats: &mut SysStatsWriter<'_>) {
        let Self { root, memory, files, text, .. } = self;
        let mut reread = |file: &mut Option<PolledFile>, write: &mut dyn FnMut(&[u8])| {
            if let Some(text) = file.as_mut().and_then(|f| f.read(root, text)) {
                write(text);
            }
        };
        match group {
            Group::Meminfo => reread(&mut files.meminfo, &mut |t| memory.meminfo(t, stats)),
            Group::Vmstat => reread(&mut files.vmstat, &mut |t| memory.vmstat(t, stats)),
            Group::Stat => reread(&mut files.stat, &mut |t| self.stat.write(t, stats)),
            Group::Buddyinfo => reread(&mut files.buddyinfo, &mut |t| readers::buddyinfo(t, stats)),
            Group::Diskstat => reread(&mut files.diskstat, &mut |t| readers::diskstat(t, stats)),
            Group::Slab => reread(&mut files.slab, &mut |t| readers::slab(t, stats)),
            Group::Psi => {
                for (resource, file) in &mut files.psi {
                    if let Some(text) = file.read(root, text) {
                        readers::psi(*resource, text, stats);
                    }
                }
            }
            Group::Devfreq => readers::devfreq(root, stats),
            Group::Cpufreq => readers::cpufreq(root, stats),
            Group::Thermal => readers::thermal(root, stats),
            Group::Cpuidle => readers::cpuidle(root, stats),
            Group::Gpufreq => readers::gpufreq(root, stats),
        }
    }
}
