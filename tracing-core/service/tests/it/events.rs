//! Service events in the trace, and events that consumers observe.

use super::*;
use protos::consumer_port::Request;
use protos::producer_port::Request as ProducerRequest;
use protos::{ObservableEvents, ObservableEventsType as Type, ObserveEventsResponse};
use protozero::Message as _;

use abi::ids::CallId;

fn observe(shell: &mut Shell, consumer: &MockConsumer, types: &[Type]) -> CallId {
    let request =
        protos::ObserveEventsRequest { events_to_observe: types.to_vec(), ..Default::default() };
    shell.call_consumer(consumer.client, Request::ObserveEvents(request), None)
}

fn observed(shell: &mut Shell, consumer: &MockConsumer, call: CallId) -> Vec<ObservableEvents> {
    let replies = shell.take_replies_to(consumer.client, call);
    let events = replies
        .iter()
        .filter_map(|r| ObserveEventsResponse::decode(r.response.as_ref()?).ok()?.events);
    events.collect()
}

fn changes(events: &[ObservableEvents]) -> Vec<(String, i32)> {
    let all = events.iter().flat_map(|e| &e.instance_state_changes);
    all.map(|c| (c.data_source_name.clone().unwrap(), c.state.unwrap().0)).collect()
}

/// The states of all instances are told at once: their user pays for them. Without a call nobody would get them.
#[test]
fn observing_counts_each_instance() {
    const COUNT: usize = 300;
    let mut shell = Shell::new();
    let producer = producer(&mut shell, "p");
    (0..COUNT).for_each(|_| producer.register_name(&mut shell, "ds"));
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(
        &mut shell,
        TraceConfig { deferred_start: Some(true), ..config(&["ds"]) },
        None,
    );
    let before = shell.service.work();
    let call = observe(&mut shell, &consumer, &[Type::TYPE_DATA_SOURCES_INSTANCES]);
    let cost = shell.service.work() - before;
    assert!(cost >= COUNT as u64 * service::limits::WORK_PER_OBSERVED_INSTANCE, "{cost}");
    let events = observed(&mut shell, &consumer, call);
    assert_eq!(changes(&events).len(), COUNT);

    let request = protos::ObserveEventsRequest {
        events_to_observe: vec![Type::TYPE_DATA_SOURCES_INSTANCES],
        ..Default::default()
    };
    let client = consumer.client;
    let request = Request::ObserveEvents(request);
    let before = shell.service.work();
    shell.input(service::Input::ConsumerRequest { client, call: None, request, file: None });
    assert!(
        shell.service.work() - before < COUNT as u64 * service::limits::WORK_PER_OBSERVED_INSTANCE
    );
}

/// A name may take most of a frame, and each instance has it.
#[test]
fn a_long_name_is_cut_where_it_is_told() {
    let name = "n".repeat(100_000);
    let mut shell = Shell::new();
    let mut producer = producer(&mut shell, "p");
    producer.register_name(&mut shell, &name);
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, config(&[&name]), None);
    producer.commands(&mut shell);
    let call = observe(&mut shell, &consumer, &[Type::TYPE_DATA_SOURCES_INSTANCES]);
    let kept = "n".repeat(service::limits::NAME_BYTES_MAX);
    assert_eq!(changes(&observed(&mut shell, &consumer, call)), [(kept.clone(), 2)]);
    consumer.disable(&mut shell);
    assert_eq!(changes(&observed(&mut shell, &consumer, call)), [(kept, 1)]);
}

#[test]
fn lifecycle_event_smoke() {
    let mut shell = Shell::new();
    let (mut producer, consumer) = recording(&mut shell, config(&["ds"]));
    producer.write(&mut shell, WRITER, BUFFER, &[payload("a"), payload("b")]);
    let packets = consumer.read(&mut shell);
    insta::assert_debug_snapshot!(kinds(&packets), @r#"
    [
        "ClockSnapshot",
        "ClockSnapshot",
        "SynchronizationMarker",
        "TraceConfig",
        "TraceUuid",
        "TraceProvenance",
        "SystemInfo",
        "event TracingStarted",
        "event AllDataSourcesStarted",
        "payload a",
        "payload b",
        "event ReadTracingBuffersCompleted",
        "TraceStats",
    ]
    "#);
    let service = packets.iter().filter(|p| sequence(p).is_some());
    for packet in service.clone() {
        assert!(trusted_uid(packet).is_some());
    }
    consumer.flush(&mut shell, 0);
    producer.ack_flush(&mut shell, 1);
    insta::assert_debug_snapshot!(kinds(&consumer.read(&mut shell)), @r#"
    [
        "ClockSnapshot",
        "event FlushStarted",
        "event AllDataSourcesFlushed",
        "event ReadTracingBuffersCompleted",
    ]
    "#);
    consumer.disable(&mut shell);
    insta::assert_debug_snapshot!(kinds(&consumer.read(&mut shell)), @r#"
    [
        "ClockSnapshot",
        "event TracingDisabled",
        "event ReadTracingBuffersCompleted",
    ]
    "#);
    insta::assert_debug_snapshot!(kinds(&consumer.read(&mut shell)), @r#"
    [
        "event ReadTracingBuffersCompleted",
    ]
    "#);
}

#[test]
fn sync_marker_ends_its_packet() {
    let mut shell = Shell::new();
    let consumer = {
        let mut consumer = MockConsumer::connect(&mut shell, 0);
        consumer.enable(&mut shell, config(&[]), None);
        consumer
    };
    let call = shell.call_consumer(consumer.client, Request::ReadBuffers(Default::default()), None);
    let replies = shell.take_replies_to(consumer.client, call);
    let bytes = replies[0].response.clone().unwrap();
    let response = protos::ReadBuffersResponse::decode(&bytes).unwrap();
    let marker = response
        .slices
        .iter()
        .filter_map(|s| s.data.as_deref())
        .find(|d| d.windows(4).any(|w| w == [0x82, 0x47, 0x7a, 0x76]));
    assert_eq!(
        marker.unwrap(),
        [
            0x18,
            0,
            0x50,
            1,
            0x82 | 0x20,
            0x02,
            16,
            0x82,
            0x47,
            0x7a,
            0x76,
            0xb2,
            0x8d,
            0x42,
            0xba,
            0x81,
            0xdc,
            0x33,
            0x32,
            0x6d,
            0x57,
            0xa0,
            0x79
        ]
    );
}

#[test]
fn builtin_sources_can_be_turned_off() {
    let mut shell = Shell::new();
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    let builtin = protos::TraceConfigBuiltinDataSource {
        disable_clock_snapshotting: Some(true),
        disable_trace_config: Some(true),
        disable_system_info: Some(true),
        disable_service_events: Some(true),
        disable_chunk_usage_histograms: Some(true),
        ..Default::default()
    };
    let config = TraceConfig { builtin_data_sources: Some(builtin), ..config(&[]) };
    consumer.enable(&mut shell, config, None);
    let packets = consumer.read(&mut shell);
    assert_eq!(
        kinds(&packets),
        ["SynchronizationMarker", "TraceUuid", "TraceProvenance", "TraceStats"]
    );
    let Some(TracePacketData::TraceStats(stats)) = &packets[3].data else { panic!() };
    assert!(stats.chunk_payload_histogram_def.is_empty());
}

#[test]
fn markers_and_stats_come_again_every_period() {
    let mut shell = Shell::new();
    let (_producer, consumer) = recording(&mut shell, config(&["ds"]));
    consumer.read(&mut shell);
    shell.advance_ms(10_000);
    // Without drift there is no other snapshot, except into an empty ring.
    assert_eq!(
        kinds(&consumer.read(&mut shell)),
        [
            "ClockSnapshot",
            "SynchronizationMarker",
            "event ReadTracingBuffersCompleted",
            "TraceStats"
        ]
    );
    shell.advance_ms(30_000);
    assert_eq!(
        kinds(&consumer.read(&mut shell)),
        [
            "ClockSnapshot",
            "SynchronizationMarker",
            "event ReadTracingBuffersCompleted",
            "TraceStats"
        ]
    );
}

#[test]
fn lifecycle_multiple_flush_events_queued() {
    let mut shell = Shell::new();
    let (producer, consumer) = recording(&mut shell, config(&["ds"]));
    consumer.read(&mut shell);
    for id in 1..=2 {
        consumer.flush(&mut shell, 0);
        shell.advance_ms(1);
        producer.ack_flush(&mut shell, id);
    }
    let events: Vec<_> =
        kinds(&consumer.read(&mut shell)).into_iter().filter(|k| k.starts_with("event")).collect();
    assert_eq!(
        events,
        [
            "event FlushStarted",
            "event AllDataSourcesFlushed",
            "event FlushStarted",
            "event AllDataSourcesFlushed",
            "event ReadTracingBuffersCompleted"
        ]
    );
}

pub(crate) fn unregister(shell: &mut Shell, producer: &MockProducer, name: &str) {
    let request = protos::UnregisterDataSourceRequest {
        data_source_name: Some(name.into()),
        ..Default::default()
    };
    producer.call(shell, ProducerRequest::UnregisterDataSource(request));
}

#[test]
fn observe_events_data_source_instances() {
    let mut shell = Shell::new();
    let (mut producer, consumer) = recording(&mut shell, config(&["ds", "other"]));
    let call = observe(&mut shell, &consumer, &[Type::TYPE_DATA_SOURCES_INSTANCES]);
    assert_eq!(changes(&observed(&mut shell, &consumer, call)), [("ds".into(), 2)]);
    // The mask is kept after the session.
    consumer.disable(&mut shell);
    assert_eq!(changes(&observed(&mut shell, &consumer, call)), [("ds".into(), 1)]);
    consumer.free(&mut shell);
    let mut consumer = consumer;
    consumer.enable(&mut shell, config(&["ds", "other"]), None);
    let again = [("ds".into(), 1), ("ds".into(), 2)];
    assert_eq!(changes(&observed(&mut shell, &consumer, call)), again);
    // A data source that registers later is set up and started.
    producer.register_name(&mut shell, "other");
    let came = [("other".into(), 1), ("other".into(), 2)];
    assert_eq!(changes(&observed(&mut shell, &consumer, call)), came);
    let none = observe(&mut shell, &consumer, &[]);
    for call in [call, none] {
        let replies = shell.take_replies_to(consumer.client, call);
        assert!(replies.len() == 1 && !replies[0].has_more && replies[0].response.is_some());
    }
    consumer.disable(&mut shell);
    producer.commands(&mut shell);
    assert!(observed(&mut shell, &consumer, call).is_empty());
}

#[test]
fn more_changes_in_one_turn_than_a_frame_takes() {
    let mut shell = Shell::new();
    let long = "x".repeat(1000);
    let producer = MockProducer::connect(&mut shell, &long, peer(1));
    for _ in 0..300 {
        producer.register_name(&mut shell, "ds");
    }
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    let types = [Type::TYPE_DATA_SOURCES_INSTANCES, Type::TYPE_ALL_DATA_SOURCES_STARTED];
    let call = observe(&mut shell, &consumer, &types);
    consumer.enable(&mut shell, config(&["ds"]), None);
    let replies = shell.take_replies_to(consumer.client, call);
    let sizes: Vec<_> = replies.iter().map(|r| r.response.as_ref().unwrap().len()).collect();
    assert!(
        sizes.len() > 1 && sizes.iter().all(|s| *s <= abi::limits::IPC_FRAME_BYTES_MAX / 2 + 2048)
    );
    let events: Vec<_> = replies
        .iter()
        .filter_map(|r| ObserveEventsResponse::decode(r.response.as_ref()?).ok()?.events)
        .collect();
    assert!(changes(&events).iter().filter(|(_, state)| *state == 2).count() >= 300);
    let all_started = |e: &ObservableEvents| e.all_data_sources_started.is_some();
    assert!(events.iter().position(all_started) == Some(events.len() - 1));
}

#[test]
fn observe_events_data_source_instances_unregister() {
    let mut shell = Shell::new();
    let (producer, consumer) = recording(&mut shell, config(&["ds"]));
    let call = observe(&mut shell, &consumer, &[Type::TYPE_DATA_SOURCES_INSTANCES]);
    assert_eq!(changes(&observed(&mut shell, &consumer, call)), [("ds".into(), 2)]);
    unregister(&mut shell, &producer, "ds");
    assert_eq!(changes(&observed(&mut shell, &consumer, call)), [("ds".into(), 1)]);
}

fn notifying(name: &str) -> DataSourceDescriptor {
    DataSourceDescriptor { will_notify_on_start: Some(true), ..descriptor(name) }
}

fn started(shell: &mut Shell, producer: &MockProducer, id: u64) {
    let request =
        protos::NotifyDataSourceStartedRequest { data_source_id: Some(id), ..Default::default() };
    producer.call(shell, ProducerRequest::NotifyDataSourceStarted(request));
}

/// An instance that its producer does not record counts as started, and the ledger has it, once.
#[test]
fn an_instance_that_is_refused() {
    let mut shell = Shell::new();
    let producer = producer(&mut shell, "p");
    producer.register(&mut shell, notifying("ds"));
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    let call = observe(&mut shell, &consumer, &[Type::TYPE_ALL_DATA_SOURCES_STARTED]);
    consumer.enable(&mut shell, config(&["ds", "ds"]), None);
    started(&mut shell, &producer, 1);
    for id in [2, 2, 3] {
        let request = protos::NotifyDataSourceStartedRequest {
            data_source_id: Some(id),
            refused: Some(true),
            ..Default::default()
        };
        producer.call(&mut shell, ProducerRequest::NotifyDataSourceStarted(request));
    }
    assert_eq!(all_started(&mut shell, &consumer, call), 1);
    let lost = super::ledger::ledger(&mut shell, &consumer);
    assert_eq!(lost.len(), 1);
    assert_eq!(
        (lost[0].reason, lost[0].unit, lost[0].count, lost[0].data_source_name.as_deref()),
        (
            Some(protos::LossLedgerReason::REASON_INSTANCE_REFUSED),
            Some(protos::LossLedgerUnit::UNIT_INSTANCES),
            Some(1),
            Some("ds")
        )
    );
}

/// How often "all started" was observed since the last call.
fn all_started(shell: &mut Shell, consumer: &MockConsumer, call: CallId) -> usize {
    let events = observed(shell, consumer, call);
    events.iter().filter(|event| event.all_data_sources_started == Some(true)).count()
}

#[test]
fn observe_all_data_source_started() {
    let mut shell = Shell::new();
    let producer = producer(&mut shell, "p");
    producer.register(&mut shell, notifying("a"));
    producer.register(&mut shell, notifying("b"));
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    // Before there is a session: the mask stays.
    let call = observe(&mut shell, &consumer, &[Type::TYPE_ALL_DATA_SOURCES_STARTED]);
    for round in 0..3 {
        consumer.enable(&mut shell, config(&["a", "b"]), None);
        let next = 1 + 2 * round;
        for id in [next, next] {
            started(&mut shell, &producer, id);
            assert_eq!(all_started(&mut shell, &consumer, call), 0);
        }
        started(&mut shell, &producer, next + 1);
        assert_eq!(all_started(&mut shell, &consumer, call), 1);
        let kinds = kinds(&consumer.read(&mut shell));
        assert!(kinds.contains(&"event AllDataSourcesStarted".to_owned()));
        consumer.free(&mut shell);
    }
}

#[test]
fn observe_all_data_source_started_without_matching_instances() {
    let mut shell = Shell::new();
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    let call = observe(&mut shell, &consumer, &[Type::TYPE_ALL_DATA_SOURCES_STARTED]);
    consumer.enable(&mut shell, config(&["nobody"]), None);
    assert_eq!(all_started(&mut shell, &consumer, call), 1);
}

#[test]
fn observe_all_data_source_started_only_some_will_ack() {
    let mut shell = Shell::new();
    let producer = producer(&mut shell, "p");
    producer.register(&mut shell, notifying("a"));
    producer.register_name(&mut shell, "b");
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    let call = observe(&mut shell, &consumer, &[Type::TYPE_ALL_DATA_SOURCES_STARTED]);
    consumer.enable(&mut shell, config(&["a", "b"]), None);
    assert_eq!(all_started(&mut shell, &consumer, call), 0);
    started(&mut shell, &producer, 1);
    assert_eq!(all_started(&mut shell, &consumer, call), 1);
}

#[test]
fn observe_all_data_source_started_no_ack() {
    let mut shell = Shell::new();
    let producer = producer(&mut shell, "p");
    producer.register_name(&mut shell, "a");
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    let call = observe(&mut shell, &consumer, &[Type::TYPE_ALL_DATA_SOURCES_STARTED]);
    consumer.enable(&mut shell, config(&["a"]), None);
    assert_eq!(all_started(&mut shell, &consumer, call), 1);
}

/// The data sources that packets name as slow to start, in the order of the packets.
fn slow_to_start(packets: &[TracePacket]) -> Vec<Vec<String>> {
    let of = |p: &TracePacket| match &p.data {
        Some(TracePacketData::ServiceEvent(e)) => match &e.event_type {
            Some(protos::TracingServiceEventEventType::SlowStartingDataSources(slow)) => {
                let names = slow.data_source.iter().map(|s| s.data_source_name.clone().unwrap());
                Some(names.collect())
            }
            _ => None,
        },
        _ => None,
    };
    packets.iter().filter_map(of).collect()
}

fn tell_started(shell: &mut Shell, producer: &MockProducer, instance: u64) {
    let request = protos::NotifyDataSourceStartedRequest {
        data_source_id: Some(instance),
        ..Default::default()
    };
    producer.call(shell, ProducerRequest::NotifyDataSourceStarted(request));
}

#[test]
fn slow_starting_data_sources() {
    let mut shell = Shell::new();
    let producer = producer(&mut shell, "p");
    let slow = |name| DataSourceDescriptor { will_notify_on_start: Some(true), ..descriptor(name) };
    producer.register(&mut shell, slow("quick"));
    producer.register(&mut shell, slow("silent"));
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, config(&["quick", "silent"]), None);
    tell_started(&mut shell, &producer, 1);
    shell.advance_ms(20_000);
    assert_eq!(slow_to_start(&consumer.read(&mut shell)), [["silent"]]);
}

/// A data source that is being stopped need not start any more.
#[test]
fn a_session_that_stops_names_no_slow_start() {
    let mut shell = Shell::new();
    let producer = producer(&mut shell, "p");
    let silent = DataSourceDescriptor {
        will_notify_on_start: Some(true),
        will_notify_on_stop: Some(true),
        ..descriptor("silent")
    };
    producer.register(&mut shell, silent);
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, config(&["silent"]), None);
    shell.advance_ms(19_000);
    consumer.disable(&mut shell);
    shell.advance_ms(2_000);
    assert_eq!(consumer.ended(&mut shell), None, "it waits for the stop");
    shell.advance_ms(10_000);
    assert_eq!(consumer.ended(&mut shell).as_deref(), Some(""));
    assert_eq!(slow_to_start(&consumer.read(&mut shell)), [[""; 0]; 0]);
    assert!(!shell.log.iter().any(|line| line.1.contains("failed to start in time")));
}

/// The start of the last data source is told to nobody while the session is detached.
#[test]
fn a_detached_session_whose_data_sources_started_names_none() {
    let mut shell = Shell::new();
    let producer = producer(&mut shell, "p");
    producer.register(
        &mut shell,
        DataSourceDescriptor { will_notify_on_start: Some(true), ..descriptor("late") },
    );
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, config(&["late"]), None);
    let key = Some("key".to_owned());
    let detach = protos::DetachRequest { key: key.clone(), ..Default::default() };
    consumer.call(&mut shell, Request::Detach(detach));
    tell_started(&mut shell, &producer, 1);
    shell.advance_ms(20_000);
    consumer.call(&mut shell, Request::Attach(protos::AttachRequest { key, ..Default::default() }));
    let packets = consumer.read(&mut shell);
    assert!(kinds(&packets).contains(&"event TracingStarted".into()));
    assert_eq!(slow_to_start(&packets), [[""; 0]; 0]);
}

#[test]
fn concurrent_session_events_are_opt_in() {
    let mut shell = Shell::new();
    let curious = TraceConfig {
        builtin_data_sources: Some(protos::TraceConfigBuiltinDataSource {
            enable_concurrent_session_events: Some(true),
            ..Default::default()
        }),
        ..config(&[])
    };
    let states = |shell: &mut Shell, consumer: &MockConsumer| {
        let packets = consumer.read(shell);
        let of = |p: &TracePacket| match &p.data {
            Some(TracePacketData::ConcurrentSessionEvent(e)) => {
                Some((e.session_id.unwrap(), e.state.unwrap().0))
            }
            _ => None,
        };
        packets.iter().filter_map(of).collect::<Vec<_>>()
    };
    let mut plain = MockConsumer::connect(&mut shell, 0);
    plain.enable(&mut shell, config(&[]), None);
    shell.advance_ms(1);
    let mut watcher = MockConsumer::connect(&mut shell, 5);
    watcher.enable(&mut shell, curious, None);
    shell.advance_ms(1);
    plain.disable(&mut shell);
    let mut third = MockConsumer::connect(&mut shell, 6);
    third.enable(&mut shell, config(&[]), None);
    assert_eq!(states(&mut shell, &watcher), [(1, 3), (1, 1), (3, 2), (3, 3)]);
    assert_eq!(states(&mut shell, &plain), []);
}

#[test]
fn get_trace_stats() {
    let mut shell = Shell::new();
    let (mut producer, consumer) = recording(&mut shell, config(&["ds"]));
    producer.write(&mut shell, WRITER, BUFFER, &[payload("a")]);
    let replies = consumer.call(&mut shell, Request::GetTraceStats(Default::default()));
    let bytes = replies[0].response.clone().unwrap();
    let stats = protos::GetTraceStatsResponse::decode(&bytes).unwrap().trace_stats.unwrap();
    assert_eq!(stats.buffer_stats.len(), 1);
    assert_eq!(stats.buffer_stats[0].chunks_written, Some(1));
    assert_eq!(stats.producers_connected, Some(1));
    assert_eq!(stats.tracing_sessions, Some(1));
    assert_eq!(stats.chunks_discarded, Some(0));
}

/// What a session that nobody reads keeps for its trace has limits; of flushes the last are kept.
#[test]
fn kept_events_have_a_limit() {
    let mut shell = Shell::new();
    let (producer, consumer) = recording(&mut shell, config(&["ds"]));
    consumer.read(&mut shell);
    for id in 1..=200 {
        consumer.flush(&mut shell, 0);
        shell.advance_ms(1);
        producer.ack_flush(&mut shell, id);
    }
    let kinds = kinds(&consumer.read(&mut shell));
    let count = |kind: &str| kinds.iter().filter(|k| *k == kind).count();
    let flushes = (count("event FlushStarted"), count("event AllDataSourcesFlushed"));
    assert_eq!(flushes, (64, 64));
}

/// With a suspend-aware clock, snapshots come at multiples of the period in that clock.
#[test]
fn snapshots_by_the_suspend_clock() {
    use abi::time::BootTime;
    for (suspend, due_s) in [(None, 1_000_009), (Some(true), 1_000_010)] {
        let mut shell = Shell::new();
        let client = shell.connect_consumer(peer(0));
        let mut config = config(&[]);
        config.builtin_data_sources = Some(protos::TraceConfigBuiltinDataSource {
            prefer_suspend_clock_for_snapshot: suspend,
            ..Default::default()
        });
        let request = protos::EnableTracingRequest {
            trace_config: Some(config.into()),
            ..Default::default()
        };
        // The machine slept for nine seconds: the monotonic clock is nine seconds behind boot time.
        let mut now = shell.now();
        now.mono_ns -= 9_000_000_000;
        shell.service.handle(
            &now,
            service::Input::ConsumerRequest {
                client,
                call: None,
                request: Request::EnableTracing(request),
                file: None,
            },
        );
        let due = shell.service.poll_timeout();
        assert_eq!(due, Some(BootTime::from_ns(due_s * 1_000_000_000)), "{suspend:?}");
    }
}
