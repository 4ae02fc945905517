//! Files that appear when there is something to write: until then, a file of the same name stays as it is.
//!
//! ```text
//!   NAME.tracing-sdk-...  ──(the service has accepted the session, or the copy is complete)──> NAME
//! ```

use core::sync::atomic::{AtomicU32, Ordering};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::copy::copy_of_process;
use super::error::SessionError;

/// A file that gets its name later. Dropping it removes it.
#[derive(Debug)]
pub(super) struct NewFile {
    file: File,
    path: PathBuf,
    /// Its name until then; none if it has its own name already.
    partial: Option<PathBuf>,
}

impl NewFile {
    /// An empty file that a service can write into, for `path`.
    ///
    /// A pipe, a device, or a file in a folder in which no other can be made is opened as it is.
    pub(super) fn create(path: &Path) -> Result<Self, SessionError> {
        // The file behind a link is replaced, not the link.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let is_special = fs::metadata(&path).is_ok_and(|found| !found.is_file());
        let partial = partial_name(&path);
        if !is_special && let Ok(file) = open(&partial) {
            return Ok(Self { file, path, partial: Some(partial) });
        }
        let file = open(&path).map_err(SessionError::file(&path))?;
        Ok(Self { file, path, partial: None })
    }

    pub(super) fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Another handle of it.
    pub(super) fn try_clone(&self) -> Result<File, SessionError> {
        self.file.try_clone().map_err(SessionError::file(&self.path))
    }

    /// Gives it its name, and replaces a file that has it.
    pub(super) fn commit(mut self) -> Result<(), SessionError> {
        match self.partial.take() {
            None => Ok(()),
            Some(partial) => fs::rename(&partial, &self.path).map_err(|error| {
                let _ = fs::remove_file(&partial);
                SessionError::File(self.path.clone(), error)
            }),
        }
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some(partial) = self.partial.take() {
            let _ = fs::remove_file(partial);
        }
    }
}

/// A name in the same folder that nobody else uses.
pub(super) fn partial_name(path: &Path) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".tracing-sdk-{:016x}-{count}", copy_of_process()));
    path.with_file_name(name)
}

fn open(path: &Path) -> io::Result<File> {
    File::options().read(true).write(true).create(true).truncate(true).open(path)
}
