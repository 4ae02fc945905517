//! The loop of the daemon: it sleeps, accepts ([`Accepting`]), reads, lets the [`Engine`] do a turn, and writes.

use core::fmt;
use std::os::fd::AsFd;
use std::time::Duration;

use super::accepting::{Accepted, Accepting};
use super::accounts::Counted;
use super::connections::{self, Connections};
use super::descriptors::Descriptors;
use super::engine::{Engine, FIRST_CLIENT};
use super::order;
use super::peer::{Link, PeerConnection};
use super::port_kind::{Disconnect, PortKind};
use super::remote::SocketLink;
use super::resources::Resources;
use super::slow_calls::CallMeter;
use super::unreceived::Unreceived;
use super::user::{ConnectionUser, PeerUser};
use super::watchdog::Watchdog;
use crate::limits::{ACCEPTS_PER_TURN, ADMITTED_WHEN_BEHIND, CONNECTIONS_PER_TURN, SERVE_NS};
use crate::system::closer::{Closer, CloserLimits, EndCloser, NoRoom, Origin, STUCK_NS};
use crate::system::signal::StopSignals;
use abi::error::OsError;
use abi::ids::ClientId;
use abi::ipc::PeerIdentity;
use abi::sync::Arc;
use os::clock;
use os::poll::{Alarm, Interest, Poller, Ready, wait_for};
use os::socket::{Listener, Stream};
use service::{Input, LogLevel};

/// Keys of the poller; connections have their [`ClientId`], which starts above these.
const KEY_WAKE: u64 = 0;
const KEY_SIGNALS: u64 = 1;
const KEY_ALARM: u64 = 2;
pub(super) const KEY_LISTENERS: u64 = 3;

/// The beginning of a turn that no time passes since: it is not over before it has served enough.
pub(super) const TIME_UNLIMITED: u64 = u64::MAX;

/// Bytes read from one connection in a turn.
const READ_BYTES: usize = 128 * 1024;

/// The loop, its sockets, and all that it waits for. The order of the fields is the order in which they are dropped.
pub(super) struct Daemon {
    /// Declared before the engine, whose log it writes to.
    _watchdog: Option<Watchdog>,
    pub(super) engine: Engine,
    pub(super) poller: Arc<Poller>,
    /// Declared behind the engine, because dropping that gives them connections to close.
    pub(super) unreceived: Unreceived,
    pub(super) closer: EndCloser,
    descriptors: Descriptors,
    call_meter: CallMeter,
    /// The last turn did not send all that was to be sent.
    sends_behind: bool,
    pub(super) connections: Connections,
    /// Wakes the loop when the next timer is due.
    alarm: Alarm,
    pub(super) accepting: Accepting,
    /// When a descriptor that is being closed counts as stuck, boot time in ns.
    stuck_due: Option<u64>,
    signals: Option<StopSignals>,
    /// The last turn did not serve all that was ready.
    is_behind: bool,
    buf: Box<[u8]>,
}

impl fmt::Debug for Daemon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Daemon").field("engine", &self.engine).finish_non_exhaustive()
    }
}

impl Daemon {
    /// A daemon that may use so many bytes of memory; 0 if that is not known.
    pub(super) fn new(
        producers: Vec<Listener>,
        consumers: Vec<Listener>,
        mut engine: Engine,
        memory_bytes: u64,
    ) -> Result<Self, OsError> {
        let poller = Arc::new(Poller::new()?);
        poller.add(&engine.wake, KEY_WAKE, Interest::READ)?;
        let accepting = Accepting::new(&poller, KEY_LISTENERS, producers, consumers)?;
        let alarm = Alarm::new()?;
        poller.add(&alarm, KEY_ALARM, Interest::READ)?;
        let call_meter = CallMeter::new();
        let (left, own) = (Resources::of_process(memory_bytes), engine.own);
        let lines = engine.logger.lines().cloned();
        let closer = EndCloser(Closer::start(CloserLimits::new(left.descriptors, own)));
        let connections = Connections::new(left, own);
        engine.files.limit(left);
        engine.counted =
            Some(Counted { connections: connections.clone(), closer: closer.0.clone() });
        Ok(Self {
            _watchdog: lines.map(|lines| Watchdog::start(&engine.watched_turn, lines)),
            engine,
            poller,
            unreceived: Unreceived::default(),
            closer,
            descriptors: Descriptors::new(left.descriptors),
            call_meter,
            sends_behind: false,
            connections,
            alarm,
            accepting,
            stuck_due: None,
            signals: None,
            is_behind: false,
            buf: vec![0; READ_BYTES].into_boxed_slice(),
        })
    }

    pub(super) fn stop_on(&mut self, signals: StopSignals) -> Result<(), OsError> {
        self.poller.add(&signals, KEY_SIGNALS, Interest::READ)?;
        self.signals = Some(signals);
        Ok(())
    }

    /// Runs until a signal or [`Inbox::stop`](crate::local::Inbox::stop).
    pub(super) fn run(&mut self) -> Result<(), OsError> {
        let mut ready = Vec::new();
        loop {
            ready.clear();
            let timeout = self.set_alarm()?;
            self.poller.wait(&mut ready, timeout)?;
            let now = clock::now();
            let began_ns = now.mono_ns;
            self.engine.begin_turn(now);
            self.descriptors.begin_turn(began_ns);
            self.call_meter.begin_turn(began_ns);
            self.engine.counters.count_wake(ready.len());
            self.serve(&mut ready, began_ns);
            self.resume_waiting();
            self.engine.run_turn(now.boot_ns);
            self.cut_stuck();
            self.unreceived.close_received(clock::boot_ns);
            self.resume_accepting();
            self.flush(None);
            if let Some(slow) = self.engine.watched_turn.end(clock::mono_ns()) {
                self.engine.counters.count_slow_turn();
                self.engine.log(slow.who, LogLevel::Info, &slow.line);
            }
            let told = ready.iter().any(|event| event.key == KEY_SIGNALS);
            let signalled = told && self.signals.as_mut().is_some_and(|s| s.take() > 0);
            if signalled || self.engine.inbox.is_stopped() {
                self.finish()?;
                self.engine.log_summary();
                return Ok(());
            }
        }
    }

    /// Ends sessions, completes their files and tells their consumers. A second signal ends the wait for files.
    fn finish(&mut self) -> Result<(), OsError> {
        let signals = &mut self.signals;
        let result = self.engine.finish_soon(|wake, left| {
            let fd = signals.as_ref().map_or(wake.as_fd(), AsFd::as_fd);
            wait_for(fd, Interest::READ, wake, left)?;
            Ok(signals.as_mut().is_some_and(|signals| signals.take() > 0))
        });
        self.flush(Some(TIME_UNLIMITED));
        result
    }

    /// Sets the alarm to when the next timer is due. Returns how long to wait at most: not at all if one is due now, as
    /// setting a timer of the kernel that fires at once costs more than many a turn. Nothing is done if the alarm is
    /// set to that time: it wakes the loop by itself.
    fn set_alarm(&mut self) -> Result<Option<Duration>, OsError> {
        let due_ns = self.due_ns();
        // As after most turns.
        if self.alarm.is_set_to(due_ns) {
            return Ok(None);
        }
        if due_ns.is_some_and(|due_ns| due_ns <= clock::boot_ns()) {
            return Ok(Some(Duration::ZERO));
        }
        self.alarm.set(due_ns)?;
        Ok(None)
    }

    /// When the next timer is due, boot time in ns.
    pub(super) fn due_ns(&self) -> Option<u64> {
        let stuck_due = match self.closer.0.pending() {
            0 => None,
            // What no thread had begun to close when the loop last looked has no time yet.
            _ => Some(self.stuck_due.unwrap_or_else(|| clock::boot_ns() + STUCK_NS)),
        };
        let dues = [
            self.engine.due_ns(),
            self.accepting.due_ns(),
            self.engine.fairness.due_ns(),
            stuck_due,
            self.unreceived.due_ns(),
        ];
        dues.into_iter().flatten().min()
    }

    /// Serves what is ready, in fair order, until the turn has served enough or took long enough. What was not served
    /// is ready in the next turn. `ready` keeps all of it.
    pub(super) fn serve(&mut self, ready: &mut Vec<Ready>, began_ns: u64) {
        if ready.len() <= order::FEW {
            self.is_behind = false;
            return ready.iter().for_each(|event| self.dispatch(*event));
        }
        let Engine { peers, fairness, .. } = &self.engine;
        fairness.sort_to_serve(ready, peers);
        let (mut served, count) = (0, ready.len());
        for (index, &event) in ready.iter().enumerate() {
            self.dispatch(event);
            served += usize::from(event.key >= FIRST_CLIENT);
            let took_ns = clock::mono_ns().saturating_sub(began_ns);
            if served >= CONNECTIONS_PER_TURN || served > 0 && took_ns > SERVE_NS {
                self.is_behind = index + 1 < count;
                return;
            }
        }
        self.is_behind = false;
    }

    fn dispatch(&mut self, event: Ready) {
        match event.key {
            KEY_WAKE => {
                self.engine.wake.clear();
            }
            KEY_SIGNALS => {}
            KEY_ALARM => self.alarm.clear(),
            key @ KEY_LISTENERS..FIRST_CLIENT => self.accept(key),
            key => {
                let client = ClientId::new(key);
                if self.hold_if_waiting(client) {
                    return;
                }
                if event.readable {
                    self.read(client);
                }
                if event.writable {
                    self.engine.dirty.insert(client);
                }
            }
        }
        self.engine.forget_begin();
    }

    // ------------------------------------------------------------ connections

    /// Accepts connections of the listener with this key.
    pub(super) fn accept(&mut self, key: u64) {
        let mut admitted = 0;
        for _ in 0..ACCEPTS_PER_TURN {
            let is_full = self.is_behind && admitted >= ADMITTED_WHEN_BEHIND;
            if is_full || self.accepting.is_paused(key) {
                return;
            }
            if self.closer.0.has_too_many_refused(key, self.accepting.count()) {
                let text =
                    "connections to a socket that were refused do not close: it accepts none";
                self.engine.log_fault(None, text);
                return self.accepting.pause(key, clock::boot_ns());
            }
            match self.accepting.next(key, clock::boot_ns()) {
                Accepted::Connection(port, stream) => {
                    admitted += usize::from(self.admit(key, port, stream));
                }
                Accepted::Nothing => return,
                Accepted::Failed(error) => {
                    self.engine.log_fault(None, &format!("cannot accept: {error}"));
                }
            }
        }
    }

    /// Accepts connections again where that has paused long enough.
    pub(super) fn resume_accepting(&mut self) {
        if let Err(error) = self.accepting.resume_if_due(clock::boot_ns()) {
            self.engine.log_fault(None, &format!("cannot accept, and tries again soon: {error}"));
        }
    }

    /// Keeps a connection, or refuses it: false.
    fn admit(&mut self, listener: u64, port: PortKind, stream: Stream) -> bool {
        let client = self.engine.next_client();
        let credentials = match stream.credentials() {
            Ok(credentials) => credentials,
            Err(error) => {
                // Of a user that is nobody.
                let origin = Origin { client, uid: u32::MAX };
                self.closer.0.refuse(origin, listener, stream);
                self.engine.log(None, LogLevel::Error, &format!("{error}"));
                return false;
            }
        };
        let known = stream.is_unix();
        let user = if known { PeerUser::Local(credentials.uid) } else { PeerUser::Remote };
        let about = Some(ConnectionUser { client, user });
        let origin = Origin { client, uid: credentials.uid };
        let closer = &self.closer.0;
        let count = connections::descriptors_of(port);
        let is_limited = self.connections.is_limited(user);
        let slot = match self.descriptors.admits(is_limited, count) {
            true => self.connections.admit(user, port),
            false => Err(self.connections.refuse(user, port)),
        };
        let slot = match slot {
            Ok(slot) => slot,
            Err(refused) => {
                let mut peer = self.engine.local_peer(credentials.uid, credentials.pid);
                if !known {
                    peer.machine_id = PeerIdentity::machine_id_of(&stream.peer_machine());
                }
                if !stream.has_no_descriptors() {
                    closer.refuse(origin, listener, stream);
                }
                self.engine.counters.count_refusal();
                self.engine.log_fault(about, &refused.to_string());
                if port == PortKind::Producer {
                    self.engine.handle_input_about(about, Input::ProducerRefused { client, peer });
                }
                return false;
            }
        };
        let (unreceived, poller) = (&self.unreceived, &self.poller);
        let link = SocketLink::new(stream, port, origin, slot, closer, unreceived, poller);
        if !closer.refuses(origin.uid) {
            link.take_descriptors(true);
        }
        let added = link.as_fd().map(|fd| self.poller.add(fd, client.get(), Interest::READ));
        if let Some(Err(error)) = added {
            self.engine.log(about, LogLevel::Error, &format!("{error}"));
            return false;
        }
        let who = known.then(|| self.engine.local_peer(credentials.uid, credentials.pid));
        self.engine.add_connection(client, port, Link::Socket(Box::new(link)), user, who);
        true
    }

    /// Cuts the connections whose descriptors do not close.
    fn cut_stuck(&mut self) {
        let closer = &self.closer.0;
        if closer.pending() == 0 {
            self.stuck_due = None;
            return;
        }
        let stuck = closer.poll(clock::boot_ns());
        self.stuck_due = stuck.due_ns;
        for origin in stuck.peers {
            self.engine.counters.count_stuck();
            self.engine.end_connection(origin.client, &Disconnect::StuckDescriptor);
        }
    }

    pub(super) fn read(&mut self, client: ClientId) {
        let Engine { peers, fairness, .. } = &mut self.engine;
        let Some(PeerConnection { link: Link::Socket(link), ended, user, served, .. }) =
            peers.get_mut(&client)
        else {
            return;
        };
        if ended.is_some() {
            // The poller would tell again and again that the peer has left, until its last requests are handled.
            return link.leave_poller();
        }
        *served = fairness.serve(*user);
        let capacity = self.closer.0.capacity(link.origin.uid);
        let is_limited = self.connections.is_limited(*user);
        let openable = self.descriptors.openable(is_limited, capacity.unwrap_or(0));
        let read = link.read(&mut self.buf, openable, &mut self.descriptors, &mut self.call_meter);
        if link.call_time.owes() {
            self.charge(client);
        }
        match read {
            Ok(()) => self.engine.process_events(client),
            Err(Disconnect::LostDescriptors) => {
                let reason = match capacity {
                    Ok(_) => Disconnect::LostDescriptors,
                    Err(NoRoom::Stuck) => Disconnect::StuckDescriptor,
                    Err(NoRoom::OfUser) => Disconnect::UserDescriptors,
                    Err(NoRoom::OfAll) => Disconnect::AllDescriptors,
                };
                self.engine.end_after_requests(client, reason);
            }
            Err(reason) => self.engine.end_after_requests(client, reason),
        }
    }

    /// Makes the user of a connection wait for what calls on its socket took. Root and the user of the daemon do not.
    pub(super) fn charge(&mut self, client: ClientId) {
        let Some(PeerConnection { link: Link::Socket(link), user, .. }) =
            self.engine.peers.get_mut(&client)
        else {
            return;
        };
        let owed_ns = link.call_time.take_owed();
        if owed_ns > 0 && self.connections.is_limited(*user) {
            self.engine.fairness.charge(*user, owed_ns, clock::boot_ns());
        }
    }

    /// Keeps a connection that is ready for later if its user waits: true. The poller does not look at it meanwhile.
    fn hold_if_waiting(&mut self, client: ClientId) -> bool {
        let Engine { peers, fairness, .. } = &mut self.engine;
        let Some(PeerConnection { link: Link::Socket(link), user, .. }) = peers.get_mut(&client)
        else {
            return false;
        };
        if !fairness.hold(*user, client) {
            return false;
        }
        link.leave_poller();
        true
    }

    /// Serves the connections of users that have waited long enough.
    pub(super) fn resume_waiting(&mut self) {
        if self.engine.fairness.due_ns().is_none() {
            return;
        }
        for client in self.engine.fairness.release(clock::boot_ns()) {
            let Some(PeerConnection { link: Link::Socket(link), .. }) =
                self.engine.peers.get_mut(&client)
            else {
                continue;
            };
            if !link.is_polled {
                let add = |fd| self.poller.add(fd, client.get(), link.interest);
                link.is_polled = link.as_fd().is_some_and(|fd| add(fd).is_ok());
                if !link.is_polled {
                    self.engine.end_after_requests(client, Disconnect::PeerLeft);
                    continue;
                }
            }
            // Its requests, and then what is to be sent.
            self.engine.fairness.serve_later(client);
        }
    }

    /// Sends queued replies until that took long since `began_ns`, at least to one connection. Without `began_ns`
    /// the time counts from now. The others come first in the next turn.
    pub(super) fn flush(&mut self, began_ns: Option<u64>) {
        // An empty queue makes the service fill it again. That is sent in the next turn, or one consumer would keep
        // the loop busy.
        let mut dirty = self.take_dirty().into_iter();
        let began_ns = match began_ns {
            Some(began_ns) => began_ns,
            None if dirty.len() > 1 => clock::mono_ns(),
            None => TIME_UNLIMITED,
        };
        while let Some(client) = dirty.next() {
            self.send(client);
            if dirty.len() > 0 && clock::mono_ns().saturating_sub(began_ns) > SERVE_NS {
                break;
            }
        }
        self.sends_behind = dirty.len() > 0;
        for client in dirty {
            self.engine.dirty.insert(client);
        }
        if !self.engine.dirty.is_empty() || self.engine.fairness.has_backlog() {
            self.engine.wake.wake();
        }
    }

    /// The connections with something to be sent. If some had to wait, users take turns.
    fn take_dirty(&mut self) -> Vec<ClientId> {
        let dirty = std::mem::take(&mut self.engine.dirty);
        if !self.sends_behind {
            return dirty.into_iter().collect();
        }
        let ready = |client: ClientId| Ready { key: client.get(), ..Ready::default() };
        let mut dirty: Vec<_> = dirty.into_iter().map(ready).collect();
        self.engine.fairness.sort_to_send(&mut dirty, &self.engine.peers);
        dirty.into_iter().map(|ready| ClientId::new(ready.key)).collect()
    }

    /// Sends the queued replies of a connection, and makes the poller wait for room if its socket is full.
    fn send(&mut self, client: ClientId) {
        let Engine { peers, service, fairness, .. } = &mut self.engine;
        let peer = peers.get_mut(&client);
        let Some(PeerConnection { link: Link::Socket(link), user, sent, ended, .. }) = peer else {
            return;
        };
        *sent = fairness.send(*user);
        let result = match fairness.must_wait(*user) {
            true => link.host.check_queue(),
            false => link.write(&mut self.call_meter, |memory| service.give_back(memory)),
        };
        let result = result.and_then(|()| link.account());
        // One that is cut already may still have requests to handle.
        let result = result.and_then(|()| match ended {
            None => link.check_calls(),
            Some(_) => Ok(()),
        });
        if link.call_time.owes() {
            self.charge(client);
        }
        match result {
            Ok(()) => self.after_send(client),
            Err(reason) => self.engine.end_after_requests(client, reason),
        }
    }

    /// Lets the poller wait for what the connection needs now, and the service queue more.
    fn after_send(&mut self, client: ClientId) {
        let Some(PeerConnection { link: Link::Socket(link), .. }) =
            self.engine.peers.get_mut(&client)
        else {
            return;
        };
        if link.host.has_events() && !link.host.is_paused() {
            self.engine.fairness.serve_later(client);
        }
        let drained = link.host.take_drained();
        let wanted = link.host.wanted();
        let changed = link.interest != wanted;
        link.interest = wanted;
        let modify = |fd| self.poller.modify(fd, client.get(), wanted);
        if changed && link.is_polled && link.as_fd().is_none_or(|fd| modify(fd).is_err()) {
            return self.engine.end_after_requests(client, Disconnect::PeerLeft);
        }
        if drained {
            self.engine.handle_input(Input::Drained { client });
        }
    }
}
