//! `traced` as a process, observed from outside.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use client::consumer::{Consumer, ConsumerError};
use os::socket::Address;
use protos::TracingServiceState;

use crate::Outcome;

/// Nothing here has a bound on time, except for the response times that are measured.
pub const FOREVER: Duration = Duration::MAX;

pub struct Daemon {
    child: Child,
    log: Arc<Mutex<Vec<String>>>,
    pub producers: Address,
    pub consumers: Address,
}

/// What a process uses.
#[derive(Clone, Copy, Debug)]
pub struct Resources {
    pub rss_kb: u64,
    pub descriptors: usize,
    pub threads: usize,
}

/// What the daemon may use; nothing is limited by default.
#[derive(Default)]
pub struct Limits {
    /// Descriptors that it may have open.
    pub descriptors: Option<usize>,
    /// The file of its control group that takes the number of a process.
    pub cgroup: Option<PathBuf>,
    /// Where it works, and may leave what is temporary.
    pub folder: Option<PathBuf>,
}

impl Limits {
    /// `program`, in a shell that sets the limits first.
    fn command(&self, program: &Path) -> Command {
        let mut script = String::new();
        if let Some(file) = &self.cgroup {
            script.push_str(&format!("echo $$ > '{}' && ", file.display()));
        }
        if let Some(count) = self.descriptors {
            script.push_str(&format!("ulimit -n {count} && "));
        }
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{script}exec \"$0\"")]).arg(program);
        if let Some(folder) = &self.folder {
            command.current_dir(folder).env("TMPDIR", folder);
        }
        command
    }
}

/// Asks again until `done`, which must wait for an answer of the daemon: it has no event for this.
pub fn wait_until(what: &str, mut done: impl FnMut() -> Outcome<bool>) -> Outcome {
    // Shows where a run stays if it does not end.
    println!("until {what} ...");
    while !done()? {}
    Ok(())
}

impl Daemon {
    /// Starts it with unique abstract socket names, which need no file and no permissions.
    pub fn start(program: &Path, limits: &Limits) -> Outcome<Self> {
        let name = |port: &str| format!("@load-{}-{port}", std::process::id());
        let (producers, consumers) = (name("producer"), name("consumer"));
        let program = &std::path::absolute(program).map_err(|error| error.to_string())?;
        let mut child = limits
            .command(program)
            .env("PERFETTO_PRODUCER_SOCK_NAME", &producers)
            .env("PERFETTO_CONSUMER_SOCK_NAME", &consumers)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot start {}: {error}", program.display()))?;
        let stderr = child.stderr.take().ok_or("no stderr")?;
        let mut lines = BufReader::new(stderr).lines().map_while(Result::ok);
        let mut before = Vec::new();
        let listens = lines.any(|line| {
            before.push(line);
            before.last().is_some_and(|line| line.contains("listening on"))
        });
        if !listens {
            return Err(format!("traced ended before it listened:\n{}", before.join("\n")));
        }
        let log = Arc::new(Mutex::new(before));
        std::thread::spawn({
            let log = log.clone();
            move || {
                for line in lines {
                    log.lock().unwrap_or_else(PoisonError::into_inner).push(line);
                }
            }
        });
        let parse = |text: String| Address::parse(text).map_err(|error| error.to_string());
        let daemon =
            Self { child, log, producers: parse(producers)?, consumers: parse(consumers)? };
        Ok(daemon)
    }

    pub fn consumer(&self) -> Outcome<Consumer> {
        Consumer::connect(&self.consumers).map_err(|error| error.to_string())
    }

    /// How many lines of its log contain `words`.
    pub fn log_count(&self, words: &str) -> usize {
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.iter().filter(|line| line.contains(words)).count()
    }

    /// The last lines of its log.
    pub fn log_end(&self) -> String {
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log[log.len().saturating_sub(20)..].join("\n")
    }

    pub fn resources(&self) -> Outcome<Resources> {
        let folder = format!("/proc/{}", self.child.id());
        let status = std::fs::read_to_string(format!("{folder}/status"))
            .map_err(|error| format!("traced is gone: {error}"))?;
        let rss = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let rss_kb = rss.and_then(|rss| rss.split_whitespace().next()?.parse().ok());
        let descriptors = std::fs::read_dir(format!("{folder}/fd"));
        let threads = status.lines().find_map(|line| line.strip_prefix("Threads:"));
        Ok(Resources {
            threads: threads.and_then(|count| count.trim().parse().ok()).ok_or("no threads")?,
            rss_kb: rss_kb.ok_or("traced is gone")?,
            descriptors: descriptors.map_err(|error| error.to_string())?.count(),
        })
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Time of a processor that it has used. The clock has 10 ms at most machines.
    pub fn processor_time(&self) -> Outcome<Duration> {
        let path = format!("/proc/{}/stat", self.child.id());
        let stat = std::fs::read_to_string(path).map_err(|e| format!("traced is gone: {e}"))?;
        // The name of the program, in parentheses, may contain spaces.
        let (_, fields) = stat.rsplit_once(')').ok_or("/proc/PID/stat")?;
        let used = fields.split_whitespace().skip(11).take(2).map(str::parse::<u64>);
        let ticks = used.sum::<Result<u64, _>>().map_err(|error| error.to_string())?;
        let each = 1_000_000_000 / rustix::param::clock_ticks_per_second();
        Ok(Duration::from_nanos(ticks * each))
    }

    /// Producers and data sources that it knows.
    pub fn known(&self) -> Outcome<(usize, usize)> {
        let state = self.consumer()?.query_service_state(false).map_err(|e| e.to_string())?;
        Ok((state.producers.len(), state.data_sources.len()))
    }

    /// Sends SIGTERM and waits for its end.
    pub fn stop(mut self) -> Outcome {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM)
            .map_err(|error| error.to_string())?;
        match self.child.wait() {
            Ok(status) if status.success() => Ok(()),
            other => Err(format!("traced ended with {other:?}")),
        }
    }
}

/// The state of the service. None if the answer took longer than a call may: on a slow machine the service may have
/// much to do that peers left behind. Ask again then.
pub fn state(consumer: &mut Consumer, sessions_only: bool) -> Outcome<Option<TracingServiceState>> {
    match consumer.query_service_state(sessions_only) {
        Ok(state) => Ok(Some(state)),
        Err(ConsumerError::TimedOut(_)) => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
