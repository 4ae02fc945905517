//! A peer that watches its end of a connection so often that each call of the daemon on the other end takes long.
//!
//! The limit of descriptors is that of the process, so this is a program of its own. Only root can be another user:
//! without it, the peer is of the user of the daemon, which does not wait, but is cut as others are.

extern crate tracing_core_daemon as daemon;

use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::sync::mpsc;

use rustix::event::epoll;
use rustix::process::{Resource, Rlimit, Uid, geteuid, getrlimit, setrlimit};

use abi::sync::{Arc, Mutex, lock};
use client::consumer::Consumer;
use daemon::in_process::InProcessService;
use daemon::serve::{Server, ServerOptions, service_config};
use os::socket::Address;

/// A user without rights.
const NOBODY: u32 = 65534;
/// Sets of watches, each of all duplicates of the socket: a call takes much longer than what is allowed.
const SETS_MAX: usize = 700;
const DUPLICATES: usize = 256;
/// Frames that are sent at most: a connection that is not cut by then is never cut.
const FRAMES_MAX: usize = 2 * SETS_MAX;
const BIND: &[u8] = b"\x12\0\0\0\x10\x01\x1a\x0e\x0a\x0cProducerPort";

/// A set of watches of all of `sockets`; None if there can be no more.
fn make_watches(sockets: &[UnixStream]) -> Option<OwnedFd> {
    let set = epoll::create(epoll::CreateFlags::CLOEXEC).ok()?;
    let flags = epoll::EventFlags::IN | epoll::EventFlags::OUT | epoll::EventFlags::ET;
    for socket in sockets {
        epoll::add(&set, socket.as_fd(), epoll::EventData::new_u64(0), flags).ok()?;
    }
    Some(set)
}

/// Adds watches and sends empty frames until the connection is closed, or there were too many.
fn attack(socket: &SocketAddr) {
    if geteuid().is_root() {
        // Of this thread alone.
        let uid = Uid::from_raw(NOBODY);
        rustix::thread::set_thread_res_uid(uid, uid, uid).unwrap();
    }
    let stream = UnixStream::connect_addr(socket).unwrap();
    (&stream).write_all(BIND).unwrap();
    (&stream).read_exact(&mut [0; 4]).unwrap();
    let duplicates: Vec<_> = (0..DUPLICATES).map(|_| stream.try_clone().unwrap()).collect();
    let mut sets = Vec::new();
    for _ in 0..FRAMES_MAX {
        if (&stream).write_all(&[0; 4]).is_err() {
            return;
        }
        if sets.len() < SETS_MAX {
            sets.extend(make_watches(&duplicates));
        }
    }
}

#[test]
fn a_peer_with_many_watches_is_cut() {
    skip::without_root("a_peer_with_many_watches_is_cut, of another user");
    let hard = getrlimit(Resource::Nofile).maximum;
    let raised = Rlimit { current: Some(hard.unwrap_or(4096).min(4096)), maximum: hard };
    setrlimit(Resource::Nofile, raised).unwrap();

    let name = |side: &str| format!("watches-test-{}-{side}", std::process::id());
    let address = |side| Address::Abstract(name(side).into());
    let log = Arc::new(Mutex::new(String::new()));
    let written = Arc::clone(&log);
    let write = move |_, line: &str| lock(&written).push_str(line);
    let mut options = ServerOptions::new(service_config("test").unwrap(), Box::new(write));
    options.producer_sockets = vec![address("producer")];
    options.consumer_sockets = vec![address("consumer")];
    let service = InProcessService::run(Server::bind(options).unwrap()).unwrap();

    let (tell, told) = mpsc::channel();
    let socket = SocketAddr::from_abstract_name(name("producer")).unwrap();
    let attacker = std::thread::spawn(move || {
        attack(&socket);
        tell.send(()).unwrap();
    });
    let mut beside = Consumer::connect(&address("consumer")).unwrap();
    while told.try_recv() == Err(mpsc::TryRecvError::Empty) {
        beside.query_service_state(false).unwrap();
    }
    attacker.join().unwrap();
    beside.query_service_state(false).unwrap();

    let stats = service.handle().stats();
    assert_eq!((stats.cut_slow, stats.cut_broken, stats.cut_stuck), (1, 0, 0), "{stats:?}");
    service.stop().unwrap();
    assert!(lock(&log).contains("too many epoll watches"), "{}", lock(&log));
}
