//! A producer without threads of its own, which runs when it is polled.

use core::fmt;
use std::thread::ThreadId;
use std::time::Duration;

use protos::DataSourceDescriptor;

use super::connection::{ProducerConnection, Stepped};
use super::dispatch::Dispatcher;
use super::event::SourceEvent;
use super::io::ParkThread;
use super::options::{ProducerError, ProducerOptions};
use super::shared::Shared;
use crate::connection::{Connection, ConnectionWaker};
use crate::data_source::DataSource;
use crate::write::Park;
use abi::ipc::port::ProducerPort;
use abi::sync::{Arc, Mutex, lock};
use abi::time::BootTime;
use os::queue::queue;

/// A [`Producer`](super::Producer) for a program with an event loop. All its work, the calls of data sources included,
/// happens inside [`poll`](Self::poll).
///
/// Poll it when the connection has bytes to read (for a service in this program: after each poll of the service), when
/// its [`waker`](Self::waker) was used, when data was written, and when [`poll_timeout`](Self::poll_timeout) has
/// passed.
///
/// A writer on the polling thread cannot wait for memory, because only that thread frees memory: with any policy, it
/// drops packets. Writers on other threads wait as usual.
///
/// Dropping it stops its instances and sends the data of their writers, without waiting for an answer.
pub struct PolledProducer {
    shared: Arc<Shared>,
    dispatcher: Dispatcher,
    connection: Option<ProducerConnection>,
    park: Arc<ParkUnlessPolling>,
}

impl PolledProducer {
    /// A producer over `connection`. `options.address` and `options.reconnect` are ignored: the producer ends with its
    /// connection. `options.startup` is ignored, too.
    #[must_use]
    pub fn new(connection: Box<dyn Connection<ProducerPort>>, options: ProducerOptions) -> Self {
        let (events, inbox) = queue();
        let options = ProducerOptions { startup: None, ..options };
        let shared = Arc::new(Shared::new(options, events));
        let park = Arc::new(ParkUnlessPolling::default());
        let mut connection = ProducerConnection::new(Arc::clone(&shared), connection, park.clone());
        let connection = connection.begin().then_some(connection);
        Self { shared, dispatcher: Dispatcher::new(inbox, None), connection, park }
    }

    /// Offers `source` under `descriptor.name`; see [`Producer::register`](super::Producer::register).
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

    /// Fires triggers, if a session waits for them.
    pub fn activate_triggers<T: Into<String>>(&self, names: impl IntoIterator<Item = T>) {
        self.shared.activate_triggers(names.into_iter().map(Into::into).collect());
    }

    /// Sends requests, handles replies, and calls the data sources. Never waits. False once the connection is closed.
    pub fn poll(&mut self) -> bool {
        self.park.enter();
        loop {
            let more = match self
                .connection
                .as_mut()
                .map(|connection| connection.step(Some(Duration::ZERO)))
            {
                Some(Stepped::Progress) => true,
                Some(Stepped::Idle) => false,
                Some(Stepped::Ended(_)) => {
                    self.end();
                    true
                }
                None => false,
            };
            if !self.dispatcher.process_events() && !more {
                return self.connection.is_some();
            }
        }
    }

    /// When to poll at the latest, because a batch of commits is due.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<BootTime> {
        self.connection.as_ref()?.poll_timeout()
    }

    /// The producer calls this waker when it needs a poll. It also interrupts a thread that waits in the connection.
    /// None once the connection is closed.
    #[must_use]
    pub fn waker(&self) -> Option<ConnectionWaker> {
        self.shared.lock().waker.clone()
    }

    /// Whether the service has accepted this producer.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.shared.lock().connected
    }

    fn end(&mut self) {
        if let Some(mut connection) = self.connection.take() {
            connection.end();
        }
        self.shared.send_event(SourceEvent::Disconnected);
    }
}

impl Drop for PolledProducer {
    fn drop(&mut self) {
        self.park.enter();
        self.dispatcher.process_events();
        self.dispatcher.stop_all();
        self.poll();
        self.end();
        self.poll();
    }
}

impl fmt::Debug for PolledProducer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PolledProducer")
            .field("name", &self.shared.options.name)
            .field("connected", &self.is_connected())
            .finish_non_exhaustive()
    }
}

/// Waits in real time, except on the thread that polled last: that thread would have to send the commits for which it
/// waits.
#[derive(Default)]
struct ParkUnlessPolling {
    polling: Mutex<Option<ThreadId>>,
    thread: ParkThread,
}

impl ParkUnlessPolling {
    fn enter(&self) {
        *lock(&self.polling) = Some(std::thread::current().id());
    }

    fn is_polling(&self) -> bool {
        *lock(&self.polling) == Some(std::thread::current().id())
    }
}

impl Park for ParkUnlessPolling {
    fn park(&self, time: Duration) {
        if !self.is_polling() {
            self.thread.park(time);
        }
    }

    fn give_up(&self) {
        if !self.is_polling() {
            self.thread.give_up();
        }
    }
}
