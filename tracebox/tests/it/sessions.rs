//! Sessions that another consumer uses: detached, attached, cloned.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, symlink};

use protos::TracePacketData;
use rustix::process::Signal;

use crate::world::{Daemon, Ran, World, has, packets};

const RING: &str = "buffers { size_kb: 64 } data_sources { config { name: 'none' } }";

fn is_config(data: &TracePacketData) -> bool {
    matches!(data, TracePacketData::TraceConfig(_))
}

/// A config with a file that the service writes.
fn into_file() -> String {
    format!("{RING} write_into_file: true file_write_period_ms: 100")
}

/// The `unique_session_name` in the config of a trace.
fn name_of_session(world: &World, name: &str) -> String {
    let config = world.packets(name).into_iter().find_map(|packet| match packet.data {
        Some(TracePacketData::TraceConfig(config)) => Some(config),
        _ => None,
    });
    config.unwrap().unique_session_name.unwrap()
}

/// Starts a session that runs until it is stopped.
fn running(world: &World, config: &str, name: &str) -> Daemon {
    world.write(name, &format!("{config} unique_session_name: '{name}'"));
    let mut perfetto = world.start(&format!("perfetto -c {name} --txt -o {name}.pftrace"));
    perfetto.read_until("starting tracing");
    perfetto.wait_for(world, |state| {
        let named = |session: &protos::TracingServiceStateTracingSession| {
            session.unique_session_name.as_deref() == Some(name) && session.is_started == Some(true)
        };
        state.tracing_sessions.iter().any(named)
    });
    perfetto
}

#[test]
fn detached_and_taken_over() {
    let world = World::new();
    let _traced = world.traced();
    world.write("c", &into_file());
    world.run("perfetto --is_detached=k").failed(2, "");
    world.run("perfetto --detach=k -c c --txt -o trace").good();
    world.run("perfetto --is_detached=k").good();
    world.run("perfetto --is_detached=k").good();
    world.run("perfetto --detach=k -c c --txt -o other").failed(1, "under \"k\" already");
    let ran = world.run("perfetto --attach=k --stop --strict").good();
    assert!(ran.stderr.contains("Trace written into the output file"), "{ran:?}");
    assert!(has(&world.packets("trace"), is_config));
    world.run("perfetto --is_detached=k").failed(2, "");
    world.run("perfetto --attach=k").failed(2, "no session to attach to under \"k\"");
}

#[test]
fn attached_until_its_end() {
    let world = World::new();
    let _traced = world.traced();
    world.write("c", &into_file());
    world.run("perfetto --detach=k -c c --txt -o trace").good();
    let mut perfetto = world.start("perfetto --attach=k");
    perfetto.read_until("Attached to the session");
    perfetto.signal(Signal::INT);
    perfetto.end().good();
    assert!(has(&world.packets("trace"), is_config));
}

#[test]
fn detach_needs_a_session_and_a_file() {
    let world = World::new();
    let _traced = world.traced();
    world.write("c", RING);
    world.run("perfetto --detach=k -c c --txt -o trace").failed(1, "write_into_file");
    world.write("c", &into_file().replace("name: 'none'", "target_buffer: 9"));
    world.run("perfetto --detach=k -c c --txt -o trace").failed(1, "service error: ");
    assert!(!world.path("trace").exists());
}

/// The service is given the file before it can refuse the session.
#[test]
fn the_older_file_goes_when_the_session_is_accepted() {
    let world = World::new();
    let _traced = world.traced();
    world.write("trace", "of another time");
    std::fs::set_permissions(world.path("trace"), Permissions::from_mode(0o640)).unwrap();
    symlink("trace", world.path("link")).unwrap();
    world.write("c", &into_file());
    world.run("perfetto --detach=k -c c --txt -o first").good();
    let is_older = || std::fs::read(world.path("trace")).unwrap() == b"of another time";
    world.run("perfetto --detach=k -c c --txt -o trace").failed(1, "under \"k\" already");
    assert!(is_older());
    world.write("refused", &into_file().replace("name: 'none'", "target_buffer: 9"));
    for line in ["", " --detach=other", " -d"] {
        let line = format!("perfetto -c refused --txt -o trace{line}");
        world.run(&line).failed(1, "service error: ");
        assert!(is_older(), "{line}");
    }
    assert!(!world.has_hidden_files());

    world.run("perfetto --attach=k --stop").good();
    world.run("perfetto --detach=k -c c --txt -o link").good();
    assert!(!is_older());
    world.run("perfetto --attach=k --stop").good();
    assert!(has(&world.packets("trace"), is_config));
    world.write("c", &format!("{} duration_ms: 100", into_file()));
    world.run("perfetto -c c --txt -o link").good();
    assert!(has(&world.packets("trace"), is_config));
    let mode = std::fs::metadata(world.path("trace")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    assert!(world.path("link").is_symlink() && !world.has_hidden_files());
}

#[test]
fn cloned_by_name_and_id() {
    let world = World::new();
    let _traced = world.traced();
    let ring = running(&world, RING, "ring");
    world.write("copy", "of another time");
    let ran = world.run("perfetto --clone-by-name ring -o copy --strict").good();
    assert!(ran.stderr.contains("\nLost: 0\n"), "{ran:?}");
    assert!(has(&world.packets("copy"), is_config));
    let id = world.state().tracing_sessions[0].id.unwrap();
    // Twice, because the session continues; and into a pipe.
    let ran = world.run(&format!("perfetto --clone {id} -o -")).good();
    assert!(has(&packets(&ran.stdout), is_config));
    world.run(&format!("perfetto --clone {id} -o copy --no-clobber")).failed(1, "File exists");
    ring.signal(Signal::INT);
    ring.end().good();
    world
        .run("perfetto --clone-by-name ring -o new")
        .failed(1, "session \"ring\": service error: ");
    world
        .run(&format!("perfetto --clone {id} -o copy"))
        .failed(1, "session not found (perfetto --query");
    assert!(!world.path("new").exists());
    assert!(has(&world.packets("copy"), is_config), "a failure keeps the older trace");
}

#[test]
fn a_clone_of_a_session_with_a_file() {
    let world = World::new();
    let _traced = world.traced();
    let long = running(&world, &into_file(), "long");
    let ran = world.run("perfetto --clone-by-name long -o copy").good();
    assert!(ran.stderr.contains("Trace written into the output file: "), "{ran:?}");
    assert!(has(&world.packets("copy"), is_config));
    let longer = vec![0; 1 << 20];
    std::fs::write(world.path("copy"), longer).unwrap();
    world.run("perfetto --clone-by-name long -o copy").good();
    assert!(has(&world.packets("copy"), is_config), "nothing of what was there is left");
    let ran = world.run("perfetto --clone-by-name long -o -").good();
    assert!(has(&packets(&ran.stdout), is_config));
    long.signal(Signal::INT);
    long.end().good();
}

#[test]
fn bug_reports() {
    let world = World::new();
    let _traced = world.traced();
    world.run("perfetto --save-for-bugreport").failed(1, "service error: ");
    let ran = world.run("perfetto --save-all-for-bugreport").good();
    assert!(ran.stderr.contains("nothing to save"), "{ran:?}");
    assert!(!world.path("systrace.pftrace").exists());

    let scored = |score: &str| format!("{RING} bugreport_score: {score}");
    let sessions = [
        running(&world, &scored("5"), "five"),
        running(&world, &scored("9"), "nine"),
        running(&world, &scored("7 bugreport_filename: 'mine.pftrace'"), "seven"),
        running(&world, RING, "none"),
    ];
    // In a directory that all users can write to, the name may be a link.
    world.write("precious", "precious");
    symlink(world.path("precious"), world.path("systrace.pftrace")).unwrap();
    world.run("perfetto --save-for-bugreport --no-clobber").failed(1, "File exists");
    world.run("perfetto --save-for-bugreport").good();
    assert_eq!(name_of_session(&world, "systrace.pftrace"), "nine");
    assert_eq!(std::fs::read(world.path("precious")).unwrap(), b"precious");

    world.run("perfetto --save-all-for-bugreport").good();
    assert_eq!(name_of_session(&world, "systrace.pftrace"), "nine");
    assert_eq!(name_of_session(&world, "systrace_1.pftrace"), "five");
    assert_eq!(name_of_session(&world, "mine.pftrace"), "seven");
    for session in sessions {
        session.signal(Signal::INT);
        session.end().good();
    }
}

/// In `/tmp`, nobody can replace the file of another user.
#[test]
fn bug_reports_of_two_users() {
    let are_two = !skip::without_root("bug_reports_of_two_users, of another user");
    let world = World::new();
    let start = |line: &str| world.spawn(world.command_of_nobody(line));
    let mut traced = start("tracebox traced");
    traced.read_until("listening on");
    world.write("c", &format!("{RING} bugreport_score: 5"));
    let mut session = start("tracebox perfetto -c c --txt -o trace");
    session.wait_for_sessions(&world, 1);
    std::fs::create_dir(world.path("shared")).unwrap();
    std::fs::set_permissions(world.path("shared"), Permissions::from_mode(0o1777)).unwrap();
    world.write("shared/systrace.pftrace", "of the other user");
    for option in ["--save-for-bugreport", "--save-all-for-bugreport"] {
        let mut command = world.command_of_nobody(&format!("tracebox perfetto {option}"));
        let ran: Ran = command.env("TMPDIR", world.path("shared")).output().unwrap().into();
        ran.good();
        let name = if are_two { "systrace_1.pftrace" } else { "systrace.pftrace" };
        assert!(has(&world.packets(&format!("shared/{name}")), is_config));
        let names = std::fs::read_dir(world.path("shared")).unwrap();
        assert_eq!(names.count(), if are_two { 2 } else { 1 });
    }
}
