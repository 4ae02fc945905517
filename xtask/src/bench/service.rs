//! Our service beside the C++ one: `tracing-core/benches/service` does the work, this fetches and builds
//! what it needs. Below stands what the buffer by itself costs, for which there is no C++ program to run.

use super::{build, callgrind, inside, time_of};
use crate::Outcome;
use crate::ctx::Ctx;
use crate::interop::peer;
use crate::{machine, report};
use std::fmt::Write as _;
use std::process::Stdio;

const INTRODUCTION: &str = "\
`cargo xtask bench --service`. `traced` and `perfetto`, ours and those of Debian's package (C++), take
turns, three rounds, medians (the scenario that drops runs five times in each). Before both stands the
same producer, a process with our SDK that writes 10-byte instants as fast as it can and waits when shared
memory (4 MB, 4 KB pages) is full; the package has no producer that writes on demand. What is accepted was
acknowledged by the service, and what fits into the 64 MiB buffer was counted in the file. Service CPU is
that of the process, all threads. Read-back begins with Ctrl-C to `perfetto` and ends when it has gone, so
that stopping and flushing are in it; *into a file* is `write_into_file`. *Must* and *aim* are relative to
the C++ column of this run where they have an x.
";

const BUFFER: &str = "\
The buffer alone: 64 MiB, chunks of 5 to 15 fragments of 50 to 500 bytes (2.7 KB), as upstream's
`trace_buffer_benchmark.cc` has them. That program is in no package, so *C++ elsewhere* was measured on
another day, on a machine of this kind with a memory up to two times as fast or as slow; what can be
compared is the *floor*: the same bytes moved by `memcpy` alone, or the same lengths walked over, in this
run. Instructions are those of the operation alone (callgrind).

| what | ns | floor, ns | instructions | for each | C++ elsewhere, ns | aim |
|---|--:|--:|--:|---|--:|---|
";

/// What, mode of the bench, mode of its floor, count for callgrind, unit, C++ V1 or V2, aim.
type Row =
    (&'static str, &'static str, &'static str, u32, &'static str, &'static str, &'static str);

const ROWS: &[Row] = &[
    ("copy-in, one writer", "write-1", "floor-write", 20_000, "chunk", "308", "<= 0.8x"),
    ("copy-in, 1000 writers", "write-1000", "floor-write", 20_000, "chunk", "478", "<= 0.6x"),
    ("read-out, one writer", "read", "floor-read", 1, "packet", "52", "<= 0.5x"),
    ("read-out, 1000 writers", "read-1000", "floor-read", 1, "packet", "52", "<= 0.5x"),
    ("patch of a late chunk", "patch", "", 20_000, "patch", "26 to 32", "<= 10 ns"),
    ("patch of a chunk not there", "patch-absent", "", 20_000, "patch", "30", "<= 10 ns"),
    ("V2: copy-in, one writer", "v2-write-1", "floor-write", 20_000, "chunk", "447", "<= 0.8x"),
    (
        "V2: copy-in, 1000 writers",
        "v2-write-1000",
        "floor-write",
        20_000,
        "chunk",
        "473",
        "<= 0.6x",
    ),
    ("V2: read-out, one writer", "v2-read", "floor-read", 1, "packet", "51", "<= 0.5x"),
    ("V2: patch of a late chunk", "v2-patch", "", 20_000, "patch", "7 to 25", "<= 10 ns"),
    ("V2: patch of a chunk not there", "v2-patch-absent", "", 20_000, "patch", "12011", "<= 10 ns"),
];

pub fn run(ctx: &Ctx, record: bool, rest: &[&str]) -> Outcome {
    machine::need(ctx, "valgrind", "valgrind")?;
    let theirs = peer::programs(ctx)?;
    ctx.say("building ours, in release");
    let mut cargo = ctx.cargo();
    ctx.run(
        cargo
            .args(["build", "--release", "--package", "tracebox"])
            .args(["--bin", "traced", "--bin", "perfetto"]),
    )?;
    let ours = ctx.root().join("target/release");
    let service = build(ctx, "tracing-core", "service")?;
    let buffer = build(ctx, "tracing-core", "buffer")?;

    let mut command = ctx.command(&service);
    command.arg("--ours").arg(ours).arg("--peer").arg(theirs).args(rest);
    // Its progress.
    let sides = ctx.output(command.stderr(Stdio::inherit()))?;
    ctx.say(&sides);

    let mut text = format!("{INTRODUCTION}\n{sides}\n{BUFFER}");
    ctx.say("the buffer alone");
    let times = ctx.output(ctx.command(&buffer).arg("--bench"))?;
    let time = |mode| time_of(&times, mode).unwrap_or_default();
    for (what, mode, floor, count, per, theirs, aim) in ROWS {
        let instructions = callgrind::instructions(ctx, &buffer, &[mode], *count, inside(mode))?;
        let (ns, floor) = (time(mode), time(floor));
        let line =
            format!("| {what} | {ns} | {floor} | {instructions} | {per} | {theirs} | {aim} |");
        ctx.say(&line);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{line}");
    }
    if record { report::record(ctx, "Service", &text) } else { Ok(()) }
}
