//! Snapshots of all clocks: how a reader converts between their domains.

use std::collections::VecDeque;

use super::core::Service;
use super::session::state::State;
use super::timers::{Clock, TimerKind};
use crate::limits;
use abi::ids::SessionId;
use abi::time::Now;

/// (builtin clock id, reading), in the order upstream writes them (`clock_snapshots.cc`).
pub(super) fn clocks(now: &Now) -> impl Iterator<Item = (u32, u64)> {
    let always = [
        (6, now.boot_ns),
        (2, now.real_coarse_ns),
        (4, now.mono_coarse_ns),
        (1, now.real_ns),
        (3, now.mono_ns),
        (5, now.mono_raw_ns),
    ];
    always.into_iter().chain(now.tsc.map(|tsc| (9, tsc)))
}

/// True if some clock moved against boot time by enough that a reader with only `old` would be wrong.
/// A TSC counts cycles, so with one this is always so after a while, as it is upstream (`SnapshotClocks`).
pub(super) fn drifted(old: &Now, new: &Now) -> bool {
    let delta = |a: u64, b: u64| i128::from(b) - i128::from(a);
    let boot = delta(old.boot_ns, new.boot_ns);
    clocks(old).zip(clocks(new)).any(|((_, a), (_, b))| {
        (delta(a, b) - boot).unsigned_abs() >= u128::from(limits::SNAPSHOT_DRIFT_NS)
    })
}

/// Adds a snapshot unless the newest unread one says the same.
pub(super) fn push(ring: &mut VecDeque<Now>, now: &Now) {
    if ring.back().is_some_and(|newest| !drifted(newest, now)) {
        return;
    }
    if ring.len() >= limits::SNAPSHOTS_PENDING_MAX {
        ring.pop_front();
    }
    ring.push_back(*now);
}

impl Service {
    /// Takes a snapshot for the session unless its config forbids it.
    pub(super) fn snapshot_clocks(&mut self, id: SessionId) {
        let now = self.now;
        if let Some(session) = self.sessions.get_mut(&id)
            && session.snapshots_clocks()
        {
            push(&mut session.pending.snapshots, &now);
        }
    }

    /// The periodic task: what a reader needs now and then to make sense of a piece of the trace.
    pub(super) fn snapshot_due(&mut self, id: SessionId) {
        let now = self.now;
        let Some(session) = self.sessions.get_mut(&id) else { return };
        if session.state != State::Started {
            return;
        }
        session.pending.sync_marker = true;
        session.pending.stats = true;
        let builtin = session.builtin();
        let period = match builtin.snapshot_interval_ms.unwrap_or(0) {
            0 => limits::SNAPSHOT_PERIOD_MS,
            ms => ms.into(),
        };
        let clock = match builtin.prefer_suspend_clock_for_snapshot {
            Some(true) => Clock::Boot,
            _ => Clock::Monotonic,
        };
        self.timers.set_aligned_on(&now, clock, period, TimerKind::Snapshot, id.0);
        self.snapshot_clocks(id);
    }
}
