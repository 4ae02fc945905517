use super::*;
use crate::read::TraceReader;
use crate::testing::trace_bytes;

/// The results for marks: sequence, time, and whether it is a begin.
fn outcomes(memory: usize, marks: impl Iterator<Item = (u32, u64, bool)>) -> Vec<OutcomeKind> {
    let (mut early, mut late) = early_and_late(memory, marks);
    early.append(&mut late);
    early
}

/// Those before the end of the trace, and those at it.
fn early_and_late(
    memory: usize,
    marks: impl Iterator<Item = (u32, u64, bool)>,
) -> (Vec<OutcomeKind>, Vec<OutcomeKind>) {
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
    let (mut early, mut late) = (Vec::new(), Vec::new());
    while let Some(event) = trace.next_event().unwrap() {
        slices.add(&event, 0, |outcome| early.push(outcome.kind));
    }
    slices.finish(|outcome| late.push(outcome.kind));
    (early, late)
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
    let memory = TRACK_COST + (PAIRS_MAX + 1) * MARK_COST;
    let ends = outcomes(memory, (0..1000).map(|at| (1, at, false)));
    assert_eq!(ends, vec![OutcomeKind::NotOpen; 1000]);
    let begins = outcomes(1 << 20, (0..1000).map(|at| (at as u32 % 2 + 1, at, true)));
    let too_deep = begins.iter().filter(|outcome| **outcome == OutcomeKind::TooDeep).count();
    assert_eq!((begins.len(), too_deep), (1000, 1000 - OPEN_SLICES_MAX));
    let refused = outcomes(TRACK_COST + MARK_COST, (0..2).map(|at| (1, at, true)));
    assert_eq!(refused, [OutcomeKind::Refused { sequence: 1 }, OutcomeKind::NotEnded]);
}

#[test]
fn slices_of_several_sequences_are_not_kept_to_the_end() {
    let marks = (0..2 * MARKS_MAX as u64).map(|n| (n as u32 % 2 + 1, n, n % 2 == 0));
    let (early, late) = early_and_late(1 << 30, marks);
    assert_eq!(early.len() + late.len(), MARKS_MAX);
    assert!(late.len() < MARKS_MAX / 2, "{} at the end", late.len());
}

#[test]
fn pairs_that_are_decided_give_their_memory_back() {
    let memory = TRACK_COST + (2 * PAIRS_MAX + 2) * MARK_COST;
    let short = (0..1000).flat_map(|n| [(1, n, true), (1, n, false)]);
    let long = [(1, 2000, true), (1, 4000, false)];
    let between = (0..63).flat_map(|n| [(1, 2500 + n, true), (1, 2500 + n, false)]);
    let crossing = [(1, 3000, true), (1, 5000, false)];
    let outcomes = outcomes(memory, short.chain(long).chain(between).chain(crossing));
    let duration_ns = 2000;
    let crossing = OutcomeKind::Closed { tag: 0, duration_ns, is_crossing: true };
    assert_eq!(outcomes.last(), Some(&crossing));
}

#[test]
fn names_are_compared_by_what_they_are_and_not_by_their_numbers() {
    let event = |sequence: u32, at: u64, of: &str, name: &str| {
        format!(
            "packet {{ timestamp: {at} trusted_packet_sequence_id: {sequence}
                       track_event {{ type: TYPE_SLICE_{of} track_uuid: 1 {name} }} }}"
        )
    };
    let name = |sequence, iid, name: &str| {
        format!(
            "packet {{ trusted_packet_sequence_id: {sequence} sequence_flags: 1
                       interned_data {{ event_names {{ iid: {iid} name: '{name}' }} }} }}"
        )
    };
    let bytes = trace_bytes(
        &(name(1, 1, "a")
            + &name(2, 2, "a")
            + &event(1, 1, "BEGIN", "name_iid: 1")
            + &event(1, 2, "BEGIN", "name: 'b'")
            + &event(2, 9, "END", "name_iid: 2")),
    );
    let mut trace = TraceReader::new(bytes.as_slice());
    let (mut slices, mut found) = (Slices::new(1 << 20), Vec::new());
    while let Some(event) = trace.next_event().unwrap() {
        slices.add(&event, 0, |outcome| found.push(outcome.kind));
    }
    slices.finish(|outcome| found.push(outcome.kind));
    assert_eq!(found, [closed(8)]);
}
