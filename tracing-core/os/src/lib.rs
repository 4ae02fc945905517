//! The system calls that clients and the daemon share: clocks, sleeping, shared memory, sockets.
//!
//! The calls go through `rustix` or the standard library, except in four files with unsafe code: [`shm`], which maps
//! memory, `tsc`, which reads a register, and `socket/credentials` and `socket/vsock`, which need types that `rustix`
//! lacks. The system calls that only a daemon makes are in the crate `daemon`, module `system`.
//!
//! | file | calls | for |
//! |---|---|---|
//! | `clock` | `clock_gettime` | the instant the service is told |
//! | `poll` | `epoll_wait`, `poll`, `eventfd2`, `timerfd_settime` ... | sleeping until something happens |
//! | `process` | `getrandom`, `getpid`, `geteuid`, `uname`, `sysinfo`, `sched_getaffinity`, `prlimit` | this process |
//! | `shm` | `memfd_create`, `fcntl` (seals), `fstat`, `fstatfs`, `mmap`, `madvise` ... | producers' memory |
//! | `socket/address` | `access` | default addresses |
//! | `socket/listen` | `socket`, `bind`, `listen`, `accept4`, `connect`, `stat`, `unlink`, `chmod` | listening |
//! | `socket/stream` | `connect`, `sendmsg`, `recvmsg`, `getsockopt`, `shutdown` | talking to peers |
//! | `socket/vsock` | `socket`, `bind`, `listen`, `connect`, `getsockname`, `getpeername` | virtual machines |
//! | `tsc` | none: an instruction | the time stamp counter |

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

/// As [`failed`], for calls through the standard library.
pub fn failed_io(call: &'static str) -> impl FnOnce(std::io::Error) -> OsError {
    move |error| {
        OsError::new(call, error.raw_os_error().unwrap_or(rustix::io::Errno::IO.raw_os_error()))
    }
}

/// As [`failed`], for calls that take a host name, which may be unknown.
pub fn failed_with_name(call: &'static str) -> impl FnOnce(std::io::Error) -> OsError {
    move |error| match error.raw_os_error() {
        Some(errno) => OsError::new(call, errno),
        None => OsError::new("getaddrinfo", rustix::io::Errno::HOSTUNREACH.raw_os_error()),
    }
}
