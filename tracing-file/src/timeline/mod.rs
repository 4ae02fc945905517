//! One line for each event of a trace, in the order of time.
//!
//! ```
//! use std::io::Cursor;
//! use tracing_file::timeline::{self, Options};
//! # let mut bytes = Vec::new();
//! # let mut trace = tracing_file::write::TraceFile::create(&mut bytes)?;
//! # let worker = trace.thread(1, 7, "worker");
//! # trace.slice(&worker, 1_000, 250, "work");
//! # trace.finish()?;
//! let mut lines = Vec::new();
//! timeline::write(&mut Cursor::new(bytes), &mut lines, &Options::default())?;
//! let lines = String::from_utf8(lines)?;
//! assert_eq!(
//!     lines,
//!     "   0.000000000  pid 1 / worker 7  begin    work  250 ns\n   \
//!         0.000000250  pid 1 / worker 7  end      work  250 ns\n"
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What is shown, and how:
//!
//! ```
//! use std::io::Cursor;
//! use tracing_file::timeline::{self, Format, Options, Pattern, Summary, TimelineError};
//!
//! fn show(trace: &[u8]) -> Result<Summary, TimelineError> {
//!     let mut options = Options::default();
//!     options.format = Format::Json;
//!     options.is_absolute = true;
//!     options.lines_max = 1_000;
//!     // Slower, and with less memory.
//!     options.rows_bytes_max = 1 << 20;
//!     options.filter.processes = vec![Pattern::new("server")];
//!     options.filter.names = vec![Pattern::new("GET *"), Pattern::new("PUT *")];
//!     (options.filter.from_ns, options.filter.to_ns) = (1_000, Some(2_000_000));
//!     timeline::write(&mut Cursor::new(trace), &mut std::io::stdout(), &options)
//! }
//!
//! assert!(Pattern::new("GET *").matches("GET /index.html"));
//! let Summary { lines, events, passes, .. } = show(b"")?;
//! assert_eq!((lines, events, passes), (0, 0, 1));
//! # Ok::<(), TimelineError>(())
//! ```
//!
//! A file has the events of each sequence in a block, so its events are not in the order of time. It is read twice:
//!
//! ```text
//!  first    survey    names of tracks, start of the trace, and how early the events behind each place may be
//!  then     rows      kept until nothing earlier can follow, put in order, paired, written
//! ```
//!
//! If the rows take too much memory, the latest are left out, and the file is read once more for them. So the order
//! is always that of time, and memory does not depend on the file. Events of equal times are in the order of the file.
//!
//! What all passes do has limits: they read the file at most 100 times, unpack at most 4 GiB and a thousand times the
//! file, and make at most 4 GiB and 100 bytes of text for each byte that they read.

mod details;
mod filter;
mod json;
mod labels;
mod nesting;
mod options;
mod pattern;
mod row;
mod survey;
#[cfg(test)]
mod tests;
mod text;
mod work;
mod writer;

pub use filter::Filter;
pub use labels::track_path;
pub use options::{Format, Options};
pub use pattern::Pattern;
pub use writer::{PASSES_MAX, Summary, TimelineError, write};
