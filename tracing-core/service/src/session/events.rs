//! Events of a session that its trace does not contain yet.

use std::collections::VecDeque;

use super::life::SessionState;
use crate::clocks;
use crate::limits::Limits;
use abi::ids::SessionId;
use abi::sync::Arc;
use abi::time::Now;

/// What happened to a session, as the trace tells it (`TracingServiceEvent`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lifecycle {
    TracingStarted,
    AllSourcesStarted,
    FlushStarted,
    AllSourcesFlushed,
    ReadCompleted,
    TracingDisabled,
}

/// Data sources that were too slow for something.
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
    pub(crate) state: SessionState,
    /// Shared by all sessions that are told, and by their clones.
    pub(crate) name: Arc<str>,
    pub(crate) id: SessionId,
    pub(crate) uid: u32,
    pub(crate) instance_count: u32,
}

/// A trigger that a session waited for, and the producer that activated it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TriggerHit {
    pub(crate) at_ns: u64,
    /// Shared with the config, as a producer may activate it often.
    pub(crate) name: Arc<str>,
    pub(crate) producer: Arc<str>,
    pub(crate) uid: u32,
    pub(crate) delay_ms: u64,
}

/// What the next reading pass adds to the packets of the buffers.
#[derive(Clone, Debug)]
pub(crate) struct UnreadEvents {
    limits: Limits,
    /// The config, the uuid and the system were written: once per session.
    pub(crate) initial_done: bool,
    pub(crate) first_snapshot: Option<Now>,
    pub(crate) snapshots: VecDeque<Now>,
    /// The last snapshot that was read.
    pub(crate) newest_read: Option<Now>,
    pub(crate) sync_marker: bool,
    pub(crate) stats: bool,
    /// (kind, boot time)
    pub(crate) lifecycle: Vec<(Lifecycle, u64)>,
    pub(crate) slow_start: Option<SlowSources>,
    pub(crate) flush_slow: Option<SlowSources>,
    pub(crate) concurrent: VecDeque<ConcurrentEvent>,
    /// Triggers that were received, in that order. The first `triggers_emitted` are in the trace already; they
    /// stay for clones, whose traces tell of them again.
    pub(crate) triggers: VecDeque<TriggerHit>,
    pub(crate) triggers_emitted: usize,
    /// Of a clone: the trigger that it was made for.
    pub(crate) clone_trigger: Option<TriggerHit>,
    /// Of a clone: when it was asked for.
    pub(crate) clone_started: Option<u64>,
    /// Of a clone: (index of a buffer, when it was copied).
    pub(crate) buffers_cloned: Vec<(u32, u64)>,
}

impl UnreadEvents {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            limits: *limits,
            initial_done: false,
            first_snapshot: None,
            snapshots: VecDeque::new(),
            newest_read: None,
            sync_marker: false,
            stats: false,
            lifecycle: Vec::new(),
            slow_start: None,
            flush_slow: None,
            concurrent: VecDeque::new(),
            triggers: VecDeque::new(),
            triggers_emitted: 0,
            clone_trigger: None,
            clone_started: None,
            buffers_cloned: Vec::new(),
        }
    }

    /// Keeps a trigger. If there are too many, those go that are in the trace; else the new one, and the result is
    /// false.
    #[must_use]
    pub(crate) fn add_trigger(&mut self, hit: TriggerHit) -> bool {
        if self.triggers.len() >= self.limits.triggers_received_max {
            let Some(emitted) = self.triggers_emitted.checked_sub(1) else { return false };
            self.triggers.pop_front();
            self.triggers_emitted = emitted;
        }
        self.triggers.push_back(hit);
        true
    }

    /// Drops the triggers that a clone has taken over, which came in that order.
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
    pub(crate) fn add_lifecycle(&mut self, kind: Lifecycle, at_ns: u64) {
        let max = match kind {
            Lifecycle::FlushStarted | Lifecycle::AllSourcesFlushed => {
                self.limits.lifecycle_events_max
            }
            _ => 1,
        };
        if self.lifecycle.iter().filter(|(k, _)| *k == kind).count() >= max
            && let Some(oldest) = self.lifecycle.iter().position(|(k, _)| *k == kind)
        {
            self.lifecycle.remove(oldest);
        }
        self.lifecycle.push((kind, at_ns));
    }

    /// How many events there are of the kind that has the most.
    pub(crate) fn lifecycle_of_one_kind(&self) -> usize {
        let count = |(kind, _): &(Lifecycle, u64)| {
            self.lifecycle.iter().filter(|(other, _)| other == kind).count()
        };
        self.lifecycle.iter().map(count).max().unwrap_or(0)
    }

    /// Keeps a snapshot of the clocks unless the newest one says the same. Returns how many a reader lacks because of
    /// that.
    pub(crate) fn add_snapshot(&mut self, now: &Now) -> u64 {
        if self.snapshots.back().is_some_and(|newest| !clocks::have_drifted(newest, now)) {
            return 0;
        }
        let is_full = self.snapshots.len() >= self.limits.snapshots_pending_max;
        let lacking = if is_full { self.thin_snapshots() } else { 0 };
        self.snapshots.push_back(*now);
        lacking
    }

    /// Makes room for a snapshot. Every second one goes of those by which only a TSC moved, so that the rest covers all
    /// the time; where each tells more, every second one. Returns how many of these went.
    fn thin_snapshots(&mut self) -> u64 {
        let (mut last, mut is_second) = (self.first_snapshot.or(self.newest_read), true);
        self.snapshots.retain(|snapshot| {
            is_second = !is_second;
            let is_news = last.is_none_or(|last| clocks::times_have_drifted(&last, snapshot));
            if is_news || is_second {
                last = Some(*snapshot);
            }
            is_news || is_second
        });
        let all = self.snapshots.len();
        if all < self.limits.snapshots_pending_max {
            return 0;
        }
        let mut is_second = true;
        self.snapshots.retain(|_| {
            is_second = !is_second;
            is_second
        });
        all.saturating_sub(self.snapshots.len()) as u64
    }

    /// Keeps an event of another session. When there are too many the newest is dropped, and the result is false: the
    /// beginning tells more than the end.
    #[must_use]
    pub(crate) fn add_concurrent(&mut self, event: ConcurrentEvent) -> bool {
        let has_room = self.concurrent.len() < self.limits.concurrent_events_max;
        if has_room {
            self.concurrent.push_back(event);
        }
        has_room
    }
}
