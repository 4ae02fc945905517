//! A full buffer out of the service, and into a file.
//!
//! ```text
//! cargo bench -p tracebox-core --bench readback
//! target/release/deps/readback-* loop ipc 64             so many MiB of one mode, for callgrind
//! ```
//!
//! 64 MiB of 11-byte packets with their lengths, as small track events are: `ipc` reads them with
//! `ReadBuffers` and puts the file together from the replies; `service` does the first half only,
//! `file` has the service write. Sockets and disks are left out. `fill` only fills the buffer: what
//! instruction counts of the others begin with.

#![allow(clippy::disallowed_methods, reason = "a benchmark measures time")]

use std::hint::black_box;
use std::process::ExitCode;

use protos::consumer_port::Request as ConsumerRequest;
use protos::producer_port::Request as ProducerRequest;
use protos::{
    CommitDataRequest, CommitDataRequestChunksToMove, DataSourceConfig, TraceConfig,
    TraceConfigBufferConfig, TraceConfigDataSource,
};
use testing::mock::{MockConsumer, MockProducer};
use testing::shell::Shell;
use tracing_core::abi::ids::{CallId, ChunkId, ClientId, FileId, WriterId};
use tracing_core::abi::shm::{ChunkFlags, ChunkHeader, Packets};
use tracing_core::abi::time::Now;
use tracing_core::client::consumer::{ReplyReader, TraceFileWriter};
use tracing_core::service::{Input, Output, Peer, Service};

const MODES: [&str; 4] = ["fill", "service", "ipc", "file"];
const BUFFER_MB: u32 = 64;
const CHUNK_BYTES: usize = 4080;
const SAMPLES: usize = 5;

/// A chunk of small packets as a writer leaves it, header included, but for its id.
fn chunk() -> (Vec<u8>, u16) {
    // A timestamp, and a track event of a type and a name.
    let packet = [0x40, 0x80, 0x89, 0x7a, 0x5a, 5, 0x48, 1, 0x50, 0x83, 0x01];
    let mut payload = Vec::new();
    let mut count = 0;
    while payload.len() + 4 + packet.len() <= CHUNK_BYTES {
        payload.extend([packet.len() as u8 | 0x80, 0x80, 0x80, 0]);
        payload.extend(packet);
        count += 1;
    }
    (payload, count)
}

/// A session with a full buffer.
fn filled(megabytes: u32, into_file: Option<FileId>) -> (Shell, MockConsumer, u64) {
    let mut shell = Shell::new();
    let peer = Peer { uid: 1000, pid: Some(12345), ..Peer::default() };
    let producer = MockProducer::connect(&mut shell, "bench", peer);
    producer.register_name(&mut shell, "bench");
    let source = DataSourceConfig { name: Some("bench".into()), ..Default::default() };
    let config = TraceConfig {
        buffers: vec![TraceConfigBufferConfig {
            size_kb: Some(BUFFER_MB.max(megabytes) * 1024),
            ..Default::default()
        }],
        data_sources: vec![TraceConfigDataSource { config: Some(source), ..Default::default() }],
        write_into_file: into_file.map(|_| true),
        file_write_period_ms: Some(1_000_000),
        ..Default::default()
    };
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, config, into_file);
    let (payload, count) = chunk();
    let chunks = megabytes * 1024 * 1024 / (payload.len() as u32 + 16 + 8);
    for id in 0..chunks {
        let header = ChunkHeader {
            chunk: ChunkId::new(id),
            writer: WriterId::new(1),
            packets: Packets::new(count, ChunkFlags::default()),
        };
        let data = Some([&header.to_bytes()[..], &payload].concat());
        let chunk =
            CommitDataRequestChunksToMove { target_buffer: Some(1), data, ..Default::default() };
        let request =
            CommitDataRequest { chunks_to_move: vec![chunk], ..CommitDataRequest::default() };
        shell.input(Input::ProducerRequest {
            client: producer.client,
            call: None,
            request: ProducerRequest::CommitData(request),
            region: None,
        });
    }
    (shell, consumer, u64::from(chunks) * u64::from(count))
}

/// Carries out all that the service asks for until it asks for nothing more.
fn drain(service: &mut Service, now: &Now, client: ClientId, mut take: impl FnMut(&[u8])) {
    loop {
        let mut replied = false;
        while let Some(output) = service.poll_output() {
            match output {
                Output::Reply { result, .. } => {
                    replied = true;
                    take(&result.unwrap_or_default());
                }
                Output::WriteFile { file, data, .. } => {
                    take(&data);
                    service.handle(now, Input::FileWritten { file, result: Ok(()) });
                }
                _ => {}
            }
        }
        match replied {
            true => service.handle(now, Input::Drained { client }),
            // The rest of its work waits for its turn.
            false if service.has_work() => service.handle_timeout(now),
            false => return,
        }
    }
}

/// Processor time of this thread, ns: what others do to the machine stays out of it.
fn cpu_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

/// Runs a mode over so many MiB; packets and ns.
fn run(mode: &str, megabytes: u32, clock: fn() -> u64) -> Option<(u64, u64)> {
    let file = (mode == "file").then_some(FileId::new(1));
    let (mut shell, consumer, packets) = filled(megabytes, file);
    let (now, client) = (shell.now(), consumer.client);
    let service = &mut shell.service;
    let ask = |service: &mut Service, request| {
        let call = Some(CallId::new(1 << 32));
        service.handle(&now, Input::ConsumerRequest { client, call, request, file: None });
    };
    let mut bytes = 0;
    let start = clock();
    match mode {
        "fill" => {}
        "service" => {
            ask(service, ConsumerRequest::ReadBuffers(Default::default()));
            drain(service, &now, client, |reply| bytes += black_box(reply).len());
        }
        "ipc" => {
            ask(service, ConsumerRequest::ReadBuffers(Default::default()));
            let mut reader = ReplyReader::new();
            let mut writer = TraceFileWriter::new(std::io::sink());
            drain(service, &now, client, |reply| {
                let read = reader.read(reply, |packet| writer.write(packet));
                assert!(read.is_ok(), "a reply that cannot be read");
            });
            bytes = reader.summary().bytes as usize;
        }
        "file" => {
            ask(service, ConsumerRequest::DisableTracing(Default::default()));
            drain(service, &now, client, |data| bytes += black_box(data).len());
        }
        _ => return None,
    }
    let took = clock() - start;
    assert!(mode == "fill" || bytes as u64 > packets * 18, "{bytes} bytes of {packets} packets");
    Some((packets, took))
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    if let ["loop", mode, megabytes] = args[..] {
        let Some((packets, _)) = megabytes.parse().ok().and_then(|n| run(mode, n, || 0)) else {
            eprintln!("loop takes one of {MODES:?} and a number of MiB");
            return ExitCode::FAILURE;
        };
        println!("{mode} {packets}");
        return ExitCode::SUCCESS;
    }
    for mode in MODES.into_iter().filter(|mode| args.is_empty() || args.contains(mode)) {
        let mut samples: Vec<f64> = (0..SAMPLES)
            .filter_map(|_| run(mode, BUFFER_MB, cpu_ns))
            .map(|(packets, took)| took as f64 / packets as f64)
            .collect();
        samples.sort_by(f64::total_cmp);
        println!("{mode:14} {:8.2} ns per packet", samples[samples.len() / 2]);
    }
    ExitCode::SUCCESS
}
