//! The service itself: its state and the one `match` all events pass.

use std::collections::{BTreeMap, BTreeSet};

use super::consumers::Consumer;
use super::data_sources::Sources;
use super::matching::Spent;
use super::outbox::Outbox;
use super::output::Boost;
use super::producers::{Producer, ProducerConnection};
use super::session::clone::PendingClone;
use super::session::state::Session;
use super::timers::Timers;
use super::triggers::TriggerHistory;
use super::{Input, Output, ServiceConfig};
use crate::buffer::{Patch, TraceBuffer};
use crate::limits;
use abi::ids::{BufferId, ClientId, FileId, ProducerId, SessionId};
use abi::time::{BootTime, Now};

/// The tracing service. See the [module](super) for how to drive it.
#[derive(Debug)]
pub struct Service {
    pub(super) config: ServiceConfig,
    /// The instant of the event that is being handled.
    pub(super) now: Now,
    pub(super) out: Outbox,
    pub(super) timers: Timers,

    pub(super) producer_clients: BTreeMap<ClientId, ProducerConnection>,
    pub(super) producers: BTreeMap<ProducerId, Producer>,
    pub(super) sources: Sources,
    pub(super) consumers: BTreeMap<ClientId, Consumer>,
    /// Consumers that are to be told something when the turn is over.
    pub(super) observed: BTreeSet<ClientId>,
    pub(super) sessions: BTreeMap<SessionId, Session>,
    pub(super) buffers: BTreeMap<BufferId, TraceBuffer>,
    /// Sessions that wait for a file to be created, by token.
    pub(super) files_wanted: BTreeMap<u64, SessionId>,
    /// Sessions that wait for a priority, by token.
    pub(super) boosts_wanted: BTreeMap<u64, SessionId>,
    /// The priority that the shell was asked for last.
    pub(super) boost: Option<Boost>,
    /// Clones that wait for their flushes or their bytes, by token.
    pub(super) pending_clones: BTreeMap<u64, PendingClone>,
    /// Buffers that no session has any more, and that clones are copied from, by number.
    pub(super) donors: BTreeMap<u64, TraceBuffer>,
    /// Bytes copied for clones in this turn, and how many may be.
    pub(super) copied_in_turn: usize,
    pub(super) clone_piece_bytes: usize,
    /// Files that a copy is written into, and the clone each is for.
    pub(super) copies: BTreeMap<FileId, u64>,
    /// When sessions under extra guardrails began, by name.
    pub(super) session_starts: BTreeMap<String, u64>,
    pub(super) trigger_history: TriggerHistory,
    /// Only producers of our own user may connect.
    pub(super) lockdown: bool,
    /// Machine of a producer in this process, for packets of ours.
    pub(super) local_machine_id: u32,

    pub(super) last_producer_id: u16,
    pub(super) last_buffer_id: u16,
    pub(super) last_session_id: u64,
    pub(super) last_instance_id: u64,
    pub(super) last_flush_id: u64,
    pub(super) last_token: u64,
    pub(super) chunks_discarded: u64,
    pub(super) patches_discarded: u64,

    /// Kept between commits, so that none allocates.
    pub(super) scratch: Vec<u8>,
    pub(super) patches: Vec<Patch>,
    /// Of holding expressions against names, in this turn.
    pub(super) regex_steps: Spent,
    random: u64,
    #[cfg(any(test, feature = "testing"))]
    next_draw: Option<f64>,
}

impl Service {
    /// A service without producers, consumers or sessions.
    #[must_use]
    pub fn new(config: ServiceConfig) -> Self {
        Self {
            random: config.seed,
            #[cfg(any(test, feature = "testing"))]
            next_draw: None,
            config,
            now: Now::default(),
            out: Outbox::default(),
            timers: Timers::default(),
            producer_clients: BTreeMap::new(),
            producers: BTreeMap::new(),
            sources: Sources::default(),
            consumers: BTreeMap::new(),
            observed: BTreeSet::new(),
            sessions: BTreeMap::new(),
            buffers: BTreeMap::new(),
            files_wanted: BTreeMap::new(),
            boosts_wanted: BTreeMap::new(),
            pending_clones: BTreeMap::new(),
            donors: BTreeMap::new(),
            copied_in_turn: 0,
            clone_piece_bytes: limits::CLONE_PIECE_BYTES,
            copies: BTreeMap::new(),
            boost: None,
            session_starts: BTreeMap::new(),
            trigger_history: TriggerHistory::default(),
            lockdown: false,
            local_machine_id: 0,
            last_producer_id: 0,
            last_buffer_id: 0,
            last_session_id: 0,
            last_instance_id: 0,
            last_flush_id: 0,
            last_token: 0,
            chunks_discarded: 0,
            patches_discarded: 0,
            scratch: Vec::new(),
            patches: Vec::new(),
            regex_steps: Spent::new(),
        }
    }

    /// Takes one event. Drain [`poll_output`](Self::poll_output) afterwards.
    pub fn handle(&mut self, now: &Now, input: Input) {
        self.now = *now;
        match input {
            Input::ProducerConnected { client, peer, in_process } => {
                self.producer_connected(client, peer, in_process);
            }
            Input::ProducerRequest { client, call, request, region } => {
                self.producer_request(client, call, request, region);
            }
            Input::ProducerDisconnected { client } => self.producer_disconnected(client),
            Input::ConsumerConnected { client, peer } => self.consumer_connected(client, peer),
            Input::ConsumerRequest { client, call, request, file } => {
                self.consumer_request(client, call, request, file);
            }
            Input::ConsumerDisconnected { client } => self.consumer_disconnected(client),
            Input::FileCreated { token, result } => self.file_created(token, result),
            Input::FileWritten { file, result } => self.file_written(file, result),
            Input::PrioritySet { token, result } => self.priority_set(token, result),
            Input::ConsumerDrained { client } => self.consumer_drained(client),
        }
        self.end_turn();
    }

    /// Does all that is due at `now`. Drain [`poll_output`](Self::poll_output) afterwards.
    pub fn handle_timeout(&mut self, now: &Now) {
        self.now = *now;
        while let Some((kind, id)) = self.timers.pop_due(now) {
            self.timer_due(kind, id);
        }
        self.copy_piece();
        self.end_turn();
    }

    /// Ends all sessions, with this reason for their consumers: the service is about to go. Their files get
    /// everything that reached it; drain [`poll_output`](Self::poll_output) and tell what became of the files
    /// until the service [is idle](Self::is_idle).
    pub fn end_sessions(&mut self, now: &Now, reason: &str) {
        self.now = *now;
        let ids: Vec<SessionId> = self.sessions.keys().copied().collect();
        for id in ids {
            self.free_session(id, reason);
        }
        self.fail_all_clones(reason);
        self.end_turn();
    }

    /// What waits until nothing else happens at this instant.
    fn end_turn(&mut self) {
        while let Some(client) = self.out.next_doomed() {
            self.producer_disconnected(client);
            self.out.disconnect(client);
        }
        self.send_observed();
        self.regex_steps.clear();
        self.copied_in_turn = 0;
    }

    /// The next effect to carry out.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.out.pop()
    }

    /// Takes back the bytes of a reply that has left, or of a piece of a file that is written, to use their memory
    /// again. Optional; what is in them does not matter.
    pub fn give_back(&mut self, memory: bytes::Bytes) {
        self.out.spares.give(memory);
    }

    /// When to call [`handle_timeout`](Self::handle_timeout) at the latest: at once, while a clone is copied.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<BootTime> {
        if self.is_copying() {
            return Some(BootTime(self.now.boot_ns));
        }
        self.timers.next(&self.now)
    }

    /// True once all sessions ended and their files are closed: a daemon that is told to stop waits for this
    /// after [`end_sessions`](Self::end_sessions).
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.sessions.is_empty()
    }

    /// Numbers that nobody else guesses as long as the seed is secret (SplitMix64).
    pub(super) fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number in [0, 1).
    pub(super) fn draw(&mut self) -> f64 {
        #[cfg(any(test, feature = "testing"))]
        if let Some(draw) = self.next_draw {
            return draw;
        }
        // As many bits as a double holds.
        (self.random() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// True while a session was admitted but waits for its shell before it is set up.
    pub(super) fn is_being_made(&self, id: SessionId) -> bool {
        self.files_wanted.values().chain(self.boosts_wanted.values()).any(|wanted| *wanted == id)
    }
}

/// What a service holds, in numbers: for checks that its memory is bounded.
#[cfg(any(test, feature = "testing"))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Connections of both kinds.
    pub connections: usize,
    /// Accepted producers.
    pub producers: usize,
    /// Registered data sources.
    pub sources: usize,
    /// Sessions, those included of which only the file is left.
    pub sessions: usize,
    /// Trace buffers.
    pub buffers: usize,
    /// Data source instances.
    pub instances: usize,
    /// Flushes on their way.
    pub flushes: usize,
    /// Commands kept for producers that do not ask for any yet.
    pub unsent_commands: usize,
    /// Timers set.
    pub timers: usize,
    /// Permissions of producers to write to buffers that are gone: a later buffer of the same id would get
    /// what was never meant for it.
    pub stale_grants: usize,
    /// Clones that wait for their flushes or their bytes.
    pub pending_clones: usize,
    /// Buffers that are copied for them, each as often as it is.
    pub copying: usize,
    /// Buffers that are kept for nothing else.
    pub donors: usize,
    /// Names of triggers whose activations are remembered.
    pub trigger_names: usize,
    /// Triggers whose consumers will be told later.
    pub delayed_hits: usize,
    /// Bytes kept for copying, when more than nothing is connected.
    pub scratch_bytes: usize,
}

#[cfg(any(test, feature = "testing"))]
impl Service {
    /// Counts what the service holds.
    #[must_use]
    pub fn footprint(&self) -> Footprint {
        let connections = self.producer_clients.len() + self.consumers.len();
        Footprint {
            connections,
            producers: self.producers.len(),
            sources: self.sources.len(),
            sessions: self.sessions.len(),
            buffers: self.buffers.len(),
            instances: self.sessions.values().map(|s| s.instances.len()).sum(),
            flushes: self.sessions.values().map(|s| s.flushes.len()).sum(),
            unsent_commands: self.producers.values().map(|p| p.unsent.len()).sum(),
            timers: self.timers.len(),
            stale_grants: self
                .producers
                .values()
                .flat_map(|p| &p.allowed)
                .filter(|buffer| !self.buffers.contains_key(buffer))
                .count(),
            pending_clones: self.pending_clones.len(),
            copying: (self.buffers.values().chain(self.donors.values()))
                .map(TraceBuffer::unfinished_clones)
                .sum(),
            donors: self.donors.len(),
            trigger_names: self.trigger_history.len(),
            delayed_hits: self.sessions.values().map(|s| s.delayed_hits.len()).sum(),
            scratch_bytes: if connections == 0 { 0 } else { self.scratch.capacity() },
        }
    }

    /// Fixes the luck of triggers from now on.
    pub fn set_draw(&mut self, draw: f64) {
        self.next_draw = Some(draw);
    }

    /// The session of a consumer.
    #[must_use]
    pub fn session_of(&self, client: ClientId) -> Option<SessionId> {
        self.consumers.get(&client)?.session
    }

    /// Sessions that somebody left: their users and keys.
    #[must_use]
    pub fn detached(&self) -> Vec<(u32, String)> {
        let key = |s: &Session| Some((s.uid, s.detach_key.clone()?));
        self.sessions.values().filter(|s| !s.freed).filter_map(key).collect()
    }

    /// The statistics of a session, as its consumer could ask for them.
    pub fn stats_of(&mut self, id: SessionId) -> Option<protos::TraceStats> {
        self.trace_stats(id)
    }
}
