//! The trace buffer alone: `tracing-core/benches/buffer.rs` beside `bench/cpp/trace_buffer.cc`, which puts the
//! same load on the C++ buffers. Both know the same modes and take turns.

use super::callgrind;
use super::program::{build, inside, time_of};
use crate::ctx::{Ctx, Outcome};
use crate::{machine, report};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

const ROUNDS: usize = 3;

const INTRODUCTION: &str = "\
`cargo xtask bench --buffer`. 64 MiB, chunks of 5 to 15 fragments of 50 to 500 bytes (2.7 KB), as upstream's
`trace_buffer_benchmark.cc` has them; in *wrap* a buffer of 1 MiB that the caches hold. The C++ buffers are
compiled by clang from the sources inside the crate `perfetto-sdk-sys`. Both take turns, three rounds, each
the median of seven samples of processor time; here are the medians. *Floor* is what memory alone costs: the
same bytes moved by `memcpy`, or the same lengths walked over. Instructions are those of the operation alone
(callgrind, ours / C++). *Must* and *aim* are relative to the C++ column where they have an x.

| what | ours, ns | C++, ns | ratio | floor, ns | instructions | for each | must | aim | |
|---|--:|--:|--:|--:|--:|---|---|---|---|
";

/// What a number must not exceed.
#[derive(Clone, Copy)]
enum Bar {
    /// A multiple of the time of C++.
    Times(f64),
    Ns(f64),
    None,
}

impl Bar {
    fn holds(self, ours: f64, theirs: f64) -> bool {
        match self {
            Self::Times(times) => ours <= theirs * times,
            Self::Ns(ns) => ours <= ns,
            Self::None => true,
        }
    }

    fn text(self) -> String {
        match self {
            Self::Times(times) => format!("<= {times}x"),
            Self::Ns(ns) => format!("<= {ns} ns"),
            Self::None => String::new(),
        }
    }
}

struct Row {
    what: &'static str,
    mode: &'static str,
    floor: &'static str,
    /// Repetitions under callgrind; 0 where instructions are of little use.
    count: u32,
    per: &'static str,
    must: Bar,
    aim: Bar,
}

const fn row(
    what: &'static str,
    mode: &'static str,
    floor: &'static str,
    per: &'static str,
    must: Bar,
    aim: Bar,
) -> Row {
    let count = match per.as_bytes() {
        b"clone" => 0,
        b"packet" => 1,
        _ => 20_000,
    };
    Row { what, mode, floor, count, per, must, aim }
}

const SAME: Bar = Bar::Times(1.0);
const PATCH: (Bar, Bar) = (Bar::Ns(30.0), Bar::Ns(10.0));

const ROWS: &[Row] = &[
    row("copy-in, one writer", "write-1", "floor-write", "chunk", SAME, Bar::Times(0.8)),
    row("copy-in, 1000 writers", "write-1000", "floor-write", "chunk", SAME, Bar::Times(0.6)),
    row("copy-in, wrap", "wrap", "", "chunk", SAME, Bar::None),
    row("read-out, one writer", "read", "floor-read", "packet", SAME, Bar::Times(0.5)),
    row("read-out, 1000 writers", "read-1000", "floor-read", "packet", SAME, Bar::Times(0.5)),
    row("patch of a late chunk", "patch", "", "patch", PATCH.0, PATCH.1),
    row("patch of a chunk not there", "patch-absent", "", "patch", PATCH.0, PATCH.1),
    row("clone of 64 MiB", "clone", "", "clone", Bar::None, Bar::None),
    row("V2: copy-in, one writer", "v2-write-1", "floor-write", "chunk", SAME, Bar::Times(0.8)),
    row(
        "V2: copy-in, 1000 writers",
        "v2-write-1000",
        "floor-write",
        "chunk",
        SAME,
        Bar::Times(0.6),
    ),
    row("V2: copy-in, wrap", "v2-wrap", "", "chunk", SAME, Bar::None),
    row("V2: read-out, one writer", "v2-read", "floor-read", "packet", SAME, Bar::Times(0.5)),
    row(
        "V2: read-out, 1000 writers",
        "v2-read-1000",
        "floor-read",
        "packet",
        SAME,
        Bar::Times(0.5),
    ),
    row("V2: patch of a late chunk", "v2-patch", "", "patch", PATCH.0, PATCH.1),
    row("V2: patch of a chunk not there", "v2-patch-absent", "", "patch", PATCH.0, PATCH.1),
    row("V2: clone of 64 MiB", "v2-clone", "", "clone", Bar::None, Bar::None),
];

pub fn run(ctx: &Ctx, record: bool) -> Outcome {
    machine::need(ctx, "valgrind", "valgrind")?;
    machine::need(ctx, "clang++", "clang")?;
    let ours = build(ctx, "tracebox-core", "buffer")?;
    let theirs = build_cpp(ctx)?;
    let (mut our_times, mut their_times) = (Vec::new(), Vec::new());
    for round in 1..=ROUNDS {
        ctx.log(format_args!("round {round} of {ROUNDS}"));
        our_times.push(ctx.output(ctx.command(&ours).arg("--bench"))?);
        their_times.push(ctx.output(&mut ctx.command(&theirs))?);
    }
    let mut text = String::from(INTRODUCTION);
    for row in ROWS {
        let (ns, cpp) = (median(&our_times, row.mode)?, median(&their_times, row.mode)?);
        let floor = match row.floor {
            "" => String::new(),
            floor => format!("{:.1}", median(&our_times, floor)?),
        };
        let instructions = match row.count {
            0 => String::new(),
            count => {
                let ours =
                    callgrind::instructions(ctx, &ours, &[row.mode], count, inside(row.mode))?;
                // There a patch that finds nothing walks over all chunks.
                let count = if row.mode == "v2-patch-absent" { 20 } else { count };
                let inside = inside(row.mode).map(|_| "*Load::Read*");
                let theirs = callgrind::instructions(ctx, &theirs, &[row.mode], count, inside)?;
                format!("{ours} / {theirs}")
            }
        };
        let verdict = match (row.must, row.must.holds(ns, cpp), row.aim.holds(ns, cpp)) {
            (Bar::None, ..) => "",
            (_, false, _) => "**missed**",
            (_, true, false) => "aim missed",
            (_, true, true) => "reached",
        };
        let line = format!(
            "| {} | {ns:.1} | {cpp:.1} | {:.2} | {floor} | {instructions} | {} | {} | {} | {verdict} |",
            row.what,
            ns / cpp,
            row.per,
            row.must.text(),
            row.aim.text(),
        );
        ctx.log(&line);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{line}");
    }
    if record { report::record(ctx, "Trace buffer", &text) } else { Ok(()) }
}

/// The median time of a mode over all rounds, ns.
fn median(rounds: &[String], mode: &str) -> Result<f64, String> {
    let times = rounds.iter().map(|output| {
        let ns = time_of(output, mode).and_then(|ns| ns.parse::<f64>().ok());
        ns.ok_or_else(|| format!("no line with `{mode}` in:\n{output}"))
    });
    let mut times = times.collect::<Result<Vec<f64>, String>>()?;
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().ok_or_else(|| "no rounds".to_owned())
}

/// Compiles the C++ program, unless it is newer than its source.
fn build_cpp(ctx: &Ctx) -> Result<PathBuf, String> {
    let source = ctx.root().join("bench/cpp/trace_buffer.cc");
    let program = ctx.target("bench")?.join("trace_buffer");
    let changed = |path: &Path| path.metadata().and_then(|m| m.modified()).ok();
    if changed(&program).is_some_and(|built| changed(&source).is_some_and(|text| text < built)) {
        return Ok(program);
    }
    let mut cargo = ctx.cargo();
    cargo.args([
        "metadata",
        "--format-version=1",
        "--locked",
        "--manifest-path",
        "bench/Cargo.toml",
    ]);
    let json: serde_json::Value = serde_json::from_str(&ctx.output(&mut cargo)?)
        .map_err(|e| format!("cargo metadata: {e}"))?;
    let package = json["packages"].as_array().into_iter().flatten();
    let manifest = package
        .filter(|package| package["name"] == "perfetto-sdk-sys")
        .find_map(|package| package["manifest_path"].as_str().map(PathBuf::from))
        .ok_or("bench/ does not depend on perfetto-sdk-sys")?;
    ctx.log("building the C++ buffers (minutes, the first time)");
    let mut clang = ctx.command("clang++");
    clang.args(["-std=c++17", "-O3", "-DNDEBUG", "-w", "-fno-exceptions", "-fno-rtti"]);
    for folder in ["libperfetto_c", "include"] {
        clang.arg("-I").arg(manifest.with_file_name(folder));
    }
    ctx.run(clang.arg(source).arg("-o").arg(&program).args(["-lpthread", "-ldl"]))?;
    Ok(program)
}
