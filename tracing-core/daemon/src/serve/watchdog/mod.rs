//! How long the turns of the loop take: nothing in them may wait, and no peer may cause much work.
//!
//! ```text
//!   loop ── begin, task, task, end ──> longer than 100 ms? a line: how long, and its longest task
//!             │ two stores each
//!             v
//!   thread ── looks each second ────> still not over? a line: what it is busy with
//! ```
//!
//! The thread sleeps while the loop does. Times are those of the monotonic clock, in ns.

use core::fmt;
use std::time::Duration;

use super::log::Lines;
use super::user::{ConnectionUser, PeerUser};
use abi::ids::ClientId;
use abi::sync::{Arc, AtomicBool, AtomicU64, Condvar, Mutex, Ordering, lock};
use os::clock;
use os::thread::Thread;
use service::{Input, LogLevel};

/// A turn that takes longer is told when it is over, ns.
const SLOW_NS: u64 = 100_000_000;
/// How often the thread looks. A turn that it finds twice is told before it is over.
const LOOK: Duration = Duration::from_secs(1);

/// What the loop is busy with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Task {
    /// Reading, sending, accepting.
    #[default]
    Connections,
    ProducerRequest,
    ConsumerRequest,
    /// A connection begins, ends, or can be sent more.
    Connection,
    File,
    Timers,
}

const TASKS: [Task; 6] = [
    Task::Connections,
    Task::ProducerRequest,
    Task::ConsumerRequest,
    Task::Connection,
    Task::File,
    Task::Timers,
];

// A task is stored as a number: its position.
const _: () = {
    let mut index = 0;
    while index < TASKS.len() {
        assert!(TASKS[index] as usize == index);
        index += 1;
    }
};

impl Task {
    pub(super) fn of(input: &Input) -> Self {
        match input {
            Input::ProducerRequest { .. } => Self::ProducerRequest,
            Input::ConsumerRequest { .. } | Input::ShellCounted(_) => Self::ConsumerRequest,
            Input::ProducerConnected { .. }
            | Input::ProducerRefused { .. }
            | Input::ProducerCut { .. }
            | Input::ProducerDisconnected { .. }
            | Input::ConsumerConnected { .. }
            | Input::ConsumerDisconnected { .. }
            | Input::FramesDecoded { .. }
            | Input::Drained { .. } => Self::Connection,
            Input::FileCreated { .. } | Input::FileWritten { .. } | Input::PrioritySet { .. } => {
                Self::File
            }
        }
    }
}

/// A task and the peer that it is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Busy {
    task: Task,
    who: Option<ConnectionUser>,
}

impl fmt::Display for Busy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.task {
            Task::Connections => "connections",
            Task::ProducerRequest => "a request of a producer",
            Task::ConsumerRequest => "a request of a consumer",
            Task::Connection => "the state of a connection",
            Task::File => "an answer about a file",
            Task::Timers => "timers",
        })?;
        match self.who {
            Some(ConnectionUser { client, user }) => write!(f, " (connection {client} of {user})"),
            None => Ok(()),
        }
    }
}

/// What the thread reads.
#[derive(Debug, Default)]
struct Shared {
    /// When the turn began; 0 while the loop sleeps.
    since_ns: AtomicU64,
    /// The task in the highest byte, the number of the connection in the others.
    task: AtomicU64,
    /// The user plus two; 1 for users of other machines, 0 for none.
    user: AtomicU64,
    /// The thread waits for a turn.
    asleep: AtomicBool,
    ended: Mutex<bool>,
    work: Condvar,
}

const CLIENT_BITS: u32 = 56;

impl Shared {
    fn store(&self, busy: Busy) {
        let (client, user) = match busy.who {
            None => (0, 0),
            Some(ConnectionUser { client, user: PeerUser::Remote }) => (client.get(), 1),
            Some(ConnectionUser { client, user: PeerUser::Local(uid) }) => {
                (client.get(), u64::from(uid) + 2)
            }
        };
        let task = busy.task as u64;
        let client = client & ((1 << CLIENT_BITS) - 1);
        self.task.store(task << CLIENT_BITS | client, Ordering::Relaxed);
        self.user.store(user, Ordering::Relaxed);
    }

    /// The two values may be of two tasks: then the line is about the connection of one and the user of another.
    fn load(&self) -> Busy {
        let (word, user) = (self.task.load(Ordering::Relaxed), self.user.load(Ordering::Relaxed));
        let index = usize::try_from(word >> CLIENT_BITS).unwrap_or(0);
        let client = ClientId::new(word & ((1 << CLIENT_BITS) - 1));
        let user = match user {
            0 => None,
            1 => Some(PeerUser::Remote),
            uid => Some(PeerUser::Local(u32::try_from(uid - 2).unwrap_or(0))),
        };
        let task = TASKS.get(index).copied().unwrap_or_default();
        Busy { task, who: user.map(|user| ConnectionUser { client, user }) }
    }
}

/// The turn that the loop is in, as the loop tells it. See the [module](self).
#[derive(Debug, Default)]
pub(super) struct WatchedTurn {
    shared: Arc<Shared>,
    began_ns: u64,
    /// The task at hand, and when it began.
    busy: Busy,
    busy_ns: u64,
    /// The longest task of this turn.
    longest: Busy,
    longest_ns: u64,
}

/// A turn that took long.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SlowTurn {
    pub(super) line: String,
    /// The peer of its longest task.
    pub(super) who: Option<ConnectionUser>,
}

impl WatchedTurn {
    /// The loop wakes up.
    pub(super) fn begin(&mut self, now_ns: u64) {
        (self.began_ns, self.longest_ns, self.busy_ns) = (now_ns, 0, now_ns);
        self.busy = Busy::default();
        self.shared.store(self.busy);
        // In one order with the thread, which looks at `since_ns` once it has said that it sleeps.
        self.shared.since_ns.store(now_ns.max(1), Ordering::SeqCst);
        if self.shared.asleep.load(Ordering::SeqCst) {
            let _ended = lock(&self.shared.ended);
            self.shared.work.notify_all();
        }
    }

    /// The loop turns to another task.
    pub(super) fn task(&mut self, now_ns: u64, task: Task, who: Option<ConnectionUser>) {
        self.close(now_ns);
        self.busy = Busy { task, who };
        self.shared.store(self.busy);
    }

    /// The loop goes to sleep. Returns the turn if it took long.
    pub(super) fn end(&mut self, now_ns: u64) -> Option<SlowTurn> {
        self.close(now_ns);
        self.shared.since_ns.store(0, Ordering::Release);
        let took_ns = now_ns.saturating_sub(self.began_ns);
        (took_ns > SLOW_NS).then(|| {
            let (ms, longest_ms) = (took_ns / 1_000_000, self.longest_ns / 1_000_000);
            let longest = self.longest;
            let line = format!("a turn took {ms} ms, {longest_ms} of them {longest}");
            SlowTurn { line, who: longest.who }
        })
    }

    fn close(&mut self, now_ns: u64) {
        let took_ns = now_ns.saturating_sub(self.busy_ns);
        if took_ns >= self.longest_ns {
            (self.longest, self.longest_ns) = (self.busy, took_ns);
        }
        self.busy_ns = now_ns;
    }
}

/// The side of the thread: it tells a turn once.
#[derive(Debug, Default)]
struct Looks {
    /// The beginning of the turn that was found last, and whether it was told.
    found_ns: u64,
    told: bool,
}

impl Looks {
    fn look(&mut self, shared: &Shared, now_ns: u64) -> Option<String> {
        let since_ns = shared.since_ns.load(Ordering::SeqCst);
        if since_ns == 0 || since_ns != self.found_ns {
            *self = Self { found_ns: since_ns, told: false };
            return None;
        }
        let took_ns = now_ns.saturating_sub(since_ns);
        if self.told || took_ns <= SLOW_NS {
            return None;
        }
        self.told = true;
        let ms = took_ns / 1_000_000;
        Some(format!("a turn has not ended after {ms} ms, busy with {}", shared.load()))
    }
}

/// The thread. Dropping it ends that.
#[derive(Debug)]
pub(super) struct Watchdog {
    shared: Arc<Shared>,
    thread: Option<Thread>,
}

impl Watchdog {
    /// Writes to `lines`. Without a thread nobody looks.
    pub(super) fn start(turn: &WatchedTurn, lines: Lines) -> Self {
        let shared = Arc::clone(&turn.shared);
        let theirs = Arc::clone(&shared);
        let run = Box::new(move || run(&theirs, &lines));
        Self { shared, thread: os::thread::spawn("traced-watchdog", run).ok() }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        *lock(&self.shared.ended) = true;
        self.shared.work.notify_all();
        if let Some(thread) = self.thread.take() {
            thread.join();
        }
    }
}

fn run(shared: &Shared, lines: &Lines) {
    let mut looks = Looks::default();
    let mut ended = lock(&shared.ended);
    while !*ended {
        shared.asleep.store(true, Ordering::SeqCst);
        if shared.since_ns.load(Ordering::SeqCst) == 0 {
            ended = shared.work.wait(ended).unwrap_or_else(|poisoned| poisoned.into_inner());
            shared.asleep.store(false, Ordering::SeqCst);
            continue;
        }
        shared.asleep.store(false, Ordering::SeqCst);
        if let Some(line) = looks.look(shared, clock::mono_ns()) {
            lines.write(LogLevel::Error, &line);
        }
        ended = match shared.work.wait_timeout(ended, LOOK) {
            Ok((ended, _)) => ended,
            Err(poisoned) => poisoned.into_inner().0,
        };
    }
}

#[cfg(test)]
mod tests;
