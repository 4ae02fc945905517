//! One data source of one producer, set up for one session.

use bytes::Bytes;

use abi::ids::{InstanceId, ProducerId};

/// By producer, then in the order of set-up: the order of starts, stops and flushes.
pub(crate) type InstanceKey = (ProducerId, InstanceId);

/// Where a data source instance is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum InstanceState {
    Configured,
    Starting,
    Started,
    Stopping,
    Stopped,
}

#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) id: InstanceId,
    pub(crate) producer: ProducerId,
    pub(crate) producer_name: String,
    pub(crate) source: String,
    pub(crate) state: InstanceState,
    pub(crate) notifies_start: bool,
    pub(crate) notifies_stop: bool,
    pub(crate) clears_state: bool,
    pub(crate) no_flush: bool,
    /// Index of its data source in the config, and of the buffer that this one writes to.
    pub(crate) source_index: usize,
    pub(crate) buffer_index: usize,
    /// The `DataSourceConfig` as it was sent with the set-up, for the start.
    pub(crate) config: Bytes,
}

impl Instance {
    pub(crate) fn key(&self) -> InstanceKey {
        (self.producer, self.id)
    }
}
