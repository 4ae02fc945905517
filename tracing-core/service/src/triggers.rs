//! Triggers: names that producers call out, and what sessions that wait for them do then.
//!
//! ```text
//!   ActivateTriggers(name) ─> each session with that trigger ─> producer? luck? not too often? ─┐
//!        START_TRACING   a configured session starts, for as long as the delay says   <─────────┤
//!        STOP_TRACING    the first one ends the session after its delay               <─────────┤
//!        CLONE_SNAPSHOT  after its delay the consumer is told to clone the session    <─────────┘
//! ```
//!
//! What was received goes into the trace. Any producer may call out any name as often as it likes, so a
//! name that no session waits for costs a lookup, and all that is remembered is bounded.

use std::collections::{BTreeMap, VecDeque};

use protos::TraceConfig;

use super::core::Service;
use super::matching::{Effort, NameRegex, TOO_MUCH};
use super::session::state::{Session, State, TriggerHit};
use super::timers::{Clock, TimerKind};
use crate::limits;
use abi::ids::{ProducerId, SessionId};
use abi::sync::Arc;

/// What a session does when one of its triggers is fired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) enum TriggerMode {
    /// It has none.
    #[default]
    None,
    Start,
    Stop,
    /// It goes on; its consumer clones it.
    Clone,
}

impl TriggerMode {
    /// As the config asks; `use_clone_snapshot_if_available` makes a clone of what would be a stop.
    pub(super) fn of(config: &TraceConfig) -> Self {
        let Some(trigger) = &config.trigger_config else { return Self::None };
        if trigger.use_clone_snapshot_if_available == Some(true) {
            return Self::Clone;
        }
        match trigger.trigger_mode.map_or(0, |m| m.0) {
            1 => Self::Start,
            2 => Self::Stop,
            4 => Self::Clone,
            _ => Self::None,
        }
    }
}

/// One trigger of a config.
#[derive(Debug, Default)]
struct Trigger {
    producers: Option<NameRegex>,
    delay_ms: u64,
    /// Zero for any number.
    max_per_day: u32,
    skip_probability: f64,
}

/// The triggers of a session.
#[derive(Debug, Default)]
pub(super) struct Triggers {
    pub(super) mode: TriggerMode,
    by_name: BTreeMap<Arc<str>, Trigger>,
}

impl Triggers {
    /// Reads them from a config whose other checks passed; `compile` makes an expression of a producer name.
    ///
    /// # Errors
    /// What `compile` says.
    pub(super) fn from_config(
        config: &TraceConfig,
        mut compile: impl FnMut(&str) -> Result<NameRegex, String>,
    ) -> Result<Self, String> {
        let mut by_name = BTreeMap::new();
        for trigger in config.trigger_config.iter().flat_map(|t| &t.triggers) {
            let regex = trigger.producer_name_regex.as_deref().unwrap_or_default();
            let made = Trigger {
                producers: (!regex.is_empty()).then(|| compile(regex)).transpose()?,
                delay_ms: trigger.stop_delay_ms.unwrap_or(0).into(),
                max_per_day: trigger.max_per_24_h.unwrap_or(0),
                skip_probability: trigger.skip_probability.unwrap_or(0.0),
            };
            by_name.insert(trigger.name.as_deref().unwrap_or_default().into(), made);
        }
        Ok(Self { mode: TriggerMode::of(config), by_name })
    }
}

/// When triggers were fired that some session took, by name: for `max_per_24_h`, which is shared by
/// all sessions and producers.
#[derive(Debug, Default)]
pub(super) struct TriggerHistory {
    by_name: BTreeMap<String, VecDeque<u64>>,
}

impl TriggerHistory {
    /// How often in the window that ends now.
    fn count(&mut self, name: &str, now_ns: u64) -> usize {
        let Some(times) = self.by_name.get_mut(name) else { return 0 };
        let is_old = |at: u64| now_ns.saturating_sub(at) > limits::TRIGGER_WINDOW_NS;
        while times.front().is_some_and(|at| is_old(*at)) {
            times.pop_front();
        }
        times.len()
    }

    fn note(&mut self, name: &str, now_ns: u64) {
        if !self.by_name.contains_key(name) && self.by_name.len() >= limits::TRIGGER_NAMES_MAX {
            let latest = |(_, times): &(&String, &VecDeque<u64>)| times.back().copied();
            let oldest = self.by_name.iter().min_by_key(latest).map(|(name, _)| name.clone());
            if let Some(oldest) = oldest {
                self.by_name.remove(&oldest);
            }
        }
        let times = self.by_name.entry(name.to_owned()).or_default();
        if times.len() >= limits::TRIGGER_HISTORY_MAX {
            times.pop_front();
        }
        times.push_back(now_ns);
    }

    #[cfg(any(test, feature = "testing"))]
    pub(super) fn len(&self) -> usize {
        self.by_name.len()
    }
}

impl Session {
    /// True while its trace must not be read: nothing was triggered yet, or it is there to be cloned only.
    pub(crate) fn waits_for_trigger(&self) -> bool {
        let untriggered = !self.triggers.by_name.is_empty() && !self.triggered;
        self.state != State::ClonedReadOnly
            && (untriggered || self.triggers.mode == TriggerMode::Clone)
    }
}

/// Which triggers of which sessions take the producer that calls: found out once per request, which may
/// repeat a name thousands of times.
type Wanted = BTreeMap<(SessionId, Arc<str>), bool>;

impl Service {
    /// A producer calls out names.
    pub(super) fn activate_triggers(&mut self, producer: ProducerId, names: &[String]) {
        let Some(producer) = self.producers.get_mut(&producer) else { return };
        let (caller, mut purse) = (producer.id, std::mem::take(&mut producer.purse));
        let (producer, uid): (Arc<str>, u32) = (producer.name.as_str().into(), producer.peer.uid);
        let now_ns = self.now.boot_ns;
        let mut wanted = Wanted::new();
        let mut turn = std::mem::take(&mut self.regex_steps);
        let mut effort =
            Effort { purse: &mut purse, turn: &mut turn, uid: 0, now_ns, too_much: false };
        for name in names {
            let waiting: Vec<SessionId> = self
                .sessions
                .values()
                .filter(|s| !s.freed && s.state != State::ClonedReadOnly)
                .filter(|s| s.triggers.by_name.contains_key(name.as_str()))
                .map(|s| s.id)
                .collect();
            if waiting.is_empty() {
                continue;
            }
            let count = self.trigger_history.count(name, now_ns);
            let mut taken = false;
            for id in waiting {
                if let Some((name, delay_ms)) =
                    self.takes_trigger(id, name, &producer, count, (&mut wanted, &mut effort))
                {
                    taken = true;
                    let producer = Arc::clone(&producer);
                    let hit = TriggerHit { at_ns: now_ns, name, producer, uid, delay_ms };
                    self.trigger_session(id, hit);
                }
            }
            if taken {
                self.trigger_history.note(name, now_ns);
                // A producer may do this all day long: the lines become rare.
                let few = count < limits::LOG_LINES_PER_PEER_MAX as usize;
                if few || (count.is_power_of_two() && count < limits::TRIGGER_HISTORY_MAX) {
                    self.out.info(format!("trigger {name:?} activated by {producer:?}"));
                }
            }
        }
        let too_much = effort.too_much;
        self.regex_steps = turn;
        let Some(producer) = self.producers.get_mut(&caller) else { return };
        producer.purse = purse;
        if too_much {
            producer.complain(&mut self.out, format_args!("{TOO_MUCH}"));
        }
    }

    /// The name as the config has it and the delay, ms, if the session takes a trigger of that name from
    /// that producer this time.
    fn takes_trigger(
        &mut self,
        id: SessionId,
        name: &str,
        producer: &str,
        count: usize,
        (wanted, effort): (&mut Wanted, &mut Effort<'_>),
    ) -> Option<(Arc<str>, u64)> {
        // Its number is drawn for each, so that what a session sees does not hang on its neighbours' luck.
        let draw = self.draw();
        if self.is_being_made(id) {
            return None;
        }
        let session = self.sessions.get(&id)?;
        let (name, trigger) = session.triggers.by_name.get_key_value(name)?;
        effort.uid = session.uid;
        let max = (trigger.max_per_day as usize).min(limits::TRIGGER_HISTORY_MAX);
        let wanted = match &trigger.producers {
            None => true,
            Some(regex) => {
                let found = wanted.entry((id, Arc::clone(name)));
                *found.or_insert_with(|| regex.is_match(producer, effort))
            }
        };
        let skipped = draw < trigger.skip_probability;
        let too_often = max > 0 && count >= max;
        (wanted && !skipped && !too_often).then(|| (Arc::clone(name), trigger.delay_ms))
    }

    fn trigger_session(&mut self, id: SessionId, hit: TriggerHit) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let first = !std::mem::replace(&mut session.triggered, true);
        let (mode, state) = (session.triggers.mode, session.state);
        session.pending.trigger(hit.clone());
        self.snapshot_clocks(id);
        match (mode, state) {
            (TriggerMode::Start, State::Configured) => self.start_for(id, hit.delay_ms),
            (TriggerMode::Stop, State::Configured | State::Started) if first => {
                let delay_ns = hit.delay_ms.saturating_mul(1_000_000);
                let now = self.now;
                self.timers.set_in(&now, Clock::Monotonic, delay_ns, TimerKind::TriggerStop, id.0);
            }
            (TriggerMode::Clone, _) => self.delay_clone_hit(id, hit),
            _ => {}
        }
    }

    /// Starts a session for `duration_ms`. Zero would be for ever, upstream: here it is for as long as any
    /// session may take.
    fn start_for(&mut self, id: SessionId, duration_ms: u64) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let max = super::session::config::duration_max(&session.config);
        let duration_ms = if duration_ms == 0 { max } else { duration_ms.min(max) };
        session.config.duration_ms = Some(u32::try_from(duration_ms).unwrap_or(u32::MAX));
        self.start_tracing(id);
    }

    fn delay_clone_hit(&mut self, id: SessionId, hit: TriggerHit) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        if session.delayed_hits.len() >= limits::CLONE_HITS_PENDING_MAX {
            return;
        }
        self.last_token += 1;
        let (token, now) = (self.last_token, self.now);
        let delay_ns = hit.delay_ms.saturating_mul(1_000_000);
        session.delayed_hits.insert(token, hit);
        self.timers.set_in(&now, Clock::Monotonic, delay_ns, TimerKind::CloneHit, token);
    }

    /// The timer of a trigger of CLONE_SNAPSHOT mode.
    pub(super) fn clone_hit_due(&mut self, token: u64) {
        let found = self.sessions.values_mut().find_map(|session| {
            let hit = session.delayed_hits.remove(&token)?;
            Some((session.id, session.consumer?, hit))
        });
        if let Some((id, client, hit)) = found {
            self.observe_clone_hit(client, id, &hit);
        }
    }

    /// The timer of a trigger of STOP_TRACING mode.
    pub(super) fn trigger_stop_due(&mut self, id: SessionId) {
        self.flush_and_disable(id);
    }

    /// The timer of START_TRACING mode: nobody fired the trigger.
    pub(super) fn trigger_timed_out(&mut self, id: SessionId) {
        if self.sessions.get(&id).is_some_and(|s| s.state == State::Configured) {
            self.disable_or_free(id);
        }
    }

    /// The duration is over. A session that a trigger stops already ends by the trigger's delay.
    pub(super) fn duration_over(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get(&id) else { return };
        if session.triggers.mode != TriggerMode::Stop || !session.triggered {
            self.flush_and_disable(id);
        }
    }
}
