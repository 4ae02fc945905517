//! Joins the parts of the recorder: host, session, control and output.

use std::path::Path;
use std::time::Duration;

use protos::TraceConfig;
use tracing_core::client::consumer::{Consumer, ConsumerError, Waited};
use tracing_core::os::process::random_seed;

use super::consumer_error::session_failure;
use super::host::ServiceHost;
use super::readback::ReadOptions;
use super::request::{Background, RecordRequest};
use super::session::{Action, Control, TracingSession};
use super::snapshots::{self, Snapshots};
use crate::background;
use crate::console;
use crate::failure::{Context, EXIT_INTERRUPTED, Failure};
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
            (Some(path), _) if self.request.detach.is_some() => {
                Output::open_to_leave(path, no_clobber)
            }
            (Some(path), _) => Output::open(path, no_clobber),
            (None, path) => Ok(Output::of_service(Path::new(path.as_deref().unwrap_or_default()))),
        }
    }

    /// Records into `output` until the session ends or `control` ends it, and reports.
    ///
    /// # Errors
    /// When there is no trace, it is not whole, or data was lost and the request is strict.
    pub fn run(
        &self,
        host: &ServiceHost,
        output: &mut Output,
        control: &mut dyn Control,
    ) -> Result<(), Failure> {
        let mut consumer = host.consumer()?;
        self.interrupts.set_waker(consumer.waker());
        let snapshots = self.snapshots(host, &consumer)?;
        delay_start(&mut consumer, self.config)?;

        let observe_start = control.start_timeout().is_some();
        let mut session =
            TracingSession::begin(&mut consumer, self.config, output, observe_start, snapshots)?;
        control.session_begun(&mut session)?;
        if let Some(key) = &self.request.detach {
            return detach(&mut consumer, key);
        }
        self.leave_terminal(&mut session)?;
        session.wait(self.interrupts, control)?;
        let options = ReadOptions {
            strict: self.request.strict,
            shows_progress: control.shows_progress(),
            interrupted: &mut || aborted(self.interrupts, control),
        };
        let outcome = session.finish(output, options)?;
        report(&outcome, self.request.strict)
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
        let (no_clobber, strict) = (self.request.no_clobber, self.request.strict);
        Snapshots::new(host.connector(), out, no_clobber, strict, consumer.waker()).map(Some)
    }

    /// The second process of `-d` and `-D`: the first one waits for it at the terminal.
    fn leave_terminal(&self, session: &mut TracingSession<'_>) -> Result<(), Failure> {
        if self.request.background == Background::No {
            return Ok(());
        }
        session.accepted()?;
        background::leave()?;
        if self.request.background == Background::Start {
            background::tell(true);
        }
        Ok(())
    }
}

/// The failure to give up with, if an interruption in the queue asks for that.
fn aborted(interrupts: &InterruptQueue, control: &mut dyn Control) -> Option<Failure> {
    while let Some(interrupt) = interrupts.take() {
        if let Action::Abort(failure) = control.interrupted(interrupt) {
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
    console::say(&format!("Tracing starts in {ms} ms (cmd_trace_start_delay)"));
    match consumer.wait(Some(Duration::from_millis(ms))).map_err(session_failure)? {
        Waited::Interrupted => {
            Err(Failure::new("interrupted before the trace began").with_code(EXIT_INTERRUPTED))
        }
        _ => Ok(()),
    }
}

/// Leaves the session of `consumer`, which has just begun, under `key`.
fn detach(consumer: &mut Consumer, key: &str) -> Result<(), Failure> {
    let Err(error) = consumer.detach(key) else {
        console::say(&format!("Session detached: --attach={key} takes it over"));
        return Ok(());
    };
    // If the service has refused the session, its reason says more than the refused detach.
    match (consumer.wait(Some(Duration::ZERO)), error) {
        (Err(refused), _) => Err(session_failure(refused)),
        (Ok(_), ConsumerError::Rejected(_)) => Err(Failure::new(format_args!(
            "session detach failed: the service rejected it (is there a session under {key:?} already?)"
        ))),
        (Ok(_), error) => Err(Failure::new(format_args!("session detach failed: {error}"))),
    }
}

/// Prints what became of a trace.
///
/// # Errors
/// See [`Outcome::verdict`].
pub fn report(outcome: &Outcome, strict: bool) -> Result<(), Failure> {
    for line in outcome.lines() {
        console::say(&line);
    }
    outcome.verdict(strict)
}
