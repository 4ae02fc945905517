//! Sessions with many sequences: what these cost, and how many of them a trace tells of.

use super::buffer_accounts::write_each;
use super::clone::{ask, done};
use super::commits::stats;
use super::*;
use protos::TraceConfigBufferConfigExperimentalMode as Mode;
use service::limits;

/// A session whose producer may write to each of its buffers of these sizes, in a service that numbers `sequences` of it
/// at most. Buffers of version 2 know their writers before they are read.
fn session(sequences: usize, kb: &[u32]) -> (Shell, MockProducer, MockConsumer) {
    let mut shell = Shell::with(|config| config.limits.sequences_per_session_max = sequences);
    let mut producer = producer(&mut shell, "p");
    let no_flush = Some(true);
    producer.register(&mut shell, DataSourceDescriptor { no_flush, ..descriptor("ds") });
    let mut config = config(&vec!["ds"; kb.len()]);
    config.buffers = kb.iter().map(|kb| buffer(*kb)).collect();
    for buffer in &mut config.buffers {
        buffer.experimental_mode = Some(Mode::TRACE_BUFFER_V2);
    }
    for (index, source) in (0..).zip(&mut config.data_sources) {
        source.config.as_mut().unwrap().target_buffer = Some(index);
    }
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, config, None);
    producer.commands(&mut shell);
    (shell, producer, consumer)
}

fn cost<T>(shell: &mut Shell, act: impl FnOnce(&mut Shell) -> T) -> u64 {
    let before = shell.service.work();
    act(shell);
    shell.service.work() - before
}

/// When the numbers of some sequences are forgotten, those of all are looked at. The session pays for that.
#[test]
fn to_forget_numbers_costs_work() {
    const MAX: u16 = 900;
    for is_read in [true, false] {
        let cost_of = |sequences| {
            let (mut shell, producer, consumer) = session(sequences, &[128]);
            write_each(&mut shell, (&producer, BUFFER), 1..MAX + 1, Some(&consumer));
            write_each(&mut shell, (&producer, BUFFER), MAX + 1..MAX + 2, None);
            cost(&mut shell, |shell| match is_read {
                true => drop(consumer.read(shell)),
                false => drop(stats(shell, &consumer)),
            })
        };
        let more = cost_of(MAX.into()) - cost_of(limits::SEQUENCES_PER_SESSION_MAX);
        // 16 bytes that are read, for each.
        assert!((32..=256).contains(&(more / u64::from(MAX))), "{more}, {is_read}");
    }
}

/// A clone shares the numbers of its source. What is moved for that costs work, the first time.
#[test]
fn to_share_numbers_costs_work() {
    let (mut shell, producer, consumer) = session(limits::SEQUENCES_PER_SESSION_MAX, &[128]);
    let clone = |shell: &mut Shell| {
        cost(shell, |shell| {
            let (clone, call) = ask(shell, 0, None);
            done(shell, &clone, call);
        })
    };
    write_each(&mut shell, (&producer, BUFFER), 1..501, Some(&consumer));
    clone(&mut shell);
    write_each(&mut shell, (&producer, BUFFER), 501..901, Some(&consumer));
    // Those of the first clone are joined with the new ones: 900.
    let more = clone(&mut shell) - clone(&mut shell);
    assert!((16..=64).contains(&(more / 900)), "{more}");
}

/// Each sequence of a buffer that is freed costs much more than its bytes.
#[test]
fn to_free_sequences_costs_work() {
    const COUNT: u16 = 1500;
    let (mut shell, producer, consumer) = session(limits::SEQUENCES_PER_SESSION_MAX, &[2048]);
    write_each(&mut shell, (&producer, BUFFER), 1..COUNT + 1, None);
    shell.work_waits = true;
    consumer.disconnect(&mut shell);
    while shell.service.footprint().sessions > 0 {
        shell.turn();
    }
    assert!(shell.service.footprint().retired_bytes > 0);
    let cost = cost(&mut shell, |shell| {
        while shell.service.footprint().retired_bytes > 0 {
            shell.turn();
        }
    });
    assert!((512..=2048).contains(&(cost / u64::from(COUNT))), "{cost}");
}

/// A trace tells of so many writers, however many buffers there are.
#[test]
fn a_trace_tells_of_some_thousand_writers() {
    let (mut shell, producer, consumer) = session(limits::SEQUENCES_PER_SESSION_MAX, &[128; 5]);
    for buffer in 1..=5 {
        write_each(&mut shell, (&producer, BufferId::new(buffer)), 1..901, None);
    }
    let packets = consumer.read(&mut shell);
    let provenance = packets.iter().find_map(|packet| match &packet.data {
        Some(TracePacketData::TraceProvenance(provenance)) => Some(provenance),
        _ => None,
    });
    let of_buffers = provenance.unwrap().buffers.iter().map(|buffer| buffer.sequences.len());
    assert_eq!(of_buffers.collect::<Vec<_>>(), [900, 900, 900, 900, 496]);
    shell.advance_ms(limits::SNAPSHOT_PERIOD_MS);
    let packets = consumer.read(&mut shell);
    let stats = packets.iter().find_map(|packet| match &packet.data {
        Some(TracePacketData::TraceStats(stats)) => Some(stats),
        _ => None,
    });
    assert_eq!(stats.unwrap().writer_stats.len(), 4096);
}
