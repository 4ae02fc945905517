//! The steps: what follows from an event inside the service.

use super::Service;
use crate::accounts::User;
use crate::effect_queue::Caller;
use crate::limits;
use crate::session::read::PassContext;
use crate::session::{clone, enable, flush, pending_clone, start, stop, write};
use crate::step::Step;
use crate::triggers;
use crate::work::Todo;
use abi::ids::{FlushId, SessionId};

impl Service {
    /// Runs all steps, and those that follow from them.
    #[inline]
    pub(super) fn run_steps(&mut self) {
        // As after most commits.
        if !self.cx.has_no_steps() || !self.steps.is_empty() {
            self.run_all_steps();
        }
    }

    fn run_all_steps(&mut self) {
        loop {
            // The steps that the last one added come before those that wait, in their order.
            self.steps.extend(self.cx.take_steps().rev());
            let Some(step) = self.steps.pop() else { break };
            self.run_step(step);
        }
        // One event of a peer can lead to thousands of steps.
        self.steps.shrink_to(limits::STEPS_KEPT_MAX);
        self.cx.shrink_steps(limits::STEPS_KEPT_MAX);
    }

    fn run_step(&mut self, step: Step) {
        let cx = &mut self.cx;
        match step {
            Step::ReplySuccess(caller) => cx.out.reply_empty(caller),
            Step::AnnounceState(event) => self.sessions.announce(&event, cx.now.boot_ns),
            Step::Admit(admission) => {
                let (sessions, consumers) = (&mut self.sessions, &mut self.consumers);
                let (buffers, priority) = (&mut self.buffers, &mut self.priority);
                enable::admit(*admission, sessions, consumers, buffers, priority, cx);
            }
            Step::FailEnabling { session, error } => {
                let (sessions, consumers) = (&mut self.sessions, &mut self.consumers);
                let (buffers, priority) = (&mut self.buffers, &mut self.priority);
                enable::fail(session, &error, sessions, consumers, buffers, priority, cx);
            }
            Step::FlushAcked { producer, upto } => {
                let Some(producer) = self.producers.get_mut(producer) else { return };
                flush::handle_ack(producer, upto, &mut self.sessions, cx);
            }
            Step::AfterFlush { session, then, success } => {
                flush::continue_after(session, self.sessions.get_mut(session), then, success, cx);
            }
            Step::ForgetProducer(id) => {
                let Some(mut producer) = self.producers.forget(id, &mut cx.out) else { return };
                flush::handle_ack(&mut producer, FlushId::new(u64::MAX), &mut self.sessions, cx);
                let less = producer.work.take_counted();
                self.work_queue.release(User::of(&producer.peer), less);
            }
            Step::CloneGroup(flushed) => {
                if let Some(source) = self.clones.source_of(flushed.clone) {
                    self.add_session_work(source, Todo::CloneGroup(flushed, 0));
                }
            }
            Step::CopyPiece
            | Step::FinishClone(_)
            | Step::EndClone { .. }
            | Step::FailClonesOf { .. }
            | Step::FailCopiesOf { .. }
            | Step::FailAllClones(_)
            | Step::LimitCopyTime(_) => self.run_clone_step(step),
            Step::Erase(id) => self.erase(id),
            Step::Detach { session, call, key } => {
                let consumer = self.sessions.get(session).and_then(|session| session.consumer);
                if let Some(client) = consumer {
                    self.detach(Caller { client, call }, &key);
                }
            }
            Step::Scrape { session, then } => self.begin_scrape(session, then),
            Step::SetUp { session, job } => self.add_session_work(session, Todo::SetUp(*job)),
            Step::StopInstances(id) => self.add_session_work(id, Todo::Stop(None)),
            Step::Release { session, reason } => {
                self.add_session_work(session, Todo::Release(reason));
            }
            Step::StartInstances(id) => self.add_session_work(id, Todo::Start(None)),
            Step::Free { session, reason } => self.free(session, reason),
            step => self.run_session_step(step),
        }
    }

    /// Runs a step of one session, unless the session is gone.
    ///
    /// # Panics
    /// On a step that nothing runs: an error of the service, whatever peers did.
    fn run_session_step(&mut self, step: Step) {
        let Some(id) = step.session() else { unreachable!("nothing runs {step:?}") };
        let Some(session) = self.sessions.get_mut(id) else {
            return flush::refuse_without_session(step, &mut self.cx);
        };
        let (cx, producers) = (&mut self.cx, &mut self.producers);
        let consumers = &mut self.consumers;
        match step {
            Step::CreateFile(_) => enable::create_file(session, cx),
            Step::Configure(_) => {
                enable::configure(session, &self.sources, cx);
            }
            Step::Configured(_) => enable::finish_set_up(session, consumers, cx),
            Step::Start(_) => start::start_session(session, consumers, cx),
            Step::Flush { timeout_ms, flags, then, .. } => {
                flush::flush(session, timeout_ms, flags, then, producers, consumers, cx);
            }
            Step::FinishFlush { flush, .. } => {
                flush::finish(session, flush, producers, cx);
            }
            Step::FailFlushes(_) => flush::fail_all(session, producers, cx),
            Step::RemoveInstance { key, .. } => {
                stop::remove_instance(session, key, producers, consumers, cx);
            }
            Step::Disable { immediate, error, .. } => {
                stop::disable(session, immediate, error, cx);
            }
            Step::DisableOrFree(_) => stop::disable_or_free(session, cx),
            Step::Finalise(_) => stop::finalise(session, cx),
            Step::NoteEnd(_) => {
                stop::note_end(session, cx);
                triggers::end_hits(session, consumers, cx);
            }
            Step::FinishFile(_) => write::finish(session, cx),
            // The consumer reads when it is told.
            Step::ReportEnd(id) if self.clones.may_give_back(id) => {}
            Step::ReportEnd(_) => stop::report_end(session, consumers, cx),
            Step::WriteFile(_) => write::begin(session, cx),
            Step::ContinueFile(id) => self.continue_file(id),
            Step::FileClosed(_) => write::handle_file_closed(session, cx),
            Step::CloneWritten { error, .. } => {
                pending_clone::handle_clone_written(session, error.as_ref(), consumers, cx);
            }
            Step::CloneLost(_) => clone::note_lost(session, cx),
            Step::FailCloneReply { reason, .. } => {
                pending_clone::fail_reply(session, reason, consumers, cx);
            }
            step => unreachable!("{step:?} is not a step of one session"),
        }
    }

    fn run_clone_step(&mut self, step: Step) {
        let (cx, clones, buffers) = (&mut self.cx, &mut self.clones, &mut self.buffers);
        let (sessions, consumers) = (&mut self.sessions, &mut self.consumers);
        match step {
            Step::CopyPiece => clones.copy_piece(buffers, cx),
            Step::FinishClone(clone) => clones.finish(clone, sessions, consumers, buffers, cx),
            Step::EndClone { clone, error } => {
                clones.end(clone, error, sessions, consumers, buffers, cx);
            }
            Step::FailClonesOf { session, reason } => {
                clones.fail_of_source(session, &reason, cx);
            }
            Step::FailCopiesOf { session, error } => {
                clones.fail_file_copies(session, &error, cx);
            }
            Step::FailAllClones(reason) => clones.fail_all(&reason, cx),
            Step::LimitCopyTime(session) => {
                if let Some(session) = sessions.get(session) {
                    clones.limit_copy_time(session, cx);
                }
            }
            step => unreachable!("{step:?} is not a step of clones"),
        }
    }

    /// Writes into the file of a session, unless that waits for a clone.
    fn continue_file(&mut self, id: SessionId) {
        let totals = self.totals();
        let Self { cx, clones, sessions, producers, buffers, .. } = self;
        let session = sessions.get_mut(id).filter(|session| !clones.delays_file_of(session));
        let Some(session) = session else { return };
        let (mut context, (out, timers)) = PassContext::new(cx, producers, buffers, totals);
        let is_full = write::write_passes(session, &mut context, out, timers);
        let bytes = context.cost_bytes as u64;
        cx.spend_on_reading(bytes, limits::WORK_PER_READ_BYTE);
        if is_full {
            cx.then(Step::Disable { session: id, immediate: false, error: None });
        }
        self.queue_compressing(id);
    }

    /// The last step of a session: the numbers of its buffers are free again.
    fn erase(&mut self, id: SessionId) {
        let Some(mut session) = self.sessions.remove(id) else { return };
        self.cx.out.about = Some(session.uid);
        // One may have begun after all others failed.
        flush::fail_all(&mut session, &mut self.producers, &mut self.cx);
        session.compression.drop_pass(User::local(session.uid), &mut self.cx.accounts);
        let (mut charge, since) = (session.buffer_charge.take(), self.buffers.retired_so_far());
        for buffer in &session.buffers {
            self.clones.detach_buffer(*buffer, &mut charge, None, &mut self.buffers);
        }
        self.buffers.settle(charge, since, &mut self.cx.accounts);
        stop::cancel_timers(&mut session, &mut self.cx);
        triggers::lose_hits(&mut session, &mut self.cx);
        session.lose_taken(&mut self.cx);
        self.priority.request(&mut self.cx, self.sessions.highest_boost());
        let left = self.sessions.len();
        self.cx.out.info(format!("session {id} ended, {left} sessions left"));
    }
}
