use super::*;
use crate::read::TraceReader;
use crate::testing::trace_bytes;

/// What becomes of marks: sequence, time, and whether it is a begin.
fn outcomes(memory: usize, marks: impl Iterator<Item = (u32, u64, bool)>) -> Vec<OutcomeKind> {
    let text: String = marks
        .map(|(sequence, at, is_begin)| {
            let kind = if is_begin { "BEGIN" } else { "END" };
            format!(
                "packet {{ trusted_packet_sequence_id: {sequence} timestamp: {at}
                           track_event {{ type: TYPE_SLICE_{kind} }} }}"
            )
        })
        .collect();
    let bytes = trace_bytes(&text);
    let mut trace = TraceReader::new(bytes.as_slice());
    let mut slices = Slices::new(memory);
    let mut outcomes = Vec::new();
    while let Some(event) = trace.next_event().unwrap() {
        slices.add(&event, 0, |outcome| outcomes.push(outcome.kind));
    }
    slices.finish(|outcome| outcomes.push(outcome.kind));
    outcomes
}

fn closed(duration_ns: u64) -> OutcomeKind {
    OutcomeKind::Closed { tag: 0, duration_ns, is_crossing: false }
}

#[test]
fn slices_of_several_sequences_are_paired_by_time() {
    let marks = [(1, 10, true), (1, 40, false), (2, 20, false), (2, 30, true)];
    assert_eq!(outcomes(1 << 20, marks.into_iter()), [closed(10), closed(10)]);
}

#[test]
fn memory_of_pairs_is_given_back() {
    // Each pair waits until 64 others follow it, or 2,048 marks, or until no memory is left.
    for (sequences, marks) in [(1, 2 * PAIRS_MAX + 2), (2, MARKS_MAX), (1, 2), (2, 4)] {
        let memory = TRACK_COST + marks * MARK_COST;
        let count = 5000;
        let events = (0..2 * count).map(|n| ((n % sequences) as u32 + 1, n, n % 2 == 0));
        let outcomes = outcomes(memory, events);
        assert_eq!(outcomes.len() as u64, count, "{sequences} sequences");
        assert!(outcomes.iter().all(|outcome| *outcome == closed(1)));
    }
}

#[test]
fn marks_without_a_partner_have_a_bound() {
    let ends = outcomes(1 << 20, (0..1000).map(|at| (1, at, false)));
    assert_eq!(ends, vec![OutcomeKind::NotOpen; 1000]);
    let begins = outcomes(1 << 20, (0..1000).map(|at| (at as u32 % 2 + 1, at, true)));
    let too_deep = begins.iter().filter(|outcome| **outcome == OutcomeKind::TooDeep).count();
    assert_eq!((begins.len(), too_deep), (1000, 1000 - DEPTH_MAX));
    let refused = outcomes(TRACK_COST + MARK_COST, (0..2).map(|at| (1, at, true)));
    assert_eq!(refused, [OutcomeKind::Refused { sequence: 1 }, OutcomeKind::NotEnded]);
}
