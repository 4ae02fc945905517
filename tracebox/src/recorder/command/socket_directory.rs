//! Where the service of `tracebox record` listens.

use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::process::geteuid;
use tracing_core::os::process::random_seed;

use crate::console;
use crate::failure::{Context, Failure};
use crate::recorder::host::Sockets;

/// A directory for two sockets that only this user can enter. It is removed with this value.
pub(super) struct SocketDirectory {
    path: PathBuf,
}

impl SocketDirectory {
    pub(super) fn create() -> Result<Self, Failure> {
        remove_stale(&std::env::temp_dir());
        let id = random_seed().context("no random numbers")?;
        let path = std::env::temp_dir().join(format!("{PREFIX}{id:016x}"));
        std::fs::DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .context(format_args!("cannot create {}", console::name(&path)))?;
        Ok(Self { path })
    }

    pub(super) fn sockets(&self) -> Result<Sockets, Failure> {
        Sockets::at(&self.path.join(PRODUCER), &self.path.join("consumer"))
    }
}

/// Name of the producer socket in the directory.
const PRODUCER: &str = "producer";

/// Beginning of the names of these directories.
const PREFIX: &str = "tracebox-";

/// Removes the directories of recorders that were killed: those of this user, with a socket that nothing
/// listens at.
fn remove_stale(temporary: &Path) {
    let Ok(entries) = std::fs::read_dir(temporary) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let id = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        let named = id.is_some_and(|id| id.len() == 16 && u64::from_str_radix(id, 16).is_ok());
        // The metadata of the entry itself: a link is not followed.
        let ours =
            |metadata: std::fs::Metadata| metadata.is_dir() && metadata.uid() == geteuid().as_raw();
        if !named || !entry.metadata().is_ok_and(ours) {
            continue;
        }
        let listens = UnixStream::connect(entry.path().join(PRODUCER));
        if listens.is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

impl Drop for SocketDirectory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
