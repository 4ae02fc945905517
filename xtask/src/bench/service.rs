//! Our service beside the C++ one: `tracing-core/benches/service` does the work, this fetches and builds
//! what it needs.

use super::program::build;
use crate::ctx::{Ctx, Outcome};
use crate::interop::peer;
use crate::report;
use std::process::Stdio;

const INTRODUCTION: &str = "\
`cargo xtask bench --service`. `traced` and `perfetto`, ours and those of Debian's package (C++), take
turns, three rounds, medians (the scenario that drops runs 25 times in each, and shows where the middle half
of its runs lies; what is worse there is *missed* only if the medians differ by more than chance makes them, 19
times out of 20). Before both stands the same producer, a process with our SDK that writes 10-byte instants as
fast as it can and waits when shared memory (4 MB, 4 KB pages) is full; the package has no producer that writes
on demand. What is accepted was acknowledged by the service, and what fits into the 64 MiB buffer was counted in
the file. Service CPU is that of the process, all threads. Read-back begins with Ctrl-C to `perfetto` and ends
when it has gone, so that stopping and flushing are in it; *into a file* is `write_into_file`. *Must* and *aim*
are relative to the C++ column of this run where they have an x.
";

pub fn run(ctx: &Ctx, record: bool, rest: &[&str]) -> Outcome {
    let theirs = peer::programs(ctx)?;
    ctx.log("building ours, as they are distributed");
    let mut cargo = ctx.cargo();
    ctx.run(
        cargo
            .args(["build", "--profile", "dist", "--package", "tracebox"])
            .args(["--bin", "traced", "--bin", "perfetto"]),
    )?;
    let ours = ctx.root().join("target/dist");
    let service = build(ctx, "tracebox-core", "service")?;

    let mut command = ctx.command(&service);
    command.arg("--ours").arg(ours).arg("--peer").arg(theirs).args(rest);
    // Its progress.
    let sides = ctx.output(command.stderr(Stdio::inherit()))?;
    ctx.log(&sides);

    if record {
        report::record(ctx, "Service", &format!("{INTRODUCTION}\n{sides}"))
    } else {
        Ok(())
    }
}
