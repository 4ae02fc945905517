//! The state that the threads of a producer share: its data sources, and requests for the service. A producer without
//! threads uses it, too.

use std::collections::VecDeque;

use protos::producer_port::Request;
use protos::{
    ActivateTriggersRequest, DataSourceDescriptor, RegisterDataSourceRequest,
    UnregisterDataSourceRequest, UpdateDataSourceRequest,
};

use super::event::{SharedSource, SourceEvent};
use super::options::{ProducerError, ProducerOptions};
use super::startup::StartupMemory;
use crate::connection::ConnectionWaker;
use crate::data_source::DataSource;
use crate::limits;
use abi::ipc::port::{Port as _, ProducerPort};
use abi::limits::IPC_ARGS_BYTES_MAX;
use abi::map::SortedMap;
use abi::sync::{Arc, AtomicU64, Condvar, Mutex, MutexGuard, Ordering, lock};
use os::queue::Sender;
use os::socket::OpenSocket;

pub(super) fn register_request(descriptor: &Arc<DataSourceDescriptor>) -> Request {
    Request::RegisterDataSource(RegisterDataSourceRequest {
        data_source_descriptor: Some(Arc::clone(descriptor)),
        ..Default::default()
    })
}

/// Whether the arguments of `request`, which has the descriptor of `name`, fit into a frame. The service could not
/// be told of a larger one, nor show it to consumers.
fn check_len(name: &str, request: &Request) -> Result<(), ProducerError> {
    let bytes = ProducerPort::encode(request).len();
    if bytes > IPC_ARGS_BYTES_MAX {
        return Err(ProducerError::TooLong { name: name.to_owned(), bytes });
    }
    Ok(())
}

pub(super) struct Registered {
    pub(super) descriptor: Arc<DataSourceDescriptor>,
    pub(super) source: SharedSource,
}

/// A request of another thread to the I/O thread.
pub(super) enum Control {
    Request(Box<Request>),
    Sync(Sender<()>),
}

impl Control {
    /// Whether it also is for a connection after the one for which it was queued. A connection begins with all data
    /// sources as they are then, so requests about single ones are not.
    pub(super) fn is_for_next_connection(&self) -> bool {
        match self {
            Self::Sync(_) => true,
            Self::Request(request) => matches!(**request, Request::ActivateTriggers(_)),
        }
    }
}

/// What the threads of a producer share. It outlives connections.
#[derive(Default)]
pub(super) struct SharedState {
    pub(super) sources: SortedMap<String, Registered>,
    pub(super) controls: VecDeque<Control>,
    /// Wakes the I/O thread while it serves a connection.
    pub(super) waker: Option<ConnectionWaker>,
    pub(super) connected: bool,
    /// The data source thread has ended; the remaining data must be sent.
    pub(super) finishing: bool,
    /// The I/O thread has ended.
    pub(super) ended: bool,
    /// Memory with data of startup tracing, to be offered to the service.
    pub(super) startup: Option<StartupMemory>,
}

pub(super) struct Shared {
    pub(super) options: ProducerOptions,
    events: Sender<SourceEvent>,
    pub(super) state: Mutex<SharedState>,
    /// Signalled when the I/O thread has a request while it is not connected, and when it connects or ends.
    pub(super) changed: Condvar,
    /// The socket of the connection, in bits; 0 is none. Not under the lock: another thread may hold that at a fork.
    socket: AtomicU64,
}

impl Shared {
    pub(super) fn new(options: ProducerOptions, events: Sender<SourceEvent>) -> Self {
        Self {
            options,
            events,
            state: Mutex::default(),
            changed: Condvar::new(),
            socket: AtomicU64::new(0),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, SharedState> {
        lock(&self.state)
    }

    /// A connection begins, with this socket, or ends.
    pub(super) fn set_socket(&self, socket: Option<OpenSocket>) {
        self.socket.store(socket.map_or(0, OpenSocket::to_bits), Ordering::Relaxed);
    }

    /// In a forked child.
    pub(super) fn leave_to_parent(&self) {
        match self.socket.swap(0, Ordering::Relaxed) {
            0 => {}
            bits => OpenSocket::from_bits(bits).leave_to_parent(),
        }
    }

    /// Queues a request for the I/O thread. It is dropped if the thread has ended, or if too many wait.
    pub(super) fn queue_control(&self, control: Control) {
        let mut state = self.lock();
        if !state.ended && state.controls.len() < limits::PRODUCER_CONTROLS_MAX {
            state.controls.push_back(control);
        }
        drop(state);
        self.wake();
    }

    pub(super) fn wake(&self) {
        let waker = self.lock().waker.clone();
        if let Some(waker) = waker {
            waker.wake();
        }
        self.changed.notify_all();
    }

    /// Sends an event to the data sources. Their thread has ended only if the producer is ending.
    pub(super) fn send_event(&self, event: SourceEvent) {
        self.events.send(event);
    }

    pub(super) fn register(
        &self,
        descriptor: DataSourceDescriptor,
        source: impl DataSource + 'static,
    ) -> Result<(), ProducerError> {
        let name = descriptor.name.clone().unwrap_or_default();
        let mut descriptor = descriptor;
        descriptor.will_notify_on_start = Some(true);
        descriptor.will_notify_on_stop = Some(true);
        let descriptor = Arc::new(descriptor);
        let mut state = self.lock();
        if name.is_empty() || state.sources.contains_key(&name) {
            return Err(ProducerError::Name { name });
        }
        let request = register_request(&descriptor);
        check_len(&name, &request)?;
        let source: SharedSource = Arc::new(Mutex::new(Box::new(source)));
        if self.options.startup.is_some() {
            // Before the service can ask for it.
            self.send_event(SourceEvent::Registered(name.clone(), source.clone()));
        }
        state.sources.insert(name, Registered { descriptor, source });
        // Otherwise it is sent with the others when the producer is connected.
        if state.connected {
            state.controls.push_back(Control::Request(Box::new(request)));
        }
        drop(state);
        self.wake();
        Ok(())
    }

    pub(super) fn update(&self, descriptor: DataSourceDescriptor) -> Result<(), ProducerError> {
        let name = descriptor.name.clone().unwrap_or_default();
        let mut state = self.lock();
        let Some(registered) = state.sources.get_mut(&name) else {
            return Err(ProducerError::Name { name });
        };
        let mut descriptor = descriptor;
        descriptor.will_notify_on_start = Some(true);
        descriptor.will_notify_on_stop = Some(true);
        let descriptor = Arc::new(descriptor);
        let request = Request::UpdateDataSource(UpdateDataSourceRequest {
            data_source_descriptor: Some(Arc::clone(&descriptor)),
            ..Default::default()
        });
        check_len(&name, &request)?;
        registered.descriptor = descriptor;
        if state.connected {
            state.controls.push_back(Control::Request(Box::new(request)));
        }
        drop(state);
        self.wake();
        Ok(())
    }

    pub(super) fn unregister(&self, name: &str) {
        let mut state = self.lock();
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
        // The service stops the instances without a command.
        self.send_event(SourceEvent::Unregister(name.to_owned()));
        self.wake();
    }

    pub(super) fn activate_triggers(&self, trigger_names: Vec<String>) {
        let request = ActivateTriggersRequest { trigger_names, ..Default::default() };
        self.queue_control(Control::Request(Box::new(Request::ActivateTriggers(request))));
    }
}
