//! The crates of others: licences, sources, duplicates and known advisories, by cargo-deny with `deny.toml`.
//!
//! The database of advisories is a repository in the network. Where it cannot be fetched, its check is not run, which
//! `ci` reports; the others need no network once the crates are there.

use crate::ctx::{Ctx, Outcome};
use std::path::{Path, PathBuf};

/// The version that is built where there is none.
const VERSION: &str = "0.20.2";

/// Everything.
///
/// # Errors
/// A crate is not accepted, or cargo-deny cannot be built.
pub fn run(ctx: &Ctx, _: &[String]) -> Outcome {
    known(ctx)?;
    advisories(ctx)
}

/// What needs no network: licences, sources, duplicates.
///
/// # Errors
/// A crate is not accepted, or cargo-deny cannot be built.
pub fn known(ctx: &Ctx) -> Outcome {
    deny(ctx, &["check", "bans", "licenses", "sources"])
}

/// Holes that were published, and crates that their makers gave up or took back.
///
/// # Errors
/// There is one, or cargo-deny cannot be built.
pub fn advisories(ctx: &Ctx) -> Outcome {
    if let Err(reason) = deny(ctx, &["fetch", "db"]) {
        ctx.set_not_run(format!("the database of advisories cannot be fetched: {reason}"));
        return Ok(());
    }
    deny(ctx, &["check", "--disable-fetch", "advisories"])
}

fn deny(ctx: &Ctx, arguments: &[&str]) -> Outcome {
    let mut command = ctx.command(program(ctx)?);
    ctx.run(command.args(["--workspace", "--all-features"]).args(arguments))
}

/// cargo-deny: the one in `PATH`, or one that is built once below `target`.
fn program(ctx: &Ctx) -> Result<PathBuf, String> {
    if crate::machine::has("cargo-deny") {
        return Ok(Path::new("cargo-deny").to_owned());
    }
    let folder = ctx.target("tools")?;
    let program = folder.join("bin/cargo-deny");
    if !program.is_file() {
        // It runs for seconds: to optimise it takes minutes.
        let mut install = ctx.cargo();
        install.args(["install", "--debug", "cargo-deny", "--locked", "--version", VERSION]);
        install.arg("--root").arg(&folder).env("CARGO_PROFILE_DEV_DEBUG", "false");
        ctx.run(&mut install)?;
    }
    Ok(program)
}
