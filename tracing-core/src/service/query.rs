//! Questions about the service, answered to anybody who may connect as a consumer.

use protos::{
    ObservableEventsType, QueryCapabilitiesResponse, QueryServiceStateResponse,
    TracingServiceCapabilities, TracingServiceState, TracingServiceStateDataSource,
    TracingServiceStateProducer, TracingServiceStateTracingSession,
};
use protozero::Message as _;

use super::core::Service;
use super::session::state::{Session, State};
use crate::ids::{CallId, ClientId};
use crate::limits;

impl Service {
    pub(super) fn query_capabilities(&mut self, client: ClientId, call: Option<CallId>) {
        let response = QueryCapabilitiesResponse {
            capabilities: Some(TracingServiceCapabilities {
                has_query_capabilities: Some(true),
                observable_events: vec![
                    ObservableEventsType::TYPE_DATA_SOURCES_INSTANCES,
                    ObservableEventsType::TYPE_ALL_DATA_SOURCES_STARTED,
                    ObservableEventsType::TYPE_CLONE_TRIGGER_HIT,
                ],
                has_trace_config_output_path: Some(true),
                has_clone_session: Some(true),
                ..Default::default()
            }),
            ..Default::default()
        };
        self.out.reply(client, call, response.encode_to_vec().into());
    }

    /// Answers in as many replies as frames demand; receivers concatenate the states and parse once.
    pub(super) fn query_service_state(
        &mut self,
        client: ClientId,
        call: Option<CallId>,
        sessions_only: bool,
    ) {
        let (Some(call), Some(consumer)) = (call, self.consumers.get(&client)) else { return };
        let uid = consumer.peer.uid;
        let live = || self.sessions.values().filter(|s| !s.freed);
        let mut parts = Parts { done: Vec::new(), bytes: Vec::new() };
        parts.add(&TracingServiceState {
            num_sessions: Some(live().count() as i32),
            num_sessions_started: Some(live().filter(|s| s.state == State::Started).count() as i32),
            tracing_service_version: Some(self.config.version.clone()),
            supports_tracing_sessions: Some(true),
            ..Default::default()
        });
        for session in live().filter(|s| uid == 0 || uid == s.uid) {
            parts.add(&TracingServiceState {
                tracing_sessions: vec![describe(session)],
                ..Default::default()
            });
        }
        if !sessions_only {
            for producer in self.producers.values() {
                let machine_id = producer.machine_id();
                parts.add(&TracingServiceState {
                    producers: vec![TracingServiceStateProducer {
                        id: Some(producer.id.0.into()),
                        name: Some(producer.name.clone()),
                        uid: Some(producer.peer.uid as i32),
                        pid: producer.peer.pid,
                        sdk_version: Some(producer.sdk_version.clone()),
                        frozen: Some(false),
                        machine_id: (machine_id != 0).then_some(machine_id),
                        machine_name: (machine_id != 0).then(|| producer.peer.machine_name.clone()),
                        ..Default::default()
                    }],
                    ..Default::default()
                });
            }
            for source in self.sources.iter() {
                parts.add(&TracingServiceState {
                    data_sources: vec![TracingServiceStateDataSource {
                        ds_descriptor: Some(source.descriptor.clone()),
                        producer_id: Some(source.producer.0.into()),
                        ..Default::default()
                    }],
                    ..Default::default()
                });
            }
        }
        let parts = parts.finish();
        let last = parts.len() - 1;
        for (index, part) in parts.into_iter().enumerate() {
            self.out.stream(client, call, wrap(&part).into(), index != last);
        }
    }
}

/// Encoded pieces of one state, joined as long as they fit into a frame.
struct Parts {
    done: Vec<Vec<u8>>,
    bytes: Vec<u8>,
}

impl Parts {
    fn add(&mut self, piece: &TracingServiceState) {
        let piece = piece.encode_to_vec();
        if !self.bytes.is_empty() && self.bytes.len() + piece.len() > limits::IPC_STATE_BYTES_MAX {
            self.done.push(std::mem::take(&mut self.bytes));
        }
        // A descriptor that fills a frame as a request may not fit into a reply with its envelope: a state
        // without it is better than a connection that the client must drop.
        if piece.len() <= limits::IPC_STATE_BYTES_MAX {
            self.bytes.extend_from_slice(&piece);
        }
    }

    /// At least one.
    fn finish(mut self) -> Vec<Vec<u8>> {
        self.done.push(self.bytes);
        self.done
    }
}

fn wrap(state: &[u8]) -> Vec<u8> {
    use protozero::HeapSink;
    use protozero::rt::Writer as _;
    let mut stream = HeapSink::stream();
    {
        let mut response = protos::QueryServiceStateResponseWriter::from_scope(stream.root());
        response.service_state_raw(state);
    }
    stream.finish().unwrap_or_else(|_| QueryServiceStateResponse::default().encode_to_vec())
}

fn describe(session: &Session) -> TracingServiceStateTracingSession {
    let config = &session.config;
    let started = session.state == State::Started;
    TracingServiceStateTracingSession {
        id: Some(session.id.0),
        consumer_uid: Some(session.uid as i32),
        state: Some(session.state.name().to_owned()),
        is_started: started.then_some(true),
        unique_session_name: Some(session.name().to_owned()),
        buffer_size_kb: config.buffers.iter().map(|b| b.size_kb.unwrap_or(0)).collect(),
        duration_ms: Some(config.duration_ms.unwrap_or(0)),
        num_data_sources: Some(session.instances.len() as u32),
        start_realtime_ns: session.start_realtime_ns.map(|ns| ns as i64),
        bugreport_score: config.bugreport_score,
        bugreport_filename: config.bugreport_filename.clone(),
        ..Default::default()
    }
}
