//! A daemon under load, then among hostile producers: `cargo xtask load` builds and runs this.
//!
//! Two parts with one `traced`, whose memory and descriptors are read from `/proc`:
//!
//! 1. [`producers`]: 1,000 producers, 100 of them writing as fast as they can, 10 sessions of three users, and a
//!    consumer that asks and never reads ([`unread`]). Every lost packet must be marked in the trace, no other
//!    client may have to wait ([`latency`]), and memory stays within its bound.
//! 2. [`hostile`]: 256 producers at a time that connect, send invalid data and disconnect. The daemon must not keep
//!    anything of them. An honest producer of the same session ([`victim`]) loses no packet, and others are answered.
//!
//! With `--siege` there is another part instead: [`siege`], a daemon with narrow limits, and hostile users beside
//! honest ones.
//!
//! `--traced FILE` is the daemon, `--seconds N` the duration of each part (60). `--short` is for busy machines: fewer
//! clients, and an answer may take some seconds, of which the daemon itself works a quarter of one. A short
//! siege compares response times with those of its quiet part; `--untimed` leaves that out, for a daemon under
//! `strace`.

#![allow(clippy::disallowed_methods, reason = "this measures time")]

mod chunks;
mod daemon;
mod hostile;
mod latency;
mod producers;
mod requests;
mod siege;
mod unread;
mod victim;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use daemon::{Daemon, Limits};

type Outcome<T = ()> = Result<T, String>;

/// Sizes of the test.
pub struct Plan {
    /// Duration of each part.
    pub time: Duration,
    /// Connected in the first part.
    pub producers: usize,
    /// Those of them that write.
    pub writers: usize,
    /// At a time, in the second part.
    pub hostile: usize,
    /// For a busy machine, in a few seconds.
    pub is_short: bool,
    /// The longest time that an answer may take.
    pub answer_within: Duration,
    /// How long the daemon may work before an answer.
    pub work_within: Duration,
    /// Whether answers have limits of time at all.
    pub is_timed: bool,
}

/// No answer takes so long, whatever else the machine does, unless the daemon stands still.
pub const ANSWER_BUSY: Duration = Duration::from_secs(10);

impl Plan {
    fn new(time: Duration, is_short: bool) -> Self {
        Self {
            time,
            producers: if is_short { 200 } else { 1000 },
            writers: if is_short { 10 } else { 100 },
            hostile: if is_short { 32 } else { 256 },
            is_short,
            answer_within: if is_short { ANSWER_BUSY } else { Duration::from_secs(1) },
            work_within: Duration::from_millis(250),
            is_timed: true,
        }
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // Processes of other users.
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["--sessions", address, count] => {
            return end(producers::side_sessions_process(address, count));
        }
        ["--honest", producers, consumers, time_ms] => {
            return end(siege::honest::process(producers, consumers, time_ms));
        }
        ["--ask", producers, consumers, time_ms] => {
            return end(siege::honest::asker::process(producers, consumers, time_ms));
        }
        ["--leave", producers, source, scraping] => {
            return end(siege::honest::leaver::process(producers, source, scraping));
        }
        ["--small", kind, producers, consumers] => {
            return end(siege::memory::child(kind, producers, consumers));
        }
        ["--attack", producers, consumers, folder, seed, bytes] => {
            return end(siege::attack::process(producers, consumers, folder, seed, bytes));
        }
        _ => {}
    }
    end(run(&arguments))
}

fn end(outcome: Outcome) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("load: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Outcome {
    let (mut traced, mut seconds) = (PathBuf::from("target/debug/traced"), 60);
    let (mut short, mut siege, mut is_timed) = (false, false, true);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--short" => short = true,
            "--siege" => siege = true,
            "--untimed" => is_timed = false,
            "--traced" => traced = words.next().ok_or("--traced FILE")?.into(),
            "--seconds" => {
                let number = words.next().and_then(|number| number.parse().ok());
                seconds = number.ok_or("--seconds N")?;
            }
            other => return Err(format!("{other}: unknown")),
        }
    }
    let _ = os::process::raise_descriptor_limit();
    let plan = Plan { is_timed, ..Plan::new(Duration::from_secs(seconds), short) };
    if siege {
        return siege::run(&traced, &plan);
    }
    let daemon = Daemon::start(&traced, &Limits::default())?;
    producers::run(&daemon, &plan)?;
    hostile::run(&daemon, &plan)?;
    daemon.stop()
}
