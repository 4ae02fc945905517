//! The consumer: starts traces and reads them, one call at a time.
//!
//! ```text
//!   connect ─ enable_tracing ─ (start_tracing) ─ wait ─ read_into ─ drop, which ends the session
//!                                                 │
//!                    Ended, an Event, or Interrupted through the waker
//! ```
//!
//! A connection has at most one session. The answer to `EnableTracing` says that tracing ended or could not start; it
//! comes through [`Consumer::wait`]. All other calls return their answer.

mod error;
mod ongoing;
mod read;

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::time::Duration;

use protos::consumer_port::Request;
use protos::{
    AttachRequest, ChangeTraceConfigRequest, CloneSessionRequest, CloneSessionResponse,
    DetachRequest, DisableTracingRequest, EnableTracingRequest, EnableTracingResponse,
    FlushRequest, FreeBuffersRequest, GetTraceStatsRequest, GetTraceStatsResponse,
    ObservableEvents, ObservableEventsType, ObserveEventsRequest, ObserveEventsResponse,
    QueryCapabilitiesRequest, QueryCapabilitiesResponse, QueryServiceStateRequest,
    StartTracingRequest, TraceConfig, TraceStats, TracingServiceCapabilities, TracingServiceState,
};
use protozero::{Message, Reader, Value};

pub use self::error::ConsumerError;
use self::ongoing::{OngoingRead, Reply};
pub use self::read::{OpenRead, ReadError, ReadPacket, ReadSummary, ReplyReader, TraceFileWriter};
use super::connection::{Attachment, Connection, ConnectionWaker, Received, SocketConnection};
use crate::limits::{
    CALL_TIMEOUT_MS, CLONE_TIMEOUT_MS, CONNECT_TIMEOUT_MS, FLUSH_GRACE_MS, JOINED_BYTES_MAX,
};
use abi::flush_flags::FlushFlags;
use abi::ids::CallId;
use abi::ipc::port::ConsumerPort;
use abi::ipc::{Port, Rejected};
use abi::limits::{FLUSH_TIMEOUT_MS, IPC_ARGS_BYTES_MAX};
use abi::sync::Arc;
use os::clock::Deadline;
use os::socket::{self, Address, OpenSocket};

/// Why a [`Consumer::wait`] returned.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Waited {
    /// Tracing has ended: the trace can be read, or is in its file.
    Ended,
    /// An event that [`Consumer::observe_events`] asked for.
    Event(Box<ObservableEvents>),
    /// [`ConnectionWaker::wake`] was called.
    Interrupted,
    /// The timeout has passed.
    TimedOut,
}

/// A connection to the consumer port of a service.
pub struct Consumer {
    connection: Box<dyn Connection<ConsumerPort>>,
    /// The `EnableTracing` call, whose answer means that tracing ended.
    enabled: Option<CallId>,
    observing: Option<CallId>,
    ended: Option<Result<(), ConsumerError>>,
    events: VecDeque<ObservableEvents>,
    interrupted: bool,
    /// The read that goes on reply by reply.
    ongoing_read: Option<OngoingRead>,
}

impl std::fmt::Debug for Consumer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Consumer").field("enabled", &self.enabled).finish_non_exhaustive()
    }
}

/// The result of handling one received event.
enum Step {
    Reply(CallId, Reply),
    /// An event of the session, which was kept for [`Consumer::wait`], or a reply of a read that goes on.
    Other,
    TimedOut,
}

impl Consumer {
    /// Connects to the service at `address`. If its queue of connections is full, waits up to ten seconds for room.
    ///
    /// # Errors
    /// [`ConsumerError::Connect`] when no service listens there, or takes no connection, or this process may not
    /// connect.
    pub fn connect(address: &Address) -> Result<Self, ConsumerError> {
        let timeout = Duration::from_millis(CONNECT_TIMEOUT_MS);
        let connection = SocketConnection::<ConsumerPort>::connect_within(address, timeout)
            .map_err(|error| ConsumerError::Connect { address: address.clone(), error })?;
        Ok(Self::with_connection(Box::new(connection)))
    }

    /// Connects to the default address of the service of this machine; see [`socket::defaults`].
    ///
    /// # Errors
    /// As [`connect`](Self::connect), and when a variable of the environment is not an address.
    pub fn connect_default() -> Result<Self, ConsumerError> {
        Self::connect(&Address::parse(socket::defaults().consumer)?)
    }

    /// A consumer on a connection that exists.
    #[must_use]
    pub fn with_connection(connection: Box<dyn Connection<ConsumerPort>>) -> Self {
        Self {
            connection,
            enabled: None,
            observing: None,
            ended: None,
            events: VecDeque::new(),
            interrupted: false,
            ongoing_read: None,
        }
    }

    /// Makes [`wait`](Self::wait) return [`Waited::Interrupted`] from any thread: the call that waits now, or the next
    /// one.
    #[must_use]
    pub fn waker(&self) -> ConnectionWaker {
        self.connection.waker()
    }

    /// The socket of the connection, for a process that forks; none if the service is in this process.
    #[must_use]
    pub fn socket(&self) -> Option<OpenSocket> {
        self.connection.socket()
    }

    /// Asks for a session with `config`. With `write_into_file` and no `output_path`, the service writes into `file`,
    /// which must be open for reading and writing.
    ///
    /// Returns at once. [`wait`](Self::wait) reports a refusal by the service, and the end of tracing. Right after
    /// [`connect`](Self::connect) the request is sent with the next call that waits for the service, such as
    /// [`query_capabilities`](Self::query_capabilities) or `wait`: a program that waits for something else meanwhile
    /// makes one of these first.
    ///
    /// # Errors
    /// When the config does not fit into a request, or the service has closed the connection.
    pub fn enable_tracing(
        &mut self,
        config: &TraceConfig,
        file: Option<OwnedFd>,
    ) -> Result<(), ConsumerError> {
        let request = EnableTracingRequest {
            trace_config: Some(Arc::new(config.clone())),
            ..EnableTracingRequest::default()
        };
        self.enable(request, file)
    }

    fn enable(
        &mut self,
        request: EnableTracingRequest,
        file: Option<OwnedFd>,
    ) -> Result<(), ConsumerError> {
        check_len("EnableTracing", &request)?;
        let file = file.map_or(Attachment::None, Attachment::File);
        let call = self.connection.send(Request::EnableTracing(request), true, file)?;
        self.enabled = Some(call);
        self.ended = None;
        Ok(())
    }

    /// Starts a session whose config has `deferred_start`.
    ///
    /// # Errors
    /// When the service rejects the call, does not answer, or closes the connection.
    pub fn start_tracing(&mut self) -> Result<(), ConsumerError> {
        self.call(Request::StartTracing(StartTracingRequest::default())).map(drop)
    }

    /// Extends the producer filters of the data sources of the session to those of `config`; other fields of `config`
    /// are ignored. Producers that match now are started.
    ///
    /// # Errors
    /// [`ConsumerError::TooLong`] if the config does not fit into a request; also when the service rejects the call,
    /// does not answer, or closes the connection.
    pub fn change_trace_config(&mut self, config: &TraceConfig) -> Result<(), ConsumerError> {
        let request = ChangeTraceConfigRequest {
            trace_config: Some(Arc::new(config.clone())),
            ..ChangeTraceConfigRequest::default()
        };
        check_len("ChangeTraceConfig", &request)?;
        self.call(Request::ChangeTraceConfig(request)).map(drop)
    }

    /// Stops the session. Producers get time to commit their data; [`wait`](Self::wait) reports the end.
    ///
    /// # Errors
    /// When the service does not answer, or closes the connection.
    pub fn disable_tracing(&mut self) -> Result<(), ConsumerError> {
        self.call(Request::DisableTracing(DisableTracingRequest::default())).map(drop)
    }

    /// Destroys the session with its recorded data. Dropping the consumer does the same.
    ///
    /// # Errors
    /// When the service does not answer, or closes the connection.
    pub fn free_buffers(&mut self) -> Result<(), ConsumerError> {
        self.call(Request::FreeBuffers(FreeBuffersRequest::default())).map(drop)
    }

    /// Makes all producers commit their data. The service waits for them up to `timeout`; zero means the timeout of
    /// the config, or five seconds.
    ///
    /// # Errors
    /// [`ConsumerError::Rejected`] when some producer did not answer in time, or there is no session.
    pub fn flush(&mut self, timeout: Duration) -> Result<(), ConsumerError> {
        let timeout_ms = u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX);
        // Upstream never answers a flush without a session, so this must not wait for ever.
        let at_most_ms = u64::from(timeout_ms).max(FLUSH_TIMEOUT_MS).saturating_add(FLUSH_GRACE_MS);
        let request = FlushRequest {
            timeout_ms: Some(timeout_ms),
            flags: Some(FlushFlags::EXPLICIT_OF_TOOL.get()),
            ..FlushRequest::default()
        };
        self.call_within(Request::Flush(request), at_most_ms).map(drop)
    }

    /// Leaves the session running under `key`. A consumer of the same user can attach to it.
    ///
    /// # Errors
    /// When the key is taken or there is no session.
    pub fn detach(&mut self, key: &str) -> Result<(), ConsumerError> {
        let request = DetachRequest { key: Some(key.into()), ..DetachRequest::default() };
        self.call(Request::Detach(request)).map(drop)
    }

    /// Attaches to the session that was detached under `key`; [`wait`](Self::wait) reports its end.
    ///
    /// # Errors
    /// When this user has no such session.
    pub fn attach(&mut self, key: &str) -> Result<(), ConsumerError> {
        let request = AttachRequest { key: Some(key.into()), ..AttachRequest::default() };
        self.call(Request::Attach(request))?;
        let request = EnableTracingRequest {
            attach_notification_only: Some(true),
            ..EnableTracingRequest::default()
        };
        self.enable(request, None)
    }

    /// Clones a running session into this connection; read it with
    /// [`read_buffers`](Self::read_buffers). With a `file`, open for reading and writing, sessions that
    /// write into a file can be cloned, too: the service writes the copy into `file`, sets `was_write_into_file` of
    /// the response, and there is nothing to read.
    ///
    /// Takes as long as the flush of the producers, at most 30 s.
    ///
    /// # Errors
    /// [`ConsumerError::Service`] with the service's reason, [`ConsumerError::Interrupted`] when the
    /// [`waker`](Self::waker) was used meanwhile, [`ConsumerError::Rejected`] when the service is too old to clone.
    pub fn clone_session(
        &mut self,
        request: CloneSessionRequest,
        file: Option<OwnedFd>,
    ) -> Result<CloneSessionResponse, ConsumerError> {
        const METHOD: &str = "CloneSession";
        let file = file.map_or(Attachment::None, Attachment::File);
        let sent = self.connection.send(Request::CloneSession(request), true, file)?;
        let deadline = Deadline::after(Some(Duration::from_millis(CLONE_TIMEOUT_MS)));
        let reply = loop {
            if std::mem::take(&mut self.interrupted) {
                return Err(ConsumerError::Interrupted);
            }
            if let Some(reply) = self.receive_reply(sent, METHOD, deadline)? {
                break reply.into_bytes(METHOD)?;
            }
        };
        let response: CloneSessionResponse = decode(METHOD, &reply)?;
        match response.success {
            Some(true) => Ok(response),
            _ => Err(ConsumerError::Service(response.error.unwrap_or_default())),
        }
    }

    /// Asks for events of the session, which come through [`wait`](Self::wait). `kinds` replaces the kinds asked for
    /// before; an empty list asks for none.
    ///
    /// # Errors
    /// When the service has closed the connection.
    pub fn observe_events(&mut self, kinds: &[ObservableEventsType]) -> Result<(), ConsumerError> {
        let request = ObserveEventsRequest {
            events_to_observe: kinds.to_vec(),
            ..ObserveEventsRequest::default()
        };
        let request = Request::ObserveEvents(request);
        self.observing = Some(self.connection.send(request, true, Attachment::None)?);
        Ok(())
    }

    /// The state of the service: its producers, their data sources, and the sessions that this user may see.
    ///
    /// # Errors
    /// When the service does not answer, or closes the connection; [`ConsumerError::AnswerTooLong`] if the state has
    /// more than 64 MiB.
    pub fn query_service_state(
        &mut self,
        sessions_only: bool,
    ) -> Result<TracingServiceState, ConsumerError> {
        let request = QueryServiceStateRequest {
            sessions_only: Some(sessions_only),
            ..QueryServiceStateRequest::default()
        };
        // A long state comes in several replies, whose bytes together are one message.
        let mut state = Vec::new();
        let request = Request::QueryServiceState(request);
        self.stream(request, Duration::from_millis(CALL_TIMEOUT_MS), |reply| {
            join_state(&mut state, reply)
        })?;
        decode("QueryServiceState", &state)
    }

    /// The capabilities of the service. A service that is too old for this call has none of them.
    ///
    /// # Errors
    /// When the service does not answer, or closes the connection.
    pub fn query_capabilities(&mut self) -> Result<TracingServiceCapabilities, ConsumerError> {
        let request = QueryCapabilitiesRequest::default();
        match self.call(Request::QueryCapabilities(request)) {
            Ok(reply) => {
                let response: QueryCapabilitiesResponse = decode("QueryCapabilities", &reply)?;
                Ok(response.capabilities.unwrap_or_default())
            }
            Err(ConsumerError::Rejected(_)) => Ok(TracingServiceCapabilities::default()),
            Err(error) => Err(error),
        }
    }

    /// Counters of the session, for example of data that its buffers received and lost.
    ///
    /// # Errors
    /// [`ConsumerError::Rejected`] when there is no session.
    pub fn get_trace_stats(&mut self) -> Result<TraceStats, ConsumerError> {
        let reply = self.call(Request::GetTraceStats(GetTraceStatsRequest::default()))?;
        let response: GetTraceStatsResponse = decode("GetTraceStats", &reply)?;
        Ok(response.trace_stats.unwrap_or_default())
    }

    /// Waits until tracing ended or an event came, up to `timeout` (`None`: for ever).
    ///
    /// # Errors
    /// [`ConsumerError::Service`] when the service refused the session, or it ended with an error;
    /// [`ConsumerError::Disconnected`] when the service has closed the connection.
    pub fn wait(&mut self, timeout: Option<Duration>) -> Result<Waited, ConsumerError> {
        let deadline = Deadline::after(timeout);
        loop {
            if let Some(event) = self.events.pop_front() {
                return Ok(Waited::Event(Box::new(event)));
            }
            if let Some(ended) = self.ended.take() {
                return ended.map(|()| Waited::Ended);
            }
            if std::mem::take(&mut self.interrupted) {
                return Ok(Waited::Interrupted);
            }
            if matches!(self.step(deadline)?, Step::TimedOut) {
                return Ok(Waited::TimedOut);
            }
        }
    }

    /// Calls a method with one reply.
    fn call(&mut self, request: Request) -> Result<Vec<u8>, ConsumerError> {
        self.call_within(request, CALL_TIMEOUT_MS)
    }

    fn call_within(&mut self, request: Request, timeout_ms: u64) -> Result<Vec<u8>, ConsumerError> {
        let method = ConsumerPort::method_name(&request);
        let sent = self.connection.send(request, true, Attachment::None)?;
        let deadline = Deadline::after(Some(Duration::from_millis(timeout_ms)));
        self.await_reply(sent, method, deadline)?.into_bytes(method)
    }

    /// Calls a method with a stream of replies; `inactivity` is the longest pause between two.
    fn stream(
        &mut self,
        request: Request,
        inactivity: Duration,
        mut take: impl FnMut(&[u8]) -> Result<(), ConsumerError>,
    ) -> Result<(), ConsumerError> {
        let method = ConsumerPort::method_name(&request);
        let sent = self.connection.send(request, true, Attachment::None)?;
        let mut has_more = true;
        while has_more {
            let reply = self.await_reply(sent, method, Deadline::after(Some(inactivity)))?;
            has_more = reply.has_more;
            take(&reply.into_bytes(method)?)?;
        }
        Ok(())
    }

    /// Waits for the next reply to the call `sent` of `method`.
    fn await_reply(
        &mut self,
        sent: CallId,
        method: &'static str,
        deadline: Deadline,
    ) -> Result<Reply, ConsumerError> {
        loop {
            if let Some(reply) = self.receive_reply(sent, method, deadline)? {
                return Ok(reply);
            }
        }
    }

    /// Receives once from the connection; none if what came is no reply to the call `sent` of `method`.
    fn receive_reply(
        &mut self,
        sent: CallId,
        method: &'static str,
        deadline: Deadline,
    ) -> Result<Option<Reply>, ConsumerError> {
        match self.step(deadline)? {
            Step::Reply(call, reply) if call == sent => Ok(Some(reply)),
            Step::Reply(..) | Step::Other => Ok(None),
            Step::TimedOut => Err(ConsumerError::TimedOut(method)),
        }
    }

    /// Receives once from the connection. Keeps events of the session for [`wait`](Self::wait), and replies of a read
    /// for [`continue_read`](Self::continue_read).
    fn step(&mut self, deadline: Deadline) -> Result<Step, ConsumerError> {
        match self.connection.receive(deadline.left()) {
            Received::Reply { result: Err(Rejected), .. } if self.connection.is_closed() => {
                Err(ConsumerError::Disconnected)
            }
            Received::Reply { call, result, .. } if Some(call) == self.enabled => {
                self.enabled = None;
                self.ended = Some(ended(result));
                Ok(Step::Other)
            }
            Received::Reply { call, result, has_more } if Some(call) == self.observing => {
                if !has_more {
                    self.observing = None;
                }
                if let Ok(reply) = result {
                    let response: ObserveEventsResponse = decode("ObserveEvents", &reply)?;
                    self.events.extend(response.events);
                }
                Ok(Step::Other)
            }
            Received::Reply { call, result, has_more } => {
                let reply = Reply { result, has_more };
                match &mut self.ongoing_read {
                    Some(read) if read.is_of(call) => {
                        read.keep(reply);
                        Ok(Step::Other)
                    }
                    _ => Ok(Step::Reply(call, reply)),
                }
            }
            Received::Woken => {
                self.interrupted = true;
                Ok(Step::Other)
            }
            Received::TimedOut => Ok(Step::TimedOut),
            Received::Disconnected => Err(ConsumerError::Disconnected),
        }
    }
}

/// Whether the arguments of `method` fit into a request.
fn check_len(method: &'static str, request: &impl Message) -> Result<(), ConsumerError> {
    let bytes = request.encoded_len();
    if bytes > IPC_ARGS_BYTES_MAX {
        return Err(ConsumerError::TooLong { method, bytes });
    }
    Ok(())
}

/// The result in the answer to `EnableTracing`.
fn ended(result: Result<Vec<u8>, Rejected>) -> Result<(), ConsumerError> {
    let reply = result.map_err(|Rejected| ConsumerError::Rejected("EnableTracing"))?;
    let response: EnableTracingResponse = decode("EnableTracing", &reply)?;
    match response.error.filter(|error| !error.is_empty()) {
        Some(error) => Err(ConsumerError::Service(error)),
        None => Ok(()),
    }
}

/// Adds the parts of a state in `reply`, an encoded `QueryServiceStateResponse`.
fn join_state(state: &mut Vec<u8>, reply: &[u8]) -> Result<(), ConsumerError> {
    let mut reader = Reader::new(reply);
    while let Some(field) = reader.next_field()? {
        if let (1, Value::Len(part)) = (field.number, field.value) {
            if state.len().saturating_add(part.len()) > JOINED_BYTES_MAX {
                return Err(ConsumerError::AnswerTooLong("QueryServiceState"));
            }
            state.extend_from_slice(part);
        }
    }
    Ok(())
}

fn decode<M: Message>(method: &'static str, bytes: &[u8]) -> Result<M, ConsumerError> {
    M::decode_without_path(bytes)
        .map_err(|error| ConsumerError::Malformed { method, error: error.into() })
}
