//! One connection, on the side of the service.

use bytes::Bytes;

#[cfg(feature = "host")]
use super::order::Served;
#[cfg(feature = "host")]
use super::port_kind::Disconnect;
use super::port_kind::PortKind;
#[cfg(feature = "host")]
use super::remote::{HostLink, SocketLink};
use super::user::PeerUser;
use crate::local::{LocalReply, Mailbox};
use abi::ids::CallId;
use abi::ipc::{FrameError, Rejected};
use abi::shm::Region;
use abi::sync::Arc;

/// Where replies go.
pub(crate) enum Link {
    #[cfg(feature = "host")]
    Socket(Box<SocketLink>),
    /// A transport of the program carries the bytes.
    #[cfg(feature = "host")]
    Custom(Box<HostLink>),
    Local(Arc<Mailbox>),
}

impl Link {
    /// Tells a client of this process that the connection is over.
    pub(super) fn close(&self) {
        match self {
            Self::Local(mailbox) => mailbox.close(),
            // Closing its descriptor tells the peer of a socket.
            #[cfg(feature = "host")]
            Self::Socket(_) | Self::Custom(_) => {}
        }
    }
}

#[cfg(feature = "host")]
impl Link {
    /// The name that the transport has for the machine at the other end.
    pub(super) fn machine(&self) -> String {
        match self {
            Self::Socket(link) => link.peer_machine(),
            Self::Custom(_) | Self::Local(_) => String::new(),
        }
    }

    /// Whether nothing has to be sent or changed after requests were handled.
    pub(super) fn is_settled(&mut self) -> bool {
        match self {
            Self::Socket(link) => link.is_settled(),
            Self::Custom(_) | Self::Local(_) => false,
        }
    }

    /// The protocol state, unless the connection is local.
    pub(crate) fn host(&mut self) -> Option<&mut HostLink> {
        match self {
            Self::Socket(link) => Some(&mut link.host),
            Self::Custom(host) => Some(host),
            Self::Local(_) => None,
        }
    }
}

/// A connection.
pub(crate) struct PeerConnection {
    pub(super) port: PortKind,
    pub(super) link: Link,
    pub(super) user: PeerUser,
    /// The service knows the connection. One whose transport tells no identity waits for it.
    pub(super) announced: bool,
    /// The peer has sent the request that may bring memory.
    #[cfg(feature = "host")]
    pub(super) initialized: bool,
    /// When it was served last.
    #[cfg(feature = "host")]
    pub(super) served: Served,
    /// When it was sent something last, or could have been.
    #[cfg(feature = "host")]
    pub(super) sent: Served,
    /// The connection is over, for this reason, and its last requests are not handled yet.
    #[cfg(feature = "host")]
    pub(super) ended: Option<Disconnect>,
}

impl PeerConnection {
    pub(super) fn new(port: PortKind, link: Link, user: PeerUser, announced: bool) -> Self {
        Self {
            port,
            link,
            user,
            announced,
            #[cfg(feature = "host")]
            initialized: false,
            #[cfg(feature = "host")]
            served: Served::default(),
            #[cfg(feature = "host")]
            sent: Served::default(),
            #[cfg(feature = "host")]
            ended: None,
        }
    }

    /// Queues a reply.
    pub(super) fn reply(
        &mut self,
        call: CallId,
        result: Result<Bytes, Rejected>,
        has_more: bool,
        region: Option<Region>,
    ) -> Result<(), FrameError> {
        match &mut self.link {
            Link::Local(mailbox) => {
                mailbox.deliver(LocalReply { call, result, has_more, region });
                Ok(())
            }
            #[cfg(feature = "host")]
            Link::Socket(link) => link.host.reply(call, result, has_more, region),
            #[cfg(feature = "host")]
            Link::Custom(host) => host.reply(call, result, has_more, region),
        }
    }
}
