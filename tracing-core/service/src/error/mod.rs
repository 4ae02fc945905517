//! Why a request of a consumer is refused or its session ends. Text is made where a reply or the log needs it.
//!
//! A text that begins with a capital letter begins with words of upstream's (`tracing_service_impl.cc`), for which
//! scripts search.

use std::fmt;

use crate::accounts::NoRoom;
use crate::limits;
use crate::session::shares::TooMany;
use abi::ids::SessionId;

pub(crate) use config::{
    ConfigError, DataSourceError, NameFilterError, PriorityError, TriggerError,
};

mod config;

const GUARDRAIL_SPACING_S: u64 = limits::GUARDRAIL_SPACING_NS / 1_000_000_000;

/// Why a session is refused, or ends before its time.
#[derive(Clone, Debug)]
pub(crate) enum SessionError {
    Config(ConfigError),
    /// The consumer has a session already.
    AlreadyActive,
    /// Other sessions exclude it.
    Others(OtherSessions),
    /// A config has a field that is for root and the user of the service.
    Reserved {
        field: &'static str,
        uid: u32,
    },
    ExclusiveAbort {
        priority: u32,
    },
    CreateFile {
        path: String,
        reason: String,
    },
    WriteFile {
        path: Option<String>,
        reason: String,
    },
    NoBufferMemory {
        bytes: u64,
    },
    TooManyServiceBuffers,
    /// Its user has no room for its buffers.
    NoRoom(NoRoom),
    Priority(String),
    MatchCostExceeded,
    NoSession,
    SessionEnded {
        id: SessionId,
        state: &'static str,
    },
    NotConfigured {
        id: SessionId,
        state: &'static str,
    },
    /// A changed config leaves out this data source.
    SourceMissing(String),
    /// A changed config differs in what cannot be changed.
    OnlyFiltersChange,
    EmptyKey,
    KeyTaken(String),
    NotDetached(String),
    IsClone,
    HasSession,
    /// The service itself ends, in the words of its owner.
    Shutdown(String),
}

impl From<ConfigError> for SessionError {
    fn from(error: ConfigError) -> Self {
        Self::Config(error)
    }
}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) => error.fmt(f),
            Self::Others(error) => error.fmt(f),
            Self::AlreadyActive => f.write_str(
                "another tracing session is already active for this consumer; FreeBuffers was forgotten",
            ),
            Self::ExclusiveAbort { priority } => {
                write!(f, "aborted by a higher-priority ({priority}) exclusive session")
            }
            Self::Reserved { field, uid } => write!(
                f,
                "{field}: user {uid} may not stop others; remove it, or record as root or the service's user"
            ),
            Self::CreateFile { path, reason } => write!(f, "failed to create {path}: {reason}"),
            Self::WriteFile { path, reason } => {
                let path = path.as_deref().unwrap_or("the trace file");
                write!(f, "writing {path} failed: {reason}")
            }
            Self::NoBufferMemory { bytes } => {
                write!(f, "failed to allocate a trace buffer of {bytes} bytes (OOM)")
            }
            Self::TooManyServiceBuffers => f.write_str(
                "too many trace buffers in the service: end other sessions, or ask for fewer buffers",
            ),
            Self::NoRoom(why) => write!(f, "trace buffers too large: {why}"),
            Self::Priority(reason) => write!(f, "priority_boost failed: {reason}"),
            Self::MatchCostExceeded => f.write_str(
                "matching producer names against the regular expressions of the config exceeds its \
                 budget: use simpler expressions, or fewer",
            ),
            Self::NoSession => f.write_str("there is no session"),
            Self::SessionEnded { id, state } => {
                write!(f, "session {id} is {state}: record a new one")
            }
            Self::NotConfigured { id, state } => write!(
                f,
                "session {id} is {state}, not CONFIGURED: a session is started once, and by a call only if its config \
                 has deferred_start"
            ),
            Self::SourceMissing(source) => write!(f, "{source:?} is not in it"),
            Self::OnlyFiltersChange => {
                f.write_str("only producer filters of data sources are changed")
            }
            Self::EmptyKey => f.write_str("the key is empty"),
            Self::KeyTaken(key) => write!(
                f,
                "the key {key:?} is taken by another detached session: choose another key, or attach to that session"
            ),
            Self::NotDetached(key) => write!(
                f,
                "no session of this user is detached as {key:?}: `perfetto --query` lists the sessions"
            ),
            Self::IsClone => f.write_str("the session is a clone"),
            Self::HasSession => f.write_str("the consumer has a session"),
            Self::Shutdown(reason) => f.write_str(reason),
        }
    }
}

/// Why a session may not be made beside the others that there are, or were.
#[derive(Clone, Debug)]
pub(crate) enum OtherSessions {
    ExclusiveActive {
        highest: u32,
        asked: u32,
    },
    NameTaken(String),
    Semaphore {
        name: String,
        count: u64,
        max: u64,
    },
    TooRecent(String),
    /// No more names of sessions under extra guardrails are remembered.
    TooManyGuarded {
        names: usize,
        of_user: usize,
        uid: u32,
    },
    TooManyOfUid {
        count: usize,
        uid: u32,
    },
    TooMany(TooMany),
}

impl From<OtherSessions> for SessionError {
    fn from(error: OtherSessions) -> Self {
        Self::Others(error)
    }
}

impl fmt::Display for OtherSessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ExclusiveActive { highest, asked } => write!(
                f,
                "an exclusive session of priority {highest} is active, the one asked for has priority \
                 {asked}: wait for its end, or ask for a higher priority"
            ),
            Self::NameTaken(name) => write!(
                f,
                "a session with unique_session_name {name:?} already exists: stop it, or choose another name"
            ),
            Self::Semaphore { name, count, max } => write!(
                f,
                "semaphore {name:?} is held by {count} other sessions, at most {max} may: wait until one of them ends"
            ),
            Self::TooRecent(name) => write!(
                f,
                "a trace with unique session name {name:?} began less than {GUARDRAIL_SPACING_S} s ago: too recent, \
                 wait until that time is over"
            ),
            Self::TooManyGuarded { names, of_user, uid } => write!(
                f,
                "{names} sessions with other names and enable_extra_guardrails, {of_user} of them of user {uid}, \
                 began less than {GUARDRAIL_SPACING_S} s ago: wait, or leave out enable_extra_guardrails"
            ),
            Self::TooManyOfUid { count, uid } => {
                write!(f, "too many concurrent tracing sessions ({count}) for uid {uid}: free one")
            }
            Self::TooMany(many) => write!(f, "too many concurrent tracing sessions {many}"),
        }
    }
}

/// Why there is no flush.
#[derive(Clone, Debug)]
pub(crate) enum FlushError {
    NotStarted(SessionId),
    TooMany(SessionId),
    /// Flushes of its user wait for too many producers.
    TooManyAnswers(SessionId, NoRoom),
}

impl fmt::Display for FlushError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotStarted(id) => write!(f, "flush of session {id} refused: it is not started"),
            Self::TooMany(id) => {
                write!(f, "session {id}: too many flushes pending: wait until one is over")
            }
            Self::TooManyAnswers(id, why) => {
                write!(f, "session {id}: too many flushes pending: {why}")
            }
        }
    }
}

/// Why a clone is refused or given up.
#[derive(Clone, Debug)]
pub(crate) enum CloneError {
    /// The consumer has a session already.
    Attached,
    AlreadyPending,
    TooManyOfUid {
        count: usize,
        uid: u32,
    },
    TooMany(TooMany),
    NotFound,
    OtherUid,
    NeedsFile,
    SourceFileClosing,
    SourceEnded,
    /// The clone was freed before it was in its file.
    Freed,
    NoMemory,
    /// Its user has no room for it.
    NoRoom(NoRoom),
    CopyFile(String),
    CopyTooSlow,
    Session(SessionError),
}

impl From<SessionError> for CloneError {
    fn from(error: SessionError) -> Self {
        Self::Session(error)
    }
}

impl fmt::Display for CloneError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Attached => {
                f.write_str("the consumer is already attached to another tracing session")
            }
            Self::AlreadyPending => f.write_str("a clone for this consumer is already in progress"),
            Self::TooManyOfUid { count, uid } => {
                write!(f, "too many clones ({count}) for uid {uid}: free some")
            }
            Self::TooMany(many) => write!(f, "too many clones {many}"),
            Self::NotFound => f.write_str("Tracing session not found"),
            Self::OtherUid => f.write_str("Not allowed to clone a session from another UID"),
            Self::NeedsFile => {
                f.write_str("the session writes into a file: its clone needs a file descriptor")
            }
            Self::SourceFileClosing => {
                f.write_str("Original session ended: its file is being closed")
            }
            Self::SourceEnded => f.write_str("Original session ended"),
            Self::Freed => f.write_str("the clone was freed before all of it was in its file"),
            Self::NoMemory => f.write_str("no memory for a copy of the buffers (OOM)"),
            Self::NoRoom(why) => write!(f, "clone too large: {why}"),
            Self::CopyFile(reason) => write!(f, "copying the trace file failed: {reason}"),
            Self::CopyTooSlow => f.write_str(
                "copying the trace file took too long: write the clone to a faster disk",
            ),
            Self::Session(error) => error.fmt(f),
        }
    }
}
