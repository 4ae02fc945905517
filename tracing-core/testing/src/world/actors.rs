//! When producers and consumers act, connect and disconnect, and how their messages are delivered.

use std::collections::BTreeMap;

use protos::consumer_port::Request;
use protos::producer_port::Request as ProducerRequest;

use super::consumers::Consumer;
use super::{Actor, Connection, Expect, SECOND, World};
use crate::net::Event;
use crate::shell::Reply;
use crate::workload::{Outgoing, Producer};
use abi::ids::{CallId, ClientId, FileId};
use service::{Cut, Input, Peer};

/// The user of producers whose connections the daemon refuses. Nobody else is it: the ledger has the losses of others
/// by name.
const REFUSED_UID: u32 = 77;

impl World {
    pub(super) fn act(&mut self, index: usize) -> Result<(), String> {
        if self.client_of[index].is_none() {
            if self.ending {
                return Ok(());
            }
            self.connect(index);
        } else if !self.ending && self.rng.chance(2) {
            self.disconnect(index);
        } else {
            match &mut self.actors[index] {
                Actor::Producer(producer) => {
                    let out = if self.ending {
                        Vec::new()
                    } else {
                        producer.act(&mut self.ledger, &mut self.report.marks)
                    };
                    self.send_producer(index, out);
                }
                Actor::Consumer(_) => self.act_consumer(index),
            }
        }
        if self.rng.chance(1) {
            let hours = self.rng.chance(2);
            let ns =
                if hours { self.rng.within(1, 50) * 3600 * SECOND } else { self.rng.below(SECOND) };
            self.clock.sleep(ns);
            self.report.marks.event(if hours {
                "the machine slept for hours"
            } else {
                "the machine slept"
            });
        }
        if self.rng.chance(1) {
            self.report.marks.event("the wall clock was set");
            let back = self.rng.chance(50);
            let ns = self.rng.below(SECOND).cast_signed();
            self.clock.move_wall_clock(if back { -ns } else { ns });
        }
        let pause = self.rng.pick(&[1_000_000u64, 10_000_000, 100_000_000]);
        let at = self.clock.boot_ns() + 1 + self.rng.below(pause);
        self.net.at(at, Event::Act(index));
        Ok(())
    }

    fn connect(&mut self, index: usize) {
        self.last_id += 1;
        let client = ClientId::new(self.last_id);
        self.client_of[index] = Some(client);
        let is_consumer = matches!(self.actors[index], Actor::Consumer(_));
        self.connections.insert(
            client,
            Connection { actor: index, open: BTreeMap::new(), in_transit: 0, is_consumer },
        );
        let now = self.clock.boot_ns();
        match &mut self.actors[index] {
            Actor::Producer(producer) => {
                // A new process for each connection.
                let mut fresh = Producer::new(producer.rng.fork(), self.last_id);
                let peer = Peer { uid: fresh.uid as u32, pid: Some(fresh.pid), ..Peer::default() };
                let hello = fresh.initialize();
                **producer = fresh;
                if self.last_id.is_multiple_of(16) {
                    let (client, uid) = (ClientId::new(u64::MAX - self.last_id), REFUSED_UID);
                    let peer = Peer { uid, ..Peer::default() };
                    let refused = Input::ProducerRefused { client, peer };
                    self.net.at(now, Event::ToService(refused));
                }
                let input = Input::ProducerConnected { client, peer, in_process: false };
                self.net.send_up(now, client, input);
                self.send_producer(index, hello);
            }
            Actor::Consumer(consumer) => {
                **consumer = Consumer::new(consumer.rng.fork());
                let peer = Peer { uid: consumer.rng.below(3) as u32, ..Peer::default() };
                self.net.send_up(now, client, Input::ConsumerConnected { client, peer });
            }
        }
    }

    pub(super) fn disconnect(&mut self, index: usize) {
        let Some(client) = self.client_of[index].take() else { return };
        self.connections.remove(&client);
        let input = match &mut self.actors[index] {
            Actor::Producer(producer) => {
                producer.cut(&mut self.ledger);
                match self.rng.below(4) {
                    0 => Input::ProducerCut { client, why: Cut::Protocol },
                    _ => Input::ProducerDisconnected { client },
                }
            }
            Actor::Consumer(_) => Input::ConsumerDisconnected { client },
        };
        self.net.disconnect(self.clock.boot_ns(), client, input);
    }

    /// The service closed the connection.
    pub(super) fn cut_off(&mut self, client: ClientId) {
        self.net.forget(client);
        self.connected = self.connected.saturating_sub(1);
        let Some(connection) = self.connections.remove(&client) else { return };
        self.client_of[connection.actor] = None;
        if let Actor::Producer(producer) = &mut self.actors[connection.actor] {
            producer.cut(&mut self.ledger);
        }
    }

    fn next_call(&mut self, client: ClientId, expect: Expect) -> CallId {
        self.last_id += 1;
        let call = CallId::new(self.last_id);
        if let Some(connection) = self.connections.get_mut(&client) {
            connection.open.insert(call, expect);
        }
        call
    }

    pub(super) fn send_producer(&mut self, index: usize, mut out: Outgoing) {
        let now = self.clock.now();
        let Some(client) = self.client_of[index] else { return };
        let Actor::Producer(producer) = &mut self.actors[index] else { return };
        out.extend(producer.poll(now.boot()));
        if let Some(at) = producer.poll_at() {
            self.net.at(at.as_ns(), Event::Poll(index));
        }
        for (wants_reply, request, region) in out {
            let call = wants_reply.then(|| {
                let stream = matches!(request, ProducerRequest::GetAsyncCommand(_));
                let expect = if stream { Expect::Stream } else { Expect::Answer };
                let call = self.next_call(client, expect);
                if stream && let Actor::Producer(producer) = &mut self.actors[index] {
                    producer.commands = Some(call);
                }
                call
            });
            let input = Input::ProducerRequest { client, call, request, region };
            self.net.send_up(now.boot_ns, client, input);
        }
    }

    pub(super) fn send_consumer(
        &mut self,
        index: usize,
        request: Request,
        file: Option<FileId>,
    ) -> CallId {
        let Some(client) = self.client_of[index] else { return CallId::new(0) };
        let expect = match request {
            Request::ObserveEvents(_) => Expect::Stream,
            _ => Expect::Answer,
        };
        let call = self.next_call(client, expect);
        if matches!(request, Request::ReadBuffers(_)) {
            self.model.reads(call);
        }
        if matches!(request, Request::QueryServiceState(_)) {
            // As a daemon does, but somewhat earlier.
            let account = |uid| protos::UserAccount { uid: Some(uid), ..Default::default() };
            let users = (0..8).map(account).collect();
            let counted = service::ShellAccounts { users, ..Default::default() };
            let counted = Input::ShellCounted(Box::new(counted));
            self.net.at(self.clock.boot_ns(), Event::ToService(counted));
        }
        if call.get().is_multiple_of(16) {
            let decoded = Input::FramesDecoded { client, refused: 64, bytes: 4096 };
            self.net.at(self.clock.boot_ns(), Event::ToService(decoded));
        }
        let input = Input::ConsumerRequest { client, call: Some(call), request, file };
        self.net.send_up(self.clock.boot_ns(), client, input);
        call
    }

    pub(super) fn deliver(&mut self, client: ClientId, reply: Reply) -> Result<(), String> {
        let Some(connection) = self.connections.get_mut(&client) else { return Ok(()) };
        let index = connection.actor;
        connection.in_transit -= reply.response.as_ref().map_or(0, |r| r.len());
        let empty = connection.in_transit == 0;
        match &mut self.actors[index] {
            Actor::Producer(producer) => {
                let out = producer.reply(&reply, &mut self.ledger, &mut self.report.marks);
                self.send_producer(index, out);
                if empty {
                    let at = self.clock.boot_ns();
                    self.net.at(at, Event::ToService(Input::Drained { client }));
                }
                Ok(())
            }
            Actor::Consumer(consumer) => {
                let slow = consumer.slow;
                let result = self.deliver_consumer(index, &reply);
                if empty {
                    if slow {
                        self.report.marks.event("a slow reader");
                    }
                    let pause = if slow { self.rng.below(200_000_000) } else { 0 };
                    let at = self.clock.boot_ns() + pause;
                    self.net.at(at, Event::ToService(Input::Drained { client }));
                }
                result
            }
        }
    }
}
