//! A directory with sockets of its own, and the programs in it.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, Output, Stdio};

use protos::{Trace, TracePacket, TracePacketData, TracingServiceState};
use protozero::Message;
use rustix::process::{Pid, Signal, kill_process};

/// A user, and a group, that have no rights.
const NOBODY: u32 = 65534;

/// Programs see nothing of the machine's own daemons.
pub struct World {
    directory: tempfile::TempDir,
}

pub struct Daemon {
    pub child: Child,
    log: BufReader<ChildStderr>,
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl World {
    pub fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn write(&self, name: &str, content: &str) {
        std::fs::write(self.path(name), content).unwrap();
    }

    /// `perfetto ...`, `traced ...` or `tracebox ...`, in the directory. A `tracebox` that records with a service
    /// of its own does not see the sockets, unless `--system-sockets` says so.
    pub fn command(&self, line: &str) -> Command {
        let mut command = self.command_at_sockets(line);
        if line.starts_with("tracebox -") && !line.contains("--system-sockets") {
            command.env_remove("PERFETTO_PRODUCER_SOCK_NAME");
            command.env_remove("PERFETTO_CONSUMER_SOCK_NAME");
        }
        command
    }

    /// The same, always with the sockets in the environment. `tracebox record` leaves the kernel alone, which tests
    /// share; those of events of the kernel use [`command_with_kernel`](Self::command_with_kernel).
    pub fn command_at_sockets(&self, line: &str) -> Command {
        match line.strip_prefix("tracebox record ") {
            Some(rest) => self.command_with_kernel(&format!("tracebox record --no-sched {rest}")),
            None => self.command_with_kernel(line),
        }
    }

    /// The same, where a command may record events of the kernel.
    pub fn command_with_kernel(&self, line: &str) -> Command {
        let mut words = line.split_whitespace();
        let program = match words.next().unwrap() {
            "perfetto" => env!("CARGO_BIN_EXE_perfetto"),
            "traced" => env!("CARGO_BIN_EXE_traced"),
            "tracebox" => env!("CARGO_BIN_EXE_tracebox"),
            "trigger_perfetto" => env!("CARGO_BIN_EXE_trigger_perfetto"),
            other => panic!("{other}"),
        };
        // `nohup` makes all its descendants ignore SIGHUP. Tests that send it need the default.
        let mut command = self.with_sockets(Command::new("env"));
        command.arg("--default-signal=HUP").arg(program).args(words);
        command
    }

    /// `tracebox ...` of a user without rights, who may write to the directory: as the user of the test, unless that is
    /// root.
    pub fn command_of_nobody(&self, line: &str) -> Command {
        let mut words = line.split_whitespace();
        assert_eq!(words.next(), Some("tracebox"));
        if !rustix::process::geteuid().is_root() {
            return self.command_with_kernel(line);
        }
        // Folders above the program may be closed to others.
        let program = self.path("tracebox-of-nobody");
        if !program.exists() {
            let file = env!("CARGO_BIN_EXE_tracebox");
            if std::fs::hard_link(file, &program).is_err() {
                // Not by this process: a program that another test starts meanwhile has the copy open for a moment,
                // and what is open for writing cannot be run.
                assert!(Command::new("cp").arg(file).arg(&program).status().unwrap().success());
            }
            chown(self.path("."), Some(NOBODY), Some(NOBODY)).unwrap();
        }
        let mut command = self.with_sockets(Command::new(program));
        command.args(words).uid(NOBODY).gid(NOBODY);
        command
    }

    fn with_sockets(&self, mut command: Command) -> Command {
        command
            .current_dir(self.directory.path())
            .env("PERFETTO_PRODUCER_SOCK_NAME", self.path("producer"))
            .env("PERFETTO_CONSUMER_SOCK_NAME", self.path("consumer"))
            .env("TMPDIR", self.directory.path())
            .stdin(Stdio::null());
        command
    }

    pub fn run(&self, line: &str) -> Ran {
        Ran::from(self.command(line).output().unwrap())
    }

    pub fn run_with_stdin(&self, line: &str, stdin: &[u8]) -> Ran {
        let mut child = self
            .command(line)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(stdin).unwrap();
        Ran::from(child.wait_with_output().unwrap())
    }

    /// A `traced` that listens: ours, or the one that TRACED_UNDER_TEST names, to test our consumer with another
    /// service.
    pub fn traced(&self) -> Daemon {
        let mut command = self.command("traced");
        if let Some(program) = std::env::var_os("TRACED_UNDER_TEST") {
            command = self.with_sockets(Command::new(program));
        }
        let mut daemon = self.spawn(command);
        daemon.read_until("listening on");
        daemon
    }

    pub fn start(&self, line: &str) -> Daemon {
        self.spawn(self.command(line))
    }

    pub fn spawn(&self, mut command: Command) -> Daemon {
        Daemon::new(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    /// The state of the service.
    pub fn state(&self) -> TracingServiceState {
        let ran = self.run("perfetto --query-raw").good();
        TracingServiceState::decode(&ran.stdout).unwrap()
    }

    /// Asks the service until `is` holds: it reports sessions of other consumers in no other way. Use
    /// [`Daemon::wait_for`] if a program must cause it.
    pub fn wait_for(&self, is: impl Fn(&TracingServiceState) -> bool) {
        while !is(&self.state()) {}
    }

    /// Waits until there are `count` sessions.
    pub fn wait_for_sessions(&self, count: i32) {
        self.wait_for(|state| state.num_sessions == Some(count));
    }

    /// A pipe with a name.
    pub fn fifo(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        path
    }

    /// Whether there is a file beside another one, which it was to replace.
    pub fn has_hidden_files(&self) -> bool {
        let mut files = std::fs::read_dir(self.path("")).unwrap();
        files.any(|file| file.unwrap().file_name().as_encoded_bytes().starts_with(b"."))
    }

    /// The packets of a trace file, which must be whole.
    pub fn packets(&self, name: &str) -> Vec<TracePacket> {
        packets(&std::fs::read(self.path(name)).unwrap())
    }
}

pub fn packets(bytes: &[u8]) -> Vec<TracePacket> {
    let trace = Trace::decode(bytes).unwrap();
    assert!(trace.unknown_fields.is_empty());
    assert!(!trace.packet.is_empty());
    trace.packet
}

pub fn has(packets: &[TracePacket], is: fn(&TracePacketData) -> bool) -> bool {
    packets.iter().filter_map(|packet| packet.data.as_ref()).any(is)
}

impl Daemon {
    /// A program whose stderr is piped.
    pub fn new(mut child: Child) -> Self {
        let log = BufReader::new(child.stderr.take().unwrap());
        Self { child, log }
    }

    /// The end of the pipe that its log goes to.
    pub fn stderr(&self) -> &ChildStderr {
        self.log.get_ref()
    }

    /// Closes the end of the pipe that its log goes to.
    pub fn stop_reading(&mut self) {
        let nothing = std::fs::File::open("/dev/null").unwrap();
        self.log = BufReader::new(std::os::fd::OwnedFd::from(nothing).into());
    }

    /// Reads its stderr up to a line with `text`.
    pub fn read_until(&mut self, text: &str) -> String {
        let mut line = String::new();
        let mut all = String::new();
        while self.log.read_line(&mut line).unwrap() != 0 {
            all.push_str(&line);
            if line.contains(text) {
                return line;
            }
            line.clear();
        }
        panic!("no {text:?} in {all:?}");
    }

    /// Asks the service until `is` holds. Panics if this program ends before.
    #[track_caller]
    pub fn wait_for(&mut self, world: &World, is: impl Fn(&TracingServiceState) -> bool) {
        while !is(&world.state()) {
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none(), "the program ended before ({ended:?})");
        }
    }

    /// Waits until there are `count` sessions. Panics if this program ends before.
    #[track_caller]
    pub fn wait_for_sessions(&mut self, world: &World, count: i32) {
        self.wait_for(world, |state| state.num_sessions == Some(count));
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits until the program has ended.
    pub fn end(mut self) -> Ran {
        let mut stderr = String::new();
        self.log.read_to_string(&mut stderr).unwrap();
        let mut stdout = Vec::new();
        self.child.stdout.take().unwrap().read_to_end(&mut stdout).unwrap();
        let code = self.child.wait().unwrap().code();
        Ran { code, stdout, stderr }
    }
}

/// A program that ended.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: output.stdout,
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Ran {
    #[track_caller]
    pub fn good(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }

    /// It failed with `code`, and its last line tells why.
    #[track_caller]
    pub fn failed(self, code: i32, about: &str) -> Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        let last = self.stderr.lines().last().unwrap_or_default();
        assert!(last.contains(about), "{self:?}");
        self
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).unwrap()
    }
}
