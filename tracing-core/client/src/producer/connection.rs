//! One connection of a producer, from the first request to the end.

use std::time::{Duration, Instant};

use protos::producer_port::Request;
use protos::{
    CommitDataRequest, DataSourceConfig, GetAsyncCommandRequest, GetAsyncCommandResponse,
    GetAsyncCommandResponseCmd as Command, GetAsyncCommandResponseSetupTracing,
    InitializeConnectionResponse, SyncRequest,
};
use protozero::Message;

use super::event::{Setup, SourceEvent};
use super::shared::{Control, Shared, register_request};
use crate::connection::{Attachment, Connection, ConnectionWaker, Received};
use crate::write::{Arbiter, FlushCallback, Park, ServiceSupport, Waker};
use abi::flush_flags::FlushFlags;
use abi::ids::{CallId, FlushId, InstanceId};
use abi::ipc::Rejected;
use abi::ipc::port::ProducerPort;
use abi::map::SortedMap;
use abi::shm::{PageSize, Region, Smb};
use abi::sync::Arc;
use abi::time::BootTime;
use os::queue::Sender;
use os::{clock, shm};

/// Memory of a producer whose service cannot share any, bytes (`producer_ipc_client_impl.cc`).
const BY_VALUE_BYTES: usize = 1024 * 1024;
/// How long a producer waits for its last requests when it is dropped.
const FINISH_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) type Link = Box<dyn Connection<ProducerPort>>;

/// Wakes the I/O thread for the arbiter.
struct WakeIo(ConnectionWaker);

impl Waker for WakeIo {
    fn wake(&self) {
        self.0.wake();
    }
}

/// The purpose of a call whose reply will come.
enum Expected {
    Initialized,
    Commands,
    Callback(FlushCallback),
    Synced(Sender<()>),
    Finished,
}

/// One connection, from the first request to the end.
pub(super) struct ProducerConnection {
    shared: Arc<Shared>,
    link: Link,
    park: Arc<dyn Park>,
    expected: SortedMap<CallId, Expected>,
    arbiter: Option<Arbiter>,
    /// How the service takes chunks; not known before it has answered.
    service: ServiceSupport,
    accepted: bool,
    /// Memory that this producer made, until the service has accepted or refused it.
    own: Option<Region>,
    /// This memory is that of startup tracing.
    offers_startup: bool,
    finishing: Option<Instant>,
}

/// Why a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConnectionEnd {
    Disconnected,
    Finished,
}

/// The result of one step.
pub(super) enum Stepped {
    /// An event was handled.
    Progress,
    /// No event came in time.
    Idle,
    /// The connection ended.
    Ended(ConnectionEnd),
}

impl ProducerConnection {
    pub(super) fn new(shared: Arc<Shared>, link: Link, park: Arc<dyn Park>) -> Self {
        shared.lock().waker = Some(link.waker());
        shared.set_socket(link.socket());
        Self {
            shared,
            link,
            park,
            expected: SortedMap::new(),
            arbiter: None,
            service: ServiceSupport::default(),
            accepted: false,
            own: None,
            offers_startup: false,
            finishing: None,
        }
    }

    /// Sends the first requests. False if the service has closed the connection.
    pub(super) fn begin(&mut self) -> bool {
        let options = &self.shared.options;
        let mut sizes = options.own_sizes();
        if let Some(startup) = &self.shared.lock().startup {
            sizes = options.startup_sizes();
            self.own = Some(startup.arbiter().smb().region().clone());
            self.offers_startup = true;
        } else if options.own_memory {
            // If memory cannot be made, the service makes it.
            self.own = shm::create(sizes.whole_bytes).ok();
        }
        let sizes = self.own.is_some().then_some(sizes);
        let initialize = Request::InitializeConnection(options.initialize_request(sizes));
        let attachment = self.own.clone().map_or(Attachment::None, Attachment::Region);
        let Ok(call) = self.link.send(initialize, true, attachment) else { return false };
        self.expected.insert(call, Expected::Initialized);
        let commands = Request::GetAsyncCommand(GetAsyncCommandRequest::default());
        // This request does not wait for the answer to the first; all later ones do.
        self.call(commands, Expected::Commands)
    }

    /// Ends the connection: writers drop packets from now on.
    pub(super) fn end(&mut self) {
        for expected in std::mem::take(&mut self.expected).into_values() {
            if let Expected::Synced(done) = expected {
                self.ask_again(done);
            }
        }
        self.shared.set_socket(None);
        let mut state = self.shared.lock();
        state.waker = None;
        state.connected = false;
        // The next connection begins with all sources as they are then.
        state.controls.retain(Control::is_for_next_connection);
        drop(state);
        if let Some(arbiter) = &self.arbiter {
            arbiter.disconnect();
        }
    }

    /// Whether the service accepted the producer.
    pub(super) fn is_accepted(&self) -> bool {
        self.accepted
    }

    /// When a batch of commits is due, for which no waker is called.
    pub(super) fn poll_timeout(&self) -> Option<BootTime> {
        self.arbiter.as_ref().and_then(Arbiter::poll_timeout)
    }

    fn call(&mut self, request: Request, expected: Expected) -> bool {
        match self.link.send(request, true, Attachment::None) {
            Ok(call) => {
                self.expected.insert(call, expected);
                true
            }
            Err(_) => false,
        }
    }

    fn tell(&mut self, request: Request) -> bool {
        // A reply to a registration is wanted, because it may be a rejection. Other requests have none.
        let want_reply = matches!(request, Request::RegisterDataSource(_));
        self.link.send(request, want_reply, Attachment::None).is_ok()
    }

    /// Sends all requests that wait, then waits for one event, up to `wait` (`None`: for ever), and handles it.
    pub(super) fn step(&mut self, wait: Option<Duration>) -> Stepped {
        if !self.send_all() {
            return Stepped::Ended(ConnectionEnd::Disconnected);
        }
        let now = BootTime::from_ns(clock::boot_ns());
        let batch = self.poll_timeout().map(|at| Duration::from_nanos(at.since_ns(now)));
        let mut timeout = earliest(batch, wait);
        if let Some(until) = self.finishing {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Stepped::Ended(ConnectionEnd::Finished);
            }
            timeout = earliest(timeout, Some(left));
        }
        match self.link.receive(timeout) {
            Received::Woken => Stepped::Progress,
            Received::TimedOut => Stepped::Idle,
            Received::Disconnected if self.finishing.is_some() => {
                Stepped::Ended(ConnectionEnd::Finished)
            }
            Received::Disconnected => Stepped::Ended(ConnectionEnd::Disconnected),
            Received::Reply { call, result, has_more } => {
                self.handle_reply(call, result, has_more).map_or(Stepped::Progress, Stepped::Ended)
            }
        }
    }

    fn handle_reply(
        &mut self,
        call: CallId,
        result: Result<Vec<u8>, Rejected>,
        has_more: bool,
    ) -> Option<ConnectionEnd> {
        let expected = self.expected.remove(&call)?;
        match (expected, result) {
            (Expected::Initialized, Ok(bytes)) => self.handle_initialized(&bytes),
            // The service refused the producer, and ignores its requests.
            (Expected::Initialized, Err(_)) => return Some(ConnectionEnd::Disconnected),
            (Expected::Commands, Ok(bytes)) => {
                if !self.handle_command(&bytes) {
                    return Some(ConnectionEnd::Disconnected);
                }
                if has_more {
                    self.expected.insert(call, Expected::Commands);
                }
            }
            // The connection is closed, which the next receive reports.
            (Expected::Commands, Err(_)) if self.link.is_closed() => {}
            // Without the stream of commands the service could not start any data source.
            (Expected::Commands, Err(_)) => return Some(ConnectionEnd::Disconnected),
            (Expected::Callback(done), _) => done(),
            // The service closed before it answered, so the next one is asked.
            (Expected::Synced(done), Err(_)) if self.link.is_closed() => self.ask_again(done),
            // A service that is too old for `Sync` rejects it, but in order, which is enough.
            (Expected::Synced(done), _) => {
                done.send(());
            }
            (Expected::Finished, _) => return Some(ConnectionEnd::Finished),
        }
        None
    }

    fn send_all(&mut self) -> bool {
        if !self.accepted {
            let finishing = self.shared.lock().finishing;
            return !finishing || self.finishing.is_some() || self.finish();
        }
        if let Some(arbiter) = self.arbiter.clone() {
            while let Some(outgoing) = arbiter.poll_request(BootTime::from_ns(clock::boot_ns())) {
                let sent = match outgoing.on_reply {
                    Some(done) => self.call(outgoing.request, Expected::Callback(done)),
                    None => self.tell(outgoing.request),
                };
                if !sent {
                    return false;
                }
            }
        }
        loop {
            let mut state = self.shared.lock();
            let control = state.controls.pop_front();
            let finishing = state.finishing;
            drop(state);
            let sent = match control {
                Some(Control::Request(request)) => self.tell(*request),
                Some(Control::Sync(done)) => {
                    let request = Request::Sync(SyncRequest::default());
                    match self.link.send(request, true, Attachment::None) {
                        Ok(call) => {
                            self.expected.insert(call, Expected::Synced(done));
                            true
                        }
                        Err(_) => {
                            self.ask_again(done);
                            false
                        }
                    }
                }
                None if finishing && self.finishing.is_none() => return self.finish(),
                None => return true,
            };
            if !sent {
                return false;
            }
        }
    }

    /// Keeps a sync for the next connection, if there will be one.
    fn ask_again(&self, done: Sender<()>) {
        self.shared.lock().controls.push_front(Control::Sync(done));
    }

    /// Sends a last call. Its answer says that the service has received everything before it.
    fn finish(&mut self) -> bool {
        self.finishing = Some(Instant::now() + FINISH_TIMEOUT);
        self.call(Request::CommitData(CommitDataRequest::default()), Expected::Finished)
    }

    fn handle_initialized(&mut self, bytes: &[u8]) {
        let reply = InitializeConnectionResponse::decode_without_path(bytes).unwrap_or_default();
        self.service = ServiceSupport {
            direct_patching: reply.direct_smb_patching_supported == Some(true),
            by_value: reply.use_shmem_emulation == Some(true),
        };
        self.accepted = true;
        let takes_own = reply.using_shmem_provided_by_producer == Some(true);
        if self.offers_startup {
            self.own = None;
            self.end_startup_offer(takes_own);
        } else if let Some(own) = self.own.take()
            && takes_own
        {
            self.make_arbiter(own, self.shared.options.own_sizes().page_bytes);
        }
        let mut guard = self.shared.lock();
        let state = &mut *guard;
        state.connected = true;
        for registered in state.sources.values().rev() {
            // Before a sync that was requested meanwhile.
            let request = register_request(&registered.descriptor);
            state.controls.push_front(Control::Request(Box::new(request)));
        }
        drop(guard);
        self.shared.changed.notify_all();
    }

    /// Uses the memory of startup tracing if the service has taken it, or takes chunks by value.
    fn end_startup_offer(&mut self, is_taken: bool) {
        let Some(startup) = self.shared.lock().startup.take() else { return };
        if is_taken || self.service.by_value {
            let waker = self.link.waker();
            self.arbiter = Some(startup.attach(waker, self.service));
        } else {
            startup.arbiter().disconnect();
            self.shared.send_event(SourceEvent::StartupRefused);
        }
    }

    /// Handles a command; false if it is malformed in a way that ends the connection.
    fn handle_command(&mut self, bytes: &[u8]) -> bool {
        // An unknown command is from a newer service, for newer producers.
        let Ok(GetAsyncCommandResponse { cmd: Some(command), .. }) =
            GetAsyncCommandResponse::decode_without_path(bytes)
        else {
            return true;
        };
        let event = match command {
            Command::SetupTracing(setup) => return self.handle_setup_tracing(&setup),
            Command::SetupDataSource(setup) => {
                SourceEvent::Setup(self.make_setup(setup.new_instance_id, setup.config))
            }
            Command::StartDataSource(start) => {
                SourceEvent::Start(self.make_setup(start.new_instance_id, start.config))
            }
            Command::StopDataSource(stop) => {
                SourceEvent::Stop(InstanceId::new(stop.instance_id.unwrap_or(0)))
            }
            Command::ClearIncrementalState(clear) => {
                SourceEvent::Clear(clear.data_source_ids.into_iter().map(InstanceId::new).collect())
            }
            Command::Flush(flush) => {
                let id = FlushId::new(flush.request_id.unwrap_or(0));
                // Without shared memory there is nothing to flush, and the service would ignore the answer.
                let Some(arbiter) = self.arbiter.clone() else { return true };
                let instances = flush.data_source_ids.into_iter().map(InstanceId::new).collect();
                let flags = FlushFlags::new(flush.flags.unwrap_or(0));
                SourceEvent::Flush { arbiter, id, instances, flags }
            }
        };
        self.shared.send_event(event);
        true
    }

    fn make_setup(&self, id: Option<u64>, config: Option<Arc<DataSourceConfig>>) -> Setup {
        let config = config.unwrap_or_default();
        let name = config.name.as_deref().unwrap_or_default();
        let state = self.shared.lock();
        let source = state.sources.get(name).map(|registered| registered.source.clone());
        Setup {
            id: InstanceId::new(id.unwrap_or(0)),
            config,
            source,
            arbiter: self.arbiter.clone(),
        }
    }

    fn handle_setup_tracing(&mut self, setup: &GetAsyncCommandResponseSetupTracing) -> bool {
        let came = self.link.take_region();
        if self.arbiter.is_some() {
            // Only once per connection, because writers hold chunks of the first memory.
            return true;
        }
        let region = match came {
            _ if self.service.by_value => Region::heap(BY_VALUE_BYTES),
            Some(Ok(region)) => region,
            Some(Err(_)) | None => return false,
        };
        self.make_arbiter(region, setup.shared_buffer_page_size_kb.unwrap_or(0) as usize * 1024)
    }

    fn make_arbiter(&mut self, region: Region, page_bytes: usize) -> bool {
        let page_size = PageSize::new(page_bytes);
        let Ok(smb) = page_size.and_then(|page_size| Smb::new(region, page_size)) else {
            return false;
        };
        let mut options = self.shared.options.arbiter_options();
        options.service = self.service;
        let waker = Arc::new(WakeIo(self.link.waker()));
        self.arbiter = Some(Arbiter::new(smb, options, waker, Arc::clone(&self.park)));
        true
    }
}

/// The shorter of two waits; `None` has no end.
fn earliest(a: Option<Duration>, b: Option<Duration>) -> Option<Duration> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        _ => a.or(b),
    }
}
