//! For tests: a folder that all users write to, as `/tmp`, and another user that does.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::process::{Uid, geteuid};
use rustix::thread::set_thread_res_uid;

pub(super) const NOBODY: u32 = 65534;

/// Gone afterwards.
pub(super) struct OpenFolder(PathBuf);

impl OpenFolder {
    pub(super) fn new(name: &str) -> Self {
        Self::beside(&std::env::temp_dir(), name)
    }

    pub(super) fn beside(folder: &Path, name: &str) -> Self {
        let path = folder.join(format!("open-folder-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o1777)).unwrap();
        Self(path)
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The names in it, sorted.
    pub(super) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for OpenFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs as another user, if this is root.
pub(super) fn as_nobody<T: Send>(run: impl FnOnce() -> T + Send) -> T {
    let run = || {
        if geteuid().is_root() {
            // Of this thread alone.
            set_thread_res_uid(None, Uid::from_raw(NOBODY), None).unwrap();
        }
        run()
    };
    std::thread::scope(|scope| scope.spawn(run).join().unwrap())
}
