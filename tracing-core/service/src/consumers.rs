//! Who is connected on the consumer side, and what becomes of each of their requests.
//!
//! A consumer has at most one session; all it asks is about that one. It hears of the end of the session by
//! the reply to its `EnableTracing`, which is therefore kept until then.

use std::collections::VecDeque;

use bytes::Bytes;
use protos::{
    AttachResponse, EnableTracingResponse, EnableTracingResponseState, GetTraceStatsResponse,
    SaveTraceForBugreportResponse,
};
use protozero::Message as _;

use super::Peer;
use super::core::Service;
use super::observe::Observer;
use super::outbox::Grumbles;
use super::port::ConsumerRequest as Request;
use super::query::Query;
use super::session::flush::{FlushFlags, FlushThen};
use super::session::read::Reading;
use crate::limits;
use abi::ids::{CallId, ClientId, FileId, SessionId};

/// A connection to the consumer socket.
#[derive(Debug)]
pub(super) struct Consumer {
    pub(super) peer: Peer,
    pub(super) session: Option<SessionId>,
    /// The `EnableTracing` that is answered at the end of the session.
    enable_call: Option<CallId>,
    /// Bytes of packets and of answers about the service given to the transport since it last said that it
    /// was empty.
    pub(super) on_the_way: usize,
    pub(super) read: Reading,
    pub(super) queries: VecDeque<Query>,
    pub(super) observer: Observer,
    grumbles: Grumbles,
}

impl Consumer {
    /// Whether it asked to be told of the end of its session.
    pub(super) fn waits_for_end(&self) -> bool {
        self.enable_call.is_some()
    }

    /// Its session goes on without it, and it is told nothing of that any more.
    pub(super) fn leave_session(&mut self) {
        self.session = None;
        self.enable_call = None;
    }
}

impl Service {
    pub(super) fn consumer_connected(&mut self, client: ClientId, peer: Peer) {
        let consumer = Consumer {
            peer,
            session: None,
            enable_call: None,
            on_the_way: 0,
            read: Reading::default(),
            queries: VecDeque::new(),
            observer: Observer::default(),
            grumbles: Grumbles::default(),
        };
        self.consumers.insert(client, consumer);
    }

    /// The session of a consumer that goes away ends with it.
    pub(super) fn consumer_disconnected(&mut self, client: ClientId) {
        let Some(consumer) = self.consumers.remove(&client) else { return };
        let who = format_args!("consumer {client} (uid {})", consumer.peer.uid);
        consumer.grumbles.sum_up(&mut self.out, who);
        self.abandon_clone(client);
        if let Some(id) = consumer.session {
            self.free_session(id, "");
        }
    }

    pub(super) fn consumer_request(
        &mut self,
        client: ClientId,
        call: Option<CallId>,
        request: Request,
        file: Option<FileId>,
    ) {
        let Some(consumer) = self.consumers.get(&client) else {
            return self.out.reject(client, call);
        };
        let session = consumer.session;
        if let Some(file) = file
            && !matches!(request, Request::EnableTracing(_) | Request::CloneSession(_))
        {
            self.out.close_file(file);
        }
        match request {
            Request::EnableTracing(r) => {
                self.enable_request(client, call, r, file);
            }
            Request::DisableTracing(_) => {
                if let Some(id) = session {
                    self.disable_tracing(id, false, "");
                }
                self.out.done(client, call);
            }
            Request::StartTracing(_) => {
                if let Some(id) = session {
                    self.start_tracing(id);
                }
                self.out.done(client, call);
            }
            Request::FreeBuffers(_) => {
                if let Some(id) = session {
                    self.free_session(id, "");
                }
                self.out.done(client, call);
            }
            Request::ReadBuffers(_) => self.read_buffers(client, call),
            Request::Flush(r) => self.flush_request(client, call, session, &r),
            Request::GetTraceStats(_) => self.stats_request(client, call, session),
            Request::ObserveEvents(r) => {
                self.observe_events(client, call, &r.events_to_observe);
            }
            Request::QueryServiceState(r) => {
                self.query_service_state(client, call, r.sessions_only.unwrap_or(false));
            }
            Request::QueryCapabilities(_) => self.query_capabilities(client, call),
            Request::SaveTraceForBugreport(_) => self.retired_request(client, call),
            Request::Detach(r) => {
                let key = r.key.unwrap_or_default();
                let detached = self.detach(client, &key);
                self.done_or_refused(client, call, "Detach", detached);
            }
            Request::Attach(r) => self.attach_request(client, call, &r.key.unwrap_or_default()),
            Request::CloneSession(r) => self.clone_request(client, call, &r, file),
            Request::ChangeTraceConfig(r) => {
                let config = r.trace_config.unwrap_or_default();
                let changed = match session {
                    Some(id) => self.change_trace_config(id, &config),
                    None => Err("there is no session".into()),
                };
                self.done_or_refused(client, call, "ChangeTraceConfig", changed);
            }
        }
    }

    /// Says what a consumer did wrong, a bounded number of times.
    pub(super) fn complain_of(&mut self, client: ClientId, text: String) {
        if self.consumers.get_mut(&client).is_none_or(|c| c.grumbles.may_say()) {
            self.out.error(text);
        }
    }

    /// The same of who owns a session.
    pub(super) fn complain_of_owner(&mut self, id: SessionId, text: String) {
        match self.sessions.get(&id).and_then(|session| session.consumer) {
            Some(client) => self.complain_of(client, text),
            None => self.out.error(text),
        }
    }

    /// These calls have no words for why they fail: the log has.
    fn done_or_refused(
        &mut self,
        client: ClientId,
        call: Option<CallId>,
        method: &str,
        result: Result<(), String>,
    ) {
        match result {
            Ok(()) => self.out.done(client, call),
            Err(error) => {
                self.complain_of(client, format!("{method}: {error}"));
                self.out.reject(client, call);
            }
        }
    }

    fn attach_request(&mut self, client: ClientId, call: Option<CallId>, key: &str) {
        match self.attach(client, key) {
            Ok(config) => {
                let response =
                    AttachResponse { trace_config: Some(config), ..AttachResponse::default() };
                self.out.reply(client, call, response.encode_to_vec().into());
            }
            Err(error) => self.done_or_refused(client, call, "Attach", Err(error)),
        }
    }

    fn flush_request(
        &mut self,
        client: ClientId,
        call: Option<CallId>,
        session: Option<SessionId>,
        request: &protos::FlushRequest,
    ) {
        // Without a session upstream never answers, and its caller waits for ever.
        let Some(id) = session else { return self.out.reject(client, call) };
        let flags = FlushFlags(request.flags.unwrap_or(0));
        let timeout = request.timeout_ms.unwrap_or(0).into();
        self.flush(id, timeout, flags, FlushThen::Reply(client, call));
    }

    fn stats_request(
        &mut self,
        client: ClientId,
        call: Option<CallId>,
        session: Option<SessionId>,
    ) {
        match session.and_then(|id| self.trace_stats(id)) {
            Some(stats) => {
                let mut response =
                    GetTraceStatsResponse { trace_stats: Some(stats), ..Default::default() };
                let mut bytes = response.encode_to_vec();
                if bytes.len() > limits::IPC_STATE_BYTES_MAX
                    && let Some(stats) = &mut response.trace_stats
                {
                    // Thousands of writers: what was lost matters more than how full their chunks were.
                    stats.writer_stats.clear();
                    bytes = response.encode_to_vec();
                }
                self.out.reply(client, call, bytes.into());
            }
            None => self.out.reject(client, call),
        }
    }

    fn retired_request(&mut self, client: ClientId, call: Option<CallId>) {
        let text =
            "SaveTraceForBugreport is deprecated and does nothing: clone the session instead";
        let response = SaveTraceForBugreportResponse {
            success: Some(false),
            msg: Some(text.into()),
            ..Default::default()
        };
        self.out.reply(client, call, response.encode_to_vec().into());
    }

    fn enable_request(
        &mut self,
        client: ClientId,
        call: Option<CallId>,
        request: protos::EnableTracingRequest,
        file: Option<FileId>,
    ) {
        let Some(consumer) = self.consumers.get_mut(&client) else { return };
        // Only one can be told of the end.
        let older = std::mem::replace(&mut consumer.enable_call, call);
        self.out.reject(client, older);
        if request.attach_notification_only == Some(true) {
            let session = consumer.session;
            if let Some(file) = file {
                self.out.close_file(file);
            }
            if let Some(id) = session {
                self.say_end_if_due(id);
            }
            return;
        }
        let config = request.trace_config.unwrap_or_default();
        if let Err(error) = self.enable_tracing(client, config, file) {
            if let Some(file) = file {
                self.out.close_file(file);
            }
            self.complain_of(client, format!("EnableTracing: {error}"));
            self.say_disabled(client, &error);
        }
    }

    /// Answers the `EnableTracing` of a consumer: its session is over, or never began.
    pub(super) fn say_disabled(&mut self, client: ClientId, error: &str) {
        let call = self.consumers.get_mut(&client).and_then(|c| c.enable_call.take());
        let response = EnableTracingResponse {
            state: Some(EnableTracingResponseState::Disabled(true)),
            error: (!error.is_empty()).then(|| error.to_owned()),
            ..Default::default()
        };
        self.out.reply(client, call, Bytes::from(response.encode_to_vec()));
    }
}
