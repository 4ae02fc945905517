//! Model checking of the shared-memory protocol: all interleavings with at most two preemptions.
//!
//! The models are a package outside the workspace, so that no crate of it depends on loom.

use crate::ctx::{Ctx, Outcome};

pub fn run(ctx: &Ctx, arguments: &[String]) -> Outcome {
    let mut command = ctx.cargo();
    command
        .args(["test", "--release", "--manifest-path", "tracing-core/loom/Cargo.toml", "--"])
        .args(arguments)
        .env("CARGO_TARGET_DIR", ctx.target("loom")?)
        .env("LOOM_MAX_PREEMPTIONS", "2")
        .env("CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS", "true");
    ctx.run(&mut command)
}
