//! `linux.sys_stats`: counters of the whole machine.
//!
//! Each group of counters has a period of its own. Ticks come with the shortest; a group whose
//! period is `n` times that is read at every `n`th. All that is due at a tick goes into one packet.

mod files;
mod keys;

#[cfg(test)]
mod tests;

use std::time::Duration;

use protos::{DataSourceConfig, SysStatsConfig, SysStatsWriter};

pub(crate) use self::files::tick_ns;

use self::files::Stat;
use self::keys::Keys;
use crate::Root;
use crate::output::Output;
use crate::root::Reread;
use crate::source::Probe;

/// Shorter periods are raised to this.
const PERIOD_MS_MIN: u32 = 10;

/// What is read together. In the order in which it is written.
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

/// The groups to be read, with their periods: in ticks of the shortest.
#[derive(Debug, Default, PartialEq)]
struct Schedule {
    period_ms: u32,
    groups: Vec<(Group, u32)>,
}

impl Schedule {
    fn new(root: &Root, config: &SysStatsConfig) -> Self {
        let asked = [
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
        for (group, period_ms) in asked {
            let period_ms = match period_ms {
                None | Some(0) => continue,
                Some(ms) if ms < PERIOD_MS_MIN => {
                    root.complain(&format!(
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
            root.complain(&format!(
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

/// The files that are kept open.
#[derive(Debug)]
struct Files {
    meminfo: Option<Reread>,
    vmstat: Option<Reread>,
    stat: Option<Reread>,
    buddyinfo: Option<Reread>,
    diskstat: Option<Reread>,
    slab: Option<Reread>,
    psi: Vec<(files::PsiFile, Reread)>,
}

/// One instance.
#[derive(Debug)]
pub(crate) struct SysStatsProbe {
    root: Root,
    schedule: Schedule,
    keys: Keys,
    stat: Stat,
    files: Files,
    tick: u32,
    /// What was read last; kept for its memory.
    text: Vec<u8>,
}

impl Probe for SysStatsProbe {
    const NAME: &'static str = "linux.sys_stats";
    const HAS_INCREMENTAL_STATE: bool = false;

    fn new(root: &Root, config: &DataSourceConfig) -> Self {
        let config = config.sys_stats_config.clone().unwrap_or_default();
        let schedule = Schedule::new(root, &config);
        let open = |group, path| schedule.has(group).then(|| Reread::open(root, path));
        let files = Files {
            meminfo: open(Group::Meminfo, "proc/meminfo"),
            vmstat: open(Group::Vmstat, "proc/vmstat"),
            stat: open(Group::Stat, "proc/stat"),
            buddyinfo: open(Group::Buddyinfo, "proc/buddyinfo"),
            diskstat: open(Group::Diskstat, "proc/diskstats"),
            slab: open(Group::Slab, "proc/slabinfo"),
            psi: files::PSI
                .iter()
                .filter(|_| schedule.has(Group::Psi))
                .map(|file| (*file, Reread::open(root, file.path)))
                .collect(),
        };
        Self {
            root: root.clone(),
            schedule,
            keys: Keys::new(&config),
            stat: Stat::new(&config),
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
        let Self { root, keys, files, text, .. } = self;
        let mut reread = |file: &mut Option<Reread>, write: &mut dyn FnMut(&[u8])| {
            if let Some(text) = file.as_mut().and_then(|f| f.read(root, text)) {
                write(text);
            }
        };
        match group {
            Group::Meminfo => reread(&mut files.meminfo, &mut |t| keys.meminfo(t, stats)),
            Group::Vmstat => reread(&mut files.vmstat, &mut |t| keys.vmstat(t, stats)),
            Group::Stat => reread(&mut files.stat, &mut |t| self.stat.write(t, stats)),
            Group::Buddyinfo => reread(&mut files.buddyinfo, &mut |t| files::buddyinfo(t, stats)),
            Group::Diskstat => reread(&mut files.diskstat, &mut |t| files::diskstat(t, stats)),
            Group::Slab => reread(&mut files.slab, &mut |t| files::slab(t, stats)),
            Group::Psi => {
                for (resource, file) in &mut files.psi {
                    if let Some(text) = file.read(root, text) {
                        files::psi(*resource, text, stats);
                    }
                }
            }
            Group::Devfreq => files::devfreq(root, stats),
            Group::Cpufreq => files::cpufreq(root, stats),
            Group::Thermal => files::thermal(root, stats),
            Group::Cpuidle => files::cpuidle(root, stats),
            Group::Gpufreq => files::gpufreq(root, stats),
        }
    }
}
