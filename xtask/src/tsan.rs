//! Tests with several threads under the thread sanitizer. The standard library has to be compiled with it as well,
//! or what its locks and channels order would look like races; only a nightly compiler does that.

use crate::asan::{TARGET, UNOPTIMISED};
use crate::ctx::{Ctx, Outcome};
use crate::toolchain;

/// The thread that closes sockets has descriptors of its own. The sanitizer takes a number for the same descriptor in
/// all threads.
const SUPPRESSIONS: &str = "race:tracing_core_daemon::system::closer::sockets::close_sockets\n";

const SDK_FEATURES: &str = "tracebox-sdk/in-process,tracebox-sdk/log,tracebox-sdk/tracing";

pub fn run(ctx: &Ctx, arguments: &[String]) -> Outcome {
    toolchain::nightly(ctx)?;
    let target = ctx.target("tsan")?;
    let suppressions = target.join("suppressions.txt");
    std::fs::write(&suppressions, SUPPRESSIONS)
        .map_err(|error| format!("{}: {error}", suppressions.display()))?;
    let mut command = toolchain::cargo(ctx, toolchain::NIGHTLY);
    command.args(["test", "-Zbuild-std", "--target", TARGET]);
    let packages = ["tracebox-abi", "tracebox-os", "tracebox-client", "tracebox-daemon"];
    for package in packages.into_iter().chain(["tracing-core-testing"]) {
        command.args(["--package", package]);
    }
    command
        .args(["--package", "tracebox-sdk", "--features", SDK_FEATURES])
        // Not those that fork: the sanitizer loses its threads then. And not the messages of the compiler.
        .args(["--lib", "--test", "it", "--test", "in_process"])
        // Optimise what is tested; the generated schema is large and hardly runs.
        .args(["--config", "profile.dev.opt-level=1"])
        .args(["--config", "profile.dev.package.tracebox-protos.opt-level=0"])
        .args(["--config", UNOPTIMISED])
        .arg("--")
        .args(arguments)
        // Random tests and simulation, which have one thread.
        .args(["--skip", "props::", "--skip", "a_few_seeds", "--skip", "random_conversations"]);
    command
        .env("CARGO_TARGET_DIR", target)
        .env("RUSTFLAGS", "-Zsanitizer=thread")
        .env("TSAN_OPTIONS", format!("halt_on_error=1:suppressions={}", suppressions.display()))
        // Random programs of the SDK.
        .env("SDK_CASES", "50");
    ctx.run(&mut command)
}
