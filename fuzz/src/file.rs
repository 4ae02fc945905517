//! The target of `tracing-file`.

use std::io::Cursor;

use tracing_file::lint::lint_within;
use tracing_file::read::{Annotation, TraceReader, Value};
use tracing_file::stats::stats;
use tracing_file::timeline::{self, Format, Options, TimelineError};

/// Bytes of memory for the tables: a small input can fill them.
const MEMORY: usize = 64 << 10;

/// Any bytes as a trace: readers end, and all find the same events.
pub fn lint_and_read(input: &[u8]) {
    let mut trace = TraceReader::with_memory(input, MEMORY);
    let mut events = 0;
    loop {
        match trace.next_event() {
            Ok(None) => break,
            Err(error) => assert!(error.place().offset <= input.len() as u64),
            Ok(Some(event)) => {
                events += 1;
                assert!(i64::try_from(event.timestamp_ns()).is_ok());
                let _ = (event.name(), event.track(), event.source_location(), event.log_message());
                let _ = (
                    event.categories().count(),
                    event.flows().count(),
                    event.ended_flows().count(),
                );
                event.annotations().for_each(|annotation| visit(&annotation, 0));
            }
        }
    }
    let tracks = trace.tracks();
    for track in tracks.iter() {
        let _ = tracks.hierarchy_problem(track.uuid);
    }
    let report =
        lint_within(input, MEMORY, |finding, _| assert!(!finding.problem.advice().is_empty()));
    assert_eq!(report.events, events);
    let stats = stats(input);
    assert_eq!(stats.packets, report.packets);
    assert!(stats.table(10).len() < 1 << 20);
    assert!(stats.json(10).ends_with("}\n"));
    list(input);
}

/// Lines of a timeline, with little memory.
fn list(input: &[u8]) {
    let mut options = Options::default();
    options.rows_bytes_max = 8_000;
    for format in [Format::Text, Format::Json] {
        options.format = format;
        let mut lines = Vec::new();
        match timeline::write(&mut Cursor::new(input), &mut lines, &options) {
            Ok(summary) => assert!(summary.lines >= summary.events),
            Err(error) => {
                assert!(matches!(error, TimelineError::TooManyPasses | TimelineError::TooMuchWork))
            }
        }
        let lines = String::from_utf8(lines).expect("texts are UTF-8");
        assert!(lines.chars().all(|c| c == '\n' || !c.is_control()));
    }
}

fn visit(annotation: &Annotation<'_>, depth: u32) {
    if let Value::Dict(inner) | Value::List(inner) = &annotation.value
        && depth < 16
    {
        inner.for_each(|inner| visit(&inner, depth + 1));
    }
}
