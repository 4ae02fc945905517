//! A service behind a transport of the program: here two queues of bytes between two threads.
//!
//! One thread has the service and passes bytes on; the other has a producer and a consumer, which know only
//! a [`Transport`].
//!
//! `cargo run -p tracebox-core --example custom_transport`

use std::collections::VecDeque;
use std::error::Error;
use std::io::IoSlice;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use protos::{
    DataSourceConfig, DataSourceDescriptor, TraceConfig, TraceConfigBufferConfig,
    TraceConfigDataSource,
};
use tracing_core::abi::error::OsError;
use tracing_core::abi::ids::ClientId;
use tracing_core::client::connection::{Awake, Transport, TransportConnection};
use tracing_core::client::consumer::{Consumer, Waited};
use tracing_core::client::data_source::{Ack, DataSource, Instance};
use tracing_core::client::producer::{Producer, ProducerOptions};
use tracing_core::client::write::BufferExhaustedPolicy;
use tracing_core::daemon::embed::{EmbeddedService, PortKind};
use tracing_core::daemon::serve::{HeapRegions, service_config};
use tracing_core::os::socket::Received;
use tracing_core::service::Peer;

const SOURCE: &str = "com.example.custom";
const TIMEOUT: Duration = Duration::from_secs(30);

/// Both directions of all pipes, and a condition variable for both threads.
#[derive(Default)]
struct Wire {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    pipes: Vec<Pipe>,
    ended: bool,
}

#[derive(Default)]
struct Pipe {
    /// The port of a connection that the service has not accepted yet.
    port: Option<PortKind>,
    /// The connection, from then on until it ends.
    client: Option<ClientId>,
    to_service: VecDeque<u8>,
    to_client: VecDeque<u8>,
    closed: bool,
    woken: bool,
}

impl State {
    fn pipe_of(&mut self, client: ClientId) -> Option<&mut Pipe> {
        self.pipes.iter_mut().find(|pipe| pipe.client == Some(client))
    }
}

impl Wire {
    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        let result = act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
        result
    }
}

/// A client's end of one pipe.
struct PipeTransport {
    wire: Arc<Wire>,
    index: usize,
}

impl PipeTransport {
    fn connect(wire: &Arc<Wire>, port: PortKind) -> Self {
        let index = wire.with(|state| {
            state.pipes.push(Pipe { port: Some(port), ..Pipe::default() });
            state.pipes.len() - 1
        });
        Self { wire: wire.clone(), index }
    }
}

impl Transport for PipeTransport {
    fn send(
        &mut self,
        bytes: &[IoSlice<'_>],
        _no_descriptors: Option<BorrowedFd<'_>>,
    ) -> Result<usize, OsError> {
        self.wire.with(|state| {
            let pipe = &mut state.pipes[self.index];
            // A pipe of 64 KiB, so that it can be full.
            let free = (64 * 1024_usize).saturating_sub(pipe.to_service.len());
            let all = bytes.iter().flat_map(|part| part.iter().copied());
            let before = pipe.to_service.len();
            pipe.to_service.extend(all.take(free));
            Ok(pipe.to_service.len() - before)
        })
    }

    fn receive(&mut self, buf: &mut [u8]) -> Result<Received, OsError> {
        self.wire.with(|state| {
            let pipe = &mut state.pipes[self.index];
            let count = pipe.to_client.len().min(buf.len());
            for (slot, byte) in buf.iter_mut().zip(pipe.to_client.drain(..count)) {
                *slot = byte;
            }
            Ok(match count {
                0 if pipe.closed || state.ended => Received::End,
                0 => Received::Nothing,
                count => Received::Bytes(count, None),
            })
        })
    }

    fn wait(&mut self, write: bool, timeout: Option<Duration>) -> Awake {
        let mut state = self.wire.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let ended = state.ended;
            let pipe = &mut state.pipes[self.index];
            let readable = !pipe.to_client.is_empty() || pipe.closed || ended;
            let writable = write && pipe.to_service.len() < 64 * 1024;
            if readable || writable || std::mem::take(&mut pipe.woken) {
                return Awake { readable, writable };
            }
            let waited =
                self.wire.changed.wait_timeout(state, timeout.unwrap_or(TIMEOUT).min(TIMEOUT));
            let (locked, result) = waited.unwrap_or_else(PoisonError::into_inner);
            if result.timed_out() && timeout.is_some() {
                return Awake::default();
            }
            state = locked;
        }
    }

    fn waker(&self) -> Box<dyn Fn() + Send + Sync> {
        let (wire, index) = (self.wire.clone(), self.index);
        Box::new(move || wire.with(|state| state.pipes[index].woken = true))
    }

    fn close(&mut self) {
        self.wire.with(|state| state.pipes[self.index].closed = true);
    }
}

impl Drop for PipeTransport {
    fn drop(&mut self) {
        self.close();
    }
}

/// The service's end of one pipe.
impl Pipe {
    /// Accepts a new connection, and passes on what its client has sent.
    fn receive(&mut self, service: &EmbeddedService) {
        if let Some(port) = self.port.take() {
            // Only the transport knows the uid of a client. This transport carries no descriptors.
            let peer = Peer { uid: 1000, by_value: true, ..Peer::default() };
            self.client = Some(service.accept(port, Some(peer)));
        }
        let Some(client) = self.client else { return };
        let bytes: Vec<u8> = self.to_service.drain(..).collect();
        if !bytes.is_empty() && service.receive(client, &bytes, None).is_err() {
            self.end();
        } else if self.closed {
            service.disconnect(client);
            self.end();
        }
    }

    /// Takes the replies to its client.
    fn transmit(&mut self, service: &EmbeddedService, client: ClientId) {
        let sent = service.transmit(client, |parts, _| {
            parts.iter().for_each(|part| self.to_client.extend(part.iter()));
            Ok(parts.iter().map(|part| part.len()).sum())
        });
        if sent.is_err() {
            self.end();
        }
    }

    fn end(&mut self) {
        self.client = None;
        self.closed = true;
    }

    /// Whether there is nothing to pass on.
    fn is_quiet(&self) -> bool {
        let is_open = self.client.is_some();
        self.port.is_none() && !(is_open && (self.closed || !self.to_service.is_empty()))
    }
}

/// The service's thread: carries bytes until all connections are closed.
fn serve(wire: &Wire) -> Result<(), OsError> {
    let mut config = service_config("custom transport example")?;
    config.regions = Arc::new(HeapRegions);
    let service = EmbeddedService::new(config, Box::new(|_, line| eprintln!("{line}")))?;
    loop {
        wire.with(|state| state.pipes.iter_mut().for_each(|pipe| pipe.receive(&service)));
        service.poll();
        let ended = wire.with(|state| {
            while let Some(client) = service.poll_transmit() {
                if let Some(pipe) = state.pipe_of(client) {
                    pipe.transmit(&service, client);
                }
            }
            while let Some(client) = service.poll_closed() {
                if let Some(pipe) = state.pipe_of(client) {
                    pipe.end();
                }
            }
            state.ended
        });
        if ended {
            return Ok(());
        }
        let due = service.poll_timeout();
        let state = wire.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.pipes.iter().all(Pipe::is_quiet) {
            let wait =
                due.map_or(TIMEOUT, |_| Duration::from_millis(1)).min(Duration::from_millis(20));
            drop(wire.changed.wait_timeout(state, wait));
        }
    }
}

/// Writes a packet longer than any frame.
struct Big;

impl DataSource for Big {
    fn start(&mut self, instance: &Instance) {
        let mut writer = instance.trace_writer(BufferExhaustedPolicy::Stall);
        writer.new_packet().for_testing().str(&"x".repeat(300_000));
    }

    fn stop(&mut self, _: &Instance, _done: Ack) {}
}

/// Records one session through the pipes.
pub fn main() -> Result<(), Box<dyn Error>> {
    let wire = Arc::new(Wire::default());
    let carried = wire.clone();
    let thread = std::thread::spawn(move || serve(&carried));

    let connection = TransportConnection::new(PipeTransport::connect(&wire, PortKind::Producer));
    let producer = Producer::attach(Box::new(connection), ProducerOptions::new("example"))?;
    let descriptor = DataSourceDescriptor { name: Some(SOURCE.into()), ..Default::default() };
    producer.register(descriptor, Big)?;
    assert!(producer.sync(TIMEOUT), "the service answers");

    let connection = TransportConnection::new(PipeTransport::connect(&wire, PortKind::Consumer));
    let mut consumer = Consumer::with_connection(Box::new(connection));
    let source = DataSourceConfig { name: Some(SOURCE.into()), ..Default::default() };
    consumer.enable_tracing(
        &TraceConfig {
            buffers: vec![TraceConfigBufferConfig { size_kb: Some(1024), ..Default::default() }],
            data_sources: vec![TraceConfigDataSource {
                config: Some(source),
                ..Default::default()
            }],
            ..Default::default()
        },
        None,
    )?;
    consumer.flush(TIMEOUT)?;
    consumer.disable_tracing()?;
    while consumer.wait(Some(TIMEOUT))? != Waited::Ended {}
    let mut trace = Vec::new();
    let summary = consumer.read_into(&mut trace, TIMEOUT)?;
    assert!(trace.len() > 300_000, "the packet arrived");
    println!("{} packets in {} bytes", summary.packets, trace.len());

    drop((producer, consumer));
    wire.with(|state| state.ended = true);
    match thread.join() {
        Ok(result) => Ok(result?),
        Err(_) => Err("the service's thread panicked".into()),
    }
}
