//! What producers leave behind, and what the ledger of a session says of it.
#![allow(unsafe_code)]

use protos::producer_port::Request;
use protos::{
    CommitDataRequest, CommitDataRequestChunksToMove, GetTraceStatsRequest, LossLedgerEntry,
    LossLedgerReason as Reason, LossLedgerUnit as Unit, TracePacket,
};
use protozero::Message as _;

use super::*;
use abi::ids::ChunkId;
use abi::shm::{ChunkFlags, ChunkHeader, LOSS_MARK_CHUNK_IDX, Layout, Packets, WritableChunk};
use service::{Cut, Input};

mod dropped;
mod end;
mod registrations;

const WRITER: WriterId = WriterId::new(1);
const BUFFER: BufferId = BufferId::new(1);
const V1: i32 = 0;
const V2: i32 = 1;

/// A session with a producer that has registered a writer.
struct World {
    shell: Shell,
    producer: MockProducer,
    consumer: MockConsumer,
    chunks: u32,
}

fn world(is_scraped: bool, version: i32) -> World {
    let mut shell = Shell::new();
    let mode = if is_scraped { 1 } else { 2 };
    let request = protos::InitializeConnectionRequest {
        producer_name: Some("writer".into()),
        smb_scraping_mode: Some(protos::InitializeConnectionRequestProducerSMBScrapingMode(mode)),
        ..Default::default()
    };
    let mut producer = MockProducer::connect_with(&mut shell, peer(42), request, None);
    producer.register_name(&mut shell, "ds");
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    let mut config = config(&["ds"]);
    config.buffers[0].experimental_mode =
        Some(protos::TraceConfigBufferConfigExperimentalMode(version));
    consumer.enable(&mut shell, config, None);
    producer.commands(&mut shell);
    register_writer(&mut shell, &producer);
    World { shell, producer, consumer, chunks: 0 }
}

fn register_writer(shell: &mut Shell, producer: &MockProducer) {
    let request = protos::RegisterTraceWriterRequest {
        trace_writer_id: Some(WRITER.get().into()),
        target_buffer: Some(BUFFER.get().into()),
        ..Default::default()
    };
    producer.call(shell, Request::RegisterTraceWriter(request));
}

/// What is behind the last packet of a chunk.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    /// The chunk is complete.
    Complete,
    /// A fragment that nobody began.
    Reserved,
    /// A fragment with two bytes of content.
    Begun,
}

impl World {
    /// Writes a chunk with these packets.
    fn chunk(
        &mut self,
        texts: &[&str],
        flags: ChunkFlags,
        end: End,
    ) -> CommitDataRequestChunksToMove {
        let smb = self.producer.smb.as_ref().unwrap();
        let page = self.chunks as usize;
        assert!(smb.try_partition(page, Layout::Div1));
        let packets = Packets::new(0, ChunkFlags::default());
        let header = ChunkHeader { chunk: ChunkId::new(self.chunks), writer: WRITER, packets };
        let mut chunk = smb.try_acquire(page, 0, header).unwrap();
        let mut payload = Vec::new();
        let mut fragments: Vec<Vec<u8>> = texts.iter().map(|t| payload_of(t)).collect();
        if end != End::Complete {
            fragments.push(Vec::new());
        }
        for fragment in fragments {
            payload.push(fragment.len() as u8);
            payload.extend_from_slice(&fragment);
            start(&mut chunk);
        }
        if end == End::Begun {
            payload.extend_from_slice(&[8, 1]);
        }
        // SAFETY: the chunk is not committed yet, so the service does not read it.
        assert!(unsafe { chunk.write(0, &payload) });
        chunk.add_flags(flags);
        if end == End::Complete {
            assert!(chunk.complete());
        }
        self.chunks += 1;
        CommitDataRequestChunksToMove {
            page: Some(page as u32),
            chunk: Some(0),
            target_buffer: Some(BUFFER.get().into()),
            ..Default::default()
        }
    }

    fn commit(&mut self, texts: &[&str], flags: ChunkFlags) {
        let chunk = self.chunk(texts, flags, End::Complete);
        self.producer.commit(&mut self.shell, chunk);
    }

    /// Tells that the writer began to drop packets.
    fn commit_mark(&mut self, at: u32) {
        let header = ChunkHeader {
            chunk: ChunkId::new(1 + at),
            writer: WRITER,
            packets: Packets::new(1, NONE),
        };
        let mark = CommitDataRequestChunksToMove {
            page: Some(0),
            chunk: Some(LOSS_MARK_CHUNK_IDX as u32),
            target_buffer: Some(BUFFER.get().into()),
            // TracePacket.previous_packet_dropped (42): 1
            data: Some([&header.to_bytes()[..], &[3, 0xd0, 0x02, 0x01]].concat()),
            ..Default::default()
        };
        self.producer.commit(&mut self.shell, mark);
    }

    /// The producer leaves. Returns the texts that were read, a mark as "-", and the ledger.
    fn leave(mut self) -> (Vec<String>, Vec<LossLedgerEntry>) {
        self.producer.disconnect(&mut self.shell);
        let packets = self.consumer.read(&mut self.shell);
        (texts(&packets), ledger(&mut self.shell, &self.consumer))
    }
}

fn payload_of(text: &str) -> Vec<u8> {
    payload(text).encode_to_vec()
}

fn start(chunk: &mut WritableChunk) {
    // SAFETY: no other thread has the chunk.
    unsafe { chunk.start_fragment() }
}

fn texts(packets: &[TracePacket]) -> Vec<String> {
    let of_writer = |packet: &&TracePacket| sequence_of(packet) > 1;
    let text = |packet: &TracePacket| match &packet.data {
        Some(TracePacketData::ForTesting(event)) => event.str.clone().unwrap_or_default(),
        None if packet.previous_packet_dropped.is_some() => "-".into(),
        other => panic!("{other:?}"),
    };
    packets.iter().filter(of_writer).map(text).collect()
}

fn sequence_of(packet: &TracePacket) -> u32 {
    use TracePacketOptionalTrustedPacketSequenceId::TrustedPacketSequenceId as Id;
    match &packet.optional_trusted_packet_sequence_id {
        Some(Id(id)) => *id,
        None => 0,
    }
}

pub(super) fn stats(shell: &mut Shell, consumer: &MockConsumer) -> protos::TraceStats {
    let request = protos::consumer_port::Request::GetTraceStats(GetTraceStatsRequest::default());
    let reply = consumer.call(shell, request).remove(0).response.unwrap();
    protos::GetTraceStatsResponse::decode(&reply).unwrap().trace_stats.unwrap()
}

pub(super) fn ledger(shell: &mut Shell, consumer: &MockConsumer) -> Vec<LossLedgerEntry> {
    stats(shell, consumer).loss_ledger.map(|ledger| ledger.entries).unwrap_or_default()
}

const NONE: ChunkFlags = ChunkFlags(0);
const GOES_ON: ChunkFlags = ChunkFlags::CONTINUES_ON_NEXT;
const CONTINUED: ChunkFlags = ChunkFlags::CONTINUES_FROM_PREV;
const UNPATCHED: ChunkFlags = GOES_ON.with(ChunkFlags::NEEDS_PATCHING);

/// What is written, which packets are read, and how many the ledger has.
#[test]
fn what_a_producer_leaves_is_read_or_in_the_ledger() {
    type Case = (&'static str, fn(&mut World), &'static [&'static str], Option<u64>);

    let scraped: &[Case] = &[
        ("nothing", |_| {}, &[], None),
        ("committed", |w| w.commit(&["a", "b"], NONE), &["a", "b"], None),
        ("complete", |w| drop(w.chunk(&["a", "b"], NONE, End::Complete)), &["a", "b"], None),
        ("reserved", |w| drop(w.chunk(&["a", "b"], NONE, End::Reserved)), &["a", "b"], None),
        ("begun", |w| drop(w.chunk(&["a", "b"], NONE, End::Begun)), &["a", "b", "-"], Some(1)),
        ("begun first", |w| drop(w.chunk(&[], NONE, End::Begun)), &["-"], Some(1)),
        ("goes on", |w| w.commit(&["a", "b"], GOES_ON), &["a", "-"], Some(1)),
        (
            "goes on in a fragment that is not finished",
            |w| {
                w.commit(&["a", "b"], GOES_ON);
                w.chunk(&[], CONTINUED, End::Begun);
            },
            &["a", "-"],
            Some(1),
        ),
        (
            "goes on, and the rest was never committed",
            |w| {
                w.commit(&["a"], GOES_ON);
                w.chunk(&["", "b"], CONTINUED, End::Reserved);
            },
            // The end of a packet replaces its text.
            &["", "b"],
            None,
        ),
        (
            "begun before a flush that scraped it",
            |w| {
                w.chunk(&["a", "b"], NONE, End::Begun);
                let call = w.consumer.flush(&mut w.shell, 0);
                w.producer.ack_flush(&mut w.shell, 1);
                assert_eq!(w.consumer.flushed(&mut w.shell, call), Some(true));
            },
            &["a", "b", "-"],
            Some(1),
        ),
        ("unpatched", |w| w.commit(&["a"], UNPATCHED), &[], Some(1)),
        (
            "unpatched, and the rest is there",
            |w| {
                w.commit(&["a"], UNPATCHED);
                w.commit(&["", "b"], CONTINUED);
            },
            &[],
            Some(1),
        ),
        (
            "a length is missing in a chunk that was never committed, and the rest is complete",
            |w| {
                w.chunk(&["a"], UNPATCHED, End::Begun);
                w.chunk(&["", "b"], CONTINUED, End::Complete);
            },
            &["a", "-", "b"],
            Some(1),
        ),
    ];
    let not_scraped: &[Case] = &[
        ("nothing", |_| {}, &[], None),
        ("committed", |w| w.commit(&["a", "b"], NONE), &["a", "b"], None),
        ("complete", |w| drop(w.chunk(&["a", "b"], NONE, End::Complete)), &["-"], Some(2)),
        ("reserved", |w| drop(w.chunk(&["a", "b"], NONE, End::Reserved)), &["-"], Some(2)),
        (
            "several",
            |w| {
                w.commit(&["a"], NONE);
                w.chunk(&["b", "c"], NONE, End::Complete);
                w.chunk(&["d"], NONE, End::Begun);
            },
            &["a", "-"],
            Some(4),
        ),
        ("reserved only", |w| drop(w.chunk(&[], NONE, End::Reserved)), &[], None),
        (
            "goes on",
            |w| {
                w.commit(&["a", "b"], GOES_ON);
                w.chunk(&["c", "d"], CONTINUED, End::Reserved);
            },
            &["a", "-"],
            Some(2),
        ),
        (
            "a length is missing in a chunk that was never committed, and the rest is complete",
            |w| {
                w.chunk(&["a"], UNPATCHED, End::Begun);
                w.chunk(&["", "b"], CONTINUED, End::Complete);
            },
            &["-"],
            Some(3),
        ),
    ];
    for version in [V1, V2] {
        for (is_scraped, cases) in [(true, scraped), (false, not_scraped)] {
            for (name, fill, read, lost) in cases {
                let case = format!("{name}, version {version}, scraped {is_scraped}");
                let mut world = world(is_scraped, version);
                fill(&mut world);
                let (texts, ledger) = world.leave();
                assert_eq!(texts, *read, "{case}");
                let counts: Vec<_> = ledger.iter().filter_map(|entry| entry.count).collect();
                assert_eq!(counts, lost.iter().copied().collect::<Vec<_>>(), "{case}");
                // Nobody knows what is behind a packet that is not complete.
                let at_least = ledger.iter().any(|entry| entry.at_least == Some(true));
                assert_eq!(at_least, name.starts_with("unpatched"), "{case}");
            }
        }
    }
}

#[test]
fn an_entry_tells_who_why_and_when() {
    let mut world = world(true, V1);
    world.chunk(&["a"], NONE, End::Begun);
    let at_ns = world.shell.now_ns;
    let (_, ledger) = world.leave();
    let entry = LossLedgerEntry {
        reason: Some(Reason::REASON_LEFT_UNFINISHED),
        producer_name: Some("writer".into()),
        producer_id: Some(1),
        uid: Some(42),
        pid: Some(1025),
        first_timestamp: Some(at_ns),
        last_timestamp: Some(at_ns),
        count: Some(1),
        unit: Some(Unit::UNIT_PACKETS),
        ..Default::default()
    };
    assert_eq!(ledger, [entry]);
}

/// A process may die before its writer is registered, so that nobody knows for which buffer it wrote.
#[test]
fn a_writer_that_is_not_registered() {
    let mut world = world(true, V1);
    world.chunk(&["a", "b"], NONE, End::Reserved);
    let request = protos::UnregisterTraceWriterRequest {
        trace_writer_id: Some(WRITER.get().into()),
        ..Default::default()
    };
    world.producer.call(&mut world.shell, Request::UnregisterTraceWriter(request));
    let (texts, ledger) = world.leave();
    assert!(texts.is_empty());
    assert_eq!(ledger.iter().map(|entry| entry.count).collect::<Vec<_>>(), [Some(2)]);
}

/// A process may be killed when a writer has begun to drop packets, before the mark that tells it was sent. The memory
/// has the number of marks.
#[test]
fn a_mark_that_did_not_come() {
    for (counted, came, is_told) in [(0, 0, false), (2, 2, false), (1, 0, true), (2, 1, true)] {
        let mut world = world(true, V1);
        world.commit(&["a"], NONE);
        for _ in 0..counted {
            world.producer.smb.as_ref().unwrap().note_loss();
        }
        (0..came).for_each(|at| world.commit_mark(at));
        let (texts, ledger) = world.leave();
        assert_eq!(texts.len(), 1 + came as usize);
        let amounts: Vec<_> = ledger.iter().map(|e| (e.reason, e.count, e.at_least)).collect();
        let perhaps = |reason| (Some(reason), Some(0), Some(true));
        let unfinished = is_told.then_some(perhaps(Reason::REASON_LEFT_UNFINISHED));
        // It may have dropped more than that since.
        let dropped = (came > 0).then_some(perhaps(Reason::REASON_DROPPED));
        let expected: Vec<_> = unfinished.into_iter().chain(dropped).collect();
        assert_eq!(amounts, expected, "{counted}");
    }
}

#[test]
fn a_session_that_is_over_loses_nothing() {
    for is_scraped in [true, false] {
        let mut world = world(is_scraped, V1);
        world.commit(&["a"], NONE);
        world.consumer.disable(&mut world.shell);
        world.chunk(&["late"], NONE, End::Begun);
        let (texts, ledger) = world.leave();
        assert_eq!((texts[0].as_str(), ledger), ("a", Vec::new()));
    }
}

/// The memory of a producer of this process may still be written by a thread: its last fragment is not looked at.
#[test]
fn memory_that_others_have_is_not_looked_at() {
    let mut world = world(true, V1);
    world.chunk(&["a"], NONE, End::Begun);
    let _thread = world.producer.smb.clone();
    assert_eq!(world.leave(), (vec!["a".into()], Vec::new()));
}

/// The chunks of a producer without shared memory come inside its commits, so nobody knows what it has not sent.
#[test]
fn a_producer_without_shared_memory_may_have_lost_something() {
    let mut shell = Shell::new();
    let peer = Peer { by_value: true, ..peer(42) };
    let mut producer = MockProducer::connect(&mut shell, "far", peer);
    producer.register_name(&mut shell, "ds");
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, config(&["ds"]), None);
    producer.commands(&mut shell);
    for writer in 1..=2 {
        let request = protos::RegisterTraceWriterRequest {
            trace_writer_id: Some(writer),
            target_buffer: Some(1),
            ..Default::default()
        };
        producer.call(&mut shell, Request::RegisterTraceWriter(request));
    }
    producer.disconnect(&mut shell);
    let ledger = ledger(&mut shell, &consumer);
    let [entry] = &ledger[..] else { panic!("{ledger:?}") };
    assert_eq!((entry.count, entry.at_least), (Some(0), Some(true)));
}

#[test]
fn a_producer_that_is_cut() {
    for (why, reason) in [
        (Cut::Protocol, Reason::REASON_CUT_PROTOCOL),
        (Cut::NotReading, Reason::REASON_CUT_NOT_READING),
        (Cut::Descriptors, Reason::REASON_CUT_DESCRIPTORS),
    ] {
        let World { mut shell, producer, consumer, .. } = world(true, V1);
        let other = super::producer(&mut shell, "of no session");
        for client in [producer.client, other.client] {
            shell.input(Input::ProducerCut { client, why });
        }
        let ledger = ledger(&mut shell, &consumer);
        let [entry] = &ledger[..] else { panic!("{ledger:?}") };
        assert_eq!((entry.reason, entry.at_least), (Some(reason), Some(true)));
    }
}

/// A producer whose connection was refused may have had something for any session.
#[test]
fn a_producer_whose_connection_was_refused() {
    let World { mut shell, consumer, .. } = world(true, V1);
    let refused = abi::ids::ClientId::new(1 << 40);
    shell.input(Input::ProducerRefused { client: refused, peer: peer(77) });
    let ledger = ledger(&mut shell, &consumer);
    let [entry] = &ledger[..] else { panic!("{ledger:?}") };
    assert_eq!((entry.reason, entry.count), (Some(Reason::REASON_PRODUCER_REFUSED), Some(1)));
    assert_eq!((entry.uid, entry.pid, entry.producer_id), (Some(77), peer(77).pid, None));
}

/// A session may set the service so that it takes programs of its own user only: the others are missing in the traces of
/// all.
#[test]
fn producers_that_are_locked_out() {
    let World { mut shell, consumer, .. } = world(true, V1);
    let lock = MockConsumer::connect(&mut shell, 0);
    let before = MockProducer::connect(&mut shell, "before", peer(77));
    lock.call(
        &mut shell,
        protos::consumer_port::Request::EnableTracing(protos::EnableTracingRequest {
            trace_config: Some(
                protos::TraceConfig {
                    lockdown_mode: Some(protos::TraceConfigLockdownModeOperation::LOCKDOWN_SET),
                    ..config(&[])
                }
                .into(),
            ),
            ..Default::default()
        }),
    );
    before.register_name(&mut shell, "ds");
    MockProducer::connect(&mut shell, "after", peer(78));
    let entries = ledger(&mut shell, &consumer);
    let told: Vec<_> = entries
        .iter()
        .map(|e| (e.producer_name.as_deref(), e.data_source_name.as_deref()))
        .collect();
    assert_eq!(told, [(Some("before"), Some("ds")), (Some("after"), None)]);
    // One is an instance, and the other a producer.
    let is_right = |e: &LossLedgerEntry| {
        (e.reason, e.unit) == (Some(Reason::REASON_LOCKED_OUT), Some(Unit::UNIT_LOSSES))
    };
    assert!(entries.iter().all(is_right), "{entries:?}");
}

/// Of a chunk without a finished packet there is nothing to copy.
#[test]
fn a_chunk_with_nothing_in_it_takes_no_place() {
    for version in [V1, V2] {
        for leaves in [false, true] {
            let mut world = world(true, version);
            world.chunk(&[], NONE, End::Reserved);
            if leaves {
                world.producer.disconnect(&mut world.shell);
            } else {
                world.consumer.flush(&mut world.shell, 0);
                world.producer.ack_flush(&mut world.shell, 1);
            }
            let stats = stats(&mut world.shell, &world.consumer);
            assert_eq!(stats.buffer_stats[0].chunks_written.unwrap_or(0), 0);
        }
    }
}

/// A chunk that is left for the buffer of a session that did not ask its producer is not looked at.
#[test]
fn a_leftover_for_the_buffer_of_others() {
    let mut world = world(true, V1);
    let mut other = MockConsumer::connect(&mut world.shell, 0);
    other.enable(&mut world.shell, config(&["other"]), None);
    let request = protos::RegisterTraceWriterRequest {
        trace_writer_id: Some(WRITER.get().into()),
        target_buffer: Some(2),
        ..Default::default()
    };
    world.producer.call(&mut world.shell, Request::RegisterTraceWriter(request));
    world.chunk(&["a"], NONE, End::Complete);
    world.producer.disconnect(&mut world.shell);
    for consumer in [&world.consumer, &other] {
        let stats = stats(&mut world.shell, consumer);
        assert_eq!((stats.chunks_discarded, stats.loss_ledger), (Some(0), None));
    }
}

#[test]
fn chunks_for_the_buffer_of_another_writer() {
    let mut world = world(true, V1);
    let mut other = MockConsumer::connect(&mut world.shell, 0);
    other.enable(&mut world.shell, config(&["other"]), None);
    let mut chunks = Vec::new();
    for _ in 0..3 {
        let chunk = world.chunk(&["a"], NONE, End::Complete);
        chunks.push(CommitDataRequestChunksToMove { target_buffer: Some(2), ..chunk });
    }
    // Of a session that is gone: a producer may be late.
    chunks[2].target_buffer = Some(9);
    let request = CommitDataRequest { chunks_to_move: chunks, ..Default::default() };
    world.producer.call(&mut world.shell, Request::CommitData(request));
    let entries = ledger(&mut world.shell, &world.consumer);
    let [entry] = &entries[..] else { panic!("{entries:?}") };
    assert_eq!((entry.reason, entry.count), (Some(Reason::REASON_CHUNKS_REFUSED), Some(2)));
    assert_eq!(ledger(&mut world.shell, &other), [], "it is no loss of the other session");
}

/// A clone tells of what was lost before it.
#[test]
fn a_clone_has_the_ledger_of_its_source() {
    let mut world = world(true, V1);
    world.chunk(&["a"], NONE, End::Begun);
    world.producer.disconnect(&mut world.shell);
    let consumer = MockConsumer::connect(&mut world.shell, 0);
    let request = protos::CloneSessionRequest {
        selector: Some(protos::CloneSessionRequestSelector::SessionId(1)),
        ..Default::default()
    };
    let call = consumer.clone_session(&mut world.shell, request, None);
    assert_eq!(consumer.cloned(&mut world.shell, call).unwrap().success, Some(true));
    assert_eq!(ledger(&mut world.shell, &consumer), ledger(&mut world.shell, &world.consumer));
    assert_eq!(ledger(&mut world.shell, &consumer).len(), 1);
}

#[test]
fn a_producer_that_is_cut_after_the_end() {
    let World { mut shell, producer, consumer, .. } = world(true, V1);
    consumer.disable(&mut shell);
    shell.input(Input::ProducerCut { client: producer.client, why: Cut::Protocol });
    assert_eq!(ledger(&mut shell, &consumer), [], "the session was over");
}

/// Nobody knows for which buffer it was written, but for a session of its producer.
#[test]
fn what_was_for_no_buffer_is_no_loss_of_other_sessions() {
    let mut world = world(true, V1);
    let mut other = MockConsumer::connect(&mut world.shell, 0);
    other.enable(&mut world.shell, config(&["other"]), None);
    world.chunk(&["a", "b"], NONE, End::Reserved);
    let request = protos::UnregisterTraceWriterRequest {
        trace_writer_id: Some(WRITER.get().into()),
        ..Default::default()
    };
    world.producer.call(&mut world.shell, Request::UnregisterTraceWriter(request));
    world.producer.disconnect(&mut world.shell);
    assert_eq!(ledger(&mut world.shell, &world.consumer).len(), 1);
    assert_eq!(ledger(&mut world.shell, &other), []);
}

/// Shared memory for `left` producers more.
#[derive(Debug)]
struct FewRegions {
    left: std::sync::atomic::AtomicUsize,
}

impl service::RegionFactory for FewRegions {
    fn create(&self, len: usize) -> Result<abi::shm::Region, String> {
        use std::sync::atomic::Ordering::SeqCst;
        let less = |left: usize| left.checked_sub(1);
        match self.left.fetch_update(SeqCst, SeqCst, less) {
            Ok(_) => Ok(abi::shm::Region::heap(len)),
            Err(_) => Err("no memory is left".into()),
        }
    }
}

#[test]
fn a_data_source_without_memory_is_a_loss() {
    let regions = std::sync::Arc::new(FewRegions { left: 1.into() });
    let mut shell = Shell::with(|config| config.regions = regions);
    let mut producers = ["first", "second"].map(|name| {
        let producer = super::producer(&mut shell, name);
        producer.register_name(&mut shell, "ds");
        producer
    });
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, config(&["ds"]), None);
    let of_second = words(&mut shell, &mut producers[1]);
    assert_eq!((words(&mut shell, &mut producers[0]).len(), of_second.len()), (3, 0));
    assert_eq!(shell.service.footprint().instances, 1);
    let ledger = ledger(&mut shell, &consumer);
    let [entry] = &ledger[..] else { panic!("{ledger:?}") };
    let entry = (entry.reason, entry.producer_name.as_deref());
    assert_eq!(entry, (Some(Reason::REASON_NO_MEMORY), Some("second")));
}
