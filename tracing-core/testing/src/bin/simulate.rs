//! Lives simulated lives of the tracing service: `cargo xtask sim` builds and runs this.
//!
//! `--seeds N` lives 0..N, `--fresh M` adds M that nobody has seen, `--seed S` lives one, twice, and says
//! what happened in it. A run of 200 lives and more also fails if something that can happen to a service
//! happened in none of them. `--fail-each K` takes K of the lives with few effects on files and priorities, and
//! lives each once more for every such effect, which fails.

use std::hash::BuildHasher as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};

use tracing_core_testing::{Report, simulate, simulate_with};

/// This many lives together meet every event, effect and method there is.
const LIVES_THAT_MEET_ALL: u64 = 200;

/// Effects of lives that are lived again for each.
const EFFECTS_TO_FAIL: std::ops::RangeInclusive<u64> = 12..=40;

fn main() -> ExitCode {
    match run(&std::env::args().skip(1).collect::<Vec<_>>()) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<String, String> {
    let usage = "usage: sim [--seeds N] [--fresh M] [--fail-each K] | --seed S";
    let (mut seeds, mut fresh, mut fail_each) = (200, 0, 0);
    for pair in arguments.chunks(2) {
        let [name, value] = pair else { return Err(usage.into()) };
        let value: u64 = value.parse().map_err(|_| format!("{name} {value}: not a number"))?;
        match name.as_str() {
            "--seeds" => seeds = value,
            "--fresh" => fresh = value,
            "--fail-each" => fail_each = value,
            "--seed" => return one(value),
            _ => return Err(usage.into()),
        }
    }
    // The keys of a new hasher are the operating system's randomness.
    let invented: Vec<u64> =
        (0..fresh).map(|n| std::hash::RandomState::new().hash_one(n) >> 16).collect();
    println!("seeds 0..{seeds} and {invented:?}");
    let mut few_effects = Vec::new();
    let mut sum = Report::default();
    let (mut lives, mut failed) = (0, Vec::new());
    let all: Vec<u64> = (0..seeds).chain(invented).collect();
    // At once, as a run may be long.
    let tell = |seed| move |e| eprintln!("{e}\n  replay: cargo xtask sim --seed {seed}");
    for (seed, lived) in at_a_time(&all, |seed| live(seed).map_err(tell(seed))) {
        lives += 1;
        match lived {
            Ok(report) => {
                sum.inputs += report.inputs;
                sum.sessions += report.sessions;
                sum.packets_written += report.packets_written;
                sum.packets_read += report.packets_read;
                sum.gaps += report.gaps;
                sum.agreed += report.agreed;
                sum.complete_reads += report.complete_reads;
                sum.marks.merge(&report.marks);
                if EFFECTS_TO_FAIL.contains(&report.effects) {
                    few_effects.push(seed);
                }
            }
            Err(()) => failed.push(seed),
        }
    }
    if !failed.is_empty() {
        return Err(format!("{} of {lives} lives broke a rule: seeds {failed:?}", failed.len()));
    }
    few_effects.truncate(fail_each as usize);
    let mut failures = 0;
    for (_, failed) in at_a_time(&few_effects, fail_each_effect) {
        failures += failed?;
    }
    let missing = sum.marks.missing();
    if lives >= LIVES_THAT_MEET_ALL && !missing.is_empty() {
        return Err(format!("no life met these: {missing:?}"));
    }
    Ok(format!(
        "{lives} lives: {} inputs, {} sessions, {} of {} packets read in order, {} marked gaps, {} \
         reads proven complete, {} packets as the models of buffers say, {} kinds of things met, {failures} \
         effects failed one by one",
        sum.inputs,
        sum.sessions,
        sum.packets_read,
        sum.packets_written,
        sum.gaps,
        sum.complete_reads,
        sum.agreed,
        sum.marks.len()
    ))
}

/// Does something with each seed, on every processor one at a time; what came of it in the order of the seeds.
fn at_a_time<T: Send>(seeds: &[u64], work: impl Fn(u64) -> T + Sync) -> Vec<(u64, T)> {
    let left = AtomicUsize::new(0);
    let worker = || {
        let next = || Some(left.fetch_add(1, Ordering::Relaxed)).filter(|at| *at < seeds.len());
        std::iter::from_fn(next).map(|at| (at, work(seeds[at]))).collect::<Vec<_>>()
    };
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let mut done: Vec<_> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(worker)).collect();
        // What panics in a life is caught there.
        workers.into_iter().flat_map(|worker| worker.join().unwrap_or_default()).collect()
    });
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(at, came)| (seeds[at], came)).collect()
}

fn one(seed: u64) -> Result<String, String> {
    let first = live(seed)?;
    if live(seed)? != first {
        return Err(format!("seed {seed}: two runs differ"));
    }
    Ok(format!("seed {seed}: {first:#?}"))
}

/// Lets each effect of a life that can fail do so, until a life ends before it comes to the next. How many.
fn fail_each_effect(seed: u64) -> Result<u64, String> {
    for failing in 0.. {
        let lived = catch_unwind(|| simulate_with(seed, Some(failing)))
            .unwrap_or_else(|_| Err(format!("seed {seed}: panicked")));
        let report = lived.map_err(|error| format!("{error}, when effect {failing} fails"))?;
        if report.effects <= failing {
            return Ok(failing);
        }
    }
    Ok(0)
}

fn live(seed: u64) -> Result<Report, String> {
    // A panic of the service is a finding like any other; its message was printed already.
    catch_unwind(AssertUnwindSafe(|| simulate(seed)))
        .unwrap_or_else(|_| Err(format!("seed {seed}: panicked")))
}
