//! Asking producers for what they still hold.
//!
//! A flush has a number, unique in the service. A producer acknowledges a number in a commit, and with it all older
//! flushes of its own. The flush is over when all asked producers acknowledged it, or at its timeout; the data of a
//! late acknowledgement is kept all the same.
//!
//! The flush does not wait for a producer that disconnects, as it cannot answer. Upstream keeps waiting for it until
//! the timeout, although no answer can come (a comment in `tracing_service_impl.cc` says so).

use super::events::{Lifecycle, SlowSources};
use super::flush_request::{
    BufferGroup, FinalFlush, FlushStrategy, FlushThen, FlushedGroup, PendingFlush, is_last,
};
use super::instance::Instance;
use super::life::SessionState;
use super::state::{Session, Sessions};
use crate::accounts::{Resource, User};
use crate::command_queue::{Command, InstancesBySession};
use crate::consumers::Consumers;
use crate::context::Context;
use crate::error::FlushError;
use crate::limits;
use crate::producers::{Producer, Producers};
use crate::step::Step;
use crate::timers::Timer;
use crate::work::ScrapeThen;
use abi::flush_flags::FlushFlags;
use abi::ids::{FlushId, InstanceId, ProducerId, SessionId};
use abi::map::{BlockMap, BlockSet};

/// The instances of each producer that is asked.
type InstancesByProducer = BlockMap<ProducerId, Vec<InstanceId>>;

/// Starts a flush; zero `timeout_ms` means the config's, else [`limits::FLUSH_TIMEOUT_MS`]. What `then` says happens
/// exactly once, at once if the flush is refused.
pub(crate) fn flush(
    session: &mut Session,
    timeout_ms: u64,
    flags: FlushFlags,
    then: FlushThen,
    producers: &mut Producers,
    consumers: &mut Consumers,
    cx: &mut Context,
) {
    if !matches!(then, FlushThen::Clone(..)) {
        session.unread_events.add_lifecycle(Lifecycle::FlushStarted, cx.now.boot_ns);
    }
    let id = session.id;
    let is_clone = matches!(then, FlushThen::Clone(..));
    if is_clone && session.state().is_settled() && !session.work.scrapes_for_end() {
        // What its producers handed over is in the buffers.
        let success = session.final_flush != FinalFlush::Failed;
        return cx.then(Step::AfterFlush { session: id, then, success });
    }
    let refusal = if session.flushes.len() > cx.config.limits.flushes_pending_max {
        Some(FlushError::TooMany(id))
    } else if session.state() != SessionState::Started {
        Some(FlushError::NotStarted(id))
    } else {
        None
    };
    if let Some(error) = refusal {
        return refuse(session, &error, then, consumers, cx);
    }
    let asked = instances_to_ask(session, then, producers);
    cx.spend(limits::WORK_PER_ENTRY.saturating_mul(session.instances.len() as u64));
    let user = User::local(session.uid);
    if let Err(no_room) = cx.accounts.charge(user, Resource::Answers, asked.len()) {
        let error = FlushError::TooManyAnswers(id, no_room);
        return refuse(session, &error, then, consumers, cx);
    }
    cx.spend(limits::WORK_PER_REQUEST.saturating_mul(asked.len() as u64));
    let timeout_ms = match (timeout_ms, session.config.flush_timeout_ms.unwrap_or(0)) {
        (0, 0) => limits::FLUSH_TIMEOUT_MS,
        (0, ms) => ms.into(),
        (ms, _) => ms,
    };
    session.unread_events.flush_slow = None;
    count(&mut session.counters.flushes_requested);
    let flush = cx.next_flush();
    let waiting_for: BlockSet<ProducerId> = asked.keys().copied().collect();
    let is_answered = waiting_for.is_empty();
    session.flushes.insert(flush, PendingFlush { waiting_for, flags, then });
    for (producer, instances) in asked {
        let Some(producer) = producers.get_mut(producer) else { continue };
        producer.flushes.insert(flush, id);
        producer.command(&mut cx.out, Command::Flush(flush, in_session(id, instances), flags));
    }
    if is_answered {
        cx.then(Step::FinishFlush { session: id, flush });
    } else {
        cx.set_timer_ms(timeout_ms, Timer::FlushTimeout(flush));
    }
}

/// The consumer of the session is told why there is no flush.
fn refuse(
    session: &Session,
    error: &FlushError,
    then: FlushThen,
    consumers: &mut Consumers,
    cx: &mut Context,
) {
    consumers.log_session_error(session.consumer, &mut cx.out, format_args!("{error}"));
    cx.then(Step::AfterFlush { session: session.id, then, success: false });
}

/// The producers that a flush asks.
fn instances_to_ask(
    session: &Session,
    then: FlushThen,
    producers: &Producers,
) -> InstancesByProducer {
    let mut asked = InstancesByProducer::new();
    if let FlushThen::Clone(_, group) = then {
        // Those that write to the buffers that the clone takes together.
        let is_in = |i: &&Instance| {
            let config = session.config.buffers.get(i.buffer_index);
            !i.behaviour.no_flush && config.is_some_and(|config| BufferGroup::of(config) == group)
        };
        for instance in session.instances.values().filter(is_in) {
            asked.get_or_insert_with(instance.producer, Vec::new).push(instance.id);
        }
    } else {
        for instance in session.instances.values() {
            if !instance.behaviour.no_flush {
                asked.get_or_insert_with(instance.producer, Vec::new).push(instance.id);
            } else if producers.get(instance.producer).is_some_and(|p| p.scrapes_itself()) {
                // It only sends what its writers hold, which the service cannot read.
                asked.get_or_insert_with(instance.producer, Vec::new);
            }
        }
    }
    asked
}

/// Instances of one session.
fn in_session(session: SessionId, instances: Vec<InstanceId>) -> InstancesBySession {
    [(session, instances)].into_iter().collect()
}

/// The session of a step is gone: its flush fails.
pub(crate) fn refuse_without_session(step: Step, cx: &mut Context) {
    if let Step::Flush { session, then, .. } = step {
        cx.then(Step::AfterFlush { session, then, success: false });
    }
}

fn count(counter: &mut u64) {
    *counter = counter.saturating_add(1);
}

/// A producer acknowledges `upto` and all flushes before it, or is gone and will acknowledge nothing.
pub(crate) fn handle_ack(
    producer: &mut Producer,
    upto: FlushId,
    sessions: &mut Sessions,
    cx: &mut Context,
) {
    // In the order they were asked for, whichever session they belong to.
    while let Some((&flush, _)) = producer.flushes.first_key_value()
        && flush <= upto
        && let Some((flush, session)) = producer.flushes.pop_first()
    {
        cx.spend(limits::WORK_PER_ENTRY);
        let Some(of) = sessions.get_mut(session) else { continue };
        let Some(pending) = of.flushes.get_mut(&flush) else { continue };
        if !pending.waiting_for.remove(&producer.id) {
            continue;
        }
        cx.accounts.release(User::local(of.uid), Resource::Answers, 1);
        if pending.waiting_for.is_empty() {
            cx.then(Step::FinishFlush { session, flush });
        }
    }
}

/// The flush is over: producers that have not acknowledged it need not do so any more.
fn forget(
    flush: FlushId,
    uid: u32,
    pending: &PendingFlush,
    producers: &mut Producers,
    cx: &mut Context,
) {
    let missing = pending.waiting_for.len();
    cx.spend(limits::WORK_PER_ENTRY.saturating_mul(missing as u64));
    cx.accounts.release(User::local(uid), Resource::Answers, missing);
    for producer in pending.waiting_for.iter() {
        if let Some(producer) = producers.get_mut(*producer) {
            producer.flushes.remove(&flush);
        }
    }
}

/// The timer of a flush: it ends without the missing acknowledgements.
pub(crate) fn handle_timeout(flush: FlushId, sessions: &Sessions, cx: &mut Context) {
    if let Some(session) = session_of(flush, sessions) {
        cx.then(Step::FinishFlush { session: session.id, flush });
    }
}

/// The session that waits for a flush.
pub(crate) fn session_of(flush: FlushId, sessions: &Sessions) -> Option<&Session> {
    sessions.values().find(|session| session.flushes.contains_key(&flush))
}

/// A flush is over: notes how it went. What writers still hold is taken next.
pub(crate) fn finish(
    session: &mut Session,
    flush: FlushId,
    producers: &mut Producers,
    cx: &mut Context,
) {
    cx.timers.cancel(Timer::FlushTimeout(flush));
    let Some(pending) = session.flushes.remove(&flush) else { return };
    forget(flush, session.uid, &pending, producers, cx);
    let success = pending.waiting_for.is_empty();
    if success {
        count(&mut session.counters.flushes_succeeded);
    } else {
        count(&mut session.counters.flushes_failed);
        if is_last(pending.flags) {
            note_slow(session, &pending, cx.now.boot_ns);
        }
    }
    session.unread_events.add_lifecycle(Lifecycle::AllSourcesFlushed, cx.now.boot_ns);
    let then = ScrapeThen::Flush(pending.then, success);
    cx.then(Step::Scrape { session: session.id, then });
}

/// The end of a flush: what writers held is taken.
pub(crate) fn handle_scrape_end(
    session: &mut Session,
    then: FlushThen,
    success: bool,
    cx: &mut Context,
) {
    session.snapshot_clocks(&cx.now);
    cx.then(Step::AfterFlush { session: session.id, then, success });
}

/// Notes the data sources of producers that did not acknowledge the last flush.
fn note_slow(session: &mut Session, pending: &PendingFlush, at_ns: u64) {
    let slow = session.instances.values();
    let slow = slow.filter(|i| !i.behaviour.no_flush && pending.waiting_for.contains(&i.producer));
    let sources: Vec<_> = slow
        .take(limits::SLOW_SOURCES_MAX)
        .map(|i| (i.producer_name.to_string(), i.source.to_string()))
        .collect();
    // None are left if they are gone by now, or were only asked for what their writers hold.
    session.unread_events.flush_slow =
        (!sources.is_empty()).then_some(SlowSources { at_ns, sources });
}

/// What follows a flush. The session may be gone.
pub(crate) fn continue_after(
    id: SessionId,
    session: Option<&mut Session>,
    then: FlushThen,
    success: bool,
    cx: &mut Context,
) {
    match then {
        FlushThen::Nothing if success => {}
        FlushThen::Nothing => cx.out.error(format!("session {id}: flush failed")),
        FlushThen::Reply(caller) if success => cx.out.reply_empty(caller),
        FlushThen::Reply(caller) => cx.out.reject(caller),
        FlushThen::WriteFile => cx.then(Step::WriteFile(id)),
        FlushThen::Clone(clone, group) => {
            cx.then(Step::CloneGroup(FlushedGroup { clone, group, success }));
        }
        FlushThen::Disable => {
            let Some(session) = session else { return };
            session.final_flush = FinalFlush::of(success);
            let outcome = if success { "succeeded" } else { "failed" };
            cx.out.info(format!("session {id}: final flush {outcome}"));
            cx.then(Step::DisableOrFree(id));
        }
    }
}

/// Answers all calls that wait for flushes of a session which is about to go.
pub(crate) fn fail_all(session: &mut Session, producers: &mut Producers, cx: &mut Context) {
    for (flush, pending) in std::mem::take(&mut session.flushes) {
        forget(flush, session.uid, &pending, producers, cx);
        cx.timers.cancel(Timer::FlushTimeout(flush));
        if let FlushThen::Reply(caller) = pending.then {
            cx.out.reject(caller);
        }
    }
}

/// The timer of the periodic flush.
pub(crate) fn handle_timer(session: &Session, cx: &mut Context) {
    let (SessionState::Started, FlushStrategy::Periodic(period_ms)) =
        (session.state(), session.strategy)
    else {
        return;
    };
    let session = session.id;
    cx.set_aligned_timer(period_ms, Timer::Flush(session));
    let (flags, then) = (FlushFlags::PERIODIC, FlushThen::Nothing);
    cx.then(Step::Flush { session, timeout_ms: 0, flags, then });
}
