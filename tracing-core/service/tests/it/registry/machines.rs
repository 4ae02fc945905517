//! Producers of several machines: filters by name, and the machine of each packet of the service.

use super::*;

/// Which of the machines 0 (this one), 2 and 3 a data source with that filter is set up on.
fn machines(filter: &[&str], all: bool) -> Vec<u32> {
    let mut shell = Shell::new();
    let machine =
        |id, name: &str| Peer { machine_id: id, machine_name: name.into(), ..Peer::default() };
    let mut peers: Vec<_> = [(0, ""), (2, "machine2"), (3, "machine3")]
        .map(|(id, name)| (id, MockProducer::connect(&mut shell, "p", machine(id, name))))
        .into_iter()
        .collect();
    for (_, p) in &peers {
        p.register_name(&mut shell, "ds");
    }
    let mut config = config(&["ds"]);
    config.trace_all_machines = Some(all);
    config.data_sources[0].machine_name_filter = filter.iter().map(|s| (*s).into()).collect();
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, config, None);
    let mut got = |p: &mut MockProducer| !p.commands(&mut shell).is_empty();
    peers.iter_mut().filter_map(|(id, p)| got(p).then_some(*id)).collect()
}

#[test]
fn machine_name_filter() {
    assert_eq!(machines(&["host"], false), [0]);
}

#[test]
fn machine_name_filter_with_two_machines() {
    assert_eq!(machines(&["host", "machine2"], false), [0, 2]);
}

#[test]
fn machine_name_filter_with_host_external_name() {
    assert_eq!(machines(&["testhost"], false), [0]);
}

#[test]
fn machine_filter_default() {
    assert_eq!(machines(&[], false), [0]);
}

#[test]
fn machine_filter_default_override() {
    assert_eq!(machines(&[], true), [0, 2, 3]);
}

/// A machine that has told no name is not this one.
#[test]
fn a_machine_without_a_name_is_another_one() {
    let mut shell = Shell::new();
    let mut far = MockProducer::connect(&mut shell, "p", Peer { machine_id: 2, ..peer(42) });
    far.register_name(&mut shell, "ds");
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    let mut config = config(&["ds"]);
    config.data_sources[0].machine_name_filter = vec!["testhost".into()];
    consumer.enable(&mut shell, config, None);
    assert!(words(&mut shell, &mut far).is_empty());
}

/// The machine ids of packets of the service, while a producer of `machine_id` is connected.
fn machines_of_the_service(machine_id: u32, in_process: bool) -> Vec<Option<u32>> {
    let mut shell = Shell::new();
    let peer = Peer { machine_id, ..peer(42) };
    let client = shell.connect_producer(peer, in_process);
    shell.call_producer(client, Request::InitializeConnection(Default::default()), None);
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, config(&[]), None);
    let packets = consumer.read(&mut shell);
    let marker =
        |p: &&TracePacket| !matches!(p.data, Some(TracePacketData::SynchronizationMarker(_)));
    packets.iter().filter(marker).map(|p| p.machine_id).collect()
}

#[test]
fn in_process_machine_id_stamps_service_packets() {
    let machines = machines_of_the_service(1234, true);
    assert!(machines.len() > 5 && machines.iter().all(|id| *id == Some(1234)), "{machines:?}");
}

#[test]
fn host_producer_keeps_service_packets_on_host() {
    for (machine, in_process) in [(0, true), (0, false), (1234, false)] {
        let machines = machines_of_the_service(machine, in_process);
        assert!(machines.iter().all(Option::is_none), "{machines:?}");
    }
}

#[test]
fn query_service_state_reports_machine() {
    let mut shell = Shell::new();
    producer(&mut shell, "local");
    let remote = Peer { machine_id: 1234, machine_name: "MACHINE-NAME".into(), ..Peer::default() };
    MockProducer::connect(&mut shell, "remote", remote);
    let state = query(&mut shell, 0);
    let machine = |p: &protos::TracingServiceStateProducer| (p.machine_id, p.machine_name.clone());
    let machines: Vec<_> = state.producers.iter().map(machine).collect();
    assert_eq!(machines, [(None, None), (Some(1234), Some("MACHINE-NAME".into()))]);
}
