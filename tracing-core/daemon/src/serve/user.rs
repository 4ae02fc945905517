//! The users that the daemon keeps accounts of.

use core::fmt;

use crate::system::own_user::OwnUser;
use abi::ids::ClientId;

/// Who is at the other end of a connection, as far as the kernel tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PeerUser {
    /// A user of this machine.
    Local(u32),
    /// All users of other machines together: what they say about themselves nobody checks.
    #[cfg(feature = "host")]
    Remote,
}

impl PeerUser {
    /// Whether it has limits in a daemon of that user. Users of other machines have: nobody checks who they are.
    pub(super) fn is_limited(self, own: OwnUser) -> bool {
        match self {
            Self::Local(uid) => own.limits(uid),
            #[cfg(feature = "host")]
            Self::Remote => true,
        }
    }
}

#[cfg(feature = "host")]
impl PeerUser {
    /// The number of the user, if it is one of this machine.
    pub(super) fn uid(self) -> Option<u32> {
        match self {
            Self::Local(uid) => Some(uid),
            Self::Remote => None,
        }
    }
}

impl fmt::Display for PeerUser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local(uid) => write!(f, "user {uid}"),
            #[cfg(feature = "host")]
            Self::Remote => f.write_str("users of other machines"),
        }
    }
}

/// A connection and its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConnectionUser {
    pub(crate) client: ClientId,
    pub(crate) user: PeerUser,
}
