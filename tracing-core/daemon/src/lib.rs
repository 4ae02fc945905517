//! The tracing service among its connections: a daemon, or a part of another program.
//!
//! The state machine of the crate `service` meets sockets, files and timers here, in loops that contain no
//! decision of their own:
//!
//! | module | what |
//! |---|---|
//! | [`serve`] | the daemon: sockets, files and timers around the service |
//! | [`in_process`] | the same service on a thread of this process, without sockets |
//! | [`embed`] | the same service without a thread, and over an IPC that is not ours |
//! | [`system`] | the system calls that only a daemon makes |

#![allow(clippy::disallowed_methods, reason = "waiting with a deadline needs the process's clock")]

pub mod embed;
pub mod in_process;
#[doc(hidden)]
pub mod limits;
mod local;
pub mod serve;
pub mod system;
