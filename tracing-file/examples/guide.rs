//! The patterns of Perfetto's guide to traces that are made by hand
//! (<https://perfetto.dev/docs/reference/synthetic-track-event>): `guide FOLDER` writes a trace of each.
//!
//! `tracing-file/tests/guide.rs` compares them with the packets of the guide.

use std::error::Error;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use tracing_file::write::{CounterSpec, TraceFile, TraceOptions, TrackSpec};

type Pattern = fn(&mut TraceFile<&mut dyn Write>);

fn main() -> Result<(), Box<dyn Error>> {
    let folder: PathBuf = std::env::args_os().nth(1).ok_or("usage: guide FOLDER")?.into();
    let patterns: [(&str, Pattern); 5] = [
        ("thread", thread_slices),
        ("process", process_slices),
        ("flows", flows),
        ("counter", counter),
        ("interned", interned),
    ];
    for (name, write) in patterns {
        let mut file = File::create(folder.join(name).with_extension("pftrace"))?;
        // The guide writes each name in full, but where it is about numbers for names.
        let options = TraceOptions::new().interning(name == "interned");
        let mut trace = options.create(&mut file as &mut dyn Write)?;
        write(&mut trace);
        trace.finish()?;
    }
    Ok(())
}

/// "Thread-scoped (sync) slices": functions of one thread.
pub(crate) fn thread_slices(trace: &mut TraceFile<&mut dyn Write>) {
    trace.process(1234, "My process name");
    let thread = trace.thread(1234, 5678, "My thread name");
    let parent = trace.begin(&thread, 200, "My special parent").open();
    let child = trace.begin(&thread, 250, "My special child").open();
    trace.instant(&thread, 285, "");
    trace.end(child, 290);
    trace.end(parent, 300);
}

/// "Process-scoped (async) slices": work that overlaps and nests, on tracks of one name, which are shown as one.
pub(crate) fn process_slices(trace: &mut TraceFile<&mut dyn Write>) {
    let process = trace.process(1234, "My process name");
    let spec = || TrackSpec::new("My special track").under(&process);
    let (first, second) = (trace.track(spec()), trace.track(spec()));
    trace.slice(&first, 200, 100, "My special parent A");
    trace.slice(&first, 250, 40, "My special child");
    trace.slice(&second, 230, 65, "My special parent A");
    trace.slice(&second, 260, 10, "My special child");
}

/// "Flows": a thread hands work to another one, and gets a result.
pub(crate) fn flows(trace: &mut TraceFile<&mut dyn Write>) {
    let main = trace.thread(100, 100, "Main thread");
    let background = trace.thread(100, 101, "Background thread");
    let flow = trace.flow();
    trace.slice(&main, 200, 100, "Request generation").flow(flow);
    trace.slice(&main, 400, 100, "Process background result").flow(flow);
    trace.slice(&background, 310, 75, "Background work").flow(flow);
}

/// "Counters": values of a process.
pub(crate) fn counter(trace: &mut TraceFile<&mut dyn Write>) {
    let process = trace.process(1024, "MySpecialProcess");
    let track = TrackSpec::new("My special counter").under(&process);
    let counter = trace.counter_track(CounterSpec::new(track));
    for (time, value) in [(200, 34567), (250, 67890), (300, 12345), (400, 12345)] {
        trace.counter(&counter, time, value);
    }
}

/// "Interning": a long name is written once.
pub(crate) fn interned(trace: &mut TraceFile<&mut dyn Write>) {
    let process = trace.process(1234, "My process name");
    let track = trace.track(TrackSpec::new("My special track").under(&process));
    let name = "A very very very long slice name which we don't want to repeat";
    trace.slice(&track, 200, 1, name);
    trace.slice(&track, 202, 1, name);
}
