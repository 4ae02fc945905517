//! The lock of a socket file: only one daemon listens at it.
//!
//! The lock is a file beside the socket, `SOCKET.lock`, which its owner holds with `flock` while it listens:
//!
//! ```text
//!   open ── no such file ──> create ──┐
//!     └──── it is there ──────────────┴──> regular, of this user? ── no ──> root removes it, others get an error
//!                                              │ yes
//!                                              v
//!                              flock ── held by another ──> refused
//!                                └──── is the file still the one of that name? ── no ──> again
//! ```
//!
//! Only the user of the daemon can open the file, so no other user can hold the lock. An abstract socket would be no
//! lock: every user can bind every name. In a directory that all users write to, such as `/tmp`, another user can
//! create the file before the daemon does. Root removes it then, unless it is a directory with files; a daemon of
//! another user cannot, and says so.
//!
//! The daemon removes the file while it still holds the lock, when it stops listening. A daemon that is killed leaves
//! the file, and the next one takes it.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;
use rustix::io::Errno;

use crate::{failed, process};
use abi::error::OsError;

/// How often a file that changed meanwhile is opened again.
const TRIES: usize = 64;

/// Why a lock was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LockError {
    /// Another process holds it.
    Held,
    /// The file is not a lock of this user, and this process may not remove it.
    Foreign {
        /// The file.
        file: PathBuf,
        /// Its owner.
        uid: u32,
    },
    /// A system call failed.
    Os(OsError),
}

/// A held lock. Dropping it removes its file.
#[derive(Debug)]
pub(super) struct Lock {
    path: PathBuf,
    file: File,
}

impl Lock {
    /// Takes the lock of a socket file. Never waits.
    ///
    /// # Errors
    /// When another process holds it, its file belongs to another user, or the directory cannot be written to.
    pub(super) fn take(socket: &Path) -> Result<Self, LockError> {
        let mut path = socket.as_os_str().to_owned();
        path.push(".lock");
        let path = PathBuf::from(path);
        for _ in 0..TRIES {
            if let Some(file) = open(&path)?
                && let Some(this) = Self::take_opened(path.clone(), file)?
            {
                return Ok(this);
            }
        }
        // Other daemons start and end all the time.
        Err(LockError::Held)
    }

    /// None if another daemon removed the file after it was opened.
    fn take_opened(path: PathBuf, file: File) -> Result<Option<Self>, LockError> {
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {
                let this = Self { path, file };
                Ok(this.is_held().then_some(this))
            }
            Err(Errno::WOULDBLOCK) => Err(LockError::Held),
            Err(errno) => Err(os("flock", &path)(errno.into())),
        }
    }

    /// Whether the file of this lock still has its name. Root removes files of other users, and two daemons of root
    /// may do that at the same moment.
    pub(super) fn is_held(&self) -> bool {
        let id = |meta: std::fs::Metadata| (meta.dev(), meta.ino());
        match (self.file.metadata(), std::fs::symlink_metadata(&self.path)) {
            (Ok(ours), Ok(named)) => id(ours) == id(named),
            _ => false,
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if self.is_held() {
            // A failure does no harm: the next daemon takes the file.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn os(call: &'static str, path: &Path) -> impl FnOnce(io::Error) -> LockError {
    move |error| LockError::Os(failed(call)(error).on(path.display()))
}

/// Opens the file, or creates it. None if it changed meanwhile.
fn open(path: &Path) -> Result<Option<File>, LockError> {
    let mut options = OpenOptions::new();
    // The name may lead to a file of any kind: a link is not followed, and a pipe does not block.
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
    options.read(true).write(true).custom_flags(flags).mode(0o600);
    // Not created in the same call: that fails for files of others where the kernel protects them.
    let opened = match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            options.create_new(true).open(path)
        }
        opened => opened,
    };
    let error = match opened {
        Ok(file) => {
            let meta = file.metadata().map_err(os("stat", path))?;
            if meta.is_file() && meta.uid() == process::effective_uid() {
                return Ok(Some(file));
            }
            None
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
        Err(error) => Some(error),
    };
    let meta = match std::fs::symlink_metadata(path) {
        Ok(meta) => meta,
        // Removed meanwhile, or it never was.
        Err(_) => return error.map_or(Ok(None), |error| Err(os("open", path)(error))),
    };
    let is_ours = meta.uid() == process::effective_uid();
    match error {
        Some(error) if is_ours && meta.is_file() => Err(os("open", path)(error)),
        _ if is_ours || process::effective_uid() != 0 => {
            Err(LockError::Foreign { file: path.into(), uid: meta.uid() })
        }
        _ => remove(path, meta.uid()).map(|()| None),
    }
}

/// Removes what another user put there.
fn remove(path: &Path, uid: u32) -> Result<(), LockError> {
    match std::fs::remove_file(path).or_else(|_| std::fs::remove_dir(path)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(LockError::Foreign { file: path.into(), uid })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
