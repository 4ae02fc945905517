//! The checks of EnableTracing, in their order.

use super::*;
use protos::{
    TraceConfigLockdownModeOperation as Lockdown, TraceConfigSessionSemaphore,
    TraceConfigTriggerConfig, TraceConfigTriggerConfigTriggerMode as Mode,
};
use service::Boost;

/// The error of a request; empty if the session runs.
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
    let mut shell = Shell::new();
    let too_long = TraceConfig { duration_ms: Some(0x7fff_ffff), ..config(&["ds"]) };
    let (mut producer, mut consumer) = recording(&mut shell, too_long);
    assert!(consumer.ended(&mut shell).unwrap().contains("too long"));
    assert!(producer.smb.is_none() && words(&mut shell, &mut producer).is_empty());
    check(TraceConfig { duration_ms: Some(0x7fff_ffff), ..config(&[]) }, "too long");
    let day = 24 * 3600 * 1000;
    check(TraceConfig { duration_ms: Some(day + 1), ..config(&[]) }, "");
    let guarded = TraceConfig { enable_extra_guardrails: Some(true), ..config(&[]) };
    check(TraceConfig { duration_ms: Some(day + 1), ..guarded }, "too long");
}

#[test]
fn trigger_configs_are_checked() {
    check(triggers(1, 0), "positive trigger_timeout_ms");
    check(triggers(3, 1000), "invalid trigger mode");
    check(triggers(-1, 1000), "invalid trigger mode");
    check(TraceConfig { duration_ms: Some(1), ..triggers(1, 1000) }, "not allowed with triggers");
    check(TraceConfig { write_into_file: Some(true), ..triggers(2, 1000) }, "unsupported");
    check(triggers(1, 1000), "");
}

#[test]
fn fail_on_unknown_trigger() {
    check(triggers(5, 1000), "invalid trigger mode");
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
    let v2 = |kb| TraceConfigBufferConfig {
        experimental_mode: Some(protos::TraceConfigBufferConfigExperimentalMode::TRACE_BUFFER_V2),
        ..buffer(kb)
    };
    let buffers = |kb| TraceConfig { buffers: vec![v2(kb)], ..config(&[]) };
    check(buffers(4_194_301), "size_kb of TRACE_BUFFER_V2 is from 1 to 4194300");
    check(TraceConfig { buffers: vec![buffer(4); 129], ..config(&[]) }, "too many buffers");
}

#[test]
fn filters_must_be_expressions() {
    let mut bad = config(&["ds"]);
    bad.data_sources[0].producer_name_regex_filter = vec!["(".into()];
    check(bad.clone(), "producer_name_regex_filter \"(\" is invalid");
    // Between the parentheses that the service adds, it would be valid and match nearly all names.
    bad.data_sources[0].producer_name_regex_filter = vec!["a)|(b".into()];
    check(bad.clone(), "is invalid");
    bad.data_sources[0].producer_name_regex_filter = vec!["\u{1}".repeat(60_000) + "("];
    let (_, error) = attempt(&mut Shell::new(), 0, bad);
    assert!(error.contains("is invalid") && error.len() < 1000, "{} bytes", error.len());
}

#[test]
fn expressions_of_a_session_are_bounded() {
    let with = |count| {
        let mut config = config(&["ds"]);
        let regex = |number: usize| number.to_string();
        config.data_sources[0].producer_name_regex_filter = (0..count).map(regex).collect();
        config
    };
    let max = service::limits::REGEXES_PER_SESSION_MAX;
    check(with(max), "");
    check(with(max + 1), "too many regular expressions, at most 1024");
    // About 60 KiB each, once compiled.
    let large = |count| {
        let mut config = config(&["ds"]);
        let regex = "(a|ab|abc|b){100}x?(a|ab|abc|b|.)*".to_owned();
        config.data_sources[0].producer_name_regex_filter = vec![regex; count];
        config
    };
    check(large(16), "");
    check(large(17), "too large: at most 1024 KiB");
}

#[test]
fn one_session_per_consumer() {
    let mut shell = Shell::new();
    let (mut consumer, error) = attempt(&mut shell, 0, config(&[]));
    assert_eq!(error, "");
    consumer.enable(&mut shell, config(&[]), None);
    let error = consumer.ended(&mut shell).unwrap();
    assert!(error.contains("already active"), "{error}");
    // The first session goes on.
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
fn cant_back_to_back_configs_for_with_extra_guardrails() {
    let mut shell = Shell::new();
    let guarded = TraceConfig {
        enable_extra_guardrails: Some(true),
        unique_session_name: Some("name".into()),
        ..config(&[])
    };
    let with_source = TraceConfig { data_sources: named(&["ds"]), ..guarded.clone() };
    let (mut producer, mut first) = recording(&mut shell, with_source);
    producer.write(&mut shell, WRITER, BUFFER, &[payload("x")]);
    assert_eq!(first.ended(&mut shell), None);
    assert_eq!(payloads(&first.read(&mut shell)), ["x"]);
    first.free(&mut shell);
    assert!(attempt(&mut shell, 0, guarded.clone()).1.contains("too recent"));
    shell.advance_ms(300_001);
    assert_eq!(attempt(&mut shell, 0, guarded).1, "");
}

/// As many sessions as a user gets, and why it gets no more.
fn fill(shell: &mut Shell, uid: u32) -> (Vec<MockConsumer>, String) {
    let mut kept = Vec::new();
    loop {
        let (consumer, error) = attempt(shell, uid, config(&[]));
        if !error.is_empty() {
            return (kept, error);
        }
        kept.push(consumer);
    }
}

const SERVICE_UID: u32 = 500;

#[test]
fn limit_sessions_per_uid() {
    let mut shell = Shell::with(|config| config.uid = SERVICE_UID);
    let mut kept = Vec::new();
    for uid in [0, SERVICE_UID, 1000] {
        let (sessions, error) = fill(&mut shell, uid);
        assert_eq!(sessions.len(), 5, "{error}");
        let expected = format!("too many concurrent tracing sessions (5) for uid {uid}: free one");
        assert!(error.contains(&expected), "{error}");
        kept.extend(sessions);
    }
    let (_, error) = attempt(&mut shell, 1001, config(&[]));
    let expected = "too many concurrent tracing sessions (15): wait until one is freed";
    assert!(error.contains(expected), "{error}");
    kept.pop().unwrap().disconnect(&mut shell);
    assert_eq!(attempt(&mut shell, 1001, config(&[])).1, "");
}

#[test]
fn many_users_leave_sessions_to_those_without_any_and_to_root() {
    let mut shell = Shell::with(|config| config.uid = SERVICE_UID);
    let (mut kept, _) = fill(&mut shell, 1000);
    let (sessions, error) = fill(&mut shell, 1001);
    assert_eq!(sessions.len(), 4, "9 of users with sessions: {error}");
    let expected = "too many concurrent tracing sessions (9) of users other than root and that of \
                    the service: wait until one is freed, or ask as root";
    assert!(error.contains(expected), "{error}");
    kept.extend(sessions);
    for uid in 1002..1005 {
        let (sessions, error) = fill(&mut shell, uid);
        assert_eq!(sessions.len(), 1, "12 with the first of each user: {error}");
        kept.extend(sessions);
    }
    let (sessions, error) = fill(&mut shell, 1005);
    assert!(sessions.is_empty() && error.contains("(12) of users other than root"), "{error}");
    for uid in [0, SERVICE_UID] {
        let (sessions, error) = fill(&mut shell, uid);
        assert_eq!(sessions.len(), 3, "15 of all: {error}");
        assert!(error.contains("sessions (15): wait"), "{error}");
        sessions.into_iter().for_each(|consumer| consumer.disconnect(&mut shell));
    }
    // What root and the service have does not count among the sessions of others.
    let of_root = fill(&mut shell, 0).0;
    kept.drain(..4).for_each(|consumer| consumer.disconnect(&mut shell));
    assert_eq!(of_root.len(), 3);
    assert_eq!(attempt(&mut shell, 1000, config(&[])).1, "", "8 of others, 11 with those of root");
}

/// A clone is no session in which a user records.
#[test]
fn a_user_with_a_clone_alone_still_gets_a_session() {
    let mut shell = Shell::new();
    let (source, error) = attempt(&mut shell, 1002, config(&[]));
    assert_eq!(error, "");
    let id = shell.service.session_of(source.client).unwrap().get();
    let selector = Some(protos::CloneSessionRequestSelector::SessionId(id));
    let clone = MockConsumer::connect(&mut shell, 1002);
    let request = protos::CloneSessionRequest { selector, ..Default::default() };
    let call = clone.clone_session(&mut shell, request, None);
    assert_eq!(clone.cloned(&mut shell, call).expect("answered").error, None);
    source.free(&mut shell);
    let _kept = [1000, 1001].map(|uid| fill(&mut shell, uid));
    let (_session, error) = attempt(&mut shell, 1002, config(&[]));
    assert_eq!(error, "");
    assert!(attempt(&mut shell, 1002, config(&[])).1.contains("(10) of users other than root"));
}

/// Which of sessions with these limits for one semaphore, enabled in turn, are accepted.
fn semaphores(limits: &[u64]) -> Vec<bool> {
    let mut shell = Shell::new();
    let with = |max| TraceConfig {
        session_semaphores: vec![TraceConfigSessionSemaphore {
            name: Some("sem".into()),
            max_other_session_count: Some(max),
            ..Default::default()
        }],
        ..config(&[])
    };
    let kept: Vec<_> = limits.iter().map(|max| attempt(&mut shell, 0, with(*max))).collect();
    let mut let_in = Vec::new();
    for (mut consumer, error) in kept {
        assert!(error.is_empty() || error.contains("semaphore"), "{error}");
        let_in.push(error.is_empty());
        // A refused session does not change the accepted ones.
        assert_eq!(consumer.ended(&mut shell), None);
        consumer.disable(&mut shell);
        assert_eq!(consumer.ended(&mut shell), error.is_empty().then(String::new));
    }
    let_in
}

#[test]
fn session_semaphore_mutex_single_session() {
    assert_eq!(semaphores(&[0]), [true]);
}

#[test]
fn session_semaphore_mutex_multiple_session() {
    assert_eq!(semaphores(&[0, 0]), [true, false]);
}

#[test]
fn session_semaphore_higher_current_fails() {
    assert_eq!(semaphores(&[0, 1]), [true, false]);
}

#[test]
fn session_semaphore_higher_previous_fails() {
    assert_eq!(semaphores(&[1, 0]), [true, false]);
}

#[test]
fn session_semaphore_allowed_up_to_limit() {
    assert_eq!(semaphores(&[3, 3, 3, 3, 3]), [true, true, true, true, false]);
}

fn exclusive(priority: u32, sources: &[&str]) -> TraceConfig {
    TraceConfig { exclusive_prio: Some(priority), ..config(sources) }
}

#[test]
fn exclusive_session_blocks_new_sessions() {
    let mut shell = Shell::new();
    let (mut one, error) = attempt(&mut shell, 0, exclusive(1, &[]));
    assert_eq!(error, "");
    let (_, error) = attempt(&mut shell, 0, config(&[]));
    assert!(error.contains("priority 1") && error.contains("priority 0"), "{error}");
    let (_, error) = attempt(&mut shell, 0, exclusive(1, &[]));
    assert!(error.matches("priority 1").count() == 2, "{error}");
    assert_eq!(one.ended(&mut shell), None);
}

#[test]
fn exclusive_session_abort_running_sessions() {
    let mut shell = Shell::new();
    let (mut producer, mut plain) = recording(&mut shell, config(&["ds"]));
    let mut waiting = triggers(4, 60_000);
    let names = waiting.trigger_config.as_mut().unwrap();
    names.triggers = vec![protos::TraceConfigTriggerConfigTrigger {
        name: Some("a".into()),
        ..Default::default()
    }];
    let (mut waiting, error) = attempt(&mut shell, 0, waiting);
    assert_eq!(error, "");
    producer.write(&mut shell, WRITER, BUFFER, &[payload("x")]);
    let (_, error) = attempt(&mut shell, 0, exclusive(1, &["ds"]));
    assert_eq!(error, "");
    for aborted in [&mut plain, &mut waiting] {
        let reason = aborted.ended(&mut shell).unwrap();
        assert!(reason.contains("higher-priority (1) exclusive"), "{reason}");
        assert_eq!(aborted.read(&mut shell), []);
    }
    assert_eq!(words(&mut shell, &mut producer), ["stop 1", "setup 2", "start 2"]);
}

#[test]
fn exclusive_session_higher_priority_aborts_lower() {
    let mut shell = Shell::new();
    let (mut one, _) = attempt(&mut shell, 0, exclusive(1, &[]));
    assert_eq!(attempt(&mut shell, 0, exclusive(2, &[])).1, "");
    let reason = one.ended(&mut shell).unwrap();
    assert!(reason.contains("higher-priority (2) exclusive"), "{reason}");
}

fn boosted(policy: i32, priority: u32) -> TraceConfig {
    let boost = protos::PriorityBoostConfig {
        policy: Some(protos::PriorityBoostConfigBoostPolicy(policy)),
        priority: Some(priority),
        ..Default::default()
    };
    TraceConfig { priority_boost: Some(boost), ..config(&[]) }
}

#[test]
fn priority_boosts_have_ranges() {
    check(boosted(0, 1), "neither");
    check(boosted(1, 21), "from 0 to 20");
    check(boosted(2, 0), "from 1 to 99");
    check(boosted(2, 100), "from 1 to 99");
    check(boosted(1, 20), "");
    check(boosted(2, 99), "");
}

#[test]
fn only_root_and_the_user_of_the_service_may_boost_it() {
    let own = 1000;
    let mut shell = Shell::with(|config| config.uid = own);
    for (uid, may) in [(0, true), (own, true), (own + 1, false)] {
        let (consumer, error) = attempt(&mut shell, uid, boosted(2, 99));
        let expected = if may { "" } else { "may not change the priority of the service" };
        assert!(error.contains(expected) && error.is_empty() == may, "{uid}: {error}");
        assert_eq!(shell.boost, may.then_some(Boost::Fifo(99)));
        consumer.disconnect(&mut shell);
        assert_eq!(shell.boost, None);
    }
}

/// Probes of root would raise themselves for anybody: they do not know whose session it is.
#[test]
fn only_root_and_the_user_of_the_service_may_boost_producers() {
    let own = 1000;
    let mut shell = Shell::with(|config| config.uid = own);
    for (uid, may) in [(0, true), (own, true), (own + 1, false)] {
        let mut config = config(&["one", "two"]);
        let source = config.data_sources[1].config.as_mut().unwrap();
        source.priority_boost = boosted(2, 99).priority_boost;
        let (consumer, error) = attempt(&mut shell, uid, config);
        let expected =
            if may { "" } else { "data source \"two\": priority_boost: user 1001 may not" };
        assert!(error.contains(expected) && error.is_empty() == may, "{uid}: {error}");
        assert_eq!(shell.boost, None, "that of the service stays");
        consumer.disconnect(&mut shell);
    }
}

#[test]
fn the_highest_boost_counts_for_as_long_as_it_is_wanted() {
    let mut shell = Shell::new();
    let (low, _) = attempt(&mut shell, 0, boosted(1, 5));
    assert_eq!(shell.boost, Some(Boost::Other(5)));
    let (fifo, _) = attempt(&mut shell, 0, boosted(2, 1));
    assert_eq!(shell.boost, Some(Boost::Fifo(1)));
    let (high, _) = attempt(&mut shell, 0, boosted(1, 20));
    assert_eq!(shell.boost, Some(Boost::Fifo(1)));
    fifo.free(&mut shell);
    assert_eq!(shell.boost, Some(Boost::Other(20)));
    high.free(&mut shell);
    // The error of the system reaches the consumer, and nothing changes.
    shell.priority_error = Some("Permission denied".into());
    let (_, error) = attempt(&mut shell, 0, boosted(2, 2));
    assert!(error.contains("Permission denied"), "{error}");
    shell.priority_error = None;
    assert_eq!(shell.boost, Some(Boost::Other(5)));
    low.disconnect(&mut shell);
    assert_eq!(shell.boost, None);
}

/// The shell is asked for nothing that it was not asked for before.
#[test]
fn sessions_without_a_boost_leave_the_priority_alone() {
    let mut shell = Shell::new();
    // As the machine has set it.
    shell.boost = Some(Boost::Other(7));
    let (consumer, error) = attempt(&mut shell, 0, config(&[]));
    assert_eq!(error, "");
    consumer.free(&mut shell);
    assert!(shell.service.is_idle());
    assert_eq!(shell.boost, Some(Boost::Other(7)));
}

/// Both are felt by all other users.
#[test]
fn only_root_and_the_user_of_the_service_may_shut_others_out() {
    const OWN: u32 = 500;
    for uid in [0, OWN, 1000] {
        let mut shell = Shell::with(|config| config.uid = OWN);
        let (mut other, error) = attempt(&mut shell, 1001, config(&[]));
        assert_eq!(error, "");
        let lock = |mode| TraceConfig { lockdown_mode: Some(mode), ..config(&[]) };
        for (field, config) in [
            ("lockdown_mode", lock(Lockdown::LOCKDOWN_SET)),
            ("lockdown_mode", lock(Lockdown::LOCKDOWN_CLEAR)),
            ("", lock(Lockdown::LOCKDOWN_UNCHANGED)),
            ("", exclusive(0, &[])),
            ("exclusive_prio", exclusive(u32::MAX, &[])),
        ] {
            let (consumer, error) = attempt(&mut shell, uid, config);
            consumer.free(&mut shell);
            let start = format!("{field}: user {uid} may not");
            match uid != 1000 || field.is_empty() {
                true => assert_eq!(error, ""),
                false => assert!(error.contains(&start), "{error}"),
            }
        }
        assert_eq!(other.ended(&mut shell).is_some(), uid != 1000);
        let stranger = producer(&mut shell, "stranger");
        let sync = protos::producer_port::Request::Sync(Default::default());
        assert!(stranger.call(&mut shell, sync)[0].response.is_some(), "not locked out");
    }
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

/// A ProtoVM program is passed on to its producer, and is not run.
#[test]
fn proto_vm_is_ignored_with_a_line() {
    let mut shell = Shell::new();
    let mut config = config(&["ds", "ds"]);
    for source in &mut config.data_sources {
        let source = source.config.as_mut().unwrap();
        source.protovm_config = Some(Default::default());
    }
    let (_producer, mut consumer) = recording(&mut shell, config);
    assert_eq!(consumer.ended(&mut shell), None);
    let lines = shell.log.iter().filter(|(_, line)| line.contains("protovm_config")).count();
    assert_eq!(lines, 1, "{:?}", shell.log);
}

/// A config that does not fit into the frame of a command is refused, as it would end the command stream.
#[test]
fn configs_that_no_command_can_carry() {
    for (text_bytes, fits) in [(129_000, true), (131_000, false)] {
        let mut shell = Shell::new();
        let mut config = config(&["ds"]);
        let source = config.data_sources[0].config.as_mut().unwrap();
        source.legacy_config = Some("x".repeat(text_bytes));
        let mut producer = producer(&mut shell, "p");
        producer.register_name(&mut shell, "ds");
        let mut consumer = MockConsumer::connect(&mut shell, 0);
        consumer.enable(&mut shell, config, None);
        let ended = consumer.ended(&mut shell);
        assert_eq!(ended.is_none(), fits, "{ended:?}");
        assert_eq!(words(&mut shell, &mut producer).len(), if fits { 3 } else { 0 });
    }
}
