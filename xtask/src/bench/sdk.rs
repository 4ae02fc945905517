//! What a traced event costs with the SDK and with its rivals: `bench/events`, a workspace of its own, one process for
//! each contender and mode, in turns.
//!
//! A cell is the median of the runs' medians. Below the tables is the comparison with our aims.

use super::program::median;
use crate::ctx::{Ctx, Outcome};
use crate::{machine, report};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

const RUNS: usize = 5;
const MODES: [&str; 6] = ["disabled", "instant", "slice", "args", "string", "counter"];
const THREADS: [&str; 3] = ["1", "2", "4"];

// As `bench/events/src/rivals` has them.
const US: &str = "tracing-sdk (ours)";
const COUNTER_CLOCK: &str = "tracing-sdk, counter clock (ours)";
const OUR_LAYER: &str = "layer of tracing-sdk (ours)";
const OUR_SUBSCRIBER: &str = "subscriber of tracing-sdk (ours)";
const CPP: &str = "C++ SDK";

/// An aim for the time of one of our cells, in ns, or as a multiple of another cell's.
struct Aim {
    contender: &'static str,
    mode: &'static str,
    most: f64,
    of: Option<(&'static str, &'static str)>,
}

const fn ns(contender: &'static str, mode: &'static str, most: f64) -> Aim {
    Aim { contender, mode, most, of: None }
}

const AIMS: &[Aim] = &[
    ns(US, "disabled", 0.5),
    ns(US, "instant", 42.0),
    Aim { contender: US, mode: "instant", most: 0.4, of: Some((CPP, "instant")) },
    ns(COUNTER_CLOCK, "instant", 32.0),
    Aim { contender: US, mode: "slice", most: 2.0, of: Some((US, "instant")) },
    ns(US, "args", 85.0),
    ns(OUR_LAYER, "disabled", 3.0),
    ns(OUR_LAYER, "slice", 175.0),
    ns(OUR_SUBSCRIBER, "disabled", 3.0),
    ns(OUR_SUBSCRIBER, "slice", 175.0),
];

/// What an instant of the C++ SDK took where the aims in ns were set, on a quiet machine. A run on another machine, or
/// in a noisy hour, scales the aims by what it takes there.
const CPP_INSTANT_NS: f64 = 117.0;

/// Two threads together record at least this many times as much as one.
const TWO_THREADS_MIN: f64 = 1.8;

/// The id of the process, where the C++ service inside a process writes a 0 of one byte.
const PID_BYTES: f64 = 3.0;

/// What was measured, by contender and mode or number of threads.
#[derive(Default)]
struct Cells {
    times: BTreeMap<(String, &'static str), Vec<f64>>,
    bytes: BTreeMap<(String, &'static str), f64>,
    /// Millions a second, and what was counted.
    rates: BTreeMap<(String, &'static str), Vec<f64>>,
    units: BTreeMap<String, String>,
}

impl Cells {
    fn time(&self, name: &str, mode: &'static str) -> Option<f64> {
        self.times.get(&(name.to_owned(), mode)).map(|values| median(values))
    }

    fn rate(&self, name: &str, threads: &'static str) -> Option<f64> {
        self.rates.get(&(name.to_owned(), threads)).map(|values| median(values))
    }
}

pub fn run(ctx: &Ctx, record: bool) -> Outcome {
    machine::need(ctx, "clang++", "clang")?;
    let program = build(ctx)?;
    let names = ctx.output(ctx.command(&program).arg("list"))?;
    let names: Vec<&str> = names.lines().collect();
    let mut cells = Cells::default();
    for run in 1..=RUNS {
        ctx.log(format_args!("run {run} of {RUNS}"));
        for mode in MODES {
            for name in &names {
                time(ctx, &program, name, mode, &mut cells)?;
            }
        }
        for threads in THREADS {
            for name in &names {
                rate(ctx, &program, name, threads, &mut cells)?;
            }
        }
    }
    let text = text(&cells, &names);
    ctx.log(&text);
    if record { report::record(ctx, "Traced events", &text) } else { Ok(()) }
}

fn build(ctx: &Ctx) -> Result<PathBuf, String> {
    let target = ctx.target("events")?;
    let mut command = ctx.cargo();
    command.args(["build", "--release", "--quiet", "--manifest-path", "bench/events/Cargo.toml"]);
    ctx.log("building the contenders (minutes, the first time)");
    ctx.run(command.arg("--target-dir").arg(&target))?;
    Ok(target.join("release/events"))
}

/// The number at the beginning of what a contender prints, and the words behind it; none for a mode it does not have.
fn numbers(ctx: &Ctx, program: &Path, args: [&str; 3]) -> Result<Option<(f64, String)>, String> {
    let output = ctx.output(ctx.command(program).args(args))?;
    let line = output.lines().last().unwrap_or_default();
    if line == "none" {
        return Ok(None);
    }
    let parts = line.split_once(' ').and_then(|(n, rest)| Some((n.parse().ok()?, rest.to_owned())));
    parts.map(Some).ok_or_else(|| format!("`events {}` printed `{line}`", args.join(" ")))
}

fn time(ctx: &Ctx, program: &Path, name: &str, mode: &'static str, cells: &mut Cells) -> Outcome {
    let Some((ns, bytes)) = numbers(ctx, program, ["time", name, mode])? else { return Ok(()) };
    let key = (name.to_owned(), mode);
    let bytes = bytes.parse().map_err(|e| format!("bytes of {name}, {mode}: {e}"))?;
    cells.times.entry(key.clone()).or_default().push(ns);
    cells.bytes.insert(key, bytes);
    Ok(())
}

fn rate(
    ctx: &Ctx,
    program: &Path,
    name: &str,
    threads: &'static str,
    cells: &mut Cells,
) -> Outcome {
    if let Some((rate, unit)) = numbers(ctx, program, ["threads", name, threads])? {
        cells.rates.entry((name.to_owned(), threads)).or_default().push(rate);
        cells.units.insert(name.to_owned(), unit);
    }
    Ok(())
}

// Writing to a string cannot fail, here and below.
fn text(cells: &Cells, names: &[&str]) -> String {
    let mut text = String::from(
        "`cargo xtask bench --sdk`. Medians of five runs that take the contenders in turns, each in a process of\n\
         its own. *ns*: processor time of the thread for each event; the service works in another thread.\n\
         *Disabled*: no session. *Slice*: begin and end. *Args*: two numbers. *String*: a text of 16 bytes. A\n\
         contender without instants records slices in their place, and a layer or a subscriber records events\n\
         as instants and spans in all other columns. perfetto-recorder, fastrace and puffin keep events in\n\
         memory of the process and leave the encoding for later, which is not measured. Shared memory of 4 MiB,\n\
         a buffer of 64 MiB, nothing is lost. What our SDK and the C++ one write has the same size; then our\n\
         service adds the id of the process to each packet, and the C++ one inside a process adds 0, which\n\
         is up to 3 bytes less.\n\n",
    );
    let _ = writeln!(text, "| ns | {} |", MODES.join(" | "));
    let _ = writeln!(text, "|---|{}", "--:|".repeat(MODES.len()));
    for name in names {
        let row = MODES.map(|mode| shown(cells.time(name, mode), 1));
        let _ = writeln!(text, "| {name} | {} |", row.join(" | "));
    }
    let _ = writeln!(text, "\n| bytes in the trace | {} |", MODES[1..].join(" | "));
    let _ = writeln!(text, "|---|{}", "--:|".repeat(MODES.len() - 1));
    for name in names {
        let bytes = |mode| cells.bytes.get(&((*name).to_owned(), mode)).copied();
        let row: Vec<Option<f64>> = MODES[1..].iter().map(|mode| bytes(mode)).collect();
        if row.iter().flatten().any(|bytes| *bytes > 0.0) {
            let row: Vec<String> = row.into_iter().map(|bytes| shown(bytes, 1)).collect();
            let _ = writeln!(text, "| {name} | {} |", row.join(" | "));
        }
    }
    let _ = writeln!(text, "\n| million a second, all threads | {} |  |", THREADS.join(" | "));
    let _ = writeln!(text, "|---|{}---|", "--:|".repeat(THREADS.len()));
    for name in names {
        let row = THREADS.map(|threads| shown(cells.rate(name, threads), 2));
        let unit = cells.units.get(*name).map_or("", String::as_str);
        let _ = writeln!(text, "| {name} | {} | {unit} |", row.join(" | "));
    }
    verdict(&mut text, cells);
    text
}

fn shown(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(String::new, |value| format!("{value:.digits$}"))
}

/// Our aims, and whether they are reached.
fn verdict(text: &mut String, cells: &Cells) {
    let cpp = cells.time(CPP, "instant");
    let scale = cpp.map_or(1.0, |ns| ns / CPP_INSTANT_NS);
    let _ = writeln!(
        text,
        "\nAims in ns were set on a quiet machine, where an instant of the C++ SDK took {CPP_INSTANT_NS} ns.\n\
         Here it took {}, so that they are multiplied by {scale:.2}: *here* is the aim of this run.\n\n\
         | aim | measured | here | reached |\n|---|--:|--:|---|",
        shown(cpp, 1),
    );
    let mut row = |what: String, value: Option<f64>, reached: fn(f64, f64) -> bool, bound: f64| {
        let answer = value.is_some_and(|value| reached(value, bound));
        let answer = if answer { "yes" } else { "no" };
        let _ = writeln!(text, "| {what} | {} | {bound:.2} | {answer} |", shown(value, 2));
    };
    for Aim { contender, mode, most, of } in AIMS {
        let time = cells.time(contender, mode);
        match of {
            None => {
                let what = format!("{contender}, {mode}: at most {most} ns");
                row(what, time, |a, b| a <= b, most * scale);
            }
            Some((other, their)) => {
                let ratio = time.zip(cells.time(other, their)).map(|(ours, theirs)| ours / theirs);
                let what = format!("{contender}, {mode}: at most {most} times {other}, {their}");
                row(what, ratio, |a, b| a <= b, *most);
            }
        }
    }
    let scaling = cells.rate(US, "2").zip(cells.rate(US, "1")).map(|(two, one)| two / one);
    let what = format!("{US}, two threads: at least {TWO_THREADS_MIN} times one");
    row(what, scaling, |a, b| a >= b, TWO_THREADS_MIN);
    for mode in &MODES[1..] {
        let bytes = |name: &str| cells.bytes.get(&(name.to_owned(), *mode)).copied();
        let more = bytes(US).zip(bytes(CPP)).map(|(ours, theirs)| ours - theirs);
        let packets = if *mode == "slice" { 2.0 } else { 1.0 };
        let what = format!("{US}, {mode}: bytes more than {CPP}, for the id of the process");
        row(what, more, |a, b| a <= b, packets * PID_BYTES);
    }
}
