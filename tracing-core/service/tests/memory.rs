//! What the service keeps of small requests, in memory of this process as the system counts it.
//!
//! One test in a process of its own: what other tests need would be counted, too.

extern crate tracing_core_service as service;

use abi::ipc::port::{ConsumerPort, Port, ProducerPort};
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

#[test]
fn small_requests_do_not_make_the_service_grow() {
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
