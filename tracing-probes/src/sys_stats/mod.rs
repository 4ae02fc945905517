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
use crate::limits::SYS_STATS_PERIOD_MS_MIN;
use crate::output::Output;
use crate::polled_files::PolledFiles;
use crate::probe::Probe;

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
    /// # Errors
    /// Why nothing can be recorded.
    fn new(config: &SysStatsConfig) -> Result<Self, String> {
        let mut groups: Vec<_> = configured(config).collect();
        groups.iter_mut().for_each(|(_, ms)| *ms = (*ms).max(SYS_STATS_PERIOD_MS_MIN));
        let Some(shortest) = groups.iter().map(|(_, ms)| *ms).min() else {
            return Ok(Self::default());
        };
        if let Some((group, ms)) = groups.iter().find(|(_, ms)| ms % shortest != 0) {
            return Err(format!(
                "the period of {group:?}, {ms} ms, is no multiple of the shortest, {shortest} ms"
            ));
        }
        groups.iter_mut().for_each(|(_, ms)| *ms /= shortest);
        Ok(Self { period_ms: shortest, groups })
    }
}

/// The groups that a config asks for, with their periods, ms.
fn configured(config: &SysStatsConfig) -> impl Iterator<Item = (Group, u32)> {
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
    let asked = |(group, period_ms): (Group, Option<u32>)| Some((group, period_ms?));
    configured.into_iter().filter_map(asked).filter(|(_, period_ms)| *period_ms != 0)
}

impl Group {
    /// The files that it reads and that stay open.
    fn polled_files(self) -> &'static [&'static str] {
        match self {
            Self::Meminfo => &[MEMINFO],
            Self::Vmstat => &[VMSTAT],
            Self::Stat => &[STAT],
            Self::Buddyinfo => &[BUDDYINFO],
            Self::Diskstat => &[DISKSTATS],
            Self::Slab => &[SLABINFO],
            Self::Psi => &PSI_PATHS,
            Self::Devfreq | Self::Cpufreq | Self::Thermal | Self::Cpuidle | Self::Gpufreq => &[],
        }
    }
}

const MEMINFO: &str = "proc/meminfo";
const VMSTAT: &str = "proc/vmstat";
const STAT: &str = "proc/stat";
const BUDDYINFO: &str = "proc/buddyinfo";
const DISKSTATS: &str = "proc/diskstats";
const SLABINFO: &str = "proc/slabinfo";
const PSI_PATHS: [&str; 3] = readers::PSI_PATHS;

/// One instance.
#[derive(Debug)]
pub(crate) struct SysStatsProbe {
    schedule: Schedule,
    memory: MemoryCounters,
    stat: StatReader,
    tick: u32,
}

impl Probe for SysStatsProbe {
    const NAME: &'static str = "linux.sys_stats";
    const HAS_INCREMENTAL_STATE: bool = false;

    type Shared = PolledFiles;

    fn check(config: &DataSourceConfig) -> Result<(), String> {
        config.sys_stats_config.as_ref().map_or(Ok(()), |config| Schedule::new(config).map(drop))
    }

    fn new(files: &mut PolledFiles, config: &DataSourceConfig) -> Self {
        let config = config.sys_stats_config.clone().unwrap_or_default();
        for (group, ms) in configured(&config).filter(|(_, ms)| *ms < SYS_STATS_PERIOD_MS_MIN) {
            files.root().warn(&format!(
                "sys_stats: a period of {ms} ms for {group:?} is raised to {SYS_STATS_PERIOD_MS_MIN} ms"
            ));
        }
        // What `check` refuses does not come here.
        let schedule = Schedule::new(&config).unwrap_or_default();
        for (group, _) in &schedule.groups {
            group.polled_files().iter().for_each(|path| files.open(path));
        }
        Self {
            schedule,
            memory: MemoryCounters::new(&config),
            stat: StatReader::new(&config),
            tick: 0,
        }
    }

    fn start(&mut self, _: &mut PolledFiles, _: &mut dyn Output) {}

    fn period(&self) -> Option<Duration> {
        let period_ms = self.schedule.period_ms;
        (period_ms > 0).then(|| Duration::from_millis(period_ms.into()))
    }

    fn tick(&mut self, files: &mut PolledFiles, out: &mut dyn Output) {
        let due: Vec<Group> = self
            .schedule
            .groups
            .iter()
            .filter(|(_, every)| self.tick.is_multiple_of(*every))
            .map(|(group, _)| *group)
            .collect();
        self.tick = self.tick.wrapping_add(1);
        let clock = out.clock();
        let begin_ns = files.begin_ns(clock);
        out.packet(&mut |packet| {
            packet.timestamp(begin_ns);
            let mut stats = packet.sys_stats();
            for group in &due {
                self.write(*group, files, &mut stats);
            }
            stats.collection_end_timestamp(clock());
        });
    }
}

impl SysStatsProbe {
    fn write(&self, group: Group, files: &mut PolledFiles, stats: &mut SysStatsWriter<'_>) {
        let Self { memory, stat, .. } = self;
        let mut reread = |path: &str, write: &mut dyn FnMut(&[u8])| {
            if let Some(text) = files.read(path) {
                write(text);
            }
        };
        match group {
            Group::Meminfo => reread(MEMINFO, &mut |t| memory.meminfo(t, stats)),
            Group::Vmstat => reread(VMSTAT, &mut |t| memory.vmstat(t, stats)),
            Group::Stat => reread(STAT, &mut |t| stat.write(t, stats)),
            Group::Buddyinfo => reread(BUDDYINFO, &mut |t| readers::buddyinfo(t, stats)),
            Group::Diskstat => reread(DISKSTATS, &mut |t| readers::diskstat(t, stats)),
            Group::Slab => reread(SLABINFO, &mut |t| readers::slab(t, stats)),
            Group::Psi => {
                for file in readers::PSI {
                    reread(file.path, &mut |t| readers::psi(file, t, stats));
                }
            }
            Group::Devfreq => readers::devfreq(files.root(), stats),
            Group::Cpufreq => readers::cpufreq(files.root(), stats),
            Group::Thermal => readers::thermal(files.root(), stats),
            Group::Cpuidle => readers::cpuidle(files.root(), stats),
            Group::Gpufreq => readers::gpufreq(files.root(), stats),
        }
    }
}
