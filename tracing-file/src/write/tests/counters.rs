use super::*;
use crate::read::{EventKind, TraceReader};

#[test]
fn counters_are_described_before_their_values() {
    check(
        plain(),
        |trace| {
            let memory = trace.counter_track(CounterSpec::new("mem").unit(Unit::Bytes));
            trace.counter(&memory, 1, 4096);
            trace.counter(&memory, 2, 0.5);
            let sum = trace.counter_track(CounterSpec::new("sum").incremental().multiplier(2));
            trace.counter(&sum, 3, 10);
            trace.counter(&sum, 4, 7);
        },
        "packet { track_descriptor { uuid: 1 name: 'mem' counter { unit: UNIT_SIZE_BYTES } } }
         packet { timestamp: 1 trusted_packet_sequence_id: 5
                  track_event { type: TYPE_COUNTER track_uuid: 1 counter_value: 4096 } }
         packet { timestamp: 2 trusted_packet_sequence_id: 5
                  track_event { type: TYPE_COUNTER track_uuid: 1 double_counter_value: 0.5 } }
         packet { track_descriptor { uuid: 2 name: 'sum'
                                     counter { is_incremental: true unit_multiplier: 2 } } }
         packet { timestamp: 3 trusted_packet_sequence_id: 5
                  track_event { type: TYPE_COUNTER track_uuid: 2 counter_value: 10 } }
         packet { timestamp: 4 trusted_packet_sequence_id: 5
                  track_event { type: TYPE_COUNTER track_uuid: 2 counter_value: -3 } }",
    );
}

#[test]
fn a_refused_value_does_not_change_later_differences() {
    check(
        plain(),
        |trace| {
            let sum = trace.counter_track(CounterSpec::new("sum").incremental());
            trace.counter(&sum, 1, 10);
            assert!(trace.counter(&sum, u64::MAX, 100).emit().is_err());
            trace.counter(&sum, 2, 7);
        },
        "packet { track_descriptor { uuid: 1 name: 'sum' counter { is_incremental: true } } }
         packet { timestamp: 1 trusted_packet_sequence_id: 5
                  track_event { type: TYPE_COUNTER track_uuid: 1 counter_value: 10 } }
         packet { timestamp: 2 trusted_packet_sequence_id: 5
                  track_event { type: TYPE_COUNTER track_uuid: 1 counter_value: -3 } }",
    );
}

/// The values of all counters as a reader sees them.
fn values(options: TraceOptions, write: impl FnOnce(&mut TraceFile<&mut Vec<u8>>)) -> Vec<f64> {
    let mut bytes = Vec::new();
    let mut trace = options.create(&mut bytes).unwrap();
    write(&mut trace);
    trace.finish().unwrap();
    let mut values = Vec::new();
    let mut reader = TraceReader::new(&bytes[..]);
    while let Some(event) = reader.next_event().unwrap() {
        if let EventKind::Counter(value) = event.kind() {
            values.push(value.as_f64());
        }
    }
    values
}

#[test]
fn the_first_interned_text_does_not_change_the_values_of_incremental_counters() {
    let write = |trace: &mut TraceFile<&mut Vec<u8>>| {
        let sum = trace.counter_track(CounterSpec::new("sum").incremental());
        trace.counter(&sum, 1, 10);
        trace.counter(&sum, 2, 12).arg("why", "an interned name in the same packet");
        trace.counter(&sum, 3, 7);
    };
    for is_interned in [true, false] {
        for is_delta in [true, false] {
            let options = TraceOptions::new().interning(is_interned).delta_timestamps(is_delta);
            assert_eq!(values(options, write), [10.0, 12.0, 7.0]);
        }
    }
}

#[test]
fn an_incremental_counter_has_real_values_too() {
    let write = |trace: &mut TraceFile<&mut Vec<u8>>| {
        let sum = trace.counter_track(CounterSpec::new("sum").incremental());
        trace.counter(&sum, 1, 0.5);
        trace.counter(&sum, 2, 0.75);
        trace.counter(&sum, 3, 2);
        trace.counter(&sum, 4, 1.5);
        trace.counter(&sum, 5, i64::MIN);
        trace.counter(&sum, 6, i64::MAX);
    };
    let (min, max) = (i64::MIN as f64, i64::MAX as f64);
    assert_eq!(values(TraceOptions::new(), write), [0.5, 0.75, 2.0, 1.5, min, max]);
}

#[test]
fn a_multiplier_is_above_0() {
    for multiplier in [0, -1, i64::MIN] {
        let text = format!(
            "2 events were refused, the first is event 0: the multiplier of a counter is {multiplier}, and readers \
             ignore all that are not above 0"
        );
        let write = |trace: &mut TraceFile<Vec<u8>>| {
            let counter = trace.counter_track(CounterSpec::new("c").multiplier(multiplier));
            trace.counter(&counter, 1, 4);
        };
        check_error(write, &text);
    }
    check_error(
        |trace| {
            let counter = trace.counter_track(CounterSpec::new("c").multiplier(0));
            let refused = trace.counter(&counter, 1, 4).emit();
            assert!(matches!(refused, Err(WriteError::NoTrack)), "{refused:?}");
        },
        "event 0 was refused: the multiplier of a counter is 0, and readers ignore all that are not above 0",
    );
}
