//! Folders for files that hostile users have the daemon make: one that all users may write to, and one that only root
//! may. The daemon works in that one.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::PathBuf;

use crate::Outcome;

pub const OPEN: &str = "open";
pub const CLOSED: &str = "closed";

/// Both folders; they are removed when this is dropped.
pub struct Folders {
    pub root: PathBuf,
}

impl Folders {
    pub fn make() -> Outcome<Self> {
        let root = std::env::temp_dir().join(format!("siege-{}", std::process::id()));
        let folders = Self { root };
        for (name, mode) in [("", 0o755), (OPEN, 0o777), (CLOSED, 0o700)] {
            let path = folders.root.join(name);
            let made = fs::create_dir(&path)
                .and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(mode)));
            made.map_err(|error| format!("{}: {error}", path.display()))?;
        }
        Ok(folders)
    }

    /// Users of the files in a folder.
    fn users(&self, name: &str) -> Outcome<Vec<u32>> {
        let path = self.root.join(name);
        let failed = |error: std::io::Error| format!("{}: {error}", path.display());
        let entries = fs::read_dir(&path).map_err(failed)?;
        let users =
            entries.map(|entry| entry.and_then(|entry| entry.metadata()).map(|it| it.uid()));
        users.collect::<Result<_, _>>().map_err(failed)
    }

    /// Checks that each file is of one of the users, who may have made it without the daemon. Returns how many there
    /// are.
    pub fn check(&self, users: &[u32]) -> Outcome<usize> {
        let (open, closed) = (self.users(OPEN)?, self.users(CLOSED)?);
        if let Some(other) = open.iter().find(|user| !users.contains(user)) {
            return Err(format!("the daemon made a file of user {other} for a hostile user"));
        }
        match closed.len() {
            0 => Ok(open.len()),
            count => Err(format!("{count} files in a folder that no hostile user may write to")),
        }
    }
}

impl Drop for Folders {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

#[cfg(test)]
mod tests;
