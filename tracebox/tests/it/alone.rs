//! `tracebox` with a service of its own.

use protos::TracePacketData;
use rustix::process::Signal;

use crate::world::{World, has};

#[test]
fn this_machine() {
    let world = World::new();
    let ran = world.run("tracebox -t 1100ms -o trace").good();
    assert!(ran.stderr.contains("\nLost: 0\n"), "{ran:?}");
    assert!(ran.stderr.contains("https://ui.perfetto.dev"), "{ran:?}");
    assert!(!ran.stderr.contains("No data source"), "{ran:?}");
    let packets = world.packets("trace");
    assert!(has(&packets, |data| matches!(data, TracePacketData::ProcessTree(_))));
    assert!(has(&packets, |data| matches!(data, TracePacketData::ProcessStats(_))));
    assert!(has(&packets, |data| matches!(data, TracePacketData::SysStats(_))));
    assert!(has(&packets, |data| matches!(data, TracePacketData::CpuInfo(_))));
    assert!(!world.path("producer").exists(), "no sockets");
}

#[test]
fn a_config() {
    let world = World::new();
    world.write(
        "c",
        "buffers: [{ size_kb: 512, fill_policy: DISCARD }],
         data_sources < config < name: \"linux.\" 'system_info' > >
         duration_ms: 0x64,",
    );
    world.run("tracebox -c c --txt -o trace").good();
    let packets = world.packets("trace");
    assert!(has(&packets, |data| matches!(data, TracePacketData::CpuInfo(_))));
}

/// No producer can connect to a service without sockets.
#[test]
fn a_data_source_that_is_not_built_in() {
    let world = World::new();
    world.write(
        "c",
        "buffers { size_kb: 64 } data_sources { config { name: 'nobody.has.this' } }
         data_sources { config { name: 'linux.sys_stats' } }",
    );
    let about = "nobody.has.this is not available here: ";
    world.run("tracebox -c c --txt -o trace").failed(1, about);
    world.run("tracebox -c c --txt -o trace --strict").failed(3, about);
    assert!(!world.path("trace").exists());
}

/// Data sources of this process tell the user what they cannot record.
#[test]
fn what_a_data_source_lacks_is_told() {
    let world = World::new();
    world.write("c", LACKING);
    let ran = world.run("tracebox -c c --txt -o trace").good();
    let has_packets =
        has(&world.packets("trace"), |data| matches!(data, TracePacketData::Battery(_)));
    let told = ran.stderr.lines().filter(|line| line.contains("has no battery")).count();
    assert_eq!(told, usize::from(!has_packets), "{ran:?}");
}

/// Nobody reads stderr, to which data sources write. That ends neither a recorder nor a daemon.
#[test]
fn data_sources_record_without_a_reader_of_their_log() {
    // A session may have eight of these data sources, so on each machine there is something to write to stderr.
    let lacking = format!(
        "{LACKING} {}",
        "data_sources { config { name: 'linux.sys_stats' sys_stats_config { stat_period_ms: 100 } } } ".repeat(9)
    );
    // The packet with this number comes with the last flush.
    let has_count = |data: &_| matches!(data, TracePacketData::JournaldEvent(event) if event.num_total.is_some());
    let world = World::new();
    world.write("c", &lacking);
    let mut recorder = world.start("tracebox -c c --txt -o trace");
    recorder.stop_reading();
    recorder.end().good();
    assert!(has(&world.packets("trace"), has_count));

    let _traced = world.traced();
    let mut probes = world.start("tracebox traced_probes");
    probes.stop_reading();
    probes.wait_for(&world, |state| {
        let mut names = state.data_sources.iter().filter_map(|of| of.ds_descriptor.as_ref());
        names.any(|of| of.name.as_deref() == Some("linux.systemd_journald"))
    });
    world.run("perfetto -c c --txt -o of-daemon").good();
    assert!(has(&world.packets("of-daemon"), has_count));
}

/// Machines without batteries, or without a journal, are common.
const LACKING: &str = "buffers { size_kb: 512 } duration_ms: 100
    data_sources { config { name: 'linux.sysfs_power' } }
    data_sources { config { name: 'linux.systemd_journald' } }";

#[test]
fn two_recordings_into_one_file() {
    let world = World::new();
    let mut first = world.start("tracebox -t 0 -o trace");
    first.read_until("until Ctrl-C");
    let about = "cannot write trace: another recording writes to it";
    world.run("tracebox -t 100ms -o trace").failed(1, about);
    world.run("tracebox record -o trace -- true").failed(125, about);
    first.signal(Signal::INT);
    first.end().good();
    assert!(has(&world.packets("trace"), |data| matches!(data, TracePacketData::TraceConfig(_))));
    world.run("tracebox -t 100ms -o trace").good();

    // A file that the service makes.
    let path = world.path("made");
    world.write(
        "c",
        &format!(
            "buffers {{ size_kb: 64 }} data_sources {{ config {{ name: 'linux.sys_stats' }} }}
             write_into_file: true output_path: '{}'",
            path.display()
        ),
    );
    let mut first = world.start("tracebox -c c --txt");
    first.read_until("until Ctrl-C");
    let about = "made: another recording writes to it";
    world.run("tracebox -t 100ms -o made").failed(1, about);
    first.signal(Signal::INT);
    first.end().good();
    assert!(has(&world.packets("made"), |data| matches!(data, TracePacketData::TraceConfig(_))));
}

#[test]
fn the_default_config_fits_the_machine() {
    let world = World::new();
    let ran = world.run("tracebox -t 100ms -o trace").good();
    assert!(!ran.stderr.contains("left out"), "{ran:?}");
    assert!(!ran.stderr.contains("traced"), "there is none: {ran:?}");
}

#[test]
fn ctrl_c() {
    let world = World::new();
    let mut tracebox = world.start("tracebox -t 0 -o trace");
    tracebox.read_until("until Ctrl-C");
    // Twice, as `timeout` sends it: to the process, then to its group.
    tracebox.signal(Signal::INT);
    tracebox.signal(Signal::INT);
    tracebox.end().good();
    assert!(has(&world.packets("trace"), |data| matches!(data, TracePacketData::TraceConfig(_))));
}

#[test]
fn a_bad_config_fails() {
    let world = World::new();
    world.write(
        "c",
        "duration_ms: 100 buffers { size_kb: 64 } data_sources { config { target_buffer: 9 } }",
    );
    let ran = world.run("tracebox -c c --txt -o trace").failed(1, "service error: ");
    let errors = ran.stderr.lines().filter(|line| !line.starts_with("Recording")).count();
    assert_eq!(errors, ran.stderr.lines().count(), "nothing begins: {ran:?}");
    assert!(!world.path("trace").exists());
}

#[test]
fn built_in_sources_for_a_daemon() {
    let world = World::new();
    let _traced = world.traced();
    let mut command = world.command("tracebox traced_probes");
    command.env("TRACED_PROBES_NOTIFY_FD", "1");
    let mut probes = world.spawn(command);
    let mut byte = [0];
    std::io::Read::read_exact(probes.child.stdout.as_mut().unwrap(), &mut byte).unwrap();
    assert_eq!(&byte, b"1");
    let ran = world.run("perfetto --query --long").good();
    for name in ["linux.process_stats", "linux.sys_stats", "linux.system_info"] {
        assert!(ran.text().contains(name), "{ran:?}");
    }
    world.run("tracebox perfetto -t 200ms -o trace").good();
    assert!(has(&world.packets("trace"), |data| matches!(data, TracePacketData::CpuInfo(_))));
    probes.signal(Signal::TERM);
    probes.end().good();
}

/// With `--system-sockets` the service of `tracebox` listens where `traced` would, and other producers can connect.
#[test]
fn system_sockets() {
    let world = World::new();
    world.write(
        "c",
        "buffers { size_kb: 64 } data_sources { config { name: 'linux.system_info' } }",
    );
    let mut tracebox = world.start("tracebox --system-sockets -c c --txt -o trace");
    tracebox.read_until("Recording this machine");
    let state = world.state();
    assert_eq!(state.num_sessions, Some(1));
    let sources =
        state.data_sources.iter().filter_map(|s| s.ds_descriptor.as_ref()?.name.as_deref());
    assert!(sources.collect::<Vec<_>>().contains(&"linux.process_stats"), "{state:?}");
    let ran = world.run("tracebox --system-sockets -t 1s -o other");
    ran.failed(1, "another service is running there (`tracebox perfetto` records with it)");
    tracebox.signal(Signal::INT);
    tracebox.end().good();
    assert!(has(&world.packets("trace"), |data| matches!(data, TracePacketData::CpuInfo(_))));
    assert!(!world.path("producer").exists() && !world.path("consumer").exists());
}

#[test]
fn sockets_of_the_environment() {
    let world = World::new();
    world.write(
        "c",
        "buffers { size_kb: 64 } data_sources { config { name: 'linux.system_info' } }
         trigger_config {
           trigger_mode: STOP_TRACING trigger_timeout_ms: 600000
           triggers { name: 't' stop_delay_ms: 1 }
         }",
    );
    let mut command = world.command_at_sockets("tracebox -c c --txt -o trace");
    // The socket for producers alone: other consumers cannot connect.
    command.env_remove("PERFETTO_CONSUMER_SOCK_NAME");
    let mut tracebox = world.spawn(command);
    tracebox.read_until("waiting for triggers");
    assert!(world.path("producer").exists() && !world.path("consumer").exists());
    world.run("trigger_perfetto t").good();
    tracebox.end().good();
    assert!(has(&world.packets("trace"), |data| matches!(data, TracePacketData::Trigger(_))));

    let command = world
        .command_at_sockets("tracebox -t 100ms -o other")
        .env("PERFETTO_PRODUCER_SOCK_NAME", "@")
        .output();
    let ran = crate::world::Ran::from(command.unwrap());
    ran.failed(1, "PERFETTO_PRODUCER_SOCK_NAME: ");
}
