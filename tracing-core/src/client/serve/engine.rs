//! The loop.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use super::Log;
use super::files::Files;
use super::peer::{Event, Link, Over, Peer, Side, SocketLink};
use crate::client::connection::{AnyLocalEvent, Inbox, LocalEvent};
use crate::error::OsError;
use crate::ids::ClientId;
use crate::ipc::{PeerIdentity, Rejected};
use crate::limits::ACCEPTS_PER_TURN;
use crate::os::poll::{Poller, Ready, Wake};
use crate::os::priority::{self, Scheduling};
use crate::os::signal::StopSignals;
use crate::os::socket::{Listener, Stream};
use crate::os::{clock, process, shm};
use crate::service::{self, Boost, Input, LogLevel, Output, Service, ServiceConfig};
use crate::sync::{Arc, AtomicU64, Ordering};

/// Keys of the poller; connections have their [`ClientId`], which starts above these.
const KEY_WAKE: u64 = 0;
const KEY_SIGNALS: u64 = 1;
const KEY_LISTENERS: u64 = 2;
const KEY_CLIENTS: u64 = 1 << 16;

/// Bytes read from one connection in a turn.
const READ_BYTES: usize = 128 * 1024;

/// Faults of peers after which the log has only some of them.
const FAULTS_LOGGED: u64 = 16;

/// How long accepting pauses when descriptors have run out.
const ACCEPT_PAUSE_NS: u64 = 100_000_000;

pub(super) struct Engine {
    service: Service,
    poller: Poller,
    wake: Wake,
    inbox: Arc<Inbox>,
    last_client: Arc<AtomicU64>,
    listeners: Vec<(Side, Listener)>,
    /// Boot time until which nobody is accepted.
    accept_paused_until: Option<u64>,
    signals: Option<StopSignals>,
    peers: BTreeMap<ClientId, Peer>,
    /// Who has new bytes in the queue.
    dirty: BTreeSet<ClientId>,
    /// Who said something that had to wait, and need not any more.
    backlog: BTreeSet<ClientId>,
    /// What happened while effects were carried out.
    follow_ups: VecDeque<Input>,
    files: Files,
    /// The nice value of this thread before it was boosted for the first time.
    usual_nice: Option<i32>,
    /// Trouble that peers made so far.
    faults: u64,
    log: Log,
    machine_name: String,
    buf: Box<[u8]>,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine")
            .field("listeners", &self.listeners)
            .field("peers", &self.peers.len())
            .finish_non_exhaustive()
    }
}

impl Engine {
    pub(super) fn new(
        producers: Vec<Listener>,
        consumers: Vec<Listener>,
        config: ServiceConfig,
        log: Log,
    ) -> Result<Self, OsError> {
        let poller = Poller::new()?;
        let wake = Wake::new()?;
        poller.add(&wake, KEY_WAKE, true, false)?;
        let producers = producers.into_iter().map(|listener| (Side::Producer, listener));
        let consumers = consumers.into_iter().map(|listener| (Side::Consumer, listener));
        let last_client = Arc::new(AtomicU64::new(KEY_CLIENTS));
        let mut this = Self {
            machine_name: config.host.machine_name.clone(),
            service: Service::new(config),
            poller,
            inbox: Arc::new(Inbox::new(wake.clone(), Arc::clone(&last_client))),
            last_client,
            listeners: producers.chain(consumers).collect(),
            accept_paused_until: None,
            signals: None,
            peers: BTreeMap::new(),
            dirty: BTreeSet::new(),
            backlog: BTreeSet::new(),
            follow_ups: VecDeque::new(),
            files: Files::new(wake.clone()),
            usual_nice: None,
            wake,
            faults: 0,
            log,
            buf: vec![0; READ_BYTES].into_boxed_slice(),
        };
        this.watch_listeners(true)?;
        Ok(this)
    }

    pub(super) fn inbox(&self) -> &Arc<Inbox> {
        &self.inbox
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

    pub(super) fn stop_on(&mut self, signals: StopSignals) -> Result<(), OsError> {
        self.poller.add(&signals, KEY_SIGNALS, true, false)?;
        self.signals = Some(signals);
        Ok(())
    }

    /// Runs until a signal or [`Inbox::stop`].
    pub(super) fn run(&mut self) -> Result<(), OsError> {
        let mut ready = Vec::new();
        loop {
            ready.clear();
            let timeout = self.timeout();
            self.poller.wait(&mut ready, timeout)?;
            for &event in &ready {
                self.dispatch(event)?;
            }
            for client in std::mem::take(&mut self.backlog) {
                self.hear(client);
            }
            self.take_local();
            for input in self.files.take_done() {
                self.feed(input);
            }
            self.run_timers()?;
            self.flush();
            if self.inbox.is_stopped() || self.signals.as_mut().is_some_and(|s| s.take() > 0) {
                return Ok(());
            }
        }
    }

    /// Until the next thing is due.
    fn timeout(&self) -> Option<Duration> {
        let service = self.service.poll_timeout().map(|due| due.0);
        let due = [service, self.accept_paused_until].into_iter().flatten().min()?;
        Some(Duration::from_nanos(due.saturating_sub(clock::boot_ns())))
    }

    fn run_timers(&mut self) -> Result<(), OsError> {
        let now = clock::now();
        if self.service.poll_timeout().is_some_and(|due| due <= now.boot()) {
            self.service.handle_timeout(&now);
            self.carry_out();
        }
        if self.accept_paused_until.is_some_and(|until| until <= now.boot_ns) {
            self.watch_listeners(true)?;
        }
        Ok(())
    }

    fn dispatch(&mut self, event: Ready) -> Result<(), OsError> {
        match event.key {
            KEY_WAKE => {
                self.wake.clear();
            }
            KEY_SIGNALS => {}
            KEY_LISTENERS..KEY_CLIENTS => {
                let index = usize::try_from(event.key - KEY_LISTENERS).unwrap_or(usize::MAX);
                self.accept(index)?;
            }
            key => {
                let client = ClientId(key);
                if event.readable {
                    self.read(client);
                }
                if event.writable {
                    self.dirty.insert(client);
                }
            }
        }
        Ok(())
    }

    // ------------------------------------------------------------ connections

    fn watch_listeners(&mut self, on: bool) -> Result<(), OsError> {
        for (index, (_, listener)) in self.listeners.iter().enumerate() {
            if on {
                self.poller.add(listener, KEY_LISTENERS + index as u64, true, false)?;
            } else {
                self.poller.remove(listener)?;
            }
        }
        self.accept_paused_until = (!on).then(|| clock::boot_ns() + ACCEPT_PAUSE_NS);
        Ok(())
    }

    fn accept(&mut self, index: usize) -> Result<(), OsError> {
        for _ in 0..ACCEPTS_PER_TURN {
            if self.accept_paused_until.is_some() {
                return Ok(());
            }
            let Some((side, listener)) = self.listeners.get(index) else {
                return Ok(());
            };
            let side = *side;
            match listener.accept() {
                Ok(Some(stream)) => self.connected(side, stream),
                Ok(None) => return Ok(()),
                Err(error) => {
                    // Out of descriptors, most likely. Trying again at once would only spin.
                    self.fault(&format!("cannot accept: {error}"));
                    self.watch_listeners(false)?;
                }
            }
        }
        Ok(())
    }

    fn connected(&mut self, side: Side, stream: Stream) {
        let client = ClientId(self.last_client.fetch_add(1, Ordering::Relaxed) + 1);
        let credentials = match stream.credentials() {
            Ok(credentials) => credentials,
            Err(error) => return self.say(LogLevel::Error, &format!("{error}")),
        };
        let known = stream.is_unix();
        let link = SocketLink::new(stream, side);
        if let Err(error) = self.poller.add(&link, client.0, true, false) {
            return self.say(LogLevel::Error, &format!("{error}"));
        }
        let link = Link::Socket(Box::new(link));
        self.peers.insert(client, Peer { side, link, announced: known });
        if known {
            let peer = self.peer(credentials.uid, credentials.pid);
            self.announce(client, side, peer, false);
        }
    }

    /// This machine's `uid` and `pid`.
    fn peer(&self, uid: u32, pid: Option<i32>) -> service::Peer {
        let machine_name = self.machine_name.clone();
        service::Peer { uid, pid, machine_name, ..service::Peer::default() }
    }

    fn announce(&mut self, client: ClientId, side: Side, peer: service::Peer, in_process: bool) {
        self.feed(match side {
            Side::Producer => Input::ProducerConnected { client, peer, in_process },
            Side::Consumer => Input::ConsumerConnected { client, peer },
        });
    }

    /// A connection that did not tell by itself who it is says its first word.
    fn announce_late(&mut self, client: ClientId, identity: Option<&PeerIdentity>) {
        let Some(peer) = self.peers.get_mut(&client).filter(|peer| !peer.announced) else {
            return;
        };
        peer.announced = true;
        let (side, machine) = (peer.side, peer.link.machine());
        let mut who = self.peer(0, None);
        who.by_value = true;
        if let Some(identity) = identity {
            who.uid = identity.uid.unwrap_or(0).cast_unsigned();
            who.pid = identity.pid;
            let named = !identity.machine_id_hint.is_empty();
            let hint = if named { identity.machine_id_hint.as_str() } else { &machine };
            who.machine_id = PeerIdentity::machine_id_of(hint);
            if !identity.machine_name.is_empty() {
                who.machine_name.clone_from(&identity.machine_name);
            }
        }
        self.announce(client, side, who, false);
    }

    fn read(&mut self, client: ClientId) {
        let Some(Peer { link: Link::Socket(link), .. }) = self.peers.get_mut(&client) else {
            return;
        };
        let read = link.read(&mut self.buf);
        // What was said before the end still counts.
        link.deaf = read.is_err();
        self.hear(client);
        if let Err(over) = read {
            self.over(client, &over);
        }
    }

    /// Passes on what a peer said, until it has too many replies to read first.
    fn hear(&mut self, client: ClientId) {
        while let Some(Peer { link: Link::Socket(link), .. }) = self.peers.get_mut(&client)
            && (link.deaf || !link.is_paused())
            && let Some(event) = link.poll_event()
        {
            self.heard(client, event);
        }
        self.dirty.insert(client);
    }

    fn heard(&mut self, client: ClientId, event: Event) {
        match event {
            // On AF_UNIX everybody is announced by now, so that a forged identity changes nothing.
            Event::Identity(identity) => self.announce_late(client, Some(&identity)),
            Event::Producer { call, request, fd } => {
                self.announce_late(client, None);
                let region = fd.and_then(|fd| match shm::adopt(fd) {
                    Ok(region) => Some(region),
                    Err(error) => {
                        self.say(
                            LogLevel::Error,
                            &format!("producer's own memory refused: {error}"),
                        );
                        None
                    }
                });
                self.feed(Input::ProducerRequest { client, call, request, region });
            }
            Event::Consumer { call, request, fd } => {
                self.announce_late(client, None);
                let file = fd.map(|fd| self.files.adopt(fd));
                self.feed(Input::ConsumerRequest { client, call, request, file });
            }
        }
    }

    /// Forgets a connection and tells the service.
    fn over(&mut self, client: ClientId, over: &Over) {
        let Some(peer) = self.peers.remove(&client) else {
            return;
        };
        self.dirty.remove(&client);
        match over {
            Over::Left => {}
            Over::Frame(error) => self.fault(&format!("{error}, connection closed")),
            Over::Descriptors => self.fault("too many descriptors in a message, connection closed"),
            Over::Slow => self.fault("a peer does not read its replies, connection closed"),
        }
        if let Link::Local(mailbox) = &peer.link {
            mailbox.close();
        }
        if peer.announced {
            self.feed(match peer.side {
                Side::Producer => Input::ProducerDisconnected { client },
                Side::Consumer => Input::ConsumerDisconnected { client },
            });
        }
    }

    // ------------------------------------------------------------ this process

    fn take_local(&mut self) {
        for (client, event) in self.inbox.take() {
            // The service hung up on it meanwhile: it must not hear of it again.
            let connecting = matches!(
                event,
                AnyLocalEvent::Producer(LocalEvent::Connected(_))
                    | AnyLocalEvent::Consumer(LocalEvent::Connected(_))
            );
            if !connecting && !self.peers.contains_key(&client) {
                continue;
            }
            match event {
                AnyLocalEvent::Producer(event) => match event {
                    LocalEvent::Request { call, request, region, .. } => {
                        let request = *request;
                        self.feed(Input::ProducerRequest { client, call, request, region });
                    }
                    other => self.local(client, Side::Producer, other),
                },
                AnyLocalEvent::Consumer(event) => match event {
                    LocalEvent::Request { call, request, file, .. } => {
                        let request = *request;
                        let file = file.map(|fd| self.files.adopt(fd));
                        self.feed(Input::ConsumerRequest { client, call, request, file });
                    }
                    other => self.local(client, Side::Consumer, other),
                },
            }
        }
    }

    /// What is the same for both ports.
    fn local<R>(&mut self, client: ClientId, side: Side, event: LocalEvent<R>) {
        match event {
            LocalEvent::Connected(mailbox) => {
                let link = Link::Local(mailbox);
                self.peers.insert(client, Peer { side, link, announced: true });
                let peer = self.peer(process::effective_uid(), Some(process::pid()));
                self.announce(client, side, peer, true);
            }
            LocalEvent::Drained if side == Side::Consumer => {
                self.feed(Input::ConsumerDrained { client });
            }
            LocalEvent::Disconnected => self.over(client, &Over::Left),
            LocalEvent::Drained | LocalEvent::Request { .. } => {}
        }
    }

    // ------------------------------------------------------------ the service

    /// Tells the service one thing and does what it asks for.
    fn feed(&mut self, input: Input) {
        // Peers that were cut meanwhile have no business with the service any more.
        self.service.handle(&clock::now(), input);
        self.carry_out();
    }

    fn carry_out(&mut self) {
        loop {
            while let Some(output) = self.service.poll_output() {
                self.perform(output);
            }
            let Some(input) = self.follow_ups.pop_front() else {
                return;
            };
            self.service.handle(&clock::now(), input);
        }
    }

    fn perform(&mut self, output: Output) {
        match output {
            Output::Reply { client, call, result, has_more, region } => {
                let Some(peer) = self.peers.get_mut(&client) else {
                    return;
                };
                let result = result.map_err(|_| Rejected);
                let queued = peer.reply(call, result, has_more, region);
                self.dirty.insert(client);
                if let Err(error) = queued {
                    self.say(LogLevel::Error, &format!("reply dropped: {error}"));
                }
            }
            Output::Disconnect { client } => {
                self.dirty.remove(&client);
                if let Some(Peer { link: Link::Local(mailbox), .. }) = self.peers.remove(&client) {
                    mailbox.close();
                }
            }
            Output::CreateFile { token, path } => {
                let result = self.files.create(&path);
                self.follow_ups.push_back(Input::FileCreated { token, result });
            }
            Output::WriteFile { file, data, sync, close } => {
                self.files.write(file, data, sync, close);
            }
            Output::CopyFile { from, to } => self.files.copy(from, to),
            Output::SetPriority { token, boost } => {
                let usual = *self.usual_nice.get_or_insert_with(priority::nice);
                let result = priority::schedule(match boost {
                    None => Scheduling::Nice(usual),
                    Some(Boost::Other(priority)) => {
                        Scheduling::Nice(-i32::try_from(priority).unwrap_or(0))
                    }
                    Some(Boost::Fifo(priority)) => Scheduling::Fifo(priority),
                });
                let result = result.map_err(|error| error.to_string());
                self.follow_ups.push_back(Input::PrioritySet { token, result });
            }
            Output::Log { level, text } => self.say(level, &text),
        }
    }

    /// Sends what waits, and waits for room where there was none.
    fn flush(&mut self) {
        // Telling that a queue is empty fills it again; the rest is for the next turn, or one
        // reader would keep the loop to itself.
        for client in std::mem::take(&mut self.dirty) {
            let Some(Peer { link: Link::Socket(link), side, .. }) = self.peers.get_mut(&client)
            else {
                continue;
            };
            if let Err(over) = link.write() {
                self.over(client, &over);
                continue;
            }
            if link.has_events() && !link.is_paused() {
                self.backlog.insert(client);
            }
            let drained = link.is_drained() && std::mem::take(&mut link.undrained);
            let wanted = link.wanted();
            let changed = link.interest != wanted;
            if changed {
                link.interest = wanted;
            }
            let consumer = *side == Side::Consumer;
            if changed && self.poller.modify(&**link, client.0, wanted.0, wanted.1).is_err() {
                self.over(client, &Over::Left);
                continue;
            }
            if drained && consumer {
                self.feed(Input::ConsumerDrained { client });
            }
        }
        if !self.dirty.is_empty() || !self.backlog.is_empty() {
            self.wake.wake();
        }
    }

    /// Logs trouble that a peer made. One that comes back to make it again must not fill the log, so
    /// the lines become rare as they become many.
    fn fault(&mut self, text: &str) {
        self.faults += 1;
        if self.faults <= FAULTS_LOGGED || self.faults.is_power_of_two() {
            self.say(LogLevel::Error, &format!("{text} (fault {} of peers)", self.faults));
        }
    }

    fn say(&mut self, level: LogLevel, text: &str) {
        (self.log)(level, text);
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.inbox.close();
        for peer in self.peers.values() {
            if let Link::Local(mailbox) = &peer.link {
                mailbox.close();
            }
        }
    }
}
