//! libFuzzer targets. `fuzz/` has the layout of cargo-fuzz, so that tool works there as well; we
//! pass the compiler flags ourselves, because then one build serves all targets and a clean machine
//! needs no further tool.

use crate::asan::TARGET;
use crate::ctx::{Ctx, Outcome};
use crate::{machine, pool};

/// Edge coverage with comparison tracing, and the address sanitizer, as cargo-fuzz does. Not its
/// `link-dead-code`: it would compile all of the schema's code for the few messages we read.
const FLAGS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing -Zsanitizer=address";

/// Longest time one input may take, and the memory one target may use: what hangs or grows fails.
const LIMITS: &[&str] = &["-timeout=5", "-rss_limit_mb=2048", "-max_len=65536"];

pub fn run(ctx: &Ctx, arguments: &[String]) -> Outcome {
    let mut only = None;
    let mut seconds = "10".to_owned();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--seconds" => seconds = arguments.next().ok_or("--seconds needs a number")?.clone(),
            name => only = Some(name.to_owned()),
        }
    }
    seconds.parse::<u32>().map_err(|e| format!("--seconds {seconds}: {e}"))?;
    let targets = targets(ctx)?;
    if let Some(name) = &only
        && !targets.contains(name)
    {
        return Err(format!("no target `{name}`; there are: {}", targets.join(", ")));
    }
    machine::need(ctx, "c++", "g++")?;
    let folder = ctx.target("fuzz")?;
    build(ctx, &folder)?;
    let chosen = targets.iter().filter(|t| only.as_ref().is_none_or(|o| o == *t));
    // A target keeps one processor busy and no more.
    pool::all(chosen, |_, target| fuzz_one(ctx, &folder, target, &seconds))
}

/// The names of `fuzz/fuzz_targets/*.rs`, sorted.
fn targets(ctx: &Ctx) -> Result<Vec<String>, String> {
    let folder = ctx.root().join("fuzz/fuzz_targets");
    let entries = std::fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut names = Vec::new();
    for entry in entries {
        let path = entry.map_err(|e| format!("{}: {e}", folder.display()))?.path();
        if path.extension().is_some_and(|e| e == "rs") {
            names.extend(path.file_stem().map(|s| s.to_string_lossy().into_owned()));
        }
    }
    names.sort();
    Ok(names)
}

fn build(ctx: &Ctx, folder: &std::path::Path) -> Outcome {
    let mut command = ctx.cargo();
    command
        .args(["build", "--release", "--bins", "--manifest-path", "fuzz/Cargo.toml"])
        .args(["--target", TARGET])
        .env("CARGO_TARGET_DIR", folder)
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTFLAGS", FLAGS);
    ctx.run(&mut command)
}

fn fuzz_one(ctx: &Ctx, folder: &std::path::Path, target: &str, seconds: &str) -> Outcome {
    let corpus = ctx.root().join("fuzz/corpus").join(target);
    let artifacts = ctx.root().join("fuzz/artifacts").join(target);
    for place in [&corpus, &artifacts] {
        std::fs::create_dir_all(place).map_err(|e| format!("{}: {e}", place.display()))?;
    }
    let mut command = ctx.command(folder.join(TARGET).join("release").join(target));
    command
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        .args(LIMITS)
        .arg("-print_final_stats=1")
        .arg(&corpus);
    let regressions = ctx.root().join("fuzz/regressions").join(target);
    if regressions.is_dir() {
        command.arg(regressions);
    }
    ctx.run(&mut command).map_err(|error| {
        let kept = artifacts.display();
        format!("{error}\nthe input is in {kept}; it belongs into fuzz/regressions/{target}")
    })
}

#[cfg(test)]
mod tests;
