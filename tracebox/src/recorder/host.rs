//! The service that a recording uses: the running one of the machine, or one in this process.

use std::path::PathBuf;

use tracing_core::client::consumer::Consumer;
use tracing_core::daemon::in_process::InProcessService;
use tracing_core::daemon::serve::{Server, ServerOptions, service_config};
use tracing_core::os::socket::Address;

use crate::console;
use crate::failure::{Context, Failure};
use crate::probes;
use crate::recorder::snapshots::Connect;
use crate::version::VERSION;

/// A service to record with.
pub enum ServiceHost {
    /// The service of the machine.
    Running,
    /// A service in this process, with the built-in data sources.
    Own {
        /// Held for its life. It must be dropped before the service.
        sources: probes::Sources,
        /// The service.
        service: InProcessService,
        /// Other processes can connect.
        listens: bool,
    },
}

/// The sockets that a service in this process listens at.
#[derive(Clone, Debug)]
pub struct Sockets {
    /// For producers.
    pub producer: PathBuf,
    /// For consumers.
    pub consumer: PathBuf,
}

impl ServiceHost {
    /// A service in this process that nothing outside of it can reach.
    ///
    /// # Errors
    /// When the system has no descriptors or threads left.
    pub fn start() -> Result<Self, Failure> {
        let config = service_config(VERSION).context("cannot start the service")?;
        let service = InProcessService::start(config, console::own_service_log())
            .context("cannot start the service")?;
        Self::with_sources(service, false)
    }

    /// A service in this process that listens at `sockets`.
    ///
    /// # Errors
    /// As [`start`](Self::start), and when the sockets cannot be opened.
    pub fn listen(sockets: &Sockets) -> Result<Self, Failure> {
        let address = |path: &PathBuf| {
            Address::parse(path).context(format_args!("cannot listen at {}", path.display()))
        };
        let options = ServerOptions {
            producer_sockets: vec![address(&sockets.producer)?],
            consumer_sockets: vec![address(&sockets.consumer)?],
            service: service_config(VERSION).context("cannot start the service")?,
            log: console::own_service_log(),
        };
        let server = Server::bind(options).context("cannot start the service")?;
        let service = InProcessService::run(server).context("cannot start the service")?;
        Self::with_sources(service, true)
    }

    fn with_sources(service: InProcessService, listens: bool) -> Result<Self, Failure> {
        let sources = probes::Sources::attach(service.producer())?;
        Ok(Self::Own { sources, service, listens })
    }

    /// Whether a producer outside of this process can connect.
    #[must_use]
    pub fn admits_producers(&self) -> bool {
        !matches!(self, Self::Own { listens: false, .. })
    }

    /// A new connection to the service.
    ///
    /// # Errors
    /// When it does not run.
    pub fn consumer(&self) -> Result<Consumer, Failure> {
        match self {
            Self::Running => connect(),
            Self::Own { service, .. } => Ok(service.consumer()),
        }
    }

    /// Makes further connections, on another thread.
    #[must_use]
    pub fn connector(&self) -> Connect {
        match self {
            Self::Running => Box::new(connect),
            Self::Own { service, .. } => {
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
    Consumer::connect_default().map_err(Failure::new)
}
