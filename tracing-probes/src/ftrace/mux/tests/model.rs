//! Random sessions against a model: the kernel's set is the union of what started sessions want.

use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Step {
    SetUp(SessionId, usize),
    Start(SessionId),
    Stop(SessionId),
    /// The next start fails after so many changes.
    Fail(usize),
    /// The process is killed after so many changes of the next start.
    Kill(usize),
}

const CONFIGS: usize = 7;

fn edit(kind: usize, config: &mut FtraceConfig) {
    match kind {
        0 => config.ftrace_events = strings(&["sched/sched_switch", "sched/sched_waking"]),
        1 => config.ftrace_events = strings(&["sched/*", "power/cpu_idle", "no/such"]),
        2 => config.syscall_events = strings(&["sys_read", "sys_write"]),
        3 => {
            config.ftrace_events = strings(&["raw_syscalls/*"]);
            config.syscall_events = strings(&["sys_getpid"]);
        }
        4 => {
            graph(&["kfree"], 0)(config);
            config.ftrace_events = strings(&["user/made_by_hand"]);
        }
        5 => {
            graph(&["vfs_read", "schedule"], 0)(config);
            config.drain_buffer_percent = Some(25);
        }
        _ => {
            config.ftrace_events = strings(&["power/*"]);
            config.drain_buffer_percent = Some(75);
            config.buffer_size_kb = Some(64);
            kprobes(config);
        }
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (0..3u64, 0..CONFIGS).prop_map(|(id, kind)| Step::SetUp(id, kind)),
        3 => (0..3u64).prop_map(Step::Start),
        2 => (0..3u64).prop_map(Step::Stop),
        1 => (0..25usize).prop_map(Step::Fail),
        1 => (0..25usize).prop_map(Step::Kill),
    ];
    proptest::collection::vec(step, 1..40)
}

/// What started sessions want, by their own lists.
fn check(world: &World) {
    let started: Vec<&Session> =
        world.mux.sessions.values().filter(|s| s.active.is_some()).collect();
    let mut union = BTreeSet::new();
    let (mut filters, mut syscalls, mut percent) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
    for session in &started {
        let active = session.active.as_ref().unwrap();
        union
            .extend(active.events.keys().filter(|e| e.group != "ftrace").map(EventName::to_string));
        filters.extend(session.config.graph.iter().flat_map(|g| g.filters.clone()));
        if let Syscalls::Only(numbers) = &active.syscalls {
            syscalls.extend(numbers.iter().map(|n| format!("id == {n}")));
        }
        percent.extend(session.config.drain_percent);
    }
    if started.is_empty() {
        assert_eq!(world.fake.settings(), used().settings());
        assert!(world.memory.lines.borrow().is_empty());
        return;
    }
    if !world.mux.instance().unwrap().is_all_off {
        // The kernel refused to switch the events of others off.
        union.insert("power/cpu_idle".to_owned());
    }
    assert_eq!(world.fake.enabled(""), union);
    let functions: BTreeSet<String> =
        world.fake.get("set_ftrace_filter").lines().map(str::to_owned).collect();
    let is_on = world.fake.get("current_tracer") == "function_graph";
    assert_eq!(is_on, !filters.is_empty());
    if is_on {
        assert_eq!(functions, filters);
    }
    if !syscalls.is_empty() {
        let filter: BTreeSet<String> = world
            .fake
            .get("events/raw_syscalls/sys_exit/filter")
            .split(" || ")
            .map(str::to_owned)
            .collect();
        // The numbers are sorted as numbers.
        assert_eq!(filter, syscalls);
    }
    let percent = percent.iter().min().map_or("10".to_owned(), u32::to_string);
    let is_refused = started.iter().any(|s| {
        s.active.as_ref().unwrap().notes.iter().any(|note| note.contains("drain_buffer_percent"))
    });
    assert!(is_refused || world.fake.get("buffer_percent") == percent);
    assert_eq!(world.fake.get("tracing_on"), "1");
}

/// The process starts anew, and puts back what the one before left.
fn restart(world: World) -> World {
    let World { fake, memory, .. } = world;
    let record = [header(BOOT).as_bytes(), memory.lines.borrow().as_slice()].concat();
    let mut notes = Vec::new();
    change::undo(&fake, &parse(&record, BOOT), &mut notes);
    assert_eq!(notes, Vec::<String>::new());
    assert_eq!(fake.settings(), used().settings());
    World::at(fake, Directory::root())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn the_kernel_records_the_union(steps in steps()) {
        let mut world = World::at(used(), Directory::root());
        let mut kills = false;
        for step in steps {
            match step {
                Step::SetUp(id, kind) => _ = world.set_up(id, |c| edit(kind, c)),
                Step::Start(id) => {
                    let result = world.start(id);
                    let is_killed = world.fake.is_killed().get();
                    world.fake.take_failure();
                    if std::mem::take(&mut kills) && is_killed {
                        world = restart(world);
                    } else if let Err(error) = result {
                        prop_assert!(error.contains("; ") || error.contains("not set up"), "{error}");
                    }
                }
                Step::Stop(id) => {
                    world.fake.take_failure();
                    kills = false;
                    world.stop(id);
                }
                Step::Fail(changes) => {
                    kills = false;
                    world.fake.take_failure();
                    world.fake.fail_after(changes, libc::EIO);
                }
                Step::Kill(changes) => {
                    kills = true;
                    world.fake.kill_after(changes);
                }
            }
            check(&world);
        }
        world.fake.take_failure();
        (0..3).for_each(|id| world.stop(id));
        check(&world);
    }
}
