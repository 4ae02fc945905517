//! What is better than upstream, and each field of a config that the mux uses.

use super::*;

/// Upstream: a refused session left events "on" in its memory, which the next session then did not switch on.
#[test]
fn a_session_after_a_refused_one_has_its_events() {
    let mut world = World::new();
    let refused = |config: &mut FtraceConfig| {
        config.ftrace_events = strings(&["sched/sched_switch"]);
        graph(&["no_such_function"], 0)(config);
    };
    let error = world.run(1, refused).unwrap_err();
    assert!(
        error.contains("set_ftrace_filter") && error.contains("available_filter_functions"),
        "{error}"
    );
    world.stop(1);
    assert_eq!(world.enabled(), Vec::<String>::new());
    world.run(2, events(&["sched/sched_switch"])).unwrap();
    assert_eq!(world.enabled(), ["sched/sched_switch"]);
    assert_eq!(world.fake.get("tracing_on"), "1");
}

/// Upstream: recording "restored" to the 0 of a refused predecessor, for ever.
#[test]
fn recording_is_put_back_to_what_it_was_before_all_sessions() {
    for found in ["1", "0"] {
        let mut world = World::new();
        world.fake.set("tracing_on", found);
        world.run(1, graph(&["no_such_function"], 0)).unwrap_err();
        world.stop(1);
        let active = world.run(2, events(&["sched/sched_switch"])).unwrap();
        assert_eq!(active.notes.len(), usize::from(found == "0"), "{:?}", active.notes);
        assert_eq!(world.fake.get("tracing_on"), "1");
        world.stop(2);
        assert_eq!(world.fake.get("tracing_on"), found);
    }
}

/// Upstream: a deferred session switched the recording of all others off.
#[test]
fn a_session_that_is_not_started_disturbs_nobody() {
    let mut world = World::at(used(), Directory::root());
    let before = world.fake.settings();
    world.fake.set("trace", "of others");
    world.set_up(1, everything).unwrap();
    assert_eq!(world.fake.settings(), before);
    assert_eq!(world.fake.get("trace"), "of others");
    world.stop(1);
    assert_eq!(world.fake.take_log(), Vec::<String>::new());
}

/// Upstream: the preserved ring was made small and cleared at the end, and its size was taken as one page.
#[test]
fn a_preserved_ring_stays_as_it_is() {
    let mut world = World::at(used(), Directory::root());
    world.fake.set("trace", "of others");
    world.fake.set("current_tracer", "function_graph");
    let before = world.fake.settings();
    let preserve = |config: &mut FtraceConfig| {
        config.ftrace_events = strings(&["sched/sched_switch", "power/cpu_idle"]);
        config.preserve_ftrace_buffer = Some(true);
        config.buffer_size_kb = Some(4);
    };
    world.run(1, preserve).unwrap();
    let instance = *world.mux.instance().unwrap();
    // The larger of two that differ.
    assert_eq!((instance.buffer_kb, instance.is_preserved), (67, true));
    assert_eq!(instance.clock, protos::FtraceClock::FTRACE_CLOCK_GLOBAL);
    assert_eq!(
        world.fake.take_log(),
        ["write events/sched/sched_switch/enable 1", "write tracing_on 1"]
    );
    // Another session's events come and go; those of others stay.
    world.run(2, events(&["sched/sched_waking"])).unwrap();
    assert_eq!(world.enabled(), ["power/cpu_idle", "sched/sched_switch", "sched/sched_waking"]);
    world.stop(1);
    assert_eq!(world.enabled(), ["power/cpu_idle", "sched/sched_waking"]);
    world.stop(2);
    assert_eq!(world.fake.settings(), before);
    assert_eq!(world.fake.get("trace"), "of others");
}

/// However often sessions come and go beside one that stays.
#[test]
fn the_record_does_not_grow() {
    let mut world = World::new();
    world.run(1, |config| config.preserve_ftrace_buffer = Some(true)).unwrap();
    let mut turn = |_| {
        let config = |config: &mut FtraceConfig| {
            config.ftrace_events = strings(&["sched/sched_waking"]);
            config.drain_buffer_percent = Some(20);
            kprobes(config);
        };
        world.run(2, config).unwrap();
        let lines = world.memory.lines.borrow().len();
        world.stop(2);
        lines
    };
    let lines: BTreeSet<usize> = (0..5).map(&mut turn).collect();
    assert_eq!(lines.len(), 1, "{lines:?}");
}

/// Upstream: names that mean nothing were dropped without a word.
#[test]
fn what_does_not_exist_is_told() {
    let mut world = World::new();
    let config = |config: &mut FtraceConfig| {
        config.ftrace_events =
            strings(&["nonsense", "no/such", "none/*", "sched_switch", "sched_nonsense"]);
        config.atrace_categories = strings(&["nonsense_category"]);
    };
    let active = world.run(1, config).unwrap();
    let unknown = ["nonsense", "none/*", "sched_nonsense", "nonsense_category", "no/such"];
    assert_eq!((active.unknown, active.failed), (strings(&unknown), Vec::new()));
    assert_eq!(world.enabled(), ["sched/sched_switch"]);
}

/// Upstream: with unknown system calls alone, all were recorded; and a filter of others was taken as none.
#[test]
fn system_calls_are_those_that_are_asked_for() {
    let filter = |world: &World| world.fake.get("events/raw_syscalls/sys_enter/filter");
    let syscalls = |names: &'static [&'static str]| {
        move |config: &mut FtraceConfig| {
            config.ftrace_events = strings(&["raw_syscalls/sys_enter"]);
            config.syscall_events = strings(names);
        }
    };
    let mut world = World::at(used(), Directory::root());
    let active = world.run(1, syscalls(&["sys_nonsense"])).unwrap();
    assert_eq!(active.unknown, ["sys_nonsense"]);
    assert_eq!((world.enabled(), filter(&world).as_str()), (Vec::new(), "id == 1"));
    // All, with a filter of others in place.
    world.run(2, events(&["raw_syscalls/sys_exit"])).unwrap();
    assert_eq!(filter(&world), "none");
    world.stop(2);
    let few = world.run(3, syscalls(&["sys_read", "sys_getpid"])).unwrap();
    assert_eq!(filter(&world), "id == 0 || id == 39");
    // Each knows its part of the union.
    let other = world.run(4, syscalls(&["sys_write"])).unwrap();
    assert_eq!(filter(&world), "id == 0 || id == 1 || id == 39");
    assert!(few.syscalls.contains(39) && !few.syscalls.contains(1));
    assert!(other.syscalls.contains(1) && !other.syscalls.contains(0));
    world.run(5, events(&["raw_syscalls/sys_enter"])).unwrap();
    assert_eq!(filter(&world), "none");
    world.stop(5);
    world.stop(3);
    assert_eq!(filter(&world), "id == 1");
    world.stop(4);
    world.stop(1);
    assert_eq!(world.fake.settings(), used().settings());
}

/// Upstream: triggers of others were removed to find out what the kernel can do.
#[test]
fn triggers_of_others_are_not_touched() {
    let mut world = World::new();
    world.fake.deny("events/kmem/rss_stat/trigger", libc::EIO);
    let config = |config: &mut FtraceConfig| {
        config.ftrace_events = strings(&["kmem/rss_stat"]);
        config.throttle_rss_stat = Some(true);
    };
    let active = world.run(1, config).unwrap();
    assert_eq!(active.notes.len(), 1);
    world.stop(1);
    assert!(world.fake.take_log().iter().all(|line| !line.contains("trigger")));
}

/// Upstream: neither clock nor size was put back, nor the events that others had on.
#[test]
fn settings_of_others_come_back() {
    let mut world = World::at(used(), Directory::root());
    let before = world.fake.settings();
    world.run(1, everything).unwrap();
    assert_ne!(world.fake.settings(), before);
    assert!(!world.enabled().contains(&"power/cpu_idle".to_owned()));
    world.stop(1);
    assert_eq!(world.fake.settings(), before);
    assert_eq!(world.enabled(), ["power/cpu_idle"]);
    assert_eq!(world.notes, Vec::<String>::new());
}

#[test]
fn another_tracer_is_left_alone() {
    let mut world = World::new();
    world.fake.set("current_tracer", "function_graph");
    let error = world.set_up(1, |_| {}).unwrap_err();
    assert!(error.contains("another program") && error.contains("--reset-ftrace"), "{error}");
    // Set while the session waits.
    world.fake.set("current_tracer", "nop");
    world.set_up(1, |_| {}).unwrap();
    world.fake.set("current_tracer", "function_graph");
    assert!(world.start(1).unwrap_err().contains("another program"));
    // Ours is no other's.
    world.fake.set("current_tracer", "nop");
    world.stop(1);
    world.run(1, graph(&[], 0)).unwrap();
    world.run(2, events(&["sched/sched_switch"])).unwrap();
}

#[test]
fn a_session_can_be_alone() {
    let tids = |config: &mut FtraceConfig| config.tids_to_trace = vec![5];
    let mut world = World::new();
    world.run(1, events(&["sched/sched_switch"])).unwrap();
    let error = world.set_up(2, tids).unwrap_err();
    assert!(error.contains("tids_to_trace") && error.contains("instance_name"), "{error}");
    world.stop(1);
    world.set_up(2, tids).unwrap();
    // Session 2 is set up and not started, and no other session can be beside it.
    let error = world.set_up(1, |_| {}).unwrap_err();
    assert!(error.contains("alone in root because of its tids_to_trace"), "{error}");
    world.stop(2);
    world.set_up(1, |_| {}).unwrap();
    assert!(world.set_up(1, |_| {}).unwrap_err().contains("already"));
}

#[test]
fn options_and_masks_that_the_kernel_refuses() {
    let option = |name: &'static str| {
        use protos::{FtraceConfigTracefsOption, FtraceConfigTracefsOptionState as State};
        move |config: &mut FtraceConfig| {
            let option = FtraceConfigTracefsOption {
                name: Some(name.to_owned()),
                state: Some(State::STATE_ENABLED),
                ..Default::default()
            };
            config.tracefs_options = vec![option];
        }
    };
    let check = |edit: &dyn Fn(&mut FtraceConfig), texts: [&str; 2]| {
        let mut world = World::new();
        world.fake.set("options/strange", "2");
        let before = world.fake.settings();
        let error = world.run(1, edit).unwrap_err();
        assert!(texts.iter().all(|text| error.contains(text)), "{error}");
        assert_eq!(world.fake.settings(), before);
    };
    check(&option("absent"), ["options/absent", "leave out"]);
    check(&option("strange"), ["options/strange", "leave out `strange`"]);
    check(
        &|c| c.tracing_cpumask = Some("f0".to_owned()),
        ["tracing_cpumask", "CPUs of this machine"],
    );
}

#[test]
fn function_graph_is_that_of_all_sessions() {
    let mut world = World::new();
    let filter = |world: &World| world.fake.get("set_ftrace_filter").replace('\n', " ");
    let state = |world: &World| {
        (filter(world), world.fake.get("max_graph_depth"), world.fake.get("current_tracer"))
    };
    world.run(1, events(&["sched/sched_switch"])).unwrap();
    world.set_up(2, graph(&["kfree"], 0)).unwrap();
    assert!(world.mux.needs_closed_pipes_to_start(2) && !world.mux.needs_closed_pipes_to_stop(1));
    // With an open pipe the kernel refuses; the session may try again.
    let pipe = "per_cpu/cpu0/trace_pipe_raw";
    let pipe = crate::ftrace::tracefs::Tracefs::open_pipe(&world.fake, pipe).unwrap();
    assert!(world.start(2).unwrap_err().contains("trace_pipe_raw"));
    drop(pipe);
    world.start(2).unwrap();
    assert_eq!(state(&world), ("kfree ".to_owned(), "0".to_owned(), "function_graph".to_owned()));
    assert_eq!(world.mux.functions_apart(2), []);
    world.set_up(3, graph(&["vfs_read"], 0)).unwrap();
    assert!(!world.mux.needs_closed_pipes_to_start(3));
    // Each needs to know its own.
    let (kfree, vfs_read) = (strings(&["kfree"]), strings(&["vfs_read"]));
    assert_eq!(world.mux.functions_apart(3), [(2, &kfree[..]), (3, &vfs_read[..])]);
    world.start(3).unwrap();
    assert_eq!(filter(&world), "kfree vfs_read ");
    // One that wants all functions has those of all.
    world.set_up(4, graph(&[], 0)).unwrap();
    assert_eq!(world.mux.functions_apart(4), [(2, &kfree[..]), (3, &vfs_read[..])]);
    world.start(4).unwrap();
    assert_eq!(filter(&world), "");
    // One without function graph has none.
    world.set_up(5, events(&["sched/sched_waking"])).unwrap();
    assert_eq!(world.mux.functions_apart(5), []);
    world.stop(5);
    world.stop(4);
    assert_eq!(filter(&world), "kfree vfs_read ");
    world.stop(2);
    assert_eq!(filter(&world), "vfs_read ");
    assert!(world.mux.needs_closed_pipes_to_stop(3) && !world.mux.needs_closed_pipes_to_stop(1));
    world.stop(3);
    assert_eq!(state(&world), (String::new(), "0".to_owned(), "nop".to_owned()));
    assert_eq!(world.enabled(), ["sched/sched_switch"]);
    world.stop(1);
    assert_eq!(world.fake.settings(), Fake::new().settings());
}

/// The kernel has the deepest that sessions with the same functions ask for.
#[test]
fn depths_of_function_graph() {
    let mut world = World::new();
    let depth = |world: &World| world.fake.get("max_graph_depth");
    let functions = |world: &World| world.fake.get("set_ftrace_filter");
    world.run(1, graph(&["kfree", "vfs_read"], 3)).unwrap();
    world.run(2, graph(&["vfs_read", "kfree"], 5)).unwrap();
    assert_eq!((depth(&world).as_str(), functions(&world).as_str()), ("5", "kfree\nvfs_read\n"));
    assert_eq!(world.mux.functions_apart(2), []);
    world.run(3, graph(&["kfree", "vfs_read"], 0)).unwrap();
    assert_eq!(depth(&world), "0");
    world.stop(3);
    world.stop(2);
    assert_eq!(depth(&world), "3");
}

/// Upstream: the roots of all sessions were those of all, and the last depth was that of all.
#[test]
fn sessions_that_cannot_be_beside_each_other() {
    let roots = |root: &'static str| {
        move |config: &mut FtraceConfig| {
            graph(&["kfree"], 2)(config);
            config.function_graph_roots = strings(&[root]);
        }
    };
    let mut world = World::new();
    world.run(1, roots("schedule")).unwrap();
    let found = world.fake.settings();
    for other in [&roots("vfs_read") as &dyn Fn(&mut FtraceConfig), &graph(&["kfree"], 2)] {
        let error = world.set_up(2, other).unwrap_err();
        assert!(error.contains("function_graph_roots"), "{error}");
    }
    let other = |config: &mut FtraceConfig| {
        roots("schedule")(config);
        config.function_filters = strings(&["vfs_read"]);
    };
    let error = world.set_up(2, other).unwrap_err();
    assert!(error.contains("function_graph_max_depth"), "{error}");
    assert_eq!(world.fake.settings(), found);
    // The same, and none.
    world.run(2, roots("schedule")).unwrap();
    world.run(3, events(&["sched/sched_switch"])).unwrap();
}

#[test]
fn a_kernel_without_function_graph() {
    let mut world = World::new();
    world.fake.deny("set_graph_function", libc::ENOENT);
    let error = world.run(1, graph(&[], 0)).unwrap_err();
    assert!(
        error.contains("enable_function_graph") && error.contains("CONFIG_FUNCTION_GRAPH_TRACER"),
        "{error}"
    );
}

#[test]
fn kprobes_exist_while_a_session_wants_them() {
    let mut world = World::new();
    let active = world.run(1, kprobes).unwrap();
    let names: Vec<String> = active.events.keys().map(EventName::to_string).collect();
    let all = [
        "perfetto_kprobes/kfree",
        "perfetto_kprobes/schedule",
        "perfetto_kretprobes/kfree",
        "perfetto_kretprobes/schedule",
    ];
    assert_eq!(names, all);
    // The first mention counts: an instant, and the end of a pair.
    let kinds: BTreeMap<String, EventKind> = world.table.added.iter().cloned().collect();
    let kind = |name: &str| kinds.get(name).copied();
    assert_eq!(kind(all[0]), Some(EventKind::Kprobe(KprobeKind::Begin)));
    assert_eq!(kind(all[2]), Some(EventKind::Kprobe(KprobeKind::End)));
    assert_eq!(kind(all[1]), Some(EventKind::Kprobe(KprobeKind::Instant)));
    // Another session uses them, too, and is the last.
    world.run(2, kprobes).unwrap();
    world.stop(1);
    assert_eq!(world.enabled(), all);
    world.stop(2);
    assert_eq!(world.fake.settings(), Fake::new().settings());
}

/// A config cannot switch on kprobes that no session has by asking for their names as events.
#[test]
fn kprobes_are_not_asked_for_as_events() {
    let mut world = World::new();
    world.fake.set("events/perfetto_kprobes/left/format", "ID: 9\n");
    world.fake.set("events/perfetto_kprobes/left/enable", "0");
    let active = world.run(1, events(&["perfetto_kprobes/*"])).unwrap();
    assert!(active.events.is_empty() && world.enabled().is_empty());
}

#[test]
fn events_outside_the_schema() {
    let kind = |edit: fn(&mut FtraceConfig)| {
        let mut world = World::new();
        let both = |config: &mut FtraceConfig| {
            config.ftrace_events = strings(&["user/made_by_hand", "user/nonsense"]);
            edit(config);
        };
        let active = world.run(1, both).unwrap();
        (world.table.added.first().map(|(_, kind)| *kind), active.unknown, active.failed)
    };
    let unknown = || strings(&["user/nonsense"]);
    let dense = EventKind::Generic { is_dense: true };
    assert_eq!(kind(|_| {}), (Some(dense), unknown(), Vec::new()));
    let legacy = EventKind::Generic { is_dense: false };
    assert_eq!(
        kind(|c| c.denser_generic_event_encoding = Some(false)),
        (Some(legacy), unknown(), Vec::new())
    );
    let off = kind(|c| c.disable_generic_events = Some(true));
    assert_eq!(off, (None, unknown(), strings(&["user/made_by_hand"])));
}

/// A failed event has no reason, so one line says that it is not the kernel's.
#[test]
fn the_config_leaves_events_outside_the_schema_out() {
    let notes = |names: &[&str]| {
        let mut world = World::new();
        world.fake.set("events/user/second/format", "ID: 9\n");
        let edit = |config: &mut FtraceConfig| {
            config.ftrace_events = strings(names);
            config.disable_generic_events = Some(true);
        };
        world.run(1, edit).unwrap().notes
    };
    assert_eq!(notes(&["sched/sched_switch", "user/nonsense"]), Vec::<String>::new());
    assert_eq!(
        notes(&["user/made_by_hand", "user/second"]),
        ["events outside the schema are not recorded, because disable_generic_events is set"]
    );
}

/// The kernel may refuse one switch and take the other, or refuse both.
#[test]
fn switches_of_events_that_fail() {
    let path = "events/sched/sched_switch/enable";
    let mut world = World::new();
    world.fake.deny(path, libc::EACCES);
    world.run(1, events(&["sched/sched_switch"])).unwrap();
    assert_eq!(world.enabled(), ["sched/sched_switch"]);
    world.run(2, events(&["sched/sched_waking"])).unwrap();
    world.stop(1);
    assert_eq!(world.enabled(), ["sched/sched_waking"]);
    let mut world = World::new();
    world.fake.deny(path, libc::EACCES);
    world.fake.deny("set_event", libc::EACCES);
    let active = world.run(1, events(&["sched/sched_switch", "sched/sched_waking"])).unwrap();
    assert_eq!((active.failed, active.notes.len()), (strings(&["sched/sched_switch"]), 1));
    assert_eq!(active.events.len(), 1);
}

#[test]
fn the_percentage_is_the_smallest_of_all_sessions() {
    let mut world = World::new();
    let percent =
        |percent| move |config: &mut FtraceConfig| config.drain_buffer_percent = Some(percent);
    for (id, of) in [(1, 0), (2, 70), (3, 30), (4, 40)] {
        world.run(id, percent(of)).unwrap();
    }
    let is = |world: &World| world.fake.get("buffer_percent");
    assert_eq!(is(&world), "30");
    world.stop(3);
    assert_eq!(is(&world), "40");
    world.stop(4);
    world.stop(2);
    assert_eq!(is(&world), "50");
    world.fake.deny("buffer_percent", libc::ENOENT);
    assert_eq!(world.run(5, percent(20)).unwrap().notes.len(), 1);
}

#[test]
fn clocks_that_a_kernel_has() {
    let run = |found: &str, wants_raw| {
        let mut world = World::new();
        world.fake.set("trace_clock", found);
        world.run(1, |c| c.use_monotonic_raw_clock = Some(wants_raw)).unwrap();
        let writes =
            world.fake.take_log().iter().filter(|line| line.contains("trace_clock")).count();
        (world.fake.get("trace_clock"), writes)
    };
    assert_eq!(run("local", false), ("boot".to_owned(), 1));
    // Each write would cost time and empty the ring.
    assert_eq!(run("boot", false), ("boot".to_owned(), 0));
    assert_eq!(run("boot", true), ("mono_raw".to_owned(), 1));
}

#[test]
fn instances_are_apart() {
    let fake = Fake::new();
    let directory = Directory::instance(&fake, "other").unwrap();
    let before = fake.settings();
    let mut world = World::at(fake, directory);
    let config = |config: &mut FtraceConfig| {
        everything(config);
        config.kprobe_events.clear();
    };
    world.run(1, config).unwrap();
    assert!(world.fake.take_log().iter().all(|line| line.contains(" instances/other/")));
    assert_eq!(world.enabled(), Vec::<String>::new());
    assert_eq!(world.fake.enabled("instances/other/").len(), 6);
    assert!(world.mux.needs_closed_pipes_to_stop(1) && !world.mux.directory().is_root());
    world.stop(1);
    assert_eq!(world.fake.settings(), before);
}

/// What keeps events away in a fake instance.
const FILTERS: [(&str, &str); 6] = [
    ("set_event_pid", "99999\n"),
    ("set_event_notrace_pid", "1\n22\n"),
    ("set_ftrace_pid", "99999\n"),
    ("set_graph_notrace", "schedule\n"),
    ("tracing_cpumask", "2"),
    ("events/sched/sched_switch/filter", "prev_pid == 1"),
];

fn filtered() -> World {
    let world = World::new();
    FILTERS.iter().for_each(|(file, text)| world.fake.set(file, text));
    world
}

fn filters(world: &World) -> [String; 6] {
    FILTERS.map(|(file, _)| world.fake.get(file))
}

#[test]
fn filters_of_others_let_events_pass_until_the_last_session_ends() {
    let mut world = filtered();
    let found = filters(&world);
    let before = world.fake.settings();
    assert_eq!(world.run(1, events(&["sched/sched_switch"])).unwrap().notes, Vec::<String>::new());
    let open = ["", "", "99999\n", "schedule\n", "00000007", "none"];
    assert_eq!(filters(&world), open, "nobody wants calls of functions");
    world.run(2, graph(&[], 0)).unwrap();
    let open = ["", "", "", "", "00000007", "none"];
    assert_eq!(filters(&world), open);
    world.stop(1);
    assert_eq!(filters(&world), open);
    world.stop(2);
    assert_eq!(filters(&world), found);
    assert_eq!(world.fake.settings(), before);

    // Its own filters come on top.
    let own = |config: &mut FtraceConfig| {
        config.ftrace_events = strings(&["sched/sched_switch"]);
        config.tids_to_trace = vec![7];
        config.tracing_cpumask = Some("1".to_owned());
    };
    world.run(3, own).unwrap();
    assert_eq!(filters(&world), ["7\n", "", "99999\n", "schedule\n", "1", "none"]);
    world.stop(3);
    assert_eq!(filters(&world), found);

    // A ring that is preserved is recorded as it was set up.
    let preserve = |config: &mut FtraceConfig| {
        config.ftrace_events = strings(&["sched/sched_switch"]);
        config.preserve_ftrace_buffer = Some(true);
    };
    world.run(4, preserve).unwrap();
    let notes = world.run(5, events(&["sched/sched_switch"])).unwrap().notes;
    assert_eq!(filters(&world), found);
    assert!(
        notes.len() == 1 && notes[0].starts_with("filters that others may have left stay"),
        "{notes:?}"
    );
}

#[test]
fn what_is_no_filter_stays() {
    let mut world = World::new();
    world.fake.print("set_event_pid", b"no pid\n");
    world
        .fake
        .print("events/sched/sched_switch/filter", b"prev_pid ==\n^\nparse_error: no value\n");
    world.run(1, events(&["sched/sched_switch"])).unwrap();
    let log = world.fake.take_log();
    assert!(!log.iter().any(|line| line.contains("pid") || line.contains("filter")), "{log:?}");
}

#[test]
fn what_keeps_events_away_and_stays_is_told() {
    let mut world = filtered();
    let found = filters(&world);
    for (file, _) in FILTERS {
        world.fake.fail_writes(file, libc::EPERM);
    }
    let config = |config: &mut FtraceConfig| {
        events(&["sched/sched_switch"])(config);
        graph(&[], 0)(config);
    };
    let notes = world.run(1, config).unwrap().notes;
    let told = |file: &str| notes.iter().filter(|note| note.starts_with(file)).count();
    assert!(FILTERS.iter().all(|(file, _)| told(file) == 1), "{notes:?}");
    assert_eq!(notes.len(), FILTERS.len());
    world.stop(1);
    assert_eq!(filters(&world), found);
    // Lists may have been cleared; of what was not changed nothing is told at the end.
    let is_list = |note: &String| note.contains("Fill");
    assert!(world.notes.len() == 4 && world.notes.iter().all(is_list), "{:?}", world.notes);
}

#[test]
fn a_filter_that_could_not_be_put_back_stays() {
    for filter in [format!("comm == \"{}\"", "x".repeat(5000)), "comm == \"\u{fffd}\"".to_owned()] {
        let mut world = World::new();
        world.fake.set("events/sched/sched_switch/filter", &filter);
        let notes = world.run(1, events(&["sched/sched_switch"])).unwrap().notes;
        assert!(notes.len() == 1 && notes[0].contains("could not be put back"), "{notes:?}");
        assert_eq!(world.fake.get("events/sched/sched_switch/filter"), filter);
    }
}

#[test]
fn triggers_that_end_the_recording_are_told() {
    let trigger = |text: &str| {
        let mut world = World::new();
        world.fake.set("events/sched/sched_switch/trigger", text);
        world.fake.set("events/raw_syscalls/sys_enter/trigger", text);
        let both = events(&["sched/sched_switch", "raw_syscalls/sys_enter"]);
        world.run(1, both).unwrap().notes
    };
    let told = trigger("# Available triggers:\nstacktrace:unlimited\ntraceoff:count=2\ntraceoff\n");
    for event in ["sched/sched_switch", "raw_syscalls/sys_enter"] {
        let begin = format!("{event} has the trigger `traceoff:count=2`, which ends");
        assert_eq!(told.iter().filter(|note| note.starts_with(&begin)).count(), 1, "{told:?}");
    }
    assert_eq!(told.len(), 2);
    let long = trigger(&format!("disable_event:{}", "x".repeat(1 << 20)));
    assert!(long.len() == 2 && long.iter().all(|note| note.len() < 500));
    assert!(trigger("# traceoff\nenable_event:a:b\n").is_empty());

    let mut world = World::new();
    let names: Vec<String> = (0..20).map(|number| format!("user/e{number}")).collect();
    for (id, name) in names.iter().enumerate() {
        for (file, text) in
            [("enable", "0"), ("format", &format!("ID: {id}\n")), ("trigger", "traceoff")]
        {
            world.fake.set(&format!("events/{name}/{file}"), text);
        }
    }
    assert_eq!(world.run(1, |config| config.ftrace_events = names).unwrap().notes.len(), 8);
}

#[test]
fn the_hard_reset() {
    let mut world = World::new();
    world.run(1, everything).unwrap();
    FILTERS.iter().for_each(|(file, text)| world.fake.set(file, text));
    world.fake.take_log();
    assert_eq!(hard_reset(&world.fake), Vec::<String>::new());
    let fake = &world.fake;
    assert_eq!(
        (fake.get("tracing_on").as_str(), fake.get("current_tracer").as_str()),
        ("1", "nop")
    );
    assert_eq!(fake.get("per_cpu/cpu0/buffer_size_kb"), "7");
    assert_eq!(fake.get("trace_clock"), "local");
    assert_eq!(filters(&world), ["", "", "", "", "00000007", "none"]);
    assert_eq!(fake.get("events/raw_syscalls/sys_enter/filter"), "none");
    assert_eq!((world.enabled(), fake.get("kprobe_events").as_str()), (Vec::new(), ""));
    assert!(!crate::ftrace::tracefs::Tracefs::exists(fake, "events/perfetto_kprobes"));
    fake.deny("tracing_on", libc::EACCES);
    fake.deny("trace", libc::EACCES);
    let notes = hard_reset(fake);
    assert!(notes.len() == 3 && notes.iter().all(|note| note.contains("run as root")), "{notes:?}");
}

#[test]
fn the_end_of_the_process_puts_everything_back() {
    let mut world = World::at(used(), Directory::root());
    world.run(1, events(&["sched/*"])).unwrap();
    world.run(2, graph(&["kfree"], 1)).unwrap();
    world.mux.reset(&world.fake, &mut world.notes);
    assert_eq!(world.fake.settings(), used().settings());
    assert!(world.memory.lines.borrow().is_empty() && world.notes.is_empty());
    assert!(world.mux.session(1).unwrap().active().is_none() && world.mux.instance().is_none());
    world.stop(1);
    world.start(2).unwrap();
}
