//! The tracing service among its connections: a daemon, or a part of another program.
//!
//! This crate connects the state machine of the crate `service` to sockets, files and timers. Its loops make no
//! decision about tracing:
//!
//! | module | what |
//! |---|---|
//! | [`serve`] | the daemon: sockets, files and timers around the service |
//! | [`in_process`] | the same service on a thread of this process, without sockets |
//! | [`embed`] | the same service without a thread, also over a transport of the program |
//! | [`system`] | the system calls that only a daemon makes |
//! | `local` | connections of clients in this process |
//! | `limits` | every bound, with its reason |
//! | `usage` | how much of something there is, and may be, in answers to queries |
//!
//! Without the feature `host` there are only `in_process` and what it needs: nothing for connections from elsewhere.

#![allow(clippy::disallowed_methods, reason = "waiting with a deadline needs the process's clock")]

#[cfg(feature = "host")]
pub mod embed;
pub mod in_process;
#[doc(hidden)]
pub mod limits;
mod local;
pub mod serve;
pub mod system;
#[cfg(feature = "host")]
mod usage;
