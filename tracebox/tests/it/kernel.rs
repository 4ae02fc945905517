//! Events of the kernel, where this user may record them.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use protos::{TraceConfig, TraceConfigDataSource, TracePacketData};
use rustix::fs::{FlockOperation, flock};
use rustix::process::Signal;

use crate::world::{Daemon, Ran, World, has};

const TRACEFS: &str = "/sys/kernel/tracing";

/// What the tests of this file are about.
const EVENTS: &str = "events of the kernel";

/// The tracefs of this machine: no other test of this program uses it until this is dropped. None, and it tells so, if
/// this user may not record the kernel.
pub fn kernel() -> Option<MutexGuard<'static, ()>> {
    static ALONE: Mutex<()> = Mutex::new(());
    if fs::read_dir(Path::new(TRACEFS).join("instances")).is_err() {
        skip::test(EVENTS, &format!("no rights to {TRACEFS}"));
        return None;
    }
    Some(ALONE.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Keeps tests of other programs away, and each `tracebox record`, too.
pub fn claim() -> File {
    let folder = File::open(TRACEFS).unwrap();
    flock(&folder, FlockOperation::LockExclusive).unwrap();
    folder
}

fn config(world: &World, trace: &str) -> TraceConfig {
    let config = world.packets(trace).into_iter().find_map(|packet| match packet.data {
        Some(TracePacketData::TraceConfig(config)) => Some(config),
        _ => None,
    });
    config.unwrap()
}

/// How often a recording may find that another program records. Each time the test waits for that one.
const OTHERS_MAX: usize = 20;

/// The scheduling of the command is in the trace. A line says why not only while another program uses the kernel.
#[test]
fn the_scheduling_of_a_command() {
    let Some(_alone) = kernel() else { return };
    let world = World::new();
    let mut others = 0;
    let ran = loop {
        let mut command = world.command_with_kernel("tracebox record -o trace -- sh -c");
        let ran = Ran::from(command.arg("sleep 0.01; exit 3").output().unwrap());
        assert_eq!(ran.code, Some(3), "{ran:?}");
        let is_told = ran.stderr.contains("Not recorded: when the command's threads run");
        let sources = config(&world, "trace").data_sources;
        let has_ftrace = |source: &TraceConfigDataSource| {
            source.config.as_ref().is_some_and(|config| config.ftrace_config.is_some())
        };
        assert_eq!(sources.iter().any(has_ftrace), !is_told, "{ran:?}");
        if !is_told {
            break ran;
        }
        drop(claim());
        let enabled = fs::read_to_string(Path::new(TRACEFS).join("set_event")).unwrap();
        if !enabled.is_empty() {
            return skip::test(EVENTS, "another program, which takes no lock, records them now");
        }
        others += 1;
        assert!(others < OTHERS_MAX, "nobody else records: {ran:?}");
    };
    // The command slept: something woke it up.
    let has_command = world.packets("trace").iter().any(|packet| match &packet.data {
        Some(TracePacketData::FtraceEvents(bundle)) => {
            let table = bundle.compact_sched.as_ref().map(|sched| &sched.intern_table[..]);
            table.unwrap_or_default().iter().any(|name| name == "sleep")
        }
        _ => false,
    });
    assert!(has_command, "{ran:?}");
}

/// What a session may change, as text.
fn settings() -> Vec<(String, String)> {
    const FILES: &[&str] = &[
        "buffer_percent",
        "buffer_size_kb",
        "current_tracer",
        "events/enable",
        "events/sched/sched_switch/enable",
        "events/sched/sched_switch/filter",
        "kprobe_events",
        "set_event",
        "trace_clock",
        "trace_options",
        "tracing_cpumask",
        "tracing_on",
    ];
    let files = FILES.iter().map(|name| Path::new(TRACEFS).join(name));
    let files = files.chain([Path::new("/proc/sys/kernel/kptr_restrict").to_owned()]);
    let text = |path: &Path| fs::read_to_string(path).unwrap_or_else(|error| error.to_string());
    let mut found: Vec<_> = files.map(|path| (path.display().to_string(), text(&path))).collect();
    let instances = fs::read_dir(Path::new(TRACEFS).join("instances")).unwrap();
    let mut names: Vec<_> = instances.map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    found.push(("instances".to_owned(), format!("{names:?}")));
    found
}

/// Waits until the kernel records what `process` asked for.
fn wait_until_recorded(process: &mut Daemon) {
    let switch = Path::new(TRACEFS).join("events/sched/sched_switch/enable");
    while !fs::read_to_string(&switch).unwrap().starts_with('1') {
        if let Some(status) = process.child.try_wait().unwrap() {
            panic!("it ended before it recorded: {status}");
        }
        std::thread::yield_now();
    }
}

const SESSION: &str = "buffers { size_kb: 4096 } duration_ms: 100";

const SCHED: &str = "buffers { size_kb: 4096 } duration_ms: 120000 data_sources { config { name: 'linux.ftrace' \
                     ftrace_config { ftrace_events: 'sched/sched_switch' buffer_size_kb: 512 \
                     symbolize_ksyms: true drain_period_ms: 100 } } }";

/// A recording that is interrupted is whole, and what it changed in the kernel is put back.
#[test]
fn a_signal_to_a_recording_leaves_the_kernel_as_found() {
    let Some(_alone) = kernel() else { return };
    let _claim = claim();
    let world = World::new();
    world.write("config", SCHED);
    let before = settings();
    for signal in [Signal::INT, Signal::TERM] {
        let mut recording = world.start("tracebox -c config --txt -o trace");
        wait_until_recorded(&mut recording);
        assert_ne!(settings(), before);
        recording.signal(signal);
        recording.end();
        assert_eq!(settings(), before, "{signal:?}");
        let packets = world.packets("trace");
        let has_events = has(&packets, |data| matches!(data, TracePacketData::FtraceEvents(_)));
        assert!(has_events, "{signal:?}");
    }
}

/// Events that the main rings of all processors have lost, since they were emptied.
fn overrun() -> u64 {
    let cpus = fs::read_dir(Path::new(TRACEFS).join("per_cpu")).unwrap();
    let stats = cpus.map(|cpu| fs::read_to_string(cpu.unwrap().path().join("stats")).unwrap());
    let lost = |stats: String| {
        let line = stats.lines().find_map(|line| line.strip_prefix("overrun: ").map(str::to_owned));
        line.unwrap().parse::<u64>().unwrap()
    };
    stats.map(lost).sum()
}

/// A file alone tells what its recorder told.
#[test]
fn a_file_tells_what_the_kernel_lost() {
    let Some(_alone) = kernel() else { return };
    let _claim = claim();
    let world = World::new();
    let small =
        SCHED.replace("512", "16").replace("drain_period_ms: 100", "drain_period_ms: 60000");
    let small =
        small.replace("ftrace_config {", "ftrace_config { ftrace_events: 'raw_syscalls/sys_enter'");
    world.write("config", &small);
    let mut recording = world.start("tracebox -c config --txt -o trace");
    wait_until_recorded(&mut recording);
    let mut nowhere = File::create("/dev/null").unwrap();
    loop {
        let before = overrun();
        (0..10_000).for_each(|_| nowhere.write_all(b"0").unwrap());
        if overrun() > before {
            break;
        }
        assert!(recording.child.try_wait().unwrap().is_none(), "it ended");
    }
    recording.signal(Signal::INT);
    let ran = recording.end().good();
    let what = "events of the kernel that its rings had no space for: ";
    let (_, told) = ran.stderr.split_once(what).unwrap_or_else(|| panic!("{ran:?}"));
    let (events, _) = told.split_once(' ').unwrap();
    let stats = world.run("tracebox stats trace").good();
    let told =
        format!("\nLOST, as the kernel says\n{what}{events} (raise buffer_size_kb of linux.ftrace");
    assert!(stats.text().contains(&told), "{ran:?} {stats:?}");
    let lint = world.run("tracebox lint trace");
    assert_eq!(lint.code, Some(1), "{lint:?}");
    let told = format!(": warning: ftrace_events_lost (events {events}): ");
    assert!(lint.text().contains(&told), "{ran:?} {lint:?}");
}

/// The data sources end while a session records, or the service does.
#[test]
fn probes_that_end_leave_the_kernel_as_found() {
    let Some(_alone) = kernel() else { return };
    let _claim = claim();
    let world = World::new();
    world.write("config", SCHED);
    let before = settings();
    for signal in [Signal::INT, Signal::TERM] {
        let traced = world.traced();
        let mut probes = world.start("tracebox traced_probes");
        let session = world.start("perfetto -c config --txt -o trace");
        wait_until_recorded(&mut probes);
        probes.signal(signal);
        probes.end();
        assert_eq!(settings(), before, "{signal:?} to traced_probes");
        drop((session, traced));
    }
    let traced = world.traced();
    let mut probes = world.start("tracebox traced_probes");
    let session = world.start("perfetto -c config --txt -o trace");
    wait_until_recorded(&mut probes);
    traced.signal(Signal::KILL);
    traced.end();
    while settings() != before {
        assert!(probes.child.try_wait().unwrap().is_none(), "traced_probes ended");
        std::thread::yield_now();
    }
    drop(session);
    // `traced_probes` records again for the next service.
    let _traced = world.traced();
    let _session = world.start("perfetto -c config --txt -o trace");
    wait_until_recorded(&mut probes);
    probes.signal(Signal::TERM);
    probes.end();
    assert_eq!(settings(), before);
}

/// The capabilities that a unit, and what is added to it for the kernel, leave to `traced_probes`, for `setpriv`.
fn capabilities() -> String {
    let texts = [
        include_str!("../../systemd/traced-probes.service"),
        include_str!("../../systemd/kernel.conf"),
    ];
    let lines = texts.iter().flat_map(|text| text.lines());
    let sets = lines.filter_map(|line| line.strip_prefix("CapabilityBoundingSet="));
    let names = sets.flat_map(str::split_whitespace).filter_map(|name| name.strip_prefix("CAP_"));
    let all = names.map(|name| format!(",+{}", name.to_lowercase()));
    format!("-all{}", all.collect::<String>())
}

/// Root with the few capabilities of the unit records the kernel, and may read the addresses of its symbols.
#[test]
fn the_unit_for_the_kernel_has_enough_rights() {
    let Some(_alone) = kernel() else { return };
    if skip::without_root("the_unit_for_the_kernel_has_enough_rights") {
        return;
    }
    let _claim = claim();
    let with_rights_of_unit = || {
        let mut command = Command::new("setpriv");
        command.args(["--no-new-privs", "--bounding-set", &capabilities()]);
        command
    };
    let mut without_rights = Command::new("setpriv");
    without_rights.args(["--no-new-privs", "--bounding-set", "-all", "true"]);
    if !without_rights.status().unwrap().success() {
        let why = "this user may not give up capabilities";
        return skip::test("the_unit_for_the_kernel_has_enough_rights", why);
    }
    let shows_addresses = |mut command: Command| {
        let ran = command.args(["tail", "-n", "1", "/proc/kallsyms"]).output().unwrap();
        assert!(ran.status.success(), "{ran:?}");
        !ran.stdout.starts_with(b"0000000000000000")
    };
    // In some containers root may not see them.
    if shows_addresses(Command::new("env")) {
        assert!(shows_addresses(with_rights_of_unit()));
    }
    let world = World::new();
    world.write("config", SCHED);
    let before = settings();
    let _traced = world.traced();
    let probes = world.command("tracebox traced_probes --keep-kptr-restrict");
    let mut command = with_rights_of_unit();
    command.arg(probes.get_program()).args(probes.get_args()).current_dir(world.path("."));
    for (name, value) in probes.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let mut probes = world.spawn(command);
    probes.read_until("Connected");
    let session = world.start("perfetto -c config --txt -o trace");
    wait_until_recorded(&mut probes);
    session.signal(Signal::INT);
    session.end().good();
    let packets = world.packets("trace");
    assert!(has(&packets, |data| matches!(data, TracePacketData::FtraceEvents(_))));
    probes.signal(Signal::TERM);
    probes.end().good();
    assert_eq!(settings(), before);
}

/// A second recording that would put back what it found of the first one records nothing of the kernel, and tells why.
#[test]
fn a_second_recording_leaves_the_kernel_to_the_first() {
    let Some(_alone) = kernel() else { return };
    let _claim = claim();
    let world = World::new();
    world.write("config", SCHED);
    let before = settings();
    let mut first = world.start("tracebox -c config --txt -o first");
    wait_until_recorded(&mut first);
    let during = settings();
    world.write("second", &SCHED.replace("duration_ms: 120000", "duration_ms: 10"));
    let second = world.run("tracebox -c second --txt -o second-trace").good();
    let why = "linux.ftrace recorded nothing: another program records events of the kernel now";
    assert!(second.stderr.contains(why), "{second:?}");
    assert_eq!(settings(), during);
    first.signal(Signal::INT);
    let first = first.end().good();
    assert!(!first.stderr.contains("recorded nothing"), "{first:?}");
    assert_eq!(settings(), before);
    // The next one has it.
    let third = world.run("tracebox -c second --txt -o third").good();
    assert!(!third.stderr.contains("recorded nothing"), "{third:?}");
}

/// Some of the data sources of a name are refused, each for its own reason. The others record.
#[test]
fn each_refused_data_source_is_told() {
    let Some(_alone) = kernel() else { return };
    let _claim = claim();
    let world = World::new();
    let source = |name: &str, config: &str| {
        format!("data_sources {{ config {{ name: 'linux.{name}' {config} }} }} ")
    };
    let ftrace = |config: &str| source("ftrace", &format!("ftrace_config {{ {config} }}"));
    let sources = [
        ftrace("ftrace_events: 'sched/sched_switch' buffer_size_kb: 512"),
        ftrace("instance_name: '../up'"),
        ftrace("instance_name: 'tests-have-none'"),
        ftrace("instance_name: 'tests-have-none'"),
        source("frozen_ftrace", ""),
    ];
    world.write("config", &format!("{SESSION} {}", sources.concat()));
    let ran = world.run("tracebox -c config --txt -o trace").good();
    let told = ran.stderr.lines().find(|line| line.contains("Lost: ")).unwrap();
    let (_, losses) = told.split_once("Lost: ").unwrap();
    let losses: Vec<&str> = losses.split("; ").collect();
    let is_one = |begin: &str, reason: &str| {
        let is_it = |loss: &&&str| loss.starts_with(begin) && loss.contains(reason);
        losses.iter().filter(is_it).count() == 1
    };
    let recorded = "recorded nothing: instance_name";
    assert!(is_one(&format!("a linux.ftrace data source {recorded}"), "`../up`"), "{told}");
    assert!(is_one("2 linux.ftrace data sources recorded nothing: ", "tests-have-none"), "{told}");
    assert!(is_one(&format!("a linux.frozen_ftrace data source {recorded}"), "missing"), "{told}");
    assert!(!told.contains("its program refused"), "{told}");
    assert!(has(&world.packets("trace"), |data| matches!(data, TracePacketData::FtraceEvents(_))));
}

/// What could be recorded is, and one line says what is missing, and how to get it.
#[test]
fn the_scheduling_of_a_command_without_rights() {
    let world = World::new();
    let mut command = world.command_of_nobody("tracebox record -o trace -- true");
    let ran = Ran::from(command.output().unwrap()).good();
    let told = ran.stderr.lines().filter(|line| line.contains("Not recorded: "));
    let told: Vec<_> = told.collect();
    let [told] = told[..] else { panic!("one line: {ran:?}") };
    assert!(told.contains("when the command's threads run"), "{told}");
    assert!(told.ends_with("use sudo, or see `tracebox doctor`"), "{told}");
    let has_sources = !config(&world, "trace").data_sources.is_empty();
    assert!(
        has_sources
            && has(&world.packets("trace"), |data| {
                matches!(data, TracePacketData::ProcessTree(_))
            }),
        "{ran:?}"
    );
}

#[test]
fn a_switch_leaves_the_kernel_alone() {
    let world = World::new();
    let mut command = world.command_with_kernel("tracebox record --no-sched -o trace -- true");
    let ran = Ran::from(command.output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let names = config(&world, "trace").data_sources;
    let is_ftrace = |name: &str| name == "linux.ftrace";
    assert!(
        !names.iter().any(|s| s.config.as_ref().unwrap().name.as_deref().is_some_and(is_ftrace))
    );
}

#[test]
fn words_that_are_no_category() {
    let world = World::new();
    let ran = world.run("tracebox -o trace sched frq");
    assert!(ran.stderr.contains("did you mean freq or irq?"), "{ran:?}");
    assert_eq!(ran.code, Some(1));
    let ran = world.run("perfetto -o trace sched_switch");
    assert!(ran.stderr.contains("the event is sched/sched_switch."), "{ran:?}");
    assert!(!world.path("trace").exists());
}

/// The doctor names who keeps other recordings away, also if no event is switched on yet.
#[test]
fn the_doctor_names_who_has_claimed_the_kernel() {
    let Some(_alone) = kernel() else { return };
    let _claim = claim();
    let world = World::new();
    let ran = world.run("tracebox doctor");
    let told = format!("(pid {}) has locked tracefs", std::process::id());
    assert!(ran.text().contains(&told), "{ran:?}");
}
