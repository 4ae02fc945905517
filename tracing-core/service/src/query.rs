//! Questions about the service, answered to anybody who may connect as a consumer.

use std::ops::Bound;

use protos::{
    ObservableEventsType, QueryCapabilitiesResponse, QueryServiceStateResponse,
    TracingServiceCapabilities, TracingServiceState, TracingServiceStateDataSource,
    TracingServiceStateProducer, TracingServiceStateTracingSession,
};
use protozero::Message as _;

use super::core::Service;
use super::data_sources::SourceKey;
use super::producers::Producer;
use super::session::state::{Session, State};
use crate::limits;
use abi::ids::{CallId, ClientId, ProducerId};

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
    ///
    /// As with packets, no more than a window of them is on the way: who asks about thousands of data sources
    /// must not cost more memory than one who asks about ten.
    pub(super) fn query_service_state(
        &mut self,
        client: ClientId,
        call: Option<CallId>,
        sessions_only: bool,
    ) {
        let (Some(call), Some(consumer)) = (call, self.consumers.get_mut(&client)) else { return };
        consumer.queries.push_back(Query { call, sessions_only, at: Place::Begin });
        self.continue_queries(client);
    }

    /// Answers questions of a consumer until all are answered or enough is on the way.
    pub(super) fn continue_queries(&mut self, client: ClientId) {
        loop {
            let Some(consumer) = self.consumers.get_mut(&client) else { return };
            // Beyond so many open questions answers are queued whatever that costs: the transport sees that
            // they are not read and takes no more questions.
            if consumer.on_the_way >= limits::READ_WINDOW_BYTES
                && consumer.queries.len() <= limits::QUERIES_PER_CONSUMER_MAX
            {
                return;
            }
            let uid = consumer.peer.uid;
            let Some(mut query) = consumer.queries.pop_front() else { return };
            let mut parts = Parts::default();
            let is_over = self.describe_from(&mut query, uid, &mut parts);
            let (call, parts) = (query.call, parts.finish());
            let last = parts.len() - 1;
            let mut sent = 0;
            for (index, part) in parts.into_iter().enumerate() {
                let reply = wrap(&part);
                sent += reply.len();
                self.out.stream(client, call, reply.into(), !is_over || index != last);
            }
            let Some(consumer) = self.consumers.get_mut(&client) else { return };
            consumer.on_the_way += sent;
            if !is_over {
                consumer.queries.push_front(query);
            }
        }
    }

    /// Adds pieces of the state from where `query` stands, a window of them. Returns whether that was all.
    fn describe_from(&self, query: &mut Query, uid: u32, parts: &mut Parts) -> bool {
        if matches!(query.at, Place::Begin) {
            parts.add(&self.describe_service());
            let sessions = self.sessions.values().filter(|s| !s.freed);
            for session in sessions.filter(|s| uid == 0 || uid == s.uid) {
                parts.add(&TracingServiceState {
                    tracing_sessions: vec![describe(session)],
                    ..Default::default()
                });
            }
            if query.sessions_only {
                return true;
            }
            query.at = Place::Producers(None);
        }
        if let Place::Producers(after) = &mut query.at {
            let from = after.map_or(Bound::Unbounded, Bound::Excluded);
            for (id, producer) in self.producers.range((from, Bound::Unbounded)) {
                parts.add(&TracingServiceState {
                    producers: vec![describe_producer(producer)],
                    ..Default::default()
                });
                *after = Some(*id);
                if parts.are_a_window() {
                    return false;
                }
            }
            query.at = Place::Sources(None);
        }
        if let Place::Sources(after) = &mut query.at {
            for (key, source) in self.sources.iter_after(after.take()) {
                parts.add(&TracingServiceState {
                    data_sources: vec![TracingServiceStateDataSource {
                        ds_descriptor: Some(source.descriptor.clone()),
                        producer_id: Some(source.producer.0.into()),
                        ..Default::default()
                    }],
                    ..Default::default()
                });
                if parts.are_a_window() {
                    *after = Some((source.name().to_owned(), key));
                    return false;
                }
            }
        }
        true
    }

    fn describe_service(&self) -> TracingServiceState {
        let live = || self.sessions.values().filter(|s| !s.freed);
        TracingServiceState {
            num_sessions: Some(live().count() as i32),
            num_sessions_started: Some(live().filter(|s| s.state == State::Started).count() as i32),
            tracing_service_version: Some(self.config.version.clone()),
            supports_tracing_sessions: Some(true),
            ..Default::default()
        }
    }
}

/// A question about the state of the service that is being answered.
#[derive(Debug)]
pub(super) struct Query {
    call: CallId,
    sessions_only: bool,
    at: Place,
}

/// Where an answer goes on. Who comes or goes meanwhile may be told or not.
#[derive(Debug)]
enum Place {
    Begin,
    /// Behind this one.
    Producers(Option<ProducerId>),
    /// Behind this one.
    Sources(Option<(String, SourceKey)>),
}

/// Encoded pieces of one state, joined as long as they fit into a frame.
#[derive(Default)]
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

    /// Whether there are enough of them for once.
    fn are_a_window(&self) -> bool {
        self.done.len() * limits::IPC_STATE_BYTES_MAX >= limits::READ_WINDOW_BYTES
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

/// What a producer has that did not say who it is (`base::kInvalidPid`).
const PID_UNKNOWN: i32 = -1;

fn describe_producer(producer: &Producer) -> TracingServiceStateProducer {
    let machine_id = producer.machine_id();
    TracingServiceStateProducer {
        id: Some(producer.id.0.into()),
        name: Some(producer.name.clone()),
        uid: Some(producer.peer.uid as i32),
        pid: Some(producer.peer.pid.unwrap_or(PID_UNKNOWN)),
        sdk_version: Some(producer.sdk_version.clone()),
        frozen: Some(false),
        machine_id: (machine_id != 0).then_some(machine_id),
        machine_name: (machine_id != 0).then(|| producer.peer.machine_name.clone()),
        ..Default::default()
    }
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
