//! A process that asks the daemon all the time, and measures how long it waits for answers.
//!
//! It is not the process that writes: writers that take all that their group may have of the processors would keep it
//! from one, and its times would say little about the daemon.

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
    let count = answers.len() as u64;
    let [p50, p999, most] = half_most_and_all(answers);
    let report = Report { answers: count, p50, p999, most, ..Report::default() };
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

/// Asks on both ports until `end`. Returns how long each answer took.
fn ask(producers: &Address, consumers: &Address, end: Instant) -> Outcome<Vec<Duration>> {
    let mut consumer = Consumer::connect(consumers).map_err(|error| error.to_string())?;
    let mut producer = idle_producer(producers, 0)?;
    let mut answers = Vec::new();
    while Instant::now() < end {
        let since = Instant::now();
        consumer.query_capabilities().map_err(|error| format!("a question: {error}"))?;
        answers.push(since.elapsed());
        let since = Instant::now();
        answer(&mut producer, Request::Sync(SyncRequest::default()))?;
        answers.push(since.elapsed());
        // The rate of requests. Nothing waits for this.
        std::thread::park_timeout(INTERVAL);
    }
    Ok(answers)
}
