//! Data sources that name the buffer they write to.

use super::*;

/// Buffers of these names; an empty string is no name.
fn named_config(names: &[&str], sources: &[(u32, &str)]) -> TraceConfig {
    let buffers = names.iter().map(|name| TraceConfigBufferConfig {
        name: (!name.is_empty()).then(|| (*name).into()),
        ..buffer(128)
    });
    let mut data_sources = named(&vec!["ds"; sources.len()]);
    for ((index, name), source) in sources.iter().zip(&mut data_sources) {
        let config = source.config.as_mut().expect("made with one");
        config.target_buffer = (*index > 0).then_some(*index);
        config.target_buffer_name = (!name.is_empty()).then(|| (*name).into());
    }
    TraceConfig { buffers: buffers.collect(), data_sources, ..Default::default() }
}

/// The global ids of the target buffers that a producer is sent.
fn targets(shell: &mut Shell, config: TraceConfig) -> (MockProducer, MockConsumer, Vec<u32>) {
    let mut producer = producer(shell, "producer");
    producer.register_name(shell, "ds");
    let mut consumer = MockConsumer::connect(shell, 0);
    consumer.enable(shell, config, None);
    let of = |command: &Cmd| match command {
        Cmd::SetupDataSource(setup) => setup.config.as_ref()?.target_buffer,
        _ => None,
    };
    let targets = producer.commands(shell).iter().filter_map(of).collect();
    (producer, consumer, targets)
}

#[track_caller]
fn refused(config: TraceConfig, expect: &str) {
    let mut shell = Shell::new();
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, config, None);
    let error = consumer.ended(&mut shell).expect("refused");
    assert!(error.contains(expect), "{error}");
    assert!(shell.service.is_idle());
}

#[test]
fn named_buffer_targeting() {
    let mut shell = Shell::new();
    let config = named_config(&["first", "second"], &[(0, "second")]);
    let (mut producer, consumer, targets) = targets(&mut shell, config);
    assert_eq!(targets, [2]);
    let text = "0123456789".repeat(100);
    for _ in 0..10 {
        producer.write(&mut shell, WRITER, BufferId::new(2), &[payload(&text)]);
    }
    assert_eq!(payloads(&consumer.read(&mut shell)), vec![text; 10]);
}

#[test]
fn named_buffer_with_matching_index() {
    let mut shell = Shell::new();
    let config = named_config(&["first", "second"], &[(1, "second")]);
    assert_eq!(targets(&mut shell, config).2, [2]);
}

#[test]
fn named_buffer_not_found() {
    refused(named_config(&["first"], &[(0, "other")]), "does not match any buffer");
}

#[test]
fn named_buffer_index_mismatch() {
    refused(named_config(&["a", "first", "second"], &[(1, "second")]), "don't match");
}

#[test]
fn duplicate_buffer_names() {
    refused(named_config(&["same", "same"], &[]), "Duplicate buffer name");
}

#[test]
fn named_buffer_mixed_with_unnamed() {
    let mut shell = Shell::new();
    let config = named_config(&["", "named", ""], &[(2, ""), (0, "named")]);
    assert_eq!(targets(&mut shell, config).2, [3, 2]);
}

#[test]
fn targets_must_exist() {
    refused(named_config(&["", ""], &[(2, "")]), "out of bounds");
    refused(named_config(&[], &[(0, "")]), "out of bounds");
}
