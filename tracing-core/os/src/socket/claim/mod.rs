//! A name that another user took first, in a directory where every user may create files, such as `/tmp`.
//!
//! A daemon of root gets it all the same. It makes its file beside the name, and exchanges the two:
//!
//! ```text
//!            before                                    after
//!   NAME       theirs       ── RENAME_EXCHANGE ──>     ours
//!   NAME.1f3a  ours                                    theirs ── removed, unless it has content
//! ```
//!
//! The exchange is one step, so the other user cannot take the name again in between. Later it cannot either if the
//! directory has the sticky bit: then a file of root is renamed and removed by root alone. No link is followed, and
//! what has content, such as a directory with files, keeps its second name.

use core::fmt;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use crate::process;
use abi::error::OsError;

/// How often the exchange is tried, if the other user removes its file and creates it again meanwhile.
const TRIES: usize = 64;

/// What another user had at a name that a daemon of root took. `Display` is a line for a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Displaced {
    /// The name.
    pub path: PathBuf,
    /// The user that it belonged to.
    pub uid: u32,
    /// What it was, such as `a socket`.
    pub kind: &'static str,
    /// Its new name, if it was not removed.
    pub kept_at: Option<PathBuf>,
}

impl fmt::Display for Displaced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, uid, kind, kept_at } = self;
        write!(f, "user {uid} had {kind} at {}: it was ", path.display())?;
        match kept_at {
            Some(path) => write!(f, "renamed to {}", path.display())?,
            None => f.write_str("removed")?,
        }
        f.write_str(", as this daemon runs as root")
    }
}

/// Whether another user has this name, and root [may take](may_take) it.
pub(super) fn is_of_another_user(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|meta| meta.uid() != 0) && may_take(path)
}

/// Whether this process may take the name from another user: it is root, the name is none of root, and all users write
/// to the directory. In any other directory, the owner of the directory decides.
pub(super) fn may_take(path: &Path) -> bool {
    const WRITTEN_BY_ALL: u32 = 0o002;
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    process::effective_uid() == 0
        && std::fs::symlink_metadata(path).map_or(true, |meta| meta.uid() != 0)
        && std::fs::metadata(folder).is_ok_and(|meta| meta.mode() & WRITTEN_BY_ALL != 0)
}

/// A name beside `path` that nobody can guess.
pub(super) fn name_beside(path: &Path) -> Result<PathBuf, OsError> {
    let number = process::random_seed()?;
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number:016x}"));
    Ok(PathBuf::from(name))
}

/// Gives the file at `ours` the name `path`, whatever is there. What was there, if anything, gets the name `ours`, or
/// is removed.
///
/// # Errors
/// When this process may not, or a file system is mounted at `path`. Then `ours` is removed.
pub(super) fn take(ours: &Path, path: &Path) -> Result<Option<Displaced>, Errno> {
    let taken = exchange(ours, path);
    if taken.is_err() {
        let _ = std::fs::remove_file(ours);
    }
    Ok(match taken? {
        false => None,
        true => clear(ours, path),
    })
}

/// Whether something was at `path`.
fn exchange(ours: &Path, path: &Path) -> Result<bool, Errno> {
    for _ in 0..TRIES {
        match renameat_with(CWD, ours, CWD, path, RenameFlags::EXCHANGE) {
            Err(Errno::NOENT) => {}
            done => return done.map(|()| true),
        }
        match renameat_with(CWD, ours, CWD, path, RenameFlags::NOREPLACE) {
            Err(Errno::EXIST) => {}
            done => return done.map(|()| false),
        }
    }
    Err(Errno::EXIST)
}

/// Removes what was at `path` and is at `kept` now, unless it has content. None if its owner removed it meanwhile.
fn clear(kept: &Path, path: &Path) -> Option<Displaced> {
    let meta = std::fs::symlink_metadata(kept).ok()?;
    let removed = match meta.file_type() {
        kind if kind.is_dir() => std::fs::remove_dir(kept),
        kind if kind.is_file() && meta.len() > 0 => Err(io::ErrorKind::DirectoryNotEmpty.into()),
        _ => std::fs::remove_file(kept),
    };
    let kept_at = removed.is_err().then(|| kept.to_path_buf());
    Some(Displaced { path: path.into(), uid: meta.uid(), kind: kind_of(&meta), kept_at })
}

fn kind_of(meta: &Metadata) -> &'static str {
    match meta.file_type() {
        kind if kind.is_socket() => "a socket",
        kind if kind.is_dir() => "a directory",
        kind if kind.is_symlink() => "a symbolic link",
        kind if kind.is_fifo() => "a named pipe",
        kind if kind.is_file() => "a file",
        _ => "a device",
    }
}

#[cfg(test)]
mod tests;
