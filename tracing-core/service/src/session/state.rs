//! What a session is made of, and how its state may change.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use protos::{CloneSessionResponse, TraceConfig};

use super::config::{Checked, SourceFilter};
use super::file::SessionFile;
use super::flush::{FlushStrategy, PendingFlush};
use super::sequence::SequenceIds;
use crate::compress::Codec;
use crate::core::Service;
use crate::filter::TraceFilter;
use crate::limits;
use crate::output::Boost;
use crate::triggers::Triggers;
use abi::ids::{BufferId, CallId, ClientId, FlushId, InstanceId, ProducerId, SessionId};
use abi::sync::Arc;
use abi::time::Now;

/// Where a session is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum State {
    /// Not yet set up, or over.
    Disabled,
    /// Set up, waits for its start.
    Configured,
    /// Records.
    Started,
    /// Waits until data sources say that they stopped.
    Stopping,
    /// A copy of another session: it is only read.
    ClonedReadOnly,
}

impl State {
    /// As `TracingServiceState` spells it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Disabled => "DISABLED",
            Self::Configured => "CONFIGURED",
            Self::Started => "STARTED",
            Self::Stopping => "STOP_WAIT",
            Self::ClonedReadOnly => "CLONED_READ_ONLY",
        }
    }

    /// As `ConcurrentSessionEvent.State` numbers it.
    pub(crate) fn number(self) -> i32 {
        match self {
            Self::Disabled => 1,
            Self::Configured => 2,
            Self::Started => 3,
            Self::Stopping => 4,
            Self::ClonedReadOnly => 5,
        }
    }

    fn may_become(self, next: Self) -> bool {
        use State::{ClonedReadOnly, Configured, Disabled, Started, Stopping};
        matches!(
            (self, next),
            (Disabled, Configured | ClonedReadOnly)
                | (Configured, Started | Disabled)
                | (Started, Stopping | Disabled)
                | (Stopping | ClonedReadOnly, Disabled)
        )
    }

    /// Whether it is over, or never was a recording of its own: such sessions are told nothing more.
    pub(crate) fn is_settled(self) -> bool {
        matches!(self, Self::Disabled | Self::ClonedReadOnly)
    }
}

/// Where a data source instance is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum InstanceState {
    Configured,
    Starting,
    Started,
    Stopping,
    Stopped,
}

/// One data source of one producer, set up for one session.
#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) id: InstanceId,
    pub(crate) producer: ProducerId,
    pub(crate) producer_name: String,
    pub(crate) source: String,
    pub(crate) state: InstanceState,
    pub(crate) notifies_start: bool,
    pub(crate) notifies_stop: bool,
    pub(crate) clears_state: bool,
    pub(crate) no_flush: bool,
    /// Which data source of the config it is of, and which buffer that writes to.
    pub(crate) source_index: usize,
    pub(crate) buffer_index: usize,
    /// The `DataSourceConfig` as it was sent with the set-up, for the start.
    pub(crate) config: Bytes,
}

/// What happened in the life of a session, as the trace tells it (`TracingServiceEvent`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lifecycle {
    TracingStarted,
    AllSourcesStarted,
    FlushStarted,
    AllSourcesFlushed,
    ReadCompleted,
    TracingDisabled,
}

/// A list of data sources that were too slow for something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SlowSources {
    pub(crate) at_ns: u64,
    /// (producer, data source)
    pub(crate) sources: Vec<(String, String)>,
}

/// Another session changed its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConcurrentEvent {
    pub(crate) at_ns: u64,
    pub(crate) state: State,
    pub(crate) name: String,
    pub(crate) id: SessionId,
    pub(crate) uid: u32,
    pub(crate) instance_count: u32,
}

/// How the flush before the end went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FinalFlush {
    Unspecified,
    Succeeded,
    Failed,
}

/// As much of a name as is kept.
pub(crate) fn clip(name: &str) -> &str {
    &name[..name.floor_char_boundary(limits::NAME_BYTES_MAX)]
}

/// A trigger that a session waited for, and who fired it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TriggerHit {
    pub(crate) at_ns: u64,
    /// Shared with the config, as a producer may fire it often.
    pub(crate) name: Arc<str>,
    pub(crate) producer: Arc<str>,
    pub(crate) uid: u32,
    pub(crate) delay_ms: u64,
}

/// Numbers for `TraceStats` that only this session knows.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SessionCounters {
    pub(crate) invalid_packets: u64,
    pub(crate) flushes_requested: u64,
    pub(crate) flushes_succeeded: u64,
    pub(crate) flushes_failed: u64,
}

/// What the next reading pass has to say beside the packets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pending {
    /// The config, the uuid and the system were written: once per session, whoever reads first.
    pub(crate) initial_done: bool,
    pub(crate) first_snapshot: Option<Now>,
    pub(crate) snapshots: VecDeque<Now>,
    pub(crate) sync_marker: bool,
    pub(crate) stats: bool,
    /// (kind, boot time)
    pub(crate) lifecycle: Vec<(Lifecycle, u64)>,
    pub(crate) slow_start: Option<SlowSources>,
    pub(crate) flush_slow: Option<SlowSources>,
    pub(crate) concurrent: VecDeque<ConcurrentEvent>,
    /// Triggers that were received, in that order. The first `triggers_emitted` are in the trace already;
    /// they stay for clones, whose traces tell of them again.
    pub(crate) triggers: VecDeque<TriggerHit>,
    pub(crate) triggers_emitted: usize,
    /// Of a clone: what it was made for.
    pub(crate) clone_trigger: Option<TriggerHit>,
    /// Of a clone: when it was asked for.
    pub(crate) clone_started: Option<u64>,
    /// Of a clone: (index of a buffer, when it was copied).
    pub(crate) buffers_cloned: Vec<(u32, u64)>,
}

impl Pending {
    /// Keeps a trigger. If there are too many those go that are in the trace, then the newest.
    pub(crate) fn trigger(&mut self, hit: TriggerHit) {
        if self.triggers.len() >= limits::TRIGGERS_RECEIVED_MAX {
            if self.triggers_emitted == 0 {
                return;
            }
            self.triggers.pop_front();
            self.triggers_emitted -= 1;
        }
        self.triggers.push_back(hit);
    }

    /// A clone has these triggers, which came in that order.
    pub(crate) fn forget_triggers(&mut self, of_clone: &VecDeque<TriggerHit>) {
        let mut of_clone = of_clone.iter();
        while let Some(hit) = self.triggers.front()
            && of_clone.any(|known| known == hit)
        {
            self.triggers.pop_front();
            self.triggers_emitted = self.triggers_emitted.saturating_sub(1);
        }
    }

    /// Keeps an event until it is read; of one kind only so many, the oldest goes first.
    pub(crate) fn lifecycle(&mut self, kind: Lifecycle, at_ns: u64) {
        let max = match kind {
            Lifecycle::FlushStarted | Lifecycle::AllSourcesFlushed => limits::LIFECYCLE_EVENTS_MAX,
            _ => 1,
        };
        if self.lifecycle.iter().filter(|(k, _)| *k == kind).count() >= max
            && let Some(oldest) = self.lifecycle.iter().position(|(k, _)| *k == kind)
        {
            self.lifecycle.remove(oldest);
        }
        self.lifecycle.push((kind, at_ns));
    }
}

/// One session.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) id: SessionId,
    pub(crate) uid: u32,
    /// The connection it belongs to; none while it is detached, and once it is freed and only the file is
    /// still written.
    pub(crate) consumer: Option<ClientId>,
    /// The key it is detached under.
    pub(crate) detach_key: Option<String>,
    /// Of a clone that is not complete yet: what to answer then.
    pub(crate) clone_reply: Option<(Option<CallId>, CloneSessionResponse)>,
    pub(crate) config: TraceConfig,
    /// (least, most significant half)
    pub(crate) uuid: (i64, i64),
    pub(crate) state: State,
    pub(crate) state_since_ns: u64,
    pub(crate) buffers: Vec<BufferId>,
    /// One for each data source of the config.
    pub(crate) filters: Vec<SourceFilter>,
    pub(crate) triggers: Triggers,
    /// A trigger came that this session waited for.
    pub(crate) triggered: bool,
    /// What its consumer will be told of later, by the number of the timer.
    pub(crate) delayed_hits: BTreeMap<u64, TriggerHit>,
    /// By producer, then in the order of set-up: the order of starts, stops and flushes.
    pub(crate) instances: BTreeMap<(ProducerId, InstanceId), Instance>,
    /// Their encoded configs, summed, bytes.
    pub(crate) instance_bytes: usize,
    /// Its expressions were not held against the name of a producer: that would have taken too long.
    pub(crate) too_much_to_match: bool,
    pub(crate) flushes: BTreeMap<FlushId, PendingFlush>,
    pub(crate) strategy: FlushStrategy,
    pub(crate) pending: Pending,
    pub(crate) all_started_said: bool,
    pub(crate) start_realtime_ns: Option<u64>,
    pub(crate) sequences: SequenceIds,
    pub(crate) counters: SessionCounters,
    pub(crate) final_flush: FinalFlush,
    pub(crate) file: Option<SessionFile>,
    /// What of its packets may leave the service; none for all.
    pub(crate) filter: Option<TraceFilter>,
    /// How what is read is compressed.
    pub(crate) compression: Option<Codec>,
    /// The priority it wants the service to have.
    pub(crate) boost: Option<Boost>,
    /// The consumer is to hear of the end once the file is closed: the error, empty if none.
    pub(crate) end_note: Option<String>,
    /// What was said when it was: who attaches later is told the same.
    pub(crate) end_said: String,
    /// Freed, but its file is not closed yet. Nobody sees it any more.
    pub(crate) freed: bool,
}

impl Session {
    pub(crate) fn new(
        id: SessionId,
        uid: u32,
        consumer: ClientId,
        config: TraceConfig,
        uuid: (i64, i64),
        checked: Checked,
    ) -> Self {
        Self {
            id,
            uid,
            consumer: Some(consumer),
            detach_key: None,
            clone_reply: None,
            config,
            uuid,
            state: State::Disabled,
            state_since_ns: 0,
            buffers: Vec::new(),
            filters: checked.filters,
            triggers: checked.triggers,
            triggered: false,
            delayed_hits: BTreeMap::new(),
            instances: BTreeMap::new(),
            instance_bytes: 0,
            too_much_to_match: false,
            flushes: BTreeMap::new(),
            strategy: FlushStrategy::None,
            pending: Pending::default(),
            all_started_said: false,
            start_realtime_ns: None,
            sequences: SequenceIds::default(),
            counters: SessionCounters::default(),
            final_flush: FinalFlush::Unspecified,
            file: None,
            filter: None,
            compression: None,
            boost: None,
            end_note: None,
            end_said: String::new(),
            freed: false,
        }
    }

    pub(crate) fn name(&self) -> &str {
        self.config.unique_session_name.as_deref().unwrap_or_default()
    }

    /// The switches for what the service itself writes; absent means all defaults.
    pub(crate) fn builtin(&self) -> protos::TraceConfigBuiltinDataSource {
        self.config.builtin_data_sources.clone().unwrap_or_default()
    }

    pub(crate) fn snapshots_clocks(&self) -> bool {
        let builtin = self.config.builtin_data_sources.as_ref();
        !builtin.and_then(|b| b.disable_clock_snapshotting).unwrap_or(false)
    }

    /// An event for other sessions' traces about this one, as it is now.
    pub(crate) fn as_concurrent_event(&self) -> ConcurrentEvent {
        ConcurrentEvent {
            at_ns: self.state_since_ns,
            state: self.state,
            name: clip(self.name()).to_owned(),
            id: self.id,
            uid: self.uid,
            instance_count: self.instances.len() as u32,
        }
    }
}

impl Service {
    /// The only way to change a session's state. Other sessions that asked for it hear of it.
    ///
    /// # Panics
    /// On a transition that the table has not: our own fault, whatever peers did.
    pub(crate) fn set_state(&mut self, id: SessionId, state: State) {
        let at_ns = self.now.boot_ns;
        let Some(session) = self.sessions.get_mut(&id) else { return };
        if session.state == state {
            return;
        }
        assert!(session.state.may_become(state), "{:?} cannot become {state:?}", session.state);
        session.state = state;
        session.state_since_ns = at_ns;
        let event = session.as_concurrent_event();
        for other in self.sessions.values_mut() {
            if other.id != id && !other.state.is_settled() && other.wants_concurrent_events() {
                push_concurrent(&mut other.pending, event.clone());
            }
        }
    }
}

impl Session {
    pub(crate) fn wants_concurrent_events(&self) -> bool {
        let builtin = self.config.builtin_data_sources.as_ref();
        builtin.and_then(|b| b.enable_concurrent_session_events).unwrap_or(false)
    }
}

/// The newest is dropped when nobody reads: the beginning of a story tells more than its end.
pub(crate) fn push_concurrent(pending: &mut Pending, event: ConcurrentEvent) {
    if pending.concurrent.len() < limits::CONCURRENT_EVENTS_MAX {
        pending.concurrent.push_back(event);
    }
}
