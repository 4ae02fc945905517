//! Which port a connection is to, and why it ended.

use abi::ipc::FrameError;
use service::Cut;

/// The port that a client connects to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortKind {
    /// Data sources, commits, commands.
    Producer,
    /// Sessions, reading, queries.
    Consumer,
}

/// Why a connection was closed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    not(feature = "host"),
    expect(dead_code, reason = "a client of this process only leaves")
)]
pub(crate) enum Disconnect {
    /// The peer closed it.
    PeerLeft,
    /// The peer sent a frame that was too long.
    BadFrame(FrameError),
    /// The peer sent more than two descriptors at once, or this process can open no more.
    LostDescriptors,
    /// A descriptor that the peer, or another connection of its user, passed takes too long to close.
    StuckDescriptor,
    /// Too many descriptors of its user wait, for the rest of their requests or to be closed.
    UserDescriptors,
    /// Too many descriptors of all users together wait, root and the user of the daemon not counted.
    AllDescriptors,
    /// The peer does not read its replies.
    SlowReader,
    /// The connections of its user keep too much: replies that nobody takes, frames that do not end.
    UserFull,
    /// The calls on its socket take long.
    SlowCalls,
}

impl Disconnect {
    /// What happened, for the log; none if the peer left.
    pub(crate) fn text(&self) -> Option<String> {
        let text = match self {
            Self::PeerLeft => return None,
            Self::BadFrame(error) => return Some(error.to_string()),
            Self::LostDescriptors => {
                "a message lost its descriptors (more than two, or this process can open no more)"
            }
            Self::StuckDescriptor => "descriptors of its user do not close in time",
            Self::UserDescriptors => {
                "too many descriptors of its user wait, for the rest of their requests or to be closed"
            }
            Self::AllDescriptors => {
                "too many descriptors of all users together wait, for the rest of their requests or to be closed"
            }
            Self::SlowReader => "a peer does not read its replies",
            Self::UserFull => {
                "the connections of its user keep too much (replies that are not read, frames that do not end)"
            }
            Self::SlowCalls => {
                "each call on its socket takes milliseconds, most likely because its process has too many epoll \
                 watches on its end (/proc/PID/fdinfo shows them)"
            }
        };
        Some(text.to_owned())
    }

    /// What a producer was cut for; none if it left.
    pub(crate) fn cut(&self) -> Option<Cut> {
        match self {
            Self::PeerLeft => None,
            Self::BadFrame(_) => Some(Cut::Protocol),
            Self::LostDescriptors
            | Self::StuckDescriptor
            | Self::UserDescriptors
            | Self::AllDescriptors => Some(Cut::Descriptors),
            Self::SlowReader | Self::UserFull | Self::SlowCalls => Some(Cut::NotReading),
        }
    }
}
