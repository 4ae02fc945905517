//! A session with one buffer, and a file if it writes one; a producer, the consumer of the session, one that
//! attaches after the first one detached, and one that clones it. Packets go from the producer's memory into the
//! buffer, and from there into the file, or to the consumer that reads.
//!
//! ```text
//!   held ──commit──> buffer ──pass──> shell ──> file        one place for each packet
//!                      │ instant        │ Copy
//!                      └── pieces ──────┴──────> clone       all that was in buffer, shell and file at one instant
//! ```
//!
//! Time is left out: a timer may fire at any moment. What the shell does for a file it does in order.

mod state;

use stateright::{Model, Property};

use crate::set::Set;
pub use state::{Call, CloneFile, Flush, Job, Phase, State, Then};

/// What keeps the promises. A model can be without one of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    /// `tracing-core/service/src/session/clone.rs`, `holds_file`: no pass writes a file that is being copied.
    FileIsHeld,
    /// `tracing-core/service/src/session/clone.rs`, `end`: the file goes on when the clone does not need it.
    FileGoesOn,
    /// `tracing-core/daemon/src/serve/files/mod.rs`: a file is copied behind the writes that came before.
    CopyBehindWrites,
    /// `tracing-core/service/src/session/clone.rs`, `take_group`: buffers are taken when the flush is over.
    TakenAfterFlush,
    /// `tracing-core/service/src/buffer/clones.rs`: what changes before it is copied is kept for the clone.
    ChangesAreKept,
    /// `tracing-core/service/src/buffers.rs`, `CopySource`: a buffer that is being copied outlives its session.
    BufferIsDetached,
    /// `tracing-core/service/src/session/clone.rs`, `fail_of_source`: a clone that is not taken ends with its source.
    SourceFailsClones,
    /// `tracing-core/service/src/session/file_copy.rs`, `take_copy_answer`: an error of the shell ends the clone.
    ErrorsAreAnswered,
    /// `tracing-core/service/src/session/clone.rs`, `abandon_of`: a consumer that leaves takes its clone along.
    ClonesAreAbandoned,
    /// `tracing-core/service/src/session/flush.rs`: a flush has a timeout.
    FlushesTimeOut,
    /// `tracing-core/service/src/session/flush.rs`: a flush does not wait for a producer that is gone.
    GoneIsNotAsked,
    /// `tracing-core/client/src/producer/connection.rs`: a flush is acknowledged behind the data.
    DataBeforeAcknowledgement,
    /// `tracing-core/service/src/session/write.rs`, `finish`: the last pass takes all that is left.
    LastPass,
    /// `tracing-core/service/src/session/read.rs`: what a pass gave out is not in the buffer any more.
    PassRemoves,
    /// `tracing-core/service/src/consumers.rs`, `leave_session`: a consumer that detaches does not wait for the end.
    LeaverWaitsNotForEnd,
    /// `tracing-core/service/src/session/end_report.rs`, `report_again`: each consumer that attaches is told of the
    /// end.
    EndIsReportedAgain,
    /// `tracing-core/service/src/session/flush.rs`, `fail_all`: a session that is freed answers all flushes.
    FreedAnswersFlushes,
    /// `tracing-core/service/src/session/stop.rs`, `disable_or_free`: a session without a consumer that ends is freed,
    /// so its buffers are not kept for anybody.
    DetachedIsFreed,
}

impl Rule {
    /// All of them.
    pub const ALL: [Self; 18] = [
        Self::FileIsHeld,
        Self::FileGoesOn,
        Self::CopyBehindWrites,
        Self::TakenAfterFlush,
        Self::ChangesAreKept,
        Self::BufferIsDetached,
        Self::SourceFailsClones,
        Self::ErrorsAreAnswered,
        Self::ClonesAreAbandoned,
        Self::FlushesTimeOut,
        Self::GoneIsNotAsked,
        Self::DataBeforeAcknowledgement,
        Self::LastPass,
        Self::PassRemoves,
        Self::LeaverWaitsNotForEnd,
        Self::EndIsReportedAgain,
        Self::FreedAnswersFlushes,
        Self::DetachedIsFreed,
    ];
}

/// The model.
#[derive(Clone, Debug)]
pub struct Session {
    /// Packets that the program writes.
    pub packets: u8,
    /// Whether the session writes a file.
    pub has_file: bool,
    /// The rule that it does without.
    pub without: Option<Rule>,
}

/// What may happen next.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Action {
    /// `tracing-core/client/src/write/writer.rs`: the program writes a packet into its shared memory.
    Write,
    /// `tracing-core/service/src/commit.rs`: a commit arrives, and its chunks are copied into the buffer.
    Commit,
    /// `tracing-core/client/src/producer/connection.rs`: the producer commits all and acknowledges all flushes.
    Acknowledge,
    /// `tracing-core/service/src/producers/mod.rs`: the producer disconnects. Its memory is scraped.
    ProducerLeaves,
    /// `tracing-core/service/src/session/flush.rs`: the consumer asks for a flush.
    AskFlush,
    /// `tracing-core/service/src/session/flush.rs`: the timer of the first flush.
    FlushTimeout,
    /// `tracing-core/service/src/session/read.rs`: the consumer reads what is in the buffer.
    Read,
    /// `tracing-core/service/src/session/write.rs`, `handle_timer`: the timer of the file.
    FileTimer,
    /// `tracing-core/daemon/src/serve/files/mod.rs`: the shell does what it was asked first, and answers.
    ShellWorks,
    /// `tracing-core/service/src/session/clone.rs`, `handle_request`: the second consumer asks for a clone.
    AskClone,
    /// `tracing-core/service/src/session/file_copy.rs`, `take_copy_answer`: the shell could not copy the file,
    /// or took too long.
    CopyFails,
    /// `tracing-core/service/src/session/copying.rs`: a piece of the buffer is copied.
    CopyPiece,
    /// `tracing-core/service/src/session/clone.rs`, `abandon_of`: the second consumer disconnects.
    ClonerLeaves,
    /// `tracing-core/service/src/session/stop.rs`: the consumer asks for the end of the session.
    Stop,
    /// `tracing-core/service/src/session/stop.rs`: the consumer disconnects, and its session is freed.
    OwnerLeaves,
    /// `tracing-core/service/src/session/detach.rs`: the consumer leaves its session, and stays connected.
    Detach,
    /// `tracing-core/service/src/session/detach.rs`: a consumer takes the session over.
    Attach,
    /// `tracing-core/service/src/session/enable.rs`, `attach_notification_only`: that consumer asks for the end.
    AskEnd,
    /// `tracing-core/service/src/session/stop.rs`, `handle_duration_end`: the session ends by itself.
    Duration,
}

impl Action {
    /// Whether the service and its shell do it by themselves, sooner or later.
    fn is_certain(self) -> bool {
        matches!(self, Self::FlushTimeout | Self::ShellWorks | Self::CopyPiece | Self::CopyFails)
    }
}

impl Session {
    /// Whether the rule holds.
    pub(crate) fn keeps(&self, rule: Rule) -> bool {
        self.without != Some(rule)
    }
}

impl Model for Session {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State::default()]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        let is_here = |call| call == Call::Waiting || call == Call::NotAsked;
        let is_open = state.phase != Phase::Closed;
        let can = [
            (Action::Write, state.is_connected && state.made < self.packets),
            (Action::Commit, state.is_connected && !state.held.is_empty()),
            (Action::Acknowledge, state.is_connected && !state.flushes.is_empty()),
            (Action::ProducerLeaves, state.is_connected),
            (Action::AskFlush, state.flush_call == Call::NotAsked && state.has_owner && is_open),
            (Action::FlushTimeout, !state.flushes.is_empty() && self.keeps(Rule::FlushesTimeOut)),
            (Action::Read, !self.has_file && state.has_owner && !state.buffer.is_empty()),
            (Action::FileTimer, self.has_file && state.is_timer_due()),
            (Action::ShellWorks, !state.shell.is_empty()),
            (Action::AskClone, state.clone_call == Call::NotAsked && is_open),
            (Action::CopyFails, state.shell.contains(&Job::Copy)),
            (Action::CopyPiece, state.is_copying()),
            (Action::ClonerLeaves, state.clone_call == Call::Waiting),
            (Action::Stop, state.phase == Phase::Started && state.has_owner),
            (Action::OwnerLeaves, state.has_owner && is_here(state.end_call)),
            // Once, which is enough for a second consumer.
            (Action::Detach, state.has_owner && !state.was_left),
            (Action::Attach, state.is_detached),
            (Action::AskEnd, state.has_owner && state.was_left && state.end_call == Call::NotAsked),
            (Action::Duration, state.phase == Phase::Started),
        ];
        actions.extend(can.into_iter().filter(|(_, can)| *can).map(|(action, _)| action));
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut next = last.clone();
        next.act(self, action);
        Some(next)
    }

    /// A session that gives a packet twice never ends.
    fn within_boundary(&self, state: &State) -> bool {
        state.shell.len() <= 4
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("each packet is in one place", |_, state: &State| {
                state.places().iter().fold(Some(Set::default()), |all, place| {
                    all.filter(|all| all.and(*place).is_empty()).map(|all| all.with(*place))
                }) == Some(Set::below(state.made))
            }),
            Property::always("a clone shows one instant", |_, state: &State| {
                state.cloned.as_ref().is_none_or(|cloned| {
                    cloned.file.and(cloned.buffer).is_empty()
                        && cloned.file.with(cloned.buffer) == cloned.instant
                })
            }),
            Property::always("a clone has what was written before", |_, state: &State| {
                let complete = |c: &state::Cloned| !c.is_flushed || c.instant.contains(c.asked);
                state.cloned.as_ref().is_none_or(complete)
            }),
            Property::always(
                "a call that waits is answered by itself",
                |model: &Self, state: &State| {
                    let mut actions = Vec::new();
                    model.actions(state, &mut actions);
                    !state.waits() || actions.into_iter().any(Action::is_certain)
                },
            ),
            Property::always("a flush waits for nobody who is gone", |_, state: &State| {
                state.is_connected || state.flushes.is_empty()
            }),
            Property::always("nothing is made for a consumer who is gone", |_, state: &State| {
                state.clone_call != Call::Gone || state.clone.is_none() && state.cloned.is_none()
            }),
            Property::always("a file that is closed has all", |_, state: &State| {
                state.phase != Phase::Closed || state.buffer.is_empty()
            }),
            Property::always(
                "what ends without a consumer is kept for nobody",
                |_, state: &State| !state.ended_detached || !state.is_detached,
            ),
            Property::sometimes(
                "example: a clone of file and buffer",
                |model: &Self, state: &State| {
                    let has_both = |c: &state::Cloned| !c.file.is_empty() && !c.buffer.is_empty();
                    state.cloned.as_ref().is_some_and(has_both) || !model.has_file
                },
            ),
            Property::sometimes("example: a clone is made after its source", |_, state: &State| {
                state.cloned.is_some() && state.phase == Phase::Closed && !state.has_owner
            }),
            Property::sometimes("example: who attached is told of the end", |_, state: &State| {
                state.was_left && state.has_owner && state.end_call == Call::Answered
            }),
        ]
    }
}
