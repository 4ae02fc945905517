//! Recording: what `perfetto` does with a config.

use std::ffi::OsString;
use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use protos::TraceConfig;
use tracing_core::client::consumer::{Consumer, Waited};
use tracing_core::os::process::random_seed;

use super::{Service, detached};
use crate::applet::Ending;
use crate::background::{self, Started};
use crate::config::{self, builtin};
use crate::console;
use crate::failure::{Context, Failure};
use crate::nudge::{Interrupts, Nudge, Nudges};
use crate::output::Output;
use crate::plan::{Background, Record};
use crate::recording::{self, Director, INTERRUPTED, Recording, Verdict};
use crate::report::LOST;
use crate::snapshots::{self, Snapshots};
use crate::trigger;

/// How long `-D` waits for data sources (`perfetto_cmd.cc`).
const START_WAIT: Duration = Duration::from_secs(30);

/// The first of the two processes of `-d` and `-D`.
pub(super) fn start_in_background(
    name: &str,
    words: &[OsString],
    background: Background,
) -> Ending {
    let (pid, started) = background::start(words, name, START_WAIT)?;
    let code = match started {
        Started::No(code) => return Ok(code),
        Started::Yes => 0,
        Started::Unknown if background == Background::Wait => 2,
        Started::Unknown => 0,
    };
    console::answer(pid)?;
    Ok(code)
}

/// Does what `plan` says.
pub(super) fn run(plan: &Record, system: bool) -> Ending {
    let config = config::load(plan, builtin::Use::Machine)?;
    if !config.activate_triggers.is_empty() {
        return activate(plan, config.activate_triggers, system);
    }
    if !system && config.trigger_config.is_some() {
        return Err(Failure::new(
            "nobody can fire triggers here: add --system-sockets, or use `tracebox record`",
        ));
    }
    let nudges = Nudges::catch_signals()?;
    let mut start = match (plan.background, plan.notify_fd) {
        (Background::Wait, _) => Some(Start::Parent),
        (_, Some(fd)) => Some(Start::Descriptor(background::descriptor(fd.to_string())?)),
        _ => None,
    };
    let mut output = open(plan, &config).inspect_err(|_| tell_of_failure(&mut start))?;
    let recorded = record_into(plan, &config, system, &nudges, &mut output, &mut start);
    tell_of_failure(&mut start);
    match recorded {
        Ok(()) => Ok(0),
        // Some of it may be lost, but all that there is has been written.
        Err(failure) if failure.code == LOST => Err(failure),
        Err(failure) => Err(output.abandoned(failure)),
    }
}

/// Whoever still waits to hear of data sources hears that nothing came of it. The parent finds out by
/// our exit code.
fn tell_of_failure(start: &mut Option<Start>) {
    if let Some(Start::Descriptor(mut fd)) = start.take() {
        // The failure itself is what is told on stderr.
        let _ = background::tell_to(&mut fd, &[status::FAILED]);
    }
}

/// A config that only fires triggers: nothing is recorded and no file is opened.
fn activate(plan: &Record, names: Vec<String>, system: bool) -> Ending {
    if !system {
        let text = "activate_triggers is for a running service: add --system-sockets";
        return Err(Failure::new(text));
    }
    trigger::activate(names)?;
    if plan.background != Background::No {
        // Whoever waits for us hears that it is done.
        background::tell(true);
    }
    Ok(0)
}

/// Where a plan's trace goes.
///
/// # Errors
/// When it cannot be opened.
pub fn open(plan: &Record, config: &TraceConfig) -> Result<Output, Failure> {
    match (&plan.out, &config.output_path) {
        (Some(path), _) if plan.detach.is_some() => Output::open_to_leave(path, plan.no_clobber),
        (Some(path), _) => Output::open(path, plan.no_clobber),
        (None, path) => Ok(Output::of_service(Path::new(path.as_deref().unwrap_or_default()))),
    }
}

fn record_into(
    plan: &Record,
    config: &TraceConfig,
    system: bool,
    nudges: &Nudges,
    output: &mut Output,
    start: &mut Option<Start>,
) -> Result<(), Failure> {
    let mut service = Service::open(system)?;
    let connector = service.connector();
    let consumer = &mut service.consumer;
    nudges.set_waker(consumer.waker());
    let snapshots = match snapshots::wanted(config) {
        true => Some(Snapshots::new(
            connector,
            plan.out.as_deref().unwrap_or_default(),
            plan.no_clobber,
            plan.strict,
            consumer.waker(),
        )?),
        false => None,
    };
    delay(consumer, config)?;

    let mut recording = Recording::begin(consumer, config, output, start.is_some(), snapshots)?;
    console::say(&greeting(config));
    if let Some(key) = &plan.detach {
        return detached::detach(consumer, key);
    }
    if plan.background != Background::No {
        recording.accepted()?;
        background::leave()?;
        if plan.background == Background::Start {
            background::tell(true);
        }
    }
    warn_of_absent_sources(&mut recording, config);
    let mut foreground = Foreground { interrupts: Interrupts::default(), start: start.take() };
    let waited = recording.wait(nudges, &mut foreground);
    *start = foreground.start.take();
    waited?;
    let outcome = recording.finish(output, plan.strict, &mut || foreground.gives_up(nudges))?;
    recording::tell(&outcome, plan.strict)
}

/// The line that says that it began (`perfetto_cmd.cc`).
fn greeting(config: &TraceConfig) -> String {
    let triggers = config.trigger_config.as_ref();
    let triggers = triggers.filter(|triggers| !triggers.triggers.is_empty());
    let mut line = match recording::longest_ms(config) {
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

/// A data source that nobody has records nothing, and nothing would say so.
fn warn_of_absent_sources(recording: &mut Recording<'_>, config: &TraceConfig) {
    let Some(present) = recording.data_sources() else { return };
    for name in
        config.data_sources.iter().filter_map(|source| source.config.as_ref()?.name.as_ref())
    {
        // Of another program: it may still come, where it can.
        if !present.contains(name) {
            console::say(&format!(
                "No data source {name} here: nothing of it will be recorded unless it comes"
            ));
        }
    }
}

/// `cmd_trace_start_delay`: a random pause, so that a fleet does not start all at once.
fn delay(consumer: &mut Consumer, config: &TraceConfig) -> Result<(), Failure> {
    let Some(delay) = &config.cmd_trace_start_delay else { return Ok(()) };
    let (min, max) = (delay.min_delay_ms.unwrap_or(0), delay.max_delay_ms.unwrap_or(0));
    let range = u64::from(max.saturating_sub(min)) + 1;
    let ms = u64::from(min) + random_seed().context("no random numbers")? % range;
    console::say(&format!("Tracing starts in {ms} ms (cmd_trace_start_delay)"));
    match consumer.wait(Some(Duration::from_millis(ms))).map_err(recording::lost)? {
        Waited::Interrupted => {
            Err(Failure::new("interrupted before the trace began").with_code(INTERRUPTED))
        }
        _ => Ok(()),
    }
}

/// What a descriptor is told, as one byte: the number, not a digit (`perfetto_cmd.cc`).
mod status {
    pub(super) const STARTED: u8 = 0;
    pub(super) const FAILED: u8 = 1;
    pub(super) const NOT_ALL: u8 = 2;
}

/// Who wants to know that data sources have started.
enum Start {
    /// The first of our two processes.
    Parent,
    /// A descriptor.
    Descriptor(File),
}

/// Ctrl-C stops; a second one does not wait for it.
pub(super) struct Foreground {
    interrupts: Interrupts,
    start: Option<Start>,
}

impl Foreground {
    /// Nobody wants to know about data sources.
    pub(super) fn new() -> Self {
        Self { interrupts: Interrupts::default(), start: None }
    }

    /// While the trace is being read there is nothing to stop: was it too long for somebody?
    fn gives_up(&mut self, nudges: &Nudges) -> Option<Failure> {
        while let Some(nudge) = nudges.take() {
            match self.nudged(nudge) {
                Verdict::GiveUp(failure) => return Some(failure),
                Verdict::Stop | Verdict::GoOn => {}
            }
        }
        None
    }
}

impl Director for Foreground {
    fn start_wait(&self) -> Option<Duration> {
        self.start.as_ref().map(|_| START_WAIT)
    }

    fn started(&mut self, all: bool) -> Result<(), Failure> {
        match self.start.take() {
            // Its own time is over by now.
            Some(Start::Parent) => background::tell(all),
            Some(Start::Descriptor(mut fd)) => {
                let status = if all { status::STARTED } else { status::NOT_ALL };
                background::tell_to(&mut fd, &[status])?;
            }
            None => {}
        }
        Ok(())
    }

    fn nudged(&mut self, nudge: Nudge) -> Verdict {
        let Nudge::Interrupt(_) = nudge else { return Verdict::GoOn };
        match self.interrupts.count(Instant::now()) {
            None => Verdict::GoOn,
            Some(1) => {
                console::say("Interrupted: stopping, the trace will be written");
                Verdict::Stop
            }
            Some(_) => {
                let failure = Failure::new("interrupted again, the trace is not complete");
                Verdict::GiveUp(failure.with_code(INTERRUPTED))
            }
        }
    }
}
