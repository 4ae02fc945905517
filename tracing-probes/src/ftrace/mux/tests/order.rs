//! The order of changes, and what is left after a failure at each of them.

use super::*;

#[test]
fn the_first_session_changes_everything_in_order() {
    let mut world = World::new();
    let before = world.fake.settings();
    world.set_up(1, everything).unwrap();
    assert_eq!(world.fake.take_log(), Vec::<String>::new());
    let active = world.start(1).unwrap();
    let expected = [
        "write tracing_on 0",
        "write events/enable 0",
        "trunc trace",
        "trunc per_cpu/cpu2/trace",
        "write trace_clock mono_raw",
        "write buffer_size_kb 1024",
        "trunc set_event_pid",
        "append set_event_pid 1,22",
        "write options/record-tgid 1",
        "write tracing_cpumask 1",
        "append kprobe_events p:perfetto_kprobes/kfree kfree",
        "write events/perfetto_kprobes/kfree/enable 1",
        "append kprobe_events r1024:perfetto_kretprobes/kfree kfree",
        "write events/perfetto_kretprobes/kfree/enable 1",
        "append kprobe_events p:perfetto_kprobes/schedule schedule",
        "write events/perfetto_kprobes/schedule/enable 1",
        "append kprobe_events r1024:perfetto_kretprobes/schedule schedule",
        "write events/perfetto_kretprobes/schedule/enable 1",
        "append kprobe_events p:perfetto_kprobes/no_such_function no_such_function",
        "write events/raw_syscalls/sys_enter/enable 1",
        "write events/raw_syscalls/sys_exit/enable 1",
        "write events/sched/sched_switch/enable 1",
        "write events/sched/sched_wakeup/enable 1",
        "write events/sched/sched_waking/enable 1",
        "write events/user/made_by_hand/enable 1",
        "write events/raw_syscalls/sys_enter/filter id == 0",
        "write events/raw_syscalls/sys_exit/filter id == 0",
        "trunc set_ftrace_filter",
        "append set_ftrace_filter kfree,vfs_read",
        "trunc set_graph_function",
        "append set_graph_function schedule",
        "write max_graph_depth 5",
        "write current_tracer function_graph",
        "write buffer_percent 30",
        "write tracing_on 1",
    ];
    assert_eq!(world.fake.take_log(), expected);
    assert_eq!(
        active.unknown,
        ["sys_nonsense", "nonsense", "ftrace/funcgraph_entry", "ftrace/funcgraph_exit", "no/such"]
    );
    assert_eq!(active.failed, ["perfetto_kprobes/not a name", "perfetto_kprobes/no_such_function"]);
    // A marker has no switch, and the session has it all the same.
    let print = Recorded { id: 5, kind: EventKind::Known };
    assert_eq!(active.events.get(&EventName::new("ftrace", "print")), Some(&print));
    let instance = world.mux.instance().unwrap();
    assert_eq!(instance.clock, protos::FtraceClock::FTRACE_CLOCK_MONO_RAW);
    assert_eq!((instance.buffer_kb, instance.is_preserved), (1027, false));
    world.stop(1);
    let expected = [
        "write tracing_on 0",
        "write buffer_percent 50",
        "write current_tracer nop",
        "write max_graph_depth 0",
        "trunc set_graph_function",
        "trunc set_ftrace_filter",
        "write events/raw_syscalls/sys_exit/filter 0",
        "write events/raw_syscalls/sys_enter/filter 0",
        "append kprobe_events -:perfetto_kprobes/no_such_function",
        "write events/perfetto_kretprobes/schedule/enable 0",
        "append kprobe_events -:perfetto_kretprobes/schedule",
        "write events/perfetto_kprobes/schedule/enable 0",
        "append kprobe_events -:perfetto_kprobes/schedule",
        "write events/perfetto_kretprobes/kfree/enable 0",
        "append kprobe_events -:perfetto_kretprobes/kfree",
        "write events/perfetto_kprobes/kfree/enable 0",
        "append kprobe_events -:perfetto_kprobes/kfree",
        "write tracing_cpumask 7",
        "write options/record-tgid 0",
        "trunc set_event_pid",
        "write buffer_size_kb 1408",
        "write trace_clock local",
        "write events/enable 0",
        "trunc trace",
        "write tracing_on 1",
    ];
    let log = world.fake.take_log();
    assert_eq!(log, expected);
    assert_eq!(world.fake.settings(), before);
    assert_eq!((world.notes.len(), world.memory.lines.borrow().len()), (0, 0));
}

#[test]
fn further_sessions_change_what_is_new() {
    let mut world = World::new();
    world.run(1, events(&["sched/sched_switch", "power/cpu_idle"])).unwrap();
    world.fake.take_log();
    let second = |config: &mut FtraceConfig| {
        config.ftrace_events = strings(&["sched/sched_switch", "sched/sched_waking"]);
        config.buffer_size_kb = Some(65536);
        config.use_monotonic_raw_clock = Some(true);
        config.syscall_events = strings(&["sys_read"]);
        config.drain_buffer_percent = Some(20);
    };
    let notes = world.run(2, second).unwrap().notes;
    let expected = [
        "buffer_size_kb 65536 is not used: another session records there with 8195 KiB",
        "use_monotonic_raw_clock is not used: another session records there with its own clock",
    ];
    assert_eq!(notes, expected);
    let expected = [
        "write events/raw_syscalls/sys_enter/enable 1",
        "write events/raw_syscalls/sys_exit/enable 1",
        "write events/sched/sched_waking/enable 1",
        "write events/raw_syscalls/sys_enter/filter id == 0",
        "write events/raw_syscalls/sys_exit/filter id == 0",
        "write buffer_percent 20",
    ];
    assert_eq!(world.fake.take_log(), expected);
    world.stop(1);
    assert_eq!(world.fake.take_log(), ["write events/power/cpu_idle/enable 0"]);
    // What the first session had on goes with the last one, also if that is another one.
    world.stop(2);
    let log = world.fake.take_log();
    assert_eq!(log.first().map(String::as_str), Some("write tracing_on 0"));
    assert_eq!(log.last().map(String::as_str), Some("write tracing_on 1"));
    assert_eq!(world.fake.settings(), Fake::new().settings());
}

/// Fails each change once, in a machine that others use.
#[test]
fn a_failure_at_each_step_leaves_all_files_as_found() {
    for errno in [libc::EIO, libc::EACCES] {
        let (mut refusals, mut others) = (0, 0);
        for changes in 0.. {
            let mut world = World::at(used(), Directory::root());
            let before = world.fake.settings();
            world.set_up(1, everything).unwrap();
            world.fake.fail_after(changes, errno);
            let result = world.start(1);
            let is_past_the_end = world.fake.take_failure();
            match result {
                Err(text) => {
                    refusals += 1;
                    assert!(text.contains("; ") && text.contains("os error"), "{text}");
                    assert!(world.mux.session(1).unwrap().active().is_none());
                }
                Ok(_) => others += 1,
            }
            world.stop(1);
            assert_eq!(world.fake.settings(), before, "after {changes} changes");
            assert!(world.memory.lines.borrow().is_empty());
            if is_past_the_end {
                break;
            }
        }
        assert!(refusals > 15 && others > 10, "{refusals} {others}");
    }
}

#[test]
fn a_failure_at_each_step_of_the_end_leaves_all_files_as_found() {
    for changes in 0.. {
        let mut world = World::at(used(), Directory::root());
        let before = world.fake.settings();
        world.run(1, everything).unwrap();
        world.fake.fail_after(changes, libc::EIO);
        world.stop(1);
        let is_past_the_end = world.fake.take_failure();
        assert_eq!(world.fake.settings(), before, "after {changes} changes");
        assert_eq!(world.notes, Vec::<String>::new());
        if is_past_the_end {
            assert!(changes > 20, "{changes}");
            break;
        }
    }
}

#[test]
fn a_failure_of_a_further_session_disturbs_no_other() {
    let second = |config: &mut FtraceConfig| {
        config.ftrace_events = strings(&["sched/*", "power/*"]);
        config.syscall_events = strings(&["sys_write"]);
        config.drain_buffer_percent = Some(20);
        kprobes(config);
        graph(&["vfs_read"], 0)(config);
    };
    let mut refusals = 0;
    for changes in 0.. {
        let mut world = World::at(used(), Directory::root());
        let found = world.fake.settings();
        let first = |config: &mut FtraceConfig| {
            config.ftrace_events = strings(&["sched/sched_switch"]);
            config.syscall_events = strings(&["sys_read"]);
            config.drain_buffer_percent = Some(40);
            graph(&["kfree"], 0)(config);
        };
        world.run(1, first).unwrap();
        let (before, record) = (world.fake.settings(), world.memory.lines.borrow().clone());
        world.set_up(2, second).unwrap();
        world.fake.fail_after(changes, libc::EIO);
        let result = world.start(2);
        let is_past_the_end = world.fake.take_failure();
        if result.is_err() {
            refusals += 1;
            assert_eq!(world.fake.settings(), before, "after {changes} changes");
            assert_eq!(*world.memory.lines.borrow(), record);
        }
        world.stop(2);
        // Probes stay until the last session ends.
        let mut after = world.fake.settings();
        after.retain(|path, _| !path.contains("events/perfetto_k"));
        assert_eq!(after, before, "after {changes} changes");
        world.stop(1);
        assert_eq!(world.fake.settings(), found);
        if is_past_the_end {
            break;
        }
    }
    assert!(refusals >= 5, "{refusals}");
}

#[test]
fn files_that_cannot_be_read_or_written() {
    let check = |path: &str, errno: i32, refusal: Option<&str>| {
        let mut world = World::new();
        world.fake.deny(path, errno);
        let before = world.fake.settings();
        let result = world.run(1, events(&["sched/sched_switch"]));
        match refusal {
            Some(text) => {
                let error = result.expect_err(path);
                assert!(error.contains(path) && error.contains(text), "{error}");
            }
            None => assert!(result.is_ok(), "{path}: {result:?}"),
        }
        world.stop(1);
        assert_eq!(world.fake.settings(), before, "{path}");
    };
    // The program goes on, and this source is refused. Upstream: the program was aborted.
    // The recorder may be of root already: its rights are not those that are missing.
    check(
        "tracing_on",
        libc::EACCES,
        Some("install-units --kernel`), or tracebox, as root, or see"),
    );
    check("trace", libc::EACCES, Some("as root, or see"));
    check("trace_clock", libc::EACCES, Some("as root, or see"));
    check("buffer_size_kb", libc::EACCES, Some("as root, or see"));
    check("current_tracer", libc::EACCES, None);
    check("events/enable", libc::EACCES, None);
    check("set_event", libc::EACCES, None);
    check("per_cpu/cpu2/trace", libc::ENOENT, None);
    // By its other switch.
    check("events/sched/sched_switch/enable", libc::EACCES, None);
}

#[test]
fn without_a_record_nothing_is_changed() {
    let mut world = World::new();
    world.memory.is_full.set(true);
    world.set_up(1, everything).unwrap();
    let before = world.fake.settings();
    let error = world.start(1).unwrap_err();
    assert!(error.contains("record of values found") && error.contains("writable"), "{error}");
    assert_eq!(world.fake.settings(), before);
    assert_eq!(world.fake.take_log(), Vec::<String>::new());
    world.memory.is_full.set(false);
    assert!(world.start(1).is_ok());
}
