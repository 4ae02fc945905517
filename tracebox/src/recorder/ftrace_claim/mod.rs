//! The right to set the kernel's tracing: one recorder has it at a time.
//!
//! Two recorders that set tracefs at the same time would put back what they found of each other. The claim is a lock
//! on the folder of tracefs, which the kernel releases with the process. It is taken before anything is recorded: a
//! recording without events of the kernel can begin instead. `traced_probes` takes none: its events are seen when
//! they are on. The data source has a lock of its records besides, and refuses a session that finds it taken.

use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::MetadataExt;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use tracing_probes::FTRACE_ROOTS;

use crate::doctor::{Obstacle, ftrace_obstacle};

/// Held while a recording sets the kernel's tracing.
#[derive(Debug)]
pub struct FtraceClaim(#[expect(dead_code, reason = "held for its life")] Vec<File>);

impl FtraceClaim {
    /// Claims it.
    ///
    /// # Errors
    /// Why it cannot be had now; see [`Obstacle`].
    pub fn take() -> Result<Self, Obstacle> {
        let roots = FTRACE_ROOTS.iter().map(|root| format!("/{root}"));
        let Some(folders) = lock(roots.filter_map(|root| File::open(root).ok())) else {
            let text =
                "another tracebox records them now; end that first, or see `tracebox doctor`";
            return Err(Obstacle::InUse(text.to_owned()));
        };
        ftrace_obstacle().map_or(Ok(Self(folders)), Err)
    }
}

/// Locks folders. `None` if another process has locked one of them. The kernel mounts tracefs below debugfs, too: a
/// folder that is there twice is locked once, as the second lock would find the first.
fn lock(folders: impl Iterator<Item = File>) -> Option<Vec<File>> {
    let mut seen = BTreeSet::new();
    let is_new = |folder: &File| {
        let metadata = folder.metadata();
        metadata.map_or(true, |metadata| seen.insert((metadata.dev(), metadata.ino())))
    };
    let folders: Vec<File> = folders.filter(is_new).collect();
    (!folders.iter().any(is_locked)).then_some(folders)
}

/// Locks a folder. True if another process has locked it; a folder that takes no locks is as if it were free.
fn is_locked(folder: &File) -> bool {
    flock(folder, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK)
}

#[cfg(test)]
mod tests;
