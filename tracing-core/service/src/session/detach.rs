//! Sessions that go on without a connection, and connections that take them over.
//!
//! A detached session has a key in place of a consumer. It ends by itself, by its duration or a trigger, and
//! is gone then: what it recorded stays only if it went into a file. An empty key would name every session
//! that is not detached, so there is none.

use protos::TraceConfig;

use super::state::State;
use crate::core::Service;
use abi::ids::ClientId;

impl Service {
    /// Leaves the session of a consumer under a key.
    ///
    /// # Errors
    /// For the log: there is no session, or it is a clone, or the key is empty or taken.
    pub(crate) fn detach(&mut self, client: ClientId, key: &str) -> Result<(), String> {
        let consumer = self.consumers.get(&client).ok_or("no such consumer")?;
        let (uid, id) = (consumer.peer.uid, consumer.session.ok_or("there is no session")?);
        if key.is_empty() {
            return Err("the key is empty".into());
        }
        let has_key = |s: &&super::state::Session| {
            !s.freed && s.uid == uid && s.detach_key.as_deref() == Some(key)
        };
        if self.sessions.values().any(|s| has_key(&s)) {
            return Err(format!("the key {key:?} is taken by another detached session"));
        }
        if self.sessions.get(&id).is_some_and(|s| s.state == State::ClonedReadOnly) {
            // It would never end.
            return Err("the session is a clone".into());
        }
        self.end_read(client);
        if let Some(consumer) = self.consumers.get_mut(&client) {
            consumer.leave_session();
        }
        if let Some(session) = self.sessions.get_mut(&id) {
            session.consumer = None;
            session.detach_key = Some(key.to_owned());
        }
        Ok(())
    }

    /// Gives a detached session to a consumer; its config.
    ///
    /// # Errors
    /// For the log: the consumer has a session, or its user has none with that key.
    pub(crate) fn attach(&mut self, client: ClientId, key: &str) -> Result<TraceConfig, String> {
        let consumer = self.consumers.get_mut(&client).ok_or("no such consumer")?;
        if consumer.session.is_some() {
            return Err("the consumer has a session".into());
        }
        let uid = consumer.peer.uid;
        let found = self.sessions.values_mut().find(|s| {
            !s.freed && s.uid == uid && !key.is_empty() && s.detach_key.as_deref() == Some(key)
        });
        let session = found.ok_or_else(|| format!("no session is detached as {key:?}"))?;
        consumer.session = Some(session.id);
        session.detach_key = None;
        session.consumer = Some(client);
        if session.state == State::Disabled {
            // Over already: whoever asks for the end now is told at once.
            session.end_note.get_or_insert_with(|| session.end_said.clone());
        }
        let (id, config) = (session.id, session.config.clone());
        self.check_all_started(id);
        Ok(config)
    }
}
