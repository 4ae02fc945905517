//! Data sources, which a producer offers, and their running instances.
//!
//! The service tells a producer when a session wants one of its data sources. Each session gets an
//! *instance*: an id, a config, a target buffer. The methods of a [`DataSource`] are called for every step of each
//! instance, all on one thread. They may block, because another thread serves the connection.
//!
//! ```text
//!   setup ──> start ──> ( flush | clear_incremental_state )* ──> stop
//! ```
//!
//! A producer can also start instances by itself, before a session wants them
//! ([`StartupOptions`](super::producer::StartupOptions)).

use core::fmt;

use protos::{DataSourceConfig, DataSourceConfigBufferExhaustedPolicy as ConfiguredPolicy};
use protozero::Message as _;

use crate::write::{Arbiter, BufferExhaustedPolicy, Target, TraceWriter};
use abi::flush_flags::FlushFlags;
use abi::ids::{BufferId, InstanceId, ReservationId};
use abi::sync::{Arc, AtomicBool, Mutex, OnceLock, Ordering, lock};

/// A source of trace data.
///
/// A step with an [`Ack`] is done when that is dropped: at the end of the call, or later on any thread if the method
/// keeps it.
pub trait DataSource: Send {
    /// A session will start an instance. Slow preparations belong here, because nothing is recorded yet.
    ///
    /// Services before Android Q send only `start`; then this is called just before it.
    fn setup(&mut self, instance: &Instance) {
        let _ = instance;
    }

    /// Record, into writers made with [`Instance::trace_writer`], until `stop`. The service counts the
    /// instance as started when this returns. A source that cannot record calls [`Instance::refuse`].
    fn start(&mut self, instance: &Instance);

    /// Commit the recorded data: flush every writer of the instance, then drop `done`. The data of writers that are
    /// not flushed is not sent.
    ///
    /// A source that has not begun an earlier flush of the instance may drop `done` at once: flushes are acknowledged
    /// in order, so the answer waits for the earlier one.
    fn flush(&mut self, instance: &Instance, flush: &FlushRequest, done: Ack) {
        let _ = (instance, flush, done);
    }

    /// Forget the incremental state, for example which strings were interned: packets before this may be overwritten,
    /// so later packets must not need them.
    fn clear_incremental_state(&mut self, instance: &Instance) {
        let _ = instance;
    }

    /// Whether an instance that the producer started by itself, with the config `startup`, can go on as the one that
    /// the service asks for with `config` (see [`StartupOptions`](super::producer::StartupOptions)).
    fn can_adopt(&self, startup: &DataSourceConfig, config: &DataSourceConfig) -> bool {
        are_alike(startup, config)
    }

    /// Stop recording and drop all writers of the instance, which commits their data; then drop `done`. The service
    /// waits for that up to a timeout (5 seconds unless configured).
    fn stop(&mut self, instance: &Instance, done: Ack);
}

/// Whether two configs differ only in what tells one session from another.
fn are_alike(one: &DataSourceConfig, other: &DataSourceConfig) -> bool {
    let without_session = |config: &DataSourceConfig| {
        let mut config = config.clone();
        config.target_buffer = None;
        config.target_buffer_name = None;
        config.tracing_session_id = None;
        config.session_initiator = None;
        config.trace_duration_ms = None;
        config.stop_timeout_ms = None;
        config.enable_extra_guardrails = None;
        // Bytes, because comparing each field is much code.
        config.encode_to_vec()
    };
    without_session(one) == without_session(other)
}

/// Why a flush was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FlushRequest {
    /// The reason of the flush, and the program that asked for it.
    pub flags: FlushFlags,
}

/// Acknowledges a step when it is dropped. To wait for several threads, share it in an `Arc`.
pub struct Ack(Mutex<Option<Box<dyn FnOnce() + Send>>>);

impl Ack {
    /// An acknowledgement that calls `done`, on the thread that drops it.
    pub fn new(done: impl FnOnce() + Send + 'static) -> Self {
        Self(Mutex::new(Some(Box::new(done))))
    }

    /// An acknowledgement that is ignored, for calling a source without a service.
    pub fn ignored() -> Self {
        Self(Mutex::new(None))
    }
}

impl Drop for Ack {
    fn drop(&mut self) {
        let done = lock(&self.0).take();
        if let Some(done) = done {
            done();
        }
    }
}

impl fmt::Debug for Ack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ack")
    }
}

/// One data source in one session. Clones are the same instance, and equal; any thread may use them.
///
/// An instance that the producer has started by itself has the id 0, until a session adopts it: then it gets the id and
/// the config of the service.
#[derive(Clone, Debug)]
pub struct Instance(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    id: InstanceId,
    config: Arc<DataSourceConfig>,
    arbiter: Option<Arbiter>,
    /// Of an instance that the producer has started by itself.
    reservation: Option<ReservationId>,
    adopted: OnceLock<(InstanceId, Arc<DataSourceConfig>)>,
    refused: AtomicBool,
}

impl PartialEq for Instance {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Instance {}

impl Instance {
    pub(super) fn new(
        id: InstanceId,
        config: Arc<DataSourceConfig>,
        arbiter: Option<Arbiter>,
    ) -> Self {
        Self(Arc::new(Inner {
            id,
            config,
            arbiter,
            reservation: None,
            adopted: OnceLock::new(),
            refused: AtomicBool::new(false),
        }))
    }

    /// An instance that the producer starts by itself.
    pub(super) fn startup(
        config: Arc<DataSourceConfig>,
        arbiter: Arbiter,
        reservation: ReservationId,
    ) -> Self {
        Self(Arc::new(Inner {
            id: InstanceId::new(0),
            config,
            arbiter: Some(arbiter),
            reservation: Some(reservation),
            adopted: OnceLock::new(),
            refused: AtomicBool::new(false),
        }))
    }

    /// The service asks for this instance.
    pub(super) fn adopt(&self, id: InstanceId, config: Arc<DataSourceConfig>) {
        // A second session never gets the same instance.
        let _ = self.0.adopted.set((id, config));
    }

    /// An instance without a service, for tests of a source: its writers drop all packets.
    pub fn detached(id: InstanceId, config: DataSourceConfig) -> Self {
        Self::new(id, Arc::new(config), None)
    }

    /// The id, unique in the service.
    pub fn id(&self) -> InstanceId {
        self.0.adopted.get().map_or(self.0.id, |(id, _)| *id)
    }

    /// The config of the data source in this session.
    pub fn config(&self) -> &DataSourceConfig {
        self.0.adopted.get().map_or(&self.0.config, |(_, config)| config)
    }

    /// [`config`](Self::config), for another instance.
    pub(super) fn shared_config(&self) -> Arc<DataSourceConfig> {
        Arc::clone(self.0.adopted.get().map_or(&self.0.config, |(_, config)| config))
    }

    /// The data source records nothing for this instance: it cannot, or a limit of it is reached. To be called in
    /// [`start`](DataSource::start) at the latest: the service learns it with the start, and the ledger of the session
    /// has it. The service stops the instance as any other.
    pub fn refuse(&self) {
        self.0.refused.store(true, Ordering::Relaxed);
    }

    /// Whether [`refuse`](Self::refuse) was called.
    pub(super) fn is_refused(&self) -> bool {
        self.0.refused.load(Ordering::Relaxed)
    }

    /// The buffer for its packets; 0 while no session has adopted it.
    pub fn buffer(&self) -> BufferId {
        if self.0.reservation.is_some() && self.0.adopted.get().is_none() {
            return BufferId::new(0);
        }
        // The service sets a global id, which has 16 bits.
        let id = self.config().target_buffer.unwrap_or(0);
        BufferId::new(u16::try_from(id).unwrap_or(0))
    }

    /// A writer into the buffer of the instance; one per thread. `policy` says what happens when shared memory is
    /// full.
    ///
    /// A writer of an instance whose connection has ended drops all packets.
    pub fn trace_writer(&self, policy: BufferExhaustedPolicy) -> TraceWriter {
        let target =
            self.0.reservation.map_or_else(|| Target::from(self.buffer()), Target::Reservation);
        match &self.0.arbiter {
            Some(arbiter) => arbiter.create_writer(target, policy),
            None => TraceWriter::null(),
        }
    }

    /// The policy in the config of the session, else `default`: for sources that let users choose.
    pub fn policy_or(&self, default: BufferExhaustedPolicy) -> BufferExhaustedPolicy {
        match self.config().buffer_exhausted_policy {
            Some(ConfiguredPolicy::BUFFER_EXHAUSTED_DROP) => BufferExhaustedPolicy::Drop,
            Some(ConfiguredPolicy::BUFFER_EXHAUSTED_STALL_THEN_ABORT) => {
                BufferExhaustedPolicy::Stall
            }
            Some(ConfiguredPolicy::BUFFER_EXHAUSTED_STALL_THEN_DROP) => {
                BufferExhaustedPolicy::StallThenDrop
            }
            _ => default,
        }
    }
}
