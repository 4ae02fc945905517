use protos::{
    DataSourceConfig, ProcessStats, ProcessStatsConfig, ProcessStatsConfigQuirks,
    ProcessStatsProcess, ProcessTree,
};

use protozero::Message as _;

use super::ProcessStatsProbe;
use super::counters::{Changes, LastValues};
use super::status::{Stat, Status};
use crate::facts::Facts;
use crate::limits::{
    CMDLINE_BYTES_MAX, FDS_PER_PROCESS_MAX, FILE_ENTRY_BYTES, FILES_BYTES_PER_INSTANCE_MAX,
    KNOWN_THREADS_MAX, STATS_PACKET_BYTES, THREADS_PER_TREE_MAX,
};
use crate::probe::Probe;
use crate::tests::{Alone, Packets, World};

const STATUS: &str = "Name:\tser ver\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t42\nPid:\t42\n\
    PPid:\t1\nUid:\t1000\t1001\t1002\t1003\nNSpid:\t42\t7\t1\nKthread:\t0\nVmPeak:\t    9999 kB\n\
    VmSize:\t    3968 kB\nVmLck:\t       0 kB\nVmHWM:\t    1664 kB\nVmRSS:\t    1500 kB\n\
    RssAnon:\t     112 kB\nRssFile:\t    1380 kB\nRssShmem:\t       8 kB\nVmSwap:\t       4 kB\n";
const KERNEL_STATUS: &str = "Name:\tkthreadd\nPPid:\t0\nUid:\t0\t0\t0\t0\nKthread:\t1\n";

fn world() -> World {
    let world = World::new();
    world
        .put("proc/42/status", STATUS)
        .put("proc/42/cmdline", "/bin/server\0--port\080\0\0x\0")
        .put("proc/42/stat", "42 (ser ver) 1)) S 1 42 42 0 -1 4194560 1 2 3 4 150 50 0 0 20 0 2 0 777 1 2")
        .put("proc/42/oom_score_adj", "-500\n")
        .put("proc/42/smaps_rollup", "5608-7ffd ---p 0 00:00 0 [rollup]\nRss: 1696 kB\nPss: 221 kB\n\
             Pss_Dirty: 112 kB\nPss_Anon: 112 kB\nPss_File: 100 kB\nPss_Shmem: 9 kB\nSwapPss: 3 kB\n")
        .put("proc/42/task/42/status", STATUS)
        .put("proc/42/task/43/status", "Name:\tworker\nNSpid:\t43\t8\t2\n")
        .put("proc/2/status", KERNEL_STATUS)
        .put("proc/2/cmdline", "")
        .put("proc/2/task/2/status", KERNEL_STATUS)
        .put("proc/uptime", "1 1")
        .put("proc/self/status", STATUS);
    world
}

fn probe(world: &World, config: ProcessStatsConfig) -> Alone<ProcessStatsProbe> {
    let config = DataSourceConfig { process_stats_config: Some(config), ..Default::default() };
    Alone::<ProcessStatsProbe>::new(&world.root, &config)
}

fn tree(packet: protos::TracePacket) -> ProcessTree {
    match packet.data {
        Some(protos::TracePacketData::ProcessTree(tree)) => tree,
        other => panic!("no tree: {other:?}"),
    }
}

fn stats(packet: protos::TracePacket) -> ProcessStats {
    match packet.data {
        Some(protos::TracePacketData::ProcessStats(stats)) => stats,
        other => panic!("no stats: {other:?}"),
    }
}

/// Threads of the kernel have CPU times, and so a name, also those that the scan did not see.
#[test]
fn threads_of_the_kernel_with_cpu_times_are_described() {
    let world = world();
    world.put("proc/2/stat", "2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 3 4 0 0 20 0 1 0 5 0 0");
    let mut probe = probe(
        &world,
        ProcessStatsConfig {
            proc_stats_poll_ms: Some(1000),
            record_process_runtime: Some(true),
            ..Default::default()
        },
    );
    let mut out = Packets::default();
    probe.tick(&mut out);
    let mut packets = out.take();
    let measured: Vec<_> = stats(packets.remove(1)).processes.iter().map(|p| p.pid).collect();
    assert_eq!(measured, [Some(2), Some(42)]);
    let described = tree(packets.remove(0)).processes;
    let pids: Vec<_> = described.iter().map(|process| process.pid).collect();
    assert_eq!(pids, measured);
    assert_eq!(described[0].cmdline, ["kthreadd"]);
    // Once is enough.
    world.put("proc/2/stat", "2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 3 5 0 0 20 0 1 0 5 0 0");
    probe.tick(&mut out);
    assert_eq!(stats(out.one()).processes.len(), 1);
}

#[test]
fn status_with_an_odd_name() {
    let status = Status::parse(
        b"Name:\ta\\nb: c)\xff\nUid:\t4294967295\t0\nPPid: x\nNSpid:\t5\nVmSize: y kB\n",
    );
    assert_eq!(status.name, b"a\\nb: c)\xff");
    assert_eq!((status.uid, status.ppid), (-1, 0));
    assert_eq!(status.inner_pids, []);
    assert_eq!(status.memory.first(), Some(&None));
    assert_eq!(Status::parse(b""), Status { memory: vec![None; 8], ..Status::default() });
}

#[test]
fn stat_with_a_hostile_name() {
    let text = b"1 () 1 2 3) S 1 4 5 6 7 8 9 10 11 12 13 14 0 0 0 0 0 0 99 0";
    let stat = Stat { user_ticks: 13, kernel_ticks: 14, start_ticks: 99 };
    assert_eq!(Stat::parse(text), Some(stat));
    assert_eq!(Stat::parse(b"1 (x) S 1 2"), None);
    assert_eq!(Stat::parse(b"1 x S 1 2"), None);
    assert_eq!(Stat::parse(b")"), None);
}

#[test]
fn describes_all_processes_once() {
    let world = world();
    let mut out = Packets::default();
    let mut probe = probe(
        &world,
        ProcessStatsConfig {
            scan_all_processes_on_start: Some(true),
            record_thread_names: Some(true),
            record_process_age: Some(true),
            ..Default::default()
        },
    );
    assert_eq!(probe.period(), None);
    probe.start(&mut out);
    let packet = out.one();
    assert_eq!((packet.timestamp, packet.incremental_state_cleared), (Some(1000), Some(true)));
    let tree = tree(packet);
    assert_eq!(tree.collection_end_timestamp, Some(1000));
    let [kernel, server] = &tree.processes[..] else { panic!("{tree:?}") };
    assert_eq!((kernel.pid, kernel.is_kthread), (Some(2), Some(true)));
    assert_eq!(
        (&kernel.cmdline[..], kernel.cmdline_is_comm),
        (&["kthreadd".to_owned()][..], Some(true))
    );
    assert_eq!((server.pid, server.ppid, server.uid), (Some(42), Some(1), Some(1000)));
    assert_eq!(server.cmdline, ["/bin/server", "--port", "80", "", "x"]);
    assert_eq!(server.cmdline_is_comm, None);
    assert_eq!(server.nspid, [7, 1]);
    assert_eq!(server.process_start_from_boot, Some(777 * super::tick_ns()));
    let threads: Vec<_> =
        tree.threads.iter().map(|t| (t.tid.unwrap(), t.name.as_deref())).collect();
    assert_eq!(threads, [(2, Some("kthreadd")), (42, Some("ser ver")), (43, Some("worker"))]);
    assert_eq!(tree.threads[2].nstid, [8, 2]);
}

/// A program that writes a title over its arguments leaves zeros behind it.
#[test]
fn zeros_behind_arguments_are_none() {
    let world = world();
    let mut out = Packets::default();
    let config =
        ProcessStatsConfig { scan_all_processes_on_start: Some(true), ..Default::default() };
    for (cmdline, want, is_comm) in [
        ("nginx: master process\0\0\0\0\0", &["nginx: master process"][..], None),
        ("a\0\0b\0\0", &["a", "", "b"], None),
        ("title without an end", &["title without an end"], None),
        ("\0\0\0", &["ser ver"], Some(true)),
    ] {
        world.put("proc/42/cmdline", cmdline);
        probe(&world, config.clone()).start(&mut out);
        let server = &tree(out.one()).processes[1];
        assert_eq!((&server.cmdline[..], server.cmdline_is_comm), (&to_strings(want)[..], is_comm));
    }
}

#[test]
fn long_arguments_are_cut() {
    let world = world();
    let mut out = Packets::default();
    let config =
        ProcessStatsConfig { scan_all_processes_on_start: Some(true), ..Default::default() };
    world.put("proc/42/cmdline", "x".repeat(CMDLINE_BYTES_MAX + 1));
    probe(&world, config).start(&mut out);
    let lens: Vec<_> = tree(out.one()).processes[1].cmdline.iter().map(String::len).collect();
    assert_eq!(lens, [CMDLINE_BYTES_MAX]);
}

fn to_strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn threads_without_names_and_main_threads_on_request() {
    let world = world();
    let mut out = Packets::default();
    let config = ProcessStatsConfig {
        scan_all_processes_on_start: Some(true),
        skip_main_thread_message: Some(true),
        ..Default::default()
    };
    probe(&world, config).start(&mut out);
    let threads = tree(out.one()).threads;
    assert_eq!(threads.len(), 1);
    assert_eq!((threads[0].tid, threads[0].tgid, &threads[0].name), (Some(43), Some(42), &None));
}

#[test]
fn no_scan_unless_asked_for() {
    let world = world();
    let mut out = Packets::default();
    probe(&world, ProcessStatsConfig::default()).start(&mut out);
    let quirk = ProcessStatsConfig {
        quirks: vec![ProcessStatsConfigQuirks::DISABLE_INITIAL_DUMP],
        scan_all_processes_on_start: Some(true),
        ..Default::default()
    };
    probe(&world, quirk).start(&mut out);
    assert_eq!(out.0, []);
}

#[test]
fn only_what_changed() {
    let world = world();
    let mut out = Packets::default();
    let mut probe = probe(
        &world,
        ProcessStatsConfig {
            proc_stats_poll_ms: Some(1),
            proc_stats_cache_ttl_ms: Some(399),
            record_process_runtime: Some(true),
            scan_smaps_rollup: Some(true),
            ..Default::default()
        },
    );
    assert_eq!(probe.period().unwrap().as_millis(), 100);
    assert_eq!(world.log().len(), 1);

    probe.tick(&mut out);
    let mut packets = out.take();
    assert_eq!(packets.len(), 2);
    let all = stats(packets.remove(1));
    assert_eq!(tree(packets.remove(0)).processes.len(), 1, "the kernel's have no counters");
    let ns = super::tick_ns();
    let expected = ProcessStatsProcess {
        pid: Some(42),
        vm_size_kb: Some(3968),
        vm_locked_kb: Some(0),
        vm_hwm_kb: Some(1664),
        vm_rss_kb: Some(1500),
        rss_anon_kb: Some(112),
        rss_file_kb: Some(1380),
        rss_shmem_kb: Some(8),
        vm_swap_kb: Some(4),
        oom_score_adj: Some(-500),
        smr_rss_kb: Some(1696),
        smr_pss_kb: Some(221),
        smr_pss_anon_kb: Some(112),
        smr_pss_file_kb: Some(100),
        smr_pss_shmem_kb: Some(9),
        smr_swap_pss_kb: Some(3),
        ..Default::default()
    };
    assert_eq!(all.processes[0].runtime_user_mode.map(|v| v / ns), Some(150));
    assert_eq!(all.processes[0].runtime_kernel_mode.map(|v| v / ns), Some(50));
    let without_runtime = ProcessStatsProcess {
        runtime_user_mode: None,
        runtime_kernel_mode: None,
        ..all.processes[0].clone()
    };
    assert_eq!(without_runtime, expected);

    // Nothing changed: no packet at all.
    probe.tick(&mut out);
    assert_eq!(out.take(), []);

    // The third tick is the last of the cache's time.
    world.put("proc/42/status", STATUS.replace("1500", "1501"));
    probe.tick(&mut out);
    let one = stats(out.one());
    let only = ProcessStatsProcess { pid: Some(42), vm_rss_kb: Some(1501), ..Default::default() };
    assert_eq!(one.processes, [only]);
    probe.tick(&mut out);
    assert_eq!(stats(out.one()).processes[0].vm_size_kb, Some(3968));
}

#[test]
fn a_number_that_comes_again_is_described_again() {
    let world = world();
    let mut out = Packets::default();
    let config = ProcessStatsConfig { proc_stats_poll_ms: Some(100), ..Default::default() };
    let mut probe = probe(&world, config);
    probe.tick(&mut out);
    out.take();
    world.remove("proc/42");
    probe.tick(&mut out);
    assert_eq!(out.take(), []);
    world.put("proc/42/status", STATUS.replace("ser ver", "other"));
    probe.tick(&mut out);
    let first = tree(out.take().remove(0));
    assert_eq!(first.processes[0].cmdline, ["other"]);
}

#[test]
fn clearing_tells_everything_again() {
    let world = world();
    let mut out = Packets::default();
    let config = ProcessStatsConfig {
        scan_all_processes_on_start: Some(true),
        proc_stats_poll_ms: Some(100),
        ..Default::default()
    };
    let mut probe = probe(&world, config);
    probe.start(&mut out);
    probe.tick(&mut out);
    let packets = out.take();
    let cleared: Vec<_> = packets.iter().map(|p| p.incremental_state_cleared).collect();
    assert_eq!(cleared, [Some(true), None]);
    probe.clear_incremental_state(&mut out);
    assert_eq!(out.one().incremental_state_cleared, Some(true));
    probe.tick(&mut out);
    assert_eq!(stats(out.one()).processes[0].vm_size_kb, Some(3968));
}

#[test]
fn further_open_files_of_a_process_are_left_out() {
    let world = world();
    let fds = world.dir.path().join("proc/42/fd");
    std::fs::create_dir_all(&fds).unwrap();
    let last = FDS_PER_PROCESS_MAX as u32 - 1;
    // Those before were closed meanwhile.
    for fd in [last, last + 1] {
        std::os::unix::fs::symlink("/dev/null", fds.join(fd.to_string())).unwrap();
    }
    let mut probe = probe(&world, ProcessStatsConfig::default());
    let (listed, mut changes): (Vec<u32>, _) = ((0..=last + 1).collect(), Changes::default());
    probe.probe().files(42, &listed, &mut LastValues::default(), &mut changes);
    let mut out = Packets::default();
    probe.probe().write_changes(5, &[(42, changes)], &mut out);
    let recorded: Vec<_> = stats(out.one()).processes[0].fds.iter().map(|file| file.fd).collect();
    assert_eq!(recorded, [Some(last.into())]);
}

#[test]
fn open_files() {
    let world = world();
    let fds = world.dir.path().join("proc/42/fd");
    std::fs::create_dir_all(&fds).unwrap();
    std::os::unix::fs::symlink("/dev/null", fds.join("0")).unwrap();
    std::os::unix::fs::symlink("socket:[1]", fds.join("3")).unwrap();
    let mut out = Packets::default();
    let config = ProcessStatsConfig {
        proc_stats_poll_ms: Some(100),
        resolve_process_fds: Some(true),
        ..Default::default()
    };
    let mut probe = probe(&world, config);
    probe.tick(&mut out);
    let all = stats(out.take().remove(1));
    let files: Vec<_> =
        all.processes[0].fds.iter().map(|f| (f.fd.unwrap(), f.path.clone().unwrap())).collect();
    assert_eq!(files, [(0, "/dev/null".to_owned()), (3, "socket:[1]".to_owned())]);
    std::fs::remove_file(fds.join("3")).unwrap();
    std::os::unix::fs::symlink("/tmp/x", fds.join("3")).unwrap();
    probe.tick(&mut out);
    let files = &stats(out.one()).processes[0].fds;
    assert_eq!(files.len(), 1);
    assert_eq!(files[0].path.as_deref(), Some("/tmp/x"));
}

/// What is remembered of open files has a bound.
#[test]
fn too_many_open_files() {
    let world = world();
    let fds = world.dir.path().join("proc/42/fd");
    std::fs::create_dir_all(&fds).unwrap();
    // Longer than the paths of most files, so that few are enough.
    let path = format!("/{}", "x/".repeat(2000));
    let bytes = path.len() + FILE_ENTRY_BYTES;
    let count = FILES_BYTES_PER_INSTANCE_MAX.div_ceil(bytes);
    for fd in 0..count + 5 {
        std::os::unix::fs::symlink(&path, fds.join(fd.to_string())).unwrap();
    }
    let mut out = Packets::default();
    let config = ProcessStatsConfig {
        proc_stats_poll_ms: Some(100),
        resolve_process_fds: Some(true),
        ..Default::default()
    };
    let mut probe = probe(&world, config);
    probe.tick(&mut out);
    let packets = out.take().into_iter().skip(1);
    let files: usize = packets.map(|packet| stats(packet).processes[0].fds.len()).sum();
    assert_eq!(files, count);
    assert_eq!(world.log().len(), 1);
    // What is remembered counts at each tick.
    probe.tick(&mut out);
    assert_eq!(out.take(), []);
}

#[test]
fn a_process_that_is_gone_is_no_process() {
    let world = World::new();
    std::fs::create_dir_all(world.dir.path().join("proc/7/task")).unwrap();
    let mut out = Packets::default();
    let config = ProcessStatsConfig {
        scan_all_processes_on_start: Some(true),
        proc_stats_poll_ms: Some(100),
        ..Default::default()
    };
    let mut probe = probe(&world, config);
    probe.start(&mut out);
    assert_eq!(tree(out.one()).processes, []);
    assert_eq!(world.log(), [""; 0]);
}

fn facts(pids: &[i32], renamed: &[i32], fds: &[(i32, u64)]) -> Facts {
    Facts { pids: pids.into(), renamed: renamed.into(), fds: fds.into(), inodes: vec![] }
}

/// The processes and threads of a tree, by their ids.
fn ids(tree: &ProcessTree) -> (Vec<i32>, Vec<(i32, i32)>) {
    let processes = tree.processes.iter().filter_map(|process| process.pid).collect();
    let threads = tree.threads.iter().filter_map(|thread| Some((thread.tid?, thread.tgid?)));
    (processes, threads.collect())
}

/// A machine where threads have folders, too.
fn world_of_threads() -> World {
    let world = world();
    world.put("proc/43/status", "Name:\tworker\nTgid:\t42\nNSpid:\t43\t8\t2\n");
    world.put("proc/44/status", "Name:\tother\nTgid:\t42\n");
    world
}

#[test]
fn threads_are_described_when_they_were_seen() {
    let world = world_of_threads();
    let mut out = Packets::default();
    let mut probe = probe(&world, ProcessStatsConfig::default());
    probe.start(&mut out);
    // The idle thread, which has no folder, one that is gone, and a thread whose process was not seen itself.
    world.put("proc/0/status", "Name:\tidle\n");
    probe.facts(&facts(&[-1, 0, 7, 43], &[], &[]), &mut out);
    let packet = out.one();
    assert_eq!((packet.timestamp, packet.incremental_state_cleared), (Some(1000), Some(true)));
    let first = tree(packet);
    assert_eq!(ids(&first), (vec![42], vec![(42, 42), (43, 42)]));
    assert_eq!(first.threads[1].name.as_deref(), Some("worker"));
    assert_eq!(
        (&first.threads[1].nstid[..], first.collection_end_timestamp),
        (&[8, 2][..], Some(1000))
    );
    // Known threads cost no packet, one that is gone neither.
    probe.facts(&facts(&[7, 42, 43], &[], &[]), &mut out);
    assert_eq!(out.take(), []);
    probe.facts(&facts(&[2, 42, 43, 44], &[], &[]), &mut out);
    let packet = out.one();
    assert_eq!(packet.incremental_state_cleared, None);
    assert_eq!(ids(&tree(packet)), (vec![2], vec![(2, 2), (44, 42)]));
    // After a clear all is new.
    probe.clear_incremental_state(&mut out);
    assert_eq!(out.take(), []);
    probe.facts(&facts(&[42, 43], &[], &[]), &mut out);
    let packet = out.one();
    assert_eq!(packet.incremental_state_cleared, Some(true));
    assert_eq!(ids(&tree(packet)), (vec![42], vec![(42, 42), (43, 42)]));
}

/// Events have the numbers of the first PID namespace. Those of a container are other processes.
#[test]
fn in_a_container_with_pids_of_its_own_nothing_is_described_on_demand() {
    for (namespace, is_first) in [("pid:[4026531836]", true), ("pid:[4026532999]", false)] {
        let world = world_of_threads();
        let (own, fds) =
            (world.dir.path().join("proc/self/ns"), world.dir.path().join("proc/42/fd"));
        std::fs::create_dir_all(&own).unwrap();
        std::fs::create_dir_all(&fds).unwrap();
        std::os::unix::fs::symlink(namespace, own.join("pid")).unwrap();
        std::os::unix::fs::symlink("/dev/null", fds.join("3")).unwrap();
        let mut out = Packets::default();
        let config = ProcessStatsConfig {
            scan_all_processes_on_start: Some(true),
            resolve_process_fds: Some(true),
            ..Default::default()
        };
        let mut probe = probe(&world, config);
        probe.start(&mut out);
        assert_eq!((out.take().len(), world.log()), (1, vec![]), "the scan is of the container");
        let seen = facts(&[42, 44], &[42], &[(42, 3)]);
        (0..3).for_each(|_| probe.facts(&seen, &mut out));
        assert_eq!(out.take().is_empty(), !is_first);
        let log = world.log();
        assert_eq!(log.len(), usize::from(!is_first), "{log:?}");
        assert!(log.iter().all(|line| line.contains("--pid=host")), "{log:?}");
    }
}

#[test]
fn renamed_threads_are_described_again() {
    let world = world_of_threads();
    let mut out = Packets::default();
    let mut probe = probe(&world, ProcessStatsConfig::default());
    probe.facts(&facts(&[42, 43], &[], &[]), &mut out);
    out.take();
    world.put("proc/43/status", "Name:\tnew name\nTgid:\t42\n");
    probe.facts(&facts(&[42, 43], &[43], &[]), &mut out);
    let again = tree(out.one());
    assert_eq!(ids(&again), (vec![], vec![(43, 42)]));
    assert_eq!(again.threads[0].name.as_deref(), Some("new name"));
    // A program that was replaced has other arguments.
    world.put("proc/42/cmdline", "/bin/other\0");
    probe.facts(&facts(&[42, 43], &[42], &[]), &mut out);
    let again = tree(out.one());
    assert_eq!(ids(&again), (vec![42], vec![(42, 42)]));
    assert_eq!(again.processes[0].cmdline, ["/bin/other"]);
}

#[test]
fn what_a_scan_described_is_known() {
    for names in [false, true] {
        // A folder of a thread is not listed in /proc.
        let world = world();
        let mut out = Packets::default();
        let config = ProcessStatsConfig {
            scan_all_processes_on_start: Some(true),
            record_thread_names: Some(names),
            ..Default::default()
        };
        let mut probe = probe(&world, config);
        probe.start(&mut out);
        out.take();
        world.put("proc/43/status", "Name:\tworker\nTgid:\t42\n");
        probe.facts(&facts(&[2, 42, 43], &[], &[]), &mut out);
        // A thread without a name gets one when it runs.
        assert_eq!(out.take().len(), usize::from(!names));
    }
}

#[test]
fn polls_forget_threads_of_processes_that_ended() {
    let world = world_of_threads();
    let mut out = Packets::default();
    let config = ProcessStatsConfig { proc_stats_poll_ms: Some(100), ..Default::default() };
    let mut probe = probe(&world, config);
    probe.facts(&facts(&[43], &[], &[]), &mut out);
    for gone in [42, 43, 44] {
        world.remove(&format!("proc/{gone}"));
    }
    probe.tick(&mut out);
    out.take();
    world.put("proc/43/status", "Name:\tlater\nTgid:\t43\n");
    probe.facts(&facts(&[43], &[], &[]), &mut out);
    assert_eq!(ids(&tree(out.one())), (vec![43], vec![(43, 43)]));
}

#[test]
fn what_is_wanted_of_ftrace() {
    let wanted = |quirks: &[ProcessStatsConfigQuirks], resolve_process_fds| {
        let quirks = quirks.to_vec();
        let config = ProcessStatsConfig { quirks, resolve_process_fds, ..Default::default() };
        let config = DataSourceConfig { process_stats_config: Some(config), ..Default::default() };
        let wanted = ProcessStatsProbe::wanted(&config);
        assert!(!wanted.inodes);
        (wanted.threads, wanted.fds)
    };
    assert_eq!(wanted(&[], None), (true, false));
    assert_eq!(wanted(&[ProcessStatsConfigQuirks::DISABLE_INITIAL_DUMP], Some(true)), (true, true));
    assert_eq!(wanted(&[ProcessStatsConfigQuirks::DISABLE_ON_DEMAND], Some(true)), (false, false));
    assert!(ProcessStatsProbe::wanted(&DataSourceConfig::default()).threads);
}

#[test]
fn files_that_known_threads_opened() {
    let world = world_of_threads();
    let fds = world.dir.path().join("proc/42/fd");
    std::fs::create_dir_all(&fds).unwrap();
    std::os::unix::fs::symlink("/dev/null", fds.join("3")).unwrap();
    let mut out = Packets::default();
    let config = ProcessStatsConfig { resolve_process_fds: Some(true), ..Default::default() };
    let mut probe = probe(&world, config);
    // A thread that is not known, a number that is no descriptor, a file that is closed.
    probe.facts(&facts(&[], &[], &[(43, 3)]), &mut out);
    assert_eq!(out.take(), []);
    let opened = facts(&[43], &[], &[(43, 3), (43, 4), (43, 1 << 40), (99, 3)]);
    probe.facts(&opened, &mut out);
    let packets = out.take();
    assert_eq!(packets.len(), 2, "the tree, then the files");
    let all = stats(packets.into_iter().nth(1).unwrap());
    let process = &all.processes[0];
    assert_eq!((all.processes.len(), process.pid, process.fds.len()), (1, Some(42), 1));
    assert_eq!((process.fds[0].fd, process.fds[0].path.as_deref()), (Some(3), Some("/dev/null")));
    // Once.
    probe.facts(&facts(&[], &[], &[(43, 3)]), &mut out);
    assert_eq!(out.take(), []);
}

/// What is remembered of threads and of their files has a bound; forgetting costs packets alone.
#[test]
fn what_is_remembered_of_threads_is_bounded() {
    let world = world_of_threads();
    let mut out = Packets::default();
    let config = ProcessStatsConfig { resolve_process_fds: Some(true), ..Default::default() };
    let mut probe = probe(&world, config);
    probe.facts(&facts(&[42], &[], &[]), &mut out);
    out.take();
    (0..=KNOWN_THREADS_MAX as i32).for_each(|tid| _ = probe.probe().threads.insert(1000 + tid, 42));
    probe.facts(&facts(&[44], &[], &[]), &mut out);
    assert_eq!(ids(&tree(out.one())), (vec![42], vec![(42, 42), (44, 42)]));
    assert_eq!(probe.probe().threads.len(), 1);
    let fds = world.dir.path().join("proc/42/fd");
    std::fs::create_dir_all(&fds).unwrap();
    std::os::unix::fs::symlink("/dev/null", fds.join("3")).unwrap();
    probe.probe().files_bytes = FILES_BYTES_PER_INSTANCE_MAX;
    probe.facts(&facts(&[], &[], &[(42, 3)]), &mut out);
    assert_eq!(stats(out.one()).processes[0].fds.len(), 1);
    assert!(probe.probe().files_bytes < 1000);
    // Many threads are several packets.
    let many: Vec<i32> = (5000..5000 + THREADS_PER_TREE_MAX as i32 + 1).collect();
    for tid in &many {
        world.put(&format!("proc/{tid}/status"), "Name:\tx\nTgid:\t42\n");
    }
    probe.facts(&facts(&many, &[], &[]), &mut out);
    let threads: Vec<_> = out.take().into_iter().map(|packet| tree(packet).threads.len()).collect();
    assert_eq!(threads, [THREADS_PER_TREE_MAX, 1]);
}

/// A scan of a machine with many threads is cut into packets, also within a process.
#[test]
fn a_scan_of_many_threads_is_several_packets() {
    for names in [false, true] {
        let world = world();
        let last = 100 + 2 * THREADS_PER_TREE_MAX as i32;
        for tid in 100..last {
            world.put(&format!("proc/42/task/{tid}/status"), "Name:\tx\n");
        }
        world.put("proc/77/status", "Name:\tlast\nTgid:\t77\n");
        let mut out = Packets::default();
        let config = ProcessStatsConfig {
            scan_all_processes_on_start: Some(true),
            record_thread_names: Some(names),
            skip_main_thread_message: Some(true),
            ..Default::default()
        };
        probe(&world, config).start(&mut out);
        let packets = out.take();
        let cleared: Vec<_> = packets.iter().map(|p| p.incremental_state_cleared).collect();
        assert_eq!(cleared, [Some(true), None, None]);
        let trees: Vec<ProcessTree> = packets.into_iter().map(tree).collect();
        let counts: Vec<_> = trees.iter().map(|t| (t.processes.len(), t.threads.len())).collect();
        // kthreadd, the server and its 43 are in the first; 77 is the last.
        let max = THREADS_PER_TREE_MAX;
        assert_eq!(counts, [(2, max - 2), (0, max), (1, 3)]);
        let tids: Vec<_> = trees.iter().flat_map(|t| &t.threads).filter_map(|t| t.tid).collect();
        assert_eq!(tids, [43].into_iter().chain(100..last).collect::<Vec<_>>());
        assert_eq!(trees[2].processes[0].pid, Some(77));
    }
}

/// What changed is cut into packets, also the files of a process: a packet must fit into a buffer.
#[test]
fn many_changes_are_several_packets() {
    let world = world();
    let path = format!("/{}", "x/".repeat(1000));
    let mut changed: Vec<(i32, Changes)> = Vec::new();
    let mut add = |pid: i32, files: u32| {
        let mut changes = Changes::default();
        changes.record_oom_score(&mut LastValues::default(), i64::from(pid));
        for fd in 0..files {
            changes.record_file(&mut LastValues::default(), fd, path.clone());
        }
        changed.push((pid, changes));
    };
    add(1, 200);
    (2..5000).for_each(|pid| add(pid, 0));
    add(5000, 100);
    let mut probe = probe(&world, ProcessStatsConfig::default());
    let mut out = Packets::default();
    probe.probe().write_changes(5, &changed, &mut out);
    let packets = out.take();
    assert!(packets.len() > 5, "{}", packets.len());
    let cleared = packets.iter().filter(|packet| packet.incremental_state_cleared == Some(true));
    assert_eq!((cleared.count(), packets[0].incremental_state_cleared), (1, Some(true)));
    let (mut scores, mut files) = (Vec::new(), Vec::new());
    for packet in packets {
        assert!(packet.encode_to_vec().len() <= STATS_PACKET_BYTES, "it fits");
        let written = stats(packet);
        assert_eq!(written.collection_end_timestamp, Some(1000));
        for process in written.processes {
            let pid = process.pid.unwrap();
            scores.extend(process.oom_score_adj.map(|score| (pid, score)));
            files.extend(process.fds.iter().map(|file| (pid, file.fd.unwrap())));
        }
    }
    assert_eq!(scores, (1..=5000).map(|pid| (pid, i64::from(pid))).collect::<Vec<_>>());
    let of = |pid, count: u64| (0..count).map(move |fd| (pid, fd));
    assert_eq!(files, of(1, 200).chain(of(5000, 100)).collect::<Vec<_>>());
}
