//! What the engine does for connections that carry bytes.

use super::accounts::Counted;
use super::engine::Engine;
use super::files::Rights;
use super::order;
use super::peer::{Link, PeerConnection};
use super::port_kind::{Disconnect, PortKind};
use super::producer_memory::{HeldRequest, MappedRequest};
use super::remote::{Event, HostLink};
use super::user::{ConnectionUser, PeerUser};
use crate::limits::{CONNECTIONS_PER_TURN, DECODED_BYTES_AT_ONCE, REQUESTS_PER_TURN, SERVE_NS};
use crate::system::closer::PeerFd;
use abi::ids::{ClientId, FileId};
use abi::ipc::PeerIdentity;
use abi::shm::Region;
use os::clock;
use os::poll::Ready;
use service::{Input, ProducerRequest};

/// What a peer asks for, and what it cost to find that out.
struct Taken {
    event: Option<Event>,
    user: PeerUser,
    /// The service knows the connection.
    announced: bool,
    /// Frames that the transport answered by itself.
    refused: u64,
    /// What was decoded, if the peer pays for it now.
    bytes: usize,
}

impl Engine {
    /// Closes connections of custom transports whose peer does not read its replies.
    pub(crate) fn check_queues(&mut self) {
        for client in self.dirty.clone() {
            let full = self.host(client).map_or(Ok(()), HostLink::check_queue);
            if let Err(over) = full {
                self.end_connection(client, &over);
                self.closed.insert(client);
            }
        }
    }

    /// Handles requests that had to wait, of so many connections. The others have their turn later.
    pub(super) fn process_backlog(&mut self) {
        let Self { service, fairness, peers, producer_memory, .. } = self;
        let mut waiting = Vec::new();
        for client in fairness.take_backlog() {
            // Those whose memory is being mapped come back when it is.
            if producer_memory.has(client)
                || peers.get(&client).is_some_and(|peer| fairness.hold(peer.user, client))
            {
                continue;
            }
            // Its earlier requests come first, and the service takes turns between those; or those of its user.
            if service.is_busy(client) || !service.may_decode(client) {
                fairness.serve_later(client);
            } else {
                waiting.push(Ready { key: client.get(), ..Ready::default() });
            }
        }
        if waiting.is_empty() {
            return;
        }
        let began_ns = clock::mono_ns();
        if waiting.len() > order::FEW {
            fairness.sort_to_serve(&mut waiting, peers);
        }
        let (mut waiting, mut served) = (waiting.into_iter(), 0);
        for client in waiting.by_ref().map(|ready| ClientId::new(ready.key)) {
            if let Some(peer) = self.peers.get_mut(&client) {
                peer.served = self.fairness.serve(peer.user);
            }
            self.process_events(client);
            served += 1;
            let took_ns = clock::mono_ns().saturating_sub(began_ns);
            if served >= CONNECTIONS_PER_TURN || took_ns > SERVE_NS {
                break;
            }
        }
        for client in waiting.map(|ready| ClientId::new(ready.key)) {
            self.fairness.serve_later(client);
            self.wake.wake();
        }
    }

    /// An id for a new connection.
    pub(crate) fn next_client(&self) -> ClientId {
        self.inbox.next_client()
    }

    /// Adds a connection. Without `who`, its first request tells its identity.
    pub(crate) fn add_connection(
        &mut self,
        client: ClientId,
        port: PortKind,
        link: Link,
        user: PeerUser,
        who: Option<service::Peer>,
    ) {
        self.counters.count_connection();
        let mut peer = PeerConnection::new(port, link, user, who.is_some());
        (peer.served, peer.sent) = self.fairness.now();
        self.peers.insert(client, peer);
        if let Some(who) = who {
            self.announce(client, port, who, false);
        }
    }

    /// The protocol state of a connection that is not local.
    pub(crate) fn host(&mut self, client: ClientId) -> Option<&mut HostLink> {
        self.peers.get_mut(&client)?.link.host()
    }

    /// The queue of replies of `client` is empty.
    pub(crate) fn handle_drained(&mut self, client: ClientId) {
        if self.peers.contains_key(&client) {
            self.handle_input(Input::Drained { client });
        }
    }

    /// Announces a connection whose transport did not tell its identity.
    fn announce_late(&mut self, client: ClientId, identity: Option<&PeerIdentity>) {
        let Some(peer) = self.peers.get_mut(&client).filter(|peer| !peer.announced) else {
            return;
        };
        peer.announced = true;
        let (port, machine) = (peer.port, peer.link.machine());
        let mut who = self.local_peer(0, None);
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
        self.announce(client, port, who, false);
    }

    /// Passes the requests of a peer to the service, until it has too many unread replies or waits for its turn. Many
    /// are left for the next turn of the loop.
    pub(crate) fn process_events(&mut self, client: ClientId) {
        let mut left = REQUESTS_PER_TURN.max(1);
        while left > 0
            && let Some(Taken { event, user, announced, refused, bytes }) = self.take_event(client)
        {
            if refused > 0 || bytes > 0 {
                self.handle_input(Input::FramesDecoded { client, refused, bytes });
            }
            if let Some(event) = event {
                if !announced {
                    self.announce_late(client, event.identity());
                }
                self.handle_event(ConnectionUser { client, user }, event);
            }
            let cost = (refused as usize).saturating_add(bytes / DECODED_BYTES_AT_ONCE);
            left = left.saturating_sub(1).saturating_sub(cost);
        }
        let Some(peer) = self.peers.get_mut(&client) else { return };
        if !peer.link.is_settled() {
            self.dirty.insert(client);
        }
        if self.producer_memory.has(client) {
            return;
        }
        let waits =
            |host: &mut HostLink| host.has_events() && (host.write_closed || !host.is_paused());
        if peer.link.host().is_some_and(waits) {
            self.fairness.serve_later(client);
            if left == 0 {
                self.wake.wake();
            }
        } else if let Some(reason) = peer.ended.take() {
            self.end_connection(client, &reason);
        }
    }

    /// Takes the next request of a peer; none if the peer has to wait.
    fn take_event(&mut self, client: ClientId) -> Option<Taken> {
        if self.producer_memory.has(client)
            || self.service.is_busy(client)
            || !self.service.may_decode(client)
        {
            return None;
        }
        let peer = self.peers.get_mut(&client)?;
        let (user, announced) = (peer.user, peer.announced);
        let host = peer.link.host()?;
        if !host.has_events() || !host.write_closed && host.is_paused() {
            return None;
        }
        let event = host.poll_event();
        let refused = host.take_refused();
        // The peer pays for them; binds are few. Its request waits if that is too much.
        let pays = refused > 0 || host.decoded() >= DECODED_BYTES_AT_ONCE;
        let bytes = if pays { host.take_decoded() } else { 0 };
        Some(Taken { event, user, announced, refused, bytes })
    }

    /// The connection is over. It ends once all that its peer sent before is handled.
    pub(crate) fn end_after_requests(&mut self, client: ClientId, reason: Disconnect) {
        let Some(peer) = self.peers.get_mut(&client) else { return };
        peer.ended = Some(reason);
        if let Some(host) = peer.link.host() {
            // Nobody reads replies to these requests.
            host.write_closed = true;
        }
        self.process_events(client);
    }

    fn handle_event(&mut self, about: ConnectionUser, event: Event) {
        let client = about.client;
        match event {
            // The peer is announced already. A forged identity of an AF_UNIX peer changes nothing.
            Event::Identity(_) => {}
            Event::Producer { call, request, fd } => {
                let is_first = self.takes_memory(client, &request);
                match fd.filter(|_| is_first) {
                    Some(fd) => {
                        let held = HeldRequest { call, request, uid: fd.uid() };
                        self.producer_memory.begin(client, held, fd);
                        // That of a program's own transport is mapped already.
                        self.handle_mapped_requests();
                    }
                    None => {
                        let input = Input::ProducerRequest { client, call, request, region: None };
                        self.handle_input_about(Some(about), input);
                    }
                }
            }
            Event::Consumer { call, request, fd } => {
                let file = fd.and_then(|fd| self.adopt_file(client, fd));
                let input = Input::ConsumerRequest { client, call, request, file };
                self.handle_input_about(Some(about), input);
            }
        }
    }

    /// Whether this is the request that may bring memory: the first of its kind. No later one takes a descriptor.
    fn takes_memory(&mut self, client: ClientId, request: &ProducerRequest) -> bool {
        if !matches!(request, ProducerRequest::InitializeConnection(_)) {
            return false;
        }
        let Some(peer) = self.peers.get_mut(&client) else { return false };
        if let Link::Socket(link) = &peer.link {
            link.take_descriptors(false);
        }
        !std::mem::replace(&mut peer.initialized, true)
    }

    /// Handles requests whose memory is mapped. Later ones of their peers come after them.
    pub(super) fn handle_mapped_requests(&mut self) {
        for MappedRequest { client, held, region } in self.producer_memory.take() {
            let HeldRequest { call, request, uid } = held;
            if self.peers.contains_key(&client) {
                if let Err(why) = &region {
                    self.log_fault(self.connection_user(client), &why.to_string());
                }
                let region = region.ok();
                self.handle_input(Input::ProducerRequest { client, call, request, region });
                self.fairness.serve_later(client);
            } else if let (Ok(region), Some(uid)) = (region, uid) {
                self.release_memory(client, uid, region);
            }
        }
    }

    /// A producer has left, and the service needs its memory: it counts as one of its user's connections meanwhile.
    pub(super) fn count_memory(&mut self, client: ClientId, uid: u32) {
        if let Some(Counted { connections, .. }) = &self.counted {
            let place = connections.hold_memory(PeerUser::Local(uid));
            self.producer_memory.keep_place(client, place);
        }
    }

    /// Unmaps memory of a producer on a thread. It counts as one of its user's connections until then.
    pub(super) fn release_memory(&mut self, client: ClientId, uid: u32, region: Region) {
        if let Some(Counted { connections, .. }) = &self.counted {
            let place = self.producer_memory.take_place(client);
            let place = place.unwrap_or_else(|| connections.hold_memory(PeerUser::Local(uid)));
            self.producer_memory.mapper().unmap(uid, (region, place));
        }
    }

    /// Takes the file of a consumer. A daemon of root writes it with the rights of that consumer.
    fn adopt_file(&mut self, client: ClientId, fd: PeerFd) -> Option<FileId> {
        let rights = match fd.uid() {
            Some(uid) if self.own.uid() == 0 => self.rights(client, uid),
            _ => Ok(Rights::Daemon),
        };
        match rights.and_then(|rights| self.files.adopt_from_peer(fd, rights)) {
            Ok(file) => Some(file),
            Err(why) => {
                self.log_fault(self.connection_user(client), &format!("a file refused: {why}"));
                None
            }
        }
    }
}
