//! Writes traces of your own data: a CSV of spans, a log, a simulation.
//!
//! ```
//! use tracing_file::write::TraceFile;
//!
//! let mut trace = TraceFile::create(Vec::new())?;
//! let worker = trace.thread(1, 7, "worker");
//! trace.slice(&worker, 1_000, 250, "work").arg("id", 7);
//! trace.instant(&worker, 1_100, "retry").category("net");
//! trace.finish()?;
//! # Ok::<(), tracing_file::write::WriteError>(())
//! ```
//!
//! ```text
//!  TraceFile ──track()/thread()/lanes()/counter_track()──> a handle, described in the trace at once
//!      │                                                       │
//!      └──slice()/begin()/instant()/counter()/state()── with a handle of the right kind ──> Event
//!                                                                 .arg().flow().category() ┘ written when dropped
//! ```
//!
//! What a reader silently drops or confuses cannot be written: a counter's value before its counter, an unknown
//! parent, an end without a begin, slices of one track that cross. Types exclude most of it, and the rest is a
//! [`WriteError`]. Slices that overlap go to a [`LanesTrack`].
//!
//! Timestamps are nanoseconds of the trace's clock, in any order between tracks. Other clocks are declared
//! ([`TraceFile::clock`]). An event is written when its [`Event`] is dropped; the errors that nobody asked for are
//! returned by [`TraceFile::finish`].

mod arg;
mod calls;
mod declare;
mod error;
mod event;
mod intern;
mod location;
mod options;
mod output;
mod slices;
mod spec;
#[cfg(test)]
mod tests;
mod time;
mod trace;
mod track;

pub use arg::{Arg, ArgDict, ArgList};
pub use error::WriteError;
pub use event::{
    Begin, Complete, CounterValue, End, Event, Flow, Instant, Priority, Sliced, Value,
};
pub use options::TraceOptions;
pub use spec::{CounterSpec, TrackSpec, Unit};
pub use time::{Clock, Timestamp};
pub use trace::TraceFile;
pub use track::{
    CounterTrack, LanesTrack, NamedTrack, OpenSlice, Parent, ProcessTrack, SliceTrack, StateTrack,
    ThreadTrack, Track, TrackId,
};
