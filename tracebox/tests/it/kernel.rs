//! Events of the kernel, where this user may record them.

use std::path::Path;

use protos::{TraceConfig, TracePacketData};

use crate::world::{Ran, World};

const TRACEFS: &str = "/sys/kernel/tracing";

/// May this user record the kernel? Tells if not.
fn has_kernel() -> bool {
    let has = std::fs::read_dir(Path::new(TRACEFS).join("instances")).is_ok();
    if !has {
        eprintln!("SKIPPED: no rights to {TRACEFS}, so no events of the kernel are recorded");
    }
    has
}

fn config(world: &World, trace: &str) -> TraceConfig {
    let config = world.packets(trace).into_iter().find_map(|packet| match packet.data {
        Some(TracePacketData::TraceConfig(config)) => Some(config),
        _ => None,
    });
    config.unwrap()
}

/// The scheduling of the command is in the trace, or a line says why not: other programs may use the kernel now.
#[test]
fn the_scheduling_of_a_command() {
    if !has_kernel() {
        return;
    }
    let world = World::new();
    let mut command = world.command_with_kernel("tracebox record -o trace -- sh -c");
    let ran = Ran::from(command.arg("sleep 0.01; exit 3").output().unwrap());
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let is_told = ran.stderr.contains("Not recorded: when the command's threads run");
    let config = config(&world, "trace");
    let ftrace =
        config.data_sources.iter().find_map(|source| source.config.as_ref()?.ftrace_config.clone());
    assert_eq!(ftrace.is_some(), !is_told, "{ran:?}");
    if ftrace.is_none() {
        eprintln!("SKIPPED: another program records the kernel now");
        return;
    }
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
