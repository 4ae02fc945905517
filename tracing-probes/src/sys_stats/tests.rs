use proptest::prelude::*;
use protos::{
    DataSourceConfig, MeminfoCounters, SysStats, SysStatsConfig, SysStatsConfigStatCounters,
    SysStatsPsiSamplePsiResource as Psi, TracePacketData, VmstatCounters,
};

use super::SysStatsProbe;
use crate::polled_files::PolledFiles;
use crate::probe::{Probe, Shared};
use crate::tests::{Alone, Packets, World};

fn probe(world: &World, config: SysStatsConfig) -> Alone<SysStatsProbe> {
    let config = DataSourceConfig { sys_stats_config: Some(config), ..Default::default() };
    Alone::<SysStatsProbe>::new(&world.root, &config)
}

fn tick(probe: &mut Alone<SysStatsProbe>) -> SysStats {
    let mut out = Packets::default();
    probe.tick(&mut out);
    let packet = out.one();
    assert_eq!(packet.timestamp, Some(1000));
    match packet.data {
        Some(TracePacketData::SysStats(stats)) => {
            assert_eq!(stats.collection_end_timestamp, Some(1000));
            stats
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn meminfo_and_vmstat() {
    let world = World::new();
    world
        .put(
            "proc/meminfo",
            "MemTotal:  24684112 kB\nOdd: 1 kB\nActive(anon):  7 kB\nDirty: x kB\n",
        )
        .put("proc/vmstat", "nr_free_pages 12\nnr_inventions 3\npgfault 18446744073709551615\n\n");
    let all = SysStatsConfig {
        meminfo_period_ms: Some(100),
        vmstat_period_ms: Some(100),
        ..Default::default()
    };
    let stats = tick(&mut probe(&world, all.clone()));
    let rows: Vec<_> = stats.meminfo.iter().map(|m| (m.key.unwrap(), m.value.unwrap())).collect();
    assert_eq!(
        rows,
        [(MeminfoCounters::MEMINFO_MEM_TOTAL, 24684112), (MeminfoCounters::MEMINFO_ACTIVE_ANON, 7),]
    );
    let rows: Vec<_> = stats.vmstat.iter().map(|m| (m.key.unwrap(), m.value.unwrap())).collect();
    assert_eq!(
        rows,
        [(VmstatCounters::VMSTAT_NR_FREE_PAGES, 12), (VmstatCounters::VMSTAT_PGFAULT, u64::MAX),]
    );
    let some = SysStatsConfig {
        meminfo_counters: vec![MeminfoCounters::MEMINFO_ACTIVE_ANON],
        vmstat_counters: vec![VmstatCounters::VMSTAT_PGFAULT],
        ..all
    };
    let stats = tick(&mut probe(&world, some));
    assert_eq!((stats.meminfo.len(), stats.vmstat.len()), (1, 1));
}

const STAT: &str = "cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 1 2 3 4 5 6 7 8 0 0\ncpu1 10\n\
    intr 100 0 5 0 7\nctxt 5\nbtime 1\nprocesses 77\nprocs_running 2\nsoftirq 50 0 20 30\n";

#[test]
fn stat() {
    let world = World::new();
    world.put("proc/stat", STAT);
    let config = SysStatsConfig { stat_period_ms: Some(10), ..Default::default() };
    let stats = tick(&mut probe(&world, config.clone()));
    let ns = super::tick_ns();
    assert_eq!(stats.cpu_stat.len(), 2);
    let cpu = &stats.cpu_stat[0];
    assert_eq!(cpu.cpu_id, Some(0));
    assert_eq!(
        (cpu.user_ns, cpu.user_nice_ns, cpu.system_mode_ns),
        (Some(ns), Some(2 * ns), Some(3 * ns))
    );
    assert_eq!(
        (cpu.idle_ns, cpu.io_wait_ns, cpu.irq_ns),
        (Some(4 * ns), Some(5 * ns), Some(6 * ns))
    );
    assert_eq!((cpu.softirq_ns, cpu.steal_ns), (Some(7 * ns), Some(8 * ns)));
    assert_eq!(stats.cpu_stat[1].idle_ns, Some(0));
    let irqs: Vec<_> = stats.num_irq.iter().map(|i| (i.irq.unwrap(), i.count.unwrap())).collect();
    assert_eq!((stats.num_irq_total, &irqs[..]), (Some(100), &[(1, 5), (3, 7)][..]));
    let irqs: Vec<_> =
        stats.num_softirq.iter().map(|i| (i.irq.unwrap(), i.count.unwrap())).collect();
    assert_eq!((stats.num_softirq_total, &irqs[..]), (Some(50), &[(0, 0), (1, 20), (2, 30)][..]));
    assert_eq!(stats.num_forks, Some(77));
    let forks = SysStatsConfig {
        stat_counters: vec![SysStatsConfigStatCounters::STAT_FORK_COUNT],
        ..config
    };
    let stats = tick(&mut probe(&world, forks));
    assert_eq!((stats.cpu_stat.len(), stats.num_irq_total, stats.num_forks), (0, None, Some(77)));
}

#[test]
fn the_rest_of_proc() {
    let world = World::new();
    world
        .put("proc/buddyinfo", "Node 0, zone      DMA      0      1 3\nNode 1, zone Normal 4\nbad\n")
        .put("proc/diskstats", " 254 0 vda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n 7 0 old 1 2 3 4 5 6 7 8 9 10 11\n 1 1 x\n")
        .put("proc/slabinfo", "slabinfo - version: 2.1\n# name <active_objs>\n\
              kmalloc-64  19968 19968 64 64 1 : tunables 0 0 0 : slabdata 312 313 0\n")
        .put("proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=123\n")
        .put("proc/pressure/memory", "some avg10=0.00 total=1\nfull avg10=0.00 total=2\nodd total=3\n");
    let config = SysStatsConfig {
        buddyinfo_period_ms: Some(100),
        diskstat_period_ms: Some(100),
        slab_period_ms: Some(100),
        psi_period_ms: Some(100),
        ..Default::default()
    };
    let mut probe = probe(&world, config);
    let stats = tick(&mut probe);
    let buddy = &stats.buddy_info[0];
    assert_eq!((buddy.node.as_deref(), buddy.zone.as_deref()), (Some("0"), Some("DMA")));
    assert_eq!((&buddy.order_pages[..], stats.buddy_info.len()), (&[0, 1, 3][..], 2));
    let [new, old] = &stats.disk_stat[..] else { panic!("{stats:?}") };
    assert_eq!(
        (new.read_sectors, new.read_time_ms, new.write_sectors, new.write_time_ms),
        (Some(3), Some(4), Some(7), Some(8))
    );
    assert_eq!(
        (new.discard_sectors, new.discard_time_ms, new.flush_count, new.flush_time_ms),
        (Some(14), Some(15), Some(16), Some(17))
    );
    assert_eq!((old.device_name.as_deref(), old.discard_sectors), (Some("old"), None));
    let slab = &stats.slab_info[0];
    assert_eq!(
        (slab.name.as_deref(), slab.pages_per_slab, slab.num_slabs),
        (Some("kmalloc-64"), Some(1), Some(313))
    );
    let psi: Vec<_> =
        stats.psi.iter().map(|p| (p.resource.unwrap(), p.total_ns.unwrap())).collect();
    assert_eq!(
        psi,
        [
            (Psi::PSI_RESOURCE_CPU_SOME, 123_000),
            (Psi::PSI_RESOURCE_MEMORY_SOME, 1000),
            (Psi::PSI_RESOURCE_MEMORY_FULL, 2000),
        ]
    );
    // io is missing, which is logged once.
    assert_eq!(world.log().len(), 1);
    tick(&mut probe);
    assert_eq!(world.log().len(), 0);
}

#[test]
fn sysfs() {
    let world = World::new();
    const CPU: &str = "sys/devices/system/cpu";
    world
        .put(&format!("{CPU}/cpu0/cpufreq/scaling_cur_freq"), "1800000\n")
        .put(&format!("{CPU}/cpu1/online"), "0\n")
        .put(&format!("{CPU}/cpu4/cpufreq/scaling_cur_freq"), "900000\n")
        .put(&format!("{CPU}/cpu0/cpuidle/state0/name"), "POLL\n")
        .put(&format!("{CPU}/cpu0/cpuidle/state0/time"), "17\n")
        .put(&format!("{CPU}/cpu0/cpuidle/state1/name"), "C1\n")
        .put("sys/class/thermal/thermal_zone0/temp", "42999\n")
        .put("sys/class/thermal/thermal_zone0/type", "x86_pkg_temp\n")
        .put("sys/class/thermal/thermal_zone1/temp", "-5000\n")
        .put("sys/class/devfreq/ufs/cur_freq", "300000000\n")
        .put("sys/class/drm/card0/device/pp_dpm_sclk", "0: 300Mhz\n1: 1000Mhz *\n");
    let config = SysStatsConfig {
        cpufreq_period_ms: Some(100),
        cpuidle_period_ms: Some(100),
        thermal_period_ms: Some(100),
        devfreq_period_ms: Some(100),
        gpufreq_period_ms: Some(100),
        ..Default::default()
    };
    let mut probe = probe(&world, config);
    let stats = tick(&mut probe);
    // Readers count them: 1 is off, 2 and 3 are missing.
    assert_eq!(stats.cpufreq_khz, [1_800_000, 0, 0, 0, 900_000]);
    assert_eq!(stats.cpuidle_state.len(), 1);
    let states = &stats.cpuidle_state[0].cpuidle_state_entry;
    assert_eq!(states.len(), 1);
    assert_eq!((states[0].state.as_deref(), states[0].duration_us), (Some("POLL"), Some(17)));
    assert_eq!(stats.thermal_zone.len(), 1);
    assert_eq!(
        (stats.thermal_zone[0].temp, stats.thermal_zone[0].r#type.as_deref()),
        (Some(42), Some("x86_pkg_temp"))
    );
    assert_eq!(
        (stats.devfreq[0].key.as_deref(), stats.devfreq[0].value),
        (Some("ufs"), Some(300_000_000))
    );
    assert_eq!(stats.gpufreq_mhz, [1000]);
    world.put("sys/class/drm/card0/gt_act_freq_mhz", "450\n");
    assert_eq!(tick(&mut probe).gpufreq_mhz, [450]);
    world.put("sys/class/kgsl/kgsl-3d0/devfreq/cur_freq", "500000000\n");
    assert_eq!(tick(&mut probe).gpufreq_mhz, [500]);
    assert_eq!(world.log(), [""; 0]);
}

#[test]
fn periods_are_multiples_of_the_shortest_or_nothing_is_read() {
    let world = World::new();
    world.put("proc/meminfo", "MemTotal: 1 kB\n").put("proc/stat", STAT);
    let config = |mem, stat| SysStatsConfig {
        meminfo_period_ms: Some(mem),
        stat_period_ms: Some(stat),
        ..Default::default()
    };
    let check = |config: SysStatsConfig| {
        let sys_stats_config = Some(config);
        SysStatsProbe::check(&DataSourceConfig { sys_stats_config, ..Default::default() })
    };
    let why = check(config(1000, 1500)).unwrap_err();
    assert_eq!(why, "the period of Stat, 1500 ms, is no multiple of the shortest, 1000 ms");
    // Both are raised to the shortest period.
    assert_eq!(check(config(3, 7)), Ok(()));
    assert_eq!(check(config(300, 100)), Ok(()));
    let mut three = probe(&world, config(300, 100));
    assert_eq!(three.period().unwrap().as_millis(), 100);
    let groups: Vec<_> = (0..4)
        .map(|_| {
            let stats = tick(&mut three);
            (!stats.meminfo.is_empty(), stats.num_forks.is_some())
        })
        .collect();
    assert_eq!(groups, [(true, true), (false, true), (false, true), (true, true)]);
    assert_eq!(probe(&world, config(1, 0)).period().unwrap().as_millis(), 10);
    assert_eq!(world.log().len(), 1);
    assert_eq!(probe(&world, SysStatsConfig::default()).period(), None);
}

#[test]
fn files_are_read_anew_at_each_tick_whatever_their_length() {
    let world = World::new();
    world.put("proc/meminfo", "MemTotal: 1 kB\n");
    let config = SysStatsConfig { meminfo_period_ms: Some(100), ..Default::default() };
    let mut probe = probe(&world, config);
    assert_eq!(tick(&mut probe).meminfo[0].value, Some(1));
    let long = format!("{}MemFree: 2 kB\n", "Odd: 1 kB\n".repeat(20_000));
    world.put("proc/meminfo", long);
    assert_eq!(tick(&mut probe).meminfo[0].value, Some(2));
    world.put("proc/meminfo", "");
    assert_eq!(tick(&mut probe).meminfo, []);
}

/// One read for all that tick at the same time, with the time before it; files that are open once for all.
#[test]
fn instances_share_what_is_read() {
    let world = World::new();
    world.put("proc/meminfo", "MemTotal: 1 kB\n");
    let mut files = PolledFiles::new(&world.root);
    let sys_stats = SysStatsConfig { meminfo_period_ms: Some(100), ..Default::default() };
    let config = DataSourceConfig { sys_stats_config: Some(sys_stats), ..Default::default() };
    let mut probes = [(); 2].map(|()| SysStatsProbe::new(&mut files, &config));
    let mut tick = |at: usize, files: &mut PolledFiles| {
        let mut out = Packets::default();
        probes[at].tick(files, &mut out);
        match out.one().data {
            Some(TracePacketData::SysStats(stats)) => stats.meminfo[0].value,
            other => panic!("{other:?}"),
        }
    };
    files.begin_batch();
    assert_eq!(files.begin_ns(|| 5), 5);
    assert_eq!(tick(0, &mut files), Some(1));
    world.put("proc/meminfo", "MemTotal: 2 kB\n");
    assert_eq!((tick(1, &mut files), files.begin_ns(|| 6)), (Some(1), 5));
    files.begin_batch();
    assert_eq!((tick(1, &mut files), files.begin_ns(|| 6)), (Some(2), 1000));
    assert_eq!(tick(0, &mut files), Some(2));
    assert_eq!(files.open_count(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Any content of the files gives well-formed packets: others would not decode.
    #[test]
    fn hostile_files(
        words in proptest::collection::vec(
            prop_oneof![
                Just("cpu0".to_owned()), Just("intr".to_owned()), Just("Node".to_owned()),
                Just("zone".to_owned()), Just("some".to_owned()), Just("total=".to_owned()),
                Just("99999999999999999999".to_owned()), Just("\n".to_owned()),
                Just("18446744073709551615".to_owned()), ".{0,3}", "[0-9]{1,3}",
            ],
            0..200,
        ),
    ) {
        let world = World::new();
        let text = words.join(" ");
        for file in ["meminfo", "vmstat", "stat", "buddyinfo", "diskstats", "slabinfo", "pressure/cpu"] {
            world.put(&format!("proc/{file}"), &text);
        }
        let period = Some(100);
        tick(&mut probe(&world, SysStatsConfig {
            meminfo_period_ms: period,
            vmstat_period_ms: period,
            stat_period_ms: period,
            buddyinfo_period_ms: period,
            diskstat_period_ms: period,
            slab_period_ms: period,
            psi_period_ms: period,
            ..Default::default()
        }));
    }
}
