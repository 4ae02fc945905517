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

/// `--ask PRODUCERS CONSUMERS MILLISECONDS`: asks for that time and prints a report.
pub fn process(producers: &str, consumers: &str, time_ms: &str) -> Outcome {
    let parse = |text| Address::parse(text).map_err(|error| error.to_string());
    let end = Instant::now() + Duration::from_millis(time_ms.parse().map_err(|_| "MILLISECONDS")?);
    let mut answers = ask(&parse(producers)?, &parse(consumers)?, end)?;
    answers.sort_unstable();
    let at = |part: usize| {
        let index = answers.len() * part / 1000;
        answers.get(index.min(answers.len().saturating_sub(1))).copied().unwrap_or_default()
    };
    let (p50, p999, most) = (at(500), at(999), at(1000));
    let report = Report { answers: answers.len() as u64, p50, p999, most, ..Report::default() };
    println!("{}", report.line());
    Ok(())
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
        std::thread::park_timeout(Duration::from_millis(2));
    }
    Ok(answers)
}
