//! `perfetto`, and `tracebox` without a program name: the same command line, with the service of the
//! machine or with one of its own.

mod clones;
mod detached;
pub mod query;

use std::ffi::OsString;

use crate::background::{self, Started};
use crate::cli::{self, Perfetto};
use crate::config::{ConfigSource, builtin};
use crate::console;
use crate::failure::Ending;
use crate::failure::Failure;
use crate::plan::{self, Plan};
use crate::recorder::foreground::{self, START_TIMEOUT};
use crate::recorder::host::{ServiceHost, connect};
use crate::recorder::request::{Background, Program, RecordRequest};
use crate::trigger;
use crate::version::VERSION;

/// `perfetto`: through the service of the machine.
///
/// # Errors
/// One line.
pub fn main(name: &str, words: &[OsString]) -> Ending {
    if words.is_empty() {
        return Err(Failure::new("say what to do (see --help)"));
    }
    run(name, words, Program::Perfetto)
}

/// `tracebox`: with a service of its own, unless `--system-sockets`.
///
/// # Errors
/// One line.
pub fn alone(name: &str, words: &[OsString]) -> Ending {
    run(name, words, Program::Tracebox)
}

fn run(name: &str, words: &[OsString], program: Program) -> Ending {
    let Some(args) = cli::parse::<Perfetto>(name, words)? else { return Ok(0) };
    let system = program == Program::Perfetto || args.system_sockets;
    if args.system_sockets && program == Program::Perfetto {
        return Err(Failure::new("--system-sockets is for tracebox: perfetto always uses them"));
    }
    let plan = plan::plan(args, program)?;
    if let (false, Plan::Record(request)) = (system, &plan) {
        refuse_foreign_words(request)?;
    }
    if !system && !matches!(plan, Plan::Version | Plan::ResetGuardrails | Plan::Record(_)) {
        return Err(Failure::new("this asks a running service: add --system-sockets"));
    }
    match plan {
        Plan::Version => {
            console::answer(VERSION)?;
            Ok(0)
        }
        Plan::ResetGuardrails => {
            console::say("There are no guardrails to reset");
            Ok(0)
        }
        Plan::Query(form) => query::run(&mut connect()?, form),
        Plan::IsDetached(key) => detached::is_detached(&key),
        Plan::Attach { key, stop, strict } => detached::attach(&key, stop, strict),
        Plan::Clone(plan) => clones::one(plan),
        Plan::Save(plan) => clones::save(plan),
        Plan::Record(request) => {
            if request.background != Background::No && !background::is_child() {
                return start_in_background(name, words, request.background);
            }
            record(&request, system)
        }
    }
}

/// The first of the two processes of `-d` and `-D`.
fn start_in_background(name: &str, words: &[OsString], background: Background) -> Ending {
    let (pid, started) = background::start(words, name, START_TIMEOUT)?;
    let code = match started {
        Started::No(code) => return Ok(code),
        Started::Yes => 0,
        Started::Unknown if background == Background::Wait => 2,
        Started::Unknown => 0,
    };
    console::answer(pid)?;
    Ok(code)
}

fn record(request: &RecordRequest, system: bool) -> Ending {
    let config = request.load_config(builtin::Purpose::Machine)?;
    if !config.activate_triggers.is_empty() {
        return activate(request, config.activate_triggers, system);
    }
    if !system && config.trigger_config.is_some() {
        return Err(Failure::new(
            "nobody can fire triggers here: add --system-sockets, or use `tracebox record`",
        ));
    }
    let host = || if system { Ok(ServiceHost::Running) } else { ServiceHost::start() };
    foreground::record(request, &config, host).map(|()| 0)
}

/// A config that only fires triggers: nothing is recorded and no file is opened.
fn activate(request: &RecordRequest, names: Vec<String>, system: bool) -> Ending {
    if !system {
        let text = "activate_triggers is for a running service: add --system-sockets";
        return Err(Failure::new(text));
    }
    trigger::activate(names, false)?;
    if request.background != Background::No {
        // The first of the two processes waits for it.
        background::tell(true);
    }
    Ok(0)
}

/// Events and categories need a data source that is not built in. Nobody can bring it to a service of
/// our own, so the trace would have nothing of what was asked for.
fn refuse_foreign_words(request: &RecordRequest) -> Result<(), Failure> {
    let ConfigSource::Light(light) = &request.config.source else { return Ok(()) };
    let Some(word) = light.words.iter().chain(&light.apps).find(|&word| word != "disk") else {
        return Ok(());
    };
    Err(Failure::new(format_args!(
        "{word:?} is no program of tracebox, and as an event or category it needs linux.ftrace, \
         which is not built in (run traced and traced_probes, and add --system-sockets)"
    )))
}
