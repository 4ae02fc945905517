//! The connection over a socket, or over a transport of the program.

use std::io::IoSlice;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use super::{Attachment, Connection, ConnectionError, ConnectionWaker, Received};
use crate::limits::CLIENT_QUEUE_BYTES_MAX;
use abi::error::OsError;
use abi::ids::CallId;
use abi::ipc::{Client, ClientEvent, Port};
use abi::shm::Region;
use os::clock::Deadline;
use os::poll::{self, Interest, Wake};
use os::shm::{self, MapError};
use os::socket::{self, Address, OpenSocket, Stream};

/// Bytes asked from the kernel at a time: about the size of the largest frame.
const READ_BYTES: usize = 128 * 1024;

/// A connection that ends is read so often at most: the other side may go on sending.
const LAST_READS_MAX: usize = 16;

/// Carries the bytes of a connection, and descriptors if it can: a socket, or a transport of the program.
///
/// Only [`wait`](Self::wait) blocks.
pub trait Transport: Send {
    /// Sends as many bytes as fit, `fd` with the first byte; `Ok(0)`: nothing fits now. A transport
    /// that carries no descriptors drops it, and says so to the service (`by_value` of the service's `Peer`).
    ///
    /// # Errors
    /// When the connection is closed, or it cannot send for another reason. The caller then [closes](Self::close) it.
    fn send(&mut self, bytes: &[IoSlice<'_>], fd: Option<BorrowedFd<'_>>)
    -> Result<usize, OsError>;

    /// Receives the bytes that wait, at most `buf.len()`.
    ///
    /// # Errors
    /// When the connection broke.
    fn receive(&mut self, buf: &mut [u8]) -> Result<socket::Received, OsError>;

    /// Sleeps until bytes can be received, there is room to send (if `write`), the function of
    /// [`waker`](Self::waker) is called, or `timeout` has passed (`None`: never).
    fn wait(&mut self, write: bool, timeout: Option<Duration>) -> Awake;

    /// A function that ends [`wait`](Self::wait) from any thread: the wait that runs, or else the next one.
    fn waker(&self) -> Box<dyn Fn() + Send + Sync>;

    /// Closes the connection: nothing more is sent or received.
    fn close(&mut self);

    /// The socket below, which a forked child must leave to its parent; none if there is none.
    fn socket(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

/// Why a wait ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Awake {
    /// A receive returns bytes, the end or an error at once.
    pub readable: bool,
    /// There is room to send.
    pub writable: bool,
}

/// A connection to port `P` over a transport: the client state machine, its bytes, and its sleep.
#[derive(Debug)]
pub struct TransportConnection<P: Port, T> {
    transport: T,
    client: Client<P, OwnedFd>,
    waker: ConnectionWaker,
    buf: Box<[u8]>,
}

/// A connection over a socket.
pub type SocketConnection<P> = TransportConnection<P, SocketTransport>;

/// A connected socket, and the descriptor that wakes a thread that waits for it.
#[derive(Debug)]
pub struct SocketTransport {
    stream: Stream,
    wake: Wake,
}

impl<P: Port> SocketConnection<P> {
    /// Connects once, without waiting for an answer of the service, nor for room in its queue of connections
    /// (`EAGAIN`).
    ///
    /// # Errors
    /// When no service listens at `address`, or this process may not connect.
    pub fn connect(address: &Address) -> Result<Self, OsError> {
        Self::from_stream(Stream::connect(address)?)
    }

    /// As [`connect`](Self::connect), but waits up to `timeout` for room in the queue of the service.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub fn connect_within(address: &Address, timeout: Duration) -> Result<Self, OsError> {
        Self::from_stream(Stream::connect_within(address, timeout)?)
    }

    /// Uses a connected socket.
    ///
    /// # Errors
    /// When the system has no descriptor left.
    pub fn from_stream(stream: Stream) -> Result<Self, OsError> {
        Ok(Self::new(SocketTransport { stream, wake: Wake::new()? }))
    }
}

impl Transport for SocketTransport {
    fn send(
        &mut self,
        bytes: &[IoSlice<'_>],
        fd: Option<BorrowedFd<'_>>,
    ) -> Result<usize, OsError> {
        self.stream.send(bytes, fd)
    }

    fn receive(&mut self, buf: &mut [u8]) -> Result<socket::Received, OsError> {
        self.stream.receive(buf)
    }

    fn wait(&mut self, write: bool, timeout: Option<Duration>) -> Awake {
        let interest = Interest { read: true, write };
        match poll::wait_for(self.stream.as_fd(), interest, &self.wake, timeout) {
            Ok(why) => {
                if why.woken {
                    self.wake.clear();
                }
                Awake { readable: why.readable, writable: why.writable }
            }
            // If this failed, the next read reports it.
            Err(_) => Awake { readable: true, writable: false },
        }
    }

    fn waker(&self) -> Box<dyn Fn() + Send + Sync> {
        let wake = self.wake.clone();
        Box::new(move || wake.wake())
    }

    fn close(&mut self) {
        self.stream.shutdown();
    }

    fn socket(&self) -> Option<BorrowedFd<'_>> {
        Some(self.stream.as_fd())
    }
}

impl<P: Port, T: Transport> TransportConnection<P, T> {
    /// A connection over `transport`, which must lead to port `P` of a service.
    pub fn new(transport: T) -> Self {
        Self {
            waker: ConnectionWaker::from_fn(transport.waker()),
            transport,
            client: Client::new(),
            buf: vec![0; READ_BYTES].into_boxed_slice(),
        }
    }

    /// Sends as much as the transport takes. The state of the client shows a broken connection.
    fn write(&mut self) {
        while !self.client.is_closed() && !self.client.outbox().is_empty() {
            let mut parts = Vec::new();
            let outbox = self.client.outbox();
            let fd = outbox.next(&mut parts).map(AsFd::as_fd);
            match self.transport.send(&parts, fd) {
                Ok(0) => return,
                Ok(sent) => self.client.outbox().advance(sent),
                // Not every error ends the connection, but without what was to be sent it is of no use.
                Err(_) => return self.give_up(),
            }
        }
    }

    /// Ends the connection, once the replies are read that have come.
    fn give_up(&mut self) {
        self.client.outbox().clear();
        for _ in 0..LAST_READS_MAX {
            let Ok(socket::Received::Bytes(count, fd)) = self.transport.receive(&mut self.buf)
            else {
                break;
            };
            let bytes = self.buf.get(..count).unwrap_or(&self.buf);
            if self.client.receive(bytes, fd).is_err() {
                break;
            }
        }
        self.client.close();
        self.transport.close();
    }

    /// Reads once.
    fn read(&mut self) {
        let open = match self.transport.receive(&mut self.buf) {
            Ok(socket::Received::Bytes(count, fd)) => {
                let bytes = self.buf.get(..count).unwrap_or(&self.buf);
                self.client.receive(bytes, fd).is_ok()
            }
            Ok(socket::Received::Nothing) => true,
            Ok(socket::Received::End | socket::Received::LostDescriptors) | Err(_) => false,
        };
        if !open {
            self.client.close();
            self.transport.close();
        }
    }

    /// Sleeps until bytes can be read or written, or another thread wakes this one.
    fn sleep(&mut self, timeout: Option<Duration>) {
        let write = !self.client.outbox().is_empty();
        let awake = self.transport.wait(write, timeout);
        if awake.readable {
            self.read();
        }
        if awake.writable {
            self.write();
        }
    }
}

impl<P: Port, T: Transport> Connection<P> for TransportConnection<P, T> {
    fn send(
        &mut self,
        request: P::Request,
        want_reply: bool,
        attachment: Attachment,
    ) -> Result<CallId, ConnectionError> {
        let fd = match attachment {
            Attachment::None => None,
            Attachment::File(fd) => Some(fd),
            Attachment::Region(region) => match region.fd() {
                Some(fd) => Some(fd.try_clone_to_owned().map_err(|error| {
                    OsError::new("fcntl(F_DUPFD_CLOEXEC)", error.raw_os_error().unwrap_or(0))
                })?),
                None => None,
            },
        };
        let call = self
            .client
            .invoke(&request, want_reply, fd)
            .map_err(|_closed| ConnectionError::Disconnected)?;
        self.write();
        while self.client.outbox().len() > CLIENT_QUEUE_BYTES_MAX {
            // Replies are read meanwhile, because a service that waits for this client to read would never take more.
            self.sleep(None);
        }
        Ok(call)
    }

    fn receive(&mut self, timeout: Option<Duration>) -> Received {
        let deadline = Deadline::after(timeout);
        loop {
            if self.waker.take() {
                return Received::Woken;
            }
            match self.client.poll_event() {
                Some(ClientEvent::Bound) => continue,
                Some(ClientEvent::Reply { call, result, has_more }) => {
                    return Received::Reply { call, result, has_more };
                }
                Some(ClientEvent::Disconnected) => return Received::Disconnected,
                None if self.client.is_closed() => return Received::Disconnected,
                None => {}
            }
            self.write();
            let left = deadline.left();
            self.sleep(left);
            if left.is_some_and(|left| left.is_zero()) {
                // The read above may have brought replies; these come first.
                match self.client.poll_event() {
                    Some(ClientEvent::Reply { call, result, has_more }) => {
                        return Received::Reply { call, result, has_more };
                    }
                    Some(ClientEvent::Disconnected) => return Received::Disconnected,
                    Some(ClientEvent::Bound) => {}
                    None => return Received::TimedOut,
                }
            }
        }
    }

    fn take_region(&mut self) -> Option<Result<Region, MapError>> {
        self.client.take_fd().map(shm::adopt)
    }

    fn waker(&self) -> ConnectionWaker {
        self.waker.clone()
    }

    fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    fn socket(&self) -> Option<OpenSocket> {
        self.transport.socket().and_then(OpenSocket::of)
    }
}
