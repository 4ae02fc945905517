//! What one turn of the loop does for how many connections.

use std::collections::BTreeSet;

use super::*;
use crate::limits::{
    CONNECTIONS_PER_TURN, CONSUMER_QUEUE_BYTES_PAUSE, DECODED_BYTES_AT_ONCE, REQUESTS_PER_TURN,
};

/// A producer whose bytes the test carries.
fn connect_producer(engine: &mut Engine) -> ClientId {
    let client = engine.next_client();
    let link = Link::Custom(Box::new(HostLink::new(PortKind::Producer)));
    let peer = Some(service::Peer::default());
    engine.add_connection(client, PortKind::Producer, link, PeerUser::Local(0), peer);
    client
}

/// A producer that activates so many triggers without a name.
fn connect_with_names(engine: &mut Engine, names: usize) -> ClientId {
    let invoke = |method: u8, args: &[u8]| {
        let mut invoke = vec![0x08, 1, 0x10, method, 0x1a];
        protozero::wire::write::append_varint(&mut invoke, args.len() as u64);
        invoke.extend(args);
        let mut frame = vec![0x10, 2, 0x2a];
        protozero::wire::write::append_varint(&mut frame, invoke.len() as u64);
        frame.extend(invoke);
        [&(frame.len() as u32).to_le_bytes()[..], &frame].concat()
    };
    let client = connect_producer(engine);
    let names = invoke(10, &[0x0a, 0].repeat(names));
    let bytes = [BIND, &invoke(1, b"\x1a\x01p"), &names].concat();
    engine.host(client).unwrap().receive(&bytes, None).unwrap();
    engine.process_events(client);
    client
}

/// A connection with requests that wait is not read from, also if none of them has an answer.
#[test]
fn no_more_is_read_while_requests_wait() {
    let mut daemon = ManualDaemon::new("reads-no-more");
    let client = daemon.connect(1).remove(0);
    while daemon.connected() == 0 {
        daemon.inner().accept(daemon::KEY_LISTENERS);
    }
    let keys = daemon.keys();
    assert!(client.send(&[IoSlice::new(BIND)], None).unwrap() > 0);
    daemon.serve(&keys, TIME_UNLIMITED);
    // The last byte asks for no reply.
    let quiet = [&GET_COMMANDS[..GET_COMMANDS.len() - 1], b"\x01"].concat();
    let requests = quiet.repeat(REQUESTS_PER_TURN + 1);
    assert_eq!(client.send(&[IoSlice::new(&requests)], None).unwrap(), requests.len());
    let reads = |daemon: &mut ManualDaemon| {
        let peer = daemon.inner().engine.peers.get_mut(&ClientId::new(keys[0])).unwrap();
        let Link::Socket(link) = &mut peer.link else { panic!("no socket") };
        link.interest.read
    };
    daemon.serve(&keys, TIME_UNLIMITED);
    assert!(!reads(&mut daemon));
    daemon.inner().engine.run_turn(os::clock::boot_ns());
    daemon.inner().flush(None);
    assert!(reads(&mut daemon));
}

/// What a turn did before it came to a connection is not the fault of that connection.
#[test]
fn a_slow_turn_names_the_task_that_was_slow() {
    let mut daemon = ManualDaemon::new("names");
    let clients = daemon.connect(2);
    while daemon.connected() < clients.len() {
        daemon.inner().accept(daemon::KEY_LISTENERS);
    }
    // The first one has a part of a frame, and is no task of the service.
    assert!(clients[0].send(&[IoSlice::new(&BIND[..5])], None).unwrap() > 0);
    let requests = [BIND, GET_COMMANDS].concat();
    assert!(clients[1].send(&[IoSlice::new(&requests)], None).unwrap() > 0);
    let mut now = os::clock::now();
    now.mono_ns -= 1_000_000_000;
    daemon.inner().engine.begin_turn(now);
    let keys = daemon.keys();
    daemon.serve(&keys, TIME_UNLIMITED);
    let slow = daemon.inner().engine.watched_turn.end(os::clock::mono_ns()).unwrap();
    assert_eq!(slow.who, None, "{}", slow.line);
}

/// Requests of a consumer that does not read its replies wait.
#[test]
fn requests_of_a_consumer_that_reads_late_wait() {
    let mut engine = engine();
    let client = engine.next_client();
    let link = Link::Custom(Box::new(HostLink::new(PortKind::Consumer)));
    let peer = Some(service::Peer::default());
    engine.add_connection(client, PortKind::Consumer, link, PeerUser::Local(0), peer);
    let host = engine.host(client).unwrap();
    for _ in 0..CONSUMER_QUEUE_BYTES_PAUSE / 1000 + 1 {
        host.reply(CallId::new(1), Ok(vec![0; 1000].into()), true, None).unwrap();
    }
    host.receive(BIND, None).unwrap();
    assert!(host.is_paused());
    engine.process_events(client);
    assert!(engine.host(client).unwrap().has_events(), "it waits");
    engine
        .host(client)
        .unwrap()
        .transmit(|parts, _| Ok(parts.iter().map(|part| part.len()).sum()), drop)
        .unwrap();
    engine.process_events(client);
    assert!(!engine.host(client).unwrap().has_events());
}

/// What waits in the service is due at the time of the last input, which comes after the beginning of the turn.
#[test]
fn a_turn_does_what_waits_after_a_later_input() {
    let mut engine = engine();
    connect_with_names(&mut engine, 40_000);
    assert!(engine.service.has_work());
    let began_ns = os::clock::boot_ns();
    for _ in 0..10_000 {
        let other = connect_producer(&mut engine);
        engine.end_connection(other, &Disconnect::PeerLeft);
        engine.run_turn(began_ns);
    }
    assert!(!engine.service.has_work());
}

/// A turn has an end in number and in time, whatever is ready.
#[test]
fn a_turn_serves_so_many_connections() {
    const MORE: usize = 10;
    let mut daemon = ManualDaemon::new("serves");
    let clients = daemon.connect(CONNECTIONS_PER_TURN + MORE);
    while daemon.connected() < clients.len() {
        daemon.inner().accept(daemon::KEY_LISTENERS);
    }
    for client in &clients {
        assert!(client.send(&[IoSlice::new(BIND)], None).unwrap() > 0);
    }
    let keys = daemon.keys();
    let mut answers_after = |began_ns| {
        daemon.serve(&keys, began_ns);
        let answered =
            |client: &&Stream| matches!(client.receive(&mut [0; 4096]), Ok(Raw::Bytes(..)));
        clients.iter().filter(answered).count()
    };
    assert_eq!(answers_after(time_used_up()), 1);
    assert_eq!(answers_after(TIME_UNLIMITED), CONNECTIONS_PER_TURN);
    assert_eq!(
        answers_after(TIME_UNLIMITED),
        MORE - 1,
        "those that were not served before come first"
    );
}

/// A turn handles requests of [`CONNECTIONS_PER_TURN`] connections at most. The others have their turn later.
#[test]
fn a_turn_handles_the_requests_of_so_many_connections() {
    let mut engine = engine();
    let mut connect = || {
        let client = connect_producer(&mut engine);
        engine.host(client).unwrap().receive(&[BIND, GET_COMMANDS].concat(), None).unwrap();
        engine.fairness.serve_later(client);
        client
    };
    let clients: Vec<_> = (0..CONNECTIONS_PER_TURN + 10).map(|_| connect()).collect();
    let waiting = |engine: &mut Engine| {
        clients.iter().filter(|client| engine.host(**client).unwrap().has_events()).count()
    };
    engine.run_turn(os::clock::boot_ns());
    assert!(waiting(&mut engine) >= 10);
    while waiting(&mut engine) > 0 {
        engine.run_turn(os::clock::boot_ns());
    }
    let served: BTreeSet<_> = engine.peers.values().map(|peer| peer.served).collect();
    assert_eq!(served.len(), clients.len(), "each was served at a time of its own");
}

/// A request with many empty names of triggers takes long, and waits in the service. Of a user with many connections,
/// few are decoded before they can be done.
#[test]
fn few_large_requests_of_a_user_are_decoded_at_a_time() {
    const NAMES: usize = 40_000;
    let mut engine = engine();
    let clients: Vec<_> = (0..32).map(|_| connect_with_names(&mut engine, NAMES)).collect();
    let waiting = |engine: &mut Engine| {
        clients.iter().filter(|client| engine.host(**client).unwrap().has_events()).count()
    };
    let at_first = waiting(&mut engine);
    assert!((8..32).contains(&at_first), "{at_first} of 32 are not decoded");
    while waiting(&mut engine) > 0 {
        engine.run_turn(os::clock::boot_ns());
    }
}

/// A new connection is served after all older ones.
#[test]
fn a_new_connection_comes_after_those_that_are_waiting() {
    let mut engine = engine();
    let mut connect = || {
        let client = connect_producer(&mut engine);
        engine.peers.get_mut(&client).unwrap().served = engine.fairness.serve(PeerUser::Local(0));
        client
    };
    let [first, second] = [connect(), connect()];
    engine.fairness.send(PeerUser::Local(0));
    let new = connect_producer(&mut engine);
    assert_eq!(engine.peers.get(&new).unwrap().sent, engine.fairness.now().1);
    let mut ready = [new, second, first]
        .map(|client| os::poll::Ready { key: client.get(), ..Default::default() })
        .to_vec();
    engine.fairness.sort_to_serve(&mut ready, &engine.peers);
    assert_eq!(
        ready.iter().map(|event| event.key).collect::<Vec<_>>(),
        [first.get(), second.get(), new.get()]
    );
}

/// A connection with many requests has its turns, too, whatever they ask for.
#[test]
fn a_flood_of_requests_takes_several_turns() {
    let mut engine = engine();
    let client = connect_producer(&mut engine);
    // Refused, as nobody has introduced itself.
    let bytes = [BIND, &GET_COMMANDS.repeat(3 * REQUESTS_PER_TURN + 1)].concat();
    engine.host(client).unwrap().receive(&bytes, None).unwrap();
    engine.process_events(client);
    let mut turns = 1;
    while engine.host(client).unwrap().has_events() {
        engine.run_turn(os::clock::boot_ns());
        turns += 1;
    }
    assert_eq!(turns, 4);
}

/// A connection whose requests are large, or become large when they are decoded, gets fewer of them handled in a turn.
#[test]
fn large_requests_take_several_turns() {
    let mut engine = engine();
    let client = connect_producer(&mut engine);
    // Refused, as the connection is no producer yet: the service has no account for it. Field 9 is unknown.
    let mut frame = GET_COMMANDS[4..].to_vec();
    let rest = 16 * DECODED_BYTES_AT_ONCE - frame.len() - 4;
    frame.extend([0x4a, rest as u8 | 0x80, (rest >> 7) as u8 | 0x80, (rest >> 14) as u8]);
    frame.resize(16 * DECODED_BYTES_AT_ONCE, b'a');
    let frame = [&(frame.len() as u32).to_le_bytes()[..], &frame].concat();
    for bytes in [BIND, &frame.repeat(24)] {
        engine.host(client).unwrap().receive(bytes, None).unwrap();
    }
    engine.process_events(client);
    let mut turns = 1;
    while engine.host(client).unwrap().has_events() {
        engine.run_turn(os::clock::boot_ns());
        turns += 1;
    }
    // Each costs as much as 17 small ones.
    assert_eq!(turns, 24 / REQUESTS_PER_TURN.div_ceil(17));
}

/// A turn sends until it has taken long. Users take turns: connections that always have something to be sent keep no
/// other one waiting.
#[test]
fn a_turn_sends_to_so_many_connections() {
    let mut daemon = ManualDaemon::new("sends");
    let clients = daemon.connect(10);
    while daemon.connected() < clients.len() {
        daemon.inner().accept(daemon::KEY_LISTENERS);
    }
    for client in &clients {
        assert!(send_raw(client, BIND));
    }
    let keys = daemon.keys();
    let ready = |key: &u64| os::poll::Ready { key: *key, readable: true, writable: false };
    daemon.inner().serve(&mut keys.iter().map(ready).collect(), TIME_UNLIMITED);
    for turns in 1..=clients.len() {
        daemon.inner().engine.wake.clear();
        daemon.inner().flush(Some(time_used_up()));
        assert!(
            daemon.inner().engine.wake.clear() || turns == clients.len(),
            "the rest has its turn"
        );
        let answered =
            |client: &&Stream| matches!(client.receive(&mut [0; 4096]), Ok(Raw::Bytes(..)));
        assert_eq!(clients.iter().filter(answered).count(), 1, "{turns}");
        assert!(daemon.inner().engine.dirty.iter().count() + 1 >= clients.len());
        daemon.inner().engine.dirty = keys.iter().map(|key| ClientId::new(*key)).collect();
    }
    daemon.inner().flush(Some(TIME_UNLIMITED));
    assert!(daemon.inner().engine.dirty.iter().next().is_none());
}

/// A turn handles answers of files until it has taken long. The rest has its turn later.
#[test]
fn a_turn_handles_so_many_answers_of_files() {
    let mut engine = engine();
    let answer = || Input::FileWritten { file: FileId::new(99), result: Ok(()) };
    engine.answers.extend([(); 3].map(|()| answer()));
    for left in [2, 1] {
        assert!(engine.process_file_answers(time_used_up));
        assert_eq!(engine.answers.len(), left);
        assert!(engine.wake.clear(), "the rest has its turn");
    }
    engine.answers.push_back(answer());
    assert!(engine.process_file_answers(|| TIME_UNLIMITED));
    assert_eq!((engine.answers.len(), engine.wake.clear()), (0, false));
    assert!(!engine.process_file_answers(|| TIME_UNLIMITED));
}
