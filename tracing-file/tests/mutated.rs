//! Whatever bytes come in: readers end, do not panic, and see what a writer wrote.

use std::io::Cursor;

use proptest::prelude::*;
use tracing_file::lint::lint_within;
use tracing_file::read::{Annotation, TraceReader, Value};
use tracing_file::timeline::{self, Format, Options, TimelineError};
use tracing_file::write::{CounterSpec, Flow, Priority, TraceFile, TraceOptions, TrackSpec};

/// A trace with something of everything.
fn trace(options: TraceOptions, seed: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut trace = options.create(&mut bytes).unwrap();
    let process = trace.process(1, "p");
    let thread = trace.thread(1, 2, "t");
    let lanes = trace.lanes(TrackSpec::new("lanes").under(&process));
    let counter = trace.counter_track(CounterSpec::new("c").incremental().multiplier(3));
    let state = trace.state_track("s");
    let wall = trace.clock(1, 10_000, 0).unwrap();
    let own = trace.own_clock(10, 0, 0).unwrap();
    let mut now = 0;
    for step in seed {
        now += u64::from(*step);
        let name = format!("name {}", step % 5);
        match step % 8 {
            0 => drop(trace.slice(&lanes, now, u64::from(*step) * 3, &name).arg("n", *step)),
            1 => drop(trace.instant(&thread, now, &name).category("c").flow(Flow::from_id(1))),
            2 => drop(trace.counter(&counter, now, i64::from(*step))),
            3 => drop(trace.state(&state, now, &name)),
            4 => drop(trace.log(&thread, now, Priority::Info, &name).source_location("f", "g", 1)),
            5 => drop(trace.instant(&thread, wall.at(10_000 + now), &name)),
            6 => drop(trace.slice(&thread, own.at(now / 10 + 1), 0, &name).emit()),
            _ => drop(trace.instant(&thread, now, &name).dict("d", |dict| {
                dict.list("l", |list| {
                    list.push(1).push("x");
                });
            })),
        }
    }
    // Slices of two clocks on one track may be refused.
    let _ = trace.finish();
    bytes
}

fn visit(annotation: &Annotation<'_>, depth: u32) -> u64 {
    match &annotation.value {
        Value::Dict(inner) | Value::List(inner) if depth < 100 => {
            inner.map(|inner| visit(&inner, depth + 1)).sum()
        }
        _ => 1,
    }
}

/// Reads everything that there is, and returns the number of events.
fn read(bytes: &[u8]) -> u64 {
    let mut trace = TraceReader::with_memory(bytes, 1 << 20);
    let mut events = 0;
    loop {
        match trace.next_event() {
            Ok(None) => return events,
            Err(error) => assert!(error.place().offset <= bytes.len() as u64),
            Ok(Some(event)) => {
                events += 1;
                let _ = (event.name(), event.source_location(), event.log_message());
                let _ = (event.categories().count(), event.correlation_id());
                let _ = event.annotations().map(|annotation| visit(&annotation, 0)).sum::<u64>();
                assert!(i64::try_from(event.timestamp_ns()).is_ok());
            }
        }
    }
}

/// Every line of a timeline is there and in order, however little memory there is.
fn list(bytes: &[u8], rows_bytes_max: usize) {
    let events = read(bytes);
    let mut options = Options::default();
    (options.format, options.rows_bytes_max) = (Format::Json, rows_bytes_max);
    let mut out = Vec::new();
    let written = timeline::write(&mut Cursor::new(bytes), &mut out, &options);
    let text = String::from_utf8(out).unwrap();
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()));
    let lost = text.lines().filter(|line| line.contains("\"kind\":\"lost\"")).count() as u64;
    match written {
        Ok(summary) => assert_eq!((summary.events, summary.lines), (events, events + lost)),
        Err(TimelineError::TooManyPasses) => {}
        Err(error) => panic!("{error}"),
    }
    let times: Vec<u64> = text
        .lines()
        .map(|line| {
            let (_, rest) = line.split_once("\"timestamp_ns\":").unwrap();
            rest.split(',').next().unwrap().parse().unwrap()
        })
        .collect();
    assert!(times.is_sorted());
    options.format = Format::ColouredText;
    let _ = timeline::write(&mut Cursor::new(bytes), &mut Vec::new(), &options);
}

fn options() -> impl Strategy<Value = TraceOptions> {
    (any::<bool>(), any::<bool>()).prop_map(|(interning, delta)| {
        TraceOptions::new().interning(interning).delta_timestamps(delta)
    })
}

proptest! {
    #[test]
    fn what_is_written_has_no_findings(options in options(), seed in prop::collection::vec(any::<u8>(), 0..200)) {
        let bytes = trace(options, &seed);
        let mut found = Vec::new();
        let report = lint_within(bytes.as_slice(), 1 << 20, |finding, _| found.push(*finding));
        prop_assert!(found.is_empty(), "{found:?}");
        prop_assert!(report.error.is_none());
        prop_assert_eq!(read(&bytes), report.events);
        list(&bytes, 1 << 20);
        list(&bytes, 10_000);
    }

    #[test]
    fn changed_bytes_do_no_harm(
        options in options(),
        seed in prop::collection::vec(any::<u8>(), 0..60),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = trace(options, &seed);
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        list(&bytes, 4_000);
        lint_within(bytes.as_slice(), 1 << 20, |_, _| {});
        bytes.truncate(cut.index(bytes.len()));
        read(&bytes);
        lint_within(bytes.as_slice(), 4000, |_, _| {});
    }
}

#[test]
fn a_trace_may_be_created_with_any_output() {
    let mut trace = TraceFile::create(std::io::sink()).unwrap();
    let track = trace.track("T");
    trace.instant(&track, 1, "i");
    trace.finish().unwrap();
}
