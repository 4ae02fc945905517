//! An environment that carries out the effects of the service at once, and records them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use bytes::Bytes;

use crate::buffer::{CheckedRegions, EmittedPackets};
use abi::ids::{CallId, ClientId, FileId, ShellToken};
use abi::shm::Region;
use abi::time::Now;
use service::limits::Limits;
use service::{
    Boost, ConsumerRequest, FileError, FileSync, Input, LogLevel, Output, Peer, ProducerRequest,
    RegionFactory, Service, ServiceConfig,
};

/// Memory on the heap, as shared memory.
#[derive(Debug, Default)]
pub struct HeapRegions;

impl RegionFactory for HeapRegions {
    fn create(&self, len: usize) -> Result<Region, String> {
        Ok(Region::heap(len))
    }
}

/// A reply as its caller gets it.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The call that it answers.
    pub call: CallId,
    /// The encoded response; none if the call was rejected.
    pub response: Option<Bytes>,
    /// Whether more follow.
    pub has_more: bool,
    /// Shared memory that came with it.
    pub region: Option<Region>,
}

/// A file that exists only here.
#[derive(Clone, Debug, Default)]
pub struct MemoryFile {
    /// Lengths of writes that were never answered, because the file is stuck.
    pub waiting: Vec<usize>,
    /// The written bytes.
    pub bytes: Vec<u8>,
    /// How often it was made durable.
    pub syncs: usize,
    /// How often the service asked to begin writing it to disk.
    pub syncs_begun: usize,
    /// Whether the service closed it.
    pub closed: bool,
    /// A write failed: it was closed then.
    pub failed: bool,
    /// Its path, if the service had it created.
    pub path: String,
}

/// The service and its surroundings.
#[derive(Debug)]
pub struct Shell {
    /// The service.
    pub service: Service,
    /// Boot time, ns; all clocks agree.
    pub now_ns: u64,
    /// All files there ever were.
    pub files: BTreeMap<FileId, MemoryFile>,
    /// The lines of the log.
    pub log: Vec<(LogLevel, String)>,
    /// The user that caused each of them, where that is not the peer of an input.
    pub log_uids: Vec<Option<u32>>,
    /// Clients whose connection the service closed.
    pub disconnected: Vec<ClientId>,
    /// Producers that have left while the service needed their memory.
    pub counted: Vec<ClientId>,
    /// Memory that the service released: the connection of its producer, and its bytes.
    pub released: Vec<(ClientId, usize)>,
    /// The priority of the service.
    pub boost: Option<Boost>,
    /// If set, the priority cannot be changed, for this reason.
    pub priority_error: Option<String>,
    /// If set, files are created only by [`create_files`](Self::create_files).
    pub files_wait: bool,
    /// Files to create: the token of each, and its path.
    waiting_files: Vec<(ShellToken, String)>,
    /// If set, no file can be created, for this reason.
    pub create_error: Option<String>,
    /// If set, no file can be written, for this reason.
    pub write_error: Option<String>,
    /// If set, the file operation of this number (from 0) fails, and only that one.
    pub fail_file_op: Option<usize>,
    /// Files whose writes never complete, as those of a pipe without a reader.
    pub stuck: BTreeSet<FileId>,
    /// File operations so far.
    pub file_ops: usize,
    /// If set, work that waits is done only when time advances or by [`turn`](Self::turn).
    pub work_waits: bool,
    /// If set, the service is not told that replies have been sent.
    pub consumers_are_slow: bool,
    inboxes: BTreeMap<ClientId, VecDeque<Reply>>,
    undrained: Vec<ClientId>,
    last_client: u64,
    last_call: u64,
    last_file: u64,
    /// Turns and effects that may still come.
    steps_left: usize,
}

/// Turns and effects of one test: far more than any needs. A service that never comes to rest reaches it.
const STEPS_MAX: usize = 1_000_000;

/// The start of all tests: a time from which subtracting is safe, aligned to all usual periods.
pub const START_NS: u64 = 1_000_000 * 1_000_000_000;

impl Default for Shell {
    fn default() -> Self {
        Self::new()
    }
}

impl Shell {
    /// A fresh service of user 0 with fixed identity, so that its packets are the same in all runs.
    #[must_use]
    pub fn new() -> Self {
        Self::with(|_| {})
    }

    /// The same with trace buffers that are compared with reference buffers.
    #[must_use]
    pub fn with_checked_buffers() -> Self {
        Self::with_checked_buffers_and(Limits::DEFAULT)
    }

    /// The same with limits of what is kept.
    #[must_use]
    pub fn with_checked_buffers_and(limits: Limits) -> Self {
        let emitted = EmittedPackets::default();
        Self::with(|config| {
            config.regions = Arc::new(CheckedRegions::new(HeapRegions, &emitted));
            config.limits = limits;
        })
    }

    /// The configuration of the service of [`new`](Self::new).
    #[must_use]
    pub fn config() -> ServiceConfig {
        let mut config = ServiceConfig::new(Arc::new(HeapRegions));
        config.pid = 1;
        config.version = "test service".into();
        config.host.sysname = "Linux".into();
        config.host.machine_name = "testhost".into();
        config.seed = 7;
        config.check_seed = 11;
        config
    }

    /// A service whose configuration is [`config`](Self::config) after `change`.
    #[must_use]
    pub fn with(change: impl FnOnce(&mut ServiceConfig)) -> Self {
        let mut config = Self::config();
        change(&mut config);
        Self {
            service: Service::new(config),
            now_ns: START_NS,
            files: BTreeMap::new(),
            log: Vec::new(),
            log_uids: Vec::new(),
            disconnected: Vec::new(),
            counted: Vec::new(),
            released: Vec::new(),
            boost: None,
            priority_error: None,
            files_wait: false,
            waiting_files: Vec::new(),
            create_error: None,
            write_error: None,
            fail_file_op: None,
            stuck: BTreeSet::new(),
            file_ops: 0,
            work_waits: false,
            consumers_are_slow: false,
            inboxes: BTreeMap::new(),
            undrained: Vec::new(),
            last_client: 0,
            last_call: 0,
            last_file: 0,
            steps_left: STEPS_MAX,
        }
    }

    /// The instant.
    #[must_use]
    pub fn now(&self) -> Now {
        Now::at_ns(self.now_ns)
    }

    /// Gives the service one event and carries out its effects.
    pub fn input(&mut self, input: Input) {
        self.service.handle(&self.now(), input);
        self.carry_out();
        while !self.work_waits && self.service.has_work() {
            self.turn();
        }
    }

    /// Advances the time; every timer fires at its time.
    pub fn advance_ms(&mut self, ms: u64) {
        let end = self.now_ns + ms * 1_000_000;
        while let Some(at) = self.service.poll_timeout().filter(|at| at.as_ns() <= end) {
            self.now_ns = self.now_ns.max(at.as_ns());
            self.turn();
        }
        self.now_ns = end;
    }

    /// Advances the time to the next timer, if there is one, and fires it.
    pub fn advance_to_next(&mut self) {
        if let Some(at) = self.service.poll_timeout() {
            self.now_ns = self.now_ns.max(at.as_ns());
        }
        self.turn();
    }

    /// Fires the timers that are due.
    pub fn turn(&mut self) {
        self.count_step();
        self.service.handle_timeout(&self.now());
        self.carry_out();
    }

    fn count_step(&mut self) {
        self.steps_left = self.steps_left.checked_sub(1).expect("the service comes to rest");
    }

    /// Ends all sessions, as a daemon does when it stops.
    pub fn end_sessions(&mut self, reason: &str) {
        self.service.end_sessions(&self.now(), reason);
        self.carry_out();
    }

    /// Opens a connection to the producer socket.
    pub fn connect_producer(&mut self, peer: Peer, in_process: bool) -> ClientId {
        let client = self.next_client();
        self.input(Input::ProducerConnected { client, peer, in_process });
        client
    }

    /// Opens a connection to the consumer socket.
    pub fn connect_consumer(&mut self, peer: Peer) -> ClientId {
        let client = self.next_client();
        self.input(Input::ConsumerConnected { client, peer });
        client
    }

    /// Sends a request of a producer that wants a reply.
    pub fn call_producer(
        &mut self,
        client: ClientId,
        request: ProducerRequest,
        region: Option<Region>,
    ) -> CallId {
        let call = self.next_call();
        self.input(Input::ProducerRequest { client, call: Some(call), request, region });
        call
    }

    /// Sends a request of a consumer that wants a reply.
    pub fn call_consumer(
        &mut self,
        client: ClientId,
        request: ConsumerRequest,
        file: Option<FileId>,
    ) -> CallId {
        let call = self.next_call();
        self.input(Input::ConsumerRequest { client, call: Some(call), request, file });
        call
    }

    /// An open file, as a consumer would pass it.
    pub fn open_file(&mut self) -> FileId {
        self.last_file += 1;
        let id = FileId::new(self.last_file);
        self.files.insert(id, MemoryFile::default());
        id
    }

    /// All replies a client has not taken yet.
    pub fn take_replies(&mut self, client: ClientId) -> Vec<Reply> {
        self.inboxes.remove(&client).map(Vec::from).unwrap_or_default()
    }

    /// Takes the replies to one call and leaves the others.
    pub fn take_replies_to(&mut self, client: ClientId, call: CallId) -> Vec<Reply> {
        let Some(inbox) = self.inboxes.get_mut(&client) else { return Vec::new() };
        let (taken, left): (Vec<_>, Vec<_>) =
            std::mem::take(inbox).into_iter().partition(|r| r.call == call);
        *inbox = left.into();
        taken
    }

    /// Tells the service that the replies of all consumers have been sent.
    pub fn drain_consumers(&mut self) {
        for client in std::mem::take(&mut self.undrained) {
            self.input(Input::Drained { client });
        }
    }

    /// Opens a connection; `input` makes the event from its number.
    pub(super) fn connect(&mut self, input: impl FnOnce(ClientId) -> Input) -> ClientId {
        let client = self.next_client();
        self.input(input(client));
        client
    }

    /// Tells the service that all replies to a client have been sent.
    pub(super) fn drained(&mut self, client: ClientId) {
        self.undrained.retain(|waiting| *waiting != client);
        self.input(Input::Drained { client });
    }

    /// As [`advance_ms`](Self::advance_ms), but after `ticks` timers it jumps to the end.
    pub(super) fn advance_ms_within(&mut self, ms: u64, ticks: usize) {
        let end = self.now_ns + ms * 1_000_000;
        for _ in 0..ticks {
            let due = self.service.poll_timeout().filter(|at| at.as_ns() <= end);
            let Some(at) = due else { break };
            self.now_ns = self.now_ns.max(at.as_ns());
            self.service.handle_timeout(&self.now());
            self.carry_out();
        }
        self.now_ns = end;
        self.service.handle_timeout(&self.now());
        self.carry_out();
    }

    fn next_client(&mut self) -> ClientId {
        self.last_client += 1;
        ClientId::new(self.last_client)
    }

    fn next_call(&mut self) -> CallId {
        self.last_call += 1;
        CallId::new(self.last_call)
    }

    fn carry_out(&mut self) {
        while let Some(output) = self.service.poll_output() {
            self.count_step();
            match output {
                Output::Reply { client, call, result, has_more, region, .. } => {
                    let reply = Reply { call, response: result.ok(), has_more, region };
                    self.inboxes.entry(client).or_default().push_back(reply);
                    if !self.undrained.contains(&client) {
                        self.undrained.push(client);
                    }
                }
                Output::Disconnect { client } => {
                    self.inboxes.remove(&client);
                    self.disconnected.push(client);
                }
                Output::CreateFile { token, path, .. } if self.files_wait => {
                    self.waiting_files.push((token, path));
                }
                Output::CreateFile { token, path, .. } => self.create_file(token, path),
                Output::WriteFile { file, data, .. } if self.stuck.contains(&file) => {
                    self.files.entry(file).or_default().waiting.push(data.len());
                }
                Output::CopyFile { to: file, .. } if self.stuck.contains(&file) => {}
                Output::WriteFile { file, data, sync, close } => {
                    let result = self.write(file, &data, sync, close);
                    self.service.handle(&self.now(), Input::FileWritten { file, result });
                }
                Output::CopyFile { from, to } => {
                    let bytes = self.files.get(&from).map(|f| f.bytes.clone()).unwrap_or_default();
                    let result = self.write(to, &bytes, FileSync::No, false);
                    self.service.handle(&self.now(), Input::FileWritten { file: to, result });
                }
                Output::AbandonFile { file } => {
                    self.stuck.remove(&file);
                    self.files.entry(file).or_default().closed = true;
                }
                Output::SetPriority { token, boost } => {
                    let result = match &self.priority_error {
                        Some(text) => Err(text.clone()),
                        None => {
                            self.boost = boost;
                            Ok(())
                        }
                    };
                    self.service.handle(&self.now(), Input::PrioritySet { token, result });
                }
                Output::CountMemory { client, .. } => self.counted.push(client),
                Output::ReleaseMemory { client, region, .. } => {
                    self.released.push((client, region.len()));
                }
                Output::Log { level, text, uid } => {
                    self.log.push((level, text));
                    self.log_uids.push(uid);
                }
            }
        }
        if !self.consumers_are_slow && !self.undrained.is_empty() {
            self.drain_consumers();
        }
    }

    /// Creates the files that wait.
    pub fn create_files(&mut self) {
        for (token, path) in std::mem::take(&mut self.waiting_files) {
            self.create_file(token, path);
        }
        self.carry_out();
    }

    fn create_file(&mut self, token: ShellToken, path: String) {
        let error = self.create_error.clone().or_else(|| self.file_op());
        let result = match &error {
            Some(text) => Err(FileError { text: text.clone() }),
            None => Ok(self.open_file()),
        };
        if let Ok(file) = result {
            self.files.entry(file).or_default().path = path;
        }
        self.service.handle(&self.now(), Input::FileCreated { token, result });
    }

    /// Counts a file operation; the error if it is the one to fail.
    fn file_op(&mut self) -> Option<String> {
        let number = self.file_ops;
        self.file_ops += 1;
        (self.fail_file_op == Some(number)).then(|| format!("operation {number} fails"))
    }

    fn write(
        &mut self,
        id: FileId,
        data: &[u8],
        sync: FileSync,
        close: bool,
    ) -> Result<(), FileError> {
        let failed = self.files.get(&id).is_some_and(|file| file.failed);
        let closed = failed.then(|| "the file is closed".into());
        let error = closed.or_else(|| self.write_error.clone()).or_else(|| self.file_op());
        let file = self.files.entry(id).or_default();
        assert!(file.failed || !file.closed, "written after it was closed");
        if let Some(text) = &error {
            (file.closed, file.failed) = (true, true);
            return Err(FileError { text: text.clone() });
        }
        file.bytes.extend_from_slice(data);
        file.syncs += usize::from(sync == FileSync::Wait);
        file.syncs_begun += usize::from(sync == FileSync::Begin);
        file.closed = close;
        Ok(())
    }
}
