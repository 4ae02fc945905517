//! What a consumer is told of the service, in answers that wait for it.

use super::*;
use testing::shell::Reply;

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
