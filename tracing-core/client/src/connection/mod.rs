//! A client's connection to a service, of either port, over a socket or a transport of the program's.
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

use bytes::Bytes;

pub use self::socket::{Awake, SocketConnection, SocketTransport, Transport, TransportConnection};
use abi::error::OsError;
use abi::ids::CallId;
use abi::ipc::{Port, Rejected};
use abi::shm::Region;
use abi::sync::{Arc, AtomicBool, Ordering};
use os::shm::MapError;

/// What can go along with a request.
#[derive(Debug, Default)]
pub enum Attachment {
    /// Nothing.
    #[default]
    None,
    /// The producer's own shared memory. Memory that cannot be passed on (of the heap, over a
    /// socket) is left out, which a service takes for none.
    Region(Region),
    /// An open file, for the service to write to.
    File(OwnedFd),
}

/// One thing that came from the service, or did not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    /// A reply, or one of a stream of them.
    Reply {
        /// The call it answers.
        call: CallId,
        /// The encoded response message.
        result: Result<Bytes, Rejected>,
        /// Another one will come.
        has_more: bool,
    },
    /// Somebody called [`ConnectionWaker::wake`].
    Woken,
    /// Nothing came in time.
    TimedOut,
    /// The service is gone, and nothing will come any more.
    Disconnected,
}

/// Why a request was not sent.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConnectionError {
    /// The service is gone.
    Disconnected,
    /// The system refused.
    Os(OsError),
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

/// A connection to port `P` of a service.
pub trait Connection<P: Port>: Send {
    /// Calls a method. The answer comes through [`receive`](Self::receive); without `want_reply`
    /// none does. A method that the service does not have is answered with a rejection.
    ///
    /// Blocks only while more than a mebibyte waits to be taken by the service.
    ///
    /// # Errors
    /// When the service is gone.
    fn send(
        &mut self,
        request: P::Request,
        want_reply: bool,
        attachment: Attachment,
    ) -> Result<CallId, ConnectionError>;

    /// Waits for the next thing, up to `timeout` (`None`: for ever). Zero looks without waiting.
    fn receive(&mut self, timeout: Option<Duration>) -> Received;

    /// The memory that came with the last reply that had any, mapped. Once for each.
    fn take_region(&mut self) -> Option<Result<Region, MapError>>;

    /// Interrupts [`receive`](Self::receive) from another thread.
    fn waker(&self) -> ConnectionWaker;

    /// Whether the service is gone. Calls that waited for it are answered with rejections first,
    /// and this tells those from a refusal.
    fn is_closed(&self) -> bool;
}

/// Makes a connection's [`receive`](Connection::receive) return [`Received::Woken`]: the one that
/// waits now, or else the next. Several wake-ups may become one.
#[derive(Clone)]
pub struct ConnectionWaker(Arc<WakerInner>);

struct WakerInner {
    raised: AtomicBool,
    wake: Box<dyn Fn() + Send + Sync>,
}

impl ConnectionWaker {
    /// A waker for a connection of one's own: `wake` ends its sleep, from any thread, and is called once
    /// until [`take`](Self::take) is.
    pub fn from_fn(wake: impl Fn() + Send + Sync + 'static) -> Self {
        Self(Arc::new(WakerInner { raised: AtomicBool::new(false), wake: Box::new(wake) }))
    }

    /// Wakes it. Never blocks; not for signal handlers.
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

    /// Whether it was woken since the last look: for the connection, which then returns
    /// [`Received::Woken`].
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
