//! Takes a finished trace out of the service, or a copy of one that goes on.

use std::io;
use std::time::{Duration, Instant};

use protos::CloneSessionRequest;
use tracing_core::client::consumer::{Consumer, ConsumerError};

use super::consumer_error::session_failure;
use crate::console::{self, PROGRESS_PERIOD, Progress};
use crate::failure::Failure;
use crate::ftrace_notes::FtraceNotes;
use crate::loss_scanner::{LossScanner, NotSearched};
use crate::output::{Output, Written};
use crate::report::{
    BUFFER_SETTING_CONFIG, GapCounts, NoEvents, Outcome, SnapshotResults, SourceReport,
};

/// Longest pause of a service while it is read (`perfetto_cmd.cc`).
const READ_INACTIVITY: Duration = Duration::from_secs(3);

/// Bytes read between two checks for interruptions.
const CHECK_BYTES: u64 = 1 << 20;

/// How to read a trace.
pub struct ReadOptions<'i> {
    /// Called for every MiB. Returns the failure to give up with, if there was an interruption.
    pub check_interrupts: &'i mut dyn FnMut() -> Option<Failure>,
    /// The terminal is free for a progress line.
    pub shows_progress: bool,
}

/// What is known of a session before its trace is read.
#[derive(Debug)]
pub struct EndedSession {
    /// The service writes the file.
    pub into_file: bool,
    /// See [`Outcome::flush_failed`].
    pub flush_failed: bool,
    /// See [`Outcome::waited_for_triggers`].
    pub waits_for_triggers: bool,
    /// See [`Outcome::sources`].
    pub sources: SourceReport,
    /// Why there are no track events, if the config asks for them and the trace has none.
    pub no_events: Option<NoEvents>,
    /// See [`Outcome::buffer_setting`].
    pub buffer_setting: &'static str,
    /// See [`Outcome::snapshots`].
    pub snapshots: Option<SnapshotResults>,
}

impl EndedSession {
    /// A session that another consumer configured.
    #[must_use]
    pub fn of_another_consumer(into_file: bool) -> Self {
        Self {
            into_file,
            flush_failed: false,
            waits_for_triggers: false,
            sources: SourceReport::default(),
            no_events: None,
            buffer_setting: BUFFER_SETTING_CONFIG,
            snapshots: None,
        }
    }

    /// Takes the trace out of the service.
    ///
    /// # Errors
    /// When the service goes away meanwhile, or the trace cannot be written. The whole packets that
    /// came until then are in `output`.
    pub fn read(
        self,
        consumer: &mut Consumer,
        output: &mut Output,
        options: ReadOptions<'_>,
    ) -> Result<Outcome, Failure> {
        if output.is_unread() {
            let name = output.name();
            console::log(&format!("No reader has opened {name} yet: the trace waits for one"));
        }
        let found = if self.into_file {
            search_file(output, options, self.no_events)?
        } else {
            let has_snapshots = self.snapshots.is_some();
            write_buffers(consumer, output, options, self.no_events, has_snapshots)?
        };
        // Some losses are found, and counted, only while the buffers are read.
        let stats = consumer.get_trace_stats().ok();
        if output.is_fifo() {
            // It makes the service close its end of the pipe. A service that is gone has closed it.
            let _ = consumer.free_buffers();
            output.close().map_err(|error| cannot_write(&output.name(), &error))?;
        }
        let Found { written, gaps, ftrace, no_events } = found;
        Ok(Outcome {
            name: output.name(),
            is_file: output.is_file(),
            by_service: self.into_file,
            written,
            gaps,
            stats,
            flush_failed: self.flush_failed,
            waited_for_triggers: self.waits_for_triggers,
            sources: self.sources,
            no_events,
            ftrace,
            buffer_setting: self.buffer_setting,
            snapshots: self.snapshots,
        })
    }
}

/// What is known of a trace once it was read.
struct Found {
    written: Option<Written>,
    gaps: Result<GapCounts, NotSearched>,
    ftrace: FtraceNotes,
    no_events: Option<NoEvents>,
}

/// Searches the file that the service wrote. Some losses stand in the trace alone, and its packets are counted on the
/// same way.
fn search_file(
    output: &mut Output,
    options: ReadOptions<'_>,
    no_events: Option<NoEvents>,
) -> Result<Found, Failure> {
    output.put_in_place().map_err(|error| cannot_write(&output.name(), &error))?;
    let mut progress = ReadProgress::new("searching the trace for losses", options);
    let scanner = LossScanner::new(no_events.is_some());
    let searched = output.search(scanner, |bytes| progress.goes_on(bytes));
    drop(progress);
    let packets = searched.as_ref().map(|scanner| scanner.packets).ok();
    Ok(Found {
        written: output.measure().map(|bytes| Written { bytes, packets }),
        gaps: searched.as_ref().map(GapCounts::of).map_err(NotSearched::clone),
        // Events of a file that was not read are not missed.
        no_events: no_events.filter(|why| match &searched {
            Ok(scanner) => scanner.seeks_event,
            Err(_) => *why == NoEvents::NotConnected,
        }),
        ftrace: searched.map(|scanner| scanner.ftrace).unwrap_or_default(),
    })
}

/// Reads the buffers of the session, and writes them to `output`.
fn write_buffers(
    consumer: &mut Consumer,
    output: &mut Output,
    options: ReadOptions<'_>,
    no_events: Option<NoEvents>,
    has_snapshots: bool,
) -> Result<Found, Failure> {
    let scanner = LossScanner::new(no_events.is_some());
    let scanner = read_buffers(consumer, output, options, scanner)?;
    // Snapshots are in files of their own.
    let is_unused = has_snapshots && scanner.packets == 0;
    let finished = if is_unused { output.finish_unused() } else { output.finish() };
    let Written { bytes, .. } = finished.map_err(|error| cannot_write(&output.name(), &error))?;
    Ok(Found {
        written: Some(Written { bytes, packets: Some(scanner.packets) }),
        gaps: Ok(GapCounts::of(&scanner)),
        no_events: no_events.filter(|_| scanner.seeks_event),
        ftrace: scanner.ftrace,
    })
}

fn cannot_write(name: &str, error: &io::Error) -> Failure {
    Failure::new(format_args!("cannot write {name}: {error}"))
}

/// Makes the service clone the session that `request` names, and writes the clone's trace.
///
/// # Errors
/// As [`EndedSession::read`], and when the service refuses.
pub fn clone_session(
    consumer: &mut Consumer,
    request: CloneSessionRequest,
    output: &mut Output,
    options: ReadOptions<'_>,
) -> Result<Outcome, Failure> {
    // If the session writes into a file, the service copies that file into ours.
    let file = output.lend()?;
    let response = consumer.clone_session(request, file).map_err(|error| match error {
        ConsumerError::Rejected(_) => Failure::new(
            "the service rejected the clone: it is too old for clones, or the session is another user's",
        ),
        error => session_failure(error),
    })?;
    let into_file = response.was_write_into_file == Some(true);
    EndedSession::of_another_consumer(into_file).read(consumer, output, options)
}

/// What happens while a trace is read.
struct ReadProgress<'i> {
    /// What is done.
    what: &'static str,
    options: ReadOptions<'i>,
    line: Progress,
    next_line: Instant,
    bytes: u64,
    checked_at: u64,
    given_up: Option<Failure>,
}

impl<'i> ReadProgress<'i> {
    fn new(what: &'static str, options: ReadOptions<'i>) -> Self {
        Self {
            what,
            options,
            line: Progress::new(),
            next_line: Instant::now() + PROGRESS_PERIOD,
            bytes: 0,
            checked_at: 0,
            given_up: None,
        }
    }

    /// So many more bytes were read. `false`: an interruption asks to give up.
    #[inline]
    fn goes_on(&mut self, bytes: usize) -> bool {
        self.bytes += bytes as u64;
        self.bytes - self.checked_at <= CHECK_BYTES || self.check()
    }

    #[cold]
    fn check(&mut self) -> bool {
        self.checked_at = self.bytes;
        self.given_up = (self.options.check_interrupts)();
        let is_shown = self.line.is_enabled() && self.options.shows_progress;
        if is_shown && Instant::now() >= self.next_line {
            self.next_line += PROGRESS_PERIOD;
            self.line.draw(&format!("{}, {}", self.what, console::size(self.bytes)));
        }
        self.given_up.is_none()
    }
}

/// Reads all buffers.
fn read_buffers(
    consumer: &mut Consumer,
    output: &mut Output,
    options: ReadOptions<'_>,
    mut scanner: LossScanner,
) -> Result<LossScanner, Failure> {
    let mut progress = ReadProgress::new("reading the trace", options);
    let read = consumer.read_buffers(READ_INACTIVITY, |packet| {
        scanner.scan_packet(packet.bytes());
        if !progress.goes_on(packet.framed().len()) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        output.write_packet(packet.framed())
    });
    match (read, progress.given_up.take()) {
        (Ok(_), _) => Ok(scanner),
        (Err(_), Some(failure)) => Err(failure),
        (Err(ConsumerError::Output(error)), None) => Err(cannot_write(&output.name(), &error)),
        (Err(error), None) => Err(session_failure(error)),
    }
}
