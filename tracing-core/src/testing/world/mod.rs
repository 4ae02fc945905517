//! One simulated life of a service, from a seed to a verdict.

mod actors;
mod configs;
mod consumers;
mod files;
mod guests;
mod model;

use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) use self::configs::random_config;
use self::configs::reader_of_anything;
use self::consumers::Consumer;
use self::files::SimFile;
pub(super) use self::guests::NAMES;
use self::model::Model;
use crate::ids::{CallId, ClientId, FileId};
use crate::limits;
use crate::service::{FileError, Footprint, HostInfo, Input, Output, Service, ServiceConfig};
use crate::testing::check::Ledger;
use crate::testing::clock::Clock;
use crate::testing::marks::Marks;
use crate::testing::net::{Event, Net};
use crate::testing::rng::Rng;
use crate::testing::shell::{HeapRegions, Reply};
use crate::testing::workload::Producer;

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
    /// Effects that could fail.
    pub effects: u64,
    /// Packets that left the service as the models of its buffers say.
    pub agreed: u64,
    /// A digest of everything the service put out.
    pub digest: u64,
    /// What happened, by kind.
    pub marks: Marks,
}

/// Lives one life. The same seed gives the same life.
///
/// # Errors
/// The rule that was broken, and when.
pub fn simulate(seed: u64) -> Result<Report, String> {
    simulate_with(seed, None)
}

/// The same life, but effect number `failing` (from 0, of those that can fail) fails.
///
/// # Errors
/// As [`simulate`].
pub fn simulate_with(seed: u64, failing: Option<u64>) -> Result<Report, String> {
    let mut world = World::new(seed);
    world.failing = failing;
    let run = world.live().and_then(|()| world.die());
    run.map_err(|error| format!("seed {seed}, at {} ns: {error}", world.clock.boot_ns()))?;
    let mut report = world.report;
    report.packets_written = world.ledger.logs.values().map(|l| u64::from(l.written)).sum();
    report.packets_read = world.ledger.packets_read;
    report.gaps = world.ledger.gaps_seen;
    report.agreed = world.model.agreed;
    report.effects = world.effects;
    if report.gaps > 0 {
        report.marks.event("a gap with its mark");
    }
    Ok(report)
}

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
    /// Effects that can fail so far, and which of them does.
    effects: u64,
    failing: Option<u64>,
    ledger: Ledger,
    model: Model,
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
            codecs: crate::compress::Codecs::BUILT,
        };
        let disk_fails = rng.chance(15);
        let mut service = Service::new(config);
        let model = Model::new(service.watch_buffers());
        let mut world = Self {
            clock,
            net,
            service,
            model,
            actors: Vec::new(),
            connections: BTreeMap::new(),
            client_of: Vec::new(),
            files: BTreeMap::new(),
            disk_fails,
            effects: 0,
            failing: None,
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
        self.run_for(seconds * SECOND)
    }

    /// Everybody leaves; then nothing may be left.
    fn die(&mut self) -> Result<(), String> {
        self.ending = true;
        let last_call = CallId(self.last_id);
        self.run_for(40 * SECOND)?;
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
        self.run_for(10 * SECOND)?;
        self.give_up_detached()?;
        self.run_for(10 * SECOND)?;
        let left = self.service.footprint();
        // Which trigger fired when is remembered for a day.
        if left != (Footprint { trigger_names: left.trigger_names, ..Footprint::default() }) {
            return Err(format!("left behind: {left:?}"));
        }
        self.model.end()?;
        if let Some((id, _)) = self.files.iter().find(|(_, f)| f.arrived && !f.closed) {
            return Err(format!("{id:?} was never closed"));
        }
        Ok(())
    }

    /// Lets so much time pass in which the machine is awake.
    fn run_for(&mut self, ns: u64) -> Result<(), String> {
        let end = self.clock.awake_ns() + ns;
        loop {
            let end = self.clock.boot_ns() + end.saturating_sub(self.clock.awake_ns());
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
                self.report.marks.input(&input);
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
                self.carry_out()?;
                self.check_memory()
            }
            Event::ToClient(client, reply) => self.deliver(client, reply),
            Event::FileDone(file, result) => {
                let input = Input::FileWritten { file, result };
                self.report.marks.input(&input);
                self.service.handle(&self.clock.now(), input);
                self.carry_out()
            }
            Event::Act(actor) => self.act(actor),
            Event::Poll(actor) => {
                self.send_producer(actor, Vec::new());
                Ok(())
            }
        }
    }

    fn check_memory(&self) -> Result<(), String> {
        let held = self.service.footprint();
        if held_too_much(&held, self.connected) {
            return Err(format!("too much is held by {} connections: {held:?}", self.connected));
        }
        Ok(())
    }

    fn carry_out(&mut self) -> Result<(), String> {
        let now = self.clock.boot_ns();
        while let Some(output) = self.service.poll_output() {
            self.report.outputs += 1;
            self.report.marks.output(&output);
            self.digest(&output);
            match output {
                Output::Reply { client, call, result, has_more, region } => {
                    let bytes = result.as_deref().unwrap_or_default();
                    self.model.reply(call, bytes, !has_more)?;
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
                Output::Disconnect { client } => self.cut_off(client),
                Output::Log { .. } => {}
                Output::CreateFile { token, .. } => {
                    let result = if self.effect_fails(30) {
                        Err(FileError { text: "Permission denied".into() })
                    } else {
                        Ok(self.new_file(None, reader_of_anything()))
                    };
                    let input = Input::FileCreated { token, result };
                    self.net.soon(now, Event::ToService(input));
                }
                Output::WriteFile { file, data, close, .. } => {
                    self.model.file(&data)?;
                    let result = self.write(file, &data, close)?;
                    self.net.soon(now, Event::FileDone(file, result));
                }
                Output::CopyFile { from, to } => {
                    let bytes = self.files.get(&from).map(|f| f.bytes.clone()).unwrap_or_default();
                    let result = self.write(to, &bytes, false)?;
                    self.net.soon(now, Event::FileDone(to, result));
                }
                Output::AbandonFile { file } => {
                    let Some(file) = self.files.get_mut(&file) else {
                        return Err("unknown file".into());
                    };
                    file.closed = true;
                }
                Output::SetPriority { token, .. } => {
                    let fails = self.effect_fails(30);
                    let result = if fails { Err("Operation not permitted".into()) } else { Ok(()) };
                    self.net.soon(now, Event::ToService(Input::PrioritySet { token, result }));
                }
            }
        }
        Ok(())
    }

    /// Whether the effect that is carried out now fails: by number, or by chance on a bad disk.
    fn effect_fails(&mut self, percent: u64) -> bool {
        self.effects += 1;
        self.failing == Some(self.effects - 1) || self.disk_fails && self.rng.chance(percent)
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
}

/// Whether a service with so many connections holds more than it may, whatever its peers do.
pub(super) fn held_too_much(held: &Footprint, connected: usize) -> bool {
    held.sessions > limits::SESSIONS_WITH_CLONES_MAX
        || held.connections != connected
        || held.producers > connected
        || held.sources > held.producers * limits::DATA_SOURCES_PER_PRODUCER_MAX
        || held.buffers > held.sessions * limits::BUFFERS_PER_SESSION_MAX
        || held.instances > held.sessions * limits::INSTANCES_PER_SESSION_MAX
        || held.flushes > held.sessions * (limits::FLUSHES_PENDING_MAX + 1)
        || held.pending_clones > limits::SESSIONS_WITH_CLONES_MAX
        || held.unsent_commands > held.producers * limits::COMMANDS_UNSENT_MAX
        || held.timers > held.sessions * 7 + held.flushes + held.delayed_hits + held.pending_clones
        || held.trigger_names > limits::TRIGGER_NAMES_MAX
        || held.delayed_hits > held.sessions * limits::CLONE_HITS_PENDING_MAX
        || held.stale_grants > 0
        || held.scratch_bytes > 2 * limits::COMMIT_CHUNK_BYTES_MAX
}
