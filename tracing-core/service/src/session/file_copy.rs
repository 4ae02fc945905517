//! The copy that the shell makes of the file of a session, for a clone.
//!
//! The copy begins with the clone ([`super::clone`]), which is made when the shell has answered. It has a time limit:
//! the session writes nothing into its file meanwhile.

use super::clone::Clones;
use super::flush_request::FlushThen;
use super::pending_clone::{CloneFile, give_up};
use super::state::Session;
use crate::context::Context;
use crate::error::{CloneError, SessionError};
use crate::input::FileError;
use crate::limits;
use crate::step::Step;
use crate::timers::Timer;
use abi::ids::{CloneId, FileId, SessionId};

impl Clones {
    /// Takes an answer of the shell about a file if it answers a `CopyFile`. Returns any other answer.
    pub(crate) fn take_copy_answer(
        &mut self,
        file: FileId,
        result: Result<(), FileError>,
        cx: &mut Context,
    ) -> Option<Result<(), FileError>> {
        let Some(clone_id) = self.file_copies.remove(&file) else { return Some(result) };
        cx.timers.cancel(Timer::CloneCopy(clone_id));
        let clone = self.pending.get_mut(&clone_id)?;
        match result {
            Ok(()) => {
                clone.file = Some(CloneFile::Copied(file));
                cx.then(Step::FinishClone(clone_id));
            }
            Err(error) => {
                // After an error the shell has closed it.
                clone.file = None;
                give_up(clone_id, CloneError::CopyFile(error.text), cx);
            }
        }
        None
    }

    /// Stops the copy of a file for a clone that is given up.
    pub(super) fn abandon_file_copy(&mut self, clone_id: CloneId, cx: &mut Context) {
        cx.timers.cancel(Timer::CloneCopy(clone_id));
        let of_clone = self.file_copies.iter().find(|(_, of)| **of == clone_id);
        if let Some(file) = of_clone.map(|(file, _)| *file) {
            self.file_copies.remove(&file);
            cx.out.abandon_file(file);
        }
    }

    /// The source ended: its file is closed when the copies of it are done, or after a short time. Flushes for clones
    /// take no longer, either: the end waits for what they took.
    pub(crate) fn limit_copy_time(&self, source: &Session, cx: &mut Context) {
        for (clone_id, clone) in self.of_source(source.id) {
            if matches!(clone.file, Some(CloneFile::Copying)) {
                cx.set_timer_ms(limits::CLONE_COPY_LAST_MS, Timer::CloneCopy(clone_id));
            }
        }
        cx.spend(limits::WORK_PER_ENTRY.saturating_mul(source.flushes.len() as u64));
        for (flush, pending) in &source.flushes {
            if matches!(pending.then, FlushThen::Clone(..)) {
                cx.hasten_timer_ms(limits::CLONE_COPY_LAST_MS, Timer::FlushTimeout(*flush));
            }
        }
    }

    /// The file of the source lacks something, and so do the copies of it.
    pub(crate) fn fail_file_copies(
        &self,
        source: SessionId,
        error: &SessionError,
        cx: &mut Context,
    ) {
        for (clone_id, clone) in self.of_source(source) {
            if clone.file.is_some() && !clone.is_taken() {
                give_up(clone_id, error.clone().into(), cx);
            }
        }
    }
}

/// The timer of a copy: its file is a pipe that nobody reads, or on a disk that is too slow.
pub(crate) fn handle_copy_timeout(clone: CloneId, cx: &mut Context) {
    give_up(clone, CloneError::CopyTooSlow, cx);
}
