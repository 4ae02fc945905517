//! The match between data sources that producers offer and those that a config asks for.
//!
//! Each match is an instance: its producer gets shared memory, if it has none yet, and the config that the service
//! encoded for it. What cannot be set up goes into the ledger of the session. When a session that runs gets another
//! config, what that asks for is matched again, without what is set up already.

use bytes::Bytes;
use protos::{DataSourceConfig, DataSourceConfigSessionInitiator, TraceConfig};
use protozero::Message as _;

use super::changing::Changing;
use super::config::{name_of, stop_timeout_ms, target_buffer};
use super::instance::{Instance, InstanceKey};
use super::life::{SessionState, SetUpWait};
use super::quota::{Full, Owner};
use super::start;
use super::state::Session;
use crate::accounts::User;
use crate::command_queue::{Change, Command};
use crate::consumers::Consumers;
use crate::context::Context;
use crate::data_sources::{Source, Sources};
use crate::error::SessionError;
use crate::ids::SourceId;
use crate::ledger::{Amount, Loss, Reason};
use crate::limits;
use crate::matching::BUDGET_EXCEEDED;
use crate::name_sketch::NameBit;
use crate::producers::{Producer, Producers};
use crate::step::Step;
use crate::work::{Piece, Served, SetUp};
use abi::ids::{BufferId, SessionId};
use abi::map::BlockMap;
use abi::sync::Arc;

/// The name of a data source of the config.
pub(crate) fn source_name(session: &Session, index: usize) -> &str {
    session.config.data_sources.get(index).map_or("", name_of)
}

/// Whether data sources are set up for a session now.
fn is_open(session: &Session) -> bool {
    matches!(session.state(), SessionState::Configured | SessionState::Started)
        || session.life.waits_for(SetUpWait::Sources)
}

/// Sets up a new registration for a session, if its config asks for that data source: for a piece of the data sources
/// of the config. Returns the index to go on with, if there is one.
pub(crate) fn set_up_registration(
    session: &mut Session,
    id: SourceId,
    piece: Piece,
    sources: &Sources,
    producers: &mut Producers,
    consumers: &mut Consumers,
    cx: &mut Context,
) -> Option<usize> {
    if !is_open(session) || id <= session.known_sources {
        return None;
    }
    let source = sources.get(id)?;
    for index in piece.from..session.config.data_sources.len() {
        if cx.work >= piece.work_end {
            return Some(index);
        }
        cx.spend(limits::WORK_PER_NAME);
        if source_name(session, index) == &*source.name {
            cx.spend(limits::WORK_PER_ENTRY);
            set_up_and_start_instance(session, index, id, sources, producers, consumers, cx);
        }
    }
    None
}

/// Puts a registration that was refused into the ledger of a session, if its config asks for that data source;
/// otherwise as [`set_up_registration`].
pub(crate) fn note_refused_registration(
    session: &mut Session,
    loss: &Loss,
    piece: Piece,
    cx: &mut Context,
) -> Option<usize> {
    if !is_open(session) {
        return None;
    }
    for index in piece.from..session.config.data_sources.len() {
        if cx.work >= piece.work_end {
            return Some(index);
        }
        cx.spend(limits::WORK_PER_NAME);
        if loss.source.as_deref() == Some(source_name(session, index)) {
            session.note_loss(loss.clone(), cx);
            break;
        }
    }
    None
}

/// Puts what producers could not register before into the ledger of a session that is set up, if its config asks for
/// it; or perhaps asks, beyond the names that are kept. A name that its producer offers now is none of these.
pub(crate) fn note_unregistered(
    session: &mut Session,
    sources: &Sources,
    producers: &Producers,
    cx: &mut Context,
) {
    let producers = producers.values().filter(|p| !p.gone && p.has_unregistered());
    let mut losses = Vec::new();
    let mut names_of_config = None;
    let mut looks_left = limits::UNREGISTERED_LOOKS_MAX;
    for producer in producers {
        let names = || -> BlockMap<&str, NameBit> {
            let all = 0..session.config.data_sources.len();
            all.map(|index| source_name(session, index)).map(|n| (n, NameBit::of(n))).collect()
        };
        let wanted = names_of_config.get_or_insert_with(names);
        for source in producer.unregistered.iter() {
            cx.spend(limits::WORK_PER_ENTRY);
            if wanted.contains_key(&**source) {
                let loss = producer.loss(Reason::UserFull);
                losses.push(Loss { source: Some(source.clone()), ..loss });
            }
        }
        let more = &producer.more_unregistered;
        if !more.is_empty() {
            let before = looks_left;
            let may_lack = wanted.iter().any(|(name, bit)| {
                looks_left = looks_left.saturating_sub(1);
                looks_left == 0 || more.may_have(*bit) && sources.find(producer, name).is_none()
            });
            cx.spend(limits::WORK_PER_NAME.saturating_mul(before.abs_diff(looks_left) as u64));
            if may_lack {
                losses.push(Loss { amount: Amount::PERHAPS, ..producer.loss(Reason::UserFull) });
            }
        }
    }
    // It borrows the config.
    drop(names_of_config);
    losses.into_iter().for_each(|loss| session.note_loss(loss, cx));
}

/// Sets up what a config asks for, until the work of `cx` is `end`. Returns whether that was all.
pub(crate) fn continue_set_up(
    session: &mut Session,
    job: &mut SetUp,
    end: u64,
    sources: &Sources,
    producers: &mut Producers,
    consumers: &mut Consumers,
    cx: &mut Context,
) -> bool {
    while job.index < session.config.data_sources.len() && is_open(session) {
        if cx.work >= end {
            return false;
        }
        cx.spend(limits::WORK_PER_ENTRY);
        for id in sources.of_name_after(source_name(session, job.index), job.after) {
            if id > job.last {
                break;
            }
            if cx.work >= end {
                return false;
            }
            job.after = id;
            cx.spend(limits::WORK_PER_ENTRY);
            let is_served = |served: &Served| {
                let source = sources.get(id);
                source.is_some_and(|s| served.has(session.id, job.index, id, s.producer))
            };
            if !job.served.as_ref().is_some_and(is_served) {
                set_up_and_start_instance(
                    session, job.index, id, sources, producers, consumers, cx,
                );
            }
        }
        (job.index, job.after) = (job.index.saturating_add(1), SourceId::NONE);
    }
    true
}

/// Sets up an instance, and starts it if the session has started.
fn set_up_and_start_instance(
    session: &mut Session,
    index: usize,
    id: SourceId,
    sources: &Sources,
    producers: &mut Producers,
    consumers: &mut Consumers,
    cx: &mut Context,
) {
    let key = set_up_instance(session, index, id, sources, producers, consumers, cx);
    if let Some(key) = key
        && session.state() == SessionState::Started
    {
        start::start_instance(session, key, producers, consumers, cx);
    }
}

/// Sets up one registration for one data source of a session's config, if that is for its producer.
pub(crate) fn set_up_instance(
    session: &mut Session,
    index: usize,
    source_id: SourceId,
    sources: &Sources,
    producers: &mut Producers,
    consumers: &mut Consumers,
    cx: &mut Context,
) -> Option<InstanceKey> {
    let source = sources.get(source_id)?;
    // First of all: one producer and one config can make hundreds of thousands of matches.
    if session.instances.len() >= cx.config.limits.instances_per_session_max {
        let producer = producers.get(source.producer)?;
        lose_instance(session, producer, source, Reason::SessionFull, cx);
        return None;
    }
    let lockdown = producers.lockdown;
    let producer = producers.get_mut(source.producer).filter(|producer| !producer.gone)?;
    if lockdown && producer.peer.uid != cx.config.uid {
        lock_out(session, index, producer, source, cx);
        return None;
    }
    let user = User::of(&producer.peer);
    let is_unlimited = cx.accounts.is_unlimited_in(session.uid, user);
    let owner = Owner { user, is_unlimited };
    // Before the name is matched, too: one user can make hundreds of thousands of matches.
    if !has_quota(session, producer, source, owner, 0, cx)
        || !is_asked_for(session, index, producer, source, cx)
    {
        return None;
    }
    let asked = session.config.data_sources.get(index)?.config.as_ref()?;
    let (buffer_index, buffer) = match target_buffer(&session.config, asked) {
        Ok(index) => (index, *session.buffers.get(index)?),
        Err(error) => {
            cx.out.error(error.to_string());
            return None;
        }
    };
    if !producer.provide_smb(&session.config, cx) {
        lose_instance(session, producer, source, Reason::NoMemory, cx);
        return None;
    }
    cx.spend(limits::WORK_PER_INSTANCE);
    let id = cx.next_instance();
    let config = match session.encoded.get(&index) {
        Some(encoded) => encoded.clone(),
        None => {
            let encoded = encode(asked, buffer, session.id, &session.config);
            session.encoded.insert(index, encoded.clone());
            encoded
        }
    };
    if !has_quota(session, producer, source, owner, config.len(), cx) {
        return None;
    }
    producer.allowed.insert(buffer);
    let change = Change::SetUp(config.clone());
    producer.command(&mut cx.out, Command::Instance(session.id, id, change));
    let name = producer.name.clone();
    let instance = Instance::new(id, source, name, index, buffer_index, owner, config);
    let key = instance.key();
    consumers.note_instance_state(session.consumer, &instance);
    session.add_producer(producer, cx);
    session.instances.insert(instance);
    if session.instances.len() == cx.config.limits.instances_per_session_max {
        tell_full(session.id, cx);
    }
    Some(key)
}

/// Once, and not for each instance that is left out.
fn tell_full(session: SessionId, cx: &mut Context) {
    let text = "as many data source instances as there may be; others are not set up";
    cx.out.error(format!("session {session}: {text}"));
}

/// A data source that the config asks for is not set up.
fn lose_instance(
    session: &mut Session,
    producer: &Producer,
    source: &Source,
    reason: Reason,
    cx: &Context,
) {
    let loss = Loss { source: Some(source.name.clone()), ..producer.loss(reason) };
    session.note_loss(loss, cx);
}

/// Only producers of the user of the service are wanted, and this is none of them: what the config asks for is lost.
fn lock_out(
    session: &mut Session,
    index: usize,
    producer: &mut Producer,
    source: &Source,
    cx: &mut Context,
) {
    if is_asked_for(session, index, producer, source, cx) {
        lose_instance(session, producer, source, Reason::LockedOut, cx);
    }
}

/// Whether a session has room for an instance with a config of so many bytes; else the log and the ledger say it.
fn has_quota(
    session: &mut Session,
    producer: &mut Producer,
    source: &Source,
    owner: Owner,
    bytes: usize,
    cx: &mut Context,
) -> bool {
    let Err(full) = session.instances.check_quota(owner, bytes) else { return true };
    let (whose, reason) = match full {
        Full::Session => ("the session has", Reason::SessionFull),
        Full::User => ("producers of one user, or of all users, have", Reason::UserFull),
    };
    let text = format_args!(
        "a data source is not set up: {whose} as many in session {} as there may be, or configs as long",
        session.id
    );
    producer.log_error(&mut cx.out, text);
    lose_instance(session, producer, source, reason, cx);
    false
}

/// Whether a data source of a session is for that producer.
fn is_asked_for(
    session: &mut Session,
    index: usize,
    producer: &mut Producer,
    source: &Source,
    cx: &mut Context,
) -> bool {
    let Some(filter) = session.source_filters.get(index) else { return false };
    let machine_id = if producer.in_process { 0 } else { producer.peer.machine_id };
    let machine = match producer.peer.machine_name.as_str() {
        "" if machine_id == 0 => cx.config.host.machine_name.as_str(),
        name => name,
    };
    if !filter.wants_machine(machine_id, machine) {
        return false;
    }
    let user = User::of(&producer.peer);
    let mut cost = cx.match_cost(&mut producer.regex_budget, user, session.uid);
    let is_asked_for = filter.wants_producer(&producer.name, &mut cost);
    if cost.exceeded {
        session.match_budget_exceeded = true;
        let text = format_args!("session {}: {BUDGET_EXCEEDED}", session.id);
        producer.log_error(&mut cx.out, text);
        lose_instance(session, producer, source, Reason::NameNotMatched, cx);
    }
    is_asked_for
}

/// A data source's config with what the service adds before its producer sees it; the rest, unknown fields too,
/// passes as the consumer wrote it.
fn encode(
    asked: &DataSourceConfig,
    buffer: BufferId,
    session: SessionId,
    trace: &TraceConfig,
) -> Bytes {
    let mut config = asked.clone();
    config.trace_duration_ms = Some(trace.duration_ms.unwrap_or(0));
    if trace.prefer_suspend_clock_for_duration == Some(true) {
        config.prefer_suspend_clock_for_duration = Some(true);
    }
    config.stop_timeout_ms = Some(stop_timeout_ms(trace));
    config.enable_extra_guardrails = Some(trace.enable_extra_guardrails.unwrap_or(false));
    // Trusted initiators exist on Android only; what a consumer claims is overwritten.
    config.session_initiator = Some(DataSourceConfigSessionInitiator(0));
    config.tracing_session_id = Some(session.get());
    config.target_buffer = Some(buffer.get().into());
    config.encode_to_vec().into()
}

/// Whether the data sources of a session can be changed.
///
/// # Errors
/// The session is over.
pub(crate) fn check_open(session: &Session) -> Result<(), SessionError> {
    if matches!(session.state(), SessionState::Configured | SessionState::Started) {
        return Ok(());
    }
    Err(SessionError::SessionEnded { id: session.id, state: session.state().name() })
}

/// The session has other filters from now on.
///
/// # Errors
/// The session is over. Nothing changed then.
pub(crate) fn change(
    session: &mut Session,
    job: Changing,
    (sources, producers): (&Sources, &Producers),
    consumers: &mut Consumers,
    cx: &mut Context,
) -> Result<(), SessionError> {
    check_open(session)?;
    // A trigger may have set the duration meanwhile.
    let duration_ms = session.config.duration_ms;
    session.config = Arc::new(TraceConfig { duration_ms, ..job.config });
    *session.source_filters = job.filters;
    for error in job.problems {
        let text = format_args!("ChangeTraceConfig: {error}");
        consumers.log_session_error(session.consumer, &mut cx.out, text);
    }
    let entries = session.instances.len().saturating_add(producers.len());
    cx.spend(limits::WORK_PER_ENTRY.saturating_mul(entries as u64));
    let served = Served {
        instances: session.instances.values().map(|i| (i.source_index, i.producer)).collect(),
        waiting: producers.values().filter_map(|producer| producer.work.new_source()).collect(),
    };
    let job = SetUp { last: sources.last(), served: Some(served), ..SetUp::default() };
    cx.then(Step::SetUp { session: session.id, job: Box::new(job) });
    Ok(())
}
