//! The life of a session.
//!
//! ```text
//!   EnableTracing ──> CONFIGURED ──> STARTED ──> STOPPING ──> DISABLED ──> gone
//!                         │             │ no acks wanted          ^
//!                         └─────────────┴─────────────────────────┘
//! ```
//!
//! `config` checks what is asked, `buffers` makes room, `start` makes and starts, `boost` makes the
//! service run faster, `flush` collects what producers still hold, `read` gives packets to a `sink`
//! (`sequence` says whose they are), `file` is a schedule of such passes, `stop` ends. A session can be
//! copied (`clone`, and its bytes by `copying`), left and taken over (`detach`) and, a little, changed (`reconfigure`).

pub(super) mod boost;
pub(super) mod buffers;
pub(super) mod clone;
pub(super) mod config;
mod copying;
pub(super) mod detach;
pub(super) mod file;
pub(super) mod flush;
pub(super) mod read;
pub(super) mod reconfigure;
pub(super) mod sequence;
pub(super) mod sink;
pub(super) mod start;
pub(super) mod state;
pub(super) mod stop;
