//! From `EnableTracing` to a session that is set up.
//!
//! ```text
//!   request ─> check ─> [end all others, if exclusive] ─> admit ─> [priority] ─> [create file] ─> configure
//! ```
//!
//! Checks come in upstream's order (`EnableTracing` in `tracing_service_impl.cc`); what happened before a check failed
//! stays (lockdown, exclusive aborts, guardrail times), as there. The session exists from `admit` on; the shell creates
//! its file or sets the priority before it is set up.

use protos::{EnableTracingRequest, TraceConfig, TraceConfigLockdownModeOperation as Lockdown};

use super::admission::{Admission, RequestFile};
use super::buffer_charge;
use super::checking::Checking;
use super::compressing::Compression;
use super::config::Checked;
use super::file::SessionFile;
use super::flush_request::FlushStrategy;
use super::life::{SessionState, SetUpWait};
use super::priority::{self, Priority};
use super::shares::SessionShares;
use super::state::{GuardedStart, Session, Sessions};
use super::stop::refuse_to_detach;
use super::trigger_config::TriggerMode;
use crate::accounts::User;
use crate::buffers::Buffers;
use crate::consumers::Consumers;
use crate::context::Context;
use crate::data_sources::Sources;
use crate::effect_queue::Caller;
use crate::error::{ConfigError, OtherSessions, PriorityError, SessionError};
use crate::ids::TraceUuid;
use crate::input::FileError;
use crate::limits;
use crate::producers::Producers;
use crate::step::Step;
use crate::timers::Timer;
use crate::work::SetUp;
use abi::ids::{ClientId, FileId, SessionId, ShellToken};
use abi::sync::Arc;

/// A consumer asks for a session, or to be told of the end of the one it has. Returns what is to be checked.
pub(crate) fn handle_request(
    caller: Caller,
    request: EnableTracingRequest,
    mut file: RequestFile,
    cx: &mut Context,
    consumers: &mut Consumers,
    producers: &mut Producers,
) -> Option<Box<Checking>> {
    let client = caller.client;
    let Some(consumer) = consumers.get_mut(client) else {
        file.close(&mut cx.out);
        return None;
    };
    // Only one call can be answered at the end.
    let older = consumer.replace_enable_call(caller.call);
    cx.out.reject(Caller { client, call: older });
    if request.attach_notification_only == Some(true) {
        file.close(&mut cx.out);
        if let Some(id) = consumer.session {
            cx.then(Step::ReportEnd(id));
        }
        return None;
    }
    let (uid, attached) = (consumer.peer.uid, consumer.session.is_some());
    let config = request.trace_config.unwrap_or_default();
    let reserved = reserved_field(&config).filter(|_| !cx.config.is_privileged(uid));
    if let Some(field) = reserved {
        file.close(&mut cx.out);
        refuse(client, &SessionError::Reserved { field, uid }, consumers, cx);
        return None;
    }
    let uuid = choose_uuid(&config, cx);
    match config.lockdown_mode {
        Some(Lockdown::LOCKDOWN_SET) => producers.lockdown = true,
        Some(Lockdown::LOCKDOWN_CLEAR) => producers.lockdown = false,
        _ => {}
    }
    if attached {
        file.close(&mut cx.out);
        refuse(client, &SessionError::AlreadyActive, consumers, cx);
        return None;
    }
    Some(Box::new(Checking::new(uid, uuid, config, file.take())))
}

/// A field by which a session ends those of all users, or shuts out their producers.
fn reserved_field(config: &TraceConfig) -> Option<&'static str> {
    let locks =
        matches!(config.lockdown_mode, Some(Lockdown::LOCKDOWN_SET | Lockdown::LOCKDOWN_CLEAR));
    let is_exclusive = config.exclusive_prio.is_some_and(|priority| priority > 0);
    is_exclusive.then_some("exclusive_prio").or(locks.then_some("lockdown_mode"))
}

/// The checks that need nothing but the config are done: goes on with those that look at other sessions.
pub(crate) fn handle_check_result(
    client: ClientId,
    job: Checking,
    checked: Result<Option<Checked>, ConfigError>,
    sessions: &Sessions,
    consumers: &mut Consumers,
    cx: &mut Context,
) {
    let Checking { uid, uuid, config, file, .. } = job;
    let file = RequestFile::new(file);
    let checked = checked.map_err(SessionError::from).and_then(|checked| {
        check_exclusive(&config, sessions, cx)?;
        Ok(checked.unwrap_or_default())
    });
    match checked {
        Ok(checked) => {
            let admission = Admission { client, uid, uuid, config, checked, file };
            cx.then(Step::Admit(Box::new(admission)));
        }
        Err(error) => {
            file.close(&mut cx.out);
            refuse(client, &error, consumers, cx);
        }
    }
}

/// Refuses a session if an exclusive one of the same or a higher priority runs. An exclusive session ends all others,
/// by steps.
fn check_exclusive(
    config: &TraceConfig,
    sessions: &Sessions,
    cx: &mut Context,
) -> Result<(), OtherSessions> {
    let asked = config.exclusive_prio.unwrap_or(0);
    let highest =
        sessions.reachable().map(|s| s.config.exclusive_prio.unwrap_or(0)).max().unwrap_or(0);
    if highest > 0 && highest >= asked {
        return Err(OtherSessions::ExclusiveActive { highest, asked });
    }
    if asked > 0 {
        let reason = SessionError::ExclusiveAbort { priority: asked };
        for session in sessions.ids() {
            cx.then(Step::Free { session, reason: Some(reason.clone()) });
        }
        cx.then(Step::FailAllClones(reason));
    }
    Ok(())
}

/// Tells a consumer that it gets no session.
pub(crate) fn refuse(
    client: ClientId,
    error: &SessionError,
    consumers: &mut Consumers,
    cx: &mut Context,
) {
    consumers.log_error(client, &mut cx.out, format_args!("EnableTracing: {error}"));
    consumers.report_disabled(client, &mut cx.out, &error.to_string());
}

/// Makes a session of a config, if there may be one more like it.
pub(crate) fn admit(
    mut admission: Admission,
    sessions: &mut Sessions,
    consumers: &mut Consumers,
    buffers: &mut Buffers,
    priority: &mut Priority,
    cx: &mut Context,
) {
    let client = admission.client;
    let session = match make_session(&mut admission, sessions, cx) {
        Ok(session) => session,
        Err(error) => {
            admission.file.close(&mut cx.out);
            return refuse(client, &error, consumers, cx);
        }
    };
    admission.file.close(&mut cx.out);
    let id = session.id;
    let wants_boost = session.boost.is_some();
    sessions.insert(session);
    consumers.set_session(client, Some(id));
    let highest = sessions.highest_boost();
    let Some(session) = sessions.get_mut(id) else { return };
    // Before a file is created: a session that is refused leaves none behind.
    if let Err(error) = allocate_buffers(session, buffers, cx) {
        return cx.then(Step::FailEnabling { session: id, error });
    }
    let token = if wants_boost { priority.request(cx, highest) } else { None };
    match token {
        Some(token) => session.life.wait_for(SetUpWait::Priority(token)),
        None => cx.then(Step::CreateFile(id)),
    }
}

/// Makes the checks that need the other sessions or the user, then the session. The session owns the file if it writes
/// one.
fn make_session(
    admission: &mut Admission,
    sessions: &mut Sessions,
    cx: &mut Context,
) -> Result<Session, SessionError> {
    let config = &admission.config;
    check_others(config, admission.uid, sessions, cx)?;
    let filter = admission.checked.filter.take().transpose().map_err(ConfigError::Filter)?;
    let boost = priority::requested_boost(config).map_err(ConfigError::Priority)?;
    if !cx.config.is_privileged(admission.uid) {
        let uid = admission.uid;
        if boost.is_some() {
            return Err(ConfigError::Priority(PriorityError::OfOther { uid }).into());
        }
        if let Some(source) = priority::boosted_source(config) {
            let why = PriorityError::OfSource { uid, source: source.to_owned() };
            return Err(ConfigError::Priority(why).into());
        }
    }
    for note in std::mem::take(&mut admission.checked.notes) {
        cx.out.info(format!("trace config: {note}"));
    }
    // The number is taken even if the last check fails, as upstream does.
    let id = sessions.next_id();
    let write_into_file = config.write_into_file.unwrap_or(false);
    let has_path = config.output_path.as_deref().is_some_and(|p| !p.is_empty());
    if write_into_file && admission.file.is_some() == has_path {
        return Err(ConfigError::FileXorPath.into());
    }
    let Admission { client, uid, uuid, config, checked, file } = admission;
    let (config, checked) = (std::mem::take(config), std::mem::take(checked));
    let limits = &cx.config.limits;
    let mut session = Session::new(id, *uid, *client, config, *uuid, checked, limits);
    if session.wants_concurrent_events() {
        for other in sessions.reachable() {
            session.add_concurrent(other.as_concurrent_event(), cx.now.boot_ns);
        }
    }
    *session.packet_filter = filter;
    session.compression = Compression::of_codec(cx.config.codecs.choose(&session.config));
    session.boost = boost;
    if write_into_file && let Some(file) = file.take() {
        session.file = Some(SessionFile::new(file, &session.config));
    }
    Ok(session)
}

/// Makes all buffers that the config asks for. After an error some may be there.
fn allocate_buffers(
    session: &mut Session,
    buffers: &mut Buffers,
    cx: &mut Context,
) -> Result<(), SessionError> {
    let bytes = buffer_charge::of_config(&session.config)?;
    session.buffer_charge.raise_to(bytes, &mut cx.accounts).map_err(SessionError::NoRoom)?;
    for config in &session.config.buffers {
        session.buffers.push(buffers.add_fresh(config)?);
    }
    Ok(())
}

/// Asks the shell for the file of a session, if it needs one.
pub(crate) fn create_file(session: &mut Session, cx: &mut Context) {
    let write_into_file = session.config.write_into_file.unwrap_or(false);
    if !write_into_file || session.file.is_some() {
        return cx.then(Step::Configure(session.id));
    }
    let path = session.config.output_path.clone().unwrap_or_default();
    let Some(client) = session.consumer else {
        let reason = "its consumer has left it, and no other has the right to create it".into();
        let error = SessionError::CreateFile { path, reason };
        return cx.then(Step::FailEnabling { session: session.id, error });
    };
    let token = cx.next_token();
    session.life.wait_for(SetUpWait::File(token));
    cx.out.create_file(token, client, session.uid, path);
}

/// The session that waits for that, and is not freed meanwhile.
fn waiting_for(what: SetUpWait, sessions: &mut Sessions) -> Option<&mut Session> {
    sessions.values_mut().find(|s| s.life.waits_for(what) && !s.life.is_freed())
}

/// The shell created the file that an `EnableTracing` waits for, or could not.
pub(crate) fn handle_file_created(
    token: ShellToken,
    result: Result<FileId, FileError>,
    sessions: &mut Sessions,
    cx: &mut Context,
) {
    let Some(session) = waiting_for(SetUpWait::File(token), sessions) else {
        if let Ok(file) = result {
            cx.out.close_file(file);
        }
        return;
    };
    session.life.end_wait();
    let id = session.id;
    match result {
        Ok(file) => {
            session.file = Some(SessionFile::new(file, &session.config));
            cx.then(Step::Configure(id));
        }
        Err(error) => {
            let path = session.config.output_path.clone().unwrap_or_default();
            let error = SessionError::CreateFile { path, reason: error.text };
            cx.then(Step::FailEnabling { session: id, error });
        }
    }
}

/// The shell's answer to a `SetPriority`.
pub(crate) fn handle_priority_set(
    token: ShellToken,
    result: Result<(), String>,
    sessions: &mut Sessions,
    cx: &mut Context,
) {
    match (waiting_for(SetUpWait::Priority(token), sessions), result) {
        (Some(session), result) => {
            session.life.end_wait();
            cx.then(match result {
                Ok(()) => Step::CreateFile(session.id),
                Err(reason) => {
                    let error = SessionError::Priority(reason);
                    Step::FailEnabling { session: session.id, error }
                }
            });
        }
        (None, Ok(())) => {}
        (None, Err(error)) => cx.out.error(format!("priority of the service: {error}")),
    }
}

/// Removes a session that could not be set up, and tells its consumer why.
pub(crate) fn fail(
    id: SessionId,
    error: &SessionError,
    sessions: &mut Sessions,
    consumers: &mut Consumers,
    buffers: &mut Buffers,
    priority: &mut Priority,
    cx: &mut Context,
) {
    let Some(mut session) = sessions.remove(id) else { return };
    for buffer in &session.buffers {
        buffers.remove(*buffer);
    }
    session.buffer_charge.release(&mut cx.accounts);
    if let Some(file) = session.file.take() {
        cx.out.close_file(file.id);
    }
    priority.request(cx, sessions.highest_boost());
    let Some(client) = session.consumer else { return };
    refuse_to_detach(&mut session, client, consumers, cx);
    consumers.set_session(client, None);
    refuse(client, error, consumers, cx);
}

#[allow(deprecated, reason = "older peers still send them")]
fn choose_uuid(config: &TraceConfig, cx: &mut Context) -> TraceUuid {
    let asked = TraceUuid {
        lsb: config.trace_uuid_lsb.unwrap_or(0),
        msb: config.trace_uuid_msb.unwrap_or(0),
    };
    if asked != TraceUuid::default() {
        return asked;
    }
    TraceUuid { lsb: cx.random.next() as i64, msb: cx.random.next() as i64 }
}

/// Makes the checks that look at other sessions: names, semaphores, the time between sessions, and how many there are.
fn check_others(
    config: &TraceConfig,
    uid: u32,
    sessions: &mut Sessions,
    cx: &mut Context,
) -> Result<(), OtherSessions> {
    let name = config.unique_session_name.as_deref().unwrap_or_default();
    let recording = || sessions.reachable().filter(|s| s.state() != SessionState::ClonedReadOnly);
    if !name.is_empty() && recording().any(|s| s.name() == name) {
        return Err(OtherSessions::NameTaken(name.to_owned()));
    }
    for semaphore in &config.session_semaphores {
        let wanted = semaphore.name.as_deref().unwrap_or_default();
        let mut max = semaphore.max_other_session_count.unwrap_or(0);
        let mut count = 0u64;
        for other in recording().filter(|s| s.state() != SessionState::Disabled) {
            let mut held = other.config.session_semaphores.iter();
            cx.spend((held.len() as u64).saturating_mul(limits::WORK_PER_NAME));
            if let Some(held) = held.find(|s| s.name.as_deref().unwrap_or_default() == wanted) {
                count = count.saturating_add(1);
                max = max.min(held.max_other_session_count.unwrap_or(0));
            }
        }
        if count > max {
            return Err(OtherSessions::Semaphore { name: wanted.to_owned(), count, max });
        }
    }
    check_spacing(config, name, uid, sessions, cx)?;
    // Sessions of which only the file is left count, too: they still hold memory. An exclusive session does not
    // wait for those that it ended itself.
    let exclusive = config.exclusive_prio.unwrap_or(0) > 0;
    let counted = || sessions.values().filter(|s| !exclusive || s.life.is_reachable());
    let count = counted().filter(|s| s.uid == uid).count();
    if count >= limits::SESSIONS_PER_UID_MAX {
        return Err(OtherSessions::TooManyOfUid { count, uid });
    }
    // Clones do not count: they have shares of their own.
    let recording = counted().filter(|s| s.state() != SessionState::ClonedReadOnly);
    let checked = SessionShares::of_sessions().check(uid, recording.map(|s| s.uid), &cx.accounts);
    checked.map_err(OtherSessions::TooMany)
}

fn check_spacing(
    config: &TraceConfig,
    name: &str,
    uid: u32,
    sessions: &mut Sessions,
    cx: &Context,
) -> Result<(), OtherSessions> {
    if !config.enable_extra_guardrails.unwrap_or(false) {
        return Ok(());
    }
    let now_ns = cx.now.boot_ns;
    let starts = &mut sessions.guarded_starts;
    starts.retain(|_, start| now_ns.saturating_sub(start.at_ns) <= limits::GUARDRAIL_SPACING_NS);
    if starts.contains_key(name) {
        return Err(OtherSessions::TooRecent(name.to_owned()));
    }
    let max = cx.config.limits.guardrail_names_max;
    let of_user = starts.values().filter(|start| start.uid == uid).count();
    // The names are common to all users: one of them must not use them up.
    let is_full = cx.accounts.is_limited(User::local(uid))
        && of_user >= (max / limits::GUARDRAIL_NAMES_USER_PART).max(1);
    let names = starts.len();
    if names >= max || is_full {
        return Err(OtherSessions::TooManyGuarded { names, of_user, uid });
    }
    starts.insert(name.to_owned(), GuardedStart { at_ns: now_ns, uid });
    Ok(())
}

/// Begins to set a session up, with all data sources that its config means.
pub(crate) fn configure(session: &mut Session, sources: &Sources, cx: &mut Context) {
    let (strategy, note) = FlushStrategy::choose(&session.config);
    session.strategy = strategy;
    let trigger = session.config.trigger_config.as_ref();
    let trigger_timeout_ms = trigger.and_then(|t| t.trigger_timeout_ms).unwrap_or(0);
    if matches!(session.triggers.mode, TriggerMode::Stop | TriggerMode::Clone) {
        // Before the set-up, so that all data sources are told the same.
        Arc::make_mut(&mut session.config).duration_ms = Some(trigger_timeout_ms);
    }
    if let Some(note) = note {
        cx.out.info(note);
    }
    session.life.wait_for(SetUpWait::Sources);
    session.known_sources = sources.last();
    let job = Box::new(SetUp { last: sources.last(), ..SetUp::default() });
    cx.then(Step::SetUp { session: session.id, job });
}

/// All data sources are set up.
pub(crate) fn finish_set_up(session: &mut Session, consumers: &mut Consumers, cx: &mut Context) {
    session.set_state(cx, SessionState::Configured);
    if session.match_budget_exceeded {
        let error = SessionError::MatchCostExceeded;
        let text = format_args!("EnableTracing: {error}");
        consumers.log_session_error(session.consumer, &mut cx.out, text);
        return cx.then(Step::Free { session: session.id, reason: Some(error) });
    }
    let sizes_kb = session.config.buffers.iter().map(|b| u64::from(b.size_kb.unwrap_or(0)));
    let line = format!(
        "configured session {}: uid {}, {} data sources, {} buffers, {} KB, duration {} ms",
        session.id,
        session.uid,
        session.config.data_sources.len(),
        session.config.buffers.len(),
        sizes_kb.sum::<u64>(),
        session.config.duration_ms.unwrap_or(0),
    );
    cx.out.info(line);
    let id = session.id;
    if session.life.ends_when_made() {
        cx.then(Step::Disable { session: id, immediate: false, error: None });
    } else if session.triggers.mode == TriggerMode::Start {
        let trigger = session.config.trigger_config.as_ref();
        let wait_ms = trigger.and_then(|t| t.trigger_timeout_ms).unwrap_or(0).into();
        cx.set_timer_ms(wait_ms, Timer::TriggerTimeout(session.id));
    } else if !session.config.deferred_start.unwrap_or(false) {
        cx.then(Step::Start(id));
    }
    if let Some((call, key)) = session.pending_detach.take() {
        cx.then(Step::Detach { session: id, call, key });
    }
}
