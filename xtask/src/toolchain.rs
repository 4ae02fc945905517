//! Compilers other than the one of `rust-toolchain.toml`: a nightly one for Miri and the thread sanitizer, and the
//! oldest one that our client crates promise to build with. rustup installs what is missing. `program` builds the
//! checkers that cargo installs from crates.

use crate::ctx::{Ctx, Outcome};
use std::path::{Path, PathBuf};
use std::process::Command;

pub const NIGHTLY: &str = "nightly";

/// Makes sure of a nightly compiler with Miri and the sources of the standard library.
///
/// # Errors
/// There is no such toolchain, and it cannot be installed.
pub fn nightly(ctx: &Ctx) -> Outcome {
    let miri = ctx.output(cargo(ctx, NIGHTLY).args(["miri", "--version"]));
    let sysroot = ctx.output(command(ctx, "rustc", NIGHTLY).args(["--print", "sysroot"]));
    let has_sources = sysroot.is_ok_and(|sysroot| {
        let sources = Path::new(sysroot.trim()).join("lib/rustlib/src/rust/library");
        sources.is_dir()
    });
    if miri.is_ok() && has_sources {
        return Ok(());
    }
    install(ctx, NIGHTLY, &["--component", "miri,rust-src"])
}

/// Makes sure of the released compiler `version`, such as `1.88`.
///
/// # Errors
/// It is missing and cannot be installed.
pub fn released(ctx: &Ctx, version: &str) -> Outcome {
    if ctx.output(cargo(ctx, version).arg("--version")).is_ok() {
        return Ok(());
    }
    install(ctx, version, &[])
}

/// The program `name`: the one in `PATH`, or `version` of the package of that name, built once below `target`.
/// `options` are further ones of `cargo install`.
///
/// # Errors
/// It is missing and cannot be built.
pub fn program(ctx: &Ctx, name: &str, version: &str, options: &[&str]) -> Result<PathBuf, String> {
    if crate::machine::has(name) {
        return Ok(Path::new(name).to_owned());
    }
    let folder = ctx.target("tools")?;
    let program = folder.join("bin").join(name);
    if !program.is_file() {
        let mut install = ctx.cargo();
        install.args(["install", name, "--locked", "--version", version]).args(options);
        // Nobody debugs these programs, and debug information makes the build slower.
        install.arg("--root").arg(&folder).env("CARGO_PROFILE_DEV_DEBUG", "false");
        ctx.run(&mut install)?;
    }
    Ok(program)
}

/// Makes sure of the standard library of our compiler for `target`.
///
/// # Errors
/// It is missing and cannot be installed.
pub fn target(ctx: &Ctx, target: &str) -> Outcome {
    let libraries =
        ctx.output(ctx.command("rustc").args(["--print", "target-libdir", "--target", target]));
    if libraries.is_ok_and(|folder| Path::new(folder.trim()).is_dir()) {
        return Ok(());
    }
    ctx.run(ctx.command("rustup").args(["target", "add", target]))
        .map_err(|error| format!("no standard library for `{target}` on this machine: {error}"))
}

fn install(ctx: &Ctx, toolchain: &str, components: &[&str]) -> Outcome {
    let arguments = ["toolchain", "install", toolchain, "--profile", "minimal"];
    let mut command = ctx.command("rustup");
    ctx.run(command.args(arguments).args(components))
        .map_err(|error| format!("no compiler `{toolchain}` on this machine: {error}"))
}

/// `cargo` of `toolchain`, in the root.
pub fn cargo(ctx: &Ctx, toolchain: &str) -> Command {
    command(ctx, "cargo", toolchain)
}

/// A program of `toolchain`, without what rustup has set for the one that runs us.
fn command(ctx: &Ctx, program: &str, toolchain: &str) -> Command {
    let mut command = ctx.command(program);
    for name in ["RUSTUP_TOOLCHAIN", "CARGO", "RUSTC", "RUSTDOC", "RUSTFLAGS"] {
        command.env_remove(name);
    }
    // A question must not install anything: what is missing is installed above, with its components.
    command.env("RUSTUP_AUTO_INSTALL", "0").arg(format!("+{toolchain}"));
    command
}
