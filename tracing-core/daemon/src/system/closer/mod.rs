//! Closing what peers passed, on threads.
//!
//! The `close` of a descriptor of a peer, and of a socket in which descriptors wait, may take as long as the peer
//! likes; see `os::socket::Openable`. So the loop of the daemon never drops such a value: it gives it to the closer.
//!
//! ```text
//!   loop ── end_socket ──> threads that end, whose sockets are closed without waiting (sockets)
//!      │
//!      └─── take ──> waiting of user A ──┐
//!                    waiting of user B ──┼──> at most 32 threads, two for a user ──> dropped
//!                    waiting of root   ──┘    two of them for root and the user of the daemon
//! ```
//!
//! The threads start when they are needed and end with the closer. A thread that waits in a `close` has no descriptor
//! any more, but those that wait for a thread do. Therefore a user whose descriptor takes longer than [`STUCK_NS`] is
//! *stuck*: the connection that passed it is cut, and no descriptor of that user is received until the thread is back.
//! The same holds while too many descriptors of a user wait, or of all users but root and that of the daemon: what more
//! a peer sends is not received, and its connection is cut ([`NoRoom`]). A descriptor that waits in a connection for
//! the rest of its request counts, too ([`PeerFd`]). Users with next to none have a part of their own, so that a few
//! users cannot keep all others out.
//!
//! Fifteen users together can use all threads but two. Then what other users passed waits. The last two threads are for
//! root and the user of the daemon.
//!
//! Where no thread can have descriptors of its own (before Linux 5.9, or in a container that forbids it), sockets wait
//! for these threads, too. One that waits does not count, because its connection has a place among those of its user
//! until it is closed. A connection that was refused has no such place. While too many of one listener wait, that one
//! accepts nothing: they would take the descriptors of all. Users have no shares there: the kernel tells the user of a
//! connection once it is accepted, and then it can be neither closed nor given back.
//!
//! The closer does not change the options of a socket that it closes, such as `SO_LINGER`: other processes may share
//! it, and files of other kinds wait, too.

mod sockets;

use std::any::Any;
use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use abi::ids::ClientId;
use abi::map::SortedMap;
use abi::sync::{Arc, AtomicUsize, Condvar, Mutex, Ordering, lock};
use os::clock;
use os::socket::Stream;

use crate::limits::{
    CLOSER_THREADS_KEPT, CLOSER_THREADS_MAX, CLOSER_THREADS_PER_USER_MAX, CLOSER_WAITING_AT_FIRST,
    CLOSER_WAITING_MAX, CLOSER_WAITING_MIN, CLOSER_WAITING_PER_USER_MAX,
};
use crate::system::own_user::OwnUser;
use crate::usage::Usage;
use sockets::SocketCloser;

/// How long a `close` may take before its user counts as stuck, ns: far longer than freeing the largest memory.
pub(crate) const STUCK_NS: u64 = 1_000_000_000;

/// How long the end of the daemon waits for the threads. A descriptor that is stuck is closed with the process.
const LAST_CLOSES: Duration = Duration::from_secs(1);

/// The peer that a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) client: ClientId,
    pub(crate) uid: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// It came from a peer.
    Received,
    /// The socket of a connection.
    Socket,
    /// That of a connection that was refused, with the key of its listener.
    Refused(u64),
}

struct Job {
    from: Origin,
    kind: Kind,
    #[expect(dead_code, reason = "it is only dropped")]
    value: Box<dyn Any + Send>,
}

/// A job that a thread is busy with.
struct Running {
    number: u64,
    from: Origin,
    since_ns: u64,
    /// [`Closer::poll`] has returned it.
    told: bool,
}

#[derive(Default)]
struct State {
    /// By user.
    waiting: SortedMap<u32, VecDeque<Job>>,
    /// Received descriptors among these, by user.
    received: SortedMap<u32, usize>,
    /// Sockets of connections that were refused among these, by listener.
    refused: SortedMap<u64, usize>,
    running: Vec<Running>,
    /// The user whose turn it was last.
    last_uid: u32,
    /// Jobs that were started.
    started: u64,
    threads: usize,
    idle: usize,
    ended: bool,
}

/// How many received descriptors may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CloserLimits {
    /// Of one user.
    per_user: usize,
    /// Of all users but root and the user of the daemon.
    total: usize,
    /// The same for the first ones of a user.
    total_at_first: usize,
    own: OwnUser,
}

/// Why no descriptor of a user is received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoRoom {
    /// A descriptor of the user takes too long to close.
    Stuck,
    /// Too many of the user wait.
    OfUser,
    /// Too many of all users but root and that of the daemon wait.
    OfAll,
}

impl CloserLimits {
    /// For a daemon of user `own` that can open `descriptors` more.
    pub(crate) fn new(descriptors: u64, own: OwnUser) -> Self {
        let part = |parts: u64, max: usize| {
            usize::try_from(descriptors / parts).unwrap_or(max).clamp(CLOSER_WAITING_MIN, max)
        };
        let per_user = part(16, CLOSER_WAITING_PER_USER_MAX);
        let total_at_first = part(4, CLOSER_WAITING_MAX).max(2 * CLOSER_WAITING_MIN);
        Self { per_user, total: total_at_first / 4 * 3, total_at_first, own }
    }
}

impl Default for CloserLimits {
    fn default() -> Self {
        Self::new(u64::MAX, OwnUser::default())
    }
}

#[derive(Default)]
struct Shared {
    max: CloserLimits,
    sockets: Option<SocketCloser>,
    state: Mutex<State>,
    /// Descriptors that wait in connections. Read without the lock.
    held: AtomicUsize,
    /// A job came, or the closer ends.
    work: Condvar,
    /// A thread ended.
    ended: Condvar,
    /// Jobs that wait or run. Read without the lock.
    busy: AtomicUsize,
}

/// Where the loop puts what it must not close. Clones put it in the same place.
#[derive(Clone, Default)]
pub(crate) struct Closer(Arc<Shared>);

/// Ends the threads of a closer when it is dropped.
pub(crate) struct EndCloser(pub(crate) Closer);

/// What [`Closer::poll`] found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Stuck {
    /// Peers whose descriptor became stuck since the last call.
    pub(crate) peers: Vec<Origin>,
    /// When the next one may be, boot time in ns.
    pub(crate) due_ns: Option<u64>,
}

impl State {
    /// Received descriptors of all limited users.
    fn limited(&self, own: OwnUser) -> usize {
        let limited = self.received.iter().filter(|(uid, _)| own.limits(**uid));
        limited.map(|(_, count)| count).sum()
    }

    /// Jobs of these users that threads are busy with.
    fn running_of(&self, is_one: impl Fn(u32) -> bool) -> usize {
        self.running.iter().filter(|running| is_one(running.from.uid)).count()
    }

    fn is_allowed(&self, uid: u32, own: OwnUser) -> bool {
        let limited = |uid| own.limits(uid);
        let of_others = CLOSER_THREADS_MAX.saturating_sub(CLOSER_THREADS_KEPT);
        self.running_of(|of| of == uid) < CLOSER_THREADS_PER_USER_MAX
            && (!limited(uid) || self.running_of(limited) < of_others)
    }

    /// The next user in turn that may use a thread.
    fn next_uid(&self, own: OwnUser) -> Option<u32> {
        let after = self.last_uid.wrapping_add(1);
        let in_turn = self.waiting.range(after..).chain(self.waiting.range(..after));
        in_turn.map(|(uid, _)| *uid).find(|uid| self.is_allowed(*uid, own))
    }

    fn pop(&mut self, own: OwnUser) -> Option<Job> {
        let uid = self.next_uid(own)?;
        let queue = self.waiting.get_mut(&uid)?;
        let job = queue.pop_front();
        if queue.is_empty() {
            self.waiting.remove(&uid);
        }
        self.last_uid = uid;
        let kind = job.as_ref().map(|job| job.kind);
        match kind {
            Some(Kind::Refused(listener)) => forget_one(&mut self.refused, &listener),
            Some(Kind::Received) => forget_one(&mut self.received, &uid),
            Some(Kind::Socket) | None => {}
        }
        job
    }
}

/// One descriptor fewer waits of those that are counted under `key`.
fn forget_one<K: Ord + Copy>(counts: &mut SortedMap<K, usize>, key: &K) {
    if let Some(count) = counts.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(key);
        }
    }
}

impl Closer {
    /// A closer without threads for sockets.
    #[cfg(test)]
    pub(crate) fn new(max: CloserLimits) -> Self {
        Self(Arc::new(Shared { max, ..Shared::default() }))
    }

    /// A closer with threads that close sockets without waiting, where the system lets it have them. No descriptor of a
    /// peer is open yet.
    pub(crate) fn start(max: CloserLimits) -> Self {
        let sockets = SocketCloser::start();
        Self(Arc::new(Shared { max, sockets, ..Shared::default() }))
    }

    /// Closes the socket of a connection without waiting. It comes back where there is no thread for it, or too many
    /// wait.
    pub(crate) fn end_socket(&self, socket: Stream) -> Result<(), Stream> {
        match &self.0.sockets {
            Some(sockets) => sockets.close(socket),
            None => Err(socket),
        }
    }

    /// Closes a connection that was refused, and that came to the listener with this key.
    pub(crate) fn refuse(&self, from: Origin, listener: u64, socket: Stream) {
        if let Err(socket) = self.end_socket(socket) {
            self.take_refused(from, listener, socket);
        }
    }

    /// Drops a received descriptor on a thread.
    pub(crate) fn take(&self, from: Origin, value: impl Any + Send) {
        self.queue(Job { from, kind: Kind::Received, value: Box::new(value) });
    }

    /// Drops the socket of a connection on a thread.
    pub(crate) fn take_socket(&self, from: Origin, value: impl Any + Send) {
        self.queue(Job { from, kind: Kind::Socket, value: Box::new(value) });
    }

    /// The same for a connection that was refused, which came to the listener with this key.
    pub(crate) fn take_refused(&self, from: Origin, listener: u64, value: impl Any + Send) {
        self.queue(Job { from, kind: Kind::Refused(listener), value: Box::new(value) });
    }

    /// Whether so many connections of this listener, which is one of `listeners`, were refused and wait that it should
    /// accept no more.
    pub(crate) fn has_too_many_refused(&self, listener: u64, listeners: usize) -> bool {
        let max = self.0.max.total_at_first.checked_div(listeners).unwrap_or(0).max(1);
        let count = || lock(&self.0.state).refused.get(&listener).copied().unwrap_or(0);
        self.pending() > 0 && count() >= max
    }

    fn queue(&self, job: Job) {
        let mut state = lock(&self.0.state);
        self.0.busy.fetch_add(1, Ordering::Relaxed);
        let from = job.from;
        match job.kind {
            Kind::Refused(listener) => *state.refused.get_or_insert_with(listener, || 0) += 1,
            Kind::Received => *state.received.get_or_insert_with(from.uid, || 0) += 1,
            Kind::Socket => {}
        }
        state.waiting.get_or_insert_with(from.uid, VecDeque::new).push_back(job);
        self.staff(&mut state);
    }

    /// Wakes or starts a thread for the jobs that wait, if one may run.
    fn staff(&self, state: &mut State) {
        if state.next_uid(self.0.max.own).is_none() {
            return;
        }
        if state.idle > 0 {
            self.0.work.notify_one();
        } else if state.threads < CLOSER_THREADS_MAX {
            let this = self.clone();
            // Without a thread the job waits until the next one comes.
            if os::thread::spawn("traced-close", Box::new(move || this.run())).is_ok() {
                state.threads += 1;
            }
        }
    }

    fn run(&self) {
        let mut state = lock(&self.0.state);
        loop {
            let Some(job) = state.pop(self.0.max.own) else {
                if state.ended {
                    break;
                }
                state.idle += 1;
                state = self.0.work.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner());
                state.idle -= 1;
                continue;
            };
            state.started += 1;
            let (number, from, since_ns) = (state.started, job.from, clock::boot_ns());
            state.running.push(Running { number, from, since_ns, told: false });
            // This thread may not come back.
            self.staff(&mut state);
            drop(state);
            drop(job);
            state = lock(&self.0.state);
            state.running.retain(|running| running.number != number);
            self.0.busy.fetch_sub(1, Ordering::Relaxed);
        }
        state.threads -= 1;
        drop(state);
        self.0.ended.notify_all();
    }

    /// Values that are not closed yet.
    pub(crate) fn pending(&self) -> usize {
        self.0.busy.load(Ordering::Relaxed)
    }

    /// A received descriptor waits in a connection.
    fn hold(&self, uid: u32) {
        self.0.held.fetch_add(1, Ordering::Relaxed);
        *lock(&self.0.state).received.get_or_insert_with(uid, || 0) += 1;
    }

    /// A received descriptor waits in a connection no more.
    fn release(&self, uid: u32) {
        self.0.held.fetch_sub(1, Ordering::Relaxed);
        forget_one(&mut lock(&self.0.state).received, &uid);
    }

    /// Whether no descriptor of this user is received.
    pub(crate) fn refuses(&self, uid: u32) -> bool {
        self.capacity(uid).is_err()
    }

    /// How many more descriptors of this user may be received: one at least, or why none.
    pub(crate) fn capacity(&self, uid: u32) -> Result<usize, NoRoom> {
        let max = self.0.max;
        if self.pending() == 0 && self.0.held.load(Ordering::Relaxed) == 0 {
            return Ok(max.per_user);
        }
        let now_ns = clock::boot_ns();
        let state = lock(&self.0.state);
        let stuck = |running: &Running| running.since_ns.saturating_add(STUCK_NS) <= now_ns;
        if state.running.iter().any(|running| running.from.uid == uid && stuck(running)) {
            return Err(NoRoom::Stuck);
        }
        let of_user = state.received.get(&uid).copied().unwrap_or(0);
        let left = max.per_user.saturating_sub(of_user);
        if left == 0 {
            return Err(NoRoom::OfUser);
        }
        if !max.own.limits(uid) {
            return Ok(left);
        }
        let all = state.limited(max.own);
        let first = CLOSER_WAITING_AT_FIRST.saturating_sub(of_user);
        let first = first.min(max.total_at_first.saturating_sub(all));
        match left.min(max.total.saturating_sub(all).max(first)) {
            0 => Err(NoRoom::OfAll),
            count => Ok(count),
        }
    }

    /// Users with descriptors that wait.
    pub(crate) fn users(&self) -> Vec<u32> {
        lock(&self.0.state).received.keys().copied().collect()
    }

    /// How many received descriptors of a user wait, and how many may.
    pub(crate) fn waiting(&self, uid: u32) -> Usage {
        let waiting = lock(&self.0.state).received.get(&uid).copied().unwrap_or(0);
        Usage::new(waiting as u64, self.0.max.per_user as u64)
    }

    /// The same of all users but root and that of the daemon.
    pub(crate) fn all_waiting(&self) -> Usage {
        let waiting = lock(&self.0.state).limited(self.0.max.own);
        Usage::new(waiting as u64, self.0.max.total as u64)
    }

    /// The peers whose descriptors became stuck.
    pub(crate) fn poll(&self, now_ns: u64) -> Stuck {
        let mut stuck = Stuck::default();
        if self.pending() == 0 {
            return stuck;
        }
        let mut state = lock(&self.0.state);
        self.staff(&mut state);
        for running in state.running.iter_mut().filter(|running| !running.told) {
            let due_ns = running.since_ns.saturating_add(STUCK_NS);
            if due_ns <= now_ns {
                running.told = true;
                stuck.peers.push(running.from);
            } else {
                stuck.due_ns = Some(stuck.due_ns.map_or(due_ns, |other| other.min(due_ns)));
            }
        }
        stuck
    }
}

impl Drop for EndCloser {
    fn drop(&mut self) {
        let shared = &self.0.0;
        let mut state = lock(&shared.state);
        state.ended = true;
        shared.work.notify_all();
        let running = |state: &mut State| state.threads > 0;
        drop(shared.ended.wait_timeout_while(state, LAST_CLOSES, running));
    }
}

/// A descriptor on its way between a peer and the service. One that was received goes to the closer when it is
/// dropped; one that is sent is a file of this process, and one of a program's own transport is closed where it is.
pub(crate) struct PeerFd {
    fd: Option<OwnedFd>,
    closer: Option<(Closer, Origin)>,
}

impl PeerFd {
    /// A descriptor that this process made, or that it may close at any place.
    pub(crate) fn own(fd: OwnedFd) -> Self {
        Self { fd: Some(fd), closer: None }
    }

    /// A descriptor that came from a peer.
    pub(crate) fn received(fd: OwnedFd, closer: &Closer, from: Origin) -> Self {
        closer.hold(from.uid);
        Self { fd: Some(fd), closer: Some((closer.clone(), from)) }
    }

    /// The descriptor, which the caller closes.
    pub(crate) fn into_fd(mut self) -> Option<OwnedFd> {
        self.take()
    }

    fn take(&mut self) -> Option<OwnedFd> {
        let fd = self.fd.take()?;
        if let Some((closer, from)) = &self.closer {
            closer.release(from.uid);
        }
        Some(fd)
    }

    /// The user that it came from, if it was received.
    pub(crate) fn uid(&self) -> Option<u32> {
        self.closer.as_ref().map(|(_, from)| from.uid)
    }

    pub(crate) fn as_fd(&self) -> Option<BorrowedFd<'_>> {
        self.fd.as_ref().map(AsFd::as_fd)
    }
}

impl Drop for PeerFd {
    fn drop(&mut self) {
        if let (Some(fd), Some((closer, from))) = (self.take(), &self.closer) {
            closer.take(*from, fd);
        }
    }
}

#[cfg(test)]
mod tests;
