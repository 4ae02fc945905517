//! Light mode: what is recorded with and without rights to the kernel's events, and what is told of the rest.

use std::collections::BTreeSet;

use protos::{TracePacket, TracePacketData};

use crate::kernel::{claim, kernel};
use crate::world::{Ran, World, has};

/// What each line begins with that tells of events which are not in the trace.
const MISSING: &str = "Not recorded";

/// The lines that tell of missing events.
fn missing(ran: &Ran) -> Vec<&str> {
    ran.stderr.lines().filter(|line| line.contains(MISSING)).collect()
}

/// What needs no rights is in the trace: the processors, and this process.
fn has_the_rest(packets: &[TracePacket]) -> bool {
    let own_pid = std::process::id().cast_signed();
    let has_this = packets.iter().any(|packet| match &packet.data {
        Some(TracePacketData::ProcessTree(tree)) => {
            tree.processes.iter().any(|process| process.pid == Some(own_pid))
        }
        _ => false,
    });
    has_this && has_processors(packets)
}

fn has_processors(packets: &[TracePacket]) -> bool {
    has(packets, |data| matches!(data, TracePacketData::CpuInfo(_)))
}

fn has_events(packets: &[TracePacket]) -> bool {
    has(packets, |data| matches!(data, TracePacketData::FtraceEvents(_)))
}

/// Without rights all else is recorded, and one line says what is missing, why, and what to do.
#[test]
fn without_rights() {
    let world = World::new();
    let line = "tracebox sched freq idle -t 200ms -o";
    let run = |rest: &str| -> Ran {
        world.command_of_nobody(&format!("{line} {rest}")).output().unwrap().into()
    };
    let ran = run("trace").good();
    let told = missing(&ran);
    let [told] = told[..] else { panic!("one line: {ran:?}") };
    assert!(told.contains("events of the kernel (sched, freq, idle), because "), "{told}");
    assert!(told.ends_with("use sudo, or see `tracebox doctor`"), "{told}");
    let packets = world.packets("trace");
    assert!(has_the_rest(&packets) && !has_events(&packets), "{ran:?}");
    // Who cannot do without these events learns it by the exit code.
    run("strict --strict").failed(3, "events of the kernel (sched, freq, idle)");
    assert!(!world.path("strict").exists());
    // A wrong word is refused all the same.
    run("other frq").failed(1, "did you mean freq or irq?");
}

/// With a service and data sources that have no rights, all else is recorded, and a line says what is missing: one at
/// the start, and one with the reason at the end.
#[test]
fn probes_without_rights() {
    let world = World::new();
    let start = |line: &str| world.spawn(world.command_of_nobody(line));
    let mut traced = start("tracebox traced");
    traced.read_until("listening on");
    let mut probes = start("tracebox traced_probes");
    probes.wait_for(&world, |state| {
        let names = state.data_sources.iter().filter_map(|of| of.ds_descriptor.as_ref());
        names.filter(|of| of.name.as_deref() == Some("linux.systemd_journald")).count() == 1
    });
    let line = "tracebox perfetto sched freq idle -t 200ms -o";
    let run = |rest: &str| -> Ran {
        world.command_of_nobody(&format!("{line} {rest}")).output().unwrap().into()
    };
    let mut recording = start("tracebox perfetto sched freq idle -t 0 -o trace");
    recording.read_until("Lost from the start: linux.ftrace of ");
    recording.signal(rustix::process::Signal::INT);
    let ran = recording.end().good();
    let told: Vec<_> = ran.stderr.lines().filter(|line| line.contains("linux.ftrace")).collect();
    let [told] = told[..] else { panic!("one line at the end: {ran:?}") };
    assert!(told.contains("linux.ftrace recorded nothing: "), "{told}");
    assert!(told.contains("as root, or see `tracebox doctor`"), "{told}");
    let packets = world.packets("trace");
    assert!(has_processors(&packets) && !has_events(&packets), "{ran:?}");
    let ran = run("strict --strict").failed(3, "data was lost, and --strict was asked for");
    assert!(ran.stderr.contains("linux.ftrace recorded nothing: "), "{ran:?}");
    // The data sources tell it, too, and once.
    probes.signal(rustix::process::Signal::TERM);
    let log = probes.end().good().stderr;
    assert_eq!(log.matches("cannot read tracefs").count(), 1, "{log}");
}

/// Events that this kernel has in some categories, and the categories of which it has none.
fn categories(world: &World) -> (BTreeSet<String>, BTreeSet<String>) {
    let json = world.run("tracebox doctor --json");
    let list = json.text().split_once("\"categories\":").unwrap().1.split_once(']').unwrap().0;
    let number = |entry: &str, key: &str| -> u32 {
        let rest = entry.split_once(&format!("\"{key}\": ")).expect(entry).1;
        rest.trim_start_matches('"')
            .split(|c: char| !c.is_ascii_digit())
            .next()
            .unwrap()
            .parse()
            .unwrap()
    };
    let entries = list.split('{').skip(1).map(|entry| {
        let name = entry.split_once("\"name\": \"").expect(entry).1.split_once('"').unwrap().0;
        (name.to_owned(), number(entry, "events_here") > 0)
    });
    let (here, none): (Vec<_>, Vec<_>) = entries.partition(|(_, is_here)| *is_here);
    let names = |entries: Vec<(String, bool)>| entries.into_iter().map(|(name, _)| name).collect();
    (names(here), names(none))
}

/// What is recorded with rights: the events of each category, and one line with the categories that the kernel lacks.
#[test]
fn with_rights() {
    let Some(_alone) = kernel() else { return };
    let world = World::new();
    let (here, none) = categories(&world);
    assert!(here.contains("sched"), "{here:?}");
    let words = ["sched", "freq", "idle", "mmc"];
    let lacked: Vec<&str> = words.into_iter().filter(|word| none.contains(*word)).collect();
    let check = |ran: Ran, trace: &str| {
        let packets = world.packets(trace);
        assert!(has_processors(&packets) && has_events(&packets), "{ran:?}");
        let told = missing(&ran);
        match (&lacked[..], &told[..]) {
            ([], []) => {}
            (lacked, [line]) => {
                let names = line.split_once("this kernel does not have it: ").expect(line).1;
                let mut names: Vec<&str> = names.split(", ").collect();
                names.sort_by_key(|name| words.iter().position(|word| word == name));
                assert_eq!(names, lacked, "{ran:?}");
            }
            _ => panic!("{lacked:?}: {ran:?}"),
        }
    };
    let light = "sched freq idle mmc -t 200ms -o trace";
    // Another program may record now: then this one waits for it.
    let is_taken = |ran: &Ran| ran.stderr.contains("records them now");
    let run = |_| {
        let ran = world.run(&format!("tracebox {light}")).good();
        if is_taken(&ran) {
            drop(claim());
        }
        ran
    };
    let ran = (0..20).map(run).find(|ran| !is_taken(ran)).expect("the others end");
    check(ran, "trace");
    let _claim = claim();
    let _traced = world.traced();
    let mut probes = world.start("tracebox traced_probes");
    probes.wait_for(&world, |state| !state.data_sources.is_empty());
    check(world.run(&format!("perfetto {light}")).good(), "trace");
}

/// A reset that this user has no rights for fails, and tells what to do.
#[test]
fn a_reset_without_rights() {
    let world = World::new();
    for line in ["tracebox --reset-ftrace", "tracebox traced_probes --cleanup-after-crash"] {
        let ran: Ran = world.command_of_nobody(line).output().unwrap().into();
        ran.failed(1, "as root, or see `tracebox doctor`");
    }
}
