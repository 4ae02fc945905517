//! Counts of connections and of their ends. The log alone would not do: it has only some of the faults of a peer
//! that makes many.

use core::fmt;

use protos::ServiceCounters;

use super::port_kind::Disconnect;
use abi::sync::{AtomicU64, Ordering};

/// Counts of the connections of a service so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerStats {
    /// Connections ever made, the open ones included.
    pub connections: u64,
    /// Connections that are open.
    pub connected: u64,
    /// Connections closed because their peer did not read what was sent to it, the connections of its user kept too
    /// much, or calls on their socket took long.
    pub cut_slow: u64,
    /// Connections closed because their peer broke the protocol: a frame too long, too many descriptors.
    pub cut_broken: u64,
    /// Connections closed because a descriptor of their user takes too long to close, or too many wait.
    pub cut_stuck: u64,
    /// Connections refused because their user, or all users, have too many.
    pub refused: u64,
    /// Descriptors of peers that took too long to close.
    pub stuck: u64,
    /// Faults of peers, those that closed a connection included.
    pub faults: u64,
    /// Turns of the loop that took longer than 100 ms.
    pub slow_turns: u64,
    /// Times that the loop woke up.
    pub wakes: u64,
    /// Descriptors that were ready, summed over all wake-ups. Divided by `wakes`: how many at a time.
    pub events: u64,
}

impl ServerStats {
    /// As an answer to a question about the service has them.
    pub(super) fn to_proto(self) -> ServiceCounters {
        ServiceCounters {
            connections: Some(self.connections),
            connected: Some(self.connected),
            refused: Some(self.refused),
            cut_slow: Some(self.cut_slow),
            cut_broken: Some(self.cut_broken),
            cut_stuck: Some(self.cut_stuck),
            faults: Some(self.faults),
            slow_turns: Some(self.slow_turns),
            ..Default::default()
        }
    }
}

impl fmt::Display for ServerStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} connections served, {} cut for not reading, {} for breaking the protocol",
            self.connections, self.cut_slow, self.cut_broken
        )?;
        match self.refused {
            0 => Ok(()),
            refused => write!(f, ", {refused} refused as too many"),
        }
    }
}

/// [`ServerStats`] as counters.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    connections: AtomicU64,
    ended: AtomicU64,
    cut_slow: AtomicU64,
    cut_broken: AtomicU64,
    cut_stuck: AtomicU64,
    refused: AtomicU64,
    stuck: AtomicU64,
    faults: AtomicU64,
    slow_turns: AtomicU64,
    wakes: AtomicU64,
    events: AtomicU64,
}

fn add(counter: &AtomicU64, more: u64) {
    counter.fetch_add(more, Ordering::Relaxed);
}

impl Counters {
    pub(super) fn count_connection(&self) {
        add(&self.connections, 1);
    }

    pub(super) fn count_disconnect(&self, reason: &Disconnect) {
        add(&self.ended, 1);
        match reason {
            Disconnect::PeerLeft => {}
            Disconnect::StuckDescriptor
            | Disconnect::UserDescriptors
            | Disconnect::AllDescriptors => add(&self.cut_stuck, 1),
            Disconnect::SlowReader | Disconnect::UserFull | Disconnect::SlowCalls => {
                add(&self.cut_slow, 1);
            }
            Disconnect::BadFrame(_) | Disconnect::LostDescriptors => add(&self.cut_broken, 1),
        }
    }

    pub(super) fn count_fault(&self) {
        add(&self.faults, 1);
    }

    #[cfg(feature = "host")]
    pub(super) fn count_refusal(&self) {
        add(&self.refused, 1);
    }

    #[cfg(feature = "host")]
    pub(super) fn count_slow_turn(&self) {
        add(&self.slow_turns, 1);
    }

    #[cfg(feature = "host")]
    pub(super) fn count_stuck(&self) {
        add(&self.stuck, 1);
    }

    pub(super) fn count_wake(&self, events: usize) {
        add(&self.wakes, 1);
        add(&self.events, events as u64);
    }

    pub(crate) fn read(&self) -> ServerStats {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let ended = read(&self.ended);
        let connections = read(&self.connections);
        ServerStats {
            connections,
            connected: connections.saturating_sub(ended),
            cut_slow: read(&self.cut_slow),
            cut_broken: read(&self.cut_broken),
            cut_stuck: read(&self.cut_stuck),
            refused: read(&self.refused),
            stuck: read(&self.stuck),
            faults: read(&self.faults),
            slow_turns: read(&self.slow_turns),
            wakes: read(&self.wakes),
            events: read(&self.events),
        }
    }
}
