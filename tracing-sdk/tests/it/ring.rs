//! A ring that holds less than what is recorded.

use std::collections::HashSet;
use std::time::Duration;

use protos::{Trace, TracePacketData};
use protozero::Message as _;
use tracing_file::lint::lint;
use tracing_file::read::{Problem, Severity};
use tracing_sdk::session::{Config, Fill, Session};
use tracing_sdk::{categories, instant};

use crate::alone::alone;
use crate::session::TempPath;
use crate::trace::trusted_sequence;

categories! {
    RING = "ring";
}

const RING_KB: u32 = 64;

/// How many events a trace has, and how many of them come after a beginning of their sequence: only these can be read.
fn readable(trace: &[u8]) -> (usize, usize) {
    let (mut begun, mut all, mut can_be_read) = (HashSet::new(), 0, 0);
    for packet in Trace::decode(trace).expect("a trace").packet {
        let sequence = trusted_sequence(&packet);
        if packet.sequence_flags.is_some_and(|flags| flags & 1 != 0) {
            begun.insert(sequence);
        }
        if let Some(TracePacketData::TrackEvent(_)) = &packet.data {
            all += 1;
            can_be_read += usize::from(begun.contains(&sequence));
        }
    }
    (all, can_be_read)
}

/// A session whose ring has gone round, and that has ended.
fn gone_round(config: &Config, is_enough: impl Fn(u32) -> bool) -> Session {
    let session = Session::in_process(config).expect("a session");
    session.start().expect("a start");
    let mut rounds_overwriting = 0;
    while !is_enough(rounds_overwriting) {
        (0..100u64).for_each(|number| instant!(RING, "a point", number = number));
        session.flush().expect("a flush");
        let stats = session.stats().expect("statistics");
        rounds_overwriting += u32::from(stats.buffer_stats[0].bytes_overwritten > Some(0));
    }
    session.stop().expect("an end");
    session
}

fn trace_of(session: &Session) -> Vec<u8> {
    let mut trace = Vec::new();
    session.read_into(&mut trace).expect("a trace");
    trace
}

/// Long enough for the service, which asks for beginnings at most every 10 ms.
fn until_asked() -> impl Fn(u32) -> bool {
    let begin = std::time::Instant::now();
    move |rounds| rounds >= 20 && begin.elapsed().as_millis() >= 100
}

/// The linter finds that events cannot be read, and that the program did nothing wrong. Returns how many can.
fn check_findings(trace: &[u8]) -> usize {
    let (all, can_be_read) = readable(trace);
    assert!(all > 0);
    let report = lint(trace, |_, _| {});
    assert!(report.error.is_none() && report.events == can_be_read as u64, "{report:?}");
    assert!(report.worst() < Some(Severity::Error), "{report:?}");
    let skipped = report.counts.get(&Problem::SkippedCut).copied().unwrap_or(0);
    assert!(skipped >= (all - can_be_read) as u64, "{skipped} of {all} - {can_be_read}");
    can_be_read
}

/// The ring has overwritten what its sequences began with. The config does not ask for more beginnings: the service does.
#[test]
fn events_of_a_ring_can_be_read() {
    let _alone = alone();
    let config = Config::new().buffer_kb(RING_KB, Fill::Ring).track_events(&["ring"]);
    let trace = trace_of(&gone_round(&config, until_asked()));
    assert!(check_findings(&trace) > 0);
}

/// The file gets nothing before the end of the session, so most was overwritten. What is left can be read.
#[test]
fn events_of_a_file_that_is_late_can_be_read() {
    let _alone = alone();
    let path = TempPath::new("late");
    let config = Config::new().buffer_kb(RING_KB, Fill::Ring).track_events(&["ring"]);
    let config = config.write_into_file(&path.0).write_period(Duration::from_secs(3600));
    gone_round(&config, until_asked());
    assert!(check_findings(&std::fs::read(&path.0).expect("a file")) > 0);
}

/// The config has its own time for beginnings, which does not come.
#[test]
fn a_ring_without_new_beginnings() {
    let _alone = alone();
    let config = Config::new().buffer_kb(RING_KB, Fill::Ring).track_events(&["ring"]);
    let config = config.clear_interval(Duration::from_secs(3600));
    let trace = trace_of(&gone_round(&config, |rounds| rounds >= 20));
    assert_eq!(check_findings(&trace), 0);
}
