//! One connection, as the daemon sees it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use bytes::Bytes;

use crate::client::connection::{LocalReply, Mailbox};
use crate::ids::CallId;
use crate::ipc::port::{ConsumerPort, ProducerPort};
use crate::ipc::{FrameError, Host, HostEvent, Outbox, PeerIdentity, Rejected};
use crate::limits::{
    CONSUMER_QUEUE_BYTES_MAX, CONSUMER_QUEUE_BYTES_PAUSE, PRODUCER_QUEUE_BYTES_MAX,
};
use crate::os::socket::{Received, Stream};
use crate::service::{ConsumerRequest, ProducerRequest};
use crate::shm::Region;
use crate::sync::Arc;

/// Which port a connection is to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Producer,
    Consumer,
}

/// Either end of the queue of replies.
pub(super) enum Link {
    Socket(Box<SocketLink>),
    Local(Arc<Mailbox>),
}

impl Link {
    /// What the transport calls the machine at the other end, for want of a better name.
    pub(super) fn machine(&self) -> String {
        match self {
            Self::Socket(link) => link.stream.peer_machine(),
            Self::Local(_) => String::new(),
        }
    }
}

/// A connection.
pub(super) struct Peer {
    pub(super) side: Side,
    pub(super) link: Link,
    /// The service knows it. Connections that do not tell who they are wait for their identity.
    pub(super) announced: bool,
}

/// The state machine of one port over a socket.
pub(super) struct SocketLink {
    pub(super) stream: Stream,
    host: AnyHost,
    /// What the poller is told to wait for: (data, room).
    pub(super) interest: (bool, bool),
    /// The queue was not empty, and the service has not been told that it is now.
    pub(super) undrained: bool,
    /// The peer is gone: what it said last still counts, but nobody takes the answers.
    pub(super) deaf: bool,
}

enum AnyHost {
    Producer(Host<ProducerPort, OwnedFd>),
    Consumer(Host<ConsumerPort, OwnedFd>),
}

/// Something a client said. Made, matched and gone: its size does not matter.
#[expect(clippy::large_enum_variant, reason = "one at a time, never kept")]
pub(super) enum Event {
    Producer { call: Option<CallId>, request: ProducerRequest, fd: Option<OwnedFd> },
    Consumer { call: Option<CallId>, request: ConsumerRequest, fd: Option<OwnedFd> },
    Identity(PeerIdentity),
}

/// Why a connection is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Over {
    /// The peer went.
    Left,
    /// It sent a frame that was too long.
    Frame(FrameError),
    /// It sent too many descriptors at once.
    Descriptors,
    /// It does not read its replies.
    Slow,
}

impl SocketLink {
    pub(super) fn new(stream: Stream, side: Side) -> Self {
        let host = match side {
            Side::Producer => AnyHost::Producer(Host::default()),
            Side::Consumer => AnyHost::Consumer(Host::default()),
        };
        Self { stream, host, interest: (true, false), undrained: false, deaf: false }
    }

    /// Reads once. What was said comes out of [`poll_event`](Self::poll_event), also when the
    /// connection is over.
    pub(super) fn read(&mut self, buf: &mut [u8]) -> Result<(), Over> {
        match self.stream.receive(buf) {
            Ok(Received::Nothing) => Ok(()),
            Ok(Received::Bytes(count, fd)) => {
                let bytes = buf.get(..count).unwrap_or_default();
                match &mut self.host {
                    AnyHost::Producer(host) => host.receive(bytes, fd),
                    AnyHost::Consumer(host) => host.receive(bytes, fd),
                }
                .map_err(Over::Frame)
            }
            Ok(Received::TooManyDescriptors) => Err(Over::Descriptors),
            Ok(Received::End) | Err(_) => Err(Over::Left),
        }
    }

    pub(super) fn poll_event(&mut self) -> Option<Event> {
        let identity = |identity| Event::Identity(identity);
        match &mut self.host {
            AnyHost::Producer(host) => host.poll_event().map(|event| match event {
                HostEvent::Call { call, request, fd } => Event::Producer { call, request, fd },
                HostEvent::PeerIdentity(who) => identity(who),
            }),
            AnyHost::Consumer(host) => host.poll_event().map(|event| match event {
                HostEvent::Call { call, request, fd } => Event::Consumer { call, request, fd },
                HostEvent::PeerIdentity(who) => identity(who),
            }),
        }
    }

    fn outbox(&mut self) -> &mut Outbox<OwnedFd> {
        match &mut self.host {
            AnyHost::Producer(host) => host.outbox(),
            AnyHost::Consumer(host) => host.outbox(),
        }
    }

    /// Sends what can be sent now.
    pub(super) fn write(&mut self) -> Result<(), Over> {
        loop {
            let mut parts = Vec::new();
            let (stream, outbox) = match &mut self.host {
                AnyHost::Producer(host) => (&self.stream, host.outbox()),
                AnyHost::Consumer(host) => (&self.stream, host.outbox()),
            };
            if outbox.is_empty() {
                return Ok(());
            }
            let fd = outbox.next(&mut parts).map(AsFd::as_fd);
            match stream.send(&parts, fd) {
                Ok(0) => break,
                Ok(sent) => outbox.advance(sent),
                Err(_) => return Err(Over::Left),
            }
        }
        let max = match self.host {
            AnyHost::Producer(_) => PRODUCER_QUEUE_BYTES_MAX,
            AnyHost::Consumer(_) => CONSUMER_QUEUE_BYTES_MAX,
        };
        if self.outbox().len() > max { Err(Over::Slow) } else { Ok(()) }
    }

    /// Whether what the peer said has to wait until it has read some of its replies. Only consumers
    /// wait: a producer is heard even if it does not read, since its commits free its own memory.
    pub(super) fn is_paused(&mut self) -> bool {
        matches!(self.host, AnyHost::Consumer(_))
            && self.outbox().len() > CONSUMER_QUEUE_BYTES_PAUSE
    }

    /// Whether the peer said something that was not looked at yet.
    pub(super) fn has_events(&self) -> bool {
        match &self.host {
            AnyHost::Producer(host) => host.has_events(),
            AnyHost::Consumer(host) => host.has_events(),
        }
    }

    /// What to wait for from now on: (data, room).
    pub(super) fn wanted(&mut self) -> (bool, bool) {
        (!self.is_paused() && !self.has_events(), !self.outbox().is_empty())
    }

    /// Whether all replies have left.
    pub(super) fn is_drained(&mut self) -> bool {
        self.outbox().is_empty()
    }
}

impl AsFd for SocketLink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

impl Peer {
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
            Link::Socket(link) if link.deaf => Ok(()),
            Link::Socket(link) => {
                link.undrained = true;
                // Without a descriptor left the reply goes alone, and the producer cannot map: it
                // will hang up, which is what running out of descriptors comes to anyway.
                let fd = region.and_then(|region| region.fd()?.try_clone_to_owned().ok());
                match &mut link.host {
                    AnyHost::Producer(host) => host.reply(call, result, has_more, fd),
                    AnyHost::Consumer(host) => host.reply(call, result, has_more, fd),
                }
            }
        }
    }
}
