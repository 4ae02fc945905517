//! A consumer that asks for too much: the sources serve others all the same.

use std::collections::BTreeMap;
use std::fs;

use abi::ipc::port::ConsumerPort;
use client::connection::{Attachment, Connection, Received, SocketConnection};
use client::consumer::{Consumer, Waited};
use client::producer::Producer;
use daemon::in_process::InProcessService;
use daemon::serve::{Server, ServerOptions, service_config};
use os::socket::Address;
use protos::consumer_port::Request;
use protos::{
    DataSourceConfig, EnableTracingRequest, FlushRequest, GetTraceStatsRequest,
    GetTraceStatsResponse, LossLedgerReason, ObservableEventsType, SysStatsConfig, TraceConfig,
    TraceConfigBufferConfig, TraceConfigDataSource, TracePacket, TracePacketData,
};
use protozero::Message;

use super::FOREVER;

/// Hostile sessions: 4,500 data sources and 900 flushes altogether.
const SESSIONS: usize = 3;
/// Of each session. More do not fit into one request.
const SOURCES: usize = 1500;
const FLUSHES: usize = 300;

fn config(sources: usize, meminfo_period_ms: Option<u32>) -> TraceConfig {
    let sys_stats = |_| SysStatsConfig { meminfo_period_ms, ..Default::default() };
    let source = DataSourceConfig {
        name: Some("linux.sys_stats".into()),
        sys_stats_config: meminfo_period_ms.map(sys_stats),
        ..Default::default()
    };
    let source = TraceConfigDataSource { config: Some(source), ..Default::default() };
    TraceConfig {
        buffers: vec![TraceConfigBufferConfig { size_kb: Some(4096), ..Default::default() }],
        data_sources: vec![source; sources],
        ..Default::default()
    }
}

/// Threads of this process, by name.
fn threads() -> BTreeMap<String, usize> {
    let mut threads = BTreeMap::new();
    for task in fs::read_dir("/proc/self/task").unwrap() {
        // A thread may end meanwhile.
        if let Ok(name) = fs::read_to_string(task.unwrap().path().join("comm")) {
            *threads.entry(name.trim().to_owned()).or_default() += 1;
        }
    }
    threads
}

/// A service with sockets, and the sources at the other end of one.
struct World {
    service: InProcessService,
    producer: Producer,
    consumers: Address,
    directory: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let socket = |name: &str| Address::parse(directory.path().join(name).to_str().unwrap());
        let [producers, consumers] = ["p.sock", "c.sock"].map(|name| socket(name).unwrap());
        let log = Box::new(|_, _: &str| {});
        let mut options = ServerOptions::new(service_config("test").unwrap(), log);
        options.producer_sockets = vec![producers.clone()];
        options.consumer_sockets = vec![consumers.clone()];
        let service = InProcessService::run(Server::bind(options).unwrap()).unwrap();
        let mut options = tracing_probes::options();
        options.address = Some(producers);
        let producer = Producer::connect(options).unwrap();
        tracing_probes::register_all(&producer, tracing_probes::FtraceOptions::default()).unwrap();
        assert!(producer.sync(FOREVER));
        Self { service, producer, consumers, directory }
    }
}

/// A consumer that sends many requests before it waits for an answer.
struct Hostile(SocketConnection<ConsumerPort>);

impl Hostile {
    fn new(world: &World) -> Self {
        Self(SocketConnection::connect(&world.consumers).unwrap())
    }

    fn send(&mut self, request: Request) -> abi::ids::CallId {
        self.0.send(request, true, Attachment::None).unwrap()
    }

    /// The answers to these calls.
    fn answers(&mut self, calls: &[abi::ids::CallId]) -> Vec<Vec<u8>> {
        let mut answers = BTreeMap::new();
        while answers.len() < calls.len() {
            match self.0.receive(None) {
                Received::Reply { call, result, .. } if calls.contains(&call) => {
                    answers.insert(call, result.expect("it succeeds"));
                }
                Received::Disconnected => panic!("disconnected"),
                _ => {}
            }
        }
        answers.into_values().collect()
    }
}

#[test]
fn thousands_of_sources_and_flushes_of_one_consumer() {
    let _alone = super::alone();
    let world = World::new();
    let mut honest = Consumer::connect(&world.consumers).unwrap();
    honest.enable_tracing(&config(1, Some(100)), None).unwrap();
    honest.flush(FOREVER).unwrap();

    let mut hostile: Vec<_> = (0..SESSIONS).map(|_| Hostile::new(&world)).collect();
    let flush = FlushRequest { timeout_ms: Some(u32::MAX), ..Default::default() };
    let mut calls = Vec::new();
    for consumer in &mut hostile {
        let config = Some(config(SOURCES, None).into());
        let request = EnableTracingRequest { trace_config: config, ..Default::default() };
        consumer.send(Request::EnableTracing(request));
        let flushes = (0..FLUSHES).map(|_| consumer.send(Request::Flush(flush.clone())));
        calls.push(flushes.collect::<Vec<_>>());
    }
    for (consumer, calls) in hostile.iter_mut().zip(&calls) {
        assert_eq!(consumer.answers(calls).len(), FLUSHES);
    }
    // One may be of a test that has just ended.
    let threads = threads();
    assert!((1..=2).contains(&threads["sys_stats"]), "{threads:?}");

    // The consumers are told what is not recorded.
    for consumer in &mut hostile {
        let stats = consumer.send(Request::GetTraceStats(GetTraceStatsRequest::default()));
        let stats = consumer.answers(&[stats]).remove(0);
        let stats = GetTraceStatsResponse::decode(&stats).unwrap().trace_stats.unwrap();
        let lost = stats.loss_ledger.clone().unwrap_or_default().entries;
        assert_eq!(lost.len(), 1, "{lost:?}");
        assert_eq!(lost[0].reason, Some(LossLedgerReason::REASON_INSTANCE_REFUSED));
        assert_eq!(lost[0].data_source_name.as_deref(), Some("linux.sys_stats"));
        assert_eq!(lost[0].count, Some(SOURCES as u64 - 8));
    }

    // The other one lost nothing, and goes on.
    let mut ticks = 0;
    for _ in 0..2 {
        let before = ticks;
        while ticks == before {
            honest.flush(FOREVER).unwrap();
            let read = honest.read_buffers(FOREVER, |packet| {
                let packet = TracePacket::decode(packet.bytes()).unwrap();
                ticks += usize::from(matches!(packet.data, Some(TracePacketData::SysStats(_))));
                Ok(())
            });
            read.unwrap();
        }
    }
    assert!(honest.get_trace_stats().unwrap().loss_ledger.is_none());
    let counted = world.service.handle().stats();
    assert_eq!((counted.cut_slow, counted.cut_broken, counted.faults), (0, 0, 0), "{counted:?}");
    drop((world.producer, world.directory));
}

/// A config that a source can record nothing for: the ledger of its session says so.
#[test]
fn a_source_that_would_record_nothing() {
    let _alone = super::alone();
    let world = World::new();
    let mut consumer = Consumer::connect(&world.consumers).unwrap();
    let mut config = config(1, Some(1000));
    let source = config.data_sources[0].config.as_mut().unwrap();
    source.sys_stats_config.as_mut().unwrap().stat_period_ms = Some(1500);
    let kinds = [ObservableEventsType::TYPE_ALL_DATA_SOURCES_STARTED];
    consumer.observe_events(&kinds).unwrap();
    consumer.enable_tracing(&config, None).unwrap();
    let is_start = |waited: &Waited| {
        let Waited::Event(event) = waited else { return false };
        event.all_data_sources_started == Some(true)
    };
    while !is_start(&consumer.wait(Some(FOREVER)).unwrap()) {}
    let entries = consumer.get_trace_stats().unwrap().loss_ledger.unwrap_or_default().entries;
    assert_eq!(entries.len(), 1, "{entries:?}");
    assert_eq!(entries[0].reason, Some(LossLedgerReason::REASON_INSTANCE_REFUSED));
    assert_eq!(entries[0].data_source_name.as_deref(), Some("linux.sys_stats"));
}
