//! A producer: a connection to the service, and the data sources it offers.
//!
//! Two threads per producer, so that neither a data source that takes its time nor one that waits for
//! shared memory keeps the connection from being served (a service cuts off a producer that does not read
//! for 10 ms, and frees memory only when it hears of full chunks):
//!
//! ```text
//!            commands                       steps
//!  service ───────────> [ I/O thread ] ──────────────> [ data source thread ] ──> DataSource
//!     ^                     │  ^                              │
//!     └──── requests ───────┘  └────── arbiter <── writers <──┴── any other thread
//! ```
//!
//! Replies carry no data the sources need; what matters is order, and that is kept by sending
//! everything that follows data through the arbiter's queue.

mod dispatch;
mod io;
#[cfg(test)]
mod tests;

use core::fmt;
use std::collections::{BTreeMap, VecDeque};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use protos::producer_port::Request;
use protos::{
    ActivateTriggersRequest, DataSourceDescriptor, InitializeConnectionRequest,
    UnregisterDataSourceRequest, UpdateDataSourceRequest,
};

use super::connection::{Connection, ConnectionWaker};
use super::data_source::DataSource;
use crate::error::OsError;
use crate::ipc::port::ProducerPort;
use crate::limits;
use crate::os::socket::{Address, AddressError, defaults};
use crate::sync::{Arc, Condvar, Mutex, MutexGuard, lock, mpsc};

/// How a producer presents itself and connects.
#[derive(Clone, Debug)]
pub struct ProducerOptions {
    /// Name shown to users and matched by producer filters of configs: free text, usually the
    /// process's name.
    pub name: String,
    /// Where the service listens; `None`: where [`defaults`] says.
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
        }
    }

    fn initialize_request(&self) -> InitializeConnectionRequest {
        InitializeConnectionRequest {
            shared_memory_page_size_hint_bytes: Some(self.page_bytes_hint),
            shared_memory_size_hint_bytes: Some(self.shm_bytes_hint),
            producer_name: Some(self.name.clone()),
            sdk_version: Some(self.sdk_version.clone()),
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
            Self::Address(error) => write!(f, "bad address of the tracing service: {error}"),
            Self::Connect { address, error } => {
                write!(f, "cannot connect to {address}: {error} (is traced running?)")
            }
            Self::Thread => f.write_str("cannot start a thread"),
            Self::Name { name } => {
                write!(f, "data source name {name:?} is empty or registered already")
            }
        }
    }
}

impl std::error::Error for ProducerError {}

type SharedSource = Arc<Mutex<Box<dyn DataSource>>>;

struct Registered {
    descriptor: DataSourceDescriptor,
    source: SharedSource,
}

/// What others ask of the I/O thread.
enum Control {
    Request(Box<Request>),
    Sync(mpsc::Sender<()>),
}

#[derive(Default)]
struct State {
    sources: BTreeMap<String, Registered>,
    controls: VecDeque<Control>,
    /// Wakes the I/O thread while it serves a connection.
    waker: Option<ConnectionWaker>,
    connected: bool,
    /// The data source thread is done and the rest is to be sent.
    finishing: bool,
    /// The I/O thread is gone.
    ended: bool,
}

struct Shared {
    options: ProducerOptions,
    state: Mutex<State>,
    /// Signalled when the I/O thread should look while it is not connected, and when it connects or
    /// ends.
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    fn control(&self, control: Control) {
        let mut state = self.lock();
        if !state.ended && state.controls.len() < limits::PRODUCER_CONTROLS_MAX {
            state.controls.push_back(control);
        }
        drop(state);
        self.wake();
    }

    fn wake(&self) {
        let waker = self.lock().waker.clone();
        if let Some(waker) = waker {
            waker.wake();
        }
        self.changed.notify_all();
    }
}

/// A running producer. Dropping it stops its instances, sends what their writers hold, and disconnects.
pub struct Producer {
    shared: Arc<Shared>,
    steps: mpsc::Sender<dispatch::Step>,
    threads: Option<[JoinHandle<()>; 2]>,
}

impl Producer {
    /// Connects to a service over its socket.
    ///
    /// With [`reconnect`](ProducerOptions::reconnect) this does not fail for want of a service: data sources
    /// can be registered at once and are offered when one appears.
    ///
    /// # Errors
    /// Bad address; no service, without `reconnect`; no threads.
    pub fn connect(options: ProducerOptions) -> Result<Self, ProducerError> {
        let address = match &options.address {
            Some(address) => address.clone(),
            None => Address::parse(defaults().producer).map_err(ProducerError::Address)?,
        };
        let first = match io::connect(&address) {
            Ok(connection) => Some(connection),
            Err(_) if options.reconnect => None,
            Err(error) => {
                return Err(ProducerError::Connect { address: address.to_string(), error });
            }
        };
        let again = options.reconnect.then_some(address);
        Self::run(options, first, again)
    }

    /// Uses a connection that exists, such as one to a service in this process
    /// ([`InProcessService::producer`](super::in_process::InProcessService::producer)). There is no
    /// reconnecting.
    ///
    /// # Errors
    /// No threads.
    pub fn attach(
        connection: Box<dyn Connection<ProducerPort>>,
        options: ProducerOptions,
    ) -> Result<Self, ProducerError> {
        Self::run(options, Some(connection), None)
    }

    fn run(
        options: ProducerOptions,
        first: Option<Box<dyn Connection<ProducerPort>>>,
        again: Option<Address>,
    ) -> Result<Self, ProducerError> {
        let shared = Arc::new(Shared {
            options,
            state: Mutex::new(State::default()),
            changed: Condvar::new(),
        });
        let (steps, inbox) = mpsc::channel();
        let spawn = |name: &str, run: Box<dyn FnOnce() + Send>| {
            let builder = std::thread::Builder::new().name(name.into());
            builder.spawn(run).map_err(|_| ProducerError::Thread)
        };
        let dispatcher = dispatch::Dispatcher::new(inbox);
        let sources = spawn("tracing-sources", Box::new(move || dispatcher.run()))?;
        let io = io::Io::new(shared.clone(), steps.clone(), again);
        // If this one fails the other ends too: nobody is left to send it steps.
        let io = spawn("tracing-io", Box::new(move || io.run(first)))?;
        Ok(Self { shared, steps, threads: Some([sources, io]) })
    }

    /// Offers `source` under `descriptor.name`. The service hears at the latest when it is connected.
    ///
    /// Starts and stops are always acknowledged, so the descriptor's `will_notify_on_*` are set whatever it
    /// says.
    ///
    /// # Errors
    /// [`ProducerError::Name`] without a name, or with one this producer offers already.
    pub fn register(
        &self,
        descriptor: DataSourceDescriptor,
        source: impl DataSource + 'static,
    ) -> Result<(), ProducerError> {
        let name = descriptor.name.clone().unwrap_or_default();
        let mut descriptor = descriptor;
        descriptor.will_notify_on_start = Some(true);
        descriptor.will_notify_on_stop = Some(true);
        let mut state = self.shared.lock();
        if name.is_empty() || state.sources.contains_key(&name) {
            return Err(ProducerError::Name { name });
        }
        let request = io::register_request(&descriptor);
        let source: SharedSource = Arc::new(Mutex::new(Box::new(source)));
        state.sources.insert(name, Registered { descriptor, source });
        // Otherwise it goes with the others when the connection is there.
        if state.connected {
            state.controls.push_back(Control::Request(Box::new(request)));
        }
        drop(state);
        self.shared.wake();
        Ok(())
    }

    /// Changes the descriptor of a data source that has a non-zero id; name and id must stay.
    ///
    /// # Errors
    /// [`ProducerError::Name`] if it is not registered.
    pub fn update(&self, descriptor: DataSourceDescriptor) -> Result<(), ProducerError> {
        let name = descriptor.name.clone().unwrap_or_default();
        let mut state = self.shared.lock();
        let Some(registered) = state.sources.get_mut(&name) else {
            return Err(ProducerError::Name { name });
        };
        registered.descriptor = DataSourceDescriptor {
            will_notify_on_start: Some(true),
            will_notify_on_stop: Some(true),
            ..descriptor
        };
        let request = UpdateDataSourceRequest {
            data_source_descriptor: Some(registered.descriptor.clone()),
            ..Default::default()
        };
        if state.connected {
            state
                .controls
                .push_back(Control::Request(Box::new(Request::UpdateDataSource(request))));
        }
        drop(state);
        self.shared.wake();
        Ok(())
    }

    /// Takes a data source back; its instances are stopped. Unknown names are ignored.
    pub fn unregister(&self, name: &str) {
        let mut state = self.shared.lock();
        if state.sources.remove(name).is_none() {
            return;
        }
        if state.connected {
            let request = UnregisterDataSourceRequest {
                data_source_name: Some(name.to_owned()),
                ..Default::default()
            };
            state
                .controls
                .push_back(Control::Request(Box::new(Request::UnregisterDataSource(request))));
        }
        drop(state);
        // The service stops them on its side without telling.
        let _ = self.steps.send(dispatch::Step::Unregister(name.to_owned()));
        self.shared.wake();
    }

    /// Fires triggers, if a session waits for them. Without a service the first 256 are kept for it.
    pub fn activate_triggers<T: Into<String>>(&self, names: impl IntoIterator<Item = T>) {
        let request = ActivateTriggersRequest {
            trigger_names: names.into_iter().map(Into::into).collect(),
            ..Default::default()
        };
        self.shared.control(Control::Request(Box::new(Request::ActivateTriggers(request))));
    }

    /// Waits until the service has dealt with everything sent so far, registrations and commits
    /// included; first, if need be, for the connection. False after `timeout` or if the connection ended.
    pub fn sync(&self, timeout: Duration) -> bool {
        let (done, wait) = mpsc::channel();
        self.shared.control(Control::Sync(done));
        wait.recv_timeout(timeout).is_ok()
    }

    /// Whether the service has accepted us.
    pub fn is_connected(&self) -> bool {
        self.shared.lock().connected
    }

    /// Waits until the connection is over and will not come back, or `timeout` has passed. True if it is
    /// over.
    pub fn wait_ended(&self, timeout: Duration) -> bool {
        let until = Instant::now() + timeout;
        let mut state = self.shared.lock();
        while !state.ended {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let waited = self.shared.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(|poisoned| poisoned.into_inner()).0;
        }
        true
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        let Some([sources, io]) = self.threads.take() else { return };
        // Instances are stopped while the connection still works, then what they wrote is sent.
        let _ = self.steps.send(dispatch::Step::End);
        let _ = sources.join();
        self.shared.lock().finishing = true;
        self.shared.wake();
        let _ = io.join();
    }
}

impl fmt::Debug for Producer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.shared.lock();
        f.debug_struct("Producer")
            .field("name", &self.shared.options.name)
            .field("connected", &state.connected)
            .field("sources", &state.sources.keys())
            .finish_non_exhaustive()
    }
}
