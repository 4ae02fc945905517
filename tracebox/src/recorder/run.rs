//! Joins the parts of the recorder: host, session, control and output.

use std::path::Path;
use std::time::Duration;

use protos::TraceConfig;
use tracing_core::client::consumer::{Consumer, ConsumerError, Waited};
use tracing_core::os::process::random_seed;

use super::consumer_error::{request_failure, session_failure};
use super::host::ServiceHost;
use super::readback::ReadOptions;
use super::request::{Background, RecordRequest};
use super::session::{Action, Control, SessionOptions, TracingSession};
use super::snapshots::{self, Snapshots};
use super::sources::{self, SourceWatch};
use crate::background;
use crate::console;
use crate::failure::{Context, EXIT_INTERRUPTED, EXIT_LOST, Failure};
use crate::interrupt::InterruptQueue;
use crate::output::Output;
use crate::report::Outcome;

/// Records one trace.
pub struct Recorder<'r> {
    /// What to record.
    pub request: &'r RecordRequest,
    /// Its config.
    pub config: &'r TraceConfig,
    /// Where signals arrive.
    pub interrupts: &'r InterruptQueue,
}

impl Recorder<'_> {
    /// Opens the output.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open_output(&self) -> Result<Output, Failure> {
        let no_clobber = self.request.no_clobber;
        match (&self.request.out, &self.config.output_path) {
            (Some(path), _) if self.config.write_into_file == Some(true) => {
                Output::open_for_service(path, no_clobber, self.request.detach.is_some())
            }
            (Some(path), _) => Output::open(path, no_clobber),
            (None, path) => Ok(Output::of_service(Path::new(path.as_deref().unwrap_or_default()))),
        }
    }

    /// Records into `output` until the session ends or `control` ends it. `None`: the session was detached.
    ///
    /// # Errors
    /// When there is no trace, or it is not whole.
    pub fn run(
        &self,
        host: &ServiceHost,
        output: &mut Output,
        control: &mut dyn Control,
    ) -> Result<Option<Outcome>, Failure> {
        let mut consumer = host.consumer()?;
        self.interrupts.set_waker(consumer.waker());
        let options = SessionOptions {
            // Who leaves the session does not see it start.
            observe_start: self.request.detach.is_none(),
            snapshots: self.snapshots(host, &consumer)?,
            sources: self.sources(host, &mut consumer, control)?,
            buffer_setting: self.request.buffer_setting(),
        };
        delay_start(&mut consumer, self.config)?;

        let mut session = TracingSession::begin(&mut consumer, self.config, output, options)?;
        if output.replaces_later() || !matches!(host, ServiceHost::Running) {
            // It costs little in this process, and a refused session is not announced.
            session.wait_until_accepted()?;
        }
        if let Some(key) = &self.request.detach {
            control.handle_session_begin()?;
            detach(&mut consumer, key)?;
            // Without its file, the session ends with this consumer.
            put_in_place(output).inspect_err(|_| drop(consumer.attach(key)))?;
            console::log(&format!("Session detached: --attach={key} takes it over"));
            return Ok(None);
        }
        put_in_place(output)?;
        control.handle_session_begin()?;
        self.leave_terminal(&mut session)?;
        session.wait(self.interrupts, control)?;
        let options = ReadOptions {
            shows_progress: control.shows_progress(),
            check_interrupts: &mut || take_abort(self.interrupts, control),
        };
        session.finish(output, options).map(Some)
    }

    /// Finds out which data sources have a producer. In a service that no other producer can reach, a data
    /// source without one would never record anything.
    fn sources(
        &self,
        host: &ServiceHost,
        consumer: &mut Consumer,
        control: &dyn Control,
    ) -> Result<Option<SourceWatch>, Failure> {
        let state = match consumer.query_service_state(false) {
            Ok(state) => state,
            Err(ConsumerError::Disconnected) => {
                return Err(request_failure(ConsumerError::Disconnected));
            }
            // A service that is too old does not tell.
            Err(_) => return Ok(None),
        };
        let mut wanted = sources::wanted(self.config);
        for name in self.request.optional_sources() {
            wanted.remove(*name);
        }
        let source_watch = SourceWatch::new(wanted, &state, control.watches_later_producers());
        let absent = source_watch.absent();
        if host.admits_producers() {
            control.handle_absent_sources(&absent);
        } else if !absent.is_empty() {
            let failure = not_available(&absent);
            let code = if self.request.strict { EXIT_LOST } else { failure.code };
            return Err(failure.with_code(code));
        }
        Ok(Some(source_watch))
    }

    fn snapshots(
        &self,
        host: &ServiceHost,
        consumer: &Consumer,
    ) -> Result<Option<Snapshots>, Failure> {
        if !snapshots::wanted(self.config) {
            return Ok(None);
        }
        let out = self.request.out.as_deref().unwrap_or_default();
        let (connect, done) = (host.connector(), consumer.waker());
        Snapshots::new(connect, self.config, out, self.request.no_clobber, done).map(Some)
    }

    /// The second process of `-d` and `-D`: the first one waits for it at the terminal.
    fn leave_terminal(&self, session: &mut TracingSession<'_>) -> Result<(), Failure> {
        if self.request.background == Background::No {
            return Ok(());
        }
        session.wait_until_accepted()?;
        background::leave()?;
        if self.request.background == Background::Start {
            background::tell(true);
        }
        Ok(())
    }
}

fn not_available(absent: &[String]) -> Failure {
    let verb = if absent.len() == 1 { "is" } else { "are" };
    Failure::new(format_args!(
        "{} {verb} not available here: tracebox itself has {} (for others run traced and their producers, and record \
         with perfetto)",
        absent.join(", "),
        tracing_probes::NAMES.join(", ")
    ))
}

/// Takes interruptions out of the queue, up to the first that aborts. Returns the failure to give up with.
fn take_abort(interrupts: &InterruptQueue, control: &mut dyn Control) -> Option<Failure> {
    while let Some(interrupt) = interrupts.take() {
        if let Action::Abort(failure) = control.handle_interrupt(interrupt) {
            return Some(failure);
        }
    }
    None
}

/// `cmd_trace_start_delay`: a random pause, so that the machines of a fleet do not start at one time.
fn delay_start(consumer: &mut Consumer, config: &TraceConfig) -> Result<(), Failure> {
    let Some(delay) = &config.cmd_trace_start_delay else { return Ok(()) };
    let (min, max) = (delay.min_delay_ms.unwrap_or(0), delay.max_delay_ms.unwrap_or(0));
    let range = u64::from(max.saturating_sub(min)) + 1;
    let ms = u64::from(min) + random_seed().context("no random numbers")? % range;
    console::log(&format!("Tracing starts in {ms} ms (cmd_trace_start_delay)"));
    match consumer.wait(Some(Duration::from_millis(ms))).map_err(session_failure)? {
        Waited::Interrupted => {
            Err(Failure::new("interrupted before the trace began").with_code(EXIT_INTERRUPTED))
        }
        _ => Ok(()),
    }
}

/// Leaves the session of `consumer`, which has just begun, under `key`.
fn detach(consumer: &mut Consumer, key: &str) -> Result<(), Failure> {
    let Err(error) = consumer.detach(key) else { return Ok(()) };
    // If the service has refused the session, its reason is more useful than the refused detach.
    match (consumer.wait(Some(Duration::ZERO)), error) {
        (Err(refused), _) => Err(session_failure(refused)),
        (Ok(_), ConsumerError::Rejected(_)) => Err(Failure::new(format_args!(
            "session detach failed: the service rejected it (is there a session under {key:?} already?)"
        ))),
        (Ok(_), error) => Err(Failure::new(format_args!("session detach failed: {error}"))),
    }
}

/// The service writes to the file from now on, so the older one goes.
fn put_in_place(output: &mut Output) -> Result<(), Failure> {
    let name = output.name();
    output.put_in_place().context(format_args!("cannot write {name}"))
}

/// Prints the result of a recording.
///
/// # Errors
/// See [`Outcome::verdict`].
pub fn report(outcome: &Outcome, strict: bool) -> Result<(), Failure> {
    for line in outcome.lines() {
        console::log(&line);
    }
    outcome.verdict(strict)
}
