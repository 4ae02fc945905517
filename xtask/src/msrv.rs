//! Builds each crate that promises an older compiler than ours (`rust-version` in its `Cargo.toml`) with that one, and
//! the client for other machines.

use crate::ctx::{Ctx, Outcome, read};
use crate::toolchain;
use serde_json::Value;
use std::collections::BTreeMap;

/// Crates that are checked with some of their features, and these: two promise their compiler without the service, and
/// the areas of the schema are generated in the same way, so one shows what all are.
const IN_PART: [(&str, &str); 3] = [
    ("tracebox-core", "consumer"),
    ("tracebox-protos", "chrome,descriptor-set,readers,text"),
    ("tracebox-sdk", "derive,log,session,text,tracing"),
];

/// A package that needs a newer compiler with some of its features, these, and the package that it then has the promise
/// of. [`GUIDE`] tells its users to switch one of them on.
const WITH_SERVICE: (&str, &str, &str) =
    ("tracebox-sdk", "derive,in-process,log,text,tracing", "tracebox-daemon");

/// Where a newcomer reads which compiler is needed.
const GUIDE: &str = "docs/sdk.md";

/// A machine with 32 bits, and one with another instruction set: nothing else here is compiled for them.
const OTHER_MACHINES: [&str; 2] = ["i686-unknown-linux-gnu", "aarch64-unknown-linux-gnu"];

pub fn run(ctx: &Ctx, _: &[String]) -> Outcome {
    for (version, packages) in promised(ctx)? {
        toolchain::released(ctx, &version)?;
        let check = |packages: &[&str], features: &[&str]| {
            let mut command = toolchain::cargo(ctx, &version);
            command.args(["check", "--locked"]).args(features);
            command.args(packages.iter().flat_map(|package| ["--package", *package]));
            ctx.run(command.env("CARGO_TARGET_DIR", ctx.target("msrv")?))
        };
        let features_of = |package: &str| IN_PART.iter().find(|(name, _)| *name == package);
        let names = packages.iter().map(String::as_str);
        let others: Vec<&str> = names.filter(|name| features_of(name).is_none()).collect();
        check(&others, &["--all-features"])?;
        for (package, features) in packages.iter().filter_map(|package| features_of(package)) {
            check(&[package], &["--no-default-features", "--features", features])?;
        }
        let (package, features, like) = WITH_SERVICE;
        if packages.iter().any(|package| package == like) {
            check(&[package], &["--no-default-features", "--features", features])?;
            check_guide(&read(&ctx.root().join(GUIDE))?, &version)?;
        }
    }
    for machine in OTHER_MACHINES {
        toolchain::target(ctx, machine)?;
        let mut command = ctx.cargo();
        command.args(["check", "--locked", "--package", "tracebox-client", "--all-features"]);
        ctx.run(command.args(["--target", machine]).env("CARGO_TARGET_DIR", ctx.target("msrv")?))?;
    }
    Ok(())
}

/// Checks that the guide names the compiler that its first example needs.
fn check_guide(guide: &str, version: &str) -> Outcome {
    let short = version.strip_suffix(".0").unwrap_or(version);
    let text = format!("Rust {short} or later");
    match guide.contains(&text) {
        true => Ok(()),
        false => Err(format!("{GUIDE} does not say {text:?}, which its first example needs")),
    }
}

/// Installs the compilers, and the standard libraries of other machines.
///
/// # Errors
/// One of them is missing and cannot be installed.
pub fn install(ctx: &Ctx) -> Outcome {
    promised(ctx)?.keys().try_for_each(|version| toolchain::released(ctx, version))?;
    OTHER_MACHINES.iter().try_for_each(|machine| toolchain::target(ctx, machine))
}

/// Versions older than the one of `rust-toolchain.toml`, and the crates that promise them.
fn promised(ctx: &Ctx) -> Result<BTreeMap<String, Vec<String>>, String> {
    let file = read(&ctx.root().join("rust-toolchain.toml"))?;
    let ours = file.lines().find_map(|line| line.strip_prefix("channel = "));
    let ours = parts(ours.ok_or("rust-toolchain.toml has no channel")?.trim_matches('"'));
    let mut command = ctx.cargo();
    let text = ctx.output(command.args(["metadata", "--format-version", "1", "--no-deps"]))?;
    let metadata: Value = serde_json::from_str(&text).map_err(|e| format!("metadata: {e}"))?;
    let mut promised: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in metadata["packages"].as_array().ok_or("metadata without packages")? {
        let name = package["name"].as_str().unwrap_or_default();
        let Some(version) = package["rust_version"].as_str() else {
            return Err(format!("{name}/Cargo.toml has no rust-version"));
        };
        let parts = parts(version);
        if parts < ours {
            // `1.88` promises 1.88.0; rustup would take it for the last of its patches.
            let exact = parts.map(|part| part.to_string()).join(".");
            promised.entry(exact).or_default().push(name.to_owned());
        }
    }
    if promised.is_empty() {
        return Err("no crate has a `rust-version` older than rust-toolchain.toml".to_owned());
    }
    Ok(promised)
}

/// `1.95.0` or `1.95` as numbers.
fn parts(version: &str) -> [u32; 3] {
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
    std::array::from_fn(|_| parts.next().unwrap_or(0))
}
