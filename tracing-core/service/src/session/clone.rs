//! Copying a session while it goes on.
//!
//! ```text
//!   CloneSession ─> clear_before_clone ─┬─> flush A: transfer_on_clone buffers ─> moved  ─┐
//!                                       ├─> flush B: all others                ─> copied ─┼─> a session of its own,
//!                                       └─> CopyFile, if the source has a file ───────────┘   that is only read
//! ```
//!
//! Each group of buffers is taken at the moment its producers have answered, so that a slow producer of one
//! does not blur the other; what else a clone has of its source, when the last one is taken. The bytes follow
//! piece by piece ([`super::copying`]), and show that moment. Until all is taken the source writes nothing
//! into its file: what is in the file and what is in the buffers then fit together.
//!
//! The clone belongs to the consumer that asked, which must have no session. With a file it is written there
//! and closed before the answer.

use std::collections::BTreeMap;

use protos::{CloneSessionRequest, CloneSessionRequestSelector, CloneSessionResponse};
use protozero::Message as _;

use super::copying::{Part, PartBytes};
use super::file::SessionFile;
use super::flush::{FlushFlags, FlushThen};
use super::state::{FinalFlush, Lifecycle, Session, State, TriggerHit};
use crate::FileError;
use crate::buffer::TraceBuffer;
use crate::core::Service;
use crate::limits;
use crate::timers::{Clock, TimerKind};
use crate::triggers::TriggerMode;
use abi::ids::{BufferId, CallId, ClientId, FileId, SessionId};

/// The id that means "whichever session is best for a bug report".
const BUGREPORT_SESSION: u64 = u64::MAX;

/// Buffers that are flushed and taken together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BufferGroup {
    /// Those with `transfer_on_clone`: the clone gets the buffer, the source a fresh one.
    Transferred,
    /// The others: the clone gets a copy.
    Copied,
}

/// Where the file of a clone is.
#[derive(Debug)]
enum CloneFile {
    /// The copy of the source's file is on its way.
    Copying,
    Copied(FileId),
}

pub(super) const NO_MEMORY: &str = "no memory for a copy of the buffers (OOM)";

/// A clone that waits for its flushes, or its bytes.
#[derive(Debug)]
pub(crate) struct PendingClone {
    source: SessionId,
    client: ClientId,
    call: Option<CallId>,
    skip_filter: bool,
    trigger: Option<TriggerHit>,
    asked_at_ns: u64,
    groups_left: usize,
    flush_failed: bool,
    /// What is taken so far, by index.
    pub(super) buffers: BTreeMap<usize, Part>,
    /// All else, when the last of them was taken.
    session: Option<Box<Session>>,
    file: Option<CloneFile>,
}

impl PendingClone {
    /// Whether it needs nothing of its source any more but bytes of buffers.
    fn is_taken(&self) -> bool {
        self.session.is_some() && !matches!(self.file, Some(CloneFile::Copying))
    }
}

/// What a request asks for.
struct Wanted {
    source: SessionId,
    skip_filter: bool,
    for_bugreport: bool,
}

impl Service {
    pub(crate) fn clone_request(
        &mut self,
        client: ClientId,
        call: Option<CallId>,
        request: &CloneSessionRequest,
        file: Option<FileId>,
    ) {
        let Some(uid) = self.consumers.get(&client).map(|c| c.peer.uid) else { return };
        match self.check_clone(client, uid, request, file.is_some()) {
            Ok(wanted) => self.begin_clone(client, call, request, &wanted, file),
            Err(error) => {
                if let Some(file) = file {
                    self.out.close_file(file);
                }
                self.refuse_clone(client, call, &error);
            }
        }
    }

    fn check_clone(
        &mut self,
        client: ClientId,
        uid: u32,
        request: &CloneSessionRequest,
        has_file: bool,
    ) -> Result<Wanted, String> {
        let consumer = self.consumers.get(&client);
        if consumer.is_some_and(|c| c.session.is_some()) {
            return Err("the consumer is already attached to another tracing session".into());
        }
        if self.pending_clones.values().any(|clone| clone.client == client) {
            return Err("a clone for this consumer is already on its way".into());
        }
        let (all, own) = self.count_clones(uid);
        if own >= limits::CLONES_PER_UID_MAX {
            return Err(format!("too many clones ({own}) for uid {uid}: free some"));
        }
        if all >= limits::CLONES_MAX {
            return Err(format!("too many clones ({all})"));
        }
        let wanted = self.find_source(request).ok_or("Tracing session not found")?;
        let session = self.sessions.get(&wanted.source).ok_or("Tracing session not found")?;
        if uid != 0 && uid != session.uid {
            return Err("Not allowed to clone a session from another UID".into());
        }
        if session.file.is_some() && !has_file {
            return Err("the session writes into a file: its clone needs a file descriptor".into());
        }
        if session.file.as_ref().is_some_and(|file| file.is_closing()) {
            return Err("Original session ended: its file is being closed".into());
        }
        self.clear_before_clone(wanted.source)?;
        Ok(wanted)
    }

    /// Clones that there are or will be: of everybody, and of a user.
    fn count_clones(&self, uid: u32) -> (usize, usize) {
        let made = self.sessions.values().filter(|s| s.state == State::ClonedReadOnly);
        let uids = made.map(|s| Some(s.uid)).chain(
            self.pending_clones
                .values()
                .map(|clone| self.consumers.get(&clone.client).map(|c| c.peer.uid)),
        );
        uids.fold((0, 0), |(all, own), of| (all + 1, own + usize::from(of == Some(uid))))
    }

    fn find_source(&self, request: &CloneSessionRequest) -> Option<Wanted> {
        use CloneSessionRequestSelector::{SessionId as ById, UniqueSessionName as ByName};
        let mut live = self.sessions.values().filter(|s| !s.freed && !self.is_being_made(s.id));
        let mut skip_filter = request.skip_trace_filter.unwrap_or(false);
        let mut for_bugreport = request.for_bugreport.unwrap_or(false);
        let found = match request.selector.as_ref()? {
            ById(BUGREPORT_SESSION) => {
                (skip_filter, for_bugreport) = (true, true);
                let score = |s: &&Session| s.config.bugreport_score.unwrap_or(0);
                // The oldest of the best.
                live.filter(|s| s.state == State::Started && score(s) > 0)
                    .max_by_key(|s| (score(s), std::cmp::Reverse(s.id)))
            }
            ById(id) => live.find(|s| s.id.0 == *id),
            ByName(name) => live
                .find(|s| s.state != State::ClonedReadOnly && !name.is_empty() && s.name() == name),
        };
        found.map(|s| Wanted { source: s.id, skip_filter, for_bugreport })
    }

    /// Empties the buffers that are to hold only what producers write because of the clone; all or none.
    fn clear_before_clone(&mut self, source: SessionId) -> Result<(), String> {
        let Some(session) = self.sessions.get(&source) else { return Ok(()) };
        let mut fresh = Vec::new();
        for (config, id) in session.config.buffers.iter().zip(&session.buffers) {
            let has_data = self.buffers.get(id).is_some_and(TraceBuffer::has_data);
            if config.clear_before_clone == Some(true) && has_data {
                fresh.push((*id, self.fresh_buffer(*id, config)?));
            }
        }
        for (id, fresh) in fresh {
            self.retire(id, Some(fresh));
        }
        Ok(())
    }

    fn begin_clone(
        &mut self,
        client: ClientId,
        call: Option<CallId>,
        request: &CloneSessionRequest,
        wanted: &Wanted,
        file: Option<FileId>,
    ) {
        let now = self.now;
        let source = wanted.source;
        self.last_token += 1;
        let token = self.last_token;
        let from = self.sessions.get(&source).and_then(|s| s.file.as_ref()).map(|f| f.id);
        let mut clone_file = None;
        match (from, file) {
            (Some(from), Some(to)) => {
                clone_file = Some(CloneFile::Copying);
                self.copies.insert(to, token);
                self.out.copy_file(from, to);
                self.limit_copy(token, limits::CLONE_COPY_TIMEOUT_MS);
            }
            (None, Some(file)) => self.out.close_file(file),
            (_, None) => {}
        }
        let clone = PendingClone {
            source,
            client,
            call,
            skip_filter: wanted.skip_filter,
            trigger: trigger(request),
            asked_at_ns: now.boot_ns,
            groups_left: 2,
            flush_failed: false,
            buffers: BTreeMap::new(),
            session: None,
            file: clone_file,
        };
        self.pending_clones.insert(token, clone);
        self.out.info(format!("cloning session {source} for client {client}"));
        if let Some(session) = self.sessions.get_mut(&source) {
            session.pending.lifecycle(Lifecycle::FlushStarted, now.boot_ns);
        }
        self.snapshot_clocks(source);
        let flags = FlushFlags::clone_of(wanted.for_bugreport);
        for group in [BufferGroup::Transferred, BufferGroup::Copied] {
            self.flush_group(source, flags, FlushThen::Clone(token, group));
        }
    }

    /// The flush of one group is over: takes its buffers as they are now.
    pub(crate) fn clone_group(&mut self, token: u64, group: BufferGroup, success: bool) {
        let at_ns = self.now.boot_ns;
        let Some(clone) = self.pending_clones.get_mut(&token) else { return };
        clone.flush_failed |= !success;
        clone.groups_left = clone.groups_left.saturating_sub(1);
        let is_last = clone.groups_left == 0;
        let Some(session) = self.sessions.get(&clone.source) else { return };
        let buffers = session.config.buffers.iter().zip(&session.buffers).enumerate();
        let buffers: Vec<_> = buffers
            .filter(|(_, (config, _))| group_of(config) == group)
            .map(|(index, (config, id))| (index, config.clone(), *id))
            .collect();
        for (index, config, id) in buffers {
            let bytes = match group {
                BufferGroup::Copied => self.begin_part(id),
                BufferGroup::Transferred => self.take_buffer(id, &config),
            };
            let Some(bytes) = bytes else {
                return self.end_clone(token, Some(NO_MEMORY));
            };
            if let Some(clone) = self.pending_clones.get_mut(&token) {
                clone.buffers.insert(index, Part { at_ns, bytes });
            }
        }
        if is_last {
            self.take_session(token);
        }
        self.copy_piece();
        self.finish_clone_if_ready(token);
    }

    /// Takes a whole buffer of a session, which gets a fresh one. None: there is no memory.
    fn take_buffer(
        &mut self,
        id: BufferId,
        config: &protos::TraceConfigBufferConfig,
    ) -> Option<PartBytes> {
        let fresh = self.fresh_buffer(id, config).ok()?;
        let mut taken = std::mem::replace(self.buffers.get_mut(&id)?, fresh);
        taken.set_read_only();
        Some(PartBytes::Here(taken))
    }

    /// Takes all of the source that a clone has beside its buffers.
    fn take_session(&mut self, token: u64) {
        let msb = self.random() as i64;
        let (now, now_ns) = (self.now, self.now.boot_ns);
        let Some(clone) = self.pending_clones.get_mut(&token) else { return };
        let Some(source) = self.sessions.get(&clone.source) else { return };
        let uid = self.consumers.get(&clone.client).map_or(0, |c| c.peer.uid);
        let mut session = source.copy_for_clone(uid, clone.client, msb);
        if clone.skip_filter {
            session.filter = None;
        }
        session.final_flush =
            if clone.flush_failed { FinalFlush::Failed } else { FinalFlush::Succeeded };
        let snapshots = session.snapshots_clocks();
        let pending = &mut session.pending;
        pending.clone_trigger = clone.trigger.take();
        pending.clone_started = Some(clone.asked_at_ns);
        let parts = clone.buffers.iter();
        pending.buffers_cloned = parts.map(|(i, part)| (*i as u32, part.at_ns)).collect();
        pending.lifecycle(Lifecycle::TracingDisabled, now_ns);
        // Whoever read the source during the flush took those it had.
        if pending.first_snapshot.is_none() && pending.snapshots.is_empty() && snapshots {
            pending.snapshots.push_back(now);
        }
        clone.session = Some(Box::new(session));
    }

    /// The shell's answer to a `CopyFile`; false if it was not one.
    pub(crate) fn file_copied(&mut self, file: FileId, result: &Result<(), FileError>) -> bool {
        let Some(token) = self.copies.remove(&file) else { return false };
        self.timers.cancel(TimerKind::CloneCopy, token);
        match (self.pending_clones.get_mut(&token), result) {
            (Some(clone), Ok(())) => {
                clone.file = Some(CloneFile::Copied(file));
                self.finish_clone_if_ready(token);
            }
            (Some(clone), Err(error)) => {
                // Whoever wrote has closed it.
                clone.file = None;
                let text = format!("copying the trace file failed: {}", error.text);
                self.end_clone(token, Some(&text));
            }
            (None, _) => {}
        }
        true
    }

    pub(super) fn finish_clone_if_ready(&mut self, token: u64) {
        let Some(clone) = self.pending_clones.get(&token).filter(|c| c.is_taken()) else { return };
        let source = clone.source;
        if clone.is_copying() {
            return self.resume_file(source);
        }
        let consumer = self.consumers.get(&clone.client);
        if consumer.is_some_and(|c| c.session.is_some()) {
            let text = "the consumer is already attached to another tracing session";
            return self.end_clone(token, Some(text));
        }
        let Some(mut clone) = self.pending_clones.remove(&token) else { return };
        let mut ids = Vec::new();
        for part in std::mem::take(&mut clone.buffers).into_values() {
            let PartBytes::Here(buffer) = part.bytes else { continue };
            match self.next_buffer_id() {
                Ok(id) => {
                    self.buffers.insert(id, buffer);
                    ids.push(id);
                }
                Err(error) => {
                    for id in ids {
                        self.buffers.remove(&id);
                    }
                    self.pending_clones.insert(token, clone);
                    return self.end_clone(token, Some(&error));
                }
            }
        }
        self.make_clone(clone, ids);
        self.resume_file(source);
    }

    fn make_clone(&mut self, clone: PendingClone, buffers: Vec<BufferId>) {
        let Some(mut session) = clone.session else { return };
        let id = SessionId(self.last_session_id + 1);
        session.id = id;
        session.buffers = buffers;
        // Triggers that a clone was waited for go with it.
        if let Some(source) = self.sessions.get_mut(&clone.source)
            && source.triggers.mode == TriggerMode::Clone
        {
            source.pending.forget_triggers(&session.pending.triggers);
        }
        let response = CloneSessionResponse {
            success: Some(true),
            uuid_msb: Some(session.uuid.1),
            uuid_lsb: Some(session.uuid.0),
            was_write_into_file: Some(clone.file.is_some()),
            ..Default::default()
        };
        if let Some(CloneFile::Copied(file)) = clone.file {
            // Without the limit of the source: what was recorded is to be kept.
            session.file = Some(SessionFile::new(file, &protos::TraceConfig::default()));
        }
        let has_file = session.file.is_some();
        session.clone_reply = Some((clone.call, response));
        self.last_session_id = id.0;
        self.sessions.insert(id, *session);
        if let Some(consumer) = self.consumers.get_mut(&clone.client) {
            consumer.session = Some(id);
        }
        self.set_state(id, State::ClonedReadOnly);
        if has_file {
            self.finish_file(id);
        } else {
            self.clone_written(id, None);
        }
    }

    /// The clone is complete, in its file too: its consumer may know. After an error nothing of it is left.
    pub(crate) fn clone_written(&mut self, id: SessionId, error: Option<&str>) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let Some((call, response)) = session.clone_reply.take() else { return };
        let Some(client) = session.consumer else { return };
        match error {
            None => self.out.reply(client, call, response.encode_to_vec().into()),
            Some(error) => {
                self.refuse_clone(client, call, error);
                self.free_session(id, "");
            }
        }
    }

    /// The clone goes away before it is in its file.
    pub(crate) fn fail_clone_being_written(&mut self, id: SessionId, reason: &str) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let Some((call, _)) = session.clone_reply.take() else { return };
        // Of a consumer that is gone nobody waits.
        let client = session.consumer.filter(|client| self.consumers.contains_key(client));
        if let Some(client) = client {
            let reason = if reason.is_empty() { "it was freed" } else { reason };
            self.refuse_clone(client, call, reason);
        }
    }

    /// Gives up a clone that is not made yet.
    pub(super) fn end_clone(&mut self, token: u64, error: Option<&str>) {
        let Some(mut clone) = self.pending_clones.remove(&token) else { return };
        self.abandon_parts(std::mem::take(&mut clone.buffers));
        match clone.file {
            Some(CloneFile::Copied(file)) => self.out.close_file(file),
            Some(CloneFile::Copying) => self.abandon_copy(token),
            None => {}
        }
        if let Some(error) = error {
            self.refuse_clone(clone.client, clone.call, error);
        }
        self.resume_file(clone.source);
    }

    /// Nobody wants the copy of a file any more that is being made.
    fn abandon_copy(&mut self, token: u64) {
        self.timers.cancel(TimerKind::CloneCopy, token);
        let of_clone = self.copies.iter().find(|(_, of)| **of == token);
        if let Some(file) = of_clone.map(|(file, _)| *file) {
            self.copies.remove(&file);
            self.out.abandon_file(file);
        }
    }

    fn limit_copy(&mut self, token: u64, ms: u64) {
        self.timers.set_in(
            &self.now,
            Clock::Monotonic,
            ms * 1_000_000,
            TimerKind::CloneCopy,
            token,
        );
    }

    /// The timer of a copy: it goes into a pipe that nobody reads, or onto a disk that is too slow.
    pub(crate) fn clone_copy_due(&mut self, token: u64) {
        self.end_clone(token, Some("copying the trace file took too long"));
    }

    /// The source ended: its file waits for those who copy it, but not for long.
    pub(crate) fn hurry_copies_of(&mut self, source: SessionId) {
        let copying = |clone: &PendingClone| matches!(clone.file, Some(CloneFile::Copying));
        for token in self.pending_clones_of(source, copying) {
            self.limit_copy(token, limits::CLONE_COPY_LAST_MS);
        }
    }

    /// The consumer is gone: nobody wants its clone any more.
    pub(crate) fn abandon_clone(&mut self, client: ClientId) {
        let of_client = self.pending_clones.iter().find(|(_, clone)| clone.client == client);
        if let Some(token) = of_client.map(|(token, _)| *token) {
            self.end_clone(token, None);
        }
    }

    /// The source goes away. What is taken of it is copied to the end, unless there is a reason why nobody
    /// should have it.
    pub(crate) fn fail_clones_of(&mut self, source: SessionId, reason: &str) {
        let fails = |clone: &PendingClone| !(clone.is_taken() && reason.is_empty());
        for token in self.pending_clones_of(source, fails) {
            self.end_clone(token, Some("Original session ended"));
        }
    }

    /// The file of the source lacks something, and so do the copies of it.
    pub(crate) fn fail_copies_of(&mut self, source: SessionId, error: &str) {
        let copies = |clone: &PendingClone| clone.file.is_some() && !clone.is_taken();
        for token in self.pending_clones_of(source, copies) {
            self.end_clone(token, Some(error));
        }
    }

    /// Nobody's session goes on, nor does what is to become one.
    pub(crate) fn fail_all_clones(&mut self, reason: &str) {
        let tokens: Vec<u64> = self.pending_clones.keys().copied().collect();
        for token in tokens {
            self.end_clone(token, Some(reason));
        }
    }

    /// Tokens of those clones of a session that are not made yet.
    fn pending_clones_of(&self, source: SessionId, is: impl Fn(&PendingClone) -> bool) -> Vec<u64> {
        let all = self.pending_clones.iter();
        all.filter(|(_, clone)| clone.source == source && is(clone))
            .map(|(token, _)| *token)
            .collect()
    }

    /// True while a clone takes a copy of the session's file: it must hold still.
    pub(crate) fn file_holds_still(&self, id: SessionId) -> bool {
        let holds = |c: &PendingClone| c.source == id && c.file.is_some() && !c.is_taken();
        self.pending_clones.values().any(holds)
    }

    fn refuse_clone(&mut self, client: ClientId, call: Option<CallId>, error: &str) {
        self.complain_of(client, format!("CloneSession: {error}"));
        let response = CloneSessionResponse {
            success: Some(false),
            error: Some(error.to_owned()),
            ..Default::default()
        };
        self.out.reply(client, call, response.encode_to_vec().into());
    }
}

pub(crate) fn group_of(config: &protos::TraceConfigBufferConfig) -> BufferGroup {
    match config.transfer_on_clone {
        Some(true) => BufferGroup::Transferred,
        _ => BufferGroup::Copied,
    }
}

/// What the clone is made for, if a trigger asked for it.
fn trigger(request: &CloneSessionRequest) -> Option<TriggerHit> {
    let name = request.clone_trigger_name.as_deref().filter(|name| !name.is_empty())?;
    Some(TriggerHit {
        at_ns: request.clone_trigger_boot_time_ns.unwrap_or(0),
        name: name.into(),
        producer: request.clone_trigger_producer_name.as_deref().unwrap_or_default().into(),
        uid: request.clone_trigger_trusted_producer_uid.unwrap_or(0) as u32,
        delay_ms: request.clone_trigger_delay_ms.unwrap_or(0),
    })
}

impl Session {
    /// All of it that a clone starts with, but for its number and its buffers.
    fn copy_for_clone(&self, uid: u32, client: ClientId, msb: i64) -> Self {
        let mut pending = self.pending.clone();
        pending.initial_done = false;
        pending.sync_marker = false;
        pending.stats = true;
        pending.triggers_emitted = 0;
        let uuid = (self.uuid.0, msb);
        let (id, config) = (self.id, self.config.clone());
        let mut clone = Self::new(id, uid, client, config, uuid, Default::default());
        clone.pending = pending;
        clone.start_realtime_ns = self.start_realtime_ns;
        // The same numbers as in the source, so that they fit to those in a file that was copied.
        clone.sequences = self.sequences.clone();
        clone.counters = self.counters;
        clone.filter = self.filter.as_ref().map(crate::filter::TraceFilter::fork);
        clone.compression = self.compression;
        clone
    }
}
