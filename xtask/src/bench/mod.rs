//! Time and instructions of the hot paths, in one table.
//!
//! With `--peers`, protobuf libraries instead: [`peers`], [`json`]; with `--json`, only the latter; with `--buffer` and
//! `--service`, our trace buffer and our service beside those of C++: [`buffer`], [`service`]; with `--ftrace`, events
//! of the kernel: [`ftrace`]; with `--sdk`, traced events beside those of other libraries: [`sdk`].
//!
//! The bench programs print `NAME ... N.N ns` a line, and `loop MODE COUNT` runs one mode alone, for
//! [`callgrind`]. Instructions compare between machines and runs; time is for people.

mod buffer;
mod callgrind;
mod ftrace;
mod json;
mod peers;
mod program;
mod sdk;
mod service;

use self::program::{build, inside, time_of};
use crate::ctx::{Ctx, Outcome};
use crate::{machine, report};
use std::fmt::Write as _;

/// A row: its text, the bench program, its mode as printed and as arguments of `loop`.
struct Row {
    what: &'static str,
    bench: &'static str,
    mode: &'static str,
    /// How often under callgrind; 0 for modes that cannot.
    count: u32,
    /// The unit of the instructions: a program may count other operations than it prints.
    per: &'static str,
    /// The target, in ns.
    bar: &'static str,
}

const fn row(
    what: &'static str,
    bench: &'static str,
    mode: &'static str,
    count: u32,
    per: &'static str,
    bar: &'static str,
) -> Row {
    Row { what, bench, mode, count, per, bar }
}

const ROWS: &[Row] = &[
    row("append five scalars and a 32-byte string", "wire", "encode five", 2000, "message", ""),
    row("the same, nested three deep", "wire", "encode five-nested", 2000, "message", ""),
    row(
        "append four integers and a 31-byte string (upstream's benchmark)",
        "wire",
        "encode simple",
        2000,
        "message",
        "20",
    ),
    row("the same, nested", "wire", "encode nested", 2000, "message", "83"),
    row(
        "append a track event with two annotations",
        "wire",
        "encode packet",
        2000,
        "message",
        "50",
    ),
    row("append a CommitDataRequest", "wire", "encode commit", 2000, "message", "416"),
    row("read the four integers and the string", "wire", "decode simple", 2000, "message", "39"),
    row("read the nested", "wire", "decode nested", 2000, "message", "168"),
    row("read the track event", "wire", "decode packet", 2000, "message", "51"),
    row("read the CommitDataRequest", "wire", "decode commit", 2000, "message", "517"),
    row("test packet into shared memory", "smb", "packet", 20_000, "packet", "25"),
    row("track event, hand-over included", "smb", "event", 20_000, "packet", ""),
    row("the same with a clock reading", "smb", "instant", 0, "packet", "60"),
    row("a slice: begin and end", "smb", "slice", 0, "slice", "120"),
    row("an instant with two arguments", "smb", "args", 0, "packet", "85"),
];

const BENCHES: &[(&str, &str)] = &[("pbzero", "wire"), ("tracebox-core", "smb")];

/// The text above the table.
const HOT_PATHS: &str = "\
`cargo xtask bench --record`. Time is the median of several samples and is for people; instructions
(callgrind, start-up subtracted) compare between runs. For shared memory they include the service's
copy. *Must* is the aim of the first version, from measurements of Perfetto's C++ and of its Rust
SDK on a machine of this kind: half of C++ for writing, C++ itself for reading.
";

pub fn run(ctx: &Ctx, arguments: &[String]) -> Outcome {
    let mut words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut take =
        |word| words.iter().position(|w| *w == word).map(|at| words.remove(at)).is_some();
    let (record, peers, buffer) = (take("--record"), take("--peers"), take("--buffer"));
    let (service, ftrace, sdk) = (take("--service"), take("--ftrace"), take("--sdk"));
    match (peers, buffer, service, ftrace, sdk, &words[..]) {
        (true, false, false, false, false, []) => return peers::run(ctx, record),
        (false, true, false, false, false, []) => return buffer::run(ctx, record),
        (false, false, true, false, false, rest) => return service::run(ctx, record, rest),
        (false, false, false, true, false, rest) => return ftrace::run(ctx, record, rest),
        (false, false, false, false, true, []) => return sdk::run(ctx, record),
        (false, false, false, false, false, ["--json"]) if !record => {
            ctx.log(json::table(ctx)?);
            return Ok(());
        }
        (false, false, false, false, false, []) => {}
        _ => {
            let usage = "usage: bench [--json | --peers | --buffer | --sdk | \
                         {--service | --ftrace} [--rounds N] [--only TEXT]] [--record]";
            return Err(usage.to_owned());
        }
    }
    machine::need(ctx, "valgrind", "valgrind")?;
    let mut table =
        String::from("| what | ns | instructions | for each | must, ns |\n|---|--:|--:|---|--:|\n");
    for (package, bench) in BENCHES {
        let program = build(ctx, package, bench)?;
        ctx.log(format_args!("{package} {bench}"));
        let times = ctx.output(ctx.command(&program).arg("--bench"))?;
        for row in ROWS.iter().filter(|r| r.bench == *bench) {
            let time = time_of(&times, row.mode)
                .ok_or_else(|| format!("bench {bench} says nothing of `{}`:\n{times}", row.mode))?;
            // Reading the clock calls into the kernel's page, which callgrind does not support.
            let instructions = match row.count {
                0 => String::new(),
                count => {
                    let mode: Vec<&str> = row.mode.split(' ').collect();
                    callgrind::instructions(ctx, &program, &mode, count, inside(row.mode))?
                }
            };
            let line =
                format!("| {} | {time} | {instructions} | {} | {} |", row.what, row.per, row.bar);
            ctx.log(&line);
            // Writing to a string cannot fail.
            let _ = writeln!(table, "{line}");
        }
    }
    if record { report::record(ctx, "Hot paths", &format!("{HOT_PATHS}\n{table}")) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
