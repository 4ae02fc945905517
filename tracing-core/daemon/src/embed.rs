//! The whole service inside a program, without a thread, a socket or a sleep of its own.
//!
//! ```text
//!   LocalConnection ──┐                            a client that waits makes the service run
//!                     ├──> EmbeddedService::poll ──> Service
//!   bytes of your IPC ┘      │         ^
//!                            └─ replies └─ poll_timeout, as_fd: when to poll again
//! ```
//!
//! Clients connect in two ways, which can be mixed:
//!
//! * in this process: [`producer`](EmbeddedService::producer) and [`consumer`](EmbeddedService::consumer)
//!   give connections that run the service while they wait, so that one thread is enough for everything. A
//!   [`PolledProducer`](client::producer::PolledProducer) needs no thread either;
//! * over a transport of yours: [`accept`](EmbeddedService::accept) a connection, pass the bytes that arrive to
//!   [`receive`](EmbeddedService::receive), and send the bytes that [`transmit`](EmbeddedService::transmit)
//!   gives. The other end is a [`TransportConnection`](client::connection::TransportConnection) over a
//!   [`Transport`](client::connection::Transport) of yours, or any program that speaks the protocol.
//!
//! One thread moves the bytes of such connections in a loop:
//!
//! 1. [`accept`](EmbeddedService::accept) and [`receive`](EmbeddedService::receive) what has come;
//! 2. [`poll`](EmbeddedService::poll);
//! 3. [`transmit`](EmbeddedService::transmit) for each connection that
//!    [`poll_transmit`](EmbeddedService::poll_transmit) returns, and for those whose transport was full and has room
//!    again;
//! 4. close the transport of each connection that [`poll_closed`](EmbeddedService::poll_closed) returns: the service
//!    remembers it until then;
//! 5. sleep until bytes come, the descriptor of the service is readable, or
//!    [`poll_timeout`](EmbeddedService::poll_timeout) is reached.
//!
//! Complete programs: `tracing-core/examples/embedded.rs`, `tracing-core/examples/custom_transport.rs`.

use core::fmt;
use std::io::IoSlice;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

pub use super::serve::PortKind;
use super::serve::{Counters, Disconnect, Engine, HostLink, Link, Log, PeerUser, ServerStats};
use crate::local::{Inbox, LocalConnection, LocalPort, RunService};
use crate::system::closer::PeerFd;
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

/// The connection is closed. The log and the statistics say why.
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

impl RunService for Inner {
    fn drive(&self) -> Option<Duration> {
        let mut engine = lock(&self.engine);
        self.wake.clear();
        engine.run_turn(clock::boot_ns());
        engine.check_queues();
        let due = engine.due_ns()?;
        Some(Duration::from_nanos(due.saturating_sub(clock::boot_ns())))
    }
}

/// A service that runs when it is polled. See the [module](self). Any thread may use it. The log function runs on
/// the thread that polls, and must not call the service.
///
/// Dropping it ends the service: sessions end, their files get all data that reached the service, and all clients
/// are disconnected.
pub struct EmbeddedService(Arc<Inner>);

impl EmbeddedService {
    /// A service without clients. [`service_config`](super::serve::service_config) makes a `config`; with
    /// [`HeapRegions`](super::serve::HeapRegions) in it no memory needs a descriptor.
    ///
    /// # Errors
    /// When the system has no descriptor left. The service needs one, for [`as_fd`](AsFd::as_fd).
    pub fn new(config: ServiceConfig, log: Log) -> Result<Self, OsError> {
        let wake = Wake::new()?;
        let engine = Engine::new(config, log, wake.clone(), false);
        let (inbox, counters) = (Arc::clone(engine.inbox()), Arc::clone(&engine.counters));
        Ok(Self(Arc::new(Inner { engine: Mutex::new(engine), inbox, counters, wake })))
    }

    /// Handles everything that waits: requests of clients of this process, and timers that are due.
    pub fn poll(&self) {
        self.0.drive();
    }

    /// The time until the next timer is due: poll again then at the latest.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<BootTime> {
        lock(&self.0.engine).due_ns().map(BootTime::from_ns)
    }

    /// Counts of connections and of their ends so far.
    #[must_use]
    pub fn stats(&self) -> ServerStats {
        self.0.counters.read()
    }

    // ------------------------------------------------------------ clients of this process

    /// A connection for a producer: a [`PolledProducer`](client::producer::PolledProducer), or a
    /// [`Producer`](client::producer::Producer) with its threads.
    #[must_use]
    pub fn producer(&self) -> Box<dyn Connection<ProducerPort>> {
        Box::new(self.connect_local())
    }

    /// A consumer. While one of its calls waits for an answer, the service runs inside that call.
    #[must_use]
    pub fn consumer(&self) -> Consumer {
        Consumer::with_connection(Box::new(self.connect_local()))
    }

    fn connect_local<P: LocalPort>(&self) -> LocalConnection<P> {
        let driver: Arc<dyn RunService> = self.0.clone();
        LocalConnection::connect_driven(&self.0.inbox, Some(Arc::downgrade(&driver)))
    }

    // ------------------------------------------------------------ a transport of yours

    /// A connection of a transport of yours. `peer` is the identity of the client, which the transport must know.
    /// Without it the connection counts as one from another machine, which may give its identity in the first
    /// frame. A transport that carries no descriptors has to say so with [`Peer::by_value`].
    pub fn accept(&self, port: PortKind, peer: Option<Peer>) -> ClientId {
        let mut engine = lock(&self.0.engine);
        let client = engine.next_client();
        let local = peer.as_ref().filter(|peer| peer.machine_id == 0);
        let user = local.map_or(PeerUser::Remote, |peer| PeerUser::Local(peer.uid));
        engine.add_connection(
            client,
            port,
            Link::Custom(Box::new(HostLink::new(port))),
            user,
            peer,
        );
        client
    }

    /// Takes bytes that arrived on a connection, and the descriptor that came with them. They may be cut anywhere.
    ///
    /// # Errors
    /// When the connection is closed, by these bytes or earlier.
    pub fn receive(
        &self,
        client: ClientId,
        bytes: &[u8],
        fd: Option<OwnedFd>,
    ) -> Result<(), ConnectionClosed> {
        let mut engine = lock(&self.0.engine);
        let Some(host) = engine.host(client) else { return Err(report_end(&mut engine, client)) };
        // The program polls on a thread of its own choice: what it passes is closed there.
        let taken = host.receive(bytes, fd.map(PeerFd::own));
        engine.process_events(client);
        check(&mut engine, client, taken)
    }

    /// Whether [`receive`](Self::receive) should wait, because the peer has too many unread replies. Bytes that are
    /// passed anyway are kept, so this only saves memory.
    #[must_use]
    pub fn is_paused(&self, client: ClientId) -> bool {
        lock(&self.0.engine).host(client).is_some_and(|host| host.is_paused())
    }

    /// A connection that has bytes to send. Each is returned once, until it has more.
    #[must_use]
    pub fn poll_transmit(&self) -> Option<ClientId> {
        let mut engine = lock(&self.0.engine);
        while let Some(client) = engine.dirty.pop_first() {
            // Clients of this process have their replies already.
            if engine.host(client).is_some_and(HostLink::has_replies) {
                return Some(client);
            }
        }
        None
    }

    /// Passes the bytes that wait to `send`, which takes as many as it can and returns their number; 0 ends the
    /// call. A descriptor belongs to the first byte. Call again when the transport has room.
    ///
    /// # Errors
    /// When `send` failed, or the connection is closed, for example because the peer does not read its replies.
    pub fn transmit(
        &self,
        client: ClientId,
        mut send: impl FnMut(&[IoSlice<'_>], Option<BorrowedFd<'_>>) -> Result<usize, OsError>,
    ) -> Result<(), ConnectionClosed> {
        let mut engine = lock(&self.0.engine);
        let Some(host) = engine.host(client) else { return Err(report_end(&mut engine, client)) };
        let mut has_sent = false;
        let send = |bytes: &[IoSlice<'_>], fd: Option<BorrowedFd<'_>>| {
            send(bytes, fd).inspect(|&count| has_sent |= count > 0)
        };
        let sent = host.transmit(send, drop);
        let drained = host.take_drained();
        check(&mut engine, client, sent)?;
        if drained {
            engine.handle_drained(client);
        }
        // Requests that had to wait for room in the queue of replies. A transport that is full makes none: a connection
        // that has new replies each time would be returned by `poll_transmit` again and again.
        let waits = |host: &mut HostLink| host.has_events() && !host.is_paused();
        if has_sent && engine.host(client).is_some_and(waits) {
            engine.process_events(client);
        }
        Ok(())
    }

    /// A connection that the service closed, because its peer broke the protocol or does not read. Each is returned
    /// once. Connections whose end another method reported as an error, and those that
    /// [`disconnect`](Self::disconnect) ended, are not returned.
    #[must_use]
    pub fn poll_closed(&self) -> Option<ClientId> {
        lock(&self.0.engine).closed.pop_first()
    }

    /// Ends a connection that its peer has closed, once what the peer sent before is handled.
    pub fn disconnect(&self, client: ClientId) {
        let mut engine = lock(&self.0.engine);
        engine.end_after_requests(client, Disconnect::PeerLeft);
        engine.closed.remove(&client);
    }
}

/// Ends a connection whose peer is at fault.
fn check(
    engine: &mut Engine,
    client: ClientId,
    done: Result<(), Disconnect>,
) -> Result<(), ConnectionClosed> {
    let Some(host) = engine.host(client) else { return Err(report_end(engine, client)) };
    done.and_then(|()| host.check_queue()).map_err(|reason| {
        engine.end_connection(client, &reason);
        ConnectionClosed
    })
}

/// The program learns from this error that the connection is over.
fn report_end(engine: &mut Engine, client: ClientId) -> ConnectionClosed {
    engine.closed.remove(&client);
    ConnectionClosed
}

impl Drop for EmbeddedService {
    fn drop(&mut self) {
        // Files are written at once, so nothing has to be waited for.
        let mut engine = lock(&self.0.engine);
        engine.finish(|| false);
        engine.end_log();
    }
}

impl AsFd for EmbeddedService {
    /// Readable when another thread has an event for [`poll`](Self::poll).
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.wake.as_fd()
    }
}

impl fmt::Debug for EmbeddedService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddedService").field("stats", &self.stats()).finish_non_exhaustive()
    }
}
