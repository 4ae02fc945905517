//! A daemon under load and with hostile producers; `tracing-core/testing/src/bin/load` says what is checked.

use std::path::Path;

use crate::ctx::{Ctx, Outcome};

/// A daemon with narrow limits among hostile users: `--minutes N`, or `--short` for a few seconds of it.
pub fn siege(ctx: &Ctx, arguments: &[String]) -> Outcome {
    let mut arguments = match arguments {
        [flag, minutes] if flag == "--minutes" => {
            let minutes: u64 = minutes.parse().map_err(|_| "--minutes N")?;
            vec!["--seconds".to_owned(), (minutes * 60).to_string()]
        }
        other => other.to_vec(),
    };
    arguments.push("--siege".to_owned());
    run(ctx, &arguments)
}

/// The siege of another program than `traced`, which starts that. Everything is built.
pub fn siege_of(ctx: &Ctx, traced: &Path, arguments: &[String]) -> Outcome {
    let mut command = ctx.command(ctx.root().join("target/debug/load"));
    ctx.run(command.arg("--traced").arg(traced).args(arguments).arg("--siege"))
}

pub fn run(ctx: &Ctx, arguments: &[String]) -> Outcome {
    // Response times are measured with release builds; the short run does not measure them.
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
