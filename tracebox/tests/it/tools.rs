//! `perfetto` with `traced`.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Stdio;

use protos::{TraceConfig, TracePacketData, TracingServiceState};
use protozero::Message;
use rustix::process::Signal;

use crate::world::{Daemon, Ran, World, has, packets};

/// A session that ends by itself.
const SHORT: &str =
    "buffers { size_kb: 64 } duration_ms: 100 data_sources { config { name: 'none' } }";
/// A session that ends when it is stopped.
const ENDLESS: &str = "buffers { size_kb: 64 } data_sources { config { name: 'none' } }";

fn is_config(data: &TracePacketData) -> bool {
    matches!(data, TracePacketData::TraceConfig(_))
}

#[test]
fn text_config_into_a_file() {
    let world = World::new();
    let _traced = world.traced();
    world.write("c", SHORT);
    let ran = world.run("perfetto -c c --txt -o trace").good();
    let packets = world.packets("trace");
    let bytes = std::fs::metadata(world.path("trace")).unwrap().len();
    assert!(has(&packets, is_config));
    assert!(
        ran.stderr.contains(&format!("Wrote {bytes} bytes into trace, {} packets", packets.len())),
        "{ran:?}"
    );
    assert!(ran.stderr.contains("\nLost: 0\n"), "{ran:?}");
    assert!(ran.stderr.contains("TTL: 1s"), "{ran:?}");
    assert!(ran.stdout.is_empty());
}

#[test]
fn stdin_and_stdout() {
    let world = World::new();
    let _traced = world.traced();
    let ran = world.run_with_stdin("perfetto -c - --txt -o -", SHORT.as_bytes()).good();
    assert!(has(&packets(&ran.stdout), is_config));
    let told = format!("Wrote {} bytes into stdout", ran.stdout.len());
    assert!(ran.stderr.contains(&told), "{ran:?}");
}

#[test]
fn binary_config() {
    let world = World::new();
    let _traced = world.traced();
    let config = TraceConfig {
        buffers: vec![protos::TraceConfigBufferConfig { size_kb: Some(64), ..Default::default() }],
        data_sources: vec![Default::default()],
        duration_ms: Some(50),
        unique_session_name: Some("binary".into()),
        ..TraceConfig::default()
    };
    std::fs::write(world.path("c"), config.encode_to_vec()).unwrap();
    world.run("perfetto -c c -o trace").good();
    let sent = world.packets("trace").into_iter().find_map(|packet| match packet.data {
        Some(TracePacketData::TraceConfig(config)) => Some(config),
        _ => None,
    });
    assert_eq!(sent.unwrap().unique_session_name.as_deref(), Some("binary"));
}

#[test]
fn ctrl_c_stops_cleanly() {
    let world = World::new();
    let _traced = world.traced();
    world.write("c", ENDLESS);
    for signal in [Signal::INT, Signal::TERM] {
        let mut perfetto = world.start("perfetto -c c --txt -o trace");
        perfetto.read_until("starting tracing");
        perfetto.signal(signal);
        let ran = perfetto.end().good();
        assert!(ran.stderr.contains("Wrote "), "{ran:?}");
        assert!(has(&world.packets("trace"), is_config));
    }
}

#[test]
fn the_service_writes_the_file() {
    let world = World::new();
    let _traced = world.traced();
    world.write("c", &format!("{SHORT} write_into_file: true file_write_period_ms: 100"));
    let ran = world.run("perfetto -c c --txt -o trace").good();
    let packets = world.packets("trace");
    assert!(has(&packets, is_config));
    assert!(ran.stderr.contains(&format!(", {} packets", packets.len())), "{ran:?}");

    let path = world.path("by_service");
    let output_path = format!(" output_path: '{}'", path.display());
    world.write("c", &format!("{SHORT} write_into_file: true {output_path}"));
    world.run("perfetto -c c --txt").good();
    assert!(has(&world.packets("by_service"), is_config));
    world.run("perfetto -c c --txt").failed(1, "exists already");
}

#[test]
fn light_mode() {
    let world = World::new();
    let _traced = world.traced();
    world.run("perfetto -t 100ms -b 1mb -o trace sched/sched_switch").good();
    let config = world.packets("trace").into_iter().find_map(|packet| match packet.data {
        Some(TracePacketData::TraceConfig(config)) => Some(config),
        _ => None,
    });
    let config = config.unwrap();
    assert_eq!(config.duration_ms, Some(100));
    assert_eq!(config.data_sources.len(), 3);
    assert_eq!(config.enable_extra_guardrails, Some(false));
}

#[test]
fn query() {
    let world = World::new();
    let _traced = world.traced();
    world.write("c", ENDLESS);
    let mut perfetto = world.start("perfetto -c c --txt -o trace");
    perfetto.read_until("starting tracing");
    let ran = world.run("perfetto --query --long").good();
    assert!(ran.text().contains("Service: Perfetto v"), "{ran:?}");
    assert!(ran.text().contains("Sessions: 1 "), "{ran:?}");
    let ran = world.run("perfetto --query-raw").good();
    let state = TracingServiceState::decode(&ran.stdout).unwrap();
    assert_eq!(state.num_sessions, Some(1));
    let ran = world.run("perfetto --query --json").good();
    assert!(ran.text().starts_with("{\n  \"tracing_service_version\": \"Perfetto v"), "{ran:?}");
    assert!(ran.text().contains("\"state\": \"STARTED\""), "{ran:?}");
    // A reader such as `head` closes its pipe when it has read enough.
    let (_, closed) = std::io::pipe().unwrap();
    let mut query = world.command("perfetto --query");
    let output = query.stdout(closed).stderr(Stdio::piped()).output().unwrap();
    assert!(Ran::from(output).good().stderr.is_empty());
    perfetto.signal(Signal::INT);
    perfetto.end().good();
}

#[test]
fn in_the_background() {
    let world = World::new();
    let _traced = world.traced();
    world.write("c", SHORT);
    let pid = world.run("perfetto -D -c c --txt -o waited").good();
    assert!(pid.text().trim().parse::<u32>().is_ok(), "{pid:?}");
    let pid = world.run("tracebox perfetto -D -c c --txt -o by-tracebox").good();
    assert!(pid.text().trim().parse::<u32>().is_ok(), "{pid:?}");
    // Errors before the program leaves the terminal are printed there.
    world.run("perfetto -d -c nowhere --txt -o trace").failed(1, "cannot read the config nowhere");

    // The reader of a pipe sees its end when the program in the background ends.
    let fifo = world.fifo("fifo");
    let reader = std::thread::spawn(move || std::fs::read(fifo).unwrap());
    let ran = world.run("perfetto -d -c c --txt -o fifo").good();
    assert!(ran.text().trim().parse::<u32>().is_ok(), "{ran:?}");
    assert!(has(&packets(&reader.join().unwrap()), is_config));
}

#[test]
fn notify_fd() {
    let world = World::new();
    let _traced = world.traced();
    world.write("c", SHORT);
    let ran = world.run("perfetto --notify-fd 1 -c c --txt -o trace").good();
    assert_eq!(ran.text(), "\0");
}

#[test]
fn versions_and_help() {
    let world = World::new();
    for program in ["perfetto", "traced", "tracebox", "tracebox traced_probes", "trigger_perfetto"]
    {
        let ran = world.run(&format!("{program} --version")).good();
        assert!(ran.text().starts_with("Perfetto v"), "{ran:?}");
        let ran = world.run(&format!("{program} --help")).good();
        assert!(ran.text().contains("--help"), "{ran:?}");
        assert!(ran.stderr.is_empty(), "{ran:?}");
    }
    // Usage lines and errors can be typed as they are.
    for line in ["tracebox record", "tracebox trace print", "tracebox man", "tracebox perfetto"] {
        let ran = world.run(&format!("{line} --help")).good();
        assert!(ran.text().contains(&format!("Usage: {line} ")), "{ran:?}");
    }
    world.run("tracebox traced --nope").failed(1, "tracebox traced: unexpected argument");
    world.run("perfetto").failed(1, "say what to do");
    world.run("tracebox trace").failed(1, "tracebox trace: a command is missing (see --help)");
    // The code of lost data differs, and this option is the same everywhere.
    for program in ["perfetto", "tracebox record"] {
        let ran = world.run(&format!("{program} --help")).good();
        assert!(!ran.text().contains("Exit with code 3"), "{ran:?}");
    }
    assert_eq!(world.run("tracebox").code, Some(1));
}

/// Who knows the programs of Perfetto learns which are not here, and what stands in for them.
#[test]
fn programs_that_are_not_here() {
    let world = World::new();
    for (line, advice) in [
        ("traceconv json t out", "`tracebox trace print FILE`"),
        ("trace_processor t", "`tracebox stats FILE`"),
        ("trace_processor_shell t", "reads these files"),
        ("open_trace_in_ui t", "https://ui.perfetto.dev"),
        ("websocket_bridge", "https://ui.perfetto.dev"),
        ("traced_perf", "linux.perf"),
        ("traced_relay", "on each machine"),
    ] {
        let ran = world.run(&format!("tracebox {line}"));
        ran.failed(1, advice).failed(1, "is not part of this version: ");
    }
}

#[test]
fn manual_pages_and_completions() {
    let world = World::new();
    let page = world.run("tracebox man perfetto").good();
    assert!(page.text().contains(".TH PERFETTO 1"), "{page:?}");
    let page = world.run("tracebox man record").good();
    assert!(page.text().contains("tracebox"), "{page:?}");
    let script = world.run("tracebox completions bash").good();
    assert!(script.text().contains("trigger_perfetto"), "{script:?}");
    std::fs::create_dir(world.path("all")).unwrap();
    world.run("tracebox man --all all").good();
    world.run("tracebox completions zsh --all all").good();
    for name in ["_perfetto", "_trigger_perfetto", "man1/perfetto.1", "man1/tracebox-record.1"] {
        assert!(world.path("all").join(name).exists(), "{name}");
    }
    // A folder that is missing is made, and each page is where `man` looks for it.
    world.run("tracebox man --all made/here").good();
    assert!(world.path("made/here/man8/traced.8").exists());
    world
        .run("tracebox man nope")
        .failed(1, "there is no manual page of \"nope\", only of tracebox, perfetto");
    world.run("tracebox completions nope").failed(1, "invalid value 'nope'");
    world.write("file", "");
    world.run("tracebox man --all file").failed(1, "cannot create file/man1");
}

#[test]
fn systemd_units() {
    let world = World::new();
    let ran = world.run("tracebox install-units --root root --program /opt/tracebox").good();
    assert!(ran.stderr.contains("systemctl enable --now traced-producer.socket"), "{ran:?}");
    let unit = std::fs::read_to_string(world.path("root/etc/systemd/system/traced.service"));
    assert!(unit.unwrap().contains("\nExecStart=/opt/tracebox traced\n"));
    assert!(world.path("root/etc/sysusers.d/perfetto.conf").exists());
    // The rights to record the kernel come and go by the option.
    let kernel = world.path("root/etc/systemd/system/traced-probes.service.d/kernel.conf");
    assert!(!kernel.exists());
    world.run("tracebox install-units --root root --program /opt/tracebox --kernel").good();
    assert!(kernel.exists());
    let ran = world.run("tracebox install-units --root root --program /opt/tracebox").good();
    assert!(ran.stderr.contains("Removed ") && !kernel.exists(), "{ran:?}");
    let ran = world.run("tracebox install-units --root root --program /tmp/tracebox");
    ran.failed(1, "units do not see this directory");
}

#[test]
fn notify_fd_tells_of_failures() {
    let world = World::new();
    world.write("bad", &SHORT.replace("name: 'none'", "target_buffer: 9"));
    let absent = world.run("perfetto --notify-fd 1 -c bad --txt -o trace");
    assert_eq!(absent.failed(1, "is traced running?").text(), "\x01");
    let _traced = world.traced();
    let refused = world.run("perfetto --notify-fd 1 -c bad --txt -o trace");
    // The service may report that all data sources (there are none) have started, and refuse the session then.
    assert!(["\x01", "\0"].contains(&refused.failed(1, "service error: ").text()));
    world.run("perfetto -D -c bad --txt -o trace").failed(1, "service error: ");
    world.run("perfetto --notify-fd 77 -c bad --txt -o trace").failed(1, "");
}

/// The descriptor itself is used: a socket cannot be opened by its name, and a file has an offset.
#[test]
fn notify_fd_of_a_socket_and_a_file() {
    let world = World::new();
    let _traced = world.traced();
    world.write("c", SHORT);
    let (mut here, there) = UnixStream::pair().unwrap();
    let mut command = world.command("perfetto --notify-fd 1 -c c --txt -o trace");
    assert!(command.stdout(OwnedFd::from(there)).stderr(Stdio::null()).status().unwrap().success());
    drop(command);
    let mut told = Vec::new();
    here.read_to_end(&mut told).unwrap();
    assert_eq!(told, [0]);

    let mut file = File::create(world.path("told")).unwrap();
    file.write_all(b"hello").unwrap();
    let mut command = world.command("perfetto --notify-fd 1 -c c --txt -o trace");
    assert!(command.stdout(file).stderr(Stdio::null()).status().unwrap().success());
    assert_eq!(std::fs::read(world.path("told")).unwrap(), b"hello\0");

    // The error comes before anything is recorded.
    let ran = world.run("perfetto --notify-fd 77 -c c --txt -o other");
    assert!(!ran.stderr.contains("Connected"), "{ran:?}");
    ran.failed(1, "cannot write to descriptor 77");
}

#[test]
fn a_stdout_that_is_full() {
    let world = World::new();
    for line in ["perfetto --version", "trigger_perfetto --version", "tracebox --help"] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = world.command(line).stdout(full).stderr(Stdio::piped()).output().unwrap();
        Ran::from(output).failed(1, "cannot write stdout");
    }
}

#[test]
fn the_background_knows_of_a_refusal() {
    let world = World::new();
    let _traced = world.traced();
    world.write("bad", &SHORT.replace("name: 'none'", "target_buffer: 9"));
    world.run("perfetto -d -c bad --txt -o trace").failed(1, "service error: ");
    assert!(!world.path("trace").exists());
}

/// Interrupts the program until it ends.
fn interrupted_for_good(mut perfetto: Daemon) -> Option<i32> {
    loop {
        if let Some(status) = perfetto.child.try_wait().unwrap() {
            return status.code();
        }
        perfetto.signal(Signal::INT);
    }
}

#[test]
fn the_second_interruption_always_ends_the_program() {
    let world = World::new();
    let traced = world.traced();
    // The trace is longer than a pipe holds, and the pipe is not read.
    let long = format!(
        "trace_attributes {{ attribute {{ key: 'a' string_value: '{}' }} }}",
        "x".repeat(100_000)
    );
    world.write("c", &format!("{SHORT} {long}"));
    let mut perfetto = world.start("perfetto -c c --txt -o -");
    perfetto.read_until("TTL: ");
    assert_eq!(interrupted_for_good(perfetto), Some(130));

    world.write("c", ENDLESS);
    let mut perfetto = world.start("perfetto -c c --txt -o trace");
    perfetto.read_until("starting tracing");
    // The service is stopped and does not answer.
    traced.signal(Signal::STOP);
    assert_eq!(interrupted_for_good(perfetto), Some(130));
}

#[test]
fn attributes_and_delays() {
    let world = World::new();
    let _traced = world.traced();
    world.write(
        "c",
        &format!("{SHORT} cmd_trace_start_delay {{ min_delay_ms: 3 max_delay_ms: 3 }}"),
    );
    let ran = world.run("perfetto -c c --txt -o trace --add-attribute a=b=c").good();
    assert!(ran.stderr.contains("Tracing starts in 3 ms"), "{ran:?}");
    let config = world.packets("trace").into_iter().find_map(|packet| match packet.data {
        Some(TracePacketData::TraceConfig(config)) => Some(config),
        _ => None,
    });
    let attributes = config.unwrap().trace_attributes.unwrap().attribute;
    assert_eq!(attributes[0].key.as_deref(), Some("a"));

    world.write(
        "c",
        &format!("{SHORT} cmd_trace_start_delay {{ min_delay_ms: 900000 max_delay_ms: 900000 }}"),
    );
    let mut perfetto = world.start("perfetto -c c --txt -o other");
    perfetto.read_until("Tracing starts in 900000 ms");
    perfetto.signal(Signal::INT);
    perfetto.end().failed(130, "interrupted before the trace began");
    assert!(!world.path("other").exists());
}

#[test]
fn a_pipe_without_a_reader() {
    let world = World::new();
    let _traced = world.traced();
    world.write("c", SHORT);
    let mut perfetto = world.start("perfetto -c c --txt -o -");
    drop(perfetto.child.stdout.take());
    perfetto.child.stdout = None;
    let status = perfetto.child.wait().unwrap();
    assert_eq!(status.code(), Some(1));
    perfetto.read_until("cannot write stdout: Broken pipe");
}

#[test]
fn a_data_source_without_a_producer() {
    let world = World::new();
    let _traced = world.traced();
    world.write("c", SHORT);
    let ran = world.run("perfetto -c c --txt -o trace").good();
    assert!(ran.stderr.contains("No data source none here"), "{ran:?}");
}
