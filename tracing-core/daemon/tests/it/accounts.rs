//! What a consumer is told of the users of a daemon.
//!
//! Only root can be another user. Without it, the part about that is not checked.

use protos::{
    DataSourceDescriptor, TraceConfig, TraceConfigBufferConfig, TracingServiceState, UserAccount,
    UserAccountItem,
};
use rustix::process::{Gid, Uid, geteuid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

use super::FOREVER;
use client::consumer::{Consumer, Waited};
use client::data_source::{Ack, DataSource, Instance};
use client::producer::{Producer, ProducerOptions};
use daemon::in_process::InProcessService;
use daemon::serve::{Server, ServerOptions, service_config};
use os::socket::Address;

/// A user without rights.
const NOBODY: u32 = 65534;

fn address(name: &str) -> Address {
    Address::Abstract(format!("accounts-test-{}-{name}", std::process::id()).into())
}

fn daemon() -> InProcessService {
    let options = ServerOptions::new(service_config("test").unwrap(), Box::new(|_, _| {}));
    daemon_at("", options)
}

/// One whose sockets have that in their names.
fn daemon_at(name: &str, mut options: ServerOptions) -> InProcessService {
    options.producer_sockets = vec![address(&format!("producer{name}"))];
    options.consumer_sockets = vec![address(&format!("consumer{name}"))];
    InProcessService::run(Server::bind(options).unwrap()).unwrap()
}

struct Idle;

impl DataSource for Idle {
    fn start(&mut self, _: &Instance) {}
    fn stop(&mut self, _: &Instance, _: Ack) {}
}

fn ask() -> TracingServiceState {
    let mut consumer = Consumer::connect(&address("consumer")).unwrap();
    consumer.query_service_state(false).unwrap()
}

/// The answer to a consumer of [`NOBODY`].
fn ask_as_nobody() -> TracingServiceState {
    let ask = || {
        // Of this thread alone. The kernel tells the daemon what they are when it connects.
        set_thread_groups(&[]).unwrap();
        let (uid, gid) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
        set_thread_res_gid(None, gid, None).unwrap();
        set_thread_res_uid(None, uid, None).unwrap();
        ask()
    };
    std::thread::scope(|scope| scope.spawn(ask).join().unwrap())
}

fn held(item: &Option<UserAccountItem>) -> u64 {
    item.as_ref().and_then(|item| item.held).unwrap_or(0)
}

fn account(state: &TracingServiceState, uid: u32) -> &UserAccount {
    let found = state.accounts.iter().find(|account| account.uid == Some(uid.cast_signed()));
    found.unwrap_or_else(|| panic!("no account of {uid}: {state:?}"))
}

#[test]
fn connections_descriptors_and_files_are_on_the_account() {
    let _service = daemon();
    let uid = geteuid().as_raw();
    let before = account(&ask(), uid).clone();
    // That of the consumer that asks.
    assert_eq!((held(&before.connection_descriptors), held(&before.files)), (1, 0));
    let mut options = ProducerOptions::new("p");
    options.address = Some(address("producer"));
    let producer = Producer::connect(options).unwrap();
    let descriptor = DataSourceDescriptor { name: Some("idle".into()), ..Default::default() };
    producer.register(descriptor, Idle).unwrap();
    let mut recorder = Consumer::connect(&address("consumer")).unwrap();
    let config = TraceConfig {
        buffers: vec![TraceConfigBufferConfig { size_kb: Some(64), ..Default::default() }],
        write_into_file: Some(true),
        ..Default::default()
    };
    let path = std::env::temp_dir().join(format!("accounts-{}", std::process::id()));
    let file = std::fs::File::create(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    recorder.enable_tracing(&config, Some(file.into())).unwrap();
    assert!(producer.sync(FOREVER));
    // An answer: the requests before are handled.
    recorder.get_trace_stats().unwrap();
    let state = ask();
    assert!(state.accounts.iter().all(|account| account.uid.is_some()), "no other machine's");
    let now = account(&state, uid);
    assert!(held(&now.connection_descriptors) >= 4, "{now:?}");
    assert_eq!((held(&now.producer_descriptors), held(&now.files)), (2, 1), "{now:?}");
    assert_eq!((held(&now.registrations), held(&now.sessions)), (1, 1), "{now:?}");
    let max = |item: &Option<UserAccountItem>| item.as_ref().and_then(|item| item.max).unwrap();
    assert!(max(&now.connection_descriptors) > max(&now.producer_descriptors));
    assert!(max(&now.files) > 0 && max(&now.closing_descriptors) > 0);
    assert!(max(&now.connection_bytes) == 64 << 20 && held(&now.connection_bytes) == 0);
    // All that it was sent is small.
    assert_eq!(held(&now.large_sockets), 0);
    let counters = state.counters.as_ref().unwrap();
    assert!(counters.connections >= Some(4) && counters.refused == Some(0), "{counters:?}");
    if !skip::without_root("connections_descriptors_and_files_are_on_the_account, of another user")
    {
        let state = ask_as_nobody();
        let uids: Vec<_> = state.accounts.iter().map(|account| account.uid).collect();
        assert_eq!(uids, [Some(NOBODY.cast_signed())]);
        let of_nobody = account(&state, NOBODY);
        assert_eq!(held(&of_nobody.connection_descriptors), 1);
        assert_eq!((held(&of_nobody.large_sockets), max(&of_nobody.large_sockets)), (0, 64));
        assert_eq!(now.large_sockets.as_ref().unwrap().max, None, "root has no limit");
        let memory = (held(&of_nobody.file_memory_bytes), max(&of_nobody.file_memory_bytes));
        assert_eq!((memory, now.file_memory_bytes.as_ref()), ((0, 64 << 20), None));
        // Of those users to whom common limits apply there is this one.
        let all = state.all_users.unwrap();
        assert_eq!(held(&all.connection_descriptors), 1);
        assert_eq!((held(&all.file_memory_bytes), max(&all.file_memory_bytes)), (0, 128 << 20));
    }
    recorder.disable_tracing().unwrap();
    assert_eq!(recorder.wait(Some(FOREVER)).unwrap(), Waited::Ended);
}

/// A daemon with little memory has less for connections, and for what they keep.
#[test]
fn limits_of_connections_follow_the_memory() {
    let mut options = ServerOptions::new(service_config("test").unwrap(), Box::new(|_, _| {}));
    options.service.memory_bytes = 256 << 20;
    let _service = daemon_at("-small", options);
    let mut consumer = Consumer::connect(&address("consumer-small")).unwrap();
    let all = consumer.query_service_state(false).unwrap().all_users.unwrap();
    let max = |item: &Option<UserAccountItem>| item.as_ref().and_then(|item| item.max).unwrap();
    assert_eq!((max(&all.connection_bytes), max(&all.file_memory_bytes)), (8 << 20, 16 << 20));
    assert!(max(&all.connection_descriptors) <= 261 * 3 / 4 && max(&all.large_sockets) == 9);
}
