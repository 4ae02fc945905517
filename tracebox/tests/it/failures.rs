//! A failure prints one line, and leaves no file behind.

use rustix::process::Signal;

use crate::world::World;

const ENDLESS: &str = "buffers { size_kb: 64 } data_sources { config { name: 'none' } }";

#[test]
fn without_a_service() {
    let world = World::new();
    world.write("old", "precious");
    let ran = world.run("perfetto -t 1s -o new").failed(1, "(is traced running?)");
    assert!(
        ran.stderr
            .contains("`tracebox traced --background && tracebox traced_probes --background`"),
        "{ran:?}"
    );
    assert!(!world.path("new").exists());
    world.run("perfetto -t 1s -o old").failed(1, "(is traced running?)");
    assert_eq!(std::fs::read_to_string(world.path("old")).unwrap(), "precious");
    for line in [
        "perfetto --query",
        "perfetto --query --json",
        "perfetto --query-raw",
        "perfetto --attach=k",
        "perfetto --is_detached=k",
        "perfetto --clone 1 -o new",
        "perfetto --save-for-bugreport",
        "perfetto --save-all-for-bugreport",
        "trigger_perfetto a",
    ] {
        world.run(line).failed(1, "(is traced running?)");
    }
    let ran = world.run("trigger_perfetto a");
    let address = world.path("producer");
    let expected = format!("cannot connect to {0}: No such file", address.display());
    assert!(ran.stderr.contains(&expected), "the address is there once: {ran:?}");
    world.write("c", "activate_triggers: 'a'");
    world.run("perfetto -c c --txt").failed(1, "(is traced running?)");
    assert!(!world.path("new").exists() && !world.path("systrace.pftrace").exists());
}

#[test]
fn the_service_refuses() {
    let world = World::new();
    let _traced = world.traced();
    world.write("c", "duration_ms: 100 data_sources { config { name: 'x' target_buffer: 7 } } buffers { size_kb: 64 }");
    let ran = world.run("perfetto -c c --txt -o trace").failed(1, "service error: ");
    assert!(!world.path("trace").exists(), "{ran:?}");
}

#[test]
fn the_socket_of_producers() {
    let world = World::new();
    let _traced = world.traced();
    let mut command = world.command("perfetto -t 1s -o trace");
    command.env("PERFETTO_CONSUMER_SOCK_NAME", world.path("producer"));
    let ran = crate::world::Ran::from(command.output().unwrap());
    ran.failed(1, "is this not its consumer socket?");
    assert!(!world.path("trace").exists());
}

#[test]
fn the_service_dies() {
    let world = World::new();
    let traced = world.traced();
    world.write("c", ENDLESS);
    let mut perfetto = world.start("perfetto -c c --txt -o trace");
    perfetto.read_until("starting tracing");
    traced.signal(Signal::KILL);
    perfetto.end().failed(1, "the service went away while recording");
    assert!(!world.path("trace").exists());
}

#[test]
fn bad_configs() {
    let world = World::new();
    world.write("c", "buffers {\n  size_kb: 1x\n}\nnope: 1");
    let ran = world.run("perfetto -c c --txt -o trace");
    assert_eq!(ran.code, Some(1));
    assert_eq!(
        ran.stderr,
        "perfetto: the config is not valid\n\
         c:2:12 error: `size_kb` is a uint32, `1x` is not\n  size_kb: 1x\n           \
         ^~ in perfetto.protos.TraceConfig.buffers[0].size_kb\n\
         c:4:1 error: no field named `nope` in `perfetto.protos.TraceConfig`\nnope: 1\n^~~~\n"
    );
    world.write("c", "duration_ms: 5");
    world.run("perfetto -c c -o trace").failed(1, "the config c is text: add --txt");
    world.run("perfetto -c nowhere --txt -o trace").failed(1, "cannot read the config nowhere");
    world.run("perfetto -c /dev/zero -o trace").failed(1, "has more than 16 MiB");
    world.run("perfetto -c c --txt").failed(1, "say with -o");
    assert!(!world.path("trace").exists());
}

#[test]
fn bad_outputs() {
    let world = World::new();
    let _traced = world.traced();
    world.write("old", "precious");
    world.run("perfetto -t 1s -o old --no-clobber").failed(1, "File exists");
    assert_eq!(std::fs::read_to_string(world.path("old")).unwrap(), "precious");
    world.run("perfetto -t 1s -o no/such/directory").failed(1, "No such file");
    world.run("perfetto -t 1s -o .").failed(1, "cannot write .");
    world.run("perfetto -t 100ms -o /dev/full").failed(1, "cannot write /dev/full: No space left");
}

#[test]
fn bad_words() {
    let world = World::new();
    for (line, about) in [
        ("perfetto --nope", "unexpected argument '--nope'"),
        ("tracebox --nope", "unexpected argument '--nope'"),
        ("tracebox --query", "use `tracebox perfetto`"),
        ("tracebox -t 1h -s 1mb -o x --detach=k", "use `tracebox perfetto`"),
        ("tracebox traced_relay", "not part of this version"),
        (
            "tracebox recrod -o x -- true",
            "\"recrod\" is not a program of tracebox: did you mean \"record\"?",
        ),
        ("tracebox -o x -- ls -l", "use `tracebox record -o FILE -- COMMAND`"),
        ("tracebox -o x -- /bin/ls", "use `tracebox record -o FILE -- COMMAND`"),
        ("tracebox -o x /bin/ls", "\"/bin/ls\" is no event"),
        ("tracebox -t 1s -b 0 -o x", "-b: a buffer of 0 bytes"),
        ("traced --nope", "unexpected argument '--nope'"),
        ("trigger_perfetto", "name at least one trigger"),
        ("trigger_perfetto --nope", "unexpected argument '--nope'"),
        ("tracebox --save-for-bugreport", "use `tracebox perfetto`"),
        ("traced --set-socket-permissions 1:2", "expected PGROUP:PMODE:CGROUP:CMODE"),
        ("traced --enable-relay-endpoint", "not in this version"),
    ] {
        let ran = world.run(line).failed(1, about);
        assert_eq!(ran.stderr.lines().count(), 1, "{ran:?}");
    }
    let ran =
        world.command("traced").env("PERFETTO_PRODUCER_SOCK_NAME", world.path("consumer")).output();
    crate::world::Ran::from(ran.unwrap()).failed(1, "the socket of both producers and consumers");
    let ran = world.command("traced").env("PERFETTO_PRODUCER_SOCK_NAME", "x".repeat(200)).output();
    let ran = crate::world::Ran::from(ran.unwrap());
    ran.failed(1, "a socket path has at most 107 bytes");
}

/// The private sockets of `tracebox record` lie in `TMPDIR`.
#[test]
fn a_temporary_directory_with_a_long_name() {
    let world = World::new();
    let directory = world.path(&"x".repeat(120));
    std::fs::create_dir(&directory).unwrap();
    let mut command = world.command("tracebox record -o trace -- true");
    let ran = crate::world::Ran::from(command.env("TMPDIR", &directory).output().unwrap());
    let ran = ran.failed(
        125,
        "a socket path has at most 107 bytes; set TMPDIR to a directory with a shorter name",
    );
    assert_eq!(ran.stderr.matches("xxx/tracebox-").count(), 1, "{}", ran.stderr);
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 0, "nothing is left behind");
}

/// A limit of file sizes is an error like a full disk, and does not kill the writing program.
#[test]
fn files_that_may_not_grow() {
    let world = World::new();
    let limited = |line: &str| {
        let command = world.command(line);
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", "ulimit -f 1; exec \"$@\"", "sh"]).arg(command.get_program());
        shell.args(command.get_args()).current_dir(world.path(""));
        shell.envs(command.get_envs().filter_map(|(key, value)| Some((key, value?))));
        shell.stdin(std::process::Stdio::null());
        shell
    };
    {
        let _traced = world.traced();
        let output = limited("perfetto -t 100ms -o trace").output().unwrap();
        crate::world::Ran::from(output).failed(1, "File too large");

        world.write("c", &format!("{ENDLESS} unique_session_name: 's'"));
        let mut session = world.start("perfetto -c c --txt -o session");
        session.wait_for_sessions(&world, 1);
        world.write("copy", "an older copy");
        let output = limited("perfetto --clone-by-name s -o copy").output().unwrap();
        let ran = crate::world::Ran::from(output).failed(1, "File too large");
        assert!(!ran.stderr.contains("whole packets"), "{ran:?}");
        assert_eq!(std::fs::read(world.path("copy")).unwrap(), b"an older copy");
        assert!(!world.has_hidden_files(), "no part is left");
    }
    let mut traced = world.spawn(limited("traced"));
    traced.read_until("listening on");
    world.write(
        "c",
        "buffers { size_kb: 64 } duration_ms: 100 write_into_file: true file_write_period_ms: 100",
    );
    world.run("perfetto -c c --txt -o trace").failed(1, "File too large");
    world.run("perfetto --query").good();
}

/// A name of a file comes from a script, or from an archive of another user. It moves no cursor and forges no line.
#[test]
fn names_of_files_are_shown_as_they_are() {
    let world = World::new();
    let name = "a\u{1b}[2J\nLost: 0\u{202e}";
    let shown = r"a\u001b[2J\u000aLost: 0\u202e";
    for words in [
        &["perfetto", "-c", name, "--txt", "-o", "t"][..],
        &["tracebox", "stats", name],
        &["tracebox", "lint", name],
        &["tracebox", "trace", "print", name],
        &["tracebox", "trace", "events", name],
        &["perfetto", "--unknown", name],
    ] {
        let mut command = world.command(words[0]);
        command.args(&words[1..]);
        let output = command.output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success());
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{words:?}: {text:?}");
        assert_eq!(text.lines().count(), 1, "{words:?}: {text}");
        assert!(text.contains(shown) || words[1] == "--unknown", "{words:?}: {text}");
    }
}
