//! Memory that producers bring. It is mapped on a thread, because that may take as long as the producer likes
//! ([`mapper`](crate::system::mapper)), and the request that it came with is handled afterwards.
//!
//! ```text
//!   request with memory ── begin ──> mapper: mmap ──> mapped ── take ──> Service::handle
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

use super::connections::MemoryPlace;
use crate::system::closer::PeerFd;
use crate::system::mapper::{EndMapper, Mapper, MemoryIsSlow};
use crate::system::own_user::OwnUser;

/// A request that waits for its memory.
pub(super) struct HeldRequest {
    pub(super) call: Option<CallId>,
    pub(super) request: ProducerRequest,
    /// The user of the producer, if its memory came over a socket.
    pub(super) uid: Option<u32>,
}

/// The memory of a client, or why it is not used.
struct Mapped {
    client: ClientId,
    region: Result<Region, MemoryRefused>,
}

/// A request that was held, and its memory.
pub(super) struct MappedRequest {
    pub(super) client: ClientId,
    pub(super) held: HeldRequest,
    pub(super) region: Result<Region, MemoryRefused>,
}

/// Why memory of a producer is not used. The service makes some for it, then.
#[derive(Debug)]
pub(super) enum MemoryRefused {
    Map(MapError),
    Slow,
}

impl fmt::Display for MemoryRefused {
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

impl From<MapError> for MemoryRefused {
    fn from(error: MapError) -> Self {
        Self::Map(error)
    }
}

impl From<MemoryIsSlow> for MemoryRefused {
    fn from(_: MemoryIsSlow) -> Self {
        Self::Slow
    }
}

/// See the [module](self).
pub(super) struct ProducerMemory {
    waiting: BlockMap<ClientId, HeldRequest>,
    mapped: Arc<Mutex<Vec<Mapped>>>,
    mapper: EndMapper,
    wake: Wake,
    /// The places of memory whose producer has left, while the service needs it.
    places: BlockMap<ClientId, MemoryPlace>,
}

impl ProducerMemory {
    /// For a daemon of user `own`; `wake` is called when memory is mapped.
    pub(super) fn new(wake: Wake, own: OwnUser) -> Self {
        let mapper = EndMapper(Mapper::new(own));
        Self {
            waiting: BlockMap::new(),
            mapped: Arc::default(),
            mapper,
            wake,
            places: BlockMap::new(),
        }
    }

    /// Where memory of peers is unmapped.
    pub(super) fn mapper(&self) -> &Mapper {
        &self.mapper.0
    }

    /// Maps the memory of a request, or refuses it at once. A descriptor that is no memory is not closed here.
    pub(super) fn begin(&mut self, client: ClientId, held: HeldRequest, fd: PeerFd) {
        let uid = held.uid;
        self.waiting.insert(client, held);
        let (mapped, wake) = (Arc::clone(&self.mapped), self.wake.clone());
        let tell = move |region| {
            lock(&mapped).push(Mapped { client, region });
            wake.wake();
        };
        if let Err(error) = fd.as_fd().map_or(Err(MapError::NotMemory), shm::check) {
            return tell(Err(error.into()));
        }
        let map = |fd: PeerFd| {
            let adopted = fd.into_fd().map_or(Err(MapError::NotMemory), shm::adopt);
            adopted.map_err(MemoryRefused::from)
        };
        match uid {
            Some(uid) => self
                .mapper()
                .map(uid, move |may| tell(may.map_err(MemoryRefused::from).and_then(|()| map(fd)))),
            // That of a program's own transport.
            None => tell(map(fd)),
        }
    }

    /// Whether requests of this peer wait until its memory is mapped.
    pub(super) fn has(&self, client: ClientId) -> bool {
        self.waiting.contains_key(&client)
    }

    /// Keeps the place of memory whose producer has left, until the service needs it no more.
    pub(super) fn keep_place(&mut self, client: ClientId, place: MemoryPlace) {
        self.places.insert(client, place);
    }

    /// The place that was kept for the memory of a producer.
    pub(super) fn take_place(&mut self, client: ClientId) -> Option<MemoryPlace> {
        self.places.remove(&client)
    }

    /// Whether the service needs memory of a producer that has left.
    #[cfg(test)]
    pub(super) fn has_places(&self) -> bool {
        !self.places.is_empty()
    }

    /// Requests whose memory is mapped, or is not used.
    pub(super) fn take(&mut self) -> Vec<MappedRequest> {
        if self.waiting.is_empty() {
            return Vec::new();
        }
        let mapped = std::mem::take(&mut *lock(&self.mapped));
        let with_request = |Mapped { client, region }: Mapped| {
            let held = self.waiting.remove(&client)?;
            Some(MappedRequest { client, held, region })
        };
        mapped.into_iter().filter_map(with_request).collect()
    }
}
