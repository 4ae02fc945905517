//! Tests under the address sanitizer, on the stable compiler: the flag is unstable, hence
//! `RUSTC_BOOTSTRAP`, and a `--target` keeps it away from build scripts and macros.

use crate::ctx::{Ctx, Outcome};

/// The only supported platform so far.
pub const TARGET: &str = "x86_64-unknown-linux-gnu";

/// `Cargo.toml` optimises this crate. Under a sanitizer that would take longer than to compile all others.
pub const UNOPTIMISED: &str = "profile.dev.package.zrip-encode.opt-level=0";

/// Features of protozero that are off by default.
const FEATURES: &str = "pbzero/dynamic,pbzero/bytes";

/// The writer with setters as calls.
const SMALL: &str = "pbzero/small,pbzero/bytes";

pub fn run(ctx: &Ctx, arguments: &[String]) -> Outcome {
    // The service has no unsafe code; the tests of `daemon` run it.
    let members = ["abi", "os", "client", "daemon"];
    let members = members.map(|name| format!("tracebox-{name}"));
    let packages = ["pbzero"].into_iter().chain(members.iter().map(String::as_str));
    let packages = packages.flat_map(|name| ["--package", name]);
    // `it` are derived messages and the daemon from outside; the others have no test of this name.
    let selection: Vec<&str> = packages.chain(["--lib", "--test", "it"]).collect();
    test(ctx, &selection, FEATURES, arguments)?;
    test(ctx, &["--package", "pbzero", "--lib"], SMALL, arguments)
}

fn test(ctx: &Ctx, selection: &[&str], features: &str, arguments: &[String]) -> Outcome {
    let mut command = ctx.cargo();
    command
        .arg("test")
        .args(selection)
        .args(["--features", features])
        // The tests are not optimised: to run they take a minute more, and to compile several less.
        .args(["--config", UNOPTIMISED])
        .args(["--target", TARGET, "--"])
        .args(arguments)
        .env("CARGO_TARGET_DIR", ctx.target("asan")?)
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTFLAGS", "-Zsanitizer=address")
        // Leaks are not reported: some mocks refer to each other, and some threads run until the process ends.
        // tracebox/tests/kill.rs checks the memory of processes.
        .env("ASAN_OPTIONS", "detect_leaks=0:detect_stack_use_after_return=1");
    ctx.run(&mut command)
}
