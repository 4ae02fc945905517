//! Fields of configs and answers that need one line of code each.

use super::*;
use protos::consumer_port::Request;
use protos::{BuiltinClock, CloneSessionRequest, TraceConfigBuiltinDataSource};
use protozero::Message as _;

use abi::time::{BootTime, Now};
use service::Input;

/// The config in a trace.
fn config_in(packets: &[TracePacket]) -> TraceConfig {
    let of = |p: &TracePacket| match &p.data {
        Some(TracePacketData::TraceConfig(config)) => Some(config.clone()),
        _ => None,
    };
    packets.iter().find_map(of).expect("a config")
}

/// Fields that the service ignores are in the trace as the consumer wrote them, and so are unknown fields.
#[test]
fn the_trace_has_the_whole_config() {
    let mut shell = Shell::new();
    let asked = TraceConfig {
        notify_traceur: Some(true),
        statsd_metadata: Some(protos::TraceConfigStatsdMetadata {
            triggering_alert_id: Some(1),
            triggering_config_uid: Some(2),
            triggering_config_id: Some(3),
            triggering_subscription_id: Some(4),
            ..Default::default()
        }),
        cmd_trace_start_delay: Some(Default::default()),
        ..config(&["ds"])
    };
    let mut bytes = asked.encode_to_vec();
    bytes.extend_from_slice(&[0xc2, 0x84, 0x3d, 3, b'a', b'b', b'c']);
    let asked = TraceConfig::decode(&bytes).unwrap();
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, asked.clone(), None);
    assert_eq!(config_in(&consumer.read(&mut shell)), asked);
}

#[test]
fn the_primary_clock_is_the_configs() {
    for (asked, expected) in [(None, 6), (Some(BuiltinClock(3)), 3)] {
        let mut shell = Shell::new();
        let builtin =
            TraceConfigBuiltinDataSource { primary_trace_clock: asked, ..Default::default() };
        let config = TraceConfig { builtin_data_sources: Some(builtin), ..config(&[]) };
        let mut consumer = MockConsumer::connect(&mut shell, 0);
        consumer.enable(&mut shell, config, None);
        let packets = consumer.read(&mut shell);
        let clocks = packets.iter().filter_map(|p| match &p.data {
            Some(TracePacketData::ClockSnapshot(snapshot)) => snapshot.primary_trace_clock,
            _ => None,
        });
        let clocks: Vec<i32> = clocks.map(|clock| clock.0).collect();
        assert_eq!(clocks, [expected; 2], "at the start, and that of the period");
    }
}

#[test]
fn snapshots_come_as_often_as_asked() {
    let mut shell = Shell::new();
    let builtin =
        TraceConfigBuiltinDataSource { snapshot_interval_ms: Some(250), ..Default::default() };
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(
        &mut shell,
        TraceConfig { builtin_data_sources: Some(builtin), ..config(&[]) },
        None,
    );
    let markers = |shell: &mut Shell, ms| {
        shell.advance_ms(ms);
        kinds(&consumer.read(shell)).iter().filter(|k| *k == "SynchronizationMarker").count()
    };
    assert_eq!([0, 249, 1, 249, 1].map(|ms| markers(&mut shell, ms)), [1, 0, 1, 0, 1]);
}

/// The duration of a session in boot time or monotonic time, and the durations that its data sources are told.
#[test]
fn durations_by_the_suspend_clock() {
    for (suspend, due_s) in [(None, 1_000_010), (Some(false), 1_000_010), (Some(true), 1_000_001)] {
        let mut shell = Shell::new();
        let mut producer = producer(&mut shell, "p");
        producer.register_name(&mut shell, "ds");
        let mut consumer = MockConsumer::connect(&mut shell, 0);
        let asked = TraceConfig {
            duration_ms: Some(1000),
            prefer_suspend_clock_for_duration: suspend,
            ..config(&["ds"])
        };
        consumer.enable(&mut shell, asked, None);
        let commands = producer.commands(&mut shell);
        let Cmd::SetupDataSource(setup) = &commands[1] else { panic!("{commands:?}") };
        let told = setup.config.as_ref().unwrap().prefer_suspend_clock_for_duration;
        assert_eq!(told, suspend.filter(|suspend| *suspend));
        // Nine seconds of suspend count, or do not.
        let boot_ns = due_s * 1_000_000_000;
        for (boot_ns, flushes) in [(boot_ns - 1, 0), (boot_ns, 1)] {
            let asleep_ns = 9_000_000_000.min(boot_ns - shell.now_ns);
            let now = Now { mono_ns: boot_ns - asleep_ns, ..Now::at_ns(boot_ns) };
            shell.service.handle_timeout(&now);
            assert!(shell.service.poll_timeout().is_some_and(|at| at > BootTime::from_ns(boot_ns)));
            shell.input(Input::ProducerDisconnected { client: abi::ids::ClientId::new(99) });
            let flushed = words(&mut shell, &mut producer);
            assert_eq!(flushed.len(), flushes, "{suspend:?} {flushed:?}");
        }
    }
}

#[test]
fn files_are_synced_after_each_write_if_asked() {
    for (mode, syncs) in [(0, 0), (1, 0), (2, 3)] {
        let mut shell = Shell::new();
        let mut consumer = MockConsumer::connect(&mut shell, 0);
        let file = shell.open_file();
        let asked = TraceConfig {
            write_into_file: Some(true),
            file_write_period_ms: Some(100),
            fflush_post_write: Some(protos::TraceConfigFFlushMode(mode)),
            ..config(&[])
        };
        consumer.enable(&mut shell, asked, Some(file));
        shell.advance_ms(300);
        assert_eq!(shell.files[&file].syncs, syncs, "{mode}");
        consumer.disable(&mut shell);
        assert_eq!(shell.files[&file].syncs, syncs + 1, "before it is closed");
    }
}

fn sessions(shell: &mut Shell) -> protos::TracingServiceState {
    let consumer = MockConsumer::connect(shell, 0);
    let request =
        protos::QueryServiceStateRequest { sessions_only: Some(true), ..Default::default() };
    let replies = consumer.call(shell, Request::QueryServiceState(request));
    consumer.disconnect(shell);
    let bytes = replies[0].response.clone().unwrap();
    protos::QueryServiceStateResponse::decode(&bytes).unwrap().service_state.unwrap()
}

#[test]
fn sessions_in_the_answer_to_a_query() {
    let mut shell = Shell::new();
    let asked = TraceConfig {
        unique_session_name: Some("name".into()),
        duration_ms: Some(60_000),
        deferred_start: Some(true),
        bugreport_score: Some(7),
        bugreport_filename: Some("file".into()),
        buffers: vec![buffer(64), buffer(32)],
        ..config(&["ds", "ds"])
    };
    let producer = producer(&mut shell, "p");
    producer.register_name(&mut shell, "ds");
    let mut consumer = MockConsumer::connect(&mut shell, 5);
    consumer.enable(&mut shell, asked, None);
    let state = sessions(&mut shell);
    assert_eq!(state.supports_tracing_sessions, Some(true));
    assert_eq!(state.tracing_service_version.as_deref(), Some("test service"));
    assert_eq!((state.num_sessions, state.num_sessions_started), (Some(1), Some(0)));
    assert!(state.producers.is_empty() && state.data_sources.is_empty());
    let mut expected = protos::TracingServiceStateTracingSession {
        id: Some(1),
        consumer_uid: Some(5),
        state: Some("CONFIGURED".into()),
        unique_session_name: Some("name".into()),
        buffer_size_kb: vec![64, 32],
        duration_ms: Some(60_000),
        num_data_sources: Some(2),
        bugreport_score: Some(7),
        bugreport_filename: Some("file".into()),
        ..Default::default()
    };
    let [session] = &state.tracing_sessions[..] else { panic!("{state:?}") };
    assert_eq!(*session, expected);
    consumer.start(&mut shell);
    let state = sessions(&mut shell);
    expected.state = Some("STARTED".into());
    expected.is_started = Some(true);
    expected.start_realtime_ns = Some(shell.now_ns as i64);
    assert_eq!(state.tracing_sessions, [expected.clone()]);
    assert_eq!(state.num_sessions_started, Some(1));
    // A read does not remove it.
    consumer.read(&mut shell);
    assert_eq!(sessions(&mut shell).tracing_sessions, [expected.clone()]);
    consumer.disable(&mut shell);
    expected.state = Some("DISABLED".into());
    expected.is_started = None;
    assert_eq!(sessions(&mut shell).tracing_sessions, [expected]);
}

/// Effects of a refused config stay: aborted sessions, lockdown, the time of the name.
#[test]
fn effects_of_a_refused_config_stay() {
    let mut shell = Shell::new();
    let mut running = MockConsumer::connect(&mut shell, 0);
    running.enable(&mut shell, config(&[]), None);
    let bad = TraceConfig {
        exclusive_prio: Some(3),
        lockdown_mode: Some(protos::TraceConfigLockdownModeOperation::LOCKDOWN_SET),
        enable_extra_guardrails: Some(true),
        unique_session_name: Some("name".into()),
        // The last check of all.
        buffers: vec![buffer(0)],
        ..config(&[])
    };
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, bad, None);
    assert!(consumer.ended(&mut shell).unwrap().contains("Invalid buffer sizes"));
    assert!(running.ended(&mut shell).unwrap().contains("higher-priority (3) exclusive"));
    assert!(shell.service.is_idle());
    let stranger = producer(&mut shell, "stranger");
    let sync = protos::producer_port::Request::Sync(Default::default());
    assert!(stranger.call(&mut shell, sync)[0].response.is_none(), "locked out");
    let again = TraceConfig {
        enable_extra_guardrails: Some(true),
        unique_session_name: Some("name".into()),
        ..config(&[])
    };
    consumer.enable(&mut shell, again, None);
    assert!(consumer.ended(&mut shell).unwrap().contains("too recent"));
}

/// The flush of a clone tells producers its purpose, and the clone may skip the filter.
#[test]
fn flush_flags_and_filter_of_a_clone() {
    let (program, _) = {
        use service::filter::Rule;
        use service::filter::generator::{Generator, Target};
        let all_but_payloads = Generator::new(Target::V54).field(1, Rule::Message(1)).end();
        all_but_payloads.range(1, 899).end().finish()
    };
    let filter =
        protos::TraceConfigTraceFilter { bytecode_v2: Some(program), ..Default::default() };
    for (for_bugreport, skip_trace_filter, flags, expected) in
        [(false, false, "0x13", 0), (true, false, "0x113", 0), (false, true, "0x13", 1)]
    {
        let mut shell = Shell::new();
        let asked = TraceConfig { trace_filter: Some(filter.clone()), ..config(&["ds"]) };
        let (mut producer, _consumer) = recording(&mut shell, asked);
        producer.write(&mut shell, WRITER, BUFFER, &[payload("x")]);
        let clone = MockConsumer::connect(&mut shell, 0);
        let request = CloneSessionRequest {
            selector: Some(protos::CloneSessionRequestSelector::SessionId(1)),
            for_bugreport: Some(for_bugreport),
            skip_trace_filter: Some(skip_trace_filter),
            ..Default::default()
        };
        let call = clone.clone_session(&mut shell, request, None);
        assert_eq!(words(&mut shell, &mut producer), [format!("flush 2 of [1] flags {flags}")]);
        producer.ack_flush(&mut shell, 2);
        assert_eq!(clone.cloned(&mut shell, call).unwrap().success, Some(true));
        assert_eq!(payloads(&clone.read(&mut shell)).len(), expected);
    }
}
