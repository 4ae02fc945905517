//! Tests under the address sanitizer, on the stable compiler: the flag is unstable, hence
//! `RUSTC_BOOTSTRAP`, and a `--target` keeps it away from build scripts and macros.

use crate::Outcome;
use crate::ctx::Ctx;

/// The only platform our shared memory is laid out for so far.
pub const TARGET: &str = "x86_64-unknown-linux-gnu";

/// What of protozero is off by default.
const FEATURES: &str = "protozero/dynamic,protozero/bytes";

/// The writer with all setters on the slow road.
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
        // Not leaks: test doubles that know each other in a circle, and threads that still run when
        // the tests are done, are none of ours. tracebox/tests/kill.rs watches what processes keep.
        .env("ASAN_OPTIONS", "detect_leaks=0:detect_stack_use_after_return=1");
    ctx.run(&mut command)
}
