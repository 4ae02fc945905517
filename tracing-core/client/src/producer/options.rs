//! The options of a producer, and why one could not be made.

use core::fmt;

use protos::InitializeConnectionRequest;
use protos::InitializeConnectionRequestProducerSMBScrapingMode as Mode;

use super::startup::{Begun, MemorySizes, StartupOptions};
use crate::connection::write_connect_failure;
use crate::write::{ArbiterOptions, Park};
use abi::error::OsError;
use abi::limits::{
    IPC_ARGS_BYTES_MAX, SMB_BYTES_DEFAULT, SMB_BYTES_MAX, SMB_PAGE_BYTES_DEFAULT,
    SMB_PAGE_BYTES_MAX, SMB_PAGE_BYTES_MIN,
};
use abi::sync::Arc;
use os::shm::MapError;
use os::socket::{Address, AddressError};

/// The options of a producer: [`new`](Self::new), then set the fields that differ.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ProducerOptions {
    /// The name that users see and that producer filters of configs match: any text, usually the name of the process.
    pub name: String,
    /// The address of the service; `None`: that of [`defaults`](os::socket::defaults).
    pub address: Option<Address>,
    /// The wanted size of the shared memory, bytes; 0 leaves it to the service (256 KiB).
    pub shm_bytes_hint: u32,
    /// The wanted size of its pages, bytes; 0 leaves it to the service (4 KiB).
    pub page_bytes_hint: u32,
    /// Full chunks are committed after this time at the latest, ms; 0: at once.
    pub batch_commits_ms: u32,
    /// Connect again, for ever, when no service listens or the connection is lost.
    pub reconnect: bool,
    /// Told what happens to the connection, for a log. A [`PolledProducer`](super::PolledProducer) ignores it.
    pub on_connection: Option<ConnectionHook>,
    /// The name and version of the library that the producer uses, which users see.
    pub sdk_version: String,
    /// Whether the service may read chunks that writers have not committed.
    pub scraping: Scraping,
    /// Make the shared memory in this process and offer it to the service, in the sizes wanted above (the defaults
    /// where they are 0). A service that refuses it, because the sizes are not legal, makes memory itself.
    ///
    /// Its contents survive the end of this process until the service notices that. With [`Scraping::On`] the service
    /// then copies the chunks that were written and not committed.
    pub own_memory: bool,
    /// Startup tracing: what is recorded before a service asks for it. The producer then makes the shared memory, as
    /// with [`own_memory`](Self::own_memory); sizes that services refuse are rounded up. A
    /// [`PolledProducer`](super::PolledProducer) ignores it.
    pub startup: Option<StartupOptions>,
}

/// What happens to the connection of a producer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConnectionEvent {
    /// The service has accepted the producer.
    Accepted,
    /// No connection was made, and the next attempt will come. It is [`ProducerError::Connect`].
    Failed(ProducerError),
    /// The service closed the connection before it accepted the producer, or refused it.
    Refused,
    /// The service closed the connection after it had accepted the producer.
    Closed,
}

/// Called on the thread of the connection with each [`ConnectionEvent`], failures of all attempts included. It must
/// return soon, as the service waits for that thread.
#[derive(Clone)]
pub struct ConnectionHook(Arc<dyn Fn(&ConnectionEvent) + Send + Sync>);

impl ConnectionHook {
    /// Calls `hook`.
    pub fn new(hook: impl Fn(&ConnectionEvent) + Send + Sync + 'static) -> Self {
        Self(Arc::new(hook))
    }

    pub(super) fn call(&self, event: &ConnectionEvent) {
        (self.0)(event);
    }
}

impl fmt::Debug for ConnectionHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectionHook").finish_non_exhaustive()
    }
}

/// Whether the service may copy chunks that writers hold, after a flush, when a session ends, and when the producer
/// disconnects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scraping {
    /// The default of the service: `traced` does not, a service in this process does.
    #[default]
    Default,
    /// Yes. If no memory is shared, the producer sends copies of these chunks before it acknowledges a flush.
    On,
    /// No.
    Off,
}

impl ProducerOptions {
    /// A producer called `name`. It connects to the default address, again and again when the connection is lost.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            address: None,
            shm_bytes_hint: 0,
            page_bytes_hint: 0,
            batch_commits_ms: 0,
            reconnect: true,
            on_connection: None,
            sdk_version: concat!("tracing-core ", env!("CARGO_PKG_VERSION"), " (Rust)").into(),
            scraping: Scraping::Default,
            own_memory: false,
            startup: None,
        }
    }

    /// Sizes of memory that the producer makes.
    pub(super) fn own_sizes(&self) -> MemorySizes {
        let or = |wish: u32, default: usize| if wish == 0 { default } else { wish as usize };
        MemorySizes {
            whole_bytes: or(self.shm_bytes_hint, SMB_BYTES_DEFAULT),
            page_bytes: or(self.page_bytes_hint, SMB_PAGE_BYTES_DEFAULT),
        }
    }

    /// Options of the arbiter, as long as nothing is known of the service.
    pub(super) fn arbiter_options(&self) -> ArbiterOptions {
        ArbiterOptions {
            batch_commits_ms: self.batch_commits_ms,
            scrape_on_flush: self.scraping == Scraping::On,
            ..Default::default()
        }
    }

    /// Sizes of memory that every service takes, at least as large as wanted.
    pub(super) fn startup_sizes(&self) -> MemorySizes {
        let MemorySizes { whole_bytes, page_bytes } = self.own_sizes();
        let legal = SMB_PAGE_BYTES_MIN..=SMB_PAGE_BYTES_MAX;
        let is_legal = legal.contains(&page_bytes) && page_bytes.is_power_of_two();
        let page_bytes = if is_legal { page_bytes } else { SMB_PAGE_BYTES_DEFAULT };
        let whole_bytes = whole_bytes.min(SMB_BYTES_MAX).next_multiple_of(page_bytes);
        MemorySizes { whole_bytes, page_bytes }
    }

    /// Begins startup tracing, if the program asks for it.
    pub(super) fn begin_startup(
        &mut self,
        park: Arc<dyn Park>,
    ) -> Result<Option<Begun>, ProducerError> {
        let (sizes, arbiter) = (self.startup_sizes(), self.arbiter_options());
        let Some(startup) = &mut self.startup else { return Ok(None) };
        startup.begin(sizes, arbiter, park).map(Some).map_err(ProducerError::Memory)
    }

    /// The first request, with the sizes of memory that is attached.
    pub(super) fn initialize_request(
        &self,
        own: Option<MemorySizes>,
    ) -> InitializeConnectionRequest {
        let (mut whole, mut page) = (self.shm_bytes_hint, self.page_bytes_hint);
        if let Some(sizes) = own {
            // A service refuses memory with a page size of zero.
            whole = u32::try_from(sizes.whole_bytes).unwrap_or(0);
            page = u32::try_from(sizes.page_bytes).unwrap_or(0);
        }
        InitializeConnectionRequest {
            shared_memory_page_size_hint_bytes: Some(page),
            shared_memory_size_hint_bytes: Some(whole),
            producer_name: Some(self.name.clone()),
            sdk_version: Some(self.sdk_version.clone()),
            producer_provided_shmem: own.map(|_| true),
            smb_scraping_mode: match self.scraping {
                Scraping::Default => None,
                Scraping::On => Some(Mode::SMB_SCRAPING_ENABLED),
                Scraping::Off => Some(Mode::SMB_SCRAPING_DISABLED),
            },
            ..Default::default()
        }
    }
}

/// Why a producer or data source could not be made.
///
/// `Debug` prints the text of `Display`: it is what a `main` that returns the error shows.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProducerError {
    /// The address of the service, from the environment, is not an address.
    Address(AddressError),
    /// No service listens there, or this process may not connect.
    Connect {
        /// The address.
        address: String,
        /// The error of the system.
        error: OsError,
    },
    /// A thread could not be started.
    Thread,
    /// Shared memory for startup tracing could not be made.
    Memory(MapError),
    /// A data source without a name, or one whose name is taken in this producer.
    Name {
        /// The name.
        name: String,
    },
    /// The descriptor of a data source does not fit into a request.
    TooLong {
        /// The name of the data source.
        name: String,
        /// The size of the request's arguments, bytes.
        bytes: usize,
    },
}

impl fmt::Debug for ProducerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for ProducerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(error) => error.fmt(f),
            Self::Connect { address, error } => write_connect_failure(f, address, error),
            Self::Thread => f.write_str("cannot start a thread"),
            Self::Memory(error) => {
                write!(f, "cannot make shared memory for startup tracing: {error}")
            }
            Self::Name { name } => {
                write!(f, "data source name {name:?} is empty or registered already")
            }
            Self::TooLong { name, bytes } => write!(
                f,
                "the descriptor of data source {name:?} does not fit into a request: {bytes} bytes, the limit is \
                 {IPC_ARGS_BYTES_MAX}"
            ),
        }
    }
}

impl std::error::Error for ProducerError {}
