//! The system calls that only a daemon makes: files, priorities, signals, sockets that were passed.
//!
//! Everything is `rustix`, `signal-hook` or the standard library, safe and typed, but for two files: [`memory`],
//! which asks for memory, and `writeback`, which makes a call that none of them has.
//!
//! | file | calls | for |
//! |---|---|---|
//! | `file` | `open` (`O_EXCL`), `fchmod`, `write`, `pread`, `fdatasync`, `ftruncate` ... | traces of the service |
//! | `memory` | `madvise` | taking memory in larger pieces |
//! | `priority` | `getpriority`, `setpriority` | running faster for a session |
//! | `signal` | `sigaction`, `socketpair` (through `signal-hook`) | Ctrl-C as a descriptor |
//! | `timezone` | files of tzdata (through `tz-rs`) | the offset of local time |
//! | `writeback` | `sync_file_range` | ending traces sooner |
//! | `systemd` | `pidfd_open`, `pidfd_getfd`, `sendto` | sockets that were passed, and saying that we are ready |

pub mod file;
pub mod memory;
pub mod priority;
pub mod signal;
pub mod systemd;
pub mod timezone;
mod writeback;
