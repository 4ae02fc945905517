//! Prints the packets of a trace, one after the other.

use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::ops::Range;

use protozero::decode::FrameReader;
use protozero::decode::limits::DEPTH_MAX;
use protozero::dynamic::{DynamicMessage, MEMORY_MAX, MessageDescriptor};
use protozero::text::{self, PrintOptions};
use protozero::{DecodeContext, DecodeMemory};

use tracing_file::{compressed, escape};

use crate::console::count;

/// Bytes read at once.
const BLOCK_BYTES: usize = 256 << 10;

/// Number of `Trace.packet` (`trace.proto`).
const PACKET: u32 = 1;

/// Why printing ends early.
#[derive(Debug)]
pub(super) enum PrintError {
    /// The input cannot be read, or is not a trace.
    Input(String),
    /// The output takes no more.
    Output(io::Error),
}

/// Where a packet is: in the file, or within compressed packets.
#[derive(Clone, Copy)]
struct Place {
    /// Bytes of the file, or of what was unpacked, before the packet.
    offset: usize,
    /// Bytes of the file before the packet with the compressed packets, if the packet was in one.
    compressed_at: Option<usize>,
}

impl Place {
    /// An error at `within` bytes of the packet, for people.
    fn error(self, kind: protozero::DecodeErrorKind, within: usize) -> String {
        match self.compressed_at {
            None => kind.at(self.offset + within).to_string(),
            Some(at) => {
                format!("{} of the packets compressed at {at}", kind.at(self.offset + within))
            }
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at {}", self.offset)?;
        match self.compressed_at {
            None => Ok(()),
            Some(at) => write!(f, " of the packets compressed at {at}"),
        }
    }
}

/// Whether to go on with the next packet.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    Continue,
    /// The last packet of the range is printed.
    RangeIsPrinted,
}

/// Prints packets of one trace.
pub(super) struct Printer<W> {
    pub(super) out: W,
    /// Bytes of memory for one packet.
    pub(super) memory: usize,
    /// How many packets could not be read, and why the first.
    pub(super) broken: Option<(u64, String)>,
    packet: MessageDescriptor,
    /// Indices of the packets that are printed.
    range: Range<u64>,
    options: PrintOptions,
    /// Index of the next packet.
    next: u64,
    /// How many packets were compressed.
    compressed: u64,
}

impl<W: Write> Printer<W> {
    /// Prints packets of type `packet` whose index lies in `range`, to `out`.
    pub(super) fn new(
        packet: MessageDescriptor,
        range: Option<Range<u64>>,
        single_line: bool,
        out: W,
    ) -> Self {
        Self {
            packet,
            range: range.unwrap_or(0..u64::MAX),
            options: PrintOptions { single_line, unknown_fields: true, ..PrintOptions::default() },
            out,
            memory: MEMORY_MAX,
            next: 0,
            compressed: 0,
            broken: None,
        }
    }

    /// Prints the trace in `input`, and at its end how many packets there are.
    pub(super) fn run(&mut self, input: impl Read) -> Result<(), PrintError> {
        match self.print_stream(input, None)? {
            Flow::RangeIsPrinted => Ok(()),
            Flow::Continue => self.print_count(),
        }
    }

    /// What is wrong if all of the trace was read and lies before the range.
    pub(super) fn empty_range(&self) -> Option<String> {
        let (from, count) = (self.range.start, self.next);
        let is_empty = from > 0 && count <= from;
        is_empty.then(|| format!("no packet {from}: the trace has {count}, counted from 0"))
    }

    /// Prints the packets of a trace, or of a piece of one that was compressed.
    fn print_stream(
        &mut self,
        mut input: impl Read,
        compressed_at: Option<usize>,
    ) -> Result<Flow, PrintError> {
        let mut stream = FrameReader::new().skip_other_fields();
        let mut block = vec![0; BLOCK_BYTES];
        while self.next < self.range.end {
            let len = match input.read(&mut block) {
                Ok(0) => {
                    let end = stream.finish();
                    end.map_err(|error| {
                        PrintError::Input(format!("the trace is cut off: {error}"))
                    })?;
                    let others = stream.skipped();
                    if others > 0 {
                        let line =
                            writeln!(self.out, "# fields of the trace without a length: {others}");
                        line.map_err(PrintError::Output)?;
                    }
                    return Ok(Flow::Continue);
                }
                Ok(len) => len,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(PrintError::Input(format!("cannot read: {error}"))),
            };
            let mut frames = stream.read_block(block.get(..len).unwrap_or_default());
            loop {
                let frame = frames.next_frame();
                let no_trace = |error| PrintError::Input(format!("this is not a trace: {error}"));
                let Some(frame) = frame.map_err(no_trace)? else { break };
                if frame.number == PACKET {
                    let place = Place { offset: frame.offset, compressed_at };
                    self.print_packet(frame.body, place)?;
                    // Nothing behind the last packet of the range is read.
                    if self.next >= self.range.end {
                        return Ok(Flow::RangeIsPrinted);
                    }
                } else if self.next >= self.range.start {
                    let (number, len) = (frame.number, frame.body.len());
                    let line = writeln!(self.out, "# field {number} of the trace, {len} bytes");
                    line.map_err(PrintError::Output)?;
                }
            }
        }
        Ok(Flow::RangeIsPrinted)
    }

    /// Prints the last line, which says how many packets there are.
    fn print_count(&mut self) -> Result<(), PrintError> {
        let (all, compressed) = (count(self.next, "packet"), self.compressed);
        let line = match compressed {
            0 => writeln!(self.out, "# {all}"),
            _ => writeln!(self.out, "# {all}, {compressed} of them compressed"),
        };
        line.map_err(PrintError::Output)
    }

    /// Prints one packet if it is in the range, or the packets that are compressed in it.
    fn print_packet(&mut self, body: &[u8], place: Place) -> Result<(), PrintError> {
        // Services compress only once: a packet within compressed ones is not looked into.
        if place.compressed_at.is_none()
            && let Some(compressed) = compressed::find(body)
        {
            return self.print_compressed(compressed, place.offset);
        }
        let index = self.next;
        self.next += 1;
        self.compressed += u64::from(place.compressed_at.is_some());
        if !self.range.contains(&index) {
            return Ok(());
        }
        let head = format!("# packet {index}: {} bytes {place}", body.len());
        let memory = DecodeMemory::new(self.memory);
        // One level less: the trace is a message as well, and is read again as one.
        let context = DecodeContext::with_depth(DEPTH_MAX - 1).with_growth(&memory);
        let mut packet = DynamicMessage::new(self.packet.clone());
        let written = match packet.merge_within(body, context) {
            Ok(()) => self.print_message(&packet, &head),
            Err(error) => {
                let why = format!("packet {index}: {}", place.error(error.kind, error.offset));
                self.broken.get_or_insert((0, why)).0 += 1;
                writeln!(self.out, "{head} is broken: {}", error.kind)
            }
        };
        written.map_err(PrintError::Output)
    }

    /// Prints the packets that unpack from one packet. A stream that cannot be unpacked counts as a broken
    /// packet, and printing goes on behind it.
    fn print_compressed(
        &mut self,
        compressed: compressed::Compressed<'_>,
        offset: usize,
    ) -> Result<(), PrintError> {
        let len = compressed.len;
        if self.next >= self.range.start {
            let line = writeln!(self.out, "# compressed packets: {len} bytes at {offset}");
            line.map_err(PrintError::Output)?;
        }
        match self.print_stream(compressed.unpacked, Some(offset)) {
            Ok(_) => Ok(()),
            Err(PrintError::Input(why)) => {
                let line = writeln!(self.out, "# compressed packets at {offset} are broken: {why}");
                let why = format!("compressed packets at {offset}: {why}");
                self.broken.get_or_insert((0, why)).0 += 1;
                line.map_err(PrintError::Output)
            }
            Err(error) => Err(error),
        }
    }

    fn print_message(&mut self, packet: &DynamicMessage, head: &str) -> io::Result<()> {
        if self.options.single_line {
            write!(self.out, "packet {{ ")?;
        } else {
            writeln!(self.out, "{head}\npacket {{")?;
        }
        let mut lines = IndentedOutput {
            out: &mut self.out,
            indent: if self.options.single_line { "" } else { "  " },
            in_line: false,
            error: None,
        };
        // The only error is that of the output, which is kept in `lines`.
        let _ = text::write(packet, &self.options, &mut lines);
        lines.error.map_or(Ok(()), Err)?;
        if self.options.single_line {
            writeln!(self.out, " }}  {head}")
        } else {
            writeln!(self.out, "}}")
        }
    }
}

/// Writes text with an indent in front of each line.
struct IndentedOutput<'o, W> {
    out: &'o mut W,
    indent: &'static str,
    /// The current line has its indent already.
    in_line: bool,
    error: Option<io::Error>,
}

impl<W: Write> IndentedOutput<'_, W> {
    /// Writes a character within quotes by the escapes of protobuf.
    fn write_octal(&mut self, letter: char) -> fmt::Result {
        let mut bytes = [0; 4];
        let bytes = letter.encode_utf8(&mut bytes).bytes();
        bytes.map(|byte| format!("\\{byte:03o}")).try_for_each(|escape| self.write_plain(&escape))
    }

    fn write_plain(&mut self, text: &str) -> fmt::Result {
        for line in text.split_inclusive('\n') {
            let indent = if self.in_line { "" } else { self.indent };
            let written = self.out.write_all(indent.as_bytes());
            if let Err(error) = written.and_then(|()| self.out.write_all(line.as_bytes())) {
                self.error = Some(error);
                return Err(fmt::Error);
            }
            self.in_line = !line.ends_with('\n');
        }
        Ok(())
    }
}

impl<W: Write> fmt::Write for IndentedOutput<'_, W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // The text format has escapes for what is ASCII and hidden. The rest only stands in strings.
        let is_hidden = |letter: char| !letter.is_ascii() && escape::is_hidden(letter);
        for part in text.split_inclusive(is_hidden) {
            match part.chars().next_back().filter(|letter| is_hidden(*letter)) {
                None => self.write_plain(part)?,
                Some(letter) => {
                    self.write_plain(part.strip_suffix(letter).unwrap_or_default())?;
                    self.write_octal(letter)?;
                }
            }
        }
        Ok(())
    }
}
