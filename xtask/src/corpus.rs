//! Schemas that nobody here wrote: generated in all ways that the documentation names, compiled without a warning, and
//! random messages of them held against prost.
//!
//! They are in packages that ship `.proto` files: most of them of crates.io, `googleapis` of npm. Cargo fetches these
//! packages, and builds none of them.

use crate::ctx::{Ctx, Outcome};
use crate::npm::Package;
use std::process::Command;

const MANIFEST: [&str; 3] =
    ["--manifest-path", "protozero-codegen/tests/corpus/Cargo.toml", "--locked"];

/// The schemas of Google's services.
const GOOGLEAPIS: Package = Package {
    name: "google-proto-files",
    version: "6.0.1",
    integrity: "sha512-fbvUWVNh3rKGlVFWwlUNF7Sk1Tah0a89q02rLTXsWjbKKHGeuURAa8tl9rvu5TyWny1Yi\
        SIo5eDqF260Tai6vQ==",
};

pub fn run(ctx: &Ctx, _: &[String]) -> Outcome {
    let google = GOOGLEAPIS.folder(ctx, "outside/npm")?;
    // Wherever the caller has cargo build: the programs are taken from here.
    let tools = ctx.root().join("target");
    let mut command = ctx.cargo();
    command.args(["build", "--package", "pbzero-codegen", "--features", "cli", "--bins"]);
    ctx.run(command.env("CARGO_TARGET_DIR", &tools))?;
    ctx.run(ctx.cargo().arg("fetch").args(MANIFEST))?;
    let target = ctx.target("outside")?;
    let cargo = |arguments: &[&str]| -> Command {
        let mut command = ctx.cargo();
        command.args(arguments).args(MANIFEST).env("CARGO_TARGET_DIR", &target);
        command.env("CORPUS_TOOLS", tools.join("debug")).env("CORPUS_GOOGLEAPIS", &google);
        command
    };
    ctx.run(&mut cargo(&["test", "--package", "large"]))?;
    ctx.run(&mut cargo(&["test", "--package", "corpus"]))
}
