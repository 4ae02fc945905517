//! `tracebox lint` and `tracebox stats`: mistakes in a trace, and what it consists of.
//!
//! `tracing-file` reads the trace; here are the command lines, the text and the JSON.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Read, Write};

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use clap::{CommandFactory, Parser};
use tracing_file::json::Json;
use tracing_file::lint::{Report, lint_within};
use tracing_file::read::{Finding, MEMORY_MAX, Problem, Severity};
use tracing_file::stats;
use tracing_file::timeline::track_path;

use crate::cli;
use crate::console;
use crate::console::count;
use crate::failure::{Ending, Failure};
use crate::trace::input;

/// Exit code: there are findings that count, or no packet at all.
const EXIT_FINDINGS: u8 = 1;

/// Exit code: the file cannot be read, or not to its end.
const EXIT_UNREADABLE: u8 = 2;

/// Findings that JSON lists. All are counted.
const JSON_FINDINGS_MAX: usize = 10_000;

/// Bytes of the paths of tracks that JSON lists. The findings behind them are counted.
const JSON_PATHS_BYTES_MAX: usize = 4 << 20;

/// Findings of one kind that are printed as lines. All are counted.
const LINES_MAX: u64 = 10;

/// Rows of each part of a table.
const ROWS: usize = 20;

/// Finds what readers of a trace drop, refuse or confuse
#[derive(Parser, Debug)]
#[command(name = "lint", disable_help_subcommand = true)]
#[command(
    after_help = "Each finding is a line: packet and byte, severity, name, and what to do about it.\n\
    Exit code: 1 with findings of the severity of --fail-on or worse, or if the trace is empty; 2 if the file\n\
    cannot be read to its end; else 0."
)]
struct LintArgs {
    /// The trace; - for stdin
    #[arg(value_name = "FILE")]
    file: OsString,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// Print all findings, not only the first ten of each name
    #[arg(long)]
    all: bool,
    /// The least severity that makes the exit code 1
    #[arg(long, value_name = "SEVERITY", default_value = "warning", value_parser = severity())]
    fail_on: Severity,
}

/// Counts packets by kind and sequence, losses, and slices by name
#[derive(Parser, Debug)]
#[command(name = "stats", disable_help_subcommand = true)]
#[command(after_help = "Exit code: 0, or 2 if the file, or a part of it, cannot be read.")]
struct StatsArgs {
    /// The trace; - for stdin
    #[arg(value_name = "FILE")]
    file: OsString,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// The command line of `tracebox lint`, for manual pages and completions.
#[must_use]
pub fn lint_command() -> clap::Command {
    LintArgs::command()
}

/// The command line of `tracebox stats`.
#[must_use]
pub fn stats_command() -> clap::Command {
    StatsArgs::command()
}

/// `tracebox lint`.
///
/// # Errors
/// One line about what cannot be read or written.
pub fn lint_main(name: &str, words: &[OsString]) -> Ending {
    let Some(args) = cli::parse::<LintArgs>(name, words)? else { return Ok(0) };
    let (shown, input) = input::open(&args.file).map_err(unfinished)?;
    let mut out = io::BufWriter::new(io::stdout().lock());
    let (report, written) = lint_to(&mut out, input, &args);
    console::check_stdout(written).map_err(unfinished)?;
    match &report.error {
        Some(error) => Err(unfinished(Failure::new(format_args!("{shown}: {error}")))),
        None if is_good(&report, args.fail_on) => Ok(0),
        None => Ok(EXIT_FINDINGS),
    }
}

/// Reads a severity by its name.
fn severity() -> impl clap::builder::TypedValueParser<Value = Severity> {
    let names = PossibleValuesParser::new(Severity::ALL.map(Severity::name));
    names.try_map(|name| {
        Severity::ALL.into_iter().find(|it| it.name() == name).ok_or("not a severity")
    })
}

/// Whether the trace has packets, and its findings are less severe than `fail_on`.
fn is_good(report: &Report, fail_on: Severity) -> bool {
    report.packets > 0 && report.worst() < Some(fail_on)
}

/// `tracebox stats`.
///
/// # Errors
/// As [`lint_main`].
pub fn stats_main(name: &str, words: &[OsString]) -> Ending {
    let Some(args) = cli::parse::<StatsArgs>(name, words)? else { return Ok(0) };
    let (shown, input) = input::open(&args.file).map_err(unfinished)?;
    let stats = stats::stats(input);
    let text = if args.json { stats.json(ROWS) } else { stats.table(ROWS) };
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    console::check_stdout(written).map_err(unfinished)?;
    match stats.error {
        None => Ok(0),
        Some(error) => Err(unfinished(Failure::new(format_args!("{shown}: {error}")))),
    }
}

/// A failure of what was not read, or not written, to its end.
fn unfinished(failure: Failure) -> Failure {
    failure.with_code(EXIT_UNREADABLE)
}

/// Writes the findings of a trace to `out`, as lines or as JSON.
fn lint_to(out: &mut impl Write, input: impl Read, args: &LintArgs) -> (Report, io::Result<()>) {
    let mut written = Ok(());
    let (mut listed, mut path_bytes) = (Vec::new(), 0);
    let mut printed = BTreeMap::<Problem, u64>::new();
    let report = lint_within(input, MEMORY_MAX, |finding, tracks| {
        let path = || finding.track().and_then(|uuid| track_path(tracks, uuid));
        if args.json {
            if listed.len() < JSON_FINDINGS_MAX && path_bytes < JSON_PATHS_BYTES_MAX {
                let path = path();
                path_bytes += path.as_ref().map_or(0, String::len);
                listed.push((*finding, path));
            }
            return;
        }
        let printed = printed.entry(finding.problem).or_default();
        if written.is_ok() && (args.all || *printed < LINES_MAX) {
            *printed += 1;
            written = writeln!(out, "{}", line(finding, path()));
        }
    });
    if args.json {
        written = out.write_all(report_json(&report, &listed).as_bytes());
    } else if written.is_ok() {
        written = write_end(out, &report, &printed);
    }
    (report, written.and_then(|()| out.flush()))
}

/// Writes what was not printed, and the sum of all.
fn write_end(
    out: &mut impl Write,
    report: &Report,
    printed: &BTreeMap<Problem, u64>,
) -> io::Result<()> {
    for (problem, count) in &report.counts {
        let more = count.saturating_sub(printed.get(problem).copied().unwrap_or(0));
        if more > 0 {
            writeln!(
                out,
                "{more} more: {}: {} (--all)",
                problem.severity().name(),
                problem.name()
            )?;
        }
    }
    let read = format!("{}, {}", count(report.packets, "packet"), count(report.events, "event"));
    match (report.findings(), report.worst()) {
        _ if report.packets == 0 && report.error.is_none() => {
            writeln!(out, "{read}: the trace is empty; its recorder ended before it wrote a packet")
        }
        (0, _) | (_, None) => writeln!(out, "{read}: no findings"),
        (findings, Some(worst)) => {
            let findings = count(findings, "finding");
            writeln!(out, "{read}: {findings}, worst: {}", worst.name())
        }
    }
}

/// A finding, with the path of its track if that is known.
fn line(finding: &Finding, path: Option<String>) -> String {
    let Finding { problem, place, value } = finding;
    let (severity, name, advice) = (problem.severity().name(), problem.name(), problem.advice());
    match (problem.subject(), path) {
        ("", _) => format!("{place}: {severity}: {name}: {advice}"),
        (subject, None) => format!("{place}: {severity}: {name} ({subject} {value}): {advice}"),
        (subject, Some(path)) => {
            format!("{place}: {severity}: {name} ({subject} {value}: {path}): {advice}")
        }
    }
}

fn report_json(report: &Report, listed: &[(Finding, Option<String>)]) -> String {
    let mut json = Json::default();
    json.object(|json| {
        json.scalar("packets", Some(report.packets));
        json.scalar("events", Some(report.events));
        json.scalar("findings", Some(report.findings()));
        json.text("worst", report.worst().map(Severity::name));
        json.list("list", listed, |json, (finding, path)| {
            json.scalar("packet", Some(finding.place.packet));
            json.scalar("byte", Some(finding.place.offset));
            json.scalar("unpacked_byte", finding.place.unpacked_offset);
            json.text("severity", Some(finding.problem.severity().name()));
            json.text("name", Some(finding.problem.name()));
            let subject = finding.problem.subject();
            json.text("subject", Some(subject).filter(|subject| !subject.is_empty()));
            match subject {
                "" => {}
                // Programs that only have doubles would round these.
                "track" | "flow" | "iid" | "time" => {
                    json.text("value", Some(&finding.value.to_string()));
                }
                _ => json.scalar("value", Some(finding.value)),
            }
            json.text("track", path.as_deref());
            json.text("advice", Some(finding.problem.advice()));
        });
        let error = report.error.as_ref().map(ToString::to_string);
        json.text("error", error.as_deref());
    });
    json.finish()
}
