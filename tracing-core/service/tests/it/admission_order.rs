//! Which of two errors a user sees first: the checks of EnableTracing in their order.
//!
//! A config that fails a check and all later checks that it can fail is refused by the first of them.

use super::*;
use protos::{
    TraceConfigTriggerConfig, TraceConfigTriggerConfigTrigger as Trigger,
    TraceConfigTriggerConfigTriggerMode as Mode,
};

fn triggers(from: u32) -> TraceConfigTriggerConfig {
    let mode = match from {
        0..=4 => 5,
        5 => 1,
        _ => 4,
    };
    let trigger = Trigger { name: Some("same".into()), ..Default::default() };
    TraceConfigTriggerConfig {
        trigger_mode: Some(Mode(mode)),
        use_clone_snapshot_if_available: Some(from <= 5),
        trigger_timeout_ms: Some(if from <= 3 { 0 } else { 1000 }),
        triggers: vec![trigger; if from <= 9 { 2 } else { 1 }],
        ..Default::default()
    }
}

/// Buffers and data sources that fail the checks from that one on.
fn buffers(from: u32, config: &mut TraceConfig) {
    let kb = match from {
        0..=11 => 131_078,
        12 => 131_076,
        _ => 4,
    };
    let mut first = buffer(kb);
    first.name = Some("one".into());
    let second = TraceConfigBufferConfig {
        name: Some(if from <= 14 { "one" } else { "two" }.into()),
        ..buffer(4)
    };
    config.buffers = vec![first, second];
    if from <= 13 {
        config.buffers.extend(vec![buffer(4); 127]);
    }
    config.data_sources = named(&["ds"]);
    let source = config.data_sources[0].config.as_mut().unwrap();
    match from {
        0..=15 => {
            source.target_buffer_name = Some("three".into());
            source.target_buffer = Some(9);
        }
        16 => {
            source.target_buffer_name = Some("one".into());
            source.target_buffer = Some(9);
        }
        17 => source.target_buffer = Some(9),
        _ => {}
    }
}

/// A config that fails the check `from` and later ones.
fn bad(from: u32) -> TraceConfig {
    let guarded = from <= 12 || (20..=22).contains(&from);
    let mut config = TraceConfig {
        duration_ms: match from {
            0..=2 => Some(u32::MAX),
            3..=6 => Some(1),
            _ => None,
        },
        trigger_config: (from <= 9).then(|| triggers(from)),
        bugreport_filename: (from <= 7).then(|| "a/b".into()),
        write_into_file: Some(from <= 8 || (18..=27).contains(&from)),
        enable_extra_guardrails: Some(guarded),
        deferred_start: Some(from <= 10),
        unique_session_name: Some(if from <= 20 { "taken" } else { "recent" }.into()),
        session_semaphores: vec![protos::TraceConfigSessionSemaphore {
            name: Some(if from <= 21 { "held" } else { "free" }.into()),
            max_other_session_count: Some(0),
            ..Default::default()
        }],
        trace_filter: (from <= 25).then(|| protos::TraceConfigTraceFilter {
            bytecode: Some(vec![1, 2, 3]),
            ..Default::default()
        }),
        priority_boost: (from <= 26).then(Default::default),
        ..Default::default()
    };
    buffers(from, &mut config);
    if from > 17 {
        config.buffers[0].size_kb = Some(if guarded { 4 } else { 0 });
    }
    config
}

#[track_caller]
fn refused(shell: &mut Shell, uid: u32, from: u32, expect: &str) {
    let mut consumer = MockConsumer::connect(shell, uid);
    let sessions = shell.service.footprint().sessions;
    consumer.enable(shell, bad(from), None);
    let error = consumer.ended(shell).unwrap_or_default();
    assert!(error.contains(expect), "check {from}: {error:?} has no {expect:?}");
    assert_eq!(shell.service.footprint().sessions, sessions);
}

#[test]
fn checks_of_the_config_come_in_order() {
    let mut shell = Shell::new();
    for (from, expect) in [
        (2, "too long"),
        (3, "positive trigger_timeout_ms"),
        (4, "invalid trigger mode"),
        (5, "must be STOP_TRACING"),
        (6, "not allowed with triggers"),
        (7, "invalid char"),
        (8, "unsupported"),
        (9, "duplicate trigger"),
        (10, "not supported in unsupervised"),
        (11, "multiple of 4"),
        (12, "too large"),
        (13, "too many buffers"),
        (14, "Duplicate buffer name"),
        (15, "does not match any buffer"),
        (16, "don't match"),
        (17, "out of bounds"),
    ] {
        refused(&mut shell, 0, from, expect);
    }
}

fn session(shell: &mut Shell, uid: u32, config: TraceConfig) -> MockConsumer {
    let mut consumer = MockConsumer::connect(shell, uid);
    consumer.enable(shell, config, None);
    assert_eq!(consumer.ended(shell), None);
    consumer
}

#[test]
fn checks_of_other_sessions_come_in_order() {
    let mut shell = Shell::new();
    let exclusive = session(&mut shell, 0, TraceConfig { exclusive_prio: Some(1), ..config(&[]) });
    refused(&mut shell, 7, 18, "exclusive session of priority 1");
    exclusive.free(&mut shell);
    let recent = TraceConfig {
        unique_session_name: Some("recent".into()),
        enable_extra_guardrails: Some(true),
        ..config(&[])
    };
    session(&mut shell, 0, recent).free(&mut shell);
    let mut taken = config(&[]);
    taken.unique_session_name = Some("taken".into());
    taken.session_semaphores = bad(20).session_semaphores;
    let mut kept = vec![session(&mut shell, 7, taken)];
    for uid in [7, 7, 7, 7, 8, 8, 8, 8, 9, 10, 11, 0, 0, 0] {
        kept.push(session(&mut shell, uid, config(&[])));
    }
    refused(&mut shell, 7, 20, "already exists");
    refused(&mut shell, 7, 21, "semaphore");
    refused(&mut shell, 7, 22, "too recent");
    refused(&mut shell, 7, 23, "for uid");
    refused(&mut shell, 99, 24, "too many concurrent");
    for consumer in kept {
        consumer.free(&mut shell);
    }
    refused(&mut shell, 7, 25, "filter");
    refused(&mut shell, 7, 26, "priority_boost");
    refused(&mut shell, 7, 27, "fd xor path");
    refused(&mut shell, 7, 29, "Invalid buffer sizes");
    assert!(shell.files.is_empty() && shell.service.is_idle());
}
