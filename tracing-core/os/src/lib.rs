//! The system calls that clients and the daemon share: clocks, sleeping, shared memory, sockets.
//!
//! Everything is `rustix` or the standard library, safe and typed, but for four files: [`shm`], which maps memory,
//! `tsc`, which reads a register, `socket/credentials` and `socket/vsock`, which speak of types that rustix lacks.
//! What only a daemon asks of the system is in the crate `daemon`, module `system`.
//!
//! | file | calls | for |
//! |---|---|---|
//! | `clock` | `clock_gettime` | the instant the service is told |
//! | `poll` | `epoll_wait`, `poll`, `eventfd2`, `timerfd_settime` ... | sleeping until something happens |
//! | `process` | `getrandom`, `getpid`, `geteuid`, `uname`, `sysinfo`, `sched_getaffinity`, `prlimit` | who we are |
//! | `shm` | `memfd_create`, `fcntl` (seals), `fstat`, `fstatfs`, `mmap`, `madvise` ... | producers' memory |
//! | `socket/address` | `access` | finding the daemon |
//! | `socket/listen` | `socket`, `bind`, `listen`, `accept4`, `connect`, `stat`, `unlink`, `chmod` | being found |
//! | `socket/stream` | `connect`, `sendmsg`, `recvmsg`, `getsockopt`, `shutdown` | talking to peers |
//! | `socket/vsock` | `socket`, `bind`, `listen`, `connect`, `getsockname`, `getpeername` | virtual machines |
//! | `tsc` | none: an instruction | one more clock |

#![allow(clippy::disallowed_methods, reason = "clocks are read here")]

pub mod clock;
pub mod poll;
pub mod process;
pub mod shm;
pub mod socket;
mod tsc;

use abi::error::OsError;

/// Names the call that failed.
pub fn failed(call: &'static str) -> impl FnOnce(rustix::io::Errno) -> OsError {
    move |errno| OsError::new(call, errno.raw_os_error())
}

/// The same for calls that went through the standard library.
pub fn failed_io(call: &'static str) -> impl FnOnce(std::io::Error) -> OsError {
    move |error| {
        OsError::new(call, error.raw_os_error().unwrap_or(rustix::io::Errno::IO.raw_os_error()))
    }
}

/// The same for calls that take the name of a machine, which may be nobody's.
pub fn failed_with_name(call: &'static str) -> impl FnOnce(std::io::Error) -> OsError {
    move |error| match error.raw_os_error() {
        Some(errno) => OsError::new(call, errno),
        None => OsError::new("getaddrinfo", rustix::io::Errno::HOSTUNREACH.raw_os_error()),
    }
}
