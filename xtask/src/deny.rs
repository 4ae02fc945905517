//! The crates of others: licences, sources, duplicates and known advisories, by cargo-deny with `deny.toml`.
//!
//! The database of advisories is a repository in the network. Where it cannot be fetched, its check is not run, which
//! `ci` reports; the others need no network once the crates are there.

use crate::ctx::{Ctx, Outcome};
use crate::toolchain;

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
    // Its check takes two seconds without optimisation; optimised, it is minutes slower to build.
    let program = toolchain::program(ctx, "cargo-deny", VERSION, &["--debug"])?;
    let mut command = ctx.command(program);
    ctx.run(command.args(["--workspace", "--all-features"]).args(arguments))
}
