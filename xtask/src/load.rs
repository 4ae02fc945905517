//! A daemon under load and among liars; what is checked is `tracing-core/examples/load`'s matter.

use crate::Outcome;
use crate::ctx::Ctx;

pub fn run(ctx: &Ctx, arguments: &[String]) -> Outcome {
    ctx.build_workspace()?;
    let folder = ctx.root().join("target/debug");
    let mut command = ctx.command(folder.join("examples/load"));
    ctx.run(command.arg("--traced").arg(folder.join("traced")).args(arguments))
}
