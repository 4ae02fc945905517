//! Snapshots: a file for each trigger.

use protos::TracePacketData;
use rustix::process::{Pid, Signal, kill_process};

use crate::triggers::config;
use crate::world::{World, has};

fn is_config(data: &TracePacketData) -> bool {
    matches!(data, TracePacketData::TraceConfig(_))
}

#[test]
fn snapshots() {
    let world = World::new();
    let _traced = world.traced();
    let sources = "data_sources { config { name: 'none' } }";
    world.write("c", &config("CLONE_SNAPSHOT").replace(sources, ""));
    world.write("trace.0", "of another time");
    let mut perfetto = world.start("perfetto -c c --txt -o trace --strict");
    perfetto.read_until("waiting for triggers");
    perfetto.wait_for_sessions(&world, 1);
    for name in ["trace.0", "trace.1"] {
        world.run("trigger_perfetto t").good();
        perfetto.read_until(&format!("{name}, "));
        let packets = world.packets(name);
        assert!(has(&packets, is_config), "{name}");
        let by = |data: &TracePacketData| matches!(data, TracePacketData::CloneSnapshotTrigger(_));
        assert!(has(&packets, by), "{name}");
    }
    perfetto.signal(Signal::INT);
    let ran = perfetto.end().good();
    assert!(ran.stderr.contains("2 snapshots were written"), "{ran:?}");
    assert!(!world.path("trace").exists(), "nothing is in it");

    world.write("trace", "precious");
    let mut perfetto = world.start("perfetto -c c --txt -o trace");
    perfetto.read_until("waiting for triggers");
    perfetto.wait_for_sessions(&world, 1);
    perfetto.signal(Signal::INT);
    let ran = perfetto.end().good();
    assert!(ran.stderr.contains("no snapshot was written"), "{ran:?}");
    assert_eq!(std::fs::read(world.path("trace")).unwrap(), b"precious", "it is left alone");
}

/// A snapshot lacks what no producer offers, as any trace does.
#[test]
fn a_data_source_that_no_producer_offers() {
    let world = World::new();
    let _traced = world.traced();
    world.write("c", &config("CLONE_SNAPSHOT"));
    for strict in ["", " --strict"] {
        let mut perfetto = world.start(&format!("perfetto -c c --txt -o trace{strict}"));
        perfetto.read_until("waiting for triggers");
        perfetto.wait_for_sessions(&world, 1);
        world.run("trigger_perfetto t").good();
        perfetto.read_until("trace.0, ");
        perfetto.signal(Signal::INT);
        let ran = perfetto.end();
        let told = "1 snapshot was written\nNot recorded, because no producer offers it: none\n";
        assert!(ran.stderr.contains(told), "{ran:?}");
        match strict {
            "" => ran.good(),
            _ => ran.failed(3, "no producer offers none, and --strict was asked for"),
        };
    }
}

/// A process in the background has another working directory.
#[test]
fn snapshots_in_the_background() {
    let world = World::new();
    let _traced = world.traced();
    world.write("c", &config("CLONE_SNAPSHOT"));
    world.write("trace.0", "precious");
    let ran = world.run("perfetto -d -c c --txt -o trace --no-clobber").good();
    let pid = Pid::from_raw(ran.text().trim().parse().unwrap()).unwrap();
    world.wait_for_sessions(1);
    world.run("trigger_perfetto t").good();
    world.wait_for(|_| std::fs::metadata(world.path("trace.1")).is_ok_and(|file| file.len() != 0));
    kill_process(pid, Signal::INT).unwrap();
    world.wait_for_sessions(0);
    assert_eq!(std::fs::read(world.path("trace.0")).unwrap(), b"precious");
    assert!(has(&world.packets("trace.1"), is_config));
}

#[test]
fn around_a_command() {
    let world = World::new();
    // Without a delay: the command may end before a delay.
    world.write("c", &config("CLONE_SNAPSHOT").replace("stop_delay_ms: 1 ", ""));
    let trigger = env!("CARGO_BIN_EXE_trigger_perfetto");
    // The snapshot of the first trigger may wait until the command has ended.
    let ran = world.run(&format!("tracebox record -c c --txt -o trace -- {trigger} t")).good();
    assert!(ran.stderr.contains("1 snapshot was written"), "{ran:?}");
    assert!(!world.path("trace").exists());
    assert!(has(&world.packets("trace.0"), is_config));
}
