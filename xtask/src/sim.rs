//! Simulated lives of the service, each from a seed; what is checked is `tracing-core/testing`'s matter.

use crate::Outcome;
use crate::ctx::Ctx;

pub fn run(ctx: &Ctx, arguments: &[String]) -> Outcome {
    ctx.build_workspace()?;
    let program = ctx.root().join("target/debug/simulate");
    ctx.run(ctx.command(program).args(arguments))
}
