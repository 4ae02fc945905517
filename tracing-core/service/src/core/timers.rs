//! Timers that are due. A session pays for what its timers cause, from an allowance of its own.

use super::Service;
use crate::context::Context;
use crate::limits;
use crate::session::state::Session;
use crate::session::{clear, file_copy, flush, start, stop, write};
use crate::timers::Timer;
use crate::triggers;
use abi::ids::SessionId;

impl Service {
    /// Does what is due, at least one thing, until a turn's share of work is done. What is left stays due.
    pub(super) fn run_timers(&mut self) {
        let now = self.cx.now;
        let end = self.cx.work.saturating_add(self.work_queue.per_turn);
        let mut is_first = true;
        while (is_first || self.cx.work < end)
            && let Some(timer) = self.cx.timers.pop_due(&now)
        {
            is_first = false;
            let owner = self.session_of_timer(timer);
            let uid = owner.and_then(|owner| self.sessions.get(owner)).map(|session| session.uid);
            self.cx.out.about = uid;
            let left = owner.map_or(u64::MAX, |owner| self.left_for_timers(owner));
            // Only periodic requests to producers are put off. A file is written ten times a second at most.
            if left == 0 && matches!(timer, Timer::Flush(_) | Timer::ClearState(_)) {
                self.cx.set_timer_ms(limits::TIMER_PUT_OFF_MS, timer);
                continue;
            }
            let before = self.cx.unpaid_work();
            self.handle_timer(timer);
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
    fn session_of_timer(&self, timer: Timer) -> Option<SessionId> {
        match timer {
            Timer::CloneCopy(_) | Timer::CloneHit(_) => None,
            Timer::FlushTimeout(id) => {
                flush::session_of(id, &self.sessions).map(|session| session.id)
            }
            Timer::StopTimeout(id)
            | Timer::FileStall(id)
            | Timer::TriggerTimeout(id)
            | Timer::TriggerStop(id)
            | Timer::Duration(id)
            | Timer::SlowStart(id)
            | Timer::Snapshot(id)
            | Timer::FileWrite(id)
            | Timer::Flush(id)
            | Timer::ClearState(id) => Some(id),
        }
    }

    /// Hands a timer that is due to its owner.
    fn handle_timer(&mut self, timer: Timer) {
        let (sessions, cx) = (&mut self.sessions, &mut self.cx);
        let mut of_session = |id, handle: fn(&mut Session, &mut Context)| {
            if let Some(session) = sessions.get_mut(id) {
                handle(session, cx);
            }
        };
        match timer {
            Timer::FlushTimeout(id) => flush::handle_timeout(id, sessions, cx),
            Timer::CloneCopy(id) => file_copy::handle_copy_timeout(id, cx),
            Timer::CloneHit(number) => {
                triggers::handle_clone_hit_timer(number, sessions, &mut self.consumers, cx);
            }
            Timer::StopTimeout(id) => of_session(id, stop::handle_stop_timeout),
            // It is not the file that takes nothing.
            Timer::FileStall(id) if self.clones.may_give_back(id) => {
                stop::limit_file_stall(id, cx);
            }
            Timer::FileStall(id) => of_session(id, stop::handle_file_stall),
            Timer::TriggerTimeout(id) => of_session(id, stop::handle_trigger_timeout),
            Timer::TriggerStop(id) => of_session(id, stop::handle_time_end),
            Timer::Duration(id) => of_session(id, stop::handle_duration_end),
            Timer::SlowStart(id) => of_session(id, start::handle_slow_start_timer),
            Timer::Snapshot(id) => of_session(id, start::take_snapshot),
            Timer::FileWrite(id) => of_session(id, |s, cx| write::handle_timer(s, cx)),
            Timer::Flush(id) => of_session(id, |s, cx| flush::handle_timer(s, cx)),
            Timer::ClearState(id) => {
                if let Some(session) = sessions.get(id) {
                    clear::handle_timer(session, &mut self.producers, cx);
                }
            }
        }
    }
}
