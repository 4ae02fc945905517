//! `tracebox record`.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::{Command, Stdio};

use protos::TracePacketData;
use rustix::process::Signal;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::world::{Ran, World, has, packets};

/// `tracebox record WORDS -- sh -c SCRIPT`.
fn record(world: &World, words: &str, script: &str) -> Command {
    let mut command = world.command(&format!("tracebox record {words} -- sh -c"));
    command.arg(script);
    command
}

fn run(world: &World, words: &str, script: &str) -> Ran {
    Ran::from(record(world, words, script).output().unwrap())
}

fn leftovers(world: &World) -> Vec<String> {
    let names = std::fs::read_dir(world.path("")).unwrap();
    names
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("tracebox-"))
        .collect()
}

#[test]
fn the_code_is_the_commands() {
    let world = World::new();
    for code in [0, 3, 125] {
        let ran = run(&world, "-o trace", &format!("exit {code}"));
        assert_eq!(ran.code, Some(code), "{ran:?}");
        assert!(has(&world.packets("trace"), |data| matches!(
            data,
            TracePacketData::ProcessTree(_)
        )));
    }
    assert_eq!(run(&world, "-o trace", "kill -9 $$").code, Some(137));
    assert!(leftovers(&world).is_empty());
}

/// Ctrl-C before the command runs.
#[test]
fn the_code_of_an_interruption() {
    let world = World::new();
    world.write(
        "c",
        "buffers { size_kb: 64 } data_sources { config { name: 'linux.sys_stats' } }
         cmd_trace_start_delay { min_delay_ms: 600000 max_delay_ms: 600000 }",
    );
    let mut record = world.start("tracebox record -c c --txt -o trace -- touch ran");
    record.read_until("Tracing starts in");
    record.signal(Signal::INT);
    record.end().failed(130, "interrupted before the trace began");
    assert!(!world.path("ran").exists());
    assert!(leftovers(&world).is_empty());
}

#[test]
fn stdio_belongs_to_the_command() {
    let world = World::new();
    let ran = run(&world, "-o trace", "echo out; echo err >&2");
    assert_eq!(ran.text(), "out\n");
    // Other threads of the recorder may be in the middle of a line.
    assert!(ran.stderr.contains("err\n"), "{ran:?}");
}

/// The command's stdout does not get into the trace.
#[test]
fn a_trace_to_stdout() {
    let world = World::new();
    let script = "echo out; echo err >&2";
    for name in ["-", "/dev/stdout"] {
        let ran = run(&world, &format!("-o {name}"), script);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stderr.contains("out\n") && ran.stderr.contains("err\n"), "{ran:?}");
        assert!(has(&packets(&ran.stdout), |data| matches!(data, TracePacketData::TraceConfig(_))));
    }
    let mut command = record(&world, "-o trace", script);
    command.stdout(File::create(world.path("trace")).unwrap());
    let ran = Ran::from(command.output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("out\n"), "{ran:?}");
    assert!(!world.packets("trace").is_empty());
    let mut command = record(&world, "-o /dev/null", script);
    command.stdout(File::create("/dev/null").unwrap());
    let ran = Ran::from(command.output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!ran.stderr.contains("out\n"), "{ran:?}");
}

/// A terminal: what it shows, and what a program writes to.
fn terminal() -> (File, File) {
    let pty = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&pty).unwrap();
    unlockpt(&pty).unwrap();
    let name = ptsname(&pty, Vec::new()).unwrap();
    // Not the terminal of this process, if it is the first of its session.
    let flags = rustix::fs::OFlags::NOCTTY.bits().cast_signed();
    let mut options = File::options();
    let terminal = options.read(true).write(true).custom_flags(flags).open(name.to_str().unwrap());
    let terminal = terminal.unwrap();
    (File::from(pty), terminal)
}

/// The terminal is the command's while it runs, even if it runs for longer than a progress line waits: a second
/// recorder, which starts later, shows one before the command ends.
#[test]
fn no_progress_on_the_terminal_of_the_command() {
    let world = World::new();
    let (mut shown, terminal) = self::terminal();
    let mut command = record(&world, "-o trace", "printf prompt; read line");
    command.stdin(Stdio::piped()).stderr(terminal.try_clone().unwrap()).stdout(terminal);
    let mut child = command.spawn().unwrap();
    drop(command);
    let mut all = vec![0; "prompt".len()];
    shown.read_exact(&mut all).unwrap();

    let (mut other_shown, terminal) = self::terminal();
    let mut command = world.command("tracebox -t 0 -o other");
    command.stdout(Stdio::null()).stderr(terminal);
    let mut other = command.spawn().unwrap();
    drop(command);
    let mut text = Vec::new();
    // A busy machine may show another number of seconds first.
    let is_shown = |text: &[u8]| {
        let text = String::from_utf8_lossy(text);
        text.split("recording ").skip(1).any(|rest| rest.starts_with(|c| ('1'..='9').contains(&c)))
    };
    while !is_shown(&text) {
        let mut byte = [0];
        other_shown.read_exact(&mut byte).unwrap();
        text.extend(byte);
    }
    other.kill().unwrap();
    other.wait().unwrap();

    drop(child.stdin.take());
    child.wait().unwrap();
    // Without a writer the terminal ends with an error.
    let _ = shown.read_to_end(&mut all);
    let all = String::from_utf8(all).unwrap();
    assert!(all.starts_with("promptWrote "), "{all:?}");
}

/// The message that the recording has ended waits until the command does not need the terminal any more.
#[test]
fn the_end_of_the_recording_is_told_behind_the_command() {
    let world = World::new();
    world.write(
        "c",
        "buffers { size_kb: 64 } duration_ms: 50 data_sources { config { name: 'none' } }",
    );
    let (mut shown, terminal) = self::terminal();
    let script = "printf begin; while [ ! -s trace ]; do :; done; echo end";
    let mut command = record(&world, "-o trace -c c --txt", script);
    command.stderr(terminal.try_clone().unwrap()).stdout(terminal);
    let mut child = command.spawn().unwrap();
    drop(command);
    let mut all = Vec::new();
    // Without a writer the terminal ends with an error.
    let _ = shown.read_to_end(&mut all);
    child.wait().unwrap();
    let all = String::from_utf8(all).unwrap();
    assert!(all.starts_with("beginend\r\nThe recording has ended before the command"), "{all:?}");
}

#[test]
fn no_trace_on_a_terminal() {
    let world = World::new();
    let (mut shown, terminal) = self::terminal();
    let mut command = world.command("tracebox -t 1s -o /dev/stdout");
    command.stderr(terminal.try_clone().unwrap()).stdout(terminal);
    let mut child = command.spawn().unwrap();
    drop(command);
    let mut all = Vec::new();
    let _ = shown.read_to_end(&mut all);
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let all = String::from_utf8_lossy(&all);
    assert!(all.starts_with("tracebox: a trace is binary: not written to a terminal"), "{all:?}");
}

/// A signal to the recorder alone, as `kill` or a closed terminal sends it.
#[test]
fn a_hangup_leaves_nothing_behind() {
    let world = World::new();
    let mut tracebox =
        world.spawn(record(&world, "-o trace", "echo ready; exec sleep 3600 >/dev/null 2>&1"));
    let mut line = [0; 6];
    tracebox.child.stdout.as_mut().unwrap().read_exact(&mut line).unwrap();
    tracebox.signal(Signal::HUP);
    assert_eq!(tracebox.end().code, Some(128 + 1), "the command got it, too");
    assert!(!world.packets("trace").is_empty());
    assert!(leftovers(&world).is_empty());
    let mut tracebox = world.start("tracebox -t 0 -o trace");
    tracebox.read_until("until Ctrl-C");
    tracebox.signal(Signal::HUP);
    tracebox.end().good();
    assert!(!world.packets("trace").is_empty());
}

#[test]
fn the_command_finds_the_service() {
    let world = World::new();
    let perfetto = env!("CARGO_BIN_EXE_perfetto");
    let ran = run(&world, "-o trace", &format!("{perfetto} --query --long"));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.text().contains("Sessions: 1 (1 started)"), "{ran:?}");
    assert!(ran.text().contains("linux.sys_stats"), "{ran:?}");
    let ran = run(&world, "-o trace", "echo $PERFETTO_PRODUCER_SOCK_NAME");
    assert!(ran.text().starts_with(world.path("tracebox-").to_str().unwrap()), "{ran:?}");
    let ran = run(&world, "-o trace", "echo $TRACING_INIT_WAIT_MS");
    assert_eq!(ran.text(), "2000\n", "programs with tracing-sdk wait until they are recorded");
}

#[test]
fn a_config_that_ends_first() {
    let world = World::new();
    world.write(
        "c",
        "buffers { size_kb: 64 } duration_ms: 50 data_sources { config { name: 'none' } }",
    );
    let ran = run(&world, "-o trace -c c --txt", "while [ ! -s trace ]; do :; done; exit 4");
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(ran.stderr.contains("The recording has ended before the command"), "{ran:?}");
    assert!(!world.packets("trace").is_empty());
}

#[test]
fn signals_reach_the_command() {
    let world = World::new();
    // SIGTERM: Ctrl-C may reach the command through the terminal of the tests as well.
    let script = "trap 'exit 9' TERM; echo ready; while :; do :; done";
    let mut tracebox = world.spawn(record(&world, "-o trace", script));
    let mut line = [0; 6];
    std::io::Read::read_exact(tracebox.child.stdout.as_mut().unwrap(), &mut line).unwrap();
    tracebox.signal(Signal::TERM);
    assert_eq!(tracebox.end().code, Some(9));
    assert!(!world.packets("trace").is_empty());
}

#[test]
fn what_a_killed_one_leaves_the_next_removes() {
    let world = World::new();
    let mut tracebox = world.spawn(record(&world, "-o trace", "echo $$; exec sleep 3600"));
    let mut pid = String::new();
    let stdout = tracebox.child.stdout.take().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut pid).unwrap();
    tracebox.signal(Signal::KILL);
    tracebox.child.wait().unwrap();
    // The command still runs.
    let command = rustix::process::Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
    rustix::process::kill_process(command, Signal::KILL).unwrap();
    assert_eq!(leftovers(&world).len(), 1);
    std::fs::create_dir(world.path("tracebox-of-another-kind")).unwrap();
    assert_eq!(run(&world, "-o trace", "exit 0").code, Some(0));
    assert_eq!(leftovers(&world), ["tracebox-of-another-kind"]);
}

#[test]
fn failures() {
    let world = World::new();
    world
        .run("tracebox record -o trace -- no-such-command")
        .failed(127, "cannot run \"no-such-command\"");
    world.run("tracebox record -o trace -- /etc/passwd").failed(126, "cannot run \"/etc/passwd\"");
    world.run("tracebox record -o trace").failed(125, "COMMAND");
    world.run("tracebox record -- true").failed(125, "say with -o");
    world.run("tracebox record -o no/such/file -- true").failed(125, "cannot write no/such/file");
    world.run("tracebox record -c nowhere -o trace -- true").failed(125, "cannot read the config");
    assert!(!world.path("trace").exists());
    assert!(leftovers(&world).is_empty());
    // The recording is refused, and the command never runs.
    world.write("c", "buffers { size_kb: 64 } data_sources { config { target_buffer: 9 } }");
    world.run("tracebox record -c c --txt -o trace -- true").failed(125, "service error: ");
}
