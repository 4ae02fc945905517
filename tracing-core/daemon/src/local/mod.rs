//! The connection inside this process. Requests go into the inbox of the service as values; replies go into the
//! mailbox of the client. Only response messages are encoded, and no descriptor is needed.

use core::fmt;
use core::marker::PhantomData;
use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::Weak;
use std::time::Duration;

use bytes::Bytes;

use abi::ids::{CallId, ClientId};
use abi::ipc::port::{ConsumerPort, ProducerPort};
use abi::ipc::{Port, Rejected};
use abi::map::SortedSet;
use abi::shm::Region;
use abi::sync::{Arc, AtomicU64, Condvar, Mutex, MutexGuard, Ordering, lock};
use client::connection::{Attachment, Connection, ConnectionError, ConnectionWaker, Received};
use os::clock::Deadline;
use os::poll::Wake;
use os::shm::MapError;

/// An event that a client of this process sends to the service.
#[derive(Debug)]
pub(crate) enum LocalEvent<R> {
    /// A client connected; its replies go to the mailbox.
    Connected(Arc<Mailbox>),
    /// A request.
    Request {
        call: Option<CallId>,
        /// Boxed: a config is large, and most other events are a few words.
        request: Box<R>,
        region: Option<Region>,
        file: Option<OwnedFd>,
    },
    /// The client has taken all replies.
    Drained,
    /// The client disconnected.
    Disconnected,
}

/// An event of either port. One queue for both ports keeps the order of events: a consumer that reads after a
/// producer has committed finds the committed data.
#[derive(Debug)]
pub(crate) enum AnyLocalEvent {
    Producer(LocalEvent<<ProducerPort as Port>::Request>),
    Consumer(LocalEvent<<ConsumerPort as Port>::Request>),
}

/// A port that clients of this process can connect to.
pub(crate) trait LocalPort: Port {
    fn any(event: LocalEvent<Self::Request>) -> AnyLocalEvent;
}

impl LocalPort for ProducerPort {
    fn any(event: LocalEvent<Self::Request>) -> AnyLocalEvent {
        AnyLocalEvent::Producer(event)
    }
}

impl LocalPort for ConsumerPort {
    fn any(event: LocalEvent<Self::Request>) -> AnyLocalEvent {
        AnyLocalEvent::Consumer(event)
    }
}

/// The queue of events that wait for the thread of the service.
#[derive(Debug)]
pub(crate) struct Inbox {
    state: Mutex<InboxState>,
    /// Wakes the thread of the service.
    wake: Wake,
    /// The last client id given out, also to connections of other processes.
    last_client: AtomicU64,
}

#[derive(Debug)]
struct InboxState {
    events: VecDeque<(ClientId, AnyLocalEvent)>,
    closed: bool,
    /// The service was asked to end.
    stopped: bool,
}

impl Inbox {
    pub(crate) fn new(wake: Wake, last_client: u64) -> Self {
        let state = InboxState { events: VecDeque::new(), closed: false, stopped: false };
        Self { state: Mutex::new(state), wake, last_client: AtomicU64::new(last_client) }
    }

    /// An id for a new connection.
    pub(crate) fn next_client(&self) -> ClientId {
        ClientId::new(self.last_client.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Takes all events that wait.
    pub(crate) fn take(&self) -> VecDeque<(ClientId, AnyLocalEvent)> {
        std::mem::take(&mut lock(&self.state).events)
    }

    /// Asks the service to end.
    pub(crate) fn stop(&self) {
        lock(&self.state).stopped = true;
        self.wake.wake();
    }

    /// Whether the service was asked to end.
    pub(crate) fn is_stopped(&self) -> bool {
        lock(&self.state).stopped
    }

    /// The service ends. It takes no event any more, and clients that were connecting are disconnected.
    pub(crate) fn close(&self) {
        let mut state = lock(&self.state);
        state.closed = true;
        let events = std::mem::take(&mut state.events);
        drop(state);
        for (_, event) in events {
            if let AnyLocalEvent::Producer(LocalEvent::Connected(mailbox))
            | AnyLocalEvent::Consumer(LocalEvent::Connected(mailbox)) = event
            {
                mailbox.close();
            }
        }
    }

    fn push(&self, client: ClientId, event: AnyLocalEvent) -> bool {
        let mut state = lock(&self.state);
        if state.closed {
            return false;
        }
        let first = state.events.is_empty();
        state.events.push_back((client, event));
        drop(state);
        // Only the first event needs a wake-up, because the service takes all events at once.
        if first {
            self.wake.wake();
        }
        true
    }
}

/// A reply on its way to a client.
#[derive(Debug)]
pub(crate) struct LocalReply {
    pub(crate) call: CallId,
    pub(crate) result: Result<Bytes, Rejected>,
    pub(crate) has_more: bool,
    pub(crate) region: Option<Region>,
}

/// The queue of replies that wait for a client.
#[derive(Debug)]
pub(crate) struct Mailbox {
    state: Mutex<MailboxState>,
    condition: Arc<(Mutex<()>, Condvar)>,
}

#[derive(Debug, Default)]
struct MailboxState {
    replies: VecDeque<LocalReply>,
    /// The service has closed the connection.
    closed: bool,
}

impl Mailbox {
    fn new() -> Self {
        Self { state: Mutex::default(), condition: Arc::new((Mutex::new(()), Condvar::new())) }
    }

    /// Delivers a reply.
    pub(crate) fn deliver(&self, reply: LocalReply) {
        lock(&self.state).replies.push_back(reply);
        self.notify();
    }

    /// Closes the connection. The client can still take the replies that were delivered.
    pub(crate) fn close(&self) {
        lock(&self.state).closed = true;
        self.notify();
    }

    fn notify(&self) {
        drop(lock(&self.condition.0));
        self.condition.1.notify_all();
    }
}

/// A service without a thread, which runs only when it is called.
pub(crate) trait RunService: Send + Sync {
    /// Handles all events that wait. Returns the time until the next timer is due, if there is one.
    fn drive(&self) -> Option<Duration>;
}

/// The end of a connection that a client holds.
pub(crate) struct LocalConnection<P: LocalPort> {
    client: ClientId,
    inbox: Arc<Inbox>,
    mailbox: Arc<Mailbox>,
    waker: ConnectionWaker,
    last_call: u64,
    pending: SortedSet<CallId>,
    region: Option<Region>,
    /// Set for a service without a thread: a client that waits for a reply makes it run.
    driver: Option<Weak<dyn RunService>>,
    /// The client has taken replies since the service was last told that the mailbox is empty.
    drained: bool,
    port: PhantomData<fn() -> P>,
}

impl<P: LocalPort> LocalConnection<P> {
    /// Connects. If the service has ended, the connection is closed from the start.
    pub(crate) fn connect(inbox: &Arc<Inbox>) -> Self {
        Self::connect_driven(inbox, None)
    }

    /// Connects to a service that runs only when `driver` is called.
    pub(crate) fn connect_driven(inbox: &Arc<Inbox>, driver: Option<Weak<dyn RunService>>) -> Self {
        let client = inbox.next_client();
        let mailbox = Arc::new(Mailbox::new());
        if !inbox.push(client, P::any(LocalEvent::Connected(Arc::clone(&mailbox)))) {
            mailbox.close();
        }
        Self {
            client,
            inbox: Arc::clone(inbox),
            waker: waker(&mailbox),
            mailbox,
            last_call: 0,
            pending: SortedSet::new(),
            region: None,
            driver,
            drained: false,
            port: PhantomData,
        }
    }

    /// Makes a service without a thread run once.
    fn drive(&self) -> Option<Duration> {
        self.driver.as_ref()?.upgrade()?.drive()
    }

    /// The next reply to a call that waits, or the end of the connection.
    fn take(&mut self) -> Option<Received> {
        loop {
            let mut state = lock(&self.mailbox.state);
            let Some(reply) = state.replies.pop_front() else {
                if !state.closed {
                    return None;
                }
                drop(state);
                return Some(match self.pending.pop_first() {
                    Some(call) => Received::Reply { call, result: Err(Rejected), has_more: false },
                    None => Received::Disconnected,
                });
            };
            let empty = state.replies.is_empty();
            drop(state);
            self.drained |= empty;
            if reply.region.is_some() {
                self.region = reply.region;
            }
            let awaited = if reply.has_more && reply.result.is_ok() {
                self.pending.contains(&reply.call)
            } else {
                self.pending.remove(&reply.call)
            };
            if awaited {
                return Some(Received::Reply {
                    call: reply.call,
                    result: reply.result.map(Vec::from),
                    has_more: reply.has_more,
                });
            }
        }
    }

    /// Tells the service that the mailbox is empty. Called when the client does the next thing: only then it has
    /// handled the last reply.
    fn tell_drained(&mut self) {
        if std::mem::take(&mut self.drained) && lock(&self.mailbox.state).replies.is_empty() {
            self.inbox.push(self.client, P::any(LocalEvent::Drained));
        }
    }
}

impl<P: LocalPort> Connection<P> for LocalConnection<P> {
    fn send(
        &mut self,
        request: P::Request,
        want_reply: bool,
        attachment: Attachment,
    ) -> Result<CallId, ConnectionError> {
        self.tell_drained();
        self.last_call += 1;
        let call = CallId::new(self.last_call);
        let (region, file) = match attachment {
            Attachment::None => (None, None),
            Attachment::Region(region) => (Some(region), None),
            Attachment::File(file) => (None, Some(file)),
        };
        let event = LocalEvent::Request {
            call: want_reply.then_some(call),
            request: Box::new(request),
            region,
            file,
        };
        if want_reply {
            self.pending.insert(call);
        }
        if lock(&self.mailbox.state).closed || !self.inbox.push(self.client, P::any(event)) {
            self.pending.remove(&call);
            return Err(ConnectionError::Disconnected);
        }
        self.drive();
        Ok(call)
    }

    fn receive(&mut self, timeout: Option<Duration>) -> Received {
        let deadline = Deadline::after(timeout);
        loop {
            if self.waker.take() {
                return Received::Woken;
            }
            if let Some(received) = self.take() {
                return received;
            }
            self.tell_drained();
            let due = self.drive();
            let condition = Arc::clone(&self.mailbox.condition);
            let sleep = lock(&condition.0);
            // Each delivery takes this lock, so none is missed between this look and the sleep.
            let state = lock(&self.mailbox.state);
            if !state.replies.is_empty() || state.closed || self.waker.is_raised() {
                continue;
            }
            drop(state);
            let left = deadline.left();
            if left == Some(Duration::ZERO) {
                return Received::TimedOut;
            }
            match [left, due].into_iter().flatten().min() {
                None => drop(wait(&condition.1, sleep)),
                Some(time) => drop(condition.1.wait_timeout(sleep, time)),
            }
        }
    }

    fn take_region(&mut self) -> Option<Result<Region, MapError>> {
        self.region.take().map(Ok)
    }

    fn waker(&self) -> ConnectionWaker {
        self.waker.clone()
    }

    fn is_closed(&self) -> bool {
        lock(&self.mailbox.state).closed
    }
}

/// Ends the sleep of the client that waits for replies in `mailbox`. It takes the lock first, so that the client
/// cannot be between its look at the flag and its sleep.
fn waker(mailbox: &Mailbox) -> ConnectionWaker {
    let condition = Arc::clone(&mailbox.condition);
    ConnectionWaker::from_fn(move || {
        drop(lock(&condition.0));
        condition.1.notify_all();
    })
}

fn wait<'a>(condition: &Condvar, guard: MutexGuard<'a, ()>) -> MutexGuard<'a, ()> {
    condition.wait(guard).unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl<P: LocalPort> Drop for LocalConnection<P> {
    fn drop(&mut self) {
        self.tell_drained();
        self.inbox.push(self.client, P::any(LocalEvent::Disconnected));
        self.drive();
    }
}

impl<P: LocalPort> fmt::Debug for LocalConnection<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalConnection").field("client", &self.client).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
