//! The programs that are measured: building one, and reading its output.

use crate::ctx::Ctx;
use std::path::PathBuf;

/// Builds a bench program and says where it is.
pub fn build(ctx: &Ctx, package: &str, bench: &str) -> Result<PathBuf, String> {
    let mut command = ctx.cargo();
    // The profile of the programs, so that what both use is built once.
    command.args(["build", "--profile", "dist", "--package", package, "--bench", bench]);
    let text = ctx.output(command.arg("--message-format=json"))?;
    let found = text
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter(|message| message["target"]["name"] == bench)
        .find_map(|message| message["executable"].as_str().map(PathBuf::from));
    found.ok_or_else(|| format!("cargo built no bench {bench}"))
}

/// The function of `buffer` that a mode is about, if the rest of the mode is not: filling what is read.
pub fn inside(mode: &str) -> Option<&'static str> {
    let of = [("floor-read", "*Floor*::read"), ("read", "*Load*::read")];
    of.into_iter().find_map(|(part, function)| mode.contains(part).then_some(function))
}

/// The number before `ns` in the line that starts with `mode`.
pub fn time_of<'a>(times: &'a str, mode: &str) -> Option<&'a str> {
    times.lines().find_map(|line| {
        let rest = line.strip_prefix(mode).filter(|r| r.starts_with(' '))?;
        Some(rest.split_once("ns")?.0.trim())
    })
}

/// The middle one; of two in the middle, the larger. NaN of none.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}
