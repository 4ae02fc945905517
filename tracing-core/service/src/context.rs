//! What all parts of the service share: the config, the clock, the effects, the timers, the accounts, the numbers given
//! out, and the steps that follow.

use super::accounts::{Accounts, User};
use super::effect_queue::{Caller, EffectQueue};
use super::matching::{MatchCost, RegexBudget};
use super::step::Step;
use super::timers::{Clock, Timer, Timers};
use crate::config::ServiceConfig;
use crate::limits;
use abi::ids::{CloneId, FlushId, InstanceId, ShellToken};
use abi::time::Now;

/// One value for the life of the service, which each part gets while it handles an input or a timer.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) config: ServiceConfig,
    /// The time of the input or timer that is being handled.
    pub(crate) now: Now,
    pub(crate) out: EffectQueue,
    pub(crate) timers: Timers,
    pub(crate) random: Random,
    /// Machine of the packets that the service writes itself: that of a producer in this process.
    pub(crate) machine_id: u32,
    /// Cost of matching names, of all producers.
    pub(crate) match_steps: RegexBudget,
    /// What was done so far, in units of work; see [`limits::WORK_PER_ENTRY`].
    pub(crate) work: u64,
    /// The part of it that sessions were charged: a peer that led to it is not.
    pub(crate) session_work: u64,
    /// The part of it that was for packets that were read, and for answers: windows bound it.
    pub(crate) read_work: u64,
    /// What users hold.
    pub(crate) accounts: Accounts,
    /// When the kernel may be asked again what it cannot reclaim, boot time, ns.
    unreclaimable_due_ns: u64,
    last_instance: u64,
    last_flush: u64,
    /// Of tokens, clones and triggers.
    last_number: u64,
    steps: Vec<Step>,
}

impl Context {
    pub(crate) fn new(config: ServiceConfig) -> Self {
        Self {
            random: Random { state: config.seed, fixed_draw: None },
            accounts: Accounts::of_service(&config),
            work: 0,
            session_work: 0,
            read_work: 0,
            config,
            now: Now::default(),
            out: EffectQueue::default(),
            timers: Timers::default(),
            machine_id: 0,
            match_steps: RegexBudget::default(),
            unreclaimable_due_ns: 0,
            last_instance: 0,
            last_flush: 0,
            last_number: 0,
            steps: Vec::new(),
        }
    }

    /// The cost of matching the name of a producer, of this user and with this budget, for a session of user `uid`.
    pub(crate) fn match_cost<'a>(
        &'a mut self,
        budget: &'a mut RegexBudget,
        producer: User,
        uid: u32,
    ) -> MatchCost<'a> {
        MatchCost {
            budget,
            all: &mut self.match_steps,
            work: &mut self.work,
            uid,
            producer: producer.ids(),
            now_ns: self.now.boot_ns,
            exceeded: false,
        }
    }

    /// Counts work.
    pub(crate) fn spend(&mut self, work: u64) {
        self.work = self.work.saturating_add(work);
    }

    /// All work that no session was charged.
    pub(crate) fn peer_work(&self) -> u64 {
        self.work.saturating_sub(self.session_work)
    }

    /// All work that no session was charged, without that of reading, which windows bound.
    pub(crate) fn unpaid_work(&self) -> u64 {
        self.peer_work().saturating_sub(self.read_work)
    }

    /// Counts work of reading packets, or of an answer.
    pub(crate) fn spend_on_reading(&mut self, bytes: u64, per_byte: u64) {
        let work = bytes.saturating_mul(per_byte);
        self.read_work = self.read_work.saturating_add(work);
        self.spend(work);
    }

    /// Asks the kernel how much memory it cannot reclaim, if it was not asked a moment ago. What it did not count when
    /// it was asked before goes from the accounts of users whose producers are gone.
    pub(crate) fn shrink_gone(&mut self) {
        if self.now.boot_ns >= self.unreclaimable_due_ns {
            self.unreclaimable_due_ns =
                self.now.boot_ns.saturating_add(limits::UNRECLAIMABLE_ASKED_NS);
            let counted = self.config.regions.ask_unreclaimable_bytes();
            self.accounts.note_unreclaimable(counted);
        }
    }

    /// Adds a step behind those that were added since [`take_steps`](Self::take_steps).
    pub(crate) fn then(&mut self, step: Step) {
        self.steps.push(step);
    }

    /// Adds the step that answers a call with success, if the peer waits for an answer.
    pub(crate) fn succeed(&mut self, caller: Caller) {
        if caller.call.is_some() {
            self.then(Step::ReplySuccess(caller));
        }
    }

    /// Whether no step was added since [`take_steps`](Self::take_steps).
    pub(crate) fn has_no_steps(&self) -> bool {
        self.steps.is_empty()
    }

    /// The steps that were added, in that order.
    pub(crate) fn take_steps(&mut self) -> std::vec::Drain<'_, Step> {
        self.steps.drain(..)
    }

    /// Frees the memory of steps, but for so many of them.
    pub(crate) fn shrink_steps(&mut self, kept: usize) {
        self.steps.shrink_to(kept);
    }

    /// How many steps there is memory for.
    pub(crate) fn steps_capacity(&self) -> usize {
        self.steps.capacity()
    }

    /// A number for something that a timer will name.
    pub(crate) fn next_number(&mut self) -> u64 {
        self.last_number = self.last_number.saturating_add(1);
        self.last_number
    }

    /// A token for a request to the shell, whose answer will name it.
    pub(crate) fn next_token(&mut self) -> ShellToken {
        ShellToken::new(self.next_number())
    }

    pub(crate) fn next_clone(&mut self) -> CloneId {
        CloneId::new(self.next_number())
    }

    pub(crate) fn next_flush(&mut self) -> FlushId {
        self.last_flush = self.last_flush.saturating_add(1);
        FlushId::new(self.last_flush)
    }

    pub(crate) fn next_instance(&mut self) -> InstanceId {
        self.last_instance = self.last_instance.saturating_add(1);
        InstanceId::new(self.last_instance)
    }

    /// How many data source instances there ever were.
    pub(crate) fn instances_seen(&self) -> u64 {
        self.last_instance
    }

    /// Sets a timer of the monotonic clock.
    pub(crate) fn set_timer_ms(&mut self, delay_ms: u64, timer: Timer) {
        self.set_timer_ms_on(Clock::Monotonic, delay_ms, timer);
    }

    /// Sets a timer of any clock.
    pub(crate) fn set_timer_ms_on(&mut self, clock: Clock, ms: u64, timer: Timer) {
        self.timers.set_in(&self.now, clock, ms.saturating_mul(1_000_000), timer);
    }

    /// Lets a timer that is set fire in `delay_ms` if it would fire later.
    pub(crate) fn hasten_timer_ms(&mut self, delay_ms: u64, timer: Timer) {
        self.timers.hasten(&self.now, delay_ms.saturating_mul(1_000_000), timer);
    }

    /// Sets a timer to the next multiple of a period.
    pub(crate) fn set_aligned_timer(&mut self, period_ms: u64, timer: Timer) {
        self.timers.set_aligned(&self.now, period_ms, timer);
    }
}

/// Random numbers (SplitMix64). A peer that sees one can compute the seed and all others.
#[derive(Debug)]
pub(crate) struct Random {
    state: u64,
    /// Set by tests of triggers.
    pub(crate) fixed_draw: Option<f64>,
}

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number in [0, 1).
    pub(crate) fn draw(&mut self) -> f64 {
        if let Some(draw) = self.fixed_draw {
            return draw;
        }
        // As many bits as a double holds.
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}
