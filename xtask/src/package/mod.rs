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

use std::fs;
use std::path::PathBuf;

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
        let [readme, root] = package.texts()?;
        findings.extend(package.findings_in(&readme, &root));
    }
    findings.iter().for_each(|finding| ctx.log(finding));
    if !findings.is_empty() {
        return Err(format!("{} findings; the first: {}", findings.len(), findings[0]));
    }
    forget_unpacked(&packages)?;
    let mut command = ctx.cargo();
    command.args(["publish", "--workspace", "--dry-run", "--allow-dirty", "--locked"]);
    ctx.run(command.env("CARGO_TARGET_DIR", ctx.target("package")?))
}

/// Removes what an earlier run unpacked: cargo unpacks a version once, and would build its old files again.
fn forget_unpacked(packages: &[Package]) -> Outcome {
    let home = std::env::home_dir().map(|home| home.join(".cargo"));
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from).or(home);
    let unpacked = home.ok_or("no home folder")?.join("registry/src");
    let Ok(registries) = fs::read_dir(&unpacked) else { return Ok(()) };
    // A registry on this machine has no host before its hash.
    for registry in registries.flatten().filter(|it| it.file_name().as_encoded_bytes()[0] == b'-') {
        for folder in fs::read_dir(registry.path()).into_iter().flatten().flatten() {
            let name = folder.file_name().to_string_lossy().into_owned();
            if packages.iter().any(|package| name.starts_with(&format!("{}-", package.name))) {
                let removed = fs::remove_dir_all(folder.path());
                removed.map_err(|error| format!("{}: {error}", folder.path().display()))?;
            }
        }
    }
    Ok(())
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
