//! Instances of data sources are set up and stopped in pieces.

use super::*;

/// One data source in the config many times, and offered many times.
#[test]
fn a_session_is_set_up_in_pieces() {
    const OFFERED: usize = 60;
    const ASKED: usize = 60;
    let mut shell = Shell::new();
    let offering = producer(&mut shell, "offering");
    for _ in 0..OFFERED {
        offering.register_name(&mut shell, "ds");
    }
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    let deferred = protos::TraceConfig { deferred_start: Some(true), ..config(&["ds"; ASKED]) };
    shell.work_waits = true;
    bounded(&mut shell, |shell| consumer.enable(shell, deferred, None));
    let id = shell.service.session_of(consumer.client).unwrap();
    assert!(shell.service.view(id).unwrap().is_being_made);
    // What comes meanwhile is set up once. A request for the session waits.
    let late = producer(&mut shell, "late");
    bounded(&mut shell, |shell| late.register_name(shell, "ds"));
    bounded(&mut shell, |shell| consumer.start(shell));
    let other = MockConsumer::connect(&mut shell, 0);
    assert_eq!(other.call(&mut shell, Ask::QueryCapabilities(Default::default())).len(), 1);
    let mut turns = 0;
    while shell.service.view(id).unwrap().is_being_made {
        let before = shell.service.work();
        shell.turn();
        let cost = shell.service.work() - before;
        // The start of what was set up is not cut.
        let start = shell.service.footprint().instances as u64 * limits::WORK_PER_INSTANCE;
        assert!(cost <= limits::WORK_PER_TURN + UNCUT + start, "{cost} in one turn");
        turns += 1;
    }
    assert!(turns > 20, "{turns} turns");
    while shell.service.has_work() {
        shell.turn();
    }
    let view = shell.service.view(id).unwrap();
    assert_eq!(view.state, "STARTED");
    assert_eq!(shell.service.footprint().instances, (OFFERED + 1) * ASKED);
}

/// Ids of the instances that a producer was told to set up and to stop.
fn set_up_and_stopped(shell: &mut Shell, producer: &mut MockProducer) -> (Vec<u64>, Vec<u64>) {
    use protos::GetAsyncCommandResponseCmd as Cmd;
    let (mut set_up, mut stopped) = (Vec::new(), Vec::new());
    for command in producer.commands(shell) {
        match command {
            Cmd::SetupDataSource(c) => set_up.push(c.new_instance_id.unwrap()),
            Cmd::StopDataSource(c) => stopped.push(c.instance_id.unwrap()),
            _ => {}
        }
    }
    (set_up, stopped)
}

/// However a session ends, its instances are stopped in pieces, each of them once.
#[test]
fn the_instances_of_a_session_are_stopped_in_pieces() {
    const COUNT: usize = 2000;
    for notifies in [false, true] {
        let mut shell = Shell::new();
        let (mut offering, mut consumer) = session_of_many(&mut shell, COUNT, notifies);
        shell.advance_ms(1000);
        shell.work_waits = true;
        bounded(&mut shell, |shell| consumer.disable(shell));
        // One that comes meanwhile is not started.
        bounded(&mut shell, |shell| offering.register_name(shell, "ds"));
        assert!(turns(&mut shell) > 1);
        let (set_up, stopped) = set_up_and_stopped(&mut shell, &mut offering);
        assert_eq!((set_up.len(), &stopped), (COUNT, &set_up));
        assert_eq!(consumer.ended(&mut shell).is_some(), !notifies);
        for id in stopped.into_iter().filter(|_| notifies) {
            assert_eq!(consumer.ended(&mut shell), None);
            let request = protos::NotifyDataSourceStoppedRequest {
                data_source_id: Some(id),
                ..Default::default()
            };
            offering.call(&mut shell, Request::NotifyDataSourceStopped(request));
            turns(&mut shell);
        }
        if notifies {
            assert_eq!(consumer.ended(&mut shell), Some(String::new()));
        }
    }
}

/// Instances that do not acknowledge their stop count as stopped at the timeout, in pieces.
#[test]
fn instances_that_do_not_acknowledge_their_stop_are_given_up_in_pieces() {
    const COUNT: usize = 2000;
    let mut shell = Shell::new();
    let (mut offering, mut consumer) = session_of_many(&mut shell, COUNT, true);
    consumer.disable(&mut shell);
    shell.advance_ms(4999);
    assert_eq!(consumer.ended(&mut shell), None);
    shell.work_waits = true;
    shell.now_ns += 1_000_000;
    let before = shell.service.work();
    shell.turn();
    // The timer, and the work queue.
    let cost = shell.service.work() - before;
    assert!(cost <= limits::WORK_PER_PEER + limits::WORK_PER_TURN + UNCUT, "{cost} at once");
    assert_eq!(consumer.ended(&mut shell), None);
    assert!(turns(&mut shell) > 1);
    assert_eq!(consumer.ended(&mut shell), Some(String::new()));
    let (set_up, stopped) = set_up_and_stopped(&mut shell, &mut offering);
    assert_eq!((set_up.len(), stopped), (COUNT, set_up));
}

/// The last one acknowledges its stop after all, while the others are looked at again.
#[test]
fn a_session_may_end_while_its_instances_are_given_up() {
    let mut shell = Shell::new();
    let (_offering, mut consumer) = session_of_many(&mut shell, 1000, false);
    let silent = producer(&mut shell, "silent");
    let descriptor = protos::DataSourceDescriptor {
        will_notify_on_stop: Some(true),
        no_flush: Some(true),
        ..crate::descriptor("ds")
    };
    silent.register(&mut shell, descriptor);
    consumer.disable(&mut shell);
    shell.advance_ms(4999);
    shell.work_waits = true;
    shell.service.set_work(16 * 1024, 16 * 1024);
    shell.now_ns += 1_000_000;
    shell.turn();
    assert!(shell.service.has_work());
    let request =
        protos::NotifyDataSourceStoppedRequest { data_source_id: Some(1001), ..Default::default() };
    silent.call(&mut shell, Request::NotifyDataSourceStopped(request));
    let id = shell.service.session_of(consumer.client).unwrap();
    assert_eq!(shell.service.view(id).unwrap().state, "DISABLED");
    turns(&mut shell);
    assert_eq!(consumer.ended(&mut shell), Some(String::new()));
}

/// An instance that has stopped before is not told to stop again, and nobody is told of it again.
#[test]
fn an_instance_that_has_stopped_is_left_alone() {
    let mut shell = Shell::new();
    let (mut offering, consumer) = session_of_many(&mut shell, 1000, false);
    let silent = producer(&mut shell, "silent");
    let descriptor = protos::DataSourceDescriptor {
        will_notify_on_stop: Some(true),
        no_flush: Some(true),
        ..crate::descriptor("ds")
    };
    silent.register(&mut shell, descriptor);
    consumer.disable(&mut shell);
    shell.advance_ms(4999);
    let before = shell.service.work();
    shell.advance_ms(1);
    let cost = shell.service.work() - before;
    assert!(cost < 1000 * limits::WORK_PER_ENTRY + UNCUT, "{cost}");
    let (set_up, stopped) = set_up_and_stopped(&mut shell, &mut offering);
    assert_eq!(stopped, set_up);
    assert!(shell.service.footprint().sessions == 1 && !shell.service.has_work());
}

/// A consumer that leaves, or that leaves while its instances are stopped: they do not wait for an acknowledgement.
#[test]
fn the_instances_of_a_session_that_is_freed_are_stopped_in_pieces() {
    const COUNT: usize = 2000;
    for was_stopping in [false, true] {
        let mut shell = Shell::new();
        let (mut offering, consumer) = session_of_many(&mut shell, COUNT, true);
        shell.advance_ms(1000);
        shell.work_waits = true;
        if was_stopping {
            consumer.disable(&mut shell);
            shell.turn();
        }
        bounded(&mut shell, |shell| consumer.disconnect(shell));
        assert!(shell.service.has_work());
        // Nobody reaches it meanwhile.
        let mut other = MockConsumer::connect(&mut shell, 0);
        other.enable(&mut shell, config(&[]), None);
        let id = shell.service.session_of(other.client).unwrap().get() - 1;
        let selector = protos::CloneSessionRequestSelector::SessionId(id);
        let request =
            protos::CloneSessionRequest { selector: Some(selector), ..Default::default() };
        let third = MockConsumer::connect(&mut shell, 0);
        let call = shell.call_consumer(third.client, Ask::CloneSession(request), None);
        assert_eq!(third.cloned(&mut shell, call).unwrap().success, Some(false));
        assert!(turns(&mut shell) > 1);
        assert_eq!(shell.service.footprint().sessions, 1);
        let (set_up, stopped) = set_up_and_stopped(&mut shell, &mut offering);
        assert_eq!((set_up.len(), stopped), (COUNT, set_up));
    }
}

/// A daemon that ends waits for files alone, and does no further turns.
#[test]
fn a_service_that_ends_stops_all_instances_at_once() {
    let mut shell = Shell::new();
    let (_offering, _consumer) = session_of_many(&mut shell, 2000, true);
    shell.work_waits = true;
    shell.end_sessions("the end");
    assert!(shell.service.is_idle());
}

/// A consumer that leaves while its session is set up: what was set up is stopped.
#[test]
fn a_session_that_is_freed_while_it_is_set_up_stops_its_instances() {
    let mut shell = Shell::new();
    let mut offering = producer(&mut shell, "offering");
    for _ in 0..500 {
        offering.register_name(&mut shell, "ds");
    }
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    shell.work_waits = true;
    consumer.enable(&mut shell, config(&["ds"]), None);
    for _ in 0..2 {
        shell.turn();
    }
    let id = shell.service.session_of(consumer.client).unwrap();
    assert!(shell.service.view(id).unwrap().is_being_made);
    assert!(shell.service.footprint().instances > 0);
    bounded(&mut shell, |shell| consumer.disconnect(shell));
    turns(&mut shell);
    assert_eq!(shell.service.footprint().sessions, 0);
    let (set_up, stopped) = set_up_and_stopped(&mut shell, &mut offering);
    assert!(!set_up.is_empty());
    assert_eq!(stopped, set_up);
}

/// A session with many data sources that nobody has is set up in pieces.
#[test]
fn a_session_without_producers_is_set_up_in_pieces() {
    let mut shell = Shell::new();
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    shell.work_waits = true;
    bounded(&mut shell, |shell| consumer.enable(shell, config(&["ds"; 20_000]), None));
    // First its config is checked.
    while shell.service.session_of(consumer.client).is_none() {
        shell.turn();
    }
    let id = shell.service.session_of(consumer.client).unwrap();
    assert!(shell.service.view(id).unwrap().is_being_made);
    assert!(turns(&mut shell) > 1);
    assert_eq!(shell.service.view(id).unwrap().state, "STARTED");
}

/// Registers `ds`, with what one input may cost.
fn register_bounded(shell: &mut Shell, producer: &MockProducer) -> abi::ids::CallId {
    let request = Request::RegisterDataSource(protos::RegisterDataSourceRequest {
        data_source_descriptor: Some(crate::descriptor("ds").into()),
        ..Default::default()
    });
    bounded(shell, |shell| shell.call_producer(producer.client, request, None))
}

/// A new registration is set up for sessions in pieces, and once for each data source of the config.
#[test]
fn a_registration_is_set_up_in_pieces() {
    const ASKED: usize = 500;
    const SESSIONS: usize = 4;
    let mut shell = Shell::new();
    let mut consumers = Vec::new();
    for _ in 0..SESSIONS {
        let mut consumer = MockConsumer::connect(&mut shell, 0);
        consumer.enable(&mut shell, config(&["ds"; ASKED]), None);
        consumers.push(consumer);
    }
    let offering = producer(&mut shell, "offering");
    shell.work_waits = true;
    let call = register_bounded(&mut shell, &offering);
    assert!(shell.take_replies_to(offering.client, call).is_empty());
    // A session that is made meanwhile sets it up itself.
    let mut late = MockConsumer::connect(&mut shell, 0);
    late.enable(&mut shell, config(&["ds"]), None);
    assert!(turns(&mut shell) > 1);
    assert_eq!(shell.take_replies_to(offering.client, call).len(), 1);
    assert_eq!(shell.service.footprint().instances, SESSIONS * ASKED + 1);
    // They are removed in pieces.
    let request = Request::UnregisterDataSource(protos::UnregisterDataSourceRequest {
        data_source_name: Some("ds".into()),
        ..Default::default()
    });
    let before = shell.service.work();
    let call = shell.call_producer(offering.client, request, None);
    // Sixteen at a time.
    let piece = 17 * 2 * limits::WORK_PER_INSTANCE;
    assert!(shell.service.work() - before <= limits::WORK_PER_PEER + piece);
    while shell.service.has_work() {
        let before = shell.service.work();
        shell.turn();
        assert!(shell.service.work() - before <= limits::WORK_PER_TURN + piece);
    }
    assert_eq!(shell.take_replies_to(offering.client, call).len(), 1);
    assert_eq!(shell.service.footprint().instances, 0);
}

/// A registration that is refused is told in pieces to the sessions that want it.
#[test]
fn a_registration_that_is_refused_is_told_in_pieces() {
    const ASKED: usize = 5000;
    let mut shell = Shell::with(|config| config.limits.data_sources_per_producer_max = 1);
    for _ in 0..4 {
        let mut consumer = MockConsumer::connect(&mut shell, 0);
        consumer.enable(&mut shell, config(&["other"; ASKED]), None);
    }
    let offering = producer(&mut shell, "offering");
    offering.register_name(&mut shell, "first");
    shell.work_waits = true;
    let call = register_bounded(&mut shell, &offering);
    assert!(shell.take_replies_to(offering.client, call).is_empty());
    turns(&mut shell);
    assert_eq!(shell.take_replies_to(offering.client, call).len(), 1);
}
