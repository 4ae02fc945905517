//! The connection over a socket: the client state machine, its bytes, and sleeping in between.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use super::{Attachment, Connection, ConnectionError, ConnectionWaker, Received, Sleeper};
use crate::error::OsError;
use crate::ids::CallId;
use crate::ipc::{Client, ClientEvent, Port};
use crate::limits::CLIENT_QUEUE_BYTES_MAX;
use crate::os::clock::Deadline;
use crate::os::poll::{self, Wake};
use crate::os::shm::{self, MapError};
use crate::os::socket::{self, Address, Stream};
use crate::shm::Region;

/// Bytes asked from the kernel at a time: about what one frame can have.
const READ_BYTES: usize = 128 * 1024;

/// A connection to port `P` over a socket.
#[derive(Debug)]
pub struct SocketConnection<P: Port> {
    stream: Stream,
    client: Client<P, OwnedFd>,
    waker: ConnectionWaker,
    wake: Wake,
    buf: Box<[u8]>,
}

impl<P: Port> SocketConnection<P> {
    /// Connects, once, without waiting for the service to say a word.
    ///
    /// # Errors
    /// When nobody listens at `address`, or we may not connect.
    pub fn connect(address: &Address) -> Result<Self, OsError> {
        Self::over(Stream::connect(address)?)
    }

    /// Uses a connected socket.
    ///
    /// # Errors
    /// When the system has no descriptor left.
    pub fn over(stream: Stream) -> Result<Self, OsError> {
        let wake = Wake::new()?;
        Ok(Self {
            stream,
            client: Client::new(),
            waker: ConnectionWaker::new(Sleeper::Poll(wake.clone())),
            wake,
            buf: vec![0; READ_BYTES].into_boxed_slice(),
        })
    }

    /// Sends what can be sent now. A broken connection shows in the client's state.
    fn write(&mut self) {
        while !self.client.is_closed() && !self.client.outbox().is_empty() {
            let mut parts = Vec::new();
            let outbox = self.client.outbox();
            let fd = outbox.next(&mut parts).map(AsFd::as_fd);
            match self.stream.send(&parts, fd) {
                Ok(0) => return,
                Ok(sent) => self.client.outbox().advance(sent),
                // What the service said before it went can still be read; reading finds the end.
                Err(_) => return self.client.outbox().clear(),
            }
        }
    }

    /// Reads what is there, at most once.
    fn read(&mut self) {
        let open = match self.stream.receive(&mut self.buf) {
            Ok(socket::Received::Bytes(count, fd)) => {
                let bytes = self.buf.get(..count).unwrap_or(&self.buf);
                self.client.receive(bytes, fd).is_ok()
            }
            Ok(socket::Received::Nothing) => true,
            Ok(socket::Received::End | socket::Received::TooManyDescriptors) | Err(_) => false,
        };
        if !open {
            self.client.close();
            self.stream.shutdown();
        }
    }

    /// Sleeps until something can be read, written, or somebody wakes us.
    fn sleep(&mut self, timeout: Option<Duration>) {
        let write = !self.client.outbox().is_empty();
        match poll::wait_for(self.stream.as_fd(), write, &self.wake, timeout) {
            Ok((readable, writable, woken)) => {
                if readable {
                    self.read();
                }
                if writable {
                    self.write();
                }
                if woken {
                    self.wake.clear();
                }
            }
            Err(_) => self.client.close(),
        }
    }
}

impl<P: Port> Connection<P> for SocketConnection<P> {
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
            // Reading goes on meanwhile: a service that waits for us to read would never take it.
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
                // One look was taken above even so: what it brought comes out first.
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
}
