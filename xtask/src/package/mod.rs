//! Packages as crates.io will get them: `cargo xtask package [--release]`. Nothing is uploaded.
//!
//! ```text
//!   manifests --complete--> files of each package --> cargo publish --dry-run
//!                                                       unpacked and built in the order of publication
//! ```
//!
//! `cargo publish` checks that a package builds with nothing but its files and the packages before it. What the pages
//! of crates.io and docs.rs show is checked here, and that the licences are inside. `--release` also refuses what is
//! good enough only until the first release.

mod complete;
#[cfg(test)]
mod tests;

use crate::ctx::{Ctx, Outcome};
use complete::{Package, published};

/// # Errors
/// A package is not complete, or does not build alone.
pub fn run(ctx: &Ctx, arguments: &[String]) -> Outcome {
    let for_release = match arguments {
        [] => false,
        [flag] if flag == "--release" => true,
        _ => return Err("usage: package [--release]".to_owned()),
    };
    let packages = all(ctx)?;
    let mut findings = Vec::new();
    for package in &packages {
        let files = ctx.output(ctx.cargo().args([
            "package",
            "--list",
            "--allow-dirty",
            "--locked",
            "--package",
            &package.name,
        ]))?;
        let files: Vec<&str> = files.lines().collect();
        findings.extend(package.findings(&files, for_release));
    }
    findings.iter().for_each(|finding| ctx.log(finding));
    if !findings.is_empty() {
        return Err(format!("{} findings; the first: {}", findings.len(), findings[0]));
    }
    let mut command = ctx.cargo();
    command.args(["publish", "--workspace", "--dry-run", "--allow-dirty", "--locked"]);
    ctx.run(command.env("CARGO_TARGET_DIR", ctx.target("package")?))
}

/// All packages of the workspace that are published, in no particular order.
///
/// # Errors
/// `cargo metadata` fails.
pub fn all(ctx: &Ctx) -> Result<Vec<Package>, String> {
    let mut command = ctx.cargo();
    let text = ctx.output(command.args(["metadata", "--format-version", "1", "--no-deps"]))?;
    published(&text)
}
