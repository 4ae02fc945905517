//! Which connections are accepted, and when none is.

use std::os::fd::AsFd;
use std::sync::mpsc;

use super::*;
use crate::limits::{ACCEPTS_PER_TURN, ADMITTED_WHEN_BEHIND, CLOSER_THREADS_PER_USER_MAX};
use crate::system::closer::{Closer, EndCloser, Origin, PeerFd};

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
        server.daemon.accept(daemon::KEY_LISTENERS);
        assert_eq!(server.handle().stats().faults, 1);
    }
}

/// Other peers are served between them.
#[test]
fn a_flood_of_connections_takes_several_turns() {
    let mut daemon = ManualDaemon::new("flood");
    let clients = daemon.connect(ACCEPTS_PER_TURN + 10);
    daemon.inner().accept(daemon::KEY_LISTENERS);
    assert_eq!(daemon.connected(), ACCEPTS_PER_TURN);
    daemon.inner().accept(daemon::KEY_LISTENERS);
    assert_eq!(daemon.connected(), clients.len());
}

/// Else those that connect and leave at once become ever more. Refused ones take no place.
#[test]
fn few_connections_are_added_while_others_wait() {
    let mut daemon = ManualDaemon::new("behind");
    let _clients = daemon.connect(ACCEPTS_PER_TURN);
    daemon.inner().accept(daemon::KEY_LISTENERS);
    let _more = daemon.connect(ACCEPTS_PER_TURN);
    let keys = daemon.keys();
    let mut after = |began_ns, count: usize| {
        daemon.serve(&keys[..count], began_ns);
        let before = daemon.connected();
        daemon.inner().accept(daemon::KEY_LISTENERS);
        daemon.connected() - before
    };
    assert_eq!(after(time_used_up(), 10), ADMITTED_WHEN_BEHIND);
    assert_eq!(after(time_used_up(), 10), ADMITTED_WHEN_BEHIND);
    assert_eq!(after(TIME_UNLIMITED, 10), ACCEPTS_PER_TURN - 2 * ADMITTED_WHEN_BEHIND);

    let _more = daemon.connect(ADMITTED_WHEN_BEHIND + 5);
    let own = daemon.inner().engine.own;
    daemon.inner().connections = Connections::new(Resources::of_descriptors(0), own);
    daemon.serve(&keys[..10], time_used_up());
    daemon.inner().accept(daemon::KEY_LISTENERS);
    assert_eq!(daemon.server.handle().stats().refused as usize, ADMITTED_WHEN_BEHIND + 5);
}

/// Waits for the test when it is closed.
struct Slow(mpsc::Sender<()>, mpsc::Receiver<()>);

impl Drop for Slow {
    fn drop(&mut self) {
        self.0.send(()).unwrap();
        self.1.recv().unwrap_err();
    }
}

/// Before Linux 6.16 each has a descriptor of the daemon until it is closed.
#[test]
fn a_socket_whose_refused_connections_do_not_close_accepts_none_and_others_do() {
    let mut daemon = ManualDaemon::new("stuck");
    let closer = Closer::new(CloserLimits::new(0, OwnUser::new(0)));
    daemon.inner().closer = EndCloser(closer.clone());
    let (producers, consumers) = (daemon::KEY_LISTENERS, daemon::KEY_LISTENERS + 1);
    let from = Origin { client: ClientId::new(7), uid: 7 };
    let (begin, begun) = mpsc::channel();
    let held = [(); CLOSER_THREADS_PER_USER_MAX].map(|()| {
        let (held, wait) = mpsc::channel::<()>();
        closer.take_refused(from, producers, Slow(begin.clone(), wait));
        begun.recv().unwrap();
        held
    });
    let _client = daemon.connect(1);
    while !closer.has_too_many_refused(producers, 2) {
        closer.take_refused(from, producers, ());
    }
    let before_ns = os::clock::boot_ns();
    for _ in 0..2 {
        daemon.inner().accept(producers);
        assert_eq!((daemon.connected(), daemon.server.handle().stats().faults), (0, 1));
    }
    let _consumer = Stream::connect(&Address::Path(daemon.directory.join("consumer"))).unwrap();
    daemon.inner().accept(consumers);
    assert_eq!(daemon.connected(), 1, "the other socket");
    let due_ns = daemon.inner().accepting.due_ns().unwrap();
    assert!(due_ns >= before_ns + accepting::ACCEPT_PAUSE_NS);
    daemon.inner().accepting.resume_if_due(due_ns - 1).unwrap();
    assert_eq!(daemon.inner().accepting.due_ns(), Some(due_ns));
    drop(held);
    while closer.pending() > 0 {
        std::thread::yield_now();
    }
    daemon.inner().accepting.resume_if_due(due_ns).unwrap();
    daemon.inner().accept(producers);
    assert_eq!(daemon.connected(), 2);
}

/// The kernel may have no room for a watch at the moment when a pause ends.
#[test]
fn a_socket_that_cannot_be_watched_is_tried_again() {
    let mut daemon = ManualDaemon::new("watch");
    let key = daemon::KEY_LISTENERS;
    let inner = daemon.inner();
    inner.accepting.pause(key, 0);
    // It cannot be added twice.
    let poller = abi::sync::Arc::clone(&inner.poller);
    poller.add(inner.accepting.listener(key), 1, os::poll::Interest::READ).unwrap();
    inner.resume_accepting();
    assert!(inner.accepting.is_paused(key));
    let due_ns = inner.accepting.due_ns().unwrap();
    assert!(due_ns > accepting::ACCEPT_PAUSE_NS, "later than before");
    poller.remove(inner.accepting.listener(key)).unwrap();
    inner.accepting.resume_if_due(due_ns).unwrap();
    assert_eq!(inner.accepting.due_ns(), None);
    assert_eq!(daemon.server.handle().stats().faults, 1);
    let _client = daemon.connect(1);
    daemon.inner().accept(key);
    assert_eq!(daemon.connected(), 1);
}

/// Requests that do not end keep their descriptors. The log tells whose are too many.
#[test]
fn a_connection_is_cut_for_the_descriptors_of_its_user_or_of_all() {
    let (lines, logged) = mpsc::channel();
    let mut daemon = ManualDaemon::with("cut", |options| {
        options.log = Box::new(move |_, line| lines.send(line.to_string()).unwrap());
    });
    // Four of a user, six of all, and eight with the first ones of users.
    let closer = Closer::new(CloserLimits::new(0, DAEMON));
    daemon.inner().closer = EndCloser(closer.clone());
    let clients = daemon.connect(3);
    daemon.inner().accept(daemon::KEY_LISTENERS);
    let null = std::fs::File::open("/dev/null").unwrap();
    let hold = |uid: u32| {
        let origin = Origin { client: ClientId::new(1), uid };
        PeerFd::received(null.try_clone().unwrap().into(), &closer, origin)
    };
    let _held = [7, 7, 7, 7, 8, 8].map(hold);
    let keys = daemon.keys();
    for ((client, key), uid) in clients.iter().zip(&keys).zip(7..) {
        let peer = daemon.inner().engine.peers.get_mut(&ClientId::new(*key)).unwrap();
        let Link::Socket(link) = &mut peer.link else { panic!("no socket") };
        link.origin.uid = uid;
        client.send(&[IoSlice::new(BIND)], Some(null.as_fd())).unwrap();
    }
    daemon.serve(&keys, TIME_UNLIMITED);
    let stats = daemon.server.handle().stats();
    assert_eq!((stats.connected, stats.cut_stuck, stats.cut_broken), (1, 2, 0), "{stats:?}");
    assert_eq!(daemon.keys(), keys[2..], "a user that has none");
    // Its end drops the sender.
    drop(daemon);
    let lines: Vec<String> = logged.iter().collect();
    for text in ["descriptors of its user wait", "descriptors of all users together wait"] {
        assert!(lines.iter().any(|line| line.contains(text)), "{text}: {lines:?}");
    }
}
