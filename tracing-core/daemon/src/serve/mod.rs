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
//!
//! | file | concern |
//! |---|---|
//! | `server` | a service with listening sockets, as programs see it |
//! | `daemon`, `alone` | the loop with sockets; the loop for clients of this process alone |
//! | `engine`, `requests` | the service and its effects; the requests of connections that carry bytes |
//! | `peer`, `port_kind`, `user` | a connection; its port, and why it ended; its user |
//! | `remote` | bytes in and out: sockets, and transports of the program |
//! | `accepting`, `connections` | which connection is accepted next; how many connections a user may have |
//! | `refusals` | how often something was refused to each user |
//! | `resources`, `descriptors` | what the process may use; how many descriptors it can still open |
//! | `producer_memory` | shared memory that producers bring |
//! | `fairness`, `order` | which connections are served now, and which later; in which order |
//! | `unreceived` | sockets whose peers have not received all, after the connection has ended |
//! | `slow_calls` | users whose sockets make system calls slow |
//! | `watchdog` | turns of the loop that take long |
//! | `files`, `log` | trace files; the log |
//! | `stats`, `accounts` | counters; what an answer to a query tells of each user |

#[cfg(feature = "host")]
mod accepting;
#[cfg(feature = "host")]
mod accounts;
mod alone;
#[cfg(feature = "host")]
mod connections;
#[cfg(feature = "host")]
mod daemon;
#[cfg(feature = "host")]
mod descriptors;
mod engine;
#[cfg(feature = "host")]
mod fairness;
mod files;
mod log;
#[cfg(feature = "host")]
mod order;
mod peer;
mod port_kind;
#[cfg(feature = "host")]
mod producer_memory;
#[cfg(feature = "host")]
mod refusals;
#[cfg(feature = "host")]
mod remote;
#[cfg(feature = "host")]
mod requests;
#[cfg(feature = "host")]
mod resources;
#[cfg(feature = "host")]
mod server;
#[cfg(feature = "host")]
mod slow_calls;
mod stats;
#[cfg(feature = "host")]
mod unreceived;
mod user;
#[cfg(feature = "host")]
mod watchdog;

#[cfg(all(test, feature = "host"))]
mod tests;

use core::fmt;

#[cfg(feature = "host")]
pub use self::accepting::SocketPermissions;
pub(super) use self::alone::Alone;
pub(super) use self::engine::Engine;
pub use self::log::Log;
#[cfg(feature = "host")]
pub(super) use self::peer::Link;
#[cfg(feature = "host")]
pub(super) use self::port_kind::Disconnect;
#[cfg(feature = "host")]
pub use self::port_kind::PortKind;
#[cfg(feature = "host")]
pub(super) use self::remote::HostLink;
#[cfg(feature = "host")]
pub use self::server::{Server, ServerOptions};
pub(super) use self::stats::Counters;
pub use self::stats::ServerStats;
#[cfg(feature = "host")]
pub(super) use self::user::PeerUser;
use crate::local::{Inbox, LocalConnection};
use crate::system::memory;
#[cfg(feature = "host")]
use crate::system::timezone;
#[cfg(feature = "host")]
use crate::system::unreclaimable::UnreclaimableQuestion;
use abi::error::OsError;
use abi::ipc::port::ProducerPort;
use abi::shm::Region;
use abi::sync::Arc;
use client::connection::Connection;
use client::consumer::Consumer;
use os::process::{self, Machine};
use os::shm;
#[cfg(feature = "host")]
use os::socket::ListenError;
use service::buffer::FaultIn;
use service::{HostInfo, RegionFactory, ServiceConfig};

/// Why a server could not be made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BindError {
    /// A socket could not be bound.
    #[cfg(feature = "host")]
    Listen(ListenError),
    /// Another system call failed.
    Os(OsError),
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            #[cfg(feature = "host")]
            Self::Listen(error) => error.fmt(f),
            Self::Os(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for BindError {}

#[cfg(feature = "host")]
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

/// Controls a running service from any thread of its process.
#[derive(Clone, Debug)]
pub struct ServerHandle {
    inbox: Arc<Inbox>,
    counters: Arc<Counters>,
}

impl ServerHandle {
    pub(crate) fn new(engine: &Engine) -> Self {
        Self { inbox: Arc::clone(engine.inbox()), counters: Arc::clone(&engine.counters) }
    }

    /// Ends the service after the files of sessions are complete. All clients are disconnected.
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
    let machine_name = std::env::var("PERFETTO_MACHINE_NAME")
        .ok()
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| machine.sysname.clone());
    let mut config = ServiceConfig::new(Arc::new(MemfdRegions::default()));
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
    host.timezone_off_mins = timezone_off_mins();
    host.cpu_count = Some(machine.cpu_count);
    host.ram_bytes = Some(machine.ram_bytes);
    host.machine_name = machine_name;
    config.host = host;
    config.seed = process::random_seed()?;
    config.check_seed = process::random_seed()?;
    Ok(config)
}

/// The offset of local time. Only a daemon reads the files of time zones.
#[cfg(feature = "host")]
fn timezone_off_mins() -> Option<i32> {
    let unix_s = i64::try_from(os::clock::now().real_ns / 1_000_000_000).unwrap_or(i64::MAX);
    Some(timezone::offset_mins(unix_s))
}

#[cfg(not(feature = "host"))]
fn timezone_off_mins() -> Option<i32> {
    None
}

/// Makes shared memory that can be passed to another process.
#[derive(Clone, Debug, Default)]
pub struct MemfdRegions {
    /// How much the kernel still counts of memory that other programs removed.
    #[cfg(feature = "host")]
    unreclaimable: UnreclaimableQuestion,
}

impl RegionFactory for MemfdRegions {
    fn fault_in(&self) -> Option<FaultIn> {
        Some(memory::fault_in)
    }

    #[cfg(feature = "host")]
    fn ask_unreclaimable_bytes(&self) -> Option<u64> {
        self.unreclaimable.ask()
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
