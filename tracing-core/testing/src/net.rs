//! Messages in transit: in order within a connection, delayed at random, lost with the connection.

use std::collections::BTreeMap;

use super::rng::Rng;
use super::shell::Reply;
use abi::ids::{ClientId, FileId};
use service::{FileError, Input};

/// Something that happens at a moment.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "a test world has memory")]
pub(super) enum Event {
    /// A message or the end of a connection reaches the service.
    ToService(Input),
    /// A reply reaches a client.
    ToClient(ClientId, Reply),
    /// A file operation is over.
    FileWritten(FileId, Result<(), FileError>),
    /// An actor takes its next step.
    Act(usize),
    /// A producer's arbiter has a deadline.
    Poll(usize),
}

/// Events by time, and within one instant in the order they were caused.
#[derive(Debug)]
pub(super) struct Net {
    rng: Rng,
    queue: BTreeMap<(u64, u64), Event>,
    last: u64,
    /// Latest delivery of each direction of each connection: bytes do not overtake each other.
    up: BTreeMap<ClientId, u64>,
    down: BTreeMap<ClientId, u64>,
    /// The same for each file: its writes complete in order.
    files: BTreeMap<FileId, u64>,
    delay_ns_max: u64,
}

impl Net {
    pub(super) fn new(mut rng: Rng) -> Self {
        let delay_ns_max = rng.pick(&[1, 1_000, 1_000_000, 50_000_000]);
        Self {
            rng,
            queue: BTreeMap::new(),
            last: 0,
            up: BTreeMap::new(),
            down: BTreeMap::new(),
            files: BTreeMap::new(),
            delay_ns_max,
        }
    }

    pub(super) fn next_at(&self) -> Option<u64> {
        self.queue.first_key_value().map(|((at, _), _)| *at)
    }

    pub(super) fn pop(&mut self) -> Option<Event> {
        self.queue.pop_first().map(|(_, event)| event)
    }

    pub(super) fn at(&mut self, at: u64, event: Event) {
        self.last += 1;
        self.queue.insert((at, self.last), event);
    }

    /// Schedules an event after a random delay.
    pub(super) fn soon(&mut self, now: u64, event: Event) {
        let at = now + self.rng.below(self.delay_ns_max);
        self.at(at, event);
    }

    /// Schedules the end of a file operation, after those before it.
    pub(super) fn file_written(&mut self, now: u64, file: FileId, result: Result<(), FileError>) {
        let at = now + self.rng.below(self.delay_ns_max);
        let latest = self.files.entry(file).or_default();
        *latest = at.max(*latest);
        let at = *latest;
        self.at(at, Event::FileWritten(file, result));
    }

    pub(super) fn send_up(&mut self, now: u64, client: ClientId, input: Input) {
        let at = now + self.rng.below(self.delay_ns_max);
        let latest = self.up.entry(client).or_default();
        *latest = at.max(*latest);
        let at = *latest;
        self.at(at, Event::ToService(input));
    }

    pub(super) fn send_down(&mut self, now: u64, client: ClientId, reply: Reply) {
        let at = now + self.rng.below(self.delay_ns_max);
        let latest = self.down.entry(client).or_default();
        *latest = at.max(*latest);
        let at = *latest;
        self.at(at, Event::ToClient(client, reply));
    }

    /// The service closed the connection: messages in transit are lost.
    pub(super) fn forget(&mut self, client: ClientId) {
        self.queue.retain(|_, event| match event {
            Event::ToService(input) => of(input) != Some(client),
            Event::ToClient(to, _) => *to != client,
            _ => true,
        });
        self.up.remove(&client);
        self.down.remove(&client);
    }

    /// The client closes the connection. What it sent before either arrives or, at random, is lost from some
    /// point on, as with a process that is killed while it writes.
    pub(super) fn disconnect(&mut self, now: u64, client: ClientId, input: Input) {
        let sent: Vec<(u64, u64)> = self
            .queue
            .iter()
            .filter(|(_, e)| matches!(e, Event::ToService(i) if of(i) == Some(client) && !opens(i)))
            .map(|(key, _)| *key)
            .collect();
        if self.rng.chance(50) {
            let kept = self.rng.below(sent.len() as u64 + 1) as usize;
            for key in &sent[kept..] {
                self.queue.remove(key);
            }
        }
        self.queue.retain(|_, e| !matches!(e, Event::ToClient(c, _) if *c == client));
        self.send_up(now, client, input);
        self.up.remove(&client);
        self.down.remove(&client);
    }
}

/// Whether an input opens a connection: that cannot be lost.
fn opens(input: &Input) -> bool {
    matches!(input, Input::ProducerConnected { .. } | Input::ConsumerConnected { .. })
}

fn of(input: &Input) -> Option<ClientId> {
    match input {
        Input::ProducerConnected { client, .. }
        | Input::ProducerRefused { client, .. }
        | Input::ProducerRequest { client, .. }
        | Input::ProducerDisconnected { client }
        | Input::ProducerCut { client, .. }
        | Input::ConsumerConnected { client, .. }
        | Input::ConsumerRequest { client, .. }
        | Input::ConsumerDisconnected { client }
        | Input::FramesDecoded { client, .. }
        | Input::Drained { client } => Some(*client),
        Input::FileCreated { .. }
        | Input::FileWritten { .. }
        | Input::PrioritySet { .. }
        | Input::ShellCounted(_) => None,
    }
}
