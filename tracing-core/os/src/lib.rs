//! The system calls that clients and the daemon share: clocks, sleeping, shared memory, sockets.
//!
//! A client makes its calls through the standard library and `sys`, which has the others, so that a traced program
//! builds quickly. The feature `host` adds what a program needs that accepts connections; it uses `rustix`. Unsafe code
//! is in `sys`, in [`shm`], which maps memory, in `counter`, which reads a register, in `thread/pthread` and
//! `thread/own_descriptors`, which start threads and give them descriptors of their own, and in `socket/names`, which
//! reads a type that `rustix` lacks. The system calls that only a daemon makes are in the crate `daemon`, module
//! `system`.
//!
//! | file | calls | for |
//! |---|---|---|
//! | `clock` | `clock_gettime` | the time of an event, for the service |
//! | `counter` | none: an instruction | the counter of the processor |
//! | `counter_clock` | `clock_gettime` | the time of an event, from the counter |
//! | `environment` | `getauxval` | variables, which do not count in a setuid program |
//! | `hooks` | `atexit`, `pthread_atfork` | what a library does at the end of a process, and in a forked one |
//! | `poll` | `ppoll`, `eventfd2` | a client that sleeps until something happens |
//! | `poll/alarm` | `timerfd_settime` ... | a service that sleeps until a timer is due |
//! | `poll/poller` | `epoll_wait` ... | a daemon that sleeps until something happens |
//! | `memory_limit` | `sysinfo`, files of control groups | how much memory a daemon may use, and what its group keeps |
//! | `process` | `getrandom`, `getpid`, `geteuid`, `uname`, `sysinfo`, `sysconf`, `prlimit` | this process |
//! | `queue` | those of a lock | items from one thread to another |
//! | `shm` | `memfd_create`, `fcntl` (seals), `fstat`, `fstatfs`, `mmap`, `madvise` ... | producers' memory |
//! | `socket/address` | `stat` | default addresses |
//! | `socket/claim` | `renameat2`, `stat`, `unlink`, `rmdir` | a path that another user took first |
//! | `socket/descriptors` | `recvmsg`, `setsockopt` (`SO_PASSRIGHTS`) | descriptors that peers send to a daemon |
//! | `socket/listen` | `socket`, `bind`, `listen`, `accept4`, `connect`, `stat`, `unlink`, `chmod` | listening |
//! | `socket/names` | `getsockname`, `getpeername` | addresses of sockets |
//! | `socket/open_socket` | `fstat`, `socketpair`, `dup3` | sockets of a process that forks |
//! | `socket/stream` | `socket`, `connect`, `sendmsg`, `recvmsg`, `getsockopt`, `ioctl`, `shutdown` | peers |
//! | `socket/vsock` | `socket`, `bind`, `listen`, `connect` | virtual machines |
//! | `sys` | those that the standard library lacks | the calls of a client |
//! | `thread` | `gettid`, `getpriority`, `setpriority`, `pthread_create` ... | the calling thread, and new ones |
//! | `thread/own_descriptors` | `unshare`, `close_range` | a thread that closes its descriptors by its end |
//! | `thread/scheduling` | `setpriority`, `sched_setscheduler` | a thread that runs faster for a session |

#![allow(clippy::disallowed_methods, reason = "clocks are read here")]

#[cfg(not(any(target_os = "linux", target_os = "android")))]
compile_error!(
    "tracebox-sdk and tracebox-core are for Linux: depend on them below \
     `[target.'cfg(target_os = \"linux\")'.dependencies]`, and put call sites under `#[cfg(target_os = \"linux\")]`"
);

pub mod clock;
mod counter;
pub mod counter_clock;
pub mod environment;
pub mod hooks;
#[cfg(feature = "host")]
pub mod memory_limit;
pub mod poll;
#[cfg(feature = "service")]
pub mod process;
pub mod queue;
pub mod shm;
pub mod socket;
mod sys;
pub mod thread;

use std::io;

use abi::error::OsError;

/// Names the call that failed.
pub fn failed<E: Into<io::Error>>(call: &'static str) -> impl FnOnce(E) -> OsError {
    move |error| OsError::new(call, error.into().raw_os_error().unwrap_or(libc::EIO))
}

/// As [`failed`], for calls that take a host name, which may be unknown.
pub fn failed_with_name(call: &'static str) -> impl FnOnce(io::Error) -> OsError {
    move |error| match error.raw_os_error() {
        Some(errno) => OsError::new(call, errno),
        None => OsError::new("getaddrinfo", libc::EHOSTUNREACH),
    }
}
