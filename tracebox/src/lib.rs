//! The programs: `traced`, `perfetto`, and `tracebox`, which is all of them.
//!
//! ```text
//!   argv ──cli──▶ options ──plan──▶ what to do ──config──▶ TraceConfig ──recorder──▶ a trace
//! ```
//!
//! | module | what |
//! |---|---|
//! | [`applet`] | chooses the program, by the name it was called or its first argument |
//! | `cli`, `plan` | perfetto's command line, and which of its options go together |
//! | [`config`] | configs from files, from light-mode options, and the built-in ones |
//! | `recorder` | records one trace, for all programs that do |
//! | `output`, `report`, `loss_scanner` | where a trace goes, its size and losses, which packets it lacks |
//! | [`perfetto`], [`traced`], [`probes`], [`trigger`] | the programs that upstream has, too |
//! | `trace`, `manual`, `units` | traces as text, manual pages, systemd units: commands of `tracebox` |
//! | `inspect` | mistakes in a trace, and what it consists of |
//! | `doctor` | what can be recorded on this machine, and what mends the rest |
//! | `ftrace_notes` | which events of the kernel a trace lacks, and why |
//! | `spelling` | words that are nearly other words |
//! | [`schema`] | the whole schema as data, for text |
//! | `background`, `console`, `interrupt` | leaving the terminal, writing to it, signals |
//! | `failure`, `version` | how a program ends, and which version it is |
//!
//! Everything that traces is in `tracing-core`; this crate connects it to a terminal. A program that fails
//! prints one line that says what went wrong, and exits with a non-zero code.

pub mod applet;
pub(crate) mod background;
pub(crate) mod cli;
pub mod config;
pub(crate) mod console;
pub(crate) mod doctor;
pub(crate) mod failure;
pub(crate) mod ftrace_notes;
pub(crate) mod inspect;
pub(crate) mod interrupt;
pub(crate) mod loss_scanner;
pub(crate) mod manual;
pub(crate) mod output;
pub mod perfetto;
pub(crate) mod plan;
pub mod probes;
pub(crate) mod recorder;
pub(crate) mod report;
pub mod schema;
pub(crate) mod spelling;
pub(crate) mod trace;
pub mod traced;
pub mod trigger;
pub(crate) mod units;
pub(crate) mod version;
