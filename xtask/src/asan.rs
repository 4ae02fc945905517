//! Tests under the address sanitizer, on the stable compiler: the flag is unstable, hence
//! `RUSTC_BOOTSTRAP`, and a `--target` keeps it away from build scripts and macros.

use crate::ctx::{Ctx, Outcome};

/// The only supported platform so far.
pub const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Features of protozero that are off by default.
const FEATURES: &str = "protozero/dynamic,protozero/bytes";

/// The writer with setters as calls.
const SMALL: &str = "protozero/small,protozero/bytes";

pub fn run(ctx: &Ctx, arguments: &[String]) -> Outcome {
    let packages = ["protozero", "tracing-core-abi", "tracing-core-os", "tracing-core-client"];
    let more = ["tracing-core-service", "tracing-core-daemon"];
    let both = packages.iter().chain(&more).flat_map(|name| ["--package", *name]);
    let both: Vec<&str> = both.chain(["--lib"]).collect();
    test(ctx, &both, FEATURES, arguments)?;
    // Derived messages, the service and the daemon from outside.
    let outside = ["protozero", "tracing-core-service", "tracing-core-daemon"];
    let outside = outside.iter().flat_map(|name| ["--package", *name]);
    let outside: Vec<&str> = outside.chain(["--test", "it"]).collect();
    test(ctx, &outside, FEATURES, arguments)?;
    test(ctx, &["--package", "protozero", "--lib"], SMALL, arguments)
}

fn test(ctx: &Ctx, selection: &[&str], features: &str, arguments: &[String]) -> Outcome {
    let mut command = ctx.cargo();
    command
        .arg("test")
        .args(selection)
        .args(["--features", features])
        // Optimise what is tested; the generated schema is large and hardly runs.
        .args(["--config", "profile.dev.opt-level=1"])
        .args(["--config", "profile.dev.package.protos.opt-level=0"])
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
