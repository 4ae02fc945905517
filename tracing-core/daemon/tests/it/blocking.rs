//! Descriptors whose `close` takes as long as their sender likes: the loop of the daemon never waits for one.
//!
//! The descriptor is a TCP socket with unread bytes and a long `SO_LINGER`. Its `close` returns when the other end,
//! which the test has, goes away.

use std::io::{IoSlice, Write as _};
use std::mem::MaybeUninit;
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use protos::{InitializeConnectionRequest, producer_port::Request};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

use abi::ipc::Port as _;
use abi::ipc::port::ProducerPort;
use client::consumer::Consumer;
use daemon::in_process::InProcessService;
use daemon::serve::{Server, ServerOptions, ServerStats, service_config};
use os::socket::Address;

use crate::slow::slow_to_close;

/// What the slowest machine needs for one answer. Only a loop that is blocked takes longer.
const ANSWER: Duration = Duration::from_secs(60);

struct Daemon {
    /// The other ends. They are dropped first, so that the daemon can end.
    receivers: Vec<TcpStream>,
    service: InProcessService,
    directory: std::path::PathBuf,
}

impl Daemon {
    fn start(name: &str) -> Self {
        let directory = std::env::temp_dir().join(format!("block-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let mut options = ServerOptions::new(service_config("test").unwrap(), Box::new(|_, _| {}));
        options.producer_sockets = vec![Address::Path(directory.join("producer"))];
        options.consumer_sockets = vec![Address::Path(directory.join("consumer"))];
        let service = InProcessService::run(Server::bind(options).unwrap()).unwrap();
        Self { service, directory, receivers: Vec::new() }
    }

    /// A producer that is bound, as one must be before it may send descriptors.
    fn hostile(&self) -> UnixStream {
        let stream = UnixStream::connect(self.directory.join("producer")).unwrap();
        (&stream).write_all(b"\x12\0\0\0\x10\x01\x1a\x0e\x0a\x0cProducerPort").unwrap();
        std::io::Read::read_exact(&mut &stream, &mut [0; 4]).unwrap();
        stream
    }

    /// Sends `bytes` with `count` descriptors that are slow to close, of which only the daemon has a handle then.
    fn send(&mut self, stream: &UnixStream, bytes: &[u8], count: usize) {
        assert!(self.try_send(stream, bytes, count));
    }

    /// The same; false if the connection is closed.
    fn try_send(&mut self, stream: &UnixStream, bytes: &[u8], count: usize) -> bool {
        self.send_with(stream, bytes, count, SendFlags::empty()).is_ok()
    }

    fn send_with(
        &mut self,
        stream: &UnixStream,
        bytes: &[u8],
        count: usize,
        flags: SendFlags,
    ) -> rustix::io::Result<usize> {
        let before = self.receivers.len();
        let (slow, receivers): (Vec<_>, Vec<_>) = (0..count).map(|_| slow_to_close()).unzip();
        self.receivers.extend(receivers);
        let slow = Arc::new(slow);
        let (dropped, is_sent) = (Arc::clone(&slow), Arc::new(AtomicBool::new(false)));
        let sent_before = Arc::clone(&is_sent);
        // A thread that is awake already is mostly faster than the daemon, which then has the last handle. If it is not,
        // the thread waits.
        std::thread::spawn(move || {
            while !sent_before.load(Ordering::Acquire) {
                std::hint::spin_loop();
            }
            drop(dropped);
        });
        let borrowed: Vec<_> = slow.iter().map(AsFd::as_fd).collect();
        let mut space = [MaybeUninit::uninit(); 1024];
        let mut control = SendAncillaryBuffer::new(&mut space);
        assert!(control.push(SendAncillaryMessage::ScmRights(&borrowed)));
        let flags = flags | SendFlags::NOSIGNAL;
        let sent = sendmsg(stream, &[IoSlice::new(bytes)], &mut control, flags);
        drop(slow);
        is_sent.store(true, Ordering::Release);
        // If it was not sent, this end has the last handle of each.
        self.receivers.truncate(if sent.is_ok() { usize::MAX } else { before });
        sent
    }

    fn stats(&self) -> ServerStats {
        self.service.handle().stats()
    }

    /// A consumer over a socket gets an answer.
    fn assert_alive(&self) {
        let (tell, told) = mpsc::channel();
        let address = Address::Path(self.directory.join("consumer"));
        std::thread::spawn(move || {
            let mut consumer = Consumer::connect(&address).unwrap();
            consumer.query_service_state(false).unwrap();
            let _ = tell.send(());
        });
        told.recv_timeout(ANSWER).expect("the loop of the daemon waits for a close");
    }

    fn end(self) {
        drop(self.receivers);
        self.service.stop().unwrap();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// A frame that makes the service take the descriptor as the memory of a producer.
fn initialize() -> Vec<u8> {
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
    [&(frame.len() as u32).to_le_bytes()[..], &frame].concat()
}

/// An empty frame, which is skipped: the descriptor waits for a request that takes it.
const NOTHING: &[u8] = &[0; 4];
/// A frame that is too long.
const BROKEN: &[u8] = &[0xff; 4];

fn wait_until_connected(daemon: &Daemon, count: u64) {
    while daemon.stats().connected != count {
        std::thread::yield_now();
    }
}

#[test]
fn memory_that_is_refused() {
    let mut daemon = Daemon::start("refused");
    let stream = daemon.hostile();
    daemon.send(&stream, &initialize(), 1);
    daemon.assert_alive();
    daemon.end();
}

#[test]
fn a_descriptor_that_the_next_one_replaces() {
    let mut daemon = Daemon::start("replaced");
    let stream = daemon.hostile();
    for _ in 0..2 {
        daemon.send(&stream, NOTHING, 1);
    }
    daemon.assert_alive();
    daemon.end();
}

#[test]
fn a_peer_that_leaves_its_descriptor() {
    let mut daemon = Daemon::start("leaves");
    let stream = daemon.hostile();
    daemon.send(&stream, NOTHING, 1);
    daemon.assert_alive();
    drop(stream);
    daemon.assert_alive();
    wait_until_connected(&daemon, 0);
    daemon.end();
}

#[test]
fn more_descriptors_than_a_message_may_have() {
    for count in [2, 3, 20] {
        let mut daemon = Daemon::start(&format!("many-{count}"));
        let stream = daemon.hostile();
        daemon.send(&stream, NOTHING, count);
        daemon.assert_alive();
        daemon.end();
    }
}

/// The first bytes break the protocol. What comes behind them is in the socket when the daemon closes it.
#[test]
fn descriptors_that_are_never_received() {
    let mut daemon = Daemon::start("never");
    for _ in 0..20 {
        let stream = daemon.hostile();
        (&stream).write_all(BROKEN).unwrap();
        // Some of them come in time.
        daemon.try_send(&stream, NOTHING, 1);
    }
    daemon.assert_alive();
    wait_until_connected(&daemon, 0);
    daemon.end();
}

/// The kernel drops an urgent byte that a call does not ask for, with its descriptors, in that call, when there is a
/// byte behind it.
#[test]
fn descriptors_on_urgent_bytes() {
    let mut daemon = Daemon::start("urgent");
    // Often enough that the daemon has the last handle of one.
    let mut streams: Vec<UnixStream> = (0..8).map(|_| daemon.hostile()).collect();
    for stream in &mut streams {
        match daemon.send_with(stream, &NOTHING[..1], 1, SendFlags::OOB) {
            Ok(_) => {}
            Err(error) => {
                assert_eq!(error, rustix::io::Errno::OPNOTSUPP);
                return skip::test(
                    "descriptors_on_urgent_bytes",
                    "this kernel has no urgent bytes",
                );
            }
        }
        stream.write_all(&NOTHING[1..2]).unwrap();
    }
    daemon.assert_alive();
    // The byte counts as the others do: what comes behind it is answered.
    let mut last = streams.pop().unwrap();
    last.write_all(&NOTHING[2..]).unwrap();
    last.write_all(b"\x06\0\0\0\x10\x02\x2a\x02\x08\x01").unwrap();
    std::io::Read::read_exact(&mut last, &mut [0; 4]).unwrap();
    drop((streams, last));
    daemon.assert_alive();
    daemon.end();
}

/// A user whose descriptor does not close loses the connection, and passes no further ones until it has closed.
#[test]
fn a_user_whose_descriptor_is_stuck() {
    let mut daemon = Daemon::start("stuck");
    let stream = daemon.hostile();
    // Until the daemon has the last handle of one. Where the thread of `send_with` is late, that thread has it.
    let mut next_try_ns = 0;
    while daemon.stats().cut_stuck == 0 {
        // Not at once: each try starts a thread, and the daemon calls a descriptor stuck after a second.
        if os::clock::mono_ns() >= next_try_ns {
            let _ = daemon.try_send(&stream, NOTHING, 1);
            next_try_ns = os::clock::mono_ns() + 50_000_000;
        }
        std::thread::yield_now();
    }
    let wait = |daemon: &Daemon, count: u64| {
        while daemon.stats().cut_stuck < count {
            std::thread::yield_now();
        }
    };
    // A new connection works, but for descriptors: the kernel or the daemon refuses them.
    let other = daemon.hostile();
    if daemon.try_send(&other, NOTHING, 1) {
        wait(&daemon, 2);
    }
    daemon.assert_alive();
    assert!(daemon.stats().stuck >= 1);
    daemon.receivers.clear();
    // The threads come back.
    loop {
        let stream = daemon.hostile();
        let cut = daemon.stats().cut_stuck;
        if daemon.try_send(&stream, NOTHING, 1) {
            daemon.assert_alive();
            if daemon.stats().cut_stuck == cut {
                break;
            }
        }
        daemon.receivers.clear();
    }
    daemon.end();
}
