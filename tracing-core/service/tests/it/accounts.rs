//! What users have, as consumers can ask for it.

use protos::consumer_port::Request;
use protos::{
    QueryServiceStateRequest, QueryServiceStateResponse, ServiceCounters, TracingServiceState,
    UserAccount, UserAccountItem,
};
use protozero::Message as _;

use super::compression::{deflate, unpack, zstd};
use super::*;
use abi::ids::CallId;
use service::{Input, ShellAccounts, limits};

pub(super) fn item(held: u64, max: u64, refused: Option<u64>) -> Option<UserAccountItem> {
    let (held, max) = (Some(held), Some(max));
    Some(UserAccountItem { held, max, refused, ..Default::default() })
}

/// The answer to a question of that consumer, in how many replies it came.
pub(super) fn ask(shell: &mut Shell, consumer: &MockConsumer) -> (TracingServiceState, usize) {
    let replies = consumer.call(shell, Request::QueryServiceState(Default::default()));
    let mut bytes = Vec::new();
    for reply in &replies {
        let response = reply.response.clone().expect("an answer");
        let response = QueryServiceStateResponse::decode(&response).unwrap();
        bytes.extend(response.service_state.unwrap().encode_to_vec());
    }
    (TracingServiceState::decode(&bytes).unwrap(), replies.len())
}

/// The same of a new consumer of a user.
fn ask_as(shell: &mut Shell, uid: u32) -> TracingServiceState {
    let consumer = MockConsumer::connect(shell, uid);
    let (state, _) = ask(shell, &consumer);
    consumer.disconnect(shell);
    state
}

pub(super) fn account(state: &TracingServiceState, uid: i32) -> &UserAccount {
    let mut found = state.accounts.iter().filter(|account| account.uid == Some(uid));
    let account = found.next().expect("an account");
    assert!(found.next().is_none(), "two accounts of {uid}");
    account
}

fn uids(state: &TracingServiceState) -> Vec<Option<i32>> {
    state.accounts.iter().map(|account| account.uid).collect()
}

#[test]
fn an_account_has_what_a_user_has() {
    let mut shell = Shell::new();
    let (mut producer, consumer) = recording(&mut shell, config(&["ds"]));
    producer.register_name(&mut shell, "other");
    producer.write(&mut shell, WRITER, BUFFER, &[payload("a")]);
    let mut mine = MockConsumer::connect(&mut shell, 42);
    mine.enable(&mut shell, config(&["ds", "other"]), None);
    producer.commands(&mut shell);
    let clone = MockConsumer::connect(&mut shell, 0);
    let id = shell.service.session_of(consumer.client).unwrap().get();
    let selector = Some(protos::CloneSessionRequestSelector::SessionId(id));
    let request = protos::CloneSessionRequest { selector, ..Default::default() };
    let call = clone.clone_session(&mut shell, request, None);
    for flush in producer.commands(&mut shell) {
        if let Cmd::Flush(flush) = flush {
            producer.ack_flush(&mut shell, flush.request_id.unwrap());
        }
    }
    assert!(clone.cloned(&mut shell, call).is_some());
    let state = ask_as(&mut shell, 0);
    let of_42 = account(&state, 42);
    assert_eq!(of_42.is_limited, Some(true));
    let held = |item: &Option<UserAccountItem>| item.as_ref().and_then(|item| item.held);
    assert_eq!(of_42.machine_id, None);
    // As many as fit into the bytes that they may take.
    let two = Some(UserAccountItem { held: Some(2), ..Default::default() });
    assert_eq!(of_42.registrations, two);
    let held_bytes = shell.service.footprint().source_bytes as u64;
    assert_eq!(
        of_42.registration_bytes,
        item(held_bytes, limits::SOURCE_BYTES_PER_USER_MAX as u64, Some(0))
    );
    assert_eq!(of_42.shared_memory_bytes, item(0, limits::SMB_BYTES_PER_USER_MAX as u64, Some(0)));
    // Two in its own session, where it may have all, and one in that of root.
    assert_eq!(of_42.instances, item(2, limits::INSTANCES_PER_SESSION_MAX as u64, None));
    assert_eq!(of_42.sessions, item(1, limits::SESSIONS_PER_UID_MAX as u64, None));
    assert_eq!(of_42.clones, item(0, limits::CLONES_PER_UID_MAX as u64, None));
    let of_root = account(&state, 0);
    assert_eq!((of_root.is_limited, held(&of_root.registrations)), (Some(false), Some(0)));
    assert_eq!(of_root.sessions, item(2, limits::SESSIONS_PER_UID_MAX as u64, None));
    assert_eq!(of_root.clones, item(1, limits::CLONES_PER_UID_MAX as u64, None));
    let all = state.all_users.unwrap();
    // Without root, as all that they have together.
    assert_eq!(all.sessions, item(1, 9, None));
    assert_eq!(all.clones, item(0, 28, None));
    assert_eq!(all.registrations, two);
    let shared = (limits::SOURCE_BYTES_PER_USER_MAX * limits::USERS_SHARE) as u64;
    assert_eq!(all.registration_bytes, item(held_bytes, shared, None));
    consumer.disable(&mut shell);
}

#[test]
fn a_flush_that_waits_is_on_the_account() {
    let mut shell = Shell::new();
    let [first, second] = ["p", "q"].map(|name| producer(&mut shell, name));
    [&first, &second].iter().for_each(|producer| producer.register_name(&mut shell, "ds"));
    let mut consumer = MockConsumer::connect(&mut shell, 43);
    consumer.enable(&mut shell, config(&["ds"]), None);
    let call = consumer.flush(&mut shell, 0);
    let max = limits::FLUSH_ANSWERS_PER_USER_MAX as u64;
    let state = ask_as(&mut shell, 0);
    assert_eq!(account(&state, 43).flush_answers, item(2, max, Some(0)));
    let shared = max * limits::USERS_SHARE as u64;
    assert_eq!(state.all_users.unwrap().flush_answers, item(2, shared, None));
    shell.advance_ms(5000);
    assert_eq!(consumer.flushed(&mut shell, call), Some(false));
    assert_eq!(account(&ask_as(&mut shell, 0), 43).flush_answers, item(0, max, Some(0)));
    consumer.free(&mut shell);
}

/// What users may have is less where the service has little memory.
#[test]
fn limits_follow_a_small_memory() {
    let mut shell = Shell::with(|config| config.memory_bytes = 256 << 20);
    producer(&mut shell, "p").register_name(&mut shell, "ds");
    let state = ask_as(&mut shell, 0);
    let max_mib = |of: &UserAccount| {
        let items = [
            &of.registration_bytes,
            &of.compression_bytes,
            &of.waiting_request_bytes,
            &of.shared_memory_bytes,
            &of.buffer_bytes,
        ];
        items.map(|item| item.as_ref().and_then(|item| item.max).map(|bytes| bytes >> 20))
    };
    assert_eq!(max_mib(account(&state, 42)), [2, 8, 1, 64, 128].map(Some));
    assert_eq!(max_mib(&state.all_users.unwrap()), [3, 10, 2, 256, 192].map(Some));
}

#[test]
fn a_user_sees_its_account_and_root_and_the_service_see_all() {
    let mut shell = Shell::with(|config| config.uid = 7);
    producer(&mut shell, "p").register_name(&mut shell, "ds");
    MockConsumer::connect(&mut shell, 43).enable(&mut shell, config(&["ds"]), None);
    let of = |uid: u32| UserAccount {
        uid: Some(uid.cast_signed()),
        files: item(1, 64, None),
        ..Default::default()
    };
    let remote = UserAccount { is_limited: Some(true), ..Default::default() };
    let counters = ServiceCounters { slow_turns: Some(3), ..Default::default() };
    let told = ShellAccounts {
        users: vec![of(42), of(44), of(u32::MAX)],
        remote: Some(remote),
        all_users: UserAccount { files: item(9, 99, None), ..Default::default() },
        counters: counters.clone(),
    };
    shell.input(Input::ShellCounted(Box::new(told)));
    for uid in [0, 7] {
        let state = ask_as(&mut shell, uid);
        let expected = [None, Some(42), Some(43), Some(44), Some(-1)];
        assert_eq!(uids(&state), expected, "{uid}");
        assert_eq!(account(&state, 42).files, item(1, 64, None));
        assert_eq!(account(&state, 43).files, None);
    }
    for uid in [42, 43, 99] {
        let state = ask_as(&mut shell, uid);
        assert_eq!(uids(&state), [Some(uid.cast_signed())]);
        assert_eq!(state.counters.as_ref(), Some(&counters));
        assert_eq!(state.all_users.unwrap().files, item(9, 99, None));
    }
    // The same number on another machine is another user.
    let peer = Peer { uid: 0, machine_id: 9, ..Peer::default() };
    let client = shell.connect_consumer(peer);
    let call = shell.call_consumer(client, Request::QueryServiceState(Default::default()), None);
    let replies = shell.take_replies_to(client, call);
    let response = replies[0].response.clone().unwrap();
    let response = QueryServiceStateResponse::decode(&response).unwrap();
    let accounts = response.service_state.unwrap().accounts;
    assert_eq!(accounts.len(), 1);
    assert_eq!((accounts[0].uid, accounts[0].machine_id), (Some(0), Some(9)));
}

#[test]
fn questions_about_sessions_alone_have_no_accounts() {
    let mut shell = Shell::new();
    let consumer = MockConsumer::connect(&mut shell, 0);
    let request = QueryServiceStateRequest { sessions_only: Some(true), ..Default::default() };
    let replies = consumer.call(&mut shell, Request::QueryServiceState(request));
    let response = replies[0].response.clone().unwrap();
    let state = QueryServiceStateResponse::decode(&response).unwrap().service_state.unwrap();
    assert_eq!((state.all_users, state.counters, state.num_sessions), (None, None, Some(0)));
}

/// Thousands of users: an answer that is not read does not grow, and has each of them once.
#[test]
fn accounts_of_many_users_come_in_pieces() {
    let mut shell = Shell::new();
    let users = 20_000;
    let of = |uid: i32| UserAccount { uid: Some(uid), ..Default::default() };
    let told = ShellAccounts { users: (0..users).map(of).collect(), ..Default::default() };
    shell.input(Input::ShellCounted(Box::new(told)));
    shell.consumers_are_slow = true;
    let consumer = MockConsumer::connect(&mut shell, 0);
    let (state, windows) = ask_slowly(&mut shell, &consumer);
    assert!(windows > 2, "{windows} windows");
    assert!(uids(&state).into_iter().eq((0..users).map(Some)));
}

/// The answer to a question of a consumer that reads a window of it at a time, and how many these are.
fn ask_slowly(shell: &mut Shell, consumer: &MockConsumer) -> (TracingServiceState, usize) {
    let request = Request::QueryServiceState(Default::default());
    let call: CallId = shell.call_consumer(consumer.client, request, None);
    let (mut bytes, mut windows) = (Vec::new(), 0);
    loop {
        let replies = shell.take_replies_to(consumer.client, call);
        let window: usize = replies.iter().map(|r| r.response.as_ref().unwrap().len()).sum();
        assert!(window < limits::READ_WINDOW_BYTES + 2 * limits::IPC_STATE_BYTES_MAX, "{window}");
        for reply in &replies {
            let response = QueryServiceStateResponse::decode(reply.response.as_ref().unwrap());
            bytes.extend(response.unwrap().service_state.unwrap().encode_to_vec());
        }
        windows += 1;
        if !replies.last().expect("more").has_more {
            break;
        }
        shell.input(Input::Drained { client: consumer.client });
    }
    (TracingServiceState::decode(&bytes).unwrap(), windows)
}

#[test]
fn what_was_refused_is_counted_by_user() {
    let mut shell = Shell::new();
    let large = |shell: &mut Shell, name: &str| {
        let category =
            protos::TrackEventCategory { name: Some("x".repeat(100_000)), ..Default::default() };
        let producer = producer(shell, name);
        for _ in 0..200 {
            let descriptor = DataSourceDescriptor {
                track_event_descriptor: Some(protos::TrackEventDescriptor {
                    available_categories: vec![category.clone()],
                    ..Default::default()
                }),
                ..descriptor("ds")
            };
            producer.register(shell, descriptor);
        }
        producer
    };
    let gone = large(&mut shell, "p");
    let (_, refused) = shell.service.accounts();
    assert!(refused > 10);
    let state = ask_as(&mut shell, 42);
    let bytes = account(&state, 42).registration_bytes.clone().unwrap();
    assert_eq!(bytes.refused, Some(refused));
    let why = shell.log.iter().find(|(_, text)| text.contains("data source ds is not registered"));
    let (held, max) = (bytes.held.unwrap(), limits::SOURCE_BYTES_PER_USER_MAX);
    let has = format!(
        "bytes of data sources and writers are asked for, and user 42 has {held} of at most {max}: register"
    );
    assert!(why.is_some_and(|(_, text)| text.contains(&has)), "{why:?}");
    let registered = account(&state, 42).registrations.clone().unwrap().held.unwrap();
    assert_eq!(registered + refused, 200);
    // It is remembered when the user has nothing any more.
    gone.disconnect(&mut shell);
    let state = ask_as(&mut shell, 0);
    let of_42 = account(&state, 42);
    let held = of_42.registrations.clone().unwrap().held;
    assert_eq!((held, of_42.registration_bytes.clone().unwrap().refused), (Some(0), Some(refused)));
}

/// What compresses is on the account of the session's user while it is needed, and what would exceed that is not
/// compressed.
#[test]
fn compressing_takes_memory_of_its_user() {
    for (compression, len) in [(deflate(), 24_000_000), (zstd(4), 12_000_000)] {
        // One packet takes what several sessions would.
        let mut shell = Shell::with(|config| config.packet_bytes_max = usize::MAX);
        let large = TraceConfig {
            compression: Some(compression),
            buffers: vec![buffer(32 * 1024)],
            ..config(&["ds"])
        };
        let (producer, consumer) = recording(&mut shell, large);
        let charged = |shell: &Shell| shell.service.footprint().codec_bytes_charged;
        // While it waits for its next piece.
        let first = payload(&"ab".repeat(100_000));
        let mut next = write_large_from(&mut shell, &producer, 0, &first);
        shell.work_waits = true;
        let request = Request::ReadBuffers(Default::default());
        let call = shell.call_consumer(consumer.client, request, None);
        shell.turn();
        let held = charged(&shell);
        assert!((400_000..4_000_000).contains(&held), "{held}");
        let state = ask_as(&mut shell, 0);
        let of_user = account(&state, 0).compression_bytes.clone();
        assert_eq!(of_user, item(held as u64, limits::CODEC_BYTES_PER_USER_MAX as u64, Some(0)));
        shell.work_waits = false;
        while shell.service.has_work() {
            shell.turn();
        }
        assert!(!shell.take_replies_to(consumer.client, call).is_empty());
        assert_eq!(charged(&shell), 0);
        // Too large, twice.
        for text in ["a", "b"] {
            let packet = payload(&text.repeat(len));
            next = write_large_from(&mut shell, &producer, next, &packet);
            assert_eq!(payloads(&consumer.read(&mut shell)).concat().len(), len);
        }
        let told = shell.log.iter().zip(&shell.log_uids);
        let told = told.filter(|it| it.0.1.contains("packets are not compressed"));
        let has = "bytes of memory to compress with are asked for, and user 0 has 0 of at most";
        let uids: Vec<_> = told.filter(|it| it.0.1.contains(has)).map(|it| *it.1).collect();
        assert_eq!(uids, [Some(0)], "once, on the account of its user: {:?}", shell.log.last());
        let state = ask_as(&mut shell, 0);
        assert_eq!(account(&state, 0).compression_bytes.clone().unwrap().refused, Some(2));
        // A small one is compressed again.
        write_large_from(&mut shell, &producer, next, &payload("small"));
        let inner: Vec<_> = consumer.read(&mut shell).iter().flat_map(unpack).collect();
        assert_eq!(payloads(&inner), ["small"]);
        assert_eq!(charged(&shell), 0);
        consumer.disable(&mut shell);
    }
}

/// A session that goes while a pass of it is compressed takes its memory off the account.
#[test]
fn compressing_that_is_given_up_takes_nothing() {
    let mut shell = Shell::new();
    let config =
        TraceConfig { compression: Some(zstd(0)), buffers: vec![buffer(4096)], ..config(&["ds"]) };
    let (producer, consumer) = recording(&mut shell, config);
    write_large(&mut shell, &producer, &payload(&"ab".repeat(500_000)));
    shell.work_waits = true;
    shell.call_consumer(consumer.client, Request::ReadBuffers(Default::default()), None);
    shell.turn();
    assert!(shell.service.footprint().codec_bytes_charged > 0);
    consumer.free(&mut shell);
    assert_eq!(shell.service.footprint().codec_bytes_charged, 0);
    assert_eq!(shell.service.footprint().sessions, 0);
}

/// The answer to a query with thousands of producers, which may have long names, comes in pieces.
#[test]
fn many_producers_come_in_pieces() {
    let mut shell = Shell::new();
    let count = 2000;
    let name = |number: usize| format!("{number}{}", "x".repeat(1000));
    let _producers: Vec<_> = (0..count).map(|number| producer(&mut shell, &name(number))).collect();
    shell.consumers_are_slow = true;
    let consumer = MockConsumer::connect(&mut shell, 0);
    let (state, windows) = ask_slowly(&mut shell, &consumer);
    assert!(windows > 2, "{windows} windows");
    let names = state.producers.into_iter().map(|producer| producer.name.unwrap());
    assert!(names.eq((0..count).map(name)));
}
