//! Producers begin their sequences anew while a ring fills.

use super::*;
use crate::commits::stats;
use abi::ids::{BufferId, WriterId};
use protos::TraceConfigIncrementalStateConfig;

/// The commands that a producer gets while two times as much as the first buffer holds is written into it, `quarter_ms`
/// for each quarter. It has a source for each of two buffers, and one that has no state.
fn while_a_ring_fills(change: impl FnOnce(&mut TraceConfig), quarter_ms: u64) -> Vec<String> {
    let mut shell = Shell::new();
    let mut producer = producer(&mut shell, "p");
    let clears = |name| DataSourceDescriptor {
        handles_incremental_state_clear: Some(true),
        ..descriptor(name)
    };
    producer.register(&mut shell, clears("ring"));
    producer.register(&mut shell, clears("other"));
    producer.register_name(&mut shell, "no state");
    let mut config = config(&["ring", "other", "no state"]);
    config.buffers.push(config.buffers[0].clone());
    config.data_sources[1].config.as_mut().unwrap().target_buffer = Some(1);
    change(&mut config);
    let file = config.write_into_file.is_some().then(|| shell.open_file());
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, config, file);
    producer.commands(&mut shell);
    producer.write(&mut shell, WRITER, BUFFER, &[payload("x")]);
    let stats = stats(&mut shell, &consumer).buffer_stats.swap_remove(0);
    let chunks = (stats.buffer_size.unwrap() / 4).div_ceil(stats.bytes_written.unwrap());
    for _ in 0..8 {
        for _ in 0..chunks {
            producer.write(&mut shell, WRITER, BUFFER, &[payload("x")]);
        }
        shell.advance_ms(quarter_ms);
    }
    words(&mut shell, &mut producer)
}

/// A ring overwrites first what its sequences begin with, and without that nothing of them can be read.
#[test]
fn sequences_begin_anew_while_a_ring_fills() {
    assert_eq!(while_a_ring_fills(|_| (), 12), ["clear [1]"; 8]);
    assert_eq!(while_a_ring_fills(|_| (), 5), ["clear [1]"; 4], "a pause of 10 ms");
    let policy = protos::TraceConfigBufferConfigFillPolicy::DISCARD;
    let discards = |config: &mut TraceConfig| config.buffers[0].fill_policy = Some(policy);
    assert!(while_a_ring_fills(discards, 12).is_empty());
    let decides = |config: &mut TraceConfig| {
        config.incremental_state_config = Some(TraceConfigIncrementalStateConfig::default());
    };
    assert!(while_a_ring_fills(decides, 12).is_empty());
    let writes = |config: &mut TraceConfig| config.write_into_file = Some(true);
    let words = while_a_ring_fills(writes, 20_000);
    assert!(
        words.iter().all(|word| !word.contains("clear")),
        "a file gets each quarter: {words:?}"
    );
    assert_eq!(while_a_ring_fills(writes, 12), ["clear [1]"; 7], "a file is late");
}

/// A pause after one ring is none for the others.
#[test]
fn a_fast_ring_leaves_the_others_theirs() {
    let mut shell = Shell::new();
    let mut producer = producer(&mut shell, "p");
    for name in ["fast", "slow"] {
        let descriptor = DataSourceDescriptor {
            handles_incremental_state_clear: Some(true),
            ..descriptor(name)
        };
        producer.register(&mut shell, descriptor);
    }
    let mut config = config(&["fast", "slow"]);
    config.buffers.push(config.buffers[0].clone());
    config.data_sources[1].config.as_mut().unwrap().target_buffer = Some(1);
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, config, None);
    producer.commands(&mut shell);
    let buffers = [BUFFER, BufferId::new(2)];
    let mut write = |shell: &mut Shell, ring: usize, writer| {
        let written = |shell: &mut Shell| {
            let stats = stats(shell, &consumer).buffer_stats.swap_remove(ring);
            (stats.buffer_size.unwrap(), stats.bytes_written.unwrap())
        };
        let (size, before) = written(shell);
        while written(shell).1 - before <= size / 4 {
            producer.write(shell, writer, buffers[ring], &[payload("x")]);
        }
        words(shell, &mut producer)
    };
    assert_eq!(write(&mut shell, 0, WRITER), ["clear [1]"]);
    assert_eq!(write(&mut shell, 1, WriterId::new(2)), ["clear [2]"], "at the same time");
    assert!(write(&mut shell, 0, WRITER).is_empty(), "a pause of 10 ms");
}

/// Looking at the instances of the session costs the producer that fills a ring.
#[test]
fn the_producer_that_fills_a_ring_pays() {
    const INSTANCES: u64 = 1000;
    let mut shell = Shell::new();
    let mut producer = producer(&mut shell, "p");
    (0..INSTANCES).for_each(|_| producer.register_name(&mut shell, "ds"));
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, config(&["ds"]), None);
    producer.commands(&mut shell);
    let mut dearest = 0;
    while stats(&mut shell, &consumer).buffer_stats[0].bytes_overwritten == Some(0) {
        let before = shell.service.work();
        producer.write(&mut shell, WRITER, BUFFER, &[payload("x")]);
        dearest = dearest.max(shell.service.work() - before);
    }
    let cost = INSTANCES * service::limits::WORK_PER_ENTRY;
    assert!(dearest >= cost && dearest < 2 * cost, "{dearest} for {INSTANCES} instances");
}
