//! What a session is made of, and all sessions.

use bytes::Bytes;
use protos::{CloneSessionResponse, TraceConfig};

use super::compressing::Compression;
use super::config::{Checked, SourceFilter};
use super::end_report::EndReport;
use super::events::{ConcurrentEvent, UnreadEvents};
use super::file::SessionFile;
use super::flush_request::{FinalFlush, FlushStrategy, PendingFlush};
use super::instance::Instances;
use super::life::{Life, SessionState};
use super::rings::Rings;
use super::sequence::SequenceIds;
use super::snapshot_hits::SnapshotHits;
use super::trigger_config::{TriggerMode, Triggers};
use crate::accounts::{Accounts, BufferCharge};
use crate::context::Context;
use crate::error::SessionError;
use crate::filter::TraceFilter;
use crate::ids::{SourceId, TraceUuid};
use crate::ledger::{Amount, Ledger, Loss, OfSession, Reason};
use crate::limits::{self, Limits};
use crate::matching::clip_name;
use crate::output::Boost;
use crate::producers::{Producer, is_more};
use crate::step::Step;
use crate::work::{Allowance, Work};
use abi::ids::{BufferId, CallId, ClientId, FileId, FlushId, ProducerId, SessionId};
use abi::map::{BlockMap, BlockSet, SortedMap};
use abi::outlined::Outlined;
use abi::sync::Arc;
use abi::time::Now;

/// Numbers for `TraceStats` that only this session knows.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SessionCounters {
    pub(crate) invalid_packets: u64,
    pub(crate) flushes_requested: u64,
    pub(crate) flushes_succeeded: u64,
    pub(crate) flushes_failed: u64,
}

/// The answer that the consumer of a clone waits for.
pub(crate) type CloneReply = (Option<CallId>, CloneSessionResponse);

/// One session.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) id: SessionId,
    pub(crate) uid: u32,
    /// The connection it belongs to; none while it is detached, and once it is freed and only the file is still
    /// written.
    pub(crate) consumer: Option<ClientId>,
    /// The key it is detached under.
    pub(crate) detach_key: Option<String>,
    /// Of a clone whose file is not complete: the answer for then.
    pub(crate) clone_reply: Outlined<Option<CloneReply>>,
    /// Clones share it with their source. What it may take is bounded where it is decoded
    /// ([`IPC_DECODED_BYTES_MAX`](crate::limits::IPC_DECODED_BYTES_MAX)).
    pub(crate) config: Arc<TraceConfig>,
    /// For each data source of the config what its instances get, once one was set up: encoded, the same for all.
    pub(crate) encoded: SortedMap<usize, Bytes>,
    pub(crate) uuid: TraceUuid,
    pub(crate) life: Life,
    /// The last registration that its set-up looks at.
    pub(crate) known_sources: SourceId,
    /// What it does in pieces.
    pub(crate) work: Work,
    /// What its timers may cause.
    pub(crate) timer_allowance: Allowance,
    pub(crate) buffers: Vec<BufferId>,
    /// What is on the account of its user for them, and for its sequences.
    pub(crate) buffer_charge: BufferCharge,
    /// Part of that charge: bytes of the longest packet that was copied, if it had more than
    /// [`LONG_PACKET_BYTES`](crate::limits::LONG_PACKET_BYTES).
    pub(crate) copied_bytes: usize,
    /// Which producers each data source of the config is for.
    pub(crate) source_filters: Outlined<Vec<SourceFilter>>,
    pub(crate) triggers: Outlined<Triggers>,
    /// A trigger came that this session waited for.
    pub(crate) triggered: bool,
    /// Triggers that its consumer is to be told of.
    pub(crate) snapshot_hits: SnapshotHits,
    pub(crate) instances: Instances,
    /// Producers that may write into its buffers, and how often writers of each had begun to drop packets before.
    pub(crate) producers: BlockMap<ProducerId, u32>,
    /// The names of some producers were not matched: that exceeded the budget.
    pub(crate) match_budget_exceeded: bool,
    pub(crate) flushes: BlockMap<FlushId, PendingFlush>,
    pub(crate) strategy: FlushStrategy,
    pub(crate) rings: Rings,
    pub(crate) unread_events: Outlined<UnreadEvents>,
    pub(crate) all_started_reported: bool,
    pub(crate) start_realtime_ns: Option<u64>,
    pub(crate) sequences: SequenceIds,
    pub(crate) counters: SessionCounters,
    pub(crate) ledger: Ledger,
    pub(crate) final_flush: FinalFlush,
    pub(crate) file: Option<SessionFile>,
    /// Of a clone: what it took, until all of it was sent, or is in its file.
    pub(crate) taken: Option<Taken>,
    /// Which fields of its packets may leave the service; none for all.
    pub(crate) packet_filter: Outlined<Option<TraceFilter>>,
    pub(crate) compression: Compression,
    /// The priority it wants the service to have.
    pub(crate) boost: Option<Boost>,
    /// Its consumer asked to leave it under a key before it was set up: the call is answered then.
    pub(crate) pending_detach: Outlined<Option<(Option<CallId>, String)>>,
    pub(crate) end_report: EndReport,
}

impl Session {
    pub(crate) fn new(
        id: SessionId,
        uid: u32,
        consumer: ClientId,
        config: Arc<TraceConfig>,
        uuid: TraceUuid,
        checked: Checked,
        limits: &Limits,
    ) -> Self {
        Self {
            id,
            uid,
            consumer: Some(consumer),
            detach_key: None,
            clone_reply: Outlined::default(),
            config,
            encoded: SortedMap::new(),
            uuid,
            life: Life::new(),
            known_sources: SourceId::NONE,
            work: Work::default(),
            timer_allowance: Allowance::default(),
            buffers: Vec::new(),
            buffer_charge: BufferCharge::new(uid),
            copied_bytes: 0,
            source_filters: Outlined::new(checked.filters),
            triggers: Outlined::new(checked.triggers),
            triggered: false,
            snapshot_hits: SnapshotHits::default(),
            instances: Instances::new(limits.instances_per_session_max),
            producers: BlockMap::new(),
            match_budget_exceeded: false,
            flushes: BlockMap::new(),
            strategy: FlushStrategy::None,
            rings: Rings::default(),
            unread_events: Outlined::new(UnreadEvents::new(limits)),
            all_started_reported: false,
            start_realtime_ns: None,
            sequences: SequenceIds::new(limits),
            counters: SessionCounters::default(),
            ledger: Ledger::default(),
            final_flush: FinalFlush::Unspecified,
            file: None,
            taken: None,
            packet_filter: Outlined::default(),
            compression: Compression::default(),
            boost: None,
            pending_detach: Outlined::default(),
            end_report: EndReport::default(),
        }
    }

    pub(crate) fn name(&self) -> &str {
        self.config.unique_session_name.as_deref().unwrap_or_default()
    }

    pub(crate) fn state(&self) -> SessionState {
        self.life.state()
    }

    /// Whether producers still record into it.
    pub(crate) fn records(&self) -> bool {
        self.life.records()
    }

    /// Whether what its producers lose is a loss of it: until what they still held at its end was taken.
    fn loses(&self) -> bool {
        self.records() || self.work.scrapes_for_end()
    }

    /// A producer may write into its buffers.
    pub(crate) fn add_producer(&mut self, producer: &mut Producer, cx: &mut Context) {
        if !self.producers.contains_key(&producer.id) {
            cx.spend(limits::WORK_PER_ENTRY);
            self.producers.insert(producer.id, producer.losses_noted(cx));
        }
    }

    /// Whether a producer, whose writers have begun `noted` times to drop packets, did so since it was added.
    fn has_lost_since(&self, producer: ProducerId, noted: u32) -> bool {
        self.producers.get(&producer).is_some_and(|before| is_more(noted, *before))
    }

    /// The session ends: notes what a producer lost before, and did not tell yet. Nobody knows for which session the
    /// producer wrote that.
    pub(crate) fn note_untold(&mut self, producer: &mut Producer, cx: &mut Context) {
        cx.spend(limits::WORK_PER_ENTRY);
        let untold = producer.untold_losses(cx);
        let told = producer.loss_marks;
        if producer.gaps.may_concern(&self.buffers) && self.has_lost_since(producer.id, told) {
            self.add_loss(dropped_more(producer), cx);
        }
        let reason = if producer.gone {
            // What it leaves behind is looked at later.
            Reason::LeftUnfinished
        } else if untold.is_some_and(|noted| self.has_lost_since(producer.id, noted)) {
            Reason::DroppedAtEnd
        } else {
            return;
        };
        let text = format_args!("session {} ends, and perhaps packets of it are lost", self.id);
        producer.log_error(&mut cx.out, text);
        self.add_loss(Loss { amount: Amount::PERHAPS, ..producer.loss(reason) }, cx);
    }

    /// Puts a loss into the ledger, unless the session is over. What is missing when it is set up is one, too.
    pub(crate) fn note_loss(&mut self, loss: Loss, cx: &Context) {
        if self.loses() || self.is_being_made() {
            self.add_loss(loss, cx);
        }
    }

    /// Puts a loss into the ledger.
    pub(crate) fn add_loss(&mut self, loss: Loss, cx: &Context) {
        self.add_loss_at(loss, &cx.accounts, cx.now.boot_ns);
    }

    /// The same at `now_ns`, boot time, for a pass, which has no whole context.
    pub(crate) fn add_loss_at(&mut self, loss: Loss, accounts: &Accounts, now_ns: u64) {
        let is_unlimited = accounts.is_unlimited_in(self.uid, loss.who.user());
        self.ledger.add(loss, is_unlimited, now_ns);
    }

    /// Keeps an event of another session for its trace, if there is room; else the ledger has it.
    pub(crate) fn add_concurrent(&mut self, event: ConcurrentEvent, now_ns: u64) {
        if !self.unread_events.add_concurrent(event) {
            self.ledger.add_of_session(OfSession::EventsDropped, Amount::exactly(1), now_ns);
        }
    }

    /// Whether it was admitted but is not set up yet.
    pub(crate) fn is_being_made(&self) -> bool {
        self.life.is_being_made()
    }

    /// The only way to change the state. Other sessions that asked for it are told.
    ///
    /// # Panics
    /// If the state must not become that one (`SessionState::may_become`): an error of the service, whatever peers did.
    pub(crate) fn set_state(&mut self, cx: &mut Context, state: SessionState) {
        self.life.set_state(state, cx.now.boot_ns);
        cx.then(Step::AnnounceState(self.as_concurrent_event()));
    }

    /// The switches for what the service itself writes; absent means all defaults.
    pub(crate) fn builtin(&self) -> protos::TraceConfigBuiltinDataSource {
        self.config.builtin_data_sources.clone().unwrap_or_default()
    }

    pub(crate) fn wants_snapshots(&self) -> bool {
        let builtin = self.config.builtin_data_sources.as_ref();
        !builtin.and_then(|b| b.disable_clock_snapshotting).unwrap_or(false)
    }

    pub(crate) fn wants_concurrent_events(&self) -> bool {
        let builtin = self.config.builtin_data_sources.as_ref();
        builtin.and_then(|b| b.enable_concurrent_session_events).unwrap_or(false)
    }

    /// Takes a snapshot of the clocks unless the config forbids it.
    pub(crate) fn snapshot_clocks(&mut self, now: &Now) {
        if !self.wants_snapshots() {
            return;
        }
        let lacking = self.unread_events.add_snapshot(now);
        if lacking > 0 {
            let amount = Amount::exactly(lacking);
            self.ledger.add_of_session(OfSession::EventsDropped, amount, now.boot_ns);
        }
    }

    /// An event for other sessions' traces about this one, as it is now.
    pub(crate) fn as_concurrent_event(&self) -> ConcurrentEvent {
        ConcurrentEvent {
            at_ns: self.life.state_since_ns(),
            state: self.state(),
            name: clip_name(self.name()).into(),
            id: self.id,
            uid: self.uid,
            instance_count: self.instances.len() as u32,
        }
    }

    /// Whether its trace must not be read: no trigger came yet, or it is there to be cloned only.
    pub(crate) fn waits_for_trigger(&self) -> bool {
        let untriggered = !self.triggers.by_name.is_empty() && !self.triggered;
        self.state() != SessionState::ClonedReadOnly
            && (untriggered || self.triggers.mode == TriggerMode::Clone)
    }

    /// The error that the log and the consumer are told when its file cannot be written.
    pub(crate) fn write_error(&self, reason: String) -> SessionError {
        SessionError::WriteFile { path: self.config.output_path.clone(), reason }
    }

    /// Its file takes nothing any more. If it is a clone, its source is told what it lost. Returns the file.
    pub(crate) fn lose_file(&mut self, cx: &mut Context) -> Option<FileId> {
        let id = self.file.take()?.id;
        self.lose_taken(cx);
        Some(id)
    }

    /// What it took of another session gets into no trace any more.
    pub(crate) fn lose_taken(&mut self, cx: &mut Context) {
        if let Some(taken) = self.taken.take() {
            cx.then(Step::CloneLost(taken.source));
        }
    }

    /// All that waited for its consumer was sent.
    pub(crate) fn note_sent(&mut self) {
        self.taken.take_if(|taken| taken.is_read);
    }
}

/// What a clone took out of the buffers of another session.
#[derive(Debug)]
pub(crate) struct Taken {
    pub(crate) source: SessionId,
    /// Its consumer has read all of it. The end of it waits to be sent.
    pub(crate) is_read: bool,
}

/// Writers of a producer began to drop packets, and it may have dropped more since it told how many.
fn dropped_more(producer: &Producer) -> Loss {
    Loss { amount: Amount::PERHAPS, ..producer.loss(Reason::Dropped) }
}

/// All sessions, those included that are freed and still write their file.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    by_id: SortedMap<SessionId, Session>,
    last_id: u64,
    /// The last session of each name that began under extra guardrails.
    pub(crate) guarded_starts: SortedMap<String, GuardedStart>,
}

/// A session under extra guardrails began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GuardedStart {
    /// Boot time, ns.
    pub(crate) at_ns: u64,
    pub(crate) uid: u32,
}

impl Sessions {
    pub(crate) fn next_id(&mut self) -> SessionId {
        self.last_id = self.last_id.saturating_add(1);
        SessionId::new(self.last_id)
    }

    /// The number that was given out last.
    pub(crate) fn last_id(&self) -> SessionId {
        SessionId::new(self.last_id)
    }

    pub(crate) fn insert(&mut self, session: Session) {
        self.by_id.insert(session.id, session);
    }

    pub(crate) fn remove(&mut self, id: SessionId) -> Option<Session> {
        self.by_id.remove(&id)
    }

    pub(crate) fn get(&self, id: SessionId) -> Option<&Session> {
        self.by_id.get(&id)
    }

    pub(crate) fn get_mut(&mut self, id: SessionId) -> Option<&mut Session> {
        self.by_id.get_mut(&id)
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &Session> {
        self.by_id.values()
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut Session> {
        self.by_id.values_mut()
    }

    /// The sessions that are not freed.
    pub(crate) fn live(&self) -> impl Iterator<Item = &Session> {
        self.by_id.values().filter(|session| !session.life.is_freed())
    }

    /// The sessions that requests can reach: neither freed nor about to be freed.
    pub(crate) fn reachable(&self) -> impl Iterator<Item = &Session> {
        self.by_id.values().filter(|session| session.life.is_reachable())
    }

    pub(crate) fn ids(&self) -> Vec<SessionId> {
        self.by_id.keys().copied().collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.by_id.len()
    }

    /// The session that has a buffer.
    pub(crate) fn of_buffer(&mut self, id: BufferId) -> Option<&mut Session> {
        self.by_id.values_mut().find(|session| session.buffers.contains(&id))
    }

    /// The buffers that a producer may write to, of sessions that are not over.
    pub(crate) fn buffers_recorded_by(&self, producer: ProducerId) -> BlockSet<BufferId> {
        let of = |s: &&Session| s.loses() && s.producers.contains_key(&producer);
        self.by_id.values().filter(of).flat_map(|s| s.buffers.iter().copied()).collect()
    }

    /// Puts a loss into the ledgers of the sessions that a producer records into; of all sessions without one.
    pub(crate) fn note_loss(&mut self, producer: Option<ProducerId>, loss: &Loss, cx: &Context) {
        for session in self.by_id.values_mut() {
            if producer.is_none_or(|id| session.producers.contains_key(&id)) {
                session.note_loss(loss.clone(), cx);
            }
        }
    }

    /// Puts what a producer left behind into the ledgers of its sessions.
    pub(crate) fn note_leftovers(&mut self, producer: &mut Producer, cx: &mut Context) {
        let lost: Vec<_> = producer.left.take_lost().collect();
        let of_no_buffer = producer.left.take_of_no_buffer();
        let untold = producer.left.take_untold();
        for session in self.by_id.values_mut() {
            if !session.loses() || !session.producers.contains_key(&producer.id) {
                continue;
            }
            // Those of writers that ended are told.
            let has_gaps = producer.gaps.may_concern(&session.buffers);
            if has_gaps && session.has_lost_since(producer.id, producer.loss_marks) {
                session.note_loss(dropped_more(producer), cx);
            }
            let mut sum = of_no_buffer;
            if untold.is_some_and(|noted| session.has_lost_since(producer.id, noted)) {
                sum.add(Amount::PERHAPS);
            }
            for (_, amount) in lost.iter().filter(|(id, _)| session.buffers.contains(id)) {
                sum.add(*amount);
            }
            if sum == Amount::default() {
                continue;
            }
            let (id, name, count) = (session.id, &producer.name, sum.count);
            let count = match (count, sum.at_least) {
                (0, _) => "perhaps".to_owned(),
                (count, true) => format!("at least {count}"),
                (count, false) => count.to_string(),
            };
            cx.out.error(format!(
                "session {id}: producer {} ({name}) is gone, and {count} packets of it are lost",
                producer.id
            ));
            let loss = Loss { amount: sum, ..producer.loss(Reason::LeftUnfinished) };
            session.note_loss(loss, cx);
        }
    }

    /// A producer is gone, and what it left behind is not looked at yet: sessions that end meanwhile may lose it.
    pub(crate) fn note_unseen(&mut self, producer: &mut Producer, cx: &mut Context) {
        for session in self.by_id.values_mut() {
            if session.work.scrapes_for_end() && session.producers.contains_key(&producer.id) {
                session.note_untold(producer, cx);
            }
        }
    }

    /// The highest priority that a session asks for.
    pub(crate) fn highest_boost(&self) -> Option<Boost> {
        self.by_id.values().filter_map(|session| session.boost).max()
    }

    /// Tells sessions that asked for it of the new state of another one.
    pub(crate) fn announce(&mut self, event: &ConcurrentEvent, now_ns: u64) {
        for other in self.by_id.values_mut() {
            let is_told = !other.state().is_settled() && other.wants_concurrent_events();
            if is_told && other.id != event.id {
                other.add_concurrent(event.clone(), now_ns);
            }
        }
    }
}
