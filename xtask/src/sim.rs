//! Simulated lives of the service, each from a seed; what is checked is `tracing_core::testing`'s matter.

use crate::Outcome;
use crate::ctx::Ctx;

pub fn run(ctx: &Ctx, arguments: &[String]) -> Outcome {
    let mut command = ctx.cargo();
    command
        .args(["run", "--quiet", "--release", "--package", "tracing-core"])
        .args(["--features", "testing", "--example", "simulate", "--"])
        .args(arguments);
    ctx.run(&mut command)
}
