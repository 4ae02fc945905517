//! Prints and parses one order as JSON with each library, and counts its encoded length.
//!
//! ```text
//! json-peers time ROUNDS              NAME \t OP \t ns \t bytes
//! json-peers loop NAME OP COUNT       for callgrind
//! ```
//!
//! Nothing is timed before all libraries read the same order from the texts that they print.

mod rivals;

use std::hint::black_box;
use std::process::ExitCode;

use rivals::{Contender, Work};

/// Time of one sample.
const SAMPLE_NS: f64 = 4_000_000.0;

/// An operation of a library.
struct Cell {
    name: &'static str,
    op: &'static str,
    run: fn(&Work) -> usize,
    count: u64,
    samples: Vec<f64>,
}

impl Cell {
    fn sample(&self, work: &Work) -> f64 {
        let begin = thread_ns();
        repeat(self.run, work, self.count);
        (thread_ns() - begin) as f64 / self.count as f64
    }
}

/// CPU time of this thread, so that other programs disturb less.
fn thread_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a local value.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[inline(never)]
fn repeat(run: fn(&Work) -> usize, work: &Work, count: u64) {
    for _ in 0..count {
        black_box(black_box(run)(black_box(work)));
    }
}

fn cells(all: &[Contender]) -> Vec<Cell> {
    let ops = |of: &Contender| {
        let length = of.length.map(|run| ("length", run));
        [("print", of.print), ("parse", of.parse)].into_iter().chain(length)
    };
    let cell = |name, (op, run)| Cell { name, op, run, count: 100, samples: Vec::new() };
    all.iter().flat_map(|of| ops(of).map(|op| cell(of.name, op))).collect()
}

fn time(work: &Work, mut cells: Vec<Cell>, rounds: usize) {
    for cell in &mut cells {
        cell.count = (SAMPLE_NS / cell.sample(work).max(1.0)) as u64 + 1;
    }
    for _ in 0..rounds {
        for cell in &mut cells {
            let sample = cell.sample(work);
            cell.samples.push(sample);
        }
    }
    for cell in &mut cells {
        cell.samples.sort_by(f64::total_cmp);
        let ns = cell.samples[cell.samples.len() / 2];
        println!("{}\t{}\t{ns:.1}\t{}", cell.name, cell.op, (cell.run)(work));
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let all = rivals::all();
    let work = Work::new();
    match arguments[..] {
        ["time", rounds] => {
            work.compare();
            time(&work, cells(&all), rounds.parse().unwrap_or(5));
        }
        ["loop", name, op, count] => {
            let cell = cells(&all).into_iter().find(|cell| cell.name == name && cell.op == op);
            let cell = cell.unwrap_or_else(|| panic!("nothing is called {name} {op}"));
            repeat(cell.run, &work, count.parse().expect("a number"));
        }
        _ => {
            eprintln!("usage: json-peers time ROUNDS | loop NAME OP COUNT");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
