//! A recording that a user ends: what `perfetto` and `tracebox` do with a config.

use std::fs::File;
use std::time::Duration;

use protos::TraceConfig;

use super::host::ServiceHost;
use super::request::{Background, RecordRequest};
use super::run::{Recorder, report};
use super::session::{Action, Control, SourcesStart, longest_ms};
use crate::background;
use crate::console;
use crate::failure::{EXIT_INTERRUPTED, Failure};
use crate::interrupt::{INTERRUPTED_AGAIN, Interrupt, InterruptQueue, SignalCounter};

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
    let mut control = Foreground::attached();
    control.start_listener = match (request.background, request.notify_fd) {
        (Background::Wait, _) => Some(StartListener::Parent),
        (_, Some(fd)) => Some(StartListener::Descriptor(background::descriptor(fd.to_string())?)),
        _ => None,
    };
    let recorder = Recorder { request, config, interrupts: &interrupts };
    let mut output = recorder.open_output().inspect_err(|_| control.notify_failure())?;
    let recorded = open_host().and_then(|host| {
        control.start_message = Some(start_message(config, &host));
        recorder.run(&host, &mut output, &mut control)
    });
    control.notify_failure();
    match recorded {
        Ok(Some(outcome)) => report(&outcome, request.strict),
        Ok(None) => Ok(()),
        Err(failure) => Err(output.abandoned(failure)),
    }
}

/// The byte that is written to the descriptor: the number, not a digit (`perfetto_cmd.cc`).
mod status {
    pub(super) const STARTED: u8 = 0;
    pub(super) const FAILED: u8 = 1;
    pub(super) const NOT_ALL: u8 = 2;
}

/// The listener that waits until data sources have started.
enum StartListener {
    /// The first of the two processes of `-D`.
    Parent,
    /// The descriptor of `--notify-fd`.
    Descriptor(File),
}

/// The first Ctrl-C stops the session, the second one gives up.
pub struct Foreground {
    signals: SignalCounter,
    start_listener: Option<StartListener>,
    /// The line to print when recording begins.
    start_message: Option<String>,
}

impl Foreground {
    /// Control over a session that runs already.
    #[must_use]
    pub fn attached() -> Self {
        Self { signals: SignalCounter::default(), start_listener: None, start_message: None }
    }

    /// Tells a descriptor that data sources have not started. The parent finds that out by the exit code.
    fn notify_failure(&mut self) {
        if let Some(StartListener::Descriptor(mut fd)) = self.start_listener.take() {
            // The failure of the recording is printed, not this one.
            let _ = background::tell_to(&mut fd, &[status::FAILED]);
        }
    }
}

impl Control for Foreground {
    fn handle_session_begin(&mut self) -> Result<(), Failure> {
        if let Some(start_message) = self.start_message.take() {
            console::log(&start_message);
        }
        Ok(())
    }

    fn handle_absent_sources(&self, names: &[String]) {
        for name in names {
            console::log(&format!(
                "No data source {name} here: nothing of it is recorded until a producer offers it"
            ));
        }
    }

    fn start_timeout(&self) -> Option<Duration> {
        self.start_listener.as_ref().map(|_| START_TIMEOUT)
    }

    fn handle_sources_start(&mut self, start: SourcesStart) -> Result<(), Failure> {
        let all = start == SourcesStart::All;
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

    fn handle_interrupt(&mut self, interrupt: Interrupt) -> Action {
        let Interrupt::Signal(signal, at) = interrupt else { return Action::Continue };
        match self.signals.count(signal, at) {
            None => Action::Continue,
            Some(1) => {
                console::log("Interrupted: stopping, the trace will be written");
                Action::Stop
            }
            Some(_) => Action::Abort(Failure::new(INTERRUPTED_AGAIN).with_code(EXIT_INTERRUPTED)),
        }
    }
}

/// The line to print when recording begins. For a running service it is upstream's (`perfetto_cmd.cc`).
fn start_message(config: &TraceConfig, host: &ServiceHost) -> String {
    let longest = longest_ms(config).map(|ms| ms.div_ceil(1000));
    let mut line = match (host, longest) {
        (ServiceHost::Running, None) => {
            "Connected to the Perfetto traced service, starting tracing".to_owned()
        }
        (ServiceHost::Running, Some(seconds)) => {
            format!("Connected to the Perfetto traced service, TTL: {seconds}s")
        }
        (ServiceHost::Started { .. }, None) => "Recording this machine until Ctrl-C".to_owned(),
        (ServiceHost::Started { .. }, Some(seconds)) => {
            format!("Recording this machine for {seconds} s")
        }
    };
    if config.trigger_config.as_ref().is_some_and(|triggers| !triggers.triggers.is_empty()) {
        line.push_str(", waiting for triggers");
    }
    line
}
