//! One writer that drops packets when its shared memory is used up, and the end of its producer or of the session at
//! any step: each packet that was begun is in the trace, or a mark stands where it is missing, also behind the last
//! one.
//!
//! ```text
//!   writer ──> chunk ──> complete ──┐ memory         outbox ──> socket ──> service ──> trace
//!              (being written)      └──────────────── Commit, Mark ───────────┘
//!                                    scraped when the producer is gone, or ───┘
//!                                    the session ends
//! ```
//!
//! A process that is killed after a writer began to drop packets, and before its mark left the process, sends nothing
//! of it. How often writers began to drop is counted in the memory, too: the service compares.
//! It does the same when a session ends, as nobody reads what comes later. A packet that has not ended then is no loss.

use stateright::{Model, Property};

use crate::set::Set;

/// Chunks of the memory, and packets of a chunk.
const CHUNKS: usize = 2;
const PACKETS: usize = 2;

/// What keeps the promise. The model can be without one of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    /// `tracing-core/client/src/write/sink.rs`, `start_dropping`: a mark is sent when dropping begins.
    MarkWhenDropping,
    /// `tracing-core/client/src/write/state.rs`, `add_mark`: the memory has a count of marks. The service compares it
    /// with those that came (`tracing-core/service/src/producers/memory.rs`, `untold_losses`).
    MarksAreCounted,
    /// `tracing-core/service/src/session/state.rs`, `note_untold`: it compares when a session ends, too.
    ComparedAtEnd,
    /// `tracing-core/service/src/session/state.rs`, `loses`: a session is over when memory was scraped for its end.
    OverWhenScraped,
    /// `tracing-core/service/src/leftovers/scrape.rs`: what a producer left complete is taken.
    LeftoversAreTaken,
    /// `tracing-core/service/src/leftovers/scrape.rs`: a packet that was begun leaves a mark.
    BegunIsMarked,
    /// `tracing-core/service/src/ledger/mod.rs`: that a producer was cut is in the ledger.
    CutIsInLedger,
    /// `tracing-core/abi/src/shm/reader.rs`, `scrape_chunk`: only finished fragments are copied.
    OnlyFinished,
    /// `tracing-core/service/src/buffer/v1/write.rs`: a commit replaces what was scraped of its chunk.
    CommitReplaces,
}

impl Rule {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::MarkWhenDropping,
        Self::MarksAreCounted,
        Self::ComparedAtEnd,
        Self::OverWhenScraped,
        Self::LeftoversAreTaken,
        Self::BegunIsMarked,
        Self::CutIsInLedger,
        Self::OnlyFinished,
        Self::CommitReplaces,
    ];
}

/// The model.
#[derive(Clone, Debug)]
pub struct Loss {
    /// Packets that the program begins.
    pub packets: u8,
    /// The rule that it does without.
    pub without: Option<Rule>,
}

/// A chunk in memory or in the buffer of the service (`tracing-core/abi/src/shm/fragment.rs`).
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub struct Chunk {
    id: u8,
    finished: Set,
    /// A packet that was begun and not ended.
    open: Option<u8>,
    /// Its last fragment says that packets are missing behind the others, or it is a mark.
    is_mark: bool,
}

/// What the producer tells the service (`tracing-core/client/src/write/commit.rs`).
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub enum Message {
    /// The chunk with this number is complete.
    Commit(u8),
    /// A chunk by value: packets are missing behind the chunk before.
    Mark(u8),
}

/// All that there is.
#[derive(Clone, PartialEq, Eq, Debug, Hash, Default)]
pub struct State {
    begun: u8,
    /// While the service had the producer.
    ended: Set,
    next_chunk: u8,
    is_dropping: bool,
    current: Option<Chunk>,
    complete: Vec<Chunk>,
    outbox: Vec<Message>,
    socket: Vec<Message>,
    is_killed: bool,
    /// The service knows that the producer is gone.
    is_gone: bool,
    is_in_ledger: bool,
    /// Marks that were sent or are to be, as the memory says.
    marks_counted: u8,
    /// Marks that came.
    marks: u8,
    /// The session takes what is left, and does not record any more.
    is_ending: bool,
    is_over: bool,
    trace: Vec<Chunk>,
}

/// What may happen next.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Action {
    /// `tracing-core/client/src/write/sink.rs`: a packet begins, or is dropped.
    Begin,
    /// `tracing-core/client/src/write/sink.rs`, `end_root`.
    End,
    /// `tracing-core/client/src/write/sink.rs`, `give_packet_up`: the packet goes on, and there is no chunk.
    GiveUp,
    /// `tracing-core/client/src/producer/connection.rs`: a message leaves the process.
    Send,
    /// `tracing-core/service/src/commit.rs`: the service takes a message.
    Receive,
    /// `tracing-core/service/src/commit.rs`: a flush, for which the chunk being written is scraped.
    Scrape,
    /// The process is killed, or ends without a word.
    Kill,
    /// `tracing-core/service/src/leftovers/mod.rs`: the service sees the hang-up, behind all that arrived before.
    HangUp,
    /// `tracing-core/service/src/core/producer.rs`: the service cuts the connection.
    Cut,
    /// `tracing-core/service/src/session/stop.rs`, `finalise`: the session begins to end. Nobody waits for the writer.
    Stop,
    /// `tracing-core/service/src/session/stop.rs`, `handle_scrape_end`: the session is over.
    Scraped,
}

impl State {
    fn used(&self) -> usize {
        self.complete.len() + usize::from(self.current.is_some())
    }

    fn new_id(&mut self) -> u8 {
        self.next_chunk += 1;
        self.next_chunk - 1
    }

    fn begin(&mut self, model: &Loss) {
        let packet = self.begun;
        self.begun += 1;
        let is_full = |chunk: &Chunk| chunk.finished.len() >= PACKETS;
        if self.current.as_ref().is_none_or(is_full) {
            // The next chunk is asked for before the last one goes.
            let is_free = self.used() < CHUNKS;
            self.return_chunk();
            if !is_free {
                return self.start_dropping(model);
            }
            let id = self.new_id();
            self.current = Some(Chunk { id, finished: Set::default(), open: None, is_mark: false });
        }
        self.is_dropping = false;
        if let Some(chunk) = &mut self.current {
            chunk.open = Some(packet);
        }
    }

    fn start_dropping(&mut self, model: &Loss) {
        if !std::mem::replace(&mut self.is_dropping, true) && model.keeps(Rule::MarkWhenDropping) {
            let id = self.new_id();
            self.marks_counted += u8::from(model.keeps(Rule::MarksAreCounted));
            self.outbox.push(Message::Mark(id));
        }
    }

    fn return_chunk(&mut self) {
        if let Some(chunk) = self.current.take() {
            self.outbox.push(Message::Commit(chunk.id));
            self.complete.push(chunk);
        }
    }

    fn receive(&mut self, model: &Loss) {
        match self.socket.remove(0) {
            Message::Commit(id) => {
                if let Some(at) = self.complete.iter().position(|chunk| chunk.id == id) {
                    let chunk = self.complete.remove(at);
                    self.store(model, chunk);
                }
            }
            Message::Mark(id) => {
                let finished = Set::default();
                self.marks += 1;
                self.store(model, Chunk { id, finished, open: None, is_mark: true });
            }
        }
    }

    fn store(&mut self, model: &Loss, chunk: Chunk) {
        match self.trace.iter_mut().find(|stored| stored.id == chunk.id) {
            Some(stored) if model.keeps(Rule::CommitReplaces) => *stored = chunk,
            Some(_) => {}
            None => self.trace.push(chunk),
        }
        self.trace.sort_by_key(|chunk| chunk.id);
    }

    /// The finished packets of the chunk being written.
    fn scraped(&self, model: &Loss) -> Option<Chunk> {
        let mut chunk = self.current.clone()?;
        let open = chunk.open.take().filter(|_| !model.keeps(Rule::OnlyFinished));
        chunk.finished.add(open.map_or(Set::default(), Set::of));
        Some(chunk)
    }

    fn leave(&mut self, model: &Loss) {
        self.is_gone = true;
        let is_loss = self.is_loss(model);
        self.is_in_ledger |= is_loss && self.marks_counted > self.marks;
        self.socket.clear();
        for chunk in std::mem::take(&mut self.complete) {
            if model.keeps(Rule::LeftoversAreTaken) {
                self.store(model, chunk);
            }
        }
        if let Some(mut chunk) = self.scraped(model) {
            let is_begun = self.current.as_ref().is_some_and(|chunk| chunk.open.is_some());
            chunk.is_mark |= is_loss && is_begun && model.keeps(Rule::BegunIsMarked);
            self.store(model, chunk);
        }
    }

    /// Whether what a producer leaves unfinished is a loss of the session.
    fn is_loss(&self, model: &Loss) -> bool {
        !self.is_ending || model.keeps(Rule::OverWhenScraped)
    }

    /// Takes what the writer still holds, and compares, if the producer is there.
    fn end(&mut self, model: &Loss) {
        self.is_over = true;
        if self.is_gone {
            return;
        }
        for chunk in self.complete.clone().into_iter().chain(self.scraped(model)) {
            self.store(model, chunk);
        }
        let is_untold = self.marks_counted > self.marks;
        self.is_in_ledger |= is_untold && model.keeps(Rule::ComparedAtEnd);
    }

    /// How many packets were begun, without one that may still end.
    fn due(&self) -> u8 {
        let open = self.current.as_ref().and_then(|chunk| chunk.open);
        self.begun - u8::from(!self.is_gone && open.is_some())
    }

    /// Whether each packet is in the trace, or a mark or the ledger says that it is missing.
    fn is_told(&self) -> bool {
        let (mut next, mut is_marked) = (0, false);
        for chunk in &self.trace {
            for packet in (0..self.begun).filter(|packet| chunk.finished.has(*packet)) {
                if packet != next && !is_marked {
                    return false;
                }
                (next, is_marked) = (packet + 1, false);
            }
            is_marked |= chunk.is_mark;
        }
        next == self.due() || is_marked || self.is_in_ledger
    }
}

impl Loss {
    fn keeps(&self, rule: Rule) -> bool {
        self.without != Some(rule)
    }
}

impl Model for Loss {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State::default()]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        if state.is_over {
            return;
        }
        let open = state.current.as_ref().is_some_and(|chunk| chunk.open.is_some());
        let is_alive = !state.is_killed;
        let can = [
            (Action::Begin, is_alive && !open && state.begun < self.packets),
            (Action::End, is_alive && open),
            (Action::GiveUp, is_alive && open && state.used() == CHUNKS),
            (Action::Send, is_alive && !state.is_gone && !state.outbox.is_empty()),
            (Action::Receive, !state.is_gone && !state.socket.is_empty()),
            (Action::Scrape, !state.is_gone && state.current.is_some()),
            (Action::Kill, is_alive),
            (Action::HangUp, state.is_killed && !state.is_gone && state.socket.is_empty()),
            (Action::Cut, !state.is_gone),
            (Action::Stop, !state.is_ending),
            (Action::Scraped, state.is_ending),
        ];
        actions.extend(can.into_iter().filter(|(_, can)| *can).map(|(action, _)| action));
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut next = last.clone();
        match action {
            Action::Begin => next.begin(self),
            Action::End => {
                let chunk = next.current.as_mut()?;
                let packet = Set::of(chunk.open.take()?);
                chunk.finished.add(packet);
                if !next.is_gone {
                    next.ended.add(packet);
                }
            }
            Action::GiveUp => {
                let chunk = next.current.as_mut()?;
                chunk.open = None;
                chunk.is_mark = true;
                next.return_chunk();
                next.start_dropping(self);
            }
            Action::Send => {
                let message = next.outbox.remove(0);
                next.socket.push(message);
            }
            Action::Receive => next.receive(self),
            Action::Scrape => {
                let chunk = next.scraped(self)?;
                next.store(self, chunk);
            }
            Action::Kill => {
                next.is_killed = true;
                next.outbox.clear();
            }
            Action::HangUp => next.leave(self),
            Action::Cut => {
                // The process goes on, and what it writes is lost.
                next.is_in_ledger |= next.is_loss(self) && self.keeps(Rule::CutIsInLedger);
                next.outbox.clear();
                next.leave(self);
            }
            Action::Stop => next.is_ending = true,
            Action::Scraped => next.end(self),
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("every loss is told", |_, state: &State| {
                !(state.is_gone || state.is_over) || state.is_told()
            }),
            Property::always("only whole packets are in the trace", |_, state: &State| {
                let all = state.trace.iter().fold(Set::default(), |all, c| all.with(c.finished));
                state.ended.contains(all)
            }),
            Property::always(
                "a packet that ended is in the trace",
                |model: &Self, state: &State| {
                    let all =
                        state.trace.iter().fold(Set::default(), |all, c| all.with(c.finished));
                    let is_complete = state.is_gone || state.is_over;
                    let may_miss = !model.keeps(Rule::CutIsInLedger) || !is_complete;
                    may_miss || all.contains(state.ended)
                },
            ),
            Property::sometimes("example: a packet is dropped, and told", |_, state: &State| {
                state.is_gone && state.trace.iter().any(|chunk| chunk.is_mark)
            }),
            Property::sometimes(
                "example: a mark does not leave its process",
                |_, state: &State| state.is_gone && state.marks_counted > state.marks,
            ),
            Property::sometimes(
                "example: a mark comes when nobody reads it",
                |_, state: &State| {
                    state.is_over && !state.is_gone && state.marks_counted > state.marks
                },
            ),
        ]
    }
}
