//! `tracebox record`: a trace of the time while a command runs.
//!
//! ```text
//!  service on private sockets ── sources started ──▶ COMMAND, sockets in its environment
//!                                                       │ exits
//!                                   trace written ◀─────┘    its exit code is ours
//! ```

mod child;
mod connector;
mod launcher;
mod packets;
mod polling;
mod proc_files;
mod process_tree;
mod scheduling;
mod socket_directory;
mod source;
mod tracker;

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use clap::{CommandFactory, Parser};
use protos::TraceConfig;

use self::child::Child;
use self::launcher::Launcher;
use self::socket_directory::SocketDirectory;
use self::tracker::Tracker;
use super::ftrace_claim::FtraceClaim;
use super::host::ServiceHost;
use super::request::{Program, RecordRequest};
use super::run::{Recorder, report};
use crate::cli::{self, TraceArgs};
use crate::config::ConfigSource;
use crate::config::builtin::Purpose;
use crate::console;
use crate::failure::{EXIT_INTERRUPTED, EXIT_LOST, Ending, Failure};
use crate::interrupt::InterruptQueue;
use crate::output::Output;
use crate::report::Outcome;

/// Exit code when the recording failed and not the command: as `timeout` and `env` have it.
const FAILED: u8 = 125;

/// Records while a command runs, and exits with its code.
#[derive(Parser, Debug)]
#[command(name = "record", disable_help_subcommand = true)]
#[command(after_help = "Producers in the command find the sockets in their environment \
    (PERFETTO_PRODUCER_SOCK_NAME, PERFETTO_CONSUMER_SOCK_NAME).\n\
    Without a config: processes, system counters, and track events of the command; and, if this user\n\
    may record the kernel, when its threads run (see `tracebox doctor`; a line says so if not).\n\
    With -o - the trace goes to stdout, and what the command writes to stdout goes to stderr.\n\
    Exit code: the command's; 128 and the signal that killed it; 3 if --strict finds that data\n\
    was lost, whatever the command's is; 125 if the recording failed; 126 if the command could not\n\
    be run, 127 if there is none; 130 if interrupted before the command ran,\n\
    or twice after it ended.")]
struct Args {
    #[command(flatten)]
    what: TraceArgs,
    /// Without a config: do not record when threads of the command run, though the kernel lets this user
    #[arg(long)]
    no_sched: bool,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// The command line, for manual pages and completions.
#[must_use]
pub fn command_line() -> clap::Command {
    Args::command()
}

/// Records while a command runs.
///
/// # Errors
/// One line, and one of the codes above.
pub fn main(name: &str, words: &[OsString]) -> Ending {
    let Some(args) = parse(name, words).map_err(failed)? else { return Ok(0) };
    let request = RecordRequest::from_args(&args.what, Program::Tracebox).map_err(failed)?;
    let mut config = request.load_config(Purpose::Command).map_err(failed)?;
    if !config.activate_triggers.is_empty() {
        let text = "activate_triggers fires triggers and records nothing: see `perfetto --help`";
        return Err(failed(Failure::new(text)));
    }
    source::add_to(&mut config);
    let interrupts = InterruptQueue::catch_signals().map_err(failed)?;
    let launcher = Launcher::start(interrupts.sender()).map_err(failed)?;
    let adds_scheduling =
        !args.no_sched && matches!(request.config.source, ConfigSource::Default(_));
    let _claim = adds_scheduling.then(|| add_scheduling(&mut config, &launcher));
    let recorder = Recorder { request: &request, config: &config, interrupts: &interrupts };
    let mut output = recorder.open_output().map_err(failed)?;

    let mut child = Child::new(args.command, launcher, output.is_stdout());
    let recorded = record(&recorder, &mut output, &mut child);
    if let Some(failure) = child.failure.take() {
        output.abandon();
        return Err(failure);
    }
    // The session may end before the command: by its duration, or by a failure.
    let status = child.join(&interrupts);
    let reported = match recorded {
        Ok(outcome) => outcome.map_or(Ok(()), |outcome| report(&outcome, request.strict)),
        Err(failure) => Err(output.abandoned(failure)),
    };
    match (reported, status) {
        (Ok(()), status) => Ok(status.map_or(0, code)),
        (Err(failure), status) => {
            // Its code is not the exit code.
            if let Some(status) = status.filter(|status| !status.success()) {
                console::log(&exit_line(status));
            }
            Err(failed(failure))
        }
    }
}

/// Adds when the threads of the command run, if the kernel can be recorded now.
fn add_scheduling(config: &mut TraceConfig, launcher: &Launcher) -> Option<FtraceClaim> {
    match FtraceClaim::take() {
        Ok(claim) => {
            let tid = scheduling::knows_threads().then(|| launcher.tid());
            scheduling::add_to(config, tid);
            Some(claim)
        }
        Err(obstacle) => {
            console::log(&format!(
                "Not recorded: when the command's threads run. That takes events of the kernel, and {}",
                obstacle.text()
            ));
            None
        }
    }
}

/// The recording failed, and not the command. A loss that `--strict` finds, and an interruption, have the same code in
/// all programs.
fn failed(failure: Failure) -> Failure {
    match failure.code {
        EXIT_LOST | EXIT_INTERRUPTED => failure,
        _ => failure.with_code(FAILED),
    }
}

/// Words that are no options and stand before `--` are ftrace events, so a command needs it.
fn parse(name: &str, words: &[OsString]) -> Result<Option<Args>, Failure> {
    cli::parse::<Args>(name, words).map_err(|failure| match words.iter().any(|word| word == "--") {
        true => failure,
        false => Failure::new(format_args!("write `--` before the command: {failure}")),
    })
}

fn record(
    recorder: &Recorder<'_>,
    output: &mut Output,
    child: &mut Child,
) -> Result<Option<Outcome>, Failure> {
    let directory = SocketDirectory::create()?;
    let sockets = directory.sockets()?;
    child.sockets = Some(sockets.clone());
    let host = ServiceHost::start(sockets)?;
    let tracker = Tracker::start()?;
    let _producer = match (host.producer(), tracker.sender()) {
        (Some(connection), Some(sender)) => {
            child.tracker = Some(sender.clone());
            Some(source::register(connection, sender)?)
        }
        _ => None,
    };
    let recorded = recorder.run(&host, output, child);
    // The last senders go, so that the tracker ends.
    child.tracker = None;
    recorded
}

/// The shell's code for how a process ended.
fn code(status: ExitStatus) -> u8 {
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    u8::try_from(code).unwrap_or(u8::MAX)
}

/// A line about a command that failed.
fn exit_line(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("The command exited with {code}"),
        (None, signal) => format!("The command was ended by signal {}", signal.unwrap_or(0)),
    }
}

#[cfg(test)]
mod tests;
