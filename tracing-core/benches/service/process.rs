//! A process of a run: its words, its processor time, its memory; ended with the run.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use nix::time::ClockId;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, PidfdFlags, Signal};

use crate::Outcome;

/// The longest time that a step may take. Half of the programs are foreign: one that hangs must end the run with a
/// message.
const TIMEOUT: Duration = Duration::from_secs(60);

pub struct Process {
    name: &'static str,
    child: Child,
    lines: Option<mpsc::Receiver<String>>,
}

impl Process {
    /// Starts it with the sockets in `folder`; what it complains about goes to a file there. With `talks` its
    /// lines can be read and answered.
    pub fn start(
        name: &'static str,
        command: &mut Command,
        folder: &Path,
        talks: bool,
    ) -> Outcome<Self> {
        let mut this = Self::spawn(name, command, folder, talks)?;
        this.lines = this.child.stdout.take().map(|out| {
            let (sender, lines) = mpsc::channel();
            std::thread::spawn(move || {
                for line in BufReader::new(out).lines().map_while(Result::ok) {
                    if sender.send(line).is_err() {
                        return;
                    }
                }
            });
            lines
        });
        Ok(this)
    }

    fn spawn(
        name: &'static str,
        command: &mut Command,
        folder: &Path,
        talks: bool,
    ) -> Outcome<Self> {
        let log = folder.join(name).with_extension("log");
        let log = File::create(log).map_err(|e| format!("{name}: {e}"))?;
        let pipe = |wanted: bool| if wanted { Stdio::piped() } else { Stdio::null() };
        command
            .env("PERFETTO_PRODUCER_SOCK_NAME", folder.join("producer.sock"))
            .env("PERFETTO_CONSUMER_SOCK_NAME", folder.join("consumer.sock"))
            .current_dir(folder)
            .stdin(pipe(talks))
            .stdout(pipe(talks))
            .stderr(log);
        let shown = command.get_program().display().to_string();
        let child = command.spawn().map_err(|e| format!("{shown}: {e}"))?;
        Ok(Self { name, child, lines: None })
    }

    /// Starts a service with the sockets in `folder` and waits until it listens, which it tells by a byte on the
    /// descriptor that `TRACED_NOTIFY_FD` names.
    pub fn start_service(command: &mut Command, folder: &Path) -> Outcome<Self> {
        // Its standard output.
        let mut service =
            Self::spawn("service", command.env("TRACED_NOTIFY_FD", "1"), folder, true)?;
        let stdout = service.child.stdout.as_mut().ok_or("no stdout")?;
        stdout.read_exact(&mut [0]).map_err(|_| "service: ended before it listened")?;
        Ok(service)
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// The next line, which begins with `word`; what comes behind that.
    pub fn read_line(&self, word: &str) -> Outcome<String> {
        let line = self.lines.as_ref().and_then(|lines| lines.recv_timeout(TIMEOUT).ok());
        let line = line.ok_or_else(|| format!("{}: did not print `{word}`", self.name))?;
        let rest = line.strip_prefix(word).map(|rest| rest.trim().to_owned());
        rest.ok_or_else(|| format!("{}: printed `{line}` instead of `{word}`", self.name))
    }

    pub fn write_line(&mut self, line: &str) -> Outcome {
        let pipe = self.child.stdin.as_mut().ok_or("nobody listens")?;
        writeln!(pipe, "{line}").map_err(|e| format!("{}: {e}", self.name))
    }

    /// Processor time of all its threads so far, those that ended among them, ns.
    pub fn cpu_ns(&self) -> Outcome<u64> {
        let failed = |e| format!("{}: processor time: {e}", self.name);
        let pid = nix::unistd::Pid::from_raw(self.pid().as_raw_nonzero().get());
        let time = ClockId::pid_cpu_clock_id(pid).and_then(ClockId::now).map_err(failed)?;
        Ok(time.tv_sec().cast_unsigned() * 1_000_000_000 + time.tv_nsec().cast_unsigned())
    }

    /// The most memory it ever had, KiB.
    pub fn peak_kb(&self) -> Outcome<u64> {
        let path = format!("/proc/{}/status", self.child.id());
        let text = std::fs::read_to_string(&path).map_err(|e| format!("{path}: {e}"))?;
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
        number.ok_or_else(|| format!("{path} says nothing of VmHWM"))
    }

    /// As Ctrl-C does.
    pub fn interrupt(&self) -> Outcome {
        rustix::process::kill_process(self.pid(), Signal::INT)
            .map_err(|e| format!("{}: {e}", self.name))
    }

    /// Waits for its good end; returns its processor time, ns.
    pub fn wait(mut self) -> Outcome<u64> {
        let failed = |e| format!("{}: {e}", self.name);
        let fd = rustix::process::pidfd_open(self.pid(), PidfdFlags::empty()).map_err(failed)?;
        let timeout = Timespec { tv_sec: TIMEOUT.as_secs().cast_signed(), tv_nsec: 0 };
        let mut fds = [PollFd::new(&fd, PollFlags::IN)];
        if rustix::event::poll(&mut fds, Some(&timeout)).map_err(failed)? == 0 {
            return Err(format!("{} hangs since {TIMEOUT:?}", self.name));
        }
        // It has ended, but was not waited for yet, so its entry in `/proc` is there.
        let cpu_ns = self.cpu_ns()?;
        match self.child.wait() {
            Ok(status) if status.success() => Ok(cpu_ns),
            Ok(status) => Err(format!("{}: {status}", self.name)),
            Err(error) => Err(format!("{}: {error}", self.name)),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself; there is nothing to do about either failure.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
