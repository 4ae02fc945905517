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
//! Events come in the order of the file, which is that of time within a sequence only. Their names, categories,
//! default tracks, clocks and sums of counters are looked up. What upstream's reader drops is refused here, too:
//! flagged packets before the first flag 1 and after a loss, values before their counter, events without a clock, ...
//! [`TraceReader::counts`] says how many, and [`TraceReader::findings`] says what was wrong in the last packet.
//!
//! Limits, all of them counted: tables take at most 256 MiB ([`TraceReader::with_memory`]), a packet has at most
//! 64 MiB, compressed packets unpack to at most 256 MiB each. A clock is known from the first snapshot on that has it;
//! the last 64 snapshots of each clock are kept. Each machine has sequences and clocks of its own; the times of another
//! machine are those of its own clock.

mod annotation;
mod budget;
mod clocks;
mod decoded;
mod event;
mod head;
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
