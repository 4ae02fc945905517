//! Consumers that detach from their session, attach to a detached one, or clone one.

use protos::consumer_port::Request;
use protos::{
    AttachRequest, AttachResponse, CloneSessionRequestSelector as Selector, CloneSessionResponse,
    ObservableEventsCloneTriggerHit as Hit, TraceConfig,
};
use protozero::Message as _;

use super::configs::{clears, reader};
use super::consumers::{Attempt, Consumer};
use super::{Actor, Expect, World};
use crate::check::Reader;
use crate::shell::Reply;
use abi::ids::ClientId;
use service::{Input, Peer};

/// Keys of detached sessions.
const KEYS: [&str; 2] = ["key", "other key"];

/// Names that sessions may have.
pub(crate) const NAMES: [&str; 2] = ["the one", "the other"];

impl Consumer {
    /// Begins to read a session that other consumers may have read before.
    fn read_foreign(&mut self, config: &TraceConfig) {
        self.foreign = true;
        self.reader = Reader { came_late: true, ..reader(config) };
        self.config = config.clone();
    }

    /// Whether written packets may be missing in this session: it waits for a trigger, or clones clear its buffers.
    pub(super) fn hides(&self) -> bool {
        self.config.trigger_config.is_some() || clears(&self.config)
    }
}

impl World {
    /// Asks for a clone of a random session, or of the one that a trigger names.
    pub(super) fn clone_session(&mut self, index: usize, hit: Option<Hit>) {
        let others = (0..self.actors.len()).filter(|other| *other != index);
        let sessions: Vec<u64> =
            others.filter_map(|other| self.session_of(other)).map(|id| id.get()).collect();
        let selector = if let Some(hit) = &hit {
            Selector::SessionId(hit.tracing_session_id.unwrap_or(0).cast_unsigned())
        } else if !sessions.is_empty() && self.rng.chance(80) {
            Selector::SessionId(self.rng.pick(&sessions))
        } else if self.rng.chance(80) {
            Selector::UniqueSessionName(self.rng.pick(&NAMES).into())
        } else {
            Selector::SessionId(self.rng.pick(&[0, 1, u64::MAX]))
        };
        let file = self.rng.chance(30).then(|| self.new_file(Some(index), &TraceConfig::default()));
        let for_trigger = hit.is_some();
        let hit = hit.unwrap_or_else(|| Hit {
            trigger_name: self.rng.chance(20).then(|| "by hand".into()),
            ..Hit::default()
        });
        let request = protos::CloneSessionRequest {
            selector: Some(selector),
            clone_trigger_name: hit.trigger_name,
            clone_trigger_producer_name: hit.producer_name,
            clone_trigger_trusted_producer_uid: hit.producer_uid.map(u32::cast_signed),
            clone_trigger_boot_time_ns: hit.boot_time_ns,
            clone_trigger_delay_ms: hit.trigger_delay_ms,
            ..Default::default()
        };
        self.attempt(index, Attempt::Clone { for_trigger }, Request::CloneSession(request), file);
    }

    pub(super) fn attach(&mut self, index: usize) {
        let key = self.rng.pick(&KEYS).into();
        let request = AttachRequest { key: Some(key), ..Default::default() };
        self.attempt(index, Attempt::Attach, Request::Attach(request), None);
    }

    pub(super) fn detach(&mut self, index: usize) {
        let Actor::Consumer(consumer) = &mut self.actors[index] else { return };
        let config = &consumer.config;
        // Only sessions that end by themselves: no consumer would end them.
        let ends = config.duration_ms.is_some_and(|ms| ms > 0)
            && config.deferred_start != Some(true)
            && config.max_file_size_bytes.is_none()
            && config.trigger_config.is_none();
        if !ends || consumer.enable.is_none() {
            return;
        }
        let key = self.rng.pick(&KEYS).into();
        let request = protos::DetachRequest { key: Some(key), ..Default::default() };
        self.attempt(index, Attempt::Detach, Request::Detach(request), None);
    }

    fn attempt(
        &mut self,
        index: usize,
        attempt: Attempt,
        request: Request,
        file: Option<abi::ids::FileId>,
    ) {
        let call = self.send_consumer(index, request, file);
        let Actor::Consumer(consumer) = &mut self.actors[index] else { return };
        if !matches!(attempt, Attempt::Detach) {
            consumer.forget();
        }
        consumer.fence = Some(call);
        consumer.attempt = Some(attempt);
    }

    /// Handles the answer to an attempt.
    pub(super) fn attempted(&mut self, index: usize, reply: &Reply) {
        let client = self.client_of[index];
        let Actor::Consumer(consumer) = &mut self.actors[index] else { return };
        let Some(attempt) = consumer.attempt.take() else { return };
        let Some(response) = &reply.response else { return };
        match attempt {
            Attempt::Clone { for_trigger } => {
                let response = CloneSessionResponse::decode(response).unwrap_or_default();
                if response.error.is_some_and(|text| text.contains("clone too large")) {
                    self.report.marks.event("a clone had no room for its buffers");
                }
                if response.success == Some(true) {
                    self.report.marks.event("a session was cloned");
                    if for_trigger {
                        self.report.marks.event("a session was cloned for a trigger");
                    }
                    let lsb = response.uuid_lsb.unwrap_or(0);
                    let source = self.sessions.all().find(|session| session.uuid.lsb == lsb);
                    consumer.read_foreign(
                        source.map_or(&TraceConfig::default(), |source| &source.config),
                    );
                }
            }
            Attempt::Attach => {
                let response = AttachResponse::decode(response).unwrap_or_default();
                self.report.marks.event("a session was attached");
                consumer.read_foreign(&response.trace_config.unwrap_or_default());
            }
            Attempt::Detach => {
                self.report.marks.event("a session was detached");
                // No consumer is told of the session's end any more.
                let enable = consumer.enable.take();
                let connection = client.and_then(|client| self.connections.get_mut(&client));
                if let (Some(connection), Some(call)) = (connection, enable)
                    && let Some(expect) = connection.open.get_mut(&call)
                {
                    *expect = Expect::Stream;
                }
                consumer.forget();
            }
        }
    }

    /// Attaches to all detached sessions and disconnects, which ends them.
    pub(super) fn free_detached(&mut self) -> Result<(), String> {
        for (uid, key) in self.service.detached() {
            self.last_id += 1;
            let (client, peer) = (ClientId::new(self.last_id), Peer { uid, ..Peer::default() });
            let request = Request::Attach(AttachRequest { key: Some(key), ..Default::default() });
            for input in [
                Input::ConsumerConnected { client, peer },
                Input::ConsumerRequest { client, call: None, request, file: None },
                Input::ConsumerDisconnected { client },
            ] {
                self.step(Some(input))?;
            }
        }
        Ok(())
    }

    pub(super) fn change_config(&mut self, index: usize) {
        let Actor::Consumer(consumer) = &mut self.actors[index] else { return };
        let mut config = consumer.config.clone();
        if let Some(source) = config.data_sources.first_mut() {
            let filters = ["producer.*", "producer[0-4]+", "nobody"];
            source.producer_name_regex_filter = vec![consumer.rng.pick(&filters).into()];
        }
        let request = protos::ChangeTraceConfigRequest {
            trace_config: Some(config.into()),
            ..Default::default()
        };
        self.send_consumer(index, Request::ChangeTraceConfig(request), None);
    }
}
