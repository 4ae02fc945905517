//! Events from the connection for the thread that calls the data sources.

use protos::DataSourceConfig;

use crate::data_source::DataSource;
use crate::write::Arbiter;
use abi::flush_flags::FlushFlags;
use abi::ids::{FlushId, InstanceId};
use abi::sync::{Arc, Mutex};
use os::queue::Sender;

/// An event for the data sources.
pub(super) enum SourceEvent {
    /// A data source was registered, before the service knows it. Sent for startup tracing alone.
    Registered(String, SharedSource),
    /// The service did not take the memory of startup tracing.
    StartupRefused,
    /// All events before were handled.
    Fence(Sender<()>),
    Setup(Setup),
    Start(Setup),
    Stop(InstanceId),
    Flush {
        arbiter: Arbiter,
        id: FlushId,
        instances: Vec<InstanceId>,
        flags: FlushFlags,
    },
    Clear(Vec<InstanceId>),
    /// A data source was unregistered.
    Unregister(String),
    /// The connection ended, and with it all instances.
    Disconnected,
    /// Stop everything and end.
    End,
}

pub(super) struct Setup {
    pub id: InstanceId,
    pub config: Arc<DataSourceConfig>,
    /// The source registered under the config's name, if it still is.
    pub source: Option<SharedSource>,
    pub arbiter: Option<Arbiter>,
}

pub(super) type SharedSource = Arc<Mutex<Box<dyn DataSource>>>;
