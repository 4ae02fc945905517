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
use super::matching::{BUDGET_EXCEEDED, Match, Matches};
use super::producers::Producer;
use super::session::config::duration_max;
use super::session::events::TriggerHit;
use super::session::life::SessionState;
use super::session::snapshot_hits::SnapshotHit;
use super::session::state::{Session, Sessions};
use super::session::trigger_config::TriggerMode;
use super::step::Step;
use super::timers::Timer;
use super::trigger_history::TriggerHistory;
use super::work::Piece;
use crate::accounts::User;
use crate::limits;
use abi::map::BlockSet;
use abi::sync::Arc;

/// A producer activates a piece of `names`. `matches` is what is matched of the first one. Returns the index to go on
/// with, if there is one.
pub(crate) fn activate(
    history: &mut TriggerHistory,
    producer: &mut Producer,
    names: &[String],
    matches: &mut Matches,
    piece: Piece,
    sessions: &mut Sessions,
    cx: &mut Context,
) -> Option<usize> {
    let (mut next, mut matching, mut is_exceeded) = (None, 0, false);
    for (index, name) in names.iter().enumerate().skip(piece.from) {
        let done = index.saturating_sub(piece.from);
        let is_used_up = cx.work >= piece.work_end && done >= limits::TRIGGERS_AT_ONCE;
        if is_used_up || !match_all(name, producer, matches, (&mut matching, piece), sessions, cx) {
            matches.keep(name);
            next = Some(index);
            break;
        }
        is_exceeded |= activate_one(history, producer, name, matches, sessions, cx);
    }
    if is_exceeded {
        producer.log_error(&mut cx.out, format_args!("{BUDGET_EXCEEDED}"));
    }
    next
}

/// Whether a session waits for triggers with that name.
fn waits(session: &Session, name: &str) -> bool {
    session.life.is_reachable()
        && session.state() != SessionState::ClonedReadOnly
        && session.triggers.by_name.contains_key(name)
}

/// Matches the name of a producer for all sessions that wait for a trigger. Returns whether that was all: each match
/// may take milliseconds. `matching` is the work for that in this turn.
fn match_all(
    name: &str,
    producer: &mut Producer,
    matches: &mut Matches,
    (matching, piece): (&mut u64, Piece),
    sessions: &Sessions,
    cx: &mut Context,
) -> bool {
    for session in sessions.values().filter(|session| waits(session, name)) {
        let Some((name, trigger)) = session.triggers.by_name.get_key_value(name) else { continue };
        let Some(regex) = &trigger.producers else { continue };
        if session.is_being_made() || matches.of(session.id, name).is_some() {
            continue;
        }
        if cx.work >= piece.work_end && *matching >= limits::TRIGGER_MATCHES_AT_ONCE {
            return false;
        }
        let before = cx.work;
        let user = User::of(&producer.peer);
        let mut cost = cx.match_cost(&mut producer.regex_budget, user, session.uid);
        let is_match = regex.is_match(&producer.name, &mut cost);
        let found = match (cost.exceeded, is_match) {
            (true, _) => Match::Exceeded,
            (false, true) => Match::Yes,
            (false, false) => Match::No,
        };
        *matching = matching.saturating_add(cx.work.saturating_sub(before));
        matches.add(session.id, name, found);
    }
    true
}

/// Returns whether a session does not know if it takes the trigger, because matching the name of the producer took too
/// long.
fn activate_one(
    history: &mut TriggerHistory,
    producer: &mut Producer,
    name: &str,
    matches: &Matches,
    sessions: &mut Sessions,
    cx: &mut Context,
) -> bool {
    let mut is_exceeded = false;
    let by = Arc::clone(&producer.name);
    let (uid, now_ns) = (producer.peer.uid, cx.now.boot_ns);
    // Each session looks the name up.
    cx.spend(limits::WORK_PER_ENTRY);
    cx.spend(limits::WORK_PER_ENTRY.saturating_mul(sessions.len() as u64));
    // Users whose sessions take it, and how often one had taken it before.
    let (mut taken_by, mut before) = (BlockSet::new(), 0);
    for session in sessions.values_mut().filter(|session| waits(session, name)) {
        let count = history.count(session.uid, name, now_ns);
        // Drawn for each session, so that what it sees does not depend on the others.
        let draw = cx.random.draw();
        let chance = Chance { count, count_max: cx.config.limits.trigger_history_max, draw };
        let (is_match, found) = takes(session, name, chance, matches);
        if is_match == Match::Exceeded {
            is_exceeded = true;
            session.add_loss(producer.loss(Reason::TriggerNotMatched), cx);
        }
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
    is_exceeded
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

/// Whether a trigger of that name is for its producer, and for this time. If the session takes it: the name as the
/// config has it, and the delay, ms.
fn takes(
    session: &Session,
    name: &str,
    chance: Chance,
    matches: &Matches,
) -> (Match, Option<(Arc<str>, u64)>) {
    let found = session.triggers.by_name.get_key_value(name);
    let Some((name, trigger)) = found.filter(|_| !session.is_being_made()) else {
        return (Match::No, None);
    };
    let max = (trigger.max_per_day as usize).min(chance.count_max);
    let skipped = chance.draw < trigger.skip_probability;
    let too_often = max > 0 && chance.count >= max;
    let is_match = match &trigger.producers {
        _ if skipped || too_often => Match::No,
        None => Match::Yes,
        Some(_) => matches.of(session.id, name).unwrap_or(Match::No),
    };
    let is_taken = is_match == Match::Yes;
    (is_match, is_taken.then(|| (Arc::clone(name), trigger.delay_ms)))
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
        // Also if it has ended: it may be detached, and is gone then.
        (TriggerMode::Stop, _) if first => {
            cx.set_timer_ms(delay_ms, Timer::TriggerStop(id));
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
        return cx.set_timer_ms(delay_ms, Timer::CloneHit(timer));
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
        cx.timers.cancel(Timer::CloneHit(timer));
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
