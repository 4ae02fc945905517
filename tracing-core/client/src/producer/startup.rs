//! Startup tracing: instances that the producer starts by itself, before a service asks for them.
//!
//! ```text
//!                    ┌── the service sets up a source with an equal config ──> adopted ── it starts it ──> bound
//!   started ─────────┤                                                           │
//!                    └── timeout, memory refused, connection lost ──> aborted <──┘
//! ```
//!
//! A started instance writes into shared memory that this process has made, for a reservation (see
//! [`reservations`](crate::write::reservations)). The producer offers this memory to the first service that accepts
//! it. The data source of an adopted instance is not called: it goes on with the id and config of the service. When
//! the service starts the instance, the reservation gets its buffer, and what was written before is committed. What an
//! aborted instance has written is discarded and counted.

use core::fmt;
use std::time::Duration;

use protos::DataSourceConfig;

use super::event::SharedSource;
use crate::connection::ConnectionWaker;
use crate::data_source::{Ack, Instance};
use crate::write::{Arbiter, ArbiterOptions, Park, ServiceSupport, Waker};
use abi::ids::{InstanceId, ReservationId};
use abi::shm::{PageSize, Smb};
use abi::sync::{Arc, AtomicU64, OnceLock, lock};
use os::clock::Deadline;
use os::shm::{self, MapError};

/// How long startup instances wait for a service by default.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Called with each step of each startup instance.
pub type StartupCallback = Arc<dyn Fn(&StartupEvent) + Send + Sync>;

/// What a producer records before a service asks for it: [`new`](Self::new), then set the fields that differ.
#[derive(Clone)]
#[non_exhaustive]
pub struct StartupOptions {
    /// The configs of the data sources, as the later session has them.
    pub sources: Vec<DataSourceConfig>,
    /// What no session has started by then is discarded; counted from when the producer is made.
    pub timeout: Duration,
    /// Called on the thread of the data sources.
    pub on_event: Option<StartupCallback>,
    /// [`Startup::begin`]. Nothing else names it, so a program that makes no such options does not contain its code.
    begin: Begin,
}

/// Startup tracing has begun: its memory, and what waits there for data sources.
pub(super) type Begun = (StartupMemory, Box<dyn StartupInstances>);

type Begin =
    fn(StartupOptions, MemorySizes, ArbiterOptions, Arc<dyn Park>) -> Result<Begun, MapError>;

impl StartupOptions {
    /// Data sources with these configs, for ten seconds.
    #[must_use]
    pub fn new(sources: Vec<DataSourceConfig>) -> Self {
        Self { sources, timeout: TIMEOUT, on_event: None, begin: Startup::begin }
    }

    /// Makes the memory, and what waits for data sources. The options keep no config of a data source.
    ///
    /// # Errors
    /// When the system has no descriptor or memory left.
    pub(super) fn begin(
        &mut self,
        sizes: MemorySizes,
        options: ArbiterOptions,
        park: Arc<dyn Park>,
    ) -> Result<Begun, MapError> {
        let sources = core::mem::take(&mut self.sources);
        let (timeout, on_event, begin) = (self.timeout, self.on_event.clone(), self.begin);
        begin(Self { sources, timeout, on_event, begin }, sizes, options, park)
    }
}

impl fmt::Debug for StartupOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StartupOptions")
            .field("sources", &self.sources)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// A step of a startup instance.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StartupEvent {
    /// The instance records.
    Started {
        /// The name of the data source.
        source: String,
    },
    /// A session goes on with the instance, and gets all that it has recorded.
    Adopted {
        /// The name of the data source.
        source: String,
    },
    /// What the instance has recorded is discarded.
    Aborted {
        /// The name of the data source.
        source: String,
        /// Why.
        reason: StartupAbort,
        /// Packets that were discarded, so far: threads that have not noticed yet may add a few.
        discarded_packets: u64,
    },
}

/// Why a startup instance was aborted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StartupAbort {
    /// No session with an equal config has started in time.
    Timeout,
    /// The service did not take the memory that the producer offered.
    Refused,
    /// The connection to the service was lost.
    Disconnected,
    /// The data source was unregistered, the producer ends, or the session ended before it started.
    Ended,
}

impl fmt::Display for StartupAbort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Timeout => "no session with an equal config started in time",
            Self::Refused => "the service did not take the memory of the process",
            Self::Disconnected => "the connection to the service was lost",
            Self::Ended => "it was stopped before its session started",
        })
    }
}

/// Wakes the connection that the arbiter is attached to, if there is one.
#[derive(Default)]
struct LateWaker(OnceLock<ConnectionWaker>);

impl Waker for LateWaker {
    fn wake(&self) {
        if let Some(waker) = self.0.get() {
            waker.wake();
        }
    }
}

/// Sizes of shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MemorySizes {
    /// All pages together.
    pub(super) whole_bytes: usize,
    pub(super) page_bytes: usize,
}

/// The memory of startup instances, until a service has accepted or refused it.
pub(super) struct StartupMemory {
    arbiter: Arbiter,
    waker: Arc<LateWaker>,
}

impl StartupMemory {
    /// # Errors
    /// When the system has no descriptor or memory left.
    fn new(
        sizes: MemorySizes,
        options: ArbiterOptions,
        park: Arc<dyn Park>,
    ) -> Result<Self, MapError> {
        let region = shm::create(sizes.whole_bytes)?;
        let page_size = PageSize::new(sizes.page_bytes).unwrap_or(PageSize::DEFAULT);
        let len = sizes.whole_bytes as u64;
        let smb = Smb::new(region, page_size).map_err(|_| MapError::Size { len })?;
        let waker = Arc::new(LateWaker::default());
        let arbiter = Arbiter::unattached(smb, options, waker.clone(), park);
        Ok(Self { arbiter, waker })
    }

    pub(super) fn arbiter(&self) -> &Arbiter {
        &self.arbiter
    }

    /// The service is there, and takes the chunks.
    pub(super) fn attach(self, waker: ConnectionWaker, service: ServiceSupport) -> Arbiter {
        // It was not set before: there is one attachment at most.
        let _ = self.waker.0.set(waker);
        self.arbiter.attach(service);
        self.arbiter
    }
}

/// A running instance that no session has adopted.
pub(super) struct StartupInstance {
    pub(super) instance: Instance,
    pub(super) source: SharedSource,
    pub(super) reservation: ReservationId,
}

impl StartupInstance {
    fn name(&self) -> String {
        self.instance.config().name.clone().unwrap_or_default()
    }
}

/// The startup instances of a producer, and those that can still begin.
pub(super) trait StartupInstances: Send {
    /// The time until the deadline.
    fn left(&self) -> Duration;

    /// Starts the instances of a data source that was registered.
    fn start(&mut self, name: &str, source: &SharedSource);

    /// The instance that goes on as the one that the service asks for, if there is one.
    fn adopt(&mut self, id: InstanceId, config: &Arc<DataSourceConfig>) -> Option<StartupInstance>;

    /// A session has started an adopted instance.
    fn bind(&self, instance: &Instance, reservation: ReservationId);

    /// Stops an instance, and discards what it has recorded.
    fn abort(&self, startup: &StartupInstance, reason: StartupAbort, done: Ack);

    /// Aborts the instances of the data source `name` that no session has adopted.
    fn unregister(&mut self, name: &str);

    /// Aborts all instances that no session has adopted.
    fn abort_all(&mut self, reason: StartupAbort);

    /// Whether its memory has lost its service.
    fn is_disconnected(&self) -> bool;

    /// Packets that were written and discarded.
    fn discarded_packets(&self) -> Arc<AtomicU64>;
}

/// See [`StartupInstances`].
struct Startup {
    arbiter: Arbiter,
    wanted: Vec<Arc<DataSourceConfig>>,
    running: Vec<StartupInstance>,
    deadline: Deadline,
    tell: Option<StartupCallback>,
}

impl Startup {
    fn begin(
        options: StartupOptions,
        sizes: MemorySizes,
        arbiter: ArbiterOptions,
        park: Arc<dyn Park>,
    ) -> Result<Begun, MapError> {
        let memory = StartupMemory::new(sizes, arbiter, park)?;
        let startup = Self::new(options, memory.arbiter().clone());
        Ok((memory, Box::new(startup)))
    }

    fn new(options: StartupOptions, arbiter: Arbiter) -> Self {
        Self {
            arbiter,
            wanted: options.sources.into_iter().map(Arc::new).collect(),
            running: Vec::new(),
            deadline: Deadline::after(Some(options.timeout)),
            tell: options.on_event,
        }
    }

    fn tell(&self, event: &StartupEvent) {
        if let Some(tell) = &self.tell {
            tell(event);
        }
    }
}

impl StartupInstances for Startup {
    fn left(&self) -> Duration {
        self.deadline.left().unwrap_or(Duration::MAX)
    }

    fn start(&mut self, name: &str, source: &SharedSource) {
        let is_of = |config: &Arc<DataSourceConfig>| config.name.as_deref() == Some(name);
        while let Some(at) = self.wanted.iter().position(is_of) {
            let config = self.wanted.remove(at);
            let Some(reservation) = self.arbiter.reserve() else { continue };
            let instance = Instance::startup(config, self.arbiter.clone(), reservation);
            lock(source).setup(&instance);
            lock(source).start(&instance);
            let source = Arc::clone(source);
            self.running.push(StartupInstance { instance, source, reservation });
            self.tell(&StartupEvent::Started { source: name.to_owned() });
        }
    }

    fn adopt(&mut self, id: InstanceId, config: &Arc<DataSourceConfig>) -> Option<StartupInstance> {
        let at = self.running.iter().position(|startup| {
            let own = startup.instance.config();
            own.name == config.name && lock(&startup.source).can_adopt(own, config)
        })?;
        let startup = self.running.remove(at);
        startup.instance.adopt(id, Arc::clone(config));
        Some(startup)
    }

    fn bind(&self, instance: &Instance, reservation: ReservationId) {
        self.arbiter.bind(reservation, instance.buffer());
        let source = instance.config().name.clone().unwrap_or_default();
        self.tell(&StartupEvent::Adopted { source });
    }

    fn abort(&self, startup: &StartupInstance, reason: StartupAbort, done: Ack) {
        lock(&startup.source).stop(&startup.instance, done);
        self.arbiter.abort(startup.reservation);
        let discarded_packets = self.arbiter.discarded_packets(startup.reservation);
        self.tell(&StartupEvent::Aborted { source: startup.name(), reason, discarded_packets });
    }

    fn unregister(&mut self, name: &str) {
        let is_of = |it: &StartupInstance| it.instance.config().name.as_deref() == Some(name);
        while let Some(at) = self.running.iter().position(is_of) {
            let aborted = self.running.remove(at);
            self.abort(&aborted, StartupAbort::Ended, Ack::ignored());
        }
    }

    fn abort_all(&mut self, reason: StartupAbort) {
        for startup in core::mem::take(&mut self.running) {
            self.abort(&startup, reason, Ack::ignored());
        }
    }

    fn is_disconnected(&self) -> bool {
        self.arbiter.is_disconnected()
    }

    fn discarded_packets(&self) -> Arc<AtomicU64> {
        self.arbiter.discarded_packets_total()
    }
}
