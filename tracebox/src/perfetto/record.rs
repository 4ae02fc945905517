//! Recording: what `perfetto` does with a config.

use std::ffi::OsString;
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
    println!("{pid}");
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
    let mut output = open(plan, &config)?;
    match record_into(plan, &config, system, &nudges, &mut output) {
        Ok(()) => Ok(0),
        // Some of it may be lost, but all that there is has been written.
        Err(failure) if failure.code == LOST => Err(failure),
        Err(failure) => Err(output.abandoned(failure)),
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
            consumer.waker(),
        )?),
        false => None,
    };
    delay(consumer, config)?;

    let wants_start = plan.background == Background::Wait || plan.notify_fd.is_some();
    let mut recording = Recording::begin(consumer, config, output, wants_start, snapshots)?;
    console::say(&greeting(config));
    if let Some(key) = &plan.detach {
        return detached::detach(consumer, key);
    }
    if plan.background != Background::No {
        background::leave()?;
        if plan.background == Background::Start {
            background::tell(true);
        }
    }
    let mut foreground = Foreground {
        interrupts: Interrupts::default(),
        start: match (plan.background, plan.notify_fd) {
            (Background::Wait, _) => Some(Start::Parent),
            (_, Some(fd)) => Some(Start::Descriptor(fd)),
            _ => None,
        },
    };
    if !system {
        warn_of_absent_sources(&mut recording, config);
    }
    recording.wait(nudges, &mut foreground)?;
    let outcome = recording.finish(output, &mut || foreground.gives_up(nudges))?;
    recording::tell(&outcome, plan.strict)
}

/// The line that says that it began (`perfetto_cmd.cc`).
fn greeting(config: &TraceConfig) -> String {
    let triggers = config.trigger_config.as_ref();
    let triggers = triggers.filter(|triggers| !triggers.triggers.is_empty());
    let wait = triggers.and_then(|triggers| triggers.trigger_timeout_ms);
    let ms = config.duration_ms.filter(|&ms| ms != 0).or(wait).unwrap_or(0);
    let mut line = match ms {
        0 => "Connected to the Perfetto traced service, starting tracing".to_owned(),
        ms => format!("Connected to the Perfetto traced service, TTL: {}s", ms.div_ceil(1000)),
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
            console::say(&format!("No data source {name} here: nothing of it will be recorded"));
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

/// Who wants to know that data sources have started.
#[derive(Clone, Copy)]
enum Start {
    /// The first of our two processes.
    Parent,
    /// A descriptor.
    Descriptor(u32),
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
        self.start.map(|_| START_WAIT)
    }

    fn started(&mut self, all: bool) -> Result<(), Failure> {
        match self.start {
            // Its own time is over by now.
            Some(Start::Parent) => background::tell(all),
            Some(Start::Descriptor(fd)) => {
                // The byte itself, not a digit (`perfetto_cmd.cc`).
                background::notify(fd.to_string(), if all { b"\0" } else { b"\x02" })?;
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
