//! The life of one trace, seen from its consumer.
//!
//! ```text
//!  begin ── EnableTracing ──▶ waiting ──▶ ended ── ReadBuffers ──▶ finish
//!                               │  ▲
//!              Ctrl-C, command  ▼  │ sources started, progress
//!                       Flush, DisableTracing
//! ```

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use protos::{ObservableEventsType, TraceConfig};
use protozero::{Reader, Value};
use tracing_core::client::consumer::{Consumer, ConsumerError, Waited};

use crate::console::{self, Progress};
use crate::failure::Failure;
use crate::nudge::{Nudge, Nudges};
use crate::output::Output;
use crate::report::Outcome;

/// Longest pause of a service while it is read (`perfetto_cmd.cc`).
const READ_INACTIVITY: Duration = Duration::from_secs(3);

/// What a service may take beyond everything it was asked for before it counts as stuck.
const GRACE_MS: u64 = 60_000;

/// Pause between two looks at the counters, for people.
const PROGRESS_PERIOD: Duration = Duration::from_millis(500);

/// Who decides what becomes of a recording.
pub trait Director {
    /// How long to wait for all data sources to start; none: nobody wants to know.
    fn start_wait(&self) -> Option<Duration> {
        None
    }

    /// All data sources have started, or some did not in time. Called once.
    ///
    /// # Errors
    /// To end it.
    fn started(&mut self, all: bool) -> Result<(), Failure> {
        let _ = all;
        Ok(())
    }

    /// Somebody interrupted.
    fn nudged(&mut self, nudge: Nudge) -> Verdict;
}

/// What to do after an interruption.
#[derive(Debug)]
pub enum Verdict {
    /// Nothing.
    GoOn,
    /// Stop cleanly.
    Stop,
    /// Stop at once.
    GiveUp(Failure),
}

/// A session that was asked for.
#[derive(Debug)]
pub struct Recording<'c> {
    consumer: &'c mut Consumer,
    into_file: bool,
    begun: Instant,
    duration: Option<Duration>,
    /// When a service that says nothing is stuck.
    deadline: Option<Instant>,
    stopping: bool,
}

impl<'c> Recording<'c> {
    /// Asks the service for a session with `config`; `watch` if somebody wants to know when its data
    /// sources have started.
    ///
    /// # Errors
    /// When the service is gone, or the output cannot be emptied.
    pub fn begin(
        consumer: &'c mut Consumer,
        config: &TraceConfig,
        output: &mut Output,
        watch: bool,
    ) -> Result<Self, Failure> {
        let into_file = config.write_into_file == Some(true);
        let file = if into_file { output.lend()? } else { None };
        if watch {
            let events = [ObservableEventsType::TYPE_ALL_DATA_SOURCES_STARTED];
            consumer.observe_events(&events).map_err(lost)?;
        }
        consumer.enable_tracing(config, file).map_err(lost)?;
        let begun = Instant::now();
        let duration = config.duration_ms.filter(|&ms| ms != 0).map(u64::from);
        let slack = GRACE_MS
            + u64::from(config.flush_timeout_ms.unwrap_or(0))
            + u64::from(config.data_source_stop_timeout_ms.unwrap_or(0));
        // Suspended time may not count for the duration, but counts for the deadline: no deadline.
        let suspend = config.prefer_suspend_clock_for_duration == Some(true)
            || config.trigger_config.is_some();
        Ok(Self {
            consumer,
            into_file,
            begun,
            duration: duration.map(Duration::from_millis),
            deadline: duration
                .filter(|_| !suspend)
                .map(|ms| begun + Duration::from_millis(ms + slack)),
            stopping: false,
        })
    }

    /// Takes over a session that runs already and writes its own file.
    #[must_use]
    pub fn attached(consumer: &'c mut Consumer) -> Self {
        let begun = Instant::now();
        Self { consumer, into_file: true, begun, duration: None, deadline: None, stopping: false }
    }

    /// Reads a session that was cloned into this connection.
    #[must_use]
    pub fn cloned(consumer: &'c mut Consumer) -> Self {
        Self { into_file: false, ..Self::attached(consumer) }
    }

    /// The data sources that producers have registered so far, if the service tells.
    #[must_use]
    pub fn data_sources(&mut self) -> Option<Vec<String>> {
        let state = self.consumer.query_service_state(false).ok()?;
        let name = |source: protos::TracingServiceStateDataSource| source.ds_descriptor?.name;
        Some(state.data_sources.into_iter().filter_map(name).collect())
    }

    /// Waits until the trace has ended, whatever ends it.
    ///
    /// # Errors
    /// When the service refuses the session, goes away or is stuck, and when the director says so.
    pub fn wait(&mut self, nudges: &Nudges, director: &mut dyn Director) -> Result<(), Failure> {
        let mut progress = Progress::new();
        let mut start_by = director.start_wait().map(|wait| self.begun + wait);
        let mut next_look = progress.is_shown().then(|| self.begun + PROGRESS_PERIOD);
        loop {
            let due = [start_by, next_look, self.deadline].into_iter().flatten().min();
            let timeout = due.map(|due| due.saturating_duration_since(Instant::now()));
            match self.consumer.wait(timeout).map_err(lost)? {
                Waited::Ended => {
                    if start_by.is_some() {
                        director.started(false)?;
                    }
                    return Ok(());
                }
                Waited::Event(event) if event.all_data_sources_started == Some(true) => {
                    if start_by.take().is_some() {
                        director.started(true)?;
                    }
                }
                Waited::Event(_) => {}
                Waited::Interrupted => {
                    while let Some(nudge) = nudges.take() {
                        match director.nudged(nudge) {
                            Verdict::GoOn => {}
                            Verdict::Stop => {
                                progress.clear();
                                self.stop()?;
                            }
                            Verdict::GiveUp(failure) => return Err(failure),
                        }
                    }
                }
                Waited::TimedOut => {}
            }
            let now = Instant::now();
            if start_by.is_some_and(|due| due <= now) {
                start_by = None;
                director.started(false)?;
            }
            if self.deadline.is_some_and(|due| due <= now) {
                let text = "timed out while waiting for the trace from the service";
                return Err(Failure::new(text));
            }
            if next_look.is_some_and(|due| due <= now) && !self.stopping {
                let stats = self.consumer.get_trace_stats().ok();
                let bytes = stats.map(|stats| {
                    stats.buffer_stats.iter().filter_map(|buffer| buffer.bytes_written).sum()
                });
                progress.draw(self.begun.elapsed(), self.duration, bytes);
                next_look = Some(now + PROGRESS_PERIOD);
            }
        }
    }

    /// Ends tracing: everybody hands over what they hold first.
    ///
    /// # Errors
    /// When the service is gone.
    pub fn stop(&mut self) -> Result<(), Failure> {
        if std::mem::replace(&mut self.stopping, true) {
            return Ok(());
        }
        // Zero is the timeout of the config. Who does not answer in time is told by the stats.
        match self.consumer.flush(Duration::ZERO) {
            Ok(()) | Err(ConsumerError::Rejected(_) | ConsumerError::TimedOut(_)) => {}
            Err(error) => return Err(lost(error)),
        }
        self.consumer.disable_tracing().map_err(lost)
    }

    /// Takes the trace out of the service.
    ///
    /// # Errors
    /// When the service goes away meanwhile, or the trace cannot be written. What of it is whole
    /// packets is in `output` then.
    pub fn finish(self, output: &mut Output) -> Result<Outcome, Failure> {
        let mut gaps = None;
        let written = if self.into_file {
            output.measure()
        } else {
            let name = output.name();
            let failed = |error| Failure::new(format_args!("cannot write {name}: {error}"));
            let mut found = Gaps::default();
            let read = self.consumer.read_buffers(READ_INACTIVITY, |packet| {
                found.look(packet);
                output.write_packet(packet)
            });
            match read {
                Ok(_) => {}
                Err(ConsumerError::Output(error)) => return Err(failed(error)),
                Err(error) => return Err(lost(error)),
            }
            gaps = Some(found.found);
            Some(output.finish().map_err(failed)?)
        };
        // Some losses are found, and counted, only while the buffers are read.
        let stats = self.consumer.get_trace_stats().ok();
        Ok(Outcome {
            name: output.name(),
            is_file: output.is_file(),
            by_service: self.into_file,
            written,
            gaps,
            stats,
        })
    }
}

/// Finds packets that follow a gap in their sequence, by `TracePacket.previous_packet_dropped`. The
/// service sets it for what it lost, and a producer for what it could not write at all, which no
/// counter knows of.
#[derive(Default)]
struct Gaps {
    found: u64,
    sequences: BTreeSet<u64>,
    scratch: Vec<u8>,
}

impl Gaps {
    const SEQUENCE_ID: u32 = 10;
    const PREVIOUS_PACKET_DROPPED: u32 = 42;
    /// Lost, for a reason that is not told. A service of today says so of every first packet of a
    /// sequence, where nothing need be missing.
    const PRESENT: u64 = 1;

    fn look<S: AsRef<[u8]>>(&mut self, packet: &[S]) {
        let bytes = match packet {
            [one] => one.as_ref(),
            several => {
                self.scratch.clear();
                several.iter().for_each(|slice| self.scratch.extend_from_slice(slice.as_ref()));
                &self.scratch
            }
        };
        let (mut sequence, mut dropped) = (0, 0);
        let mut reader = Reader::new(bytes);
        while let Ok(Some(field)) = reader.next_field() {
            match (field.number, field.value) {
                (Self::SEQUENCE_ID, Value::Varint(id)) => sequence = id,
                // The producer's word and the service's may both be there.
                (Self::PREVIOUS_PACKET_DROPPED, Value::Varint(reasons)) => dropped |= reasons,
                _ => {}
            }
        }
        let first = self.sequences.insert(sequence);
        self.found += u64::from(dropped > Self::PRESENT || (dropped == Self::PRESENT && !first));
    }
}

/// What the service said, or that it says nothing any more.
#[must_use]
pub fn lost(error: ConsumerError) -> Failure {
    match error {
        ConsumerError::Service(text) => Failure::new(format_args!("service error: {text}")),
        ConsumerError::Disconnected => Failure::new("the service went away while recording"),
        error => Failure::new(error),
    }
}

/// Prints what became of a trace.
pub fn tell(outcome: &Outcome) {
    for line in outcome.lines() {
        console::say(&line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps() {
        let mut gaps = Gaps::default();
        let mut check = |packet: &[&[u8]]| {
            let before = gaps.found;
            gaps.look(packet);
            gaps.found != before
        };
        assert!(!check(&[]));
        assert!(!check(&[b"\x50\x01"]));
        assert!(!check(&[b"\x50\x01\xd0\x02\x00"]));
        assert!(check(&[b"\x50\x01\xd0\x02\x01"]));
        assert!(!check(&[b"\x50\x02\xd0\x02\x01"]), "the first of its sequence");
        assert!(check(&[b"\x50\x02\xd0\x02\x01"]));
        // As a producer writes it, cut anywhere, followed by what the service adds.
        assert!(check(&[b"\xd0", b"\x02\x81", b"\x02\x08\x01", b"\x50\x03\xd0\x02\x01"]));
        assert!(!check(&[b"\x50\x03\x0a\x03\xd0\x02\x01"]), "inside of another field");
    }
}
