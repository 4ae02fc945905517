//! Entry points of fuzz targets: they take any bytes and must not panic.
#![allow(unsafe_code)]

mod conversation;
mod line;

pub use self::conversation::conversation;

use protos::producer_port::Request;
use protos::{CommitDataRequest, InitializeConnectionRequest, TraceConfig};
use protozero::Message as _;

use crate::mock::{MockConsumer, MockProducer};
use crate::shell::Shell;
use service::Peer;

fn store(region: &abi::shm::Region, off: usize, bytes: &[u8]) -> bool {
    // SAFETY: an input is run on one thread.
    unsafe { region.store(off, bytes) }
}

/// Size of the shared memory that [`commit_data`] fills.
const SMB_BYTES: usize = 32 * 1024;

/// A producer with any contents of shared memory sends any commit, and a consumer reads the result.
///
/// `input` is a two-byte length, a `CommitDataRequest` of that length, and the contents of the memory,
/// repeated until it is full.
pub fn commit_data(input: &[u8]) {
    let Some((head, rest)) = input.split_at_checked(2) else { return };
    let len = usize::from(u16::from_le_bytes([head[0], head[1]])).min(rest.len());
    let (request, memory) = rest.split_at(len);
    let Ok(request) = CommitDataRequest::decode(request) else { return };
    let mut shell = Shell::new();
    let init = InitializeConnectionRequest {
        shared_memory_size_hint_bytes: Some(SMB_BYTES as u32),
        ..Default::default()
    };
    let peer = Peer { uid: 1, ..Peer::default() };
    let mut producer = MockProducer::connect_with(&mut shell, peer, init, None);
    producer.register_name(&mut shell, "ds");
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, session(), None);
    producer.commands(&mut shell);
    let Some(smb) = &producer.smb else { return };
    if !memory.is_empty() {
        let contents: Vec<u8> = memory.iter().copied().cycle().take(smb.bytes()).collect();
        store(smb.region(), 0, &contents);
    }
    // Twice, as the first commit leaves a state behind.
    for _ in 0..2 {
        producer.call(&mut shell, Request::CommitData(request.clone()));
        consumer.read_raw(&mut shell);
    }
    consumer.disconnect(&mut shell);
}

fn session() -> TraceConfig {
    let source = protos::TraceConfigDataSource {
        config: Some(protos::DataSourceConfig { name: Some("ds".into()), ..Default::default() }),
        ..Default::default()
    };
    let buffer = protos::TraceConfigBufferConfig { size_kb: Some(64), ..Default::default() };
    TraceConfig { buffers: vec![buffer], data_sources: vec![source], ..Default::default() }
}
