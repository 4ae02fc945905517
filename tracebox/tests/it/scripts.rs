//! Command lines that scripts written for the C++ tools use.

use protos::{TraceConfig, TracePacketData};

use crate::world::World;

const SHORT: &str =
    "buffers { size_kb: 64 } duration_ms: 100 data_sources { config { name: 'none' } }";

/// The config that is in the trace `name`.
fn config_in(world: &World, name: &str) -> TraceConfig {
    let config = world.packets(name).into_iter().find_map(|packet| match packet.data {
        Some(TracePacketData::TraceConfig(config)) => Some(config),
        _ => None,
    });
    config.unwrap()
}

#[test]
fn the_best_session_is_cloned_by_minus_one() {
    let world = World::new();
    let _traced = world.traced();
    let ran = world.run("perfetto --clone -1 -o copy");
    ran.failed(1, "the session with the highest bugreport_score: service error: ");
    world.write(
        "c",
        "buffers { size_kb: 64 } data_sources { config { name: 'none' } }
         bugreport_score: 5 unique_session_name: 'best'",
    );
    let mut perfetto = world.start("perfetto -c c --txt -o trace");
    perfetto.read_until("starting tracing");
    perfetto.wait_for(&world, |state| state.num_sessions_started == Some(1));
    world.run("perfetto --clone -1 -o copy").good();
    assert_eq!(config_in(&world, "copy").unique_session_name.as_deref(), Some("best"));
}

#[test]
fn light_mode_beside_an_empty_stdin() {
    let world = World::new();
    let _traced = world.traced();
    world.run_with_stdin("perfetto -c - -t 100ms -b 1mb -o trace", b"").good();
    assert_eq!(config_in(&world, "trace").duration_ms, Some(100));
    let ran = world.run_with_stdin("perfetto -c - --txt -t 1s -o other", SHORT.as_bytes());
    ran.failed(1, "-c brings its own settings");
    world.run_with_stdin("perfetto -c - --txt -o other", b"").failed(1, "<stdin> is empty");
}

#[test]
fn the_last_option_counts_and_long_ones_are_abbreviated() {
    let world = World::new();
    let _traced = world.traced();
    world.run("perfetto -t 1h --tim 100ms -o first --ou last").good();
    assert!(!world.path("first").exists());
    assert_eq!(config_in(&world, "last").duration_ms, Some(100));
    // Options that are new here do not make an abbreviation ambiguous.
    world.write("c", SHORT);
    world.run("perfetto -c c --tx -o text").good();
    assert_eq!(config_in(&world, "text").duration_ms, Some(100));
    world.run("perfetto --st").failed(1, "--stop goes with --attach");
}

#[test]
fn configs_are_joined() {
    let world = World::new();
    let _traced = world.traced();
    world.write("a", SHORT);
    world.write("b", "unique_session_name: 'joined'");
    world.run("perfetto -c a -c b --txt -o trace").good();
    let config = config_in(&world, "trace");
    assert_eq!(config.unique_session_name.as_deref(), Some("joined"));
    assert_eq!(config.buffers.len(), 1);
}

#[test]
fn notes() {
    let world = World::new();
    let _traced = world.traced();
    world.write("c", &format!("{SHORT} notes {{ key: 'config' value: 'file' }}"));
    world.run("perfetto -c c --txt -o trace --add-note by=hand --add-note empty").good();
    let notes: Vec<_> =
        config_in(&world, "trace").notes.into_iter().map(|n| (n.key, n.value)).collect();
    let note = |key: &str, value: &str| (Some(key.to_owned()), Some(value.to_owned()));
    assert_eq!(notes, [note("config", "file"), note("by", "hand"), note("empty", "")]);
}

#[test]
fn an_octal_number_is_told() {
    let world = World::new();
    let _traced = world.traced();
    world.write("c", &SHORT.replace("64", "0100"));
    let ran = world.run("perfetto -c c --txt -o trace").good();
    let warning = "c:1:20 warning: 0100 is octal and means 64; perfetto in C++ reads it as 100";
    assert!(ran.stderr.lines().any(|line| line == warning), "{ran:?}");
    assert_eq!(config_in(&world, "trace").buffers[0].size_kb, Some(64));
}
