//! `tracebox trace print`: a trace as text, packet by packet.
//!
//! ```text
//!  file ──blocks──▶ frames ──schema──▶ one packet ──text──▶ stdout
//!                     │                    │
//!                     └── out of step ─────┴── broken ──▶ where, in bytes of the file
//! ```
//!
//! However long the trace, there is one packet in memory. The output is the text of a `Trace`, with
//! a comment in front of each packet, and can be read again as long as the schema knows all of it.

use std::borrow::Cow;
use std::cell::Cell;
use std::ffi::OsString;
use std::fmt;
use std::io::{self, ErrorKind, Read, Write};

use clap::{CommandFactory, Parser, Subcommand};
use protozero::DecodeContext;
use protozero::decode::FrameReader;
use protozero::decode::limits::DEPTH_MAX;
use protozero::dynamic::{DynamicMessage, MEMORY_MAX, MessageDescriptor, Pool};
use protozero::text::{self, PrintOptions};

use crate::cli;
use crate::failure::Ending;
use crate::failure::{Context, Failure};

/// Bytes read at once.
const BLOCK_BYTES: usize = 256 << 10;

/// Number of `Trace.packet` (`trace.proto`).
const PACKET: u32 = 1;

/// Looks into traces.
#[derive(Parser, Debug)]
#[command(name = "trace", disable_help_subcommand = true)]
struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand, Debug)]
enum What {
    /// Prints packets as text
    #[command(after_help = "What the schema does not know is shown by number.\n\
        Exit code: 0 if all of the file was understood, 1 if not.")]
    Print(Print),
}

#[derive(clap::Args, Debug)]
struct Print {
    /// The trace; - for stdin
    #[arg(value_name = "FILE")]
    file: OsString,
    /// Another schema: a FileDescriptorSet, as `protoc --include_imports --descriptor_set_out` has it
    #[arg(short = 'd', long, value_name = "SET")]
    descriptors: Option<OsString>,
    /// Only these packets, counted from 0: N, N..M, N.. or ..M (M is left out)
    #[arg(short = 'p', long, value_name = "RANGE", value_parser = range)]
    packet: Option<(u64, u64)>,
    /// A packet a line
    #[arg(short = '1', long)]
    single_line: bool,
}

/// `N`, `N..M`, `N..` or `..M`.
fn range(text: &str) -> Result<(u64, u64), String> {
    let (from, to) = bounds(text)?;
    if from < to { Ok((from, to)) } else { Err("no packet lies in it".into()) }
}

fn bounds(text: &str) -> Result<(u64, u64), String> {
    let number = |text: &str, absent: u64| match text {
        "" => Ok(absent),
        text => text.parse::<u64>().map_err(|_| format!("`{text}` is no number")),
    };
    match text.split_once("..") {
        Some((from, to)) => Ok((number(from, 0)?, number(to, u64::MAX)?)),
        None => {
            let only = text.parse::<u64>().map_err(|_| format!("`{text}` is no number"))?;
            Ok((only, only.saturating_add(1)))
        }
    }
}

/// Its words, for manual pages and completions.
#[must_use]
pub fn command() -> clap::Command {
    Args::command()
}

/// Looks into a trace.
///
/// # Errors
/// One line about what could not be read or understood, and where.
pub fn main(name: &str, words: &[OsString]) -> Ending {
    let Some(Args { what: What::Print(args) }) = cli::parse::<Args>(name, words)? else {
        return Ok(0);
    };
    let packet = packet_type(args.descriptors.as_ref())?;
    let file_name = args.file.to_string_lossy().into_owned();
    let input: Box<dyn Read> = if args.file == "-" {
        Box::new(io::stdin().lock())
    } else {
        let file = std::fs::File::open(&args.file);
        Box::new(file.context(format_args!("cannot read {file_name}"))?)
    };
    let out = io::BufWriter::with_capacity(64 << 10, io::stdout().lock());
    let mut printer = Printer::new(packet, &args, out);
    let ended = printer.run(input);
    let flushed = printer.out.flush().map_err(Stop::Output);
    match ended.and(flushed) {
        Ok(()) => match printer.broken {
            Some((1, first)) => Err(Failure::new(format_args!("{file_name}: {first}"))),
            Some((count, first)) => {
                let text = format!("{file_name}: {count} packets are broken, first {first}");
                Err(Failure::new(text))
            }
            None => {
                if let Some(note) = printer.none_wanted() {
                    let _ = writeln!(io::stderr(), "{name}: {file_name}: {note}");
                }
                Ok(0)
            }
        },
        // Whoever reads has seen enough.
        Err(Stop::Output(error)) if error.kind() == ErrorKind::BrokenPipe => Ok(0),
        Err(Stop::Output(error)) => Err(Failure::new(format_args!("cannot write: {error}"))),
        Err(Stop::Input(why)) => Err(Failure::new(format_args!("{file_name}: {why}"))),
    }
}

/// What a packet is, by the schema that was asked for: without a word, all of Perfetto's.
fn packet_type(descriptors: Option<&OsString>) -> Result<MessageDescriptor, Failure> {
    const NAME: &str = "perfetto.protos.TracePacket";
    let (shown, set) = match descriptors {
        None => ("the schema of this program".into(), protos::FILE_DESCRIPTOR_SET.into()),
        Some(path) => {
            let shown = path.to_string_lossy();
            let set = std::fs::read(path).context(format_args!("cannot read {shown}"))?;
            (shown, Cow::from(set))
        }
    };
    let pool = Pool::decode(&set).context(format_args!("{shown} is no schema"))?;
    let packet = pool.message(NAME);
    packet.ok_or_else(|| Failure::new(format_args!("{shown} has no message {NAME}")))
}

/// Why printing ends early.
#[derive(Debug)]
enum Stop {
    Input(String),
    Output(io::Error),
}

struct Printer<W> {
    packet: MessageDescriptor,
    range: (u64, u64),
    options: PrintOptions,
    out: W,
    /// Bytes of memory for one packet.
    memory: usize,
    /// Index of the next packet.
    next: u64,
    /// How many packets could not be read, and why the first.
    broken: Option<(u64, String)>,
}

impl<W: Write> Printer<W> {
    fn new(packet: MessageDescriptor, args: &Print, out: W) -> Self {
        Self {
            packet,
            range: args.packet.unwrap_or((0, u64::MAX)),
            options: PrintOptions {
                single_line: args.single_line,
                unknown_fields: true,
                ..PrintOptions::default()
            },
            out,
            memory: MEMORY_MAX,
            next: 0,
            broken: None,
        }
    }

    fn run(&mut self, mut input: impl Read) -> Result<(), Stop> {
        let mut stream = FrameReader::new().step_over();
        let mut block = vec![0; BLOCK_BYTES];
        while self.next < self.range.1 {
            let len = match input.read(&mut block) {
                Ok(0) => {
                    let end = stream.finish();
                    end.map_err(|error| Stop::Input(format!("the trace breaks off: {error}")))?;
                    let others = stream.skipped();
                    if others > 0 {
                        let line =
                            writeln!(self.out, "# fields of the trace without a length: {others}");
                        line.map_err(Stop::Output)?;
                    }
                    return Ok(());
                }
                Ok(len) => len,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(Stop::Input(format!("cannot read: {error}"))),
            };
            let mut frames = stream.feed(&block[..len]);
            loop {
                let frame = frames.next_frame();
                let no_trace = |error| Stop::Input(format!("this is no trace: {error}"));
                let Some(frame) = frame.map_err(no_trace)? else { break };
                if frame.number == PACKET {
                    self.packet(frame.body, frame.offset)?;
                    // Nobody asked for what lies behind the last packet that is wanted.
                    if self.next >= self.range.1 {
                        return Ok(());
                    }
                } else if self.next >= self.range.0 {
                    let (number, len) = (frame.number, frame.body.len());
                    let line = writeln!(self.out, "# field {number} of the trace, {len} bytes");
                    line.map_err(Stop::Output)?;
                }
            }
        }
        Ok(())
    }

    /// What to say if all of the trace was read and lies in front of the packets asked for.
    fn none_wanted(&self) -> Option<String> {
        let (from, count) = (self.range.0, self.next);
        let none = from > 0 && count <= from;
        none.then(|| format!("no packet {from}: the trace has {count}, counted from 0"))
    }

    fn packet(&mut self, body: &[u8], offset: usize) -> Result<(), Stop> {
        let index = self.next;
        self.next += 1;
        if !(self.range.0..self.range.1).contains(&index) {
            return Ok(());
        }
        let head = format!("# packet {index}: {} bytes at {offset}", body.len());
        let memory = Cell::new(self.memory);
        // One level less: the trace is a message as well, and is read again as one.
        let context = DecodeContext::with_depth(DEPTH_MAX - 1).with_growth(&memory);
        let mut packet = DynamicMessage::new(self.packet.clone());
        let written = match packet.merge_within(body, context) {
            Ok(()) => self.whole(&packet, &head),
            Err(error) => {
                let why = format!("packet {index}: {}", error.kind.at(offset + error.offset));
                self.broken.get_or_insert((0, why)).0 += 1;
                writeln!(self.out, "{head} is broken: {}", error.kind)
            }
        };
        written.map_err(Stop::Output)
    }

    fn whole(&mut self, packet: &DynamicMessage, head: &str) -> io::Result<()> {
        if self.options.single_line {
            write!(self.out, "packet {{ ")?;
        } else {
            writeln!(self.out, "{head}\npacket {{")?;
        }
        let mut lines = Lines {
            out: &mut self.out,
            indent: if self.options.single_line { "" } else { "  " },
            begun: false,
            error: None,
        };
        // The only error is that of the output, which is kept.
        let _ = text::write(packet, &self.options, &mut lines);
        lines.error.map_or(Ok(()), Err)?;
        if self.options.single_line {
            writeln!(self.out, " }}  {head}")
        } else {
            writeln!(self.out, "}}")
        }
    }
}

/// Text on its way out, each line of it indented.
struct Lines<'o, W> {
    out: &'o mut W,
    indent: &'static str,
    /// Something stands in the line.
    begun: bool,
    error: Option<io::Error>,
}

impl<W: Write> fmt::Write for Lines<'_, W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for line in text.split_inclusive('\n') {
            let indent = if self.begun { "" } else { self.indent };
            let written = self.out.write_all(indent.as_bytes());
            if let Err(error) = written.and_then(|()| self.out.write_all(line.as_bytes())) {
                self.error = Some(error);
                return Err(fmt::Error);
            }
            self.begun = !line.ends_with('\n');
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
