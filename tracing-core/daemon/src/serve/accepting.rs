//! The sockets that a daemon listens on: which connection is accepted next, and when none is.
//!
//! ```text
//!   accepts ──┬─ no descriptor is left ───────────────────────┬─> paused: the poller does not look at the sockets
//!      ^      └─ too many refused connections do not close ───┘     │
//!      └─────────────────────── ACCEPT_PAUSE_NS later ──────────────┘
//! ```
//!
//! Connections wait in the kernel meanwhile.

use os::poll::Poller;
use os::socket::{Listener, Stream};

use super::side::Side;
use abi::error::OsError;
use abi::sync::Arc;

/// How long accepting pauses.
pub(super) const ACCEPT_PAUSE_NS: u64 = 100_000_000;

/// See the [module](self).
pub(super) struct Accepting {
    poller: Arc<Poller>,
    listeners: Vec<(Side, Listener)>,
    /// The key of the first listener in the poller. The others follow.
    first_key: u64,
    /// Boot time until which no connection is accepted, ns.
    paused_until: Option<u64>,
}

/// What there is to accept.
pub(super) enum Accepted {
    Connection(Side, Stream),
    /// No connection waits.
    Nothing,
    /// Accepting pauses from now on, most likely because no descriptor is left: to try again at once would fail again.
    Failed(OsError),
}

impl Accepting {
    /// Accepts connections of producers and of consumers, with keys of the poller from `first_key` on.
    pub(super) fn new(
        poller: &Arc<Poller>,
        first_key: u64,
        producers: Vec<Listener>,
        consumers: Vec<Listener>,
    ) -> Result<Self, OsError> {
        let producers = producers.into_iter().map(|listener| (Side::Producer, listener));
        let consumers = consumers.into_iter().map(|listener| (Side::Consumer, listener));
        let listeners = producers.chain(consumers).collect();
        let this = Self { poller: Arc::clone(poller), listeners, first_key, paused_until: None };
        this.set_polled(true)?;
        Ok(this)
    }

    pub(super) fn set_permissions(
        &self,
        producers: (u32, u32),
        consumers: (u32, u32),
    ) -> Result<(), OsError> {
        for (side, listener) in &self.listeners {
            let (group, mode) = match side {
                Side::Producer => producers,
                Side::Consumer => consumers,
            };
            listener.set_permissions(group, mode)?;
        }
        Ok(())
    }

    /// The next connection of the listener with this key. Not to be called in a pause.
    pub(super) fn next(&mut self, key: u64, boot_ns: u64) -> Result<Accepted, OsError> {
        let index = usize::try_from(key - self.first_key).unwrap_or(usize::MAX);
        let Some((side, listener)) = self.listeners.get(index) else {
            return Ok(Accepted::Nothing);
        };
        match listener.accept() {
            Ok(Some(stream)) => Ok(Accepted::Connection(*side, stream)),
            Ok(None) => Ok(Accepted::Nothing),
            Err(error) => {
                self.pause(boot_ns)?;
                Ok(Accepted::Failed(error))
            }
        }
    }

    /// Accepts nothing for a while.
    pub(super) fn pause(&mut self, boot_ns: u64) -> Result<(), OsError> {
        self.set_polled(false)?;
        self.paused_until = Some(boot_ns + ACCEPT_PAUSE_NS);
        Ok(())
    }

    /// When the pause ends, boot time in ns. `None`: connections are accepted.
    pub(super) fn due_ns(&self) -> Option<u64> {
        self.paused_until
    }

    /// Ends a pause whose time has passed.
    pub(super) fn resume_if_due(&mut self, boot_ns: u64) -> Result<(), OsError> {
        if self.paused_until.is_some_and(|until| until <= boot_ns) {
            self.set_polled(true)?;
            self.paused_until = None;
        }
        Ok(())
    }

    fn set_polled(&self, on: bool) -> Result<(), OsError> {
        for ((_, listener), key) in self.listeners.iter().zip(self.first_key..) {
            if on {
                self.poller.add(listener, key, true, false)?;
            } else {
                self.poller.remove(listener)?;
            }
        }
        Ok(())
    }
}
