//! `tracebox doctor`: what works on this machine, what does not, and which command mends it.
//!
//! ```text
//! gather ──> Facts ──> findings ──> lines, or JSON; exit code
//! reads, changes nothing   pure
//! ```
//!
//! It ends within seconds, also if the service is stopped or a file of the kernel does not answer.

mod facts;
mod findings;
mod gather;
mod obstacle;

#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::io::Write;

use clap::{CommandFactory, Parser};
use tracing_file::escape::visible;
use tracing_file::json::Json;

use self::facts::Facts;
use self::findings::{Finding, findings};
pub use self::obstacle::{Obstacle, ftrace_obstacle};

use crate::cli;
use crate::console;
use crate::failure::{Ending, Failure};
use crate::version::VERSION;

/// Exit code: something does not work.
const EXIT_BAD: u8 = 1;

/// Exit code: the machine was not checked, or the answer could not be written.
const EXIT_UNCHECKED: u8 = 2;

/// Says what can be recorded here, what cannot, and which command mends it
#[derive(Parser, Debug)]
#[command(name = "doctor", disable_help_subcommand = true)]
#[command(
    after_help = "It checks the sockets and the service, the rights of this user, tracefs and who \
    uses it,\nevents, clocks, kernel symbols and memory. It changes nothing, and ends within seconds.\n\
    Each line begins with: works; absent (not there, not needed by tracebox alone);\n\
    unknown (this user may not see it); limited (something cannot be recorded);\n\
    broken (something does not do what it should).\n\
    Exit code: 0 if no line says limited or broken, 1 if one does, 2 if nothing was checked."
)]
struct Args {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// The command line, for manual pages and completions.
#[must_use]
pub fn command() -> clap::Command {
    Args::command()
}

/// `tracebox doctor`.
///
/// # Errors
/// When an option is wrong, or stdout cannot be written.
pub fn main(name: &str, words: &[OsString]) -> Ending {
    let unchecked = |failure: Failure| failure.with_code(EXIT_UNCHECKED);
    let Some(args) = cli::parse::<Args>(name, words).map_err(unchecked)? else { return Ok(0) };
    let facts = gather::gather();
    let findings = findings(&facts);
    let text = if args.json { json(&facts, &findings) } else { lines(&findings) };
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    console::check_stdout(written).map_err(unchecked)?;
    Ok(code(&findings))
}

fn code(findings: &[Finding]) -> u8 {
    if findings.iter().any(|finding| finding.status.is_bad()) { EXIT_BAD } else { 0 }
}

/// A line for each finding, one below it for what mends it, and a line that sums up.
fn lines(findings: &[Finding]) -> String {
    let mut lines = String::new();
    for Finding { check, status, text, remedy } in findings {
        // Names of processes stand in it.
        let text = visible(text, "");
        lines.push_str(&format!("{:<8} {check:<17} {text}\n", status.word()));
        if let Some(remedy) = remedy {
            let command = visible(&remedy.command, "");
            lines.push_str(&format!("{:26} $ {command}\n{:28} ({})\n", "", "", remedy.effect));
        }
    }
    let bad: Vec<&str> = findings.iter().filter(|f| f.status.is_bad()).map(|f| f.check).collect();
    lines.push_str(&match bad.len() {
        0 => "All that tracebox needs works.\n".to_owned(),
        count => {
            format!("{count} of {} checks found something: {}.\n", findings.len(), bad.join(", "))
        }
    });
    lines
}

/// One object: see the manual page, which lists its fields.
fn json(facts: &Facts, findings: &[Finding]) -> String {
    let mut json = Json::default();
    json.object(|json| {
        json.scalar("format", Some(1));
        json.text("program_version", Some(VERSION));
        json.scalar("works", Some(code(findings) == 0));
        json.list("checks", findings, |json, finding| {
            json.text("name", Some(finding.check));
            json.text("status", Some(finding.status.word()));
            json.text("text", Some(&finding.text));
            json.text("command", finding.remedy.as_ref().map(|remedy| remedy.command.as_str()));
            json.text("effect", finding.remedy.as_ref().map(|remedy| remedy.effect));
        });
        let state = facts.tracefs.as_ref().and_then(|tracefs| tracefs.state.as_ref());
        let categories = state.map_or(&[][..], |state| &state.categories[..]);
        json.list("categories", categories, |json, (name, here, known)| {
            json.text("name", Some(name));
            json.scalar("events_here", Some(*here));
            json.scalar("events_known", Some(*known));
        });
    });
    json.finish()
}
