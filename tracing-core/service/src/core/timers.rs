//! Timers that are due. A session pays for what its timers cause, from an allowance of its own.

use super::Service;
use crate::session::{clear, clone, flush, start, stop, write};
use crate::timers::TimerKind;
use crate::triggers;
use abi::ids::{FlushId, SessionId};

/// After how long a timer is looked at again whose session has not paid for the last time yet, ms.
const PUT_OFF_MS: u64 = 1;

impl Service {
    /// Does what is due, at least one thing, until a turn's share of work is done. What is left stays due.
    pub(super) fn run_timers(&mut self) {
        let now = self.turn.now;
        let end = self.turn.work.saturating_add(self.line.per_turn);
        let mut is_first = true;
        while (is_first || self.turn.work < end)
            && let Some((kind, id)) = self.turn.timers.pop_due(&now)
        {
            is_first = false;
            let owner = self.owner_of_timer(kind, id);
            let uid = owner.and_then(|owner| self.sessions.get(owner)).map(|session| session.uid);
            self.turn.out.about = uid;
            let left = owner.map_or(u64::MAX, |owner| self.left_for_timers(owner));
            // What it asks producers for again and again. A file is written ten times a second at most.
            if left == 0 && matches!(kind, TimerKind::Flush | TimerKind::ClearState) {
                self.turn.set_timer_ms(PUT_OFF_MS, kind, id);
                continue;
            }
            let before = self.turn.unpaid_work();
            self.timer_due(kind, id);
            self.run_steps();
            let cost = self.turn.unpaid_work().saturating_sub(before);
            if let Some(session) = owner.and_then(|owner| self.sessions.get_mut(owner)) {
                session.timer_allowance.spend(cost);
            }
        }
    }

    /// What the timers of a session may cause now. Its allowance for them grows with time alone.
    fn left_for_timers(&mut self, id: SessionId) -> u64 {
        let (now_ns, per_peer) = (self.turn.now.boot_ns, self.line.per_peer);
        let session = self.sessions.get_mut(id);
        session.map_or(u64::MAX, |session| session.timer_allowance.left(now_ns, per_peer))
    }

    /// The session that wants a timer. Timers without one log nothing.
    fn owner_of_timer(&self, kind: TimerKind, id: u64) -> Option<SessionId> {
        match kind {
            TimerKind::CloneCopy | TimerKind::CloneHit => None,
            TimerKind::FlushTimeout => {
                flush::session_of(FlushId::new(id), &self.sessions).map(|session| session.id)
            }
            _ => Some(SessionId::new(id)),
        }
    }

    /// Hands a timer that is due to its owner.
    fn timer_due(&mut self, kind: TimerKind, id: u64) {
        let turn = &mut self.turn;
        match kind {
            TimerKind::FlushTimeout => {
                return flush::timed_out(FlushId::new(id), &self.sessions, turn);
            }
            TimerKind::CloneCopy => return clone::copy_too_slow(id, turn),
            TimerKind::CloneHit => {
                let (sessions, consumers) = (&mut self.sessions, &mut self.consumers);
                return triggers::clone_hit_due(id, sessions, consumers, turn);
            }
            _ => {}
        }
        let Some(session) = self.sessions.get_mut(SessionId::new(id)) else { return };
        match kind {
            TimerKind::FlushTimeout | TimerKind::CloneCopy | TimerKind::CloneHit => {}
            TimerKind::StopTimeout => stop::stop_timed_out(session, turn),
            TimerKind::FileStall => stop::file_stalled(session, turn),
            TimerKind::TriggerTimeout => stop::trigger_timed_out(session, turn),
            TimerKind::TriggerStop => turn.then(stop::flush_and_disable(session.id)),
            TimerKind::Duration => stop::duration_ended(session, turn),
            TimerKind::SlowStart => start::slow_start_due(session, turn),
            TimerKind::Snapshot => start::snapshot_due(session, turn),
            TimerKind::FileWrite => write::due(session, turn),
            TimerKind::Flush => flush::periodic_due(session, turn),
            TimerKind::ClearState => clear::due(session, &mut self.producers, turn),
        }
    }
}
