//! A daemon under load and among liars; what is checked is `tracing-core/testing/src/bin/load`'s matter.

use crate::Outcome;
use crate::ctx::Ctx;

pub fn run(ctx: &Ctx, arguments: &[String]) -> Outcome {
    // Where answers are timed the code is what ships; the short run takes what is there.
    let profile = if arguments.iter().any(|argument| argument == "--short") {
        ctx.build_workspace()?;
        "debug"
    } else {
        let packages = ["build", "--release", "-p", "tracebox", "-p", "tracing-core-testing"];
        let targets = ["--bin", "traced", "--bin", "load"];
        ctx.run(ctx.cargo().args(packages).args(targets))?;
        "release"
    };
    let folder = ctx.root().join("target").join(profile);
    let mut command = ctx.command(folder.join("load"));
    ctx.run(command.arg("--traced").arg(folder.join("traced")).args(arguments))
}
