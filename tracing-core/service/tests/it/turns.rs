//! What one turn may cost: work of a session and of a consumer is cut into pieces, and others come between them.

use protos::consumer_port::Request as Ask;
use protos::producer_port::Request;

use crate::{MockConsumer, MockProducer, Shell, config, named, payloads, peer, producer};
use abi::ids::WriterId;
use service::limits;

/// What a turn may cost beside its budget: the largest thing that is not cut.
const UNCUT: u64 = 40 * 1024;

/// Does turns until nothing waits. Returns how many there were; none cost more than it may.
pub(crate) fn turns(shell: &mut Shell) -> usize {
    let mut turns = 0;
    while shell.service.has_work() {
        let before = shell.service.work();
        shell.turn();
        let cost = shell.service.work() - before;
        assert!(cost <= limits::WORK_PER_TURN + UNCUT, "{cost} in one turn");
        turns += 1;
    }
    turns
}

/// Runs `input`, which may cost an allowance at once.
pub(crate) fn bounded<T>(shell: &mut Shell, input: impl FnOnce(&mut Shell) -> T) -> T {
    let before = shell.service.work();
    let result = input(shell);
    let cost = shell.service.work() - before;
    assert!(cost <= limits::WORK_PER_PEER + UNCUT, "{cost} at once");
    result
}

/// A producer whose memory has `pages` pages of 32 KiB with complete chunks that it does not commit, and with `name`
/// as its data source. The writer is registered for buffer 1.
fn holding(shell: &mut Shell, name: &str, pages: usize) -> MockProducer {
    holding_some(shell, name, (pages, pages)).0
}

/// The same with memory for `pages` pages of which the first `filled` have chunks; and what commits these.
pub(crate) fn holding_some(
    shell: &mut Shell,
    name: &str,
    (pages, filled): (usize, usize),
) -> (MockProducer, Vec<protos::CommitDataRequestChunksToMove>) {
    const PAGE: usize = 32 * 1024;
    let mode = protos::InitializeConnectionRequestProducerSMBScrapingMode::SMB_SCRAPING_ENABLED;
    let init = protos::InitializeConnectionRequest {
        producer_name: Some(name.into()),
        shared_memory_page_size_hint_bytes: Some(PAGE as u32),
        smb_scraping_mode: Some(mode),
        producer_provided_shmem: Some(true),
        ..Default::default()
    };
    let region = abi::shm::Region::heap(pages * PAGE);
    let mut producer = MockProducer::connect_with(shell, peer(42), init, Some(region));
    let descriptor =
        protos::DataSourceDescriptor { no_flush: Some(true), ..crate::descriptor(name) };
    producer.register(shell, descriptor);
    register_writer(shell, &producer, crate::WRITER);
    let chunks = (0..filled)
        .map(|_| producer.fill_chunk(crate::WRITER, crate::BUFFER, &[crate::payload(name)]))
        .collect();
    (producer, chunks)
}

/// Registers a writer for buffer 1.
pub(crate) fn register_writer(shell: &mut Shell, producer: &MockProducer, writer: WriterId) {
    let request = protos::RegisterTraceWriterRequest {
        trace_writer_id: Some(writer.get().into()),
        target_buffer: Some(crate::BUFFER.get().into()),
        ..Default::default()
    };
    producer.call(shell, Request::RegisterTraceWriter(request));
}

pub(crate) fn large_buffer(sources: &[&str]) -> protos::TraceConfig {
    let mut config = config(sources);
    config.buffers[0].size_kb = Some(32 * 1024);
    config
}

#[test]
fn a_flush_scrapes_in_pieces() {
    const PAGES: usize = 256;
    let mut shell = Shell::new();
    let _producer = holding(&mut shell, "ds", PAGES);
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, large_buffer(&["ds"]), None);
    shell.work_waits = true;
    let call = bounded(&mut shell, |shell| consumer.flush(shell, 0));
    assert_eq!(consumer.flushed(&mut shell, call), None);
    // Its next requests wait until then, and those of another consumer do not.
    let read = bounded(&mut shell, |shell| {
        shell.call_consumer(consumer.client, Ask::ReadBuffers(Default::default()), None)
    });
    let other = MockConsumer::connect(&mut shell, 0);
    assert!(shell.service.is_busy(consumer.client) && !shell.service.is_busy(other.client));
    assert_eq!(other.call(&mut shell, Ask::QueryCapabilities(Default::default())).len(), 1);
    let turns = turns(&mut shell);
    assert!(turns >= PAGES * 32 / 1024 - 1, "{turns} turns");
    shell.work_waits = false;
    assert_eq!(consumer.flushed(&mut shell, call), Some(true));
    let mut replies = shell.take_replies_to(consumer.client, read);
    shell.drain_consumers();
    replies.extend(shell.take_replies_to(consumer.client, read));
    assert_eq!(payloads(&testing::mock::decode_replies(&replies)).len(), PAGES);
}

/// So is the end of a session whose consumer left: its file is all that stays, and has what writers held.
#[test]
fn a_session_that_is_freed_is_scraped_in_pieces() {
    const PAGES: usize = 128;
    for in_flush in [false, true] {
        let mut shell = Shell::new();
        let _producer = holding(&mut shell, "ds", PAGES);
        let mut consumer = MockConsumer::connect(&mut shell, 0);
        let file = shell.open_file();
        let config = protos::TraceConfig { write_into_file: Some(true), ..large_buffer(&["ds"]) };
        consumer.enable(&mut shell, config, Some(file));
        shell.work_waits = true;
        if in_flush {
            consumer.flush(&mut shell, 0);
            assert!(shell.service.has_work());
        }
        bounded(&mut shell, |shell| consumer.disconnect(shell));
        assert!(!shell.service.is_idle());
        assert!(turns(&mut shell) > 1);
        assert!(shell.service.is_idle() && shell.files[&file].closed);
        let packets = testing::mock::decode_file(&shell.files[&file].bytes);
        assert_eq!(payloads(&packets).len(), PAGES);
    }
}

/// Large memory is looked at in pieces, also where it has no chunk.
#[test]
fn a_flush_looks_at_large_memory_in_pieces() {
    const PAGES: usize = 1000;
    let mut shell = Shell::new();
    let _producer = holding_some(&mut shell, "ds", (PAGES, 0));
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, large_buffer(&["ds"]), None);
    shell.work_waits = true;
    let call = bounded(&mut shell, |shell| consumer.flush(shell, 0));
    assert_eq!(consumer.flushed(&mut shell, call), None);
    assert!(turns(&mut shell) > 0);
    assert_eq!(consumer.flushed(&mut shell, call), Some(true));
}

/// Also if there are many that hold nothing.
#[test]
fn a_flush_looks_at_many_producers_in_pieces() {
    const PRODUCERS: u64 = 2000;
    let mut shell = Shell::new();
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, large_buffer(&["ds"]), None);
    let _producers: Vec<_> = (0..PRODUCERS)
        .map(|_| {
            let peer = service::Peer { by_value: true, ..peer(42) };
            let producer = MockProducer::connect(&mut shell, "p", peer);
            let descriptor =
                protos::DataSourceDescriptor { no_flush: Some(true), ..crate::descriptor("ds") };
            producer.register(&mut shell, descriptor);
            producer
        })
        .collect();
    assert_eq!(shell.service.footprint().instances as u64, PRODUCERS);
    shell.advance_ms(1000);
    shell.work_waits = true;
    let before = shell.service.work();
    let call = consumer.flush(&mut shell, 0);
    let cost = shell.service.work() - before;
    // The flush counts its instances, and then a piece of the scrape follows.
    let of_flush = PRODUCERS * limits::WORK_PER_ENTRY;
    assert!(cost <= of_flush + limits::WORK_PER_PEER + UNCUT, "{cost} at once");
    assert!(turns(&mut shell) > 0);
    assert_eq!(consumer.flushed(&mut shell, call), Some(true));
}

/// So does a producer that leaves, and its patches are applied in pieces, too.
#[test]
fn what_a_producer_leaves_is_copied_in_pieces() {
    const PAGES: usize = 256;
    let mut shell = Shell::new();
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, large_buffer(&["ds"]), None);
    let mut producer = holding(&mut shell, "ds", PAGES);
    producer.commands(&mut shell);
    shell.work_waits = true;
    let patch = protos::CommitDataRequestChunkToPatch {
        target_buffer: Some(1),
        writer_id: Some(1),
        ..Default::default()
    };
    let chunks_to_patch = vec![patch; 20_000];
    let commit = protos::CommitDataRequest { chunks_to_patch, ..Default::default() };
    let client = producer.client;
    bounded(&mut shell, |shell| shell.call_producer(client, Request::CommitData(commit), None));
    assert!(turns(&mut shell) > 1, "20,000 patches in one turn");
    for writer in 2..5_000 {
        let request = protos::RegisterTraceWriterRequest {
            trace_writer_id: Some(writer),
            target_buffer: Some(1),
            ..Default::default()
        };
        producer.call(&mut shell, Request::RegisterTraceWriter(request));
    }
    turns(&mut shell);
    drop(producer);
    let left = service::Input::ProducerDisconnected { client };
    bounded(&mut shell, |shell| shell.input(left));
    let turns = turns(&mut shell);
    assert!(turns >= PAGES * 32 / 1024 - 1, "{turns} turns");
    shell.work_waits = false;
    assert_eq!(payloads(&consumer.read(&mut shell)).len(), PAGES);
}

/// The end of a session waits behind a flush that is not over, however much time has passed.
#[test]
fn the_work_of_a_session_keeps_its_order() {
    const PAGES: usize = 256;
    let mut shell = Shell::new();
    let _producer = holding(&mut shell, "ds", PAGES);
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    let config = protos::TraceConfig { duration_ms: Some(1000), ..large_buffer(&["ds"]) };
    consumer.enable(&mut shell, config, None);
    shell.work_waits = true;
    let call = consumer.flush(&mut shell, 0);
    // The next turn has a new allowance, and the duration is over.
    shell.now_ns += 1_000_000_000;
    let mut flushed = None;
    while shell.service.has_work() {
        shell.turn();
        flushed = flushed.or(consumer.flushed(&mut shell, call));
        if consumer.ended(&mut shell).is_some() {
            assert_eq!(flushed, Some(true), "the end came first");
            return;
        }
    }
    panic!("the session goes on");
}

/// Many flushes that end together share a scrape.
#[test]
fn flushes_that_wait_share_a_scrape() {
    const PAGES: usize = 64;
    let mut shell = Shell::new();
    let _holding = holding(&mut shell, "holding", PAGES);
    let asked = producer(&mut shell, "asked");
    asked.register_name(&mut shell, "asked");
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, large_buffer(&["holding", "asked"]), None);
    let calls: Vec<_> = (0..100).map(|_| consumer.flush(&mut shell, 0)).collect();
    let before = shell.service.work();
    shell.work_waits = true;
    bounded(&mut shell, |shell| asked.ack_flush(shell, u64::MAX));
    turns(&mut shell);
    let scrape = PAGES as u64 * (32 * 1024 + limits::WORK_PER_ENTRY);
    let cost = shell.service.work() - before;
    assert!(cost >= scrape && cost <= 3 * scrape, "{cost} is not one or two of {scrape}");
    let flushed = |shell: &mut Shell, call| consumer.flushed(shell, call);
    assert!(calls.iter().all(|call| flushed(&mut shell, *call) == Some(true)));
}

/// The end of a session comes after its last scrape, which is cut into pieces, too.
#[test]
fn the_end_waits_for_its_scrape() {
    const PAGES: usize = 128;
    let mut shell = Shell::new();
    let _producer = holding(&mut shell, "ds", PAGES);
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, large_buffer(&["ds"]), None);
    shell.work_waits = true;
    bounded(&mut shell, |shell| consumer.disable(shell));
    assert_eq!(consumer.ended(&mut shell), None);
    assert!(turns(&mut shell) > 1);
    assert_eq!(consumer.ended(&mut shell), Some(String::new()));
    shell.work_waits = false;
    assert_eq!(payloads(&consumer.read(&mut shell)).len(), PAGES);
}

/// A consumer that leaves in the middle of that: nothing of its session is left, and nobody looks for what nobody reads.
#[test]
fn a_session_that_is_freed_while_it_scrapes_ends_at_once() {
    let mut shell = Shell::new();
    let _producer = holding(&mut shell, "ds", 128);
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, large_buffer(&["ds"]), None);
    shell.work_waits = true;
    consumer.flush(&mut shell, 0);
    assert!(shell.service.has_work());
    let before = shell.service.work();
    consumer.disconnect(&mut shell);
    turns(&mut shell);
    let cost = shell.service.work() - before;
    assert!(cost < limits::WORK_PER_PEER, "{cost}");
    assert_eq!(shell.service.footprint().sessions, 0);
}

/// A file that fails in the middle of that: the consumer is told of the end when all is scraped.
#[test]
fn an_error_of_the_file_does_not_end_a_session_that_scrapes() {
    const PAGES: usize = 128;
    let mut shell = Shell::new();
    let _producer = holding(&mut shell, "ds", PAGES);
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    let mut config = large_buffer(&["ds"]);
    config.write_into_file = Some(true);
    let file = shell.open_file();
    shell.stuck.insert(file);
    consumer.enable(&mut shell, config, Some(file));
    shell.advance_ms(10_000);
    shell.work_waits = true;
    consumer.disable(&mut shell);
    let error = service::FileError { text: "No space left on device".into() };
    shell.input(service::Input::FileWritten { file, result: Err(error) });
    assert!(shell.service.has_work());
    assert_eq!(consumer.ended(&mut shell), None);
    turns(&mut shell);
    assert!(consumer.ended(&mut shell).unwrap().contains("No space left"));
}

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

/// Instances of one name, as many as a session may have, that acknowledge their stop or not.
pub(crate) fn session_of_many(
    shell: &mut Shell,
    count: usize,
    notifies: bool,
) -> (MockProducer, MockConsumer) {
    let offering = producer(shell, "offering");
    for _ in 0..count {
        let descriptor = protos::DataSourceDescriptor {
            will_notify_on_stop: Some(notifies),
            no_flush: Some(true),
            ..crate::descriptor("ds")
        };
        offering.register(shell, descriptor);
    }
    let mut consumer = MockConsumer::connect(shell, 0);
    let config = protos::TraceConfig { data_source_stop_timeout_ms: Some(5000), ..config(&["ds"]) };
    consumer.enable(shell, config, None);
    assert_eq!(shell.service.footprint().instances, count);
    (offering, consumer)
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

/// Those that say nothing count as stopped in pieces, too.
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
    // The timer and the line of those that wait.
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

/// Those that stopped before are not told, and nobody is told of them, again.
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

/// Also one whose data sources nobody has.
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
    let request = Request::RegisterDataSource(protos::RegisterDataSourceRequest {
        data_source_descriptor: Some(crate::descriptor("ds").into()),
        ..Default::default()
    });
    let call = bounded(&mut shell, |shell| shell.call_producer(offering.client, request, None));
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

/// Names of triggers are taken in pieces, and each once.
#[test]
fn triggers_are_activated_in_pieces() {
    const NAMES: usize = 5000;
    let mut shell = Shell::new();
    let producer = producer(&mut shell, "p");
    let request = |names: usize| {
        Request::ActivateTriggers(protos::ActivateTriggersRequest {
            trigger_names: (0..names).map(|n| format!("trigger {n}")).collect(),
            ..Default::default()
        })
    };
    shell.work_waits = true;
    let before = shell.service.work();
    let call =
        bounded(&mut shell, |shell| shell.call_producer(producer.client, request(NAMES), None));
    assert!(shell.take_replies_to(producer.client, call).is_empty());
    turns(&mut shell);
    assert_eq!(shell.take_replies_to(producer.client, call).len(), 1);
    let cost = shell.service.work() - before;
    let each = limits::WORK_PER_ENTRY;
    assert!((NAMES as u64 * each..=NAMES as u64 * each * 2).contains(&cost), "{cost}");
}

/// A consumer that asks for much waits, and the answers keep their order.
#[test]
fn a_consumer_that_asks_for_much_waits() {
    const ASKED: usize = 500;
    let mut shell = Shell::new();
    let greedy = MockConsumer::connect(&mut shell, 0);
    let other = MockConsumer::connect(&mut shell, 0);
    shell.work_waits = true;
    let before = shell.service.work();
    let ask = |shell: &mut Shell| {
        shell.call_consumer(greedy.client, Ask::QueryCapabilities(Default::default()), None)
    };
    let calls: Vec<_> = (0..ASKED).map(|_| ask(&mut shell)).collect();
    let cost = shell.service.work() - before;
    assert!(cost <= limits::WORK_PER_PEER + UNCUT, "{cost} at once");
    assert!(shell.service.is_busy(greedy.client) && !shell.service.is_busy(other.client));
    turns(&mut shell);
    let answered: Vec<_> = shell.take_replies(greedy.client).iter().map(|r| r.call).collect();
    assert_eq!(answered, calls);
}

/// What a consumer asked for before it left is done, and files that came with it are closed.
#[test]
fn a_consumer_that_leaves_is_removed_after_its_requests() {
    let mut shell = Shell::new();
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, config(&[]), None);
    shell.work_waits = true;
    while !shell.service.is_busy(consumer.client) {
        consumer.call(&mut shell, Ask::QueryCapabilities(Default::default()));
    }
    let file = shell.open_file();
    let detach = protos::DetachRequest { key: Some("key".into()), ..Default::default() };
    shell.call_consumer(consumer.client, Ask::QueryCapabilities(Default::default()), Some(file));
    shell.call_consumer(consumer.client, Ask::Detach(detach), None);
    consumer.disconnect(&mut shell);
    turns(&mut shell);
    assert_eq!(shell.service.detached().len(), 1);
    assert!(shell.files[&file].closed);
    assert_eq!(shell.service.footprint().connections, 0);
}

/// Each question about thousands of data sources is worth a window, however many are open.
#[test]
fn questions_that_are_not_read_are_worth_a_window_each() {
    let mut shell = Shell::new();
    let offering = producer(&mut shell, "p");
    for _ in 0..100 {
        let mut descriptor = crate::descriptor("ds");
        descriptor.track_event_descriptor = Some(protos::TrackEventDescriptor {
            available_categories: vec![
                protos::TrackEventCategory {
                    name: Some("a long name of a category".into()),
                    ..Default::default()
                };
                2000
            ],
            ..Default::default()
        });
        offering.register(&mut shell, descriptor);
    }
    let consumer = MockConsumer::connect(&mut shell, 0);
    shell.consumers_are_slow = true;
    for _ in 0..limits::QUERIES_PER_CONSUMER_MAX + 4 {
        let call =
            shell.call_consumer(consumer.client, Ask::QueryServiceState(Default::default()), None);
        let replies = shell.take_replies(consumer.client);
        let bytes: usize =
            replies.iter().filter_map(|r| r.response.as_ref()).map(|b| b.len()).sum();
        assert!(bytes <= 2 * limits::READ_WINDOW_BYTES, "{bytes} at {call:?}");
    }
}

/// A config with many data sources is changed in pieces.
#[test]
fn filters_are_changed_in_pieces() {
    const ASKED: usize = 300;
    let mut shell = Shell::new();
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    let names: Vec<String> = (0..ASKED).map(|n| format!("ds{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut asked = config(&names);
    for source in &mut asked.data_sources {
        source.producer_name_filter = vec!["nobody".into()];
    }
    consumer.enable(&mut shell, asked, None);
    let offering = producer(&mut shell, "somebody");
    for name in &names {
        offering.register_name(&mut shell, name);
    }
    assert_eq!(shell.service.footprint().instances, 0);
    shell.work_waits = true;
    let request = protos::ChangeTraceConfigRequest {
        trace_config: Some(
            protos::TraceConfig { data_sources: named(&names), ..config(&names) }.into(),
        ),
        ..Default::default()
    };
    bounded(&mut shell, |shell| {
        shell.call_consumer(consumer.client, Ask::ChangeTraceConfig(request), None)
    });
    assert!(shell.service.is_busy(consumer.client));
    assert!(turns(&mut shell) > 1);
    assert_eq!(shell.service.footprint().instances, ASKED);
}
