//! The thread that serves the connection.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use protos::producer_port::Request;
use protos::{
    CommitDataRequest, DataSourceConfig, DataSourceDescriptor, GetAsyncCommandRequest,
    GetAsyncCommandResponse, GetAsyncCommandResponseCmd as Command,
    GetAsyncCommandResponseSetupTracing, InitializeConnectionResponse, RegisterDataSourceRequest,
    SyncRequest,
};
use protozero::Message;

use super::dispatch::{Setup, Step};
use super::{Control, Shared};
use crate::client::connection::{
    Attachment, Connection, ConnectionWaker, Received, SocketConnection,
};
use crate::error::OsError;
use crate::ids::{CallId, FlushId, InstanceId};
use crate::ipc::port::ProducerPort;
use crate::os::clock;
use crate::os::socket::Address;
use crate::producer::{Arbiter, ArbiterOptions, FlushCallback, Park, Waker};
use crate::shm::{Layout, PageSize, Region, Smb};
use crate::sync::{Arc, Condvar, Mutex, lock, mpsc};
use crate::time::BootTime;

/// Memory of a producer whose service cannot share any, bytes (`producer_ipc_client_impl.cc`).
const BY_VALUE_BYTES: usize = 1024 * 1024;
/// First pause before connecting again.
const RECONNECT_FIRST: Duration = Duration::from_millis(100);
/// Longest such pause. Upstream waits up to 30 s but watches the socket's directory; looking for a socket
/// every two seconds costs less than that.
const RECONNECT_LAST: Duration = Duration::from_secs(2);
/// How long the end of a producer may take.
const FINISH_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) type Link = Box<dyn Connection<ProducerPort>>;

pub(super) fn connect(address: &Address) -> Result<Link, OsError> {
    Ok(Box::new(SocketConnection::connect(address)?))
}

pub(super) fn register_request(descriptor: &DataSourceDescriptor) -> Request {
    Request::RegisterDataSource(RegisterDataSourceRequest {
        data_source_descriptor: Some(descriptor.clone()),
        ..Default::default()
    })
}

/// Wakes the I/O thread for the arbiter.
struct WakeIo(ConnectionWaker);

impl Waker for WakeIo {
    fn wake(&self) {
        self.0.wake();
    }
}

/// How writers wait for memory in real time. Nothing tells a producer that a chunk was freed.
struct ParkThread {
    lock: Mutex<()>,
    never: Condvar,
}

impl Park for ParkThread {
    fn park(&self, time: Duration) {
        if time.is_zero() {
            std::thread::yield_now();
        } else {
            let _ = self.never.wait_timeout(lock(&self.lock), time);
        }
    }
}

/// What a reply that will come is for.
enum Expected {
    Initialized,
    Commands,
    Callback(FlushCallback),
    Synced(mpsc::Sender<()>),
    Finished,
}

pub(super) struct Io {
    shared: Arc<Shared>,
    steps: mpsc::Sender<Step>,
    again: Option<Address>,
}

/// One connection, from the first request to the end.
struct Session<'a> {
    io: &'a Io,
    link: Link,
    expected: BTreeMap<CallId, Expected>,
    arbiter: Option<Arbiter>,
    direct_patching: bool,
    by_value: bool,
    accepted: bool,
    finishing: Option<Instant>,
}

/// Why a session is over.
#[derive(PartialEq, Eq)]
enum Over {
    Disconnected,
    Finished,
}

impl Io {
    pub(super) fn new(
        shared: Arc<Shared>,
        steps: mpsc::Sender<Step>,
        again: Option<Address>,
    ) -> Self {
        Self { shared, steps, again }
    }

    pub(super) fn run(self, first: Option<Link>) {
        let mut link = first;
        let mut pause = RECONNECT_FIRST;
        loop {
            if let Some(link) = link.take() {
                let over = Session::new(&self, link).run();
                pause = RECONNECT_FIRST;
                let _ = self.steps.send(Step::Disconnected);
                if over == Over::Finished {
                    break;
                }
            }
            let Some(address) = &self.again else { break };
            if !self.pause(pause) {
                break;
            }
            pause = (pause * 2).min(RECONNECT_LAST);
            link = connect(address).ok();
        }
        let mut state = self.shared.lock();
        state.ended = true;
        // Who waits for a sync hears by its sender going away.
        let controls = core::mem::take(&mut state.controls);
        drop(state);
        drop(controls);
        self.shared.changed.notify_all();
    }

    /// Waits before the next attempt; false if the producer is being dropped.
    fn pause(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        let mut state = self.shared.lock();
        loop {
            if state.finishing {
                return false;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            let waited = self.shared.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(|poisoned| poisoned.into_inner()).0;
        }
    }
}

impl<'a> Session<'a> {
    fn new(io: &'a Io, link: Link) -> Self {
        io.shared.lock().waker = Some(link.waker());
        Self {
            io,
            link,
            expected: BTreeMap::new(),
            arbiter: None,
            direct_patching: false,
            by_value: false,
            accepted: false,
            finishing: None,
        }
    }

    fn run(mut self) -> Over {
        let initialize = self.io.shared.options.initialize_request();
        let commands = Request::GetAsyncCommand(GetAsyncCommandRequest::default());
        let mut over = None;
        // The second does not wait for the answer to the first; all others do.
        if !self.call(Request::InitializeConnection(initialize), Expected::Initialized)
            || !self.call(commands, Expected::Commands)
        {
            over = Some(Over::Disconnected);
        }
        let over = loop {
            if let Some(over) = over {
                break over;
            }
            over = self.step();
        };
        let mut state = self.io.shared.lock();
        state.waker = None;
        state.connected = false;
        drop(state);
        if let Some(arbiter) = &self.arbiter {
            arbiter.disconnect();
        }
        over
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
        // Registrations are rejected if something is wrong with us; everything else is not answered.
        let want_reply = matches!(request, Request::RegisterDataSource(_));
        self.link.send(request, want_reply, Attachment::None).is_ok()
    }

    /// Sends what there is to send, then waits for one thing and handles it.
    fn step(&mut self) -> Option<Over> {
        if !self.send_all() {
            return Some(Over::Disconnected);
        }
        let mut timeout = self
            .arbiter
            .as_ref()
            .and_then(Arbiter::poll_timeout)
            .map(|at| Duration::from_nanos(at.since_ns(BootTime(clock::boot_ns()))));
        if let Some(until) = self.finishing {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Some(Over::Finished);
            }
            timeout = Some(timeout.map_or(left, |timeout| timeout.min(left)));
        }
        match self.link.receive(timeout) {
            Received::Woken | Received::TimedOut => None,
            Received::Disconnected if self.finishing.is_some() => Some(Over::Finished),
            Received::Disconnected => Some(Over::Disconnected),
            Received::Reply { call, result, has_more } => {
                let expected = self.expected.remove(&call)?;
                match (expected, result) {
                    (Expected::Initialized, Ok(bytes)) => self.initialized(&bytes),
                    // Refused: nothing we say will be heard.
                    (Expected::Initialized, Err(_)) => return Some(Over::Disconnected),
                    (Expected::Commands, Ok(bytes)) => {
                        if !self.command(&bytes) {
                            return Some(Over::Disconnected);
                        }
                        if has_more {
                            self.expected.insert(call, Expected::Commands);
                        }
                    }
                    (Expected::Commands, Err(_)) => {}
                    (Expected::Callback(done), _) => done(),
                    // A rejection means a service too old to know `Sync`: it answers in order all the same.
                    (Expected::Synced(done), _) => {
                        let _ = done.send(());
                    }
                    (Expected::Finished, _) => return Some(Over::Finished),
                }
                None
            }
        }
    }

    fn send_all(&mut self) -> bool {
        if !self.accepted {
            let finishing = self.io.shared.lock().finishing;
            return !finishing || self.finishing.is_some() || self.finish();
        }
        if let Some(arbiter) = self.arbiter.clone() {
            while let Some(outgoing) = arbiter.poll_request(BootTime(clock::boot_ns())) {
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
            let mut state = self.io.shared.lock();
            let control = state.controls.pop_front();
            let finishing = state.finishing;
            drop(state);
            let sent = match control {
                Some(Control::Request(request)) => self.tell(*request),
                Some(Control::Sync(done)) => {
                    let request = Request::Sync(SyncRequest::default());
                    self.call(request, Expected::Synced(done))
                }
                None if finishing && self.finishing.is_none() => return self.finish(),
                None => return true,
            };
            if !sent {
                return false;
            }
        }
    }

    /// Everything is sent; a last call whose answer says that it arrived.
    fn finish(&mut self) -> bool {
        self.finishing = Some(Instant::now() + FINISH_TIMEOUT);
        self.call(Request::CommitData(CommitDataRequest::default()), Expected::Finished)
    }

    fn initialized(&mut self, bytes: &[u8]) {
        let reply = InitializeConnectionResponse::decode(bytes).unwrap_or_default();
        self.direct_patching = reply.direct_smb_patching_supported == Some(true);
        self.by_value = reply.use_shmem_emulation == Some(true);
        self.accepted = true;
        let mut state = self.io.shared.lock();
        state.connected = true;
        let registrations: Vec<_> = state
            .sources
            .values()
            .map(|registered| Control::Request(Box::new(register_request(&registered.descriptor))))
            .collect();
        for registration in registrations.into_iter().rev() {
            // Before a sync that was asked for meanwhile.
            state.controls.push_front(registration);
        }
        drop(state);
        self.io.shared.changed.notify_all();
    }

    /// Passes a command on; false if the service cannot be worked with.
    fn command(&mut self, bytes: &[u8]) -> bool {
        // What we cannot read is from a newer service, and meant for a newer producer.
        let Ok(GetAsyncCommandResponse { cmd: Some(command), .. }) =
            GetAsyncCommandResponse::decode(bytes)
        else {
            return true;
        };
        let step = match command {
            Command::SetupTracing(setup) => return self.setup_tracing(&setup),
            Command::SetupDataSource(setup) => {
                Step::Setup(self.setup(setup.new_instance_id, setup.config))
            }
            Command::StartDataSource(start) => {
                Step::Start(self.setup(start.new_instance_id, start.config))
            }
            Command::StopDataSource(stop) => Step::Stop(InstanceId(stop.instance_id.unwrap_or(0))),
            Command::ClearIncrementalState(clear) => {
                Step::Clear(clear.data_source_ids.into_iter().map(InstanceId).collect())
            }
            Command::Flush(flush) => {
                let id = FlushId(flush.request_id.unwrap_or(0));
                // Without memory there is nothing to flush, and the service would not take our word.
                let Some(arbiter) = self.arbiter.clone() else { return true };
                let instances = flush.data_source_ids.into_iter().map(InstanceId).collect();
                Step::Flush { arbiter, id, instances, flags: flush.flags.unwrap_or(0) }
            }
        };
        // The data source thread is gone only when the producer is ending.
        let _ = self.io.steps.send(step);
        true
    }

    fn setup(&self, id: Option<u64>, config: Option<DataSourceConfig>) -> Setup {
        let config = config.unwrap_or_default();
        let name = config.name.as_deref().unwrap_or_default();
        let state = self.io.shared.lock();
        let source = state.sources.get(name).map(|registered| registered.source.clone());
        Setup { id: InstanceId(id.unwrap_or(0)), config, source, arbiter: self.arbiter.clone() }
    }

    fn setup_tracing(&mut self, setup: &GetAsyncCommandResponseSetupTracing) -> bool {
        let came = self.link.take_region();
        if self.arbiter.is_some() {
            // Once per connection; writers hold chunks of the first.
            return true;
        }
        let region = match came {
            _ if self.by_value => Region::heap(BY_VALUE_BYTES),
            Some(Ok(region)) => region,
            Some(Err(_)) | None => return false,
        };
        let bytes = setup.shared_buffer_page_size_kb.unwrap_or(0) as usize * 1024;
        let page_size = PageSize::new(bytes);
        let Ok(smb) = page_size.and_then(|page_size| Smb::new(region, page_size)) else {
            return false;
        };
        let options = ArbiterOptions {
            layout: Layout::Div1,
            direct_patching: self.direct_patching,
            by_value: self.by_value,
            batch_commits_ms: self.io.shared.options.batch_commits_ms,
        };
        let waker = Arc::new(WakeIo(self.link.waker()));
        let park = Arc::new(ParkThread { lock: Mutex::new(()), never: Condvar::new() });
        self.arbiter = Some(Arbiter::new(smb, options, waker, park));
        true
    }
}
