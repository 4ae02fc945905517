//! What one turn may cost: work of a session and of a consumer is cut into pieces, and others come between them.

mod instances;
mod scrapes;

use protos::consumer_port::Request as Ask;
use protos::producer_port::Request;

use crate::{MockConsumer, MockProducer, Shell, config, peer, producer};
use abi::ids::WriterId;
use service::limits;

/// What a turn may cost beside its budget: the largest thing that is not cut.
const UNCUT: u64 = 40 * 1024;

/// Bytes of a page of a producer.
const PAGE_BYTES: usize = 32 * 1024;

/// How many turns it takes at least to copy so many full pages, a unit of work for each byte. The input before them has
/// copied some.
fn turns_min(pages: usize) -> usize {
    pages * PAGE_BYTES / limits::WORK_PER_TURN as usize - 1
}

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
    let mode = protos::InitializeConnectionRequestProducerSMBScrapingMode::SMB_SCRAPING_ENABLED;
    let init = protos::InitializeConnectionRequest {
        producer_name: Some(name.into()),
        shared_memory_page_size_hint_bytes: Some(PAGE_BYTES as u32),
        smb_scraping_mode: Some(mode),
        producer_provided_shmem: Some(true),
        ..Default::default()
    };
    let region = abi::shm::Region::heap(pages * PAGE_BYTES);
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
    let changed = config(&names);
    // Two configs of this size are compared at once: what one message can have.
    let compared =
        2 * protozero::Message::encoded_len(&changed) as u64 * limits::WORK_PER_ENCODED_BYTE;
    let trace_config = Some(changed.into());
    let request = protos::ChangeTraceConfigRequest { trace_config, ..Default::default() };
    let begun = shell.service.work();
    shell.call_consumer(consumer.client, Ask::ChangeTraceConfig(request), None);
    let cost = shell.service.work() - begun;
    assert!((compared..compared + limits::WORK_PER_PEER).contains(&cost), "{cost} at once");
    assert!(shell.service.is_busy(consumer.client));
    assert!(turns(&mut shell) > 1);
    assert_eq!(shell.service.footprint().instances, ASKED);
}
