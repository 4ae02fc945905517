//! A whole producer with the real service, and with a scripted service.

use std::collections::VecDeque;

use protos::producer_port::Request;
use protos::{
    DataSourceConfig, DataSourceDescriptor, GetAsyncCommandResponse,
    GetAsyncCommandResponseClearIncrementalState as Clear, GetAsyncCommandResponseCmd as Command,
    GetAsyncCommandResponseFlush as Flush, GetAsyncCommandResponseSetupDataSource as SetupSource,
    GetAsyncCommandResponseSetupTracing as SetupTracing,
    GetAsyncCommandResponseStartDataSource as StartSource,
    GetAsyncCommandResponseStopDataSource as StopSource, InitializeConnectionResponse, TraceConfig,
    TraceConfigBufferConfig, TraceConfigDataSource,
};
use protozero::Message;

use std::sync::mpsc;
use std::time::Duration;

use abi::ids::CallId;
use abi::ipc::Rejected;
use abi::ipc::port::ProducerPort;
use abi::shm::Region;
use abi::sync::{Arc, Condvar, Mutex, lock};
use client::connection::{Attachment, Connection, ConnectionError, ConnectionWaker, Received};
use client::consumer::{Consumer, Waited};
use client::data_source::{Ack, DataSource, FlushRequest, Instance};
use client::producer::{Producer, ProducerError, ProducerOptions, Scraping};
use client::write::{BufferExhaustedPolicy, TraceWriter};
use daemon::in_process::InProcessService;
use daemon::serve::{Server, ServerOptions, service_config};
use os::shm::MapError;
use os::socket::{Address, Stream};

/// No limit: a machine under load must not make a test fail.
const FOREVER: Duration = Duration::MAX;

/// Reports each step; writes a few packets.
struct Source {
    steps: mpsc::Sender<String>,
    writer: Option<TraceWriter>,
    /// Acks are sent to the test instead of dropped.
    keep: Option<mpsc::Sender<Ack>>,
}

impl Source {
    fn new() -> (Self, mpsc::Receiver<String>) {
        let (steps, told) = mpsc::channel();
        (Self { steps, writer: None, keep: None }, told)
    }

    fn record(&self, step: &str, instance: &Instance) {
        let _ = self.steps.send(format!("{step} {}", instance.id()));
    }

    fn done(&self, done: Ack) {
        match &self.keep {
            Some(keep) => drop(keep.send(done)),
            None => drop(done),
        }
    }
}

impl DataSource for Source {
    fn setup(&mut self, instance: &Instance) {
        self.record("setup", instance);
    }

    fn start(&mut self, instance: &Instance) {
        let mut writer = instance.trace_writer(BufferExhaustedPolicy::StallThenDrop);
        writer.new_packet().for_testing().str("started");
        // Larger than all of the shared memory.
        writer.new_packet().for_testing().str(&"x".repeat(1 << 20));
        self.writer = Some(writer);
        self.record("start", instance);
    }

    fn flush(&mut self, instance: &Instance, flush: &FlushRequest, done: Ack) {
        if let Some(writer) = &mut self.writer {
            writer.new_packet().for_testing().str("flushed");
            writer.flush();
        }
        self.record(&format!("flush {:#x}", flush.flags.get()), instance);
        self.done(done);
    }

    fn clear_incremental_state(&mut self, instance: &Instance) {
        self.record("clear", instance);
    }

    fn stop(&mut self, instance: &Instance, done: Ack) {
        if let Some(mut writer) = self.writer.take() {
            writer.new_packet().for_testing().str("stopped");
        }
        self.record("stop", instance);
        self.done(done);
    }
}

fn named(name: &str) -> DataSourceDescriptor {
    DataSourceDescriptor { name: Some(name.into()), ..Default::default() }
}

fn config() -> TraceConfig {
    let buffer = TraceConfigBufferConfig { size_kb: Some(4096), ..Default::default() };
    let config = DataSourceConfig { name: Some("test.source".into()), ..Default::default() };
    let source = TraceConfigDataSource { config: Some(config), ..Default::default() };
    TraceConfig { buffers: vec![buffer], data_sources: vec![source], ..Default::default() }
}

/// Texts of the test events in the consumer's buffer, long ones as their length.
fn texts(consumer: &mut Consumer) -> Vec<String> {
    let mut texts = Vec::new();
    let read = consumer.read_buffers(FOREVER, |packet| {
        let packet = protos::TracePacket::decode(packet.bytes()).unwrap();
        if let Some(protos::TracePacketData::ForTesting(event)) = packet.data {
            let text = event.str.unwrap();
            texts.push(if text.len() < 100 { text } else { text.len().to_string() });
        }
        Ok(())
    });
    read.unwrap();
    texts
}

fn server(directory: &std::path::Path) -> InProcessService {
    std::fs::create_dir_all(directory).unwrap();
    let mut options = ServerOptions::new(service_config("test").unwrap(), Box::new(|_, _| {}));
    options.producer_sockets = vec![Address::Path(directory.join("producer"))];
    InProcessService::run(Server::bind(options).unwrap()).unwrap()
}

fn directory(name: &str) -> std::path::PathBuf {
    std::env::temp_dir().join(format!("producer-{}-{name}", std::process::id()))
}

/// One session: every step reaches the source, and every packet reaches the consumer, in order.
fn record(service: &InProcessService, told: &mpsc::Receiver<String>) {
    let next = || told.recv_timeout(FOREVER).expect("a step");
    let mut consumer = service.consumer();
    consumer.enable_tracing(&config(), None).unwrap();
    let setup = next();
    let id = setup.strip_prefix("setup ").unwrap();
    assert_eq!(next(), format!("start {id}"));
    consumer.flush(FOREVER).unwrap();
    assert!(next().starts_with("flush 0x"));
    consumer.disable_tracing().unwrap();
    assert_eq!(consumer.wait(Some(FOREVER)).unwrap(), Waited::Ended);
    let mut rest = vec![next()];
    while !rest.last().unwrap().starts_with("stop") {
        rest.push(next());
    }
    let flushes = rest.len() - 1;
    assert!(rest[..flushes].iter().all(|step| step.starts_with("flush")), "{rest:?}");
    let mut expected = vec!["started".to_owned(), (1 << 20).to_string()];
    expected.extend(vec!["flushed".to_owned(); 1 + flushes]);
    expected.push("stopped".into());
    assert_eq!(texts(&mut consumer), expected);
    let stats = consumer.get_trace_stats().unwrap();
    assert_eq!(stats.buffer_stats[0].trace_writer_packet_loss.unwrap_or(0), 0);
}

#[test]
fn sessions_over_a_socket_and_without() {
    let directory = directory("sessions");
    let service = server(&directory);
    let mut options = ProducerOptions::new("test");
    options.address = Some(Address::Path(directory.join("producer")));
    let socket = Producer::connect(options.clone()).unwrap();
    let (source, told) = Source::new();
    socket.register(named("test.source"), source).unwrap();
    let (again, _) = Source::new();
    let taken = socket.register(named("test.source"), again);
    assert_eq!(taken, Err(ProducerError::Name { name: "test.source".into() }));
    assert!(socket.sync(FOREVER));
    assert!(socket.is_connected());
    record(&service, &told);
    record(&service, &told);
    drop(socket);
    let local = Producer::attach(service.producer(), options).unwrap();
    let (source, told) = Source::new();
    local.register(named("test.source"), source).unwrap();
    assert!(local.sync(FOREVER));
    record(&service, &told);
    drop(local);
    service.stop().unwrap();
    let _ = std::fs::remove_dir_all(directory);
}

/// The service ends during a session, and another service starts: sources are stopped, then registered
/// with the new service.
#[test]
fn reconnecting() {
    let directory = directory("reconnect");
    let mut options = ProducerOptions::new("test");
    options.address = Some(Address::Path(directory.join("producer")));
    // There is no service yet.
    let producer = Producer::connect(options.clone()).unwrap();
    options.reconnect = false;
    let refused = Producer::connect(options);
    assert!(matches!(refused, Err(ProducerError::Connect { .. })), "{refused:?}");
    let (source, told) = Source::new();
    producer.register(named("test.source"), source).unwrap();
    let service = server(&directory);
    assert!(producer.sync(FOREVER));
    let mut consumer = service.consumer();
    consumer.enable_tracing(&config(), None).unwrap();
    assert!(told.recv_timeout(FOREVER).unwrap().starts_with("setup"));
    assert!(told.recv_timeout(FOREVER).unwrap().starts_with("start"));
    service.stop().unwrap();
    assert!(told.recv_timeout(FOREVER).unwrap().starts_with("stop"));
    let service = server(&directory);
    assert!(producer.sync(FOREVER));
    record(&service, &told);
    drop(producer);
    service.stop().unwrap();
    let _ = std::fs::remove_dir_all(directory);
}

/// A process listens and accepts nobody, and its queue is full: a program goes on, and the service that comes next gets
/// it.
#[test]
fn a_full_queue_stops_no_producer() {
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketType};
    let directory = directory("full");
    std::fs::create_dir_all(&directory).unwrap();
    let path = directory.join("producer");
    let listener = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
    rustix::net::bind(&listener, &SocketAddrUnix::new(&path).unwrap()).unwrap();
    rustix::net::listen(&listener, 0).unwrap();
    let address = Address::Path(path.clone());
    let waiting: Vec<_> = std::iter::from_fn(|| Stream::connect(&address).ok()).collect();
    assert!(!waiting.is_empty());
    let mut options = ProducerOptions::new("test");
    options.address = Some(address);
    drop(Producer::connect(options.clone()).unwrap());
    let producer = Producer::connect(options).unwrap();
    assert!(!producer.sync(Duration::ZERO) && !producer.is_connected());
    drop((waiting, listener));
    std::fs::remove_file(&path).unwrap();
    let service = server(&directory);
    assert!(producer.sync(FOREVER));
    drop(producer);
    service.stop().unwrap();
    let _ = std::fs::remove_dir_all(directory);
}

/// Dropping a producer during a session stops its instances, and loses none of their packets.
#[test]
fn dropping_a_producer_delivers_everything() {
    let service = InProcessService::start(service_config("test").unwrap(), Box::new(|_, _| {}));
    let service = service.unwrap();
    let producer = Producer::attach(service.producer(), ProducerOptions::new("test")).unwrap();
    let (source, told) = Source::new();
    producer.register(named("test.source"), source).unwrap();
    assert!(producer.sync(FOREVER));
    let mut consumer = service.consumer();
    consumer.enable_tracing(&config(), None).unwrap();
    assert!(told.recv_timeout(FOREVER).unwrap().starts_with("setup"));
    assert!(told.recv_timeout(FOREVER).unwrap().starts_with("start"));
    drop(producer);
    assert!(told.recv_timeout(FOREVER).unwrap().starts_with("stop"));
    assert_eq!(texts(&mut consumer), ["started", "1048576", "stopped"]);
    service.stop().unwrap();
}

// ---------------------------------------------------------------- a scripted service

/// What the test and the connection share.
#[derive(Default)]
struct Script {
    sent: VecDeque<(Request, bool)>,
    received: VecDeque<Received>,
    region: Option<Region>,
    commands: Option<CallId>,
    calls: u64,
}

struct Link {
    script: Arc<(Mutex<Script>, Condvar)>,
    real: Box<dyn Connection<ProducerPort>>,
    _service: InProcessService,
}

impl Connection<ProducerPort> for Link {
    fn send(
        &mut self,
        request: Request,
        want_reply: bool,
        _attachment: Attachment,
    ) -> Result<CallId, ConnectionError> {
        let mut script = lock(&self.script.0);
        script.calls += 1;
        let call = CallId::new(script.calls);
        let mut reply = |result| {
            script.received.push_back(Received::Reply { call, result, has_more: false });
        };
        match &request {
            Request::InitializeConnection(_) => reply(Ok(InitializeConnectionResponse {
                direct_smb_patching_supported: Some(true),
                ..Default::default()
            }
            .encode_to_vec())),
            Request::GetAsyncCommand(_) => script.commands = Some(call),
            // An old service does not know some methods.
            Request::Sync(_) => reply(Err(Rejected)),
            _ if want_reply => reply(Ok(Vec::new())),
            _ => {}
        }
        script.sent.push_back((request, want_reply));
        drop(script);
        self.script.1.notify_all();
        Ok(call)
    }

    fn receive(&mut self, timeout: Option<Duration>) -> Received {
        if let Some(received) = lock(&self.script.0).received.pop_front() {
            return received;
        }
        // The real connection is only woken: its service sends nothing.
        self.real.receive(timeout)
    }

    fn take_region(&mut self) -> Option<Result<Region, MapError>> {
        lock(&self.script.0).region.take().map(Ok)
    }

    fn waker(&self) -> ConnectionWaker {
        self.real.waker()
    }

    fn is_closed(&self) -> bool {
        self.real.is_closed()
    }
}

struct Scripted {
    producer: Producer,
    script: Arc<(Mutex<Script>, Condvar)>,
    waker: ConnectionWaker,
    told: mpsc::Receiver<String>,
}

impl Scripted {
    fn new(keep: Option<mpsc::Sender<Ack>>) -> Self {
        let service = InProcessService::start(service_config("test").unwrap(), Box::new(|_, _| {}));
        let service = service.unwrap();
        let script = Arc::<(Mutex<Script>, Condvar)>::default();
        let real = service.producer();
        let waker = real.waker();
        let link = Link { script: script.clone(), real, _service: service };
        let producer = Producer::attach(Box::new(link), ProducerOptions::new("test")).unwrap();
        let (mut source, told) = Source::new();
        source.keep = keep;
        producer.register(named("test.source"), source).unwrap();
        let scripted = Self { producer, script, waker, told };
        // The connection is accepted when the answer to a rejected sync has arrived.
        assert!(scripted.producer.sync(FOREVER));
        scripted
    }

    fn command(&self, command: Command) {
        let response = GetAsyncCommandResponse { cmd: Some(command), ..Default::default() };
        let mut script = lock(&self.script.0);
        let call = script.commands.expect("the producer asked for commands");
        let result = Ok(response.encode_to_vec());
        script.received.push_back(Received::Reply { call, result, has_more: true });
        drop(script);
        self.waker.wake();
    }

    fn setup_tracing(&self, bytes: usize, page_kb: u32) {
        lock(&self.script.0).region = Some(Region::heap(bytes));
        let setup =
            SetupTracing { shared_buffer_page_size_kb: Some(page_kb), ..Default::default() };
        self.command(Command::SetupTracing(setup));
    }

    fn start(&self, id: u64) {
        let start = StartSource {
            new_instance_id: Some(id),
            config: Some(
                DataSourceConfig {
                    name: Some("test.source".into()),
                    target_buffer: Some(9),
                    ..Default::default()
                }
                .into(),
            ),
            ..Default::default()
        };
        self.command(Command::StartDataSource(start));
    }

    fn flush(&self, id: u64, instances: &[u64]) {
        self.command(Command::Flush(Flush {
            request_id: Some(id),
            data_source_ids: instances.to_vec(),
            ..Default::default()
        }));
    }

    /// The next request of the producer that `pick` accepts.
    fn wait<T>(&self, pick: impl Fn(&Request, bool) -> Option<T>) -> T {
        let mut script = lock(&self.script.0);
        loop {
            while let Some((request, want_reply)) = script.sent.pop_front() {
                if let Some(picked) = pick(&request, want_reply) {
                    return picked;
                }
            }
            script = self.script.1.wait(script).unwrap();
        }
    }

    fn wait_flush_ack(&self) -> u64 {
        self.wait(|request, _| match request {
            Request::CommitData(commit) => commit.flush_request_id,
            _ => None,
        })
    }

    fn step(&self) -> String {
        self.told.recv_timeout(FOREVER).expect("a step")
    }
}

/// The registration says that the producer reports starts and stops.
#[test]
fn registration() {
    let scripted = Scripted::new(None);
    let descriptor = scripted.wait(|request, _| match request {
        Request::RegisterDataSource(register) => register.data_source_descriptor.clone(),
        _ => None,
    });
    let notify = (descriptor.will_notify_on_start, descriptor.will_notify_on_stop);
    assert_eq!(notify, (Some(true), Some(true)));
}

/// Commands for unknown sources and instances change nothing, and flushes are acknowledged.
#[test]
fn the_unknown() {
    let scripted = Scripted::new(None);
    scripted.setup_tracing(64 * 4096, 4);
    scripted.command(Command::SetupDataSource(SetupSource {
        config: Some(
            DataSourceConfig { name: Some("unknown".into()), ..Default::default() }.into(),
        ),
        ..Default::default()
    }));
    scripted.command(Command::ClearIncrementalState(Clear::default()));
    scripted.flush(3, &[17, 18]);
    assert_eq!(scripted.wait_flush_ack(), 3, "also of unknown instances");
}

/// Acks come in the order of flushes, also if the second flush is done first. Memory and buffers are those that the
/// service named. An instance is started without a set-up, as services before Android Q do it.
#[test]
fn flush_acks_keep_their_order() {
    let (keep, kept) = mpsc::channel();
    let scripted = Scripted::new(Some(keep));
    // Space for all that the source writes.
    scripted.setup_tracing(8 << 20, 32);
    assert!(scripted.producer.sync(FOREVER), "the memory is taken before there is other memory");
    // A second memory is ignored: writers hold chunks of the first one.
    scripted.setup_tracing(4096, 4);
    scripted.start(5);
    assert_eq!((scripted.step(), scripted.step()), ("setup 5".into(), "start 5".into()));
    let buffer = scripted.wait(|request, want_reply| match request {
        Request::RegisterTraceWriter(register) => Some((register.target_buffer, want_reply)),
        _ => None,
    });
    assert_eq!(buffer, (Some(9), false));
    scripted.wait(|request, _| match request {
        Request::NotifyDataSourceStarted(started) => {
            (started.data_source_id == Some(5)).then_some(())
        }
        _ => None,
    });
    scripted.flush(1, &[5]);
    scripted.flush(2, &[5]);
    let first = kept.recv_timeout(FOREVER).unwrap();
    let second = kept.recv_timeout(FOREVER).unwrap();
    drop(second);
    scripted.command(Command::StopDataSource(StopSource {
        instance_id: Some(5),
        ..Default::default()
    }));
    let stop = kept.recv_timeout(FOREVER).unwrap();
    drop(first);
    assert_eq!(scripted.wait_flush_ack(), 2, "covers the first");
    drop(stop);
    scripted.wait(|request, _| match request {
        Request::NotifyDataSourceStopped(stopped) => {
            (stopped.data_source_id == Some(5)).then_some(())
        }
        _ => None,
    });
}

/// A producer disconnects from a service whose memory it cannot use.
#[test]
fn bad_memory_ends_the_connection() {
    let scripted = Scripted::new(None);
    scripted.setup_tracing(4096 * 3, 8);
    assert!(scripted.producer.wait_ended(FOREVER));
    assert!(!scripted.producer.is_connected());
    assert!(!scripted.producer.sync(FOREVER), "fails at once");
}

/// Without a stream of commands the producer would never receive a command, so it connects again.
#[test]
fn the_end_of_commands_ends_the_connection() {
    let scripted = Scripted::new(None);
    let mut script = lock(&scripted.script.0);
    let call = script.commands.unwrap();
    script.received.push_back(Received::Reply { call, result: Err(Rejected), has_more: false });
    drop(script);
    scripted.waker.wake();
    assert!(scripted.producer.wait_ended(FOREVER));
    assert!(!scripted.producer.is_connected());
}

/// Commands that cannot be decoded are skipped.
#[test]
fn unknown_commands_are_ignored() {
    let scripted = Scripted::new(None);
    for bytes in [&b""[..], b"\xff\xff", b"\x4a\x02\x08\x01"] {
        let mut script = lock(&scripted.script.0);
        let call = script.commands.unwrap();
        let result = Ok(bytes.to_vec());
        script.received.push_back(Received::Reply { call, result, has_more: true });
        // A service that answers no call.
        let call = CallId::new(u64::MAX);
        script.received.push_back(Received::Reply { call, result: Err(Rejected), has_more: false });
        drop(script);
        scripted.waker.wake();
    }
    assert!(scripted.producer.sync(FOREVER));
}

#[test]
fn own_memory_is_taken_or_done_without() {
    let service = InProcessService::start(service_config("test").unwrap(), Box::new(|_, _| {}));
    let service = service.unwrap();
    // The second request is illegal, so the service makes memory of its default size.
    for (page_bytes_hint, own) in [(8192, true), (12288, false)] {
        let mut options = ProducerOptions::new("own");
        options.own_memory = true;
        options.shm_bytes_hint = 3 << 15;
        options.page_bytes_hint = page_bytes_hint;
        options.scraping = Scraping::On;
        let producer = Producer::attach(service.producer(), options).unwrap();
        let (source, told) = Source::new();
        producer.register(named("test.source"), source).unwrap();
        assert!(producer.sync(FOREVER));
        record(&service, &told);
        let mut consumer = service.consumer();
        consumer.enable_tracing(&config(), None).unwrap();
        assert!(told.recv_timeout(FOREVER).unwrap().starts_with("setup"));
        assert!(told.recv_timeout(FOREVER).unwrap().starts_with("start"));
        drop(producer);
        assert!(told.iter().any(|step| step.starts_with("stop")), "{own}");
    }
    service.stop().unwrap();
}
