//! Set-up, start, stop, and disconnects at each of these moments.

use super::*;
use protos::producer_port::Request;

pub(super) fn notifying(name: &str, start: bool, stop: bool) -> DataSourceDescriptor {
    DataSourceDescriptor {
        will_notify_on_start: Some(start),
        will_notify_on_stop: Some(stop),
        ..descriptor(name)
    }
}

pub(super) fn stopped(shell: &mut Shell, producer: &MockProducer, id: u64) {
    let request =
        protos::NotifyDataSourceStoppedRequest { data_source_id: Some(id), ..Default::default() };
    producer.call(shell, Request::NotifyDataSourceStopped(request));
}

#[test]
fn enable_and_disable_tracing() {
    let mut shell = Shell::new();
    let mut producer = producer(&mut shell, "mock_producer");
    producer.register_name(&mut shell, "ds");
    let mut config = config(&["ds"]);
    config.data_sources[0].producer_name_regex_filter = vec!["mock_[p]roducer".into()];
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, config, None);
    // Started already: harmless.
    consumer.start(&mut shell);
    assert_eq!(
        words(&mut shell, &mut producer),
        ["setup_tracing Some(4) KB", "setup 1", "start 1"]
    );
    consumer.disable(&mut shell);
    assert_eq!(words(&mut shell, &mut producer), ["stop 1"]);
    assert_eq!(consumer.ended(&mut shell).as_deref(), Some(""));
    consumer.disable(&mut shell);
    assert!(words(&mut shell, &mut producer).is_empty());
}

#[test]
fn setups_before_starts_across_producers() {
    let mut shell = Shell::new();
    let mut one = producer(&mut shell, "one");
    let mut two = producer(&mut shell, "two");
    two.register_name(&mut shell, "b");
    one.register_name(&mut shell, "a");
    one.register_name(&mut shell, "b");
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, config(&["b", "a"]), None);
    let log = (words(&mut shell, &mut one), words(&mut shell, &mut two));
    insta::assert_debug_snapshot!(log, @r#"
    (
        [
            "setup_tracing Some(4) KB",
            "setup 2",
            "setup 3",
            "start 2",
            "start 3",
        ],
        [
            "setup_tracing Some(4) KB",
            "setup 1",
            "start 1",
        ],
    )
    "#);
}

#[test]
fn session_id() {
    let mut shell = Shell::new();
    let mut producers = ["one", "two"].map(|name| producer(&mut shell, name));
    for (producer, sources) in producers.iter().zip([&["a", "b"][..], &["a"]]) {
        sources.iter().for_each(|name| producer.register_name(&mut shell, name));
    }
    for round in 1..=3u64 {
        let mut consumer = MockConsumer::connect(&mut shell, 0);
        consumer.enable(&mut shell, config(&["a", "b"]), None);
        for (producer, instances) in producers.iter_mut().zip([2, 1]) {
            let commands = producer.commands(&mut shell);
            // Shared memory comes with the first session, and once.
            let setups = commands.iter().filter(|c| matches!(c, Cmd::SetupTracing(_))).count();
            assert_eq!(setups, usize::from(round == 1));
            let told = commands.iter().filter_map(|command| match command {
                Cmd::SetupDataSource(setup) => setup.config.as_ref(),
                _ => None,
            });
            let told: Vec<_> = told.map(|c| (c.tracing_session_id, c.target_buffer)).collect();
            assert_eq!(told, vec![(Some(round), Some(round as u32)); instances]);
        }
        consumer.disconnect(&mut shell);
        let words = producers.each_mut().map(|producer| words(&mut shell, producer).len());
        assert_eq!(words, [2, 1], "stopped");
    }
    assert!(shell.service.is_idle());
}

#[test]
fn deferred_start() {
    let mut shell = Shell::new();
    let config =
        TraceConfig { deferred_start: Some(true), duration_ms: Some(1), ..config(&["ds"]) };
    let mut producer = producer(&mut shell, "p");
    producer.register_name(&mut shell, "ds");
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, config, None);
    shell.advance_ms(1000);
    assert_eq!(words(&mut shell, &mut producer), ["setup_tracing Some(4) KB", "setup 1"]);
    consumer.start(&mut shell);
    assert_eq!(words(&mut shell, &mut producer), ["start 1"]);
    shell.advance_ms(1);
    assert_eq!(words(&mut shell, &mut producer), ["flush 1 of [1] flags 0x12"]);
    producer.ack_flush(&mut shell, 1);
    assert_eq!(words(&mut shell, &mut producer), ["stop 1"]);
    assert_eq!(consumer.ended(&mut shell).as_deref(), Some(""));
}

#[test]
fn disconnect_consumer_while_tracing() {
    let mut shell = Shell::new();
    let (mut producer, consumer) = recording(&mut shell, config(&["ds"]));
    consumer.disconnect(&mut shell);
    assert_eq!(words(&mut shell, &mut producer), ["stop 1"]);
    assert!(shell.service.is_idle());
}

#[test]
fn reconnect_producer_while_tracing() {
    let mut shell = Shell::new();
    let (old, mut consumer) = recording(&mut shell, config(&["ds"]));
    old.disconnect(&mut shell);
    let mut new = producer(&mut shell, "producer");
    new.register_name(&mut shell, "ds");
    assert_eq!(words(&mut shell, &mut new), ["setup_tracing Some(4) KB", "setup 2", "start 2"]);
    assert_eq!(consumer.ended(&mut shell), None);
}

#[test]
fn on_tracing_disabled_waits_for_data_source_stop_acks() {
    let mut shell = Shell::new();
    let producer = producer(&mut shell, "p");
    producer.register(&mut shell, notifying("a", false, true));
    producer.register(&mut shell, notifying("b", false, true));
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, config(&["a", "b"]), None);
    // It was not asked to stop yet: without effect.
    stopped(&mut shell, &producer, 1);
    consumer.disable(&mut shell);
    stopped(&mut shell, &producer, 1);
    stopped(&mut shell, &producer, 1);
    assert_eq!(consumer.ended(&mut shell), None);
    stopped(&mut shell, &producer, 99);
    assert_eq!(consumer.ended(&mut shell), None);
    stopped(&mut shell, &producer, 2);
    assert_eq!(consumer.ended(&mut shell).as_deref(), Some(""));
}

#[test]
fn foreign_stop_acks_are_ignored() {
    let mut shell = Shell::new();
    let producer1 = producer(&mut shell, "p");
    producer1.register(&mut shell, notifying("ds", false, true));
    let stranger = producer(&mut shell, "stranger");
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, config(&["ds"]), None);
    consumer.disable(&mut shell);
    stopped(&mut shell, &stranger, 1);
    assert_eq!(consumer.ended(&mut shell), None);
    // The last instance that must acknowledge the stop goes away.
    producer1.disconnect(&mut shell);
    assert_eq!(consumer.ended(&mut shell).as_deref(), Some(""));
}

#[test]
fn on_tracing_disabled_called_anyways_in_case_of_timeout() {
    for (asked, timeout) in [(1, 1), (0, 5000)] {
        let mut shell = Shell::new();
        let producer = producer(&mut shell, "p");
        producer.register(&mut shell, notifying("ds", false, true));
        let mut consumer = MockConsumer::connect(&mut shell, 0);
        let config = TraceConfig { data_source_stop_timeout_ms: Some(asked), ..config(&["ds"]) };
        consumer.enable(&mut shell, config, None);
        consumer.disable(&mut shell);
        shell.advance_ms(timeout - 1);
        assert_eq!(consumer.ended(&mut shell), None);
        shell.advance_ms(1);
        assert_eq!(consumer.ended(&mut shell).as_deref(), Some(""));
    }
}

/// A data source that does not stop in time may write more, which comes too late.
#[test]
fn what_a_data_source_writes_after_the_stop_timeout_is_in_the_ledger() {
    for is_late in [false, true] {
        let mut shell = Shell::new();
        let producer = producer(&mut shell, "p");
        producer.register(&mut shell, notifying("ds", false, true));
        producer.register(&mut shell, notifying("quick", false, false));
        let mut consumer = MockConsumer::connect(&mut shell, 0);
        consumer.enable(&mut shell, config(&["ds", "quick"]), None);
        consumer.disable(&mut shell);
        if !is_late {
            stopped(&mut shell, &producer, 1);
        }
        shell.advance_ms(5000);
        assert_eq!(consumer.ended(&mut shell).as_deref(), Some(""));
        stopped(&mut shell, &producer, 1);
        let entries = ledger::ledger(&mut shell, &consumer).into_iter();
        let told: Vec<_> = entries
            .map(|e| (e.reason.unwrap(), e.data_source_name.unwrap(), e.count, e.at_least))
            .collect();
        let late = protos::LossLedgerReason::REASON_STOPPED_LATE;
        let expected = (late, "ds".to_owned(), Some(0), Some(true));
        assert_eq!(told, if is_late { vec![expected] } else { vec![] });
    }
}

#[test]
fn on_data_source_added_while_pending_disable_acks() {
    let mut shell = Shell::new();
    let mut producer = producer(&mut shell, "p");
    producer.register(&mut shell, notifying("ds", false, true));
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, config(&["ds", "late"]), None);
    consumer.disable(&mut shell);
    producer.register_name(&mut shell, "late");
    assert_eq!(
        words(&mut shell, &mut producer),
        ["setup_tracing Some(4) KB", "setup 1", "start 1", "stop 1"]
    );
    consumer.disconnect(&mut shell);
    assert!(words(&mut shell, &mut producer).is_empty());
    assert!(shell.service.is_idle());
}

#[test]
fn unregistering_stops_all_instances_of_the_name() {
    let mut shell = Shell::new();
    let mut producer = producer(&mut shell, "p");
    producer.register_name(&mut shell, "ds");
    producer.register_name(&mut shell, "ds");
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, config(&["ds"]), None);
    producer.commands(&mut shell);
    let request = protos::UnregisterDataSourceRequest {
        data_source_name: Some("ds".into()),
        ..Default::default()
    };
    producer.call(&mut shell, Request::UnregisterDataSource(request));
    assert_eq!(words(&mut shell, &mut producer), ["stop 1", "stop 2"]);
    consumer.disable(&mut shell);
    assert!(words(&mut shell, &mut producer).is_empty());
    assert_eq!(consumer.ended(&mut shell).as_deref(), Some(""));
}

#[test]
fn same_inputs_same_outputs() {
    let run = || {
        let mut shell = Shell::new();
        let (mut producer, consumer) = recording(&mut shell, config(&["ds"]));
        producer.write(&mut shell, WRITER, BUFFER, &[payload("a")]);
        shell.advance_ms(20_000);
        consumer.disable(&mut shell);
        let packets = consumer.read(&mut shell);
        (format!("{packets:?}"), format!("{:?}", shell.log))
    };
    assert_eq!(run(), run());
}

/// All flushes that wait for a producer end at once when it disconnects.
#[test]
fn memory_for_many_steps_is_not_kept() {
    let mut shell = Shell::new();
    let producer = producer(&mut shell, "p");
    producer.register_name(&mut shell, "ds");
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, config(&["ds"]), None);
    for _ in 0..service::limits::FLUSHES_PENDING_MAX {
        consumer.flush(&mut shell, 1000);
    }
    shell.input(service::Input::ProducerDisconnected { client: producer.client });
    assert_eq!(shell.service.footprint().flushes, 0);
    assert!(shell.service.steps_capacity() <= 2 * service::limits::STEPS_KEPT_MAX);
}

#[test]
fn the_log_says_why_a_request_is_not_done() {
    let mut shell = Shell::new();
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    let deferred = TraceConfig { deferred_start: Some(true), ..config(&["ds"]) };
    consumer.enable(&mut shell, deferred, None);
    shell.log.clear();
    consumer.flush(&mut shell, 1000);
    consumer.start(&mut shell);
    consumer.start(&mut shell);
    let change = protos::ChangeTraceConfigRequest::default();
    consumer.call(&mut shell, protos::consumer_port::Request::ChangeTraceConfig(change));
    let producer = producer(&mut shell, "silent");
    producer.register_name(&mut shell, "ds");
    for _ in 0..service::limits::FLUSHES_PENDING_MAX + 2 {
        consumer.flush(&mut shell, 1000);
    }
    let lines: Vec<_> = shell.log.iter().map(|line| &*line.1).collect();
    let expected = [
        "flush of session 1 refused: it is not started",
        "StartTracing: session 1 is STARTED, not CONFIGURED: a session is started once, and by a call only if its \
         config has deferred_start",
        "ChangeTraceConfig: \"ds\" is not in it",
        "ChangeTraceConfig: only producer filters of data sources are changed",
        "session 1: too many flushes pending: wait until one is over",
    ];
    assert_eq!(lines, expected);
}
