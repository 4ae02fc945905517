//! Simulated runs of the tracing service: `cargo xtask sim` builds and runs this.
//!
//! `--seeds N` runs the seeds 0..N, by default 200, and `--fresh M` adds M random ones. `--seed S` runs one seed twice
//! and prints what happened. 200 seeds or more must together produce every event, effect and request that a service
//! knows; with fewer, a line says that this was not checked.
//! `--fail-each K` takes K of the runs with few effects on files and priorities, and repeats each of them once for
//! every such effect, letting that effect fail.

use std::hash::BuildHasher as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};

use tracing_core_testing::{Report, simulate, simulate_with};

/// The first seeds, as many as these, together produce every event, effect and request.
const SEEDS_FOR_ALL_MARKS: u64 = 200;

/// How many effects a run may have to be repeated for each of them.
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
    let (mut seeds, mut fresh, mut fail_each) = (SEEDS_FOR_ALL_MARKS, 0, 0);
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
    let (mut runs, mut failed) = (0, Vec::new());
    let all: Vec<u64> = (0..seeds).chain(invented).collect();
    // Printed at once, as the whole may take long.
    let print = |seed| move |e| eprintln!("{e}\n  replay: cargo xtask sim --seed {seed}");
    for (seed, outcome) in in_parallel(&all, |seed| run_seed(seed).map_err(print(seed))) {
        runs += 1;
        match outcome {
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
        return Err(format!("{} of {runs} runs broke a rule: seeds {failed:?}", failed.len()));
    }
    few_effects.truncate(fail_each as usize);
    let mut failures = 0;
    for (_, failed) in in_parallel(&few_effects, fail_each_effect) {
        failures += failed?;
    }
    if seeds < SEEDS_FOR_ALL_MARKS {
        println!("not checked with so few seeds: whether everything happened");
    } else if !sum.marks.missing().is_empty() {
        return Err(format!("these happened in no run: {:?}", sum.marks.missing()));
    }
    Ok(format!(
        "{runs} runs: {} inputs, {} sessions, {} of {} packets read in order, {} marked gaps, {} complete \
         reads, {} packets as the reference buffers emitted them, {} kinds of events, {failures} effects \
         failed one by one",
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

/// Calls `work` for each seed, one per processor at a time. Returns the results in the order of the seeds.
fn in_parallel<T: Send>(seeds: &[u64], work: impl Fn(u64) -> T + Sync) -> Vec<(u64, T)> {
    let left = AtomicUsize::new(0);
    let worker = || {
        let next = || Some(left.fetch_add(1, Ordering::Relaxed)).filter(|at| *at < seeds.len());
        std::iter::from_fn(next).map(|at| (at, work(seeds[at]))).collect::<Vec<_>>()
    };
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let mut done: Vec<_> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(worker)).collect();
        // Panics of a run are caught in `run_seed`, so no worker panics.
        workers.into_iter().flat_map(|worker| worker.join().unwrap_or_default()).collect()
    });
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(at, result)| (seeds[at], result)).collect()
}

fn one(seed: u64) -> Result<String, String> {
    let first = run_seed(seed)?;
    if run_seed(seed)? != first {
        return Err(format!("seed {seed}: two runs differ"));
    }
    Ok(format!("seed {seed}: {first:#?}"))
}

/// Repeats a run for each of its effects, which fails. Returns how many effects there were.
fn fail_each_effect(seed: u64) -> Result<u64, String> {
    for failing in 0.. {
        let outcome = catch_unwind(|| simulate_with(seed, Some(failing)))
            .unwrap_or_else(|_| Err(format!("seed {seed}: panicked")));
        let report = outcome.map_err(|error| format!("{error}, when effect {failing} fails"))?;
        if report.effects <= failing {
            return Ok(failing);
        }
    }
    Ok(0)
}

fn run_seed(seed: u64) -> Result<Report, String> {
    // A panic of the service is a failure like any other; its message is already printed.
    catch_unwind(AssertUnwindSafe(|| simulate(seed)))
        .unwrap_or_else(|_| Err(format!("seed {seed}: panicked")))
}
