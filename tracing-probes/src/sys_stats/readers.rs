//! A reader for each group of counters but memory.

use os::process::Machine;
use protos::{SysStatsConfig, SysStatsConfigStatCounters, SysStatsWriter};
use protos::{SysStatsPsiSamplePsiResource as Resource, SysStatsWriter as Stats};

use crate::Root;
use crate::limits::CPUS_MAX;
use crate::parse::{lines, number, signed, text, words};

/// Reads `/proc/stat`, and writes the parts that the config asks for.
#[derive(Debug)]
pub(super) struct StatReader {
    cpu_times: bool,
    interrupts: bool,
    softirqs: bool,
    forks: bool,
    tick_ns: u64,
}

impl StatReader {
    pub(super) fn new(config: &SysStatsConfig) -> Self {
        use SysStatsConfigStatCounters as Part;
        let wants = |part| config.stat_counters.is_empty() || config.stat_counters.contains(&part);
        Self {
            cpu_times: wants(Part::STAT_CPU_TIMES),
            interrupts: wants(Part::STAT_IRQ_COUNTS),
            softirqs: wants(Part::STAT_SOFTIRQ_COUNTS),
            forks: wants(Part::STAT_FORK_COUNT),
            tick_ns: tick_ns(),
        }
    }

    pub(super) fn write(&self, text: &[u8], stats: &mut SysStatsWriter<'_>) {
        for line in lines(text) {
            let mut words = words(line);
            let Some(name) = words.next() else { continue };
            let mut values = words.map(|word| number(word).unwrap_or(0));
            match name {
                b"intr" if self.interrupts => {
                    stats.num_irq_total(values.next().unwrap_or(0));
                    // There are hundreds, and nearly all of them stay at zero.
                    for (irq, count) in (0i32..).zip(values).filter(|(_, count)| *count > 0) {
                        stats.num_irq().irq(irq).count(count);
                    }
                }
                b"softirq" if self.softirqs => {
                    stats.num_softirq_total(values.next().unwrap_or(0));
                    for (irq, count) in (0i32..).zip(values) {
                        stats.num_softirq().irq(irq).count(count);
                    }
                }
                b"processes" if self.forks => {
                    stats.num_forks(values.next().unwrap_or(0));
                }
                _ if self.cpu_times => {
                    // "cpu" without a number is the sum of all.
                    let cpu = name.strip_prefix(b"cpu").and_then(number);
                    let Some(cpu) = cpu.and_then(|cpu| u32::try_from(cpu).ok()) else { continue };
                    let mut ns = || values.next().unwrap_or(0).saturating_mul(self.tick_ns);
                    let mut times = stats.cpu_stat();
                    times.cpu_id(cpu).user_ns(ns()).user_nice_ns(ns()).system_mode_ns(ns());
                    times.idle_ns(ns()).io_wait_ns(ns()).irq_ns(ns()).softirq_ns(ns());
                    times.steal_ns(ns());
                }
                _ => {}
            }
        }
    }
}

/// Length of a tick, the unit in which the kernel tells CPU time, ns.
pub(crate) fn tick_ns() -> u64 {
    1_000_000_000 / Machine::read().ticks_per_second.max(1)
}

/// `Node 0, zone   Normal  17482  45599 ...`
pub(super) fn buddyinfo(contents: &[u8], stats: &mut Stats<'_>) {
    for line in lines(contents) {
        let mut words = words(line);
        let (Some(b"Node"), Some(node), Some(b"zone"), Some(zone)) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            continue;
        };
        let mut info = stats.buddy_info();
        info.node(&text(node.strip_suffix(b",").unwrap_or(node))).zone(&text(zone));
        for pages in words.filter_map(number) {
            info.order_pages(u32::try_from(pages).unwrap_or(u32::MAX));
        }
    }
}

/// `254 0 vda 33217 2 2674698 10443 ...`: numbers, name, then counters of reads, writes, discards and
/// flushes. Older kernels have fewer.
pub(super) fn diskstat(contents: &[u8], stats: &mut Stats<'_>) {
    for line in lines(contents) {
        let row: Vec<&[u8]> = words(line).collect();
        let Some(name) = row.get(2) else { continue };
        let value = |column: usize| row.get(column).and_then(|word| number(word));
        let (Some(read), Some(read_ms), Some(written), Some(write_ms)) =
            (value(5), value(6), value(9), value(10))
        else {
            continue;
        };
        let mut disk = stats.disk_stat();
        disk.device_name(&text(name)).read_sectors(read).read_time_ms(read_ms);
        disk.write_sectors(written).write_time_ms(write_ms);
        if let (Some(sectors), Some(ms)) = (value(16), value(17)) {
            disk.discard_sectors(sectors).discard_time_ms(ms);
        }
        if let (Some(count), Some(ms)) = (value(18), value(19)) {
            disk.flush_count(count).flush_time_ms(ms);
        }
    }
}

/// A file of `/proc/pressure`.
#[derive(Clone, Copy, Debug)]
pub(super) struct PsiFile {
    pub(super) path: &'static str,
    some: Resource,
    full: Resource,
}

/// The paths of [`PSI`].
pub(super) const PSI_PATHS: [&str; 3] =
    ["proc/pressure/cpu", "proc/pressure/io", "proc/pressure/memory"];

pub(super) const PSI: [PsiFile; 3] = [
    PsiFile {
        path: PSI_PATHS[0],
        some: Resource::PSI_RESOURCE_CPU_SOME,
        full: Resource::PSI_RESOURCE_CPU_FULL,
    },
    PsiFile {
        path: PSI_PATHS[1],
        some: Resource::PSI_RESOURCE_IO_SOME,
        full: Resource::PSI_RESOURCE_IO_FULL,
    },
    PsiFile {
        path: PSI_PATHS[2],
        some: Resource::PSI_RESOURCE_MEMORY_SOME,
        full: Resource::PSI_RESOURCE_MEMORY_FULL,
    },
];

/// `some avg10=98.99 avg60=98.83 avg300=91.75 total=1247602353`, in us.
pub(super) fn psi(file: PsiFile, contents: &[u8], stats: &mut Stats<'_>) {
    for line in lines(contents) {
        let mut words = words(line);
        let resource = match words.next() {
            Some(b"some") => file.some,
            Some(b"full") => file.full,
            _ => continue,
        };
        let total = words.find_map(|word| word.strip_prefix(b"total="));
        if let Some(total_us) = total.and_then(number) {
            stats.psi().resource(resource).total_ns(total_us.saturating_mul(1000));
        }
    }
}

/// `kmalloc-64  19968 19968 64 64 1 : tunables 0 0 0 : slabdata 312 312 0`
pub(super) fn slab(contents: &[u8], stats: &mut Stats<'_>) {
    for line in lines(contents) {
        let row: Vec<&[u8]> = words(line).collect();
        let value = |column: usize| {
            let value = number(row.get(column)?)?;
            Some(u32::try_from(value).unwrap_or(u32::MAX))
        };
        // The two header lines have no numbers there.
        if let (Some(name), Some(pages), Some(slabs)) = (row.first(), value(5), value(14)) {
            stats.slab_info().name(&text(name)).pages_per_slab(pages).num_slabs(slabs);
        }
    }
}

/// Frequencies of devices, in the unit of their driver (mostly Hz).
pub(super) fn devfreq(root: &Root, stats: &mut Stats<'_>) {
    const DIR: &str = "sys/class/devfreq";
    let Some(mut names) = root.names(DIR) else {
        return root.warn("/sys/class/devfreq is left out: it cannot be read");
    };
    names.sort_unstable();
    for name in names {
        if let Some(value) = root.read_number(&format!("{DIR}/{name}/cur_freq")) {
            stats.devfreq().key(&name).value(value);
        }
    }
}

const CPUS: &str = "sys/devices/system/cpu";

/// Frequency of each CPU, kHz; 0 if it is offline, or is missing: readers count.
pub(super) fn cpufreq(root: &Root, stats: &mut Stats<'_>) {
    let cpus = root.numbers(CPUS, "cpu").unwrap_or_default();
    let end = cpus.last().map_or(0, |last| last.saturating_add(1)).min(CPUS_MAX);
    let khz = |cpu| root.read_number(&format!("{CPUS}/cpu{cpu}/cpufreq/scaling_cur_freq"));
    let values: Vec<Option<u64>> = (0..end).map(khz).collect();
    if values.iter().all(Option::is_none) {
        return root.warn("cpufreq is left out: no CPU tells its frequency");
    }
    for value in values {
        stats.cpufreq_khz(u32::try_from(value.unwrap_or(0)).unwrap_or(u32::MAX));
    }
}

/// Temperatures, whole degrees. The field is unsigned, so those below zero are left out.
pub(super) fn thermal(root: &Root, stats: &mut Stats<'_>) {
    const DIR: &str = "sys/class/thermal";
    for zone in root.numbers(DIR, "thermal_zone").unwrap_or_default() {
        let name = format!("thermal_zone{zone}");
        let millis = root.read_line(&format!("{DIR}/{name}/temp"));
        let millis = millis.and_then(|line| signed(line.trim().as_bytes()));
        let Some(Ok(millis)) = millis.map(u64::try_from) else { continue };
        let mut zone = stats.thermal_zone();
        zone.name(&name).temp(millis / 1000);
        if let Some(kind) = root.read_line(&format!("{DIR}/{name}/type")) {
            zone.r#type(&kind);
        }
    }
}

/// Time of each CPU in each of its idle states.
pub(super) fn cpuidle(root: &Root, stats: &mut Stats<'_>) {
    for cpu in root.numbers(CPUS, "cpu").unwrap_or_default() {
        let dir = format!("{CPUS}/cpu{cpu}/cpuidle");
        let states = root.numbers(&dir, "state").unwrap_or_default();
        if states.is_empty() {
            continue;
        }
        let mut entry = stats.cpuidle_state();
        entry.cpu_id(cpu);
        for state in states {
            let name = root.read_line(&format!("{dir}/state{state}/name"));
            let time_us = root.read_number(&format!("{dir}/state{state}/time"));
            if let (Some(name), Some(time_us)) = (name, time_us) {
                entry.cpuidle_state_entry().state(&name).duration_us(time_us);
            }
        }
    }
}

/// Frequency of the GPU, MHz, from the first driver that has one: Qualcomm's, Intel's, AMD's.
pub(super) fn gpufreq(root: &Root, stats: &mut Stats<'_>) {
    let kgsl = || {
        let hz = root.read_number("sys/class/kgsl/kgsl-3d0/devfreq/cur_freq")?;
        Some(hz / 1_000_000)
    };
    let i915 = || root.read_number("sys/class/drm/card0/gt_act_freq_mhz");
    let amd = || {
        // "1: 1000Mhz *": the star marks the current frequency.
        let lines = root.read_line("sys/class/drm/card0/device/pp_dpm_sclk")?;
        let line = lines.lines().find(|line| line.trim_end().ends_with('*'))?;
        let (_, value) = line.split_once(':')?;
        let digits = value.trim_start();
        let end = digits.find(|c: char| !c.is_ascii_digit())?;
        digits.get(..end)?.parse().ok()
    };
    match kgsl().or_else(i915).or_else(amd) {
        Some(mhz) => {
            stats.gpufreq_mhz(mhz);
        }
        None => root.warn("gpufreq is left out: no GPU tells its frequency"),
    }
}
