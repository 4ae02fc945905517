//! Steps: requests of one part of the service to another.
//!
//! Each part of the service owns some of its state. When an event concerns another part, too, the part adds a step.
//! [`core`](super::core) runs the steps of a part in their order, and before the steps that waited already: the
//! effects come in the same order as if the part had called the other one.

use super::effect_queue::Caller;
use super::error::{CloneError, SessionError};
use super::session::admission::Admission;
use super::session::events::ConcurrentEvent;
use super::session::flush_request::{FlushThen, FlushedGroup};
use super::work::{ScrapeThen, SetUp};
use abi::flush_flags::FlushFlags;
use abi::ids::{CallId, CloneId, FlushId, InstanceId, ProducerId, SessionId};

/// One thing to do, with all that it needs to know.
#[derive(Debug)]
pub(crate) enum Step {
    /// Answers a call with success, after the effects of the call.
    ReplySuccess(Caller),
    /// Tells sessions that asked for it that another session changed its state.
    AnnounceState(ConcurrentEvent),

    /// Makes a session of a config whose own checks passed.
    Admit(Box<Admission>),
    /// Creates the file of an admitted session, if it needs one.
    CreateFile(SessionId),
    /// Sets an admitted session up.
    Configure(SessionId),
    /// Sets up the data sources of its config.
    SetUp {
        session: SessionId,
        job: Box<SetUp>,
    },
    /// All of them are set up.
    Configured(SessionId),
    /// Removes a session that could not be set up.
    FailEnabling {
        session: SessionId,
        error: SessionError,
    },
    Start(SessionId),
    /// Starts the instances of a session that has started.
    StartInstances(SessionId),
    /// The consumer leaves a session under a key, as it asked before that was set up.
    Detach {
        session: SessionId,
        call: Option<CallId>,
        key: String,
    },

    Flush {
        session: SessionId,
        timeout_ms: u64,
        flags: FlushFlags,
        then: FlushThen,
    },
    /// A producer acknowledged these flushes, or is gone.
    FlushAcked {
        producer: ProducerId,
        upto: FlushId,
    },
    FinishFlush {
        session: SessionId,
        flush: FlushId,
    },
    AfterFlush {
        session: SessionId,
        then: FlushThen,
        success: bool,
    },
    FailFlushes(SessionId),

    /// Removes one data source instance from its session.
    RemoveInstance {
        session: SessionId,
        key: (ProducerId, InstanceId),
    },
    /// Forgets a producer that disconnected.
    ForgetProducer(ProducerId),

    /// Stops the instances of a session; without a wait if it is `immediate`.
    Disable {
        session: SessionId,
        immediate: bool,
        error: Option<SessionError>,
    },
    /// Stops the instances of a session, in pieces.
    StopInstances(SessionId),
    /// Ends a session whose duration or trigger is over.
    DisableOrFree(SessionId),
    /// All instances of a session stopped: the steps of its end.
    Finalise(SessionId),
    /// Takes what the writers of all producers still hold.
    Scrape {
        session: SessionId,
        then: ScrapeThen,
    },
    /// Notes the end of the recording in the session.
    NoteEnd(SessionId),
    /// Writes what is left into the file and closes it.
    FinishFile(SessionId),
    /// Tells the consumer of the end.
    ReportEnd(SessionId),
    /// Destroys a session: the steps of that.
    Free {
        session: SessionId,
        reason: Option<SessionError>,
    },
    /// Separates a session that is freed from its consumer, instances and producers.
    Release {
        session: SessionId,
        reason: Option<SessionError>,
    },
    /// Returns the buffers of a freed session, and forgets it.
    Erase(SessionId),

    /// Writes what the buffers hold into the file.
    WriteFile(SessionId),
    /// Goes on with a write that was put off.
    ContinueFile(SessionId),
    FileClosed(SessionId),

    /// Takes the buffers of a group, whose flush is over, for a clone.
    CloneGroup(FlushedGroup),
    /// Copies bytes for clones, as many as a turn may.
    CopyPiece,
    /// Makes the session of a clone if all is there.
    FinishClone(CloneId),
    /// Gives up a clone that is not made yet. The consumer is told the error, if there is one.
    EndClone {
        clone: CloneId,
        error: Option<CloneError>,
    },
    /// Answers the consumer of a clone whose file is complete.
    CloneWritten {
        session: SessionId,
        error: Option<CloneError>,
    },
    /// Refuses clones of a session that goes away.
    FailClonesOf {
        session: SessionId,
        reason: Option<SessionError>,
    },
    /// Refuses clones that copy a file which lacks something.
    FailCopiesOf {
        session: SessionId,
        error: SessionError,
    },
    /// Answers the consumer of a clone that is freed before its file is complete.
    FailCloneReply {
        session: SessionId,
        reason: Option<SessionError>,
    },
    FailAllClones(SessionError),
    /// Notes that packets of a session are lost with the file of a clone that took them.
    CloneLost(SessionId),
    /// Limits the time that copies of the file of a session may still take.
    LimitCopyTime(SessionId),
}

impl Step {
    /// The session that it is a step of. If the session is gone, `core` drops such a step; a flush fails.
    pub(crate) fn session(&self) -> Option<SessionId> {
        match self {
            Self::CreateFile(session)
            | Self::Configure(session)
            | Self::Configured(session)
            | Self::Start(session)
            | Self::Flush { session, .. }
            | Self::FinishFlush { session, .. }
            | Self::FailFlushes(session)
            | Self::RemoveInstance { session, .. }
            | Self::Disable { session, .. }
            | Self::DisableOrFree(session)
            | Self::Finalise(session)
            | Self::NoteEnd(session)
            | Self::FinishFile(session)
            | Self::ReportEnd(session)
            | Self::WriteFile(session)
            | Self::ContinueFile(session)
            | Self::FileClosed(session)
            | Self::CloneLost(session)
            | Self::CloneWritten { session, .. }
            | Self::FailCloneReply { session, .. } => Some(*session),
            // Steps of several parts, which look for what they need themselves.
            Self::ReplySuccess(_)
            | Self::AnnounceState(_)
            | Self::Admit(_)
            | Self::SetUp { .. }
            | Self::FailEnabling { .. }
            | Self::StartInstances(_)
            | Self::Detach { .. }
            | Self::FlushAcked { .. }
            | Self::AfterFlush { .. }
            | Self::ForgetProducer(_)
            | Self::StopInstances(_)
            | Self::Scrape { .. }
            | Self::Free { .. }
            | Self::Release { .. }
            | Self::Erase(_)
            | Self::CloneGroup(_)
            | Self::CopyPiece
            | Self::FinishClone(_)
            | Self::EndClone { .. }
            | Self::FailClonesOf { .. }
            | Self::FailCopiesOf { .. }
            | Self::FailAllClones(_)
            | Self::LimitCopyTime(_) => None,
        }
    }
}
