//! `traced` as a process, observed from outside.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use client::consumer::Consumer;
use os::socket::Address;

use crate::Outcome;

/// The longest time that a call may take.
pub const TIMEOUT: Duration = Duration::from_secs(120);

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
}

/// Asks again until `done`, or fails after [`TIMEOUT`].
pub fn wait_until(what: &str, mut done: impl FnMut() -> Outcome<bool>) -> Outcome {
    let until = Instant::now() + TIMEOUT;
    while !done()? {
        if Instant::now() > until {
            return Err(format!("timed out waiting until {what}"));
        }
        std::thread::park_timeout(Duration::from_millis(10));
    }
    Ok(())
}

impl Daemon {
    /// Starts it with unique abstract socket names, which need no file and no permissions.
    pub fn start(program: &Path) -> Outcome<Self> {
        let name = |port: &str| format!("@load-{}-{port}", std::process::id());
        let (producers, consumers) = (name("producer"), name("consumer"));
        let mut child = Command::new(program)
            .env("PERFETTO_PRODUCER_SOCK_NAME", &producers)
            .env("PERFETTO_CONSUMER_SOCK_NAME", &consumers)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot start {}: {error}", program.display()))?;
        let log = Arc::new(Mutex::new(Vec::new()));
        let stderr = child.stderr.take().ok_or("no stderr")?;
        std::thread::spawn({
            let log = log.clone();
            move || {
                for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                    log.lock().unwrap_or_else(PoisonError::into_inner).push(line);
                }
            }
        });
        let parse = |text: String| Address::parse(text).map_err(|error| error.to_string());
        let daemon =
            Self { child, log, producers: parse(producers)?, consumers: parse(consumers)? };
        wait_until("traced listens", || Ok(Consumer::connect(&daemon.consumers).is_ok()))?;
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

    pub fn holdings(&self) -> Outcome<Resources> {
        let folder = format!("/proc/{}", self.child.id());
        let status = std::fs::read_to_string(format!("{folder}/status"))
            .map_err(|error| format!("traced is gone: {error}"))?;
        let rss = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let rss_kb = rss.and_then(|rss| rss.split_whitespace().next()?.parse().ok());
        let descriptors = std::fs::read_dir(format!("{folder}/fd"));
        Ok(Resources {
            rss_kb: rss_kb.ok_or("traced is gone")?,
            descriptors: descriptors.map_err(|error| error.to_string())?.count(),
        })
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
        let mut status = None;
        wait_until("traced ends", || {
            status = self.child.try_wait().map_err(|error| error.to_string())?;
            Ok(status.is_some())
        })?;
        match status {
            Some(status) if status.success() => Ok(()),
            other => Err(format!("traced ended with {other:?}")),
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
