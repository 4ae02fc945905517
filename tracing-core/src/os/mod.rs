//! Every system call this crate makes.
//!
//! Layer 4. Everything is `rustix`, `nix` or the standard library, safe and typed, but for four files: [`shm`],
//! which maps memory, [`memory`], which asks for it, `tsc`, which reads a register, and `writeback`, which makes
//! a call that none of them has. Descriptors are always owned values and always close on exec.
//!
//! | file | calls | for |
//! |---|---|---|
//! | `clock` | `clock_gettime` | the instant the service is told |
//! | `file` | `open` (`O_EXCL`), `fchmod`, `write`, `pread`, `fdatasync`, `ftruncate` ... | traces of the service |
//! | `memory` | `madvise` | taking memory in larger pieces |
//! | `poll` | `epoll_wait`, `poll`, `eventfd2`, `timerfd_settime` ... | sleeping until something happens |
//! | `priority` | `getpriority`, `setpriority` | running faster for a session |
//! | `process` | `getrandom`, `getpid`, `geteuid`, `uname`, `sysinfo`, `sched_getaffinity`, `prlimit` | who we are |
//! | `shm` | `memfd_create`, `fcntl` (seals), `fstat`, `fstatfs`, `mmap`, `madvise` ... | producers' memory |
//! | `signal` | `sigaction`, `socketpair` (through `signal-hook`) | Ctrl-C as a descriptor |
//! | `socket/address` | `access` | finding the daemon |
//! | `socket/listen` | `socket`, `bind`, `listen`, `accept4`, `connect`, `stat`, `unlink`, `chmod` | being found |
//! | `socket/stream` | `connect`, `sendmsg`, `recvmsg`, `getsockopt`, `shutdown` | talking to peers |
//! | `socket/vsock` | `socket`, `bind`, `listen`, `connect`, `getsockname`, `getpeername` | virtual machines |
//! | `timezone` | files of tzdata | the offset of local time |
//! | `tsc` | none: an instruction | one more clock |
//! | `writeback` | `sync_file_range` | ending traces sooner |
//! | `systemd` | `pidfd_open`, `pidfd_getfd`, `sendto` | sockets that were passed, and saying that we are ready |

pub mod clock;
pub mod file;
pub mod memory;
pub mod poll;
pub mod priority;
pub mod process;
pub mod shm;
pub mod signal;
pub mod socket;
pub mod systemd;
pub mod timezone;
mod tsc;
mod writeback;

use crate::error::OsError;

/// Names the call that failed.
fn failed(call: &'static str) -> impl FnOnce(rustix::io::Errno) -> OsError {
    move |errno| OsError::new(call, errno.raw_os_error())
}

/// The same for calls that went through the standard library.
fn failed_io(call: &'static str) -> impl FnOnce(std::io::Error) -> OsError {
    move |error| {
        OsError::new(call, error.raw_os_error().unwrap_or(rustix::io::Errno::IO.raw_os_error()))
    }
}

/// The same for calls that take the name of a machine, which may be nobody's.
fn failed_with_name(call: &'static str) -> impl FnOnce(std::io::Error) -> OsError {
    move |error| match error.raw_os_error() {
        Some(errno) => OsError::new(call, errno),
        None => OsError::new("getaddrinfo", rustix::io::Errno::HOSTUNREACH.raw_os_error()),
    }
}
