//! What is wrong, and what is lost: the statistics tell it.

use super::*;

#[test]
fn what_is_wrong_with_pages_is_in_the_statistics() {
    let mut world = World::new();
    let packets = world.start(1, wants(&[FREQUENCY])).unwrap();
    world.play(CPU0, &[page(&[15]).pair(0, 1, 0)]);
    world.pass();
    world.controller.flush(&[1], &mut |_, _| {});
    let stats = packets.stats();
    assert!(stats[0].ftrace_parse_errors.is_empty());
    assert_eq!(
        stats[1].ftrace_parse_errors.iter().map(|status| status.0).collect::<Vec<_>>(),
        [12]
    );
}

#[test]
fn a_clock_that_is_not_the_boot_clock_is_told() {
    let mut world = World::new();
    let raw = FtraceConfig { use_monotonic_raw_clock: Some(true), ..wants(&[FREQUENCY]) };
    let packets = world.start(1, raw).unwrap();
    world.fake.set("per_cpu/cpu0/stats", "now ts:   5.000007\n");
    world.play(CPU0, &[page(&[15])]);
    world.pass();
    let packets = packets.take();
    let Some(TracePacketData::FtraceEvents(bundle)) = &packets[0].data else {
        panic!("{packets:?}")
    };
    assert_eq!((bundle.ftrace_timestamp, bundle.boot_timestamp), (Some(5_000_007_000), Some(777)));
    assert_eq!(bundle.ftrace_clock.map(|clock| clock.0), Some(4));
}

/// Times of another clock must not be taken for those of the boot clock.
#[test]
fn a_clock_is_told_also_if_a_cpu_does_not_tell_the_time() {
    let first = |stats: [Option<&str>; 2]| {
        let mut world = World::new();
        let raw = FtraceConfig { use_monotonic_raw_clock: Some(true), ..wants(&[FREQUENCY]) };
        let packets = world.start(1, raw).unwrap();
        for (cpu, stats) in stats.into_iter().enumerate() {
            let path = format!("per_cpu/cpu{cpu}/stats");
            match stats {
                Some(text) => world.fake.set(&path, text),
                None => world.fake.deny(&path, libc::EIO),
            }
        }
        world.play(CPU0, &[page(&[15])]);
        world.pass();
        let packets = packets.take();
        let Some(TracePacketData::FtraceEvents(bundle)) = &packets[0].data else {
            panic!("{packets:?}")
        };
        assert_eq!(bundle.ftrace_clock.map(|clock| clock.0), Some(4), "{stats:?}");
        (bundle.ftrace_timestamp, bundle.boot_timestamp)
    };
    let second = Some("now ts:   5.000007\n");
    assert_eq!(first([None, second]), (Some(5_000_007_000), Some(777)));
    assert_eq!(first([Some("entries: 1\n"), second]), (Some(5_000_007_000), Some(777)));
    assert_eq!(first([None, None]), (None, None));
}

/// Upstream: a CPU without statistics ended those of all behind it, and numbers had 32 bits.
#[test]
fn statistics_of_each_cpu_stand_alone() {
    let mut world = World::new();
    let packets = world.start(1, wants(&[FREQUENCY])).unwrap();
    world.fake.deny("per_cpu/cpu0/stats", libc::EIO);
    world.fake.set("per_cpu/cpu1/stats", "entries: 5000000000\noverrun: 6000000000\n");
    world.controller.flush(&[1], &mut |_, _| {});
    let stats = packets.stats();
    let cpus: Vec<_> =
        stats[1].cpu_stats.iter().map(|cpu| (cpu.cpu, cpu.entries, cpu.overrun)).collect();
    assert_eq!(cpus, [(Some(1), Some(5_000_000_000), Some(6_000_000_000))]);
    // A ring of 8 MiB has a page more than was wished.
    for stats in &stats {
        let sizes = (stats.cpu_buffer_size_pages, stats.cached_cpu_buffer_size_pages);
        assert_eq!(sizes, (Some(2049), Some(2048)));
    }
}

/// Upstream: such a record ended its page, and the trace could not be loaded.
#[test]
fn a_record_that_does_not_fit_is_left_out() {
    let mut world = World::new();
    let packets = world.start(1, wants(&[FREQUENCY])).unwrap();
    world.play(CPU0, &[page(&[15]).event(1, &record(15)[..8]).event(1, &record(15))]);
    world.pass();
    assert_eq!(packets.events(), 2);
    world.controller.flush(&[1], &mut |_, _| {});
    assert!(packets.stats()[1].ftrace_parse_errors.is_empty());
    world.controller.stop(1);
    let log = world.here.log.take();
    assert!(log.iter().any(|line| line.contains(": 1 records did not fit")), "{log:?}");
}

/// Upstream: the program ended.
#[test]
fn a_pipe_that_does_not_open_is_that_of_one_cpu() {
    let mut world = World::new();
    world.fake.deny("per_cpu/cpu1/trace_pipe_raw", libc::EACCES);
    let packets = world.start(1, wants(&[FREQUENCY])).unwrap();
    world.play(CPU0, &[page(&[15])]);
    world.pass();
    assert_eq!(packets.events(), 1);
}

/// Upstream: the kernel's count was not looked at.
#[test]
fn lost_events_are_counted() {
    let mut world = World::new();
    let _packets = world.start(1, wants(&[FREQUENCY])).unwrap();
    for lost in [Lost::Count(5), Lost::Some] {
        world.play(CPU0, &[Made { lost, ..page(&[15]) }]);
        world.pass();
    }
    world.controller.stop(1);
    let log = world.here.log.take();
    assert!(log.iter().any(|line| line.contains("lost at least 6 events")), "{log:?}");
    let _packets = world.start(2, wants(&[FREQUENCY])).unwrap();
    for lost in [Lost::Count(u64::MAX), Lost::Some] {
        world.play(CPU0, &[Made { lost, ..page(&[15]) }]);
        world.pass();
    }
    world.controller.stop(2);
    assert_eq!(world.here.log.take().len(), 1);
    let _packets = world.start(3, wants(&[FREQUENCY])).unwrap();
    world.play(CPU0, &[page(&[15])]);
    world.pass();
    world.controller.stop(3);
    assert_eq!(world.here.log.take().len(), 0);
}

/// What a ring loses as soon as an event is on is lost by the session, however long the rest of its start takes.
#[test]
fn the_counters_of_the_start_are_those_before_the_first_event() {
    let mut world = World::new();
    let other = FtraceConfig { instance_name: Some("other".to_owned()), ..wants(&[IDLE]) };
    let preserving = FtraceConfig { preserve_ftrace_buffer: Some(true), ..wants(&[FREQUENCY]) };
    let further = wants(&[IDLE]);
    for (id, session, prefix) in [
        (1, wants(&[FREQUENCY]), ""),
        (2, further, ""),
        (3, other, "instances/other/"),
        (4, preserving, ""),
    ] {
        if id == 4 {
            world.controller.reset();
        }
        let enable = format!("{prefix}events/{}/enable", session.ftrace_events[0]);
        let stats = format!("{prefix}per_cpu/cpu0/stats");
        world.fake.set(&stats, "overrun: 100\n");
        world.fake.set_on_write(&enable, &stats, "overrun: 160\n");
        let packets = world.start(id, session).unwrap();
        world.controller.flush(&[id], &mut |_, _| {});
        let told: Vec<_> = packets.stats().iter().map(|stats| stats.cpu_stats[0].overrun).collect();
        assert_eq!(told[told.len() - 2..], [Some(100), Some(160)], "session {id}");
    }
}

/// The rings count all losses, where a full page tells only that there was one.
#[test]
fn lost_events_are_those_that_the_rings_count() {
    let mut world = World::new();
    let stats = |lost: [u64; 3]| {
        let [overrun, commit, dropped] = lost;
        format!("overrun: {overrun}\ncommit overrun: {commit}\ndropped events: {dropped}\n")
    };
    world.fake.set("per_cpu/cpu0/stats", &stats([100, 0, 0]));
    let preserve = FtraceConfig { preserve_ftrace_buffer: Some(true), ..wants(&[FREQUENCY]) };
    let _packets = world.start(1, preserve).unwrap();
    world.play(CPU0, &[Made { lost: Lost::Some, ..page(&[15]) }]);
    world.pass();
    world.fake.set("per_cpu/cpu0/stats", &stats([1100, 10, 1]));
    world.fake.set("per_cpu/cpu1/stats", &stats([0, 0, 5]));
    world.controller.stop(1);
    let log = world.here.log.take();
    assert!(log.iter().any(|line| line.contains("lost 1016 events")), "{log:?}");
}

/// Before Linux 6.8 there is no file for it: a page of the ring is as large as one of memory.
#[test]
fn a_page_of_the_ring_is_one_of_memory_where_the_kernel_does_not_tell() {
    for (page_kb, told, bytes) in [(64, None, 65536), (4, None, 4096), (64, Some("16"), 16384)] {
        let mut world = World::new();
        world.here.page_kb.set(page_kb);
        if let Some(told) = told {
            world.fake.set("buffer_subbuf_size_kb", told);
        }
        let packets = world.start(1, wants(&[FREQUENCY])).unwrap();
        let full = Next::Page(page(&[15, 15]).page(bytes, Commit::Eight));
        world.fake.script(CPU0, [full]);
        world.pass();
        assert_eq!(packets.clone_all().events(), 2, "{bytes}");
        world.controller.flush(&[1], &mut |_, _| {});
        let stats = packets.stats();
        assert!(stats[1].ftrace_parse_errors.is_empty(), "{bytes}: {stats:?}");
        let wished = stats[1].cached_cpu_buffer_size_pages.map(|pages| pages as usize * bytes);
        assert_eq!(wished, Some(8 << 20), "{bytes}");
    }
}

/// A number that the kernel gives again is another thread.
#[test]
fn new_threads_are_told_as_new() {
    let mut world = World::new();
    let events = [("task/task_newtask", 21, "pid"), ("sched/sched_process_fork", 22, "child_pid")];
    for (event, id, field) in events {
        let field = format!("\tfield:pid_t {field};\toffset:8;\tsize:4;\tsigned:1;\n");
        let text = format!("name: x\nID: {id}\nformat:\n{COMMON}{field}\nprint fmt: \"\"\n");
        world.fake.set(&format!("events/{event}/enable"), "0");
        world.fake.set(&format!("events/{event}/format"), &text);
    }
    let _packets = world.start(1, wants(&events.map(|(event, ..)| event))).unwrap();
    let record = |id: u8, pid: i32| [&[id, 0, 0, 0, 9, 0, 0, 0][..], &pid.to_le_bytes()].concat();
    let new = |id, pid| Made::new(100).event(1, &record(id, pid));
    world.play(CPU0, &[new(21, 50), new(22, 51), new(22, -1)]);
    let (mut pids, mut told) = (Vec::new(), Vec::new());
    world.controller.pass(0, &mut |_, facts| {
        pids.extend(facts.pids.iter().copied());
        told.extend(facts.renamed.iter().copied());
    });
    assert_eq!((pids, told), (vec![-1, 9, 50, 51], vec![-1, 50, 51]));
}

/// A scan that finds files for events makes such events itself: they must not make another scan.
#[test]
fn files_of_own_threads_are_not_told() {
    let mut world = World::new();
    let event = "ext4/ext4_da_write_begin";
    let fields = "\tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n\
        \tfield:ino_t ino;\toffset:16;\tsize:8;\tsigned:0;\n";
    let text = format!("name: x\nID: 23\nformat:\n{COMMON}{fields}\nprint fmt: \"\"\n");
    world.fake.set(&format!("events/{event}/enable"), "0");
    world.fake.set(&format!("events/{event}/format"), &text);
    let _packets = world.start(1, wants(&[event])).unwrap();
    let mut page = Made::new(100);
    for (pid, inode) in [(7_i32, 5_u64), (9, 6), (10, 7), (11, 8)] {
        let dev = [0x10, 0, 0x80, 0, 0, 0, 0, 0];
        let record = [&[23, 0, 0, 0][..], &pid.to_le_bytes(), &dev, &inode.to_le_bytes()].concat();
        page = page.event(1, &record);
    }
    world.play(CPU0, &[page]);
    let mut told = Vec::new();
    world.controller.pass(0, &mut |_, facts| {
        told.extend(facts.inodes.iter().map(|(_, inode)| *inode));
    });
    // Only those that the system names are own ones.
    assert_eq!(told, [6, 8]);
}

/// A trace without the events of a CPU must not look like one of all.
#[test]
fn a_cpu_whose_pipe_does_not_open_is_told() {
    let mut world = World::new();
    world.fake.deny("per_cpu/cpu1/trace_pipe_raw", libc::EMFILE);
    for id in [1, 2] {
        let packets = world.start(id, wants(&[FREQUENCY])).unwrap();
        world.controller.flush(&[id], &mut |_, _| {});
        let told = packets.stats()[0].atrace_errors.clone().unwrap_or_default();
        let want = "events of 1 of 3 CPUs are not recorded: their pipes cannot be opened: Too many open files";
        assert!(told.contains(want), "{told}");
    }
}
