//! The records of the values found: what puts tracefs back after this process was killed.
//!
//! Each instance has a file, which is written before the first change and removed at a clean end. The file of a killed
//! process is found at the next start.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use os::process;

use super::change::undo;
use super::journal::RecordStore;
use super::lines::{header, parse};
use crate::ftrace::tracefs::{Directory, Tracefs};

/// Longest record that is read, bytes: the largest has a line for each event.
const RECORD_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Names of records end so.
pub(crate) const SUFFIX: &str = ".ftrace";
/// Name of the file that tells that a daemon uses the records.
const LOCK: &str = "lock";
/// What a record is called while it is written anew.
const NEW: &str = "new";
/// Name of the record of `kptr_restrict`.
const RESTRICT: &str = "kptr_restrict";

/// Why [`Records`] cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RecordsError {
    /// Another program uses them: it records, or puts back what a killed one has left.
    InUse(String),
    /// The directory cannot be used.
    Unusable(String),
}

/// The directory of the records of one daemon. No second daemon uses it while this value exists.
#[derive(Debug)]
pub(crate) struct Records {
    folder: PathBuf,
    boot: String,
    lock: File,
}

impl Drop for Records {
    /// Gives the lock back. To close the file is not enough: a program that this process is starting has a copy of the
    /// descriptor until its `exec`, and the lock belongs to both.
    fn drop(&mut self) {
        // An error cannot be handled here; the end of the process gives the lock back in any case.
        let _ = self.lock.unlock();
    }
}

impl Records {
    /// Uses `folder`, which is made if it is missing. It must be of this user alone: others could have files outside of
    /// it written, and settings of the kernel. `boot` names the boot: `/proc/sys/kernel/random/boot_id`.
    ///
    /// # Errors
    /// See [`RecordsError`], with a text for the user.
    pub(crate) fn open(folder: &Path, boot: &str) -> Result<Self, RecordsError> {
        use RecordsError::{InUse, Unusable};
        let shown = folder.display();
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(|e| Unusable(format!("{shown} cannot be made: {e}; make it writable")))?;
        let found = std::fs::symlink_metadata(folder)
            .map_err(|e| Unusable(format!("{shown} cannot be read: {e}")))?;
        let uid = process::effective_uid();
        // A link has all bits of a mode.
        if found.uid() != uid || found.mode() & 0o022 != 0 {
            return Err(Unusable(format!(
                "{shown} is not a folder that user {uid} alone may write to; have it removed"
            )));
        }
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        let lock = options.open(folder.join(LOCK)).map_err(|e| {
            Unusable(format!("{shown}/lock cannot be opened: {e}; make the directory writable"))
        })?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { folder: folder.to_owned(), boot: boot.trim().to_owned(), lock }),
            Err(TryLockError::WouldBlock) => Err(InUse(format!(
                "another program records events of the kernel now (it has locked {shown}/lock); end that first, or \
                 see `tracebox doctor`"
            ))),
            Err(TryLockError::Error(e)) => {
                Err(Unusable(format!("{shown}/lock cannot be locked: {e}")))
            }
        }
    }

    /// Whether there are records in `folder`: of a daemon that records, or of one that was killed.
    pub(crate) fn any_left(folder: &Path) -> bool {
        let mut files = std::fs::read_dir(folder).into_iter().flatten().flatten();
        files.any(|file| file.file_name() != LOCK)
    }

    /// The record of an instance.
    pub(crate) fn store(&self, directory: &Directory) -> Box<dyn RecordStore> {
        let name = match directory.is_root() {
            true => directory.name().to_owned(),
            false => format!("instance-{}", directory.name()),
        };
        let path = self.folder.join(format!("{name}{SUFFIX}"));
        Box::new(RecordFile { path, header: header(&self.boot), file: None })
    }

    /// Puts back what daemons that were killed have left, and removes their records. The texts tell what was put back,
    /// and what could not be.
    pub(crate) fn restore(&self, tracefs: &dyn Tracefs) -> Vec<String> {
        let mut notes = Vec::new();
        for path in self.left() {
            let changes = match read(&path) {
                Ok(record) => parse(&record, &self.boot),
                Err(error) => {
                    notes.push(format!("{} cannot be read: {error}", path.display()));
                    continue;
                }
            };
            if !changes.is_empty() {
                notes.push(format!(
                    "a daemon was killed while it recorded: {} settings of tracefs are put back from {}",
                    changes.len(),
                    path.display()
                ));
            }
            undo(tracefs, &changes, &mut notes);
            // It was killed while it wrote that one: the old one counts.
            let _ = std::fs::remove_file(path.with_extension(NEW));
            if let Err(error) = std::fs::remove_file(&path) {
                notes.push(format!("{} cannot be removed: {error}", path.display()));
            }
        }
        notes
    }

    /// Keeps the value of `kptr_restrict` while it is lowered; `None`: it is as it was found.
    ///
    /// # Errors
    /// The record cannot be written, or removed.
    pub(crate) fn keep_restrict(&self, found: Option<u32>) -> io::Result<()> {
        let path = self.folder.join(RESTRICT);
        match found {
            Some(level) => std::fs::write(path, format!("{}{level}\n", header(&self.boot))),
            None => std::fs::remove_file(path),
        }
    }

    /// The value that a daemon found that was killed while it had lowered it.
    pub(crate) fn restrict_left(&self) -> Option<u32> {
        let record = String::from_utf8(read(&self.folder.join(RESTRICT)).ok()?).ok()?;
        record.strip_prefix(&header(&self.boot))?.strip_suffix('\n')?.parse().ok()
    }

    /// The records that are there, sorted by name.
    fn left(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten();
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let is_record = |path: &PathBuf| path.to_string_lossy().ends_with(SUFFIX);
        let mut paths: Vec<PathBuf> = paths.filter(is_record).collect();
        paths.sort_unstable();
        paths
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(RECORD_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A record in a file, which exists while there is something to put back.
struct RecordFile {
    path: PathBuf,
    header: String,
    file: Option<File>,
}

impl RecordFile {
    fn write(&self, path: &Path, lines: &[u8]) -> io::Result<File> {
        let mut options = OpenOptions::new();
        let mut file = options.append(true).create(true).mode(0o600).open(path)?;
        file.set_len(0)?;
        file.write_all(self.header.as_bytes())?;
        file.write_all(lines)?;
        Ok(file)
    }
}

impl RecordStore for RecordFile {
    fn append(&mut self, line: &[u8]) -> io::Result<()> {
        match &mut self.file {
            Some(file) => file.write_all(line),
            None => {
                self.file = Some(self.write(&self.path, line)?);
                Ok(())
            }
        }
    }

    fn replace(&mut self, lines: &[u8]) -> io::Result<()> {
        // The old record counts until the new one is whole.
        let new = self.path.with_extension(NEW);
        self.file = Some(self.write(&new, lines)?);
        std::fs::rename(&new, &self.path)
    }

    fn clear(&mut self) -> io::Result<()> {
        self.file = None;
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            result => result,
        }
    }
}
