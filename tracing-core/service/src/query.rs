//! Questions of consumers about the service.

use protos::{
    DataSourceDescriptor, ObservableEventsType, QueryCapabilitiesResponse,
    QueryServiceStateResponse, SaveTraceForBugreportResponse, TracingServiceCapabilities,
    TracingServiceState, TracingServiceStateDataSourceWriter, TracingServiceStateProducer,
    TracingServiceStateTracingSession, TracingServiceStateWriter,
};
use protozero::rt::Writer as _;
use protozero::wire::varint;
use protozero::{HeapSink, Message as _};

use super::accounts::User;
use super::consumers::{Consumers, Query, QueryPosition};
use super::data_sources::{Source, Sources};
use super::effect_queue::{Caller, EffectQueue};
use super::matching::clip_name;
use super::producers::{Producer, Producers};
use super::session::life::SessionState;
use super::session::state::{Session, Sessions};
use super::user_accounts::AccountSources;
use crate::limits;
use abi::ids::{CallId, ClientId};

pub(crate) fn capabilities(caller: Caller, out: &mut EffectQueue) {
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
    out.reply(caller, response.encode_to_vec().into());
}

/// Answers `SaveTraceForBugreport`, as upstream does.
pub(crate) fn refuse_save_for_bugreport(caller: Caller, out: &mut EffectQueue) {
    let text = "SaveTraceForBugreport is deprecated and does nothing: clone the session instead";
    let response = SaveTraceForBugreportResponse {
        success: Some(false),
        msg: Some(text.into()),
        ..Default::default()
    };
    out.reply(caller, response.encode_to_vec().into());
}

/// What the state of the service is made of.
pub(crate) struct StateSources<'a> {
    pub(crate) version: &'a str,
    pub(crate) sessions: &'a Sessions,
    pub(crate) producers: &'a Producers,
    pub(crate) sources: &'a Sources,
    pub(crate) accounts: AccountSources<'a>,
}

/// Queues a question. It is answered in as many replies as frames demand; receivers concatenate the states and parse
/// once.
pub(crate) fn ask(caller: Caller, sessions_only: bool, consumers: &mut Consumers) {
    if let (Some(call), Some(consumer)) = (caller.call, consumers.get_mut(caller.client)) {
        consumer.queries.push_back(Query { call, sessions_only, position: QueryPosition::Begin });
    }
}

/// Answers questions of a consumer until all are answered or enough is in flight: a question about thousands of data
/// sources must not cost more memory than one about ten. Returns the bytes of the answers.
pub(crate) fn continue_answers(
    client: ClientId,
    consumers: &mut Consumers,
    state: &StateSources<'_>,
    out: &mut EffectQueue,
) -> usize {
    let Some(consumer) = consumers.get_mut(client) else { return 0 };
    let user = User::of(&consumer.peer);
    let mut sum = 0usize;
    // Beyond so many open questions each further one is worth a window more, whatever is in flight: the transport sees
    // that answers are not read, and takes no more questions.
    let mut one_more = consumer.queries.len() > limits::QUERIES_PER_CONSUMER_MAX;
    while (consumer.in_flight_bytes < limits::READ_WINDOW_BYTES || std::mem::take(&mut one_more))
        && let Some(query) = consumer.queries.front_mut()
    {
        let call = query.call;
        let mut parts = Parts::new(call);
        let is_complete = state.describe_from(query, user, &mut parts, out);
        let mut parts = parts.finish().into_iter().peekable();
        while let Some(part) = parts.next() {
            let reply = wrap(&part);
            sum = sum.saturating_add(reply.len());
            consumer.in_flight_bytes = consumer.in_flight_bytes.saturating_add(reply.len());
            out.stream(client, call, reply.into(), !is_complete || parts.peek().is_some());
        }
        if is_complete {
            consumer.queries.pop_front();
        }
    }
    sum
}

impl StateSources<'_> {
    /// Adds pieces of the state from where `query` stands, a window of them. Returns whether that was all.
    fn describe_from(
        &self,
        query: &mut Query,
        user: User,
        parts: &mut Parts,
        out: &mut EffectQueue,
    ) -> bool {
        let (uid, _) = user.ids();
        if matches!(query.position, QueryPosition::Begin) {
            parts.add(&self.describe_service());
            for session in self.sessions.reachable().filter(|s| uid == 0 || uid == s.uid) {
                parts.add(&TracingServiceState {
                    tracing_sessions: vec![describe_session(session)],
                    ..Default::default()
                });
            }
            if query.sessions_only {
                return true;
            }
            parts.add(&TracingServiceState {
                all_users: Some(self.accounts.all_users()),
                counters: Some(self.accounts.counters().clone()),
                ..Default::default()
            });
            query.position = QueryPosition::Accounts(None);
        }
        if let QueryPosition::Accounts(after) = &mut query.position {
            if !self.describe_accounts(after, user, parts) {
                return false;
            }
            query.position = QueryPosition::Producers(None);
        }
        if let QueryPosition::Producers(after) = &mut query.position {
            for producer in self.producers.after(*after) {
                parts.add(&TracingServiceState {
                    producers: vec![describe_producer(producer)],
                    ..Default::default()
                });
                *after = Some(producer.id);
                if parts.are_a_window() {
                    return false;
                }
            }
            query.position = QueryPosition::Sources(None);
        }
        if let QueryPosition::Sources(after) = &mut query.position {
            for (id, source) in self.sources.iter_after(after.take()) {
                add_source(source, parts, out);
                if parts.are_a_window() {
                    *after = Some((source.name.clone(), id));
                    return false;
                }
            }
        }
        true
    }

    /// Adds the accounts behind `after` that a consumer of `asking` may see. Returns whether that was all.
    fn describe_accounts(&self, after: &mut Option<User>, asking: User, parts: &mut Parts) -> bool {
        let mut add = |account| {
            let accounts = vec![account];
            parts.add(&TracingServiceState { accounts, ..Default::default() });
            parts.are_a_window()
        };
        if !self.accounts.shows_all_to(asking) {
            add(self.accounts.account(asking));
            return true;
        }
        if after.is_none()
            && let Some(remote) = self.accounts.remote()
        {
            add(remote.clone());
        }
        for user in self.accounts.users_after(*after) {
            *after = Some(user);
            if add(self.accounts.account(user)) {
                return false;
            }
        }
        true
    }

    fn describe_service(&self) -> TracingServiceState {
        let started = self.sessions.reachable().filter(|s| s.state() == SessionState::Started);
        TracingServiceState {
            num_sessions: Some(self.sessions.reachable().count() as i32),
            num_sessions_started: Some(started.count() as i32),
            tracing_service_version: Some(self.version.to_owned()),
            supports_tracing_sessions: Some(true),
            ..Default::default()
        }
    }
}

/// Adds a data source. A descriptor that fills a request to the last byte may not fit into a reply: then the reply
/// has its name and id alone, and the log says what is missing.
fn add_source(source: &Source, parts: &mut Parts, out: &mut EffectQueue) {
    let entry = |descriptor: &[u8]| {
        // A nested message that is written in place may have a longer length than it needs: here each byte counts. A
        // heap sink fails only by aborting.
        let mut stream = HeapSink::stream();
        TracingServiceStateDataSourceWriter::from_scope(stream.root())
            .ds_descriptor_raw(descriptor)
            .producer_id(source.producer.get().into());
        let entry = stream.finish().unwrap_or_default();
        let mut stream = HeapSink::stream();
        TracingServiceStateWriter::from_scope(stream.root()).data_sources_raw(&entry);
        stream.finish().unwrap_or_default()
    };
    if parts.add_encoded(&entry(&source.descriptor)) {
        return;
    }
    let short = clip_name(&source.name).to_owned();
    out.info(format!(
        "the descriptor of data source {short:?} of producer {} is too large for a reply, which has its \
         name alone",
        source.producer
    ));
    let id = (source.own_id != 0).then_some(source.own_id);
    let alone = DataSourceDescriptor { name: Some(short), id, ..Default::default() };
    parts.add_encoded(&entry(&alone.encode_to_vec()));
}

/// Encoded pieces of one state, joined as long as they fit into a frame.
struct Parts {
    done: Vec<Vec<u8>>,
    bytes: Vec<u8>,
    /// Bytes of one of them.
    max: usize,
}

impl Parts {
    /// None yet, for a reply to `call`. The limit reserves ten bytes for the number of the call; most have one.
    fn new(call: CallId) -> Self {
        let unused = 10_usize.saturating_sub(varint::len(call.get()));
        let max = limits::IPC_STATE_BYTES_MAX.saturating_add(unused);
        Self { done: Vec::new(), bytes: Vec::new(), max }
    }

    /// Adds a piece. False if it fits into no frame: a larger one would make the client drop the connection.
    fn add(&mut self, piece: &TracingServiceState) -> bool {
        self.add_encoded(&piece.encode_to_vec())
    }

    /// Adds a piece that is encoded already.
    fn add_encoded(&mut self, piece: &[u8]) -> bool {
        if piece.len() > self.max {
            return false;
        }
        let joined = self.bytes.len().saturating_add(piece.len());
        if joined > self.max {
            self.done.push(std::mem::take(&mut self.bytes));
        }
        self.bytes.extend_from_slice(piece);
        true
    }

    /// Whether there are enough of them for one turn.
    fn are_a_window(&self) -> bool {
        self.done.len().saturating_mul(self.max) >= limits::READ_WINDOW_BYTES
    }

    /// At least one.
    fn finish(mut self) -> Vec<Vec<u8>> {
        self.done.push(self.bytes);
        self.done
    }
}

fn wrap(state: &[u8]) -> Vec<u8> {
    let mut stream = HeapSink::stream();
    {
        let mut response = protos::QueryServiceStateResponseWriter::from_scope(stream.root());
        response.service_state_raw(state);
    }
    stream.finish().unwrap_or_else(|_| QueryServiceStateResponse::default().encode_to_vec())
}

/// The process id of a producer whose transport does not know it (`base::kInvalidPid`).
const PID_UNKNOWN: i32 = -1;

fn describe_producer(producer: &Producer) -> TracingServiceStateProducer {
    let machine_id = producer.machine_id();
    TracingServiceStateProducer {
        id: Some(producer.id.get().into()),
        name: Some(producer.name.to_string()),
        uid: Some(producer.peer.uid as i32),
        pid: Some(producer.peer.pid.unwrap_or(PID_UNKNOWN)),
        sdk_version: Some(producer.sdk_version.clone()),
        frozen: Some(false),
        machine_id: (machine_id != 0).then_some(machine_id),
        machine_name: (machine_id != 0).then(|| producer.peer.machine_name.clone()),
        ..Default::default()
    }
}

fn describe_session(session: &Session) -> TracingServiceStateTracingSession {
    let config = &session.config;
    let started = session.state() == SessionState::Started;
    TracingServiceStateTracingSession {
        id: Some(session.id.get()),
        consumer_uid: Some(session.uid as i32),
        state: Some(session.state().name().to_owned()),
        is_started: started.then_some(true),
        unique_session_name: Some(session.name().to_owned()),
        buffer_size_kb: config.buffers.iter().map(|b| b.size_kb.unwrap_or(0)).collect(),
        duration_ms: Some(config.duration_ms.unwrap_or(0)),
        num_data_sources: Some(session.instances.len() as u32),
        start_realtime_ns: session.start_realtime_ns.map(|ns| ns as i64),
        bugreport_score: config.bugreport_score,
        bugreport_filename: config.bugreport_filename.clone(),
        loss_ledger: session.ledger.to_proto(),
        ..Default::default()
    }
}
