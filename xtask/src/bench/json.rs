//! JSON compared: `bench/json/`, a workspace of its own, run five times.
//!
//! A cell is the median of the runs' medians. Every run first checks that all libraries read the same order.

use super::callgrind;
use super::program::median;
use crate::ctx::{Ctx, Outcome};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

const RUNS: usize = 5;
const ROUNDS: &str = "11";
const CALLGRIND_COUNT: u32 = 200;
const OPS: [&str; 2] = ["print", "parse"];
/// The operation of some libraries that has nothing to do with JSON: the length of the encoded order.
const LENGTH: &str = "length";

/// Medians of the runs in ns, by library and operation.
type Cells = BTreeMap<(String, String), Vec<f64>>;

/// The table, to be printed below those of the wire format.
pub fn table(ctx: &Ctx) -> Result<String, String> {
    let program = build(ctx)?;
    let mut cells = Cells::new();
    let mut names: Vec<String> = Vec::new();
    for run in 1..=RUNS {
        ctx.log(format_args!("JSON, run {run} of {RUNS}"));
        time(ctx, &program, &mut cells, &mut names)?;
    }
    let mut text = String::from(
        "\nJSON of an order of a shop: 2.1 KB of text, 1.3 KB of protobuf, 120 values, seven of them floats. *Bytes*\n\
         are encoded messages, with maps that prost has written in no order; *owned* are structs, which each library\n\
         makes and drops when it parses. serde_json writes 64-bit integers without quotes, and zeros.\n\n\
         | JSON: ns / instructions | print | parse |\n|---|--:|--:|\n",
    );
    let count =
        |name: &str, op| callgrind::instructions(ctx, &program, &[name, op], CALLGRIND_COUNT, None);
    for name in &names {
        let mut row = format!("| {name} |");
        for op in OPS {
            let ns = cells.get(&(name.clone(), op.to_owned())).map_or(f64::NAN, |ns| median(ns));
            // Writing to a string cannot fail, here and below.
            let _ = write!(row, " {ns:.0} / {} |", count(name, op)?);
        }
        let _ = writeln!(text, "{row}");
    }
    let mut lengths = Vec::new();
    for name in names.iter().filter(|name| cells.contains_key(&((*name).clone(), LENGTH.into()))) {
        lengths.push(format!("{name}: {}", count(name, LENGTH)?));
    }
    let lengths = lengths.join("; ");
    let _ = writeln!(text, "\n`encoded_len` of this order, instructions: {lengths}.");
    Ok(text)
}

fn build(ctx: &Ctx) -> Result<PathBuf, String> {
    let target = ctx.target("peers")?;
    let mut command = ctx.cargo();
    command.args(["build", "--release", "--quiet", "--manifest-path", "bench/json/Cargo.toml"]);
    ctx.run(command.arg("--target-dir").arg(&target))?;
    Ok(target.join("release/json-peers"))
}

fn time(ctx: &Ctx, program: &Path, cells: &mut Cells, names: &mut Vec<String>) -> Outcome {
    let output = ctx.output(ctx.command(program).args(["time", ROUNDS]))?;
    for line in output.lines() {
        let wrong = || format!("json-peers says `{line}`");
        let parts: Vec<&str> = line.split('\t').collect();
        let [name, op, ns, _] = parts[..] else { return Err(wrong()) };
        let ns = ns.parse().map_err(|_| wrong())?;
        cells.entry((name.to_owned(), op.to_owned())).or_default().push(ns);
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    Ok(())
}
