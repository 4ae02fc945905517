//! A service with listening sockets.

use core::fmt;

use super::accepting::SocketPermissions;
use super::daemon::Daemon;
use super::{BindError, Engine, Log, ServerHandle};
use crate::system::signal::StopSignals;
use abi::error::OsError;
use os::poll::Wake;
use os::socket::{Address, Listener};
use service::{LogLevel, ServiceConfig};

/// What a [`Server`] is made of: [`new`](Self::new), then set the fields that differ.
#[non_exhaustive]
pub struct ServerOptions {
    /// Where producers connect; each address is a socket of its own.
    pub producer_sockets: Vec<Address>,
    /// Where consumers connect.
    pub consumer_sockets: Vec<Address>,
    /// What the service knows of the machine; see
    /// [`service_config`](super::service_config).
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

/// A service with its listening sockets, ready to [run](Self::run).
///
/// Dropping it closes its sockets and removes their files.
#[derive(Debug)]
pub struct Server {
    pub(super) daemon: Daemon,
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
        let memory_bytes = service.memory_bytes;
        let mut engine = Engine::new(service, log, Wake::new()?, true);
        for displaced in producers.iter().chain(&consumers).flat_map(Listener::displaced) {
            engine.log(None, LogLevel::Info, &displaced.to_string());
        }
        Ok(Self { daemon: Daemon::new(producers, consumers, engine, memory_bytes)? })
    }

    /// A handle of the server, for any thread while it runs.
    #[must_use]
    pub fn handle(&self) -> ServerHandle {
        ServerHandle::new(&self.daemon.engine)
    }

    /// Gives the socket files of producers and consumers to groups. Sockets without a file, and those that were
    /// inherited, stay as they are.
    ///
    /// # Errors
    /// When this process may not change them.
    pub fn set_permissions(
        &self,
        producers: SocketPermissions,
        consumers: SocketPermissions,
    ) -> Result<(), OsError> {
        self.daemon.accepting.set_permissions(producers, consumers)
    }

    /// Makes SIGINT, SIGTERM and SIGHUP end [`run`](Self::run). SIGHUP does not if this process ignores it, as below
    /// `nohup`.
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
