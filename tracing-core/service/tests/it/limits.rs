//! Limits of what the service keeps, made small: each is reached, and nothing is kept beyond it.

use super::*;
use protos::producer_port::Request;
use protos::{
    TraceConfigTriggerConfig, TraceConfigTriggerConfigTrigger as Trigger,
    TraceConfigTriggerConfigTriggerMode as Mode,
};
use protozero::Message as _;
use service::limits::{self, Limits};

fn shell(change: impl FnOnce(&mut Limits)) -> Shell {
    Shell::with(|config| change(&mut config.limits))
}

#[test]
fn producers() {
    let mut shell = shell(|limits| limits.producers_max = 3);
    let mut accepted: Vec<_> = (0..3).map(|_| producer(&mut shell, "p")).collect();
    let refused = producer(&mut shell, "one more");
    refused.register_name(&mut shell, "ds");
    assert!(shell.log.iter().any(|(_, line)| line.contains("too many producers")));
    assert_eq!(shell.service.footprint().sources, 0);
    assert_eq!(shell.service.fullest().producers_max, 3);
    accepted.pop().unwrap().disconnect(&mut shell);
    producer(&mut shell, "in its place").register_name(&mut shell, "ds");
    assert_eq!(shell.service.footprint().sources, 1);
}

#[test]
fn data_sources_of_a_producer() {
    let mut shell = shell(|limits| limits.data_sources_per_producer_max = 2);
    let producers = [producer(&mut shell, "p"), producer(&mut shell, "q")];
    for producer in &producers {
        for name in ["a", "b", "c"] {
            producer.register_name(&mut shell, name);
        }
    }
    assert_eq!(shell.service.footprint().sources, 4);
}

#[test]
fn trace_writers_of_a_producer() {
    let mut shell = shell(|limits| limits.writers_per_producer_max = 2);
    let producer = producer(&mut shell, "p");
    let register = |shell: &mut Shell, writer| {
        let (trace_writer_id, target_buffer) = (Some(writer), Some(1));
        let request = protos::RegisterTraceWriterRequest {
            trace_writer_id,
            target_buffer,
            ..Default::default()
        };
        producer.call(shell, Request::RegisterTraceWriter(request));
        shell.service.fullest().writers_per_producer_max
    };
    assert_eq!([1, 2, 3, 4].map(|writer| register(&mut shell, writer)), [1, 2, 2, 2]);
    let request =
        protos::UnregisterTraceWriterRequest { trace_writer_id: Some(1), ..Default::default() };
    producer.call(&mut shell, Request::UnregisterTraceWriter(request));
    assert_eq!(shell.service.fullest().writers_per_producer_max, 1);
    assert_eq!(register(&mut shell, 3), 2);
}

/// Writers are on the account of their user, as a user may have thousands of producers.
#[test]
fn trace_writers_of_a_user() {
    const WRITERS: u32 = 20_000;
    let mut shell = Shell::new();
    let producer = producer(&mut shell, "p");
    let large = || protos::DataSourceDescriptor {
        track_event_descriptor: Some(protos::TrackEventDescriptor {
            available_categories: vec![protos::TrackEventCategory::default(); 60_000],
            ..Default::default()
        }),
        ..descriptor("ds")
    };
    while shell.service.accounts().1 == 0 {
        producer.register(&mut shell, large());
    }
    let free_bytes = limits::SOURCE_BYTES_PER_USER_MAX - shell.service.footprint().source_bytes;
    for writer in 1..=WRITERS {
        let request = protos::RegisterTraceWriterRequest {
            trace_writer_id: Some(writer),
            target_buffer: Some(1),
            ..Default::default()
        };
        producer.call(&mut shell, Request::RegisterTraceWriter(request));
    }
    let fit = free_bytes / limits::WRITER_BYTES;
    assert_eq!(shell.service.fullest().writers_per_producer_max, fit);
    assert!(fit < WRITERS as usize, "all fit");
    let held = shell.service.footprint();
    assert_eq!(held.source_bytes, held.source_bytes_charged);
    producer.disconnect(&mut shell);
    assert_eq!(shell.service.accounts().0, 0);
}

/// Names that are longer than an answer would also hide a producer from those who ask.
#[test]
fn names_of_versions_and_machines() {
    let mut shell = Shell::new();
    let (version, machine) = ("v".repeat(100_000), "m".repeat(100_000));
    let peer = Peer { machine_id: 7, machine_name: machine, ..peer(1000) };
    let request = protos::InitializeConnectionRequest {
        producer_name: Some("p".into()),
        sdk_version: Some(version),
        ..Default::default()
    };
    MockProducer::connect_with(&mut shell, peer, request, None);
    let consumer = MockConsumer::connect(&mut shell, 0);
    let question = protos::consumer_port::Request::QueryServiceState(Default::default());
    let mut lengths = Vec::new();
    for reply in consumer.call(&mut shell, question) {
        let response = reply.response.unwrap();
        let response = protos::QueryServiceStateResponse::decode(&response).unwrap();
        for producer in response.service_state.unwrap().producers {
            let length = |name: Option<String>| name.unwrap_or_default().len();
            lengths.push((length(producer.sdk_version), length(producer.machine_name)));
        }
    }
    assert_eq!(lengths, [(limits::NAME_BYTES_MAX, limits::NAME_BYTES_MAX)]);
}

/// Sequences that were forgotten get new numbers, as readers must not take them for what they were.
#[test]
fn sequences_of_a_session() {
    let mut shell = shell(|limits| limits.sequences_per_session_max = 2);
    let (mut producer, consumer) = recording(&mut shell, config(&["ds"]));
    let mut numbers = Vec::new();
    for writer in [1, 2, 1, 3, 1] {
        producer.write(&mut shell, WriterId::new(writer), BUFFER, &[payload("x")]);
        let packets = consumer.read(&mut shell);
        numbers.extend(packets.iter().filter(|p| kind(p) == "payload x").filter_map(sequence));
        assert!(shell.service.fullest().sequences_per_session_max <= 2);
    }
    assert_eq!(numbers, [2, 3, 2, 4, 5]);
}

/// A producer that makes new sequences all the time costs others none of theirs.
#[test]
fn sequences_of_others_keep_their_numbers() {
    let mut shell = shell(|limits| limits.sequences_per_session_max = 8);
    let (mut honest, consumer) = recording(&mut shell, config(&["ds"]));
    let mut hostile = producer(&mut shell, "hostile");
    hostile.register_name(&mut shell, "ds");
    hostile.commands(&mut shell);
    let mut numbers = Vec::new();
    for writer in 1..50 {
        hostile.write(&mut shell, WriterId::new(writer), BUFFER, &[payload("y")]);
        honest.write(&mut shell, WriterId::new(1), BUFFER, &[payload("x")]);
        let packets = consumer.read(&mut shell);
        numbers.extend(packets.iter().filter(|p| kind(p) == "payload x").filter_map(sequence));
    }
    assert_eq!(numbers.len(), 49);
    numbers.dedup();
    assert_eq!(numbers.len(), 1, "{numbers:?}");
}

/// A burst of commands goes window by window, as the transport sends it, and none is lost or comes twice.
#[test]
fn commands_beyond_the_window_wait() {
    let mut shell = shell(|limits| limits.command_window_bytes = 1);
    shell.consumers_are_slow = true;
    let client = shell.connect_producer(peer(7), false);
    let request = protos::InitializeConnectionRequest::default();
    shell.call_producer(client, Request::InitializeConnection(request), None);
    let call = shell.call_producer(client, Request::GetAsyncCommand(Default::default()), None);
    let request = protos::RegisterDataSourceRequest {
        data_source_descriptor: Some(descriptor("ds").into()),
        ..Default::default()
    };
    shell.call_producer(client, Request::RegisterDataSource(request), None);
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, config(&["ds", "ds"]), None);
    let flushes: Vec<_> = (0..900).map(|_| consumer.flush(&mut shell, 0)).collect();
    assert_eq!(shell.service.footprint().unsent_commands, 5, "two, two, and one flush");
    let mut taken = Vec::new();
    loop {
        let replies = shell.take_replies_to(client, call);
        if replies.is_empty() {
            break;
        }
        assert_eq!(replies.len(), 1);
        taken.extend(replies.into_iter().filter_map(|reply| reply.response));
        shell.drain_consumers();
    }
    assert_eq!(taken.len(), 6);
    let last = protos::GetAsyncCommandResponse::decode(taken.last().unwrap()).unwrap();
    let Some(protos::GetAsyncCommandResponseCmd::Flush(last)) = last.cmd else { panic!() };
    let commit =
        protos::CommitDataRequest { flush_request_id: last.request_id, ..Default::default() };
    shell.call_producer(client, Request::CommitData(commit), None);
    for flush in flushes {
        let replies = shell.take_replies_to(consumer.client, flush);
        assert!(replies.len() == 1 && replies[0].response.is_some(), "each is answered");
    }
}

#[test]
fn commands_that_nobody_asks_for() {
    let mut shell = shell(|limits| limits.commands_unsent_max = 2);
    let client = shell.connect_producer(peer(7), false);
    let request = protos::InitializeConnectionRequest::default();
    shell.call_producer(client, Request::InitializeConnection(request), None);
    let request = protos::RegisterDataSourceRequest {
        data_source_descriptor: Some(descriptor("ds").into()),
        ..Default::default()
    };
    shell.call_producer(client, Request::RegisterDataSource(request), None);
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    let deferred = TraceConfig { deferred_start: Some(true), ..config(&["ds"]) };
    // Its memory and the instance.
    consumer.enable(&mut shell, deferred, None);
    assert_eq!(shell.service.fullest().commands_unsent_max, 2);
    assert_eq!(shell.disconnected, []);
    consumer.start(&mut shell);
    assert_eq!(shell.disconnected, [client]);
    assert_eq!(consumer.ended(&mut shell), None);
}

#[test]
fn snapshots_of_clocks() {
    let mut shell = shell(|limits| limits.snapshots_pending_max = 2);
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, config(&[]), None);
    let mut last = 0;
    for hour in 1..6 {
        // The wall clock is set again and again.
        shell.now_ns += limits::SNAPSHOT_PERIOD_MS * 1_000_000;
        let mut now = shell.now();
        now.real_ns += hour * 3_600_000_000_000;
        last = now.real_ns;
        shell.service.handle_timeout(&now);
        assert!(shell.service.fullest().snapshots_pending_max <= 2);
    }
    let packets = consumer.read(&mut shell);
    let real = packets.iter().filter_map(|packet| match &packet.data {
        Some(TracePacketData::ClockSnapshot(snapshot)) => snapshot.clocks[3].timestamp,
        _ => None,
    });
    let real: Vec<u64> = real.collect();
    // That of the start, and the newest.
    assert_eq!((real.len(), real.last()), (3, Some(&last)), "{real:?}");
}

/// Of a TSC, which counts cycles, each snapshot says something new, but a reader lacks none. What is kept covers all the
/// time.
#[test]
fn snapshots_that_a_reader_lacks_are_in_the_ledger() {
    for (drift_ns, told) in [(0, None), (limits::SNAPSHOT_DRIFT_NS, Some(4))] {
        let mut shell = shell(|limits| limits.snapshots_pending_max = 4);
        let mut consumer = MockConsumer::connect(&mut shell, 0);
        consumer.enable(&mut shell, config(&[]), None);
        consumer.read(&mut shell);
        let start_ns = shell.now_ns;
        for step in 1..=8 {
            shell.now_ns += limits::SNAPSHOT_PERIOD_MS * 1_000_000;
            let mut now = shell.now();
            now.tsc = Some(3 * now.boot_ns);
            now.real_ns += step * drift_ns;
            shell.service.handle_timeout(&now);
        }
        let reason = Some(protos::LossLedgerReason::REASON_EVENTS_DROPPED);
        let entries = ledger::ledger(&mut shell, &consumer).into_iter();
        let lacking = entries.filter(|entry| entry.reason == reason).map(|entry| entry.count);
        assert_eq!(lacking.collect::<Vec<_>>(), Vec::from_iter(told.map(Some)), "{drift_ns}");
        let packets = consumer.read(&mut shell);
        let steps = packets.iter().filter_map(|packet| match &packet.data {
            Some(TracePacketData::ClockSnapshot(snapshot)) => snapshot.clocks[0].timestamp,
            _ => None,
        });
        let step = |boot_ns: u64| (boot_ns - start_ns) / (limits::SNAPSHOT_PERIOD_MS * 1_000_000);
        assert_eq!(steps.map(step).collect::<Vec<_>>(), [4, 6, 7, 8]);
    }
}

#[test]
fn events_of_a_session() {
    let mut shell = shell(|limits| limits.lifecycle_events_max = 2);
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, config(&[]), None);
    for _ in 0..5 {
        shell.advance_ms(1);
        consumer.flush(&mut shell, 100);
        assert!(shell.service.fullest().lifecycle_events_max <= 2);
    }
    let packets = consumer.read(&mut shell);
    let times = |kind: &str| -> Vec<u64> {
        let of = packets.iter().filter(|p| self::kind(p) == format!("event {kind}"));
        of.filter_map(|packet| packet.timestamp).collect()
    };
    let newest = [shell.now_ns - 1_000_000, shell.now_ns];
    assert_eq!(times("FlushStarted"), newest);
    assert_eq!(times("AllDataSourcesFlushed"), newest);
}

#[test]
fn events_of_other_sessions() {
    let mut shell = shell(|limits| limits.concurrent_events_max = 2);
    let mut curious = MockConsumer::connect(&mut shell, 0);
    let builtin = protos::TraceConfigBuiltinDataSource {
        enable_concurrent_session_events: Some(true),
        ..Default::default()
    };
    let config = TraceConfig { builtin_data_sources: Some(builtin), ..config(&[]) };
    curious.enable(&mut shell, config, None);
    for uid in 1..4 {
        let mut other = MockConsumer::connect(&mut shell, uid);
        other.enable(&mut shell, self::config(&[]), None);
        assert_eq!(shell.service.fullest().concurrent_events_max, 2);
    }
    let packets = curious.read(&mut shell);
    let uids = packets.iter().filter_map(|packet| match &packet.data {
        Some(TracePacketData::ConcurrentSessionEvent(event)) => event.consumer_uid,
        _ => None,
    });
    assert_eq!(uids.collect::<Vec<_>>(), [1, 1], "the beginning tells more than the end");
}

fn waiting(mode: Mode, triggers: &[(&str, u32)]) -> TraceConfig {
    let trigger = |(name, max): &(&str, u32)| Trigger {
        name: Some((*name).into()),
        stop_delay_ms: Some(60_000),
        max_per_24_h: Some(*max),
        ..Default::default()
    };
    let trigger_config = TraceConfigTriggerConfig {
        trigger_mode: Some(mode),
        triggers: triggers.iter().map(trigger).collect(),
        trigger_timeout_ms: Some(8_640_000),
        ..Default::default()
    };
    TraceConfig { trigger_config: Some(trigger_config), ..config(&["ds"]) }
}

/// Fires triggers, a millisecond apart; returns those that the session took.
fn fire(config: TraceConfig, names: &str, change: impl FnOnce(&mut Limits)) -> String {
    let mut shell = shell(change);
    let (producer, consumer) = recording(&mut shell, config);
    let mut taken = String::new();
    for name in names.chars() {
        shell.advance_ms(1);
        let request = protos::ActivateTriggersRequest {
            trigger_names: vec![name.into()],
            ..Default::default()
        };
        producer.call(&mut shell, Request::ActivateTriggers(request));
        let is_trigger = |p: &TracePacket| matches!(p.data, Some(TracePacketData::Trigger(_)));
        let came = consumer.read(&mut shell).iter().filter(|p| is_trigger(p)).count();
        taken.extend(std::iter::repeat_n(name, came));
    }
    taken
}

#[test]
fn names_of_triggers() {
    let once = waiting(Mode::STOP_TRACING, &[("a", 1), ("b", 1), ("c", 1)]);
    assert_eq!(fire(once.clone(), "abcabc", |_| {}), "abc");
    // The oldest name is forgotten, and its trigger is taken again.
    let two = |limits: &mut Limits| limits.trigger_names_max = 2;
    assert_eq!(fire(once.clone(), "abcbc", two), "abc");
    assert_eq!(fire(once.clone(), "abca", two), "abca");
    assert_eq!(fire(once, "abcacb", two), "abcab");
}

#[test]
fn activations_of_a_trigger() {
    let few = waiting(Mode::STOP_TRACING, &[("a", 3)]);
    assert_eq!(fire(few.clone(), "aaaaa", |_| {}), "aaa");
    assert_eq!(fire(few, "aaaaa", |limits| limits.trigger_history_max = 2), "aa");
    // Without a limit in the config each is taken, and only so many are remembered.
    let any = waiting(Mode::STOP_TRACING, &[("a", 0)]);
    assert_eq!(fire(any.clone(), "aaaaa", |limits| limits.trigger_history_max = 2), "aaaaa");
    let mut shell = shell(|limits| limits.trigger_history_max = 2);
    let (producer, _consumer) = recording(&mut shell, any);
    for _ in 0..5 {
        let request = protos::ActivateTriggersRequest {
            trigger_names: vec!["a".into()],
            ..Default::default()
        };
        producer.call(&mut shell, Request::ActivateTriggers(request));
        assert!(shell.service.fullest().trigger_history_max <= 2);
    }
}

#[test]
fn triggers_until_they_are_read() {
    let mut shell = shell(|limits| {
        limits.triggers_received_max = 3;
        limits.clone_hits_pending_max = 2;
    });
    let (producer, _consumer) = recording(&mut shell, waiting(Mode::CLONE_SNAPSHOT, &[("a", 0)]));
    for count in 1..6 {
        let request = protos::ActivateTriggersRequest {
            trigger_names: vec!["a".into()],
            ..Default::default()
        };
        producer.call(&mut shell, Request::ActivateTriggers(request));
        let held = shell.service.fullest();
        let held = (held.triggers_received_max, held.clone_hits_pending_max);
        assert_eq!(held, (count.min(3), count.min(2)));
    }
}

#[test]
fn names_of_guarded_sessions() {
    let mut shell = shell(|limits| limits.guardrail_names_max = 2);
    let attempt = |name: &str, shell: &mut Shell| {
        let mut consumer = MockConsumer::connect(shell, 0);
        let config = TraceConfig {
            enable_extra_guardrails: Some(true),
            unique_session_name: Some(name.into()),
            ..config(&[])
        };
        consumer.enable(shell, config, None);
        let error = consumer.ended(shell);
        consumer.disconnect(shell);
        error
    };
    assert_eq!(attempt("a", &mut shell), None);
    shell.advance_ms(1000);
    assert_eq!(attempt("b", &mut shell), None);
    let error = attempt("c", &mut shell).unwrap();
    assert!(
        error.starts_with("2 sessions with other names and enable_extra_guardrails, 2 of"),
        "{error}"
    );
    assert!(attempt("b", &mut shell).unwrap().contains("name \"b\" began less than 300 s ago"));
    assert_eq!(shell.service.fullest().guardrail_names_max, 2);
    // When the first is forgotten, there is a place.
    shell.advance_ms(limits::GUARDRAIL_SPACING_NS / 1_000_000 - 999);
    assert_eq!(attempt("c", &mut shell), None);
}

/// The names are common to all users, but one user does not use them up.
#[test]
fn names_of_guarded_sessions_of_one_user() {
    let part = limits::GUARDRAIL_NAMES_USER_PART;
    let mut shell = shell(|limits| limits.guardrail_names_max = 2 * part);
    let mut attempt = |uid: u32, name: &str| {
        let mut consumer = MockConsumer::connect(&mut shell, uid);
        let config = TraceConfig {
            enable_extra_guardrails: Some(true),
            unique_session_name: Some(name.into()),
            ..config(&[])
        };
        consumer.enable(&mut shell, config, None);
        let error = consumer.ended(&mut shell);
        consumer.disconnect(&mut shell);
        error.unwrap_or_default()
    };
    assert_eq!(["a", "b"].map(|name| attempt(1000, name)), ["", ""]);
    let refused = attempt(1000, "c");
    assert!(refused.contains(", 2 of them of user 1000, began"), "{refused}");
    assert_eq!(attempt(1001, "c"), "", "another user");
    assert!(attempt(1001, "a").contains("too recent"), "names are common to all");
    assert_eq!(["d", "e", "f"].map(|name| attempt(0, name)), ["", "", ""], "root");
}

#[test]
fn instances_of_a_session() {
    let mut shell = shell(|limits| limits.instances_per_session_max = 8);
    let of_user = producer(&mut shell, "p");
    let of_root = MockProducer::connect(&mut shell, "root", peer(0));
    for producer in [&of_user, &of_root] {
        for _ in 0..10 {
            producer.register_name(&mut shell, "ds");
        }
    }
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, config(&["ds"]), None);
    // A quarter for one user, and the rest for root.
    assert_eq!(shell.service.fullest().instances_per_session_max, 8);
    let of_42 = shell.service.set_up().filter(|(uid, _)| *uid == 42).count();
    assert_eq!(of_42, 2);
}

/// How many data sources the packets say are slow to start.
fn slow_sources(packets: &[TracePacket]) -> Option<usize> {
    use protos::TracingServiceEventEventType::SlowStartingDataSources as Slow;
    packets.iter().find_map(|packet| match &packet.data {
        Some(TracePacketData::ServiceEvent(event)) => match &event.event_type {
            Some(Slow(sources)) => Some(sources.data_source.len()),
            _ => None,
        },
        _ => None,
    })
}

#[test]
fn data_sources_that_are_slow_to_start() {
    let mut shell = Shell::new();
    let producer = producer(&mut shell, "p");
    for _ in 0..limits::SLOW_SOURCES_MAX + 8 {
        let slow =
            protos::DataSourceDescriptor { will_notify_on_start: Some(true), ..descriptor("ds") };
        producer.register(&mut shell, slow);
    }
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, config(&["ds"]), None);
    shell.advance_ms(limits::SLOW_START_MS - 1);
    assert_eq!(slow_sources(&consumer.read(&mut shell)), None);
    shell.advance_ms(1);
    assert_eq!(slow_sources(&consumer.read(&mut shell)), Some(limits::SLOW_SOURCES_MAX));
}

#[test]
fn a_file_is_not_written_more_often() {
    let mut shell = Shell::new();
    let config = TraceConfig {
        write_into_file: Some(true),
        output_path: Some("/x".into()),
        file_write_period_ms: Some(1),
        ..config(&["ds"])
    };
    let (_producer, _consumer) = recording(&mut shell, config);
    let written = |shell: &Shell| shell.files.values().next().unwrap().bytes.len();
    let before = written(&shell);
    shell.advance_ms(limits::FILE_PERIOD_MS_MIN - 1);
    assert_eq!(written(&shell), before);
    shell.advance_ms(1);
    assert!(written(&shell) > before);
}

/// A snapshot says nothing new as long as no clock has moved against another one by so much.
#[test]
fn clocks_that_drift() {
    for (drift_ns, snapshots) in
        [(limits::SNAPSHOT_DRIFT_NS - 1, 1), (limits::SNAPSHOT_DRIFT_NS, 2)]
    {
        let mut shell = Shell::new();
        let mut consumer = MockConsumer::connect(&mut shell, 0);
        consumer.enable(&mut shell, config(&[]), None);
        for step in 0..2 {
            shell.now_ns += limits::SNAPSHOT_PERIOD_MS * 1_000_000;
            let mut now = shell.now();
            now.real_ns += step * drift_ns;
            shell.service.handle_timeout(&now);
        }
        assert_eq!(shell.service.fullest().snapshots_pending_max, snapshots, "{drift_ns}");
    }
}

/// A registration counts for more than what was sent, and an instance for its config and commands.
#[test]
fn small_things_cost_something() {
    let mut shell = Shell::new();
    let producer = producer(&mut shell, "p");
    for _ in 0..10 {
        producer.register_name(&mut shell, "x");
    }
    assert!(shell.service.footprint().source_bytes >= 10 * limits::SOURCE_BYTES);
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, config(&["x"]), None);
    let before = shell.service.work();
    producer.register_name(&mut shell, "x");
    assert_eq!(shell.service.footprint().instances, 11);
    assert!(shell.service.work() - before >= limits::WORK_PER_INSTANCE);
}
