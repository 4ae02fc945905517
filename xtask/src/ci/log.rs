//! What a step's log tells: the tests that failed, those that could not run here, and its last lines.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};

/// How much of a failed step's output is repeated on the terminal.
const TAIL_BYTES: u64 = 24 * 1024;

/// Lines of what a failed test printed that the closing lines repeat.
const LINES_OF_A_TEST: usize = 12;

/// Failed tests whose output is repeated: a machine where all tests fail has the rest in the log.
const TESTS: usize = 8;

/// The whole log, or nothing if it cannot be read.
pub(super) fn text(log: &mut File) -> String {
    let mut bytes = Vec::new();
    let read = log.seek(SeekFrom::Start(0)).and_then(|_| log.read_to_end(&mut bytes));
    String::from_utf8_lossy(if read.is_ok() { &bytes } else { &[] }).into_owned()
}

/// What tests tell in a line of their own, if they find that they cannot run here.
pub(super) fn skipped(text: &str) -> impl Iterator<Item = String> + use<> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("SKIPPED ").map(str::to_owned));
    lines.collect::<BTreeSet<_>>().into_iter()
}

/// The tests that failed, each with the first lines it printed, and test programs that a signal ended. With
/// `--no-fail-fast`, many thousand lines of tests that passed come behind them.
pub(super) fn failed(text: &str) -> Vec<String> {
    let mut tests = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if line.trim_start().starts_with("process didn't exit successfully: ") {
            tests.push(line.trim_start().to_owned());
        }
        let test = line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----"));
        let Some(test) = test else { continue };
        let mut report = format!("test {test}:");
        for _ in 0..LINES_OF_A_TEST {
            let next = lines.next_if(|line| !line.starts_with("---- ") && *line != "failures:");
            let Some(line) = next else { break };
            if !line.is_empty() {
                report.push_str("\n    ");
                report.push_str(line);
            }
        }
        tests.push(report);
    }
    let more = tests.len().saturating_sub(TESTS);
    tests.truncate(TESTS);
    if more > 0 {
        tests.push(format!("and {more} more tests"));
    }
    tests
}

pub(super) fn print_tail(log: &mut File) {
    let length = log.metadata().map_or(0, |m| m.len());
    let mut tail = Vec::new();
    let from = SeekFrom::Start(length.saturating_sub(TAIL_BYTES));
    if log.seek(from).is_ok() && log.read_to_end(&mut tail).is_ok() {
        println!("{}", String::from_utf8_lossy(&tail));
    }
}
