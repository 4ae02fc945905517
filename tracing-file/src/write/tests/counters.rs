use super::*;

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
