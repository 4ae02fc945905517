//! What one event may cost: a peer pays for what it did itself, whatever others did.

use protos::GetAsyncCommandResponseCmd as Cmd;
use protos::producer_port::Request;

use crate::accounts::{account, ask, item};
use crate::{MockConsumer, MockProducer, Shell, config, descriptor, peer, producer};
use service::Input;
use service::limits;

/// Work that an event takes whatever peers hold.
pub const CONSTANT: u64 = 64 * limits::WORK_PER_ENTRY;

pub fn register_many(shell: &mut Shell, count: usize) -> MockProducer {
    let producer = producer(shell, "p");
    for _ in 0..count {
        producer.register_name(shell, "ds");
    }
    producer
}

/// The time to remove what a producer leaves behind depends on that alone, and not on what others have.
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
    let register = |shell: &mut Shell| {
        let before = shell.service.work();
        first.register_name(shell, "ds");
        shell.service.work() - before
    };
    let alone = register(&mut shell);
    assert!(alone >= limits::WORK_PER_REQUEST, "{alone}");
    let _others: Vec<_> = (0..20).map(|_| register_many(&mut shell, 1000)).collect();
    assert_eq!(register(&mut shell), alone);
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

/// Memory of `pages` pages of 32 KiB that a producer made, all of them complete chunks.
fn large(shell: &mut Shell, name: &str, pages: usize) -> (MockProducer, protos::CommitDataRequest) {
    large_of(shell, 42, name, pages)
}

/// The same of a producer of user `uid`.
fn large_of(
    shell: &mut Shell,
    uid: u32,
    name: &str,
    pages: usize,
) -> (MockProducer, protos::CommitDataRequest) {
    const PAGE: usize = 32 * 1024;
    let init = protos::InitializeConnectionRequest {
        producer_name: Some(name.into()),
        shared_memory_page_size_hint_bytes: Some(PAGE as u32),
        producer_provided_shmem: Some(true),
        ..Default::default()
    };
    let region = abi::shm::Region::heap(pages * PAGE);
    let mut producer = MockProducer::connect_with(shell, peer(uid), init, Some(region));
    producer.register_name(shell, name);
    let mut commit = protos::CommitDataRequest::default();
    for _ in 0..pages {
        let text = crate::payload(name);
        commit.chunks_to_move.push(producer.fill_chunk(crate::WRITER, crate::BUFFER, &[text]));
    }
    (producer, commit)
}

/// A commit of megabytes is taken in pieces, and another producer does not wait for it.
#[test]
fn a_large_commit_makes_nobody_wait() {
    let mut shell = Shell::new();
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    let mut config = config(&["hostile", "honest"]);
    config.buffers[0].size_kb = Some(64 * 1024);
    consumer.enable(&mut shell, config, None);
    let (hostile, mut commit) = large(&mut shell, "hostile", 256);
    let (honest, small) = large(&mut shell, "honest", 1);
    commit.flush_request_id = Some(1);
    shell.work_waits = true;

    let before = shell.service.work();
    let call = shell.call_producer(hostile.client, Request::CommitData(commit), None);
    let cost = shell.service.work() - before;
    assert!(cost <= limits::WORK_PER_PEER + 33 * 1024, "{cost} at once");
    assert!(shell.service.is_busy(hostile.client) && !shell.service.is_busy(honest.client));
    // What it sends meanwhile keeps its place.
    let sync = shell.call_producer(hostile.client, Request::Sync(Default::default()), None);
    assert!(shell.take_replies_to(hostile.client, call).is_empty());

    assert_eq!(honest.call(&mut shell, Request::CommitData(small)).len(), 1);
    assert!(shell.service.is_busy(hostile.client));
    let mut turns = 0;
    while shell.service.has_work() {
        let before = shell.service.work();
        shell.turn();
        let cost = shell.service.work() - before;
        assert!(cost <= limits::WORK_PER_TURN + 33 * 1024, "{cost} in one turn");
        turns += 1;
    }
    assert!(turns >= 7, "{turns} turns");
    let order: Vec<_> = shell.take_replies(hostile.client).iter().map(|r| r.call).collect();
    assert_eq!(order[order.len() - 2..], [call, sync]);
    shell.work_waits = false;
    let payloads = crate::payloads(&consumer.read(&mut shell));
    assert_eq!(payloads.iter().filter(|p| *p == "hostile").count(), 256);
    assert_eq!(payloads.iter().filter(|p| *p == "honest").count(), 1);
}

/// Producers whose work waits take turns: none is done long before another.
#[test]
fn those_that_wait_take_turns() {
    let mut shell = Shell::new();
    shell.work_waits = true;
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    let names = ["a", "b", "c", "d"];
    let mut config = config(&names);
    config.buffers[0].size_kb = Some(64 * 1024);
    consumer.enable(&mut shell, config, None);
    let mut producers = Vec::new();
    for name in names {
        let (producer, commit) = large(&mut shell, name, 128);
        producers.push(producer.client);
        shell.call_producer(producer.client, Request::CommitData(commit), None);
    }
    let mut ends = vec![0; names.len()];
    for turn in 1.. {
        shell.turn();
        for (end, client) in ends.iter_mut().zip(&producers) {
            if !shell.service.is_busy(*client) && *end == 0 {
                *end = turn;
            }
        }
        if !shell.service.has_work() {
            break;
        }
    }
    let (first, last) = (ends.iter().min().unwrap(), ends.iter().max().unwrap());
    assert!(*first > 10 && last - first <= 1, "{ends:?}");
}

/// A user with many producers has the share of one with a single producer.
#[test]
fn users_that_wait_take_turns() {
    const MANY: u32 = 1000;
    let mut shell = Shell::new();
    shell.work_waits = true;
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    let mut config = config(&["many", "one"]);
    config.buffers[0].size_kb = Some(64 * 1024);
    consumer.enable(&mut shell, config, None);
    for _ in 0..10 {
        let (producer, commit) = large_of(&mut shell, MANY, "many", 64);
        shell.call_producer(producer.client, Request::CommitData(commit), None);
    }
    let (one, commit) = large_of(&mut shell, MANY + 1, "one", 64);
    shell.call_producer(one.client, Request::CommitData(commit), None);
    let mut turns = [0; 2];
    while shell.service.has_work() {
        turns[0] += u32::from(shell.service.is_busy(one.client));
        turns[1] += 1;
        shell.turn();
    }
    let [of_one, of_all] = turns;
    assert!(of_one > 1 && 3 * of_one < of_all, "{of_one} of {of_all} turns");
}

/// Only what costs more than an allowance waits for the next turn.
#[test]
fn a_few_requests_are_answered_at_once() {
    let mut shell = Shell::new();
    shell.work_waits = true;
    let consumer = MockConsumer::connect(&mut shell, 0);
    for _ in 0..10 {
        let ask = protos::consumer_port::Request::QueryCapabilities(Default::default());
        assert_eq!(consumer.call(&mut shell, ask).len(), 1);
    }
}

/// What a producer committed before it left is recorded, and only then its data source goes.
#[test]
fn a_producer_that_leaves_is_removed_after_its_work() {
    let mut shell = Shell::new();
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    let mut config = config(&["gone"]);
    config.buffers[0].size_kb = Some(64 * 1024);
    consumer.enable(&mut shell, config, None);
    let (gone, commit) = large(&mut shell, "gone", 128);
    shell.work_waits = true;
    shell.call_producer(gone.client, Request::CommitData(commit), None);
    shell.input(Input::ProducerDisconnected { client: gone.client });
    assert_eq!(shell.service.footprint().waiting, 1);
    // No session of later sets anything up for it.
    let mut late = MockConsumer::connect(&mut shell, 0);
    late.enable(&mut shell, crate::config(&["gone"]), None);
    assert_eq!(shell.service.footprint().instances, 1);
    while shell.service.has_work() {
        shell.turn();
    }
    let left = shell.service.footprint();
    assert_eq!((left.waiting, left.sources, left.instances), (0, 0, 0));
    shell.work_waits = false;
    assert_eq!(crate::payloads(&consumer.read(&mut shell)).len(), 128);
}

/// The work of `act`.
fn cost<T>(shell: &mut Shell, act: impl FnOnce(&mut Shell) -> T) -> (u64, T) {
    let before = shell.service.work();
    let result = act(shell);
    (shell.service.work() - before, result)
}

#[test]
fn what_takes_time_counts() {
    const WRITERS: u64 = 20;
    let is_about = |what: &str, cost: u64, expected: u64| {
        assert!((expected..=8 * expected + CONSTANT).contains(&cost), "{what}: {cost}");
    };
    let mut shell = Shell::new();
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    let mut config = crate::config(&["ds", "matched"]);
    config.data_sources[1].producer_name_regex_filter = vec!["[a-c]+".into()];
    consumer.enable(&mut shell, config, None);
    let name = "abcabcabcabcabcabcab";
    let [plain, matched] = ["ds", "matched"].map(|source| {
        let producer = producer(&mut shell, name);
        cost(&mut shell, |shell| producer.register_name(shell, source)).0
    });
    // Each byte takes at least one step.
    is_about("a match", matched - plain, limits::WORK_PER_REGEX_STEP * name.len() as u64);

    let mut producer = producer(&mut shell, "writer");
    producer.register_name(&mut shell, "ds");
    producer.commands(&mut shell);
    for writer in 1..=WRITERS {
        let text = "x".repeat(2000);
        let writer = abi::ids::WriterId::new(writer as u16);
        producer.write(&mut shell, writer, crate::BUFFER, &[crate::payload(&text)]);
    }
    let (read, packets) = cost(&mut shell, |shell| consumer.read(shell));
    assert_eq!(crate::payloads(&packets).len() as u64, WRITERS);
    is_about("a read", read, limits::WORK_PER_READ_BYTE * WRITERS * 2000);

    shell.advance_ms(limits::SNAPSHOT_PERIOD_MS);
    let (read, packets) = cost(&mut shell, |shell| consumer.read(shell));
    let has_stats =
        |p: &protos::TracePacket| matches!(p.data, Some(protos::TracePacketData::TraceStats(_)));
    assert!(packets.iter().any(has_stats));
    is_about("statistics in a trace", read, limits::WORK_PER_WRITER_STATS * WRITERS);

    use protos::consumer_port::Request as Ask;
    for ask in [Ask::GetTraceStats(Default::default()), Ask::QueryServiceState(Default::default())]
    {
        let is_stats = matches!(ask, Ask::GetTraceStats(_));
        let (cost, replies) = cost(&mut shell, |shell| consumer.call(shell, ask));
        let bytes: usize =
            replies.iter().filter_map(|r| r.response.as_ref()).map(|r| r.len()).sum();
        let encoded = bytes as u64 * limits::WORK_PER_ENCODED_BYTE;
        let writers = if is_stats { WRITERS * limits::WORK_PER_WRITER_STATS } else { 0 };
        is_about("an answer", cost, encoded + writers);
    }
}

#[test]
fn a_refused_registration_counts() {
    const BYTES: usize = 100_000;
    let mut shell = Shell::new();
    let producer = producer(&mut shell, "p");
    let max = limits::DATA_SOURCES_PER_PRODUCER_MAX;
    (0..max).for_each(|_| producer.register_name(&mut shell, "ds"));
    let name = "n".repeat(BYTES);
    let (cost, _) = cost(&mut shell, |shell| producer.register_name(shell, &name));
    assert!(cost >= BYTES as u64, "{cost}");
}

#[test]
fn a_trigger_counts() {
    let trigger = protos::TraceConfigTriggerConfigTrigger {
        name: Some("trigger".into()),
        stop_delay_ms: Some(60_000),
        ..Default::default()
    };
    let config = protos::TraceConfigTriggerConfig {
        trigger_mode: Some(protos::TraceConfigTriggerConfigTriggerMode::START_TRACING),
        triggers: vec![trigger],
        trigger_timeout_ms: Some(8_640_000),
        ..Default::default()
    };
    let mut shell = Shell::new();
    let producer = producer(&mut shell, "p");
    let mut costs = [0, 1].map(|sessions| {
        let mut consumer = MockConsumer::connect(&mut shell, 0);
        if sessions > 0 {
            let config =
                protos::TraceConfig { trigger_config: Some(config.clone()), ..crate::config(&[]) };
            consumer.enable(&mut shell, config, None);
        }
        let request = protos::ActivateTriggersRequest {
            trigger_names: vec!["trigger".into()],
            ..Default::default()
        };
        cost(&mut shell, |shell| producer.call(shell, Request::ActivateTriggers(request))).0
    });
    costs[1] -= costs[0];
    assert!((limits::WORK_PER_TRIGGER..8 * limits::WORK_PER_TRIGGER).contains(&costs[1]));
}

/// The load that once froze the service for 38 seconds: 60 connections, each with as many registrations of one name as
/// it may have, leave at the same time. Others wait for no more than one turn, and all of it is linear.
///
/// Six users may have as many registrations, one may not.
#[test]
fn sixty_connections_with_registrations_of_one_name_leave() {
    assert_eq!(leave_with_registrations(6), 60 * 4096);
    assert!(leave_with_registrations(1) > 40_000);
}

/// Returns how many registrations there were.
fn leave_with_registrations(users: u32) -> usize {
    const CONNECTIONS: u32 = 60;
    const EACH: usize = limits::DATA_SOURCES_PER_PRODUCER_MAX;
    const _: () = assert!(EACH == 4096);
    let mut shell = Shell::new();
    let mut leaving = Vec::new();
    // User 0 is root.
    for number in 0..CONNECTIONS {
        let uid = number % users;
        let producer = MockProducer::connect(&mut shell, "p", peer(uid));
        (0..EACH).for_each(|_| producer.register_name(&mut shell, "ds"));
        leaving.push(producer);
    }
    let registered = shell.service.footprint().sources;
    let other = MockProducer::connect(&mut shell, "other", peer(1001));
    let consumer = MockConsumer::connect(&mut shell, 1001);
    shell.work_waits = true;

    let before = shell.service.work();
    for producer in leaving {
        let before = shell.service.work();
        shell.input(Input::ProducerDisconnected { client: producer.client });
        let cost = shell.service.work() - before;
        assert!(cost <= AT_ONCE, "{cost} at once");
    }
    // Others that ask meanwhile are answered at once.
    let sync = || Request::Sync(Default::default());
    assert_eq!(other.call(&mut shell, sync()).len(), 1);
    let ask = protos::consumer_port::Request::QueryCapabilities(Default::default());
    assert_eq!(consumer.call(&mut shell, ask).len(), 1);
    while shell.service.has_work() {
        let before = shell.service.work();
        shell.turn();
        let cost = shell.service.work() - before;
        assert!(cost <= limits::WORK_PER_TURN + AT_ONCE, "{cost} in one turn");
        // As much as such a turn takes; the allowance of the others grows meanwhile.
        shell.now_ns += 300_000;
        assert_eq!(other.call(&mut shell, sync()).len(), 1);
    }
    let cost = shell.service.work() - before;
    let max = registered as u64 * 8 * limits::WORK_PER_ENTRY;
    assert!(cost <= max, "{cost} of {max}");
    let left = shell.service.footprint();
    assert_eq!((left.sources, left.producers), (0, 1));
    registered
}

/// What one peer may cause at once: its allowance, and one thing more.
const AT_ONCE: u64 = limits::WORK_PER_PEER + 16 * limits::WORK_PER_INSTANCE;

/// Frames that call no method of the service are answered by the transport, and cost their peer what requests do.
#[test]
fn frames_that_call_nothing_are_charged() {
    let mut shell = Shell::new();
    let (hostile, honest) = (producer(&mut shell, "hostile"), producer(&mut shell, "honest"));
    let consumer = MockConsumer::connect(&mut shell, 0);
    shell.work_waits = true;
    for client in [hostile.client, consumer.client] {
        shell.input(Input::FramesDecoded { client, refused: 1, bytes: 0 });
        assert!(!shell.service.is_busy(client));
        let count = limits::WORK_PER_PEER / limits::WORK_PER_REQUEST;
        shell.input(Input::FramesDecoded { client, refused: count, bytes: 0 });
        assert!(shell.service.is_busy(client) && !shell.service.is_busy(honest.client));
    }
    shell.turn();
    assert!(!shell.service.has_work());
}

/// A request that takes long to decode costs its peer so much more, before it is handled.
#[test]
fn decoding_is_charged() {
    let mut shell = Shell::new();
    let (hostile, honest) = (producer(&mut shell, "hostile"), producer(&mut shell, "honest"));
    let consumer = MockConsumer::connect(&mut shell, 0);
    shell.work_waits = true;
    let bytes = (limits::WORK_PER_PEER / limits::WORK_PER_DECODED_BYTE) as usize;
    for client in [hostile.client, consumer.client] {
        shell.input(Input::FramesDecoded { client, refused: 0, bytes: bytes / 2 });
        assert!(!shell.service.is_busy(client));
        shell.input(Input::FramesDecoded { client, refused: 0, bytes });
        assert!(shell.service.is_busy(client) && !shell.service.is_busy(honest.client));
    }
    shell.turn();
    assert!(!shell.service.has_work());
}

/// What was decoded of requests that wait is bounded by user, and given back when they are done or their peer is gone.
#[test]
fn decoded_requests_of_a_user_that_wait_are_bounded() {
    const MANY: u32 = 1000;
    let mut shell = Shell::new();
    shell.work_waits = true;
    let [first, second] = [1, 2].map(|pages| large_of(&mut shell, MANY, "many", 8 * pages));
    let (other, _) = large_of(&mut shell, MANY + 1, "other", 1);
    let consumers = [MANY, 0].map(|uid| MockConsumer::connect(&mut shell, uid));
    while shell.service.has_work() {
        shell.turn();
    }
    let may = |shell: &Shell| {
        let [asking, root] = consumers.each_ref().map(|consumer| consumer.client);
        let all = [first.0.client, second.0.client, asking, other.client, root];
        all.map(|client| shell.service.may_decode(client))
    };
    let decoded = |shell: &mut Shell, client, bytes| {
        shell.input(Input::FramesDecoded { client, refused: 0, bytes });
    };
    let call = |shell: &mut Shell, of: &(MockProducer, protos::CommitDataRequest)| {
        shell.call_producer(of.0.client, Request::CommitData(of.1.clone()), None);
    };
    assert_eq!(may(&shell), [true; 5]);
    // A small request that takes long counts as soon as it waits.
    decoded(&mut shell, second.0.client, 4096);
    assert_eq!(shell.service.footprint().decoded_bytes, 0);
    call(&mut shell, &second);
    assert_eq!(shell.service.footprint().decoded_bytes, 4096);
    assert_eq!(may(&shell), [true; 5]);
    decoded(&mut shell, first.0.client, limits::DECODED_BYTES_PER_USER_MAX - 4096);
    call(&mut shell, &first);
    assert_eq!(may(&shell), [false, false, false, true, true]);
    let (state, _) = ask(&mut shell, &consumers[1]);
    let (max, share) = (limits::DECODED_BYTES_PER_USER_MAX as u64, limits::USERS_SHARE as u64);
    let of_many = account(&state, MANY.cast_signed());
    assert_eq!(of_many.waiting_request_bytes, item(max, max, None));
    let all = state.all_users.unwrap();
    assert_eq!(all.waiting_request_bytes, item(max, max * share, None));
    // What it sent before its end is done.
    shell.input(Input::ProducerDisconnected { client: first.0.client });
    assert!(!shell.service.may_decode(second.0.client));
    while shell.service.has_work() {
        shell.turn();
    }
    assert_eq!((may(&shell), shell.service.footprint().decoded_bytes), ([true; 5], 0));
    decoded(&mut shell, consumers[0].client, limits::DECODED_BYTES_PER_USER_MAX);
    assert_eq!(may(&shell), [true, false, false, true, true]);
    shell.input(Input::ConsumerDisconnected { client: consumers[0].client });
    assert_eq!((may(&shell), shell.service.footprint().decoded_bytes), ([true; 5], 0));
}

/// Many users have no more than a few, but for one request of each.
#[test]
fn decoded_requests_of_all_users_that_wait_are_bounded() {
    let mut shell = Shell::new();
    shell.work_waits = true;
    let mut producers = |uid| {
        let of = [(); 2].map(|()| large_of(&mut shell, uid, "p", 1).0.client);
        let bytes = limits::DECODED_BYTES_PER_USER_MAX / 2;
        shell.input(Input::FramesDecoded { client: of[0], refused: 0, bytes });
        shell.service.may_decode(of[1])
    };
    let users = 2 * limits::USERS_SHARE as u32;
    let may: Vec<bool> = (1000..1000 + users).map(&mut producers).collect();
    assert!(may[..may.len() - 1].iter().all(|may| *may) && !may[may.len() - 1], "{may:?}");
    let new = large_of(&mut shell, 1, "p", 1).0.client;
    assert!(shell.service.may_decode(new));
}

/// A consumer that reads without an end waits in the work queue like others: after each window comes the turn of others.
#[test]
fn a_stream_of_packets_waits_in_the_work_queue() {
    let mut shell = Shell::new();
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    let name = "p".repeat(30_000);
    let mut config = config(&[&name]);
    config.buffers[0].size_kb = Some(64 * 1024);
    consumer.enable(&mut shell, config, None);
    let (writer, commit) = large(&mut shell, &name, 128);
    writer.call(&mut shell, Request::CommitData(commit));
    (shell.work_waits, shell.consumers_are_slow) = (true, true);
    let read = protos::consumer_port::Request::ReadBuffers(Default::default());
    let call = shell.call_consumer(consumer.client, read, None);
    let drained = |shell: &mut Shell| {
        let before = shell.service.work();
        shell.input(Input::Drained { client: consumer.client });
        (shell.service.work() - before, shell.take_replies_to(consumer.client, call).len())
    };
    shell.take_replies_to(consumer.client, call);
    assert!(shell.service.is_busy(consumer.client), "the first window was charged");
    // However often it says so, and only when its turn comes.
    assert_eq!([drained(&mut shell), drained(&mut shell)], [(0, 0), (0, 0)]);
    while shell.service.has_work() {
        shell.turn();
    }
    let window = shell.take_replies_to(consumer.client, call).len();
    assert!(window > 0);
    // Nothing else waits: it goes on at once, and has to wait after that.
    assert_eq!(drained(&mut shell).1, window);
    assert!(shell.service.is_busy(consumer.client), "the window was charged");
}

/// A session with thousands of instances starts them in pieces, and one whose consumer leaves meanwhile starts no more.
#[test]
fn many_instances_are_started_in_pieces() {
    const EACH: usize = 1000;
    for stops in [false, true] {
        let mut shell = Shell::new();
        let mut producers: Vec<_> = (0..4).map(|_| register_many(&mut shell, EACH)).collect();
        let mut consumer = MockConsumer::connect(&mut shell, 0);
        let deferred = protos::TraceConfig { deferred_start: Some(true), ..config(&["ds"]) };
        consumer.enable(&mut shell, deferred, None);
        assert_eq!(shell.service.footprint().instances, 4 * EACH);
        shell.work_waits = true;
        let start = protos::consumer_port::Request::StartTracing(Default::default());
        let before = shell.service.work();
        assert_eq!(consumer.call(&mut shell, start).len(), 1);
        let mut most = shell.service.work() - before;
        if stops {
            shell.input(Input::ConsumerDisconnected { client: consumer.client });
        }
        let mut turns = 0;
        while shell.service.has_work() {
            let before = shell.service.work();
            shell.turn();
            most = most.max(shell.service.work() - before);
            turns += 1;
        }
        let commands = producers.iter_mut().flat_map(|producer| producer.commands(&mut shell));
        let started = commands.filter(|c| matches!(c, Cmd::StartDataSource(_))).count();
        if stops {
            assert!(started < 4 * EACH, "{started}");
        } else {
            assert_eq!(started, 4 * EACH);
            assert!(turns > 10, "{turns} turns");
            assert!(most <= limits::WORK_PER_TURN + AT_ONCE, "{most} at once");
        }
    }
}

/// A line of the log is on the account of the user whose work waited, not of the peer that came last.
#[test]
fn lines_about_work_that_waited_name_its_user() {
    let mut shell = Shell::new();
    shell.work_waits = true;
    let producer = MockProducer::connect(&mut shell, "p", peer(1000));
    shell.input(Input::FramesDecoded { client: producer.client, refused: 1 << 10, bytes: 0 });
    producer.register(&mut shell, protos::DataSourceDescriptor::default());
    let _other = MockProducer::connect(&mut shell, "other", peer(1001));
    assert_eq!(shell.log, []);
    while shell.service.has_work() {
        shell.turn();
    }
    assert!(shell.log[0].1.ends_with("data source without a name"), "{:?}", shell.log);
    assert_eq!(shell.log_uids, [Some(1000)]);
}
