//! Connections, data sources, and the match between data sources and configs.

mod bounds;
mod machines;
mod queries;

use super::*;
use protos::consumer_port::Request as ConsumerRequest;
use protos::producer_port::Request;
use protos::{InitializeConnectionRequest, QueryServiceStateResponse, TraceConfigProducerConfig};
use protozero::Message as _;

use abi::shm::Region;
use service::limits;

/// The state of the service, put together from its replies as a client does.
fn query(shell: &mut Shell, uid: u32) -> protos::TracingServiceState {
    let consumer = MockConsumer::connect(shell, uid);
    let replies = consumer.call(shell, ConsumerRequest::QueryServiceState(Default::default()));
    let mut state = Vec::new();
    for reply in &replies {
        let bytes = reply.response.as_ref().unwrap();
        let response = QueryServiceStateResponse::decode(bytes).unwrap();
        assert!(bytes.len() <= abi::limits::IPC_FRAME_BYTES_MAX);
        state.extend(response.service_state.unwrap().encode_to_vec());
    }
    assert!(!replies.last().unwrap().has_more);
    consumer.disconnect(shell);
    protos::TracingServiceState::decode(&state).unwrap()
}

#[test]
fn register_and_unregister() {
    let mut shell = Shell::new();
    let one = MockProducer::connect(&mut shell, "one", peer(123));
    let two = MockProducer::connect(&mut shell, "two", peer(456));
    one.register_name(&mut shell, "foo");
    two.register_name(&mut shell, "bar");
    two.register_name(&mut shell, "bar");
    let unregister = protos::UnregisterDataSourceRequest {
        data_source_name: Some("foo".into()),
        ..Default::default()
    };
    let state = query(&mut shell, 0);
    let producers: Vec<_> = state
        .producers
        .iter()
        .map(|p| (p.id.unwrap(), p.name.as_deref().unwrap(), p.uid.unwrap()))
        .collect();
    assert_eq!(producers, [(1, "one", 123), (2, "two", 456)]);
    let sources = |state: &protos::TracingServiceState| {
        let of = |s: &protos::TracingServiceStateDataSource| {
            (s.ds_descriptor.as_ref().unwrap().name.clone().unwrap(), s.producer_id.unwrap())
        };
        state.data_sources.iter().map(of).collect::<Vec<_>>()
    };
    assert_eq!(sources(&state), [("bar".into(), 2), ("bar".into(), 2), ("foo".into(), 1)]);
    one.call(&mut shell, Request::UnregisterDataSource(unregister.clone()));
    one.call(&mut shell, Request::UnregisterDataSource(unregister));
    one.disconnect(&mut shell);
    let state = query(&mut shell, 0);
    assert_eq!(state.producers.len(), 1);
    assert_eq!(sources(&state), [("bar".into(), 2), ("bar".into(), 2)]);
    two.disconnect(&mut shell);
    let state = query(&mut shell, 0);
    assert!(state.producers.is_empty() && state.data_sources.is_empty());
}

#[test]
fn nothing_before_initialize_and_that_only_once() {
    let mut shell = Shell::new();
    let client = shell.connect_producer(peer(1), false);
    let sync = || Request::Sync(Default::default());
    let init = || Request::InitializeConnection(InitializeConnectionRequest::default());
    let answered = |shell: &mut Shell, request| {
        let call = shell.call_producer(client, request, None);
        shell.take_replies_to(client, call)[0].response.is_some()
    };
    assert!(!answered(&mut shell, sync()));
    assert!(answered(&mut shell, init()));
    assert!(!answered(&mut shell, init()));
    assert!(answered(&mut shell, sync()));
}

#[test]
fn a_newer_command_stream_takes_over() {
    let mut shell = Shell::new();
    let (producer, _consumer) = recording(&mut shell, config(&["ds"]));
    let call =
        shell.call_producer(producer.client, Request::GetAsyncCommand(Default::default()), None);
    let old: Vec<_> = shell.take_replies(producer.client);
    assert!(old.iter().any(|r| r.response.is_none() && r.call != call), "the old one ends");
}

#[test]
fn commands_before_the_stream_are_kept() {
    let mut shell = Shell::new();
    let client = shell.connect_producer(peer(1), false);
    shell.call_producer(client, Request::InitializeConnection(Default::default()), None);
    let register = protos::RegisterDataSourceRequest {
        data_source_descriptor: Some(descriptor("ds").into()),
        ..Default::default()
    };
    shell.call_producer(client, Request::RegisterDataSource(register), None);
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, config(&["ds"]), None);
    shell.take_replies(client);
    let call = shell.call_producer(client, Request::GetAsyncCommand(Default::default()), None);
    let replies = shell.take_replies_to(client, call);
    assert_eq!(replies.len(), 3);
    assert!(replies[0].region.is_some(), "the first hands over the memory");
}

#[test]
fn a_producer_that_never_listens_is_cut_off() {
    let mut shell = Shell::new();
    let client = shell.connect_producer(peer(1), false);
    shell.call_producer(client, Request::InitializeConnection(Default::default()), None);
    let register = protos::RegisterDataSourceRequest {
        data_source_descriptor: Some(descriptor("ds").into()),
        ..Default::default()
    };
    shell.call_producer(client, Request::RegisterDataSource(register), None);
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    // Its memory, a set-up and a start of each, and a flush: as many as may wait.
    let sources = (service::limits::COMMANDS_UNSENT_MAX - 2) / 2;
    consumer.enable(&mut shell, config(&vec!["ds"; sources]), None);
    for _ in 0..service::limits::FLUSHES_PENDING_MAX {
        consumer.flush(&mut shell, 0);
    }
    assert_eq!(shell.disconnected, []);
    let mut other = MockConsumer::connect(&mut shell, 0);
    other.enable(&mut shell, config(&["ds"]), None);
    assert_eq!(shell.disconnected, [client]);
    assert!(query(&mut shell, 0).producers.is_empty());
}

#[test]
fn producer_shm_and_page_size_overridden_by_trace_config() {
    // (config page, hint page, result), (config size, hint size, result), KB.
    let rows = [
        ((0, 0, 4), (0, 0, 256)),
        ((16, 0, 16), (16, 0, 16)),
        ((0, 4, 4), (0, 16, 16)),
        ((4, 8, 4), (16, 32, 16)),
        ((8, 4, 8), (32, 16, 32)),
        ((3, 0, 4), (0, 0, 256)),
        ((2, 0, 4), (0, 0, 256)),
        ((4096, 0, 32), (4_096_000, 0, 32768)),
        ((0, 4096, 32), (0, 4_096_000, 32768)),
        ((0, 0, 4), (18, 0, 256)),
        ((2, 0, 4), (32, 0, 256)),
        ((16, 0, 4), (18, 0, 256)),
        ((8, 0, 4), (20, 0, 256)),
        ((28, 0, 4), (0, 0, 256)),
    ];
    for ((config_page, hint_page, page), (config_size, hint_size, size)) in rows {
        let mut shell = Shell::new();
        let request = InitializeConnectionRequest {
            producer_name: Some("p".into()),
            shared_memory_page_size_hint_bytes: Some(hint_page * 1024),
            shared_memory_size_hint_bytes: Some((u64::from(hint_size as u32) * 1024) as u32),
            ..Default::default()
        };
        let mut producer = MockProducer::connect_with(&mut shell, peer(1), request, None);
        producer.register_name(&mut shell, "ds");
        let mut consumer = MockConsumer::connect(&mut shell, 0);
        let producers = vec![TraceConfigProducerConfig {
            producer_name: Some("p".into()),
            shm_size_kb: Some(config_size),
            page_size_kb: Some(config_page),
            ..Default::default()
        }];
        consumer.enable(&mut shell, TraceConfig { producers, ..config(&["ds"]) }, None);
        producer.commands(&mut shell);
        let smb = producer.smb.unwrap();
        assert_eq!((smb.page_size().bytes() / 1024, smb.bytes() / 1024), (page, size));
    }
}

/// The commands to a producer that brings memory of that size with that page hint.
fn bring(shell: &mut Shell, bytes: usize, page: u32) -> (MockProducer, Vec<String>) {
    let request = InitializeConnectionRequest {
        producer_name: Some("bringer".into()),
        shared_memory_page_size_hint_bytes: Some(page),
        producer_provided_shmem: Some(true),
        ..Default::default()
    };
    let region = Some(Region::heap(bytes));
    let mut producer = MockProducer::connect_with(shell, peer(1), request, region);
    let words = words(shell, &mut producer);
    (producer, words)
}

#[test]
fn producer_provided_smb() {
    let mut shell = Shell::new();
    let (mut producer, got) = bring(&mut shell, 1 << 20, 4096);
    assert_eq!(got, ["setup_tracing None KB"], "before there is any session");
    producer.register_name(&mut shell, "ds");
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, config(&["ds"]), None);
    assert_eq!(words(&mut shell, &mut producer), ["setup 1", "start 1"]);
    producer.write(&mut shell, WRITER, BUFFER, &[payload("x")]);
    assert_eq!(payloads(&consumer.read(&mut shell)), ["x"]);
}

#[test]
fn producer_provided_smb_invalid_sizes() {
    let mut shell = Shell::new();
    for (bytes, page) in [(1 << 20, 20 * 1024), (1 << 20, 0), (12 * 1024, 8192), (1 << 26, 4096)] {
        assert!(bring(&mut shell, bytes, page).1.is_empty(), "{bytes} / {page}");
    }
}

/// The producers that are set up for a config with these filters.
fn matched(exact: &[&str], regex: &[&str]) -> Vec<&'static str> {
    let mut shell = Shell::new();
    let mut all: Vec<_> =
        ["one", "two", "three"].map(|n| (n, producer(&mut shell, n))).into_iter().collect();
    for (_, p) in &all {
        p.register_name(&mut shell, "ds");
    }
    let mut config = config(&["ds"]);
    config.data_sources[0].producer_name_filter = exact.iter().map(|s| (*s).into()).collect();
    config.data_sources[0].producer_name_regex_filter = regex.iter().map(|s| (*s).into()).collect();
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, config, None);
    let mut got = |p: &mut MockProducer| !p.commands(&mut shell).is_empty();
    all.iter_mut().filter_map(|(name, p)| got(p).then_some(*name)).collect()
}

#[test]
fn producer_name_filters() {
    assert_eq!(matched(&[], &[]), ["one", "two", "three"]);
    assert_eq!(matched(&["one"], &[]), ["one"]);
    assert_eq!(matched(&["one"], &["t.*"]), ["one", "two", "three"]);
    assert_eq!(matched(&[], &["t"]), Vec::<&str>::new());
    assert_eq!(matched(&[], &["on|three"]), ["three"], "alternatives match whole names");
    assert_eq!(matched(&[], &["[o]ne"]), ["one"]);
}

#[test]
fn the_config_that_a_producer_is_sent() {
    let mut shell = Shell::new();
    let mut producer = producer(&mut shell, "p");
    producer.register_name(&mut shell, "ds");
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    let mut asked = config(&["ds"]);
    asked.duration_ms = Some(100);
    let source = asked.data_sources[0].config.as_mut().unwrap();
    source.session_initiator = Some(protos::DataSourceConfigSessionInitiator(1));
    // A field that this build does not know.
    let mut bytes = source.encode_to_vec();
    bytes.extend_from_slice(&[0xc2, 0x84, 0x3d, 3, b'a', b'b', b'c']);
    *source = DataSourceConfig::decode(&bytes).unwrap();
    consumer.enable(&mut shell, asked, None);
    let commands = producer.commands(&mut shell);
    let Cmd::SetupDataSource(setup) = &commands[1] else { panic!("{commands:?}") };
    let Cmd::StartDataSource(start) = &commands[2] else { panic!("{commands:?}") };
    assert_eq!(setup.config, start.config);
    let got = setup.config.as_ref().unwrap();
    insta::assert_debug_snapshot!(
        (
            &got.name,
            got.target_buffer,
            got.trace_duration_ms,
            got.tracing_session_id,
            got.stop_timeout_ms,
            got.enable_extra_guardrails,
            got.session_initiator.map(|i| i.0),
        ),
        @r#"
    (
        Some(
            "ds",
        ),
        Some(
            1,
        ),
        Some(
            100,
        ),
        Some(
            1,
        ),
        Some(
            5000,
        ),
        Some(
            false,
        ),
        Some(
            0,
        ),
    )
    "#
    );
    let again = got.encode_to_vec();
    assert!(again.windows(7).any(|w| w == [0xc2, 0x84, 0x3d, 3, b'a', b'b', b'c']));
}

#[test]
fn update_data_source() {
    let mut shell = Shell::new();
    let producer = producer(&mut shell, "p");
    let with = |id, will_notify_on_stop| DataSourceDescriptor {
        id: Some(id),
        will_notify_on_stop: Some(will_notify_on_stop),
        ..descriptor("ds")
    };
    let update = |shell: &mut Shell, descriptor: DataSourceDescriptor| {
        let request = protos::UpdateDataSourceRequest {
            data_source_descriptor: Some(descriptor.into()),
            ..Default::default()
        };
        assert!(producer.call(shell, Request::UpdateDataSource(request))[0].response.is_some());
    };
    producer.register(&mut shell, with(1, false));
    producer.register(&mut shell, with(1, true));
    // A data source of another producer, with the same name and number.
    let other = MockProducer::connect(&mut shell, "other", peer(1));
    other.register(&mut shell, with(1, false));
    update(&mut shell, with(2, true));
    update(&mut shell, with(0, true));
    let seen = |shell: &mut Shell| {
        let sources = query(shell, 0).data_sources;
        let flag = |s: &protos::TracingServiceStateDataSource| {
            s.ds_descriptor.as_ref().unwrap().will_notify_on_stop.unwrap()
        };
        sources.iter().map(flag).collect::<Vec<_>>()
    };
    assert_eq!(seen(&mut shell), [false, false]);
    update(&mut shell, with(1, true));
    assert_eq!(seen(&mut shell), [true, false]);
    update(&mut shell, with(1, false));
    assert_eq!(seen(&mut shell), [false, false]);
}

#[test]
fn without_a_session() {
    let mut shell = Shell::new();
    let consumer = MockConsumer::connect(&mut shell, 0);
    for request in [
        ConsumerRequest::Detach(Default::default()),
        ConsumerRequest::Attach(Default::default()),
        ConsumerRequest::ChangeTraceConfig(Default::default()),
        ConsumerRequest::GetTraceStats(Default::default()),
        ConsumerRequest::Flush(Default::default()),
    ] {
        let replies = consumer.call(&mut shell, request);
        assert!(replies.len() == 1 && replies[0].response.is_none());
    }
}

/// A stopped instance is removed with its data source, too, and is not stopped twice.
#[test]
fn sources_of_stopped_sessions_leave() {
    let mut shell = Shell::new();
    let (mut producer, consumer) = recording(&mut shell, config(&["ds"]));
    consumer.disable(&mut shell);
    assert_eq!(words(&mut shell, &mut producer), ["stop 1"]);
    assert_eq!(query(&mut shell, 0).tracing_sessions[0].num_data_sources, Some(1));
    let request = protos::UnregisterDataSourceRequest {
        data_source_name: Some("ds".into()),
        ..Default::default()
    };
    producer.call(&mut shell, protos::producer_port::Request::UnregisterDataSource(request));
    assert!(words(&mut shell, &mut producer).is_empty());
    assert_eq!(query(&mut shell, 0).tracing_sessions[0].num_data_sources, Some(0));
}
