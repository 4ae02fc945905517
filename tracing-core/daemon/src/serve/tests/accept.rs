//! Which connections are accepted, and when none is.

use std::sync::mpsc;

use super::*;
use crate::limits::{
    ACCEPTS_PER_TURN, ADMITTED_WHEN_BEHIND, CLOSER_THREADS_PER_USER_MAX, CLOSER_WAITING_MIN,
};
use crate::system::closer::{Closer, EndCloser, Origin, Waiting};

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
        server.daemon.accept(daemon::KEY_LISTENERS).unwrap();
        assert_eq!(server.handle().stats().faults, 1);
    }
}

/// Other peers are served between them.
#[test]
fn a_flood_of_connections_takes_several_turns() {
    let mut it = Stopped::new("flood");
    let clients = it.connect(ACCEPTS_PER_TURN + 10);
    it.daemon().accept(daemon::KEY_LISTENERS).unwrap();
    assert_eq!(it.connected(), ACCEPTS_PER_TURN);
    it.daemon().accept(daemon::KEY_LISTENERS).unwrap();
    assert_eq!(it.connected(), clients.len());
}

/// Else those that connect and leave at once become ever more. Refused ones take no place.
#[test]
fn few_connections_are_added_while_others_wait() {
    let mut it = Stopped::new("behind");
    let _clients = it.connect(ACCEPTS_PER_TURN);
    it.daemon().accept(daemon::KEY_LISTENERS).unwrap();
    let _more = it.connect(ACCEPTS_PER_TURN);
    let keys = it.keys();
    let mut after = |began_ns, count: usize| {
        it.serve(&keys[..count], began_ns);
        let before = it.connected();
        it.daemon().accept(daemon::KEY_LISTENERS).unwrap();
        it.connected() - before
    };
    assert_eq!(after(long_ago(), 10), ADMITTED_WHEN_BEHIND);
    assert_eq!(after(long_ago(), 10), ADMITTED_WHEN_BEHIND);
    assert_eq!(after(LATER, 10), ACCEPTS_PER_TURN - 2 * ADMITTED_WHEN_BEHIND);

    let _more = it.connect(ADMITTED_WHEN_BEHIND + 5);
    it.daemon().connections = Connections::new(0, os::process::effective_uid());
    it.serve(&keys[..10], long_ago());
    it.daemon().accept(daemon::KEY_LISTENERS).unwrap();
    assert_eq!(it.server.handle().stats().refused as usize, ADMITTED_WHEN_BEHIND + 5);
}

/// Before Linux 6.16 each has a descriptor of the daemon until it is closed.
#[test]
fn nothing_is_accepted_while_refused_connections_do_not_close() {
    /// Its end waits for the test.
    struct Slow(mpsc::Sender<()>, mpsc::Receiver<()>);
    impl Drop for Slow {
        fn drop(&mut self) {
            self.0.send(()).unwrap();
            self.1.recv().unwrap_err();
        }
    }
    let mut it = Stopped::new("stuck");
    let closer = Closer::new(Waiting::new(0, 0));
    it.daemon().closer = EndCloser(closer.clone());
    let from = Origin { client: ClientId::new(7), uid: 7 };
    let (begin, begun) = mpsc::channel();
    let held = [(); CLOSER_THREADS_PER_USER_MAX].map(|()| {
        let (held, wait) = mpsc::channel::<()>();
        closer.take_refused(from, Slow(begin.clone(), wait));
        begun.recv().unwrap();
        held
    });
    let _client = it.connect(1);
    (0..CLOSER_WAITING_MIN).for_each(|_| closer.take_refused(from, ()));
    let before_ns = os::clock::boot_ns();
    for _ in 0..2 {
        it.daemon().accept(daemon::KEY_LISTENERS).unwrap();
        assert_eq!((it.connected(), it.server.handle().stats().faults), (0, 1));
    }
    let due_ns = it.daemon().accepting.due_ns().unwrap();
    assert!(due_ns >= before_ns + accepting::ACCEPT_PAUSE_NS);
    it.daemon().accepting.resume_if_due(due_ns - 1).unwrap();
    assert_eq!(it.daemon().accepting.due_ns(), Some(due_ns));
    drop(held);
    while closer.pending() > 0 {
        std::thread::yield_now();
    }
    it.daemon().accepting.resume_if_due(due_ns).unwrap();
    it.daemon().accept(daemon::KEY_LISTENERS).unwrap();
    assert_eq!(it.connected(), 1);
}
