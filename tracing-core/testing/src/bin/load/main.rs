//! A daemon under load, and among liars: `cargo xtask load` builds and runs this.
//!
//! Two acts against one `traced`, whose memory and descriptors are watched from outside:
//!
//! 1. [`crowd`]: 1,000 producers, 100 of them writing as fast as they can, 10 sessions of three users, and a
//!    consumer that asks and never reads ([`unread`]). Nothing may be lost that the trace does not tell, nobody else
//!    may have to wait ([`questions`]), and memory has its bound.
//! 2. [`liars`]: 256 producers at a time that connect, lie and vanish. Nothing of them may stay.
//!
//! `--traced FILE` is the daemon; `--seconds N` how long each act goes on (60); `--short` is for machines that do
//! other things meanwhile: fewer of everybody, and nobody looks at the clock.

#![allow(clippy::disallowed_methods, reason = "a clock on the wall is what this is about")]

mod daemon;
mod hostile;
mod latency;
mod producers;
mod unread;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use daemon::Daemon;

type Outcome<T = ()> = Result<T, String>;

/// How much of everything.
pub struct Plan {
    /// Of each act.
    pub time: Duration,
    /// Connected in the first act.
    pub producers: usize,
    /// Those of them that write.
    pub writers: usize,
    /// At a time, in the second act.
    pub liars: usize,
    /// The longest that an answer may take; `None` if time is not looked at.
    pub answer_within: Option<Duration>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // A second process, of another user: a user has five sessions at most.
    if let [word, address, count] = &arguments[..]
        && word == "--sessions"
    {
        return end(producers::side_sessions_process(address, count));
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
    let (mut traced, mut seconds, mut short) = (PathBuf::from("target/debug/traced"), 60, false);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--short" => short = true,
            "--traced" => traced = words.next().ok_or("--traced FILE")?.into(),
            "--seconds" => {
                let number = words.next().and_then(|number| number.parse().ok());
                seconds = number.ok_or("--seconds N")?;
            }
            other => return Err(format!("{other}: unknown")),
        }
    }
    let _ = os::process::raise_descriptor_limit();
    let plan = Plan {
        time: Duration::from_secs(seconds),
        producers: if short { 200 } else { 1000 },
        writers: if short { 10 } else { 100 },
        liars: if short { 32 } else { 256 },
        answer_within: (!short).then_some(Duration::from_secs(1)),
    };
    let daemon = Daemon::start(&traced)?;
    producers::run(&daemon, &plan)?;
    hostile::run(&daemon, &plan)?;
    daemon.stop()
}
