//! Who is connected on the producer side, and what becomes of each of their requests.
//!
//! A connection is nobody until `InitializeConnection` was accepted on it; then it is a producer with an
//! id of its own, at most one shared memory for all sessions, and a stream of commands. All it says
//! is taken as a claim: ids are looked up together with the producer that names them, so it can only ever
//! touch what is its own.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bytes::Bytes;
use protos::{
    InitializeConnectionRequest, InitializeConnectionRequestProducerSMBScrapingMode as Scraping,
    InitializeConnectionResponse,
};
use protozero::Message as _;

use super::Peer;
use super::core::Service;
use super::matching::Purse;
use super::outbox::{Grumbles, Outbox};
use super::port::ProducerRequest as Request;
use super::session::state::clip;
use crate::limits;
use abi::ids::{BufferId, CallId, ClientId, InstanceId, ProducerId, WriterId};
use abi::shm::{PageSize, Region, Smb, SmbReader};

/// A connection to the producer socket.
#[derive(Debug)]
pub(super) struct ProducerConnection {
    peer: Peer,
    in_process: bool,
    id: Option<ProducerId>,
}

/// A producer whose `InitializeConnection` was accepted.
#[derive(Debug)]
pub(super) struct Producer {
    pub(super) id: ProducerId,
    pub(super) client: ClientId,
    pub(super) peer: Peer,
    pub(super) in_process: bool,
    pub(super) name: String,
    pub(super) sdk_version: String,
    /// What it would like: (whole memory, page), bytes, zero for no wish.
    pub(super) smb_hints: (u32, u32),
    pub(super) smb: Option<SmbReader>,
    /// Bytes of pages of `smb` read beyond [`limits::SMB_MAPPED_BYTES`] since they were last let go of.
    smb_touched: usize,
    /// It was told what to write into, so it may commit. Without `smb` its chunks come by value.
    pub(super) set_up: bool,
    /// The buffers that its live instances may write to. A commit to any other is dropped.
    pub(super) allowed: BTreeSet<BufferId>,
    pub(super) writers: BTreeMap<WriterId, BufferId>,
    /// Registered data sources and the bytes of their descriptors.
    pub(super) sources: usize,
    pub(super) source_bytes: usize,
    /// Chunks that its writers still hold may be copied out.
    pub(super) scraping: bool,
    /// Nobody reads its commands any more.
    gone: bool,
    stream: Option<CallId>,
    pub(super) unsent: VecDeque<(Bytes, Option<Region>)>,
    grumbles: Grumbles,
    /// For holding expressions against its name.
    pub(super) purse: Purse,
}

impl Producer {
    /// Sends a `GetAsyncCommandResponse`, or keeps it until the producer asks for commands.
    pub(super) fn command(&mut self, out: &mut Outbox, response: Vec<u8>, region: Option<Region>) {
        if self.gone {
            return;
        }
        let response = Bytes::from(response);
        if let Some(call) = self.stream {
            out.command(self.client, call, response, region);
        } else if self.unsent.len() < limits::COMMANDS_UNSENT_MAX {
            self.unsent.push_back((response, region));
        } else {
            // It offers data sources and never listens: everybody would wait for its answers.
            self.complain(out, format_args!("does not ask for its commands and is disconnected"));
            out.doom(self.client);
        }
    }

    /// Takes the memory that the producer brought, but only if we would have made it just so for its hints:
    /// a page hint of zero never passes.
    fn adopt(&mut self, out: &mut Outbox, region: Region) {
        let (len, page_hint) = (region.len(), self.smb_hints.1);
        let (smb_bytes, page_bytes) = smb_sizes(len as u64, page_hint.into());
        let legal = smb_bytes == len && page_bytes == page_hint as usize;
        self.smb = legal.then(|| make_smb(region, page_bytes)).flatten();
        if self.smb.is_some() {
            self.set_up = true;
            self.command(out, super::data_sources::setup_tracing(0), None);
        } else {
            self.complain(
                out,
                format_args!("shared memory of {len} bytes with pages of {page_hint} refused"),
            );
        }
    }

    /// Notes that a page of its memory was looked into, and lets go of what adds up.
    pub(super) fn note_touched(&mut self, page: usize) {
        let Some(smb) = self.smb.as_ref().map(SmbReader::smb) else { return };
        let page_bytes = smb.page_size().bytes();
        let adds_up = smb.bytes() > limits::SMB_MAPPED_BYTES + limits::SMB_MAPPED_AGAIN_BYTES;
        if !adds_up || page.saturating_mul(page_bytes) < limits::SMB_MAPPED_BYTES {
            return;
        }
        self.smb_touched += page_bytes;
        if self.smb_touched >= limits::SMB_MAPPED_AGAIN_BYTES {
            self.smb_touched = 0;
            smb.region().rest(limits::SMB_MAPPED_BYTES);
        }
    }

    /// Says once more what it did wrong, a bounded number of times per producer.
    pub(super) fn complain(&mut self, out: &mut Outbox, text: std::fmt::Arguments<'_>) {
        if self.grumbles.may_say() {
            out.error(format!("producer {} ({}): {text}", self.id, self.name));
        }
    }
}

/// What shared memory a producer gets: (whole, page) in bytes, from a wish in bytes where zero means
/// none. Any illegal wish loses both values to the defaults (`EnsureValidShmSizes`).
pub(super) fn smb_sizes(smb_bytes: u64, page_bytes: u64) -> (usize, usize) {
    let page = if page_bytes == 0 { limits::SMB_PAGE_BYTES_DEFAULT as u64 } else { page_bytes };
    let smb = if smb_bytes == 0 { limits::SMB_BYTES_DEFAULT as u64 } else { smb_bytes };
    let page = page.min(limits::SMB_PAGE_BYTES_MAX as u64);
    let smb = smb.min(limits::SMB_BYTES_MAX as u64);
    let unit = limits::SMB_PAGE_BYTES_MIN as u64;
    let page_legal = page.is_multiple_of(unit) && (page / unit).is_power_of_two();
    if page_legal && smb >= page && smb.is_multiple_of(page) {
        (smb as usize, page as usize)
    } else {
        (limits::SMB_BYTES_DEFAULT, limits::SMB_PAGE_BYTES_DEFAULT)
    }
}

/// Sizes that passed [`smb_sizes`] always fit together.
pub(super) fn make_smb(region: Region, page_bytes: usize) -> Option<SmbReader> {
    // No reader: another service of this process has the same memory.
    Smb::new(region, PageSize::new(page_bytes).ok()?).ok()?.reader()
}

impl Service {
    pub(super) fn producer_connected(&mut self, client: ClientId, peer: Peer, in_process: bool) {
        self.producer_clients.insert(client, ProducerConnection { peer, in_process, id: None });
    }

    pub(super) fn producer_request(
        &mut self,
        client: ClientId,
        call: Option<CallId>,
        request: Request,
        region: Option<Region>,
    ) {
        let Some(connection) = self.producer_clients.get(&client) else {
            return self.out.reject(client, call);
        };
        if let Request::InitializeConnection(request) = request {
            return self.initialize_producer(client, call, &request, region);
        }
        let Some(id) = connection.id else { return self.out.reject(client, call) };
        match request {
            Request::InitializeConnection(_) => unreachable!("answered above"),
            Request::RegisterDataSource(r) => {
                self.register_data_source(id, r.data_source_descriptor.unwrap_or_default());
                self.out.done(client, call);
            }
            Request::UpdateDataSource(r) => {
                self.update_data_source(id, r.data_source_descriptor.unwrap_or_default());
                self.out.done(client, call);
            }
            Request::UnregisterDataSource(r) => {
                self.unregister_data_source(id, &r.data_source_name.unwrap_or_default());
                self.out.done(client, call);
            }
            Request::CommitData(r) => {
                if self.commit(id, &r) {
                    self.out.done(client, call);
                } else {
                    self.out.reject(client, call);
                }
            }
            Request::GetAsyncCommand(_) => self.open_command_stream(id, call),
            Request::RegisterTraceWriter(r) => {
                // Both are u32 on the wire and 16 bits in the ABI; upstream truncates, and so do we.
                let writer = WriterId(r.trace_writer_id.unwrap_or(0) as u16);
                let buffer = BufferId(r.target_buffer.unwrap_or(0) as u16);
                if let Some(p) = self.producers.get_mut(&id)
                    && p.writers.len() < limits::WRITERS_PER_PRODUCER_MAX
                {
                    p.writers.insert(writer, buffer);
                }
                self.out.done(client, call);
            }
            Request::UnregisterTraceWriter(r) => {
                let writer = WriterId(r.trace_writer_id.unwrap_or(0) as u16);
                if let Some(p) = self.producers.get_mut(&id) {
                    p.writers.remove(&writer);
                }
                self.out.done(client, call);
            }
            Request::NotifyDataSourceStarted(r) => {
                self.source_started(id, InstanceId(r.data_source_id.unwrap_or(0)));
                self.out.done(client, call);
            }
            Request::NotifyDataSourceStopped(r) => {
                self.source_stopped(id, InstanceId(r.data_source_id.unwrap_or(0)));
                self.out.done(client, call);
            }
            Request::ActivateTriggers(r) => {
                self.activate_triggers(id, &r.trigger_names);
                self.out.done(client, call);
            }
            // All effects of earlier requests are queued before this reply.
            Request::Sync(_) => self.out.done(client, call),
        }
    }

    pub(super) fn producer_disconnected(&mut self, client: ClientId) {
        let Some(connection) = self.producer_clients.remove(&client) else { return };
        let Some(id) = connection.id else { return };
        // While its instances are removed it must not get commands any more: nobody would read them.
        if let Some(producer) = self.producers.get_mut(&id) {
            producer.gone = true;
        }
        self.scrape_leaving(id);
        self.unregister_all_data_sources(id);
        if let Some(producer) = self.producers.remove(&id) {
            let who = format_args!("producer {id} ({})", producer.name);
            producer.grumbles.sum_up(&mut self.out, who);
        }
        self.flush_producer_gone(id);
    }

    fn initialize_producer(
        &mut self,
        client: ClientId,
        call: Option<CallId>,
        request: &InitializeConnectionRequest,
        region: Option<Region>,
    ) {
        let (peer, in_process) = match self.producer_clients.get(&client) {
            Some(c) if c.id.is_none() => (c.peer.clone(), c.in_process),
            _ => return self.out.reject(client, call),
        };
        if self.lockdown && peer.uid != self.config.uid {
            self.out.info(format!("lockdown: refused a producer of uid {}", peer.uid));
            return self.out.reject(client, call);
        }
        let Some(id) = self.next_producer_id() else {
            self.out.error("too many producers");
            return self.out.reject(client, call);
        };
        if in_process && peer.machine_id != 0 {
            self.local_machine_id = peer.machine_id;
        }
        let page_hint = request.shared_memory_page_size_hint_bytes.unwrap_or(0);
        let smb_hint = request.shared_memory_size_hint_bytes.unwrap_or(0);
        let mut producer = Producer {
            id,
            client,
            peer,
            in_process,
            name: clip(request.producer_name.as_deref().unwrap_or_default()).to_owned(),
            sdk_version: request.sdk_version.clone().unwrap_or_default(),
            smb_hints: (smb_hint, page_hint),
            smb: None,
            smb_touched: 0,
            set_up: false,
            allowed: BTreeSet::new(),
            writers: BTreeMap::new(),
            sources: 0,
            source_bytes: 0,
            scraping: match request.smb_scraping_mode {
                Some(Scraping::SMB_SCRAPING_ENABLED) => true,
                Some(Scraping::SMB_SCRAPING_DISABLED) => false,
                _ => self.config.scrape_by_default,
            },
            gone: false,
            stream: None,
            unsent: VecDeque::new(),
            grumbles: Grumbles::default(),
            purse: Purse::default(),
        };
        if let Some(region) = region {
            producer.adopt(&mut self.out, region);
        }
        let response = InitializeConnectionResponse {
            using_shmem_provided_by_producer: Some(producer.smb.is_some()),
            direct_smb_patching_supported: Some(true),
            use_shmem_emulation: Some(producer.emulated()),
            ..Default::default()
        };
        self.out.reply(client, call, response.encode_to_vec().into());
        self.producers.insert(id, producer);
        if let Some(c) = self.producer_clients.get_mut(&client) {
            c.id = Some(id);
        }
    }

    /// The next id that is neither zero nor taken.
    fn next_producer_id(&mut self) -> Option<ProducerId> {
        if self.producers.len() >= limits::PRODUCERS_MAX {
            return None;
        }
        loop {
            self.last_producer_id = self.last_producer_id.wrapping_add(1);
            let id = ProducerId(self.last_producer_id);
            if id.0 != 0 && !self.producers.contains_key(&id) {
                return Some(id);
            }
        }
    }

    /// A newer stream takes the place of an older one, which ends with a rejection.
    fn open_command_stream(&mut self, id: ProducerId, call: Option<CallId>) {
        let Some(producer) = self.producers.get_mut(&id) else { return };
        let Some(call) = call else { return };
        let older = producer.stream.replace(call);
        self.out.reject(producer.client, older);
        for (response, region) in std::mem::take(&mut producer.unsent) {
            self.out.command(producer.client, call, response, region);
        }
    }
}

impl Producer {
    /// Zero for this machine.
    pub(super) fn machine_id(&self) -> u32 {
        self.peer.machine_id
    }

    /// True when the chunks that its writers hold are only to be had by asking for them.
    pub(super) fn scrapes_itself(&self) -> bool {
        self.scraping && self.emulated()
    }

    /// True when chunks come inside commits, as no memory can be shared with another machine.
    pub(super) fn emulated(&self) -> bool {
        (self.peer.by_value || self.peer.machine_id != 0) && !self.in_process
    }
}

#[cfg(test)]
mod tests;
