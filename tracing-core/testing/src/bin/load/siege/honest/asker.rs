//! A process that asks the daemon all the time, and measures how long it waits for answers.
//!
//! It is not the process that writes: writers that take all that their group may have of the processors would keep it
//! from one, and its times would say little about the daemon. It waits for a processor nevertheless, as every program
//! of a busy machine, also when its answer has come. The kernel counts that time, and it is not the daemon's: the
//! longest waits are without it.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::time::{Duration, Instant};

use client::consumer::Consumer;
use os::socket::Address;
use protos::SyncRequest;
use protos::producer_port::Request;

use super::Report;
use crate::Outcome;
use crate::latency::{answer, idle_producer};

/// The time between two questions.
const INTERVAL: Duration = Duration::from_millis(2);

/// `--ask PRODUCERS CONSUMERS MILLISECONDS`: asks for that time and prints a report.
pub fn process(producers: &str, consumers: &str, time_ms: &str) -> Outcome {
    let parse = |text| Address::parse(text).map_err(|error| error.to_string());
    let end = Instant::now() + Duration::from_millis(time_ms.parse().map_err(|_| "MILLISECONDS")?);
    let answers = ask(&parse(producers)?, &parse(consumers)?, end)?;
    let [_, seen_p999, _] = half_most_and_all(answers.iter().map(|answer| answer.took).collect());
    let of_daemon = |answer: &Answer| answer.took.saturating_sub(answer.ready);
    let [p50, p999, most] = half_most_and_all(answers.iter().map(of_daemon).collect());
    let report =
        Report { answers: answers.len() as u64, p50, p999, most, seen_p999, ..Report::default() };
    println!("{}", report.line());
    Ok(())
}

/// Within what time half of the answers came, 999 of 1000, and all.
///
/// A process that waits for an answer asks nothing meanwhile: a daemon that stood still for a second would give one
/// slow answer. So the questions that it would have asked count, too, each one [`INTERVAL`] shorter.
pub(super) fn half_most_and_all(mut answers: Vec<Duration>) -> [Duration; 3] {
    for index in 0..answers.len() {
        let mut left = answers[index];
        while left > INTERVAL {
            left -= INTERVAL;
            answers.push(left);
        }
    }
    answers.sort_unstable();
    [500, 999, 1000].map(|part| {
        let index = answers.len() * part / 1000;
        answers.get(index.min(answers.len().saturating_sub(1))).copied().unwrap_or_default()
    })
}

/// How long a question took.
struct Answer {
    took: Duration,
    /// The part of it in which this thread was ready, and had no processor.
    ready: Duration,
}

/// For how long a thread was ready and had no processor.
struct ReadyTime(File);

impl ReadyTime {
    const FILE: &str = "/proc/thread-self/schedstat";

    fn of_this_thread() -> Outcome<Self> {
        File::open(Self::FILE).map(Self).map_err(|error| format!("{}: {error}", Self::FILE))
    }

    fn get(&self) -> Outcome<Duration> {
        let mut text = [0; 64];
        let read = self.0.read_at(&mut text, 0).map_err(|error| error.to_string())?;
        parse_ready_time(&String::from_utf8_lossy(&text[..read]))
            .ok_or_else(|| format!("{}: no second number", Self::FILE))
    }
}

/// The second number: times on a processor and ready, ns, and how often it got one.
pub(super) fn parse_ready_time(text: &str) -> Option<Duration> {
    text.split_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
}

/// Asks on both ports until `end`.
fn ask(producers: &Address, consumers: &Address, end: Instant) -> Outcome<Vec<Answer>> {
    let mut consumer = Consumer::connect(consumers).map_err(|error| error.to_string())?;
    let mut producer = idle_producer(producers, 0)?;
    let ready_time = ReadyTime::of_this_thread()?;
    let mut answers = Vec::new();
    let mut measure = |question: &mut dyn FnMut() -> Outcome| {
        let (since, ready) = (Instant::now(), ready_time.get()?);
        question()?;
        let took = since.elapsed();
        answers.push(Answer { took, ready: ready_time.get()?.saturating_sub(ready) });
        Outcome::Ok(())
    };
    while Instant::now() < end {
        measure(&mut || {
            let answered = consumer.query_capabilities().map(drop);
            answered.map_err(|error| format!("a question: {error}"))
        })?;
        measure(&mut || answer(&mut producer, Request::Sync(SyncRequest::default())).map(drop))?;
        // The rate of requests. Nothing waits for this.
        std::thread::park_timeout(INTERVAL);
    }
    Ok(answers)
}
