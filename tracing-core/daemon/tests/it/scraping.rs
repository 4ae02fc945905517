//! Scraping: packets in chunks that writers still hold reach the trace. Real writers and the real service, in virtual
//! time.
#![allow(unsafe_code)]

use protos::producer_port::Request;
use protos::{
    DataSourceConfig, InitializeConnectionRequest,
    InitializeConnectionRequestProducerSMBScrapingMode as Mode, TraceConfig,
    TraceConfigBufferConfig, TraceConfigDataSource, TracePacketData,
};
use std::time::Duration;

use abi::ids::{BufferId, ChunkId, WriterId};
use abi::shm::{ChunkFlags, ChunkHeader, Layout, Packets, Region, Smb, WritableChunk};
use abi::sync::Arc;
use abi::time::BootTime;
use client::write::{Arbiter, ArbiterOptions, BufferExhaustedPolicy, NoWaker, Park, TraceWriter};
use service::Peer;
use testing::mock::{MockConsumer, MockProducer};
use testing::shell::Shell;

fn write_raw(chunk: &mut WritableChunk, off: usize, bytes: &[u8]) -> bool {
    // SAFETY: one thread uses this memory.
    unsafe { chunk.write(off, bytes) }
}

fn start_fragment(chunk: &mut WritableChunk) {
    // SAFETY: one thread uses this memory.
    unsafe { chunk.start_fragment() }
}

const PAGE: u32 = 4096;

pub(super) struct NoPark;

impl Park for NoPark {
    fn park(&self, _: Duration) {
        std::thread::yield_now();
    }

    fn give_up(&self) {}
}

pub(super) fn config() -> TraceConfig {
    let buffer = TraceConfigBufferConfig { size_kb: Some(1024), ..Default::default() };
    let source = DataSourceConfig { name: Some("ds".into()), ..Default::default() };
    let source = TraceConfigDataSource { config: Some(source), ..Default::default() };
    TraceConfig {
        buffers: vec![buffer],
        data_sources: vec![source],
        trace_all_machines: Some(true),
        ..Default::default()
    }
}

/// A session that records one scraped producer, whose writers are real.
struct Rig {
    shell: Shell,
    producer: MockProducer,
    consumer: MockConsumer,
    arbiter: Arbiter,
}

impl Rig {
    fn new(peer: Peer, region: Option<Region>, options: ArbiterOptions) -> Self {
        let mut shell = Shell::new();
        let request = InitializeConnectionRequest {
            smb_scraping_mode: Some(Mode::SMB_SCRAPING_ENABLED),
            shared_memory_page_size_hint_bytes: Some(PAGE),
            producer_provided_shmem: Some(region.is_some()),
            ..Default::default()
        };
        let mut producer = MockProducer::connect_with(&mut shell, peer, request, region);
        producer.register_name(&mut shell, "ds");
        let mut consumer = MockConsumer::connect(&mut shell, 0);
        consumer.enable(&mut shell, config(), None);
        producer.commands(&mut shell);
        // If chunks travel by value, the producer has memory of its own.
        let own = || Smb::new(Region::heap(1 << 18), abi::shm::PageSize::DEFAULT).unwrap();
        let smb = producer.smb.clone().unwrap_or_else(own);
        let arbiter = Arbiter::new(smb, options, Arc::new(NoWaker), Arc::new(NoPark));
        Self { shell, producer, consumer, arbiter }
    }

    fn shared() -> Self {
        Self::new(Peer::default(), None, ArbiterOptions::default())
    }

    fn writer(&mut self) -> TraceWriter {
        let writer = self.arbiter.create_writer(BufferId::new(1), BufferExhaustedPolicy::Drop);
        self.pump();
        writer
    }

    /// Delivers the requests of the arbiter, and returns them.
    fn pump(&mut self) -> Vec<Request> {
        let mut sent = Vec::new();
        while let Some(outgoing) = self.arbiter.poll_request(BootTime::from_ns(0)) {
            self.producer.call(&mut self.shell, outgoing.request.clone());
            sent.push(outgoing.request);
        }
        sent
    }

    fn read(&mut self) -> Vec<String> {
        let packets = self.consumer.read(&mut self.shell);
        let texts = packets.into_iter().filter_map(|packet| match packet.data {
            Some(TracePacketData::ForTesting(event)) => event.str,
            _ => None,
        });
        texts.collect()
    }
}

fn write(writer: &mut TraceWriter, texts: &[&str]) {
    for text in texts {
        writer.new_packet().for_testing().str(text);
    }
}

#[test]
fn scrape_buffers_on_flush() {
    let mut rig = Rig::shared();
    let mut writer = rig.writer();
    write(&mut writer, &["one", "two", "three"]);
    let call = rig.consumer.flush(&mut rig.shell, 0);
    rig.producer.ack_flush(&mut rig.shell, 1);
    assert_eq!(rig.consumer.flushed(&mut rig.shell, call), Some(true));
    assert_eq!(rig.read(), ["one", "two", "three"]);
    write(&mut writer, &["four", "five"]);
    let call = rig.consumer.flush(&mut rig.shell, 100);
    rig.shell.advance_ms(101);
    assert_eq!(rig.consumer.flushed(&mut rig.shell, call), Some(false), "no producer answered");
    assert_eq!(rig.read(), ["four", "five"]);
    // The commit of the same chunk adds its new packets, and no packet twice.
    write(&mut writer, &["six"]);
    writer.flush();
    rig.pump();
    assert_eq!(rig.read(), ["six"]);
}

#[test]
fn scrape_buffers_on_disable() {
    let mut rig = Rig::shared();
    let mut writer = rig.writer();
    write(&mut writer, &["one", "two"]);
    rig.consumer.disable(&mut rig.shell);
    assert_eq!(rig.read(), ["one", "two"]);
}

#[test]
fn scrape_buffers_on_producer_disconnect() {
    let mut rig = Rig::new(Peer::default(), Some(Region::heap(1 << 20)), ArbiterOptions::default());
    let mut writer = rig.writer();
    write(&mut writer, &["one", "two"]);
    let Rig { mut shell, producer, consumer, .. } = rig;
    producer.disconnect(&mut shell);
    let mut rig = Rig {
        producer: MockProducer::connect(&mut shell, "", Peer::default()),
        shell,
        consumer,
        arbiter: rig.arbiter,
    };
    assert_eq!(rig.read(), ["one", "two"]);
}

/// A writer on another thread writes while the service scrapes.
#[test]
fn scrape_buffers_from_another_thread() {
    let mut rig = Rig::shared();
    let mut writer = rig.writer();
    let thread = std::thread::spawn(move || {
        for _ in 0..2000 {
            write(&mut writer, &["aaaa", "bbbbbbbbbbbbbbbb", "c"]);
        }
        writer
    });
    let mut read = Vec::new();
    while !thread.is_finished() {
        let call = rig.consumer.flush(&mut rig.shell, 1);
        rig.shell.advance_ms(2);
        assert!(rig.consumer.flushed(&mut rig.shell, call).is_some());
        rig.pump();
        read.append(&mut rig.read());
    }
    drop(thread.join().unwrap());
    rig.pump();
    rig.consumer.disable(&mut rig.shell);
    read.append(&mut rig.read());
    assert!(!read.is_empty());
    for (at, text) in read.iter().enumerate() {
        assert!(["aaaa", "bbbbbbbbbbbbbbbb", "c"].contains(&text.as_str()), "{at}: {text}");
    }
}

/// A chunk that a test fills step by step, of a registered writer.
fn chunk(rig: &mut Rig) -> WritableChunk {
    let request = protos::RegisterTraceWriterRequest {
        trace_writer_id: Some(9),
        target_buffer: Some(1),
        ..Default::default()
    };
    rig.producer.call(&mut rig.shell, Request::RegisterTraceWriter(request));
    let smb = rig.producer.smb.clone().unwrap();
    assert!(smb.try_partition(3, Layout::Div1));
    let packets = Packets::new(0, ChunkFlags::default());
    let header = ChunkHeader { chunk: ChunkId::new(0), writer: WriterId::new(9), packets };
    smb.try_acquire(3, 0, header).unwrap()
}

fn flush_and_read(rig: &mut Rig) -> Vec<String> {
    rig.consumer.flush(&mut rig.shell, 10);
    rig.shell.advance_ms(20);
    rig.read()
}

/// `for_testing { str: "payload" }` as a fragment.
pub(super) const FRAGMENT: &[u8] = b"\x0c\xa2\x38\x09\x0a\x07payload";

#[test]
fn scrape_after_inflated_count() {
    let mut rig = Rig::shared();
    let mut chunk = chunk(&mut rig);
    start_fragment(&mut chunk);
    assert!(write_raw(&mut chunk, 0, FRAGMENT));
    assert_eq!(flush_and_read(&mut rig), Vec::<String>::new(), "it may not be finished");
    start_fragment(&mut chunk);
    assert_eq!(flush_and_read(&mut rig), ["payload"], "now it is");
    assert!(write_raw(&mut chunk, FRAGMENT.len(), &[0]));
    assert_eq!(flush_and_read(&mut rig), Vec::<String>::new());
    assert!(chunk.complete());
    assert_eq!(flush_and_read(&mut rig), Vec::<String>::new(), "the filler is no packet");
}

#[test]
fn scrape_after_complete_chunk() {
    let mut rig = Rig::shared();
    let mut chunk = chunk(&mut rig);
    start_fragment(&mut chunk);
    assert!(write_raw(&mut chunk, 0, FRAGMENT));
    assert_eq!(flush_and_read(&mut rig), Vec::<String>::new());
    assert!(chunk.complete());
    assert_eq!(flush_and_read(&mut rig), ["payload"]);
    assert_eq!(flush_and_read(&mut rig), Vec::<String>::new());
}

/// A producer that shares no memory scrapes it itself, before it acknowledges a flush.
#[test]
fn scrape_emulated_shared_memory_buffer() {
    let remote = Peer { by_value: true, ..Peer::default() };
    let mut options = ArbiterOptions::default();
    options.service.by_value = true;
    options.scrape_on_flush = true;
    let mut rig = Rig::new(remote, None, options);
    assert!(rig.producer.smb.is_none(), "no memory came");
    let mut writer = rig.writer();
    let mut other = rig.writer();
    write(&mut writer, &["one", "two"]);
    write(&mut other, &["other"]);
    let call = rig.consumer.flush(&mut rig.shell, 0);
    rig.arbiter.notify_flush_complete(abi::ids::FlushId::new(1));
    let sent = rig.pump();
    assert_eq!(rig.consumer.flushed(&mut rig.shell, call), Some(true));
    let Request::CommitData(commit) = &sent[0] else { panic!("{sent:?}") };
    assert_eq!(commit.chunks_to_move.len(), 2);
    assert!(commit.chunks_to_move.iter().all(|chunk| chunk.chunk_incomplete == Some(true)));
    assert_eq!(rig.read(), ["one", "two", "other"]);
    // Half a packet is not sent; the commit brings the whole one.
    let mut open = writer.new_packet();
    open.for_testing().str("three");
    rig.arbiter.notify_flush_complete(abi::ids::FlushId::new(2));
    rig.pump();
    assert_eq!(rig.read(), Vec::<String>::new());
    drop(open);
    drop(writer);
    rig.pump();
    assert_eq!(rig.read(), ["three"]);
}

/// The requests of a scrape are split as commits are.
#[test]
fn scrape_emulated_shared_memory_buffer_splits() {
    let mut options = ArbiterOptions::default();
    options.service.by_value = true;
    options.scrape_on_flush = true;
    let mut rig = Rig::new(Peer { by_value: true, ..Peer::default() }, None, options);
    let mut writers: Vec<_> = (0..40).map(|_| rig.writer()).collect();
    writers.iter_mut().for_each(|writer| write(writer, &["text"]));
    rig.arbiter.notify_flush_complete(abi::ids::FlushId::new(1));
    let sent = rig.pump();
    let commits = sent.iter().filter_map(|request| match request {
        Request::CommitData(commit) => {
            assert!(request.encode().len() < 128 * 1024);
            Some((commit.chunks_to_move.len(), commit.flush_request_id))
        }
        _ => None,
    });
    assert_eq!(commits.collect::<Vec<_>>(), [(31, None), (9, None), (0, Some(1))]);
    assert_eq!(rig.read().len(), 40);
}

/// A producer whose sources flush nothing is asked, too, as only it can read its memory.
#[test]
fn a_flush_reaches_scraping_producers_without_memory_to_share() {
    for (by_value, expected) in [(true, vec![Vec::<u64>::new()]), (false, vec![])] {
        let mut shell = Shell::new();
        let peer = Peer { by_value, ..Peer::default() };
        let request = InitializeConnectionRequest {
            smb_scraping_mode: Some(Mode::SMB_SCRAPING_ENABLED),
            ..Default::default()
        };
        let mut producer = MockProducer::connect_with(&mut shell, peer, request, None);
        let no_flush = protos::DataSourceDescriptor {
            name: Some("ds".into()),
            no_flush: Some(true),
            ..Default::default()
        };
        producer.register(&mut shell, no_flush);
        let mut consumer = MockConsumer::connect(&mut shell, 0);
        consumer.enable(&mut shell, config(), None);
        consumer.flush(&mut shell, 0);
        let flushes =
            producer.commands(&mut shell).into_iter().filter_map(|command| match command {
                protos::GetAsyncCommandResponseCmd::Flush(flush) => Some(flush.data_source_ids),
                _ => None,
            });
        assert_eq!(flushes.collect::<Vec<_>>(), expected);
    }
}

#[test]
fn a_scrape_needs_no_memory_for_pages_that_were_never_used() {
    use std::os::unix::fs::MetadataExt as _;

    let region = os::shm::create(1 << 20).unwrap();
    let fd = region.fd().unwrap().try_clone_to_owned().unwrap();
    let mut rig = Rig::new(Peer::default(), Some(region), ArbiterOptions::default());
    let mut writer = rig.writer();
    write(&mut writer, &["one", "two"]);
    rig.consumer.disable(&mut rig.shell);
    assert_eq!(rig.read(), ["one", "two"]);
    let file = std::fs::File::from(fd);
    assert_eq!(file.metadata().unwrap().blocks() * 512, u64::from(PAGE));
}

/// A producer that does not say whether it wants to be scraped gets the default of the service.
#[test]
fn scraping_by_default() {
    for (by_default, mode, expected) in [
        (true, None, 1),
        (false, None, 0),
        (true, Some(Mode::SMB_SCRAPING_DISABLED), 0),
        (false, Some(Mode::SMB_SCRAPING_ENABLED), 1),
        (true, Some(Mode(7)), 1),
    ] {
        let mut shell = Shell::with(|config| config.scrape_by_default = by_default);
        let request = InitializeConnectionRequest { smb_scraping_mode: mode, ..Default::default() };
        let mut producer = MockProducer::connect_with(&mut shell, Peer::default(), request, None);
        producer.register_name(&mut shell, "ds");
        let mut consumer = MockConsumer::connect(&mut shell, 0);
        consumer.enable(&mut shell, config(), None);
        producer.commands(&mut shell);
        let smb = producer.smb.clone().unwrap();
        let arbiter =
            Arbiter::new(smb, ArbiterOptions::default(), Arc::new(NoWaker), Arc::new(NoPark));
        let mut rig = Rig { shell, producer, consumer, arbiter };
        let mut writer = rig.writer();
        write(&mut writer, &["one"]);
        rig.consumer.disable(&mut rig.shell);
        assert_eq!(rig.read().len(), expected, "{by_default} {mode:?}");
    }
}
