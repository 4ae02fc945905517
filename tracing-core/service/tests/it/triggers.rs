//! Triggers that producers activate, and the sessions that wait for them.

use super::{ledger, *};
use protos::consumer_port::Request as ConsumerRequest;
use protos::producer_port::Request;
use protos::{
    CloneSessionRequest, CloneSessionRequestSelector as Selector, LossLedgerReason, LossLedgerUnit,
    ObservableEvents, ObservableEventsType, ObserveEventsResponse, TraceConfigTriggerConfig,
    TraceConfigTriggerConfigTrigger as Trigger, TraceConfigTriggerConfigTriggerMode as Mode,
};
use protozero::Message as _;

const DAY_MS: u64 = 24 * 3600 * 1000;

pub(super) fn trigger(name: &str, delay_ms: u32) -> Trigger {
    Trigger { name: Some(name.into()), stop_delay_ms: Some(delay_ms), ..Default::default() }
}

pub(super) fn waiting(mode: Mode, timeout_ms: u32, triggers: Vec<Trigger>) -> TraceConfig {
    let trigger_config = TraceConfigTriggerConfig {
        trigger_mode: Some(mode),
        triggers,
        trigger_timeout_ms: Some(timeout_ms),
        ..Default::default()
    };
    TraceConfig { trigger_config: Some(trigger_config), ..config(&["ds"]) }
}

pub(super) fn starting(triggers: Vec<Trigger>) -> TraceConfig {
    waiting(Mode::START_TRACING, 1000, triggers)
}

pub(super) fn stopping(triggers: Vec<Trigger>) -> TraceConfig {
    waiting(Mode::STOP_TRACING, 8_640_000, triggers)
}

pub(super) fn fire(shell: &mut Shell, producer: &MockProducer, names: &[&str]) {
    let request = protos::ActivateTriggersRequest {
        trigger_names: names.iter().map(|n| (*n).into()).collect(),
        ..Default::default()
    };
    let replies = producer.call(shell, Request::ActivateTriggers(request));
    assert!(replies[0].response.is_some());
}

/// (name, delay) of the triggers in packets.
pub(super) fn received(packets: &[TracePacket]) -> Vec<(String, u64)> {
    let of = |p: &TracePacket| match &p.data {
        Some(TracePacketData::Trigger(t)) => {
            assert!(t.producer_name.is_some() && t.trusted_producer_uid == Some(42));
            assert!(p.timestamp.is_some());
            Some((t.trigger_name.clone().unwrap(), t.stop_delay_ms.unwrap()))
        }
        _ => None,
    };
    packets.iter().filter_map(of).collect()
}

/// A producer "mock_producer" with "ds" and a consumer with a session of that config, after the set-up.
pub(super) fn session(shell: &mut Shell, config: TraceConfig) -> (MockProducer, MockConsumer) {
    let mut producer = producer(shell, "mock_producer");
    producer.register_name(shell, "ds");
    let mut consumer = MockConsumer::connect(shell, 0);
    consumer.enable(shell, config, None);
    assert_eq!(words(shell, &mut producer)[..2], ["setup_tracing Some(4) KB", "setup 1"]);
    (producer, consumer)
}

/// Nothing happens until the timeout.
fn times_out(shell: &mut Shell, mut producer: MockProducer, mut consumer: MockConsumer) {
    assert!(words(shell, &mut producer).is_empty());
    shell.advance_ms(999);
    assert_eq!(consumer.ended(shell), None);
    shell.advance_ms(1);
    assert_eq!(words(shell, &mut producer), ["stop 1"]);
    assert_eq!(consumer.ended(shell).as_deref(), Some(""));
    assert_eq!(consumer.read(shell), []);
}

#[test]
fn start_tracing_trigger_deferred_start() {
    let mut shell = Shell::new();
    let (mut producer, mut consumer) = session(&mut shell, starting(vec![trigger("a", 1)]));
    assert!(words(&mut shell, &mut producer).is_empty(), "not before the trigger");
    assert_eq!(consumer.read(&mut shell), []);
    fire(&mut shell, &producer, &["a"]);
    assert_eq!(words(&mut shell, &mut producer), ["start 1"]);
    producer.write(&mut shell, WRITER, BUFFER, &[payload("x")]);
    shell.advance_ms(1);
    assert_eq!(words(&mut shell, &mut producer), ["flush 1 of [1] flags 0x12"]);
    producer.ack_flush(&mut shell, 1);
    assert_eq!(words(&mut shell, &mut producer), ["stop 1"]);
    assert_eq!(consumer.ended(&mut shell).as_deref(), Some(""));
    let packets = consumer.read(&mut shell);
    assert_eq!(received(&packets), [("a".into(), 1)]);
    assert_eq!(payloads(&packets), ["x"]);
    let config = packets.iter().find_map(|p| match &p.data {
        Some(TracePacketData::TraceConfig(config)) => Some(config),
        _ => None,
    });
    let config = config.unwrap();
    let mode = config.trigger_config.as_ref().unwrap().trigger_mode;
    assert_eq!((mode, config.duration_ms), (Some(Mode::START_TRACING), Some(1)));
}

#[test]
fn start_tracing_trigger_time_out() {
    let mut shell = Shell::new();
    let (producer, consumer) = session(&mut shell, starting(vec![trigger("a", 1)]));
    times_out(&mut shell, producer, consumer);
}

#[test]
fn a_file_of_a_session_that_was_never_triggered_is_empty() {
    for fired in [false, true] {
        let mut shell = Shell::new();
        let producer = producer(&mut shell, "p");
        let mut consumer = MockConsumer::connect(&mut shell, 0);
        let file = shell.open_file();
        let config = TraceConfig { write_into_file: Some(true), ..starting(vec![trigger("a", 1)]) };
        consumer.enable(&mut shell, config, Some(file));
        if fired {
            fire(&mut shell, &producer, &["a"]);
        }
        shell.advance_ms(1000);
        assert_eq!(consumer.ended(&mut shell).as_deref(), Some(""));
        assert!(shell.files[&file].closed);
        assert_eq!(shell.files[&file].bytes.is_empty(), !fired);
    }
}

/// Sets the only producer that may activate it.
fn only_from(regex: &str) -> Trigger {
    Trigger { producer_name_regex: Some(regex.into()), ..trigger("a", 1) }
}

#[test]
fn start_tracing_trigger_different_producer() {
    let mut shell = Shell::new();
    let (producer, consumer) = session(&mut shell, starting(vec![only_from("correct_name")]));
    fire(&mut shell, &producer, &["a"]);
    times_out(&mut shell, producer, consumer);
}

#[test]
fn start_tracing_trigger_correct_producer() {
    let mut shell = Shell::new();
    let config = starting(vec![only_from("mock_produc[e-r]+")]);
    let (mut producer, _consumer) = session(&mut shell, config);
    fire(&mut shell, &producer, &["a"]);
    assert_eq!(words(&mut shell, &mut producer), ["start 1"]);
}

#[test]
fn an_invalid_producer_regex_of_a_trigger_is_refused() {
    let mut shell = Shell::new();
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, starting(vec![only_from("(")]), None);
    assert!(consumer.ended(&mut shell).unwrap().contains("producer_name_regex"));
}

#[test]
fn start_tracing_trigger_different_trigger() {
    let mut shell = Shell::new();
    let (producer, consumer) = session(&mut shell, starting(vec![trigger("a", 1)]));
    fire(&mut shell, &producer, &["b", "", "aa"]);
    times_out(&mut shell, producer, consumer);
}

#[test]
fn start_tracing_trigger_multiple_triggers() {
    let mut shell = Shell::new();
    let (mut producer, _consumer) = session(&mut shell, starting(vec![trigger("a", 1)]));
    fire(&mut shell, &producer, &["not", "a", "neither"]);
    assert_eq!(words(&mut shell, &mut producer), ["start 1"]);
}

#[test]
fn start_tracing_trigger_multiple_traces() {
    let mut shell = Shell::new();
    let (mut producer, one) = session(&mut shell, starting(vec![trigger("a", 1)]));
    let mut two = MockConsumer::connect(&mut shell, 0);
    two.enable(&mut shell, starting(vec![trigger("a", 1), trigger("b", 30_000)]), None);
    producer.commands(&mut shell);
    fire(&mut shell, &producer, &["no", "a", "b"]);
    assert_eq!(words(&mut shell, &mut producer), ["start 1", "start 2"]);
    shell.advance_ms(1);
    let flushes = words(&mut shell, &mut producer);
    assert_eq!(flushes, ["flush 1 of [1] flags 0x12", "flush 2 of [2] flags 0x12"]);
    producer.ack_flush(&mut shell, 2);
    assert_eq!(words(&mut shell, &mut producer), ["stop 1", "stop 2"]);
    assert_eq!(received(&one.read(&mut shell)), [("a".into(), 1)]);
    assert_eq!(received(&two.read(&mut shell)), [("a".into(), 1), ("b".into(), 30_000)]);
}

#[test]
fn emit_triggers_with_start_tracing_trigger() {
    let mut shell = Shell::new();
    let (producer, consumer) = session(&mut shell, starting(vec![trigger("a", 1)]));
    fire(&mut shell, &producer, &["no", "a", "other"]);
    assert_eq!(received(&consumer.read(&mut shell)), [("a".into(), 1)]);
}

#[test]
fn emit_triggers_with_stop_tracing_trigger() {
    let mut shell = Shell::new();
    let config = stopping(vec![trigger("a", 1), trigger("b", 30_000)]);
    let (mut producer, mut consumer) = session(&mut shell, config);
    fire(&mut shell, &producer, &["a", "unknown", "b"]);
    shell.advance_ms(1);
    producer.ack_flush(&mut shell, 1);
    assert_eq!(words(&mut shell, &mut producer), ["flush 1 of [1] flags 0x12", "stop 1"]);
    assert_eq!(consumer.ended(&mut shell).as_deref(), Some(""));
    assert_eq!(received(&consumer.read(&mut shell)), [("a".into(), 1), ("b".into(), 30_000)]);
}

#[test]
fn emit_triggers_repeatedly() {
    let mut shell = Shell::new();
    let config = stopping(vec![trigger("a", 1), trigger("b", 30_000)]);
    let (producer, consumer) = session(&mut shell, config);
    fire(&mut shell, &producer, &["a"]);
    assert_eq!(received(&consumer.read(&mut shell)), [("a".into(), 1)]);
    fire(&mut shell, &producer, &["b"]);
    assert_eq!(received(&consumer.read(&mut shell)), [("b".into(), 30_000)]);
    assert_eq!(received(&consumer.read(&mut shell)), []);
}

#[test]
fn stop_tracing_trigger_timeout() {
    let mut shell = Shell::new();
    let config = waiting(Mode::STOP_TRACING, 1, vec![trigger("a", 8_640_000)]);
    let (mut producer, mut consumer) = session(&mut shell, config);
    producer.write(&mut shell, WRITER, BUFFER, &[payload("x")]);
    assert_eq!(consumer.read(&mut shell), []);
    shell.advance_ms(1);
    producer.ack_flush(&mut shell, 1);
    assert_eq!(consumer.ended(&mut shell).as_deref(), Some(""));
    assert_eq!(consumer.read(&mut shell), []);
}

#[test]
fn stop_tracing_trigger_ring_buffer() {
    let mut shell = Shell::new();
    let config = TraceConfig {
        buffers: vec![buffer(4)],
        ..stopping(vec![trigger("a", 1), trigger("b", 30_000)])
    };
    let (mut producer, consumer) = session(&mut shell, config);
    producer.write(&mut shell, WRITER, BUFFER, &[payload(&"large ".repeat(500))]);
    let small: Vec<_> = (0..10).map(|number| format!("small {number}")).collect();
    let packets: Vec<_> = small.iter().map(|text| payload(text)).collect();
    producer.write(&mut shell, WRITER, BUFFER, &packets);
    assert_eq!(consumer.read(&mut shell), []);
    fire(&mut shell, &producer, &["a"]);
    shell.advance_ms(1);
    producer.ack_flush(&mut shell, 1);
    let packets = consumer.read(&mut shell);
    assert!(kinds(&packets).contains(&"TraceConfig".into()));
    assert_eq!(received(&packets), [("a".into(), 1)]);
    assert_eq!(payloads(&packets), small);
}

#[test]
fn stop_tracing_trigger_multiple_triggers() {
    let mut shell = Shell::new();
    let config = stopping(vec![trigger("a", 1), trigger("b", 30_000)]);
    let (mut producer, consumer) = session(&mut shell, config);
    fire(&mut shell, &producer, &["b", "a"]);
    shell.advance_ms(29_999);
    assert_eq!(words(&mut shell, &mut producer), ["start 1"; 0]);
    shell.advance_ms(1);
    producer.ack_flush(&mut shell, 1);
    assert_eq!(words(&mut shell, &mut producer), ["flush 1 of [1] flags 0x12", "stop 1"]);
    assert_eq!(received(&consumer.read(&mut shell)), [("b".into(), 30_000), ("a".into(), 1)]);
}

/// Activates "a", at most once a day, for a session and for another one `later_ms` after that: the triggers of both.
fn two_sessions(later_ms: u64) -> [Vec<(String, u64)>; 2] {
    let mut shell = Shell::new();
    let limited = Trigger { max_per_24_h: Some(1), ..trigger("a", 1) };
    let producer = producer(&mut shell, "mock_producer");
    [0, later_ms].map(|wait| {
        shell.advance_ms(wait);
        let mut consumer = MockConsumer::connect(&mut shell, 0);
        consumer.enable(&mut shell, stopping(vec![limited.clone()]), None);
        fire(&mut shell, &producer, &["a"]);
        shell.advance_ms(1);
        let packets = consumer.read(&mut shell);
        consumer.free(&mut shell);
        received(&packets)
    })
}

#[test]
fn second_trigger_hits_limit() {
    assert_eq!(two_sessions(23 * 3600 * 1000), [vec![("a".into(), 1)], vec![]]);
}

#[test]
fn second_trigger_doesnt_hit_limit() {
    let one = || vec![("a".into(), 1)];
    assert_eq!(two_sessions(DAY_MS), [one(), one()]);
}

#[test]
fn skip_probability() {
    let mut shell = Shell::new();
    let lucky = Trigger { skip_probability: Some(0.15), ..trigger("a", 1) };
    let (producer, consumer) = session(&mut shell, stopping(vec![lucky]));
    shell.service.set_draw(0.14);
    fire(&mut shell, &producer, &["a"]);
    assert_eq!(consumer.read(&mut shell), []);
    shell.service.set_draw(0.16);
    fire(&mut shell, &producer, &["a"]);
    assert_eq!(received(&consumer.read(&mut shell)), [("a".into(), 1)]);
}

pub(super) fn observe_clones(shell: &mut Shell, consumer: &MockConsumer) -> abi::ids::CallId {
    let request = protos::ObserveEventsRequest {
        events_to_observe: vec![ObservableEventsType::TYPE_CLONE_TRIGGER_HIT],
        ..Default::default()
    };
    shell.call_consumer(consumer.client, ConsumerRequest::ObserveEvents(request), None)
}

pub(super) fn observed(
    shell: &mut Shell,
    consumer: &MockConsumer,
    call: abi::ids::CallId,
) -> Vec<ObservableEvents> {
    let replies = shell.take_replies_to(consumer.client, call);
    let decode = |r: &testing::shell::Reply| {
        ObserveEventsResponse::decode(r.response.as_ref()?).ok()?.events
    };
    replies.iter().filter_map(decode).collect()
}

#[test]
fn clone_snapshot_triggers() {
    let mut shell = Shell::new();
    let triggers = (0..3).map(|number| trigger(&format!("trigger {number}"), 1)).collect();
    let config = waiting(Mode::CLONE_SNAPSHOT, 8_640_000, triggers);
    let (producer, consumer) = session(&mut shell, config);
    for round in 0..3u64 {
        let name = format!("trigger {round}");
        fire(&mut shell, &producer, &[&name]);
        assert_eq!(consumer.read(&mut shell), []);
        let cloner = MockConsumer::connect(&mut shell, 0);
        let call = cloner.clone_session(
            &mut shell,
            CloneSessionRequest { selector: Some(Selector::SessionId(1)), ..Default::default() },
            None,
        );
        producer.ack_flush(&mut shell, 2 * round + 2);
        assert_eq!(cloner.cloned(&mut shell, call).unwrap().success, Some(true));
        assert_eq!(received(&cloner.read(&mut shell)), [(name, 1)]);
        assert_eq!(consumer.read(&mut shell), []);
    }
}

#[test]
fn clone_snapshot_trigger_produces_event() {
    let mut shell = Shell::new();
    let producer = MockProducer::connect(&mut shell, "trigger_producer", peer(77_777));
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    let call = observe_clones(&mut shell, &consumer);
    let config = waiting(Mode::CLONE_SNAPSHOT, 8_640_000, vec![trigger("a", 1), trigger("b", 1)]);
    consumer.enable(&mut shell, config, None);
    fire(&mut shell, &producer, &["a", "b"]);
    let at_ns = shell.now_ns;
    assert_eq!(observed(&mut shell, &consumer, call), []);
    shell.advance_ms(1);
    // A message has room for one trigger, so there are two messages.
    let events = observed(&mut shell, &consumer, call);
    assert_eq!(events.len(), 2);
    let hit = events[0].clone_trigger_hit.clone().unwrap();
    assert_eq!(hit.tracing_session_id, Some(1));
    assert_eq!(hit.trigger_name.as_deref(), Some("a"));
    assert_eq!(hit.producer_name.as_deref(), Some("trigger_producer"));
    assert_eq!(hit.producer_uid, Some(77_777));
    assert_eq!(hit.boot_time_ns, Some(at_ns));
    assert_eq!(hit.trigger_delay_ms, Some(1));
}

#[test]
fn a_consumer_that_asks_for_other_events_is_not_told() {
    let mut shell = Shell::new();
    let producer = MockProducer::connect(&mut shell, "trigger_producer", peer(77_777));
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    let request = protos::ObserveEventsRequest {
        events_to_observe: vec![ObservableEventsType::TYPE_DATA_SOURCES_INSTANCES],
        ..Default::default()
    };
    let call = shell.call_consumer(consumer.client, ConsumerRequest::ObserveEvents(request), None);
    let config = waiting(Mode::CLONE_SNAPSHOT, 8_640_000, vec![trigger("a", 1)]);
    consumer.enable(&mut shell, config, None);
    fire(&mut shell, &producer, &["a"]);
    shell.advance_ms(1);
    let hits = observed(&mut shell, &consumer, call);
    assert!(hits.iter().all(|event| event.clone_trigger_hit.is_none()), "{hits:?}");
}

#[test]
fn a_clone_in_place_of_a_stop() {
    let mut shell = Shell::new();
    let mut config = stopping(vec![trigger("a", 5)]);
    config.trigger_config.as_mut().unwrap().use_clone_snapshot_if_available = Some(true);
    let (mut producer, mut consumer) = session(&mut shell, config);
    let call = observe_clones(&mut shell, &consumer);
    fire(&mut shell, &producer, &["a"]);
    shell.advance_ms(5);
    assert_eq!(observed(&mut shell, &consumer, call).len(), 1);
    assert_eq!(consumer.ended(&mut shell), None);
    assert_eq!(consumer.read(&mut shell), []);
    assert!(words(&mut shell, &mut producer).is_empty());
}

#[test]
fn consumer_disconnection_races_flush_and_disable() {
    let mut shell = Shell::new();
    let (mut producer, consumer) = session(&mut shell, stopping(vec![trigger("a", 1)]));
    fire(&mut shell, &producer, &["a"]);
    shell.advance_ms(1);
    producer.ack_flush(&mut shell, 1);
    consumer.disconnect(&mut shell);
    assert_eq!(words(&mut shell, &mut producer), ["flush 1 of [1] flags 0x12", "stop 1"]);
    assert!(shell.service.is_idle());
}

/// Upstream records for ever in that case.
#[test]
fn a_start_trigger_without_a_delay_ends_some_day() {
    let mut shell = Shell::new();
    let mut config = starting(vec![trigger("a", 0)]);
    config.enable_extra_guardrails = Some(true);
    let (mut producer, mut consumer) = session(&mut shell, config);
    fire(&mut shell, &producer, &["a"]);
    producer.commands(&mut shell);
    shell.advance_ms(DAY_MS - 1);
    assert_eq!(consumer.ended(&mut shell), None);
    shell.advance_ms(5001);
    assert_eq!(consumer.ended(&mut shell).as_deref(), Some(""));
}

/// A trigger after the end is in the trace, and has no effect.
#[test]
fn triggers_of_a_session_that_is_over() {
    let mut shell = Shell::new();
    let (mut producer, consumer) = session(&mut shell, starting(vec![trigger("a", 1)]));
    consumer.disable(&mut shell);
    producer.commands(&mut shell);
    fire(&mut shell, &producer, &["a"]);
    shell.advance_ms(10_000);
    assert!(words(&mut shell, &mut producer).is_empty());
    assert_eq!(received(&consumer.read(&mut shell)), [("a".into(), 1)]);
}

/// The name of a producer is kept with many things, so it is cut.
#[test]
fn long_names_of_producers_are_cut() {
    let mut shell = Shell::new();
    let producer = producer(&mut shell, &"\u{e4}".repeat(60_000));
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, stopping(vec![trigger("a", 1)]), None);
    fire(&mut shell, &producer, &["a"]);
    let packets = consumer.read(&mut shell);
    let of = |p: &TracePacket| match &p.data {
        Some(TracePacketData::Trigger(t)) => t.producer_name.clone(),
        _ => None,
    };
    let name = packets.iter().find_map(of).unwrap();
    assert_eq!(name.len(), service::limits::NAME_BYTES_MAX);
}

#[test]
fn triggers_that_are_not_kept_are_in_the_ledger() {
    let mut shell = Shell::with(|config| config.limits.triggers_received_max = 3);
    let (producer, consumer) = session(&mut shell, stopping(vec![trigger("a", 60_000)]));
    for _ in 0..3 {
        fire(&mut shell, &producer, &["a"]);
    }
    assert_eq!(ledger::ledger(&mut shell, &consumer), []);
    for _ in 0..2 {
        fire(&mut shell, &producer, &["a"]);
    }
    let entries = ledger::ledger(&mut shell, &consumer);
    let told = entries.iter().map(|e| (e.reason, e.unit, e.count, e.producer_name.as_deref()));
    let reason = Some(LossLedgerReason::REASON_TRIGGERS_DROPPED);
    let unit = Some(LossLedgerUnit::UNIT_TRIGGERS);
    assert!(told.eq([(reason, unit, Some(2), Some("mock_producer"))]), "{entries:?}");
    // Those that were read make room.
    consumer.read(&mut shell);
    fire(&mut shell, &producer, &["a"]);
    assert_eq!(ledger::ledger(&mut shell, &consumer)[0].count, Some(2));
}

#[test]
fn the_history_of_triggers_is_bounded() {
    let mut shell = Shell::new();
    let config = waiting(Mode::CLONE_SNAPSHOT, 8_640_000, vec![trigger("a", 60_000)]);
    let (producer, consumer) = session(&mut shell, config);
    let call = observe_clones(&mut shell, &consumer);
    let many = service::limits::TRIGGERS_RECEIVED_MAX + 100;
    for _ in 0..many {
        fire(&mut shell, &producer, &["a"]);
    }
    let held = shell.service.footprint();
    assert_eq!(held.delayed_hits, service::limits::CLONE_HITS_PENDING_MAX);
    assert_eq!(held.trigger_names, 1);
    assert!(shell.log.len() < 64, "{}", shell.log.len());
    shell.advance_ms(60_000);
    assert_eq!(
        observed(&mut shell, &consumer, call).len(),
        service::limits::CLONE_HITS_PENDING_MAX
    );
    consumer.free(&mut shell);
    assert_eq!(shell.service.footprint().timers, 0);
}

/// A trigger before the session is set up is none of its: a later one starts it.
#[test]
fn a_trigger_that_comes_before_the_file_is_created() {
    let mut shell = Shell::new();
    shell.files_wait = true;
    let mut producer = producer(&mut shell, "p");
    producer.register_name(&mut shell, "ds");
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    let config = TraceConfig {
        write_into_file: Some(true),
        output_path: Some("/x".into()),
        ..starting(vec![trigger("a", 1)])
    };
    consumer.enable(&mut shell, config, None);
    fire(&mut shell, &producer, &["a"]);
    shell.create_files();
    assert_eq!(words(&mut shell, &mut producer).len(), 2, "set up, and not started");
    fire(&mut shell, &producer, &["a"]);
    assert_eq!(words(&mut shell, &mut producer), ["start 1"]);
    shell.advance_ms(6_000);
    assert_eq!(consumer.ended(&mut shell).as_deref(), Some(""));
    let packets = testing::mock::decode_file(&shell.files.values().next().unwrap().bytes);
    assert_eq!(received(&packets), [("a".into(), 1)]);
}
