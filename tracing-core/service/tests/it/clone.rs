//! Clones of sessions: their content, the instant they show, and the users who may have them.

use super::*;
use protos::{
    CloneSessionRequest, CloneSessionRequestSelector as Selector, CloneSessionResponse,
    TraceConfigBufferConfig, TraceConfigTraceFilter, TracingServiceEventEventType as Event,
};

use abi::ids::{CallId, FileId};
use service::filter::Rule;
use service::filter::generator::{Generator, Target};

pub(super) fn by_id(id: u64) -> CloneSessionRequest {
    CloneSessionRequest { selector: Some(Selector::SessionId(id)), ..Default::default() }
}

fn by_name(name: &str) -> CloneSessionRequest {
    let selector = Some(Selector::UniqueSessionName(name.into()));
    CloneSessionRequest { selector, ..Default::default() }
}

/// Asks for a clone of the first session.
pub(super) fn ask(shell: &mut Shell, uid: u32, file: Option<FileId>) -> (MockConsumer, CallId) {
    let consumer = MockConsumer::connect(shell, uid);
    let call = consumer.clone_session(shell, by_id(1), file);
    (consumer, call)
}

#[track_caller]
pub(super) fn done(
    shell: &mut Shell,
    consumer: &MockConsumer,
    call: CallId,
) -> CloneSessionResponse {
    let response = consumer.cloned(shell, call).expect("answered");
    assert_eq!((response.success, response.error.as_deref()), (Some(true), None));
    response
}

#[track_caller]
pub(super) fn refused(shell: &mut Shell, consumer: &MockConsumer, call: CallId, expect: &str) {
    let response = consumer.cloned(shell, call).expect("answered");
    let error = response.error.unwrap_or_default();
    assert_eq!(response.success, Some(false));
    assert!(error.contains(expect), "{error:?} has no {expect:?}");
    assert_eq!(consumer.read(shell), []);
}

/// "a" writes to a buffer that is transferred to clones (global id 1), "b" to one that is copied (2).
pub(super) fn two_buffers() -> TraceConfig {
    let mut config = config(&["a", "b"]);
    let transferred = TraceConfigBufferConfig { transfer_on_clone: Some(true), ..buffer(128) };
    config.buffers = vec![transferred, buffer(128)];
    if let Some(source) = &mut config.data_sources[1].config {
        source.target_buffer = Some(1);
    }
    config
}

pub(super) const TRANSFERRED: BufferId = BufferId::new(1);
pub(super) const COPIED: BufferId = BufferId::new(2);

/// A producer of "a" and one of "b", set up and started, and their session.
pub(super) fn two_producers(
    shell: &mut Shell,
    config: TraceConfig,
) -> (MockProducer, MockProducer, MockConsumer) {
    let mut a = producer(shell, "producer a");
    a.register_name(shell, "a");
    let mut b = producer(shell, "producer b");
    b.register_name(shell, "b");
    let mut consumer = MockConsumer::connect(shell, 0);
    consumer.enable(shell, config, None);
    a.commands(shell);
    b.commands(shell);
    (a, b, consumer)
}

fn uuid(packets: &[TracePacket]) -> (i64, i64) {
    let uuid = packets.iter().find_map(|p| match &p.data {
        Some(TracePacketData::TraceUuid(u)) => Some((u.msb.unwrap(), u.lsb.unwrap())),
        _ => None,
    });
    uuid.expect("a uuid")
}

/// When events of that kind happened.
pub(super) fn events(packets: &[TracePacket], is: impl Fn(&Event) -> bool) -> Vec<u64> {
    let of = |p: &TracePacket| match &p.data {
        Some(TracePacketData::ServiceEvent(e)) if is(e.event_type.as_ref()?) => p.timestamp,
        _ => None,
    };
    packets.iter().filter_map(of).collect()
}

fn is_clone_started(event: &Event) -> bool {
    matches!(event, Event::CloneStarted(true))
}

/// All fields of a packet but its timestamp.
fn no_timestamps() -> TraceConfigTraceFilter {
    let program = Generator::new(Target::V54)
        .field(1, Rule::Message(1))
        .end()
        .range(1, 7)
        .range(9, 2000)
        .end();
    TraceConfigTraceFilter { bytecode_v2: Some(program.finish().0), ..Default::default() }
}

#[test]
fn clone_session() {
    let mut shell = Shell::new();
    let mut config = config(&["ds"]);
    config.buffers = vec![buffer(128), buffer(4)];
    config.trace_filter = Some(no_timestamps());
    if let Some(source) = &mut config.data_sources[0].config {
        source.target_buffer = Some(1);
    }
    let (mut producer, consumer) = recording(&mut shell, config);
    let stamped = |text: &str| TracePacket { timestamp: Some(7), ..payload(text) };
    producer.write(&mut shell, WRITER, COPIED, &[stamped("buf1 before")]);
    let (clone, call) = ask(&mut shell, 0, None);
    assert_eq!(words(&mut shell, &mut producer), ["flush 2 of [1] flags 0x13"]);
    assert_eq!(clone.cloned(&mut shell, call), None);
    producer.ack_flush(&mut shell, 2);
    let response = done(&mut shell, &clone, call);
    assert_eq!(response.was_write_into_file, Some(false));
    // Later packets are not in the clone, even if they overwrite what was copied.
    for _ in 0..10 {
        producer.write(&mut shell, WRITER, COPIED, &[stamped(&"after ".repeat(200))]);
    }
    let packets = clone.read(&mut shell);
    assert_eq!(payloads(&packets), ["buf1 before"]);
    let own = packets.iter().find(|p| matches!(p.data, Some(TracePacketData::ForTesting(_))));
    assert_eq!(own.unwrap().timestamp, None);
    let original = consumer.read(&mut shell);
    assert!(payloads(&original).iter().all(|text| text.starts_with("after")));
    let (msb, lsb) = uuid(&packets);
    assert_eq!((response.uuid_msb, response.uuid_lsb), (Some(msb), Some(lsb)));
    assert_eq!(uuid(&original).1, lsb);
    assert_ne!(uuid(&original).0, msb);
}

#[test]
fn clone_session_across_uid_denied() {
    let mut shell = Shell::new();
    let mut consumer = MockConsumer::connect(&mut shell, 7);
    consumer.enable(&mut shell, config(&[]), None);
    let (stranger, call) = ask(&mut shell, 8, None);
    refused(&mut shell, &stranger, call, "another UID");
    let (own, call) = ask(&mut shell, 7, None);
    done(&mut shell, &own, call);
    let (root, call) = ask(&mut shell, 0, None);
    done(&mut shell, &root, call);
}

#[test]
fn the_best_session_for_a_bug_report() {
    let mut shell = Shell::new();
    let mut producer = producer(&mut shell, "p");
    producer.register_name(&mut shell, "ds");
    let mut sessions = Vec::new();
    for score in [0, 5, 9, 9] {
        let mut consumer = MockConsumer::connect(&mut shell, 0);
        let config = TraceConfig {
            bugreport_score: Some(score),
            trace_filter: Some(no_timestamps()),
            ..config(&["ds"])
        };
        consumer.enable(&mut shell, config, None);
        sessions.push(consumer);
    }
    producer.commands(&mut shell);
    let stamped = TracePacket { timestamp: Some(7), ..payload("x") };
    producer.write(&mut shell, WRITER, BufferId::new(3), &[stamped]);
    let clone = MockConsumer::connect(&mut shell, 0);
    let call = clone.clone_session(&mut shell, by_id(u64::MAX), None);
    assert_eq!(words(&mut shell, &mut producer), ["flush 2 of [3] flags 0x113"]);
    producer.ack_flush(&mut shell, 2);
    done(&mut shell, &clone, call);
    let packets = clone.read(&mut shell);
    assert_eq!(payloads(&packets), ["x"]);
    assert!(packets.iter().any(|p| p.timestamp == Some(7)), "it is not filtered");
    for consumer in sessions.split_off(1) {
        consumer.disable(&mut shell);
    }
    let late = MockConsumer::connect(&mut shell, 0);
    let call = late.clone_session(&mut shell, by_id(u64::MAX), None);
    refused(&mut shell, &late, call, "Tracing session not found");
}

#[test]
fn clear_before_clone() {
    let mut shell = Shell::new();
    let mut config = config(&["ds"]);
    config.buffers[0].clear_before_clone = Some(true);
    let (mut producer, _consumer) = recording(&mut shell, config);
    producer.write(&mut shell, WRITER, BUFFER, &[payload("before")]);
    let (clone, call) = ask(&mut shell, 0, None);
    producer.write(&mut shell, WRITER, BUFFER, &[payload("because of the clone")]);
    producer.ack_flush(&mut shell, 2);
    done(&mut shell, &clone, call);
    assert_eq!(payloads(&clone.read(&mut shell)), ["because of the clone"]);
}

#[test]
fn clone_main_session_stopped() {
    let mut shell = Shell::new();
    let (mut producer, consumer) = recording(&mut shell, config(&["ds"]));
    producer.write(&mut shell, WRITER, BUFFER, &[payload("x")]);
    consumer.disable(&mut shell);
    let (clone, call) = ask(&mut shell, 0, None);
    done(&mut shell, &clone, call);
    let packets = clone.read(&mut shell);
    assert_eq!(payloads(&packets), ["x"]);
    let stats = packets.iter().find_map(|p| match &p.data {
        Some(TracePacketData::TraceStats(stats)) => Some(stats),
        _ => None,
    });
    // All that producers wrote is there. Upstream says that the flush failed.
    assert_eq!(stats.unwrap().final_flush_outcome.unwrap().0, 1);
}

#[test]
fn clone_consumer_disconnect() {
    let mut shell = Shell::new();
    let (mut producer, consumer) = recording(&mut shell, config(&["ds"]));
    let (clone, _) = ask(&mut shell, 0, None);
    clone.disconnect(&mut shell);
    assert_eq!(shell.service.footprint().pending_clones, 0);
    producer.write(&mut shell, WRITER, BUFFER, &[payload("x")]);
    producer.ack_flush(&mut shell, 2);
    assert_eq!(shell.service.footprint().sessions, 1);
    assert_eq!(payloads(&consumer.read(&mut shell)), ["x"]);
}

#[test]
fn clone_main_session_goes_away_during_flush() {
    let mut shell = Shell::new();
    let (producer, consumer) = recording(&mut shell, config(&["ds"]));
    let (clone, call) = ask(&mut shell, 0, None);
    consumer.disconnect(&mut shell);
    refused(&mut shell, &clone, call, "Original session ended");
    producer.ack_flush(&mut shell, 2);
    assert!(shell.service.is_idle());
    assert_eq!(shell.service.footprint().timers, 0);
}

#[test]
fn clone_session_by_name() {
    let mut shell = Shell::new();
    let named = TraceConfig { unique_session_name: Some("my session".into()), ..config(&["ds"]) };
    let (mut producer, consumer) = recording(&mut shell, named.clone());
    producer.write(&mut shell, WRITER, BUFFER, &[payload("x")]);
    let wrong = MockConsumer::connect(&mut shell, 0);
    for request in [by_name("your session"), by_name(""), Default::default(), by_id(99)] {
        let call = wrong.clone_session(&mut shell, request, None);
        refused(&mut shell, &wrong, call, "Tracing session not found");
    }
    let clone = MockConsumer::connect(&mut shell, 0);
    let call = clone.clone_session(&mut shell, by_name("my session"), None);
    producer.ack_flush(&mut shell, 2);
    done(&mut shell, &clone, call);
    consumer.disconnect(&mut shell);
    let call = wrong.clone_session(&mut shell, by_name("my session"), None);
    refused(&mut shell, &wrong, call, "Tracing session not found");
    // The name is free again, but the clone can be cloned, by its number.
    let mut next = MockConsumer::connect(&mut shell, 0);
    next.enable(&mut shell, named, None);
    assert_eq!(next.ended(&mut shell), None);
    let again = MockConsumer::connect(&mut shell, 0);
    let call = again.clone_session(&mut shell, by_id(2), None);
    done(&mut shell, &again, call);
    for reader in [&clone, &again] {
        assert_eq!(payloads(&reader.read(&mut shell)), ["x"]);
    }
}

#[test]
fn clone_session_emits_trigger() {
    let mut shell = Shell::new();
    let (producer, consumer) = recording(&mut shell, config(&["ds"]));
    let clone = MockConsumer::connect(&mut shell, 0);
    let request = CloneSessionRequest {
        clone_trigger_name: Some("trigger_name".into()),
        clone_trigger_producer_name: Some("trigger_producer".into()),
        clone_trigger_trusted_producer_uid: Some(42),
        clone_trigger_boot_time_ns: Some(3_141),
        clone_trigger_delay_ms: Some(10),
        ..by_id(1)
    };
    let call = clone.clone_session(&mut shell, request, None);
    producer.ack_flush(&mut shell, 2);
    done(&mut shell, &clone, call);
    let triggers = |packets: Vec<TracePacket>| {
        let of = |p: &TracePacket| match &p.data {
            Some(TracePacketData::CloneSnapshotTrigger(t)) => Some((t.clone(), p.timestamp)),
            _ => None,
        };
        packets.iter().filter_map(of).collect::<Vec<_>>()
    };
    let expect = protos::Trigger {
        trigger_name: Some("trigger_name".into()),
        producer_name: Some("trigger_producer".into()),
        trusted_producer_uid: Some(42),
        stop_delay_ms: Some(10),
        ..Default::default()
    };
    assert_eq!(triggers(clone.read(&mut shell)), [(expect, Some(3_141))]);
    assert_eq!(triggers(clone.read(&mut shell)), []);
    assert_eq!(triggers(consumer.read(&mut shell)), []);
}

#[test]
fn lifecycle_events_clone_started() {
    let mut shell = Shell::new();
    let (producer, consumer) = recording(&mut shell, config(&["ds"]));
    let (clone, call) = ask(&mut shell, 0, None);
    shell.advance_ms(1000);
    producer.ack_flush(&mut shell, 2);
    done(&mut shell, &clone, call);
    let packets = clone.read(&mut shell);
    let started = events(&packets, is_clone_started);
    let disabled = events(&packets, |e| matches!(e, Event::TracingDisabled(true)));
    assert_eq!(started.len(), 1);
    assert_eq!(disabled, [started[0] + 1_000_000_000]);
    assert!(events(&consumer.read(&mut shell), is_clone_started).is_empty());
}

/// Events of one instant come in the order in which one causes the next.
#[test]
fn events_of_one_instant() {
    let mut shell = Shell::new();
    let (producer, consumer) = recording(&mut shell, config(&["ds"]));
    shell.advance_ms(1000);
    let (clone, call) = ask(&mut shell, 0, None);
    producer.ack_flush(&mut shell, 2);
    done(&mut shell, &clone, call);
    let kind = |p: TracePacket| match p.data {
        Some(TracePacketData::ServiceEvent(e)) => e.event_type,
        _ => None,
    };
    let kinds: Vec<Event> = clone.read(&mut shell).into_iter().filter_map(kind).collect();
    assert_eq!(
        kinds,
        [
            Event::TracingStarted(true),
            Event::AllDataSourcesStarted(true),
            Event::FlushStarted(true),
            Event::CloneStarted(true),
            // First the group of transferred buffers, which is empty, then that of copied ones.
            Event::AllDataSourcesFlushed(true),
            Event::AllDataSourcesFlushed(true),
            Event::BufferCloned(0),
            Event::TracingDisabled(true),
            Event::ReadTracingBuffersCompleted(true),
        ]
    );
    consumer.disconnect(&mut shell);
}

#[test]
fn lifecycle_event_clone_multiple_buffers() {
    let mut shell = Shell::new();
    let (a, b, consumer) = two_producers(&mut shell, two_buffers());
    let (clone, call) = ask(&mut shell, 0, None);
    a.ack_flush(&mut shell, 1);
    shell.advance_ms(1000);
    b.ack_flush(&mut shell, 2);
    done(&mut shell, &clone, call);
    let packets = clone.read(&mut shell);
    let cloned = |index| events(&packets, |e| *e == Event::BufferCloned(index));
    assert_eq!(cloned(0).len(), 1);
    assert_eq!(cloned(1), [cloned(0)[0] + 1_000_000_000]);
    let is_buffer_cloned = |e: &Event| matches!(e, Event::BufferCloned(_));
    assert!(events(&consumer.read(&mut shell), is_buffer_cloned).is_empty());
}

#[test]
fn string_filtering_and_clone_session() {
    let mut shell = Shell::new();
    let program = Generator::new(Target::V54)
        .field(1, Rule::Message(1))
        .end()
        .range(1, 899)
        .field(900, Rule::Message(2))
        .end()
        .field(1, Rule::String(0))
        .end();
    let rule = protos::TraceConfigTraceFilterStringFilterRule {
        policy: Some(protos::TraceConfigTraceFilterStringFilterPolicy(1)),
        regex_pattern: Some("secret:(.*)".into()),
        ..Default::default()
    };
    let chain =
        protos::TraceConfigTraceFilterStringFilterChain { rules: vec![rule], ..Default::default() };
    let filter = TraceConfigTraceFilter {
        bytecode_v2: Some(program.finish().0),
        string_filter_chain: Some(chain),
        ..Default::default()
    };
    let config = TraceConfig { trace_filter: Some(filter), ..config(&["ds"]) };
    let (mut producer, consumer) = recording(&mut shell, config);
    producer.write(&mut shell, WRITER, BUFFER, &[payload("secret:12345"), payload("open")]);
    let (clone, call) = ask(&mut shell, 0, None);
    producer.ack_flush(&mut shell, 2);
    done(&mut shell, &clone, call);
    for reader in [&clone, &consumer] {
        assert_eq!(payloads(&reader.read(&mut shell)), ["secret:P60RE", "open"]);
    }
}

#[test]
#[cfg(feature = "compression")]
fn clone_session_with_compression() {
    let mut shell = Shell::new();
    let deflate = protos::TraceConfigCompressionConfig {
        deflate: Some(Default::default()),
        ..Default::default()
    };
    let config = TraceConfig { compression: Some(deflate), ..config(&["ds"]) };
    let (mut producer, _consumer) = recording(&mut shell, config);
    producer.write(&mut shell, WRITER, BUFFER, &[payload("x")]);
    let (clone, call) = ask(&mut shell, 0, None);
    producer.ack_flush(&mut shell, 2);
    done(&mut shell, &clone, call);
    let packets = clone.read(&mut shell);
    assert!(!packets.is_empty());
    for packet in packets {
        assert!(matches!(packet.data, Some(TracePacketData::CompressedPackets(_))));
    }
}

// ------------------------------------------------------------ tests that upstream does not have

/// Clones of a user.
struct Cloned {
    clones: Vec<MockConsumer>,
    /// Why there are no more.
    error: String,
    source: MockConsumer,
}

/// As many clones of a session of its own as a user gets.
fn fill(shell: &mut Shell, uid: u32) -> Cloned {
    let mut source = MockConsumer::connect(shell, uid);
    let name = uid.to_string();
    let named = TraceConfig { unique_session_name: Some(name.clone()), ..config(&[]) };
    source.enable(shell, named, None);
    assert_eq!(source.ended(shell), None);
    let mut clones = Vec::new();
    loop {
        let clone = MockConsumer::connect(shell, uid);
        let call = clone.clone_session(shell, by_name(&name), None);
        if let Some(error) = clone.cloned(shell, call).expect("answered").error {
            return Cloned { clones, error, source };
        }
        clones.push(clone);
    }
}

const SERVICE_UID: u32 = 500;

#[test]
fn clones_are_counted_and_bounded() {
    let mut shell = Shell::with(|config| config.uid = SERVICE_UID);
    let mut clones = Vec::new();
    for uid in [0, SERVICE_UID, 1000] {
        let filled = fill(&mut shell, uid);
        assert_eq!(filled.clones.len(), 16, "{}", filled.error);
        assert!(filled.error.contains(&format!("for uid {uid}: free some")), "{}", filled.error);
        clones.extend(filled.clones);
        // The clones of a user count among the sessions of that user.
        let mut next = MockConsumer::connect(&mut shell, uid);
        next.enable(&mut shell, config(&[]), None);
        assert!(next.ended(&mut shell).unwrap().contains("for uid"));
    }
    let filled = fill(&mut shell, 1001);
    let (count, error) = (filled.clones.len(), filled.error);
    assert!(count == 0 && error.contains("too many clones (48): wait until one"), "{error}");
    let mut other = MockConsumer::connect(&mut shell, 99);
    other.enable(&mut shell, config(&[]), None);
    assert_eq!(other.ended(&mut shell), None);
    for clone in clones {
        clone.free(&mut shell);
    }
    assert_eq!(shell.service.footprint().buffers, 5, "those of the sources and of the other user");
}

#[test]
fn many_users_leave_clones_to_those_without_any_and_to_root() {
    let mut shell = Shell::with(|config| config.uid = SERVICE_UID);
    let mut kept = Vec::new();
    // The clones of users that have freed their session stay.
    let mut fill = |uid| {
        let Cloned { clones, error, source } = fill(&mut shell, uid);
        source.free(&mut shell);
        let count = clones.len();
        kept.extend(clones);
        (count, error)
    };
    assert_eq!(fill(1000).0, 16);
    let (count, error) = fill(1001);
    assert_eq!(count, 12, "28 of users with clones: {error}");
    let expected = "too many clones (28) of users other than root and that of the service: wait \
                    until one is freed, or ask as root";
    assert!(error.contains(expected), "{error}");
    for uid in 1002..1012 {
        let (count, error) = fill(uid);
        assert_eq!(count, 1, "38 with the first of each user: {error}");
    }
    let (count, error) = fill(1012);
    assert!(count == 0 && error.contains("(38) of users other than root"), "{error}");
    let (count, error) = fill(SERVICE_UID);
    assert_eq!(count, 10, "48 of all: {error}");
    assert!(fill(0).1.contains("too many clones (48)"));
}

/// A detached clone would never end.
#[test]
fn clones_cannot_be_detached() {
    let mut shell = Shell::new();
    let (producer, _consumer) = recording(&mut shell, config(&["ds"]));
    let (clone, call) = ask(&mut shell, 0, None);
    producer.ack_flush(&mut shell, 2);
    done(&mut shell, &clone, call);
    let request = protos::DetachRequest { key: Some("key".into()), ..Default::default() };
    let request = protos::consumer_port::Request::Detach(request);
    assert!(clone.call(&mut shell, request)[0].response.is_none());
}

/// A source that was triggered can be read after a clone; upstream moves its triggers into the clone.
#[test]
fn triggers_of_other_modes_stay_with_the_source() {
    let mut shell = Shell::new();
    let mut config = config(&["ds"]);
    config.trigger_config = Some(protos::TraceConfigTriggerConfig {
        trigger_mode: Some(protos::TraceConfigTriggerConfigTriggerMode::START_TRACING),
        triggers: vec![protos::TraceConfigTriggerConfigTrigger {
            name: Some("a".into()),
            stop_delay_ms: Some(60_000),
            ..Default::default()
        }],
        trigger_timeout_ms: Some(1000),
        ..Default::default()
    });
    let (mut producer, consumer) = recording(&mut shell, config);
    let request =
        protos::ActivateTriggersRequest { trigger_names: vec!["a".into()], ..Default::default() };
    producer.call(&mut shell, protos::producer_port::Request::ActivateTriggers(request));
    producer.write(&mut shell, WRITER, BUFFER, &[payload("x")]);
    let (clone, call) = ask(&mut shell, 0, None);
    producer.ack_flush(&mut shell, 2);
    done(&mut shell, &clone, call);
    for reader in [&clone, &consumer] {
        let packets = reader.read(&mut shell);
        assert!(kinds(&packets).contains(&"Trigger".into()));
        assert_eq!(payloads(&packets), ["x"]);
    }
}

/// Without a clock snapshot its reader could not convert any time.
#[test]
fn a_clone_has_a_clock_snapshot_although_its_source_was_read() {
    let mut shell = Shell::new();
    let (producer, source) = recording(&mut shell, config(&["ds"]));
    let (consumer, call) = ask(&mut shell, 0, None);
    source.read(&mut shell);
    producer.ack_flush(&mut shell, 2);
    done(&mut shell, &consumer, call);
    let packets = consumer.read(&mut shell);
    assert!(kinds(&packets).iter().any(|kind| kind == "ClockSnapshot"), "{:?}", kinds(&packets));
}
