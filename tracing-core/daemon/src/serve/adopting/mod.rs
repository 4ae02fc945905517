//! Memory that producers bring. It is mapped on a thread, because that may take as long as the producer likes
//! ([`closer`](crate::system::closer)), and the request that it came with is handled afterwards.
//!
//! ```text
//!   request with memory ── begin ──> closer: mmap ──> mapped ── take ──> Service::handle
//!                            │                                   │
//!                            └─── later requests of the peer wait ┘
//! ```

use core::fmt;

use abi::ids::{CallId, ClientId};
use abi::map::BlockMap;
use abi::shm::Region;
use abi::sync::{Arc, Mutex, lock};
use os::poll::Wake;
use os::shm::{self, MapError};
use service::ProducerRequest;

use crate::system::closer::{MemoryIsSlow, PeerFd};

/// A request that waits for its memory.
pub(super) struct Waiting {
    pub(super) call: Option<CallId>,
    pub(super) request: ProducerRequest,
    /// The user of the producer, if its memory came over a socket.
    pub(super) uid: Option<u32>,
}

/// The memory of a client, or why it is not used.
struct Mapped {
    client: ClientId,
    region: Result<Region, Refused>,
}

/// A request, and its memory.
pub(super) struct Adopted {
    pub(super) client: ClientId,
    pub(super) waiting: Waiting,
    pub(super) region: Result<Region, Refused>,
}

/// Why memory of a producer is not used. The service makes some for it, then.
#[derive(Debug)]
pub(super) enum Refused {
    Map(MapError),
    Slow,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("producer's own memory refused: ")?;
        match self {
            Self::Map(error) => error.fmt(f),
            Self::Slow => f.write_str(
                "to map or unmap memory of its user took long a moment ago, most likely because its processes map it \
                 very often",
            ),
        }
    }
}

impl From<MapError> for Refused {
    fn from(error: MapError) -> Self {
        Self::Map(error)
    }
}

impl From<MemoryIsSlow> for Refused {
    fn from(_: MemoryIsSlow) -> Self {
        Self::Slow
    }
}

/// See the [module](self).
pub(super) struct Adopting {
    waiting: BlockMap<ClientId, Waiting>,
    mapped: Arc<Mutex<Vec<Mapped>>>,
    wake: Wake,
}

impl Adopting {
    /// `wake` is called when memory is mapped.
    pub(super) fn new(wake: Wake) -> Self {
        Self { waiting: BlockMap::new(), mapped: Arc::default(), wake }
    }

    /// Maps the memory of a request, or refuses it at once. A descriptor that is no memory is not closed here.
    pub(super) fn begin(&mut self, client: ClientId, waiting: Waiting, fd: PeerFd) {
        self.waiting.insert(client, waiting);
        if let Err(why) = self.map(client, fd) {
            lock(&self.mapped).push(Mapped { client, region: Err(why) });
        }
    }

    fn map(&self, client: ClientId, fd: PeerFd) -> Result<(), Refused> {
        fd.as_fd().map_or(Err(MapError::NotMemory), shm::check)?;
        let (mapped, wake) = (Arc::clone(&self.mapped), self.wake.clone());
        fd.map(move |fd| {
            let region = shm::adopt(fd).map_err(Refused::from);
            lock(&mapped).push(Mapped { client, region });
            wake.wake();
        })?;
        Ok(())
    }

    /// Whether requests of this peer wait until its memory is mapped.
    pub(super) fn has(&self, client: ClientId) -> bool {
        self.waiting.contains_key(&client)
    }

    /// Requests whose memory is mapped, or is not used.
    pub(super) fn take(&mut self) -> Vec<Adopted> {
        if self.waiting.is_empty() {
            return Vec::new();
        }
        let mapped = std::mem::take(&mut *lock(&self.mapped));
        let with_request = |Mapped { client, region }: Mapped| {
            let waiting = self.waiting.remove(&client)?;
            Some(Adopted { client, waiting, region })
        };
        mapped.into_iter().filter_map(with_request).collect()
    }
}
