//! One tracing session, as its consumer sees it.
//!
//! ```text
//!  begin ── EnableTracing ──▶ waiting ──▶ ended ── ReadBuffers ──▶ finish
//!                               │  ▲
//!              Ctrl-C, command  ▼  │ sources started, progress
//!                       Flush, DisableTracing
//! ```

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use protos::{ObservableEvents, ObservableEventsType, TraceConfig};
use tracing_core::client::consumer::{Consumer, ConsumerError, Waited};

use super::consumer_error::session_failure;
use super::readback::{EndedSession, ReadOptions};
use super::snapshots::{self, Snapshots};
use super::sources::{self, SourceWatch};
use crate::console::{self, PROGRESS_PERIOD, Progress};
use crate::failure::Failure;
use crate::interrupt::{Interrupt, InterruptQueue};
use crate::output::Output;
use crate::report::{self, BUFFER_SETTING_CONFIG, Outcome, SnapshotResults, SourceReport};

/// A service counts as stuck when a session takes this much longer than its config allows.
const GRACE_MS: u64 = 60_000;

/// Decides what happens to a session that is being recorded.
pub trait Control {
    /// The service was asked for the session. Called once, before anything else.
    ///
    /// # Errors
    /// To end the recording.
    fn handle_session_begin(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// No producer has registered these data sources, but one may come.
    fn handle_absent_sources(&self, names: &[String]) {
        let _ = names;
    }

    /// Whether a producer that came after the session began is missed when it goes away.
    fn watches_later_producers(&self) -> bool {
        true
    }

    /// How long to wait for all data sources to start. `None`: do not wait.
    fn start_timeout(&self) -> Option<Duration> {
        None
    }

    /// The data sources have started, or not. Called once, if there is a [`start_timeout`](Self::start_timeout).
    ///
    /// # Errors
    /// To end the recording.
    fn handle_sources_start(&mut self, start: SourcesStart) -> Result<(), Failure> {
        let _ = start;
        Ok(())
    }

    /// The session has ended. Called once.
    fn handle_session_end(&mut self) {}

    /// A signal came, or the command ended.
    fn handle_interrupt(&mut self, interrupt: Interrupt) -> Action;

    /// Whether the terminal is free for a progress line. Asked before each one.
    fn shows_progress(&self) -> bool {
        true
    }
}

/// How the data sources of a session have started.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SourcesStart {
    /// All of them record.
    All,
    /// All have answered, and some record nothing.
    SomeRefused,
    /// Some have not answered in time, or before the end.
    NotInTime,
}

/// What to do after an interruption.
#[derive(Debug)]
pub enum Action {
    /// Go on recording.
    Continue,
    /// Stop cleanly, and write the trace.
    Stop,
    /// Stop at once.
    Abort(Failure),
}

/// How to begin a session.
#[derive(Debug, Default)]
pub struct SessionOptions {
    /// The service tells when all data sources have started.
    pub observe_start: bool,
    /// Takes snapshots; needed for a config with `CLONE_SNAPSHOT` triggers.
    pub snapshots: Option<Snapshots>,
    /// Watches the producers.
    pub sources: Option<SourceWatch>,
    /// See [`Outcome::buffer_setting`].
    pub buffer_setting: &'static str,
}

/// A session that the service was asked for.
#[derive(Debug)]
pub struct TracingSession<'c> {
    consumer: &'c mut Consumer,
    into_file: bool,
    begun: Instant,
    duration: Option<Duration>,
    /// When the service counts as stuck.
    deadline: Option<Instant>,
    stopping: bool,
    /// Timeout of the flush before the end; zero: that of the config.
    flush_timeout: Duration,
    flush_failed: bool,
    waits_for_triggers: bool,
    /// The config asks for track events.
    wants_events: bool,
    sources: Option<SourceWatch>,
    /// Data sources that stopped because their producers went away.
    stops: usize,
    buffer_setting: &'static str,
    snapshots: Option<Snapshots>,
    snapshot_results: Option<SnapshotResults>,
    /// Events that came during another request.
    early: VecDeque<Waited>,
}

impl<'c> TracingSession<'c> {
    /// Asks the service for a session with `config`.
    ///
    /// # Errors
    /// When the service is gone, or the output cannot be emptied.
    pub fn begin(
        consumer: &'c mut Consumer,
        config: &TraceConfig,
        output: &mut Output,
        options: SessionOptions,
    ) -> Result<Self, Failure> {
        let into_file = config.write_into_file == Some(true);
        let file = if into_file { output.lend()? } else { None };
        let mut events = Vec::new();
        if options.observe_start {
            events.push(ObservableEventsType::TYPE_ALL_DATA_SOURCES_STARTED);
        }
        if options.sources.is_some() {
            events.push(ObservableEventsType::TYPE_DATA_SOURCES_INSTANCES);
        }
        if snapshots::wanted(config) {
            events.push(ObservableEventsType::TYPE_CLONE_TRIGGER_HIT);
        }
        if !events.is_empty() {
            consumer.observe_events(&events).map_err(session_failure)?;
        }
        consumer.enable_tracing(config, file).map_err(session_failure)?;
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
            wants_events: sources::wanted(config).contains(sources::TRACK_EVENT),
            snapshots: options.snapshots,
            sources: options.sources,
            buffer_setting: options.buffer_setting,
            ..Self::attached(consumer)
        })
    }

    /// A session that runs already, and that the service writes into a file.
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
            wants_events: false,
            sources: None,
            stops: 0,
            buffer_setting: BUFFER_SETTING_CONFIG,
            snapshots: None,
            snapshot_results: None,
            early: VecDeque::new(),
        }
    }

    /// Watches the producers of a session that runs already. Its config is not known, so producers of all data
    /// sources are watched; data sources that never had one are not found.
    ///
    /// # Errors
    /// When the service is gone.
    pub fn watch_all_sources(&mut self) -> Result<(), Failure> {
        let events = [ObservableEventsType::TYPE_DATA_SOURCES_INSTANCES];
        self.consumer.observe_events(&events).map_err(session_failure)?;
        // A service that is too old does not tell.
        if let Ok(state) = self.consumer.query_service_state(false) {
            self.sources = Some(SourceWatch::new(sources::registered(&state), &state, true));
        }
        Ok(())
    }

    /// Waits until the service has accepted or refused the session.
    ///
    /// # Errors
    /// When it has refused the session, or is gone.
    pub fn wait_until_accepted(&mut self) -> Result<(), Failure> {
        // A service may refuse in a task it queues, but that task runs before the second of these.
        for _ in 0..2 {
            self.consumer.query_capabilities().map_err(session_failure)?;
        }
        loop {
            match self.consumer.wait(Some(Duration::ZERO)).map_err(session_failure)? {
                Waited::TimedOut => return Ok(()),
                waited => self.early.push_back(waited),
            }
        }
    }

    /// Waits until the session has ended, for whatever reason.
    ///
    /// # Errors
    /// When the service refuses the session, goes away or is stuck, and when `control` aborts.
    pub fn wait(
        &mut self,
        interrupts: &InterruptQueue,
        control: &mut dyn Control,
    ) -> Result<(), Failure> {
        let mut progress = Progress::new();
        let mut start_by = control.start_timeout().map(|wait| self.begun + wait);
        let mut next_progress = progress.is_enabled().then(|| self.begun + PROGRESS_PERIOD);
        let mut ended = false;
        loop {
            let due = [start_by, next_progress, self.deadline].into_iter().flatten().min();
            let timeout = due.map(|due| due.saturating_duration_since(Instant::now()));
            let waited = match self.early.pop_front() {
                Some(waited) => waited,
                None => self.consumer.wait(timeout).map_err(session_failure)?,
            };
            match waited {
                Waited::Ended => {
                    ended = true;
                    self.deadline = None;
                    if start_by.take().is_some() {
                        control.handle_sources_start(SourcesStart::NotInTime)?;
                    }
                    control.handle_session_end();
                    if let Some(snapshots) = &mut self.snapshots {
                        snapshots.close();
                    }
                }
                Waited::Event(event) => {
                    if event.all_data_sources_started == Some(true) {
                        let start = self.tell_refusals();
                        if start_by.take().is_some() {
                            control.handle_sources_start(start)?;
                        }
                    }
                    self.watch_sources(&event);
                    self.take_snapshot(*event);
                }
                Waited::Interrupted => {
                    let stops = self.handle_interrupts(interrupts, control)?;
                    if stops {
                        progress.clear();
                        self.stop()?;
                    }
                }
                Waited::TimedOut => {}
                // A reason that this program does not know needs no action.
                _ => {}
            }
            if ended && self.snapshots_are_taken() {
                return Ok(());
            }
            let now = Instant::now();
            if start_by.is_some_and(|due| due <= now) {
                start_by = None;
                control.handle_sources_start(SourcesStart::NotInTime)?;
            }
            if self.deadline.is_some_and(|due| due <= now) {
                let text = "timed out while waiting for the trace from the service";
                return Err(Failure::new(text));
            }
            if next_progress.is_some_and(|due| due <= now) {
                next_progress = Some(now + PROGRESS_PERIOD);
                if control.shows_progress() {
                    self.show(&mut progress, ended);
                }
            }
        }
    }

    /// Asks `control` about every interruption in the queue. True: stop.
    fn handle_interrupts(
        &self,
        interrupts: &InterruptQueue,
        control: &mut dyn Control,
    ) -> Result<bool, Failure> {
        let mut stop = false;
        while let Some(interrupt) = interrupts.take() {
            match control.handle_interrupt(interrupt) {
                Action::Continue => {}
                Action::Stop => stop = true,
                Action::Abort(failure) => return Err(failure),
            }
        }
        Ok(stop)
    }

    /// Prints which data sources were refused, as soon as all have answered: the end of the session may be far away.
    fn tell_refusals(&mut self) -> SourcesStart {
        let stats = match self.consumer.get_trace_stats() {
            Ok(stats) => stats,
            // A service that is too old does not tell.
            Err(ConsumerError::Rejected(_)) => return SourcesStart::All,
            Err(_) => return SourcesStart::NotInTime,
        };
        let refusals = report::refusals(&stats);
        for refusal in &refusals {
            console::log(&format!("Lost from the start: {refusal}"));
        }
        if refusals.is_empty() { SourcesStart::All } else { SourcesStart::SomeRefused }
    }

    /// Prints which data sources have stopped because their producers went away.
    fn watch_sources(&mut self, event: &ObservableEvents) {
        let Some(sources) = &mut self.sources else { return };
        let changes = &event.instance_state_changes;
        sources.see(changes);
        // After `stop` nothing is lost when a producer goes away.
        if changes.is_empty() || self.stopping {
            return;
        }
        if let Ok(state) = self.consumer.query_service_state(false) {
            for stopped in sources.handle_changes(changes, &state, self.begun.elapsed()) {
                self.stops += 1;
                if console::is_told(self.stops) {
                    console::log(&format!("{stopped}{}", console::number(self.stops)));
                }
            }
        }
    }

    fn take_snapshot(&mut self, event: ObservableEvents) {
        if let (Some(hit), Some(snapshots)) = (event.clone_trigger_hit, &mut self.snapshots) {
            snapshots.take(hit);
        }
    }

    fn snapshots_are_taken(&mut self) -> bool {
        if let Some(results) = self.snapshots.as_mut().and_then(Snapshots::results) {
            self.snapshot_results = Some(results);
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

    /// Ends tracing, after a flush: producers commit what they hold.
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
            Err(error) => return Err(session_failure(error)),
        }
        self.consumer.disable_tracing().map_err(session_failure)
    }

    /// A producer did not answer the flush of [`stop`](Self::stop).
    #[must_use]
    pub fn flush_failed(&self) -> bool {
        self.flush_failed
    }

    /// Which data sources did not record all the time.
    #[must_use]
    pub fn into_source_report(self) -> SourceReport {
        self.sources.map(SourceWatch::into_report).unwrap_or_default()
    }

    /// Takes the trace out of the service.
    ///
    /// # Errors
    /// As [`EndedSession::read`].
    pub fn finish(self, output: &mut Output, options: ReadOptions<'_>) -> Result<Outcome, Failure> {
        let ended = EndedSession {
            into_file: self.into_file,
            flush_failed: self.flush_failed,
            waits_for_triggers: self.waits_for_triggers,
            no_events: self
                .sources
                .as_ref()
                .filter(|_| self.wants_events)
                .map(SourceWatch::no_events),
            sources: self.sources.map(SourceWatch::into_report).unwrap_or_default(),
            buffer_setting: self.buffer_setting,
            snapshots: self.snapshot_results,
        };
        ended.read(self.consumer, output, options)
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

#[cfg(test)]
mod tests;
