//! What sessions are let in: the checks of EnableTracing, in order.

use super::*;
use protos::{
    TraceConfigLockdownModeOperation as Lockdown, TraceConfigSessionSemaphore,
    TraceConfigTriggerConfig, TraceConfigTriggerConfigTriggerMode as Mode,
};

/// The error of an attempt, empty if the session runs.
fn attempt(shell: &mut Shell, uid: u32, config: TraceConfig) -> (MockConsumer, String) {
    let mut consumer = MockConsumer::connect(shell, uid);
    consumer.enable(shell, config, None);
    let ended = consumer.ended(shell).unwrap_or_default();
    (consumer, ended)
}

#[track_caller]
fn check(config: TraceConfig, expect: &str) {
    let mut shell = Shell::new();
    let (_, error) = attempt(&mut shell, 0, config);
    if expect.is_empty() {
        assert_eq!(error, "");
    } else {
        assert!(error.contains(expect), "{error:?} has no {expect:?}");
        assert!(shell.service.is_idle(), "a refused session leaves nothing");
    }
}

fn triggers(mode: i32, timeout_ms: u32) -> TraceConfig {
    let mut config = config(&[]);
    config.trigger_config = Some(TraceConfigTriggerConfig {
        trigger_mode: Some(Mode(mode)),
        trigger_timeout_ms: Some(timeout_ms),
        ..Default::default()
    });
    config
}

#[test]
fn empty_config_is_legal() {
    check(TraceConfig::default(), "");
}

#[test]
fn abort_if_trace_duration_is_too_long() {
    check(TraceConfig { duration_ms: Some(0x7fff_ffff), ..config(&[]) }, "too long");
    let day = 24 * 3600 * 1000;
    check(TraceConfig { duration_ms: Some(day + 1), ..config(&[]) }, "");
    let guarded = TraceConfig { enable_extra_guardrails: Some(true), ..config(&[]) };
    check(TraceConfig { duration_ms: Some(day + 1), ..guarded }, "too long");
}

#[test]
fn trigger_configs_are_checked() {
    check(triggers(1, 0), "positive trigger_timeout_ms");
    check(triggers(5, 1000), "invalid trigger mode");
    check(triggers(3, 1000), "invalid trigger mode");
    check(triggers(-1, 1000), "invalid trigger mode");
    check(TraceConfig { duration_ms: Some(1), ..triggers(1, 1000) }, "not allowed with triggers");
    check(TraceConfig { write_into_file: Some(true), ..triggers(2, 1000) }, "unsupported");
    check(triggers(1, 1000), "");
}

#[test]
fn names_and_guardrails() {
    check(
        TraceConfig { bugreport_filename: Some("a/b".into()), ..config(&[]) },
        "invalid char '/'",
    );
    let guarded = TraceConfig { enable_extra_guardrails: Some(true), ..config(&[]) };
    check(TraceConfig { deferred_start: Some(true), ..guarded.clone() }, "not supported");
    check(TraceConfig { buffers: vec![buffer(6)], ..guarded.clone() }, "multiple of 4");
    check(TraceConfig { buffers: vec![buffer(131_076)], ..guarded.clone() }, "too large");
    let overrides = protos::TraceConfigGuardrailOverrides {
        max_tracing_buffer_size_kb: Some(131_076),
        ..Default::default()
    };
    check(
        TraceConfig {
            buffers: vec![buffer(131_076)],
            guardrail_overrides: Some(overrides),
            ..guarded
        },
        "",
    );
}

#[test]
fn invalid_buffer_sizes() {
    let buffers = vec![buffer(4), buffer(4), buffer(4_194_304)];
    check(TraceConfig { buffers, ..config(&[]) }, "Invalid buffer sizes");
    check(TraceConfig { buffers: vec![buffer(0)], ..config(&[]) }, "Invalid buffer sizes");
    check(TraceConfig { buffers: vec![buffer(4); 129], ..config(&[]) }, "too many buffers");
}

#[test]
fn named_buffers() {
    let buffers = |names: [&str; 2]| {
        names.map(|n| {
            let name = (!n.is_empty()).then(|| n.to_owned());
            TraceConfigBufferConfig { name, ..buffer(4) }
        })
    };
    let source = |target: u32, name: &str| {
        let mut sources = named(&["ds"]);
        if let Some(config) = &mut sources[0].config {
            config.target_buffer = Some(target);
            config.target_buffer_name = (!name.is_empty()).then(|| name.to_owned());
        }
        sources
    };
    let with = |names, data_sources| TraceConfig {
        buffers: Vec::from(buffers(names)),
        data_sources,
        ..Default::default()
    };
    check(with(["a", "a"], vec![]), "Duplicate buffer name");
    check(with(["a", "b"], source(0, "c")), "does not match any buffer");
    check(with(["a", "b"], source(1, "a")), "don't match");
    check(with(["a", "b"], source(1, "b")), "");
    check(with(["", "b"], source(0, "b")), "");
    check(with(["", ""], source(2, "")), "out of bounds");
    check(TraceConfig { data_sources: named(&["ds"]), ..Default::default() }, "out of bounds");
}

#[test]
fn filters_must_be_expressions() {
    let mut bad = config(&["ds"]);
    bad.data_sources[0].producer_name_regex_filter = vec!["(".into()];
    check(bad, "producer_name_regex_filter \"(\" is invalid");
}

#[test]
fn one_session_per_consumer() {
    let mut shell = Shell::new();
    let (mut consumer, error) = attempt(&mut shell, 0, config(&[]));
    assert_eq!(error, "");
    consumer.enable(&mut shell, config(&[]), None);
    let error = consumer.ended(&mut shell).unwrap();
    assert!(error.contains("already active"), "{error}");
    // The first session lives on.
    assert!(!shell.service.is_idle());
}

#[test]
fn at_most_one_config() {
    let mut shell = Shell::new();
    let named = TraceConfig { unique_session_name: Some("one".into()), ..config(&[]) };
    let (first, error) = attempt(&mut shell, 0, named.clone());
    assert_eq!(error, "");
    let (second, error) = attempt(&mut shell, 0, named.clone());
    assert!(error.contains("already exists"), "{error}");
    assert_eq!(second.read(&mut shell), []);
    // A session that is over still has its name, until it is freed.
    first.disable(&mut shell);
    assert!(attempt(&mut shell, 0, named.clone()).1.contains("already exists"));
    first.free(&mut shell);
    assert_eq!(attempt(&mut shell, 0, named).1, "");
}

#[test]
fn cant_back_to_back_configs_with_extra_guardrails() {
    let mut shell = Shell::new();
    let guarded = TraceConfig {
        enable_extra_guardrails: Some(true),
        unique_session_name: Some("name".into()),
        ..config(&[])
    };
    let (first, error) = attempt(&mut shell, 0, guarded.clone());
    assert_eq!(error, "");
    first.free(&mut shell);
    assert!(attempt(&mut shell, 0, guarded.clone()).1.contains("too recent"));
    shell.advance_ms(300_001);
    assert_eq!(attempt(&mut shell, 0, guarded).1, "");
}

#[test]
fn limit_sessions_per_uid_and_in_all() {
    let mut shell = Shell::new();
    let mut kept = Vec::new();
    for uid in 1..=3 {
        for _ in 0..5 {
            let (consumer, error) = attempt(&mut shell, uid, config(&[]));
            assert_eq!(error, "");
            kept.push(consumer);
        }
        let (_, error) = attempt(&mut shell, uid, config(&[]));
        assert!(error.contains("for uid"), "{error}");
    }
    let (_, error) = attempt(&mut shell, 9, config(&[]));
    assert!(error.contains("too many concurrent tracing sessions (15)"), "{error}");
    kept.pop().unwrap().disconnect(&mut shell);
    assert_eq!(attempt(&mut shell, 9, config(&[])).1, "");
}

#[test]
fn session_semaphores() {
    let with = |max| TraceConfig {
        session_semaphores: vec![TraceConfigSessionSemaphore {
            name: Some("sem".into()),
            max_other_session_count: Some(max),
            ..Default::default()
        }],
        ..config(&[])
    };
    let run = |counts: &[u64]| {
        let mut shell = Shell::new();
        let kept: Vec<_> = counts.iter().map(|c| attempt(&mut shell, 0, with(*c))).collect();
        kept.into_iter().map(|(_, error)| !error.contains("semaphore")).collect::<Vec<_>>()
    };
    assert_eq!(run(&[0]), [true]);
    assert_eq!(run(&[0, 0]), [true, false]);
    assert_eq!(run(&[0, 1]), [true, false]);
    assert_eq!(run(&[1, 0]), [true, false]);
    assert_eq!(run(&[3, 3, 3, 3, 3]), [true, true, true, true, false]);
}

#[test]
fn exclusive_sessions() {
    let exclusive = |p| TraceConfig { exclusive_prio: Some(p), ..config(&["ds"]) };
    let mut shell = Shell::new();
    let (mut producer, mut plain) = recording(&mut shell, config(&["ds"]));
    let (mut one, error) = attempt(&mut shell, 0, exclusive(1));
    assert_eq!(error, "");
    let reason = plain.ended(&mut shell).unwrap();
    assert!(reason.contains("higher-priority (1) exclusive"), "{reason}");
    assert_eq!(plain.read(&mut shell), []);
    assert_eq!(words(&mut shell, &mut producer), ["stop 1", "setup 2", "start 2"]);
    let (_, error) = attempt(&mut shell, 0, config(&[]));
    assert!(error.contains("priority 1") && error.contains("priority 0"), "{error}");
    assert!(attempt(&mut shell, 0, exclusive(1)).1.contains("exclusive"));
    assert_eq!(attempt(&mut shell, 0, exclusive(2)).1, "");
    let reason = one.ended(&mut shell).unwrap();
    assert!(reason.contains("higher-priority (2) exclusive"), "{reason}");
}

#[test]
fn lockdown_mode() {
    let mut shell = Shell::new();
    let lock = |mode| TraceConfig { lockdown_mode: Some(mode), ..config(&[]) };
    let (locking, _) = attempt(&mut shell, 0, lock(Lockdown::LOCKDOWN_SET));
    let stranger = producer(&mut shell, "stranger");
    let own = MockProducer::connect(&mut shell, "own", peer(0));
    let accepted = |shell: &mut Shell, p: &MockProducer| {
        let replies = p.call(shell, protos::producer_port::Request::Sync(Default::default()));
        replies[0].response.is_some()
    };
    assert!(!accepted(&mut shell, &stranger));
    assert!(accepted(&mut shell, &own));
    locking.free(&mut shell);
    attempt(&mut shell, 0, lock(Lockdown::LOCKDOWN_CLEAR));
    let stranger = producer(&mut shell, "stranger");
    assert!(accepted(&mut shell, &stranger));
}

#[test]
#[allow(deprecated, reason = "older peers still send them")]
fn uuid_is_the_configs_or_random() {
    let mut shell = Shell::new();
    let asked =
        TraceConfig { trace_uuid_lsb: Some(1), trace_uuid_msb: Some(2), ..TraceConfig::default() };
    let uuid = |shell: &mut Shell, config| {
        let (consumer, _) = attempt(shell, 0, config);
        consumer.read(shell).iter().find_map(|p| match &p.data {
            Some(TracePacketData::TraceUuid(u)) => Some((u.msb.unwrap(), u.lsb.unwrap())),
            _ => None,
        })
    };
    assert_eq!(uuid(&mut shell, asked), Some((2, 1)));
    let (msb, lsb) = uuid(&mut shell, TraceConfig::default()).unwrap();
    assert!(msb != 0 && lsb != 0);
}
