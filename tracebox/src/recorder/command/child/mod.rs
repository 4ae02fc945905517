//! The command that is recorded. Its end ends the session.

use std::ffi::OsString;
use std::io::{ErrorKind, IsTerminal, stderr};
use std::os::fd::AsFd;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, getpgrp, kill_process};
use rustix::termios::tcgetpgrp;
use tracing_core::os::clock;

use super::connector::Connector;
use super::launcher::Launcher;
use super::process_tree::Image;
use super::tracker::{Message, StartedCommand, TrackerSender};
use crate::console;
use crate::failure::{Context, EXIT_INTERRUPTED, Failure};
use crate::interrupt::{INTERRUPTED_AGAIN, Interrupt, InterruptQueue, SignalCounter};
use crate::recorder::host::Sockets;
use crate::recorder::session::{Action, Control, SourcesStart};

/// Exit code when the command was found and could not be run, as `env` has it.
const NOT_RUN: u8 = 126;
/// Exit code when there is no such command.
const NOT_FOUND: u8 = 127;

/// How long the command waits for data sources to start.
const START_TIMEOUT: Duration = Duration::from_secs(5);

/// Lets a program with `tracing-sdk` wait, ms, until it is recorded. Otherwise its first events would be missing.
const INIT_WAIT: (&str, &str) = ("TRACING_INIT_WAIT_MS", "2000");

/// Whether a terminal sends its Ctrl-C to the process group of this process, wherever stdin comes from.
fn in_foreground() -> bool {
    let foreground = std::fs::File::open("/dev/tty").ok().and_then(|tty| tcgetpgrp(tty).ok());
    foreground == Some(getpgrp())
}

/// The command: before it runs, while it runs, and after.
pub(super) struct Child {
    command: Vec<OsString>,
    launcher: Launcher,
    /// Where producers in the command find the service.
    pub(super) sockets: Option<Sockets>,
    state: CommandState,
    /// Follows the processes of the command.
    pub(super) tracker: Option<TrackerSender>,
    /// The trace is written to stdout, so the command's stdout must go elsewhere.
    stdout_is_trace: bool,
    /// To be told when the command has ended, as the terminal is the command's.
    recording_ended_first: bool,
    /// Why it never ran.
    pub(super) failure: Option<Failure>,
    signals: SignalCounter,
}

enum CommandState {
    Waiting,
    Running(Pid),
    Exited(ExitStatus),
    Never,
}

impl Child {
    pub(super) fn new(command: Vec<OsString>, launcher: Launcher, stdout_is_trace: bool) -> Self {
        Self {
            command,
            stdout_is_trace,
            launcher,
            sockets: None,
            tracker: None,
            state: CommandState::Waiting,
            recording_ended_first: false,
            failure: None,
            signals: SignalCounter::default(),
        }
    }

    fn spawn(&mut self) -> Result<(), Failure> {
        let Some((program, words)) = self.command.split_first() else {
            return Err(Failure::new("no command"));
        };
        let mut command = Command::new(program);
        command.args(words);
        if let Some(sockets) = &self.sockets {
            command.envs(sockets.environment());
        }
        command.env(INIT_WAIT.0, INIT_WAIT.1);
        if self.stdout_is_trace {
            let stderr = stderr().as_fd().try_clone_to_owned();
            command.stdout(Stdio::from(stderr.context("cannot give the command our stderr")?));
        }
        let connector = Connector::subscribe();
        let start_ns = clock::boot_ns();
        let pid = self.launcher.spawn(command).map_err(|error| {
            let code = if error.kind() == ErrorKind::NotFound { NOT_FOUND } else { NOT_RUN };
            Failure::new(format_args!("cannot run {program:?}: {error}")).with_code(code)
        })?;
        let pid = pid.cast_signed();
        self.state = Pid::from_raw(pid).map_or(CommandState::Never, CommandState::Running);
        self.tell_tracker(pid, start_ns, connector);
        self.launcher.permit_wait();
        Ok(())
    }

    /// Tells the tracker of the command. Nothing has waited for the command yet, so its number is its own.
    fn tell_tracker(&self, pid: i32, start_ns: u64, connector: Option<Connector>) {
        let Some(tracker) = &self.tracker else { return };
        let text = |word: &OsString| word.to_string_lossy().into_owned();
        let cmdline: Vec<String> = self.command.iter().map(text).collect();
        let mut image = Image::read(pid).unwrap_or_default();
        // In the middle of `exec` the kernel still has the name of this program, and no arguments. It has none of
        // a command that has ended, either.
        image.name = comm_of(cmdline.first().map_or("", String::as_str)).to_owned();
        if image.cmdline.is_empty() {
            image.cmdline.clone_from(&cmdline);
        }
        let started = StartedCommand { pid, cmdline, image, start_ns, connector };
        tracker.send(Message::CommandStarted(started));
    }

    /// Remembers the end of the command, and waits until the tracker has written it.
    fn handle_exit(&mut self, status: ExitStatus) {
        self.state = CommandState::Exited(status);
        // Signals so far were the command's.
        self.signals.restart();
        if let Some(tracker) = &self.tracker {
            let (done, wait) = channel();
            tracker.send(Message::CommandEnded { status, done });
            // Nothing is sent: it ends when the other end is dropped.
            let _ = wait.recv();
        }
    }

    /// Handles a signal that came at `now`: it is the command's while that runs.
    fn handle_signal(&mut self, signal: Signal, now: Instant) -> Action {
        let abort = |text: &str| Action::Abort(Failure::new(text).with_code(EXIT_INTERRUPTED));
        match self.state {
            CommandState::Waiting => {
                self.state = CommandState::Never;
                abort("interrupted before the command ran")
            }
            CommandState::Running(pid) => {
                // Its end ends the recording.
                self.pass_on(signal, pid, now);
                Action::Continue
            }
            CommandState::Exited(_) | CommandState::Never => {
                match self.signals.count(signal, now) {
                    None => Action::Continue,
                    Some(1) => {
                        console::log(
                            "Interrupted: the command has ended, the trace will be written",
                        );
                        Action::Continue
                    }
                    Some(_) => abort(INTERRUPTED_AGAIN),
                }
            }
        }
    }

    /// Passes a signal on. A terminal sends its Ctrl-C to the command by itself: it is in the same group.
    fn pass_on(&mut self, signal: Signal, pid: Pid, now: Instant) {
        let Some(count) = self.signals.count_each(signal, now) else { return };
        let signal = match count {
            1 if signal == Signal::INT && in_foreground() => return,
            1 | 2 => signal,
            _ => Signal::KILL,
        };
        // It fails if the command has just ended.
        let _ = kill_process(pid, signal);
    }

    /// Waits for its end, if it ever began.
    pub(super) fn join(&mut self, interrupts: &InterruptQueue) -> Option<ExitStatus> {
        while let CommandState::Running(pid) = self.state {
            match interrupts.wait()? {
                Interrupt::CommandExited(status) => self.state = CommandState::Exited(status),
                Interrupt::Signal(signal, at) => self.pass_on(signal, pid, at),
            }
        }
        if self.recording_ended_first {
            console::log(
                "The recording has ended before the command, whose last part is not in it",
            );
        }
        match self.state {
            CommandState::Exited(status) => Some(status),
            _ => None,
        }
    }
}

/// What the kernel calls a process that runs `program`: its file name, 15 bytes at most.
fn comm_of(program: &str) -> &str {
    let name = program.rsplit('/').next().unwrap_or(program);
    name.get(..name.floor_char_boundary(15)).unwrap_or_default()
}

impl Control for Child {
    fn start_timeout(&self) -> Option<Duration> {
        Some(START_TIMEOUT)
    }

    /// While the command runs, the terminal is the command's.
    fn shows_progress(&self) -> bool {
        matches!(self.state, CommandState::Exited(_))
    }

    fn handle_sources_start(&mut self, start: SourcesStart) -> Result<(), Failure> {
        if start == SourcesStart::NotInTime {
            console::log("Some data sources did not start in time; the command runs without them");
        }
        self.spawn().inspect_err(|failure| {
            self.failure = Some(failure.clone());
        })
    }

    /// A program of the command that ends takes its data sources with it, and has recorded all it did.
    fn watches_later_producers(&self) -> bool {
        false
    }

    fn handle_session_end(&mut self) {
        if !matches!(self.state, CommandState::Running(_)) {
            return;
        }
        if stderr().is_terminal() {
            self.recording_ended_first = true;
        } else {
            console::log("The recording has ended before the command, which runs on unrecorded");
        }
    }

    fn handle_interrupt(&mut self, interrupt: Interrupt) -> Action {
        match interrupt {
            Interrupt::CommandExited(status) => {
                self.handle_exit(status);
                Action::Stop
            }
            Interrupt::Signal(signal, at) => self.handle_signal(signal, at),
        }
    }
}

#[cfg(test)]
mod tests;
