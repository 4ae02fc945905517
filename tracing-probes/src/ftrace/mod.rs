//! `linux.ftrace`: events of the kernel, which tracefs gives as pages of binary records.
//!
//! ```text
//! our .proto files                tracefs: events/G/E/format       config of a session
//!       │ cargo xtask codegen           │                                │
//!  schema::EVENTS                 format::Format                   the events it asks for
//!       └──────────────┬────────────────┘                                │
//!                 table::Table ── a Plan for each id of a record ────────┤
//!                      │                                                 │
//!  trace_pipe_raw ──> page::Events ─> event, compact ─> Bundle ─> TracePacket of that session
//! ```
//!
//! Everything in this drawing is a pure function of bytes: it has no files, threads and clocks.
//!
//! ```text
//! FtraceConfig ─> config::Config ─> mux::Mux ─> dyn tracefs::Tracefs     one Mux for each instance of tracefs
//! ```
//!
//! A `Mux` sets tracefs for all sessions together, and puts back what it found. [`controller`] owns the `Mux` of each
//! instance of tracefs and reads the pipes; [`source`] is the data source, with the thread that the controller runs on.
//!
//! Trust: the kernel is trusted to print what it does, not to have no bugs, and the pages hold names and texts of any
//! process. Every offset and length is checked. A record that its plan does not fit is skipped and counted; a page that
//! breaks off is reported with a [`FtraceParseStatus`](protos::FtraceParseStatus); the next page is read.

mod addresses;
#[cfg(test)]
mod allocations;
mod bundle;
mod comm;
mod compact;
mod config;
mod controller;
mod drain;
mod event;
mod facts;
mod filter;
mod format;
mod frozen;
mod mux;
pub mod offline;
mod options;
mod pace;
mod page;
#[cfg(test)]
mod recorded;
mod schema;
mod source;
mod subscriber;
mod symbols;
mod table;
mod tracefs;
mod varint;

pub use self::config::{FtraceCategory, ftrace_categories};
pub(crate) use self::frozen::FrozenFtraceProbe;
pub use self::options::FtraceOptions;
pub use self::source::{FTRACE_LOCK, FtraceRecords, ftrace_records, ftrace_records_of_others};
pub(crate) use self::source::{FtraceSource, descriptor, hard_reset};
pub use self::tracefs::FTRACE_ROOTS;

/// The name of the data source.
pub(crate) const NAME: &str = "linux.ftrace";

/// What to do where rights to tracefs are missing: those of the recorder do not matter, nor do those of a shell where
/// systemd has started the data sources.
pub(crate) const RUN_AS_ROOT: &str = "run traced_probes (with systemd: `tracebox install-units --kernel`), or \
                                      tracebox, as root, or see `tracebox doctor`";
