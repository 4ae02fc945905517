//! Checks that all tests of the C++ sources have a counterpart here. `xtask/parity/*.txt` lists their names, one suite
//! per file.
//!
//! ```text
//! # what it is, and the upstream file
//! in tracing-core/service/src/buffer      folders of its tests here, one per line
//! as v1                           optional: a module or the first word of the function has this name
//!
//! ReadWrite_EmptyBuffer           found as `#[test] fn read_write_empty_buffer`
//! ```
//!
//! A test without a counterpart has a row in the section [`EXCUSES`] of `docs/differences.md`: suite, names, reason.
//! Only names are compared, without underscores. Whether two tests check the same thing is for reviewers.

mod here;
#[cfg(test)]
mod tests;

use crate::ctx::{Ctx, Outcome, read};
use here::{Suite, Test};
use std::collections::BTreeMap;

const LISTS: &str = "xtask/parity";
const DOCUMENT: &str = "docs/differences.md";
/// The section of [`DOCUMENT`] with the table of missing tests and reasons.
const EXCUSES: &str = "## Upstream tests without a counterpart";

/// Reasons by suite and test.
type Excuses = BTreeMap<(String, String), String>;

/// The result for a suite.
#[derive(Debug, Default, PartialEq, Eq)]
struct SuiteResult {
    here: usize,
    excused: usize,
    missing: Vec<String>,
    /// Tests with a reason although they have a counterpart.
    stale: Vec<String>,
}

pub fn run(ctx: &Ctx, arguments: &[String]) -> Outcome {
    let mut suites = suites(ctx)?;
    let excuses = excuses(&read(&ctx.root().join(DOCUMENT))?)?;
    let mut faults = unknown(&suites, &excuses);
    if let [name] = arguments {
        suites.retain(|s| s.name == *name);
    }
    if suites.is_empty() || arguments.len() > 1 {
        return Err(format!("usage: parity [SUITE]; the suites are {LISTS}/*.txt"));
    }
    let tests = here::tests(ctx, &suites)?;
    let (mut found, mut all) = (0, 0);
    for suite in &suites {
        let standing = compare(suite, &tests, &excuses);
        let covered = standing.here + standing.excused;
        (found, all) = (found + covered, all + suite.tests.len());
        let excused = match standing.excused {
            0 => String::new(),
            some => format!(", {some} of them excused"),
        };
        ctx.log(format_args!("{:<14} {covered} of {}{excused}", suite.name, suite.tests.len()));
        standing.missing.iter().for_each(|name| ctx.log(format_args!("  missing: {name}")));
        for name in standing.stale {
            faults.push(format!("{DOCUMENT} excuses {} {name}, which is here", suite.name));
        }
    }
    ctx.log(format_args!("parity: {found} of {all} ({} %)", found * 100 / all.max(1)));
    if found < all {
        faults.push(format!("{} tests are missing", all - found));
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

fn suites(ctx: &Ctx) -> Result<Vec<Suite>, String> {
    let folder = ctx.root().join(LISTS);
    let entries = std::fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut suites = Vec::new();
    for entry in entries {
        let path = entry.map_err(|e| format!("{}: {e}", folder.display()))?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        suites.push(suite(name, &read(&path)?)?);
    }
    suites.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(suites)
}

fn suite(name: String, text: &str) -> Result<Suite, String> {
    let mut suite = Suite { name, folders: Vec::new(), variant: None, tests: Vec::new() };
    for line in text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#')) {
        match line.split_once(' ') {
            Some(("in", folder)) => suite.folders.push(folder.to_owned()),
            Some(("as", variant)) => suite.variant = Some(variant.to_owned()),
            Some(_) => return Err(format!("{}: `{line}`", suite.name)),
            None if suite.tests.iter().any(|t| t == line) => {
                return Err(format!("{}: {line} twice", suite.name));
            }
            None => suite.tests.push(line.to_owned()),
        }
    }
    Ok(suite)
}

/// The rows `| suite | `Test`, `Other` | why |` of the section.
fn excuses(document: &str) -> Result<Excuses, String> {
    let mut excuses = Excuses::new();
    let Some((_, section)) = document.split_once(EXCUSES) else { return Ok(excuses) };
    let section = section.split("\n## ").next().unwrap_or_default();
    for line in section.lines().filter(|l| l.starts_with('|')) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [suite, names, why] = cells[..] else {
            return Err(format!("{DOCUMENT}: three columns are wanted: {line}"));
        };
        if suite == "suite" || suite.starts_with('-') {
            continue;
        }
        let names: Vec<&str> = names.split('`').skip(1).step_by(2).collect();
        if why.is_empty() || names.is_empty() {
            return Err(format!("{DOCUMENT}: names in backticks and a reason are wanted: {line}"));
        }
        for name in names {
            let key = (suite.trim_matches('`').to_owned(), name.to_owned());
            excuses.insert(key, why.to_owned());
        }
    }
    Ok(excuses)
}

/// Tests with a reason that are in no list.
fn unknown(suites: &[Suite], excuses: &Excuses) -> Vec<String> {
    let listed = |suite: &str, name: &str| {
        suites.iter().any(|s| s.name == suite && s.tests.iter().any(|t| t == name))
    };
    let unknown = excuses.keys().filter(|(suite, name)| !listed(suite, name));
    unknown.map(|(suite, name)| format!("{DOCUMENT}: suite {suite} has no {name}")).collect()
}

fn compare(suite: &Suite, tests: &[Test], excuses: &Excuses) -> SuiteResult {
    let mut standing = SuiteResult::default();
    for name in &suite.tests {
        let here = tests.iter().any(|test| is_counterpart(suite, name, test));
        let excused = excuses.contains_key(&(suite.name.clone(), name.clone()));
        match (here, excused) {
            (true, false) => standing.here += 1,
            (false, true) => standing.excused += 1,
            (false, false) => standing.missing.push(name.clone()),
            (true, true) => {
                standing.here += 1;
                standing.stale.push(name.clone());
            }
        }
    }
    standing
}

fn is_counterpart(suite: &Suite, name: &str, test: &Test) -> bool {
    let mut own = test.name.as_str();
    let by_prefix = suite.variant.as_ref().and_then(|v| own.strip_prefix(&format!("{v}_")));
    let variant = match &suite.variant {
        Some(_) if by_prefix.is_some() => {
            own = by_prefix.unwrap_or(own);
            true
        }
        Some(variant) => test.modules.iter().any(|m| m.split('_').any(|part| part == variant)),
        None => true,
    };
    variant
        && plain(own) == plain(name)
        && suite.folders.iter().any(|folder| test.file.starts_with(folder.as_str()))
}

/// A name without underscores, in lower case: how names are split into words (`SMB`, `End2End`) is not compared.
fn plain(name: &str) -> String {
    name.chars().filter(|c| *c != '_').map(|c| c.to_ascii_lowercase()).collect()
}
