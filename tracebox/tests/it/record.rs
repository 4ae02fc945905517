//! `tracebox record`.

use std::process::Command;

use protos::TracePacketData;
use rustix::process::Signal;

use crate::world::{Ran, World, has};

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

#[test]
fn stdio_belongs_to_the_command() {
    let world = World::new();
    let ran = run(&world, "-o trace", "echo out; echo err >&2");
    assert_eq!(ran.text(), "out\n");
    // Other threads of ours may be in the middle of a line.
    assert!(ran.stderr.contains("err\n"), "{ran:?}");
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
    assert!(!world.packets("trace").is_empty());
}

#[test]
fn signals_reach_the_command() {
    let world = World::new();
    // Whether Ctrl-C reaches it through a terminal depends on who runs the tests.
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
    // The command does not go with it.
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
    // Refused: the command never runs.
    world.write("c", "buffers { size_kb: 64 } data_sources { config { target_buffer: 9 } }");
    world.run("tracebox record -c c --txt -o trace -- true").failed(125, "service error: ");
}
