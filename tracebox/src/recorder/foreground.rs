//! A recording that a user ends: what `perfetto` and `tracebox` do with a config.

use std::fs::File;
use std::time::{Duration, Instant};

use protos::TraceConfig;

use super::host::ServiceHost;
use super::request::{Background, RecordRequest};
use super::run::Recorder;
use super::session::{Action, Control, TracingSession, longest_ms};
use crate::background;
use crate::console;
use crate::failure::{EXIT_INTERRUPTED, EXIT_LOST, Failure};
use crate::interrupt::{Interrupt, InterruptQueue, SignalCounter};

/// How long `-D` waits for data sources (`perfetto_cmd.cc`).
pub const START_TIMEOUT: Duration = Duration::from_secs(30);

/// Records what `request` asks for, with the service that `open_host` gives.
///
/// # Errors
/// When there is no trace, it is not whole, or data was lost and the request is strict.
pub fn record(
    request: &RecordRequest,
    config: &TraceConfig,
    open_host: impl FnOnce() -> Result<ServiceHost, Failure>,
) -> Result<(), Failure> {
    let interrupts = InterruptQueue::catch_signals()?;
    let mut control = Foreground::new(config);
    control.start_listener = match (request.background, request.notify_fd) {
        (Background::Wait, _) => Some(StartListener::Parent),
        (_, Some(fd)) => Some(StartListener::Descriptor(background::descriptor(fd.to_string())?)),
        _ => None,
    };
    let recorder = Recorder { request, config, interrupts: &interrupts };
    let mut output = recorder.open_output().inspect_err(|_| control.notify_failure())?;
    let recorded = open_host().and_then(|host| recorder.run(&host, &mut output, &mut control));
    control.notify_failure();
    match recorded {
        // The trace is whole as far as the data goes.
        Err(failure) if failure.code != EXIT_LOST => Err(output.abandoned(failure)),
        recorded => recorded,
    }
}

/// What a descriptor is told, as one byte: the number, not a digit (`perfetto_cmd.cc`).
mod status {
    pub(super) const STARTED: u8 = 0;
    pub(super) const FAILED: u8 = 1;
    pub(super) const NOT_ALL: u8 = 2;
}

/// Who waits until data sources have started.
enum StartListener {
    /// The first of the two processes of `-D`.
    Parent,
    /// The descriptor of `--notify-fd`.
    Descriptor(File),
}

/// The first Ctrl-C stops the session, the second one gives up.
pub struct Foreground<'c> {
    signals: SignalCounter,
    start_listener: Option<StartListener>,
    /// The config of a session that this program begins.
    config: Option<&'c TraceConfig>,
}

impl<'c> Foreground<'c> {
    fn new(config: &'c TraceConfig) -> Self {
        Self { config: Some(config), ..Self::attached() }
    }

    /// Control over a session that runs already.
    #[must_use]
    pub fn attached() -> Self {
        Self { signals: SignalCounter::default(), start_listener: None, config: None }
    }

    /// Tells a descriptor that data sources have not started. The parent finds that out by the exit code.
    fn notify_failure(&mut self) {
        if let Some(StartListener::Descriptor(mut fd)) = self.start_listener.take() {
            // The failure of the recording is printed, not this one.
            let _ = background::tell_to(&mut fd, &[status::FAILED]);
        }
    }
}

impl Control for Foreground<'_> {
    fn session_begun(&mut self, session: &mut TracingSession<'_>) -> Result<(), Failure> {
        let Some(config) = self.config else { return Ok(()) };
        console::say(&greeting(config));
        warn_of_absent_sources(session, config);
        Ok(())
    }

    fn start_timeout(&self) -> Option<Duration> {
        self.start_listener.as_ref().map(|_| START_TIMEOUT)
    }

    fn sources_started(&mut self, all: bool) -> Result<(), Failure> {
        match self.start_listener.take() {
            // After the timeout the parent has gone.
            Some(StartListener::Parent) => background::tell(all),
            Some(StartListener::Descriptor(mut fd)) => {
                let status = if all { status::STARTED } else { status::NOT_ALL };
                background::tell_to(&mut fd, &[status])?;
            }
            None => {}
        }
        Ok(())
    }

    fn interrupted(&mut self, interrupt: Interrupt) -> Action {
        let Interrupt::Signal(_) = interrupt else { return Action::Continue };
        match self.signals.count(Instant::now()) {
            None => Action::Continue,
            Some(1) => {
                console::say("Interrupted: stopping, the trace will be written");
                Action::Stop
            }
            Some(_) => {
                let failure = Failure::new("interrupted again, the trace is not complete");
                Action::Abort(failure.with_code(EXIT_INTERRUPTED))
            }
        }
    }
}

/// The line that says that recording has begun (`perfetto_cmd.cc`).
fn greeting(config: &TraceConfig) -> String {
    let triggers = config.trigger_config.as_ref();
    let triggers = triggers.filter(|triggers| !triggers.triggers.is_empty());
    let mut line = match longest_ms(config) {
        None => "Connected to the Perfetto traced service, starting tracing".to_owned(),
        Some(ms) => {
            format!("Connected to the Perfetto traced service, TTL: {}s", ms.div_ceil(1000))
        }
    };
    if triggers.is_some() {
        line.push_str(", waiting for triggers");
    }
    line
}

/// Says which data sources of `config` no producer has registered: they record nothing.
fn warn_of_absent_sources(session: &mut TracingSession<'_>, config: &TraceConfig) {
    let Some(present) = session.data_sources() else { return };
    for name in
        config.data_sources.iter().filter_map(|source| source.config.as_ref()?.name.as_ref())
    {
        if !present.contains(name) {
            console::say(&format!(
                "No data source {name} here: nothing of it will be recorded unless it comes"
            ));
        }
    }
}
