//! Consumers with random configs, which ask for everything and read little of it.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::time::Duration;

use abi::ipc::port::{ConsumerPort, Port as _};
use client::connection::{Attachment, Connection as _, Received, SocketConnection};
use protos::consumer_port::Request;
use protos::{
    AttachRequest, ChangeTraceConfigRequest, CloneSessionRequest, CloneSessionRequestSelector,
    DetachRequest, DisableTracingRequest, EnableTracingRequest, FlushRequest, FreeBuffersRequest,
    GetTraceStatsRequest, ObservableEventsType, ObserveEventsRequest, QueryCapabilitiesRequest,
    QueryServiceStateRequest, ReadBuffersRequest, SaveTraceForBugreportRequest,
    StartTracingRequest, TraceConfig,
};
use tracing_core_testing::TRIGGERS;

use super::super::folders;
use super::Target;
use super::connections::{descriptor, memfd};
use crate::hostile::Random;
use crate::requests::SOURCE;

/// Largest buffer of a config: all sessions and clones of this user stay below what the siege allows for buffers.
const BUFFER_KB_MAX: u32 = 128;
/// Buffers of a session: a random config has up to three.
pub(super) const BUFFER_BYTES: u64 = 3 * BUFFER_KB_MAX as u64 * 1024;

/// One consumer, from its first request to its last.
pub(super) fn attack(target: &Target, random: &mut Random) {
    let Ok(mut link) = SocketConnection::<ConsumerPort>::connect(&target.consumers) else { return };
    for _ in 0..random.below(60) {
        let (request, attachment) = match random.below(8) {
            0 => {
                (into_file(target, random), file(random).map_or(Attachment::None, Attachment::File))
            }
            1 => (into_path(target, random), Attachment::None),
            _ => (request(target, random), Attachment::None),
        };
        if link.send(request, random.below(4) > 0, attachment).is_err() {
            return;
        }
        while random.below(3) > 0 {
            if !matches!(link.receive(Some(Duration::ZERO)), Received::Reply { .. }) {
                break;
            }
        }
    }
}

/// The name of some sessions.
pub(super) const NAME: &str = "siege";

/// A random config, which asks for hostile producers, and sometimes for honest ones.
pub(super) fn config(target: &Target, random: &mut Random) -> TraceConfig {
    let mut config = tracing_core_testing::random_config_of(random.below(u64::MAX));
    for buffer in &mut config.buffers {
        buffer.size_kb = Some(buffer.size_kb.unwrap_or_default().min(BUFFER_KB_MAX));
    }
    let others = target.sources();
    for source in config.data_sources.iter_mut().filter_map(|source| source.config.as_mut()) {
        match random.below(8) {
            0 => {}
            1 if !others.is_empty() => {
                let index = random.below(others.len() as u64) as usize;
                source.name = others.get(index).cloned();
            }
            _ => source.name = Some(SOURCE.into()),
        }
    }
    config.output_path = None;
    config.write_into_file = None;
    // These are refused to such a user: a config with them makes no session.
    if random.below(8) > 0 {
        config.lockdown_mode = None;
        config.exclusive_prio = None;
    }
    // As the protocol says, these keep those out who use the same names.
    config.session_semaphores.clear();
    // So that there is something to clone.
    if random.below(4) == 0 {
        config.unique_session_name = Some(NAME.into());
    }
    config
}

/// A session that writes into a file that comes with the request. It ends soon: one that is detached keeps its file
/// until then.
fn into_file(target: &Target, random: &mut Random) -> Request {
    let trace_config = Some(file_config(target, random).into());
    Request::EnableTracing(EnableTracingRequest { trace_config, ..Default::default() })
}

/// The same into a file that the service makes: in a folder that all users may write to, or in one that only root may.
fn into_path(target: &Target, random: &mut Random) -> Request {
    let mut config = file_config(target, random);
    config.max_file_size_bytes = Some(1 + random.below(64 * 1024));
    let folder = [folders::OPEN, folders::CLOSED][random.below(2) as usize];
    let name = format!("{}-{}", os::process::effective_uid(), random.below(8));
    let path = target.folder.join(folder).join(name);
    if random.below(2) == 0 {
        // So that it can be made again.
        let _ = std::fs::remove_file(&path);
    }
    config.output_path = path.to_str().map(str::to_owned);
    let trace_config = Some(config.into());
    Request::EnableTracing(EnableTracingRequest { trace_config, ..Default::default() })
}

fn file_config(target: &Target, random: &mut Random) -> TraceConfig {
    let mut config = config(target, random);
    config.write_into_file = Some(true);
    config.duration_ms = Some(1 + random.below(1000) as u32);
    config.trigger_config = None;
    config.file_write_period_ms = Some(random.below(300) as u32);
    config
}

/// Files that nobody reads, that are full, that take all, that are memory of the service; and what is no file.
fn file(random: &mut Random) -> Option<OwnedFd> {
    let open = |path| File::options().write(true).open(path).ok().map(OwnedFd::from);
    match random.below(5) {
        0 => std::io::pipe().ok().map(|(_, writer)| writer.into()),
        1 => open("/dev/full"),
        2 => open("/dev/null"),
        3 => memfd(random),
        _ => descriptor(random),
    }
}

/// A request of any method, most often for a session.
fn request(target: &Target, random: &mut Random) -> Request {
    let method = match random.below(3) {
        0 => "EnableTracing",
        _ => {
            let method = random.below(ConsumerPort::METHODS.len() as u64) as usize;
            ConsumerPort::METHODS.get(method).map_or("", |method| method.name)
        }
    };
    let request = of(method, target, random);
    request.unwrap_or(Request::DisableTracing(DisableTracingRequest::default()))
}

/// A request of one method. None: there is no such method.
fn of(method: &str, target: &Target, random: &mut Random) -> Option<Request> {
    let key = || Some("key".to_owned());
    let request = match method {
        "EnableTracing" => Request::EnableTracing(EnableTracingRequest {
            trace_config: Some(config(target, random).into()),
            attach_notification_only: (random.below(16) == 0).then_some(true),
            ..Default::default()
        }),
        "StartTracing" => Request::StartTracing(StartTracingRequest::default()),
        "ChangeTraceConfig" => Request::ChangeTraceConfig(ChangeTraceConfigRequest {
            trace_config: Some(config(target, random).into()),
            ..Default::default()
        }),
        "DisableTracing" => Request::DisableTracing(DisableTracingRequest::default()),
        "ReadBuffers" => Request::ReadBuffers(ReadBuffersRequest::default()),
        "FreeBuffers" => Request::FreeBuffers(FreeBuffersRequest::default()),
        "Flush" => Request::Flush(FlushRequest {
            timeout_ms: Some(random.below(50) as u32),
            flags: (random.below(2) == 0).then(|| random.below(u64::MAX)),
            ..Default::default()
        }),
        "CloneSession" => Request::CloneSession(clone(random)),
        "Detach" => Request::Detach(DetachRequest { key: key(), ..Default::default() }),
        "Attach" => Request::Attach(AttachRequest { key: key(), ..Default::default() }),
        "QueryServiceState" => Request::QueryServiceState(QueryServiceStateRequest {
            sessions_only: Some(random.below(2) == 0),
            ..Default::default()
        }),
        "QueryCapabilities" => Request::QueryCapabilities(QueryCapabilitiesRequest::default()),
        "ObserveEvents" => Request::ObserveEvents(ObserveEventsRequest {
            events_to_observe: (0..random.below(4))
                .map(|_| ObservableEventsType(random.below(20) as i32))
                .collect(),
            ..Default::default()
        }),
        "GetTraceStats" => Request::GetTraceStats(GetTraceStatsRequest::default()),
        "SaveTraceForBugreport" => {
            Request::SaveTraceForBugreport(SaveTraceForBugreportRequest::default())
        }
        _ => return None,
    };
    Some(request)
}

fn clone(random: &mut Random) -> CloneSessionRequest {
    let selector = match random.below(3) {
        // That of the session for bug reports, and of others.
        0 => CloneSessionRequestSelector::SessionId(
            [u64::MAX, random.below(100)][random.below(2) as usize],
        ),
        _ => CloneSessionRequestSelector::UniqueSessionName(NAME.into()),
    };
    CloneSessionRequest {
        selector: Some(selector),
        skip_trace_filter: Some(random.below(4) == 0),
        for_bugreport: Some(random.below(4) == 0),
        clone_trigger_name: (random.below(4) == 0).then(|| TRIGGERS[0].to_owned()),
        clone_trigger_delay_ms: (random.below(4) == 0).then(|| random.below(100)),
        ..Default::default()
    }
}

#[cfg(test)]
mod tests;
