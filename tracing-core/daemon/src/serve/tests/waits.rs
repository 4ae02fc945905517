//! Users on whose sockets calls take long, and those that come beside them.

use super::*;
use crate::system::closer::{Closer, Origin};
use os::socket::Openable;

/// Two producers of two users, neither of which is root or the user of the daemon.
struct World {
    daemon: ManualDaemon,
    streams: Vec<Stream>,
    keys: [ClientId; 2],
}

const SLOW: PeerUser = PeerUser::Local(u32::MAX - 2);
const OTHER: PeerUser = PeerUser::Local(u32::MAX - 3);

impl World {
    fn new(name: &str) -> Self {
        let mut daemon = ManualDaemon::new(name);
        let streams = daemon.connect(2);
        while daemon.connected() < 2 {
            daemon.inner().accept(daemon::KEY_LISTENERS);
        }
        let keys = [0, 1].map(|index| ClientId::new(daemon.keys()[index]));
        for (key, user) in keys.into_iter().zip([SLOW, OTHER]) {
            daemon.inner().engine.peers.get_mut(&key).unwrap().user = user;
        }
        Self { daemon, streams, keys }
    }

    /// Makes one of them wait; its time has passed already when the loop looks.
    fn wait(&mut self) {
        self.daemon.inner().engine.fairness.charge(SLOW, 1, 0);
    }

    fn bind(&self) {
        for stream in &self.streams {
            assert!(send_raw(stream, BIND));
        }
    }

    /// What the poller tells.
    fn ready(&mut self) -> Vec<u64> {
        let mut ready = Vec::new();
        self.daemon.inner().poller.wait(&mut ready, Some(Duration::ZERO)).unwrap();
        let keys = ready.iter().map(|event| event.key);
        keys.filter(|key| *key >= super::engine::FIRST_CLIENT).collect()
    }

    fn serve_ready(&mut self) {
        let keys = self.ready();
        self.daemon.serve(&keys, TIME_UNLIMITED);
    }

    /// Who has got an answer since the last call.
    fn answered(&self) -> Vec<bool> {
        let has = |stream: &Stream| matches!(stream.receive(&mut [0; 4096]), Ok(Raw::Bytes(..)));
        self.streams.iter().map(has).collect()
    }

    fn link(&mut self, index: usize) -> &mut super::remote::SocketLink {
        let peer = self.daemon.inner().engine.peers.get_mut(&self.keys[index]);
        let Some(PeerConnection { link: Link::Socket(link), .. }) = peer else {
            panic!("it is cut")
        };
        link
    }
}

#[test]
fn the_loop_does_not_look_at_connections_of_a_user_that_waits() {
    let mut world = World::new("waits");
    world.wait();
    world.bind();
    world.serve_ready();
    assert_eq!(world.answered(), [false, true]);
    let left = rustix::io::ioctl_fionread(world.link(0).as_fd().unwrap());
    assert_eq!(left, Ok(BIND.len() as u64), "a call that receives may take long, too");
    assert_eq!(world.ready(), [], "nothing wakes the loop");
    assert_eq!(world.daemon.inner().due_ns(), Some(8), "but the alarm");
    world.daemon.inner().resume_waiting();
    world.serve_ready();
    assert_eq!(world.answered(), [true, false]);
}

#[test]
fn a_user_that_waits_is_sent_nothing() {
    let mut world = World::new("waits-sends");
    world.bind();
    let keys = world.ready();
    let ready = |key: &u64| os::poll::Ready { key: *key, readable: true, writable: false };
    world.daemon.inner().serve(&mut keys.iter().map(ready).collect(), TIME_UNLIMITED);
    world.wait();
    world.daemon.inner().flush(Some(TIME_UNLIMITED));
    assert_eq!(world.answered(), [false, true]);
    world.serve_ready();
    assert_eq!(world.answered(), [false, false]);
    assert_eq!(world.ready(), [], "room wakes nobody");
    world.daemon.inner().resume_waiting();
    world.daemon.inner().engine.run_turn(os::clock::boot_ns());
    world.daemon.inner().flush(Some(TIME_UNLIMITED));
    assert_eq!(world.answered(), [true, false]);
}

/// The poller does not know the connection meanwhile, and is not told what it waits for.
#[test]
fn replies_are_queued_for_a_user_that_waits() {
    let mut world = World::new("waits-queues");
    world.bind();
    world.wait();
    world.serve_ready();
    let key = world.keys[0];
    world.daemon.inner().engine.host(key).unwrap().receive(BIND, None).unwrap();
    world.daemon.inner().engine.process_events(key);
    world.daemon.inner().flush(Some(TIME_UNLIMITED));
    assert!(world.link(0).host.wanted().write, "something is queued");
    world.daemon.inner().resume_waiting();
    world.serve_ready();
    assert_eq!(world.answered(), [true, true]);
}

/// The queue of a user that waits has its usual limit.
#[test]
fn the_queue_of_a_user_that_waits_has_a_limit() {
    let mut world = World::new("waits-full");
    world.wait();
    for _ in 0..20 {
        let reply = Ok(vec![0; 100_000].into());
        world.link(0).host.reply(CallId::new(1), reply, false, None).unwrap();
    }
    let key = world.keys[0];
    world.daemon.inner().engine.dirty.insert(key);
    world.daemon.inner().flush(Some(TIME_UNLIMITED));
    assert_eq!(world.daemon.server.handle().stats().cut_slow, 1);
}

/// What a user that waits has sent before waits, too.
#[test]
fn no_request_of_a_user_that_waits_is_handled() {
    let mut world = World::new("waits-requests");
    for key in world.keys {
        let engine = &mut world.daemon.inner().engine;
        engine.host(key).unwrap().receive(BIND, None).unwrap();
        engine.fairness.serve_later(key);
    }
    world.wait();
    let turn = |world: &mut World| {
        world.daemon.inner().engine.run_turn(os::clock::boot_ns());
        world.daemon.inner().engine.wake.clear();
        world.daemon.inner().flush(Some(TIME_UNLIMITED));
        (world.answered(), world.daemon.inner().engine.wake.clear())
    };
    assert_eq!(turn(&mut world), (vec![false, true], false));
    world.daemon.inner().resume_waiting();
    assert_eq!(turn(&mut world), (vec![true, false], false));
}

#[test]
fn root_and_the_user_of_the_daemon_do_not_wait() {
    let mut world = World::new("waits-root");
    let own = PeerUser::Local(os::process::effective_uid());
    let (key, engine_user) = (world.keys[0], |user| user != PeerUser::Local(0) && user != own);
    for user in [PeerUser::Local(0), own, SLOW, PeerUser::Remote] {
        world.daemon.inner().engine.peers.get_mut(&key).unwrap().user = user;
        world.link(0).call_time.add(1_000_000, 0);
        world.daemon.inner().charge(key);
        assert_eq!(
            world.daemon.inner().engine.fairness.must_wait(user),
            engine_user(user),
            "{user}"
        );
    }
}

/// One call is the last for that turn, however much the peer receives.
#[test]
fn nothing_more_is_sent_after_a_call_that_took_long() {
    let mut world = World::new("waits-call");
    for key in world.keys {
        world.daemon.inner().engine.host(key).unwrap().receive(BIND, None).unwrap();
        world.daemon.inner().engine.process_events(key);
    }
    world.link(0).call_time.add(1_000_000, 0);
    world.daemon.inner().flush(Some(TIME_UNLIMITED));
    assert_eq!(world.answered(), [false, true]);
    assert!(world.daemon.inner().engine.fairness.must_wait(SLOW));
}

/// The end of a connection whose calls take long, or whose peer has ended, is told where it is closed: the call that
/// tells it takes as long.
#[test]
fn the_loop_tells_its_end_to_no_such_connection() {
    let closer = Closer::new(closer_limits());
    let uid = 1000;
    let origin = Origin { client: ClientId::new(9), uid };
    let address = Address::Abstract(format!("ends-{}", std::process::id()).into_bytes());
    let listener = os::socket::Listener::bind(&address).unwrap();
    let connections = connections();
    let poller = abi::sync::Arc::new(os::poll::Poller::new().unwrap());
    let mut descriptors = super::descriptors::Descriptors::new(1 << 20);
    // All threads of this user are busy until the end of the test.
    struct Busy(std::sync::mpsc::Receiver<()>);
    impl Drop for Busy {
        fn drop(&mut self) {
            let _ = self.0.recv();
        }
    }
    let _busy = [(); 2].map(|()| {
        let (sender, receiver) = std::sync::mpsc::channel();
        closer.take(origin, Busy(receiver));
        sender
    });
    let ends = |prepare: &mut dyn FnMut(&Stream, &mut super::remote::SocketLink)| {
        let client = Stream::connect(&address).unwrap();
        let stream = listener.accept().unwrap().unwrap();
        let slot = connections.admit(PeerUser::Local(uid), PortKind::Producer).unwrap();
        let mut link = super::remote::SocketLink::new(
            stream,
            PortKind::Producer,
            origin,
            slot,
            &closer,
            &super::unreceived::Unreceived::default(),
            &poller,
        );
        prepare(&client, &mut link);
        drop(link);
        !matches!(client.receive(&mut [0]), Ok(Raw::Nothing))
    };
    assert!(ends(&mut |_, _| {}), "the others learn it at once");
    assert!(!ends(&mut |_, link| link.call_time.add(0, 0)));
    assert!(!ends(&mut |client, link| {
        rustix::net::shutdown(client, rustix::net::Shutdown::Write).unwrap();
        let mut calls = super::slow_calls::CallMeter::new();
        let read = link.read(&mut [0; 8], Openable::Any, &mut descriptors, &mut calls);
        assert_eq!(read, Err(Disconnect::PeerLeft));
    }));
}

#[test]
fn a_connection_whose_calls_take_long_is_cut() {
    // With and without an answer that waits to be sent.
    cut_after("waits-cut", BIND);
    cut_after("waits-cut-part", &BIND[..5]);
}

fn cut_after(name: &str, received: &[u8]) {
    let mut world = World::new(name);
    for stream in &world.streams {
        assert!(send_raw(stream, received));
    }
    for _ in 0..2 {
        world.link(0).call_time.add(20_000_000, os::clock::mono_ns());
        world.link(0).call_time.take_owed();
    }
    world.serve_ready();
    let stats = world.daemon.server.handle().stats();
    assert_eq!((stats.connected, stats.cut_slow, stats.faults), (1, 1, 1), "{stats:?}");
    assert_eq!(read_to_end(&world.streams[0]), 0, "it gets no answer");
}
