//! Whether a test fails when a limit or a check of input is gone.
//!
//! All mutants are in one build of a copy below `target/mutants` ([`rewrite`]), so a mutant costs one run of the tests
//! that reach it. In `tracing-core` limits and checks are mutated, in other crates the limits of their `limits.rs`. A
//! mutant that no test finds, or whose tests do not end, needs a reason in `xtask/mutants.txt` ([`reasons`]), and a
//! reason for one that a test finds is an error, so that the file shrinks. What is found is kept ([`fates`]), so a run
//! that was ended can be continued.

mod copy;
mod fates;
mod reach;
mod reasons;
mod rewrite;
mod run;
#[allow(dead_code, reason = "the copy of the sources uses the rest")]
mod switch;

use crate::ctx::{Ctx, Outcome, read};
use crate::pool;
use fates::Fates;
use reasons::Reasons;
use rewrite::Mutant;
use run::Fate;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

const REASONS: &str = "xtask/mutants.txt";

const USAGE: &str = "usage: mutants [--list] [--in-diff REV] [--only TEXT]... [--shard K/N] [--at-most N] [--afresh]";

/// Mutants that a run of ci tests, of those that are not known: about ten minutes.
const OF_CHANGE_MAX: usize = 40;

/// Which mutants.
#[derive(Default)]
struct Selection {
    list: bool,
    /// Those on lines that differ from this revision.
    in_diff: Option<String>,
    /// Those with one of these in their name or in the path of a file; all if there is none.
    only: Vec<String>,
    /// Every `.1`th, from `.0`.
    shard: Option<(usize, usize)>,
    /// So many of those that are not known.
    at_most: Option<usize>,
    /// Forget what earlier runs found.
    afresh: bool,
}

impl Selection {
    fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut selection = Self::default();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().cloned().ok_or(USAGE);
            match word.as_str() {
                "--list" => selection.list = true,
                "--afresh" => selection.afresh = true,
                "--in-diff" => selection.in_diff = Some(value()?),
                "--at-most" => {
                    selection.at_most = Some(value()?.parse().map_err(|_| USAGE)?);
                }
                "--only" => selection.only.push(value()?),
                "--shard" => {
                    let shard = value()?;
                    let parts = shard.split_once('/').ok_or(USAGE)?;
                    let number = |text: &str| text.parse::<usize>().map_err(|_| USAGE);
                    let (at, of) = (number(parts.0)?, number(parts.1)?);
                    selection.shard = Some((at, of)).filter(|_| at < of);
                    selection.shard.ok_or("--shard K/N: K counts from 0 and is less than N")?;
                }
                _ => return Err(USAGE.to_owned()),
            }
        }
        Ok(selection)
    }

    /// Numbers of the mutants that are meant.
    fn choose(&self, ctx: &Ctx, mutants: &[Mutant]) -> Result<Vec<usize>, String> {
        let changed = match &self.in_diff {
            Some(revision) => Some(changed_lines(ctx, revision)?),
            None => None,
        };
        let is_meant = |mutant: &Mutant| {
            let has = |text: &String| {
                mutant.name.contains(text) || mutant.places.iter().any(|p| p.0.contains(text))
            };
            let only = self.only.is_empty() || self.only.iter().any(has);
            let changed = changed
                .as_ref()
                .is_none_or(|lines| mutant.places.iter().any(|place| lines.contains(place)));
            only && changed
        };
        let meant = mutants.iter().enumerate().filter(|(_, mutant)| is_meant(mutant));
        let (at, of) = self.shard.unwrap_or((0, 1));
        Ok(meant.map(|(number, _)| number).skip(at).step_by(of).collect())
    }
}

/// Those of the lines that differ from where this branch began, or else from the last commit but one; a limited number.
pub fn of_change(ctx: &Ctx) -> Outcome {
    let git = |arguments: &[&str]| {
        let output = ctx.output(ctx.command("git").args(arguments)).ok()?;
        Some(output.trim().to_owned()).filter(|output| !output.is_empty())
    };
    let Some(base) = base(git) else {
        ctx.set_not_run("there is no earlier commit to compare with".to_owned());
        return Ok(());
    };
    let at_most = OF_CHANGE_MAX.to_string();
    run(ctx, &["--in-diff", &base, "--at-most", &at_most].map(str::to_owned))
}

/// The commit that a change is compared with, if there is one. `git` returns what the command writes if it succeeds.
fn base(git: impl Fn(&[&str]) -> Option<String>) -> Option<String> {
    let head = git(&["rev-parse", "HEAD"])?;
    let began = ["origin/main", "main"]
        .iter()
        .find_map(|branch| git(&["merge-base", "HEAD", branch]).filter(|base| *base != head));
    began.or_else(|| git(&["rev-parse", "--verify", "--quiet", "HEAD~1"]))
}

pub fn run(ctx: &Ctx, arguments: &[String]) -> Outcome {
    let selection = Selection::parse(arguments)?;
    let reasons = Reasons::parse(&read(&ctx.root().join(REASONS))?)
        .map_err(|error| format!("{REASONS}: {error}"))?;
    let mutants = copy::mutants(ctx)?;
    let is_known = |name: &str| mutants.iter().any(|mutant| mutant.name == name);
    let mut findings: Vec<String> = reasons
        .unknown(is_known)
        .map(|name| format!("{REASONS}: no such mutant: {name}"))
        .collect();
    let chosen = selection.choose(ctx, &mutants)?;
    if selection.list {
        chosen.iter().for_each(|number| println!("{}", mutants[*number].name));
    } else if chosen.is_empty() {
        ctx.log("no mutant");
    } else {
        findings.extend(test(ctx, &chosen, &reasons, &selection)?);
    }
    match findings.is_empty() {
        true => Ok(()),
        false => Err(findings.join("\n")),
    }
}

/// Runs the chosen mutants. Returns what is wrong.
fn test(
    ctx: &Ctx,
    chosen: &[usize],
    reasons: &Reasons,
    selection: &Selection,
) -> Result<Vec<String>, String> {
    let (source, mutants) = copy::make(ctx)?;
    let fates =
        Fates::open(&ctx.target("mutants")?.join("fates.txt"), ctx.root(), selection.afresh)?;
    let known = |number: &usize| Some((*number, fates.of(&mutants[*number])?));
    let mut found: Vec<(usize, Fate)> = chosen.iter().filter_map(known).collect();
    let mut left: Vec<usize> =
        chosen.iter().copied().filter(|n| found.iter().all(|(other, _)| other != n)).collect();
    left.sort_by_key(|number| fates.rank(&mutants[*number]));
    ctx.log(format_args!("{} of {} mutants are known", found.len(), chosen.len()));
    let left_out = left.len().saturating_sub(selection.at_most.unwrap_or(usize::MAX));
    if left_out > 0 {
        // The next run goes on with them.
        ctx.log(format_args!("SKIPPED {left_out} of {} mutants", chosen.len()));
        left.truncate(left.len() - left_out);
    }
    if !left.is_empty() {
        let files = left.iter().flat_map(|number| &mutants[*number].places);
        let groups = files.map(|(file, _)| copy::group(file)).collect();
        let programs = run::build(ctx, &source, &groups)?;
        let done = Mutex::new((fates, 0));
        let more = Mutex::new(Vec::new());
        pool::all(&left, |_, number| {
            let (fate, mutant) = (run::run(&programs, *number)?, &mutants[*number]);
            let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
            done.0.note(mutant, &fate)?;
            done.1 += 1;
            ctx.log(format_args!("{}/{} {}: {fate:?}", done.1, left.len(), mutant.name));
            more.lock().unwrap_or_else(PoisonError::into_inner).push((*number, fate));
            Ok(())
        })?;
        found.extend(more.into_inner().unwrap_or_else(PoisonError::into_inner));
    }
    found.sort_by_key(|(number, _)| *number);
    let mut findings = Vec::new();
    let (mut killed, mut excused) = (0, 0);
    for (number, fate) in &found {
        let name = &mutants[*number].name;
        match (fate, reasons.of(name)) {
            (Fate::Killed(_), None) => killed += 1,
            (Fate::Killed(by), Some(_)) => {
                findings.push(format!("{REASONS}: {by} finds it, remove it: {name}"));
            }
            (_, Some(_)) => excused += 1,
            (Fate::Hung(by), None) => findings.push(format!("{by} does not end: {name}")),
            (Fate::Survived, None) => findings.push(format!("no test fails: {name}")),
            (Fate::NotReached, None) => findings.push(format!("no test gets there: {name}")),
        }
    }
    let all = found.len();
    ctx.log(format_args!(
        "{all} mutants: tests found {killed}; {excused} have a reason, {} are left",
        findings.len()
    ));
    Ok(findings)
}

/// Files and lines that differ from `revision`.
fn changed_lines(ctx: &Ctx, revision: &str) -> Result<BTreeSet<(String, usize)>, String> {
    let mut command = ctx.command("git");
    let diff = ctx.output(command.args(["diff", "-U0", "--no-prefix", revision, "--", "*.rs"]))?;
    Ok(lines_of(&diff))
}

/// The lines that a diff without context adds or changes.
fn lines_of(diff: &str) -> BTreeSet<(String, usize)> {
    let mut lines = BTreeSet::new();
    let mut file = "";
    for line in diff.lines() {
        if let Some(path) = line.strip_prefix("+++ ") {
            file = path;
        } else if let Some(rest) = line.strip_prefix("@@ ") {
            let added = rest.split('+').nth(1).and_then(|rest| rest.split(' ').next());
            let (from, count) = match added.unwrap_or_default().split_once(',') {
                Some((from, count)) => (from.parse(), count.parse()),
                None => (added.unwrap_or_default().parse(), Ok(1)),
            };
            let (from, count): (usize, usize) = (from.unwrap_or(0), count.unwrap_or(0));
            lines.extend((from..from + count).map(|number| (file.to_owned(), number)));
        }
    }
    lines
}

#[cfg(test)]
mod tests;
