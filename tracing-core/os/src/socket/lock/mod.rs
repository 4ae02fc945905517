//! The lock of a socket file: only one daemon listens at it.
//!
//! The lock is a file beside the socket, `SOCKET.lock`, which its owner holds with `flock` while it listens:
//!
//! ```text
//!   open ── no such file ──> create ──┐
//!     └──── it is there ──────────────┴──> regular, of this user? ── no ──> root takes the name, others get an error
//!                                              │ yes
//!                                              v
//!                              flock ── held by another ──> refused
//!                                └──── is the file still the one of that name? ── no ──> again
//! ```
//!
//! Only the user of the daemon can open the file, so no other user can hold the lock. An abstract socket would be no
//! lock: every user can bind every name. In a directory that all users write to, such as `/tmp`, another user can
//! create the file before the daemon does. Root [takes the name](super::claim) then; a daemon of another user cannot,
//! and says so.
//!
//! The daemon removes the file while it still holds the lock, when it stops listening. A daemon that is killed leaves
//! the file, and the next one takes it.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;
use rustix::io::Errno;

use super::claim::{self, Displaced};
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
    /// What another user had at its name.
    pub(super) displaced: Option<Displaced>,
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
        let mut displaced = None;
        for _ in 0..TRIES {
            let file = match open(&path)? {
                Opened::Lock(file) => file,
                Opened::Changed => continue,
                Opened::Foreign(uid) => {
                    displaced = replace(&path, uid)?.or(displaced);
                    continue;
                }
            };
            if let Some(mut this) = Self::take_opened(path.clone(), file)? {
                this.displaced = displaced;
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
                let this = Self { path, file, displaced: None };
                Ok(this.is_held().then_some(this))
            }
            Err(Errno::WOULDBLOCK) => Err(LockError::Held),
            Err(errno) => Err(os("flock", &path)(errno.into())),
        }
    }

    /// Whether the file of this lock still has its name. Root takes it from other users, and two daemons of root may do
    /// that at the same moment.
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

/// What is at the name of a lock.
enum Opened {
    /// A file of this user, which was created if there was none.
    Lock(File),
    /// Something else than a moment before.
    Changed,
    /// Something of this other user, and this is root.
    Foreign(u32),
}

/// Opens the file, or creates it.
fn open(path: &Path) -> Result<Opened, LockError> {
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
                return Ok(Opened::Lock(file));
            }
            None
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(Opened::Changed),
        Err(error) => Some(error),
    };
    let meta = match std::fs::symlink_metadata(path) {
        Ok(meta) => meta,
        // Removed meanwhile, or it never was.
        Err(_) => return error.map_or(Ok(Opened::Changed), |error| Err(os("open", path)(error))),
    };
    let is_ours = meta.uid() == process::effective_uid();
    match error {
        Some(error) if is_ours && meta.is_file() => Err(os("open", path)(error)),
        _ if is_ours || process::effective_uid() != 0 => {
            Err(LockError::Foreign { file: path.into(), uid: meta.uid() })
        }
        _ => Ok(Opened::Foreign(meta.uid())),
    }
}

/// Puts a file of this user at the name, which has something of user `uid`.
fn replace(path: &Path, uid: u32) -> Result<Option<Displaced>, LockError> {
    let ours = claim::name_beside(path).map_err(LockError::Os)?;
    let create = || OpenOptions::new().write(true).create_new(true).mode(0o600).open(&ours);
    create().map_err(os("open", &ours))?;
    claim::take(&ours, path).map_err(|_| LockError::Foreign { file: path.into(), uid })
}

#[cfg(test)]
mod tests;
