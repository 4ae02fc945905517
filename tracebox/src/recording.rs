//! The life of one trace, seen from its consumer.
//!
//! ```text
//!  begin ── EnableTracing ──▶ waiting ──▶ ended ── ReadBuffers ──▶ finish
//!                               │  ▲
//!              Ctrl-C, command  ▼  │ sources started, progress
//!                       Flush, DisableTracing
//! ```

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use protos::{CloneSessionRequest, ObservableEvents, ObservableEventsType, TraceConfig};
use tracing_core::client::consumer::{Consumer, ConsumerError, Waited};

use crate::console::{self, Progress};
use crate::failure::Failure;
use crate::gaps::Gaps;
use crate::nudge::{Nudge, Nudges};
use crate::output::Output;
use crate::report::Outcome;
use crate::snapshots::{self, Snapshots, Taken};

/// Exit code of somebody who was interrupted before the trace was whole.
pub const INTERRUPTED: u8 = 130;

/// Longest pause of a service while it is read (`perfetto_cmd.cc`).
const READ_INACTIVITY: Duration = Duration::from_secs(3);

/// What a service may take beyond everything it was asked for before it counts as stuck.
const GRACE_MS: u64 = 60_000;

/// Bytes read between two looks at what else happens.
const LOOK_BYTES: u64 = 1 << 20;

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
    /// How long producers have for the flush before the end; zero: what the config says.
    flush_timeout: Duration,
    flush_failed: bool,
    waits_for_triggers: bool,
    snapshots: Option<Snapshots>,
    taken: Option<Taken>,
    /// What came while something else was waited for.
    early: VecDeque<Waited>,
}

impl<'c> Recording<'c> {
    /// Asks the service for a session with `config`; `watch` if somebody wants to know when its data
    /// sources have started. A config that asks for snapshots needs somebody who takes them.
    ///
    /// # Errors
    /// When the service is gone, or the output cannot be emptied.
    pub fn begin(
        consumer: &'c mut Consumer,
        config: &TraceConfig,
        output: &mut Output,
        watch: bool,
        snapshots: Option<Snapshots>,
    ) -> Result<Self, Failure> {
        let into_file = config.write_into_file == Some(true);
        let file = if into_file { output.lend()? } else { None };
        let mut events = Vec::new();
        if watch {
            events.push(ObservableEventsType::TYPE_ALL_DATA_SOURCES_STARTED);
        }
        if snapshots::wanted(config) {
            events.push(ObservableEventsType::TYPE_CLONE_TRIGGER_HIT);
        }
        if !events.is_empty() {
            consumer.observe_events(&events).map_err(lost)?;
        }
        consumer.enable_tracing(config, file).map_err(lost)?;
        let slack = GRACE_MS
            + u64::from(config.flush_timeout_ms.unwrap_or(0))
            + u64::from(config.data_source_stop_timeout_ms.unwrap_or(0));
        let begun = Instant::now();
        Ok(Self {
            into_file,
            duration: config.duration_ms.filter(|&ms| ms != 0).map(u64::from).map(ms),
            deadline: longest_ms(config).map(|longest| begun + ms(longest + slack)),
            flush_timeout: ms(config.flush_timeout_ms.unwrap_or(0).into()),
            waits_for_triggers: waits_for_triggers(config),
            snapshots,
            ..Self::attached(consumer)
        })
    }

    /// Takes over a session that runs already and writes its own file.
    #[must_use]
    pub fn attached(consumer: &'c mut Consumer) -> Self {
        Self {
            consumer,
            into_file: true,
            begun: Instant::now(),
            duration: None,
            deadline: None,
            stopping: false,
            flush_timeout: Duration::ZERO,
            flush_failed: false,
            waits_for_triggers: false,
            snapshots: None,
            taken: None,
            early: VecDeque::new(),
        }
    }

    /// Waits until the service has taken the session or refused it.
    ///
    /// # Errors
    /// It has refused it, or is gone.
    pub fn accepted(&mut self) -> Result<(), Failure> {
        // A service may refuse in a task behind the request, but before the second of these.
        for _ in 0..2 {
            self.consumer.query_capabilities().map_err(lost)?;
        }
        loop {
            match self.consumer.wait(Some(Duration::ZERO)).map_err(lost)? {
                Waited::TimedOut => return Ok(()),
                waited => self.early.push_back(waited),
            }
        }
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
        let mut ended = false;
        loop {
            let due = [start_by, next_look, self.deadline].into_iter().flatten().min();
            let timeout = due.map(|due| due.saturating_duration_since(Instant::now()));
            let waited = match self.early.pop_front() {
                Some(waited) => waited,
                None => self.consumer.wait(timeout).map_err(lost)?,
            };
            match waited {
                Waited::Ended => {
                    ended = true;
                    self.deadline = None;
                    if start_by.take().is_some() {
                        director.started(false)?;
                    }
                    if let Some(snapshots) = &mut self.snapshots {
                        snapshots.close();
                    }
                }
                Waited::Event(event) => {
                    if event.all_data_sources_started == Some(true) && start_by.take().is_some() {
                        director.started(true)?;
                    }
                    self.take_snapshot(*event);
                }
                Waited::Interrupted => {
                    if self.obey(nudges, director)? {
                        progress.clear();
                        self.stop()?;
                    }
                }
                Waited::TimedOut => {}
            }
            if ended && self.snapshots_are_taken() {
                return Ok(());
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
            if next_look.is_some_and(|due| due <= now) {
                next_look = Some(now + PROGRESS_PERIOD);
                self.show(&mut progress, ended);
            }
        }
    }

    /// Asks the director about all interruptions that wait. True: stop.
    fn obey(&self, nudges: &Nudges, director: &mut dyn Director) -> Result<bool, Failure> {
        let mut stop = false;
        while let Some(nudge) = nudges.take() {
            match director.nudged(nudge) {
                Verdict::GoOn => {}
                Verdict::Stop => stop = true,
                Verdict::GiveUp(failure) => return Err(failure),
            }
        }
        Ok(stop)
    }

    fn take_snapshot(&mut self, event: ObservableEvents) {
        if let (Some(hit), Some(snapshots)) = (event.clone_trigger_hit, &mut self.snapshots) {
            snapshots.take(hit);
        }
    }

    fn snapshots_are_taken(&mut self) -> bool {
        if let Some(taken) = self.snapshots.as_mut().and_then(Snapshots::taken) {
            self.taken = Some(taken);
            self.snapshots = None;
        }
        self.snapshots.is_none()
    }

    fn show(&mut self, progress: &mut Progress, ended: bool) {
        if ended {
            return progress.draw("writing the last snapshots");
        }
        if self.stopping {
            return progress.draw("stopping");
        }
        let stats = self.consumer.get_trace_stats().ok();
        let bytes = stats
            .map(|stats| stats.buffer_stats.iter().filter_map(|buffer| buffer.bytes_written).sum());
        progress.draw(&console::recording(self.begun.elapsed(), self.duration, bytes));
    }

    /// Ends tracing: everybody hands over what they hold first.
    ///
    /// # Errors
    /// When the service is gone.
    pub fn stop(&mut self) -> Result<(), Failure> {
        if std::mem::replace(&mut self.stopping, true) {
            return Ok(());
        }
        match self.consumer.flush(self.flush_timeout) {
            Ok(()) => {}
            Err(ConsumerError::Rejected(_) | ConsumerError::TimedOut(_)) => {
                self.flush_failed = true;
            }
            Err(error) => return Err(lost(error)),
        }
        self.consumer.disable_tracing().map_err(lost)
    }

    /// Somebody did not answer when [`stop`](Self::stop) asked for the last data.
    #[must_use]
    pub fn flush_failed(&self) -> bool {
        self.flush_failed
    }

    /// Takes the trace out of the service. With `strict` all of it is looked through for gaps, also what
    /// the service wrote or compressed. `interrupted` is asked now and then whether somebody cannot wait
    /// for it.
    ///
    /// # Errors
    /// When the service goes away meanwhile, or the trace cannot be written. What of it is whole
    /// packets is in `output` then.
    pub fn finish(
        self,
        output: &mut Output,
        strict: bool,
        interrupted: &mut dyn FnMut() -> Option<Failure>,
    ) -> Result<Outcome, Failure> {
        let name = output.name();
        let failed = |error| Failure::new(format_args!("cannot write {name}: {error}"));
        if output.is_unread() {
            console::say(&format!("Nobody reads {name} yet: the trace waits for a reader"));
        }
        let mut gaps = None;
        let written = if self.into_file {
            output.put_in_place().map_err(failed)?;
            if strict {
                gaps = output.gaps();
            }
            output.measure()
        } else {
            gaps = Some(read(self.consumer, output, strict, interrupted)?);
            Some(output.finish().map_err(failed)?)
        };
        // Some losses are found, and counted, only while the buffers are read.
        let stats = self.consumer.get_trace_stats().ok();
        if output.is_fifo() {
            // The service writes no more, and closes it if it has not yet. If it is gone it has.
            let _ = self.consumer.free_buffers();
            output.close().map_err(failed)?;
        }
        Ok(Outcome {
            name: output.name(),
            is_file: output.is_file(),
            by_service: self.into_file,
            written,
            gaps,
            stats,
            flush_failed: self.flush_failed,
            waited_for_triggers: self.waits_for_triggers,
            snapshots: self.taken,
        })
    }
}

/// Takes a copy of another session of the service of `consumer`, and writes it.
///
/// # Errors
/// As [`Recording::finish`], and when the service refuses.
pub fn clone(
    consumer: &mut Consumer,
    request: CloneSessionRequest,
    output: &mut Output,
    strict: bool,
    interrupted: &mut dyn FnMut() -> Option<Failure>,
) -> Result<Outcome, Failure> {
    // A session that writes into a file is copied by the service.
    let file = output.lend()?;
    let response = consumer.clone_session(request, file).map_err(|error| match error {
        ConsumerError::Rejected(_) => {
            Failure::new("the service rejected the clone: it is too old for clones, or not ours")
        }
        error => lost(error),
    })?;
    let into_file = response.was_write_into_file == Some(true);
    Recording { into_file, ..Recording::attached(consumer) }.finish(output, strict, interrupted)
}

/// Reads all there is. Returns how many packets follow a gap.
fn read(
    consumer: &mut Consumer,
    output: &mut Output,
    strict: bool,
    interrupted: &mut dyn FnMut() -> Option<Failure>,
) -> Result<u64, Failure> {
    let name = output.name();
    let mut found = Gaps::new(strict);
    let mut given_up = None;
    let mut progress = Progress::new();
    let mut next_look = Instant::now() + PROGRESS_PERIOD;
    let (mut bytes, mut looked_at) = (0, 0);
    let read = consumer.read_buffers(READ_INACTIVITY, |packet| {
        found.look(packet.bytes());
        bytes += packet.framed().len() as u64;
        if bytes - looked_at > LOOK_BYTES {
            looked_at = bytes;
            given_up = interrupted();
            if given_up.is_some() {
                return Err(std::io::ErrorKind::Interrupted.into());
            }
            if progress.is_shown() && Instant::now() >= next_look {
                next_look += PROGRESS_PERIOD;
                progress.draw(&format!("reading the trace, {}", console::size(bytes)));
            }
        }
        output.write_packet(packet.framed())
    });
    match (read, given_up) {
        (Ok(_), _) => Ok(found.found),
        (Err(_), Some(failure)) => Err(failure),
        (Err(ConsumerError::Output(error)), None) => {
            Err(Failure::new(format_args!("cannot write {name}: {error}")))
        }
        (Err(error), None) => Err(lost(error)),
    }
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// How long a session of `config` can take, if that is known.
#[must_use]
pub fn longest_ms(config: &TraceConfig) -> Option<u64> {
    let duration = config.duration_ms.filter(|&ms| ms != 0).map(u64::from);
    let triggers = config.trigger_config.as_ref();
    duration.or_else(|| {
        let timeout = u64::from(triggers?.trigger_timeout_ms.filter(|&ms| ms != 0)?);
        let delays = triggers?.triggers.iter().filter_map(|trigger| trigger.stop_delay_ms);
        Some(timeout + u64::from(delays.max().unwrap_or(0)))
    })
}

fn waits_for_triggers(config: &TraceConfig) -> bool {
    config.trigger_config.as_ref().is_some_and(|config| !config.triggers.is_empty())
}

/// What the service said when nothing was recorded, or that it says nothing any more.
#[must_use]
pub fn silent(error: ConsumerError) -> Failure {
    match error {
        ConsumerError::Disconnected => Failure::new(
            "the service closed the connection (has it ended, or is this not its consumer socket?)",
        ),
        error => lost(error),
    }
}

/// What the service said, or that it says nothing any more.
#[must_use]
pub fn lost(error: ConsumerError) -> Failure {
    match error {
        ConsumerError::Service(text) => Failure::new(format_args!("service error: {text}")),
        ConsumerError::Disconnected => Failure::new("the service went away while recording"),
        ConsumerError::Interrupted => {
            Failure::new("interrupted before the trace was whole").with_code(INTERRUPTED)
        }
        error => Failure::new(error),
    }
}

/// Prints what became of a trace.
///
/// # Errors
/// What of it is a failure; see [`Outcome::verdict`].
pub fn tell(outcome: &Outcome, strict: bool) -> Result<(), Failure> {
    for line in outcome.lines() {
        console::say(&line);
    }
    outcome.verdict(strict)
}

#[cfg(test)]
mod tests {
    use protos::{TraceConfigTriggerConfig, TraceConfigTriggerConfigTrigger};

    use super::*;

    #[test]
    fn how_long_it_can_take() {
        let trigger = |stop_delay_ms| TraceConfigTriggerConfigTrigger {
            stop_delay_ms,
            ..TraceConfigTriggerConfigTrigger::default()
        };
        let config = |duration_ms, timeout, triggers: &[Option<u32>]| TraceConfig {
            duration_ms,
            trigger_config: Some(TraceConfigTriggerConfig {
                trigger_timeout_ms: timeout,
                triggers: triggers.iter().copied().map(trigger).collect(),
                ..TraceConfigTriggerConfig::default()
            }),
            ..TraceConfig::default()
        };
        assert_eq!(longest_ms(&TraceConfig::default()), None);
        assert_eq!(longest_ms(&config(Some(0), None, &[])), None);
        assert_eq!(longest_ms(&config(Some(5), None, &[])), Some(5));
        assert_eq!(longest_ms(&config(None, Some(7), &[])), Some(7));
        assert_eq!(longest_ms(&config(None, Some(7), &[Some(2), None, Some(9)])), Some(16));
        let most = u32::MAX;
        assert_eq!(longest_ms(&config(None, Some(most), &[Some(most)])), Some(2 * u64::from(most)));
    }
}
