//! `protozero/tests/no_std` is a static library with its own panic handler and no allocator. It
//! proves more than `cargo check --no-default-features` can: with std anywhere in the graph, the
//! two panic handlers clash.

use crate::Outcome;
use crate::ctx::Ctx;

pub fn run(ctx: &Ctx, _: &[String]) -> Outcome {
    let mut command = ctx.cargo();
    command
        .args(["build", "--release", "--manifest-path", "protozero/tests/no_std/Cargo.toml"])
        .env("CARGO_TARGET_DIR", ctx.target("no_std")?);
    ctx.run(&mut command)
}
