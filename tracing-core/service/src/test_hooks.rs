//! What simulations and tests see of a service beside its effects, and the few things that they fix.
//!
//! Nothing in here is for products: it is public, but hidden in the documentation.

use super::core::Service;
use super::session::life::SetUpWait;
use super::session::state::Session;
use crate::accounts::{BufferCharge, Resource};
use crate::buffer::{BufferLimits, Policy, TraceBuffer, Version};
use crate::compression_queue::BegunPass;
use crate::consumers::Consumer;
use crate::ids::TraceUuid;
use crate::ledger::OfSession;
use crate::limits::{Limits, WRITER_BYTES};
use crate::producers::Producer;
use crate::work::Todo;
use abi::ids::{BufferId, ClientId, FileId, ProducerId, SessionId, ShellToken};
use abi::time::BootTime;

/// A session from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionView {
    /// The user it belongs to.
    pub uid: u32,
    /// The connection it belongs to.
    pub consumer: Option<ClientId>,
    /// Of its trace.
    pub uuid: TraceUuid,
    /// As `TracingServiceState` spells it.
    pub state: &'static str,
    /// It waits for its file or a priority, and is not set up.
    pub is_being_made: bool,
    /// No request reaches it any more; its file is not closed yet.
    pub freed: bool,
    /// Its buffers, in the order of the config.
    pub buffers: Vec<BufferId>,
    /// Its ledger tells that its file was full.
    pub file_was_full: bool,
    /// Its ledger tells that a clone took its buffers, and was not made.
    pub clone_failed: bool,
    /// A clone of it is not made yet.
    pub clone_pending: bool,
}

/// What a service holds, in numbers: for checks that its memory is bounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Connections of both kinds: a consumer that left is none, also while its work waits.
    pub connections: usize,
    /// Accepted producers.
    pub producers: usize,
    /// Producers whose work waits, those included that left.
    pub waiting: usize,
    /// What was decoded of requests that wait, bytes.
    pub decoded_bytes: usize,
    /// Registered data sources.
    pub sources: usize,
    /// What they take, as [`limits`](crate::limits) count it, bytes.
    pub source_bytes: usize,
    /// What the accounts of users say that they take, bytes.
    pub source_bytes_charged: usize,
    /// The most that one user has of it, bytes.
    pub source_bytes_of_one: usize,
    /// Sessions, those included of which only the file is left.
    pub sessions: usize,
    /// Trace buffers.
    pub buffers: usize,
    /// Data source instances.
    pub instances: usize,
    /// Encoded configs of instances, bytes.
    pub config_bytes: usize,
    /// What the quotas of their sessions say that they take, bytes.
    pub config_bytes_charged: usize,
    /// The most that one session has of it, bytes.
    pub config_bytes_of_one: usize,
    /// What the accounts of users say that compressing takes, bytes.
    pub codec_bytes_charged: usize,
    /// What the accounts of users say that buffers and clones take, bytes.
    pub buffer_bytes_charged: usize,
    /// What sessions and clones say that they have on accounts for it, bytes.
    pub buffer_bytes: usize,
    /// What is written in buffers of sessions, those of root included, bytes.
    pub buffer_bytes_used: usize,
    /// The most that one user has on its account for it of those that are limited, and all of these together, bytes.
    pub buffer_bytes_limited: (usize, usize),
    /// Flushes that are not over.
    pub flushes: usize,
    /// Answers of producers that they wait for, and how many are on accounts.
    pub flush_answers: (usize, usize),
    /// Commands that wait until producers ask for them, or take earlier ones.
    pub unsent_commands: usize,
    /// Timers set.
    pub timers: usize,
    /// Permissions of producers to write to buffers that are gone: a later buffer of the same id would get
    /// what was never meant for it.
    pub stale_grants: usize,
    /// Clones that wait for their flushes or their bytes.
    pub pending_clones: usize,
    /// Copies of buffers for them.
    pub copying: usize,
    /// Buffers that are kept only for such copies.
    pub detached_buffers: usize,
    /// Memory of buffers that are gone, which is still to be freed, bytes.
    pub retired_bytes: usize,
    /// Names of triggers whose activations are remembered.
    pub trigger_names: usize,
    /// Triggers whose consumers will be told later.
    pub delayed_hits: usize,
    /// Users that have something on their account.
    pub accounts: usize,
    /// Entries of ledgers.
    pub losses: usize,
    /// Bytes kept for copying, when anything is connected.
    pub scratch_bytes: usize,
}

/// A buffer with small limits, which unfinished clones and empty fragments reach with little data.
#[must_use]
pub fn buffer_with_small_limits(
    bytes: usize,
    policy: Policy,
    version: Version,
) -> Option<TraceBuffer> {
    TraceBuffer::with_limits(bytes, policy, version, BufferLimits::SMALL)
}

#[doc(hidden)]
impl Service {
    /// Counts what the service holds.
    #[must_use]
    pub fn footprint(&self) -> Footprint {
        let connected = |consumer: &&Consumer| {
            !consumer.work.todo.iter().any(|todo| matches!(todo, Todo::ConsumerLeft))
        };
        let consumers = self.consumers.values().filter(connected).count();
        let connections = self.producers.connections().saturating_add(consumers);
        let allowed = self.producers.values().flat_map(|p| p.allowed.iter());
        let charged = || self.cx.accounts.all(Resource::SourcesAndWriters);
        let writers: usize = self.producers.values().map(|producer| producer.writers.len()).sum();
        let flushes = self.sessions.values().flat_map(|session| session.flushes.values());
        let answers = flushes.map(|flush| flush.waiting_for.len()).sum();
        let charges = self.sessions.values().map(|session| &session.buffer_charge);
        let charges = charges.chain(self.clones.buffer_charges()).chain(self.buffers.charges());
        let configs = || self.sessions.values().map(|s| s.instances.config_bytes());
        Footprint {
            connections,
            producers: self.producers.values().filter(|producer| !producer.gone).count(),
            waiting: self.producers.values().filter(|p| p.work.is_queued).count(),
            decoded_bytes: self.work_queue.decoded(),
            sources: self.sources.len(),
            source_bytes: self.sources.bytes().saturating_add(writers.saturating_mul(WRITER_BYTES)),
            source_bytes_charged: charged().sum(),
            source_bytes_of_one: charged().max().unwrap_or(0),
            sessions: self.sessions.len(),
            buffers: self.buffers.len(),
            instances: self.sessions.values().map(|s| s.instances.len()).sum(),
            config_bytes: configs().map(|(held, _)| held).sum(),
            config_bytes_charged: configs().map(|(_, charged)| charged).sum(),
            config_bytes_of_one: configs().map(|(held, _)| held).max().unwrap_or(0),
            codec_bytes_charged: self.cx.accounts.all(Resource::Codecs).sum(),
            buffer_bytes_charged: self.cx.accounts.all(Resource::Buffers).sum(),
            buffer_bytes: charges.map(BufferCharge::bytes).sum(),
            buffer_bytes_used: self.buffer_bytes_used(),
            buffer_bytes_limited: self.cx.accounts.limited(Resource::Buffers),
            flushes: self.sessions.values().map(|s| s.flushes.len()).sum(),
            flush_answers: (answers, self.cx.accounts.all(Resource::Answers).sum()),
            unsent_commands: self.producers.values().map(|p| p.commands.len()).sum(),
            timers: self.cx.timers.len(),
            stale_grants: allowed.filter(|buffer| !self.buffers.contains(**buffer)).count(),
            pending_clones: self.clones.len(),
            copying: self.buffers.all().map(TraceBuffer::unfinished_clones).sum(),
            detached_buffers: self.buffers.detached_len(),
            retired_bytes: self.buffers.retired_bytes(),
            trigger_names: self.trigger_history.len(),
            delayed_hits: self.sessions.values().map(|s| s.snapshot_hits.len()).sum(),
            losses: self.sessions.values().map(|s| s.ledger.len()).sum(),
            accounts: self.cx.accounts.len(),
            scratch_bytes: if connections == 0 { 0 } else { self.commits.scratch_bytes() },
        }
    }

    /// The most that it keeps of each kind: for a check against its limits.
    #[must_use]
    pub fn fullest(&self) -> Limits {
        let of_producers =
            |count: fn(&Producer) -> usize| self.producers.values().map(count).max().unwrap_or(0);
        let of_sessions =
            |count: fn(&Session) -> usize| self.sessions.values().map(count).max().unwrap_or(0);
        Limits {
            producers_max: self.producers.len(),
            data_sources_per_producer_max: of_producers(|p| p.sources.len()),
            writers_per_producer_max: of_producers(|p| p.writers.len()),
            commands_unsent_max: of_producers(|p| p.commands.len_unasked()),
            command_window_bytes: of_producers(|p| p.commands.in_flight_before_last()),
            instances_per_session_max: of_sessions(|s| s.instances.len()),
            sequences_per_session_max: of_sessions(|s| s.sequences.len()),
            flushes_pending_max: of_sessions(|s| s.flushes.len()),
            flush_answers_per_user_max: self.cx.accounts.limited(Resource::Answers).0,
            snapshots_pending_max: of_sessions(|s| s.unread_events.snapshots.len()),
            lifecycle_events_max: of_sessions(|s| s.unread_events.lifecycle_of_one_kind()),
            concurrent_events_max: of_sessions(|s| s.unread_events.concurrent.len()),
            triggers_received_max: of_sessions(|s| s.unread_events.triggers.len()),
            clone_hits_pending_max: of_sessions(|s| s.snapshot_hits.len()),
            trigger_names_max: self.trigger_history.len(),
            trigger_history_max: self.trigger_history.longest(),
            guardrail_names_max: self.sessions.guarded_starts.len(),
        }
    }

    /// What all events cost so far, in units of [`WORK_PER_ENTRY`](crate::limits::WORK_PER_ENTRY).
    #[must_use]
    pub fn work(&self) -> u64 {
        self.cx.work
    }

    /// The part of it that was for packets that were read, and for answers.
    #[must_use]
    pub fn read_work(&self) -> u64 {
        self.cx.read_work
    }

    /// What users hold and were refused: (accounts, refused charges).
    #[must_use]
    pub fn accounts(&self) -> (usize, u64) {
        (self.cx.accounts.len(), self.cx.accounts.refused())
    }

    /// Work of one producer, and of all that wait, in one turn from now on; see
    /// [`WORK_PER_PEER`](crate::limits::WORK_PER_PEER).
    pub fn set_work(&mut self, per_peer: u64, per_turn: u64) {
        (self.work_queue.per_peer, self.work_queue.per_turn) = (per_peer, per_turn);
    }

    /// Compresses so many bytes in one turn from now on; see
    /// [`COMPRESS_PIECE_BYTES`](crate::limits::COMPRESS_PIECE_BYTES). Notes what sessions begin to compress, for
    /// [`take_compressing`](Self::take_compressing).
    pub fn set_compress_piece(&mut self, bytes: usize) {
        self.compression_queue.piece_bytes = bytes;
        self.compression_queue.begun = Some(Vec::new());
    }

    /// The passes that sessions began to compress since the last call. A pass that waits may be there more than once.
    pub fn take_compressing(&mut self) -> Vec<BegunPass> {
        self.compression_queue.begun.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Bytes that were compressed so far.
    #[must_use]
    pub fn compressed_bytes(&self) -> u64 {
        self.compression_queue.bytes
    }

    /// Chunks that producers named in memory without data.
    #[must_use]
    pub fn holes_named(&self) -> u64 {
        self.commits.holes_named
    }

    /// How many steps there is memory for.
    #[must_use]
    pub fn steps_capacity(&self) -> usize {
        self.steps.capacity().saturating_add(self.cx.steps_capacity())
    }

    /// Fixes the random number of triggers from now on.
    pub fn set_draw(&mut self, draw: f64) {
        self.cx.random.fixed_draw = Some(draw);
    }

    /// The next producer gets the id after this one, if it is free: as after 65,535 connections.
    pub fn set_last_producer(&mut self, id: ProducerId) {
        self.producers.set_last_id(id);
    }

    /// The session of a consumer.
    #[must_use]
    pub fn session_of(&self, client: ClientId) -> Option<SessionId> {
        self.consumers.session_of(client)
    }

    /// Detached sessions: their users and keys.
    #[must_use]
    pub fn detached(&self) -> Vec<(u32, String)> {
        let key = |s: &Session| Some((s.uid, s.detach_key.clone()?));
        self.sessions.reachable().filter_map(key).collect()
    }

    /// What trace buffers take with their indexes, and numbers of sequences that are not free.
    fn buffer_bytes_used(&self) -> usize {
        let buffers = self.buffers.in_sessions().map(TraceBuffer::memory_bytes);
        let sequences = self.sessions.values().map(|session| {
            session.sequences.memory_bytes().saturating_sub(crate::limits::SEQUENCES_PIECE_BYTES)
        });
        buffers.chain(sequences).sum()
    }

    /// The statistics of a session, as its consumer could ask for them.
    pub fn stats_of(&mut self, id: SessionId) -> Option<protos::TraceStats> {
        let totals = self.totals();
        let session = self.sessions.get_mut(id)?;
        Some(super::stats::of(session, &self.buffers, &mut self.cx.accounts, &totals))
    }

    /// The number of the session that was made last.
    #[must_use]
    pub fn last_session(&self) -> SessionId {
        self.sessions.last_id()
    }

    /// A session as it is now.
    #[must_use]
    pub fn view(&self, id: SessionId) -> Option<SessionView> {
        let session = self.sessions.get(id)?;
        Some(SessionView {
            file_was_full: session.ledger.has_of_session(OfSession::FileFull),
            clone_pending: self.clones.is_pending_of(id),
            clone_failed: session.ledger.has_of_session(OfSession::CloneFailed),
            uid: session.uid,
            consumer: session.consumer,
            uuid: session.uuid,
            state: session.state().name(),
            is_being_made: session.is_being_made(),
            freed: session.life.is_freed(),
            buffers: session.buffers.clone(),
        })
    }

    /// The session that writes into a file.
    #[must_use]
    pub fn session_of_file(&self, file: FileId) -> Option<SessionId> {
        let has_file = |s: &&Session| s.file.as_ref().is_some_and(|f| f.id == file);
        self.sessions.values().find(has_file).map(|session| session.id)
    }

    /// The session that waits for a file to be created.
    #[must_use]
    pub fn session_waiting(&self, token: ShellToken) -> Option<SessionId> {
        let wait = SetUpWait::File(token);
        self.sessions.values().find(|s| s.life.waits_for(wait)).map(|session| session.id)
    }

    /// The user of a connection that is an accepted producer.
    #[must_use]
    pub fn uid_of_producer(&self, client: ClientId) -> Option<u32> {
        let producer = self.producers.values().find(|producer| producer.client == client)?;
        Some(producer.peer.uid)
    }

    /// The user of a connection that is a consumer.
    #[must_use]
    pub fn uid_of_consumer(&self, client: ClientId) -> Option<u32> {
        Some(self.consumers.get(client)?.peer.uid)
    }

    /// For each data source instance: the user of its producer, and the buffer it is to write to.
    pub fn set_up(&self) -> impl Iterator<Item = (u32, BufferId)> + '_ {
        self.sessions.values().flat_map(move |session| {
            session.instances.values().filter_map(move |instance| {
                let producer = self.producers.get(instance.producer)?;
                Some((producer.peer.uid, *session.buffers.get(instance.buffer_index)?))
            })
        })
    }

    /// Copies so many bytes for clones in one turn from now on.
    pub fn set_clone_piece(&mut self, bytes: usize) {
        self.clones.piece_bytes = bytes;
        self.clones.end_turn();
    }

    /// When the next timer is due: [`poll_timeout`](Self::poll_timeout), but for clones that are copied.
    #[must_use]
    pub fn poll_timers(&self) -> Option<BootTime> {
        self.cx.timers.next(&self.cx.now)
    }

    /// Whether a clone is being copied.
    #[must_use]
    pub fn copies_clones(&self) -> bool {
        self.clones.is_copying()
    }
}
