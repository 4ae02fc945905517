//! Detached sessions, and changes of a running session.

use super::lifecycle::{notifying, stopped};
use super::*;
use protos::consumer_port::Request;
use protos::{AttachResponse, EnableTracingRequest};
use protozero::Message as _;

pub(super) fn detach(shell: &mut Shell, consumer: &MockConsumer, key: &str) -> bool {
    let request = protos::DetachRequest { key: Some(key.into()), ..Default::default() };
    consumer.call(shell, Request::Detach(request))[0].response.is_some()
}

/// The config of the session, if there is one.
pub(super) fn attach(shell: &mut Shell, consumer: &MockConsumer, key: &str) -> Option<TraceConfig> {
    let request = protos::AttachRequest { key: Some(key.into()), ..Default::default() };
    let replies = consumer.call(shell, Request::Attach(request));
    AttachResponse::decode(replies[0].response.as_ref()?)
        .unwrap()
        .trace_config
        .map(|config| (*config).clone())
}

/// Asks for the end of the session that was attached to.
fn ask_for_end(shell: &mut Shell, consumer: &mut MockConsumer) {
    let request =
        EnableTracingRequest { attach_notification_only: Some(true), ..Default::default() };
    consumer.enable_with(shell, request, None);
}

#[test]
fn detach_attach() {
    let mut shell = Shell::new();
    let asked = TraceConfig { duration_ms: Some(60_000), ..config(&["ds"]) };
    let (mut producer, mut consumer) = recording(&mut shell, asked.clone());
    producer.write(&mut shell, WRITER, BUFFER, &[payload("before")]);
    assert!(detach(&mut shell, &consumer, "mykey"));
    producer.write(&mut shell, WRITER, BUFFER, &[payload("meanwhile")]);
    assert_eq!(consumer.read(&mut shell), [], "it is not the consumer's any more");
    assert_eq!(consumer.ended(&mut shell), None);
    consumer.disconnect(&mut shell);

    let mut other = MockConsumer::connect(&mut shell, 0);
    assert_eq!(attach(&mut shell, &other, "otherkey"), None);
    assert_eq!(attach(&mut shell, &other, "mykey"), Some(asked));
    assert_eq!(attach(&mut shell, &other, "mykey"), None, "it has a session");
    ask_for_end(&mut shell, &mut other);
    producer.write(&mut shell, WRITER, BUFFER, &[payload("after")]);
    let packets = other.read(&mut shell);
    assert_eq!(payloads(&packets), ["before", "meanwhile", "after"]);
    other.disable(&mut shell);
    assert_eq!(other.ended(&mut shell).as_deref(), Some(""));
}

#[test]
fn detach_duration_timeout_free_buffers() {
    let mut shell = Shell::new();
    let asked =
        TraceConfig { duration_ms: Some(1), write_into_file: Some(true), ..config(&["ds"]) };
    let mut producer = producer(&mut shell, "p");
    producer.register_name(&mut shell, "ds");
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    let file = shell.open_file();
    consumer.enable(&mut shell, asked, Some(file));
    producer.commands(&mut shell);
    assert!(detach(&mut shell, &consumer, "mykey"));
    producer.write(&mut shell, WRITER, BUFFER, &[payload("x")]);
    shell.advance_ms(1);
    producer.ack_flush(&mut shell, 1);
    assert!(shell.files[&file].closed);
    assert_eq!(payloads(&testing::mock::decode_file(&shell.files[&file].bytes)), ["x"]);
    assert!(shell.service.is_idle());
    assert_eq!(attach(&mut shell, &consumer, "mykey"), None);
}

/// A detached session that ends by itself waits for its data sources, as any other, and writes what they write last.
#[test]
fn a_detached_session_waits_for_its_data_sources() {
    for is_late in [false, true] {
        let mut shell = Shell::new();
        let asked =
            TraceConfig { duration_ms: Some(1), write_into_file: Some(true), ..config(&["ds"]) };
        let mut producer = producer(&mut shell, "p");
        producer.register(&mut shell, notifying("ds", false, true));
        let mut consumer = MockConsumer::connect(&mut shell, 0);
        let file = shell.open_file();
        consumer.enable(&mut shell, asked, Some(file));
        producer.commands(&mut shell);
        assert!(detach(&mut shell, &consumer, "mykey"));
        shell.advance_ms(1);
        producer.ack_flush(&mut shell, 1);
        assert!(!shell.files[&file].closed);
        producer.write(&mut shell, WRITER, BUFFER, &[payload("last")]);
        if !is_late {
            stopped(&mut shell, &producer, 1);
        }
        assert_eq!(shell.files[&file].closed, !is_late);
        shell.advance_ms(5000);
        assert!(shell.files[&file].closed && shell.service.is_idle());
        let packets = testing::mock::decode_file(&shell.files[&file].bytes);
        assert_eq!(payloads(&packets), ["last"]);
        let told = packets.iter().rev().find_map(|packet| match &packet.data {
            Some(TracePacketData::TraceStats(stats)) => Some(&stats.loss_ledger),
            _ => None,
        });
        let entries = told.unwrap().iter().flat_map(|ledger| &ledger.entries);
        let reasons: Vec<_> = entries.map(|entry| entry.reason).collect();
        let late = Some(protos::LossLedgerReason::REASON_STOPPED_LATE);
        assert_eq!(reasons, if is_late { vec![late] } else { vec![] });
    }
}

/// A producer that has not stopped yet, and a consumer that attached to a session whose duration is over.
fn attached_at_the_end(shell: &mut Shell) -> (MockProducer, MockConsumer) {
    let mut producer = producer(shell, "p");
    producer.register(shell, notifying("ds", false, true));
    let mut consumer = MockConsumer::connect(shell, 0);
    let asked = TraceConfig { duration_ms: Some(1), ..config(&["ds"]) };
    consumer.enable(shell, asked, None);
    producer.commands(shell);
    assert!(detach(shell, &consumer, "mykey"));
    shell.advance_ms(1);
    producer.ack_flush(shell, 1);
    assert!(attach(shell, &consumer, "mykey").is_some());
    (producer, consumer)
}

/// A consumer that attaches while a session ends is told of the end, and reads it.
#[test]
fn a_consumer_attaches_to_a_session_that_ends() {
    let mut shell = Shell::new();
    let (mut producer, mut consumer) = attached_at_the_end(&mut shell);
    ask_for_end(&mut shell, &mut consumer);
    producer.write(&mut shell, WRITER, BUFFER, &[payload("last")]);
    assert_eq!(consumer.ended(&mut shell), None);
    stopped(&mut shell, &producer, 1);
    assert_eq!(consumer.ended(&mut shell).as_deref(), Some(""));
    assert_eq!(payloads(&consumer.read(&mut shell)), ["last"]);
}

/// To learn whether a session is there, a consumer attaches and detaches. That keeps none that ends.
#[test]
fn a_session_that_ends_is_freed_although_a_consumer_had_it_meanwhile() {
    for had_at_end in [false, true] {
        let mut shell = Shell::new();
        let (producer, consumer) = attached_at_the_end(&mut shell);
        if had_at_end {
            stopped(&mut shell, &producer, 1);
        }
        assert!(detach(&mut shell, &consumer, "mykey"));
        if !had_at_end {
            stopped(&mut shell, &producer, 1);
        }
        assert_eq!(attach(&mut shell, &consumer, "mykey"), None, "{had_at_end}");
        assert!(shell.service.is_idle(), "{had_at_end}");
    }
}

#[test]
fn keys_are_of_one_user_and_never_empty() {
    let mut shell = Shell::new();
    let nobody = MockConsumer::connect(&mut shell, 5);
    assert!(!detach(&mut shell, &nobody, "key"), "there is no session");
    let mut enabled = |uid| {
        let mut consumer = MockConsumer::connect(&mut shell, uid);
        consumer.enable(&mut shell, config(&[]), None);
        consumer
    };
    let (one, two, other) = (enabled(5), enabled(5), enabled(6));
    assert!(!detach(&mut shell, &one, ""));
    assert_eq!(attach(&mut shell, &nobody, ""), None);
    assert!(detach(&mut shell, &one, "key"));
    assert!(!detach(&mut shell, &two, "key"), "taken");
    assert!(detach(&mut shell, &other, "key"), "of another user");
    assert!(attach(&mut shell, &nobody, "key").is_some());
    assert!(detach(&mut shell, &two, "key"), "free again");
}

/// The calls of the tool's `--is_detached`.
#[test]
fn a_probe_attaches_and_detaches() {
    let mut shell = Shell::new();
    let (_producer, consumer) = recording(&mut shell, config(&["ds"]));
    assert!(detach(&mut shell, &consumer, "key"));
    for _ in 0..3 {
        let mut probe = MockConsumer::connect(&mut shell, 0);
        assert!(attach(&mut shell, &probe, "key").is_some());
        ask_for_end(&mut shell, &mut probe);
        assert!(detach(&mut shell, &probe, "key"));
        probe.disconnect(&mut shell);
    }
    assert!(!shell.service.is_idle());
}

/// A session that the service writes into a file of its own making.
fn into_path() -> TraceConfig {
    let output_path = Some("trace".into());
    TraceConfig { write_into_file: Some(true), output_path, ..config(&["ds"]) }
}

/// The file is created by a thread. A consumer that attaches finds a session that records, and learns of its end when
/// the file is complete.
#[test]
fn a_session_is_left_once_its_file_is_there() {
    let mut shell = Shell::new();
    shell.files_wait = true;
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, into_path(), None);
    let request = |key: &str| {
        Request::Detach(protos::DetachRequest { key: Some(key.into()), ..Default::default() })
    };
    let early = shell.call_consumer(consumer.client, request("early"), None);
    let call = shell.call_consumer(consumer.client, request("key"), None);
    let refused = shell.take_replies_to(consumer.client, early);
    assert!(refused[0].response.is_none(), "only one call can be answered");
    assert!(shell.take_replies_to(consumer.client, call).is_empty());
    let mut other = MockConsumer::connect(&mut shell, 0);
    assert_eq!(attach(&mut shell, &other, "key"), None);

    shell.create_files();
    assert!(shell.take_replies_to(consumer.client, call)[0].response.is_some());
    consumer.disconnect(&mut shell);
    assert!(attach(&mut shell, &other, "key").is_some());
    ask_for_end(&mut shell, &mut other);
    let file = *shell.files.keys().next().unwrap();
    shell.stuck.insert(file);
    other.disable(&mut shell);
    assert_eq!(other.ended(&mut shell), None, "the file is not complete");
    assert_eq!(shell.files[&file].waiting.len(), 1);
    shell.stuck.clear();
    shell.input(service::Input::FileWritten { file, result: Ok(()) });
    assert_eq!(other.ended(&mut shell).as_deref(), Some(""));
}

/// A consumer that asks for the end before the session is set up is told of it after that.
#[test]
fn the_end_of_a_session_without_its_file_waits_for_it() {
    let mut shell = Shell::new();
    shell.files_wait = true;
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, into_path(), None);
    ask_for_end(&mut shell, &mut consumer);
    consumer.disable(&mut shell);
    assert_eq!(consumer.ended(&mut shell), None);
    shell.create_files();
    assert_eq!(consumer.ended(&mut shell).as_deref(), Some(""));
    assert!(shell.files.values().all(|file| file.closed && !file.bytes.is_empty()));
}

#[test]
fn a_session_that_cannot_be_set_up_is_not_left() {
    let mut shell = Shell::new();
    shell.files_wait = true;
    shell.create_error = Some("no space".into());
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, into_path(), None);
    let request = protos::DetachRequest { key: Some("key".into()), ..Default::default() };
    let call = shell.call_consumer(consumer.client, Request::Detach(request), None);
    shell.create_files();
    assert!(shell.take_replies_to(consumer.client, call)[0].response.is_none());
    assert!(consumer.ended(&mut shell).unwrap().contains("no space"));
    assert!(shell.service.is_idle());
}

/// A session that ended while it was detached: a consumer that attaches is told.
#[test]
fn a_consumer_that_attaches_later_is_told_of_the_end() {
    let mut shell = Shell::new();
    let limited = TraceConfig {
        write_into_file: Some(true),
        max_file_size_bytes: Some(1),
        ..config(&["ds"])
    };
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    let file = shell.open_file();
    consumer.enable(&mut shell, limited, Some(file));
    assert!(detach(&mut shell, &consumer, "key"));
    shell.advance_ms(5000);
    assert!(shell.files[&file].closed);
    for _ in 0..2 {
        let mut later = MockConsumer::connect(&mut shell, 0);
        assert!(attach(&mut shell, &later, "key").is_some());
        assert_eq!(later.ended(&mut shell), None);
        ask_for_end(&mut shell, &mut later);
        assert_eq!(later.ended(&mut shell).as_deref(), Some(""));
        assert!(detach(&mut shell, &later, "key"));
    }
}

/// A session with a full file has recorded all that it may; its key and its buffers are taken until its time is over.
#[test]
fn a_detached_session_with_a_full_file_is_gone_after_its_duration() {
    for detaches_after_the_end in [false, true] {
        let mut shell = Shell::new();
        let limited = TraceConfig {
            write_into_file: Some(true),
            max_file_size_bytes: Some(1),
            duration_ms: Some(60_000),
            ..config(&["ds"])
        };
        let mut consumer = MockConsumer::connect(&mut shell, 0);
        let file = shell.open_file();
        consumer.enable(&mut shell, limited, Some(file));
        assert!(detaches_after_the_end || detach(&mut shell, &consumer, "key"));
        shell.advance_ms(5000);
        assert!(shell.files[&file].closed);
        assert!(!detaches_after_the_end || detach(&mut shell, &consumer, "key"));
        shell.advance_ms(54_999);
        assert!(!shell.service.is_idle());
        shell.advance_ms(1);
        assert!(shell.service.is_idle());
        assert_eq!(attach(&mut shell, &consumer, "key"), None);
    }
}

/// A trigger that comes when a detached session has ended by itself ends its time as well.
#[test]
fn a_detached_session_that_has_ended_is_gone_after_its_trigger() {
    let mut shell = Shell::new();
    let stopping = crate::triggers::stopping(vec![crate::triggers::trigger("stop", 1000)]);
    let producer = producer(&mut shell, "p");
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, stopping, None);
    consumer.disable(&mut shell);
    assert_eq!(consumer.ended(&mut shell).as_deref(), Some(""));
    assert!(detach(&mut shell, &consumer, "key"));
    crate::triggers::fire(&mut shell, &producer, &["stop"]);
    shell.advance_ms(999);
    assert!(!shell.service.is_idle());
    shell.advance_ms(1);
    assert!(shell.service.is_idle());
}

/// The error that it ended with is told to each consumer that attaches.
#[test]
fn a_probe_does_not_swallow_the_error() {
    let mut shell = Shell::new();
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    let file = shell.open_file();
    let asked = TraceConfig { write_into_file: Some(true), ..config(&["ds"]) };
    consumer.enable(&mut shell, asked, Some(file));
    assert!(detach(&mut shell, &consumer, "key"));
    shell.write_error = Some("No space left on device".into());
    shell.advance_ms(5000);
    for _ in 0..3 {
        let mut probe = MockConsumer::connect(&mut shell, 0);
        assert!(attach(&mut shell, &probe, "key").is_some());
        ask_for_end(&mut shell, &mut probe);
        assert!(probe.ended(&mut shell).unwrap().contains("No space left"));
        assert!(detach(&mut shell, &probe, "key"));
    }
}

fn change(shell: &mut Shell, consumer: &MockConsumer, config: &TraceConfig) -> bool {
    let request = protos::ChangeTraceConfigRequest {
        trace_config: Some(config.clone().into()),
        ..Default::default()
    };
    consumer.call(shell, Request::ChangeTraceConfig(request))[0].response.is_some()
}

#[test]
fn producer_name_filter_change() {
    let mut shell = Shell::new();
    let [mut one, mut two, mut three, mut other] =
        ["mock_producer_1", "mock_producer_2", "mock_producer_3", "unused"]
            .map(|name| producer(&mut shell, name));
    for p in [&one, &two, &three, &other] {
        p.register_name(&mut shell, "ds");
    }
    let mut config = config(&["ds"]);
    config.data_sources[0].producer_name_filter = vec!["mock_producer_1".into()];
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, config.clone(), None);
    let got =
        |id| ["setup_tracing Some(4) KB".into(), format!("setup {id}"), format!("start {id}")];
    assert_eq!(words(&mut shell, &mut one), got(1));
    config.data_sources[0].producer_name_regex_filter = vec![".*_producer_[2]".into()];
    assert!(change(&mut shell, &consumer, &config));
    assert_eq!(words(&mut shell, &mut two), got(2));
    // A new data source is ignored, and so are all other changes.
    config.data_sources[0].producer_name_filter = vec!["mock_producer_3".into()];
    config.data_sources.extend(named(&["new"]));
    config.duration_ms = Some(1);
    three.register_name(&mut shell, "new");
    assert!(change(&mut shell, &consumer, &config));
    assert_eq!(words(&mut shell, &mut three), got(3));
    for p in [&mut one, &mut two, &mut other] {
        assert!(words(&mut shell, p).is_empty());
    }
    shell.advance_ms(1000);
    assert_eq!(consumer.ended(&mut shell), None);
    // An invalid expression changes nothing.
    config.data_sources[0].producer_name_regex_filter = vec!["unused".into(), "(".into()];
    assert!(!change(&mut shell, &consumer, &config));
    assert!(words(&mut shell, &mut other).is_empty());
    config.data_sources[0].producer_name_regex_filter.pop();
    consumer.disable(&mut shell);
    assert!(!change(&mut shell, &consumer, &config), "the session is over");
}

#[test]
fn producer_name_filter_change_two_data_sources() {
    let mut shell = Shell::new();
    let mut producer = producer(&mut shell, "mock_producer_1");
    producer.register_name(&mut shell, "ds");
    producer.register_name(&mut shell, "ds");
    let mut config = config(&["ds"]);
    config.data_sources[0].producer_name_filter = vec!["nobody".into()];
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, config.clone(), None);
    assert!(words(&mut shell, &mut producer).is_empty());
    config.data_sources[0].producer_name_filter = vec!["mock_producer_1".into()];
    assert!(change(&mut shell, &consumer, &config));
    let got = words(&mut shell, &mut producer);
    assert_eq!(got, ["setup_tracing Some(4) KB", "setup 1", "start 1", "setup 2", "start 2"]);
    assert!(change(&mut shell, &consumer, &config));
    assert!(words(&mut shell, &mut producer).is_empty());
}

/// Upstream sets up only the first one when a change makes two data sources match a producer.
#[test]
fn each_data_source_is_looked_at_by_itself() {
    let mut shell = Shell::new();
    let mut producer = producer(&mut shell, "p");
    producer.register_name(&mut shell, "a");
    producer.register_name(&mut shell, "b");
    let mut config = config(&["a", "b"]);
    for source in &mut config.data_sources {
        source.producer_name_filter = vec!["nobody".into()];
    }
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, config.clone(), None);
    for source in &mut config.data_sources {
        source.producer_name_filter = vec!["p".into()];
    }
    assert!(change(&mut shell, &consumer, &config));
    let got = words(&mut shell, &mut producer);
    assert_eq!(got, ["setup_tracing Some(4) KB", "setup 1", "start 1", "setup 2", "start 2"]);
}
