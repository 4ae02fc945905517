//! Consumers with random configs, which ask for everything and read little of it.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::time::Duration;

use abi::ipc::port::ConsumerPort;
use client::connection::{Attachment, Connection as _, Received, SocketConnection};
use protos::consumer_port::Request;
use protos::{
    AttachRequest, ChangeTraceConfigRequest, CloneSessionRequest, CloneSessionRequestSelector,
    DetachRequest, DisableTracingRequest, EnableTracingRequest, FlushRequest, FreeBuffersRequest,
    GetTraceStatsRequest, ObserveEventsRequest, QueryServiceStateRequest, ReadBuffersRequest,
    StartTracingRequest, TraceConfig,
};

use super::Target;
use super::connections::{descriptor, memfd};
use crate::hostile::Random;

/// Largest buffer of a config: all sessions and clones of this user stay below what the siege allows for buffers.
const BUFFER_KB_MAX: u32 = 128;
/// Buffers of a session: a random config has up to three.
pub(super) const BUFFER_BYTES: u64 = 3 * BUFFER_KB_MAX as u64 * 1024;

/// One consumer, from its first request to its last.
pub(super) fn attack(target: &Target, random: &mut Random) {
    let Ok(mut link) = SocketConnection::<ConsumerPort>::connect(&target.consumers) else { return };
    for _ in 0..random.below(60) {
        let (request, attachment) = match random.below(8) {
            0 => (into_file(random), file(random).map_or(Attachment::None, Attachment::File)),
            _ => (request(random), Attachment::None),
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
const NAME: &str = "siege";

fn config(random: &mut Random) -> TraceConfig {
    let mut config = tracing_core_testing::random_config_of(random.below(u64::MAX));
    for buffer in &mut config.buffers {
        buffer.size_kb = Some(buffer.size_kb.unwrap_or_default().min(BUFFER_KB_MAX));
    }
    // The file would be left behind.
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
fn into_file(random: &mut Random) -> Request {
    let mut config = config(random);
    config.write_into_file = Some(true);
    config.duration_ms = Some(1 + random.below(1000) as u32);
    config.trigger_config = None;
    config.file_write_period_ms = Some(random.below(300) as u32);
    let trace_config = Some(config.into());
    Request::EnableTracing(EnableTracingRequest { trace_config, ..Default::default() })
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

fn request(random: &mut Random) -> Request {
    let key = || Some("key".to_owned());
    match random.below(16) {
        0..=3 => Request::EnableTracing(EnableTracingRequest {
            trace_config: Some(config(random).into()),
            ..Default::default()
        }),
        4 => Request::StartTracing(StartTracingRequest::default()),
        5 => Request::ChangeTraceConfig(ChangeTraceConfigRequest {
            trace_config: Some(config(random).into()),
            ..Default::default()
        }),
        6 => Request::DisableTracing(DisableTracingRequest::default()),
        7 | 8 => Request::ReadBuffers(ReadBuffersRequest::default()),
        9 => Request::FreeBuffers(FreeBuffersRequest::default()),
        10 => Request::Flush(FlushRequest {
            timeout_ms: Some(random.below(50) as u32),
            ..Default::default()
        }),
        11 => Request::CloneSession(CloneSessionRequest {
            selector: Some(CloneSessionRequestSelector::UniqueSessionName(NAME.into())),
            ..Default::default()
        }),
        12 => Request::Detach(DetachRequest { key: key(), ..Default::default() }),
        13 => Request::Attach(AttachRequest { key: key(), ..Default::default() }),
        14 => Request::QueryServiceState(QueryServiceStateRequest::default()),
        _ if random.below(2) == 0 => Request::ObserveEvents(ObserveEventsRequest::default()),
        _ => Request::GetTraceStats(GetTraceStatsRequest::default()),
    }
}
