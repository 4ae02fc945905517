//! What the service keeps of small requests, in memory of this process as the system counts it.
//!
//! One test in a process of its own: what other tests need would be counted, too.

extern crate tracing_core_service as service;

use abi::ipc::port::{ConsumerPort, Port, ProducerPort};
use protos::producer_port::Request;
use protos::{CommitDataRequest, CommitDataRequestChunksToMove};
use protozero::Message as _;
use service::Peer;
use testing::mock::{MockConsumer, MockProducer};
use testing::shell::Shell;

/// What an allocator may keep, and a decoded request takes for a moment, MiB.
const SLACK_MIB: usize = 24;

/// Memory of this process, MiB.
fn resident_mib() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("procfs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a line");
    line.trim().trim_end_matches(" kB").trim().parse::<usize>().expect("a number") / 1024
}

fn field(number: u8, body: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2];
    let mut len = body.len();
    while len >= 0x80 {
        out.push(len as u8 | 0x80);
        len >>= 7;
    }
    out.push(len as u8);
    out.extend_from_slice(body);
    out
}

/// A descriptor with so many empty categories, as it arrives.
fn registration(categories: usize) -> Vec<u8> {
    let categories = field(6, &[0x0a, 0].repeat(categories));
    field(1, &[field(1, b"ds"), categories].concat())
}

fn register(shell: &mut Shell, count: usize, categories: usize) {
    let producer = MockProducer::connect(shell, "p", Peer { uid: 1000, ..Peer::default() });
    for _ in 0..count {
        // As a daemon does: what does not decode never reaches the service.
        if let Ok(request) = ProducerPort::decode(2, &registration(categories)) {
            producer.call(shell, request);
        }
    }
}

/// A config of empty data sources, as it arrives.
fn enabling(sources: usize) -> Vec<u8> {
    let buffer = field(1, &[8, 64]);
    let sources = [0x12, 0].repeat(sources);
    field(1, &[buffer, sources].concat())
}

/// Commits one packet of each of these writers of a producer, into the first buffer.
fn write_once(shell: &mut Shell, producer: &MockProducer, writers: std::ops::Range<u16>) {
    let chunk = |writer: u16| {
        // The id of the chunk, its writer, one packet, and that: its length, and a field without content.
        let header = [&0_u32.to_le_bytes()[..], &writer.to_le_bytes(), &1_u16.to_le_bytes()];
        let data = [&header.concat()[..], &[3, 0xa2, 0x38, 0]].concat();
        CommitDataRequestChunksToMove {
            target_buffer: Some(1),
            data: Some(data),
            ..Default::default()
        }
    };
    let chunks_to_move = writers.map(chunk).collect();
    let request = CommitDataRequest { chunks_to_move, ..Default::default() };
    producer.call(shell, Request::CommitData(request));
}

/// Clones of a session whose small ring has gone round often: what grew are the numbers of its sequences.
fn clones_of_a_session_with_many_sequences() {
    const PRODUCERS: usize = 8;
    const WRITERS: u16 = 60_000;
    let mut shell = Shell::new();
    let mut consumer = MockConsumer::connect(&mut shell, 1000);
    let config = protos::TraceConfig::decode(&enabling_named("ds")).expect("a config");
    consumer.enable(&mut shell, config, None);
    let mut producers = Vec::new();
    for _ in 0..PRODUCERS {
        let peer = Peer { uid: 1000, ..Peer::default() };
        let mut producer = MockProducer::connect(&mut shell, "p", peer);
        producer.register_name(&mut shell, "ds");
        producer.commands(&mut shell);
        for from in (1..WRITERS).step_by(2000) {
            write_once(&mut shell, &producer, from..from + 2000);
            consumer.read(&mut shell);
        }
        producers.push(producer);
    }
    let before = resident_mib();
    let source = shell.service.last_session().get();
    let mut clones = Vec::new();
    for number in 1..=16 {
        // A sequence that only the next clones know.
        write_once(&mut shell, &producers[0], WRITERS + number..WRITERS + number + 1);
        consumer.read(&mut shell);
        clones.push(clone(&mut shell, source, &producers));
    }
    let grown = resident_mib() - before;
    assert_eq!(shell.service.footprint().sessions, 17);
    assert!(grown < SLACK_MIB, "16 clones: {grown} MiB");
}

/// Clones of a session that was told of many other sessions, with long names.
fn clones_of_a_session_with_many_events() {
    let mut shell = Shell::new();
    let mut told = MockConsumer::connect(&mut shell, 1000);
    let builtin_data_sources = Some(protos::TraceConfigBuiltinDataSource {
        enable_concurrent_session_events: Some(true),
        ..Default::default()
    });
    let mut config = protos::TraceConfig::decode(&enabling_named("ds")).expect("a config");
    config.builtin_data_sources = builtin_data_sources;
    told.enable(&mut shell, config.clone(), None);
    let source = shell.service.last_session().get();
    config.unique_session_name = Some("x".repeat(2000));
    for _ in 0..1500 {
        let mut other = MockConsumer::connect(&mut shell, 1001);
        other.enable(&mut shell, config.clone(), None);
        other.disconnect(&mut shell);
    }
    let before = resident_mib();
    let clones: Vec<_> = (0..16).map(|_| clone(&mut shell, source, &[])).collect();
    let grown = resident_mib() - before;
    assert_eq!((clones.len(), shell.service.footprint().sessions), (16, 17));
    assert!(grown < SLACK_MIB, "16 clones: {grown} MiB");
}

/// A config with a ring of 64 KiB, and one data source.
fn enabling_named(source: &str) -> Vec<u8> {
    let buffer = field(1, &[8, 64]);
    [buffer, field(2, &field(1, &field(1, source.as_bytes())))].concat()
}

/// A clone, whose flush these producers acknowledge.
fn clone(shell: &mut Shell, source: u64, producers: &[MockProducer]) -> MockConsumer {
    let clone = MockConsumer::connect(shell, 1000);
    let selector = Some(protos::CloneSessionRequestSelector::SessionId(source));
    let request = protos::CloneSessionRequest { selector, ..Default::default() };
    let call = clone.clone_session(shell, request, None);
    producers.iter().for_each(|producer| producer.ack_flush(shell, u64::MAX));
    assert_eq!(clone.cloned(shell, call).expect("answered").error, None);
    clone
}

/// Producers whose user has used up its account, with long names of what they cannot register.
fn names_of_refused_data_sources() {
    const NAME_BYTES: usize = 120_000;
    let mut shell = Shell::new();
    let peer = || Peer { uid: 1000, ..Peer::default() };
    let mut producers = Vec::new();
    let long = |number: usize| protos::DataSourceDescriptor {
        name: Some(format!("{number}{}", "n".repeat(NAME_BYTES))),
        ..Default::default()
    };
    let full = MockProducer::connect(&mut shell, "full", peer());
    (0..200).for_each(|number| full.register(&mut shell, long(number)));
    assert!(shell.service.footprint().sources < 200, "the account is full");
    let before = resident_mib();
    for number in 0..200 {
        let producer = MockProducer::connect(&mut shell, "p", peer());
        (0..4).for_each(|at| producer.register(&mut shell, long(1000 + 4 * number + at)));
        producers.push(producer);
    }
    let grown = resident_mib() - before;
    assert!(grown < SLACK_MIB, "{} producers: {grown} MiB", producers.len());
}

/// A change that gives each of thousands of data sources thousands of names.
fn changes_with_many_names() {
    const NAMES: usize = 40_000;
    let mut shell = Shell::new();
    let mut consumer = MockConsumer::connect(&mut shell, 1000);
    let config = protos::TraceConfig {
        data_sources: vec![protos::TraceConfigDataSource::default(); 2000],
        ..protos::TraceConfig::decode(&enabling_named("ds")).expect("a config")
    };
    consumer.enable(&mut shell, config, None);
    assert_eq!(shell.service.footprint().sessions, 1);
    let before = resident_mib();
    let work = shell.service.work();
    for name in ["", "x"] {
        let asked = protos::TraceConfig {
            data_sources: vec![protos::TraceConfigDataSource {
                producer_name_filter: vec![name.into(); NAMES],
                ..Default::default()
            }],
            ..Default::default()
        };
        let trace_config = Some(asked.into());
        let request = protos::ChangeTraceConfigRequest { trace_config, ..Default::default() };
        consumer.call(&mut shell, protos::consumer_port::Request::ChangeTraceConfig(request));
        let (_, line) = shell.log.last().expect("a line");
        assert!(line.contains("the new producer filters are too large"), "{line}");
    }
    let (grown, work) = (resident_mib() - before, shell.service.work() - work);
    assert!(grown < SLACK_MIB, "{grown} MiB");
    assert!(work < 16 << 20, "{work}");
}

#[test]
fn small_requests_do_not_make_the_service_grow() {
    clones_of_a_session_with_many_sequences();
    clones_of_a_session_with_many_events();
    names_of_refused_data_sources();
    changes_with_many_names();
    let mut shell = Shell::new();
    let before = resident_mib();
    // 128 registrations of 130 KB, and more of them that pass the limit of one request.
    register(&mut shell, 128, 65_000);
    register(&mut shell, 2000, 4_000);
    let grown = resident_mib() - before;
    assert!(grown < 16 + SLACK_MIB, "descriptors: {grown} MiB");

    let before = resident_mib();
    let mut consumers = Vec::new();
    // As large as it may be, and what is larger.
    let fits = |count: &usize| ConsumerPort::decode(1, &enabling(*count)).is_ok();
    let largest = (0..60).map(|bit| 60_000 >> bit).find(fits).expect("one");
    for count in [60_000, largest] {
        let consumer = MockConsumer::connect(&mut shell, 1000);
        if let Ok(request) = ConsumerPort::decode(1, &enabling(count)) {
            consumer.call(&mut shell, request);
        }
        consumers.push(consumer);
    }
    let sessions = shell.service.footprint().sessions;
    let source = shell.service.last_session().get();
    for _ in 0..16 {
        let clone = MockConsumer::connect(&mut shell, 1000);
        let selector = Some(protos::CloneSessionRequestSelector::SessionId(source));
        let request = protos::CloneSessionRequest { selector, ..Default::default() };
        clone.clone_session(&mut shell, request, None);
        consumers.push(clone);
    }
    let grown = resident_mib() - before;
    let clones = shell.service.footprint().sessions - sessions;
    assert!(grown < SLACK_MIB, "{sessions} configs, {clones} clones: {grown} MiB");
    assert!(clones > 0, "nothing was cloned");
}
