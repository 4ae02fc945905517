//! A ring that holds less than what is recorded.

use std::collections::HashSet;

use protos::{Trace, TracePacketData};
use protozero::Message as _;
use tracing_sdk::session::{Config, Fill, Session};
use tracing_sdk::{categories, instant};

use crate::alone::alone;
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

/// The ring has overwritten what its sequences began with. The config does not ask for more beginnings: the service does.
#[test]
fn events_of_a_ring_can_be_read() {
    let _alone = alone();
    let config = Config::new().buffer_kb(RING_KB, Fill::Ring).track_events(&["ring"]);
    let session = Session::in_process(&config).expect("a session");
    session.start().expect("a start");
    let mut rounds_overwriting = 0;
    // The service asks at most every 10 ms.
    let begin = std::time::Instant::now();
    while rounds_overwriting < 20 || begin.elapsed().as_millis() < 100 {
        (0..100u64).for_each(|number| instant!(RING, "a point", number = number));
        session.flush().expect("a flush");
        let stats = session.stats().expect("statistics");
        rounds_overwriting += u32::from(stats.buffer_stats[0].bytes_overwritten > Some(0));
    }
    session.stop().expect("an end");
    let mut trace = Vec::new();
    session.read_into(&mut trace).expect("a trace");
    let (all, can_be_read) = readable(&trace);
    assert!(all > 0);
    assert!(can_be_read > 0, "none of {all} events can be read");
}
