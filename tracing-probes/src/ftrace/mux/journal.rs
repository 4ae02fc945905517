//! Changes to files of tracefs, each with what puts it back.
//!
//! A [`Transaction`] makes changes, and keeps all of them or undoes all of them, the last first. The
//! [`Journal`] outlives it: it has the values found in an instance before the first session, until they are put back at
//! the end of the last one. A copy of the journal outlives the process: see [`RecordStore`].

use std::collections::BTreeSet;
use std::io;

use super::change::{Change, Target, text, undo};
use super::lines::line;
use crate::ftrace::RUN_AS_ROOT;
use crate::ftrace::config::Refusal;
use crate::ftrace::tracefs::Tracefs;

/// Where the copy of a journal is kept.
pub(crate) trait RecordStore {
    /// Adds a line, before the change that it undoes.
    fn append(&mut self, line: &[u8]) -> io::Result<()>;

    /// Puts these lines in place of all.
    fn replace(&mut self, lines: &[u8]) -> io::Result<()>;

    /// Removes the record: nothing is to be put back.
    fn clear(&mut self) -> io::Result<()>;
}

/// The values found in an instance, in the order of their first change.
pub(crate) struct Journal {
    found: Vec<Change>,
    /// What they put back.
    targets: BTreeSet<Target>,
    store: Option<Box<dyn RecordStore>>,
}

impl std::fmt::Debug for Journal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Journal").field("found", &self.found).finish_non_exhaustive()
    }
}

impl Journal {
    /// An empty one, copied to `store`. `None`: nothing is put back after the process was killed.
    pub(crate) fn new(store: Option<Box<dyn RecordStore>>) -> Self {
        Self { found: Vec::new(), targets: BTreeSet::new(), store }
    }

    /// Adds what puts a file back, unless that is there.
    fn add(&mut self, undo: &Change) -> io::Result<()> {
        let target = undo.target();
        if self.targets.contains(&target) {
            return Ok(());
        }
        if let Some(store) = &mut self.store {
            store.append(line(undo).as_bytes())?;
        }
        self.found.push(undo.clone());
        self.targets.insert(target);
        Ok(())
    }

    /// Forgets all but these.
    fn keep(&mut self, found: Vec<Change>) {
        self.targets = found.iter().map(Change::target).collect();
        self.found = found;
    }

    /// Forgets all but the first `len`.
    fn truncate(&mut self, len: usize) {
        for change in self.found.drain(len.min(self.found.len())..) {
            self.targets.remove(&change.target());
        }
    }

    /// Makes the copy equal to the journal again. `notes` tells if that failed: then the copy has too much.
    fn copy(&mut self, notes: &mut Vec<String>) {
        let Some(store) = &mut self.store else { return };
        let result = match self.found.is_empty() {
            true => store.clear(),
            false => store.replace(self.found.iter().map(line).collect::<String>().as_bytes()),
        };
        if let Err(error) = result {
            notes.push(format!("the record of values found is not up to date: {error}"));
        }
    }

    /// Puts some files back now, the last first, and forgets them.
    pub(crate) fn put_back(
        &mut self,
        tracefs: &dyn Tracefs,
        paths: &[String],
        notes: &mut Vec<String>,
    ) {
        let is_one = |change: &Change| paths.iter().any(|path| path == change.path());
        let (now, later) = std::mem::take(&mut self.found).into_iter().partition(is_one);
        self.keep(later);
        undo(tracefs, &now, notes);
        self.copy(notes);
    }

    /// Puts all files back, the last first.
    pub(crate) fn put_back_all(&mut self, tracefs: &dyn Tracefs, notes: &mut Vec<String>) {
        self.targets.clear();
        undo(tracefs, &std::mem::take(&mut self.found), notes);
        self.copy(notes);
    }
}

/// How long the undoing of a change is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Until {
    /// Until the changes of this session are kept: later sessions change the same thing.
    Kept,
    /// Until the last session of the instance ends.
    LastSession,
}

/// Changes that are kept together, or undone.
pub(crate) struct Transaction<'a> {
    tracefs: &'a dyn Tracefs,
    journal: &'a mut Journal,
    journal_len: usize,
    undo: Vec<Change>,
}

impl<'a> Transaction<'a> {
    pub(crate) fn new(tracefs: &'a dyn Tracefs, journal: &'a mut Journal) -> Self {
        let journal_len = journal.found.len();
        Self { tracefs, journal, journal_len, undo: Vec::new() }
    }

    pub(crate) fn tracefs(&self) -> &'a dyn Tracefs {
        self.tracefs
    }

    /// Remembers what puts a file back, before it is changed.
    ///
    /// # Errors
    /// The record of values found cannot be written. Without it a killed process would leave its settings.
    pub(crate) fn remember(&mut self, undo: Change, until: Until) -> Result<(), Refusal> {
        if until == Until::LastSession {
            self.journal.add(&undo).map_err(|error| {
                Refusal(format!(
                    "the record of values found cannot be written: {error}; make its directory writable"
                ))
            })?;
        }
        self.undo.push(undo);
        Ok(())
    }

    /// Changes a file. The inner result is that of the kernel.
    ///
    /// # Errors
    /// As [`Transaction::remember`].
    pub(crate) fn change(
        &mut self,
        change: &Change,
        undo: Change,
        until: Until,
    ) -> Result<io::Result<()>, Refusal> {
        self.remember(undo, until)?;
        Ok(change.apply(self.tracefs))
    }

    /// Changes a file until the last session ends, if the kernel takes the change. A value that it refuses must change
    /// nothing: then there is nothing to undo. A list may be cleared and not filled, and comes back in any case.
    ///
    /// # Errors
    /// As [`Transaction::remember`].
    pub(crate) fn attempt(
        &mut self,
        change: &Change,
        undo: Change,
    ) -> Result<io::Result<()>, Refusal> {
        let journal_len = self.journal.found.len();
        let result = self.change(change, undo, Until::LastSession)?;
        if result.is_err() && matches!(change, Change::Write { .. }) {
            self.undo.pop();
            self.journal.truncate(journal_len);
        }
        Ok(result)
    }

    /// Changes a file that must take the change.
    ///
    /// # Errors
    /// A text with the file, the reason of the kernel and `advice`.
    pub(crate) fn must(
        &mut self,
        change: &Change,
        undo: Change,
        until: Until,
        advice: &str,
    ) -> Result<(), Refusal> {
        let result = self.change(change, undo, until)?;
        result.map_err(|error| Refusal(format!("{}: {error}; {advice}", change.path())))
    }

    /// The text of a file that must be readable, without white space around it.
    ///
    /// # Errors
    /// A text with the file and the reason.
    pub(crate) fn text(&self, path: &str) -> Result<String, Refusal> {
        text(self.tracefs, path)
            .map_err(|error| Refusal(format!("{path} cannot be read: {error}; {RUN_AS_ROOT}")))
    }

    /// All changes stay.
    pub(crate) fn keep(self) {}

    /// No change stays.
    pub(crate) fn roll_back(self, notes: &mut Vec<String>) {
        undo(self.tracefs, &self.undo, notes);
        self.journal.truncate(self.journal_len);
        self.journal.copy(notes);
    }
}
