//! The connections of the producer side.
//!
//! A connection is anonymous until `InitializeConnection` was accepted on it; then it is a producer with an id, at
//! most one shared memory for all sessions, and a stream of commands. Everything it sends is a claim: ids are
//! looked up together with the producer that names them, so it can only reach what is its own.

use protos::{
    InitializeConnectionRequest, InitializeConnectionRequestProducerSMBScrapingMode as Scraping,
    InitializeConnectionResponse, TraceConfig, TraceConfigProducerConfig,
};
use protozero::Message as _;

use super::accounts::{Accounts, Resource, User};
use super::context::Context;
use super::effect_queue::{Caller, EffectQueue};
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
use abi::shm::{PageSize, Region, Smb, SmbReader};
use abi::sync::Arc;

mod memory;

/// Registrations by name and number, oldest first.
pub(crate) type ByName = BlockMap<(Arc<str>, u64), ProducerId>;

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
    /// The sizes that it asked for: (whole memory, page), bytes, zero for none.
    pub(crate) smb_hints: (u32, u32),
    pub(crate) smb: Option<SmbReader>,
    smb_touched: Touched,
    /// Bytes of `smb` that are on the account of its user.
    smb_charged: usize,
    /// Marks that came: writers began to drop packets.
    pub(crate) loss_marks: u32,
    /// Those of them that came before it last acknowledged a flush: it told what was dropped until then.
    pub(crate) loss_marks_flushed: u32,
    /// Uses of pages of `smb` until the system is asked again whether one holds data.
    asks_again: u32,
    /// The set-up command was sent, so it may commit. Without `smb` its chunks come by value.
    pub(crate) set_up: bool,
    /// The buffers that its live instances may write to. A commit to any other is dropped.
    pub(crate) allowed: BlockSet<BufferId>,
    pub(crate) writers: BlockMap<WriterId, BufferId>,
    /// What it registered, by name and then oldest first.
    pub(crate) sources: ByName,
    /// The registrations to which the producer gave a number: that number, and ours.
    pub(crate) own_ids: BlockMap<u64, u64>,
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
        let page_hint = request.shared_memory_page_size_hint_bytes.unwrap_or(0);
        let smb_hint = request.shared_memory_size_hint_bytes.unwrap_or(0);
        Self {
            id,
            client,
            peer: connection.peer.clone(),
            in_process: connection.in_process,
            name: clip_name(request.producer_name.as_deref().unwrap_or_default()).into(),
            sdk_version: clip_name(request.sdk_version.as_deref().unwrap_or_default()).to_owned(),
            smb_hints: (smb_hint, page_hint),
            smb: None,
            smb_touched: Touched::default(),
            smb_charged: 0,
            loss_marks: 0,
            loss_marks_flushed: 0,
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
        if self.writers.remove(&WriterId::new(writer as u16)).is_some() {
            self.release_writer(accounts);
        }
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

    /// Uses the memory that the producer brought, if the service would have made it the same for its hints: a page
    /// hint of zero never passes.
    fn adopt(&mut self, cx: &mut Context, region: Region) {
        if !self.may_have_memory(cx) {
            return;
        }
        let (len, page_hint) = (region.len(), self.smb_hints.1);
        let (smb_bytes, page_bytes) = smb_sizes(len as u64, page_hint.into());
        let legal = smb_bytes == len && page_bytes == page_hint as usize;
        self.smb = legal.then(|| make_smb(region, page_bytes)).flatten();
        if self.smb.is_some() {
            self.set_up = true;
            self.command(&mut cx.out, Command::SetUpTracing(0, None));
        } else {
            self.log_error(
                &mut cx.out,
                format_args!("shared memory of {len} bytes with pages of {page_hint} refused"),
            );
        }
    }

    /// Makes its shared memory, if it has none yet, and hands it over. The size is that of the config, else the hint of
    /// the producer, else the default. False, with a line in the log, if there is no memory.
    pub(crate) fn provide_smb(&mut self, trace: &TraceConfig, cx: &mut Context) -> bool {
        if self.set_up {
            return true;
        }
        let named =
            |p: &&TraceConfigProducerConfig| p.producer_name.as_deref() == Some(&*self.name);
        let requested = trace.producers.iter().find(named);
        cx.spend(limits::WORK_PER_NAME.saturating_mul(trace.producers.len() as u64));
        // 64 bits: upstream multiplies in 32, and a large request wraps around to a small one.
        let from_kb = |kb: Option<u32>| u64::from(kb.unwrap_or(0)).saturating_mul(1024);
        let or_hint =
            |requested: u64, hint: u32| if requested > 0 { requested } else { hint.into() };
        let smb = or_hint(from_kb(requested.and_then(|p| p.shm_size_kb)), self.smb_hints.0);
        let page = or_hint(from_kb(requested.and_then(|p| p.page_size_kb)), self.smb_hints.1);
        let (smb_bytes, page_bytes) = smb_sizes(smb, page);
        if self.sends_by_value() {
            // It writes into memory of its own; upstream makes some here, too, and never reads it.
            self.set_up = true;
            self.command(&mut cx.out, Command::SetUpTracing(page_bytes, None));
            return true;
        }
        if !self.may_have_memory(cx) {
            return false;
        }
        match cx.config.regions.create(smb_bytes) {
            Ok(region) => {
                self.set_up = true;
                let command = Command::SetUpTracing(page_bytes, Some(region.clone()));
                self.command(&mut cx.out, command);
                self.smb = make_smb(region, page_bytes);
                true
            }
            Err(error) => {
                let text = format_args!("no shared memory of {smb_bytes} bytes: {error}");
                self.log_error(&mut cx.out, text);
                false
            }
        }
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

/// Bytes of pages read beyond [`limits::SMB_MAPPED_BYTES`] since they were last unmapped.
#[derive(Debug, Default)]
struct Touched(usize);

impl Touched {
    /// Adds a page at `off` of memory of `whole` bytes. True if there are enough to unmap them.
    fn add(&mut self, whole: usize, off: usize, page_bytes: usize) -> bool {
        let worth_it = limits::SMB_MAPPED_BYTES.saturating_add(limits::SMB_MAPPED_AGAIN_BYTES);
        if whole <= worth_it || off < limits::SMB_MAPPED_BYTES {
            return false;
        }
        self.0 = self.0.saturating_add(page_bytes);
        if self.0 < limits::SMB_MAPPED_AGAIN_BYTES {
            return false;
        }
        self.0 = 0;
        true
    }
}

/// What shared memory a producer gets: (whole, page) in bytes, from a request in bytes where zero means none. Any
/// illegal request makes both values the defaults (`EnsureValidShmSizes`).
fn smb_sizes(smb_bytes: u64, page_bytes: u64) -> (usize, usize) {
    let page = if page_bytes == 0 { limits::SMB_PAGE_BYTES_DEFAULT as u64 } else { page_bytes };
    let smb = if smb_bytes == 0 { limits::SMB_BYTES_DEFAULT as u64 } else { smb_bytes };
    let page = page.min(limits::SMB_PAGE_BYTES_MAX as u64);
    let smb = smb.min(limits::SMB_BYTES_MAX as u64);
    // The smallest page is a power of two, so all legal sizes are.
    const UNIT: u64 = limits::SMB_PAGE_BYTES_MIN as u64;
    let page_legal = page.is_power_of_two() && page.is_multiple_of(UNIT);
    if page_legal && smb >= page && smb.is_multiple_of(page) {
        (smb as usize, page as usize)
    } else {
        (limits::SMB_BYTES_DEFAULT, limits::SMB_PAGE_BYTES_DEFAULT)
    }
}

/// Sizes that passed [`smb_sizes`] always fit together.
fn make_smb(region: Region, page_bytes: usize) -> Option<SmbReader> {
    // There is no second reader: another service of this process may read the same memory already.
    Smb::new(region, PageSize::new(page_bytes).ok()?).ok()?.reader()
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

    /// The next id that is neither zero nor taken.
    fn next_id(&self, limits: &Limits) -> Option<ProducerId> {
        if self.by_id.len() >= limits.producers_max {
            return None;
        }
        let mut ids =
            (1..=u16::MAX).chain([0]).map(|step| ProducerId::new(self.last_id.wrapping_add(step)));
        ids.find(|id| !id.is_none() && !self.by_id.contains_key(id))
    }
}

#[cfg(test)]
mod tests;
