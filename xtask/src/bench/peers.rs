//! Protobuf libraries compared: `bench/`, a workspace of its own, run five times in each mode.
//!
//! Every run first compares the bytes and sums of all libraries, then times them in turns; a cell here is the
//! median of the runs' medians. Below the tables is the comparison with the aim for each column, and
//! with the fastest other library.

use super::callgrind;
use super::json;
use super::program::median;
use crate::ctx::{Ctx, Outcome};
use crate::{machine, report};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

const RUNS: usize = 5;
const ROUNDS: &str = "11";
const MODES: [&str; 3] = ["constant", "varied", "cold"];
const PAYLOADS: [&str; 4] = ["simple", "nested", "packet", "commit"];
const CALLGRIND_COUNT: u32 = 2000;

// As `bench/src/rivals/mod.rs` has them.
const US: &str = "protozero (Rust)";
const US_OWNED: &str = "protozero (Rust), owned";
const US_DROPPING: &str = "protozero (Rust), owned, unknown fields dropped";
const US_VIEWS: &str = "protozero (Rust), views";
const OURS: [&str; 4] = [US, US_OWNED, US_DROPPING, US_VIEWS];
const CPP: &str = "protozero (C++), reused root";
const CPP_FRESH: &str = "protozero (C++), fresh root";
const SDK: &str = "perfetto-sdk 1.2.1";
const PROST: &str = "prost 0.14";
const QUICK: &str = "quick-protobuf 0.8.1";
const MICRO: &str = "micropb 0.7.0";
const FLOOR: &str = "memcpy / scan";

/// Those whose values borrow their strings, so that our views are like them.
const BORROWERS: [&str; 2] = [QUICK, "buffa 0.9.2, views"];

/// Those whose values own their strings and keep no unknown fields.
const DROPPERS: [&str; 2] = [PROST, MICRO];

/// An aim: ours must not take more than `ratio` of the time of the fastest of `of`.
struct Aim {
    op: &'static str,
    of: &'static [&'static str],
    ratio: f64,
}

const AIMS: &[Aim] = &[
    Aim { op: "encode", of: &[CPP], ratio: 0.25 },
    Aim { op: "encode", of: &[SDK], ratio: 0.20 },
    Aim { op: "encode", of: &[QUICK, MICRO], ratio: 0.50 },
    Aim { op: "decode", of: &[CPP], ratio: 0.60 },
    Aim { op: "decode", of: &[SDK, PROST, "buffa 0.9.2, views"], ratio: 0.70 },
];

/// Below this a difference is a tie: runs differ by as much.
const TIE: f64 = 1.05;

/// By mode, operation, contender and payload.
type Cells = BTreeMap<(&'static str, String, String, String), Cell>;

#[derive(Default)]
struct Cell {
    ns: Vec<f64>,
    bytes: u64,
    instructions: Option<String>,
}

impl Cell {
    fn median(&self) -> f64 {
        median(&self.ns)
    }
}

pub fn run(ctx: &Ctx, record: bool) -> Outcome {
    machine::need(ctx, "valgrind", "valgrind")?;
    machine::need(ctx, "clang++", "clang")?;
    let program = build(ctx)?;
    let names = ctx.output(ctx.command(&program).arg("list"))?;
    let names: Vec<&str> = names.lines().collect();
    let mut cells = Cells::new();
    for run in 1..=RUNS {
        for mode in MODES {
            ctx.log(format_args!("run {run} of {RUNS}, {mode}"));
            time(ctx, &program, mode, &mut cells)?;
        }
    }
    ctx.log("counting instructions");
    for ((mode, op, name, payload), cell) in &mut cells {
        if *mode == "constant" {
            let arguments = [name.as_str(), op.as_str(), payload.as_str()];
            let count = callgrind::instructions(ctx, &program, &arguments, CALLGRIND_COUNT, None)?;
            cell.instructions = Some(count);
        }
    }
    let text = text(&cells, &names) + &json::table(ctx)?;
    ctx.log(&text);
    if record { report::record(ctx, "Peers", &text) } else { Ok(()) }
}

fn build(ctx: &Ctx) -> Result<PathBuf, String> {
    let target = ctx.target("peers")?;
    let mut command = ctx.cargo();
    command.args(["build", "--release", "--quiet", "--manifest-path", "bench/Cargo.toml"]);
    ctx.log("building the rivals (minutes, the first time)");
    ctx.run(command.arg("--target-dir").arg(&target))?;
    Ok(target.join("release/peers"))
}

fn time(ctx: &Ctx, program: &Path, mode: &'static str, cells: &mut Cells) -> Outcome {
    let output = ctx.output(ctx.command(program).args(["time", mode, ROUNDS]))?;
    for line in output.lines() {
        let parts: Vec<&str> = line.split('\t').collect();
        let [name, op, payload, ns, bytes] = parts[..] else {
            return Err(format!("peers says `{line}`"));
        };
        let key = (mode, op.to_owned(), name.to_owned(), payload.to_owned());
        let cell = cells.entry(key).or_default();
        cell.ns.push(ns.parse().map_err(|_| format!("peers says `{line}`"))?);
        cell.bytes = bytes.parse().map_err(|_| format!("peers says `{line}`"))?;
    }
    Ok(())
}

// Writing to a string cannot fail, here and below.
fn text(cells: &Cells, names: &[&str]) -> String {
    let mut text = String::from(
        "`cargo xtask bench --peers`. Medians of five runs that time all libraries in turns; in brackets the\n\
         ratio to C++ protozero with a reused root message, built by clang. *Constant*: one input, again and\n\
         again. *Varied*: 1024 inputs of random widths. *Cold*: each message into, or out of, another 2 KiB of\n\
         64 MiB, which is beyond the second cache (in the third, where that is as large). A rival counts as\n\
         faster if ours takes 5 % longer, which is what runs differ by.\n\
         Libraries that build values first are charged for building and dropping them; decoding reads every\n\
         field. Baseline x86-64 for all.\n",
    );
    for op in ["encode", "decode"] {
        for mode in MODES {
            table(&mut text, cells, names, op, mode);
        }
    }
    verdict(&mut text, cells, names);
    owned(&mut text, cells, names);
    text
}

fn table(text: &mut String, cells: &Cells, names: &[&str], op: &str, mode: &'static str) {
    let unit = match (op, mode) {
        ("encode", "constant") => "ns (ratio) / instructions / bytes",
        ("decode", "constant") => "ns (ratio) / instructions",
        _ => "ns (ratio)",
    };
    let _ = writeln!(text, "\n| {op}, {mode}: {unit} | {} |", PAYLOADS.join(" | "));
    let _ = writeln!(text, "|---|{}", "--:|".repeat(PAYLOADS.len()));
    for name in names {
        let row = PAYLOADS.map(|p| shown(cells, op, mode, name, p));
        if row.iter().any(|cell| !cell.is_empty()) {
            let _ = writeln!(text, "| {name} | {} |", row.join(" | "));
        }
    }
}

fn find<'a>(
    cells: &'a Cells,
    mode: &'static str,
    op: &str,
    name: &str,
    payload: &str,
) -> Option<&'a Cell> {
    cells.get(&(mode, op.to_owned(), name.to_owned(), payload.to_owned()))
}

fn shown(cells: &Cells, op: &str, mode: &'static str, name: &str, payload: &str) -> String {
    let Some(cell) = find(cells, mode, op, name, payload) else { return String::new() };
    let ns = cell.median();
    let mut shown = format!("{ns:.1}");
    if let Some(cpp) = find(cells, mode, op, CPP, payload) {
        let _ = write!(shown, " ({:.2})", ns / cpp.median());
    }
    if let Some(count) = &cell.instructions {
        let _ = write!(shown, " / {count}");
        if op == "encode" {
            let _ = write!(shown, " / {}", cell.bytes);
        }
    }
    shown
}

/// How we stand, a line for each column.
fn verdict(text: &mut String, cells: &Cells, names: &[&str]) {
    let _ = writeln!(
        text,
        "\n| column | ours, ns | aim, ns | | fastest rival, ns |\n|---|--:|--:|---|---|"
    );
    for (op, mode) in ["encode", "decode"].into_iter().flat_map(|op| MODES.map(|mode| (op, mode))) {
        for payload in PAYLOADS {
            let ns = |name: &str| find(cells, mode, op, name, payload).map(Cell::median);
            let Some(ours) = ns(US) else { continue };
            let rivals = names.iter().filter(|n| !OURS.contains(n) && **n != FLOOR);
            let fastest =
                rivals.filter_map(|n| Some((ns(n)?, n))).min_by(|a, b| a.0.total_cmp(&b.0));
            let Some((fastest, who)) = fastest else { continue };
            let aim = aim(op, &ns);
            let reached = match (ours <= aim, ours <= fastest * TIE) {
                (true, true) => "reached",
                (_, false) => "**slower than a rival**",
                (false, true) => "missed",
            };
            let _ = writeln!(
                text,
                "| {op} {payload}, {mode} | {ours:.1} | {aim:.1} | {reached} | {who} {fastest:.1} |"
            );
        }
    }
}

/// Like for like: our owned messages where somebody who builds values too is faster, those that drop unknown fields
/// where somebody is who drops them too, and our views where somebody is whose values borrow as well.
fn owned(text: &mut String, cells: &Cells, names: &[&str]) {
    let _ = writeln!(
        text,
        "\nOwned messages and views are beaten in these columns by libraries that build, or borrow, alike; *dropping*\n\
         are owned messages without unknown fields, beside libraries that drop them, too:\n\n\
         | column | ours, ns | faster |\n|---|--:|---|"
    );
    let like = |who: &str, theirs: &str| match who {
        US_VIEWS => BORROWERS.contains(&theirs),
        US_DROPPING => DROPPERS.contains(&theirs),
        _ => {
            let apart = OURS.contains(&theirs) || [CPP, CPP_FRESH, SDK, FLOOR].contains(&theirs);
            !apart && !BORROWERS.contains(&theirs)
        }
    };
    for (who, short) in [(US_OWNED, "owned"), (US_DROPPING, "dropping"), (US_VIEWS, "views")] {
        for (op, mode) in ["encode", "decode"].into_iter().flat_map(|op| MODES.map(|m| (op, m))) {
            for payload in PAYLOADS {
                let ns = |name: &str| find(cells, mode, op, name, payload).map(Cell::median);
                let Some(ours) = ns(who) else { continue };
                let others = names.iter().filter(|name| like(who, name));
                let faster: Vec<String> = others
                    .filter_map(|name| Some((ns(name)?, name)))
                    .filter(|(theirs, _)| theirs * TIE < ours)
                    .map(|(theirs, name)| format!("{name} {theirs:.1}"))
                    .collect();
                if !faster.is_empty() {
                    let faster = faster.join(", ");
                    let _ = writeln!(
                        text,
                        "| {short}: {op} {payload}, {mode} | {ours:.1} | {faster} |"
                    );
                }
            }
        }
    }
}

/// The hardest of the aims for a column.
fn aim(op: &str, ns: &dyn Fn(&str) -> Option<f64>) -> f64 {
    let bars = AIMS.iter().filter(|aim| aim.op == op).filter_map(|aim| {
        let fastest = aim.of.iter().filter_map(|name| ns(name)).min_by(f64::total_cmp)?;
        Some(fastest * aim.ratio)
    });
    bars.min_by(f64::total_cmp).unwrap_or(f64::NAN)
}
