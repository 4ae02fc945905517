//! Model checking of what the service promises: sessions that are cloned, flushed and written into files while their
//! peers leave, losses of writers, and triggers that ask for snapshots. Every order of events, and each rule left out
//! once.
//!
//! The models are a package outside the workspace, so that no crate of it depends on the checker.

use crate::ctx::{Ctx, Outcome};

pub fn run(ctx: &Ctx, arguments: &[String]) -> Outcome {
    let mut command = ctx.cargo();
    command
        .args(["test", "--release", "--manifest-path", "tracing-core/model/Cargo.toml", "--"])
        .args(arguments)
        .env("CARGO_TARGET_DIR", ctx.target("model")?);
    ctx.run(&mut command)
}
