//! The start of a session, and of its data source instances.

use super::events::{Lifecycle, SlowSources};
use super::flush_request::FlushStrategy;
use super::instance::{Instance, InstanceKey, InstanceState};
use super::life::SessionState;
use super::state::{Session, Sessions};
use crate::command_queue::{Change, Command};
use crate::consumers::Consumers;
use crate::context::Context;
use crate::error::SessionError;
use crate::ledger::{Loss, Reason};
use crate::limits;
use crate::producers::{Producer, Producers};
use crate::step::Step;
use crate::timers::{Clock, Timer};
use abi::ids::{InstanceId, ProducerId};

/// Starts a configured session; harmless if it was started before.
pub(crate) fn start_session(session: &mut Session, consumers: &mut Consumers, cx: &mut Context) {
    if session.state() != SessionState::Configured {
        let (id, state) = (session.id, session.state().name());
        let error = SessionError::NotConfigured { id, state };
        let text = format_args!("StartTracing: {error}");
        return consumers.log_session_error(session.consumer, &mut cx.out, text);
    }
    session.set_state(cx, SessionState::Started);
    session.start_realtime_ns = Some(cx.now.real_ns);
    if session.wants_snapshots() {
        session.unread_events.first_snapshot = Some(cx.now);
    }
    session.unread_events.add_lifecycle(Lifecycle::TracingStarted, cx.now.boot_ns);
    take_snapshot(session, cx);
    set_timers(session, cx);
    cx.then(Step::StartInstances(session.id));
}

/// Starts the instances behind `after` that are set up, until the work of `cx` is `end`. Returns the one to go on
/// behind, if there are more.
pub(crate) fn start_instances(
    session: &mut Session,
    mut after: Option<InstanceKey>,
    end: u64,
    producers: &mut Producers,
    consumers: &mut Consumers,
    cx: &mut Context,
) -> Option<InstanceKey> {
    // It may have been stopped meanwhile.
    while session.state() == SessionState::Started
        && let Some(next) = session.instances.next_after(after)
    {
        let (key, state) = (next.key(), next.state());
        if cx.work >= end {
            return after.or(Some(BEFORE_ALL));
        }
        cx.spend(limits::WORK_PER_ENTRY);
        if state == InstanceState::Configured {
            start_instance(session, key, producers, consumers, cx);
        }
        after = Some(key);
    }
    check_all_started(session, consumers, cx);
    None
}

/// No producer has this number.
pub(crate) const BEFORE_ALL: InstanceKey = (ProducerId::new(0), InstanceId::new(0));

fn set_timers(session: &Session, cx: &mut Context) {
    let (id, config) = (session.id, &session.config);
    cx.timers.cancel(Timer::TriggerTimeout(id));
    let duration_ms = u64::from(config.duration_ms.unwrap_or(0));
    if duration_ms > 0 {
        let suspend_aware = config.prefer_suspend_clock_for_duration.unwrap_or(false);
        let clock = if suspend_aware { Clock::Boot } else { Clock::Monotonic };
        cx.set_timer_ms_on(clock, duration_ms, Timer::Duration(id));
    }
    if let Some(file) = &session.file {
        cx.set_aligned_timer(file.period_ms, Timer::FileWrite(id));
    }
    if let FlushStrategy::Periodic(period_ms) = session.strategy {
        cx.set_aligned_timer(period_ms, Timer::Flush(id));
    }
    let clear = config.incremental_state_config.as_ref();
    let clear_ms = clear.and_then(|c| c.clear_period_ms).unwrap_or(0);
    if clear_ms > 0 {
        cx.set_aligned_timer(clear_ms.into(), Timer::ClearState(id));
    }
    if session.consumer.is_some() {
        cx.set_timer_ms(limits::SLOW_START_MS, Timer::SlowStart(id));
    }
}

/// Takes what a reader needs now and then to read a piece of the trace alone, and sets the timer of the next time.
pub(crate) fn take_snapshot(session: &mut Session, cx: &mut Context) {
    debug_assert!(session.state() == SessionState::Started, "the timer ends with the recording");
    session.unread_events.sync_marker = true;
    session.unread_events.stats = true;
    let builtin = session.builtin();
    let period_ms = match builtin.snapshot_interval_ms.unwrap_or(0) {
        0 => limits::SNAPSHOT_PERIOD_MS,
        ms => ms.into(),
    };
    let clock = match builtin.prefer_suspend_clock_for_snapshot {
        Some(true) => Clock::Boot,
        _ => Clock::Monotonic,
    };
    let timer = Timer::Snapshot(session.id);
    cx.timers.set_aligned_on(&cx.now, clock, period_ms, timer);
    session.snapshot_clocks(&cx.now);
}

/// Sends the start of one instance. It counts as started unless its producer will say so.
pub(crate) fn start_instance(
    session: &mut Session,
    key: InstanceKey,
    producers: &mut Producers,
    consumers: &mut Consumers,
    cx: &mut Context,
) {
    let started = |instance: &Instance| match instance.behaviour.notifies_start {
        true => InstanceState::Starting,
        false => InstanceState::Started,
    };
    let Some(instance) = session.instances.set_state(key, started) else { return };
    cx.spend(limits::WORK_PER_INSTANCE);
    let change = Change::Start(instance.config.clone());
    let command = Command::Instance(session.id, instance.id, change);
    producers.command(key.0, &mut cx.out, command);
    consumers.note_instance_state(session.consumer, instance);
}

/// A producer says that an instance of its runs, or that it `refused` it: then it counts as started, and the ledger of
/// its session has it.
pub(crate) fn handle_instance_started(
    producer: &Producer,
    id: InstanceId,
    refused: bool,
    sessions: &mut Sessions,
    consumers: &mut Consumers,
    cx: &mut Context,
) {
    let key = (producer.id, id);
    let Some(session) = sessions.values_mut().find(|s| s.instances.contains(&key)) else {
        return;
    };
    let is_started = session.state() == SessionState::Started;
    let is_starting = |i: &Instance| i.state() == InstanceState::Starting;
    if is_started && session.instances.get(&key).is_some_and(is_starting) {
        if let Some(instance) = session.instances.set_state(key, |_| InstanceState::Started) {
            consumers.note_instance_state(session.consumer, instance);
            if refused {
                let source = Some(instance.source.clone());
                let loss = Loss { source, ..producer.loss(Reason::InstanceRefused) };
                session.note_loss(loss, cx);
            }
        }
        check_all_started(session, consumers, cx);
    }
}

/// Notes, once per session, that all of its data sources run.
pub(crate) fn check_all_started(
    session: &mut Session,
    consumers: &mut Consumers,
    cx: &mut Context,
) {
    let Some(client) = session.consumer else { return };
    // Upstream would report it of a session without instances before its start, too.
    if session.state() != SessionState::Started
        || session.all_started_reported
        || !session.instances.are_all(InstanceState::Started)
    {
        return;
    }
    session.all_started_reported = true;
    session.unread_events.add_lifecycle(Lifecycle::AllSourcesStarted, cx.now.boot_ns);
    cx.timers.cancel(Timer::SlowStart(session.id));
    session.snapshot_clocks(&cx.now);
    consumers.note_all_started(client);
}

/// The timer of a slow start: names, in the trace and the log, the data sources that have not started.
pub(crate) fn handle_slow_start_timer(session: &mut Session, cx: &mut Context) {
    if session.all_started_reported || session.state() != SessionState::Started {
        return;
    }
    let slow = session.instances.values().filter(|i| i.state() != InstanceState::Started);
    let sources: Vec<(String, String)> = slow
        .take(limits::SLOW_SOURCES_MAX)
        .map(|i| (i.producer_name.to_string(), i.source.to_string()))
        .collect();
    for (producer, source) in &sources {
        cx.out.error(format!("data source {source} of {producer} failed to start in time"));
    }
    // A detached session was not told that all started, so there may be none.
    let at_ns = cx.now.boot_ns;
    session.unread_events.slow_start =
        (!sources.is_empty()).then_some(SlowSources { at_ns, sources });
}
