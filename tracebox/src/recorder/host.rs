//! The service that a recording uses: the running one of the machine, or one in this process.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use tracing_core::abi::ipc::port::ProducerPort;
use tracing_core::client::connection::Connection;
use tracing_core::client::consumer::Consumer;
use tracing_core::daemon::in_process::InProcessService;
use tracing_core::daemon::serve::{BindError, Server, ServerOptions, service_config};
use tracing_core::os::memory_limit;
use tracing_core::os::socket::{Address, ListenError, defaults};

use crate::console;
use crate::failure::{Context, Failure};
use crate::probes;
use crate::recorder::consumer_error::connect_failure;
use crate::recorder::snapshots::Connect;
use crate::version::VERSION;

/// A service to record with.
pub enum ServiceHost {
    /// The service of the machine.
    Running,
    /// A service in this process, with the built-in data sources.
    Started {
        /// Held for its life. It must be dropped before the service.
        _sources: probes::Sources,
        /// The service.
        service: InProcessService,
        /// Other processes can connect.
        listens: bool,
    },
}

/// The sockets that a service in this process listens at.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Sockets {
    /// For producers.
    pub producers: Vec<Address>,
    /// For consumers.
    pub consumers: Vec<Address>,
}

impl Sockets {
    /// Where the service of the machine would listen.
    ///
    /// # Errors
    /// When an address in the environment is not one.
    pub fn of_machine() -> Result<Self, Failure> {
        let sockets = defaults();
        Self::parse(Some(&sockets.producer), Some(&sockets.consumer))
    }

    /// Those that the environment names: none unless `PERFETTO_PRODUCER_SOCK_NAME` or
    /// `PERFETTO_CONSUMER_SOCK_NAME` is set.
    ///
    /// # Errors
    /// When one of them is no address.
    pub fn of_environment() -> Result<Self, Failure> {
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let (producer, consumer) = (variable(PRODUCER_SOCKET), variable(CONSUMER_SOCKET));
        Self::parse(producer.as_deref(), consumer.as_deref())
    }

    /// One socket of each kind, given as paths in a temporary directory.
    ///
    /// # Errors
    /// When a path is too long.
    pub fn at(producer: &Path, consumer: &Path) -> Result<Self, Failure> {
        let address = |path: &Path| {
            Address::parse(path).map_err(|error| {
                Failure::new(format_args!(
                    "cannot listen at {}: {}; set TMPDIR to a directory with a shorter name",
                    console::name(path),
                    error.reason
                ))
            })
        };
        Ok(Self { producers: vec![address(producer)?], consumers: vec![address(consumer)?] })
    }

    /// The environment in which other processes find these sockets.
    pub fn environment(&self) -> impl Iterator<Item = (&'static str, OsString)> {
        let producer = self.producers.first().map(|address| (PRODUCER_SOCKET, address.into()));
        let consumer = self.consumers.first().map(|address| (CONSUMER_SOCKET, address.into()));
        producer.into_iter().chain(consumer)
    }

    fn parse(producer: Option<&OsStr>, consumer: Option<&OsStr>) -> Result<Self, Failure> {
        let producers = producer.map(Address::parse_list).transpose().context(PRODUCER_SOCKET)?;
        let consumer = consumer.map(Address::parse).transpose().context(CONSUMER_SOCKET)?;
        Ok(Self {
            producers: producers.unwrap_or_default(),
            consumers: consumer.into_iter().collect(),
        })
    }
}

const PRODUCER_SOCKET: &str = "PERFETTO_PRODUCER_SOCK_NAME";
const CONSUMER_SOCKET: &str = "PERFETTO_CONSUMER_SOCK_NAME";

impl ServiceHost {
    /// A service in this process that listens at `sockets`. Without any, nothing outside of it can reach it.
    ///
    /// # Errors
    /// When another service listens there, or the system has no descriptors or threads left.
    pub fn start(sockets: Sockets) -> Result<Self, Failure> {
        let listens = !sockets.producers.is_empty();
        let mut service = service_config(VERSION).context("cannot start the service")?;
        // Upstream scrapes producers inside of the process, and by default no others.
        service.scrape_by_default = !listens;
        if listens {
            service.memory_bytes = memory_limit::read();
        }
        let mut options = ServerOptions::new(service, console::own_service_log());
        options.producer_sockets = sockets.producers;
        options.consumer_sockets = sockets.consumers;
        let server = Server::bind(options).map_err(|error| match error {
            BindError::Listen(error @ ListenError::InUse(_)) => {
                Failure::new(format_args!("{error} (`tracebox perfetto` records with it)"))
            }
            BindError::Listen(error) => Failure::new(error),
            error => Failure::new(format_args!("cannot start the service: {error}")),
        })?;
        let service = InProcessService::run(server).context("cannot start the service")?;
        Self::with_sources(service, listens)
    }

    fn with_sources(service: InProcessService, listens: bool) -> Result<Self, Failure> {
        let sources = probes::Sources::attach(service.producer())?;
        Ok(Self::Started { _sources: sources, service, listens })
    }

    /// Whether a producer outside of this process can connect.
    #[must_use]
    pub fn admits_producers(&self) -> bool {
        !matches!(self, Self::Started { listens: false, .. })
    }

    /// A new connection to the service.
    ///
    /// # Errors
    /// When it does not run.
    pub fn consumer(&self) -> Result<Consumer, Failure> {
        match self {
            Self::Running => connect(),
            Self::Started { service, .. } => Ok(service.consumer()),
        }
    }

    /// A producer's connection to the service of this process.
    #[must_use]
    pub fn producer(&self) -> Option<Box<dyn Connection<ProducerPort>>> {
        match self {
            Self::Running => None,
            Self::Started { service, .. } => Some(service.producer()),
        }
    }

    /// Makes further connections, on another thread.
    #[must_use]
    pub fn connector(&self) -> Connect {
        match self {
            Self::Running => Box::new(connect),
            Self::Started { service, .. } => {
                let handle = service.handle().clone();
                Box::new(move || Ok(handle.consumer()))
            }
        }
    }
}

/// A connection to the service of the machine.
///
/// # Errors
/// When it does not run.
pub fn connect() -> Result<Consumer, Failure> {
    Consumer::connect_default().map_err(connect_failure)
}
