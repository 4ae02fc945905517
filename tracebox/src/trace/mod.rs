//! `tracebox trace`: a trace as text, event by event or packet by packet. This is `trace print`:
//!
//! ```text
//!  file ──blocks──> frames ──schema──> one packet ──text──> stdout
//!                     │  ^                 │
//!                     │  └── unpacked ─────┤ (compressed packets)
//!                     └── no trace ────────┴── broken ──> an error with the offset in the file
//! ```
//!
//! However long the trace, there is one packet in memory, also of compressed ones. The output is the text of a
//! `Trace` with a comment in front of each packet. It can be read again as long as the schema knows all of it.

mod events;
pub(crate) mod input;
mod print;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::{self, Write};
use std::ops::Range;

use clap::{CommandFactory, Parser, Subcommand};
use protozero::dynamic::{MessageDescriptor, Pool};

use self::events::EventsArgs;
pub use self::input::is_trace;
use self::print::{PrintError, Printer};
use crate::cli;
use crate::console;
use crate::failure::{Context, Ending, Failure};

/// Prints traces as text
#[derive(Parser, Debug)]
#[command(name = "trace", disable_help_subcommand = true)]
struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Prints events, one in a line, in the order of time
    #[command(
        after_help = "A line has the time in seconds since the first event, process and thread or track, the kind, \
        the name indented\n\
        by the slices around it, categories, the duration, arguments, and flows: ->7 leads on, ->|7 ends.\n\
        A PATTERN is a part of the name, or a glob of all of it, with * and ?. An option may be repeated: one of\n\
        its patterns has to fit.\n\
        Exit code: 0 if all of the file was understood, 1 if not. What could be read is printed."
    )]
    Events(EventsArgs),
    /// Prints packets as text
    #[command(
        after_help = "Compressed packets are unpacked. Fields that the schema does not know are shown by \
        number.\n\
        Without -p, the last line says how many packets the trace has.\n\
        Exit code: 0 if all of the file was understood, 1 if not, or if the range has no packet."
    )]
    Print(PrintArgs),
}

#[derive(clap::Args, Debug)]
struct PrintArgs {
    /// The trace; - for stdin
    #[arg(value_name = "FILE")]
    file: OsString,
    /// Another schema: a FileDescriptorSet, as `protoc --include_imports --descriptor_set_out` writes it
    #[arg(short = 'd', long, value_name = "SET")]
    descriptors: Option<OsString>,
    /// Only these packets, counted from 0: N, N..M, N.. or ..M (without packet M)
    #[arg(short = 'p', long, value_name = "RANGE", value_parser = range)]
    packet: Option<Range<u64>>,
    /// Print each packet in one line
    #[arg(short = '1', long)]
    single_line: bool,
}

/// `N`, `N..M`, `N..` or `..M`.
fn range(text: &str) -> Result<Range<u64>, String> {
    let range = bounds(text)?;
    if range.is_empty() { Err("the range is empty".into()) } else { Ok(range) }
}

fn bounds(text: &str) -> Result<Range<u64>, String> {
    let number = |text: &str, absent: u64| match text {
        "" => Ok(absent),
        text => text.parse::<u64>().map_err(|_| format!("`{text}` is not a number")),
    };
    match text.split_once("..") {
        Some((from, to)) => Ok(number(from, 0)?..number(to, u64::MAX)?),
        None => {
            let only = text.parse::<u64>().map_err(|_| format!("`{text}` is not a number"))?;
            Ok(only..only.saturating_add(1))
        }
    }
}

/// The command line, for manual pages and completions.
#[must_use]
pub fn command() -> clap::Command {
    Args::command()
}

/// The command line of `trace events`, for its manual page.
#[must_use]
pub fn events_command() -> clap::Command {
    let events = Args::command().find_subcommand("events").cloned();
    events.unwrap_or_default()
}

/// Prints events or packets of a trace.
///
/// # Errors
/// One line about what could not be read or understood, and where.
pub fn main(name: &str, words: &[OsString]) -> Ending {
    if let Some(file) = words.first().filter(|word| is_trace(word.as_ref())) {
        let file = console::name(file);
        return Err(Failure::new(format_args!(
            "say what to print: `{name} events {file}` or `{name} print {file}`"
        )));
    }
    match cli::parse::<Args>(name, words)? {
        None => Ok(0),
        Some(Args { action: Action::Events(args) }) => events::run(&args),
        Some(Args { action: Action::Print(args) }) => print_packets(&args),
    }
}

fn print_packets(args: &PrintArgs) -> Ending {
    let packet = packet_type(args.descriptors.as_ref())?;
    let (file_name, input) = input::open(&args.file)?;
    let out = io::BufWriter::with_capacity(64 << 10, io::stdout().lock());
    let mut printer = Printer::new(packet, args.packet.clone(), args.single_line, out);
    let ended = printer.run(input);
    let flushed = printer.out.flush().map_err(PrintError::Output);
    let failed = |why: String| Err(Failure::new(format_args!("{file_name}: {why}")));
    match ended.and(flushed) {
        Ok(()) => match (&printer.broken, printer.empty_range()) {
            (Some((1, first)), _) => failed(first.clone()),
            (Some((count, first)), _) => {
                failed(format!("{count} packets are broken, first {first}"))
            }
            (None, Some(why)) => failed(why),
            (None, None) => Ok(0),
        },
        Err(PrintError::Output(error)) => console::check_stdout(Err(error)).map(|()| 0),
        Err(PrintError::Input(why)) => failed(why),
    }
}

/// The message type of a packet, from the schema in the file `descriptors`, or from that of this program.
fn packet_type(descriptors: Option<&OsString>) -> Result<MessageDescriptor, Failure> {
    const NAME: &str = "perfetto.protos.TracePacket";
    let (shown, set) = match descriptors {
        None => ("the schema of this program".into(), protos::FILE_DESCRIPTOR_SET.into()),
        Some(path) => {
            let shown = console::name(path);
            let set = std::fs::read(path).context(format_args!("cannot read {shown}"))?;
            (shown, Cow::from(set))
        }
    };
    let pool = Pool::decode(&set).context(format_args!("{shown} is not a schema"))?;
    let packet = pool.message(NAME);
    packet.ok_or_else(|| Failure::new(format_args!("{shown} has no message {NAME}")))
}
