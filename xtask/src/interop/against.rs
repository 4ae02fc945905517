//! Our tests with another service under them, and one script for both services.

use crate::ctx::{Ctx, FEATURES, Outcome};
use std::process::Command;

use super::place::Place;

/// Modules of `tracebox/tests/it` that work with either service.
const TESTS: [&str; 6] = ["sessions", "triggers", "snapshots", "tools", "strict", "scripts"];

/// Names of what is run besides the cells.
pub const NAMES: [&str; 2] = ["tests", "scenario"];

/// Runs the one called `name`.
pub fn run(ctx: &Ctx, place: &Place, name: &str) -> Outcome {
    match name {
        "tests" => tests(ctx, place),
        _ => scenario(ctx, place),
    }
}

/// Our consumer and our `trigger_perfetto` with the C++ service.
fn tests(ctx: &Ctx, place: &Place) -> Outcome {
    ctx.run(it(ctx, &TESTS).env("TRACED_UNDER_TEST", place.peer.join("traced")))
}

/// What the services emit for one script, compared packet by packet.
fn scenario(ctx: &Ctx, place: &Place) -> Outcome {
    let folder = ctx.target("interop")?.join("scenario");
    let (cpp, ours) = (folder.join("cpp"), folder.join("ours"));
    for out in [&cpp, &ours] {
        // From an earlier run.
        if out.exists() {
            std::fs::remove_dir_all(out).map_err(|e| format!("{}: {e}", out.display()))?;
        }
    }
    ctx.run(it(ctx, &["scenario"]).env("SCENARIO_OUT", &ours))?;
    let mut command = it(ctx, &["scenario"]);
    command.env("TRACED_UNDER_TEST", place.peer.join("traced"));
    ctx.run(command.env("SCENARIO_OUT", &cpp))?;
    let mut compare = ctx.command(&place.python);
    compare.arg(place.script("scenario.py")).arg(cpp).arg(ours);
    ctx.run(compare.arg(place.script("differences.txt")))
}

/// The tests of the programs, as the step before built them.
fn it(ctx: &Ctx, names: &[&str]) -> Command {
    let mut command = ctx.cargo();
    command.args(["test", "--workspace", "--test", "it"]).args(FEATURES).arg("--").args(names);
    command.env_remove("TRACED_UNDER_TEST").env_remove("SCENARIO_OUT");
    command
}
