//! The daemon's loop against clients of every kind, good and bad, over sockets and without.

mod accept;
mod memory;
mod peers;
mod sessions;
mod turns;
mod waits;

use std::io::IoSlice;
use std::path::{Path, PathBuf};
use std::time::Duration;

use protos::consumer_port::Request as ConsumerRequest;
use protos::producer_port::Request as ProducerRequest;
use protos::{
    DataSourceConfig, DataSourceDescriptor, InitializeConnectionRequest, QueryServiceStateRequest,
    RegisterDataSourceRequest, SyncRequest, TraceConfig, TraceConfigBufferConfig,
    TraceConfigDataSource,
};

use protozero::Message as _;

use super::connections::Connections;
use super::daemon::TIME_UNLIMITED;
use super::peer::PeerConnection;
use super::resources::Resources;
use super::*;
use crate::in_process::InProcessService;
use crate::system::closer::CloserLimits;
use crate::system::own_user::OwnUser;
use abi::ids::{CallId, ChunkId, ClientId, FileId, WriterId};
use abi::ipc::port::ConsumerPort;
use abi::shm::{ChunkFlags, ChunkHeader, Packets};
use client::connection::{Attachment, Received, SocketConnection};
use client::consumer::{ConsumerError, Waited};
use os::socket::{Address, Received as Raw, Stream};
use service::Input;

/// As long as it takes: a machine under load must not make a test fail.
const FOREVER: Duration = Duration::MAX;

/// A directory of one test, which goes with it.
struct TestDirectory(PathBuf);

impl TestDirectory {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("serve-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl std::ops::Deref for TestDirectory {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for TestDirectory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A daemon in a directory of its own, whose loop runs on a thread.
struct RunningDaemon {
    service: Option<InProcessService>,
    directory: TestDirectory,
}

impl RunningDaemon {
    fn start(name: &str) -> Self {
        ManualDaemon::new(name).run()
    }

    fn handle(&self) -> &ServerHandle {
        self.service.as_ref().unwrap().handle()
    }

    fn producer(&self) -> Address {
        Address::Path(self.directory.join("producer"))
    }

    fn consumer(&self) -> Address {
        Address::Path(self.directory.join("consumer"))
    }

    /// A consumer of each kind.
    fn consumers(&self) -> [Consumer; 2] {
        let local = self.service.as_ref().unwrap().consumer();
        [Consumer::connect(&self.consumer()).unwrap(), local]
    }

    /// A producer of each kind.
    fn producers(&self) -> [Box<dyn Connection<ProducerPort>>; 2] {
        let local = self.service.as_ref().unwrap().producer();
        let socket = SocketConnection::<ProducerPort>::connect(&self.producer()).unwrap();
        [Box::new(socket), local]
    }

    /// Whether a service answers.
    fn assert_alive(&self) {
        for mut consumer in self.consumers() {
            consumer.query_service_state(false).unwrap();
        }
    }
}

impl Drop for RunningDaemon {
    fn drop(&mut self) {
        if let Some(service) = self.service.take() {
            service.stop().unwrap();
        }
        if !std::thread::panicking() {
            let is_left = self.directory.join("producer").exists();
            assert!(!is_left, "the socket file goes with the daemon");
        }
    }
}

fn options(directory: &Path) -> ServerOptions {
    let mut options = ServerOptions::new(service_config("test").unwrap(), Box::new(|_, _| {}));
    options.producer_sockets = vec![Address::Path(directory.join("producer"))];
    options.consumer_sockets = vec![Address::Path(directory.join("consumer"))];
    options
}

fn one_buffer() -> TraceConfig {
    let buffer = TraceConfigBufferConfig { size_kb: Some(64), ..Default::default() };
    TraceConfig { buffers: vec![buffer], ..TraceConfig::default() }
}

fn initialize() -> ProducerRequest {
    ProducerRequest::InitializeConnection(InitializeConnectionRequest {
        producer_name: Some("test".into()),
        ..Default::default()
    })
}

fn register(name: &str) -> ProducerRequest {
    let descriptor = DataSourceDescriptor { name: Some(name.into()), ..Default::default() };
    ProducerRequest::RegisterDataSource(RegisterDataSourceRequest {
        data_source_descriptor: Some(descriptor.into()),
        ..Default::default()
    })
}

/// Calls and waits for a good reply.
fn call(producer: &mut dyn Connection<ProducerPort>, request: ProducerRequest) {
    let sent = producer.send(request, true, Attachment::None).unwrap();
    match producer.receive(Some(FOREVER)) {
        Received::Reply { call, result: Ok(_), has_more: false } if call == sent => {}
        other => panic!("{other:?}"),
    }
}

/// The user of a daemon, which is not that of this process.
const DAEMON: OwnUser = OwnUser::new(500);

/// Connections of a daemon of that user.
fn connections() -> Connections {
    Connections::new(Resources::of_descriptors(1 << 20), DAEMON)
}

/// The limits of the same daemon.
fn closer_limits() -> CloserLimits {
    CloserLimits::new(1 << 20, DAEMON)
}

/// An engine that does all on the thread that calls it.
fn engine() -> Engine {
    let wake = os::poll::Wake::new().unwrap();
    Engine::new(service_config("test").unwrap(), Box::new(|_, _| {}), wake, false)
}

fn enable(engine: &mut Engine, client: ClientId, config: TraceConfig, file: Option<FileId>) {
    let request =
        protos::EnableTracingRequest { trace_config: Some(config.into()), ..Default::default() };
    let request = ConsumerRequest::EnableTracing(request);
    engine.handle_input(Input::ConsumerRequest { client, call: None, request, file });
}

// ---------------------------------------------------------------- hostile peers

/// Sends bytes as they are; false if the connection is closed.
fn send_raw(stream: &Stream, mut bytes: &[u8]) -> bool {
    while !bytes.is_empty() {
        match stream.send(&[IoSlice::new(bytes)], None) {
            Ok(sent) => bytes = &bytes[sent..],
            Err(_) => return false,
        }
    }
    true
}

/// Reads until the daemon closes the connection.
fn read_to_end(stream: &Stream) -> usize {
    let mut buf = [0; 4096];
    let mut total = 0;
    loop {
        match stream.receive(&mut buf) {
            Ok(Raw::Bytes(count, _)) => total += count,
            Ok(Raw::Nothing) => std::thread::yield_now(),
            _ => return total,
        }
    }
}

/// A request for commands.
const GET_COMMANDS: &[u8] = b"\x0c\0\0\0\x10\x03\x2a\x08\x08\x01\x10\x05\x1a\x00\x20\x00";

const BIND: &[u8] = b"\x12\0\0\0\x10\x01\x1a\x0e\x0a\x0cProducerPort";

/// A daemon whose loop the test runs.
struct ManualDaemon {
    server: Server,
    directory: TestDirectory,
}

impl ManualDaemon {
    fn new(name: &str) -> Self {
        Self::with(name, |_| {})
    }

    /// One with other options.
    fn with(name: &str, change: impl FnOnce(&mut ServerOptions)) -> Self {
        let directory = TestDirectory::new(name);
        let mut options = options(&directory);
        change(&mut options);
        Self { server: Server::bind(options).unwrap(), directory }
    }

    /// Lets a thread run the loop.
    fn run(self) -> RunningDaemon {
        let Self { server, directory } = self;
        RunningDaemon { service: Some(InProcessService::run(server).unwrap()), directory }
    }

    fn connect(&self, count: usize) -> Vec<Stream> {
        let address = Address::Path(self.directory.join("producer"));
        (0..count).map(|_| Stream::connect(&address).unwrap()).collect()
    }

    fn inner(&mut self) -> &mut daemon::Daemon {
        &mut self.server.daemon
    }

    fn connected(&self) -> usize {
        self.server.handle().stats().connections as usize
    }

    /// Serves the connections with these keys, as if all were ready, in a turn that began at `began_ns`.
    fn serve(&mut self, keys: &[u64], began_ns: u64) {
        let ready = |key: &u64| os::poll::Ready { key: *key, readable: true, writable: false };
        self.inner().serve(&mut keys.iter().map(ready).collect(), began_ns);
        self.inner().flush(Some(TIME_UNLIMITED));
    }

    fn keys(&mut self) -> Vec<u64> {
        self.inner().engine.peers.keys().map(|client| client.get()).collect()
    }
}

/// For a turn that is over as soon as it has served one connection.
fn time_used_up() -> u64 {
    os::clock::mono_ns() - 10_000_000
}
