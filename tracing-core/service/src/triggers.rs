//! Triggers: names that producers activate, and the sessions that wait for them.
//!
//! ```text
//!   ActivateTriggers(name) ─> each session with that trigger ─> producer? chance? not too often? ─┐
//!        START_TRACING   a configured session starts, for as long as the delay says   <───────────┤
//!        STOP_TRACING    the first one ends the session after its delay               <───────────┤
//!        CLONE_SNAPSHOT  after its delay the consumer is told to clone the session    <───────────┘
//! ```
//!
//! Triggers that were received go into the trace. Any producer may activate any name as often as it likes, so a name
//! that no session waits for costs a lookup, and all that is remembered is bounded.

use std::collections::VecDeque;

use super::consumers::Consumers;
use super::context::Context;
use super::matching::{BUDGET_EXCEEDED, MatchCost};
use super::producers::Producer;
use super::session::config::duration_max;
use super::session::events::TriggerHit;
use super::session::life::SessionState;
use super::session::state::{Session, Sessions};
use super::session::trigger_config::TriggerMode;
use super::step::Step;
use super::timers::TimerKind;
use crate::limits::{self, Limits};
use abi::ids::SessionId;
use abi::map::BlockMap;
use abi::sync::Arc;

/// When triggers were activated that some session took, by name: for `max_per_24_h`, which all sessions and producers
/// share.
#[derive(Debug, Default)]
pub(crate) struct TriggerHistory {
    by_name: BlockMap<String, VecDeque<u64>>,
}

/// Which triggers of which sessions match the producer that activates them: found out once per request, which may
/// repeat a name thousands of times.
type Matches = BlockMap<(SessionId, Arc<str>), bool>;

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

    fn note(&mut self, name: &str, now_ns: u64, limits: &Limits) {
        if !self.by_name.contains_key(name) && self.by_name.len() >= limits.trigger_names_max {
            let latest = |(_, times): &(&String, &VecDeque<u64>)| times.back().copied();
            let oldest = self.by_name.iter().min_by_key(latest).map(|(name, _)| name.clone());
            if let Some(oldest) = oldest {
                self.by_name.remove(&oldest);
            }
        }
        let times = self.by_name.get_or_insert_with(name.to_owned(), VecDeque::new);
        if times.len() >= limits.trigger_history_max {
            times.pop_front();
        }
        times.push_back(now_ns);
    }

    pub(crate) fn len(&self) -> usize {
        self.by_name.len()
    }

    /// The most activations that are remembered of one trigger.
    pub(crate) fn longest(&self) -> usize {
        self.by_name.values().map(VecDeque::len).max().unwrap_or(0)
    }

    /// A producer activates names, from the one at `from` on, until the work of `cx` is `end`. Returns the index to
    /// go on with, if there is one.
    pub(crate) fn activate(
        &mut self,
        producer: &mut Producer,
        names: &[String],
        (from, end): (usize, u64),
        sessions: &mut Sessions,
        cx: &mut Context,
    ) -> Option<usize> {
        let by = producer.name.clone();
        let (uid, now_ns) = (producer.peer.uid, cx.now.boot_ns);
        let mut matches = Matches::new();
        let mut exceeded = false;
        let mut next = None;
        for (index, name) in names.iter().enumerate().skip(from) {
            let done = index.saturating_sub(from);
            if cx.work >= end && done >= limits::TRIGGERS_AT_ONCE {
                next = Some(index);
                break;
            }
            // Each session looks the name up.
            cx.spend(limits::WORK_PER_ENTRY);
            cx.spend(limits::WORK_PER_ENTRY.saturating_mul(sessions.len() as u64));
            let count = self.count(name, now_ns);
            let mut taken = false;
            let waits = |s: &&mut Session| {
                s.life.is_reachable()
                    && s.state() != SessionState::ClonedReadOnly
                    && s.triggers.by_name.contains_key(name.as_str())
            };
            for session in sessions.values_mut().filter(waits) {
                // Drawn for each session, so that what it sees does not depend on the others.
                let draw = cx.random.draw();
                let mut cost = MatchCost {
                    budget: &mut producer.regex_budget,
                    all: &mut cx.match_steps,
                    work: &mut cx.work,
                    uid: session.uid,
                    now_ns,
                    exceeded: false,
                };
                let times = (count, cx.config.limits.trigger_history_max);
                let found = takes(session, name, &by, (times, draw), &mut matches, &mut cost);
                exceeded |= cost.exceeded;
                if let Some((name, delay_ms)) = found {
                    cx.spend(limits::WORK_PER_TRIGGER);
                    taken = true;
                    let producer = Arc::clone(&by);
                    hit(session, TriggerHit { at_ns: now_ns, name, producer, uid, delay_ms }, cx);
                }
            }
            if taken {
                cx.spend(limits::WORK_PER_TRIGGER);
                self.note(name, now_ns, &cx.config.limits);
                // A producer may repeat this all day long: most activations are not logged.
                let few = count < limits::LOG_LINES_PER_PEER_MAX as usize;
                if few || (count.is_power_of_two() && count < cx.config.limits.trigger_history_max)
                {
                    cx.out.info(format!("trigger {name:?} activated by {by:?}"));
                }
            }
        }
        if exceeded {
            producer.log_error(&mut cx.out, format_args!("{BUDGET_EXCEEDED}"));
        }
        next
    }
}

/// The name as the config has it and the delay, ms, if the session takes a trigger of that name from that producer
/// this time.
fn takes(
    session: &Session,
    name: &str,
    producer: &str,
    ((count, count_max), draw): ((usize, usize), f64),
    matches: &mut Matches,
    cost: &mut MatchCost<'_>,
) -> Option<(Arc<str>, u64)> {
    if session.is_being_made() {
        return None;
    }
    let (name, trigger) = session.triggers.by_name.get_key_value(name)?;
    let max = (trigger.max_per_day as usize).min(count_max);
    let is_match = match &trigger.producers {
        None => true,
        Some(regex) => {
            let key = (session.id, Arc::clone(name));
            *matches.get_or_insert_with(key, || regex.is_match(producer, cost))
        }
    };
    let skipped = draw < trigger.skip_probability;
    let too_often = max > 0 && count >= max;
    (is_match && !skipped && !too_often).then(|| (Arc::clone(name), trigger.delay_ms))
}

/// What a session does with a trigger that it takes.
fn hit(session: &mut Session, hit: TriggerHit, cx: &mut Context) {
    let first = !std::mem::replace(&mut session.triggered, true);
    let (id, delay_ms) = (session.id, hit.delay_ms);
    session.pending.trigger(hit.clone());
    session.snapshot_clocks(&cx.now);
    match (session.triggers.mode, session.state()) {
        (TriggerMode::Start, SessionState::Configured) if first => {
            // Zero is for ever, upstream: here it is for as long as any session may take.
            let max = duration_max(&session.config);
            let duration_ms = if delay_ms == 0 { max } else { delay_ms.min(max) };
            let duration_ms = Some(u32::try_from(duration_ms).unwrap_or(u32::MAX));
            Arc::make_mut(&mut session.config).duration_ms = duration_ms;
            // Instances that are set up from now on are told this one.
            session.encoded.clear();
            cx.then(Step::Start(id));
        }
        (TriggerMode::Stop, SessionState::Configured | SessionState::Started) if first => {
            cx.set_timer_ms(delay_ms, TimerKind::TriggerStop, id.get());
        }
        (TriggerMode::Clone, _)
            if session.delayed_hits.len() < cx.config.limits.clone_hits_pending_max =>
        {
            let token = cx.next_token();
            session.delayed_hits.insert(token, hit);
            cx.set_timer_ms(delay_ms, TimerKind::CloneHit, token);
        }
        _ => {}
    }
}

/// The timer of a trigger of CLONE_SNAPSHOT mode.
pub(crate) fn clone_hit_due(
    token: u64,
    sessions: &mut Sessions,
    consumers: &mut Consumers,
    cx: &mut Context,
) {
    let found = sessions.values_mut().find_map(|session| {
        let hit = session.delayed_hits.remove(&token)?;
        Some((session.id, session.consumer?, hit))
    });
    if let Some((id, client, hit)) = found {
        consumers.clone_trigger_hit(client, id, &hit, &mut cx.out);
    }
}
