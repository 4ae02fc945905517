//! The service among its connections: requests of peers go in, and its effects are carried out. Polling and
//! listening are left to [`daemon`](super::daemon), or to a program that embeds the service.

use std::collections::VecDeque;
use std::time::Duration;

#[cfg(feature = "host")]
use super::accounts::{self, Counted};
#[cfg(feature = "host")]
use super::fairness::Fairness;
use super::files::{Files, LAST_WRITES, NewFile, Rights};
use super::log::{About, Log, Logger};
use super::peer::{Link, PeerConnection};
use super::port_kind::{Disconnect, PortKind};
#[cfg(feature = "host")]
use super::producer_memory::ProducerMemory;
use super::stats::Counters;
use super::user::{ConnectionUser, PeerUser};
#[cfg(feature = "host")]
use super::watchdog::{Task, WatchedTurn};
use crate::limits::SERVE_NS;
use crate::local::{AnyLocalEvent, Inbox, LocalEvent};
use crate::system::own_user::OwnUser;
use abi::error::OsError;
use abi::ids::ClientId;
use abi::ipc::Rejected;
use abi::map::{BlockMap, BlockSet};
use abi::sync::Arc;
use abi::time::{BootTime, Now};
use os::clock::Deadline;
use os::poll::Wake;
use os::thread::{self, Scheduling};
use os::{clock, process};
use service::{
    self, Boost, ConsumerRequest, FileError, Input, LogLevel, Output, Service, ServiceConfig,
    ShellAccounts,
};

/// Connections have ids above this number. A poller uses smaller keys for other descriptors.
pub(crate) const FIRST_CLIENT: u64 = 1 << 16;

/// See the [module](self).
pub(crate) struct Engine {
    pub(super) service: Service,
    pub(super) wake: Wake,
    pub(super) inbox: Arc<Inbox>,
    pub(super) peers: BlockMap<ClientId, PeerConnection>,
    /// Connections whose queue of replies has new bytes.
    pub(crate) dirty: BlockSet<ClientId>,
    /// Which connections are served next, and which later.
    #[cfg(feature = "host")]
    pub(super) fairness: Fairness,
    /// Memory that producers bring.
    #[cfg(feature = "host")]
    pub(super) producer_memory: ProducerMemory,
    /// Connections of custom transports that the engine has closed, and whose program does not know it.
    #[cfg(feature = "host")]
    pub(crate) closed: BlockSet<ClientId>,
    /// Inputs that came up while effects were carried out.
    follow_ups: VecDeque<Input>,
    /// Answers of files that have their turn later.
    pub(super) answers: VecDeque<Input>,
    pub(super) files: Files,
    /// The nice value of this thread before it was boosted for the first time.
    usual_nice: Option<i32>,
    pub(crate) counters: Arc<Counters>,
    pub(super) logger: Logger,
    #[cfg(feature = "host")]
    pub(super) watched_turn: WatchedTurn,
    /// None without sockets.
    #[cfg(feature = "host")]
    pub(super) counted: Option<Counted>,
    /// The user of this process.
    pub(super) own: OwnUser,
    /// Whose input is being handled.
    about: Option<ConnectionUser>,
    /// The time at which the turn began. The first event of a turn takes it as the time of its first input; no later
    /// event does.
    began: Option<Now>,
    machine_name: String,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("peers", &self.peers.len()).finish_non_exhaustive()
    }
}

impl Engine {
    /// `wake` is called when another thread has an event for the engine. Without `threads`, files are written by
    /// the caller of [`run_turn`](Self::run_turn).
    pub(crate) fn new(config: ServiceConfig, log: Log, wake: Wake, threads: bool) -> Self {
        let own = OwnUser::new(process::effective_uid());
        Self {
            machine_name: config.host.machine_name.clone(),
            own,
            service: Service::new(config),
            inbox: Arc::new(Inbox::new(wake.clone(), FIRST_CLIENT)),
            peers: BlockMap::new(),
            dirty: BlockSet::new(),
            #[cfg(feature = "host")]
            fairness: Fairness::default(),
            #[cfg(feature = "host")]
            producer_memory: ProducerMemory::new(wake.clone(), own),
            #[cfg(feature = "host")]
            closed: BlockSet::new(),
            follow_ups: VecDeque::new(),
            answers: VecDeque::new(),
            files: Files::new(wake.clone(), own, threads),
            usual_nice: None,
            wake,
            counters: Arc::default(),
            logger: Logger::new(log, own, threads),
            #[cfg(feature = "host")]
            watched_turn: WatchedTurn::default(),
            #[cfg(feature = "host")]
            counted: None,
            about: None,
            began: None,
        }
    }

    /// A turn of the loop begins.
    #[cfg(feature = "host")]
    pub(super) fn begin_turn(&mut self, now: Now) {
        self.began = Some(now);
        self.watched_turn.begin(now.mono_ns);
    }

    pub(crate) fn inbox(&self) -> &Arc<Inbox> {
        &self.inbox
    }

    /// When [`run_turn`](Self::run_turn) must be called at the latest, boot time in ns.
    pub(crate) fn due_ns(&self) -> Option<u64> {
        let service_ns = self.service.poll_timeout().map(BootTime::as_ns);
        service_ns.into_iter().chain(self.logger.due_ns()).min()
    }

    /// Later inputs read the clock: time has passed since the turn began.
    #[cfg(feature = "host")]
    pub(super) fn forget_begin(&mut self) {
        self.began = None;
    }

    /// Handles everything but sockets: clients of this process, answers of files, and timers and work that were due at
    /// `now_ns`, boot time, or at the last input if that was later.
    pub(crate) fn run_turn(&mut self, now_ns: u64) {
        self.began = None;
        #[cfg(feature = "host")]
        self.handle_mapped_requests();
        #[cfg(feature = "host")]
        self.process_backlog();
        self.take_local();
        // Files with threads wake the loop for later answers, so that peers are handled in between.
        while self.process_file_answers(clock::mono_ns) && self.files.have_no_threads() {}
        if self.service.is_due(now_ns) {
            let now = clock::now();
            #[cfg(feature = "host")]
            self.watched_turn.task(now.mono_ns, Task::Timers, None);
            self.service.handle_timeout(&now);
            self.carry_out();
        }
        if self.logger.due_ns().is_some() {
            self.logger.poll(clock::boot_ns());
        }
    }

    /// Passes the answers of files to the service; false if there are none. `began_ns` is called only if there are
    /// some; if they take long since then, the rest is left for the next turn.
    pub(super) fn process_file_answers(&mut self, began_ns: impl FnOnce() -> u64) -> bool {
        let finished = self.files.take_finished();
        finished.written_memory.into_iter().for_each(|memory| self.service.give_back(memory));
        self.answers.extend(finished.answers);
        if self.answers.is_empty() {
            return false;
        }
        let began_ns = began_ns();
        while let Some(input) = self.answers.pop_front() {
            self.handle_input(input);
            if !self.answers.is_empty() && clock::mono_ns().saturating_sub(began_ns) > SERVE_NS {
                self.wake.wake();
                break;
            }
        }
        true
    }

    /// Ends all sessions and waits until their files are complete. `wait` sleeps until files may have an answer,
    /// and returns false when it has waited long enough.
    pub(crate) fn finish(&mut self, mut wait: impl FnMut() -> bool) {
        self.service.end_sessions(&clock::now(), "the tracing service was told to end");
        self.carry_out();
        loop {
            let nothing_new = !self.process_file_answers(clock::mono_ns);
            if self.service.is_idle() {
                return;
            }
            if nothing_new && !wait() {
                return self.files.give_up();
            }
        }
    }

    /// Ends all sessions and waits until their files are complete, but not for long. `wait` sleeps until `wake` is
    /// called, for that time at most. It returns whether the end is to come at once.
    ///
    /// # Errors
    /// The one of `wait`.
    pub(super) fn finish_soon(
        &mut self,
        mut wait: impl FnMut(&Wake, Option<Duration>) -> Result<bool, OsError>,
    ) -> Result<(), OsError> {
        let (deadline, wake) = (Deadline::after(Some(LAST_WRITES)), self.wake.clone());
        let mut result = Ok(());
        self.finish(|| {
            let at_once = wait(&wake, deadline.left());
            wake.clear();
            let waits_on = at_once == Ok(false) && deadline.left() != Some(Duration::ZERO);
            result = at_once.map(drop);
            waits_on
        });
        result
    }

    // ------------------------------------------------------------ connections

    /// This machine's `uid` and `pid`.
    pub(super) fn local_peer(&self, uid: u32, pid: Option<i32>) -> service::Peer {
        let machine_name = self.machine_name.clone();
        service::Peer { uid, pid, machine_name, ..service::Peer::default() }
    }

    pub(super) fn announce(
        &mut self,
        client: ClientId,
        port: PortKind,
        peer: service::Peer,
        in_process: bool,
    ) {
        self.handle_input(match port {
            PortKind::Producer => Input::ProducerConnected { client, peer, in_process },
            PortKind::Consumer => Input::ConsumerConnected { client, peer },
        });
    }

    /// Removes a connection and tells the service.
    pub(crate) fn end_connection(&mut self, client: ClientId, reason: &Disconnect) {
        let Some(peer) = self.peers.remove(&client) else {
            return;
        };
        let about = Some(ConnectionUser { client, user: peer.user });
        self.dirty.remove(&client);
        self.counters.count_disconnect(reason);
        if let Some(text) = reason.text() {
            self.log_fault(about, &format!("{text}, connection closed"));
        }
        peer.link.close();
        if peer.announced {
            let input = match (peer.port, reason.cut()) {
                (PortKind::Producer, None) => Input::ProducerDisconnected { client },
                (PortKind::Producer, Some(why)) => Input::ProducerCut { client, why },
                (PortKind::Consumer, _) => Input::ConsumerDisconnected { client },
            };
            self.handle_input_about(about, input);
        }
        self.logger.forget(client);
    }

    // ------------------------------------------------------------ this process

    fn take_local(&mut self) {
        for (client, event) in self.inbox.take() {
            // The service has closed this connection already, and must get no more of its events.
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
                        self.handle_input(Input::ProducerRequest { client, call, request, region });
                    }
                    other => self.handle_local_event(client, PortKind::Producer, other),
                },
                AnyLocalEvent::Consumer(event) => match event {
                    LocalEvent::Request { call, request, file, .. } => {
                        let request = *request;
                        let file = file.map(|fd| self.files.adopt(fd));
                        self.handle_input(Input::ConsumerRequest { client, call, request, file });
                    }
                    other => self.handle_local_event(client, PortKind::Consumer, other),
                },
            }
        }
    }

    /// Handles the events that both ports have.
    fn handle_local_event<R>(&mut self, client: ClientId, port: PortKind, event: LocalEvent<R>) {
        match event {
            LocalEvent::Connected(mailbox) => {
                let link = Link::Local(mailbox);
                self.counters.count_connection();
                let user = PeerUser::Local(self.own.uid());
                self.peers.insert(client, PeerConnection::new(port, link, user, true));
                let peer = self.local_peer(self.own.uid(), Some(process::pid()));
                self.announce(client, port, peer, true);
            }
            LocalEvent::Drained => self.handle_input(Input::Drained { client }),
            LocalEvent::Disconnected => self.end_connection(client, &Disconnect::PeerLeft),
            LocalEvent::Request { .. } => {}
        }
    }

    // ------------------------------------------------------------ the service

    /// Passes one input to the service and carries out its effects.
    pub(super) fn handle_input(&mut self, input: Input) {
        let about = input.client().and_then(|client| self.connection_user(client));
        self.handle_input_about(about, input);
    }

    /// The same. The caller says which connection the input is about; that may be gone.
    pub(super) fn handle_input_about(&mut self, about: Option<ConnectionUser>, input: Input) {
        self.about = about;
        let now = self.began.take().unwrap_or_else(clock::now);
        #[cfg(feature = "host")]
        self.watched_turn.task(now.mono_ns, Task::of(&input), about);
        if let Input::ConsumerRequest { request: ConsumerRequest::QueryServiceState(_), .. } = input
        {
            let counted = Box::new(self.shell_accounts(about));
            self.service.handle(&now, Input::ShellCounted(counted));
        }
        // The service must get nothing from peers whose connection was closed meanwhile.
        self.service.handle(&now, input);
        self.carry_out();
        self.about = None;
    }

    /// What is counted here, for a question about the service.
    #[cfg_attr(not(feature = "host"), allow(unused_variables, reason = "there is one user"))]
    fn shell_accounts(&self, asking: Option<ConnectionUser>) -> ShellAccounts {
        let counters = self.counters.read().to_proto();
        #[cfg(feature = "host")]
        if let (Some(counted), Some(asking)) = (&self.counted, asking) {
            let accounts = accounts::count(counted, &self.files, asking.user);
            return ShellAccounts { counters, ..accounts };
        }
        ShellAccounts { counters, ..ShellAccounts::default() }
    }

    /// A connection and its user, for the log.
    pub(super) fn connection_user(&self, client: ClientId) -> Option<ConnectionUser> {
        self.peers.get(&client).map(|peer| ConnectionUser { client, user: peer.user })
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

    /// With which rights to create a file for `client`, a connection of user `uid`.
    pub(super) fn rights(&self, client: ClientId, uid: u32) -> Result<Rights, &'static str> {
        let peer = self.peers.get(&client).ok_or("its consumer has left")?;
        let is_own = uid == self.own.uid();
        match &peer.link {
            // Connections over the network count as root's, of whatever machine.
            #[cfg(feature = "host")]
            Link::Socket(link) if !link.is_unix() => Err(
                "its consumer is not a process of this machine: read the trace without output_path",
            ),
            #[cfg(feature = "host")]
            Link::Socket(link) if !is_own => {
                let identity =
                    link.identity().map_err(|_| "the kernel tells no groups of its user")?;
                Ok(Rights::Of(identity))
            }
            _ if is_own => Ok(Rights::Daemon),
            _ => Err("its consumer is of another user: read the trace without output_path"),
        }
    }

    fn perform(&mut self, output: Output) {
        match output {
            Output::Reply { client, call, result, has_more, region, paced } => {
                let Some(peer) = self.peers.get_mut(&client) else {
                    return;
                };
                let result = result.map_err(|_| Rejected);
                #[cfg(feature = "host")]
                if paced && let (Some(host), Ok(response)) = (peer.link.host(), &result) {
                    host.expect_paced(response.len());
                }
                #[cfg(not(feature = "host"))]
                let _ = paced;
                let queued = peer.reply(call, result, has_more, region);
                self.dirty.insert(client);
                if let Err(error) = queued {
                    let about = self.connection_user(client);
                    self.log(about, LogLevel::Error, &format!("reply dropped: {error}"));
                }
            }
            Output::Disconnect { client } => {
                self.dirty.remove(&client);
                self.logger.forget(client);
                if let Some(peer) = self.peers.remove(&client) {
                    self.counters.count_disconnect(&Disconnect::PeerLeft);
                    peer.link.close();
                    #[cfg(feature = "host")]
                    if matches!(peer.link, Link::Custom(_)) && peer.ended.is_none() {
                        self.closed.insert(client);
                    }
                }
            }
            Output::CreateFile { token, client, uid, path } => match self.rights(client, uid) {
                Ok(rights) => self.files.create(NewFile { token, path, uid, rights }),
                Err(text) => {
                    let result = Err(FileError { text: text.into() });
                    self.follow_ups.push_back(Input::FileCreated { token, result });
                }
            },
            Output::WriteFile { file, data, sync, close } => {
                self.files.write(file, data, sync, close);
            }
            Output::CopyFile { from, to } => self.files.copy(from, to),
            Output::AbandonFile { file } => self.files.abandon(file),
            Output::SetPriority { token, boost } => {
                let usual = *self.usual_nice.get_or_insert_with(thread::nice);
                let how = match boost {
                    None => Scheduling::Nice(usual),
                    Some(Boost::Other(priority)) => Scheduling::raised(usual, priority),
                    Some(Boost::Fifo(priority)) => Scheduling::Fifo(priority),
                };
                let result = thread::schedule(thread::id(), how).map_err(|error| error.to_string());
                self.follow_ups.push_back(Input::PrioritySet { token, result });
            }
            #[cfg(feature = "host")]
            Output::CountMemory { client, uid } => self.count_memory(client, uid),
            #[cfg(feature = "host")]
            Output::ReleaseMemory { client, uid, region } => {
                self.release_memory(client, uid, region);
            }
            // There are no peers.
            #[cfg(not(feature = "host"))]
            Output::CountMemory { .. } | Output::ReleaseMemory { .. } => {}
            Output::Log { level, text, uid } => {
                let user = uid.map(|uid| About::User(PeerUser::Local(uid)));
                let about = user.unwrap_or(self.about.into());
                self.logger.line(clock::boot_ns(), about, level, &text);
            }
        }
    }

    /// Counts and logs a fault of a peer.
    pub(super) fn log_fault(&mut self, about: Option<ConnectionUser>, text: &str) {
        self.counters.count_fault();
        self.log(about, LogLevel::Error, text);
    }

    /// Logs a line that `about` caused, as far as its user has lines left.
    pub(super) fn log(&mut self, about: Option<ConnectionUser>, level: LogLevel, text: &str) {
        self.logger.line(clock::boot_ns(), about.into(), level, text);
    }

    /// Writes the last line of the log.
    pub(super) fn log_summary(&mut self) {
        let summary = self.counters.read().to_string();
        self.log(None, LogLevel::Info, &summary);
        self.end_log();
    }

    /// Writes all lines that wait, or gives up after a second.
    pub(crate) fn end_log(&mut self) {
        self.logger.finish();
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.inbox.close();
        self.peers.values().for_each(|peer| peer.link.close());
    }
}
