//! Which port a connection is to, and why it ended.

use abi::ipc::FrameError;
use service::Cut;

/// Which port a connection is to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Producer,
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
    /// The peer does not read its replies.
    SlowReader,
    /// The connections of its user keep too much: replies that nobody takes, frames that do not end.
    UserFull,
    /// The calls on its socket take long.
    SlowCalls,
}

impl Disconnect {
    /// What a producer was cut for; none if it left.
    pub(crate) fn cut(&self) -> Option<Cut> {
        match self {
            Self::PeerLeft => None,
            Self::BadFrame(_) => Some(Cut::Protocol),
            Self::LostDescriptors | Self::StuckDescriptor => Some(Cut::Descriptors),
            Self::SlowReader | Self::UserFull | Self::SlowCalls => Some(Cut::NotReading),
        }
    }
}
