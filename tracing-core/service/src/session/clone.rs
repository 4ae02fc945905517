//! Copying a session while it records.
//!
//! ```text
//!   CloneSession ─> clear_before_clone ─┬─> flush A: transfer_on_clone buffers ─> moved  ─┐
//!                                       ├─> flush B: all others                ─> copied ─┼─> a session of its own,
//!                                       └─> CopyFile, if the source has a file ───────────┘   that is only read
//! ```
//!
//! Each group of buffers is taken at the moment its producers have acknowledged its flush, so that a slow producer of
//! one group does not delay the other; what else a clone has of its source, when the last group is taken. The bytes
//! follow piece by piece ([`super::copying`]), and show that moment. Until all is taken the source writes nothing into
//! its file: what is in the file and what is in the buffers then fit together.
//!
//! The clone belongs to the consumer that asked, which must have no session. With a file it is written there and
//! closed before the answer.

use protos::TraceConfigBufferConfig;

use super::buffer_charge;
use super::clone_request::{CloneCall, Wanted, find_source, may_clone, trigger};
use super::copying::{Copied, Part, Parts};
use super::end_report::EndError;
use super::events::Lifecycle;
use super::file::SessionFile;
use super::flush_request::{BufferGroup, FlushThen, FlushedGroup, clone_flags};
use super::life::SessionState;
use super::pending_clone::{CloneFile, PendingClone, give_up, make_clone, refuse, take_session};
use super::shares::SessionShares;
use super::state::{Session, Sessions};
use super::write;
use crate::accounts::{Accounts, BufferCharge};
use crate::buffer::TraceBuffer;
use crate::buffers::Buffers;
use crate::consumers::Consumers;
use crate::context::Context;
use crate::error::{CloneError, SessionError};
use crate::ledger::{Amount, OfSession};
use crate::limits;
use crate::step::Step;
use crate::timers::Timer;
use crate::work::Piece;
use abi::ids::{BufferId, ClientId, CloneId, FileId, SessionId};
use abi::map::SortedMap;

/// All clones that are not made yet.
#[derive(Debug)]
pub(crate) struct Clones {
    pub(super) pending: SortedMap<CloneId, PendingClone>,
    /// Files that a copy is written into, and the clone each is for.
    pub(super) file_copies: SortedMap<FileId, CloneId>,
    /// Bytes that may be copied in one turn, and in this one.
    pub(crate) piece_bytes: usize,
    bytes_left_in_turn: usize,
}

impl Default for Clones {
    fn default() -> Self {
        Self {
            pending: SortedMap::new(),
            file_copies: SortedMap::new(),
            piece_bytes: limits::CLONE_PIECE_BYTES,
            bytes_left_in_turn: limits::CLONE_PIECE_BYTES,
        }
    }
}

impl Clones {
    pub(crate) fn len(&self) -> usize {
        self.pending.len()
    }

    /// The consumers of clones that are not made yet.
    pub(crate) fn clients(&self) -> impl Iterator<Item = ClientId> + '_ {
        self.pending.values().map(|clone| clone.caller.client)
    }

    /// What is on accounts for clones that are not made yet.
    pub(crate) fn buffer_charges(&self) -> impl Iterator<Item = &BufferCharge> {
        self.pending.values().map(|clone| &clone.buffer_charge)
    }

    /// Whether a clone waits for its bytes.
    pub(crate) fn is_copying(&self) -> bool {
        self.pending.values().any(PendingClone::is_copying)
    }

    /// Whether a clone takes a copy of the session's file, to which nothing may be written meanwhile.
    fn holds_file(&self, id: SessionId) -> bool {
        self.pending.values().any(|c| c.source == id && c.file.is_some() && !c.is_taken())
    }

    /// Whether a clone has taken packets of this session, and is not made yet: they may come back. The end of the
    /// session waits for that, so that they are in its trace, or the ledger of it tells that they are lost. No peer
    /// makes that long: flushes and copies of files have a timeout, and the rest is copied by the service.
    pub(crate) fn may_give_back(&self, source: SessionId) -> bool {
        self.of_source(source).any(|(_, clone)| clone.parts.values().any(Part::took_data))
    }

    /// Whether the file of this session gets nothing for now.
    pub(crate) fn delays_file_of(&self, session: &Session) -> bool {
        let id = session.id;
        let is_ending = session.file.as_ref().is_some_and(SessionFile::is_in_last_drain);
        self.holds_file(id) || is_ending && self.may_give_back(id)
    }

    /// Whether a clone of this session is not made yet.
    pub(crate) fn is_pending_of(&self, id: SessionId) -> bool {
        self.of_source(id).next().is_some()
    }

    pub(crate) fn end_turn(&mut self) {
        self.bytes_left_in_turn = self.piece_bytes;
    }

    /// A consumer asks for a clone.
    pub(crate) fn handle_request(
        &mut self,
        call: CloneCall<'_>,
        sessions: &mut Sessions,
        consumers: &mut Consumers,
        buffers: &mut Buffers,
        cx: &mut Context,
    ) {
        let client = call.caller.client;
        let wanted = self.check(&call, sessions, consumers, cx);
        let cleared = wanted.and_then(|wanted| {
            if let Some(source) = sessions.get_mut(wanted.source) {
                write::give_up_compressing(source, cx);
                if source.file.as_ref().is_some_and(SessionFile::is_closing) {
                    return Err(CloneError::SourceFileClosing);
                }
            }
            let uid = consumers.uid(client).unwrap_or_default();
            let mut charge = reserve(wanted.source, uid, sessions, buffers, cx)?;
            if let Err(error) =
                self.clear_before_clone(wanted.source, sessions, buffers, &mut cx.accounts)
            {
                charge.release(&mut cx.accounts);
                return Err(error);
            }
            Ok((wanted, charge))
        });
        match cleared {
            Ok((wanted, charge)) => {
                if let Some(source) = sessions.get_mut(wanted.source) {
                    self.begin(call, &wanted, charge, source, cx);
                } else {
                    call.file.close(&mut cx.out);
                }
            }
            Err(error) => {
                call.file.close(&mut cx.out);
                refuse(call.caller, &error, consumers, cx);
            }
        }
    }

    fn check(
        &self,
        call: &CloneCall<'_>,
        sessions: &Sessions,
        consumers: &Consumers,
        cx: &Context,
    ) -> Result<Wanted, CloneError> {
        let client = call.caller.client;
        let uid = consumers.uid(client).unwrap_or_default();
        if consumers.session_of(client).is_some() {
            return Err(CloneError::Attached);
        }
        if self.pending.values().any(|clone| clone.caller.client == client) {
            return Err(CloneError::AlreadyPending);
        }
        let owners = || {
            let made = sessions.values().filter(|s| s.state() == SessionState::ClonedReadOnly);
            let pending = self.pending.values().map(|clone| consumers.uid(clone.caller.client));
            made.map(|s| s.uid).chain(pending.map(Option::unwrap_or_default))
        };
        let count = owners().filter(|of| *of == uid).count();
        if count >= limits::CLONES_PER_UID_MAX {
            return Err(CloneError::TooManyOfUid { count, uid });
        }
        SessionShares::of_clones()
            .check(uid, owners(), &cx.accounts)
            .map_err(CloneError::TooMany)?;
        let wanted = find_source(call.request, uid, sessions).ok_or(CloneError::NotFound)?;
        let session = sessions.get(wanted.source).ok_or(CloneError::NotFound)?;
        if !may_clone(uid, session) {
            return Err(CloneError::OtherUid);
        }
        if session.file.is_some() && !call.file.is_some() {
            return Err(CloneError::NeedsFile);
        }
        if session.file.as_ref().is_some_and(SessionFile::is_closing) {
            return Err(CloneError::SourceFileClosing);
        }
        Ok(wanted)
    }

    /// Empties the buffers that are to hold only what producers write because of the clone; all or none. The index of
    /// each counts beside its new one until it is freed; so does all of a buffer from which another clone is copied.
    fn clear_before_clone(
        &mut self,
        source: SessionId,
        sessions: &Sessions,
        buffers: &mut Buffers,
        accounts: &mut Accounts,
    ) -> Result<(), CloneError> {
        let Some(session) = sessions.get(source) else { return Ok(()) };
        let (mut fresh, mut beside) = (Vec::new(), 0_usize);
        for (config, id) in session.config.buffers.iter().zip(&session.buffers) {
            let buffer = buffers.get(*id).filter(|buffer| buffer.has_data());
            if config.clear_before_clone == Some(true)
                && let Some(buffer) = buffer
            {
                let is_copied = buffer.unfinished_clones() > 0;
                let old = if is_copied { buffer.bytes_left() } else { buffer.index_bytes_max() };
                beside = beside.saturating_add(old);
                fresh.push((*id, is_copied, buffers.fresh(*id, config)?));
            }
        }
        let mut charge = BufferCharge::new(session.uid);
        charge.raise_to(beside, accounts).map_err(CloneError::NoRoom)?;
        self.note_places_taken(session, |config| config.clear_before_clone == Some(true));
        let since = buffers.retired_so_far();
        for (id, is_copied, fresh) in fresh {
            match is_copied {
                true => self.detach_buffer(id, &mut charge, Some(fresh), buffers),
                false => buffers.empty(id, fresh),
            }
        }
        buffers.settle(charge, since, accounts);
        Ok(())
    }

    fn begin(
        &mut self,
        call: CloneCall<'_>,
        wanted: &Wanted,
        buffer_charge: BufferCharge,
        source: &mut Session,
        cx: &mut Context,
    ) {
        let CloneCall { caller, request, mut file } = call;
        let clone_id = cx.next_clone();
        let mut clone_file = None;
        if let Some(from) = &source.file
            && let Some(to) = file.take()
        {
            clone_file = Some(CloneFile::Copying);
            self.file_copies.insert(to, clone_id);
            cx.out.copy_file(from.id, to);
            cx.set_timer_ms(limits::CLONE_COPY_TIMEOUT_MS, Timer::CloneCopy(clone_id));
        }
        file.close(&mut cx.out);
        let clone = PendingClone {
            source: source.id,
            caller,
            skip_filter: wanted.skip_filter,
            trigger: trigger(request),
            asked_at_ns: cx.now.boot_ns,
            groups_left: 2,
            flush_failed: false,
            parts: Parts::new(),
            buffer_charge,
            bytes_taken: buffer_charge::of_kept_config(&source.config),
            session: None,
            file: clone_file,
        };
        self.pending.insert(clone_id, clone);
        cx.out.info(format!("cloning session {} for client {}", source.id, caller.client));
        source.unread_events.add_lifecycle(Lifecycle::FlushStarted, cx.now.boot_ns);
        source.snapshot_clocks(&cx.now);
        let flags = clone_flags(wanted.for_bugreport);
        for group in [BufferGroup::Transferred, BufferGroup::Copied] {
            let then = FlushThen::Clone(clone_id, group);
            cx.then(Step::Flush { session: source.id, timeout_ms: 0, flags, then });
        }
    }

    /// The session that a clone is taken of, whose work that is.
    pub(crate) fn source_of(&self, clone_id: CloneId) -> Option<SessionId> {
        self.pending.get(&clone_id).map(|clone| clone.source)
    }

    /// The flush of one group is over: takes a piece of its buffers as they are now. Returns the index to go on with,
    /// if there are more.
    pub(crate) fn take_group(
        &mut self,
        flushed: FlushedGroup,
        piece: Piece,
        sessions: &mut Sessions,
        consumers: &Consumers,
        buffers: &mut Buffers,
        cx: &mut Context,
    ) -> Option<usize> {
        let FlushedGroup { clone: clone_id, group, success } = flushed;
        let at_ns = cx.now.boot_ns;
        let source = sessions.get_mut(self.source_of(clone_id)?)?;
        if piece.from == 0 {
            self.note_places_taken(source, |config| {
                group == BufferGroup::Transferred && BufferGroup::of(config) == group
            });
        }
        let clone = self.pending.get_mut(&clone_id)?;
        let all = source.config.buffers.iter().zip(&source.buffers).enumerate();
        for (index, (config, id)) in all.skip(piece.from) {
            if BufferGroup::of(config) != group {
                continue;
            }
            if cx.work >= piece.work_end && index > piece.from {
                return Some(index);
            }
            cx.spend(limits::WORK_PER_REQUEST);
            if let Err(refusal) = clone.grow(buffer_charge::of_part(*id, group, buffers), cx) {
                give_up(clone_id, CloneError::NoRoom(refusal), cx);
                return None;
            }
            let part = match group {
                BufferGroup::Copied => {
                    let index = buffers.get(*id).map_or(0, TraceBuffer::index_bytes_max);
                    cx.spend(index as u64);
                    Part::begin_copy(*id, at_ns, buffers)
                }
                BufferGroup::Transferred => Part::take(*id, config, at_ns, buffers),
            };
            let Some(part) = part else {
                give_up(clone_id, CloneError::NoMemory, cx);
                return None;
            };
            clone.parts.insert(index, part);
        }
        clone.flush_failed |= !success;
        clone.groups_left = clone.groups_left.saturating_sub(1);
        if clone.groups_left == 0 {
            if let Err(refusal) = clone.grow(source.sequences.memory_bytes(), cx) {
                give_up(clone_id, CloneError::NoRoom(refusal), cx);
                return None;
            }
            let moved = source.sequences.share() as u64;
            cx.spend(moved.saturating_mul(limits::WORK_PER_MOVED_SEQUENCE));
            let uid = consumers.uid(clone.caller.client).unwrap_or(0);
            clone.session = Some(Box::new(take_session(source, clone, uid, cx)));
            clone.trigger = None;
        }
        cx.then(Step::CopyPiece);
        cx.then(Step::FinishClone(clone_id));
        None
    }

    /// Continues what is copied, as far as one turn may.
    pub(crate) fn copy_piece(&mut self, buffers: &mut Buffers, cx: &mut Context) {
        if self.bytes_left_in_turn == 0 {
            return;
        }
        let copying = self.pending.iter_mut().find(|(_, clone)| clone.is_copying());
        let Some((&clone_id, clone)) = copying else { return };
        let index = clone.parts.iter().find(|(_, part)| part.is_copying()).map(|(i, _)| *i);
        let Some((index, part)) = index.and_then(|i| Some((i, clone.parts.remove(&i)?))) else {
            return;
        };
        let (copied, part) = part.copy_piece(&mut self.bytes_left_in_turn, buffers);
        if let Some(part) = part {
            clone.parts.insert(index, part);
        }
        match copied {
            Copied::Partly => return,
            Copied::Whole => cx.then(Step::FinishClone(clone_id)),
            Copied::Failed => {
                give_up(clone_id, CloneError::NoMemory, cx);
            }
        }
        cx.then(Step::CopyPiece);
    }

    /// Makes the session of a clone if all of it is there.
    pub(crate) fn finish(
        &mut self,
        clone_id: CloneId,
        sessions: &mut Sessions,
        consumers: &mut Consumers,
        buffers: &mut Buffers,
        cx: &mut Context,
    ) {
        let Some(clone) = self.pending.get(&clone_id).filter(|c| c.is_taken()) else { return };
        let source = clone.source;
        if clone.is_copying() {
            return cx.then(Step::ContinueFile(source));
        }
        if consumers.session_of(clone.caller.client).is_some() {
            return give_up(clone_id, CloneError::Attached, cx);
        }
        // Before anything is taken out of the clone, which may give it back to its source.
        if !buffers.has_numbers(clone.parts.len()) {
            return give_up(clone_id, SessionError::TooManyServiceBuffers.into(), cx);
        }
        let Some(mut clone) = self.pending.remove(&clone_id) else { return };
        let took_data = clone.parts.values().any(Part::took_data);
        let parts = std::mem::take(&mut clone.parts).into_values();
        let ids = parts.filter_map(Part::into_buffer).filter_map(|b| buffers.add(b).ok()).collect();
        make_clone(clone, ids, took_data, sessions, consumers, cx);
        continue_source(source, cx);
    }

    /// Gives up a clone that is not made yet. Its source gets back what was taken of it, or its ledger tells.
    pub(crate) fn end(
        &mut self,
        clone_id: CloneId,
        error: Option<CloneError>,
        sessions: &mut Sessions,
        consumers: &mut Consumers,
        buffers: &mut Buffers,
        cx: &mut Context,
    ) {
        let Some(clone) = self.pending.remove(&clone_id) else { return };
        let since = buffers.retired_so_far();
        let mut source = sessions.get_mut(clone.source);
        let mut is_lost = false;
        for (index, part) in clone.parts {
            let id = source.as_ref().and_then(|source| source.buffers.get(index)).copied();
            is_lost |= part.abandon(id, buffers);
        }
        if let Some(source) = source.as_mut().filter(|_| is_lost) {
            note_lost(source, cx);
        }
        buffers.settle(clone.buffer_charge, since, &mut cx.accounts);
        match clone.file {
            Some(CloneFile::Copied(file)) => cx.out.close_file(file),
            Some(CloneFile::Copying) => self.abandon_file_copy(clone_id, cx),
            None => {}
        }
        if let Some(error) = error {
            refuse(clone.caller, &error, consumers, cx);
        }
        continue_source(clone.source, cx);
    }

    /// The consumer is gone: its clone is given up.
    pub(crate) fn abandon_of(&self, client: ClientId, cx: &mut Context) {
        let of_client = self.pending.iter().find(|(_, clone)| clone.caller.client == client);
        if let Some((&clone_id, _)) = of_client {
            cx.then(Step::EndClone { clone: clone_id, error: None });
        }
    }

    /// The source goes away. What is taken of it is copied to the end, unless an error ended the source.
    pub(crate) fn fail_of_source(&self, source: SessionId, reason: &EndError, cx: &mut Context) {
        for (clone_id, clone) in self.of_source(source) {
            if !clone.is_taken() || reason.is_some() {
                give_up(clone_id, CloneError::SourceEnded, cx);
            }
        }
    }

    pub(crate) fn fail_all(&self, reason: &SessionError, cx: &mut Context) {
        for clone_id in self.pending.keys() {
            give_up(*clone_id, reason.clone().into(), cx);
        }
    }

    /// Takes a buffer away from its session, which has `charge`, or replaces it by a fresh one; copies of it go on.
    pub(crate) fn detach_buffer(
        &mut self,
        id: BufferId,
        charge: &mut BufferCharge,
        fresh: Option<TraceBuffer>,
        buffers: &mut Buffers,
    ) {
        let Some(number) = buffers.detach(id, charge, fresh) else { return };
        for part in self.pending.values_mut().flat_map(|clone| clone.parts.values_mut()) {
            part.note_source_detached(id, number);
        }
    }

    /// Some buffers of a session are taken or emptied: what clones took of them before does not go back there.
    fn note_places_taken(
        &mut self,
        source: &Session,
        is_meant: impl Fn(&TraceConfigBufferConfig) -> bool,
    ) {
        for clone in self.pending.values_mut().filter(|clone| clone.source == source.id) {
            for (index, part) in clone.parts.iter_mut() {
                if source.config.buffers.get(*index).is_some_and(&is_meant) {
                    part.note_place_taken();
                }
            }
        }
    }

    /// The clones of this session that are not made yet.
    pub(super) fn of_source(
        &self,
        source: SessionId,
    ) -> impl Iterator<Item = (CloneId, &PendingClone)> {
        let all = self.pending.iter().map(|(clone_id, clone)| (*clone_id, clone));
        all.filter(move |(_, clone)| clone.source == source)
    }
}

/// A clone is made or given up: its source goes on with what waited for it.
fn continue_source(source: SessionId, cx: &mut Context) {
    cx.then(Step::ContinueFile(source));
    cx.then(Step::ReportEnd(source));
}

/// Puts a clone of `source`, as large as it would be now, on the account of its user: before anything of the source is
/// emptied or taken, so that a clone that is refused loses nothing.
fn reserve(
    source: SessionId,
    uid: u32,
    sessions: &Sessions,
    buffers: &Buffers,
    cx: &mut Context,
) -> Result<BufferCharge, CloneError> {
    let mut charge = BufferCharge::new(uid);
    let bytes = sessions.get(source).map_or(0, |source| {
        let sequences = source.sequences.memory_bytes();
        buffer_charge::of_clone(&source.config, &source.buffers, sequences, buffers)
    });
    charge.raise_to(bytes, &mut cx.accounts).map_err(CloneError::NoRoom)?;
    Ok(charge)
}

/// A clone took buffers of a session, and what they had is lost: the clone failed, or nobody read it.
pub(crate) fn note_lost(source: &mut Session, cx: &mut Context) {
    let id = source.id;
    cx.out.about = Some(source.uid);
    cx.out.error(format!("session {id}: packets that a clone took (transfer_on_clone) are lost"));
    source.ledger.add_of_session(OfSession::CloneFailed, Amount::PERHAPS, cx.now.boot_ns);
}
