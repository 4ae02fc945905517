//! The connections of the producer side.
//!
//! A connection is anonymous until `InitializeConnection` was accepted on it; then it is a producer with an id, at
//! most one shared memory for all sessions, and a stream of commands. Everything it sends is a claim: ids are
//! looked up together with the producer that names them, so it can only reach what is its own.

use protos::{
    InitializeConnectionRequest, InitializeConnectionRequestProducerSMBScrapingMode as Scraping,
    InitializeConnectionResponse,
};
use protozero::Message as _;

use super::accounts::{Accounts, Resource, User};
use super::context::Context;
use super::effect_queue::{Caller, EffectQueue};
use super::ids::{SourceId, free_id};
use super::ledger::{Loss, LossOwner, Reason};
use super::leftovers::Leftovers;
use super::log_limiter::LogLimiter;
use super::matching::{RegexBudget, clip_name};
use super::name_sketch::NameSketch;
use super::work::Work;
use crate::buffer::{Identity, SequenceKey};
use crate::command_queue::{Command, CommandQueue};
use crate::config::ServiceConfig;
use crate::input::Peer;
use crate::limits::{self, Limits};
use abi::ids::{BufferId, CallId, ClientId, FlushId, ProducerId, SessionId, WriterId};
use abi::map::{BlockMap, BlockSet};
use abi::shm::{ChunkHeader, Region, SmbReader};
use abi::sync::Arc;

mod gaps;
mod memory;
mod smb;

use gaps::UntoldGaps;
use smb::{SmbHints, Touched};

/// Registrations by name, oldest first.
pub(crate) type ByName = BlockMap<(Arc<str>, SourceId), ()>;

/// A connection to the producer socket.
#[derive(Debug)]
struct ProducerConnection {
    peer: Peer,
    in_process: bool,
    id: Option<ProducerId>,
}

/// A producer whose `InitializeConnection` was accepted.
#[derive(Debug)]
pub(crate) struct Producer {
    pub(crate) id: ProducerId,
    pub(crate) client: ClientId,
    pub(crate) peer: Peer,
    pub(crate) in_process: bool,
    pub(crate) name: Arc<str>,
    pub(crate) sdk_version: String,
    smb_hints: SmbHints,
    pub(crate) smb: Option<SmbReader>,
    smb_touched: Touched,
    /// Bytes of `smb` that are on the account of its user.
    smb_charged: usize,
    /// Marks that came: writers began to drop packets.
    pub(crate) loss_marks: u32,
    /// Writers that may have dropped more packets than it told.
    pub(crate) gaps: UntoldGaps,
    /// Uses of pages of `smb` until the system is asked again whether one holds data.
    asks_again: u32,
    /// The set-up command was sent, so it may commit. Without `smb` its chunks come by value.
    pub(crate) set_up: bool,
    /// The buffers that its live instances may write to. A commit to any other is dropped.
    pub(crate) allowed: BlockSet<BufferId>,
    pub(crate) writers: BlockMap<WriterId, BufferId>,
    /// What it registered, by name and then oldest first.
    pub(crate) sources: ByName,
    /// The registrations to which the producer gave a number, by that number.
    pub(crate) own_ids: BlockMap<u64, SourceId>,
    /// Names of some that it could not register.
    pub(crate) unregistered: BlockSet<Arc<str>>,
    /// The others.
    pub(crate) more_unregistered: NameSketch,
    /// Flushes that it has not acknowledged yet, and their sessions.
    pub(crate) flushes: BlockMap<FlushId, SessionId>,
    /// Chunks that its writers still hold may be copied out.
    pub(crate) scraping: bool,
    /// What it leaves behind, once it is gone.
    pub(crate) left: Leftovers,
    /// The producer disconnected: commands for it are dropped, and nothing is set up for it.
    pub(crate) gone: bool,
    /// What it asked for and waits for.
    pub(crate) work: Work,
    pub(crate) commands: CommandQueue,
    commands_unsent_max: usize,
    limiter: LogLimiter,
    /// For matching expressions against its name.
    pub(crate) regex_budget: RegexBudget,
}

impl Producer {
    /// Whether there was no place for something that it wanted to register.
    pub(crate) fn has_unregistered(&self) -> bool {
        !self.unregistered.is_empty() || !self.more_unregistered.is_empty()
    }

    fn new(
        id: ProducerId,
        client: ClientId,
        connection: &ProducerConnection,
        request: &InitializeConnectionRequest,
        config: &ServiceConfig,
    ) -> Self {
        let whole_bytes = request.shared_memory_size_hint_bytes.unwrap_or(0);
        let page_bytes = request.shared_memory_page_size_hint_bytes.unwrap_or(0);
        Self {
            id,
            client,
            peer: connection.peer.clone(),
            in_process: connection.in_process,
            name: clip_name(request.producer_name.as_deref().unwrap_or_default()).into(),
            sdk_version: clip_name(request.sdk_version.as_deref().unwrap_or_default()).to_owned(),
            smb_hints: SmbHints { whole_bytes, page_bytes },
            smb: None,
            smb_touched: Touched::default(),
            smb_charged: 0,
            loss_marks: 0,
            gaps: UntoldGaps::default(),
            asks_again: 0,
            set_up: false,
            allowed: BlockSet::new(),
            writers: BlockMap::new(),
            sources: ByName::new(),
            own_ids: BlockMap::new(),
            unregistered: BlockSet::new(),
            more_unregistered: NameSketch::default(),
            flushes: BlockMap::new(),
            scraping: match request.smb_scraping_mode {
                Some(Scraping::SMB_SCRAPING_ENABLED) => true,
                Some(Scraping::SMB_SCRAPING_DISABLED) => false,
                _ => config.scrape_by_default,
            },
            left: Leftovers::default(),
            gone: false,
            work: Work::default(),
            commands: CommandQueue::new(config.limits.command_window_bytes),
            commands_unsent_max: config.limits.commands_unsent_max,
            limiter: LogLimiter::default(),
            regex_budget: RegexBudget::default(),
        }
    }

    /// Notes which buffer a writer writes to. Both numbers have 32 bits on the wire and 16 in the ABI: they are cut, as
    /// upstream does. Beyond `max` writers, and beyond what its user may have, it is ignored.
    pub(crate) fn register_writer(
        &mut self,
        writer: u32,
        buffer: u32,
        max: usize,
        accounts: &mut Accounts,
    ) {
        let (writer, buffer) = (WriterId::new(writer as u16), BufferId::new(buffer as u16));
        let user = User::of(&self.peer);
        if self.writers.contains_key(&writer)
            || self.writers.len() < max
                && accounts.charge(user, Resource::SourcesAndWriters, limits::WRITER_BYTES).is_ok()
        {
            self.writers.insert(writer, buffer);
        }
    }

    /// Forgets a writer.
    pub(crate) fn unregister_writer(&mut self, writer: u32, accounts: &mut Accounts) {
        let writer = WriterId::new(writer as u16);
        self.gaps.forget(writer);
        if self.writers.remove(&writer).is_some() {
            self.release_writer(accounts);
        }
    }

    /// A mark came, perhaps with a header: a writer began to drop packets.
    pub(crate) fn note_mark(&mut self, header: Option<&ChunkHeader>) {
        self.loss_marks = self.loss_marks.wrapping_add(1);
        let mark = header.and_then(|header| Some((header, *self.writers.get(&header.writer)?)));
        self.gaps.begin(mark);
    }

    /// Forgets the next writer, with its buffer.
    pub(crate) fn pop_writer(&mut self, accounts: &mut Accounts) -> Option<(WriterId, BufferId)> {
        let writer = self.writers.pop_first()?;
        self.release_writer(accounts);
        Some(writer)
    }

    fn release_writer(&self, accounts: &mut Accounts) {
        accounts.release(User::of(&self.peer), Resource::SourcesAndWriters, limits::WRITER_BYTES);
    }

    /// A loss of this producer, of one unit of the reason.
    pub(crate) fn loss(&self, reason: Reason) -> Loss {
        Loss::new(LossOwner::new(self.client, self.id, self.name.clone(), &self.peer), reason)
    }

    /// Sends a command, or keeps it until the producer asks for commands and has taken earlier ones.
    pub(crate) fn command(&mut self, out: &mut EffectQueue, command: Command) {
        if self.gone {
            return;
        }
        let is_full = self.commands.len() >= self.commands_unsent_max;
        if !(is_full && self.commands.adds_unasked(&command)) {
            self.commands.push(command, out, self.client);
        } else {
            // It offers data sources but never asks for commands: sessions would wait for its answers.
            self.log_error(out, format_args!("does not ask for its commands and is disconnected"));
            out.queue_disconnect(self.client);
        }
    }

    /// Starts the stream of commands. An older stream ends with a rejection.
    pub(crate) fn open_command_stream(&mut self, out: &mut EffectQueue, call: CallId) {
        let older = self.commands.open(call, out, self.client);
        out.reject(Caller { client: self.client, call: older });
    }

    /// Logs an error of this producer, a bounded number of times.
    pub(crate) fn log_error(&mut self, out: &mut EffectQueue, text: std::fmt::Arguments<'_>) {
        if self.limiter.allow() {
            out.error(format!("producer {} ({}): {text}", self.id, self.name));
        }
    }

    /// What its chunks and packets are trusted to come from.
    #[inline]
    pub(crate) fn identity(&self) -> Identity {
        Identity { uid: self.peer.uid, pid: self.peer.pid, machine_id: self.machine_id() }
    }

    /// The sequence of one of its writers.
    #[inline]
    pub(crate) fn sequence(&self, writer: WriterId) -> SequenceKey {
        SequenceKey { producer: self.id, writer, identity: self.identity() }
    }

    /// Zero for this machine.
    pub(crate) fn machine_id(&self) -> u32 {
        self.peer.machine_id
    }

    /// Whether the chunks that its writers hold can be had only by asking for them.
    pub(crate) fn scrapes_itself(&self) -> bool {
        self.scraping && self.sends_by_value()
    }

    /// Whether chunks come inside commits, as no memory can be shared with the producer.
    pub(crate) fn sends_by_value(&self) -> bool {
        (self.peer.by_value || self.peer.machine_id != 0) && !self.in_process
    }
}

/// Whether one of two counts that wrap around is higher than the other one.
pub(crate) fn is_more(count: u32, other: u32) -> bool {
    count.wrapping_sub(other).cast_signed() > 0
}

/// All connections of the producer socket, and the producers among them.
#[derive(Debug, Default)]
pub(crate) struct Producers {
    connections: BlockMap<ClientId, ProducerConnection>,
    by_id: BlockMap<ProducerId, Producer>,
    last_id: u16,
    /// Only producers of the service's own user may connect.
    pub(crate) lockdown: bool,
}

impl Producers {
    /// Adds a connection, which is no producer yet.
    pub(crate) fn add_connection(&mut self, client: ClientId, mut peer: Peer, in_process: bool) {
        peer.clip_names();
        self.connections.insert(client, ProducerConnection { peer, in_process, id: None });
    }

    /// Forgets a connection. Its producer, if it is one, gets no commands any more, but stays until
    /// [`forget`](Self::forget).
    pub(crate) fn remove_connection(&mut self, client: ClientId) -> Option<ProducerId> {
        let id = self.connections.remove(&client)?.id?;
        if let Some(producer) = self.by_id.get_mut(&id) {
            producer.gone = true;
        }
        Some(id)
    }

    pub(crate) fn forget(&mut self, id: ProducerId, out: &mut EffectQueue) -> Option<Producer> {
        let producer = self.by_id.remove(&id)?;
        let name = format_args!("producer {id} ({})", producer.name);
        producer.limiter.log_suppressed(out, name);
        Some(producer)
    }

    /// The producer of a connection, if it is accepted.
    pub(crate) fn id_of(&self, client: ClientId) -> Option<ProducerId> {
        self.connections.get(&client)?.id
    }

    /// The user of a connection.
    pub(crate) fn uid_of(&self, client: ClientId) -> Option<u32> {
        self.connections.get(&client).map(|connection| connection.peer.uid)
    }

    pub(crate) fn get(&self, id: ProducerId) -> Option<&Producer> {
        self.by_id.get(&id)
    }

    pub(crate) fn get_mut(&mut self, id: ProducerId) -> Option<&mut Producer> {
        self.by_id.get_mut(&id)
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &Producer> {
        self.by_id.values()
    }

    /// Producers behind that one, by id.
    pub(crate) fn after(&self, id: Option<ProducerId>) -> impl Iterator<Item = &Producer> {
        use std::ops::Bound::{Excluded, Unbounded};
        self.by_id.range((id.map_or(Unbounded, Excluded), Unbounded)).map(|(_, producer)| producer)
    }

    pub(crate) fn len(&self) -> usize {
        self.by_id.len()
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.len()
    }

    /// How many producers there ever were, modulo 2^16, as upstream counts them.
    pub(crate) fn seen(&self) -> u16 {
        self.last_id
    }

    /// The next id that is given out is the one after this, if it is free.
    pub(crate) fn set_last_id(&mut self, id: ProducerId) {
        self.last_id = id.get();
    }

    /// Sends a command to a producer, if it is there.
    pub(crate) fn command(&mut self, id: ProducerId, out: &mut EffectQueue, command: Command) {
        if let Some(producer) = self.by_id.get_mut(&id) {
            producer.command(out, command);
        }
    }

    /// The transport of a connection has sent everything.
    pub(crate) fn handle_drained(&mut self, client: ClientId, out: &mut EffectQueue) {
        let producer = self.id_of(client).and_then(|id| self.by_id.get_mut(&id));
        if let Some(producer) = producer.filter(|producer| !producer.gone) {
            producer.commands.handle_drained(out, client);
        }
    }

    /// A session is gone: takes back the permission of one of its producers to write to its buffers, and what the
    /// producer would be told about it.
    pub(crate) fn revoke(&mut self, id: ProducerId, session: SessionId, buffers: &[BufferId]) {
        let Some(producer) = self.by_id.get_mut(&id) else { return };
        producer.commands.forget_session(session);
        for buffer in buffers {
            producer.allowed.remove(buffer);
        }
    }

    /// Makes a producer of a connection, or rejects the call. Returns who was refused, and why.
    pub(crate) fn initialize(
        &mut self,
        cx: &mut Context,
        caller: Caller,
        request: &InitializeConnectionRequest,
        region: Option<Region>,
    ) -> Option<(LossOwner, Reason)> {
        let client = caller.client;
        let next_id = self.next_id(&cx.config.limits);
        let Some(connection) = self.connections.get_mut(&client).filter(|c| c.id.is_none()) else {
            cx.out.reject(caller);
            return None;
        };
        let uid = connection.peer.uid;
        let name = request.producer_name.as_deref().unwrap_or_default();
        let who = || {
            let name = clip_name(name).into();
            LossOwner::new(client, ProducerId::new(0), name, &connection.peer)
        };
        if self.lockdown && uid != cx.config.uid {
            cx.out.info(format!("lockdown: refused a producer of uid {uid}"));
            cx.out.reject(caller);
            return Some((who(), Reason::LockedOut));
        }
        let Some(id) = next_id else {
            cx.out.error("too many producers");
            cx.out.reject(caller);
            return Some((who(), Reason::ProducerRefused));
        };
        self.last_id = id.get();
        if connection.in_process && connection.peer.machine_id != 0 {
            cx.machine_id = connection.peer.machine_id;
        }
        let mut producer = Producer::new(id, client, connection, request, &cx.config);
        if let Some(region) = region {
            producer.adopt(cx, region);
        }
        let response = InitializeConnectionResponse {
            using_shmem_provided_by_producer: Some(producer.smb.is_some()),
            direct_smb_patching_supported: Some(true),
            use_shmem_emulation: Some(producer.sends_by_value()),
            ..Default::default()
        };
        cx.out.reply(caller, response.encode_to_vec().into());
        connection.id = Some(id);
        self.by_id.insert(id, producer);
        None
    }

    /// The next id that is free, if there may be one more.
    fn next_id(&self, limits: &Limits) -> Option<ProducerId> {
        if self.by_id.len() >= limits.producers_max {
            return None;
        }
        let is_free = |id| !self.by_id.contains_key(&ProducerId::new(id));
        free_id(self.last_id, is_free).map(ProducerId::new)
    }
}

#[cfg(test)]
mod tests;
