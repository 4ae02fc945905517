use std::sync::mpsc::{Receiver, Sender, channel};

use super::*;

/// A value whose drop waits until its sender is gone, and which tells that it begins.
struct Slow(Sender<u32>, Receiver<()>, u32);

impl Drop for Slow {
    fn drop(&mut self) {
        let _ = self.0.send(self.2);
        let _ = self.1.recv();
    }
}

const OWN_UID: u32 = 500;

/// The user of the daemon.
fn own() -> OwnUser {
    OwnUser::new(OWN_UID)
}

struct World {
    closer: Closer,
    begun: (Sender<u32>, Receiver<u32>),
}

impl World {
    fn new() -> Self {
        Self { closer: Closer::default(), begun: channel() }
    }

    fn with_limits(per_user: usize, total: usize) -> Self {
        Self::with_first(per_user, total, total)
    }

    fn with_first(per_user: usize, total: usize, total_at_first: usize) -> Self {
        let max = CloserLimits { per_user, total, total_at_first, own: own() };
        Self { closer: Closer::new(max), ..Self::new() }
    }

    /// The drop ends when the result is dropped.
    fn slow(&self, uid: u32) -> Sender<()> {
        let (end, ends) = channel();
        self.closer.take(from(uid), Slow(self.begun.0.clone(), ends, uid));
        end
    }

    fn begins(&self) -> u32 {
        self.begun.1.recv_timeout(Duration::from_secs(10)).expect("a thread is free")
    }

    fn wait_until_done(&self) {
        while self.closer.pending() > 0 {
            std::thread::yield_now();
        }
    }
}

fn from(uid: u32) -> Origin {
    Origin { client: ClientId::new(u64::from(uid)), uid }
}

#[test]
fn a_user_uses_two_threads_and_leaves_the_others() {
    let world = World::new();
    let slow: Vec<_> = (0..5).map(|_| world.slow(7)).collect();
    assert_eq!([world.begins(), world.begins()], [7, 7]);
    assert_eq!(lock(&world.closer.0.state).waiting.get(&7).map_or(0, VecDeque::len), 3);
    // Another user has a thread.
    let other = world.slow(8);
    assert_eq!(world.begins(), 8);
    assert!(world.begun.1.try_recv().is_err());
    drop(other);
    drop(slow);
    assert_eq!((0..3).map(|_| world.begins()).collect::<Vec<_>>(), [7; 3]);
    world.wait_until_done();
    drop(EndCloser(world.closer.clone()));
    // That waits for a limited time.
    while lock(&world.closer.0.state).threads > 0 {
        std::thread::yield_now();
    }
}

/// Threads for users that are neither root nor that of the daemon.
const THREADS_OF_OTHERS: usize = 30;

#[test]
fn threads_have_a_bound_and_some_are_kept_for_root_and_the_daemon() {
    let world = World::with_limits(100, 100);
    let users = 1000..1000 + THREADS_OF_OTHERS as u32 / 2 + 1;
    let mut slow: Vec<_> = users.flat_map(|uid| [world.slow(uid), world.slow(uid)]).collect();
    for _ in 0..THREADS_OF_OTHERS {
        world.begins();
    }
    assert_eq!(world.closer.pending(), THREADS_OF_OTHERS + 2, "those of the last user wait");
    slow.push(world.slow(OWN_UID));
    assert_eq!(world.begins(), OWN_UID);
    slow.push(world.slow(0));
    assert_eq!(world.begins(), 0);
    assert_eq!(lock(&world.closer.0.state).threads, CLOSER_THREADS_MAX);
    slow.push(world.slow(0));
    assert_eq!(lock(&world.closer.0.state).threads, CLOSER_THREADS_MAX, "no more threads");
    assert_eq!(lock(&world.closer.0.state).waiting.get(&0).map_or(0, VecDeque::len), 1);
    slow.clear();
    world.wait_until_done();
    drop(EndCloser(world.closer.clone()));
}

/// What root and the daemon close takes no thread from others.
#[test]
fn root_and_the_daemon_leave_threads_to_others() {
    let world = World::with_limits(100, 100);
    let mut slow = [0, 0, OWN_UID, OWN_UID].map(|uid| (world.slow(uid), world.begins()).0).to_vec();
    let users = 1000..1000 + THREADS_OF_OTHERS as u32;
    slow.extend(users.map(|uid| world.slow(uid)));
    let begun: Vec<_> = (0..CLOSER_THREADS_MAX - 4).map(|_| world.begins()).collect();
    assert!(begun.iter().all(|uid| *uid >= 1000));
    drop(slow);
    world.wait_until_done();
    drop(EndCloser(world.closer.clone()));
}

/// Of two jobs of one peer, the one that ended is forgotten.
#[test]
fn a_job_that_ends_leaves_the_stuck_one() {
    let world = World::new();
    let stuck = world.slow(7);
    world.begins();
    let other = world.slow(7);
    world.begins();
    drop(other);
    while world.closer.pending() > 1 {
        std::thread::yield_now();
    }
    assert_eq!(lock(&world.closer.0.state).running[0].number, 1);
    drop(stuck);
    world.wait_until_done();
    drop(EndCloser(world.closer.clone()));
}

#[test]
fn a_stuck_peer_is_told_once() {
    let world = World::new();
    assert_eq!(world.closer.poll(0), Stuck::default());
    let slow = world.slow(7);
    world.begins();
    let since_ns = lock(&world.closer.0.state).running[0].since_ns;
    let due_ns = Some(since_ns + STUCK_NS);
    let poll = |at_ns| world.closer.poll(at_ns);
    assert_eq!(poll(since_ns), Stuck { peers: Vec::new(), due_ns });
    let stuck = Stuck { peers: vec![from(7)], due_ns: None };
    assert_eq!(poll(since_ns + STUCK_NS), stuck);
    assert_eq!(poll(since_ns + STUCK_NS), Stuck::default());
    drop(slow);
    world.wait_until_done();
    assert!(!world.closer.refuses(7));
    drop(EndCloser(world.closer.clone()));
}

#[test]
fn what_waits_of_one_user_has_a_bound() {
    let world = World::with_limits(3, 100);
    let mut slow: Vec<_> = (0..2).map(|_| world.slow(7)).collect();
    assert_eq!([world.begins(), world.begins()], [7, 7]);
    slow.extend([world.slow(7), world.slow(7)]);
    // Sockets are counted elsewhere.
    world.closer.take_socket(from(7), ());
    assert!(!world.closer.refuses(7), "two wait for a thread");
    slow.push(world.slow(7));
    assert!(world.closer.refuses(7) && !world.closer.refuses(8));
    drop(slow);
    world.wait_until_done();
    assert!(!world.closer.refuses(7));
    assert_eq!(lock(&world.closer.0.state).received.iter().count(), 0);
    drop(EndCloser(world.closer.clone()));
}

#[test]
fn what_waits_of_all_users_has_a_bound_and_root_is_not_among_them() {
    let world = World::with_limits(100, 4);
    let uids = [7, 7, 8, 8, 0, 0, OWN_UID, OWN_UID];
    // Each user has two threads.
    let mut slow: Vec<_> = uids.iter().map(|uid| (world.slow(*uid), world.begins()).0).collect();
    slow.extend([7, 7, 8, 0, 0, OWN_UID, OWN_UID].map(|uid| world.slow(uid)));
    assert!(!world.closer.refuses(9), "three wait");
    slow.push(world.slow(8));
    assert!(world.closer.refuses(9) && world.closer.refuses(7));
    assert!(!world.closer.refuses(0) && !world.closer.refuses(OWN_UID));
    drop(slow);
    world.wait_until_done();
    drop(EndCloser(world.closer.clone()));
}

/// Connections that were refused have no place among those of their user, and each has a descriptor of the daemon. Those
/// of one listener leave the other listeners their part.
#[test]
fn connections_that_were_refused_have_a_bound() {
    let world = World::with_limits(100, 8);
    let slow = [world.slow(7), world.slow(7)];
    assert_eq!([world.begins(), world.begins()], [7, 7]);
    let is_full = |listener| world.closer.has_too_many_refused(listener, 2);
    for _ in 0..4 {
        assert!(!is_full(1));
        world.closer.take_refused(from(7), 1, ());
    }
    assert_eq!([is_full(1), is_full(2)], [true, false]);
    (0..4).for_each(|_| world.closer.take_refused(from(7), 2, ()));
    assert!(is_full(2));
    drop(slow);
    world.wait_until_done();
    assert_eq!([is_full(1), is_full(2)], [false, false]);
    assert!(lock(&world.closer.0.state).refused.is_empty());
    drop(EndCloser(world.closer.clone()));
}

#[test]
fn a_daemon_with_few_descriptors_lets_fewer_wait() {
    let max = |descriptors| CloserLimits::new(descriptors, own());
    let of = |per_user, total, total_at_first| CloserLimits {
        per_user,
        total,
        total_at_first,
        own: own(),
    };
    let all = CLOSER_WAITING_MAX;
    assert_eq!(max(u64::MAX), of(CLOSER_WAITING_PER_USER_MAX, all / 4 * 3, all));
    assert_eq!(max(160), of(10, 30, 40));
    assert_eq!(max(0), of(CLOSER_WAITING_MIN, 6, 8));
}

#[test]
fn a_user_whose_descriptor_does_not_close_passes_no_other() {
    let world = World::new();
    let slow = world.slow(7);
    world.begins();
    assert!(!world.closer.refuses(7));
    // As if it had begun long ago.
    lock(&world.closer.0.state).running[0].since_ns = 0;
    assert_eq!(world.closer.capacity(7), Err(NoRoom::Stuck));
    assert!(!world.closer.refuses(8), "another user");
    drop(slow);
    world.wait_until_done();
    assert!(!world.closer.refuses(7));
}

/// A descriptor that waits for the rest of its request takes room, as one that waits for a thread.
#[test]
fn what_waits_in_connections_takes_room() {
    let world = World::with_limits(3, 4);
    let hold = |uid| PeerFd::received(file(), &world.closer, from(uid));
    let capacity = |uid| world.closer.capacity(uid);
    assert_eq!(capacity(7), Ok(3));
    let mut held: Vec<_> = (0..3).map(|_| hold(7)).collect();
    assert_eq!([7, 8, 0].map(capacity), [Err(NoRoom::OfUser), Ok(1), Ok(3)]);
    assert!(world.closer.refuses(7));
    drop(held.pop().unwrap().into_fd());
    assert_eq!([7, 8].map(capacity), [Ok(1), Ok(2)], "it belongs to a file now");
    drop(held);
    world.wait_until_done();
    assert_eq!(capacity(7), Ok(3));
    drop(EndCloser(world.closer.clone()));
}

fn file() -> OwnedFd {
    std::fs::File::open("/dev/null").unwrap().into()
}

/// Two users have all that there is in requests that they do not end. A third one passes the memory of its producers,
/// one request after the other, until users with little have used up their part, too.
#[test]
fn a_few_users_leave_room_for_the_first_descriptors_of_others() {
    let world = World::with_first(10, 20, 24);
    let hold = |uid| PeerFd::received(file(), &world.closer, from(uid));
    let capacity = |uid| world.closer.capacity(uid);
    let mut held: Vec<_> = [1, 2].into_iter().flat_map(|uid| [uid; 10]).map(hold).collect();
    assert_eq!([1, 2].map(capacity), [Err(NoRoom::OfUser); 2]);
    assert_eq!([3, 0, OWN_UID].map(capacity), [Ok(2), Ok(10), Ok(10)]);
    for _ in 0..10 {
        drop(hold(3).into_fd());
    }
    let third = [hold(3), hold(3)];
    assert_eq!([3, 4].map(capacity), [Err(NoRoom::OfAll), Ok(2)]);
    let _others = [4, 5].map(hold);
    assert_eq!([3, 4, 5, 6].map(capacity), [Err(NoRoom::OfAll); 4]);
    drop(third);
    world.wait_until_done();
    assert_eq!(capacity(6), Ok(2));
    // Those of the first user count as those of all again.
    held.drain(..10).for_each(|fd| drop(fd.into_fd()));
    assert_eq!([1, 3].map(capacity), [Ok(8), Ok(8)]);
    assert_eq!(capacity(2), Err(NoRoom::OfUser));
}

#[path = "../../../tests/slow/mod.rs"]
mod slow;

/// A connection, and its other end, which has sent a descriptor that takes an hour to close.
fn connection_with_slow() -> (Stream, Stream, std::net::TcpStream) {
    let (ours, peer) = Stream::pair().unwrap();
    let (slow, receiver) = slow::slow_to_close();
    // The message has another descriptor of the same socket, so this one closes at once.
    assert_eq!(peer.send(&[std::io::IoSlice::new(b"x")], Some(slow.as_fd())).unwrap(), 1);
    (ours, peer, receiver)
}

/// Waits until the last descriptor of the other end is closed.
fn wait_for_end(peer: &Stream) {
    use rustix::event::{PollFd, PollFlags, poll};
    let mut fds = [PollFd::new(peer, PollFlags::RDHUP)];
    let minute = rustix::event::Timespec { tv_sec: 60, tv_nsec: 0 };
    assert_eq!(poll(&mut fds, Some(&minute)).unwrap(), 1, "a thread waits in a close");
}

#[test]
fn sockets_are_closed_without_waiting() {
    let closer = Closer::start(CloserLimits::new(0, own()));
    // More than one thread closes, and more threads than a user may have.
    let mut receivers = Vec::new();
    for _ in 0..CLOSER_THREADS_PER_USER_MAX + 2 {
        let (ours, peer, receiver) = connection_with_slow();
        closer.refuse(from(7), 1, ours);
        wait_for_end(&peer);
        receivers.push(receiver);
    }
    assert_eq!(closer.pending(), 0, "no other thread has to wait");
}

/// Sockets that come faster than they are closed are closed all the same.
#[test]
fn many_sockets_are_closed() {
    let closer = Closer::start(CloserLimits::new(0, own()));
    let (sockets, peers): (Vec<_>, Vec<_>) = (0..300).map(|_| Stream::pair().unwrap()).unzip();
    sockets.into_iter().for_each(|socket| closer.refuse(from(7), 1, socket));
    peers.iter().for_each(wait_for_end);
}

#[test]
fn threads_for_sockets_keep_nothing_open() {
    let (ours, peer) = Stream::pair().unwrap();
    let closer = Closer::start(CloserLimits::new(0, own()));
    // Open when the thread was started, and closed here.
    drop(ours);
    wait_for_end(&peer);
    drop(closer);
}
