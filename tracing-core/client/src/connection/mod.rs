//! The connection of a client to either port of a service, over a socket or a transport of the program.
//!
//! The crate `daemon` has another kind, to a service inside this process. All kinds behave alike, and one set of
//! tests runs over both: calls go out in order, replies come back one at a time, and at the end every call that
//! still waits is rejected before [`Received::Disconnected`] is told.

mod socket;

#[cfg(test)]
mod tests;

use core::fmt;
use std::os::fd::OwnedFd;
use std::time::Duration;

pub use self::socket::{Awake, SocketConnection, SocketTransport, Transport, TransportConnection};
use abi::error::OsError;
use abi::ids::CallId;
use abi::ipc::{Port, Rejected};
use abi::shm::Region;
use abi::sync::{Arc, AtomicBool, Ordering};
use os::shm::MapError;
use os::socket::OpenSocket;

/// An attachment of a request.
#[derive(Debug, Default)]
pub enum Attachment {
    /// Nothing.
    #[default]
    None,
    /// Shared memory that the producer made. Memory that cannot be passed (of the heap, over a socket) is left out;
    /// the service then makes memory.
    Region(Region),
    /// An open file, for the service to write to.
    File(OwnedFd),
}

/// The result of a [`Connection::receive`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Received {
    /// A reply, which may be one of a stream.
    Reply {
        /// The call it answers.
        call: CallId,
        /// The encoded response message.
        result: Result<Vec<u8>, Rejected>,
        /// The stream has more replies.
        has_more: bool,
    },
    /// [`ConnectionWaker::wake`] was called.
    Woken,
    /// The timeout has passed.
    TimedOut,
    /// The service has closed the connection, and no more replies will come.
    Disconnected,
}

/// Why a request was not sent.
///
/// `Debug` prints the text of `Display`: it is what a `main` that returns the error shows.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConnectionError {
    /// The service has closed the connection.
    Disconnected,
    /// A system call failed.
    Os(OsError),
}

impl fmt::Debug for ConnectionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for ConnectionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disconnected => f.write_str("the connection to the service is closed"),
            Self::Os(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ConnectionError {}

impl From<OsError> for ConnectionError {
    fn from(error: OsError) -> Self {
        Self::Os(error)
    }
}

/// Whether a service took no connection, because its queue of them was full all the time.
#[must_use]
pub fn is_queue_full(error: &OsError) -> bool {
    std::io::Error::from_raw_os_error(error.errno).kind() == std::io::ErrorKind::WouldBlock
}

/// Prints what a user can do then.
#[derive(Clone, Copy, Debug)]
pub struct FullQueue;

impl fmt::Display for FullQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the service takes no connection, and others wait for it, too: see whether it is stopped, or start it \
             again"
        )
    }
}

/// Writes why no connection to `address` was made, and what a user can look at.
pub(crate) fn write_connect_failure(
    f: &mut fmt::Formatter<'_>,
    address: &str,
    error: &OsError,
) -> fmt::Result {
    if is_queue_full(error) {
        return write!(f, "cannot connect to {address}: {FullQueue}");
    }
    if let Some(subject) = error.subject.as_deref().filter(|subject| *subject != address) {
        // It says more than the address: whose service was refused, and how to trust it.
        return write!(f, "cannot connect to {subject}: {}", error.reason());
    }
    write!(f, "cannot connect to {address}: {}", error.reason())?;
    match std::io::Error::from_raw_os_error(error.errno).kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::ConnectionRefused => {
            f.write_str(" (is traced running?)")
        }
        std::io::ErrorKind::PermissionDenied => {
            f.write_str(" (may this user write to the socket?)")
        }
        _ => Ok(()),
    }
}

/// A connection to port `P` of a service.
pub trait Connection<P: Port>: Send {
    /// Calls a method. With `want_reply`, the answer comes through [`receive`](Self::receive). A service rejects a
    /// method that it does not have.
    ///
    /// Blocks only while more than a mebibyte of requests waits to be sent.
    ///
    /// # Errors
    /// When the service is gone.
    fn send(
        &mut self,
        request: P::Request,
        want_reply: bool,
        attachment: Attachment,
    ) -> Result<CallId, ConnectionError>;

    /// Waits for the next reply or event, up to `timeout` (`None`: for ever). Zero does not wait.
    fn receive(&mut self, timeout: Option<Duration>) -> Received;

    /// The mapped memory that came with a reply. Each is returned once; only the newest is kept.
    fn take_region(&mut self) -> Option<Result<Region, MapError>>;

    /// Interrupts [`receive`](Self::receive) from another thread.
    fn waker(&self) -> ConnectionWaker;

    /// Whether the service has closed the connection. Waiting calls are rejected then, and this tells such a rejection
    /// from a refusal by the service.
    fn is_closed(&self) -> bool;

    /// The socket below, which a forked child must leave to its parent; none if there is none.
    fn socket(&self) -> Option<OpenSocket> {
        None
    }
}

/// Makes [`receive`](Connection::receive) return [`Received::Woken`]: the call that waits now, or else the next one.
/// Several wake-ups may become one.
#[derive(Clone)]
pub struct ConnectionWaker(Arc<WakerInner>);

struct WakerInner {
    raised: AtomicBool,
    wake: Box<dyn Fn() + Send + Sync>,
}

impl ConnectionWaker {
    /// A waker for another kind of connection. `wake` must end its sleep, from any thread; it is called once
    /// before each [`take`](Self::take).
    pub fn from_fn(wake: impl Fn() + Send + Sync + 'static) -> Self {
        Self(Arc::new(WakerInner { raised: AtomicBool::new(false), wake: Box::new(wake) }))
    }

    /// Wakes the connection. Never blocks; not for signal handlers.
    pub fn wake(&self) {
        if self.0.raised.swap(true, Ordering::AcqRel) {
            return;
        }
        (self.0.wake)();
    }

    /// Whether it was woken since [`take`](Self::take) was last called.
    #[must_use]
    pub fn is_raised(&self) -> bool {
        self.0.raised.load(Ordering::Relaxed)
    }

    /// Whether it was woken since the last call: for the connection, which then returns [`Received::Woken`].
    pub fn take(&self) -> bool {
        self.0.raised.load(Ordering::Relaxed) && self.0.raised.swap(false, Ordering::AcqRel)
    }
}

impl fmt::Debug for ConnectionWaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let raised = self.0.raised.load(Ordering::Relaxed);
        f.debug_struct("ConnectionWaker").field("raised", &raised).finish_non_exhaustive()
    }
}
