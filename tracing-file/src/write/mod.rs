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
//! A converter keeps the handles of its tracks, and its slices that are open:
//!
//! ```
//! use std::collections::HashMap;
//! use std::io::Write;
//! use tracing_file::write::{
//!     Arg, Clock, CounterSpec, Flow, LanesTrack, OpenSlice, Priority, ProcessTrack, StateTrack, ThreadTrack,
//!     TraceFile, TraceOptions, TrackSpec, Unit, WriteError,
//! };
//!
//! struct Converter<W: Write> {
//!     trace: TraceFile<W>,
//!     process: ProcessTrack,
//!     requests: LanesTrack,
//!     power: StateTrack,
//!     threads: HashMap<i64, ThreadTrack>,
//!     open: HashMap<u64, OpenSlice>,
//!     wall: Clock,
//! }
//!
//! impl<W: Write> Converter<W> {
//!     fn new(out: W) -> Result<Self, WriteError> {
//!         // A part of a larger trace: no other part has this sequence and these ids.
//!         let options = TraceOptions::new().sequence_id(2).id_base(2 << 32);
//!         let mut trace = options.interning(true).delta_timestamps(true).create(out)?;
//!         let process = trace.process(10, "server");
//!         let jobs = trace.track(TrackSpec::new("jobs").under(&process).children_by_name());
//!         let spec = TrackSpec::new("requests").under(&jobs).rank(1).description("of all users");
//!         let requests = trace.lanes(spec);
//!         // Not drawn on the line of other tracks with this name; and in the order of time or rank:
//!         trace.track(TrackSpec::new("old").under(&jobs).unmerged().children_by_time());
//!         let temperature = CounterSpec::new("cpu").unit(Unit::Named("°C")).shared_axis("heat");
//!         let temperature = trace.counter_track(temperature);
//!         trace.counter(&temperature, 900, 36.6);
//!         let busy = CounterSpec::new("busy").unit(Unit::TimeNs).incremental();
//!         let busy = trace.counter_track(busy);
//!         trace.counter(&busy, 900, 7);
//!         let power = trace.state_track("power");
//!         let wall = trace.clock(1, 1_700_000_000_000_000_000, 0)?; // REALTIME
//!         Ok(Self { trace, process, requests, power, threads: HashMap::new(), open: HashMap::new(), wall })
//!     }
//!
//!     fn begin(&mut self, id: u64, at_wall_ns: u64, url: &str) {
//!         let slice = self.trace.begin(&self.requests, self.wall.at(at_wall_ns), "GET");
//!         let slice = slice.flow(Flow::from_id(id)).dict("request", |request| {
//!             request.arg("url", url).arg("id", Arg::from(id));
//!             request.dict("headers", |headers| {
//!                 headers.arg("host", "example.com");
//!             });
//!         });
//!         self.open.insert(id, slice.open());
//!     }
//!
//!     fn end(&mut self, id: u64, at_ns: u64, tid: i64) {
//!         let thread = *self.threads.entry(tid).or_insert_with(|| self.trace.thread(10, tid, "worker"));
//!         self.trace.log(&thread, at_ns, Priority::Info, "done").end_flow(Flow::from_id(id));
//!         if let Some(slice) = self.open.remove(&id) {
//!             self.trace.end(slice, at_ns);
//!         }
//!     }
//! }
//!
//! let mut bytes = Vec::new();
//! let mut converter = Converter::new(&mut bytes)?;
//! converter.trace.state(&converter.power, 1_000, "on");
//! converter.begin(1, 1_700_000_000_000_001_000, "/index.html");
//! converter.trace.instant(&converter.process, 1_500, "config read");
//! // An hour later both clocks are compared again.
//! converter.trace.sync_clock(converter.wall, 1_700_003_600_000_000_100, 3_600_000_000_000)?;
//! converter.end(1, 3_600_000_000_500, 12);
//! let unread: &mut Vec<u8> = *converter.trace.get_mut();
//! unread.reserve(1 << 16);
//! match converter.trace.finish() {
//!     Ok(()) => {}
//!     Err(WriteError::OpenSlices { count }) => println!("{count} requests were not over"),
//!     Err(error) => return Err(error),
//! }
//! # Ok::<(), WriteError>(())
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
mod counter;
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
pub use counter::CounterValue;
pub use error::WriteError;
pub use event::{Begin, Complete, End, Event, Flow, Instant, Priority, Sliced, Value};
pub use options::TraceOptions;
pub use spec::{CounterSpec, TrackSpec, Unit};
pub use time::{Clock, Timestamp};
pub use trace::TraceFile;
pub use track::{
    CounterTrack, LanesTrack, NamedTrack, OpenSlice, Parent, ProcessTrack, SliceTrack, StateTrack,
    ThreadTrack, Track, TrackId,
};
