//! `tracebox trace events`: the events of a trace, one in a line, in the order of time.
//!
//! `tracing-file` orders and writes them; here are the command line and what is said on stderr.

use std::ffi::OsString;
use std::io::{self, BufWriter, IsTerminal, Write};

use tracing_file::read::{Problem, Severity};
use tracing_file::timeline::{self, Format, Options, Pattern, Summary, TimelineError};

use super::input;
use crate::console::{self, count};
use crate::failure::{Ending, Failure};

#[derive(clap::Args, Debug)]
pub(super) struct EventsArgs {
    /// The trace; - for stdin
    #[arg(value_name = "FILE")]
    file: OsString,
    /// Only events of this process: its name or its id
    #[arg(long, value_name = "PATTERN", allow_hyphen_values = true)]
    process: Vec<String>,
    /// Only events of this thread: its name or its id
    #[arg(long, value_name = "PATTERN", allow_hyphen_values = true)]
    thread: Vec<String>,
    /// Only events of this track and of those below it: a name, several joined by ' / ', or a uuid
    #[arg(long, value_name = "PATTERN", allow_hyphen_values = true)]
    track: Vec<String>,
    /// Only events of this category
    #[arg(long, value_name = "PATTERN", allow_hyphen_values = true)]
    category: Vec<String>,
    /// Only events of this name: of slices, instants, states and counters
    #[arg(long, value_name = "PATTERN", allow_hyphen_values = true)]
    name: Vec<String>,
    /// Only from this time on: a number with ns, us, ms or s [without a unit: s]
    #[arg(long, value_name = "TIME", value_parser = time_ns)]
    from: Option<u64>,
    /// Only up to this time
    #[arg(long, value_name = "TIME", value_parser = time_ns)]
    to: Option<u64>,
    /// Print at most this many lines
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    /// Times are those of the trace's clock, also in --from and --to. Otherwise they count from the first event
    #[arg(long)]
    absolute: bool,
    /// Print a JSON object in each line
    #[arg(long)]
    json: bool,
}

impl EventsArgs {
    fn options(&self, is_terminal: bool) -> Options {
        let patterns =
            |texts: &[String]| -> Vec<Pattern> { texts.iter().map(Pattern::new).collect() };
        let mut options = Options::default();
        options.format = match (self.json, is_terminal) {
            (true, _) => Format::Json,
            (false, true) => Format::ColouredText,
            (false, false) => Format::Text,
        };
        options.is_absolute = self.absolute;
        options.lines_max = self.limit.unwrap_or(u64::MAX);
        options.filter.processes = patterns(&self.process);
        options.filter.threads = patterns(&self.thread);
        options.filter.tracks = patterns(&self.track);
        options.filter.categories = patterns(&self.category);
        options.filter.names = patterns(&self.name);
        options.filter.from_ns = self.from.unwrap_or(0);
        options.filter.to_ns = self.to;
        options
    }
}

/// A time in ns, from a number with a unit.
pub(super) fn time_ns(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is not a time such as 1.5s, 20ms, 300us or 7ns");
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit_ns: u64 = match text.get(digits.len()..) {
        Some("ns") => 1,
        Some("us") => 1_000,
        Some("ms") => 1_000_000,
        Some("s" | "") => 1_000_000_000,
        _ => return Err(wrong()),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(whole) || !is_number(fraction) || (whole.is_empty() && fraction.is_empty()) {
        return Err(wrong());
    }
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| wrong())? };
    let mut ns = whole.checked_mul(unit_ns).ok_or_else(wrong)?;
    let mut place_ns = unit_ns;
    for digit in fraction.bytes() {
        place_ns /= 10;
        ns = ns.saturating_add(u64::from(digit - b'0') * place_ns);
    }
    Ok(ns)
}

/// Prints the events of a trace.
pub(super) fn run(args: &EventsArgs) -> Ending {
    let (shown, mut file) = input::open_seekable(&args.file)?;
    let stdout = io::stdout().lock();
    let has_colours = stdout.is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let mut out = BufWriter::with_capacity(64 << 10, stdout);
    let written = timeline::write(&mut file, &mut out, &args.options(has_colours));
    let flushed = out.flush().map_err(TimelineError::Output);
    match written.and_then(|summary| flushed.map(|()| summary)) {
        Ok(summary) => end(&shown, summary),
        Err(TimelineError::Output(error)) => console::check_stdout(Err(error)).map(|()| 0),
        Err(error) => Err(Failure::new(format_args!("{shown}: {error}"))),
    }
}

/// Says what is not in the lines. What was lost before it came into the file is no failure.
fn end(shown: &str, summary: Summary) -> Ending {
    let mut is_whole = summary.unpaired == 0;
    for (problem, times) in &summary.problems {
        let leaves_out = problem.severity() >= Severity::Error || *problem == Problem::LimitReached;
        if leaves_out || *problem == Problem::SkippedCut {
            let (times, name, advice) = (count(*times, "time"), problem.name(), problem.advice());
            console::log(&format!("{shown}: {times} {name}: {advice}"));
        }
        is_whole &= !leaves_out;
    }
    if summary.unpaired > 0 {
        let slices = count(summary.unpaired, "slice");
        console::log(&format!("{shown}: no memory for {slices}, which have no duration"));
    }
    match (summary.lines, summary.events) {
        (0, 0) if summary.error.is_none() => {
            let advice = "`tracebox trace print` prints all packets, `tracebox lint` what is wrong";
            console::log(&format!("{shown}: no track events ({advice})"));
        }
        (0, events @ 1..) => {
            let events = count(events, "event");
            console::log(&format!("{shown}: {events}, and the options choose none"));
        }
        _ => {}
    }
    match summary.error {
        None if is_whole => Ok(0),
        None => Err(Failure::new(format_args!("{shown}: not all of it was understood"))),
        Some(error) => Err(Failure::new(format_args!("{shown}: {error}"))),
    }
}
