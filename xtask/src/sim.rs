//! Simulated runs of the service, each from a seed; `tracing-core/testing` says what is checked.

use crate::ctx::{Ctx, Outcome};

pub fn run(ctx: &Ctx, arguments: &[String]) -> Outcome {
    ctx.build_workspace()?;
    let program = ctx.root().join("target/debug/simulate");
    ctx.run(ctx.command(program).args(arguments))
}
