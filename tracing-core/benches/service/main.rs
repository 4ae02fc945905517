//! Our service beside the C++ one, with the same producer before both: `cargo xtask bench --service` builds
//! and runs this.
//!
//! ```text
//! service --ours DIR --peer DIR [--rounds N] [--only TEXT]      DIR: where `traced` and `perfetto` are
//! service producer ...                                          the producer of a run, see [`producer`]
//! ```
//!
//! A run is a service, a consumer that records, and a producer that writes as fast as it can; then the
//! consumer is interrupted and reads everything. Both sides take turns, round after round, so that a busy
//! machine is busy for both. Standard output is a table for people; progress goes to standard error.

#![allow(clippy::disallowed_methods, reason = "a benchmark measures time")]

mod process;
mod producer;
mod run;
mod scenario;
mod table;
mod trace;

use std::path::PathBuf;
use std::process::ExitCode;

use run::{Side, run};
use scenario::SCENARIOS;

type Outcome<T = ()> = Result<T, String>;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let done = match args.split_first() {
        Some((word, rest)) if word == "producer" => producer::run(rest),
        Some(_) => compare(&args),
        // `cargo bench` of the workspace: there is no other service to compare with.
        None => Ok(()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("service: {error}");
            ExitCode::FAILURE
        }
    }
}

fn compare(args: &[String]) -> Outcome {
    let (mut sides, mut rounds, mut only) = (Vec::new(), 3, String::new());
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("{word} needs a value"))?;
        match word.as_str() {
            "--ours" => sides.push(Side { name: "ours", programs: PathBuf::from(value) }),
            "--peer" => sides.push(Side { name: "C++", programs: PathBuf::from(value) }),
            "--rounds" => rounds = value.parse().map_err(|e| format!("{word}: {e}"))?,
            "--only" => only.clone_from(value),
            _ => return Err(format!("{word}: unknown")),
        }
    }
    let chosen: Vec<_> = SCENARIOS.iter().filter(|s| s.name.contains(&only)).collect();
    let mut results = vec![vec![Vec::new(); sides.len()]; chosen.len()];
    for round in 1..=rounds {
        for (scenario, of_scenario) in chosen.iter().zip(&mut results) {
            let turns = (0..scenario.repeats()).flat_map(|_| 0..sides.len());
            for side in turns {
                let (Some(side), Some(runs)) = (sides.get(side), of_scenario.get_mut(side)) else {
                    continue;
                };
                let measured = run(side, scenario)
                    .map_err(|error| format!("{}, {}: {error}", scenario.name, side.name))?;
                eprintln!("{round}/{rounds} {}, {}: {measured}", scenario.name, side.name);
                runs.push(measured);
            }
        }
    }
    print!("{}", table::text(&chosen, &results));
    Ok(())
}
