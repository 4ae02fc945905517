//! How many data sources and instances a producer, a session and a user may have.

use super::*;

#[test]
fn registrations_are_bounded() {
    let mut shell = Shell::new();
    let producer = producer(&mut shell, "p");
    for _ in 0..service::limits::DATA_SOURCES_PER_PRODUCER_MAX + 10 {
        producer.register_name(&mut shell, "ds");
    }
    assert_eq!(
        query(&mut shell, 0).data_sources.len(),
        service::limits::DATA_SOURCES_PER_PRODUCER_MAX
    );
    assert!(shell.log.len() <= service::limits::LOG_LINES_PER_PEER_MAX as usize);
}

/// One producer and one config make hundreds of thousands of matches; those above the limit cost nothing.
#[test]
fn matches_beyond_the_bound_cost_nothing() {
    let mut shell = Shell::new();
    // Root may use up a session.
    let mut producer = MockProducer::connect(&mut shell, "p", peer(0));
    for _ in 0..service::limits::DATA_SOURCES_PER_PRODUCER_MAX {
        producer.register_name(&mut shell, "ds");
    }
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, config(&["ds"; 100]), None);
    assert_eq!(shell.service.footprint().instances, service::limits::INSTANCES_PER_SESSION_MAX);
    assert!(shell.log.len() < 10, "{} lines", shell.log.len());
    consumer.free(&mut shell);
    producer.commands(&mut shell);
    // Large configs are bounded by their bytes: each is sent with the set-up and with the start.
    let mut large = config(&["ds"]);
    large.data_sources[0].config.as_mut().unwrap().legacy_config = Some("x".repeat(100_000));
    consumer.enable(&mut shell, large, None);
    let most = service::limits::INSTANCE_CONFIG_BYTES_PER_SESSION_MAX / 100_000;
    let instances = shell.service.footprint().instances;
    assert!((most - 2..=most).contains(&instances), "{instances}");
    assert!(shell.log.len() < 40, "{} lines", shell.log.len());
    producer.disconnect(&mut shell);
    assert_eq!(shell.service.footprint().instances, 0);
}

/// Registrations of one name do not use up the instances of a session: those of root's probes are set up.
#[test]
fn producers_of_one_user_do_not_crowd_out_the_probes() {
    let mut shell = Shell::new();
    let name = "linux.sys_stats";
    for crowd in ["a", "b", "c", "d", "e"] {
        let producer = MockProducer::connect(&mut shell, crowd, peer(1000));
        for _ in 0..service::limits::DATA_SOURCES_PER_PRODUCER_MAX {
            producer.register_name(&mut shell, name);
        }
    }
    let other = MockProducer::connect(&mut shell, "other", peer(1001));
    other.register_name(&mut shell, name);
    let probes = MockProducer::connect(&mut shell, "traced_probes", peer(0));
    probes.register_name(&mut shell, name);
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, config(&[name]), None);
    let set_up = |shell: &mut Shell, mut producer: MockProducer| {
        let commands = producer.commands(shell);
        commands.iter().filter(|command| matches!(command, Cmd::SetupDataSource(_))).count()
    };
    assert_eq!(set_up(&mut shell, probes), 1);
    assert_eq!(set_up(&mut shell, other), 1);
    let most = service::limits::INSTANCES_PER_SESSION_MAX / service::limits::QUOTA_PARTS;
    assert!(shell.service.footprint().instances <= most + 2);
    assert!(shell.log.iter().any(|(_, line)| line.contains("a data source is not set up")));
}

/// However many producers it has. What another user may register does not change.
#[test]
fn data_sources_of_one_user_take_so_many_bytes() {
    const LEN: usize = 50_000;
    let mut shell = Shell::new();
    let of =
        |shell: &mut Shell, uid| MockProducer::connect(shell, "p", Peer { uid, ..Peer::default() });
    for _ in 0..2 {
        let greedy = of(&mut shell, 1000);
        for number in 0..100 {
            greedy.register_name(&mut shell, &format!("{number}{}", "x".repeat(LEN)));
        }
    }
    let held = shell.service.footprint();
    // A name is kept beside the descriptor, which contains it.
    let fit = 16 * 1024 * 1024 / (2 * LEN);
    assert!((fit - 2..=fit).contains(&held.sources), "{held:?}");
    assert!(shell.log.iter().any(|(_, text)| text.contains("of at most 16777216: register fewer")));
    of(&mut shell, 1001).register_name(&mut shell, "ds");
    assert_eq!(shell.service.footprint().sources, held.sources + 1);
}
