//! The service itself: its parts, and where events, timers and steps go.
//!
//! Each part owns its state and knows nothing of the service. A part that needs another one gets it as an argument, or
//! asks for a [`Step`]. This module alone sees all parts; its files are the dispatches of inputs, requests, timers and
//! steps.

mod compress;
mod consumer;
mod producer;
mod steps;
mod timers;
mod work;

use super::buffers::Buffers;
use super::commit::ChunkIntake;
use super::compression_queue::CompressionQueue;
use super::consumers::Consumers;
use super::context::Context;
use super::data_sources::Sources;
use super::effect_queue::Caller;
use super::error::SessionError;
use super::ledger::{Loss, LossOwner, Reason};
use super::producers::Producers;
use super::query::{self, StateSources};
use super::session::admission::RequestFile;
use super::session::clone::Clones;
use super::session::priority::Priority;
use super::session::read::{self, PassContext};
use super::session::state::Sessions;
use super::session::{enable, write};
use super::shell_accounts::ShellAccounts;
use super::stats::ServiceTotals;
use super::step::Step;
use super::trigger_history::TriggerHistory;
use super::user_accounts::AccountSources;
use super::work::WorkQueue;
use crate::config::ServiceConfig;
use crate::input::Input;
use crate::limits;
use crate::output::Output;
use abi::ids::{ClientId, ProducerId};
use abi::time::{BootTime, Now};

/// The tracing service. See the [module](super) for how to drive it.
#[derive(Debug)]
pub struct Service {
    pub(crate) cx: Context,
    pub(crate) producers: Producers,
    pub(crate) sources: Sources,
    pub(crate) consumers: Consumers,
    pub(crate) sessions: Sessions,
    pub(crate) buffers: Buffers,
    pub(crate) clones: Clones,
    pub(crate) trigger_history: TriggerHistory,
    pub(crate) commits: ChunkIntake,
    priority: Priority,
    /// As the shell told it last.
    shell: ShellAccounts,
    /// Peers and sessions whose work waits.
    pub(crate) work_queue: WorkQueue,
    /// Sessions that have something to compress.
    pub(crate) compression_queue: CompressionQueue,
    /// Steps that are still to be done, the next one last.
    pub(crate) steps: Vec<Step>,
}

impl Service {
    /// A service without producers, consumers or sessions.
    #[must_use]
    pub fn new(config: ServiceConfig) -> Self {
        let buffers = Buffers::new(config.regions.clone());
        let cx = Context::new(config);
        Self {
            buffers,
            work_queue: WorkQueue::new(cx.accounts.decoded_share()),
            cx,
            producers: Producers::default(),
            sources: Sources::default(),
            consumers: Consumers::default(),
            sessions: Sessions::default(),
            clones: Clones::default(),
            trigger_history: TriggerHistory::default(),
            commits: ChunkIntake::default(),
            priority: Priority::default(),
            shell: ShellAccounts::default(),
            compression_queue: CompressionQueue::default(),
            steps: Vec::new(),
        }
    }

    /// Takes one event. Drain [`poll_output`](Self::poll_output) afterwards.
    pub fn handle(&mut self, now: &Now, input: Input) {
        self.cx.now = *now;
        let cx = &mut self.cx;
        cx.out.about = None;
        match input {
            Input::ProducerConnected { client, peer, in_process } => {
                self.producers.add_connection(client, peer, in_process);
            }
            Input::ProducerRefused { client, peer } => {
                let who = LossOwner::new(client, ProducerId::new(0), "".into(), &peer);
                let loss = Loss::new(who, Reason::ProducerRefused);
                self.sessions.note_loss(None, &loss, cx);
            }
            Input::ProducerRequest { client, call, request, region } => {
                self.handle_producer_request(Caller { client, call }, request, region);
            }
            Input::ProducerDisconnected { client } => {
                self.handle_producer_disconnected(client, None)
            }
            Input::ProducerCut { client, why } => {
                self.handle_producer_disconnected(client, Some(why.into()));
            }
            Input::ConsumerConnected { client, peer } => {
                self.consumers.add_connection(client, peer)
            }
            Input::ConsumerRequest { client, call, request, file } => {
                let caller = Caller { client, call };
                self.handle_consumer_request(caller, request, RequestFile::new(file));
            }
            Input::ConsumerDisconnected { client } => self.handle_consumer_disconnected(client),
            Input::FileCreated { token, result } => {
                enable::handle_file_created(token, result, &mut self.sessions, cx);
            }
            Input::FileWritten { file, result } => {
                if let Some(result) = self.clones.take_copy_answer(file, result, cx) {
                    write::handle_file_written(file, result, &mut self.sessions, cx);
                }
            }
            Input::PrioritySet { token, result } => {
                enable::handle_priority_set(token, result, &mut self.sessions, cx);
            }
            Input::Drained { client } => {
                if self.consumers.get(client).is_some() {
                    self.handle_consumer_drained(client);
                } else {
                    self.producers.handle_drained(client, &mut cx.out);
                }
            }
            Input::FramesDecoded { client, refused, bytes } => {
                self.handle_frames_decoded(client, refused, bytes);
            }
            Input::ShellCounted(accounts) => self.shell = *accounts,
        }
        self.end_turn();
    }

    /// Does a bounded part of what is due at `now`. Drain [`poll_output`](Self::poll_output) afterwards, and call this
    /// again for as long as [`poll_timeout`](Self::poll_timeout) is not in the future.
    pub fn handle_timeout(&mut self, now: &Now) {
        self.cx.now = *now;
        self.run_timers();
        let (bytes, sequences) = self.buffers.free_piece(&mut self.cx.accounts);
        self.cx.spend((bytes as u64).checked_div(limits::FREED_BYTES_PER_WORK).unwrap_or(0));
        self.cx.spend((sequences as u64).saturating_mul(limits::WORK_PER_FREED_SEQUENCE));
        self.run_queued();
        self.compress_piece();
        self.cx.out.about = None;
        self.cx.then(Step::CopyPiece);
        self.end_turn();
    }

    /// Ends all sessions, with this reason for their consumers: the service is about to go. Their files get everything
    /// that reached it; drain [`poll_output`](Self::poll_output) and answer what concerns the files until the service
    /// [is idle](Self::is_idle).
    pub fn end_sessions(&mut self, now: &Now, reason: &str) {
        self.cx.now = *now;
        let reason = SessionError::Shutdown(reason.to_owned());
        for session in self.sessions.ids() {
            self.cx.then(Step::Free { session, reason: Some(reason.clone()) });
        }
        self.cx.then(Step::FailAllClones(reason));
        self.run_steps();
        // The shell waits for files alone.
        for session in self.sessions.ids() {
            self.finish_work(session);
        }
        self.end_turn();
    }

    /// Runs the remaining steps, disconnects producers that are to be cut, and sends the events that consumers observe.
    fn end_turn(&mut self) {
        self.run_steps();
        while let Some(client) = self.cx.out.next_to_disconnect() {
            self.handle_producer_disconnected(client, Some(Reason::CutNotReading));
            self.run_steps();
            self.cx.out.disconnect(client);
        }
        self.consumers.send_observed(&mut self.cx.out);
        self.clones.end_turn();
    }

    /// The next effect to carry out.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.cx.out.pop()
    }

    /// Takes back the bytes of a reply that has left, or of a piece of a file that is written, to use their memory
    /// again. Optional; the content does not matter.
    pub fn give_back(&mut self, memory: bytes::Bytes) {
        self.cx.out.pool.give(memory);
    }

    /// When to call [`handle_timeout`](Self::handle_timeout) at the latest: at once, while a clone is copied or work
    /// waits.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<BootTime> {
        if self.clones.is_copying() || self.has_work() {
            return Some(self.cx.now.boot());
        }
        self.cx.timers.next(&self.cx.now)
    }

    /// Whether [`handle_timeout`](Self::handle_timeout) is to be called at `now_ns`, boot time. If the last input came
    /// later, its time counts: work that is done in pieces is always due.
    #[must_use]
    pub fn is_due(&self, now_ns: u64) -> bool {
        let now_ns = now_ns.max(self.cx.now.boot_ns);
        self.poll_timeout().is_some_and(|due| due.as_ns() <= now_ns)
    }

    /// True once all sessions ended and their files are closed: a daemon that is told to stop waits for this after
    /// [`end_sessions`](Self::end_sessions).
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.sessions.len() == 0
    }

    fn continue_queries(&mut self, client: ClientId) {
        if self.consumers.get(client).is_none_or(|consumer| consumer.queries.is_empty()) {
            return;
        }
        let Self { cx, sessions, .. } = self;
        let cloning = self.clones.clients().filter_map(|client| self.consumers.uid(client));
        let state = StateSources {
            version: &cx.config.version,
            sessions,
            producers: &self.producers,
            sources: &self.sources,
            accounts: AccountSources::new(
                &cx.accounts,
                &self.shell,
                &self.work_queue,
                sessions,
                cloning,
            ),
        };
        let bytes = query::continue_answers(client, &mut self.consumers, &state, &mut cx.out);
        cx.spend_on_reading(bytes as u64, limits::WORK_PER_ENCODED_BYTE);
    }

    fn continue_read(&mut self, client: ClientId) {
        let totals = self.totals();
        let Self { cx, consumers, sessions, producers, buffers, .. } = self;
        let (mut context, (out, _)) = PassContext::new(cx, producers, buffers, totals);
        read::continue_stream(client, consumers, sessions, &mut context, out);
        let bytes = context.cost_bytes as u64;
        cx.spend_on_reading(bytes, limits::WORK_PER_READ_BYTE);
        if let Some(id) = self.consumers.session_of(client) {
            self.queue_compressing(id);
        }
    }

    /// The numbers of the whole service for `TraceStats`.
    pub(crate) fn totals(&self) -> ServiceTotals {
        ServiceTotals {
            producers_connected: self.producers.len() as u32,
            producers_seen: self.producers.seen().into(),
            data_sources_registered: self.sources.len() as u32,
            data_sources_seen: self.cx.instances_seen(),
            total_buffers: self.buffers.len() as u32,
            chunks_discarded: self.commits.chunks_discarded,
            patches_discarded: self.commits.patches_discarded,
            tracing_sessions: self.sessions.live().count() as u32,
        }
    }
}
