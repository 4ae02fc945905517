//! One clone until it is a session, and the state that it copies from its source.

use protos::CloneSessionResponse;
use protozero::Message as _;

use super::compressing::Compression;
use super::config::Checked;
use super::copying::{Part, Parts};
use super::end_report::EndError;
use super::events::{Lifecycle, TriggerHit};
use super::file::SessionFile;
use super::flush_request::FinalFlush;
use super::life::SessionState;
use super::state::{Session, Sessions, Taken};
use super::trigger_config::TriggerMode;
use crate::accounts::{BufferCharge, NoRoom};
use crate::consumers::Consumers;
use crate::context::Context;
use crate::effect_queue::Caller;
use crate::error::CloneError;
use crate::ids::TraceUuid;
use crate::limits::Limits;
use crate::step::Step;
use abi::ids::{BufferId, ClientId, CloneId, FileId, SessionId};

/// Where the file of a clone is.
#[derive(Debug)]
pub(crate) enum CloneFile {
    /// The shell copies the source's file.
    Copying,
    Copied(FileId),
}

/// A clone that waits for its flushes, or its bytes.
#[derive(Debug)]
pub(crate) struct PendingClone {
    pub(crate) source: SessionId,
    pub(crate) caller: Caller,
    pub(crate) skip_filter: bool,
    pub(crate) trigger: Option<TriggerHit>,
    pub(crate) asked_at_ns: u64,
    pub(crate) groups_left: usize,
    pub(crate) flush_failed: bool,
    /// Buffers that are taken so far.
    pub(crate) parts: Parts,
    /// What is on the account of its user for them.
    pub(crate) buffer_charge: BufferCharge,
    /// What it has taken so far, as that counts it.
    pub(crate) bytes_taken: usize,
    /// All else, when the last of them was taken.
    pub(crate) session: Option<Box<Session>>,
    pub(crate) file: Option<CloneFile>,
}

impl PendingClone {
    /// Whether it needs nothing of its source any more but bytes of buffers.
    pub(crate) fn is_taken(&self) -> bool {
        self.session.is_some() && !matches!(self.file, Some(CloneFile::Copying))
    }

    /// Takes `bytes` more. What its buffers got since it was asked for comes onto the account of its user.
    pub(crate) fn grow(&mut self, bytes: usize, cx: &mut Context) -> Result<(), NoRoom> {
        let taken = self.bytes_taken.saturating_add(bytes);
        self.buffer_charge.raise_to(taken, &mut cx.accounts)?;
        self.bytes_taken = taken;
        Ok(())
    }

    /// Whether bytes of it are yet to be copied.
    pub(crate) fn is_copying(&self) -> bool {
        self.parts.values().any(Part::is_copying)
    }
}

/// All of the source that a clone has beside its buffers.
pub(crate) fn take_session(
    source: &Session,
    clone: &PendingClone,
    uid: u32,
    cx: &mut Context,
) -> Session {
    let msb = cx.random.next() as i64;
    let mut session = copy_for_clone(source, uid, clone.caller.client, msb, &cx.config.limits);
    if clone.skip_filter {
        *session.packet_filter = None;
    }
    session.final_flush = FinalFlush::of(!clone.flush_failed);
    let wants_snapshots = session.wants_snapshots();
    let events = &mut session.unread_events;
    events.clone_trigger = clone.trigger.clone();
    events.clone_started = Some(clone.asked_at_ns);
    let parts = clone.parts.iter();
    events.buffers_cloned = parts.map(|(i, part)| (*i as u32, part.at_ns)).collect();
    events.add_lifecycle(Lifecycle::TracingDisabled, cx.now.boot_ns);
    // A consumer that read the source during the flush took those it had.
    if events.first_snapshot.is_none() && events.snapshots.is_empty() && wants_snapshots {
        events.snapshots.push_back(cx.now);
    }
    session
}

/// All of a session that a clone starts with, but for its number and its buffers.
fn copy_for_clone(
    source: &Session,
    uid: u32,
    client: ClientId,
    msb: i64,
    limits: &Limits,
) -> Session {
    let mut unread_events = source.unread_events.clone();
    unread_events.initial_done = false;
    unread_events.sync_marker = false;
    unread_events.stats = true;
    unread_events.triggers_emitted = 0;
    let uuid = TraceUuid { msb, ..source.uuid };
    let config = source.config.clone();
    let checked = Checked::default();
    let mut clone = Session::new(source.id, uid, client, config, uuid, checked, limits);
    clone.unread_events = unread_events;
    clone.start_realtime_ns = source.start_realtime_ns;
    // The same numbers as in the source, so that they fit to those in a file that was copied. They are shared.
    clone.sequences = source.sequences.of_clone();
    clone.counters = source.counters;
    clone.ledger = source.ledger.clone();
    *clone.packet_filter = source.packet_filter.as_ref().map(crate::filter::TraceFilter::fork);
    clone.compression = Compression::of_codec(source.compression.codec);
    clone
}

/// Makes the session of a clone that has all. `took_data`: its source lacks packets that it has.
pub(crate) fn make_clone(
    clone: PendingClone,
    buffers: Vec<BufferId>,
    took_data: bool,
    sessions: &mut Sessions,
    consumers: &mut Consumers,
    cx: &mut Context,
) {
    let Some(mut session) = clone.session else { return };
    let id = sessions.next_id();
    session.id = id;
    session.buffers = buffers;
    session.buffer_charge = clone.buffer_charge;
    // Triggers that a clone was waited for go with it.
    if let Some(source) = sessions.get_mut(clone.source)
        && source.triggers.mode == TriggerMode::Clone
    {
        source.unread_events.forget_triggers(&session.unread_events.triggers);
    }
    let response = CloneSessionResponse {
        success: Some(true),
        uuid_msb: Some(session.uuid.msb),
        uuid_lsb: Some(session.uuid.lsb),
        was_write_into_file: Some(clone.file.is_some()),
        ..Default::default()
    };
    if let Some(CloneFile::Copied(file)) = clone.file {
        // Without the limit of the source: what was recorded is to be kept.
        session.file = Some(SessionFile::new(file, &protos::TraceConfig::default()));
    }
    session.taken = took_data.then_some(Taken { source: clone.source, is_read: false });
    *session.clone_reply = Some((clone.caller.call, response));
    session.set_state(cx, SessionState::ClonedReadOnly);
    cx.then(match session.file {
        Some(_) => Step::FinishFile(id),
        None => Step::CloneWritten { session: id, error: None },
    });
    sessions.insert(*session);
    consumers.set_session(clone.caller.client, Some(id));
}

/// The clone is complete, in its file too: its consumer may know. After an error nothing of it is left.
pub(crate) fn handle_clone_written(
    session: &mut Session,
    error: Option<&CloneError>,
    consumers: &mut Consumers,
    cx: &mut Context,
) {
    let Some((call, response)) = session.clone_reply.take() else { return };
    let Some(client) = session.consumer else { return };
    match error {
        None => cx.out.reply(Caller { client, call }, response.encode_to_vec().into()),
        Some(error) => {
            refuse(Caller { client, call }, error, consumers, cx);
            cx.then(Step::Free { session: session.id, reason: None });
        }
    }
}

/// The clone goes away before it is in its file.
pub(crate) fn fail_reply(
    session: &mut Session,
    reason: EndError,
    consumers: &mut Consumers,
    cx: &mut Context,
) {
    let Some((call, _)) = session.clone_reply.take() else { return };
    // A consumer that is gone waits for no answer.
    if let Some(client) = session.consumer.filter(|client| consumers.get(*client).is_some()) {
        let error = reason.map_or(CloneError::Freed, CloneError::Session);
        refuse(Caller { client, call }, &error, consumers, cx);
    }
}

/// Ends a clone that is not made yet: its consumer gets this error.
pub(super) fn give_up(clone: CloneId, error: CloneError, cx: &mut Context) {
    cx.then(Step::EndClone { clone, error: Some(error) });
}

/// Tells a consumer that it gets no clone.
pub(crate) fn refuse(
    caller: Caller,
    error: &CloneError,
    consumers: &mut Consumers,
    cx: &mut Context,
) {
    consumers.log_error(caller.client, &mut cx.out, format_args!("CloneSession: {error}"));
    let response = CloneSessionResponse {
        success: Some(false),
        error: Some(error.to_string()),
        ..Default::default()
    };
    cx.out.reply(caller, response.encode_to_vec().into());
}
