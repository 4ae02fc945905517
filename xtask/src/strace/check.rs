//! The calls of one thread.

use super::allowed::{Descriptors, Mapped, SLEEP, is_allowed};
use super::line::{Call, Line, file, parse};
use std::collections::{BTreeMap, BTreeSet};

/// What a loop did.
#[derive(Debug, Default)]
pub struct Report {
    pub turns: usize,
    pub calls: usize,
    /// Mappings of files in memory that other threads made.
    pub memory_of_peers: usize,
    seen: BTreeSet<String>,
    /// Calls that are not allowed, by name and kind of file: how often, and the first one.
    refused: BTreeMap<String, (usize, String)>,
}

impl Report {
    pub fn add(&mut self, other: Self) {
        self.turns += other.turns;
        self.calls += other.calls;
        self.memory_of_peers += other.memory_of_peers;
        self.seen.extend(other.seen);
        for (kind, (count, line)) in other.refused {
            self.refused.entry(kind).or_insert((0, line)).0 += count;
        }
    }

    /// The calls that are not allowed, as a text.
    ///
    /// # Errors
    /// There are some.
    pub fn verdict(&self) -> Result<(), String> {
        if self.refused.is_empty() {
            return Ok(());
        }
        let lines = self.refused.values().map(|(count, line)| format!("{count} times: {line}"));
        Err(format!(
            "the loop may wait in these calls. Another thread has to make them, or \
             xtask/src/strace/allowed.rs has to say why they do not wait:\n{}",
            lines.collect::<Vec<_>>().join("\n")
        ))
    }

    /// Whether a loop made the call of this name.
    pub fn saw(&self, name: &str) -> bool {
        self.seen.contains(name)
    }
}

/// Looks at the log of a thread; `memory` is what the threads of its process mapped. `None` if it is not the loop's.
///
/// # Errors
/// A line cannot be read.
pub fn check(log: &str, memory: &Mapped) -> Result<Option<Report>, String> {
    let mut calls = Vec::new();
    for line in log.lines() {
        match parse(line).ok_or_else(|| format!("no line of strace: {line}"))? {
            Line::Call(call) => calls.push((call, line)),
            Line::Other => {}
        }
    }
    let sleeps = |(call, _): &(Call<'_>, &str)| SLEEP.contains(&call.name);
    let Some(first) = calls.iter().position(sleeps) else { return Ok(None) };
    // Behind the last one, it ends: then it waits for the last files.
    let last = calls.iter().rposition(sleeps).unwrap_or(first);

    let mut report = Report::default();
    let mut descriptors = Descriptors::new(memory);
    for (at, (call, line)) in calls.iter().enumerate() {
        let allowed = is_allowed(call, &descriptors);
        descriptors.note(call);
        if !(first..=last).contains(&at) {
            continue;
        }
        report.calls += 1;
        report.turns += usize::from(SLEEP.contains(&call.name));
        report.seen.insert(call.name.to_owned());
        if !allowed {
            let kind = file(call.argument(0)).unwrap_or_default();
            let kind = kind.split('[').next().unwrap_or_default();
            let kind = format!("{} {kind}", call.name);
            report.refused.entry(kind).or_insert((0, (*line).to_owned())).0 += 1;
        }
    }
    Ok(Some(report))
}
