//! The connections of the consumer side.
//!
//! A consumer has at most one session, and all its requests are about that one. It learns of the end of the
//! session by the reply to its `EnableTracing`, which is therefore kept until then.

use std::collections::VecDeque;
use std::fmt;

use bytes::Bytes;
use protos::{EnableTracingResponse, EnableTracingResponseState};
use protozero::Message as _;

use super::accounts::User;
use super::effect_queue::{Caller, EffectQueue};
use super::ids::SourceId;
use super::log_limiter::LogLimiter;
use super::observe::Observer;
use super::session::events::TriggerHit;
use super::session::instance::Instance;
use super::work::Work;
use crate::input::Peer;
use abi::ids::{CallId, ClientId, ProducerId, SessionId};
use abi::map::{BlockMap, BlockSet};
use abi::sync::Arc;

/// A connection to the consumer socket.
#[derive(Debug)]
pub(crate) struct Consumer {
    pub(crate) peer: Peer,
    pub(crate) session: Option<SessionId>,
    /// The `EnableTracing` that is answered at the end of the session.
    enable_call: Option<CallId>,
    /// The open stream of `ReadBuffers` replies, if any.
    pub(crate) read_call: Option<CallId>,
    /// Bytes of packets and of answers about the service that were given to the transport since it was last
    /// empty.
    pub(crate) in_flight_bytes: usize,
    pub(crate) queries: VecDeque<Query>,
    /// What it asked for and waits for.
    pub(crate) work: Work,
    observer: Observer,
    limiter: LogLimiter,
}

/// A question about the state of the service that is being answered.
#[derive(Debug)]
pub(crate) struct Query {
    pub(crate) call: CallId,
    pub(crate) sessions_only: bool,
    pub(crate) position: QueryPosition,
}

/// Where an answer continues. Producers that connect or disconnect meanwhile may be in it or not.
#[derive(Debug)]
pub(crate) enum QueryPosition {
    Begin,
    /// Behind this one.
    Accounts(Option<User>),
    /// Behind this one.
    Producers(Option<ProducerId>),
    /// Behind this one.
    Sources(Option<(Arc<str>, SourceId)>),
}

impl Consumer {
    /// Whether it asked to be told of the end of its session.
    pub(crate) fn waits_for_end(&self) -> bool {
        self.enable_call.is_some()
    }

    /// Replaces the call that is answered at the end of the session.
    pub(crate) fn replace_enable_call(&mut self, call: Option<CallId>) -> Option<CallId> {
        std::mem::replace(&mut self.enable_call, call)
    }

    /// Separates it from its session, which continues. It is told nothing of the session any more.
    pub(crate) fn leave_session(&mut self) {
        self.session = None;
        self.enable_call = None;
    }
}

/// All consumers.
#[derive(Debug, Default)]
pub(crate) struct Consumers {
    by_client: BlockMap<ClientId, Consumer>,
    /// Consumers that are to be told something when the turn is over.
    observed: BlockSet<ClientId>,
}

impl Consumers {
    pub(crate) fn add_connection(&mut self, client: ClientId, mut peer: Peer) {
        peer.clip_names();
        let consumer = Consumer {
            peer,
            session: None,
            enable_call: None,
            read_call: None,
            in_flight_bytes: 0,
            queries: VecDeque::new(),
            work: Work::default(),
            observer: Observer::default(),
            limiter: LogLimiter::default(),
        };
        self.by_client.insert(client, consumer);
    }

    /// Forgets a consumer that disconnected. Returns its session.
    pub(crate) fn remove_connection(
        &mut self,
        client: ClientId,
        out: &mut EffectQueue,
    ) -> Option<SessionId> {
        let consumer = self.by_client.remove(&client)?;
        let name = format_args!("consumer {client} (uid {})", consumer.peer.uid);
        consumer.limiter.log_suppressed(out, name);
        consumer.session
    }

    pub(crate) fn get(&self, client: ClientId) -> Option<&Consumer> {
        self.by_client.get(&client)
    }

    pub(crate) fn get_mut(&mut self, client: ClientId) -> Option<&mut Consumer> {
        self.by_client.get_mut(&client)
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &Consumer> {
        self.by_client.values()
    }

    pub(crate) fn uid(&self, client: ClientId) -> Option<u32> {
        self.by_client.get(&client).map(|consumer| consumer.peer.uid)
    }

    pub(crate) fn session_of(&self, client: ClientId) -> Option<SessionId> {
        self.by_client.get(&client)?.session
    }

    pub(crate) fn set_session(&mut self, client: ClientId, session: Option<SessionId>) {
        if let Some(consumer) = self.by_client.get_mut(&client) {
            consumer.session = session;
        }
    }

    /// Logs an error of a consumer, a bounded number of times.
    pub(crate) fn log_error(
        &mut self,
        client: ClientId,
        out: &mut EffectQueue,
        text: fmt::Arguments<'_>,
    ) {
        if self.by_client.get_mut(&client).is_none_or(|c| c.limiter.allow()) {
            out.error(text.to_string());
        }
    }

    /// Logs an error of a session, on the account of its consumer if it has one.
    pub(crate) fn log_session_error(
        &mut self,
        owner: Option<ClientId>,
        out: &mut EffectQueue,
        text: fmt::Arguments<'_>,
    ) {
        match owner {
            Some(client) => self.log_error(client, out, text),
            None => out.error(text.to_string()),
        }
    }

    /// Answers the `EnableTracing` of a consumer: its session is over, or never began. What happened before is told
    /// before.
    pub(crate) fn report_disabled(&mut self, client: ClientId, out: &mut EffectQueue, error: &str) {
        if self.observed.remove(&client) {
            self.send_observed_to(client, out);
        }
        let call = self.by_client.get_mut(&client).and_then(|c| c.enable_call.take());
        let response = EnableTracingResponse {
            state: Some(EnableTracingResponseState::Disabled(true)),
            error: (!error.is_empty()).then(|| error.to_owned()),
            ..Default::default()
        };
        out.reply(Caller { client, call }, Bytes::from(response.encode_to_vec()));
    }

    /// Ends a stream of packets without more of them: the consumer has lost the session.
    pub(crate) fn end_read(&mut self, client: ClientId, out: &mut EffectQueue) {
        if let Some(call) = self.by_client.get_mut(&client).and_then(|c| c.read_call.take()) {
            out.stream(client, call, Bytes::new(), false);
        }
    }

    /// Replaces what a consumer observes. `instances` are those of its session. Returns whether it is to be told
    /// that all of them started.
    pub(crate) fn observe<'a>(
        &mut self,
        caller: Caller,
        types: &[protos::ObservableEventsType],
        instances: impl Iterator<Item = &'a Instance>,
        out: &mut EffectQueue,
    ) -> bool {
        let Some(consumer) = self.by_client.get_mut(&caller.client) else { return false };
        consumer.observer.observe(caller, types, out);
        for instance in instances {
            if consumer.observer.note_instance_state(instance) {
                self.observed.insert(caller.client);
            }
        }
        consumer.observer.observes_all_started()
    }

    /// Whether a consumer is told of the states of instances.
    pub(crate) fn observes_instances(&self, client: ClientId) -> bool {
        self.by_client.get(&client).is_some_and(|consumer| consumer.observer.observes_instances())
    }

    /// Whether a consumer is told of triggers that ask for a clone.
    pub(crate) fn observes_clone_hits(&self, client: ClientId) -> bool {
        self.by_client.get(&client).is_some_and(|consumer| consumer.observer.observes_clone_hits())
    }

    /// Tells the consumer of a session that an instance has another state.
    pub(crate) fn note_instance_state(&mut self, owner: Option<ClientId>, instance: &Instance) {
        let Some(client) = owner else { return };
        let Some(consumer) = self.by_client.get_mut(&client) else { return };
        if consumer.observer.note_instance_state(instance) {
            self.observed.insert(client);
        }
    }

    /// Tells a consumer that all data sources of its session started.
    pub(crate) fn note_all_started(&mut self, client: ClientId) {
        let Some(consumer) = self.by_client.get_mut(&client) else { return };
        if consumer.observer.note_all_started() {
            self.observed.insert(client);
        }
    }

    /// Asks a consumer to clone its session, because of a trigger.
    pub(crate) fn ask_for_clone(
        &mut self,
        client: ClientId,
        id: SessionId,
        hit: &TriggerHit,
        out: &mut EffectQueue,
    ) {
        let Some(consumer) = self.by_client.get_mut(&client) else { return };
        consumer.observer.ask_for_clone(client, id, hit, out);
        self.observed.insert(client);
    }

    /// Tells each observer what happened in this turn.
    pub(crate) fn send_observed(&mut self, out: &mut EffectQueue) {
        while let Some(client) = self.observed.pop_first() {
            self.send_observed_to(client, out);
        }
    }

    fn send_observed_to(&mut self, client: ClientId, out: &mut EffectQueue) {
        if let Some(consumer) = self.by_client.get_mut(&client) {
            consumer.observer.send(client, out);
        }
    }
}
