//! `tracebox record`: a trace of the time while a command runs.
//!
//! ```text
//!  service on private sockets ── sources started ──▶ COMMAND, sockets in its environment
//!                                                       │ exits
//!                                   trace written ◀─────┘    its exit code is ours
//! ```

use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use clap::{CommandFactory, Parser};
use rustix::process::{Pid, Signal, geteuid, getpgrp, kill_process};
use rustix::termios::tcgetpgrp;
use tracing_core::client::in_process::InProcessService;
use tracing_core::client::serve::{Server, ServerOptions, service_config};
use tracing_core::os::process::random_seed;
use tracing_core::os::socket::Address;

use crate::applet::Ending;
use crate::cli::{self, What};
use crate::config::{self, builtin};
use crate::console;
use crate::failure::{Context, Failure};
use crate::nudge::{Interrupts, Nudge, Nudger, Nudges};
use crate::perfetto::open;
use crate::plan::{self, Who};
use crate::recording::{self, Director, Recording, Verdict};
use crate::report::LOST;
use crate::snapshots::{self, Snapshots};
use crate::{VERSION, probes};

/// Exit code when the recording failed and not the command: as `timeout` and `env` have it.
const FAILED: u8 = 125;
/// When the command was found and could not be run.
const NOT_RUN: u8 = 126;
/// When there is no such command.
const NOT_FOUND: u8 = 127;

/// How long the command waits for data sources to start.
const START_WAIT: Duration = Duration::from_secs(5);

/// Records while a command runs, and exits with its code.
#[derive(Parser, Debug)]
#[command(name = "record", disable_help_subcommand = true)]
#[command(after_help = "Producers in the command find the sockets in their environment \
    (PERFETTO_PRODUCER_SOCK_NAME, PERFETTO_CONSUMER_SOCK_NAME).\n\
    Without a config: processes, system counters, and track events of the command.\n\
    Exit code: the command's; 128 and the signal that killed it; 125 if the recording failed, or\n\
    data was lost and --strict asked for it;\n\
    126 if the command could not be run, 127 if there is none.")]
struct Args {
    #[command(flatten)]
    what: What,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Its words, for manual pages and completions.
#[must_use]
pub fn command() -> clap::Command {
    Args::command()
}

/// Records while a command runs.
///
/// # Errors
/// One line, and one of the codes above.
pub fn main(name: &str, words: &[OsString]) -> Ending {
    let failed = |failure: Failure| failure.with_code(FAILED);
    let Some(args) = cli::parse::<Args>(name, words).map_err(failed)? else { return Ok(0) };
    let plan = plan::record(&args.what, Who::Tracebox).map_err(failed)?;
    let config = config::load(&plan, builtin::Use::Command).map_err(failed)?;
    if !config.activate_triggers.is_empty() {
        let text = "activate_triggers fires triggers and records nothing: see `perfetto --help`";
        return Err(failed(Failure::new(text)));
    }
    let nudges = Nudges::catch_signals().map_err(failed)?;
    let mut output = open(&plan, &config).map_err(failed)?;

    let mut child = Child::new(args.command, nudges.nudger());
    let recorded = session(&plan, &config, &nudges, &mut output, &mut child);
    if let Some(failure) = child.failure.take() {
        output.abandon();
        return Err(failure);
    }
    // The recording may be over before the command is: by its duration, or by a failure.
    let status = child.join(&nudges);
    match (recorded, status) {
        (Ok(()), Some(status)) => Ok(code(status)),
        (Ok(()), None) => Ok(0),
        // What there is has been written.
        (Err(failure), _) if failure.code == LOST => Err(failed(failure)),
        (Err(failure), _) => Err(failed(output.abandoned(failure))),
    }
}

/// The shell's code for how a process ended.
fn code(status: ExitStatus) -> u8 {
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    u8::try_from(code).unwrap_or(u8::MAX)
}

fn session(
    plan: &plan::Record,
    config: &protos::TraceConfig,
    nudges: &Nudges,
    output: &mut crate::output::Output,
    child: &mut Child,
) -> Result<(), Failure> {
    let sockets = Sockets::new()?;
    let options = ServerOptions {
        producer_sockets: vec![sockets.address("producer")?],
        consumer_sockets: vec![sockets.address("consumer")?],
        service: service_config(VERSION).context("cannot start the service")?,
        log: console::own_service_log(),
    };
    let server = Server::bind(options).context("cannot start the service")?;
    let service = InProcessService::run(server).context("cannot start the service")?;
    let _sources = probes::Sources::attach(service.producer())?;
    let mut consumer = service.consumer();
    nudges.set_waker(consumer.waker());
    child.sockets = Some((sockets.path("producer"), sockets.path("consumer")));

    let snapshots = match snapshots::wanted(config) {
        true => {
            let handle = service.handle().clone();
            let connect = Box::new(move || Ok(handle.consumer()));
            let out = plan.out.as_deref().unwrap_or_default();
            Some(Snapshots::new(connect, out, plan.no_clobber, plan.strict, consumer.waker())?)
        }
        false => None,
    };
    let mut recording = Recording::begin(&mut consumer, config, output, true, snapshots)?;
    recording.wait(nudges, child)?;
    // What interrupts now is for the command, if that still runs.
    let mut pass_on = || {
        while let Some(nudge) = nudges.take() {
            child.nudged(nudge);
        }
        None
    };
    let outcome = recording.finish(output, plan.strict, &mut pass_on)?;
    if child.failure.is_some() {
        return Ok(());
    }
    recording::tell(&outcome, plan.strict)
}

/// A directory for two sockets that nobody else can enter. It goes with this value.
struct Sockets {
    directory: PathBuf,
}

impl Sockets {
    fn new() -> Result<Self, Failure> {
        sweep(&std::env::temp_dir());
        let id = random_seed().context("no random numbers")?;
        let directory = std::env::temp_dir().join(format!("{PREFIX}{id:016x}"));
        std::fs::DirBuilder::new()
            .mode(0o700)
            .create(&directory)
            .context(format_args!("cannot create {}", directory.display()))?;
        Ok(Self { directory })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    fn address(&self, name: &str) -> Result<Address, Failure> {
        Address::parse(self.path(name)).context("cannot use the temporary directory")
    }
}

/// Beginning of the names of our directories.
const PREFIX: &str = "tracebox-";

/// Removes the directories of recorders that were killed: ours, with a socket where nobody listens.
fn sweep(temporary: &Path) {
    let Ok(entries) = std::fs::read_dir(temporary) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let id = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        let named = id.is_some_and(|id| id.len() == 16 && u64::from_str_radix(id, 16).is_ok());
        // Of the entry itself: a link somewhere else is not ours to follow.
        let ours =
            |metadata: std::fs::Metadata| metadata.is_dir() && metadata.uid() == geteuid().as_raw();
        if !named || !entry.metadata().is_ok_and(ours) {
            continue;
        }
        let listens = UnixStream::connect(entry.path().join("producer"));
        if listens.is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

impl Drop for Sockets {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// Does the terminal send its Ctrl-C to our group? Wherever stdin comes from.
fn in_foreground() -> bool {
    let foreground = std::fs::File::open("/dev/tty").ok().and_then(|tty| tcgetpgrp(tty).ok());
    foreground == Some(getpgrp())
}

/// The command: before it runs, while it does, and after.
struct Child {
    command: Vec<OsString>,
    nudger: Nudger,
    sockets: Option<(PathBuf, PathBuf)>,
    state: State,
    /// Why it never ran.
    failure: Option<Failure>,
    interrupts: Interrupts,
}

enum State {
    Waiting,
    Running(Pid),
    Over(ExitStatus),
    Never,
}

impl Child {
    fn new(command: Vec<OsString>, nudger: Nudger) -> Self {
        Self {
            command,
            nudger,
            sockets: None,
            state: State::Waiting,
            failure: None,
            interrupts: Interrupts::default(),
        }
    }

    fn spawn(&mut self) -> Result<(), Failure> {
        let Some((program, words)) = self.command.split_first() else {
            return Err(Failure::new("no command"));
        };
        let mut command = Command::new(program);
        command.args(words);
        if let Some((producer, consumer)) = &self.sockets {
            command.env("PERFETTO_PRODUCER_SOCK_NAME", producer);
            command.env("PERFETTO_CONSUMER_SOCK_NAME", consumer);
        }
        let mut child = command.spawn().map_err(|error| {
            let code = if error.kind() == ErrorKind::NotFound { NOT_FOUND } else { NOT_RUN };
            Failure::new(format_args!("cannot run {program:?}: {error}")).with_code(code)
        })?;
        self.state = Pid::from_raw(child.id().cast_signed()).map_or(State::Never, State::Running);
        let nudger = self.nudger.clone();
        let wait = move || {
            // It fails only for a child that was waited for already.
            if let Ok(status) = child.wait() {
                nudger.nudge(Nudge::Exited(status));
            }
        };
        std::thread::Builder::new()
            .name("command".into())
            .spawn(wait)
            .context("cannot start a thread")?;
        Ok(())
    }

    /// Passes a signal on. Of a terminal's Ctrl-C the command knows already: it is in our group.
    fn interrupt(&mut self, signal: Signal) {
        let Some(count) = self.interrupts.count(Instant::now()) else { return };
        let State::Running(pid) = self.state else { return };
        let signal = match count {
            1 if signal == Signal::INT && in_foreground() => return,
            1 | 2 => signal,
            _ => Signal::KILL,
        };
        // Between its end and our knowing of it there is nobody to signal, and that is fine.
        let _ = kill_process(pid, signal);
    }

    /// Waits for its end, if it ever began.
    fn join(&mut self, nudges: &Nudges) -> Option<ExitStatus> {
        while matches!(self.state, State::Running(_)) {
            match nudges.wait()? {
                Nudge::Exited(status) => self.state = State::Over(status),
                Nudge::Interrupt(signal) => self.interrupt(signal),
            }
        }
        match self.state {
            State::Over(status) => Some(status),
            _ => None,
        }
    }
}

impl Director for Child {
    fn start_wait(&self) -> Option<Duration> {
        Some(START_WAIT)
    }

    fn started(&mut self, all: bool) -> Result<(), Failure> {
        if !all {
            console::say("Some data sources did not start in time; the command runs without them");
        }
        self.spawn().inspect_err(|failure| {
            self.failure = Some(failure.clone());
        })
    }

    fn nudged(&mut self, nudge: Nudge) -> Verdict {
        match nudge {
            Nudge::Exited(status) => {
                self.state = State::Over(status);
                Verdict::Stop
            }
            Nudge::Interrupt(signal) => {
                self.interrupt(signal);
                match self.state {
                    State::Waiting => {
                        self.state = State::Never;
                        let failure = Failure::new("interrupted before the command ran");
                        Verdict::GiveUp(failure.with_code(130))
                    }
                    // Its end ends the recording.
                    _ => Verdict::GoOn,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes() {
        assert_eq!(code(ExitStatus::from_raw(0)), 0);
        assert_eq!(code(ExitStatus::from_raw(3 << 8)), 3);
        assert_eq!(code(ExitStatus::from_raw(255 << 8)), 255);
        assert_eq!(code(ExitStatus::from_raw(9)), 137);
    }

    #[test]
    fn commands_need_a_separator() {
        let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        let parsed =
            cli::parse::<Args>("record", &words(&["-o", "x", "-t", "1s", "--", "ls", "-o"]));
        let args = parsed.unwrap().unwrap();
        assert_eq!(args.command, ["ls", "-o"]);
        assert_eq!(args.what.time.as_deref(), Some("1s"));
        for bad in [&["-o", "x"][..], &["-o", "x", "--"], &[]] {
            let failure = cli::parse::<Args>("record", &words(bad)).unwrap_err();
            assert!(failure.text.contains("COMMAND"), "{failure}");
        }
    }
}
