//! Writing a trace into a file while it is recorded.
//!
//! ```text
//!   timer ─> [flush] ─> pass ─> WriteFile ─> FileWritten ─> more? pass … : sleep until the next period
//!                       pass ─> WriteFile          └─ the last one of the session closes the file
//! ```
//!
//! Two writes are on their way at a time: while one is written the next is made, and memory is bounded whatever
//! the disk does. Between writes the file is a valid trace. An error of the disk poisons the file: nothing
//! more is written, and the session ends with that error for its consumer.

use protos::TraceConfig;

use super::sink::FileSink;
use super::state::State;
use crate::FileError;
use crate::core::Service;
use crate::limits;
use crate::output::FileSync;
use crate::timers::{Clock, TimerKind};
use abi::ids::{FileId, SessionId};

/// The period of writes that a config asks for, ms.
pub(crate) fn period_ms(config: &TraceConfig) -> u64 {
    match config.file_write_period_ms.unwrap_or(0) {
        0 => limits::FILE_PERIOD_MS,
        ms => u64::from(ms).max(limits::FILE_PERIOD_MS_MIN),
    }
}

/// The file of a session.
#[derive(Debug)]
pub(crate) struct SessionFile {
    pub(crate) id: FileId,
    pub(crate) period_ms: u64,
    /// Largest size, bytes; zero for any.
    bytes_max: u64,
    bytes_sent: u64,
    /// Since it was last asked to go to the disk.
    bytes_unsynced: usize,
    sync: bool,
    /// `WriteFile`s that were sent and not answered yet.
    on_the_way: usize,
    /// Passes go on until the buffers are empty.
    draining: bool,
    /// After the current drain the file is complete.
    finishing: bool,
    /// The close was sent.
    closing: bool,
}

impl SessionFile {
    pub(crate) fn new(id: FileId, config: &TraceConfig) -> Self {
        Self {
            id,
            period_ms: period_ms(config),
            bytes_max: config.max_file_size_bytes.unwrap_or(0),
            bytes_sent: 0,
            bytes_unsynced: 0,
            sync: config.fflush_post_write.is_some_and(|m| m.0 == 2),
            on_the_way: 0,
            draining: false,
            finishing: false,
            closing: false,
        }
    }

    /// Whether nothing more can get into it.
    pub(crate) fn is_closing(&self) -> bool {
        self.closing
    }

    /// What a piece asks of the disk, which is the last one of a drain if it is `over`.
    fn sync_of(&mut self, piece: usize, over: bool) -> FileSync {
        self.bytes_unsynced += piece;
        if self.closing || (over && self.sync) {
            self.bytes_unsynced = 0;
            FileSync::Wait
        } else if self.finishing && self.bytes_unsynced >= limits::FILE_SYNC_BYTES {
            // A slow disk holds up only what it would hold up in the end: nothing is recorded any more.
            self.bytes_unsynced = 0;
            FileSync::Begin
        } else {
            FileSync::No
        }
    }
}

impl Service {
    /// The timer of the file.
    pub(crate) fn file_write_due(&mut self, id: SessionId) {
        use super::flush::{FlushFlags, FlushStrategy, FlushThen};
        let Some(session) = self.sessions.get(&id) else { return };
        if session.file.is_none() || session.state == State::Disabled {
            return;
        }
        if session.strategy == FlushStrategy::OnWrite && session.state == State::Started {
            self.flush(id, 0, FlushFlags::PERIODIC, FlushThen::WriteFile);
        } else {
            self.write_file(id);
        }
    }

    /// Writes what the buffers hold; joins a write that is still going on.
    pub(crate) fn write_file(&mut self, id: SessionId) {
        let Some(file) = self.sessions.get_mut(&id).and_then(|s| s.file.as_mut()) else { return };
        file.draining = true;
        self.file_passes(id);
    }

    /// Writes all that is left, with the final statistics, and closes the file.
    pub(crate) fn finish_file(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let Some(file) = session.file.as_mut() else { return };
        file.finishing = true;
        session.pending.stats = true;
        self.write_file(id);
    }

    /// Goes on with what was put off for a clone.
    pub(crate) fn resume_file(&mut self, id: SessionId) {
        self.file_passes(id);
    }

    /// Passes until enough is on the way.
    fn file_passes(&mut self, id: SessionId) {
        while self.wants_pass(id) && !self.file_holds_still(id) {
            self.file_pass(id);
        }
    }

    fn wants_pass(&self, id: SessionId) -> bool {
        let Some(session) = self.sessions.get(&id) else { return false };
        // Compressing takes longer than writing, and more at a time.
        let window = if session.compression.is_some() { 1 } else { limits::FILE_PIECES_MAX };
        session.file.as_ref().is_some_and(|f| f.draining && !f.closing && f.on_the_way < window)
    }

    fn file_pass(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let Some(file) = session.file.as_mut() else { return };
        let room = match file.bytes_max {
            0 => u64::MAX,
            max => max.saturating_sub(file.bytes_sent),
        };
        // Nobody fired its trigger: the file stays empty.
        let waits = session.waits_for_trigger();
        let threshold = match session.compression {
            Some(_) => limits::FILE_PASS_BYTES,
            None => limits::FILE_PIECE_BYTES,
        };
        let mut sink = FileSink::new(room, self.out.spares.take());
        let has_more = !waits && self.read_pass(id, threshold, &mut sink).has_more;
        let (bytes, full) = sink.finish();
        let now = self.now;
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let started = session.state == State::Started;
        let Some(file) = session.file.as_mut() else { return };
        let over = full || !has_more;
        self.out.spares.want(!over);
        file.draining = !over;
        file.closing = full || (over && file.finishing);
        if over && !file.closing {
            self.timers.set_aligned(&now, file.period_ms, TimerKind::FileWrite, id.0);
        }
        let sync = file.sync_of(bytes.len(), over);
        // A pass whose packets were all kept back writes nothing, too: the answer leads to the next one.
        if !bytes.is_empty() || sync == FileSync::Wait || !over {
            file.on_the_way += 1;
            file.bytes_sent += bytes.len() as u64;
            self.out.write_file(file.id, bytes, sync, file.closing);
        }
        if full && started {
            self.disable_tracing(id, false, "");
        }
    }

    /// The shell's answer to a `WriteFile`.
    pub(crate) fn file_written(&mut self, file: FileId, result: Result<(), FileError>) {
        if self.file_copied(file, &result) {
            return;
        }
        let of_file = |s: &&mut super::state::Session| {
            s.file.as_ref().is_some_and(|f| f.id == file && f.on_the_way > 0)
        };
        let Some(session) = self.sessions.values_mut().find(of_file) else { return };
        let id = session.id;
        if session.freed {
            let wait_ns = limits::FREED_FILE_STALL_MS * 1_000_000;
            self.timers.set_in(&self.now, Clock::Monotonic, wait_ns, TimerKind::FileStall, id.0);
        }
        let Some(state) = session.file.as_mut() else { return };
        state.on_the_way -= 1;
        let closed = state.closing && state.on_the_way == 0;
        match result {
            Ok(()) if closed => self.file_closed(id),
            Ok(()) => self.file_passes(id),
            Err(error) => {
                let path = session.config.output_path.as_deref().unwrap_or("the trace file");
                let text = format!("writing {path} failed: {}", error.text);
                self.out.error(format!("session {}: {text}", id.0));
                // In case the end was about to be said without an error.
                session.end_note = Some(text.clone());
                session.file = None;
                let state = session.state;
                // Copies of it were made before this was known.
                self.fail_copies_of(id, &text);
                if state == State::ClonedReadOnly {
                    self.clone_written(id, Some(&text));
                } else if state == State::Disabled {
                    self.file_closed(id);
                } else {
                    self.disable_tracing(id, true, &text);
                }
            }
        }
    }

    fn file_closed(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        session.file = None;
        if session.freed {
            self.erase_session(id);
        } else if session.state == State::ClonedReadOnly {
            self.clone_written(id, None);
        } else {
            self.say_end_if_due(id);
        }
    }
}
