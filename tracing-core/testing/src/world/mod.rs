//! One simulated run of a service: from a seed to a verdict.

mod actors;
mod configs;
mod consumers;
mod detach_clone;
mod effects;
mod files;
mod history;
pub(super) mod kept;
mod model;
mod reach;
mod service_packets;
mod sessions;
mod shape;
mod triggers;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub(super) use self::configs::random_config;
use self::consumers::Consumer;
pub(super) use self::detach_clone::NAMES;
use self::files::SimFile;
use self::history::History;
use self::model::Model;
use self::reach::Reach;
use self::sessions::{Seen, Sessions};
pub(super) use self::shape::SECRET;
use self::triggers::TriggerPrediction;
use crate::buffer::{CheckedRegions, EmittedPackets};
use crate::check::Ledger;
use crate::clock::Clock;
use crate::marks::{Marks, name_of};
use crate::net::{Event, Net};
use crate::rng::Rng;
use crate::shell::HeapRegions;
use crate::workload::Producer;
use abi::ids::{CallId, ClientId, FileId};
use service::limits::{self, Limits};
use service::{Footprint, Input, Service, ServiceConfig};

/// What happened in a run: to print, and to compare two runs of one seed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Inputs of the service.
    pub inputs: u64,
    /// Outputs of the service.
    pub outputs: u64,
    /// Packets that honest producers have written.
    pub packets_written: u64,
    /// Those that were read and checked.
    pub packets_read: u64,
    /// Gaps in sequences, all of them marked as lost packets.
    pub gaps: u64,
    /// Sessions that consumers asked for.
    pub sessions: u64,
    /// Reads after a flush that had to be complete.
    pub complete_reads: u64,
    /// Effects (of files and priorities) that can fail.
    pub effects: u64,
    /// Packets that left the service as the models of its buffers say.
    pub agreed: u64,
    /// A hash of all outputs.
    pub digest: u64,
    /// Which events happened.
    pub marks: Marks,
}

/// A random trace config, most often a valid one, as the consumers of a simulation have. The same seed gives the same
/// config.
#[must_use]
pub fn random_config_of(seed: u64) -> protos::TraceConfig {
    random_config(&mut Rng::new(seed))
}

/// Runs a simulation. The same seed gives the same run.
///
/// # Errors
/// The rule that was broken, and when.
pub fn simulate(seed: u64) -> Result<Report, String> {
    simulate_with(seed, None)
}

/// The same run, but the effect with the number `failing` (from 0, of those that can fail) fails.
///
/// # Errors
/// As [`simulate`].
pub fn simulate_with(seed: u64, failing: Option<u64>) -> Result<Report, String> {
    let mut world = World::new(seed);
    world.failing = failing;
    let run = world.run().and_then(|()| world.shut_down());
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

/// Events and turns of one run: far more than any needs.
const STEPS_MAX: u64 = 1_000_000;

enum Actor {
    Producer(Box<Producer>),
    Consumer(Box<Consumer>),
}

/// Which replies a call may still get.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expect {
    /// One final reply, before the end.
    Answer,
    /// Replies until the connection is closed.
    Stream,
}

struct Connection {
    actor: usize,
    /// Calls without a final reply.
    open: BTreeMap<CallId, Expect>,
    /// Bytes of replies in transit.
    in_transit: usize,
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
    /// Producers that have left, and whose memory the service keeps.
    memory_of_gone: BTreeSet<ClientId>,
    disk_fails: bool,
    /// Effects so far that can fail, and the one that does.
    effects: u64,
    failing: Option<u64>,
    ledger: Ledger,
    model: Model,
    sessions: Sessions,
    history: History,
    prediction: TriggerPrediction,
    /// When the next piece of a clone is copied, or of other work done.
    piece_at: Option<u64>,
    /// Events and turns that may still come.
    steps_left: u64,
    /// What the service may keep.
    limits: Limits,
    /// Memory that it may use for buffers and clones, bytes; zero: as much as it likes.
    memory_bytes: u64,
    /// Work of one peer that is done at once, and of all that wait.
    per_peer: u64,
    per_turn: u64,
    /// Bytes that are compressed at once.
    compress_piece: usize,
    report: Report,
    last_id: u64,
    /// Open connections, as the service sees them.
    connected: usize,
    ending: bool,
}
/// That of the service, without its limits.
fn service_config(rng: &mut Rng, emitted: &EmittedPackets) -> ServiceConfig {
    let mut config = ServiceConfig::new(Arc::new(CheckedRegions::new(HeapRegions, emitted)));
    config.pid = 1;
    config.version = "simulated".into();
    config.host.machine_name = "sim".into();
    config.seed = rng.next();
    config.check_seed = config.seed.rotate_left(32);
    config.scrape_by_default = rng.chance(50);
    config
}

impl World {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let clock = Clock::new(&mut rng);
        let net = Net::new(rng.fork());
        let emitted = EmittedPackets::default();
        let mut config = service_config(&mut rng, &emitted);
        let limits = kept::limits(&mut Rng::new(!seed));
        config.limits = limits;
        let memory_bytes = kept::memory_bytes(&mut Rng::new(seed.rotate_left(32)));
        config.memory_bytes = memory_bytes;
        let disk_fails = rng.chance(15);
        let mut service = Service::new(config);
        service.set_clone_piece(rng.pick(&[4096, 16 * 1024, 256 * 1024]));
        let per_peer = rng.pick(&[1024, 8 * 1024, limits::WORK_PER_PEER]);
        let per_turn = per_peer * rng.pick(&[1, 3, 8]);
        service.set_work(per_peer, per_turn);
        let compress_piece = rng.pick(&[4096, 16 * 1024, limits::COMPRESS_PIECE_BYTES]);
        service.set_compress_piece(compress_piece);
        let model = Model::new(emitted);
        let mut world = Self {
            clock,
            net,
            service,
            model,
            sessions: Sessions::default(),
            history: History::default(),
            prediction: TriggerPrediction::default(),
            piece_at: None,
            steps_left: STEPS_MAX,
            limits,
            memory_bytes,
            per_peer,
            per_turn,
            compress_piece,
            actors: Vec::new(),
            connections: BTreeMap::new(),
            client_of: Vec::new(),
            files: BTreeMap::new(),
            memory_of_gone: BTreeSet::new(),
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
        let (producers, consumers) = (world.rng.within(1, 5), world.rng.within(1, 4));
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

    fn run(&mut self) -> Result<(), String> {
        let seconds = self.rng.pick(&[2, 5, 20]);
        self.run_for(seconds * SECOND)
    }

    /// All clients disconnect; then the service must hold nothing.
    fn shut_down(&mut self) -> Result<(), String> {
        self.ending = true;
        let last_call = CallId::new(self.last_id);
        self.run_for(40 * SECOND)?;
        for connection in self.connections.values() {
            // Producers may send requests until they disconnect: only older ones must be answered.
            let due = |call: &CallId| connection.is_consumer || *call <= last_call;
            let unanswered =
                connection.open.iter().filter(|(c, e)| due(c) && **e == Expect::Answer);
            let calls: Vec<_> = unanswered.map(|(call, _)| call).collect();
            if !calls.is_empty() {
                return Err(format!("calls {calls:?} were never answered"));
            }
        }
        for actor in 0..self.actors.len() {
            self.disconnect(actor);
        }
        self.run_for(10 * SECOND)?;
        self.free_detached()?;
        self.run_for(10 * SECOND)?;
        let left = self.service.footprint();
        // The service remembers fired triggers for a day.
        if left != (Footprint { trigger_names: left.trigger_names, ..Footprint::default() }) {
            return Err(format!("left behind: {left:?}"));
        }
        if !self.memory_of_gone.is_empty() {
            return Err(format!("memory was never released: {:?}", self.memory_of_gone));
        }
        self.settle()?;
        if let Some((id, _)) = self.files.iter().find(|(_, f)| f.arrived && !f.closed) {
            return Err(format!("{id:?} was never closed"));
        }
        Ok(())
    }

    /// Advances the time by `ns`, not counting suspended time.
    fn run_for(&mut self, ns: u64) -> Result<(), String> {
        let end = self.clock.awake_ns() + ns;
        loop {
            let end = self.clock.boot_ns() + end.saturating_sub(self.clock.awake_ns());
            let timer = self.due_ns().map(|at| at.max(self.clock.boot_ns()));
            let event = self.net.next_at();
            let next = timer.into_iter().chain(event).min();
            let Some(at) = next.filter(|at| *at <= end) else {
                self.clock.advance_to(end);
                return Ok(());
            };
            self.clock.advance_to(at);
            if event.is_none_or(|event| event > self.clock.boot_ns()) {
                self.step(None)?;
            } else if let Some(event) = self.net.pop() {
                self.run_event(event)?;
            }
        }
    }

    /// When the service runs next: at its next timer, or when the next piece of work is done.
    fn due_ns(&mut self) -> Option<u64> {
        let timer = self.service.poll_timers().map(|at| at.as_ns());
        if !self.service.copies_clones() && !self.service.has_work() {
            return timer;
        }
        let (rng, now_ns) = (&mut self.rng, self.clock.boot_ns());
        let piece = *self
            .piece_at
            .get_or_insert_with(|| now_ns + rng.pick(&[0, 50_000, 1_000_000, 20_000_000]));
        timer.into_iter().chain([piece]).min()
    }

    fn run_event(&mut self, event: Event) -> Result<(), String> {
        match event {
            Event::ToService(input) => {
                self.report.inputs += 1;
                self.report.marks.input(&input);
                match &input {
                    Input::ProducerConnected { .. } | Input::ConsumerConnected { .. } => {
                        self.connected += 1;
                    }
                    Input::ProducerDisconnected { .. }
                    | Input::ProducerCut { .. }
                    | Input::ConsumerDisconnected { .. } => {
                        self.connected = self.connected.saturating_sub(1);
                    }
                    Input::ConsumerRequest { file: Some(file), .. } => {
                        if let Some(file) = self.files.get_mut(file) {
                            file.arrived = true;
                        }
                    }
                    // This event is late: more replies were sent meanwhile.
                    Input::Drained { client } => {
                        let connection = self.connections.get(client);
                        if connection.is_some_and(|c| c.in_transit > 0) {
                            return Ok(());
                        }
                    }
                    _ => {}
                }
                self.step(Some(input))?;
                self.check_memory()
            }
            Event::ToClient(client, reply) => self.deliver(client, reply),
            Event::FileWritten(file, _) if self.files.get(&file).is_some_and(|f| f.abandoned) => {
                Ok(())
            }
            Event::FileWritten(file, result) => {
                let input = Input::FileWritten { file, result };
                self.report.marks.input(&input);
                self.step(Some(input))
            }
            Event::Act(actor) => self.act(actor),
            Event::Poll(actor) => {
                self.send_producer(actor, Vec::new());
                Ok(())
            }
        }
    }

    /// Gives the service an event, or lets it handle its timers.
    fn step(&mut self, input: Option<Input>) -> Result<(), String> {
        self.steps_left =
            self.steps_left.checked_sub(1).ok_or("the service never comes to rest")?;
        // A shell keeps requests of a peer whose work waits.
        if let Some(Input::ProducerRequest { client, .. } | Input::ConsumerRequest { client, .. }) =
            &input
        {
            while self.service.is_busy(*client) {
                self.report.marks.event(match &input {
                    Some(Input::ProducerRequest { .. }) => {
                        "a request waited for earlier work of its producer"
                    }
                    _ => "a request waited for earlier work of its consumer",
                });
                self.step(None)?;
            }
        }
        let now = self.clock.now();
        self.history.at(&now);
        let (seen, by_itself) = match &input {
            Some(input) => {
                let known = (&self.service, &self.sessions, &mut self.history);
                self.prediction.before(known, &now, input);
                (Seen::of(&self.service, input), !matches!(input, Input::ConsumerRequest { .. }))
            }
            None => (Seen::Nothing, true),
        };
        match input {
            Some(input) => {
                if self.service.copies_clones() {
                    self.report.marks.event("an input came while a clone was copied");
                }
                if self.service.has_work() {
                    self.report.marks.event("an input came while work waited");
                }
                let (most, all_sessions) = (self.cost_max(&input), self.sessions_max());
                let (before, begun) = (self.service.compressed_bytes(), Cost::of(&self.service));
                let connected = self.service.footprint().connections;
                let by_producer = matches!(input, Input::ProducerRequest { .. });
                let name = name_of(&input);
                self.service.handle(&now, input);
                // A producer that is cut for its request leaves at once: that may end a flush of each session.
                let is_cut = self.service.footprint().connections < connected;
                let most = if by_producer && is_cut { all_sessions } else { most };
                if self.service.compressed_bytes() > before {
                    return Err("an input led to compression at once".into());
                }
                begun.check(&self.service, most, || format!("the input {name}"))?;
            }
            None => {
                self.piece_at = None;
                let before = self.service.compressed_bytes();
                let (most, begun) = (self.timeout_cost_max(), Cost::of(&self.service));
                self.service.handle_timeout(&now);
                begun.check(&self.service, most, || "a timeout".into())?;
                let compressed = self.service.compressed_bytes() - before;
                if compressed > self.compress_piece as u64 {
                    return Err(format!("{compressed} bytes were compressed in one turn"));
                }
            }
        }
        let marks = &mut self.report.marks;
        self.sessions.took(&self.service, &seen, now.boot_ns, marks)?;
        self.prediction.after(&self.service, &now, by_itself, &mut self.report.marks)?;
        kept::check_buffers(&self.service.footprint(), self.memory_bytes)?;
        if kept::check(&self.service.fullest(), &self.limits)? {
            self.report.marks.event("as much was kept as there may be");
        }
        self.carry_out()
    }

    /// The most that an input may cost.
    fn cost_max(&self, input: &Input) -> Cost {
        let instances = self.service.footprint().instances as u64;
        let read = self.session_max().read;
        let at_once = self.per_peer + limits::WORK_PER_REQUEST;
        let chunk = limits::COMMIT_CHUNK_BYTES_MAX as u64 + limits::WORK_PER_ENTRY;
        // What is done in pieces may cost one thing more.
        let done = match Reach::of(input) {
            Reach::Answer => 2 * limits::WORK_PER_REQUEST,
            Reach::Chunks => at_once + chunk + instances * limits::WORK_PER_ENTRY,
            Reach::Instances => at_once + 4 * limits::WORK_PER_INSTANCE,
            Reach::Session => self.session_max().done,
            Reach::Sessions => return self.sessions_max(),
        };
        Cost { done, read }
    }

    /// The most that a timeout may cost.
    fn timeout_cost_max(&self) -> Cost {
        let compressed = self.compress_piece as u64 * limits::WORK_PER_COMPRESSED_BYTE;
        let Cost { done, read } = self.sessions_max();
        Cost { done: done + self.per_turn + self.piece_max() + compressed, read }
    }

    /// The most that a peer may cause at once: its allowance, and one thing more.
    fn piece_max(&self) -> u64 {
        const CHUNK: u64 = limits::COMMIT_CHUNK_BYTES_MAX as u64;
        // It may overwrite a record for each 16 bytes.
        const EVICTED: u64 = CHUNK / 16 * limits::WORK_PER_EVICTED;
        // Its own regular expressions, and what follows from an instance.
        self.per_peer
            + 2 * CHUNK
            + EVICTED
            + 16 * limits::WORK_PER_INSTANCE
            + limits::WORK_PER_REQUEST
    }

    /// The most that one session may cause at once: a piece of its work, a look at its instances for a flush, and what
    /// is read for its consumer and its file.
    fn session_max(&self) -> Cost {
        let instances = self.service.footprint().instances as u64 + 64;
        let read = (limits::READ_WINDOW_BYTES + limits::FILE_PASS_BYTES) as u64;
        let done = self.piece_max() + instances * limits::WORK_PER_ENTRY;
        Cost { done, read: 2 * read * limits::WORK_PER_ENCODED_BYTE }
    }

    /// The most that all sessions may cause at once, and a new one.
    fn sessions_max(&self) -> Cost {
        self.session_max().times(self.service.footprint().sessions as u64 + 1)
    }

    fn check_memory(&self) -> Result<(), String> {
        let held = self.service.footprint();
        if held_too_much(&held, self.connected) {
            return Err(format!("too much is held by {} connections: {held:?}", self.connected));
        }
        Ok(())
    }
}

/// What the service did, in units of work.
#[derive(Clone, Copy)]
struct Cost {
    /// All but what follows.
    done: u64,
    /// For packets that were read, and for answers.
    read: u64,
}

impl Cost {
    /// Of a service, so far.
    fn of(service: &Service) -> Self {
        Self { done: service.work() - service.read_work(), read: service.read_work() }
    }

    fn times(self, count: u64) -> Self {
        Self { done: self.done * count, read: self.read * count }
    }

    /// Checks what a service did since then.
    fn check(self, service: &Service, most: Self, what: impl Fn() -> String) -> Result<(), String> {
        let now = Self::of(service);
        for (cost, most, of) in [
            (now.done - self.done, most.done, "work"),
            (now.read - self.read, most.read, "reading"),
        ] {
            if cost > most {
                return Err(format!("{of} of {cost}, where {most} is allowed, in {}", what()));
            }
        }
        Ok(())
    }
}

/// Whether a service with `connected` connections holds more than its limits allow, or another number of bytes than it
/// has charged to users and sessions.
pub(super) fn held_too_much(held: &Footprint, connected: usize) -> bool {
    held.sessions > limits::SESSIONS_WITH_CLONES_MAX
        || held.connections != connected
        || held.producers > connected
        || held.sources > (held.producers + held.waiting) * limits::DATA_SOURCES_PER_PRODUCER_MAX
        || held.source_bytes != held.source_bytes_charged
        || held.source_bytes_of_one > limits::SOURCE_BYTES_PER_USER_MAX
        || held.config_bytes != held.config_bytes_charged
        || held.buffer_bytes != held.buffer_bytes_charged
        || held.buffer_bytes_used > held.buffer_bytes
        || held.flush_answers.0 != held.flush_answers.1
        || held.config_bytes_of_one > limits::INSTANCE_CONFIG_BYTES_PER_SESSION_MAX
        || held.buffers > held.sessions * limits::BUFFERS_PER_SESSION_MAX
        || held.instances > held.sessions * limits::INSTANCES_PER_SESSION_MAX
        || held.flushes > held.sessions * (limits::FLUSHES_PENDING_MAX + 1)
        || held.pending_clones > limits::SESSIONS_WITH_CLONES_MAX
        || held.copying > held.pending_clones * limits::BUFFERS_PER_SESSION_MAX
        || held.detached_buffers > held.copying
        || held.unsent_commands
            > (held.producers + held.waiting) * limits::COMMANDS_UNSENT_MAX + 4 * held.instances
        || held.timers > held.sessions * 7 + held.flushes + held.delayed_hits + held.pending_clones
        || held.trigger_names > limits::TRIGGER_NAMES_MAX
        || held.delayed_hits > held.sessions * limits::CLONE_HITS_PENDING_MAX
        || held.stale_grants > 0
        || held.losses > held.sessions * (limits::LEDGER_ENTRIES_MAX + 2)
        || held.scratch_bytes > 2 * limits::COMMIT_CHUNK_BYTES_MAX
}
