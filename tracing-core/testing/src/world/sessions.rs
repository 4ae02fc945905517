//! What is known of each session: who asked for it and how, and which producers may write into it.
//!
//! All facts come from the requests; the service is only asked for ids.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use protos::consumer_port::Request;
use protos::{
    TraceConfig, TraceConfigLockdownModeOperation as Lockdown, TraceConfigProducerConfig,
};

use crate::marks::Marks;
use abi::ids::{BufferId, ClientId, FileId, SessionId};
use service::{Input, Service, TraceUuid};

/// A session, running or ended.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    pub(super) id: u64,
    /// The session that it was cloned from, through all clones; its own id if it is no clone.
    pub(super) origin: u64,
    pub(super) uid: u32,
    pub(super) uuid: TraceUuid,
    /// The config that the consumer of its origin asked for.
    pub(super) config: TraceConfig,
    /// When it was created, boot time in ns.
    pub(super) made_ns: u64,
}

impl Facts {
    pub(super) fn is_clone(&self) -> bool {
        self.id != self.origin
    }

    /// The sizes in bytes of shared memory and of its pages that this session gives to a producer: those of the
    /// config for that producer, else the producer's hints; the default sizes if these are not valid together.
    pub(super) fn smb_of(&self, name: &str, hints: (u32, u32)) -> (u64, u64) {
        let mut wishes = self.config.producers.iter();
        Self::smb_for(wishes.find(|wish| wish.producer_name.as_deref() == Some(name)), hints)
    }

    /// The same with an entry of a config, if it has one for the producer.
    pub(super) fn smb_for(
        wish: Option<&TraceConfigProducerConfig>,
        hints: (u32, u32),
    ) -> (u64, u64) {
        let asked = |kb: Option<u32>, hint: u32| match kb {
            Some(kb @ 1..) => u64::from(kb) * 1024,
            _ => hint.into(),
        };
        let smb = asked(wish.and_then(|wish| wish.shm_size_kb), hints.0);
        let page = asked(wish.and_then(|wish| wish.page_size_kb), hints.1);
        let smb = if smb == 0 { 256 << 10 } else { smb.min(32 << 20) };
        let page = if page == 0 { 4 << 10 } else { page.min(32 << 10) };
        let legal = [4 << 10, 8 << 10, 16 << 10, 32 << 10].contains(&page) && smb >= page;
        if legal && smb.is_multiple_of(page) { (smb, page) } else { (256 << 10, 4 << 10) }
    }

    /// Whether its packets go into a file of limited size.
    pub(super) fn is_limited(&self) -> bool {
        let to_file = self.config.write_into_file == Some(true);
        to_file && !self.is_clone() && self.config.max_file_size_bytes.is_some_and(|max| max > 0)
    }
}

/// All sessions, running and ended.
#[derive(Default)]
pub(super) struct Sessions {
    by_id: BTreeMap<u64, Facts>,
    last: u64,
    /// What each consumer asked for last.
    asked: BTreeMap<ClientId, Arc<TraceConfig>>,
    /// The session that each buffer was created for.
    owners: BTreeMap<BufferId, u64>,
    /// User ids of producers, and buffers that they were told to write into.
    granted: BTreeSet<(u32, BufferId)>,
    /// Only producers of the service's own user, 0, are accepted and set up.
    lockdown: bool,
}

/// The relevant part of an input, for after the service has handled it.
pub(super) enum Seen {
    /// A consumer asked for a session, which may come later.
    Enabled(ClientId, Arc<TraceConfig>),
    /// A client introduces itself as a producer.
    Hello(ClientId),
    Nothing,
}

impl Seen {
    pub(super) fn of(service: &Service, input: &Input) -> Self {
        match input {
            Input::ConsumerRequest { client, request: Request::EnableTracing(request), .. } => {
                Self::Enabled(*client, request.trace_config.clone().unwrap_or_default())
            }
            Input::ProducerRequest { client, request, .. } => match request {
                protos::producer_port::Request::InitializeConnection(_)
                    if service.uid_of_producer(*client).is_none() =>
                {
                    Self::Hello(*client)
                }
                _ => Self::Nothing,
            },
            _ => Self::Nothing,
        }
    }
}

impl Sessions {
    pub(super) fn get(&self, id: u64) -> Option<&Facts> {
        self.by_id.get(&id)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Facts> {
        self.by_id.values()
    }

    pub(super) fn of_client(&self, service: &Service, client: ClientId) -> Option<&Facts> {
        self.get(service.session_of(client)?.get())
    }

    pub(super) fn of_file(&self, service: &Service, file: FileId) -> Option<&Facts> {
        self.get(service.session_of_file(file)?.get())
    }

    /// The session that a buffer was created for.
    pub(super) fn owner(&self, buffer: BufferId) -> Option<&Facts> {
        self.get(*self.owners.get(&buffer)?)
    }

    /// The service has handled an input.
    ///
    /// # Errors
    /// It let a user in, or cloned a session, against the rules.
    pub(super) fn took(
        &mut self,
        service: &Service,
        seen: &Seen,
        now_ns: u64,
        marks: &mut Marks,
    ) -> Result<(), String> {
        match seen {
            Seen::Enabled(client, config) => {
                // Of another user it is refused.
                let is_root = service.uid_of_consumer(*client) == Some(0);
                match config.lockdown_mode.filter(|_| is_root) {
                    Some(Lockdown::LOCKDOWN_SET) => self.lockdown = true,
                    Some(Lockdown::LOCKDOWN_CLEAR) => self.lockdown = false,
                    _ => {}
                }
                self.asked.insert(*client, config.clone());
            }
            Seen::Hello(client) if self.lockdown => {
                marks.event("a producer came during a lockdown");
                if let Some(uid) = service.uid_of_producer(*client) {
                    return Err(format!("a producer of user {uid} came in during a lockdown"));
                }
            }
            _ => {}
        }
        let last = service.last_session().get();
        for id in self.last + 1..=last {
            let Some(view) = service.view(SessionId::new(id)) else { continue };
            let source = self.by_id.values().find(|facts| facts.uuid.lsb == view.uuid.lsb);
            let asked = view.consumer.and_then(|client| self.asked.get(&client));
            let (origin, config) = match (source, asked) {
                (Some(source), _) => {
                    if view.uid != 0 && view.uid != source.uid {
                        let (uid, of) = (view.uid, source.uid);
                        return Err(format!("user {uid} has a copy of a session of user {of}"));
                    }
                    (source.origin, source.config.clone())
                }
                (None, Some(config)) => {
                    if !matches!(seen, Seen::Enabled(..)) {
                        marks.event("a session came after its config was checked in pieces");
                    }
                    (id, (**config).clone())
                }
                (None, None) => return Err(format!("session {id} was created without a request")),
            };
            if origin == id {
                self.owners.extend(view.buffers.iter().map(|buffer| (*buffer, id)));
            }
            let (uid, uuid) = (view.uid, view.uuid);
            let facts = Facts { id, origin, uid, uuid, config, made_ns: now_ns };
            self.by_id.insert(id, facts);
        }
        self.last = last;
        let before = self.granted.len();
        self.granted.extend(service.set_up());
        if self.lockdown && self.granted.len() > before {
            return Err("producers were set up during a lockdown".into());
        }
        Ok(())
    }

    /// Whether a session may contain what `uid` wrote into `buffer`.
    ///
    /// # Errors
    /// Why not.
    pub(super) fn may_hold(&self, facts: &Facts, uid: u32, buffer: BufferId) -> Result<(), String> {
        if !self.granted.contains(&(uid, buffer)) {
            return Err(format!(
                "user {uid} wrote into buffer {buffer} of session {}, without having been told to",
                facts.origin
            ));
        }
        Ok(())
    }
}
