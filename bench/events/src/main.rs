//! What a traced event costs, with us and with others.
//!
//! ```text
//! events list                        the contenders
//! events time CONTENDER MODE         ns of processor time of the thread per event, and bytes in the trace per event
//! events threads CONTENDER COUNT     million instants (or slices) per second of COUNT threads together
//! ```
//!
//! One contender in one mode per run, as most of them can be set up once in a process. A burst is short enough for the
//! memory of every contender; between bursts, outside of the measured time, that memory is emptied, so that nothing is
//! lost: a lost event costs less than a written one.

mod contender;
mod rivals;

use std::process::ExitCode;
use std::sync::Barrier;
use std::time::Instant;

use contender::{Contender, Mode};

const BURST: u32 = 2000;
const BURSTS: u32 = 40;
const WARM_UP: u32 = 10;
const SAMPLES: usize = 7;
/// A thread that waits for others begins late, so these bursts are longer.
const LONG_BURST: u32 = 20_000;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let known = |name: &str| rivals::ALL.into_iter().find(|contender| contender.name == name);
    let mode = |name: &str| Mode::ALL.into_iter().find(|(known, _)| *known == name);
    let done = match args[..] {
        ["list"] => {
            rivals::ALL.iter().for_each(|contender| println!("{}", contender.name));
            true
        }
        ["time", name, wanted] => match (known(name), mode(wanted)) {
            (Some(contender), Some((_, mode))) => time(contender, mode),
            _ => false,
        },
        ["threads", name, count] => match (known(name), count.parse()) {
            (Some(contender), Ok(count)) => threads(contender, count),
            _ => false,
        },
        _ => false,
    };
    if done {
        return ExitCode::SUCCESS;
    }
    let modes = Mode::ALL.map(|(name, _)| name).join(" | ");
    eprintln!("usage: events list | time CONTENDER {modes} | threads CONTENDER COUNT");
    ExitCode::FAILURE
}

/// Prints the median of some samples, and the bytes; `none` for a mode that the contender does not have.
fn time(contender: &Contender, mode: Mode) -> bool {
    (contender.init)();
    let records = mode != Mode::Disabled;
    // Such an event takes so little time that the clock would be most of it.
    let burst = if records { BURST } else { BURST * 100 };
    if records {
        (contender.start)();
    }
    let mut events = 0_u64;
    let mut run = |count: u32| {
        let mut ns = 0;
        for _ in 0..count {
            let start = cpu_ns();
            if !(contender.burst)(mode, burst) {
                return None;
            }
            ns += cpu_ns() - start;
            events += u64::from(burst);
            if records {
                (contender.clear_thread)();
                (contender.drain)();
            }
        }
        Some(ns as f64 / f64::from(count * burst))
    };
    if run(WARM_UP).is_none() {
        println!("none");
        return true;
    }
    let mut samples: Vec<f64> = (0..SAMPLES).filter_map(|_| run(BURSTS)).collect();
    samples.sort_by(f64::total_cmp);
    let bytes = if records { (contender.stop)() as f64 / events as f64 } else { 0.0 };
    println!("{:.2} {bytes:.2}", samples[samples.len() / 2]);
    true
}

/// Prints the median throughput of some rounds, in million events a second of real time.
fn threads(contender: &Contender, count: usize) -> bool {
    (contender.init)();
    (contender.start)();
    // What the contender has: slices are two events for some of them, and one for others.
    let mode = if (contender.burst)(Mode::Instant, 1) { Mode::Instant } else { Mode::Slice };
    let barrier = Barrier::new(count + 1);
    let rounds = WARM_UP + BURSTS;
    let worker = || {
        let mut spans = Vec::new();
        for _ in 0..rounds {
            barrier.wait();
            let start = Instant::now();
            (contender.burst)(mode, LONG_BURST);
            spans.push((start, Instant::now()));
            (contender.clear_thread)();
            barrier.wait();
        }
        spans
    };
    let spans: Vec<Vec<(Instant, Instant)>> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..count).map(|_| scope.spawn(worker)).collect();
        for _ in 0..rounds {
            barrier.wait();
            barrier.wait();
            (contender.drain)();
        }
        workers.into_iter().map(|worker| worker.join().expect("a worker")).collect()
    });
    let events = f64::from(LONG_BURST) * count as f64;
    let rate = |round: usize| {
        let first = spans.iter().map(|spans| spans[round].0).min()?;
        let last = spans.iter().map(|spans| spans[round].1).max()?;
        Some(events / last.duration_since(first).as_secs_f64() / 1e6)
    };
    let mut rates: Vec<f64> = (WARM_UP as usize..rounds as usize).filter_map(rate).collect();
    rates.sort_by(f64::total_cmp);
    println!(
        "{:.2} {}",
        rates[rates.len() / 2],
        if mode == Mode::Slice { "slices" } else { "instants" }
    );
    (contender.stop)();
    true
}

/// Processor time of this thread, ns: what others do to the machine stays out of it.
fn cpu_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}
