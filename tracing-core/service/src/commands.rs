//! The commands that producers are sent, encoded.

use protos::{
    GetAsyncCommandResponse, GetAsyncCommandResponseCmd as Cmd, GetAsyncCommandResponseWriter,
};
use protozero::rt::Writer as _;
use protozero::{HeapSink, Message as _};

use abi::flush_flags::FlushFlags;
use abi::ids::{FlushId, InstanceId};

fn encode(cmd: Cmd) -> Vec<u8> {
    GetAsyncCommandResponse { cmd: Some(cmd), ..Default::default() }.encode_to_vec()
}

/// Encodes a command around a config that is encoded already, so that a large one is encoded once.
fn write(fill: impl FnOnce(&mut GetAsyncCommandResponseWriter<'_>)) -> Vec<u8> {
    let mut stream = HeapSink::stream();
    {
        let mut response = GetAsyncCommandResponseWriter::from_scope(stream.root());
        fill(&mut response);
    }
    // A heap sink fails only by aborting.
    stream.finish().unwrap_or_default()
}

/// Hands over the shared memory; without a page size when the producer brought it.
pub(crate) fn setup_tracing(page_bytes: usize) -> Vec<u8> {
    let kb = (page_bytes > 0).then_some((page_bytes / 1024) as u32);
    encode(Cmd::SetupTracing(protos::GetAsyncCommandResponseSetupTracing {
        shared_buffer_page_size_kb: kb,
        ..Default::default()
    }))
}

pub(crate) fn setup_data_source(id: InstanceId, config: &[u8]) -> Vec<u8> {
    write(|response| {
        response.setup_data_source().new_instance_id(id.get()).config_raw(config);
    })
}

pub(crate) fn start_data_source(id: InstanceId, config: &[u8]) -> Vec<u8> {
    write(|response| {
        response.start_data_source().new_instance_id(id.get()).config_raw(config);
    })
}

pub(crate) fn stop_data_source(id: InstanceId) -> Vec<u8> {
    encode(Cmd::StopDataSource(protos::GetAsyncCommandResponseStopDataSource {
        instance_id: Some(id.get()),
        ..Default::default()
    }))
}

pub(crate) fn flush(id: FlushId, instances: &[InstanceId], flags: FlushFlags) -> Vec<u8> {
    encode(Cmd::Flush(protos::GetAsyncCommandResponseFlush {
        data_source_ids: instances.iter().map(|i| i.get()).collect(),
        request_id: Some(id.get()),
        flags: Some(flags.get()),
        ..Default::default()
    }))
}

pub(crate) fn clear_incremental_state(instances: &[InstanceId]) -> Vec<u8> {
    encode(Cmd::ClearIncrementalState(protos::GetAsyncCommandResponseClearIncrementalState {
        data_source_ids: instances.iter().map(|i| i.get()).collect(),
        ..Default::default()
    }))
}
