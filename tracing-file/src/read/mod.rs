//! Reads the events of a trace of any size.
//!
//! ```
//! use tracing_file::read::{EventKind, TraceReader};
//! # let mut bytes = Vec::new();
//! # let mut trace = tracing_file::write::TraceFile::create(&mut bytes)?;
//! # let worker = trace.thread(1, 7, "worker");
//! # trace.slice(&worker, 1_000, 250, "work");
//! # trace.finish()?;
//! let mut trace = TraceReader::new(bytes.as_slice());
//! let mut begins = Vec::new();
//! while let Some(event) = trace.next_event()? {
//!     if event.kind() == EventKind::SliceBegin {
//!         let thread = event.track().and_then(|track| track.name.as_deref());
//!         begins.push((thread.map(str::to_owned), event.name().map(String::from)));
//!     }
//! }
//! assert_eq!(begins, [(Some("worker".into()), Some("work".into()))]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A trace that was damaged is read as far as it goes:
//!
//! ```
//! use tracing_file::read::{EventKind, LEVELS_MAX, LogMessage, MEMORY_MAX, Severity, TraceReader};
//!
//! # let mut bytes = Vec::new();
//! # let mut trace = tracing_file::write::TraceFile::create(&mut bytes)?;
//! # let worker = trace.thread(1, 7, "worker");
//! # trace.log(&worker, 1_000, tracing_file::write::Priority::Warn, "disk full");
//! # trace.finish()?;
//! // Less memory than by default.
//! let mut trace = TraceReader::with_memory(bytes.as_slice(), MEMORY_MAX / 16);
//! loop {
//!     match trace.next_event() {
//!         Ok(Some(event)) => {
//!             if let Some(LogMessage { body, .. }) = event.log_message() {
//!                 println!("{} ns: {}", event.timestamp_ns(), body.unwrap_or_default());
//!             }
//!             if let EventKind::Counter(value) = event.kind() {
//!                 println!("{} ns: {:.3}", event.timestamp_ns(), value.as_f64());
//!             }
//!         }
//!         Ok(None) => break,
//!         Err(error) if error.is_recoverable() => {}
//!         Err(error) => return Err(error.into()),
//!     }
//!     for finding in trace.findings().iter().filter(|it| it.problem.severity() >= Severity::Error) {
//!         println!("{}: {} {}", finding.place, finding.problem.name(), finding.problem.advice());
//!     }
//! }
//! for track in trace.tracks().iter() {
//!     // Readers refuse tracks without a parent, and below more than so many levels.
//!     assert!(trace.tracks().chain(track.uuid).count() < LEVELS_MAX);
//!     assert_eq!(trace.tracks().hierarchy_problem(track.uuid), None);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Events come in the order of the file, which is that of time within a sequence only. Their names, categories,
//! default tracks, clocks and sums of counters are looked up. What upstream's reader drops is refused here, too:
//! flagged packets before the first flag 1 and after a loss, values before their counter, events without a clock, ...
//! [`TraceReader::counts`] says how many, and [`TraceReader::findings`] says what was wrong in the last packet.
//!
//! Limits, all of them counted: tables take at most 256 MiB ([`TraceReader::with_memory`]), a packet has at most
//! 64 MiB, compressed packets unpack to at most 256 MiB each, and 64 categories of an event are looked at. Where they
//! unpack to more than 256 MiB and a thousand times the file, reading ends with
//! [`ReadError::TooLong`](crate::packets::ReadError::TooLong). A clock is known from the first snapshot on that has
//! it; the last 64 snapshots of each clock are kept. Each machine has sequences and clocks of its own; the times of
//! another machine are those of its own clock.
//!
//! An interned text is kept whole, and what an event costs does not depend on how long it is.

mod annotation;
mod budget;
mod clocks;
mod decoded;
mod event;
mod extensions;
mod found;
mod head;
mod interned;
mod problem;
mod reader;
mod sequence;
mod state;
#[cfg(test)]
mod tests;
mod tracks;

pub use annotation::{Annotation, Annotations, Value};
pub(crate) use budget::Budget;
pub use decoded::{CounterValue, EventKind};
pub use event::{Event, LogMessage, SourceLocation};
pub use problem::{Finding, Problem, Severity};
pub use reader::{MEMORY_MAX, TraceReader};
pub use sequence::SequenceId;
pub use tracks::{Counter, LEVELS_MAX, Track, TrackKind, Tracks};
