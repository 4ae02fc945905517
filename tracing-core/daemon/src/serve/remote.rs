//! Connections that carry bytes: over a socket, or over a transport of the program.

use std::io::IoSlice;
use std::os::fd::{AsFd, BorrowedFd};

use bytes::Bytes;

use super::connections::Slot;
use super::descriptors::Descriptors;
use super::port_kind::{Disconnect, PortKind};
use super::slow_calls::{CallMeter, CallTime};
use super::unreceived::{EndedSocket, Unreceived};
use crate::limits::{
    CONSUMER_QUEUE_BYTES_MAX, CONSUMER_QUEUE_BYTES_PAUSE, CONSUMER_SOCKET_BYTES,
    LARGE_SOCKET_BYTES, PRODUCER_QUEUE_BYTES_MAX, PRODUCER_SOCKET_BYTES,
};
use crate::system::closer::{Closer, Origin, PeerFd};
use crate::system::identity::Identity;
use abi::error::OsError;
use abi::ids::CallId;
use abi::ipc::port::{ConsumerPort, ProducerPort};
use abi::ipc::{FrameError, Host, HostEvent, Outbox, PeerIdentity, Rejected};
use abi::shm::Region;
use abi::sync::Arc;
use os::poll::{Interest, Poller};
use os::socket::{Credentials, Openable, Received, Stream};
use service::{ConsumerRequest, ProducerRequest};

/// The state machine of one port over a socket.
///
/// Its socket is closed on another thread if descriptors of the peer may wait in it.
pub(crate) struct SocketLink {
    /// None only while it is dropped.
    stream: Option<Stream>,
    pub(super) host: HostLink,
    /// What the poller waits for.
    pub(super) interest: Interest,
    pub(super) origin: Origin,
    /// Until the socket is closed.
    slot: Option<Slot>,
    /// The buffer of the socket has its small size. It can be enlarged once.
    is_small: bool,
    /// Descriptors may wait in the socket.
    may_have_descriptors: bool,
    /// The poller looks at it.
    pub(super) is_polled: bool,
    /// What calls on the socket took.
    pub(super) call_time: CallTime,
    /// The peer sends no more.
    has_ended: bool,
    closer: Closer,
    unreceived: Unreceived,
    poller: Arc<Poller>,
}

/// The state machine of one port, over any transport of bytes.
pub(crate) struct HostLink {
    host: AnyHost,
    /// The queue was not empty when the service was last told about it.
    undrained: bool,
    /// Bytes of packets queued since the queue was last empty. Until the service is told that it is empty again, it
    /// sends at most a window and one packet of them; the size of the buffer bounds that packet.
    paced: usize,
    /// The peer has closed the connection: its last requests are handled, but their replies are dropped.
    pub(super) write_closed: bool,
}

enum AnyHost {
    Producer(Host<ProducerPort, PeerFd, Bytes>),
    Consumer(Host<ConsumerPort, PeerFd, Bytes>),
}

/// A request or an identity from a client. It is matched at once.
pub(super) enum Event {
    Producer { call: Option<CallId>, request: ProducerRequest, fd: Option<PeerFd> },
    Consumer { call: Option<CallId>, request: ConsumerRequest, fd: Option<PeerFd> },
    Identity(PeerIdentity),
}

impl Event {
    /// Who the peer says it is.
    pub(super) fn identity(&self) -> Option<&PeerIdentity> {
        match self {
            Self::Identity(identity) => Some(identity),
            Self::Producer { .. } | Self::Consumer { .. } => None,
        }
    }
}

impl SocketLink {
    /// A connection that `poller` does not wait for yet.
    pub(super) fn new(
        stream: Stream,
        port: PortKind,
        origin: Origin,
        slot: Slot,
        closer: &Closer,
        unreceived: &Unreceived,
        poller: &Arc<Poller>,
    ) -> Self {
        stream.limit_unread(match port {
            PortKind::Producer => PRODUCER_SOCKET_BYTES,
            PortKind::Consumer => CONSUMER_SOCKET_BYTES,
        });
        Self {
            is_small: port == PortKind::Consumer,
            may_have_descriptors: stream.is_unix(),
            stream: Some(stream),
            host: HostLink::new(port),
            interest: Interest::READ,
            is_polled: true,
            call_time: CallTime::default(),
            has_ended: false,
            origin,
            slot: Some(slot),
            closer: closer.clone(),
            unreceived: unreceived.clone(),
            poller: Arc::clone(poller),
        }
    }

    /// The name that the transport has for the machine at the other end.
    pub(super) fn peer_machine(&self) -> String {
        self.stream.as_ref().map_or_else(String::new, Stream::peer_machine)
    }

    /// Whether descriptors can pass, and the kernel knows the peer.
    pub(super) fn is_unix(&self) -> bool {
        self.stream.as_ref().is_some_and(Stream::is_unix)
    }

    /// Lets the peer send descriptors or not, where the kernel can refuse them.
    pub(super) fn take_descriptors(&self, take: bool) {
        if let Some(stream) = self.stream.as_ref().filter(|stream| stream.is_unix()) {
            stream.take_descriptors(take);
        }
    }

    /// The user and groups of the process that connected.
    pub(super) fn identity(&self) -> Result<Identity, OsError> {
        let stream = self.stream.as_ref().ok_or(OsError::new("getsockopt", libc::ENOTCONN))?;
        let Credentials { uid, gid, .. } = stream.credentials()?;
        Ok(Identity { uid, gid, groups: stream.peer_groups()? })
    }

    /// Reads once. The requests come out of [`HostLink::poll_event`], also when the connection is closed.
    /// `openable` tells how many descriptors may be opened, and `descriptors` counts those that are.
    pub(super) fn read(
        &mut self,
        buf: &mut [u8],
        openable: Openable,
        descriptors: &mut Descriptors,
        meter: &mut CallMeter,
    ) -> Result<(), Disconnect> {
        let Some(stream) = &self.stream else { return Err(Disconnect::PeerLeft) };
        let mut spare = Vec::new();
        let receive = || stream.receive_all(buf, openable, &mut spare);
        let received = meter.measure(&mut self.call_time, receive);
        let kept = matches!(received, Ok(Received::Bytes(_, Some(_))));
        descriptors.count_opened(spare.len() as u64 + u64::from(kept));
        spare.into_iter().for_each(|fd| self.closer.take(self.origin, fd));
        match received {
            Ok(Received::Nothing) => Ok(()),
            Ok(Received::Bytes(count, fd)) => {
                let fd = fd.map(|fd| PeerFd::received(fd, &self.closer, self.origin));
                self.host.receive(buf.get(..count).unwrap_or_default(), fd)
            }
            Ok(Received::LostDescriptors) => Err(Disconnect::LostDescriptors),
            Ok(Received::End) | Err(_) => {
                self.has_ended = true;
                Err(Disconnect::PeerLeft)
            }
        }
    }

    /// Whether sending would change nothing: no reply waits, the poller waits for what it should, no call on the socket
    /// took long, and the account is right. So it is after a commit, and most requests are commits.
    pub(super) fn is_settled(&mut self) -> bool {
        let kept = self.host.memory();
        !self.host.has_replies()
            && self.host.wanted() == self.interest
            && !self.call_time.has_slow()
            && self.slot.as_ref().is_none_or(|slot| slot.keeps(kept))
    }

    /// Puts what the connection keeps on the account of its user.
    ///
    /// # Errors
    /// When that is too much.
    pub(super) fn account(&mut self) -> Result<(), Disconnect> {
        let kept = self.host.memory();
        let fits = self.slot.as_mut().is_none_or(|slot| slot.keep(kept));
        if fits { Ok(()) } else { Err(Disconnect::UserFull) }
    }

    /// Whether the calls on the socket take too long.
    pub(super) fn check_calls(&self) -> Result<(), Disconnect> {
        if self.call_time.is_too_much() { Err(Disconnect::SlowCalls) } else { Ok(()) }
    }

    /// Sends as many bytes as the socket takes, or until a call takes long; `recycle` gets the memory of sent replies.
    pub(super) fn write(
        &mut self,
        meter: &mut CallMeter,
        recycle: impl FnMut(Bytes),
    ) -> Result<(), Disconnect> {
        let Self { stream, host, slot, is_small, call_time, .. } = self;
        let Some(stream) = stream else { return Err(Disconnect::PeerLeft) };
        let send = |bytes: &[IoSlice<'_>], fd: Option<BorrowedFd<'_>>| {
            if call_time.owes() || call_time.is_too_much() {
                return Ok(0);
            }
            let sent = meter.measure(call_time, || stream.send(bytes, fd))?;
            let is_all = || sent == bytes.iter().map(|slice| slice.len()).sum::<usize>();
            if !*is_small || is_all() || !slot.as_mut().is_some_and(Slot::enlarge) {
                return Ok(sent);
            }
            *is_small = false;
            stream.limit_unread(LARGE_SOCKET_BYTES);
            match sent {
                0 => meter.measure(call_time, || stream.send(bytes, fd)),
                // The rest is sent next.
                _ => Ok(sent),
            }
        };
        host.transmit(send, recycle)
    }
}

impl HostLink {
    pub(crate) fn new(port: PortKind) -> Self {
        let host = match port {
            PortKind::Producer => AnyHost::Producer(Host::default()),
            PortKind::Consumer => AnyHost::Consumer(Host::default()),
        };
        Self { host, undrained: false, paced: 0, write_closed: false }
    }

    /// Takes received bytes, and the descriptor that came with them.
    pub(crate) fn receive(&mut self, bytes: &[u8], fd: Option<PeerFd>) -> Result<(), Disconnect> {
        match &mut self.host {
            AnyHost::Producer(host) => host.receive(bytes, fd),
            AnyHost::Consumer(host) => host.receive(bytes, fd),
        }
        .map_err(Disconnect::BadFrame)
    }

    /// See [`Host::decoded`].
    pub(super) fn decoded(&self) -> usize {
        match &self.host {
            AnyHost::Producer(host) => host.decoded(),
            AnyHost::Consumer(host) => host.decoded(),
        }
    }

    /// See [`Host::take_decoded`].
    pub(super) fn take_decoded(&mut self) -> usize {
        match &mut self.host {
            AnyHost::Producer(host) => host.take_decoded(),
            AnyHost::Consumer(host) => host.take_decoded(),
        }
    }

    /// See [`Host::take_refused`].
    pub(super) fn take_refused(&mut self) -> u64 {
        match &mut self.host {
            AnyHost::Producer(host) => host.take_refused(),
            AnyHost::Consumer(host) => host.take_refused(),
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

    fn outbox(&mut self) -> &mut Outbox<PeerFd, Bytes> {
        match &mut self.host {
            AnyHost::Producer(host) => host.outbox(),
            AnyHost::Consumer(host) => host.outbox(),
        }
    }

    /// Passes the queue to `send` until that takes nothing more; `recycle` gets the memory of sent replies.
    pub(crate) fn transmit(
        &mut self,
        mut send: impl FnMut(&[IoSlice<'_>], Option<BorrowedFd<'_>>) -> Result<usize, OsError>,
        mut recycle: impl FnMut(Bytes),
    ) -> Result<(), Disconnect> {
        loop {
            let mut parts = Vec::new();
            let outbox = self.outbox();
            if outbox.is_empty() {
                self.paced = 0;
                return Ok(());
            }
            let fd = outbox.next(&mut parts).and_then(PeerFd::as_fd);
            match send(&parts, fd) {
                Ok(0) => break,
                Ok(sent) => outbox.advance_with(sent, &mut recycle),
                Err(_) => return Err(Disconnect::PeerLeft),
            }
        }
        self.check_queue()
    }

    /// The next reply carries packets of so many bytes.
    pub(super) fn expect_paced(&mut self, bytes: usize) {
        if !self.write_closed {
            self.paced = self.paced.saturating_add(bytes);
        }
    }

    /// Whether the peer still reads its replies. Packets are not counted, because the service bounds them by
    /// itself.
    pub(crate) fn check_queue(&mut self) -> Result<(), Disconnect> {
        let max = match self.host {
            AnyHost::Producer(_) => PRODUCER_QUEUE_BYTES_MAX,
            AnyHost::Consumer(_) => CONSUMER_QUEUE_BYTES_MAX,
        };
        let max = max.saturating_add(self.paced);
        if self.outbox().len() > max { Err(Disconnect::SlowReader) } else { Ok(()) }
    }

    /// How much memory it takes, bytes, without packets that wait to be sent: the service bounds them by itself.
    fn memory(&self) -> usize {
        let memory = match &self.host {
            AnyHost::Producer(host) => host.memory(),
            AnyHost::Consumer(host) => host.memory(),
        };
        memory.saturating_sub(self.paced)
    }

    /// Whether requests of the peer have to wait until it has read some of its replies. Only consumers wait: the
    /// commits of a producer are handled even if it does not read, because they free its shared memory.
    pub(crate) fn is_paused(&mut self) -> bool {
        matches!(self.host, AnyHost::Consumer(_))
            && self.outbox().len() > CONSUMER_QUEUE_BYTES_PAUSE
    }

    /// Whether requests of the peer were not handled yet.
    pub(crate) fn has_events(&self) -> bool {
        match &self.host {
            AnyHost::Producer(host) => host.has_events(),
            AnyHost::Consumer(host) => host.has_events(),
        }
    }

    /// Whether bytes wait to be sent.
    pub(crate) fn has_replies(&mut self) -> bool {
        !self.outbox().is_empty()
    }

    /// What the poller should wait for.
    pub(super) fn wanted(&mut self) -> Interest {
        let read = !self.is_paused() && !self.has_events();
        Interest { read, write: self.has_replies() }
    }

    /// Whether the queue became empty since the last call.
    pub(crate) fn take_drained(&mut self) -> bool {
        self.outbox().is_empty() && std::mem::take(&mut self.undrained)
    }

    /// Queues a reply.
    pub(super) fn reply(
        &mut self,
        call: CallId,
        result: Result<Bytes, Rejected>,
        has_more: bool,
        region: Option<Region>,
    ) -> Result<(), FrameError> {
        if self.write_closed {
            return Ok(());
        }
        self.undrained = true;
        // If no descriptor is left, the reply goes without the memory. The producer cannot map it then, and closes the
        // connection.
        let fd = region.and_then(|region| region.fd()?.try_clone_to_owned().ok());
        let fd = fd.map(PeerFd::own);
        match &mut self.host {
            AnyHost::Producer(host) => host.reply(call, result, has_more, fd),
            AnyHost::Consumer(host) => host.reply(call, result, has_more, fd),
        }
    }
}

impl SocketLink {
    /// Lets the poller not look at the socket any more.
    pub(super) fn leave_poller(&mut self) {
        if self.is_polled && self.as_fd().is_some_and(|fd| self.poller.remove(fd).is_ok()) {
            self.is_polled = false;
        }
    }

    /// The socket, for the poller. None only while it is dropped.
    pub(super) fn as_fd(&self) -> Option<BorrowedFd<'_>> {
        self.stream.as_ref().map(AsFd::as_fd)
    }
}

impl Drop for SocketLink {
    fn drop(&mut self) {
        let Some(stream) = self.stream.take() else { return };
        // The socket may be closed much later.
        if let Some(slot) = &mut self.slot {
            slot.keep(0);
        }
        if self.may_have_descriptors {
            // At once, although the thread may be late: the peer learns the end, and the poller waits for it no more.
            let _ = self.poller.remove(&stream);
            // This wakes the peer as other calls do. One that has ended does not have to learn it.
            let shuts_down = !self.has_ended && !self.call_time.has_slow();
            if shuts_down {
                stream.shutdown();
            }
            let (slot, closer) = (self.slot.take(), self.closer.clone());
            let socket = EndedSocket::new(stream, slot, closer, self.origin);
            self.unreceived.end(socket, shuts_down);
        }
    }
}
