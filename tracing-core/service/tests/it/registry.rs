//! Connections, data sources, and the match between data sources and configs.

use super::*;
use protos::consumer_port::Request as ConsumerRequest;
use protos::producer_port::Request;
use protos::{InitializeConnectionRequest, QueryServiceStateResponse, TraceConfigProducerConfig};
use protozero::Message as _;

use abi::shm::Region;
use service::limits;
use testing::shell::Reply;

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

/// Which of the machines 0 (this one), 2 and 3 a data source with that filter is set up on.
fn machines(filter: &[&str], all: bool) -> Vec<u32> {
    let mut shell = Shell::new();
    let machine =
        |id, name: &str| Peer { machine_id: id, machine_name: name.into(), ..Peer::default() };
    let mut peers: Vec<_> = [(0, ""), (2, "machine2"), (3, "machine3")]
        .map(|(id, name)| (id, MockProducer::connect(&mut shell, "p", machine(id, name))))
        .into_iter()
        .collect();
    for (_, p) in &peers {
        p.register_name(&mut shell, "ds");
    }
    let mut config = config(&["ds"]);
    config.trace_all_machines = Some(all);
    config.data_sources[0].machine_name_filter = filter.iter().map(|s| (*s).into()).collect();
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, config, None);
    let mut got = |p: &mut MockProducer| !p.commands(&mut shell).is_empty();
    peers.iter_mut().filter_map(|(id, p)| got(p).then_some(*id)).collect()
}

#[test]
fn machine_name_filter() {
    assert_eq!(machines(&["host"], false), [0]);
}

#[test]
fn machine_name_filter_with_two_machines() {
    assert_eq!(machines(&["host", "machine2"], false), [0, 2]);
}

#[test]
fn machine_name_filter_with_host_external_name() {
    assert_eq!(machines(&["testhost"], false), [0]);
}

#[test]
fn machine_filter_default() {
    assert_eq!(machines(&[], false), [0]);
}

#[test]
fn machine_filter_default_override() {
    assert_eq!(machines(&[], true), [0, 2, 3]);
}

/// A machine that has told no name is not this one.
#[test]
fn a_machine_without_a_name_is_another_one() {
    let mut shell = Shell::new();
    let mut far = MockProducer::connect(&mut shell, "p", Peer { machine_id: 2, ..peer(42) });
    far.register_name(&mut shell, "ds");
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    let mut config = config(&["ds"]);
    config.data_sources[0].machine_name_filter = vec!["testhost".into()];
    consumer.enable(&mut shell, config, None);
    assert!(words(&mut shell, &mut far).is_empty());
}

/// The machine ids of packets of the service, while a producer of `machine_id` is connected.
fn machines_of_the_service(machine_id: u32, in_process: bool) -> Vec<Option<u32>> {
    let mut shell = Shell::new();
    let peer = Peer { machine_id, ..peer(42) };
    let client = shell.connect_producer(peer, in_process);
    shell.call_producer(client, Request::InitializeConnection(Default::default()), None);
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, config(&[]), None);
    let packets = consumer.read(&mut shell);
    let marker =
        |p: &&TracePacket| !matches!(p.data, Some(TracePacketData::SynchronizationMarker(_)));
    packets.iter().filter(marker).map(|p| p.machine_id).collect()
}

#[test]
fn in_process_machine_id_stamps_service_packets() {
    let machines = machines_of_the_service(1234, true);
    assert!(machines.len() > 5 && machines.iter().all(|id| *id == Some(1234)), "{machines:?}");
}

#[test]
fn host_producer_keeps_service_packets_on_host() {
    for (machine, in_process) in [(0, true), (0, false), (1234, false)] {
        let machines = machines_of_the_service(machine, in_process);
        assert!(machines.iter().all(Option::is_none), "{machines:?}");
    }
}

/// On TCP, a peer has no process id before it sends one, or if it never does.
#[test]
fn a_producer_without_a_pid() {
    let mut shell = Shell::new();
    let _one = MockProducer::connect(&mut shell, "one", Peer { pid: None, ..peer(1) });
    assert_eq!(query(&mut shell, 0).producers[0].pid, Some(-1));
}

#[test]
fn query_service_state() {
    let mut shell = Shell::new();
    let names = |shell: &mut Shell| {
        let state = query(shell, 0);
        let of = |s: &protos::TracingServiceStateDataSource| {
            (s.ds_descriptor.as_ref().unwrap().name.clone().unwrap(), s.producer_id.unwrap())
        };
        let producers = state
            .producers
            .iter()
            .map(|p| (p.id.unwrap(), p.name.clone().unwrap(), p.uid.unwrap(), p.pid.unwrap()));
        (producers.collect::<Vec<_>>(), state.data_sources.iter().map(of).collect::<Vec<_>>())
    };
    let one = MockProducer::connect(&mut shell, "one", peer(1));
    for name in ["common_ds", "p1_ds"] {
        one.register_name(&mut shell, name);
    }
    let two = MockProducer::connect(&mut shell, "two", peer(2));
    for name in ["common_ds", "p2_ds", "p2_ds"] {
        two.register_name(&mut shell, name);
    }
    let (producers, sources) = names(&mut shell);
    let both = [(1, "one".into(), 1, 1025), (2, "two".into(), 2, 1025)];
    assert_eq!(producers, both);
    let source = |name: &str, id| (name.to_owned(), id);
    assert_eq!(
        sources,
        [
            source("common_ds", 1),
            source("common_ds", 2),
            source("p1_ds", 1),
            source("p2_ds", 2),
            source("p2_ds", 2)
        ]
    );
    one.disconnect(&mut shell);
    let (producers, sources) = names(&mut shell);
    assert_eq!(producers, both[1..]);
    assert_eq!(sources.len(), 3);
    two.disconnect(&mut shell);
    assert_eq!(names(&mut shell), (vec![], vec![]));
}

/// A producer with many data sources of long names; returns how many.
fn with_long_names(shell: &mut Shell) -> usize {
    let producer = MockProducer::connect(shell, "long", peer(1));
    let count = 1500;
    for i in 0..count {
        producer.register_name(shell, &format!("{i:05}{}", "x".repeat(4000)));
    }
    count
}

#[test]
fn an_answer_waits_for_its_consumer() {
    let mut shell = Shell::new();
    let count = with_long_names(&mut shell);
    let consumer = MockConsumer::connect(&mut shell, 0);
    shell.consumers_are_slow = true;
    let request = || ConsumerRequest::QueryServiceState(Default::default());
    let first = shell.call_consumer(consumer.client, request(), None);
    let second = shell.call_consumer(consumer.client, request(), None);
    let mut names = Vec::new();
    let mut windows = 0;
    loop {
        let replies = shell.take_replies_to(consumer.client, first);
        let bytes: usize = replies.iter().map(|r| r.response.as_ref().unwrap().len()).sum();
        assert!(bytes <= limits::READ_WINDOW_BYTES + limits::IPC_FRAME_BYTES_MAX, "{bytes}");
        for reply in &replies {
            let response = QueryServiceStateResponse::decode(reply.response.as_ref().unwrap());
            let sources = response.unwrap().service_state.unwrap().data_sources;
            names.extend(
                sources.into_iter().map(|s| s.ds_descriptor.unwrap().name.clone().unwrap()),
            );
        }
        windows += 1;
        if !replies.last().unwrap().has_more {
            break;
        }
        assert!(shell.take_replies_to(consumer.client, second).is_empty(), "one after the other");
        shell.drain_consumers();
    }
    assert!(windows > 5, "{windows}");
    assert_eq!(names.len(), count);
    assert!(names.is_sorted_by(|a, b| a < b));
    shell.drain_consumers();
    assert!(!shell.take_replies_to(consumer.client, second).is_empty());
}

#[test]
fn unread_answers_are_bounded() {
    let mut shell = Shell::new();
    with_long_names(&mut shell);
    let consumer = MockConsumer::connect(&mut shell, 0);
    shell.consumers_are_slow = true;
    let asked = 2 * limits::QUERIES_PER_CONSUMER_MAX;
    for _ in 0..asked {
        let request = ConsumerRequest::QueryServiceState(Default::default());
        shell.call_consumer(consumer.client, request, None);
    }
    // The transport must see that nobody reads: each of the last ones is worth a window.
    let answered = |replies: &[Reply]| replies.iter().filter(|r| !r.has_more).count();
    let mut replies = shell.take_replies(consumer.client);
    let bytes: usize = replies.iter().filter_map(|r| r.response.as_ref()).map(|r| r.len()).sum();
    let windows = bytes / limits::READ_WINDOW_BYTES;
    assert!(windows >= asked - limits::QUERIES_PER_CONSUMER_MAX, "{windows} windows");
    while answered(&replies) < asked {
        shell.drain_consumers();
        let more = shell.take_replies(consumer.client);
        assert!(!more.is_empty());
        replies.extend(more);
    }
}

#[test]
fn query_service_state_reports_machine() {
    let mut shell = Shell::new();
    producer(&mut shell, "local");
    let remote = Peer { machine_id: 1234, machine_name: "MACHINE-NAME".into(), ..Peer::default() };
    MockProducer::connect(&mut shell, "remote", remote);
    let state = query(&mut shell, 0);
    let machine = |p: &protos::TracingServiceStateProducer| (p.machine_id, p.machine_name.clone());
    let machines: Vec<_> = state.producers.iter().map(machine).collect();
    assert_eq!(machines, [(None, None), (Some(1234), Some("MACHINE-NAME".into()))]);
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
fn registrations_are_bounded() {
    let mut shell = Shell::new();
    let producer = producer(&mut shell, "p");
    for _ in 0..service::limits::DATA_SOURCES_PER_PRODUCER_MAX + 10 {
        producer.register_name(&mut shell, "ds");
    }
    assert_eq!(
        query(&mut shell, 0).data_sources.len(),
        service::limits::DATA_SOURCES_PER_PRODUCER_MAX
    );
    assert!(shell.log.len() <= service::limits::LOG_LINES_PER_PEER_MAX as usize);
}

/// One producer and one config make hundreds of thousands of matches; those above the limit cost nothing.
#[test]
fn matches_beyond_the_bound_cost_nothing() {
    let mut shell = Shell::new();
    // Root may use up a session.
    let mut producer = MockProducer::connect(&mut shell, "p", peer(0));
    for _ in 0..service::limits::DATA_SOURCES_PER_PRODUCER_MAX {
        producer.register_name(&mut shell, "ds");
    }
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, config(&["ds"; 100]), None);
    assert_eq!(shell.service.footprint().instances, service::limits::INSTANCES_PER_SESSION_MAX);
    assert!(shell.log.len() < 10, "{} lines", shell.log.len());
    consumer.free(&mut shell);
    producer.commands(&mut shell);
    // Large configs are bounded by their bytes: each is sent with the set-up and with the start.
    let mut large = config(&["ds"]);
    large.data_sources[0].config.as_mut().unwrap().legacy_config = Some("x".repeat(100_000));
    consumer.enable(&mut shell, large, None);
    let most = service::limits::INSTANCE_CONFIG_BYTES_PER_SESSION_MAX / 100_000;
    let instances = shell.service.footprint().instances;
    assert!((most - 2..=most).contains(&instances), "{instances}");
    assert!(shell.log.len() < 40, "{} lines", shell.log.len());
    producer.disconnect(&mut shell);
    assert_eq!(shell.service.footprint().instances, 0);
}

/// Registrations of one name do not use up the instances of a session: those of root's probes are set up.
#[test]
fn producers_of_one_user_do_not_crowd_out_the_probes() {
    let mut shell = Shell::new();
    let name = "linux.sys_stats";
    for crowd in ["a", "b", "c", "d", "e"] {
        let producer = MockProducer::connect(&mut shell, crowd, peer(1000));
        for _ in 0..service::limits::DATA_SOURCES_PER_PRODUCER_MAX {
            producer.register_name(&mut shell, name);
        }
    }
    let other = MockProducer::connect(&mut shell, "other", peer(1001));
    other.register_name(&mut shell, name);
    let probes = MockProducer::connect(&mut shell, "traced_probes", peer(0));
    probes.register_name(&mut shell, name);
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, config(&[name]), None);
    let set_up = |shell: &mut Shell, mut producer: MockProducer| {
        let commands = producer.commands(shell);
        commands.iter().filter(|command| matches!(command, Cmd::SetupDataSource(_))).count()
    };
    assert_eq!(set_up(&mut shell, probes), 1);
    assert_eq!(set_up(&mut shell, other), 1);
    let most = service::limits::INSTANCES_PER_SESSION_MAX / service::limits::QUOTA_PARTS;
    assert!(shell.service.footprint().instances <= most + 2);
    assert!(shell.log.iter().any(|(_, line)| line.contains("a data source is not set up")));
}

#[test]
fn queries_hide_sessions_of_others() {
    let mut shell = Shell::new();
    let mut one = MockConsumer::connect(&mut shell, 1);
    one.enable(&mut shell, TraceConfig { duration_ms: Some(9), ..config(&[]) }, None);
    let mut two = MockConsumer::connect(&mut shell, 2);
    two.enable(&mut shell, TraceConfig { deferred_start: Some(true), ..config(&[]) }, None);
    let all = query(&mut shell, 0);
    assert_eq!((all.num_sessions, all.num_sessions_started), (Some(2), Some(1)));
    let states: Vec<_> = all.tracing_sessions.iter().map(|s| s.state.clone().unwrap()).collect();
    assert_eq!(states, ["STARTED", "CONFIGURED"]);
    assert_eq!(all.tracing_sessions[0].buffer_size_kb, [128]);
    let own = query(&mut shell, 2);
    assert_eq!(own.num_sessions, Some(2));
    assert_eq!(own.tracing_sessions.len(), 1);
}

#[test]
fn capabilities() {
    let mut shell = Shell::new();
    let consumer = MockConsumer::connect(&mut shell, 0);
    let replies = consumer.call(&mut shell, ConsumerRequest::QueryCapabilities(Default::default()));
    let bytes = replies[0].response.clone().unwrap();
    assert_eq!(&bytes[..], [0x0a, 0x0c, 8, 1, 16, 1, 16, 2, 16, 4, 24, 1, 32, 1]);
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

/// However many producers it has. What another user may register does not change.
#[test]
fn data_sources_of_one_user_take_so_many_bytes() {
    const LEN: usize = 50_000;
    let mut shell = Shell::new();
    let of =
        |shell: &mut Shell, uid| MockProducer::connect(shell, "p", Peer { uid, ..Peer::default() });
    for _ in 0..2 {
        let greedy = of(&mut shell, 1000);
        for number in 0..100 {
            greedy.register_name(&mut shell, &format!("{number}{}", "x".repeat(LEN)));
        }
    }
    let held = shell.service.footprint();
    // A name is kept beside the descriptor, which contains it.
    let fit = 16 * 1024 * 1024 / (2 * LEN);
    assert!((fit - 2..=fit).contains(&held.sources), "{held:?}");
    assert!(shell.log.iter().any(|(_, text)| text.contains("take 16777216 bytes already")));
    of(&mut shell, 1001).register_name(&mut shell, "ds");
    assert_eq!(shell.service.footprint().sources, held.sources + 1);
}
