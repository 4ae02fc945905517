//! Whether interfaces fit their versions: cargo-semver-checks, against the last release.
//!
//! A release has a tag `vVERSION`. Without one there is nothing to compare with, which is reported as not run.

use crate::ctx::{Ctx, Outcome};
use crate::{package, toolchain};

/// The version that is built where there is none.
const VERSION: &str = "0.51.0";

/// # Errors
/// An interface changed more than its version says, or cargo-semver-checks cannot be built.
pub fn run(ctx: &Ctx, _: &[String]) -> Outcome {
    let mut describe = ctx.command("git");
    describe.args(["describe", "--tags", "--abbrev=0", "--match", "v[0-9]*"]);
    let Ok(tag) = ctx.output(&mut describe) else {
        let reason = "there is no tag `v*`, so there is no release to compare interfaces with";
        ctx.log(reason);
        ctx.set_not_run(reason.to_owned());
        return Ok(());
    };
    let tag = tag.trim();
    let program = toolchain::program(ctx, "cargo-semver-checks", VERSION, &[])?;
    let target = ctx.target("semver")?;
    for package in package::all(ctx)? {
        // Packages that are newer than the release have no interface there.
        let line = format!("name = \"{}\"", package.name);
        let mut find = ctx.command("git");
        find.args(["grep", "--quiet", "--fixed-strings", "--line-regexp", &line, tag, "--"]);
        if ctx.run(find.arg("*Cargo.toml")).is_err() || !package.is_library() {
            ctx.log(format_args!("{} is not compared", package.name));
            continue;
        }
        let mut check = ctx.command(&program);
        check.args(["semver-checks", "--package", &package.name, "--baseline-rev", tag]);
        ctx.run(check.env("CARGO_TARGET_DIR", &target))?;
    }
    Ok(())
}
