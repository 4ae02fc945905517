//! What peers can make of the log of a daemon, over real sockets.

use std::io::{IoSlice, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use protos::{InitializeConnectionRequest, RegisterDataSourceRequest, producer_port::Request};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

use super::FOREVER;
use abi::ids::BufferId;
use abi::ipc::Port as _;
use abi::ipc::port::ProducerPort;
use abi::shm::Region;
use abi::sync::{Arc, Mutex, lock};
use client::connection::{Attachment, Connection as _, Received, SocketConnection};
use client::consumer::Consumer;
use daemon::in_process::InProcessService;
use daemon::limits::LOG_LINES_WAITING_MAX;
use daemon::serve::{HeapRegions, Server, ServerOptions, service_config};
use os::socket::Address;
use service::RegionFactory;
use service::buffer::TraceBuffer;

/// More than one user may write at once.
const LINES: u64 = 2000;
/// What the slowest machine needs for one answer. Only a loop that is blocked takes longer.
const ANSWER: Duration = Duration::from_secs(60);

struct Daemon {
    service: InProcessService,
    directory: std::path::PathBuf,
}

impl Daemon {
    fn start(name: &str, log: impl FnMut(&str) + Send + 'static) -> Self {
        Self::with_regions(name, Arc::new(HeapRegions), log)
    }

    fn with_regions(
        name: &str,
        regions: Arc<dyn RegionFactory>,
        mut log: impl FnMut(&str) + Send + 'static,
    ) -> Self {
        let directory = std::env::temp_dir().join(format!("log-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let log = Box::new(move |_, text: &str| log(text));
        let mut config = service_config("test").unwrap();
        config.regions = regions;
        let mut options = ServerOptions::new(config, log);
        options.producer_sockets = vec![Address::Path(directory.join("producer"))];
        options.consumer_sockets = vec![Address::Path(directory.join("consumer"))];
        let service = InProcessService::run(Server::bind(options).unwrap()).unwrap();
        Self { service, directory }
    }

    fn wait_for_faults(&self, count: u64) {
        while self.service.handle().stats().faults < count {
            std::thread::yield_now();
        }
    }

    fn end(self) {
        self.service.stop().unwrap();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// A producer that is bound, as one must be before it may send descriptors.
fn producer(directory: &Path) -> UnixStream {
    let stream = UnixStream::connect(directory.join("producer")).unwrap();
    (&stream).write_all(b"\x12\0\0\0\x10\x01\x1a\x0e\x0a\x0cProducerPort").unwrap();
    (&stream).read_exact(&mut [0; 4]).unwrap();
    stream
}

/// A request to initialize the connection with memory that is none.
fn refused(stream: &UnixStream) {
    let request = InitializeConnectionRequest {
        producer_name: Some("hostile".into()),
        producer_provided_shmem: Some(true),
        ..Default::default()
    };
    let args = ProducerPort::encode(&Request::InitializeConnection(request));
    let mut invoke = vec![0x08, 1, 0x10, 1, 0x1a, args.len() as u8];
    invoke.extend(args);
    let mut frame = vec![0x10, 2, 0x2a, invoke.len() as u8];
    frame.extend(invoke);
    let bytes = [&(frame.len() as u32).to_le_bytes()[..], &frame].concat();
    let file = std::fs::File::open("/dev/null").unwrap();
    let fds = [file.as_fd()];
    let mut space = [MaybeUninit::uninit(); 64];
    let mut control = SendAncillaryBuffer::new(&mut space);
    assert!(control.push(SendAncillaryMessage::ScmRights(&fds)));
    sendmsg(stream, &[IoSlice::new(&bytes)], &mut control, SendFlags::NOSIGNAL).unwrap();
}

/// Over one connection where the kernel does not refuse descriptors, and over many in any case.
#[test]
fn refused_memory_and_new_connections_do_not_fill_the_log() {
    let (line, lines) = mpsc::channel();
    let daemon = Daemon::start("refused", move |text| line.send(text.to_owned()).unwrap());
    for count in 1..=LINES {
        refused(&producer(&daemon.directory));
        daemon.wait_for_faults(count);
    }
    // Lines of the service about its producers have the same limit.
    daemon.end();
    let lines: Vec<String> = lines.into_iter().collect();
    let refused = lines.iter().filter(|line| line.contains("producer's own memory refused"));
    let refused = refused.count() as u64;
    // One user may write 128 lines, and one more each second.
    assert!((100..LINES / 2).contains(&refused), "{refused}");
    let told = lines.iter().filter_map(|line| {
        let (count, rest) = line.split_once(" messages about user ")?;
        assert!(rest.ends_with(" not shown"), "{line}");
        count.parse::<u64>().ok()
    });
    assert!(told.sum::<u64>() >= LINES - refused, "{lines:?}");
}

/// A message has one descriptor; with more of them than there is space for, the kernel drops some.
#[test]
fn a_message_with_many_descriptors_is_told_as_that() {
    let (line, lines) = mpsc::channel();
    let daemon = Daemon::start("many", move |text| line.send(text.to_owned()).unwrap());
    let stream = producer(&daemon.directory);
    let file = std::fs::File::open("/dev/null").unwrap();
    let fds = [file.as_fd(); 9];
    let mut space = [MaybeUninit::uninit(); 128];
    let mut control = SendAncillaryBuffer::new(&mut space);
    assert!(control.push(SendAncillaryMessage::ScmRights(&fds)));
    sendmsg(&stream, &[IoSlice::new(&[0])], &mut control, SendFlags::NOSIGNAL).unwrap();
    daemon.wait_for_faults(1);
    daemon.end();
    let lines: Vec<String> = lines.into_iter().collect();
    let told = |text: &str| lines.iter().filter(|line| line.contains(text)).count();
    assert_eq!(told("a message lost its descriptors"), 1, "{lines:?}");
    assert_eq!(told("do not close in time"), 0, "{lines:?}");
}

/// The function of the log blocks for as long as the test likes, as a pipe that nobody reads.
#[test]
fn a_log_that_nobody_reads_stops_nothing() {
    let (gate, wait) = mpsc::channel::<()>();
    let (line, told) = mpsc::channel();
    let daemon = Daemon::start("unread", move |text| {
        // Until the test drops the gate.
        let _ = wait.recv();
        let _ = line.send(text.to_owned());
    });
    let directory = daemon.directory.clone();
    let (answer, answered) = mpsc::channel();
    std::thread::spawn(move || {
        for _ in 0..64 {
            refused(&producer(&directory));
        }
        let mut consumer = Consumer::connect(&Address::Path(directory.join("consumer"))).unwrap();
        consumer.query_service_state(false).unwrap();
        let _ = answer.send(());
    });
    answered.recv_timeout(ANSWER).expect("the loop of the daemon waits for the log");
    daemon.wait_for_faults(64);
    drop(gate);
    daemon.end();
    let lines: Vec<String> = told.into_iter().collect();
    assert!(lines.len() < LOG_LINES_WAITING_MAX);
    let last = lines.last().unwrap();
    assert!(last.contains("connections served"), "all lines, in their order: {lines:?}");
}

/// A control character in a name could forge a line of the log, or change the terminal.
#[test]
fn control_characters_of_peers_do_not_reach_the_log() {
    let (line, lines) = mpsc::channel();
    let daemon = Daemon::start("control", move |text| line.send(text.to_owned()).unwrap());
    let address = Address::Path(daemon.directory.join("producer"));
    let mut producer = SocketConnection::<ProducerPort>::connect(&address).unwrap();
    let name = Some("good\n[000.000] traced: forged\x1b[2J".into());
    let request = InitializeConnectionRequest { producer_name: name, ..Default::default() };
    let register = RegisterDataSourceRequest::default();
    for request in [Request::InitializeConnection(request), Request::RegisterDataSource(register)] {
        producer.send(request, true, Attachment::None).unwrap();
        let reply = producer.receive(Some(FOREVER));
        assert!(matches!(reply, Received::Reply { .. }), "{reply:?}");
    }
    daemon.end();
    let lines: Vec<String> = lines.into_iter().collect();
    assert!(lines.iter().any(|line| line.contains("data source without a name")), "{lines:?}");
    for line in lines {
        assert!(!line.contains(char::is_control), "{line:?}");
    }
}

/// Makes the loop wait when it makes a buffer, until the test drops its end.
struct Gate(Mutex<mpsc::Receiver<()>>);

impl RegionFactory for Gate {
    fn wrap_buffer(&self, _: BufferId, buffer: TraceBuffer) -> TraceBuffer {
        let _ = lock(&self.0).recv();
        buffer
    }

    fn create(&self, len: usize) -> Result<Region, String> {
        Ok(Region::heap(len))
    }
}

#[test]
fn a_turn_that_does_not_end_is_told_with_its_peer() {
    let ((gate, wait), (line, lines)) = (mpsc::channel(), mpsc::channel());
    let regions = Arc::new(Gate(Mutex::new(wait)));
    let log = move |text: &str| line.send(text.to_owned()).unwrap();
    let daemon = Daemon::with_regions("turn", regions, log);
    let address = Address::Path(daemon.directory.join("consumer"));
    let mut consumer = Consumer::connect(&address).unwrap();
    // Once it is bound, a request is sent at once.
    consumer.query_capabilities().unwrap();
    consumer.enable_tracing(&super::scraping::config(), None).unwrap();
    let told = |what| lines.iter().find(|line| line.contains(what)).unwrap();
    let busy = format!("of user {})", os::process::effective_uid());
    for what in ["a turn has not ended after", "a turn took"] {
        let line = told(what);
        assert!(line.contains("a request of a consumer (connection "), "{line}");
        assert!(line.ends_with(&busy), "{line}");
        // The first line comes while the loop waits.
        let _ = gate.send(());
    }
    drop(gate);
    assert!(daemon.service.handle().stats().slow_turns >= 1);
    daemon.end();
}
