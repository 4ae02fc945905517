//! Triggers: names that producers activate, and the sessions that wait for them.
//!
//! ```text
//!   ActivateTriggers(name) ─> each session with that trigger ─> producer? chance? not too often? ─┐
//!        START_TRACING   a configured session starts, for as long as the delay says   <───────────┤
//!        STOP_TRACING    the first one ends the session after its delay               <───────────┤
//!        CLONE_SNAPSHOT  after its delay the consumer is told to clone the session    <───────────┘
//!                        once the session has one that wants to know; else the ledger tells, and the log
//! ```
//!
//! Triggers that were received go into the trace. Any producer may activate any name as often as it likes, so a name
//! that no session waits for costs a lookup, and all that is remembered is bounded.

use super::consumers::Consumers;
use super::context::Context;
use super::ledger::Reason;
use super::matching::{BUDGET_EXCEEDED, MatchCost};
use super::producers::Producer;
use super::session::config::duration_max;
use super::session::events::TriggerHit;
use super::session::life::SessionState;
use super::session::snapshot_hits::SnapshotHit;
use super::session::state::{Session, Sessions};
use super::session::trigger_config::TriggerMode;
use super::step::Step;
use super::timers::TimerKind;
use super::trigger_history::TriggerHistory;
use super::work::Piece;
use crate::limits;
use abi::ids::SessionId;
use abi::map::{BlockMap, BlockSet};
use abi::sync::Arc;

/// Which triggers of which sessions match the producer that activates them: found out once per request, which may
/// repeat a name thousands of times.
type Matches = BlockMap<(SessionId, Arc<str>), bool>;

/// What one request of a producer has found out so far.
#[derive(Debug, Default)]
struct Activation {
    matches: Matches,
    /// To match its name took too long.
    exceeded: bool,
}

/// A producer activates a piece of `names`. Returns the index to go on with, if there is one.
pub(crate) fn activate(
    history: &mut TriggerHistory,
    producer: &mut Producer,
    names: &[String],
    piece: Piece,
    sessions: &mut Sessions,
    cx: &mut Context,
) -> Option<usize> {
    let mut activation = Activation::default();
    let mut next = None;
    for (index, name) in names.iter().enumerate().skip(piece.from) {
        let done = index.saturating_sub(piece.from);
        if cx.work >= piece.work_end && done >= limits::TRIGGERS_AT_ONCE {
            next = Some(index);
            break;
        }
        activate_one(history, producer, name, &mut activation, sessions, cx);
    }
    if activation.exceeded {
        producer.log_error(&mut cx.out, format_args!("{BUDGET_EXCEEDED}"));
    }
    next
}

fn activate_one(
    history: &mut TriggerHistory,
    producer: &mut Producer,
    name: &str,
    activation: &mut Activation,
    sessions: &mut Sessions,
    cx: &mut Context,
) {
    let by = Arc::clone(&producer.name);
    let (uid, now_ns) = (producer.peer.uid, cx.now.boot_ns);
    // Each session looks the name up.
    cx.spend(limits::WORK_PER_ENTRY);
    cx.spend(limits::WORK_PER_ENTRY.saturating_mul(sessions.len() as u64));
    let waits = |s: &&mut Session| {
        s.life.is_reachable()
            && s.state() != SessionState::ClonedReadOnly
            && s.triggers.by_name.contains_key(name)
    };
    // Users whose sessions take it, and how often one had taken it before.
    let (mut taken_by, mut before) = (BlockSet::new(), 0);
    for session in sessions.values_mut().filter(waits) {
        let count = history.count(session.uid, name, now_ns);
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
        let chance = Chance { count, count_max: cx.config.limits.trigger_history_max, draw };
        let matches = &mut activation.matches;
        let found = takes(session, name, &by, chance, matches, &mut cost);
        activation.exceeded |= cost.exceeded;
        if let Some((name, delay_ms)) = found {
            cx.spend(limits::WORK_PER_TRIGGER);
            taken_by.insert(session.uid);
            before = count.max(before);
            let by = Arc::clone(&by);
            let hit = TriggerHit { at_ns: now_ns, name, producer: by, uid, delay_ms };
            handle_hit(session, hit, producer, cx);
        }
    }
    for of in taken_by.iter() {
        cx.spend(limits::WORK_PER_TRIGGER);
        history.note(*of, name, now_ns, &cx.config.limits);
    }
    // A producer may repeat this all day long: most activations are not logged.
    let few = before < limits::LOG_LINES_PER_PEER_MAX as usize
        || (before.is_power_of_two() && before < cx.config.limits.trigger_history_max);
    if !taken_by.is_empty() && few {
        cx.out.info(format!("trigger {name:?} activated by {by:?}"));
    }
}

/// What decides whether a session takes a trigger this time, beside its config.
#[derive(Clone, Copy, Debug)]
struct Chance {
    /// How often its user has taken the trigger in a day, and the highest number that is counted.
    count: usize,
    count_max: usize,
    /// A random number in [0, 1).
    draw: f64,
}

/// The name as the config has it and the delay, ms, if the session takes a trigger of that name from that producer
/// this time.
fn takes(
    session: &Session,
    name: &str,
    producer: &str,
    chance: Chance,
    matches: &mut Matches,
    cost: &mut MatchCost<'_>,
) -> Option<(Arc<str>, u64)> {
    if session.is_being_made() {
        return None;
    }
    let (name, trigger) = session.triggers.by_name.get_key_value(name)?;
    let max = (trigger.max_per_day as usize).min(chance.count_max);
    let is_match = match &trigger.producers {
        None => true,
        Some(regex) => {
            let key = (session.id, Arc::clone(name));
            *matches.get_or_insert_with(key, || regex.is_match(producer, cost))
        }
    };
    let skipped = chance.draw < trigger.skip_probability;
    let too_often = max > 0 && chance.count >= max;
    (is_match && !skipped && !too_often).then(|| (Arc::clone(name), trigger.delay_ms))
}

/// What a session does with a trigger that it takes.
fn handle_hit(session: &mut Session, hit: TriggerHit, producer: &mut Producer, cx: &mut Context) {
    let first = !std::mem::replace(&mut session.triggered, true);
    let (id, delay_ms) = (session.id, hit.delay_ms);
    if !session.unread_events.add_trigger(hit.clone()) {
        session.add_loss(producer.loss(Reason::TriggersDropped), cx);
    }
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
        (TriggerMode::Clone, _) => delay_snapshot(session, hit, producer, cx),
        _ => {}
    }
}

/// The consumer of a session is told of a trigger after its delay, unless too many wait for that.
fn delay_snapshot(
    session: &mut Session,
    hit: TriggerHit,
    producer: &mut Producer,
    cx: &mut Context,
) {
    let (max, loss) =
        (cx.config.limits.clone_hits_pending_max, producer.loss(Reason::SnapshotNotTaken));
    if session.snapshot_hits.len() < max {
        let (timer, delay_ms) = (cx.next_number(), hit.delay_ms);
        session.snapshot_hits.delay(timer, SnapshotHit { hit, loss });
        return cx.set_timer_ms(delay_ms, TimerKind::CloneHit, timer);
    }
    session.add_loss(loss, cx);
    let text = format_args!(
        "trigger {:?}: no snapshot of session {} is taken, because {max} triggers wait there for theirs; limit the \
         trigger with max_per_24_h, or attach a consumer that takes snapshots",
        hit.name, session.id
    );
    producer.log_error(&mut cx.out, text);
}

/// The timer of a trigger of CLONE_SNAPSHOT mode.
pub(crate) fn handle_clone_hit_timer(
    timer: u64,
    sessions: &mut Sessions,
    consumers: &mut Consumers,
    cx: &mut Context,
) {
    let mut sessions = sessions.values_mut();
    let found = sessions.find_map(|s| s.snapshot_hits.end_delay(timer).then_some(s));
    let Some(session) = found else { return };
    tell_hits(session, consumers, cx);
    if session.state().is_settled() {
        lose_hits(session, cx);
    }
}

/// Tells the consumer of a session of the triggers that are due, if there is one that wants to know.
pub(crate) fn tell_hits(session: &mut Session, consumers: &mut Consumers, cx: &mut Context) {
    let Some(client) = session.consumer.filter(|client| consumers.observes_clone_hits(*client))
    else {
        return;
    };
    for SnapshotHit { hit, .. } in session.snapshot_hits.take_due() {
        cx.spend(limits::WORK_PER_OBSERVED_INSTANCE);
        consumers.ask_for_clone(client, session.id, &hit, &mut cx.out);
    }
}

/// The session is over: triggers wait for no delay any more. Its consumer is told of them now, before it is told of the
/// end, or their snapshots are lost while the ledger can still be read.
pub(crate) fn end_hits(session: &mut Session, consumers: &mut Consumers, cx: &mut Context) {
    for timer in session.snapshot_hits.end_delays() {
        cx.timers.cancel(TimerKind::CloneHit, timer);
    }
    // The consumer of a session that is being freed could not clone it. Nor can one whose file is being closed.
    if session.life.is_reachable() && session.file.is_none() {
        tell_hits(session, consumers, cx);
    }
    lose_hits(session, cx);
}

/// The session is over: nobody is told of the triggers that are due any more.
pub(crate) fn lose_hits(session: &mut Session, cx: &mut Context) {
    let hits = session.snapshot_hits.take_due();
    if hits.is_empty() {
        return;
    }
    let (id, count) = (session.id, hits.len());
    cx.out.about = Some(session.uid);
    for SnapshotHit { loss, .. } in hits {
        session.add_loss(loss, cx);
    }
    cx.out.error(format!(
        "session {id} ended before a consumer was told of its triggers, so snapshots were not taken: {count}; attach a \
         consumer that takes them"
    ));
}
