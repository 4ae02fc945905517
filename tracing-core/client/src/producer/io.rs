//! The thread that serves the connection, and connects again when it is lost.

use std::time::{Duration, Instant};

use super::connection::{ConnectionEnd, Link, ProducerConnection, Stepped};
use super::event::SourceEvent;
use super::options::{ConnectionEvent, ProducerError};
use super::shared::Shared;
use crate::connection::SocketConnection;
use crate::write::Park;
use abi::error::OsError;
use abi::sync::{Arc, Condvar, Mutex, lock};
use os::socket::Address;

/// First pause before connecting again.
const RECONNECT_FIRST: Duration = Duration::from_millis(100);
/// Longest pause when no service listens. Upstream waits up to 30 s but watches the directory of the socket; one
/// attempt every two seconds costs less than that.
const RECONNECT_LAST: Duration = Duration::from_secs(2);
/// Longest pause when a service refuses the producer or soon closes the connection. A service that is locked down or
/// full should not have to refuse the same producer all the time.
const RECONNECT_REFUSED_LAST: Duration = Duration::from_secs(30);
/// Longest wait for room in the queue of a service. A client that does not wait has no place in the kernel's line, so
/// others that connect all the time would keep it out. The thread of the connection has nothing else to do, but it must
/// see soon that its producer is dropped.
const QUEUE_WAIT: Duration = Duration::from_millis(100);
/// A connection that lasted this long resets the pauses.
const GOOD_CONNECTION: Duration = Duration::from_secs(2);

/// Connects, and waits up to `timeout` for room in the queue of a service.
pub(super) fn connect(address: &Address, timeout: Duration) -> Result<Link, OsError> {
    Ok(Box::new(SocketConnection::connect_within(address, timeout)?))
}

/// The pause before the next attempt to connect: it grows until a connection lasts.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    absences: u32,
    losses: u32,
}

impl Backoff {
    /// The pause when no service listened.
    pub(super) fn pause_after_absence(&mut self) -> Duration {
        self.absences = self.absences.saturating_add(1);
        doubled(self.absences, RECONNECT_LAST)
    }

    /// The pause after a connection that lasted `lasted`, on which the service `accepted` the producer or not.
    pub(super) fn pause_after_loss(&mut self, accepted: bool, lasted: Duration) -> Duration {
        self.absences = 0;
        if accepted && lasted >= GOOD_CONNECTION {
            self.losses = 0;
        }
        self.losses = self.losses.saturating_add(1);
        doubled(self.losses, if accepted { RECONNECT_LAST } else { RECONNECT_REFUSED_LAST })
    }
}

fn doubled(times: u32, last: Duration) -> Duration {
    RECONNECT_FIRST.saturating_mul(1 << times.saturating_sub(1).min(16)).min(last)
}

/// Makes writers wait for memory in real time, because no event tells a producer that a chunk was freed.
#[derive(Default)]
pub(super) struct ParkThread {
    lock: Mutex<()>,
    never: Condvar,
}

impl Park for ParkThread {
    fn park(&self, time: Duration) {
        if time.is_zero() {
            std::thread::yield_now();
        } else {
            let _ = self.never.wait_timeout(lock(&self.lock), time);
        }
    }
}

pub(super) struct Io {
    shared: Arc<Shared>,
    again: Option<Address>,
}

impl Io {
    pub(super) fn new(shared: Arc<Shared>, again: Option<Address>) -> Self {
        Self { shared, again }
    }

    pub(super) fn run(self, first: Option<Link>) {
        let mut link = first.or_else(|| self.connect());
        let mut backoff = Backoff::default();
        loop {
            let mut pause = backoff.pause_after_absence();
            if let Some(link) = link.take() {
                let since = Instant::now();
                let (end, accepted) = self.serve(link);
                self.shared.send_event(SourceEvent::Disconnected);
                if end == ConnectionEnd::Finished {
                    break;
                }
                let closed =
                    if accepted { ConnectionEvent::Closed } else { ConnectionEvent::Refused };
                self.tell(&closed);
                pause = backoff.pause_after_loss(accepted, since.elapsed());
            }
            if self.again.is_none() || !self.pause(pause) {
                break;
            }
            link = self.connect();
        }
        let mut state = self.shared.lock();
        state.ended = true;
        // Dropping the senders ends the calls that wait for a sync.
        let controls = core::mem::take(&mut state.controls);
        drop(state);
        drop(controls);
        self.shared.changed.notify_all();
    }

    /// One attempt. A service whose queue stays full counts as absent.
    fn connect(&self) -> Option<Link> {
        let address = self.again.as_ref()?;
        match connect(address, QUEUE_WAIT) {
            Ok(link) => Some(link),
            Err(error) => {
                let error = ProducerError::Connect { address: address.to_string(), error };
                self.tell(&ConnectionEvent::Failed(error));
                None
            }
        }
    }

    fn tell(&self, event: &ConnectionEvent) {
        if let Some(hook) = &self.shared.options.on_connection {
            hook.call(event);
        }
    }

    /// Serves one connection. Returns why it ended, and whether the service accepted the producer.
    fn serve(&self, link: Link) -> (ConnectionEnd, bool) {
        let park = Arc::new(ParkThread::default());
        let mut connection = ProducerConnection::new(Arc::clone(&self.shared), link, park);
        let mut is_told = false;
        let end = if connection.begin() {
            loop {
                let stepped = connection.step(None);
                if !is_told && connection.is_accepted() {
                    is_told = true;
                    self.tell(&ConnectionEvent::Accepted);
                }
                if let Stepped::Ended(end) = stepped {
                    break end;
                }
            }
        } else {
            ConnectionEnd::Disconnected
        };
        connection.end();
        (end, connection.is_accepted())
    }

    /// Waits before the next attempt; false if the producer is being dropped.
    fn pause(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        let mut state = self.shared.lock();
        loop {
            if state.finishing {
                return false;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            let waited = self.shared.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(|poisoned| poisoned.into_inner()).0;
        }
    }
}
