//! Time and instructions of the hot paths, in one table.
//!
//! The bench programs print `NAME ... N.N ns` a line, and `loop MODE COUNT` runs one mode alone: twice
//! under callgrind with different counts, and the difference is instructions without the start-up.
//! Instructions compare between machines and runs; time is for people.

use crate::Outcome;
use crate::ctx::Ctx;
use crate::machine;
use std::fmt::Write as _;
use std::path::PathBuf;

/// A row: what, the bench program, its mode as printed and as arguments of `loop`.
struct Row {
    what: &'static str,
    bench: &'static str,
    mode: &'static str,
    /// How often under callgrind; 0 for modes that cannot.
    count: u32,
    /// What one of the counted things is: the programs may count other things than they print.
    per: &'static str,
    /// The bar of the first issue, in ns.
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
    row("copy-in of a chunk, one writer", "buffer", "write-1", 20_000, "chunk", "308"),
    row("copy-in of a chunk, 1000 writers", "buffer", "write-1000", 20_000, "chunk", "478"),
    row("read-out of 64 MB", "buffer", "read", 1, "packet", "52"),
    row("patch of a late chunk", "buffer", "patch", 20_000, "patch", "30"),
    row("patch of a chunk that is not there", "buffer", "patch-absent", 20_000, "patch", "30"),
];

const BENCHES: &[(&str, &str)] =
    &[("protozero", "wire"), ("tracing-core", "smb"), ("tracing-core", "buffer")];

const DOCUMENT: &str = "docs/benchmarks.md";

pub fn run(ctx: &Ctx, arguments: &[String]) -> Outcome {
    let record = match arguments {
        [] => false,
        [flag] if flag == "--record" => true,
        _ => return Err("usage: bench [--record]".to_owned()),
    };
    machine::need(ctx, "valgrind", "valgrind")?;
    let mut table =
        String::from("| what | ns | instructions | for each | must, ns |\n|---|--:|--:|---|--:|\n");
    for (package, bench) in BENCHES {
        let program = build(ctx, package, bench)?;
        ctx.say(format_args!("{package} {bench}"));
        let times = ctx.output(ctx.command(&program).arg("--bench"))?;
        for row in ROWS.iter().filter(|r| r.bench == *bench) {
            let time = time_of(&times, row.mode)
                .ok_or_else(|| format!("bench {bench} says nothing of `{}`:\n{times}", row.mode))?;
            let instructions = instructions(ctx, &program, row)?;
            let line =
                format!("| {} | {time} | {instructions} | {} | {} |", row.what, row.per, row.bar);
            ctx.say(&line);
            // Writing to a string cannot fail.
            let _ = writeln!(table, "{line}");
        }
    }
    if record {
        write(ctx, &table)?;
    }
    Ok(())
}

/// Builds a bench program and says where it is.
fn build(ctx: &Ctx, package: &str, bench: &str) -> Result<PathBuf, String> {
    let mut command = ctx.cargo();
    command.args(["bench", "--package", package, "--bench", bench, "--no-run"]);
    let text = ctx.output(command.arg("--message-format=json"))?;
    let found = text
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter(|message| message["target"]["name"] == bench)
        .find_map(|message| message["executable"].as_str().map(PathBuf::from));
    found.ok_or_else(|| format!("cargo built no bench {bench}"))
}

/// The number before `ns` in the line that starts with `mode`.
fn time_of<'a>(times: &'a str, mode: &str) -> Option<&'a str> {
    times.lines().find_map(|line| {
        let rest = line.strip_prefix(mode).filter(|r| r.starts_with(' '))?;
        Some(rest.split_once("ns")?.0.trim())
    })
}

/// Instructions of one: twice as many minus as many, divided by the number.
fn instructions(ctx: &Ctx, program: &PathBuf, row: &Row) -> Result<String, String> {
    // The clock is read by a call into the kernel's page, which does not survive callgrind.
    if row.count == 0 {
        return Ok(String::new());
    }
    let (once, done) = callgrind(ctx, program, row.mode, row.count)?;
    let (twice, done_twice) = callgrind(ctx, program, row.mode, row.count * 2)?;
    let more = done_twice.saturating_sub(done).max(1);
    let tenths = twice.saturating_sub(once) * 10 / more;
    Ok(format!("{}.{}", tenths / 10, tenths % 10))
}

/// Instructions of a run, and how many things it did: the count, unless the program says otherwise.
fn callgrind(ctx: &Ctx, program: &PathBuf, mode: &str, count: u32) -> Result<(u64, u64), String> {
    let log = ctx.target("bench")?.join("callgrind.log");
    let mut command = ctx.command("valgrind");
    command
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(format!("--log-file={}", log.display()))
        .arg(program)
        .arg("loop")
        .args(mode.split(' '))
        .arg(count.to_string());
    let said = ctx.output(&mut command)?;
    let text = crate::ctx::read(&log)?;
    let collected = text.lines().find_map(|line| line.split_once("Collected : "));
    let instructions = collected.and_then(|(_, n)| n.trim().parse().ok());
    let instructions = instructions.ok_or_else(|| format!("callgrind says no number:\n{text}"))?;
    let done = said.split_whitespace().last().and_then(|word| word.parse().ok());
    Ok((instructions, done.unwrap_or(u64::from(count))))
}

fn write(ctx: &Ctx, table: &str) -> Outcome {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find_map(|l| l.strip_prefix("model name")).unwrap_or_default();
    let model = model.trim_start_matches([' ', '\t', ':']);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let text = format!(
        "# Benchmarks\n\n\
         Written by `cargo xtask bench --record`. Time is the median of several samples on the machine\n\
         below and is for people; instructions (callgrind, start-up subtracted) compare between runs. For\n\
         shared memory they include the service's copy, for read-out the filling of the buffer.\n\
         *Must* is the bar this version had to reach, from measurements of Perfetto's C++ and of its\n\
         Rust SDK on a machine of this kind: half of C++ for writing, C++ itself for reading and for the\n\
         buffer.\n\n\
         {cores} cores, {model}\n\n{table}"
    );
    let path = ctx.root().join(DOCUMENT);
    std::fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::time_of;

    #[test]
    fn times_are_found_by_whole_names() {
        let text =
            "encode simple 19.5 ns\nwrite-1000  478.0 ns   (best 470.1)\nwrite-1   308.2 ns\n";
        assert_eq!(time_of(text, "encode simple"), Some("19.5"));
        assert_eq!(time_of(text, "write-1"), Some("308.2"));
        assert_eq!(time_of(text, "read"), None);
    }
}
