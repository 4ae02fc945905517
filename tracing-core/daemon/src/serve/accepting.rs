//! The sockets that a daemon listens on: which connection is accepted next, and when none is.
//!
//! ```text
//!   accepts ──┬─ no descriptor is left ────────────────────────────┬─> paused: the poller does not look at the socket
//!      ^      └─ too many refused connections of it do not close ──┘     │
//!      └─────────────────────── ACCEPT_PAUSE_NS later ───────────────────┘
//! ```
//!
//! Connections wait in the kernel meanwhile. Each socket pauses for itself: users that may connect to that of
//! producers only do not stop that of consumers.

use os::poll::{Interest, Poller};
use os::socket::{Listener, Stream};

use super::port_kind::PortKind;
use abi::error::OsError;
use abi::sync::Arc;

/// How long accepting pauses.
pub(super) const ACCEPT_PAUSE_NS: u64 = 100_000_000;

/// Who may connect to a socket file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketPermissions {
    /// The id of the group that gets the file.
    pub group: u32,
    /// Its mode, such as `0o660`.
    pub mode: u32,
}

/// See the [module](self).
pub(super) struct Accepting {
    poller: Arc<Poller>,
    listening: Vec<Listening>,
    /// The key of the first listener in the poller. The others follow.
    first_key: u64,
}

struct Listening {
    port: PortKind,
    listener: Listener,
    /// Boot time until which no connection is accepted, ns.
    paused_until: Option<u64>,
}

/// What there is to accept.
pub(super) enum Accepted {
    Connection(PortKind, Stream),
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
        let listening = |port| move |listener| Listening { port, listener, paused_until: None };
        let producers = producers.into_iter().map(listening(PortKind::Producer));
        let consumers = consumers.into_iter().map(listening(PortKind::Consumer));
        let listening: Vec<_> = producers.chain(consumers).collect();
        for (one, key) in listening.iter().zip(first_key..) {
            poller.add(&one.listener, key, Interest::READ)?;
        }
        Ok(Self { poller: Arc::clone(poller), listening, first_key })
    }

    pub(super) fn set_permissions(
        &self,
        producers: SocketPermissions,
        consumers: SocketPermissions,
    ) -> Result<(), OsError> {
        for one in &self.listening {
            let SocketPermissions { group, mode } = match one.port {
                PortKind::Producer => producers,
                PortKind::Consumer => consumers,
            };
            one.listener.set_permissions(group, mode)?;
        }
        Ok(())
    }

    /// How many sockets there are.
    pub(super) fn count(&self) -> usize {
        self.listening.len()
    }

    fn get(&mut self, key: u64) -> Option<&mut Listening> {
        let index = usize::try_from(key.checked_sub(self.first_key)?).ok()?;
        self.listening.get_mut(index)
    }

    /// The next connection of the listener with this key. Not to be called in its pause.
    pub(super) fn next(&mut self, key: u64, boot_ns: u64) -> Accepted {
        let Some(Listening { port, listener, .. }) = self.get(key) else {
            return Accepted::Nothing;
        };
        match listener.accept() {
            Ok(Some(stream)) => Accepted::Connection(*port, stream),
            Ok(None) => Accepted::Nothing,
            Err(error) => {
                self.pause(key, boot_ns);
                Accepted::Failed(error)
            }
        }
    }

    /// Accepts nothing from the listener with this key for a while.
    pub(super) fn pause(&mut self, key: u64, boot_ns: u64) {
        let poller = Arc::clone(&self.poller);
        let Some(one) = self.get(key).filter(|one| one.paused_until.is_none()) else { return };
        // It fails only for a socket that the poller does not have.
        let _ = poller.remove(&one.listener);
        one.paused_until = Some(boot_ns.saturating_add(ACCEPT_PAUSE_NS));
    }

    /// Whether nothing is accepted from the listener with this key.
    pub(super) fn is_paused(&mut self, key: u64) -> bool {
        self.get(key).is_some_and(|one| one.paused_until.is_some())
    }

    /// When the next pause ends, boot time in ns. `None`: connections are accepted.
    pub(super) fn due_ns(&self) -> Option<u64> {
        self.listening.iter().filter_map(|one| one.paused_until).min()
    }

    #[cfg(test)]
    pub(super) fn listener(&mut self, key: u64) -> &Listener {
        &self.get(key).unwrap().listener
    }

    /// Ends the pauses whose time has passed.
    ///
    /// # Errors
    /// When the kernel has no memory, or the user no room, for one more watch. The pause lasts longer then.
    pub(super) fn resume_if_due(&mut self, boot_ns: u64) -> Result<(), OsError> {
        let mut result = Ok(());
        for (one, key) in self.listening.iter_mut().zip(self.first_key..) {
            if one.paused_until.is_none_or(|until| until > boot_ns) {
                continue;
            }
            let added = self.poller.add(&one.listener, key, Interest::READ);
            let until = boot_ns.saturating_add(ACCEPT_PAUSE_NS);
            one.paused_until = added.is_err().then_some(until);
            result = result.and(added);
        }
        result
    }
}
