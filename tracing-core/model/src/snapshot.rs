//! Triggers of CLONE_SNAPSHOT mode, and the consumers of their session, which detach, attach and observe in any
//! order: each trigger is told to one consumer, which takes its snapshot, or it is in the ledger
//! (`REASON_SNAPSHOT_NOT_TAKEN`).
//!
//! ```text
//!   fires ──> delayed ──> due ──> noted ──> told            one place for each trigger
//!     │         │          │      of a consumer that has the session and observes
//!     │         └─ the end ┤
//!     └─ too many ─────────┴──────────────> lost             the ledger, and the log
//! ```
//!
//! What a consumer does when it is told, a clone of the session, is in [`session`](super::session).

use stateright::{Model, Property};

use crate::set::Set;

/// Most triggers that wait (`clone_hits_pending_max` of `tracing-core/service/src/limits.rs`).
const WAITING_MAX: usize = 2;

/// What keeps the promise. The model can be without one of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    /// `tracing-core/service/src/triggers.rs`, `delay_snapshot`: what is too much is lost, and told so.
    TooManyAreLost,
    /// `tracing-core/service/src/session/snapshot_hits.rs`: what is due waits for a consumer.
    DueWaits,
    /// `tracing-core/service/src/triggers.rs`, `handle_clone_hit_timer`: the consumer is told when the delay is over.
    ToldWhenDue,
    /// `tracing-core/service/src/session/detach.rs`, `attach`: who attaches is told of what waits.
    ToldWhenAttached,
    /// `tracing-core/service/src/core/consumer.rs`, `handle_observe_request`: who observes from now on is
    /// told of what waits.
    ToldWhenObserved,
    /// `tracing-core/service/src/triggers.rs`, `tell_hits`: nobody is told who does not observe triggers.
    OnlyObservers,
    /// `tracing-core/service/src/session/snapshot_hits.rs`, `take_due`: what was told does not wait any more.
    ToldOnce,
    /// `tracing-core/service/src/observe.rs`, `observe`: what was noted is sent before the stream is replaced.
    SentBeforeReplaced,
    /// `tracing-core/service/src/core/steps.rs`, `NoteEnd`: what is due at the end is lost.
    LostAtEnd,
    /// `tracing-core/service/src/triggers.rs`, `handle_clone_hit_timer`: what is due after the end is told
    /// or lost at once.
    LostAfterEnd,
    /// `tracing-core/service/src/core/steps.rs`, `erase`: what is delayed is lost with its session.
    LostWithSession,
}

impl Rule {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::TooManyAreLost,
        Self::DueWaits,
        Self::ToldWhenDue,
        Self::ToldWhenAttached,
        Self::ToldWhenObserved,
        Self::OnlyObservers,
        Self::ToldOnce,
        Self::SentBeforeReplaced,
        Self::LostAtEnd,
        Self::LostAfterEnd,
        Self::LostWithSession,
    ];
}

/// The model.
#[derive(Clone, Debug)]
pub struct Snapshots {
    /// How often a trigger fires.
    pub triggers: u8,
    /// The rule that it does without.
    pub without: Option<Rule>,
}

/// A connection (`tracing-core/service/src/consumers.rs`).
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub struct Consumer {
    is_connected: bool,
    observes: bool,
    /// What it is told when the turn is over (`tracing-core/service/src/observe.rs`).
    noted: Set,
    told: Set,
}

/// Where the session is (`tracing-core/service/src/session/stop.rs`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub enum Phase {
    #[default]
    Records,
    /// The memory of its producers is scraped for the end.
    Ending,
    Ended,
    Erased,
}

/// All that there is.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub struct State {
    fired: u8,
    delayed: Set,
    due: Set,
    lost: Set,
    consumers: [Consumer; 2],
    phase: Phase,
    /// The consumer of the session.
    owner: Option<usize>,
    /// No request reaches the session any more.
    is_freed: bool,
}

/// What may happen next. What happens before a turn is over happens in that turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Action {
    /// `tracing-core/service/src/triggers.rs`, `handle_hit`.
    Fire,
    /// `tracing-core/service/src/triggers.rs`, `handle_clone_hit_timer`: the delay of a trigger is over.
    DelayEnds(u8),
    /// `tracing-core/service/src/core/mod.rs`, `end_turn`: consumers are sent what was noted.
    TurnEnds,
    /// `tracing-core/service/src/core/consumer.rs`, `handle_observe_request`: a consumer asks for triggers, or
    /// for something else.
    Observe(usize, bool),
    /// `tracing-core/service/src/session/detach.rs`.
    Detach,
    /// `tracing-core/service/src/session/detach.rs`.
    Attach(usize),
    /// `tracing-core/service/src/core/consumer.rs`, `forget_consumer`.
    Disconnect(usize),
    /// `tracing-core/service/src/session/stop.rs`, `disable_or_free`: the session ends.
    End,
    /// `tracing-core/service/src/session/stop.rs`, `note_end`.
    NoteEnd,
    /// `tracing-core/service/src/core/steps.rs`, `erase`.
    Erase,
}

impl Default for State {
    fn default() -> Self {
        let empty = Set::default();
        let consumer = Consumer { is_connected: true, observes: false, noted: empty, told: empty };
        Self {
            fired: 0,
            delayed: empty,
            due: empty,
            lost: empty,
            consumers: [consumer.clone(), consumer],
            phase: Phase::Records,
            owner: Some(0),
            is_freed: false,
        }
    }
}

impl State {
    /// The consumer that would be told.
    fn observer(&self) -> Option<usize> {
        self.owner.filter(|owner| self.consumers[*owner].observes)
    }

    fn fire(&mut self, model: &Snapshots) {
        let trigger = Set::of(self.fired);
        self.fired += 1;
        if self.delayed.len() + self.due.len() < WAITING_MAX {
            self.delayed.add(trigger);
        } else if model.keeps(Rule::TooManyAreLost) {
            self.lost.add(trigger);
        }
    }

    fn delay_ends(&mut self, model: &Snapshots, trigger: Set) {
        self.delayed = self.delayed.without(trigger);
        if self.observer().is_some() || model.keeps(Rule::DueWaits) {
            self.due.add(trigger);
        }
        if model.keeps(Rule::ToldWhenDue) {
            self.tell(model);
        }
        if self.phase != Phase::Records && model.keeps(Rule::LostAfterEnd) {
            self.lose();
        }
    }

    fn tell(&mut self, model: &Snapshots) {
        let to = if model.keeps(Rule::OnlyObservers) { self.observer() } else { self.owner };
        let Some(to) = to else { return };
        let told = self.due;
        self.consumers[to].noted.add(told);
        if model.keeps(Rule::ToldOnce) {
            self.due = Set::default();
        }
    }

    fn lose(&mut self) {
        let due = self.due.take();
        self.lost.add(due);
    }

    fn observe(&mut self, model: &Snapshots, by: usize, observes: bool) {
        let consumer = &mut self.consumers[by];
        if model.keeps(Rule::SentBeforeReplaced) {
            consumer.send();
        }
        (consumer.observes, consumer.noted) = (observes, Set::default());
        if self.owner == Some(by) && model.keeps(Rule::ToldWhenObserved) {
            self.tell(model);
        }
    }

    fn attach(&mut self, model: &Snapshots, by: usize) {
        self.owner = Some(by);
        if model.keeps(Rule::ToldWhenAttached) {
            self.tell(model);
        }
    }

    /// What was sent to a consumer that leaves is its own business.
    fn disconnect(&mut self, who: usize) {
        self.consumers[who].send();
        self.consumers[who].is_connected = false;
        if self.owner == Some(who) {
            self.free();
        }
    }

    fn free(&mut self) {
        (self.owner, self.is_freed) = (None, true);
        if self.phase == Phase::Records {
            self.phase = Phase::Ending;
        }
    }

    fn end(&mut self) {
        match self.owner {
            Some(_) => self.phase = Phase::Ending,
            None => self.free(),
        }
    }

    fn erase(&mut self, model: &Snapshots) {
        self.phase = Phase::Erased;
        let delayed = self.delayed.take();
        self.due.add(delayed);
        if model.keeps(Rule::LostWithSession) {
            self.lose();
        }
    }

    /// Where triggers are.
    fn places(&self) -> Vec<Set> {
        let of_consumers =
            self.consumers.iter().flat_map(|consumer| [consumer.noted, consumer.told]);
        of_consumers.chain([self.delayed, self.due, self.lost]).collect()
    }
}

impl Consumer {
    /// Sends what was noted. Without a stream for triggers nothing is sent.
    fn send(&mut self) {
        let noted = self.noted.take();
        if self.observes {
            self.told.add(noted);
        }
    }
}

impl Snapshots {
    fn keeps(&self, rule: Rule) -> bool {
        self.without != Some(rule)
    }
}

impl Model for Snapshots {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State::default()]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        let is_detached = state.owner.is_none() && !state.is_freed;
        let is_noted = state.consumers.iter().any(|consumer| !consumer.noted.is_empty());
        let (has_ended, is_erased) = (state.phase == Phase::Ended, state.phase == Phase::Erased);
        let can = [
            (Action::Fire, !state.is_freed && state.fired < self.triggers),
            (Action::TurnEnds, is_noted),
            (Action::Detach, state.owner.is_some()),
            (Action::End, state.phase == Phase::Records),
            (Action::NoteEnd, state.phase == Phase::Ending),
            (Action::Erase, state.is_freed && has_ended),
        ];
        actions.extend(can.into_iter().filter(|(_, can)| *can).map(|(action, _)| action));
        let delayed = (0..state.fired).filter(|trigger| state.delayed.has(*trigger));
        actions.extend(delayed.map(Action::DelayEnds));
        for (who, consumer) in state.consumers.iter().enumerate() {
            if consumer.is_connected && !is_erased {
                actions.extend([false, true].map(|observes| Action::Observe(who, observes)));
                actions.push(Action::Disconnect(who));
                actions.extend(is_detached.then_some(Action::Attach(who)));
            }
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut next = last.clone();
        match action {
            Action::Fire => next.fire(self),
            Action::DelayEnds(trigger) => next.delay_ends(self, Set::of(trigger)),
            Action::TurnEnds => next.consumers.iter_mut().for_each(Consumer::send),
            Action::Observe(by, observes) => next.observe(self, by, observes),
            Action::Detach => next.owner = None,
            Action::Attach(by) => next.attach(self, by),
            Action::Disconnect(who) => next.disconnect(who),
            Action::End => next.end(),
            Action::NoteEnd => {
                next.phase = Phase::Ended;
                let delayed = next.delayed.take();
                next.due.add(delayed);
                next.tell(self);
                if self.keeps(Rule::LostAtEnd) {
                    next.lose();
                }
            }
            Action::Erase => next.erase(self),
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("each trigger is in one place", |_, state: &State| {
                state.places().iter().fold(Some(Set::default()), |all, place| {
                    all.filter(|all| all.and(*place).is_empty()).map(|all| all.with(*place))
                }) == Some(Set::below(state.fired))
            }),
            Property::always("none waits for a consumer that would be told", |_, state: &State| {
                state.due.is_empty() || state.observer().is_none()
            }),
            Property::always("none waits for a session that is over", |_, state: &State| {
                let is_over = matches!(state.phase, Phase::Ended | Phase::Erased);
                let is_erased = state.phase == Phase::Erased;
                (!is_over || state.due.is_empty()) && (!is_erased || state.delayed.is_empty())
            }),
            Property::sometimes("example: who attached is told", |_, state: &State| {
                state.owner == Some(1) && !state.consumers[1].told.is_empty()
            }),
            Property::sometimes("example: one is told, and one is lost", |_, state: &State| {
                !state.lost.is_empty() && state.consumers.iter().any(|c| !c.told.is_empty())
            }),
        ]
    }
}
