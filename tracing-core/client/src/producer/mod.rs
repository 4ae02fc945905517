//! A producer: a connection to the service, and the data sources it offers.
//!
//! A producer has two threads. So the connection is served while a data source is slow or waits for shared memory: a
//! C++ service disconnects a producer that does not read for 10 ms, and frees memory only when full chunks are
//! committed:
//!
//! ```text
//!            commands                       events
//!  service ───────────> [ I/O thread ] ──────────────> [ data source thread ] ──> DataSource
//!     ^                     │  ^                              │
//!     └──── requests ───────┘  └────── arbiter <── writers <──┴── any other thread
//! ```
//!
//! Requests that must come after data, such as acknowledgements, go through the queue of the arbiter, which keeps the
//! order. A program with an event loop uses [`PolledProducer`], which has no threads.

mod connection;
mod dispatch;
mod event;
mod io;
mod options;
mod polled;
mod shared;
mod startup;
#[cfg(test)]
mod tests;

use core::fmt;
use std::time::Duration;

use protos::DataSourceDescriptor;

use self::event::SourceEvent;
pub use self::options::{
    ConnectionEvent, ConnectionHook, ProducerError, ProducerOptions, Scraping,
};
pub use self::polled::PolledProducer;
use self::shared::{Control, Shared};
pub use self::startup::{StartupAbort, StartupCallback, StartupEvent, StartupOptions};
use super::connection::Connection;
use super::data_source::DataSource;
use crate::limits;
use abi::ipc::port::ProducerPort;
use abi::sync::{Arc, AtomicU64, Ordering};
use os::clock::Deadline;
use os::queue::queue;
use os::socket::{Address, defaults};
use os::thread::{Running, Thread};

/// A running producer. Dropping it stops its instances, sends the data of their writers, and disconnects.
pub struct Producer {
    shared: Arc<Shared>,
    threads: Option<[Thread; 2]>,
    startup_discarded: Option<Arc<AtomicU64>>,
}

impl Producer {
    /// Connects to a service over its socket.
    ///
    /// With [`reconnect`](ProducerOptions::reconnect) a thread connects, so this does not wait, and succeeds also
    /// without a service: data sources can be registered at once and are offered when a service starts. Otherwise it
    /// waits up to ten seconds for room in the queue of a service.
    ///
    /// # Errors
    /// When the address is bad, no service listens (without `reconnect`), or a thread cannot be started.
    pub fn connect(options: ProducerOptions) -> Result<Self, ProducerError> {
        let address = match &options.address {
            Some(address) => address.clone(),
            None => Address::parse(defaults().producer).map_err(ProducerError::Address)?,
        };
        if options.reconnect {
            return Self::run(options, None, Some(address));
        }
        let timeout = Duration::from_millis(limits::CONNECT_TIMEOUT_MS);
        let first = io::connect(&address, timeout)
            .map_err(|error| ProducerError::Connect { address: address.to_string(), error })?;
        Self::run(options, Some(first), None)
    }

    /// A producer on a connection that exists, such as one to a service in this process (`InProcessService::producer`
    /// of the crate `daemon`). It does not connect again.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub fn attach(
        connection: Box<dyn Connection<ProducerPort>>,
        options: ProducerOptions,
    ) -> Result<Self, ProducerError> {
        Self::run(options, Some(connection), None)
    }

    fn run(
        mut options: ProducerOptions,
        first: Option<Box<dyn Connection<ProducerPort>>>,
        again: Option<Address>,
    ) -> Result<Self, ProducerError> {
        let (events, inbox) = queue();
        let startup = options.begin_startup(Arc::new(io::ParkThread::default()))?;
        let startup_discarded = startup.as_ref().map(|(_, startup)| startup.discarded_packets());
        let (memory, startup) = startup.unzip();
        let shared = Arc::new(Shared::new(options, events));
        shared.lock().startup = memory;
        let spawn = |name: &str, run: Box<dyn FnOnce() + Send>| {
            os::thread::spawn(name, run).map_err(|_| ProducerError::Thread)
        };
        let dispatcher = dispatch::Dispatcher::new(inbox, startup);
        let sources = spawn("tracing-sources", Box::new(move || dispatcher.run()))?;
        let io = io::Io::new(shared.clone(), again);
        // If this thread cannot be started, the other one ends, because the sender of its events is dropped.
        let io = spawn("tracing-io", Box::new(move || io.run(first)))?;
        Ok(Self { shared, threads: Some([sources, io]), startup_discarded })
    }

    /// Offers `source` under `descriptor.name`, at once or when the producer is connected.
    ///
    /// Starts and stops are always acknowledged, so this sets `will_notify_on_*` of the descriptor.
    ///
    /// # Errors
    /// [`ProducerError::Name`] without a name, or with one this producer offers already;
    /// [`ProducerError::TooLong`] if the descriptor does not fit into a request (128 KiB less 72 bytes).
    pub fn register(
        &self,
        descriptor: DataSourceDescriptor,
        source: impl DataSource + 'static,
    ) -> Result<(), ProducerError> {
        self.shared.register(descriptor, source)
    }

    /// Changes the descriptor of a data source that has a non-zero id; name and id must stay.
    ///
    /// # Errors
    /// [`ProducerError::Name`] if it is not registered, [`ProducerError::TooLong`] as for [`register`](Self::register).
    pub fn update(&self, descriptor: DataSourceDescriptor) -> Result<(), ProducerError> {
        self.shared.update(descriptor)
    }

    /// Unregisters a data source and stops its instances. Unknown names are ignored.
    pub fn unregister(&self, name: &str) {
        self.shared.unregister(name);
    }

    /// Fires triggers, if a session waits for them. Without a service the first 256 are kept for it.
    pub fn activate_triggers<T: Into<String>>(&self, names: impl IntoIterator<Item = T>) {
        self.shared.activate_triggers(names.into_iter().map(Into::into).collect());
    }

    /// Waits until the service has handled everything sent so far, registrations and commits included. Without a
    /// connection it first waits for one, also if one is lost meanwhile. Then it waits until the data sources that the
    /// service has started have begun, unless it runs on the thread that calls them. False after `timeout`, or if
    /// there will be no connection any more.
    pub fn sync(&self, timeout: Duration) -> bool {
        let deadline = Deadline::after(Some(timeout));
        let (done, wait) = queue();
        self.shared.queue_control(Control::Sync(done));
        if wait.recv_timeout(timeout).is_none() {
            return false;
        }
        if self.is_source_thread() {
            return true;
        }
        // The service has answered after what it had to say, so the starts are in this queue.
        let (done, wait) = queue();
        self.shared.send_event(SourceEvent::Fence(done));
        wait.recv_timeout(deadline.left().unwrap_or_default()).is_some()
    }

    /// Whether the calling thread is the one that calls data sources.
    fn is_source_thread(&self) -> bool {
        let sources = self.threads.as_ref().and_then(|threads| threads.first());
        sources.is_some_and(Thread::is_current)
    }

    /// Waits until the startup instances (see [`StartupOptions`]) of the data sources registered so far have started:
    /// as long as their `setup` and `start` take. On the thread that calls data sources it does not wait.
    pub fn wait_startup(&self) {
        if self.shared.options.startup.is_none() || self.is_source_thread() {
            return;
        }
        let (done, wait) = queue();
        self.shared.send_event(SourceEvent::Fence(done));
        wait.recv();
    }

    /// Packets that startup instances have written and that were discarded, because they were aborted.
    pub fn startup_packets_discarded(&self) -> u64 {
        let discarded = self.startup_discarded.as_ref();
        discarded.map_or(0, |discarded| discarded.load(Ordering::Relaxed))
    }

    /// The two threads of the producer: one calls data sources, the other serves the connection. For a program that
    /// changes their priority.
    pub fn threads(&self) -> Vec<Running> {
        self.threads.iter().flatten().map(Thread::running).collect()
    }

    /// Whether the service has accepted this producer.
    pub fn is_connected(&self) -> bool {
        self.shared.lock().connected
    }

    /// In a forked child: closes the connection that it shares with its parent, for this process alone. Else the
    /// service would not learn that the parent has ended while the child lives. The threads of the producer are those
    /// of the parent, so the child must not use the producer otherwise, and must not drop it.
    pub fn leave_to_parent(&self) {
        self.shared.leave_to_parent();
    }

    /// Waits until the connection has ended for good, or `timeout` has passed. True if it has ended.
    pub fn wait_ended(&self, timeout: Duration) -> bool {
        let deadline = Deadline::after(Some(timeout));
        let mut state = self.shared.lock();
        while !state.ended {
            let left = deadline.left().unwrap_or(Duration::MAX);
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
        // Instances are stopped while the connection works, then their data is sent.
        self.shared.send_event(SourceEvent::End);
        sources.join();
        self.shared.lock().finishing = true;
        self.shared.wake();
        io.join();
    }
}

impl fmt::Debug for Producer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.shared.lock();
        f.debug_struct("Producer")
            .field("name", &self.shared.options.name)
            .field("connected", &state.connected)
            .field("sources", &state.sources.keys().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}
