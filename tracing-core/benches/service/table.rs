//! The medians, side by side, and whether they are what they should be.

use std::fmt::Write as _;

use crate::run::Measured;
use crate::scenario::Scenario;

/// What ours should be: in relation to the C++ one, or by itself.
enum Goal {
    None,
    /// At most so much of it: must, aim.
    AtMost(f64, f64),
    /// At least so many times of it: must, aim.
    Times(f64, f64),
    /// At least this: aim.
    Least(f64),
    /// At most this: must.
    Most(f64),
}

/// A row of the table: of which scenarios, what, and how good it should be.
struct Row {
    what: &'static str,
    of: fn(&Scenario) -> bool,
    value: fn(&Measured) -> f64,
    goal: fn(&Scenario) -> Goal,
}

fn is_small(scenario: &Scenario) -> bool {
    scenario.load.text == 0
}

fn loses(scenario: &Scenario) -> bool {
    !scenario.load.stall
}

fn is_patched(scenario: &Scenario) -> bool {
    scenario.load.text > 4096
}

/// Read-back: 10 times as fast for small packets, twice for those where bytes matter.
fn read_goal(scenario: &Scenario) -> Goal {
    match (loses(scenario) || is_patched(scenario), is_small(scenario)) {
        (true, _) => Goal::None,
        (_, true) => Goal::Times(4.0, 10.0),
        (_, false) => Goal::Times(1.0, 2.0),
    }
}

const ROWS: &[Row] = &[
    Row {
        what: "accepted, M events/s",
        of: |_| true,
        value: |m| m.accepted_m,
        goal: |s| match s.load.threads == 2 && !s.fits {
            true => Goal::Least(20.0),
            false => Goal::None,
        },
    },
    Row { what: "lost, %", of: loses, value: |m| m.lost, goal: |_| Goal::AtMost(1.0, 1.0) },
    Row {
        what: "service CPU, s per M events",
        of: |_| true,
        value: |m| m.take_ns / 1e3,
        goal: |s| if loses(s) { Goal::None } else { Goal::AtMost(1.0, 0.5) },
    },
    Row { what: "patches applied", of: is_patched, value: |m| m.patches, goal: |_| Goal::None },
    Row {
        what: "peak memory beyond the buffer, MiB",
        of: |s| !loses(s) && !is_patched(s),
        value: |m| m.beyond_mb,
        goal: |_| Goal::Most(6.0),
    },
    Row {
        what: "read-back, MB/s of file",
        of: |s| !loses(s),
        value: |m| m.read_mb,
        goal: read_goal,
    },
    Row {
        what: "read-back, service CPU, ns per packet",
        of: |s| !loses(s),
        value: |m| m.service_ns,
        goal: |_| Goal::None,
    },
    Row {
        what: "read-back, consumer CPU, ns per packet",
        of: |s| !loses(s) && !s.into_file,
        value: |m| m.consumer_ns,
        goal: |_| Goal::None,
    },
];

/// The table of all scenarios; `results` are the runs of each and of each side.
pub fn text(scenarios: &[&Scenario], results: &[Vec<Vec<Measured>>]) -> String {
    let mut text = String::from(
        "| scenario | what | ours | C++ | ratio | must | aim | |\n|---|---|--:|--:|--:|--:|--:|---|\n",
    );
    for (scenario, sides) in scenarios.iter().zip(results) {
        let mut name = scenario.name;
        for row in ROWS.iter().filter(|row| (row.of)(scenario)) {
            let cell = |side: usize| median(sides.get(side)?, row.value);
            let Some(ours) = cell(0) else { continue };
            let theirs = cell(1);
            let mut verdict = verdict(ours, theirs, &(row.goal)(scenario));
            if verdict.contains("missed") && is_level(sides, row.value) {
                verdict = verdict.replace("**missed**", "within chance");
            }
            let shown = |value: Option<f64>, side: usize| {
                let half = sides.get(side).and_then(|runs| middle_half(runs, row.value));
                let half = half.map(|(from, to)| format!(" ({} to {})", number(from), number(to)));
                value.map(number).unwrap_or_default() + &half.unwrap_or_default()
            };
            let ratio = theirs.filter(|t| *t != 0.0).map(|theirs| ours / theirs);
            let ratio = ratio.map_or(String::new(), |r| format!("{r:.2}"));
            let ours = shown(Some(ours), 0);
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "| {name} | {} | {ours} | {} | {ratio} | {verdict} |",
                row.what,
                shown(theirs, 1)
            );
            name = "";
        }
    }
    text
}

fn median(runs: &[Measured], value: fn(&Measured) -> f64) -> Option<f64> {
    let values = sorted(runs, value);
    values.get(values.len() / 2).copied()
}

fn sorted(runs: &[Measured], value: fn(&Measured) -> f64) -> Vec<f64> {
    let mut values: Vec<f64> = runs.iter().map(value).collect();
    values.sort_by(f64::total_cmp);
    values
}

/// Runs of which one can tell how far they lie apart.
const MANY: usize = 15;

/// Where the middle half of many runs lies.
fn middle_half(runs: &[Measured], value: fn(&Measured) -> f64) -> Option<(f64, f64)> {
    let values = sorted(runs, value);
    let at = |quarter: usize| values.get(values.len() * quarter / 4).copied();
    (values.len() >= MANY).then_some((at(1)?, at(3)?))
}

/// Where the median of as many runs as anybody likes would lie, 19 times out of 20: its rank is binomial.
fn median_lies(runs: &[Measured], value: fn(&Measured) -> f64) -> Option<(f64, f64)> {
    let values = sorted(runs, value);
    let half = values.len() as f64 / 2.0;
    let off = 0.98 * (values.len() as f64).sqrt();
    let at = |rank: f64| values.get((rank.max(0.0) as usize).min(values.len() - 1)).copied();
    (values.len() >= MANY).then_some((at((half - off).floor())?, at((half + off).ceil())?))
}

/// Whether so many runs of both sides do not tell which is more.
fn is_level(sides: &[Vec<Measured>], value: fn(&Measured) -> f64) -> bool {
    let lies = |side: usize| median_lies(sides.get(side)?, value);
    let (Some(ours), Some(theirs)) = (lies(0), lies(1)) else { return false };
    ours.0 <= theirs.1 && theirs.0 <= ours.1
}

fn number(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 1.0 || v == 0.0 => format!("{value:.1}"),
        _ => format!("{value:.4}"),
    }
}

/// Must, aim, and whether they are reached.
fn verdict(ours: f64, theirs: Option<f64>, goal: &Goal) -> String {
    let judged = |must: bool, aim: bool| match (must, aim) {
        (_, true) => "reached",
        (true, false) => "aim missed",
        (false, false) => "**missed**",
    };
    match (goal, theirs) {
        (Goal::None, _) | (Goal::AtMost(..) | Goal::Times(..), None) => " | | ".into(),
        (Goal::Least(aim), _) => format!(" | >= {} | {}", number(*aim), judged(true, ours >= *aim)),
        (Goal::Most(must), _) => {
            let good = ours <= *must;
            format!("<= {} | | {}", number(*must), judged(good, good))
        }
        (Goal::AtMost(must, aim), Some(theirs)) => {
            let verdict = judged(ours <= theirs * must, ours <= theirs * aim);
            format!("<= {must}x | <= {aim}x | {verdict}")
        }
        (Goal::Times(must, aim), Some(theirs)) => {
            let verdict = judged(ours >= theirs * must, ours >= theirs * aim);
            format!(">= {must}x | >= {aim}x | {verdict}")
        }
    }
}
