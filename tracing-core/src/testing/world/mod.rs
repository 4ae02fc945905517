//! One simulated life of a service, from a seed to a verdict.

use std::collections::BTreeMap;
use std::sync::Arc;

use protos::TracePacket;
use protos::consumer_port::Request;
use protos::producer_port::Request as ProducerRequest;
use protozero::Message as _;

use crate::ids::{CallId, ClientId, FileId};
use crate::limits;
use crate::service::{FileError, HostInfo, Input, Output, Peer, Service, ServiceConfig};
use crate::testing::check::{Ledger, Reader};
use crate::testing::clock::Clock;
use crate::testing::net::{Event, Net};
use crate::testing::rng::Rng;
use crate::testing::shell::{HeapRegions, Reply};
use crate::testing::workload::{Outgoing, Producer};

/// What happened in a life, for people and for comparing two runs of one seed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Inputs the service took.
    pub inputs: u64,
    /// Outputs it gave.
    pub outputs: u64,
    /// Packets of honest producers that were written.
    pub packets_written: u64,
    /// Those that were read, each checked.
    pub packets_read: u64,
    /// Losses that were seen, each marked.
    pub gaps: u64,
    /// Sessions that were tried.
    pub sessions: u64,
    /// Reads after a flush that had to be complete, and were.
    pub complete_reads: u64,
    /// A digest of everything the service put out.
    pub digest: u64,
}

/// Lives one life. The same seed gives the same life.
///
/// # Errors
/// The rule that was broken, and when.
pub fn simulate(seed: u64) -> Result<Report, String> {
    let mut world = World::new(seed);
    let run = world.live().and_then(|()| world.die());
    run.map_err(|error| format!("seed {seed}, at {} ns: {error}", world.clock.boot_ns()))?;
    let mut report = world.report;
    report.packets_written = world.ledger.logs.values().map(|l| u64::from(l.written)).sum();
    report.packets_read = world.ledger.packets_read;
    report.gaps = world.ledger.gaps_seen;
    Ok(report)
}

mod consumers;

use self::consumers::Consumer;

const SECOND: u64 = 1_000_000_000;

enum Actor {
    Producer(Box<Producer>),
    Consumer(Box<Consumer>),
}

/// What a call may still get.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expect {
    /// One final reply, before the end.
    Answer,
    /// Replies as long as the connection lives.
    Stream,
}

struct Connection {
    actor: usize,
    /// Calls without a final reply.
    open: BTreeMap<CallId, Expect>,
    /// Reply bytes that were sent and did not arrive yet.
    on_the_way: usize,
    is_consumer: bool,
}

struct SimFile {
    bytes: Vec<u8>,
    closed: bool,
    /// The service got it; until then it dies with the message it is in.
    arrived: bool,
    /// Bytes up to here were checked.
    checked: usize,
    reader: Reader,
    session: u64,
}

struct World {
    rng: Rng,
    clock: Clock,
    net: Net,
    service: Service,
    actors: Vec<Actor>,
    connections: BTreeMap<ClientId, Connection>,
    client_of: Vec<Option<ClientId>>,
    files: BTreeMap<FileId, SimFile>,
    disk_fails: bool,
    ledger: Ledger,
    report: Report,
    last_id: u64,
    /// Connections that the service knows of.
    connected: usize,
    ending: bool,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let clock = Clock::new(&mut rng);
        let net = Net::new(rng.fork());
        let config = ServiceConfig {
            uid: 0,
            pid: 1,
            version: "simulated".into(),
            host: HostInfo { machine_name: "sim".into(), ..HostInfo::default() },
            seed: rng.next(),
            regions: Arc::new(HeapRegions),
            scrape_by_default: rng.chance(50),
            extensions: Vec::new(),
        };
        let disk_fails = rng.chance(15);
        let mut world = Self {
            clock,
            net,
            service: Service::new(config),
            actors: Vec::new(),
            connections: BTreeMap::new(),
            client_of: Vec::new(),
            files: BTreeMap::new(),
            disk_fails,
            ledger: Ledger::default(),
            report: Report::default(),
            last_id: 0,
            connected: 0,
            ending: false,
            rng,
        };
        let producers = world.rng.within(1, 5);
        let consumers = world.rng.within(1, 4);
        for index in 0..producers {
            let producer = Producer::new(world.rng.fork(), index + 1);
            world.actors.push(Actor::Producer(Box::new(producer)));
        }
        for _ in 0..consumers {
            let consumer = Consumer::new(world.rng.fork());
            world.actors.push(Actor::Consumer(Box::new(consumer)));
        }
        world.client_of = vec![None; world.actors.len()];
        for actor in 0..world.actors.len() {
            let at = world.clock.boot_ns() + world.rng.below(SECOND);
            world.net.at(at, Event::Act(actor));
        }
        world
    }

    fn live(&mut self) -> Result<(), String> {
        let seconds = self.rng.pick(&[2, 5, 20]);
        let end = self.clock.boot_ns() + seconds * SECOND;
        self.run_until(end)
    }

    /// Everybody leaves; then nothing may be left.
    fn die(&mut self) -> Result<(), String> {
        self.ending = true;
        let last_call = CallId(self.last_id);
        let grace = self.clock.boot_ns() + 40 * SECOND;
        self.run_until(grace)?;
        for connection in self.connections.values() {
            // Producers may still be talking when the grace is over: what they began since is no omission.
            let due = |call: &CallId| connection.is_consumer || *call <= last_call;
            let unanswered =
                connection.open.iter().filter(|(c, e)| due(c) && **e == Expect::Answer);
            let calls: Vec<_> = unanswered.map(|(call, _)| call).collect();
            if !calls.is_empty() {
                return Err(format!("calls {calls:?} were never answered"));
            }
        }
        for actor in 0..self.actors.len() {
            self.hang_up(actor);
        }
        let end = self.clock.boot_ns() + 10 * SECOND;
        self.run_until(end)?;
        let left = self.service.footprint();
        if left != Default::default() {
            return Err(format!("left behind: {left:?}"));
        }
        if let Some((id, _)) = self.files.iter().find(|(_, f)| f.arrived && !f.closed) {
            return Err(format!("{id:?} was never closed"));
        }
        Ok(())
    }

    fn run_until(&mut self, end: u64) -> Result<(), String> {
        loop {
            let timer = self.service.poll_timeout().map(|t| t.0.max(self.clock.boot_ns()));
            let event = self.net.next_at();
            let next = timer.into_iter().chain(event).min();
            let Some(at) = next.filter(|at| *at <= end) else {
                self.clock.advance_to(end);
                return Ok(());
            };
            self.clock.advance_to(at);
            if event.is_none_or(|event| event > self.clock.boot_ns()) {
                self.service.handle_timeout(&self.clock.now());
                self.carry_out()?;
            } else if let Some(event) = self.net.pop() {
                self.happen(event)?;
            }
        }
    }

    fn happen(&mut self, event: Event) -> Result<(), String> {
        match event {
            Event::ToService(input) => {
                self.report.inputs += 1;
                match &input {
                    Input::ProducerConnected { .. } | Input::ConsumerConnected { .. } => {
                        self.connected += 1;
                    }
                    Input::ProducerDisconnected { .. } | Input::ConsumerDisconnected { .. } => {
                        self.connected = self.connected.saturating_sub(1);
                    }
                    Input::ConsumerRequest { file: Some(file), .. } => {
                        if let Some(file) = self.files.get_mut(file) {
                            file.arrived = true;
                        }
                    }
                    // Said late, when it is not true any more, it would double what may be on the way.
                    Input::ConsumerDrained { client } => {
                        let connection = self.connections.get(client);
                        if connection.is_some_and(|c| c.on_the_way > 0) {
                            return Ok(());
                        }
                    }
                    _ => {}
                }
                self.service.handle(&self.clock.now(), input);
                self.check_memory()?;
                self.carry_out()
            }
            Event::ToClient(client, reply) => self.deliver(client, reply),
            Event::FileDone(file, result) => {
                let input = Input::FileWritten { file, result };
                self.service.handle(&self.clock.now(), input);
                self.carry_out()
            }
            Event::Act(actor) => self.act(actor),
        }
    }

    /// What one service may hold, whatever its peers do.
    fn check_memory(&self) -> Result<(), String> {
        let held = self.service.footprint();
        if held.sessions > limits::SESSIONS_MAX
            || held.connections != self.connected
            || held.producers > self.connected
            || held.sources > held.producers * limits::DATA_SOURCES_PER_PRODUCER_MAX
            || held.buffers > held.sessions * limits::BUFFERS_PER_SESSION_MAX
            || held.instances > held.sessions * limits::INSTANCES_PER_SESSION_MAX
            || held.flushes > held.sessions * (limits::FLUSHES_PENDING_MAX + 1)
            || held.unsent_commands > held.producers * limits::COMMANDS_UNSENT_MAX
            || held.timers > held.sessions * 7 + held.flushes
            || held.stale_grants > 0
            || held.scratch_bytes > 2 * limits::COMMIT_CHUNK_BYTES_MAX
        {
            return Err(format!("too much is held: {held:?}"));
        }
        Ok(())
    }

    fn carry_out(&mut self) -> Result<(), String> {
        let now = self.clock.boot_ns();
        while let Some(output) = self.service.poll_output() {
            self.report.outputs += 1;
            self.digest(&output);
            match output {
                Output::Reply { client, call, result, has_more, region } => {
                    let Some(connection) = self.connections.get_mut(&client) else { continue };
                    if !connection.open.contains_key(&call) {
                        return Err(format!("a reply to {call:?}, which is answered already"));
                    }
                    if !has_more {
                        connection.open.remove(&call);
                    }
                    let response = result.ok();
                    connection.on_the_way += response.as_ref().map_or(0, |r| r.len());
                    let max = limits::READ_WINDOW_BYTES + 4 * limits::IPC_FRAME_BYTES_MAX;
                    if connection.on_the_way > max && connection.is_consumer {
                        return Err(format!("{} bytes on the way", connection.on_the_way));
                    }
                    let reply = Reply { call, response, has_more, region };
                    self.net.send_down(now, client, reply);
                }
                Output::Disconnect { .. } | Output::Log { .. } => {}
                Output::CreateFile { token, .. } => {
                    let result = if self.disk_fails && self.rng.chance(30) {
                        Err(FileError { text: "Permission denied".into() })
                    } else {
                        Ok(self.new_file(None))
                    };
                    let input = Input::FileCreated { token, result };
                    self.net.soon(now, Event::ToService(input));
                }
                Output::WriteFile { file, data, close, .. } => {
                    let result = self.write(file, &data, close)?;
                    self.net.soon(now, Event::FileDone(file, result));
                }
                Output::CopyFile { from, to } => {
                    let bytes = self.files.get(&from).map(|f| f.bytes.clone()).unwrap_or_default();
                    let result = self.write(to, &bytes, false)?;
                    self.net.soon(now, Event::FileDone(to, result));
                }
                Output::SetPriority { token, .. } => {
                    let fails = self.disk_fails && self.rng.chance(30);
                    let result = if fails { Err("Operation not permitted".into()) } else { Ok(()) };
                    self.net.soon(now, Event::ToService(Input::PrioritySet { token, result }));
                }
            }
        }
        Ok(())
    }

    /// FNV-1a over all that comes out: two runs of one seed must agree.
    fn digest(&mut self, output: &Output) {
        let mut digest = self.report.digest ^ 0xcbf2_9ce4_8422_2325;
        let mut feed = |bytes: &[u8]| {
            for byte in bytes {
                digest = (digest ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
            }
        };
        match output {
            Output::Reply { client, call, result, has_more, .. } => {
                feed(&client.0.to_le_bytes());
                feed(&call.0.to_le_bytes());
                feed(&[u8::from(*has_more), u8::from(result.is_ok())]);
                feed(result.as_deref().unwrap_or_default());
            }
            Output::WriteFile { data, .. } => feed(data),
            other => feed(format!("{other:?}").as_bytes()),
        }
        self.report.digest = digest;
    }

    fn new_file(&mut self, consumer: Option<usize>) -> FileId {
        self.last_id += 1;
        let id = FileId(self.last_id);
        let file = SimFile {
            bytes: Vec::new(),
            closed: false,
            arrived: consumer.is_none(),
            checked: 0,
            reader: Reader::default(),
            session: 0,
        };
        self.files.insert(id, file);
        id
    }

    fn write(
        &mut self,
        id: FileId,
        data: &[u8],
        close: bool,
    ) -> Result<Result<(), FileError>, String> {
        let fails = self.disk_fails && self.rng.chance(10);
        let Some(file) = self.files.get_mut(&id) else { return Err("unknown file".into()) };
        if file.closed {
            return Err(format!("{id:?} is written after its end"));
        }
        if fails {
            file.closed = true;
            return Ok(Err(FileError { text: "No space left on device".into() }));
        }
        file.bytes.extend_from_slice(data);
        file.closed = close;
        // At every moment the file is a whole trace.
        let mut fields = protozero::Reader::new(&file.bytes[file.checked..]);
        let mut packets = Vec::new();
        while let Some(field) = fields.next_field().map_err(|e| format!("{id:?} is cut: {e}"))? {
            let protozero::Value::Len(packet) = field.value else {
                return Err(format!("{id:?} is no trace"));
            };
            // Packets of hostile producers may be anything that passes the validator.
            packets.extend(TracePacket::decode(packet));
        }
        file.checked = file.bytes.len();
        for packet in &packets {
            if file.session == 0 {
                file.session = self.ledger.session_of(packet);
            }
            file.reader.packet(&mut self.ledger, file.session, packet)?;
        }
        Ok(Ok(()))
    }

    // ---------------------------------------------------------------- actors

    fn act(&mut self, index: usize) -> Result<(), String> {
        if self.client_of[index].is_none() {
            if self.ending {
                return Ok(());
            }
            self.connect(index);
        } else if !self.ending && self.rng.chance(2) {
            self.hang_up(index);
        } else {
            match &mut self.actors[index] {
                Actor::Producer(producer) => {
                    let out = if self.ending { Vec::new() } else { producer.act(&mut self.ledger) };
                    self.send_producer(index, out);
                }
                Actor::Consumer(_) => self.act_consumer(index),
            }
        }
        if self.rng.chance(1) {
            self.clock.sleep(self.rng.below(SECOND));
        }
        if self.rng.chance(1) {
            self.clock.set_wall_clock(self.rng.below(SECOND));
        }
        let pause = self.rng.pick(&[1_000_000u64, 10_000_000, 100_000_000]);
        let at = self.clock.boot_ns() + 1 + self.rng.below(pause);
        self.net.at(at, Event::Act(index));
        Ok(())
    }

    fn connect(&mut self, index: usize) {
        self.last_id += 1;
        let client = ClientId(self.last_id);
        self.client_of[index] = Some(client);
        let is_consumer = matches!(self.actors[index], Actor::Consumer(_));
        self.connections.insert(
            client,
            Connection { actor: index, open: BTreeMap::new(), on_the_way: 0, is_consumer },
        );
        let now = self.clock.boot_ns();
        match &mut self.actors[index] {
            Actor::Producer(producer) => {
                // A new process every time.
                let mut fresh = Producer::new(producer.rng.fork(), self.last_id);
                let peer = Peer { uid: fresh.uid as u32, pid: Some(fresh.pid), ..Peer::default() };
                let hello = fresh.hello();
                **producer = fresh;
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

    fn hang_up(&mut self, index: usize) {
        let Some(client) = self.client_of[index].take() else { return };
        self.connections.remove(&client);
        let input = match &mut self.actors[index] {
            Actor::Producer(producer) => {
                producer.cut(&mut self.ledger);
                Input::ProducerDisconnected { client }
            }
            Actor::Consumer(_) => Input::ConsumerDisconnected { client },
        };
        self.net.hang_up(self.clock.boot_ns(), client, input);
    }

    fn next_call(&mut self, client: ClientId, expect: Expect) -> CallId {
        self.last_id += 1;
        let call = CallId(self.last_id);
        if let Some(connection) = self.connections.get_mut(&client) {
            connection.open.insert(call, expect);
        }
        call
    }

    fn send_producer(&mut self, index: usize, mut out: Outgoing) {
        let now = self.clock.now();
        let Some(client) = self.client_of[index] else { return };
        let Actor::Producer(producer) = &mut self.actors[index] else { return };
        out.extend(producer.poll(now.boot()));
        if let Some(at) = producer.poll_at() {
            self.net.at(at.0, Event::Act(index));
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

    fn send_consumer(&mut self, index: usize, request: Request, file: Option<FileId>) -> CallId {
        let Some(client) = self.client_of[index] else { return CallId(0) };
        let expect = match request {
            Request::ObserveEvents(_) => Expect::Stream,
            _ => Expect::Answer,
        };
        let call = self.next_call(client, expect);
        let input = Input::ConsumerRequest { client, call: Some(call), request, file };
        self.net.send_up(self.clock.boot_ns(), client, input);
        call
    }

    fn deliver(&mut self, client: ClientId, reply: Reply) -> Result<(), String> {
        let Some(connection) = self.connections.get_mut(&client) else { return Ok(()) };
        let index = connection.actor;
        connection.on_the_way -= reply.response.as_ref().map_or(0, |r| r.len());
        let empty = connection.on_the_way == 0;
        match &mut self.actors[index] {
            Actor::Producer(producer) => {
                let out = producer.reply(&reply, &mut self.ledger);
                self.send_producer(index, out);
                Ok(())
            }
            Actor::Consumer(consumer) => {
                let slow = consumer.slow;
                let result = self.deliver_consumer(index, &reply);
                if empty {
                    let pause = if slow { self.rng.below(200_000_000) } else { 0 };
                    let at = self.clock.boot_ns() + pause;
                    self.net.at(at, Event::ToService(Input::ConsumerDrained { client }));
                }
                result
            }
        }
    }
}
