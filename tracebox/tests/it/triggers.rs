//! Triggers: sessions that wait for them, and programs that fire them.

use protos::TracePacketData;

use crate::world::{World, has};

/// A session that waits for `t`.
pub fn config(mode: &str) -> String {
    format!(
        "buffers {{ size_kb: 64 }} data_sources {{ config {{ name: 'none' }} }}
         trigger_config {{
           trigger_mode: {mode} trigger_timeout_ms: 600000
           triggers {{ name: 't' stop_delay_ms: 1 }}
         }}"
    )
}

fn is_config(data: &TracePacketData) -> bool {
    matches!(data, TracePacketData::TraceConfig(_))
}

fn is_trigger(data: &TracePacketData) -> bool {
    matches!(data, TracePacketData::Trigger(_))
}

#[test]
fn they_start_and_stop() {
    let world = World::new();
    let _traced = world.traced();
    for mode in ["START_TRACING", "STOP_TRACING"] {
        world.write("c", &config(mode));
        let mut perfetto = world.start("perfetto -c c --txt -o trace");
        perfetto.read_until("TTL: 601s, waiting for triggers");
        perfetto.wait_for_sessions(&world, 1);
        world.run("trigger_perfetto others t").good();
        let ran = perfetto.end().good();
        assert!(ran.stderr.contains("\nLost: 0\n"), "{ran:?}");
        let packets = world.packets("trace");
        assert!(has(&packets, is_config) && has(&packets, is_trigger), "{mode}");
    }
}

#[test]
fn a_config_fires_them() {
    let world = World::new();
    let _traced = world.traced();
    world.write("c", &config("STOP_TRACING"));
    world.write("fire", "activate_triggers: 'others' activate_triggers: 't'");
    for line in ["perfetto -c fire --txt -o no", "perfetto -d -c fire --txt -o no"] {
        let mut perfetto = world.start("perfetto -c c --txt -o trace");
        perfetto.read_until("waiting for triggers");
        perfetto.wait_for_sessions(&world, 1);
        world.run(line).good();
        perfetto.end().good();
        assert!(has(&world.packets("trace"), is_trigger), "{line}");
        assert!(!world.path("no").exists(), "{line} records nothing");
    }
    world.run("tracebox -c fire --txt").failed(1, "use `tracebox perfetto`");
    world.run("tracebox record -c fire --txt -o no -- true").failed(125, "records nothing");
    world.run("tracebox -c c --txt -o no").failed(1, "no program can fire triggers here");
}

#[test]
fn without_one_there_is_nothing() {
    let world = World::new();
    let _traced = world.traced();
    world.write("c", &config("START_TRACING").replace("600000", "50"));
    world.write("trace", "of another time");
    let ran = world.run("perfetto -c c --txt -o trace").good();
    assert!(ran.stderr.contains("No trigger came"), "{ran:?}");
    assert_eq!(std::fs::read(world.path("trace")).unwrap(), b"");
}

#[test]
fn snapshots_need_a_file_name() {
    let world = World::new();
    let _traced = world.traced();
    world.write("c", &config("CLONE_SNAPSHOT"));
    world.run("perfetto -c c --txt -o -").failed(1, "-o needs a file name");
}

#[test]
fn a_trigger_can_wait_for_the_service() {
    let world = World::new();
    let mut trigger = world.start("trigger_perfetto --wait t");
    trigger.read_until("(is traced running?): waiting for it");
    let _traced = world.traced();
    trigger.end().good();
    // If there is a service, the option has no effect.
    world.write("c", &config("STOP_TRACING"));
    let mut perfetto = world.start("perfetto -c c --txt -o trace");
    perfetto.read_until("waiting for triggers");
    perfetto.wait_for_sessions(&world, 1);
    world.run("trigger_perfetto --wait t").good();
    perfetto.end().good();
    assert!(has(&world.packets("trace"), is_trigger));
}
