//! The recorder: from a [`RecordRequest`](request::RecordRequest) to a trace and a report. It is the same
//! for `perfetto`, `tracebox` and `tracebox record`.
//!
//! ```text
//!  foreground ──┐                     ┌─ session ── readback ──▶ output
//!  command ─────┴─ control ─▶ Recorder ┤
//!                  host ─────▶        └─ snapshots (CLONE_SNAPSHOT triggers)
//! ```
//!
//! | module | what |
//! |---|---|
//! | [`request`] | what the command line asks for |
//! | [`host`] | the service: a running one, or one of this process |
//! | [`run`] | [`run::Recorder`], which joins the others |
//! | [`session`] | the life of one tracing session, and [`session::Control`], which decides about it |
//! | [`readback`] | takes a finished trace, or a clone, out of the service |
//! | [`ftrace_claim`] | one recorder at a time sets the kernel's tracing |
//! | [`sources`] | which data sources have a producer |
//! | [`snapshots`] | clones a session at each trigger |
//! | [`foreground`], [`command`] | the two kinds of control: a user at a terminal, a command that runs |
//! | [`consumer_error`] | errors of the connection to the service, as failures for the user |

pub mod command;
pub mod consumer_error;
pub mod foreground;
pub mod ftrace_claim;
pub mod host;
pub mod readback;
pub mod request;
pub mod run;
pub mod session;
pub mod snapshots;
pub mod sources;
