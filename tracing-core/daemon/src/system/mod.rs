//! The system calls that only a daemon makes: files, signals, sockets that were passed.
//!
//! The calls go through the standard library, `os` or, with the feature `host`, `rustix` and `signal-hook`; except in
//! three files with unsafe code: [`memory`], which asks for pages, `writeback`, whose call none of them has, and
//! `closer/sockets`, whose threads have descriptors of their own.
//!
//! | file | calls | for |
//! |---|---|---|
//! | `closer` | `close`, on threads | descriptors that peers passed |
//! | `closer/sockets` | `sendmsg`, `recvmsg`, the ends of threads | the same for sockets |
//! | `file` | `open` (`O_EXCL`), `fchmod`, `write`, `pread`, `fdatasync`, `ftruncate` ... | traces of the service |
//! | `identity` | `setgroups`, `setresgid`, `setresuid` of a thread, `capget` | files of a consumer |
//! | `mapper` | `mmap`, `munmap`, on a thread | memory that peers have, too |
//! | `memory` | `madvise` | taking memory in larger pieces |
//! | `own_user` | none | who has limits: neither root nor the user of the daemon |
//! | `signal` | `sigaction`, `socketpair` (through `signal-hook`) | Ctrl-C as a descriptor |
//! | `timezone` | files of tzdata (through `tz-rs`) | the offset of local time |
//! | `unreclaimable` | files of control groups, on a thread | what the kernel counts as memory of the daemon |
//! | `writeback` | `sync_file_range` | ending traces sooner |
//! | `systemd` | `pidfd_open`, `pidfd_getfd`, `connect`, `sendto` | passed sockets, and who started the daemon |

#[cfg(feature = "host")]
pub(crate) mod closer;
pub mod file;
#[cfg(feature = "host")]
pub mod identity;
#[cfg(feature = "host")]
pub(crate) mod mapper;
pub mod memory;
pub(crate) mod own_user;
#[cfg(feature = "host")]
pub mod signal;
#[cfg(feature = "host")]
pub mod systemd;
#[cfg(feature = "host")]
pub mod timezone;
#[cfg(feature = "host")]
pub(crate) mod unreclaimable;
mod writeback;
