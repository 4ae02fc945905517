//! The end of a session: asked for, timed, or forced.
//!
//! ```text
//!   Disable ──> StopInstances ──> [acks, or StopTimeout] ──> Finalise ──> Scrape ──> NoteEnd ──> LimitCopyTime
//!                                                                         ──> FinishFile ──> ReportEnd
//!
//!   Free ──> FailFlushes ──> FailClonesOf ──> FailCloneReply ──> Disable, as above
//!        ──> Release: its instances, its producers, its consumer ──> [its file is closed] ──> Erase: its buffers
//! ```
//!
//! Each of these is a [`Step`], which the part does that owns the state. A session that ends is *disabled*: it records
//! no more, and its consumer reads the rest. A session that is *freed* loses its consumer, its instances and its
//! buffers.

use super::config::stop_timeout_ms;
use super::end_report::{EndError, end_text};
use super::events::Lifecycle;
use super::flush_request::FlushThen;
use super::instance::{Instance, InstanceKey, InstanceState};
use super::life::SessionState;
use super::start::{BEFORE_ALL, check_all_started};
use super::state::{Session, Sessions};
use super::trigger_config::TriggerMode;
use crate::command_queue::{Change, Command};
use crate::consumers::Consumers;
use crate::context::Context;
use crate::effect_queue::Caller;
use crate::ledger::{Amount, Loss, Reason};
use crate::limits;
use crate::producers::Producers;
use crate::step::Step;
use crate::timers::Timer;
use crate::work::{ScrapeThen, Todo};
use abi::flush_flags::FlushFlags;
use abi::ids::{ClientId, ProducerId, SessionId};
use abi::sync::Arc;

/// Flushes, then ends.
pub(crate) fn flush_and_disable(session: SessionId) -> Step {
    let (flags, then) = (FlushFlags::STOP, FlushThen::Disable);
    Step::Flush { session, timeout_ms: 0, flags, then }
}

/// The end of a session whose instances all stopped, once what writers still held was taken.
fn final_steps(session: SessionId) -> [Step; 4] {
    [
        Step::NoteEnd(session),
        Step::LimitCopyTime(session),
        Step::FinishFile(session),
        Step::ReportEnd(session),
    ]
}

/// The destruction of a session.
fn free_steps(session: SessionId, reason: EndError) -> [Step; 5] {
    [
        // Calls that wait for a flush or a clone are answered before the end is reported.
        Step::FailFlushes(session),
        Step::FailClonesOf { session, reason: reason.clone() },
        Step::FailCloneReply { session, reason: reason.clone() },
        Step::Disable { session, immediate: true, error: reason.clone() },
        Step::Release { session, reason },
    ]
}

/// Destroys a session.
pub(crate) fn free(session: &Session, reason: EndError, cx: &mut Context) {
    for step in free_steps(session.id, reason) {
        cx.then(step);
    }
}

/// The duration is over. A session that a trigger stops already ends by the trigger's delay.
pub(crate) fn handle_duration_end(session: &mut Session, cx: &mut Context) {
    if session.triggers.mode != TriggerMode::Stop || !session.triggered {
        handle_time_end(session, cx);
    }
}

/// The time of a session is over, by its duration or by the delay of a trigger. One that does not record any more has
/// nothing to flush; but if it is detached, with a full file for instance, it is gone now.
pub(crate) fn handle_time_end(session: &mut Session, cx: &mut Context) {
    cx.then(match session.state() {
        SessionState::Configured | SessionState::Started => flush_and_disable(session.id),
        _ => Step::DisableOrFree(session.id),
    });
}

/// Ends a session for its consumer, or for good if it has none by then.
pub(crate) fn disable_or_free(session: &mut Session, cx: &mut Context) {
    session.life.set_frees_at_end(session.consumer.is_none());
    cx.then(Step::Disable { session: session.id, immediate: false, error: None });
    // It may be over already.
    cx.then(Step::ReportEnd(session.id));
}

/// Stops all instances; the session is over when those that acknowledge it have done so, or after
/// `data_source_stop_timeout_ms`. With `immediate` there is no wait.
pub(crate) fn disable(session: &mut Session, immediate: bool, error: EndError, cx: &mut Context) {
    if error.is_some() {
        session.end_report.note(error);
    }
    let immediate = match session.state() {
        // What is set up already is stopped, and the rest is not set up.
        SessionState::Disabled if session.is_being_made() && !session.life.is_reachable() => true,
        SessionState::Disabled if session.is_being_made() => return session.life.end_when_made(),
        SessionState::Disabled | SessionState::ClonedReadOnly => return,
        SessionState::Stopping if immediate => return begin_stop(session, true, cx),
        SessionState::Stopping => return,
        SessionState::Configured => true,
        SessionState::Started => immediate,
    };
    let id = session.id;
    for timer in [Timer::Snapshot(id), Timer::Flush(id), Timer::ClearState(id)] {
        cx.timers.cancel(timer);
    }
    begin_stop(session, immediate, cx);
}

/// Begins to stop all instances, again if some are stopping already.
fn begin_stop(session: &mut Session, at_once: bool, cx: &mut Context) {
    session.life.stop(at_once);
    session.work.todo.retain(|todo| !matches!(todo, Todo::Start(_) | Todo::Stop(_)));
    cx.then(Step::StopInstances(session.id));
}

/// Stops the instances behind `after`, until the work of `cx` is `end`. Returns the one to go on behind, if there are
/// more; else the session is over when those that acknowledge the stop have done so.
pub(crate) fn stop_instances(
    session: &mut Session,
    mut after: Option<InstanceKey>,
    end: u64,
    producers: &mut Producers,
    consumers: &mut Consumers,
    cx: &mut Context,
) -> Option<InstanceKey> {
    // All may have acknowledged it meanwhile: then the session is over.
    while (session.records() || session.is_being_made())
        && let Some(next) = session.instances.next_after(after)
    {
        let key = next.key();
        if cx.work >= end {
            wait_for_stop(session, cx);
            return after.or(Some(BEFORE_ALL));
        }
        cx.spend(limits::WORK_PER_ENTRY);
        stop_instance(session, key, producers, consumers, cx);
        after = Some(key);
    }
    if !session.records() {
        return None;
    }
    if session.instances.are_all(InstanceState::Stopped) {
        cx.then(Step::Finalise(session.id));
    } else {
        wait_for_stop(session, cx);
    }
    None
}

/// The session waits until its instances have stopped, if it does not already.
fn wait_for_stop(session: &mut Session, cx: &mut Context) {
    if session.state() == SessionState::Stopping || session.is_being_made() {
        return;
    }
    let wait_ms = u64::from(stop_timeout_ms(&session.config));
    session.set_state(cx, SessionState::Stopping);
    cx.set_timer_ms(wait_ms, Timer::StopTimeout(session.id));
}

/// Tells one instance to stop. One that was told before has stopped now: the second round does not wait.
fn stop_instance(
    session: &mut Session,
    key: InstanceKey,
    producers: &mut Producers,
    consumers: &mut Consumers,
    cx: &mut Context,
) {
    let Some(instance) = session.instances.get(&key) else { return };
    let (was, source) = (instance.state(), Arc::clone(&instance.source));
    let at_once = session.life.stops_at_once();
    if was == InstanceState::Stopped {
        return;
    }
    if was == InstanceState::Stopping
        && at_once
        && let Some(producer) = producers.get(key.0)
    {
        // What it writes until it stops comes too late.
        let loss = Loss { amount: Amount::PERHAPS, ..producer.loss(Reason::StoppedLate) };
        session.add_loss(Loss { source: Some(source), ..loss }, cx);
    }
    let stopped = |instance: &Instance| {
        // One that has not started yet has nothing to acknowledge.
        let waits = instance.behaviour.notifies_stop && was != InstanceState::Configured;
        if waits && !at_once { InstanceState::Stopping } else { InstanceState::Stopped }
    };
    let Some(instance) = session.instances.set_state(key, stopped) else { return };
    cx.spend(limits::WORK_PER_REQUEST);
    if was != InstanceState::Stopping {
        let command = Command::Instance(session.id, instance.id, Change::Stop);
        producers.command(instance.producer, &mut cx.out, command);
    }
    consumers.note_instance_state(session.consumer, instance);
}

/// The timer of a stop: instances that have not acknowledged it count as stopped.
pub(crate) fn handle_stop_timeout(session: &mut Session, cx: &mut Context) {
    if session.state() == SessionState::Stopping {
        let silent = session.instances.count_in(InstanceState::Stopping);
        let id = session.id;
        cx.out.error(format!("session {id}: {silent} data sources did not stop in time"));
        begin_stop(session, true, cx);
    }
}

/// A producer says that an instance of its stopped.
pub(crate) fn handle_instance_stopped(
    key: InstanceKey,
    sessions: &mut Sessions,
    consumers: &mut Consumers,
    cx: &mut Context,
) {
    let Some(session) = sessions.values_mut().find(|s| s.instances.contains(&key)) else {
        return;
    };
    if session.instances.get(&key).is_some_and(|i| i.state() == InstanceState::Stopping) {
        if let Some(instance) = session.instances.set_state(key, |_| InstanceState::Stopped) {
            consumers.note_instance_state(session.consumer, instance);
        }
        finalise_if_stopped(session, cx);
    }
}

/// The steps that remove the instances of a producer, of all its data sources or of one name. Returns whether these
/// are all; there are at most `max`.
pub(crate) fn remove_instances(
    producer: ProducerId,
    name: Option<&str>,
    max: usize,
    sessions: &Sessions,
    cx: &mut Context,
) -> bool {
    let mut left = max;
    for session in sessions.values() {
        for instance in session.instances.of_producer(producer) {
            cx.spend(limits::WORK_PER_ENTRY);
            if name.is_none_or(|n| *instance.source == *n) {
                let Some(less) = left.checked_sub(1) else { return false };
                left = less;
                cx.then(Step::RemoveInstance { session: session.id, key: instance.key() });
            }
        }
    }
    true
}

/// Removes one instance from its session: its source is not registered any more.
pub(crate) fn remove_instance(
    session: &mut Session,
    key: InstanceKey,
    producers: &mut Producers,
    consumers: &mut Consumers,
    cx: &mut Context,
) {
    let Some((was, instance)) = session.instances.remove(key) else { return };
    cx.spend(limits::WORK_PER_INSTANCE);
    if !matches!(was, InstanceState::Stopping | InstanceState::Stopped) {
        let command = Command::Instance(session.id, instance.id, Change::Remove);
        producers.command(instance.producer, &mut cx.out, command);
    }
    if was != InstanceState::Stopped {
        consumers.note_instance_state(session.consumer, &instance);
    }
    check_all_started(session, consumers, cx);
    finalise_if_stopped(session, cx);
}

fn finalise_if_stopped(session: &Session, cx: &mut Context) {
    if session.state() == SessionState::Stopping
        && session.instances.are_all(InstanceState::Stopped)
    {
        cx.then(Step::Finalise(session.id));
    }
}

/// All instances stopped: begins the end.
pub(crate) fn finalise(session: &mut Session, cx: &mut Context) {
    session.set_state(cx, SessionState::Disabled);
    // Before the last statistics are made.
    cx.then(Step::Scrape { session: session.id, then: ScrapeThen::End });
}

/// What writers still held is taken: the rest of the end.
pub(crate) fn handle_scrape_end(session: &Session, cx: &mut Context) {
    for step in final_steps(session.id) {
        cx.then(step);
    }
}

/// Notes the end in the trace, and that it is to be reported. `Timer::Duration` and
/// `Timer::TriggerStop` go on: see [`handle_time_end`].
pub(crate) fn note_end(session: &mut Session, cx: &mut Context) {
    let id = session.id;
    for timer in [
        Timer::TriggerTimeout(id),
        Timer::StopTimeout(id),
        Timer::SlowStart(id),
        Timer::Snapshot(id),
        Timer::FileWrite(id),
        Timer::Flush(id),
        Timer::ClearState(id),
    ] {
        cx.timers.cancel(timer);
    }
    session.unread_events.add_lifecycle(Lifecycle::TracingDisabled, cx.now.boot_ns);
    session.end_report.note(None);
    session.snapshot_clocks(&cx.now);
}

/// Tells the consumer of the end, once, when the file (if any) is closed. A session that ended without one is freed,
/// and its file is completed as that of any freed session.
pub(crate) fn report_end(session: &mut Session, consumers: &mut Consumers, cx: &mut Context) {
    if session.state() != SessionState::Disabled
        || session.is_being_made()
        || session.work.scrapes_for_end()
    {
        return;
    }
    if session.life.frees_at_end() && session.consumer.is_none() {
        return cx.then(Step::Free { session: session.id, reason: None });
    }
    if session.file.is_some() {
        return;
    }
    // A detached session has no consumer, and a consumer that attached may not have asked yet.
    let Some(client) = session.consumer else { return };
    if consumers.get(client).is_some_and(|c| c.waits_for_end())
        && let Some(error) = session.end_report.take()
    {
        consumers.report_disabled(client, &mut cx.out, &end_text(&error));
    }
}

/// Separates a session from its instances, its producers and then its consumer, until the work of `cx` is `end`.
/// Returns whether that is done. The consumer, if still there, is told of the end and may enable another session; a
/// file is completed in the background.
pub(crate) fn release(
    session: &mut Session,
    reason: &EndError,
    end: u64,
    producers: &mut Producers,
    consumers: &mut Consumers,
    cx: &mut Context,
) -> bool {
    let Session { id, instances, buffers, producers: of, .. } = session;
    while cx.work < end {
        if instances.pop().is_some() {
            cx.spend(limits::WORK_PER_ENTRY);
        } else if let Some((producer, _)) = of.pop_first() {
            let entries = (buffers.len() as u64).saturating_add(1);
            cx.spend(limits::WORK_PER_ENTRY.saturating_mul(entries));
            producers.revoke(producer, *id, buffers);
        } else {
            break;
        }
    }
    let is_separated = instances.len() == 0 && of.is_empty();
    if is_separated {
        release_consumer(session, reason, consumers, cx);
    }
    is_separated
}

/// Separates a session from its consumer.
fn release_consumer(
    session: &mut Session,
    reason: &EndError,
    consumers: &mut Consumers,
    cx: &mut Context,
) {
    if session.state() == SessionState::ClonedReadOnly {
        session.set_state(cx, SessionState::Disabled);
    }
    if session.is_being_made()
        && let Some(file) = session.file.take()
    {
        // The session was not set up, so nothing was written to the file.
        cx.out.close_file(file.id);
    }
    session.life.set_freed();
    let error = session.end_report.take().unwrap_or_else(|| reason.clone());
    if let Some(client) = session.consumer.take() {
        refuse_to_detach(session, client, consumers, cx);
        // Also if its file is still being created, and there was no end to note.
        consumers.report_disabled(client, &mut cx.out, &end_text(&error));
        consumers.end_read(client, &mut cx.out);
        consumers.set_session(client, None);
    }
    if session.file.is_some() {
        limit_file_stall(session.id, cx);
    } else {
        cx.then(Step::Erase(session.id));
    }
}

/// The session goes before it was set up, and before its consumer could leave it.
pub(crate) fn refuse_to_detach(
    session: &mut Session,
    client: ClientId,
    consumers: &Consumers,
    cx: &mut Context,
) {
    if let Some((call, _)) = session.pending_detach.take()
        && consumers.get(client).is_some()
    {
        cx.out.reject(Caller { client, call });
    }
}

/// Limits the time until the file of a freed session must take more bytes.
pub(crate) fn limit_file_stall(id: SessionId, cx: &mut Context) {
    cx.set_timer_ms(limits::FREED_FILE_STALL_MS, Timer::FileStall(id));
}

/// The timer of that: the rest is dropped, and the session holds nothing any more.
pub(crate) fn handle_file_stall(session: &mut Session, cx: &mut Context) {
    debug_assert!(session.life.is_freed(), "the timer is that of a freed session");
    let id = session.id;
    if let Some(file) = session.lose_file(cx) {
        cx.out.abandon_file(file);
        cx.out.error(format!("session {id}: its file takes nothing, the rest is dropped"));
    }
    cx.then(Step::Erase(id));
}

/// The timer of START_TRACING mode: no trigger came in time.
pub(crate) fn handle_trigger_timeout(session: &mut Session, cx: &mut Context) {
    if session.state() == SessionState::Configured {
        disable_or_free(session, cx);
    }
}

/// Cancels the timers that a session may have after its end.
pub(crate) fn cancel_timers(session: &mut Session, cx: &mut Context) {
    for timer in session.snapshot_hits.end_delays() {
        cx.timers.cancel(Timer::CloneHit(timer));
    }
    let id = session.id;
    for timer in [Timer::FileStall(id), Timer::Duration(id), Timer::TriggerStop(id)] {
        cx.timers.cancel(timer);
    }
}
