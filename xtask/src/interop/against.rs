//! Our tests with another service under them, and one script for both services.

use crate::ctx::{Ctx, FEATURES, Outcome};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::place::Place;

/// Modules of `tracebox/tests/it` that work with either service.
const TESTS: [&str; 6] = ["sessions", "triggers", "snapshots", "tools", "strict", "scripts"];

/// Names of what is run besides the cells.
pub const NAMES: [&str; 3] = ["tests", "life", "scenario"];

/// Runs the one called `name`.
pub fn run(ctx: &Ctx, place: &Place, name: &str) -> Outcome {
    match name {
        "tests" => tests(ctx, place),
        "life" => life(ctx, place),
        _ => scenario(ctx, place),
    }
}

/// Our consumer and our `trigger_perfetto` with the C++ service.
fn tests(ctx: &Ctx, place: &Place) -> Outcome {
    ctx.run(it(ctx, &TESTS).env("TRACED_UNDER_TEST", place.peer.join("traced")))
}

/// The life of processes that tracing-sdk traces, with the C++ service: their ends and forks, its end, and loss. The
/// linter finds nothing in these traces but the loss, and the official schema reads the same as our reader.
fn life(ctx: &Ctx, place: &Place) -> Outcome {
    let folder = fresh(&ctx.target("interop")?.join("life"))?;
    let mut command = tests_called(ctx, "life");
    command.env("TRACED_UNDER_TEST", place.peer.join("traced")).env("TRACES_OUT", &folder);
    ctx.run(&mut command)?;
    for name in ["again", "exit", "first", "flood", "fork", "second", "thread-time"] {
        let trace = folder.join(name).with_extension("pftrace");
        place.lint(&trace, name == "flood").map_err(|error| format!("{name}: {error}"))?;
        place.compare(&trace, None).map_err(|error| format!("{name}: {error}"))?;
    }
    Ok(())
}

/// What the services emit for one script, compared packet by packet.
fn scenario(ctx: &Ctx, place: &Place) -> Outcome {
    let folder = ctx.target("interop")?.join("scenario");
    let (cpp, ours) = (folder.join("cpp"), folder.join("ours"));
    for out in [&cpp, &ours] {
        fresh(out)?;
    }
    ctx.run(it(ctx, &["scenario"]).env("SCENARIO_OUT", &ours))?;
    let mut command = it(ctx, &["scenario"]);
    command.env("TRACED_UNDER_TEST", place.peer.join("traced"));
    ctx.run(command.env("SCENARIO_OUT", &cpp))?;
    let mut compare = ctx.command(&place.python);
    compare.arg(place.script("scenario.py")).arg(cpp).arg(ours);
    ctx.run(compare.arg(place.script("differences.txt")))
}

/// The tests of the programs.
fn it(ctx: &Ctx, names: &[&str]) -> Command {
    let mut command = tests_called(ctx, "it");
    command.arg("--").args(names);
    command
}

/// Tests, as the step before built them.
pub fn tests_called(ctx: &Ctx, target: &str) -> Command {
    let mut command = ctx.cargo();
    command.args(["test", "--workspace", "--test", target]).args(FEATURES);
    for name in ["TRACED_UNDER_TEST", "SCENARIO_OUT", "TRACES_OUT"] {
        command.env_remove(name);
    }
    command
}

/// An empty folder, also if an earlier run left something in it.
pub fn fresh(folder: &Path) -> Result<PathBuf, String> {
    let failed = |e| format!("{}: {e}", folder.display());
    if folder.exists() {
        std::fs::remove_dir_all(folder).map_err(failed)?;
    }
    std::fs::create_dir_all(folder).map_err(failed)?;
    Ok(folder.to_path_buf())
}
