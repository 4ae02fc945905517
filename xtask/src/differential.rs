//! Passes random messages of every construct through our code and through other libraries.
//!
//! `conformance/differential` has the schema, the libraries and the checks; this file has only the number of messages.

use crate::ctx::{Ctx, Outcome};

/// Messages per check. With three message types of proto2 and proto3 and four of edition 2023, six checks of values,
/// two of text and one or two of bytes, that is about 40,000.
const CASES: &str = "600";

pub fn run(ctx: &Ctx, arguments: &[String]) -> Outcome {
    let cases = match arguments {
        [] => CASES,
        [flag, number] if flag == "--cases" => number,
        _ => return Err("usage: differential [--cases N]".to_owned()),
    };
    cases.parse::<u32>().map_err(|e| format!("--cases {cases}: {e}"))?;
    let mut command = ctx.cargo();
    command
        .args(["test", "--no-fail-fast", "--manifest-path", "conformance/Cargo.toml"])
        .args(["--package", "differential"])
        .env("DIFFERENTIAL_CASES", cases)
        .env("CARGO_TARGET_DIR", ctx.target("conformance")?);
    ctx.run(&mut command)
}
