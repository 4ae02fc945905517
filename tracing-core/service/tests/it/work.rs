//! What one event may cost: a peer pays for what it did itself, whatever others did.

use protos::producer_port::Request;

use crate::{MockConsumer, MockProducer, Shell, config, descriptor, peer, producer};
use service::Input;
use service::limits;

/// Work that an event takes whatever peers hold.
const CONSTANT: u64 = 64 * limits::WORK_PER_ENTRY;

fn register_many(shell: &mut Shell, count: usize) -> MockProducer {
    let producer = producer(shell, "p");
    for _ in 0..count {
        producer.register_name(shell, "ds");
    }
    producer
}

/// What a producer leaves behind is removed in time that depends on that alone: it was the square of what all had.
#[test]
fn a_producer_that_leaves_costs_what_it_registered() {
    const OWN: usize = 200;
    let mut costs = Vec::new();
    for others in [0, 20] {
        let mut shell = Shell::new();
        let _others: Vec<_> = (0..others).map(|_| register_many(&mut shell, 1000)).collect();
        let leaving = register_many(&mut shell, OWN);
        let before = shell.service.work();
        shell.input(Input::ProducerDisconnected { client: leaving.client });
        costs.push(shell.service.work() - before);
    }
    assert_eq!(costs[0], costs[1], "the registrations of others count");
    let each = 8 * limits::WORK_PER_ENTRY;
    assert!(costs[0] >= OWN as u64 * limits::WORK_PER_ENTRY, "nothing was counted");
    assert!(costs[0] <= OWN as u64 * each + CONSTANT, "{} for {OWN}", costs[0]);
}

#[test]
fn one_registration_costs_the_same_among_many() {
    let mut shell = Shell::new();
    let first = register_many(&mut shell, 1);
    let alone = shell.service.work();
    let _others: Vec<_> = (0..20).map(|_| register_many(&mut shell, 1000)).collect();
    assert_eq!(shell.service.work(), alone * 20_001);
    let before = shell.service.work();
    let request = protos::UnregisterDataSourceRequest {
        data_source_name: Some("ds".into()),
        ..Default::default()
    };
    first.call(&mut shell, Request::UnregisterDataSource(request));
    assert!(shell.service.work() - before <= CONSTANT);
}

/// An acknowledgement of all flushes there ever will be looks only at those that its producer was asked for.
#[test]
fn an_acknowledgement_looks_at_own_flushes_alone() {
    let mut shell = Shell::new();
    let (asked, other) = (register_many(&mut shell, 1), producer(&mut shell, "other"));
    other.register(&mut shell, descriptor("other"));
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, config(&["ds"]), None);
    let mut second = MockConsumer::connect(&mut shell, 0);
    second.enable(&mut shell, config(&["other"]), None);
    for _ in 0..100 {
        consumer.call(&mut shell, protos::consumer_port::Request::Flush(Default::default()));
    }
    let ack = |shell: &mut Shell, producer: &MockProducer| {
        let request =
            protos::CommitDataRequest { flush_request_id: Some(u64::MAX), ..Default::default() };
        let before = shell.service.work();
        producer.call(shell, Request::CommitData(request));
        shell.service.work() - before
    };
    assert!(ack(&mut shell, &other) < CONSTANT);
    assert!(ack(&mut shell, &asked) >= 100 * limits::WORK_PER_ENTRY);
    assert_eq!(shell.service.footprint().flushes, 0);
}

/// Registrations are on the account of their user, whichever connections it uses.
#[test]
fn what_is_kept_of_a_user_is_bounded_and_given_back() {
    let mut shell = Shell::new();
    let large = || protos::DataSourceDescriptor {
        track_event_descriptor: Some(protos::TrackEventDescriptor {
            available_categories: vec![protos::TrackEventCategory::default(); 60_000],
            ..Default::default()
        }),
        ..descriptor("ds")
    };
    let mut producers = Vec::new();
    for _ in 0..3 {
        let producer = MockProducer::connect(&mut shell, "p", peer(1000));
        for _ in 0..60 {
            producer.register(&mut shell, large());
        }
        producers.push(producer);
    }
    let held = shell.service.footprint().sources;
    assert!(held * 120_000 <= limits::SOURCE_BYTES_PER_USER_MAX, "{held} of 180");
    assert!(held > 100, "only {held} of 180");
    assert_eq!(shell.service.accounts(), (1, 180 - held as u64));
    // Another user is not touched.
    let other = MockProducer::connect(&mut shell, "other", peer(1001));
    other.register(&mut shell, large());
    assert_eq!(shell.service.footprint().sources, held + 1);
    for producer in producers {
        shell.input(Input::ProducerDisconnected { client: producer.client });
    }
    shell.input(Input::ProducerDisconnected { client: other.client });
    assert_eq!(shell.service.footprint().sources, 0);
    assert_eq!(shell.service.accounts().0, 0);
}
