//! The programs: `traced`, `perfetto`, and `tracebox`, which is all of them.
//!
//! ```text
//!   argv ──cli──▶ words ──plan──▶ what to do ──config──▶ TraceConfig ──recording──▶ a trace
//! ```
//!
//! | module | what |
//! |---|---|
//! | [`applet`] | which program was meant, by the name it was called or its first word |
//! | [`cli`], [`plan`] | perfetto's command line, and which of its words go together |
//! | [`config`] | configs from files, from light-mode words, and our own default |
//! | [`recording`], [`output`], [`report`] | the life of one trace, where it goes, what became of it |
//! | [`perfetto`], [`traced`], [`probes`], [`record`], [`trace`] | the programs |
//! | [`schema`] | the whole schema as data, for text |
//! | [`background`], [`console`], [`nudge`] | leaving the terminal, talking to it, Ctrl-C |
//!
//! Everything that traces is in `tracing-core`; here it is wired to a terminal. A program ends with
//! one line that says what went wrong and a non-zero code, or with neither.

pub mod applet;
pub mod background;
pub mod cli;
pub mod config;
pub mod console;
pub mod failure;
pub mod gaps;
pub mod manual;
pub mod nudge;
pub mod output;
pub mod perfetto;
pub mod plan;
pub mod probes;
pub mod record;
pub mod recording;
pub mod report;
pub mod schema;
pub mod snapshots;
pub mod trace;
pub mod traced;
pub mod trigger;

/// What `--version` prints and the service tells about itself.
pub const VERSION: &str = concat!("Perfetto v", env!("CARGO_PKG_VERSION"), " (Rust)");
