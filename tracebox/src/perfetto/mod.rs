//! `perfetto`, and `tracebox` without a program name: the same command line, with the service of the
//! machine or with one of its own.

pub mod query;

use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

use protos::{CloneSessionRequest, CloneSessionRequestSelector, TraceConfig};
use tracing_core::client::consumer::{Consumer, ConsumerError, Waited};
use tracing_core::client::in_process::InProcessService;
use tracing_core::client::serve::service_config;
use tracing_core::os::process::random_seed;

use crate::applet::Ending;
use crate::background::{self, Started};
use crate::cli::{self, Perfetto};
use crate::config::{self, builtin};
use crate::console;
use crate::failure::{Context, Failure};
use crate::nudge::{Interrupts, Nudge, Nudges};
use crate::output::Output;
use crate::plan::{self, Background, Clone, Plan, Record, Source, Who};
use crate::recording::{self, Director, Recording, Verdict};
use crate::{VERSION, probes};

/// How long `-D` waits for data sources (`perfetto_cmd.cc`).
const START_WAIT: Duration = Duration::from_secs(30);

/// Exit code of somebody who was interrupted twice.
const INTERRUPTED: u8 = 130;

/// `perfetto`: through the service of the machine.
///
/// # Errors
/// One line.
pub fn main(name: &str, words: &[OsString]) -> Ending {
    if words.is_empty() {
        return Err(Failure::new("say what to do (see --help)"));
    }
    run(name, words, Who::Perfetto)
}

/// `tracebox`: with a service of its own, unless `--system-sockets`.
///
/// # Errors
/// One line.
pub fn alone(name: &str, words: &[OsString]) -> Ending {
    run(name, words, Who::Tracebox)
}

fn run(name: &str, words: &[OsString], who: Who) -> Ending {
    let Some(args) = cli::parse::<Perfetto>(name, words)? else { return Ok(0) };
    let system = who == Who::Perfetto || args.system_sockets;
    if args.system_sockets && who == Who::Perfetto {
        return Err(Failure::new("--system-sockets is for tracebox: perfetto always uses them"));
    }
    let plan = plan::plan(args, who)?;
    if let (false, Plan::Record(plan)) = (system, &plan) {
        refuse_foreign_words(plan)?;
    }
    if !system && !matches!(plan, Plan::Version | Plan::ResetGuardrails | Plan::Record(_)) {
        return Err(Failure::new("this asks a running service: add --system-sockets"));
    }
    match plan {
        Plan::Version => {
            println!("{VERSION}");
            Ok(0)
        }
        Plan::ResetGuardrails => {
            console::say("There are no guardrails to reset");
            Ok(0)
        }
        Plan::Query { raw, long } => query::run(&mut connect()?, raw, long),
        Plan::IsDetached(key) => is_detached(&key),
        Plan::Attach { key, stop } => attach(&key, stop),
        Plan::Clone(plan) => clone(plan),
        Plan::Record(plan) => {
            if plan.background != Background::No && !background::is_child() {
                return start_in_background(name, words, plan.background);
            }
            record(&plan, system)
        }
    }
}

/// Events and categories need a data source that is not built in. Nobody can bring it to a service of
/// our own, so the trace would have nothing of what was asked for.
fn refuse_foreign_words(plan: &Record) -> Result<(), Failure> {
    let Source::Light(light) = &plan.source else { return Ok(()) };
    let Some(word) = light.words.iter().chain(&light.apps).find(|&word| word != "disk") else {
        return Ok(());
    };
    Err(Failure::new(format_args!(
        "{word:?} is no program of tracebox, and as an event or category it needs linux.ftrace, \
         which is not built in (run traced and traced_probes, and add --system-sockets)"
    )))
}

fn connect() -> Result<Consumer, Failure> {
    Consumer::connect_default().map_err(Failure::new)
}

/// The first of the two processes of `-d` and `-D`.
fn start_in_background(name: &str, words: &[OsString], background: Background) -> Ending {
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

/// A consumer, and the service it belongs to if that is ours.
struct Service {
    consumer: Consumer,
    /// Held for their lives. Sources go before the service.
    _own: Option<(probes::Sources, InProcessService)>,
}

impl Service {
    fn open(system: bool) -> Result<Self, Failure> {
        if system {
            return Ok(Self { consumer: connect()?, _own: None });
        }
        let config = service_config(VERSION).context("cannot start the service")?;
        let service = InProcessService::start(config, console::own_service_log())
            .context("cannot start the service")?;
        let sources = probes::Sources::attach(service.producer())?;
        Ok(Self { consumer: service.consumer(), _own: Some((sources, service)) })
    }
}

fn record(plan: &Record, system: bool) -> Ending {
    let config = config::load(plan, builtin::Use::Machine)?;
    let nudges = Nudges::catch_signals()?;
    let mut output = open(plan, &config)?;
    match record_into(plan, &config, system, &nudges, &mut output) {
        Ok(()) => Ok(0),
        Err(failure) => Err(told_what_is_kept(output, failure)),
    }
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

/// Cleans up after a failure and says what is left.
#[must_use]
pub fn told_what_is_kept(output: Output, failure: Failure) -> Failure {
    let (name, is_file) = (output.name(), output.is_file());
    match output.abandon() {
        0 => failure,
        bytes if is_file => Failure {
            text: format!("{failure}; {bytes} bytes of whole packets are in {name}"),
            ..failure
        },
        _ => failure,
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
    let consumer = &mut service.consumer;
    nudges.set_waker(consumer.waker());
    delay(consumer, config)?;

    let wants_start = plan.background == Background::Wait || plan.notify_fd.is_some();
    let mut recording = Recording::begin(consumer, config, output, wants_start)?;
    let ms = config.duration_ms.unwrap_or(0);
    console::say(&match ms {
        0 => "Connected to the Perfetto traced service, starting tracing".to_owned(),
        ms => format!("Connected to the Perfetto traced service, TTL: {}s", ms.div_ceil(1000)),
    });
    if let Some(key) = &plan.detach {
        return consumer
            .detach(key)
            .map_err(|error| Failure::new(format_args!("session detach failed: {error}")))
            .inspect(|()| console::say("Session detached"));
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
    let outcome = recording.finish(output)?;
    recording::tell(&outcome);
    Ok(())
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
struct Foreground {
    interrupts: Interrupts,
    start: Option<Start>,
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
                background::notify(fd.to_string(), if all { "0" } else { "2" })?;
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

fn is_detached(key: &str) -> Ending {
    let mut consumer = connect()?;
    match consumer.attach(key) {
        Ok(()) => {
            consumer.detach(key).map_err(recording::lost)?;
            Ok(0)
        }
        Err(ConsumerError::Rejected(_)) => Ok(2),
        Err(error) => Err(recording::lost(error)),
    }
}

fn attach(key: &str, stop: bool) -> Ending {
    let nudges = Nudges::catch_signals()?;
    let mut consumer = connect()?;
    nudges.set_waker(consumer.waker());
    match consumer.attach(key) {
        Ok(()) => {}
        Err(ConsumerError::Rejected(_)) => {
            let text = format!("there is no session to attach to under {key:?}");
            return Err(Failure::new(text).with_code(2));
        }
        Err(error) => return Err(recording::lost(error)),
    }
    let mut recording = Recording::attached(&mut consumer);
    if stop {
        recording.stop()?;
    }
    recording.wait(&nudges, &mut Foreground { interrupts: Interrupts::default(), start: None })?;
    console::say("Trace written into the output file");
    Ok(0)
}

fn clone(plan: Clone) -> Ending {
    let mut output = Output::open(&plan.out, plan.no_clobber)?;
    let request = CloneSessionRequest {
        selector: match plan.name {
            Some(name) => Some(CloneSessionRequestSelector::UniqueSessionName(name)),
            None => plan.id.map(CloneSessionRequestSelector::SessionId),
        },
        for_bugreport: plan.for_bugreport.then_some(true),
        ..CloneSessionRequest::default()
    };
    let cloned = connect().and_then(|mut consumer| {
        consumer.clone_session(request, None).map_err(recording::lost)?;
        Recording::cloned(&mut consumer).finish(&mut output)
    });
    match cloned {
        Ok(outcome) => {
            recording::tell(&outcome);
            Ok(0)
        }
        Err(failure) => Err(told_what_is_kept(output, failure)),
    }
}
