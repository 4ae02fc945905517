//! Consumers that leave their session behind, take over one that was left, or copy one.

use protos::consumer_port::Request;
use protos::{
    AttachRequest, AttachResponse, CloneSessionRequestSelector as Selector, CloneSessionResponse,
};
use protozero::Message as _;

use super::configs::{empties, reader_of_anything};
use super::consumers::{Attempt, Consumer};
use super::{Actor, Expect, World};
use crate::ids::ClientId;
use crate::service::{Input, Peer};
use crate::testing::check::Reader;
use crate::testing::shell::Reply;

/// Keys that sessions are left under.
const KEYS: [&str; 2] = ["key", "other key"];

/// Names that sessions may have.
pub(in crate::testing) const NAMES: [&str; 2] = ["the one", "the other"];

impl Consumer {
    /// A reader of packets whose begin somebody else may have read.
    fn visit(&mut self) {
        self.guest = true;
        self.reader = Reader { came_late: true, ..reader_of_anything() };
    }

    /// Whether what was written need not be in what is read: it waits for a trigger, or goes to clones.
    pub(super) fn hides(&self) -> bool {
        self.config.trigger_config.is_some() || empties(&self.config)
    }
}

impl World {
    pub(super) fn clone_session(&mut self, index: usize) {
        let others = (0..self.actors.len()).filter(|other| *other != index);
        let sessions: Vec<u64> =
            others.filter_map(|other| self.session_of(other)).map(|id| id.0).collect();
        let selector = if !sessions.is_empty() && self.rng.chance(80) {
            Selector::SessionId(self.rng.pick(&sessions))
        } else if self.rng.chance(80) {
            Selector::UniqueSessionName(self.rng.pick(&NAMES).into())
        } else {
            Selector::SessionId(self.rng.pick(&[0, 1, u64::MAX]))
        };
        let file = self.rng.chance(30).then(|| self.new_file(Some(index), reader_of_anything()));
        // It may be limited as that of the source.
        self.model.full_files += usize::from(file.is_some());
        let request = protos::CloneSessionRequest {
            selector: Some(selector),
            clone_trigger_name: self.rng.chance(20).then(|| "by hand".into()),
            ..Default::default()
        };
        self.attempt(index, Attempt::Clone, Request::CloneSession(request), file);
    }

    pub(super) fn attach(&mut self, index: usize) {
        let key = self.rng.pick(&KEYS).into();
        let request = AttachRequest { key: Some(key), ..Default::default() };
        self.attempt(index, Attempt::Attach, Request::Attach(request), None);
    }

    pub(super) fn detach(&mut self, index: usize) {
        let Actor::Consumer(consumer) = &mut self.actors[index] else { return };
        let config = &consumer.config;
        // Sessions that end by themselves, or nobody would end them.
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
        file: Option<crate::ids::FileId>,
    ) {
        let call = self.send_consumer(index, request, file);
        let Actor::Consumer(consumer) = &mut self.actors[index] else { return };
        if !matches!(attempt, Attempt::Detach) {
            consumer.forget();
        }
        consumer.fence = Some(call);
        consumer.attempt = Some(attempt);
    }

    /// The answer came.
    pub(super) fn attempted(&mut self, index: usize, reply: &Reply) {
        let client = self.client_of[index];
        let Actor::Consumer(consumer) = &mut self.actors[index] else { return };
        let Some(attempt) = consumer.attempt.take() else { return };
        let Some(response) = &reply.response else { return };
        match attempt {
            Attempt::Clone => {
                let response = CloneSessionResponse::decode(response).unwrap_or_default();
                if response.success == Some(true) {
                    self.report.marks.event("a session was cloned");
                    consumer.visit();
                }
            }
            Attempt::Attach => {
                let response = AttachResponse::decode(response).unwrap_or_default();
                self.report.marks.event("a session was taken over");
                consumer.visit();
                consumer.config = response.trace_config.unwrap_or_default();
            }
            Attempt::Detach => {
                self.report.marks.event("a session was left");
                // Its end is nobody's to be told any more.
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

    /// What was left behind when it was over already waits for somebody who wants it.
    pub(super) fn give_up_detached(&mut self) -> Result<(), String> {
        for (uid, key) in self.service.detached() {
            self.last_id += 1;
            let (client, peer) = (ClientId(self.last_id), Peer { uid, ..Peer::default() });
            let request = Request::Attach(AttachRequest { key: Some(key), ..Default::default() });
            for input in [
                Input::ConsumerConnected { client, peer },
                Input::ConsumerRequest { client, call: None, request, file: None },
                Input::ConsumerDisconnected { client },
            ] {
                self.service.handle(&self.clock.now(), input);
                self.carry_out()?;
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
        let request =
            protos::ChangeTraceConfigRequest { trace_config: Some(config), ..Default::default() };
        self.send_consumer(index, Request::ChangeTraceConfig(request), None);
    }
}
