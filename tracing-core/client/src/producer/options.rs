//! How a producer presents itself, and why there is none.

use core::fmt;

use protos::InitializeConnectionRequest;
use protos::InitializeConnectionRequestProducerSMBScrapingMode as Mode;

use abi::error::OsError;
use abi::limits::{SMB_BYTES_DEFAULT, SMB_PAGE_BYTES_DEFAULT};
use os::socket::{Address, AddressError};

/// How a producer presents itself and connects: [`new`](Self::new), then set the fields that differ.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ProducerOptions {
    /// Name shown to users and matched by producer filters of configs: free text, usually the
    /// process's name.
    pub name: String,
    /// Where the service listens; `None`: where [`defaults`](os::socket::defaults) says.
    pub address: Option<Address>,
    /// Wish for the size of the shared memory, bytes; 0 leaves it to the service (256 KiB).
    pub shm_bytes_hint: u32,
    /// Wish for the size of its pages, bytes; 0 leaves it to the service (4 KiB).
    pub page_bytes_hint: u32,
    /// Full chunks are reported after this long at the latest, ms; 0 at once.
    pub batch_commits_ms: u32,
    /// Connect again, for ever, when there is no service or it goes away.
    pub reconnect: bool,
    /// What the producer is written with, shown to users.
    pub sdk_version: String,
    /// Whether the service may look at what writers have not committed yet.
    pub scraping: Scraping,
    /// Make the shared memory here and offer it when connecting, of the sizes wished for above (the defaults
    /// where they are 0). A service that does not take it, because they are not legal, makes its own.
    ///
    /// What lies in it survives this process for as long as it takes the service to notice; with
    /// [`Scraping::On`] the service then picks up what was written and not committed.
    pub own_memory: bool,
}

/// Whether the service may copy out what writers hold, when a flush is over, a session ends, or the
/// producer goes away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scraping {
    /// As the service likes: `traced` does not, a service in this process does.
    #[default]
    Default,
    /// Yes. Where no memory can be shared the producer sends copies by itself before it acknowledges a flush.
    On,
    /// No.
    Off,
}

impl ProducerOptions {
    /// A producer called `name`, that connects to where the environment says and does so again when the
    /// connection is lost.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            address: None,
            shm_bytes_hint: 0,
            page_bytes_hint: 0,
            batch_commits_ms: 0,
            reconnect: true,
            sdk_version: concat!("tracing-core ", env!("CARGO_PKG_VERSION"), " (Rust)").into(),
            scraping: Scraping::Default,
            own_memory: false,
        }
    }

    /// Sizes of the producer's own memory: (whole, page), bytes.
    pub(super) fn own_sizes(&self) -> (usize, usize) {
        let or = |wish: u32, default: usize| if wish == 0 { default } else { wish as usize };
        let whole = or(self.shm_bytes_hint, SMB_BYTES_DEFAULT);
        (whole, or(self.page_bytes_hint, SMB_PAGE_BYTES_DEFAULT))
    }

    /// The first request; `own` says that memory goes along.
    pub(super) fn initialize_request(&self, own: bool) -> InitializeConnectionRequest {
        let (mut whole, mut page) = (self.shm_bytes_hint, self.page_bytes_hint);
        if own {
            // A page size of zero would never be taken.
            let sizes = self.own_sizes();
            whole = u32::try_from(sizes.0).unwrap_or(0);
            page = u32::try_from(sizes.1).unwrap_or(0);
        }
        InitializeConnectionRequest {
            shared_memory_page_size_hint_bytes: Some(page),
            shared_memory_size_hint_bytes: Some(whole),
            producer_name: Some(self.name.clone()),
            sdk_version: Some(self.sdk_version.clone()),
            producer_provided_shmem: own.then_some(true),
            smb_scraping_mode: match self.scraping {
                Scraping::Default => None,
                Scraping::On => Some(Mode::SMB_SCRAPING_ENABLED),
                Scraping::Off => Some(Mode::SMB_SCRAPING_DISABLED),
            },
            ..Default::default()
        }
    }
}

/// Why there is no producer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProducerError {
    /// The address of the service, from the environment, cannot be one.
    Address(AddressError),
    /// Nobody listens there, or we may not connect.
    Connect {
        /// Where.
        address: String,
        /// What the system said.
        error: OsError,
    },
    /// The system has no thread left.
    Thread,
    /// A data source without a name, or one whose name is taken in this producer.
    Name {
        /// The name.
        name: String,
    },
}

impl fmt::Display for ProducerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(error) => error.fmt(f),
            Self::Connect { address, error } => {
                write!(f, "cannot connect to {address}: {} (is traced running?)", error.reason())
            }
            Self::Thread => f.write_str("cannot start a thread"),
            Self::Name { name } => {
                write!(f, "data source name {name:?} is empty or registered already")
            }
        }
    }
}

impl std::error::Error for ProducerError {}
