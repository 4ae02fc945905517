//! The state of the model and its steps.

use super::{Action, Rule, Session};
use crate::set::Set;

/// A call of a consumer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub enum Call {
    #[default]
    NotAsked,
    Waiting,
    Answered,
    /// Its consumer is gone.
    Gone,
}

/// Where the session is (`tracing-core/service/src/session/events.rs`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub enum Phase {
    #[default]
    Started,
    /// It waits for the last flush.
    Stopping,
    /// No packet gets in any more; the file is being finished.
    Ended,
    /// The end was reported, or the session was erased.
    Closed,
}

/// What follows a flush (`tracing-core/service/src/session/flush_request/mod.rs`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Then {
    Reply,
    Clone,
    /// The consumer asked for the end.
    Stop,
    /// The session ends by itself.
    End,
}

/// A flush that the producer did not acknowledge.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Flush(pub Then);

/// What the shell was asked to do for the file (`tracing-core/service/src/output.rs`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Job {
    Write(Set),
    Copy,
}

/// The file of a clone (`tracing-core/service/src/session/pending_clone.rs`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum CloneFile {
    /// The source has none.
    None,
    Copying,
    Copied(Set),
}

/// A buffer that is taken for a clone, and its bytes (`tracing-core/service/src/session/copying.rs`).
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub struct Taken {
    is_flushed: bool,
    /// All that a trace made at this moment would have.
    instant: Set,
    /// What is yet to be copied, and what was.
    left: Set,
    copied: Set,
    /// What left the source's buffer and is kept until it is copied.
    kept: Set,
}

/// A clone that is not made yet.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub struct Pending {
    /// What was written before.
    asked: Set,
    file: CloneFile,
    taken: Option<Taken>,
}

impl Pending {
    /// Whether it needs nothing of its source any more but bytes.
    fn is_taken(&self) -> bool {
        self.taken.is_some() && self.file != CloneFile::Copying
    }
}

/// The trace of a clone.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub struct Cloned {
    pub file: Set,
    pub buffer: Set,
    pub instant: Set,
    pub asked: Set,
    pub is_flushed: bool,
}

/// All that there is.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub struct State {
    pub made: u8,
    pub is_connected: bool,
    /// A consumer has the session, or it is detached; else it is freed.
    pub has_owner: bool,
    pub is_detached: bool,
    /// Whether it ever was.
    pub was_left: bool,
    /// Whether it was when it ended by itself.
    pub ended_detached: bool,
    pub phase: Phase,
    // The places of packets; those in `shell` besides.
    pub held: Set,
    pub buffer: Set,
    pub file: Set,
    pub read: Set,
    /// Came after the session ended, or was in a buffer that nobody reads any more.
    pub late: Set,
    pub shell: Vec<Job>,
    /// A pass is due; the last one is due or was made.
    pub drains: bool,
    pub finishes: bool,
    pub flushes: Vec<Flush>,
    pub flush_call: Call,
    /// The end is to be reported.
    pub end_is_pending: bool,
    pub end_call: Call,
    pub clone_call: Call,
    pub clone: Option<Pending>,
    pub cloned: Option<Cloned>,
}

impl Default for State {
    fn default() -> Self {
        let empty = Set::default();
        Self {
            made: 0,
            is_connected: true,
            has_owner: true,
            is_detached: false,
            was_left: false,
            ended_detached: false,
            phase: Phase::Started,
            held: empty,
            buffer: empty,
            file: empty,
            read: empty,
            late: empty,
            shell: Vec::new(),
            drains: false,
            finishes: false,
            flushes: Vec::new(),
            flush_call: Call::NotAsked,
            end_is_pending: false,
            end_call: Call::NotAsked,
            clone_call: Call::NotAsked,
            clone: None,
            cloned: None,
        }
    }
}

impl State {
    /// Where packets are. The trace of a clone is another trace.
    pub(super) fn places(&self) -> Vec<Set> {
        let writes = self.shell.iter().filter_map(|job| match job {
            Job::Write(packets) => Some(*packets),
            Job::Copy => None,
        });
        writes.chain([self.held, self.buffer, self.file, self.read, self.late]).collect()
    }

    /// Whether a consumer waits for something that is to come by itself: the end, once it has begun.
    pub(super) fn waits(&self) -> bool {
        let end = self.end_call == Call::Waiting && self.phase != Phase::Started;
        end || [self.flush_call, self.clone_call].contains(&Call::Waiting)
    }

    pub(super) fn is_timer_due(&self) -> bool {
        matches!(self.phase, Phase::Started | Phase::Stopping)
            && !self.buffer.is_empty()
            && !self.drains
    }

    pub(super) fn is_copying(&self) -> bool {
        let taken = self.clone.as_ref().and_then(|clone| clone.taken.as_ref());
        taken.is_some_and(|taken| !taken.left.is_empty())
    }

    pub(super) fn act(&mut self, model: &Session, action: Action) {
        match action {
            Action::Write => {
                self.held.add(Set::of(self.made));
                self.made += 1;
            }
            Action::Commit => self.commit(),
            Action::Acknowledge => {
                if model.keeps(Rule::DataBeforeAcknowledgement) {
                    self.commit();
                }
                while !self.flushes.is_empty() {
                    self.end_flush(model, true);
                }
            }
            Action::ProducerLeaves => {
                self.commit();
                self.is_connected = false;
                while !self.flushes.is_empty() && model.keeps(Rule::GoneIsNotAsked) {
                    self.end_flush(model, true);
                }
            }
            Action::AskFlush => {
                self.flush_call = Call::Waiting;
                self.flush(model, Then::Reply);
            }
            Action::FlushTimeout => self.end_flush(model, false),
            Action::Read => {
                let packets = self.take_from_buffer(model);
                self.read.add(packets);
            }
            Action::FileTimer => {
                self.drains = true;
                self.continue_file(model);
            }
            Action::ShellWorks => self.shell_works(model),
            Action::AskClone => self.ask_clone(model),
            Action::CopyFails => {
                self.shell.retain(|job| *job != Job::Copy);
                if model.keeps(Rule::ErrorsAreAnswered) {
                    self.end_clone(model, true);
                }
            }
            Action::CopyPiece => self.copy_piece(model),
            Action::ClonerLeaves => {
                self.clone_call = Call::Gone;
                if model.keeps(Rule::ClonesAreAbandoned) {
                    self.end_clone(model, false);
                }
            }
            Action::Stop => {
                self.phase = Phase::Stopping;
                self.end_call = Call::Waiting;
                self.flush(model, Then::Stop);
            }
            // Who asked for a flush before it detached is still there.
            Action::OwnerLeaves => self.free(model, self.was_left),
            Action::Detach => self.detach(model),
            Action::Attach => self.attach(model),
            Action::AskEnd => {
                self.end_call = Call::Waiting;
                self.answer_end(model);
            }
            Action::Duration => {
                self.phase = Phase::Stopping;
                self.flush(model, Then::End);
            }
        }
    }

    fn detach(&mut self, model: &Session) {
        (self.has_owner, self.is_detached, self.was_left) = (false, true, true);
        if model.keeps(Rule::LeaverWaitsNotForEnd) {
            self.end_call = Call::NotAsked;
        }
    }

    fn attach(&mut self, model: &Session) {
        (self.has_owner, self.is_detached) = (true, false);
        let is_over = matches!(self.phase, Phase::Ended | Phase::Closed);
        self.end_is_pending |= is_over && model.keeps(Rule::EndIsReportedAgain);
    }

    /// All that the producer holds gets into the buffer.
    fn commit(&mut self) {
        let packets = self.held.take();
        match self.phase {
            Phase::Started | Phase::Stopping => self.buffer.add(packets),
            Phase::Ended | Phase::Closed => self.late.add(packets),
        }
    }

    fn flush(&mut self, model: &Session, then: Then) {
        let is_legal = self.phase == Phase::Started || matches!(then, Then::Stop | Then::End);
        if self.is_connected && is_legal {
            self.flushes.push(Flush(then));
        } else {
            self.after_flush(model, then, is_legal);
        }
    }

    fn end_flush(&mut self, model: &Session, success: bool) {
        let Flush(then) = self.flushes.remove(0);
        self.after_flush(model, then, success);
    }

    fn after_flush(&mut self, model: &Session, then: Then, success: bool) {
        match then {
            Then::Reply if self.flush_call == Call::Waiting => self.flush_call = Call::Answered,
            Then::Clone => self.take(model, success),
            Then::Stop if self.phase == Phase::Stopping => self.end_session(model),
            Then::End if self.phase == Phase::Stopping => {
                self.ended_detached = self.is_detached;
                if self.is_detached && model.keeps(Rule::DetachedIsFreed) {
                    self.free(model, true);
                } else {
                    self.end_session(model);
                }
            }
            Then::Reply | Then::Stop | Then::End => {}
        }
    }

    fn end_session(&mut self, model: &Session) {
        self.phase = Phase::Ended;
        self.end_is_pending = true;
        self.finishes = true;
        self.drains = model.keeps(Rule::LastPass);
        self.continue_file(model);
        self.try_close(model);
    }

    /// The end is reported when the file is complete.
    fn try_close(&mut self, model: &Session) {
        let is_written = !self.drains && !self.shell.iter().any(|j| matches!(j, Job::Write(_)));
        if self.phase != Phase::Ended || model.has_file && !is_written {
            return;
        }
        if !model.has_file && (self.has_owner || self.is_detached) {
            // It is kept until its consumer has read it.
            self.answer_end(model);
            return;
        }
        self.phase = Phase::Closed;
        self.answer_end(model);
        if !model.has_file {
            self.erase(model);
        }
    }

    /// Reports the end to the consumer that waits for it, once the file is closed.
    fn answer_end(&mut self, model: &Session) {
        let is_over = self.phase == Phase::Closed || self.phase == Phase::Ended && !model.has_file;
        if is_over && self.has_owner && self.end_is_pending && self.end_call == Call::Waiting {
            self.end_call = Call::Answered;
            self.end_is_pending = false;
        }
    }

    /// The buffer goes. What a clone has not copied is kept in the detached one.
    fn erase(&mut self, model: &Session) {
        let gone = self.buffer.take();
        if model.keeps(Rule::BufferIsDetached) {
            self.keep_for_clone(gone);
        }
        self.late.add(gone);
    }

    /// Frees the session. The consumer that asked for a flush may still be there.
    fn free(&mut self, model: &Session, is_asker_here: bool) {
        (self.has_owner, self.is_detached) = (false, false);
        self.end_call = Call::Gone;
        if self.flush_call == Call::Waiting {
            match is_asker_here {
                true if model.keeps(Rule::FreedAnswersFlushes) => self.flush_call = Call::Answered,
                true => {}
                false => self.flush_call = Call::Gone,
            }
        }
        let is_taken = self.clone.as_ref().is_none_or(Pending::is_taken);
        if !is_taken && model.keeps(Rule::SourceFailsClones) {
            self.end_clone(model, true);
        }
        // Nothing waits for a flush of a session that is freed.
        self.flushes.clear();
        if self.phase != Phase::Closed {
            self.end_session(model);
        }
    }

    /// Whether the file is copied for a clone.
    fn is_held(&self, model: &Session) -> bool {
        let holds = |c: &Pending| c.file != CloneFile::None && !c.is_taken();
        model.keeps(Rule::FileIsHeld) && self.clone.as_ref().is_some_and(holds)
    }

    /// A pass, if one is due and may be made.
    fn continue_file(&mut self, model: &Session) {
        if !model.has_file {
            self.drains = false;
        }
        if !self.drains || self.is_held(model) {
            return;
        }
        self.drains = false;
        if !self.buffer.is_empty() {
            let packets = self.take_from_buffer(model);
            self.shell.push(Job::Write(packets));
        }
        self.try_close(model);
    }

    fn take_from_buffer(&mut self, model: &Session) -> Set {
        let packets = self.buffer;
        if model.keeps(Rule::PassRemoves) {
            self.buffer = Set::default();
        }
        if model.keeps(Rule::ChangesAreKept) {
            self.keep_for_clone(packets);
        }
        packets
    }

    fn keep_for_clone(&mut self, packets: Set) {
        if let Some(taken) = self.clone.as_mut().and_then(|clone| clone.taken.as_mut()) {
            taken.kept.add(taken.left.and(packets));
        }
    }

    fn shell_works(&mut self, model: &Session) {
        // Without the rule, a copy overtakes the writes.
        let copy = self.shell.iter().position(|job| *job == Job::Copy);
        let at = if model.keeps(Rule::CopyBehindWrites) { 0 } else { copy.unwrap_or(0) };
        match self.shell.remove(at) {
            Job::Write(packets) => self.file.add(packets),
            Job::Copy => {
                if let Some(clone) = &mut self.clone {
                    clone.file = CloneFile::Copied(self.file);
                }
                self.finish_clone(model);
            }
        }
        self.try_close(model);
    }

    fn ask_clone(&mut self, model: &Session) {
        let is_closing = model.has_file && self.finishes && !self.drains;
        if is_closing {
            self.clone_call = Call::Answered;
            return;
        }
        self.clone_call = Call::Waiting;
        let asked = Set::below(self.made).without(self.read).without(self.late);
        let file = if model.has_file { CloneFile::Copying } else { CloneFile::None };
        if model.has_file {
            self.shell.push(Job::Copy);
        }
        self.clone = Some(Pending { asked, file, taken: None });
        if !model.keeps(Rule::TakenAfterFlush) {
            self.take(model, true);
        }
        self.flush(model, Then::Clone);
    }

    /// The flush of the clone is over: what it shows is settled.
    fn take(&mut self, model: &Session, is_flushed: bool) {
        let trace = self.places().into_iter().fold(Set::default(), Set::with);
        let instant = trace.without(self.held).without(self.read).without(self.late);
        let left = self.buffer;
        if let Some(clone) = self.clone.as_mut().filter(|clone| clone.taken.is_none()) {
            // What was read since is not in it.
            clone.asked = clone.asked.without(self.read).without(self.late);
            let (copied, kept) = (Set::default(), Set::default());
            clone.taken = Some(Taken { is_flushed, instant, left, copied, kept });
            self.finish_clone(model);
        }
    }

    fn copy_piece(&mut self, model: &Session) {
        let buffer = self.buffer;
        let Some(taken) = self.clone.as_mut().and_then(|clone| clone.taken.as_mut()) else {
            return;
        };
        let Some(packet) = taken.left.first().map(Set::of) else { return };
        taken.left = taken.left.without(packet);
        taken.copied.add(packet.and(buffer.with(taken.kept)));
        self.finish_clone(model);
    }

    /// Makes the clone if all of it is there.
    fn finish_clone(&mut self, model: &Session) {
        let Some(clone) = self.clone.take_if(|clone| clone.is_taken()) else { return };
        let Some(taken) = clone.taken.clone().filter(|taken| taken.left.is_empty()) else {
            self.clone = Some(clone);
            return self.continue_after_clone(model);
        };
        let file = if let CloneFile::Copied(file) = clone.file { file } else { Set::default() };
        self.cloned = Some(Cloned {
            file,
            buffer: taken.copied,
            instant: taken.instant,
            asked: clone.asked,
            is_flushed: taken.is_flushed,
        });
        if self.clone_call == Call::Waiting {
            self.clone_call = Call::Answered;
        }
        self.continue_after_clone(model);
    }

    /// The clone is given up.
    fn end_clone(&mut self, model: &Session, answer: bool) {
        if self.clone.take().is_none() {
            return;
        }
        self.shell.retain(|job| *job != Job::Copy);
        self.flushes.retain(|flush| flush.0 != Then::Clone);
        if answer {
            self.clone_call = Call::Answered;
        }
        self.continue_after_clone(model);
    }

    fn continue_after_clone(&mut self, model: &Session) {
        if model.keeps(Rule::FileGoesOn) {
            self.continue_file(model);
        }
    }
}
