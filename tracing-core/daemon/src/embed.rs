//! The whole service inside a program, without a thread, a socket or a sleep that the program did not ask for.
//!
//! ```text
//!   LocalConnection ──┐                            a client that waits makes the service run
//!                     ├──> EmbeddedService::poll ──> Service
//!   bytes of your IPC ┘      │         ^
//!                            └─ replies └─ poll_timeout, as_fd: when to come again
//! ```
//!
//! Two ways to be a client, which can be mixed:
//!
//! * in this process: [`producer`](EmbeddedService::producer) and [`consumer`](EmbeddedService::consumer)
//!   give connections whose waiting drives the service, so that one thread is enough for all of it. A
//!   [`PolledProducer`](super::producer::PolledProducer) needs none of its own either;
//! * over an IPC of yours: [`accept`](EmbeddedService::accept) a connection, feed it
//!   [`received`](EmbeddedService::received) bytes, and [`transmit`](EmbeddedService::transmit) what it wants
//!   to send. Its other end is a [`TransportConnection`](super::connection::TransportConnection) over a
//!   [`Transport`](super::connection::Transport) of yours, or anything that speaks the protocol.
//!
//! Complete programs: `examples/embedded.rs`, `examples/custom_transport.rs`.

use core::fmt;
use std::io::IoSlice;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use super::serve::{Counters, Disconnect, Engine, HostLink, Link, Log, ServerStats, Side};
use crate::local::{Drive, Inbox, LocalConnection, LocalPort};
use abi::error::OsError;
use abi::ids::ClientId;
use abi::ipc::port::ProducerPort;
use abi::sync::{Arc, Mutex, lock};
use abi::time::BootTime;
use client::connection::Connection;
use client::consumer::Consumer;
use os::clock;
use os::poll::Wake;
use service::{Peer, ServiceConfig};

/// Which port somebody connects to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortKind {
    /// Data sources, commits, commands.
    Producer,
    /// Sessions, reading, queries.
    Consumer,
}

/// The connection is over; what happened to it is in the log and the statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionClosed;

impl fmt::Display for ConnectionClosed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the connection is over")
    }
}

impl std::error::Error for ConnectionClosed {}

struct Inner {
    engine: Mutex<Engine>,
    inbox: Arc<Inbox>,
    counters: Arc<Counters>,
    wake: Wake,
}

impl Drive for Inner {
    fn drive(&self) -> Option<Duration> {
        let mut engine = lock(&self.engine);
        self.wake.clear();
        engine.turn();
        engine.check_queues();
        let due = engine.due_ns()?;
        Some(Duration::from_nanos(due.saturating_sub(clock::boot_ns())))
    }
}

/// A service that runs when it is polled. See the [module](self). Any thread may use it; the log is called
/// on whichever that is, and must not call back.
///
/// Dropping it ends the service: sessions end, their files get all that reached it, and everybody is
/// disconnected.
pub struct EmbeddedService(Arc<Inner>);

impl EmbeddedService {
    /// A service without clients. `config` is best made by
    /// [`service_config`](super::serve::service_config); with
    /// [`HeapRegions`](super::serve::HeapRegions) in it no memory needs a descriptor.
    ///
    /// # Errors
    /// When the system has no descriptor left: it uses one, to be waited for.
    pub fn new(config: ServiceConfig, log: Log) -> Result<Self, OsError> {
        let wake = Wake::new()?;
        let engine = Engine::new(config, log, wake.clone(), false);
        let (inbox, counters) = (Arc::clone(engine.inbox()), Arc::clone(&engine.counters));
        Ok(Self(Arc::new(Inner { engine: Mutex::new(engine), inbox, counters, wake })))
    }

    /// Does everything there is to do now: requests of clients of this process, timers that are due.
    pub fn poll(&self) {
        self.0.drive();
    }

    /// When to poll at the latest, if nothing happens before.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<BootTime> {
        lock(&self.0.engine).due_ns().map(BootTime)
    }

    /// What became of connections so far.
    #[must_use]
    pub fn stats(&self) -> ServerStats {
        self.0.counters.read()
    }

    // ------------------------------------------------------------ clients of this process

    /// A producer's connection: for a [`PolledProducer`](super::producer::PolledProducer), or a
    /// [`Producer`](super::producer::Producer) with its threads.
    #[must_use]
    pub fn producer(&self) -> Box<dyn Connection<ProducerPort>> {
        Box::new(self.local())
    }

    /// A consumer. While one of its calls waits for an answer, the service runs in it.
    #[must_use]
    pub fn consumer(&self) -> Consumer {
        Consumer::with_connection(Box::new(self.local()))
    }

    fn local<P: LocalPort>(&self) -> LocalConnection<P> {
        let driver: Arc<dyn Drive> = self.0.clone();
        LocalConnection::connect_driven(&self.0.inbox, Some(Arc::downgrade(&driver)))
    }

    // ------------------------------------------------------------ a transport of yours

    /// A connection of a transport of yours. `peer` is who is there, which is for you to know; without it the
    /// connection is taken for one from another machine, which may say who it is in its first frame. A
    /// transport that carries no descriptors has to say so with [`Peer::by_value`].
    pub fn accept(&self, port: PortKind, peer: Option<Peer>) -> ClientId {
        let side = match port {
            PortKind::Producer => Side::Producer,
            PortKind::Consumer => Side::Consumer,
        };
        let mut engine = lock(&self.0.engine);
        let client = engine.next_client();
        engine.connected(client, side, Link::Custom(Box::new(HostLink::new(side))), peer);
        client
    }

    /// Takes bytes that came over a connection, cut anywhere, and the descriptor that came with them.
    ///
    /// # Errors
    /// When the connection is over, by this or before.
    pub fn received(
        &self,
        client: ClientId,
        bytes: &[u8],
        fd: Option<OwnedFd>,
    ) -> Result<(), ConnectionClosed> {
        let mut engine = lock(&self.0.engine);
        let host = engine.host(client).ok_or(ConnectionClosed)?;
        let taken = host.receive(bytes, fd);
        engine.process_events(client);
        self.checked(&mut engine, client, taken)
    }

    /// Whether [`received`](Self::received) should wait: the peer has too many replies to read first. What it
    /// says meanwhile is kept, so this is about memory only.
    #[must_use]
    pub fn is_paused(&self, client: ClientId) -> bool {
        lock(&self.0.engine).host(client).is_some_and(|host| host.is_paused())
    }

    /// A connection that may have something to send; each is named once, until it has more.
    #[must_use]
    pub fn poll_transmit(&self) -> Option<ClientId> {
        lock(&self.0.engine).dirty.pop_first()
    }

    /// Gives what waits to `send`, which takes as many bytes as it can and says how many; 0 ends the round.
    /// A descriptor goes with the first byte. Come again when there is room.
    ///
    /// # Errors
    /// When `send` failed, or the connection is over: also because too much waits for a peer that does not
    /// read.
    pub fn transmit(
        &self,
        client: ClientId,
        send: impl FnMut(&[IoSlice<'_>], Option<BorrowedFd<'_>>) -> Result<usize, OsError>,
    ) -> Result<(), ConnectionClosed> {
        let mut engine = lock(&self.0.engine);
        let host = engine.host(client).ok_or(ConnectionClosed)?;
        let sent = host.transmit(send, drop);
        let drained = host.take_drained();
        self.checked(&mut engine, client, sent)?;
        if drained {
            engine.drained(client);
        }
        // What was left unread for want of room.
        if engine.host(client).is_some_and(|host| host.has_events() && !host.is_paused()) {
            engine.process_events(client);
        }
        Ok(())
    }

    /// A connection that the service closed by itself: its peer misbehaved, or does not read. Those that an
    /// error told of are not named again.
    #[must_use]
    pub fn poll_closed(&self) -> Option<ClientId> {
        lock(&self.0.engine).closed.pop_front()
    }

    /// The peer is gone.
    pub fn disconnected(&self, client: ClientId) {
        lock(&self.0.engine).end_connection(client, &Disconnect::PeerLeft);
    }

    fn checked(
        &self,
        engine: &mut Engine,
        client: ClientId,
        done: Result<(), Disconnect>,
    ) -> Result<(), ConnectionClosed> {
        let done = match engine.host(client) {
            Some(host) => done.and_then(|()| host.check_queue()),
            None => return Err(ConnectionClosed),
        };
        done.map_err(|over| {
            engine.end_connection(client, &over);
            ConnectionClosed
        })
    }
}

impl Drop for EmbeddedService {
    fn drop(&mut self) {
        // Files are written at once, so there is nothing to wait for.
        lock(&self.0.engine).finish(|| false);
    }
}

impl AsFd for EmbeddedService {
    /// Readable when somebody, on whatever thread, has something for [`poll`](Self::poll).
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.wake.as_fd()
    }
}

impl fmt::Debug for EmbeddedService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddedService").field("stats", &self.stats()).finish_non_exhaustive()
    }
}
