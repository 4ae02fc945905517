//! The calls that the loop may make, each with the reason why it does not wait.

use super::line::{Call, Line, file, has_flag, parse};
use std::collections::BTreeSet;

/// When a call is allowed.
enum Only {
    Always,
    /// On files of these kinds: the beginnings of their names. Argument number `.0` is the descriptor.
    On(usize, &'static [&'static str]),
    /// On a descriptor whose calls never wait (`O_NONBLOCK`), which is the first argument.
    NonBlocking,
    /// With one of these words in argument number `.0`.
    With(usize, &'static [&'static str]),
    /// On a connection that was accepted and that nothing was done with but to ask who it is.
    Untouched,
    /// On a descriptor that was sent in a message, which has another one of the file.
    Sent,
    /// It wakes others, or waits for a lock.
    Locks,
    /// Memory of no file, or a file in memory that nobody else has yet.
    OwnMemory,
    /// A mapping that no peer has, too.
    NotShared,
}

use Only::{Always, Locks, NonBlocking, NotShared, On, OwnMemory, Sent, Untouched, With};

struct Allowed {
    calls: &'static [&'static str],
    only: Only,
    reason: &'static str,
    /// The tests and the hostile users make the loop use all of these calls.
    is_needed: bool,
}

const fn needed(calls: &'static [&'static str], only: Only, reason: &'static str) -> Allowed {
    Allowed { calls, only, reason, is_needed: true }
}

const fn seldom(calls: &'static [&'static str], only: Only, reason: &'static str) -> Allowed {
    Allowed { calls, only, reason, is_needed: false }
}

/// Shared memory: sealed files in memory, which no disk and no program answers for.
const SHARED: &[&str] = &["/memfd:"];

/// What the loop sleeps in: one of these.
pub const SLEEP: [&str; 3] = ["epoll_wait", "epoll_pwait", "epoll_pwait2"];

const ALLOWED: &[Allowed] = &[
    seldom(&SLEEP, Always, "the sleep of the loop: events, the alarm and other threads end it"),
    needed(&["epoll_ctl"], Always, "changes a list of the kernel"),
    needed(&["accept4"], NonBlocking, "fails if no connection waits"),
    needed(
        &["recvmsg"],
        With(2, &["MSG_DONTWAIT"]),
        "fails if nothing has arrived; it closes no descriptor: there is room for those of a message, and with \
         SO_OOBINLINE none is dropped with an urgent byte. It runs a callback for each epoll watch of the peer: a \
         connection where that takes long is cut",
    ),
    needed(
        &["sendmsg"],
        With(2, &["MSG_DONTWAIT"]),
        "fails if the socket is full; the callbacks are those of `recvmsg`",
    ),
    needed(&["getsockopt", "setsockopt"], Always, "change the state of a socket"),
    needed(
        &["shutdown"],
        Always,
        "changes the state of a socket; the callbacks are those of `recvmsg`, and where they took long it is not \
         called",
    ),
    seldom(
        &["clock_gettime"],
        Always,
        "the time of this thread on a processor, after a call on a socket took long; other clocks where the kernel \
         maps none",
    ),
    needed(
        &["read", "write"],
        NonBlocking,
        "wake-ups, the alarm and signals: fail if there is none",
    ),
    needed(&["timerfd_settime"], Always, "changes the state of the alarm"),
    needed(
        &["mmap"],
        OwnMemory,
        "makes a mapping, and reads no file. That of memory that a peer has waits for what the peer does with it",
    ),
    needed(&["munmap"], NotShared, "ends a mapping; the same"),
    needed(
        &["mprotect", "madvise"],
        Always,
        "change a mapping; they do not wait for a peer, but may wait for the thread that maps memory of one \
         (SECURITY.md)",
    ),
    seldom(&["mremap", "brk"], Always, "the same"),
    needed(&["memfd_create"], Always, "makes a file in memory"),
    needed(&["ftruncate", "fcntl", "close"], On(0, SHARED), "neither a disk nor a program answers"),
    needed(
        &["pread64"],
        On(0, SHARED),
        "copies what is in memory; unlike `lseek` to data, it does not wait for writers of the file",
    ),
    needed(&["ioctl"], With(1, &["TIOCOUTQ", "SIOCOUTQ"]), "a number of the socket"),
    seldom(&["fcntl"], With(1, &["F_GETFD"]), "a flag of this process"),
    needed(
        &["close"],
        Untouched,
        "the listener takes no descriptors, so none waits in the connection",
    ),
    needed(
        &["close"],
        Sent,
        "a thread receives the message later, and has the last descriptor: one that ends, whose sockets are closed \
         without waiting",
    ),
    seldom(&["statx", "fstat", "newfstatat", "fstatfs"], On(0, SHARED), "the same"),
    seldom(
        &["statx", "stat", "newfstatat"],
        With(1, &["\"/proc/self/fd\""]),
        "the kernel has it in memory",
    ),
    seldom(&["stat"], With(0, &["\"/proc/self/fd\""]), "the kernel has it in memory"),
    needed(&["prlimit64"], Always, "a number of this process"),
    seldom(&["geteuid", "getpid"], Always, "a number of this process"),
    seldom(&["getrandom"], Always, "random numbers are there since the machine started"),
    seldom(&["setpriority", "getpriority"], Always, "the priority of this thread"),
    seldom(&["sched_setscheduler", "sched_getscheduler"], Always, "the priority of this thread"),
    seldom(&["rt_sigreturn"], Always, "the end of the handler of a signal"),
    seldom(
        &["sendto"],
        With(3, &["MSG_DONTWAIT"]),
        "what that handler does: fails if the socket is full",
    ),
    needed(&["clone3", "rt_sigprocmask"], Always, "starts a thread"),
    seldom(&["clone"], Always, "the same, where there is no clone3"),
    needed(
        &["futex"],
        Locks,
        "wakes a thread, or waits for one that holds a lock. The code makes no call that waits while it holds one that \
         the loop takes, too: nothing checks that here",
    ),
];

/// A line for each entry: its calls, and why they do not wait.
pub fn list() -> impl Iterator<Item = String> {
    ALLOWED.iter().map(|allowed| format!("{}: {}", allowed.calls.join(", "), allowed.reason))
}

/// The calls that must have been seen.
pub fn needed_calls() -> impl Iterator<Item = &'static str> {
    ALLOWED.iter().filter(|allowed| allowed.is_needed).flat_map(|allowed| allowed.calls).copied()
}

/// Where the threads of a process mapped memory.
#[derive(Debug, Default)]
pub struct Mapped {
    /// Files in memory.
    files: BTreeSet<String>,
    /// All else.
    others: BTreeSet<String>,
}

impl Mapped {
    /// What the thread with this log mapped.
    pub fn of(log: &str) -> Self {
        let mut mapped = Self::default();
        mapped.add(log);
        mapped
    }

    /// Adds what the thread with this log mapped.
    pub fn add(&mut self, log: &str) {
        let maps = |line: &&str| line.starts_with("mmap(") || line.starts_with("mremap(");
        for line in log.lines().filter(maps) {
            let Some(Line::Call(call)) = parse(line) else { continue };
            let is_file = call.name == "mmap"
                && file(call.argument(4)).is_some_and(|f| f.starts_with(SHARED[0]));
            let of_kind = if is_file { &mut self.files } else { &mut self.others };
            of_kind.insert(call.result.to_owned());
        }
    }

    /// Addresses where nothing but files in memory was mapped.
    pub fn shared(&self) -> BTreeSet<String> {
        self.files.difference(&self.others).cloned().collect()
    }
}

/// What a thread did with descriptors so far.
pub struct Descriptors {
    /// Calls on these never wait.
    non_blocking: BTreeSet<String>,
    /// Connections with which nothing was done.
    untouched: BTreeSet<String>,
    /// Those that were sent in a message and are open here.
    sent: BTreeSet<String>,
    /// Files in memory that are not mapped yet. Only this thread has them.
    fresh: BTreeSet<String>,
    /// Where such files, and those of peers, were mapped.
    shared: BTreeSet<String>,
}

impl Descriptors {
    /// Of a thread of a process that mapped this.
    pub fn new(memory: &Mapped) -> Self {
        let (non_blocking, untouched, sent, fresh) = Default::default();
        Self { non_blocking, untouched, sent, fresh, shared: memory.shared() }
    }

    /// Notes what `call` does.
    pub fn note(&mut self, call: &Call<'_>) {
        let changes_nothing = ["close", "fcntl", "getsockopt"].contains(&call.name)
            || call.name == "setsockopt" && call.argument(2) == "SO_OOBINLINE";
        if call.name == "accept4" {
            self.untouched.insert(call.result.to_owned());
        } else if !changes_nothing {
            for argument in &call.arguments {
                self.untouched.remove(*argument);
            }
        }
        match call.name {
            "sendmsg" if !call.result.starts_with('-') => self.sent.extend(sent(call)),
            "close" => drop(self.sent.remove(call.argument(0))),
            "memfd_create" => drop(self.fresh.insert(call.result.to_owned())),
            "mmap" if self.fresh.remove(call.argument(4)) => {
                self.shared.insert(call.result.to_owned());
            }
            // Another thread has unmapped what was there.
            "mmap" | "mremap" => drop(self.shared.remove(call.result)),
            _ => {}
        }
        let by_flag = |index| has_flag(call.argument(index), &["O_NONBLOCK"]);
        let is_changed = match call.name {
            "ioctl" => call.argument(1) == "FIONBIO" && call.argument(2) == "[1]",
            "fcntl" => call.argument(1) == "F_SETFL" && by_flag(2),
            _ => false,
        };
        let made = ["SOCK_NONBLOCK", "EFD_NONBLOCK", "TFD_NONBLOCK", "O_NONBLOCK"];
        let is_made = call.arguments.iter().any(|argument| has_flag(argument, &made));
        if is_changed {
            self.non_blocking.insert(call.argument(0).to_owned());
        } else if is_made && file(call.result).is_some() {
            self.non_blocking.insert(call.result.to_owned());
        }
    }
}

/// The descriptor in a message.
fn sent(call: &Call<'_>) -> Option<String> {
    let (_, control) = call.argument(1).split_once("SCM_RIGHTS, cmsg_data=[")?;
    Some(control.split_once("]}")?.0.to_owned())
}

/// Whether the loop may make this call.
pub fn is_allowed(call: &Call<'_>, descriptors: &Descriptors) -> bool {
    let is_it = |allowed: &&Allowed| allowed.calls.contains(&call.name);
    ALLOWED.iter().filter(is_it).any(|allowed| match allowed.only {
        Always => true,
        On(index, kinds) => {
            file(call.argument(index)).is_some_and(|f| kinds.iter().any(|k| f.starts_with(k)))
        }
        NonBlocking => descriptors.non_blocking.contains(call.argument(0)),
        Sent => descriptors.sent.contains(call.argument(0)),
        Untouched => descriptors.untouched.contains(call.argument(0)),
        With(index, flags) => has_flag(call.argument(index), flags),
        Locks => {
            let is_wake = has_flag(call.argument(1), &["FUTEX_WAKE_PRIVATE", "FUTEX_WAKE"]);
            // The value of a lock that is held and waited for, and no limit of time.
            is_wake || (call.argument(2) == "2" && call.argument(3) == "NULL")
        }
        OwnMemory => {
            let descriptor = call.argument(4);
            descriptor == "-1" || descriptors.fresh.contains(descriptor)
        }
        NotShared => !descriptors.shared.contains(call.argument(0)),
    })
}
