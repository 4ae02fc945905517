//! Prints the events of a trace, one a line: `events trace.pftrace`.
//!
//! ```text
//! TIME SEQUENCE TRACK track of its process / ... KIND "name" #"category" "key"=value >FLOW |FLOW ...
//! ```

use std::error::Error;
use std::fmt::{self, Display, Write as _};
use std::fs::File;
use std::io::{BufWriter, Write as _};

use tracing_file::read::{
    Annotation, Annotations, CounterValue, Event, EventKind, SourceLocation, TraceReader, Track,
    TrackKind, Tracks, Value,
};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("usage: events TRACE")?;
    // A track may be described after its first event, so the whole file is read for the tracks first.
    let mut described = TraceReader::new(File::open(&path)?);
    while described.next_event()?.is_some() {}
    let mut trace = TraceReader::new(File::open(path)?);
    let mut out = BufWriter::new(std::io::stdout().lock());
    let mut line = String::new();
    while let Some(event) = trace.next_event()? {
        line.clear();
        write!(line, "{} {} ", event.timestamp_ns(), event.sequence())?;
        chain(&mut line, described.tracks(), event.track_uuid())?;
        describe(&mut line, &event)?;
        writeln!(out, "{line}")?;
    }
    for (problem, count) in trace.counts() {
        eprintln!("{count} times: {}", problem.name());
    }
    Ok(out.flush()?)
}

/// What happened.
fn describe(out: &mut String, event: &Event<'_>) -> fmt::Result {
    match event.kind() {
        EventKind::SliceBegin => out.write_str(" BEGIN")?,
        EventKind::SliceEnd => out.write_str(" END")?,
        EventKind::Instant => out.write_str(" INSTANT")?,
        EventKind::Counter(value) => write!(out, " COUNTER {}", Number(value))?,
        EventKind::State => out.write_str(" STATE")?,
        other => write!(out, " {other:?}")?,
    }
    if let Some(name) = event.name() {
        write!(out, " {}", Quoted(&name))?;
    }
    for category in event.categories() {
        write!(out, " #{}", Quoted(&category))?;
    }
    annotations(out, event.annotations())?;
    for flow in event.flows() {
        write!(out, " >{flow:x}")?;
    }
    for flow in event.ended_flows() {
        write!(out, " |{flow:x}")?;
    }
    if let Some(location) = event.source_location() {
        write!(out, " at {}", Place(&location))?;
    }
    if let Some(log) = event.log_message() {
        write!(out, " log {} {}", log.priority, Quoted(&log.body.unwrap_or_default()))?;
        if let Some(location) = &log.location {
            write!(out, " at {}", Place(location))?;
        }
    }
    if let Some(id) = event.correlation_id() {
        write!(out, " correlation {}", Quoted(&id))?;
    }
    for (track, value) in event.extra_counters() {
        write!(out, " {track:x}={}", Number(*value))?;
    }
    Ok(())
}

/// The track and those above it, the outermost first.
fn chain(out: &mut String, tracks: &Tracks, uuid: u64) -> fmt::Result {
    write!(out, "{uuid:x}")?;
    let chain: Vec<&Track> = tracks.chain(uuid).collect();
    for track in chain.into_iter().rev() {
        match &track.kind {
            TrackKind::Process { pid } => write!(out, " process {pid}")?,
            TrackKind::Thread { pid, tid } => write!(out, " thread {pid} {tid}")?,
            TrackKind::Counter(counter) => {
                write!(out, " counter {}", Quoted(counter.unit.as_deref().unwrap_or("")))?;
            }
            TrackKind::State => out.write_str(" state")?,
            TrackKind::Named => out.write_str(" track")?,
        }
        write!(out, " {}", Quoted(track.name.as_deref().unwrap_or("")))?;
    }
    Ok(())
}

fn annotations(out: &mut String, of: Annotations<'_>) -> fmt::Result {
    of.into_iter().try_for_each(|annotation| annotate(out, &annotation))
}

fn annotate(out: &mut String, Annotation { name, value }: &Annotation<'_>) -> fmt::Result {
    write!(out, " {}=", Quoted(name.as_deref().unwrap_or("")))?;
    match value {
        Value::Bool(value) => write!(out, "{value}"),
        Value::Uint(value) => write!(out, "{value}"),
        Value::Int(value) => write!(out, "{value}"),
        Value::Double(value) => write!(out, "{value:?}"),
        Value::Text(text) => write!(out, "{}", Quoted(text)),
        Value::Pointer(value) => write!(out, "0x{value:x}"),
        Value::Dict(entries) => {
            out.push('{');
            annotations(out, *entries)?;
            out.write_str(" }")
        }
        Value::List(elements) => {
            out.push('[');
            annotations(out, *elements)?;
            out.write_str(" ]")
        }
        other => write!(out, "{other:?}"),
    }
}

struct Number(CounterValue);

impl Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            CounterValue::Int(value) => write!(f, "{value}"),
            CounterValue::Double(value) => write!(f, "{value:?}"),
        }
    }
}

struct Place<'a>(&'a SourceLocation<'a>);

impl Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SourceLocation { file, function, line } = self.0;
        let (file, function) = (file.as_deref(), function.as_deref());
        let (file, function) = (file.unwrap_or_default(), function.unwrap_or_default());
        write!(f, "{} {} {}", Quoted(file), Quoted(function), line.unwrap_or(0))
    }
}

/// No control character of a trace reaches a terminal.
struct Quoted<'a>(&'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for c in self.0.chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}")?,
                c if c.is_control() => write!(f, "\\u{:04x}", u32::from(c))?,
                c => f.write_char(c)?,
            }
        }
        f.write_char('"')
    }
}
