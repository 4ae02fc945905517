//! Timers that are due. A session pays for what its timers cause, from an allowance of its own.

use super::Service;
use crate::limits;
use crate::session::{clear, file_copy, flush, start, stop, write};
use crate::timers::TimerKind;
use crate::triggers;
use abi::ids::{CloneId, FlushId, SessionId};

impl Service {
    /// Does what is due, at least one thing, until a turn's share of work is done. What is left stays due.
    pub(super) fn run_timers(&mut self) {
        let now = self.cx.now;
        let end = self.cx.work.saturating_add(self.work_queue.per_turn);
        let mut is_first = true;
        while (is_first || self.cx.work < end)
            && let Some((kind, id)) = self.cx.timers.pop_due(&now)
        {
            is_first = false;
            let owner = self.owner_of_timer(kind, id);
            let uid = owner.and_then(|owner| self.sessions.get(owner)).map(|session| session.uid);
            self.cx.out.about = uid;
            let left = owner.map_or(u64::MAX, |owner| self.left_for_timers(owner));
            // Only periodic requests to producers are put off. A file is written ten times a second at most.
            if left == 0 && matches!(kind, TimerKind::Flush | TimerKind::ClearState) {
                self.cx.set_timer_ms(limits::TIMER_PUT_OFF_MS, kind, id);
                continue;
            }
            let before = self.cx.unpaid_work();
            self.handle_timer(kind, id);
            self.run_steps();
            let cost = self.cx.unpaid_work().saturating_sub(before);
            if let Some(session) = owner.and_then(|owner| self.sessions.get_mut(owner)) {
                session.timer_allowance.spend(cost);
            }
        }
    }

    /// What the timers of a session may cause now. Its allowance for them grows with time alone.
    fn left_for_timers(&mut self, id: SessionId) -> u64 {
        let (now_ns, per_peer) = (self.cx.now.boot_ns, self.work_queue.per_peer);
        let session = self.sessions.get_mut(id);
        session.map_or(u64::MAX, |session| session.timer_allowance.left(now_ns, per_peer))
    }

    /// The session that wants a timer. What other timers log names its user itself.
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
    fn handle_timer(&mut self, kind: TimerKind, id: u64) {
        let cx = &mut self.cx;
        match kind {
            TimerKind::FlushTimeout => {
                return flush::handle_timeout(FlushId::new(id), &self.sessions, cx);
            }
            TimerKind::CloneCopy => return file_copy::handle_copy_timeout(CloneId::new(id), cx),
            TimerKind::CloneHit => {
                let (sessions, consumers) = (&mut self.sessions, &mut self.consumers);
                return triggers::handle_clone_hit_timer(id, sessions, consumers, cx);
            }
            _ => {}
        }
        let Some(session) = self.sessions.get_mut(SessionId::new(id)) else { return };
        match kind {
            TimerKind::FlushTimeout | TimerKind::CloneCopy | TimerKind::CloneHit => {}
            TimerKind::StopTimeout => stop::handle_stop_timeout(session, cx),
            TimerKind::FileStall => stop::handle_file_stall(session, cx),
            TimerKind::TriggerTimeout => stop::handle_trigger_timeout(session, cx),
            TimerKind::TriggerStop => cx.then(stop::flush_and_disable(session.id)),
            TimerKind::Duration => stop::handle_duration_end(session, cx),
            TimerKind::SlowStart => start::handle_slow_start_timer(session, cx),
            TimerKind::Snapshot => start::take_snapshot(session, cx),
            TimerKind::FileWrite => write::handle_timer(session, cx),
            TimerKind::Flush => flush::handle_timer(session, cx),
            TimerKind::ClearState => clear::handle_timer(session, &mut self.producers, cx),
        }
    }
}
