//! The daemon: sockets, files and timers around the service.
//!
//! ```text
//!        sockets ──> deframe ──┐                       ┌──> replies ──> queue ──> sockets
//!   this process ──────────────┼──> Service::handle ───┼──> replies ──> mailboxes
//!         timers ──────────────┘                       └──> files, log
//! ```
//!
//! One thread runs one loop that makes no decision about tracing: it passes each event to the
//! [`Service`](service::Service) and carries out its effects. The loop never waits for a peer. Each connection has a
//! queue of replies, and a peer that does not read is disconnected when its queue is full. Packets do not count
//! there: the service pauses for a consumer that reads slowly.

mod daemon;
mod engine;
mod files;
mod peer;
mod stats;

#[cfg(test)]
mod tests;

use core::fmt;

use self::daemon::Daemon;
pub(super) use self::engine::Engine;
pub use self::engine::Log;
pub(super) use self::peer::{Disconnect, HostLink, Link, Side};
pub(super) use self::stats::Counters;
pub use self::stats::ServerStats;
use crate::local::{Inbox, LocalConnection};
use crate::system::signal::StopSignals;
use crate::system::{memory, timezone};
use abi::error::OsError;
use abi::ipc::port::ProducerPort;
use abi::shm::Region;
use abi::sync::Arc;
use client::connection::Connection;
use client::consumer::Consumer;
use os::poll::Wake;
use os::process::{self, Machine};
use os::socket::{Address, ListenError, Listener};
use os::{clock, shm};
use service::buffer::FaultIn;
use service::{HostInfo, RegionFactory, ServiceConfig};

/// What a [`Server`] is made of: [`new`](Self::new), then set the fields that differ.
#[non_exhaustive]
pub struct ServerOptions {
    /// Where producers connect; each address is a socket of its own.
    pub producer_sockets: Vec<Address>,
    /// Where consumers connect.
    pub consumer_sockets: Vec<Address>,
    /// What the service knows of the machine; see [`service_config`].
    pub service: ServiceConfig,
    /// Takes the log.
    pub log: Log,
}

impl ServerOptions {
    /// A server that listens nowhere yet.
    #[must_use]
    pub fn new(service: ServiceConfig, log: Log) -> Self {
        Self { producer_sockets: Vec::new(), consumer_sockets: Vec::new(), service, log }
    }
}

impl fmt::Debug for ServerOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerOptions")
            .field("producer_sockets", &self.producer_sockets)
            .field("consumer_sockets", &self.consumer_sockets)
            .finish_non_exhaustive()
    }
}

/// Why a server could not be made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BindError {
    /// A socket could not be bound.
    Listen(ListenError),
    /// Another system call failed.
    Os(OsError),
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listen(error) => error.fmt(f),
            Self::Os(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for BindError {}

impl From<ListenError> for BindError {
    fn from(error: ListenError) -> Self {
        Self::Listen(error)
    }
}

impl From<OsError> for BindError {
    fn from(error: OsError) -> Self {
        Self::Os(error)
    }
}

/// A service with its listening sockets, ready to [run](Self::run).
///
/// Dropping it closes its sockets and removes their files.
#[derive(Debug)]
pub struct Server {
    daemon: Daemon,
}

impl Server {
    /// Binds all sockets, or none.
    ///
    /// # Errors
    /// When another service listens at one of the addresses, or a system call fails.
    pub fn bind(options: ServerOptions) -> Result<Self, BindError> {
        let listen = |addresses: &[Address]| {
            addresses.iter().map(Listener::bind).collect::<Result<Vec<_>, _>>()
        };
        let producers = listen(&options.producer_sockets)?;
        let consumers = listen(&options.consumer_sockets)?;
        Self::with_listeners(producers, consumers, options.service, options.log)
            .map_err(BindError::Os)
    }

    /// A server on sockets that listen already, such as [inherited](Listener::inherit) ones.
    ///
    /// # Errors
    /// When the system has no descriptor left.
    pub fn with_listeners(
        producers: Vec<Listener>,
        consumers: Vec<Listener>,
        service: ServiceConfig,
        log: Log,
    ) -> Result<Self, OsError> {
        let engine = Engine::new(service, log, Wake::new()?, true);
        Ok(Self { daemon: Daemon::new(producers, consumers, engine)? })
    }

    /// A handle of the server, for any thread while it runs.
    #[must_use]
    pub fn handle(&self) -> ServerHandle {
        let engine = &self.daemon.engine;
        ServerHandle { inbox: Arc::clone(engine.inbox()), counters: Arc::clone(&engine.counters) }
    }

    /// Gives the socket files of producers and consumers to groups, with modes such as `0o660`.
    ///
    /// # Errors
    /// When this process may not change them.
    pub fn set_permissions(
        &self,
        producers: (u32, u32),
        consumers: (u32, u32),
    ) -> Result<(), OsError> {
        self.daemon.set_permissions(producers, consumers)
    }

    /// Makes SIGINT and SIGTERM end [`run`](Self::run).
    ///
    /// # Errors
    /// When the system has no descriptor left.
    pub fn stop_on_signals(&mut self) -> Result<(), OsError> {
        self.daemon.stop_on(StopSignals::catch()?)
    }

    /// Serves until it is stopped. Then all sessions end: their consumers are told, and their files get all data
    /// that reached the service, which may take a few seconds. A second signal ends the wait for files.
    ///
    /// # Errors
    /// When waiting for events fails; in practice never.
    pub fn run(mut self) -> Result<(), OsError> {
        self.daemon.run()
    }
}

/// Controls a running [`Server`] from any thread of its process.
#[derive(Clone, Debug)]
pub struct ServerHandle {
    inbox: Arc<Inbox>,
    counters: Arc<Counters>,
}

impl ServerHandle {
    /// Ends [`Server::run`] after the files of sessions are complete. All clients are disconnected.
    pub fn stop(&self) {
        self.inbox.stop();
    }

    /// Counts of connections and of their ends so far.
    #[must_use]
    pub fn stats(&self) -> ServerStats {
        self.counters.read()
    }

    /// A connection for a producer, without a socket. If the server has ended, it is closed.
    #[must_use]
    pub fn producer(&self) -> Box<dyn Connection<ProducerPort>> {
        Box::new(LocalConnection::connect(&self.inbox))
    }

    /// A consumer, without a socket.
    #[must_use]
    pub fn consumer(&self) -> Consumer {
        Consumer::with_connection(Box::new(LocalConnection::connect(&self.inbox)))
    }
}

/// The configuration of a service in this process, on this machine. `version` goes into traces and into answers to
/// queries.
///
/// Producers get sealed memfds as shared memory, also the producers of this process.
///
/// # Errors
/// When the kernel has no random numbers.
pub fn service_config(version: impl Into<String>) -> Result<ServiceConfig, OsError> {
    let machine = Machine::read();
    let unix_s = i64::try_from(clock::now().real_ns / 1_000_000_000).unwrap_or(i64::MAX);
    let machine_name = std::env::var("PERFETTO_MACHINE_NAME")
        .ok()
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| machine.sysname.clone());
    let mut config = ServiceConfig::new(Arc::new(MemfdRegions));
    config.uid = process::effective_uid();
    config.pid = process::pid();
    config.version = version.into();
    let mut host = HostInfo::default();
    host.sysname = machine.sysname;
    host.version = machine.version;
    host.release = machine.release;
    host.machine = machine.machine;
    host.hz = i64::try_from(machine.ticks_per_second).ok();
    host.page_bytes = Some(machine.page_bytes);
    host.timezone_off_mins = Some(timezone::offset_mins(unix_s));
    host.cpu_count = Some(machine.cpu_count);
    host.ram_bytes = Some(machine.ram_bytes);
    host.machine_name = machine_name;
    config.host = host;
    config.seed = process::random_seed()?;
    Ok(config)
}

/// Makes shared memory that can be passed to another process.
#[derive(Clone, Copy, Debug, Default)]
pub struct MemfdRegions;

impl RegionFactory for MemfdRegions {
    fn fault_in(&self) -> Option<FaultIn> {
        Some(memory::fault_in)
    }

    fn create(&self, len: usize) -> Result<Region, String> {
        shm::create(len).map_err(|error| error.to_string())
    }
}

/// Makes memory on the heap, which cannot be passed to another process: for producers of this process.
#[derive(Clone, Copy, Debug, Default)]
pub struct HeapRegions;

impl RegionFactory for HeapRegions {
    fn create(&self, len: usize) -> Result<Region, String> {
        Ok(Region::heap(len))
    }
}
