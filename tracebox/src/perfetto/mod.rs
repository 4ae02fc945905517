//! `perfetto`, and `tracebox` without a program name: the same options, with a running service or with a service of
//! its own.

mod clones;
mod detached;
mod misread_arguments;
pub mod query;

use std::ffi::OsString;

use protos::TraceConfig;

use crate::background::{self, Started};
use crate::cli::{self, Perfetto};
use crate::config::{ConfigSource, builtin, kernel};
use crate::console;
use crate::doctor::Obstacle;
use crate::failure::{Ending, Failure};
use crate::plan::{self, Plan};
use crate::recorder::foreground::{self, START_TIMEOUT};
use crate::recorder::ftrace_claim::FtraceClaim;
use crate::recorder::host::{ServiceHost, Sockets, connect};
use crate::recorder::request::{Background, Program, RecordRequest};
use crate::trigger;
use crate::version::VERSION;

/// `perfetto`: with a running service.
///
/// # Errors
/// When options do not go together, there is no service, or the trace is not complete.
pub fn main(name: &str, words: &[OsString]) -> Ending {
    if words.is_empty() {
        return Err(Failure::new("say what to do (see --help)"));
    }
    run(name, words, Program::Perfetto)
}

/// `tracebox` without the name of a program: with a service of its own.
///
/// # Errors
/// As [`main`].
pub fn with_own_service(name: &str, words: &[OsString]) -> Ending {
    run(name, words, Program::Tracebox)
}

/// The service that a command line records with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ServiceChoice {
    /// `perfetto`: the running one.
    Running,
    /// `tracebox --system-sockets`: its own one, where the service of the machine would listen.
    StartForMachine,
    /// `tracebox`: its own one, which listens only where the environment says.
    Start,
}

fn run(name: &str, words: &[OsString], program: Program) -> Ending {
    let Some(args) = cli::parse::<Perfetto>(name, words)? else { return Ok(0) };
    let service = match (program, args.system_sockets) {
        (Program::Perfetto, true) => {
            return Err(Failure::new(
                "--system-sockets is for tracebox: perfetto always uses them",
            ));
        }
        (Program::Perfetto, false) => ServiceChoice::Running,
        (Program::Tracebox, true) => ServiceChoice::StartForMachine,
        (Program::Tracebox, false) => ServiceChoice::Start,
    };
    misread_arguments::refuse_files(&args.what.words)?;
    let plan = plan::plan(args, program)?;
    if let (Program::Tracebox, Plan::Record(request)) = (program, &plan) {
        misread_arguments::refuse_programs(request)?;
        misread_arguments::refuse_command(words, request)?;
    }
    if program == Program::Tracebox && needs_running_service(&plan) {
        let text = "this needs a running service: use `tracebox perfetto` with these options";
        return Err(Failure::new(text));
    }
    match plan {
        Plan::Version => {
            console::answer(VERSION)?;
            Ok(0)
        }
        Plan::ResetGuardrails => {
            console::log("There are no guardrails to reset");
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
            record(&request, service)
        }
    }
}

/// Whether `plan` makes no sense with a service that ends with the program.
fn needs_running_service(plan: &Plan) -> bool {
    match plan {
        Plan::Version | Plan::ResetGuardrails => false,
        Plan::Record(request) => request.detach.is_some(),
        _ => true,
    }
}

/// The first of the two processes of `-d` and `-D`.
fn start_in_background(name: &str, words: &[OsString], background: Background) -> Ending {
    let (pid, started) = background::start(words, name, START_TIMEOUT)?;
    let code = match started {
        Started::No(code) => return Ok(code),
        Started::Yes => 0,
        Started::InPart => 2,
        Started::Unknown if background == Background::Wait => 2,
        Started::Unknown => 0,
    };
    console::answer(pid)?;
    Ok(code)
}

fn record(request: &RecordRequest, service: ServiceChoice) -> Ending {
    let mut config = request.load_config(builtin::Purpose::Machine)?;
    if !config.activate_triggers.is_empty() {
        return activate(request, config.activate_triggers, service);
    }
    let sockets = match service {
        ServiceChoice::Running => None,
        ServiceChoice::StartForMachine => Some(Sockets::of_machine()?),
        ServiceChoice::Start => Some(Sockets::of_environment()?),
    };
    let is_private = sockets.as_ref().is_some_and(|sockets| sockets.producers.is_empty());
    if is_private && config.trigger_config.is_some() {
        return Err(Failure::new(
            "no program can fire triggers here: add --system-sockets, or use `tracebox record`",
        ));
    }
    let _claim = match service {
        ServiceChoice::Running => None,
        ServiceChoice::Start | ServiceChoice::StartForMachine => {
            claim_ftrace(request, &mut config)?
        }
    };
    let host = || sockets.map_or(Ok(ServiceHost::Running), ServiceHost::start);
    foreground::record(request, &config, host).map(|()| 0)
}

/// Claims the kernel's tracing for light mode, or takes it out of `config` and tells why. A config of the user is left
/// as it is: the data source then tells what it cannot do.
fn claim_ftrace(
    request: &RecordRequest,
    config: &mut TraceConfig,
) -> Result<Option<FtraceClaim>, Failure> {
    let is_light = matches!(request.config.source, ConfigSource::Light(_));
    if !is_light || !kernel::wants_events(config) {
        return Ok(None);
    }
    match FtraceClaim::take() {
        Ok(claim) => Ok(Some(claim)),
        // Those settings are put back after the recording.
        Err(Obstacle::Foreign(_)) => Ok(None),
        Err(obstacle) => {
            console::log(&kernel::leave_out(config, &obstacle, request.strict)?);
            Ok(None)
        }
    }
}

/// A config that only fires triggers: nothing is recorded and no file is opened.
fn activate(request: &RecordRequest, names: Vec<String>, service: ServiceChoice) -> Ending {
    if service != ServiceChoice::Running {
        let text = "activate_triggers is for a running service: use `tracebox perfetto`";
        return Err(Failure::new(text));
    }
    trigger::activate(names, false)?;
    if request.background != Background::No {
        // The first of the two processes waits for it.
        background::tell(true);
    }
    Ok(0)
}
