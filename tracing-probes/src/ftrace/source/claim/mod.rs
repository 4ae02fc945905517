//! Tracefs for one program at a time, and what a killed one has left in it.
//!
//! ```text
//!   take ──> the lock of tracefs ──> the records of this user ──> what a killed program has left is put back
//!            all users share it      what was found
//! ```
//!
//! The lock is on a file of tracefs: each user who may record can open it, also where the records of another user are
//! hidden. Each user has records of its own: a program of root must not write to the kernel what another user has
//! noted, nor follow a link that another user has made.

mod others;

#[cfg(test)]
mod tests;

use std::fs::{File, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use os::process;
use rustix::event::{Timespec, poll};

pub use self::others::{FtraceRecords, ftrace_records_of_others};

use super::super::mux::{Records, RecordsError};
use super::super::tracefs::{Tracefs, find_root};
use crate::Root;

/// The folder of the records of root, below the root of the file system. A reboot clears it, and tracefs with it.
const RECORDS: &str = "run/tracing-probes";
/// The folder of the records of a user who is not root: its name in the folder of the session, and what it begins with
/// in [`TMP`].
const OF_SESSION: &str = "tracing-probes";
const IN_TMP: &str = "tracing-probes-";
/// The folder for files of all users.
const TMP: &str = "tmp";
/// The file of tracefs that is locked while a program records.
pub const FTRACE_LOCK: &str = "tracing_on";
const KPTR_RESTRICT: &str = "proc/sys/kernel/kptr_restrict";
/// How often, and how long between, it is tried to get what another program has: a second in all.
const LOCK_TRIES: u32 = 50;
const LOCK_PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// The folder of the records of this user: a file in it that ends in `.ftrace` is of a recording that runs, or of one
/// that was killed. A record names the boot that it is of, so it may outlive a reboot.
#[must_use]
pub fn ftrace_records() -> PathBuf {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let owner = |path: &Path| std::fs::metadata(path).ok().map(|metadata| metadata.uid());
    records_of(process::effective_uid(), runtime.as_deref(), owner)
}

/// The folder of the records of `uid`, whose session has the folder `runtime`. `owner` tells whose a folder is.
fn records_of(uid: u32, runtime: Option<&Path>, owner: impl Fn(&Path) -> Option<u32>) -> PathBuf {
    let of_root = Path::new("/").join(RECORDS);
    // A unit of systemd may have made it for a user (`RuntimeDirectory`).
    if uid == 0 || owner(&of_root) == Some(uid) {
        return of_root;
    }
    match runtime.filter(|folder| folder.is_absolute() && owner(folder) == Some(uid)) {
        Some(folder) => folder.join(OF_SESSION),
        None => PathBuf::from(format!("/{TMP}/{IN_TMP}{uid}")),
    }
}

fn folder(root: &Root) -> PathBuf {
    if root.path() == Path::new("/") { ftrace_records() } else { root.join(RECORDS) }
}

/// Tracefs is that of this program until this value is dropped.
#[derive(Debug)]
pub(super) struct Claim {
    /// The error tells why there are none.
    pub(super) records: Result<Records, String>,
    #[expect(dead_code, reason = "held for its life")]
    lock: Option<TracefsLock>,
}

#[derive(Debug)]
struct TracefsLock(File);

impl Drop for TracefsLock {
    /// To close the file is not enough: a program that is being started has a copy of the descriptor for a moment.
    fn drop(&mut self) {
        // The end of the process gives it back in any case.
        _ = self.0.unlock();
    }
}

impl Claim {
    /// Takes it. A program that starts has it for a moment, while it puts back what a killed one has left.
    ///
    /// # Errors
    /// Another program records: which lock it has, and what to do.
    pub(super) fn take(root: &Root) -> Result<Self, String> {
        let mut taken = Self::try_take(root);
        for _ in 0..LOCK_TRIES {
            if taken.is_ok() {
                break;
            }
            // Nothing is polled: it waits for its time.
            _ = poll(&mut [], Some(&LOCK_PAUSE));
            taken = Self::try_take(root);
        }
        taken
    }

    fn try_take(root: &Root) -> Result<Self, String> {
        let lock = lock_tracefs(root).map_err(|path| {
            format!(
                "another program records events of the kernel now (it has locked {}); end that first, or see \
                 `tracebox doctor`",
                path.display()
            )
        })?;
        let records = match Records::open(&folder(root), &boot(root)) {
            Err(RecordsError::InUse(why)) => return Err(why),
            Err(RecordsError::Unusable(why)) => Err(why),
            Ok(records) => Ok(records),
        };
        Ok(Self { records, lock })
    }
}

/// Locks tracefs. `None`: this file system has no locks, or this user no rights to it.
///
/// # Errors
/// Another program has the lock, on this file.
fn lock_tracefs(root: &Root) -> Result<Option<TracefsLock>, PathBuf> {
    let Ok(tracefs) = find_root(root.path()) else { return Ok(None) };
    let path = tracefs.folder().join(FTRACE_LOCK);
    let Ok(file) = File::open(&path) else { return Ok(None) };
    match file.try_lock() {
        Ok(()) => Ok(Some(TracefsLock(file))),
        Err(TryLockError::WouldBlock) => Err(path),
        Err(TryLockError::Error(_)) => Ok(None),
    }
}

/// Whether another program records, whose events a reset switches off. The text says so.
pub(super) fn in_use(root: &Root) -> Option<String> {
    let path = lock_tracefs(root).err()?;
    Some(format!(
        "another program records events of the kernel (it has locked {}): that program gets no more events, and when \
         it ends it puts back what it had found; end it, and reset once more",
        path.display()
    ))
}

/// Puts back what a program of this user has left that was killed. If another one records now, it has done so.
pub(super) fn restore_left(root: &Root) {
    if !Records::any_left(&folder(root)) {
        return;
    }
    if let (Ok(Claim { records: Ok(records), .. }), Ok(tracefs)) =
        (&Claim::try_take(root), find_root(root.path()))
    {
        restore(root, records, &tracefs);
    }
}

/// Names the boot.
fn boot(root: &Root) -> String {
    root.read_line("proc/sys/kernel/random/boot_id").unwrap_or_default()
}

/// Puts back what the records tell.
pub(super) fn restore(root: &Root, records: &Records, tracefs: &dyn Tracefs) {
    let notes = records.restore(tracefs);
    let notes = notes.into_iter().chain(restore_restrict(root, records));
    notes.for_each(|note| root.warn(&format!("linux.ftrace: {note}")));
}

/// Puts back `kptr_restrict`, if a daemon was killed while it had lowered it. The text tells so.
fn restore_restrict(root: &Root, records: &Records) -> Option<String> {
    let level = records.restrict_left()?;
    if let Err(error) = std::fs::write(root.join(KPTR_RESTRICT), level.to_string()) {
        return Some(format!(
            "a daemon was killed that had lowered /{KPTR_RESTRICT}: it is not put back: {error}; write {level} to it"
        ));
    }
    // If it stays, the value is put back once more.
    _ = records.keep_restrict(None);
    Some(format!("a daemon was killed that had lowered /{KPTR_RESTRICT}: {level} is put back"))
}
