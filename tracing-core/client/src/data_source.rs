//! Data sources, which a producer offers, and their running instances.
//!
//! The service tells a producer when a session wants one of its data sources. Each session gets an
//! *instance*: an id, a config, a target buffer. The methods of a [`DataSource`] are called for every step of each
//! instance, all on one thread. They may block, because another thread serves the connection.
//!
//! ```text
//!   setup ──> start ──> ( flush | clear_incremental_state )* ──> stop
//! ```

use core::fmt;

use protos::{DataSourceConfig, DataSourceConfigBufferExhaustedPolicy as ConfiguredPolicy};

use crate::write::{Arbiter, BufferExhaustedPolicy, TraceWriter};
use abi::ids::{BufferId, InstanceId};
use abi::sync::{Arc, Mutex, lock};

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
    /// instance as started when this returns.
    fn start(&mut self, instance: &Instance);

    /// Commit the recorded data: flush every writer of the instance, then drop `done`. The data of writers that are
    /// not flushed is not sent.
    fn flush(&mut self, instance: &Instance, flush: &FlushRequest, done: Ack) {
        let _ = (instance, flush, done);
    }

    /// Forget the incremental state, for example which strings were interned: packets before this may be overwritten,
    /// so later packets must not need them.
    fn clear_incremental_state(&mut self, instance: &Instance) {
        let _ = instance;
    }

    /// Stop recording and drop all writers of the instance, which commits their data; then drop `done`. The service
    /// waits for that up to a timeout (5 seconds unless configured).
    fn stop(&mut self, instance: &Instance, done: Ack);
}

/// Why a flush was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FlushRequest {
    /// Bits as in `FlushFlags`: 0-3 reason (1 periodic, 2 trace stop, 3 clone, 4 explicit), 4-7 initiator (1 service,
    /// 2 perfetto tool, 3 SDK consumer), 8-11 target of a clone.
    pub flags: u64,
}

/// Acknowledges a step when it is dropped. To wait for several threads, share it in an `Arc`.
pub struct Ack(Mutex<Option<Box<dyn FnOnce() + Send>>>);

impl Ack {
    pub(super) fn new(done: impl FnOnce() + Send + 'static) -> Self {
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

/// One data source in one session. Clones are the same instance; any thread may use them.
#[derive(Clone, Debug)]
pub struct Instance(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    id: InstanceId,
    config: DataSourceConfig,
    arbiter: Option<Arbiter>,
}

impl Instance {
    pub(super) fn new(id: InstanceId, config: DataSourceConfig, arbiter: Option<Arbiter>) -> Self {
        Self(Arc::new(Inner { id, config, arbiter }))
    }

    /// An instance without a service, for tests of a source: its writers drop all packets.
    pub fn detached(id: InstanceId, config: DataSourceConfig) -> Self {
        Self::new(id, config, None)
    }

    /// An instance whose writers write into the memory of `arbiter`: for a data source without a
    /// [`Producer`](super::producer::Producer).
    pub fn with_arbiter(id: InstanceId, config: DataSourceConfig, arbiter: Arbiter) -> Self {
        Self::new(id, config, Some(arbiter))
    }

    /// The id, unique in the service.
    pub fn id(&self) -> InstanceId {
        self.0.id
    }

    /// The config of the data source in this session.
    pub fn config(&self) -> &DataSourceConfig {
        &self.0.config
    }

    /// The buffer for its packets.
    pub fn buffer(&self) -> BufferId {
        // The service sets a global id, which has 16 bits.
        let id = self.0.config.target_buffer.unwrap_or(0);
        BufferId::new(u16::try_from(id).unwrap_or(0))
    }

    /// A writer into the buffer of the instance; one per thread. `policy` says what happens when shared memory is
    /// full.
    ///
    /// A writer of an instance whose connection has ended drops all packets.
    pub fn trace_writer(&self, policy: BufferExhaustedPolicy) -> TraceWriter {
        match &self.0.arbiter {
            Some(arbiter) => arbiter.create_writer(self.buffer(), policy),
            None => TraceWriter::null(),
        }
    }

    /// The policy in the config of the session, else `default`: for sources that let users choose.
    pub fn policy_or(&self, default: BufferExhaustedPolicy) -> BufferExhaustedPolicy {
        match self.0.config.buffer_exhausted_policy {
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
