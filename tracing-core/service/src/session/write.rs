//! Writing the trace of a session into its file (see [`file`](super::file)).

use super::compressing::{Compressing, StreamSink};
use super::flush_request::{FlushStrategy, FlushThen};
use super::life::SessionState;
use super::read::{self, PassContext};
use super::sink::{FileSink, Pass};
use super::state::{Session, Sessions};
use super::stop::limit_file_stall;
use crate::accounts::User;
use crate::context::Context;
use crate::effect_queue::EffectQueue;
use crate::error::CloneError;
use crate::input::FileError;
use crate::ledger::{Amount, OfSession};
use crate::limits;
use crate::step::Step;
use crate::timers::{Timer, Timers};
use abi::flush_flags::FlushFlags;
use abi::ids::FileId;
use abi::time::Now;

/// The timer of the file.
pub(crate) fn handle_timer(session: &Session, cx: &mut Context) {
    let is_started = session.state() == SessionState::Started;
    let flushes = session.strategy == FlushStrategy::OnWrite && is_started;
    let session = session.id;
    cx.then(match flushes {
        true => {
            let (flags, then) = (FlushFlags::PERIODIC, FlushThen::WriteFile);
            Step::Flush { session, timeout_ms: 0, flags, then }
        }
        false => Step::WriteFile(session),
    });
}

/// Begins to write what the buffers hold.
pub(crate) fn begin(session: &mut Session, cx: &mut Context) {
    if let Some(file) = &mut session.file {
        file.begin_drain();
        session.rings.note_drain();
        cx.then(Step::ContinueFile(session.id));
    }
}

/// Begins to write all that is left, with the final statistics; the file is closed after that.
pub(crate) fn finish(session: &mut Session, cx: &mut Context) {
    if let Some(file) = &mut session.file {
        file.begin_last_drain();
        session.unread_events.stats = true;
        cx.then(Step::ContinueFile(session.id));
    }
}

/// Makes passes until enough is in flight, or one is to be compressed first. Returns whether the file is full, so that
/// the session ends.
pub(crate) fn write_passes(
    session: &mut Session,
    context: &mut PassContext<'_>,
    out: &mut EffectQueue,
    timers: &mut Timers,
) -> bool {
    let mut is_full = false;
    while let Some(file) = &session.file {
        // While no trigger came the file stays empty.
        let is_empty = session.waits_for_trigger();
        match (session.compression.pass.is_some(), session.compression.codec) {
            (true, _) => match write_compressed(session, context.now, out, timers) {
                Some(full) => is_full |= full,
                None => break,
            },
            // Compressing takes longer than writing, and more bytes at a time.
            (false, Some(codec)) if file.wants_pass(1) => {
                let mut sink = StreamSink::default();
                let pass = match is_empty {
                    true => Pass::default(),
                    false => read::read_pass(session, context, limits::FILE_PASS_BYTES, &mut sink),
                };
                if let Some(file) = &mut session.file {
                    file.after_read(pass.has_more);
                }
                session.compression.pass = Some(Compressing::new(codec, sink, pass, None));
            }
            (false, None) if file.wants_pass(limits::FILE_PIECES_MAX) => {
                let mut sink = FileSink::new(file.bytes_left(), out.pool.take());
                let has_more = !is_empty
                    && read::read_pass(session, context, limits::FILE_PIECE_BYTES, &mut sink)
                        .has_more;
                if let Some(file) = &mut session.file {
                    file.after_read(has_more);
                }
                is_full |= write_piece(session, sink, context.now, out, timers);
            }
            _ => break,
        }
    }
    is_full && session.state() == SessionState::Started
}

/// Writes the pass that was compressed. Returns whether the file is full; none if the codec is not done with it.
fn write_compressed(
    session: &mut Session,
    now: &Now,
    out: &mut EffectQueue,
    timers: &mut Timers,
) -> Option<bool> {
    let file = session.file.as_ref()?;
    let compressed = session.compression.pass.take_if(|compressing| !compressing.is_due())?;
    let mut sink = FileSink::new(file.bytes_left(), out.pool.take());
    compressed.put(&mut sink);
    Some(write_piece(session, sink, now, out, timers))
}

/// Writes what is in a sink. Returns whether the file is full.
fn write_piece(
    session: &mut Session,
    sink: FileSink,
    now: &Now,
    out: &mut EffectQueue,
    timers: &mut Timers,
) -> bool {
    let (bytes, full) = sink.finish();
    let id = session.id;
    if full {
        session.ledger.add_of_session(OfSession::FileFull, Amount::PERHAPS, now.boot_ns);
    }
    let Some(file) = session.file.as_mut() else { return full };
    let after = file.after_pass(bytes.len(), full);
    out.pool.set_in_use(file.is_draining());
    if after.wait {
        timers.set_aligned(now, file.period_ms, Timer::FileWrite(id));
    }
    if let Some(sync) = after.write {
        out.write_file(file.id, bytes, sync, after.close);
    }
    full
}

/// Writes the pass that is being compressed as it is: a copy of the file is to have all that is in no buffer.
pub(crate) fn give_up_compressing(session: &mut Session, cx: &mut Context) {
    if session.file.is_some()
        && let Some(compressing) = &mut session.compression.pass
    {
        compressing.give_up();
        compressing.release(User::local(session.uid), &mut cx.accounts);
        let Context { now, out, timers, .. } = cx;
        let is_full = write_compressed(session, now, out, timers) == Some(true);
        if is_full && session.state() == SessionState::Started {
            cx.then(Step::Disable { session: session.id, immediate: false, error: None });
        }
    }
}

/// The shell's answer to a `WriteFile`.
pub(crate) fn handle_file_written(
    file: FileId,
    result: Result<(), FileError>,
    sessions: &mut Sessions,
    cx: &mut Context,
) {
    let is_of =
        |s: &&mut Session| s.file.as_ref().is_some_and(|f| f.id == file && f.has_in_flight());
    let Some(session) = sessions.values_mut().find(is_of) else { return };
    let id = session.id;
    if session.life.is_freed() {
        limit_file_stall(id, cx);
    }
    let is_closed = session.file.as_mut().is_some_and(|file| file.note_answer());
    match result {
        Ok(()) if is_closed => cx.then(Step::FileClosed(id)),
        Ok(()) => cx.then(Step::ContinueFile(id)),
        Err(error) => fail_file(session, error.text, cx),
    }
}

/// A write failed: the file is lost, and so are copies of it that were made before this was known.
fn fail_file(session: &mut Session, reason: String, cx: &mut Context) {
    let id = session.id;
    let error = session.write_error(reason);
    cx.out.about = Some(session.uid);
    cx.out.error(format!("session {id}: {error}"));
    session.end_report.fail(error.clone());
    session.lose_file(cx);
    session.compression.drop_pass(User::local(session.uid), &mut cx.accounts);
    cx.then(Step::FailCopiesOf { session: id, error: error.clone() });
    cx.then(match session.state() {
        SessionState::ClonedReadOnly => {
            Step::CloneWritten { session: id, error: Some(CloneError::Session(error)) }
        }
        SessionState::Disabled => Step::FileClosed(id),
        _ => Step::Disable { session: id, immediate: true, error: Some(error) },
    });
}

/// The file is complete and closed, or lost.
pub(crate) fn handle_file_closed(session: &mut Session, cx: &mut Context) {
    session.file = None;
    session.taken = None;
    cx.then(if session.life.is_freed() {
        Step::Erase(session.id)
    } else if session.state() == SessionState::ClonedReadOnly {
        Step::CloneWritten { session: session.id, error: None }
    } else {
        Step::ReportEnd(session.id)
    });
}
