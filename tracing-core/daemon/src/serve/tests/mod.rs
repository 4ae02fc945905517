//! The daemon's loop against clients of every kind, good and bad, over sockets and without.

use std::io::{IoSlice, Read, Seek};
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

mod turns;

use super::connections::Connections;
use super::peer::Peer;
use super::*;
use crate::in_process::InProcessService;
use crate::limits::{
    CONSUMER_QUEUE_BYTES_MAX, DECODED_BYTES_AT_ONCE, DESCRIPTORS_RESERVED_MIN, REQUESTS_PER_TURN,
};
use abi::ids::{CallId, ChunkId, ClientId, FileId, WriterId};
use abi::ipc::port::ConsumerPort;
use abi::shm::{ChunkFlags, ChunkHeader, Packets};
use client::connection::{Attachment, Received, SocketConnection};
use client::consumer::{ConsumerError, Waited};
use os::socket::{Address, Received as Raw, Stream};
use service::Input;

/// As long as it takes: a machine under load must not make a test fail.
const FOREVER: Duration = Duration::MAX;

/// A daemon in a directory of its own.
struct Daemon {
    service: Option<InProcessService>,
    directory: PathBuf,
}

impl Daemon {
    fn start(name: &str) -> Self {
        let directory = std::env::temp_dir().join(format!("serve-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let server = Server::bind(options(&directory)).unwrap();
        Self { service: Some(InProcessService::run(server).unwrap()), directory }
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

impl Drop for Daemon {
    fn drop(&mut self) {
        self.service.take().unwrap().stop().unwrap();
        let left: Vec<_> = std::fs::read_dir(&self.directory).unwrap().collect();
        let sockets = left.iter().flatten().filter(|f| f.file_name() == "producer").count();
        let _ = std::fs::remove_dir_all(&self.directory);
        if !std::thread::panicking() {
            assert_eq!(sockets, 0, "the socket file goes with the daemon");
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

#[test]
fn a_config_that_fits_into_no_request_is_an_error() {
    let daemon = Daemon::start("long");
    for mut consumer in daemon.consumers() {
        let config = TraceConfig {
            unique_session_name: Some("x".repeat(abi::limits::IPC_ARGS_BYTES_MAX)),
            ..one_buffer()
        };
        let refused = consumer.enable_tracing(&config, None);
        assert!(matches!(refused, Err(ConsumerError::TooLong { .. })), "{refused:?}");
        consumer.enable_tracing(&one_buffer(), None).unwrap();
    }
}

/// Each of them keeps less than a connection may, and all together more than their user may.
#[test]
fn connections_of_a_user_keep_so_much_together() {
    let directory = std::env::temp_dir().join(format!("serve-{}-kept", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let mut server = Server::bind(options(&directory)).unwrap();
    server.daemon.connections.set_kept_max(1024 * 1024);
    let address = Address::Path(directory.join("producer"));
    // The beginning of the longest frame, for which there is memory then: 112 KiB of it count.
    let part = [&131_068_u32.to_le_bytes()[..], &[0; 100_000]].concat();
    let mut clients = Vec::new();
    for _ in 0..12 {
        let client = Stream::connect(&address).unwrap();
        server.daemon.accept(0).unwrap();
        let mut rest = &part[..];
        while !rest.is_empty()
            && let Ok(sent) = client.send(&[IoSlice::new(rest)], None)
        {
            rest = &rest[sent..];
            let connected: Vec<_> = server.daemon.engine.peers.keys().copied().collect();
            connected.into_iter().for_each(|client| server.daemon.read(client));
            server.daemon.flush();
        }
        clients.push(client);
    }
    let stats = server.handle().stats();
    assert_eq!((stats.connected, stats.cut_slow), (9, 3));
    drop(server);
    std::fs::remove_dir_all(&directory).unwrap();
}

/// What its producer would have recorded is lost, and the sessions that record say so.
#[test]
fn a_producer_that_is_refused_is_in_the_ledger() {
    let directory = std::env::temp_dir().join(format!("serve-{}-refused", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let mut server = Server::bind(options(&directory)).unwrap();
    // One producer has two descriptors of the four.
    let own_uid = os::process::effective_uid();
    server.daemon.connections = Connections::new(4 + DESCRIPTORS_RESERVED_MIN, own_uid);
    let service = InProcessService::run(server).unwrap();
    let mut consumer = service.consumer();
    consumer.enable_tracing(&one_buffer(), None).unwrap();
    consumer.get_trace_stats().unwrap();
    let address = Address::Path(directory.join("producer"));
    let _producers = [(); 2].map(|()| Stream::connect(&address).unwrap());
    let stats = || service.handle().stats();
    while stats().connections + stats().refused < 3 {
        std::thread::yield_now();
    }
    assert_eq!(stats().refused, 1);
    let ledger = consumer.get_trace_stats().unwrap().loss_ledger.unwrap_or_default();
    let [entry] = &ledger.entries[..] else { panic!("{ledger:?}") };
    let reason = Some(protos::LossLedgerReason::REASON_PRODUCER_REFUSED);
    assert_eq!((entry.reason, entry.uid), (reason, Some(own_uid.cast_signed())));
    service.stop().unwrap();
    std::fs::remove_dir_all(&directory).unwrap();
}

/// What a producer does not receive is not left to the kernel, where no account counts it.
#[test]
fn replies_to_a_producer_do_not_fill_its_socket() {
    const REQUESTS: usize = 6000;
    let directory = std::env::temp_dir().join(format!("serve-{}-socket", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let mut server = Server::bind(options(&directory)).unwrap();
    let client = Stream::connect(&Address::Path(directory.join("producer"))).unwrap();
    server.daemon.accept(0).unwrap();
    let id = *server.daemon.engine.peers.keys().next().unwrap();
    // Each is refused in ten bytes, as nobody has introduced itself.
    let requests = [BIND, &GET_COMMANDS.repeat(REQUESTS)].concat();
    let mut rest = &requests[..];
    while !rest.is_empty() {
        rest = &rest[client.send(&[IoSlice::new(rest)], None).unwrap()..];
        server.daemon.read(id);
        while server.daemon.engine.host(id).unwrap().has_events() {
            server.daemon.engine.turn();
            server.daemon.flush();
        }
    }
    let (_, waits_for_room) = server.daemon.engine.host(id).unwrap().wanted();
    assert!(waits_for_room, "{} bytes of replies are in the socket", 10 * REQUESTS);
    drop(server);
    std::fs::remove_dir_all(&directory).unwrap();
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

/// A transport of the program may carry connections of other users, for whom this process cannot act.
#[test]
fn a_consumer_of_another_user_has_no_file_created() {
    let mut engine = engine();
    let own = os::process::effective_uid();
    for (uid, is_created) in [(own + 1, false), (own, true)] {
        let path = std::env::temp_dir().join(format!("serve-{}-{uid}", std::process::id()));
        let client = engine.next_client();
        let link = Link::Custom(Box::new(HostLink::new(Side::Consumer)));
        let peer = Some(service::Peer { uid, ..service::Peer::default() });
        engine.connected(client, Side::Consumer, link, User::Local(uid), peer);
        let config = TraceConfig {
            write_into_file: Some(true),
            output_path: Some(path.to_str().unwrap().into()),
            ..one_buffer()
        };
        enable(&mut engine, client, config, None);
        assert_eq!(path.exists(), is_created, "{uid}");
        let _ = std::fs::remove_file(&path);
    }
}

#[test]
fn a_service_that_is_idle_ends_at_once() {
    engine().finish(|| panic!("there is nothing to wait for"));
}

/// A pipe that nobody reads: the end is not delayed for longer than the program likes.
#[test]
fn a_service_ends_with_a_file_that_takes_nothing() {
    let wake = os::poll::Wake::new().unwrap();
    let mut engine =
        Engine::new(service_config("test").unwrap(), Box::new(|_, _| {}), wake.clone(), true);
    let (reader, writer) = rustix::pipe::pipe().unwrap();
    let client = engine.next_client();
    let link = Link::Custom(Box::new(HostLink::new(Side::Consumer)));
    engine.connected(client, Side::Consumer, link, User::Local(0), Some(service::Peer::default()));
    // The packet with the config is more than a pipe takes.
    let source =
        DataSourceConfig { legacy_config: Some("x".repeat(100_000)), ..Default::default() };
    let source = TraceConfigDataSource { config: Some(source), ..Default::default() };
    let config =
        TraceConfig { write_into_file: Some(true), data_sources: vec![source], ..one_buffer() };
    let file = engine.files.adopt(writer);
    enable(&mut engine, client, config, Some(file));
    let mut waits = 0;
    engine.finish(|| {
        waits += 1;
        assert!(waits <= 1, "it waits although it was told not to");
        false
    });
    assert_eq!(waits, 1);
    drop(reader);
}

/// What cannot accept now cannot do so at once: the next attempt comes later.
#[test]
fn a_listener_that_fails_is_left_alone_for_a_while() {
    let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let listener = os::socket::Listener::inherit(socket.try_clone().unwrap().into()).unwrap();
    let config = service_config("test").unwrap();
    let mut server =
        Server::with_listeners(vec![listener], Vec::new(), config, Box::new(|_, _| {})).unwrap();
    // From here on it accepts nothing.
    rustix::net::shutdown(&socket, rustix::net::Shutdown::Both).unwrap();
    for _ in 0..2 {
        server.daemon.accept(0).unwrap();
        assert_eq!(server.handle().stats().faults, 1);
    }
}

/// Nobody takes replies to a peer that has closed its end: they would only take memory.
#[test]
fn replies_to_a_peer_that_is_gone_are_dropped() {
    for is_gone in [false, true] {
        let mut host = HostLink::new(Side::Consumer);
        host.write_closed = is_gone;
        host.reply(CallId::new(1), Ok(vec![0; 100].into()), false, None).unwrap();
        assert_eq!(host.wanted(), (true, !is_gone));
    }
}

#[test]
fn a_session_from_start_to_end() {
    let daemon = Daemon::start("session");
    for mut consumer in daemon.consumers() {
        consumer.enable_tracing(&one_buffer(), None).unwrap();
        assert_eq!(consumer.wait(Some(Duration::ZERO)).unwrap(), Waited::TimedOut);
        consumer.flush(FOREVER).unwrap();
        consumer.get_trace_stats().unwrap();
        consumer.disable_tracing().unwrap();
        assert_eq!(consumer.wait(Some(FOREVER)).unwrap(), Waited::Ended);
        let mut trace = Vec::new();
        let summary = consumer.read_into(&mut trace, FOREVER).unwrap();
        // The service's own packets at least: clocks, config, uuid, stats.
        assert!(summary.packets > 2, "{summary:?}");
        let packets = protos::TraceReader::new(&trace).iter().filter(Result::is_ok).count();
        assert_eq!(packets as u64, summary.packets);
        consumer.free_buffers().unwrap();
    }
}

#[test]
fn a_config_the_service_refuses() {
    let daemon = Daemon::start("refused");
    let config = TraceConfig { duration_ms: Some(u32::MAX), ..one_buffer() };
    for mut consumer in daemon.consumers() {
        consumer.enable_tracing(&config, None).unwrap();
        match consumer.wait(Some(FOREVER)) {
            Err(ConsumerError::Service(text)) => assert!(!text.is_empty()),
            other => panic!("{other:?}"),
        }
        assert!(matches!(consumer.get_trace_stats(), Err(ConsumerError::Rejected(_))));
    }
}

#[test]
fn a_trace_goes_into_the_file_that_came_along() {
    let daemon = Daemon::start("file");
    for (index, mut consumer) in daemon.consumers().into_iter().enumerate() {
        let path = daemon.directory.join(format!("trace-{index}"));
        let mut file =
            std::fs::File::options().create_new(true).read(true).write(true).open(path).unwrap();
        let config = TraceConfig { write_into_file: Some(true), ..one_buffer() };
        let fd = file.try_clone().unwrap().into();
        consumer.enable_tracing(&config, Some(fd)).unwrap();
        consumer.disable_tracing().unwrap();
        assert_eq!(consumer.wait(Some(FOREVER)).unwrap(), Waited::Ended);
        file.rewind().unwrap();
        let mut trace = Vec::new();
        file.read_to_end(&mut trace).unwrap();
        assert!(protos::TraceReader::new(&trace).iter().all(|packet| packet.is_ok()));
        assert!(!trace.is_empty());
    }
}

/// A file on a disk that is full after so many bytes, a multiple of 4096: memory that may not grow.
fn on_a_small_disk(bytes: u64) -> std::fs::File {
    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
    let fd = memfd_create("small disk", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
    ftruncate(&fd, bytes).unwrap();
    fcntl_add_seals(&fd, SealFlags::GROW).unwrap();
    fd.into()
}

#[test]
fn a_full_disk_ends_the_session_and_leaves_whole_packets() {
    let daemon = Daemon::start("full");
    for mut consumer in daemon.consumers() {
        let mut disk = on_a_small_disk(4096);
        // The packet that quotes the config finds no room; those before it do.
        let source =
            DataSourceConfig { legacy_config: Some("x".repeat(9000)), ..Default::default() };
        let source = TraceConfigDataSource { config: Some(source), ..Default::default() };
        let config =
            TraceConfig { write_into_file: Some(true), data_sources: vec![source], ..one_buffer() };
        let fd = disk.try_clone().unwrap().into();
        consumer.enable_tracing(&config, Some(fd)).unwrap();
        consumer.disable_tracing().unwrap();
        let ended = consumer.wait(Some(FOREVER));
        assert!(matches!(ended, Err(ConsumerError::Service(text)) if text.contains("failed")));
        let mut trace = Vec::new();
        disk.rewind().unwrap();
        disk.read_to_end(&mut trace).unwrap();
        assert!(!trace.is_empty() && trace.len() < 4096, "{}", trace.len());
        assert!(protos::TraceReader::new(&trace).iter().all(|packet| packet.is_ok()));
    }
}

#[test]
fn waking_interrupts_the_wait_once() {
    let daemon = Daemon::start("wake");
    for mut consumer in daemon.consumers() {
        consumer.enable_tracing(&one_buffer(), None).unwrap();
        let waker = consumer.waker();
        let thread = std::thread::spawn(move || waker.wake());
        assert_eq!(consumer.wait(Some(FOREVER)).unwrap(), Waited::Interrupted);
        thread.join().unwrap();
        consumer.waker().wake();
        consumer.waker().wake();
        // Also when the wake-up comes while something else is waited for.
        consumer.query_capabilities().unwrap();
        assert_eq!(consumer.wait(Some(FOREVER)).unwrap(), Waited::Interrupted);
        assert_eq!(consumer.wait(Some(Duration::ZERO)).unwrap(), Waited::TimedOut);
    }
}

#[test]
fn producers_come_and_go() {
    let daemon = Daemon::start("producers");
    let sources = |consumer: &mut Consumer| {
        let state = consumer.query_service_state(false).unwrap();
        (state.producers.len(), state.data_sources.len())
    };
    for mut consumer in daemon.consumers() {
        for mut producer in daemon.producers() {
            call(&mut *producer, initialize());
            call(&mut *producer, register("one"));
            assert_eq!(sources(&mut consumer), (1, 1));
            // A call after the last one: the order of a connection is kept.
            producer.send(register("two"), false, Attachment::None).unwrap();
            call(&mut *producer, ProducerRequest::Sync(SyncRequest::default()));
            assert_eq!(sources(&mut consumer), (1, 2));
            drop(producer);
            // The end of a connection travels apart from the consumer's questions.
            while sources(&mut consumer) != (0, 0) {}
        }
    }
}

#[test]
fn a_server_takes_nobodys_place() {
    let daemon = Daemon::start("place");
    let refused = Server::bind(options(&daemon.directory)).unwrap_err();
    assert_eq!(refused, BindError::Listen(ListenError::InUse(daemon.producer())));
    let text = format!("cannot listen on {}: another service is running there", daemon.producer());
    assert_eq!(refused.to_string(), text);
    daemon.assert_alive();

    // One free address and one taken: the free one is left as it was found.
    let mut partly = options(&daemon.directory);
    let free = daemon.directory.join("free");
    partly.producer_sockets = vec![Address::Path(free.clone())];
    Server::bind(partly).unwrap_err();
    assert!(!free.exists());
    daemon.assert_alive();
}

#[test]
fn everybody_is_told_when_the_service_ends() {
    let mut daemon = Daemon::start("end");
    let mut consumers = daemon.consumers();
    for consumer in &mut consumers {
        consumer.enable_tracing(&TraceConfig::default(), None).unwrap();
        // The answer comes behind the session.
        consumer.query_capabilities().unwrap();
    }
    let mut producers = daemon.producers();
    let commands = producers.each_mut().map(|producer| {
        call(&mut **producer, initialize());
        let request = ProducerRequest::GetAsyncCommand(Default::default());
        producer.send(request, true, Attachment::None).unwrap()
    });
    let next = Daemon { service: None, directory: daemon.directory.clone() };
    daemon.service.take().unwrap().stop().unwrap();
    for mut consumer in consumers {
        let told = consumer.wait(Some(FOREVER));
        assert!(
            matches!(&told, Err(ConsumerError::Service(why)) if why.contains("told to end")),
            "{told:?}"
        );
        assert!(matches!(consumer.wait(Some(FOREVER)), Err(ConsumerError::Disconnected)));
    }
    for (mut producer, command) in producers.into_iter().zip(commands) {
        // The call that waits is rejected first.
        match producer.receive(Some(FOREVER)) {
            Received::Reply { call, result: Err(_), has_more: false } if call == command => {}
            other => panic!("{other:?}"),
        }
        assert_eq!(producer.receive(Some(FOREVER)), Received::Disconnected);
        assert!(producer.send(initialize(), true, Attachment::None).is_err());
    }
    std::mem::forget(next);
    daemon.service =
        Some(InProcessService::run(Server::bind(options(&daemon.directory)).unwrap()).unwrap());
    daemon.assert_alive();
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

#[test]
fn too_long_a_frame_ends_only_its_own_connection() {
    let daemon = Daemon::start("frame");
    let stream = Stream::connect(&daemon.producer()).unwrap();
    let burst = [BIND, &131_069_u32.to_le_bytes()].concat();
    send_raw(&stream, &burst);
    assert_eq!(read_to_end(&stream), 0, "not even the bind is answered");
    daemon.assert_alive();
    let stats = daemon.service.as_ref().unwrap().handle().stats();
    assert_eq!((stats.cut_slow, stats.cut_broken, stats.faults), (0, 1, 1), "{stats:?}");
}

#[test]
fn leaving_in_the_middle_of_anything_harms_nobody() {
    let daemon = Daemon::start("leave");
    let invoke = b"\x14\0\0\0\x10\x02\x2a\x10\x08\x01\x10\x01\x1a\x08\x1a\x04test\x20\x01\x20\x00";
    let commands = b"\x0c\0\0\0\x10\x03\x2a\x08\x08\x01\x10\x05\x1a\x00\x20\x00";
    let whole = [BIND, invoke, commands].concat();
    for cut in 0..=whole.len() {
        let stream = Stream::connect(&daemon.producer()).unwrap();
        send_raw(&stream, &whole[..cut]);
    }
    daemon.assert_alive();
    let mut consumer = Consumer::connect(&daemon.consumer()).unwrap();
    while !consumer.query_service_state(false).unwrap().producers.is_empty() {}
}

#[test]
fn a_producer_that_does_not_read_is_cut() {
    let daemon = Daemon::start("slow");
    let stream = Stream::connect(&daemon.producer()).unwrap();
    send_raw(&stream, BIND);
    // Calls that fail are answered whatever the caller wants; each answer is ten bytes.
    let unroutable = b"\x0a\0\0\0\x10\x02\x2a\x06\x08\x01\x10\x7f\x20\x01";
    let many = unroutable.repeat(4096);
    // Whole frames only, or it would be cut for being out of step. Their answers are sixteen times what the daemon and
    // the socket keep.
    assert!((0..400).any(|_| !send_raw(&stream, &many)), "it is not cut");
    daemon.assert_alive();
    let stats = daemon.service.as_ref().unwrap().handle().stats();
    assert_eq!((stats.cut_slow, stats.cut_broken, stats.faults), (1, 0, 1), "{stats:?}");
}

#[test]
fn a_consumer_that_does_not_read_waits_with_its_questions() {
    let daemon = Daemon::start("patient");
    let stream = Stream::connect(&daemon.consumer()).unwrap();
    let mut consumer = SocketConnection::<ConsumerPort>::from_stream(stream).unwrap();
    let mut producer = SocketConnection::<ProducerPort>::connect(&daemon.producer()).unwrap();
    call(&mut producer, initialize());
    for index in 0..200 {
        let name = format!("{index}-{}", "x".repeat(500));
        call(&mut producer, register(&name));
    }
    // Each answer is over 100 KB: far more than a queue may hold, if they were not left unread.
    let ask = || ConsumerRequest::QueryServiceState(QueryServiceStateRequest::default());
    let last =
        (0..2000).map(|_| consumer.send(ask(), true, Attachment::None).unwrap()).last().unwrap();
    daemon.assert_alive();
    loop {
        match consumer.receive(Some(FOREVER)) {
            Received::Reply { call, result: Ok(_), has_more: false } if call == last => break,
            Received::Reply { result: Ok(_), .. } => {}
            other => panic!("{other:?}"),
        }
    }
}

/// Writes one packet with `len` bytes of text into the first buffer there is, in fragments.
fn write_large(producer: &mut dyn Connection<ProducerPort>, len: usize) {
    let event = protos::TestEvent { str: Some("x".repeat(len)), ..Default::default() };
    let data = Some(protos::TracePacketData::ForTesting(event));
    let packet = protos::TracePacket { data, ..Default::default() }.encode_to_vec();
    let pieces: Vec<&[u8]> = packet.chunks(60_000).collect();
    for (index, piece) in pieces.iter().enumerate() {
        let mut flags = ChunkFlags::default();
        if index > 0 {
            flags = flags.with(ChunkFlags::CONTINUES_FROM_PREV);
        }
        if index + 1 < pieces.len() {
            flags = flags.with(ChunkFlags::CONTINUES_ON_NEXT);
        }
        let (chunk, packets) = (ChunkId::new(index as u32), Packets::new(1, flags));
        let mut data = ChunkHeader { chunk, writer: WriterId::new(1), packets }.to_bytes().to_vec();
        let len = piece.len() as u32;
        data.extend([len as u8 | 0x80, (len >> 7) as u8 | 0x80, (len >> 14) as u8]);
        data.extend_from_slice(piece);
        let chunk = protos::CommitDataRequestChunksToMove {
            target_buffer: Some(1),
            data: Some(data),
            ..Default::default()
        };
        let commit =
            protos::CommitDataRequest { chunks_to_move: vec![chunk], ..Default::default() };
        producer.send(ProducerRequest::CommitData(commit), false, Attachment::None).unwrap();
    }
    call(producer, ProducerRequest::Sync(SyncRequest::default()));
}

/// All of it waits for the consumer at once. It reads, so it is not disconnected.
#[test]
fn a_packet_longer_than_what_may_wait_for_a_consumer() {
    for kind in 0..2 {
        let daemon = Daemon::start(&format!("long-{kind}"));
        let mut producer = SocketConnection::<ProducerPort>::connect(&daemon.producer()).unwrap();
        call(&mut producer, initialize());
        call(&mut producer, register("long"));
        let mut consumer = daemon.consumers().into_iter().nth(kind).unwrap();
        let source = DataSourceConfig { name: Some("long".into()), ..Default::default() };
        let source = TraceConfigDataSource { config: Some(source), ..Default::default() };
        let buffer = TraceConfigBufferConfig { size_kb: Some(96 * 1024), ..Default::default() };
        let (buffers, data_sources) = (vec![buffer], vec![source]);
        let config = TraceConfig { buffers, data_sources, ..TraceConfig::default() };
        consumer.enable_tracing(&config, None).unwrap();
        consumer.query_capabilities().unwrap();
        let len = CONSUMER_QUEUE_BYTES_MAX * 5 / 4;
        write_large(&mut producer, len);
        let mut longest = 0;
        let read = consumer.read_buffers(FOREVER, |packet| {
            longest = longest.max(packet.bytes().len());
            Ok(())
        });
        assert!(read.is_ok() && longest > len, "{read:?}, {longest}");
        // The session is there, and can be read again.
        assert!(consumer.read_buffers(FOREVER, |_| Ok(())).unwrap().bytes < 10_000);
        assert_eq!(daemon.service.as_ref().unwrap().handle().stats().faults, 0);
    }
}

#[test]
fn packets_do_not_count_against_a_consumer_and_all_else_does() {
    let mut host = HostLink::new(Side::Consumer);
    let queue = |host: &mut HostLink, bytes: usize, paced: bool| {
        if paced {
            host.expect_paced(bytes);
        }
        let link = std::mem::replace(host, HostLink::new(Side::Consumer));
        let mut peer =
            Peer::new(Side::Consumer, Link::Custom(Box::new(link)), User::Local(0), true);
        for _ in 0..bytes / 100_000 {
            peer.reply(CallId::new(1), Ok(vec![0; 100_000].into()), true, None).unwrap();
        }
        let Link::Custom(link) = peer.link else { return };
        *host = *link;
    };
    let many = CONSUMER_QUEUE_BYTES_MAX / 100_000 * 100_000;
    queue(&mut host, 2 * many, true);
    assert_eq!(host.check_queue(), Ok(()));
    assert!(host.is_paused());
    queue(&mut host, many + 200_000, false);
    assert_eq!(host.check_queue(), Err(Disconnect::SlowReader));
    // All has left: what comes now is counted from the beginning.
    host.transmit(|parts, _| Ok(parts.iter().map(|part| part.len()).sum()), drop).unwrap();
    queue(&mut host, many + 200_000, false);
    assert_eq!(host.check_queue(), Err(Disconnect::SlowReader));
}

/// Idle connections cost nothing when another one has something to say: the loop looks at those that are
/// ready, and at no others.
#[test]
fn a_thousand_idle_producers_are_not_looked_at() {
    let _ = os::process::raise_descriptor_limit();
    let daemon = Daemon::start("thousand");
    let handle = daemon.service.as_ref().unwrap().handle().clone();
    let connect = || {
        let mut producer = SocketConnection::<ProducerPort>::connect(&daemon.producer()).ok()?;
        producer.send(initialize(), true, Attachment::None).ok()?;
        // The service refuses more than its descriptors allow.
        matches!(producer.receive(Some(FOREVER)), Received::Reply { .. }).then_some(producer)
    };
    // Two descriptors each here, and one there; where there may not be so many, fewer will do.
    let mut idle: Vec<_> = std::iter::from_fn(connect).take(1000).collect();
    assert!(idle.len() > 100, "{}", idle.len());
    while handle.stats().connected > idle.len() as u64 {
        std::thread::yield_now();
    }
    let mut busy = idle.pop().unwrap();
    let before = handle.stats();
    assert_eq!(before.connected, idle.len() as u64 + 1);
    for _ in 0..500 {
        call(&mut busy, ProducerRequest::Sync(SyncRequest::default()));
    }
    let after = handle.stats();
    let (wakes, events) = (after.wakes - before.wakes, after.events - before.events);
    assert!(events <= 2 * 500 + 10 && wakes <= 2 * 500 + 10, "{wakes} wakes, {events} events");
    drop(idle);
    while handle.stats().connected > 1 {
        daemon.assert_alive();
    }
}
