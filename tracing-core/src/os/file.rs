//! Output files of the service.

use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::failed;
use crate::error::OsError;

/// A file the service appends to: one it created, or one that came from a consumer.
#[derive(Debug)]
pub struct OutputFile {
    fd: OwnedFd,
}

impl OutputFile {
    /// Creates the file, which must not exist yet: a privileged daemon never opens what somebody
    /// else may have put there. Its owner can write it, everybody can read it.
    ///
    /// # Errors
    /// When it exists (a symbolic link counts), or the directory does not take it.
    pub fn create(path: &Path) -> Result<Self, OsError> {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
        let fd = retry(|| rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR))
            .map_err(|errno| failed("open")(errno).on(path.display()))?;
        // Not through the mode of `open`, which the umask would cut: the user who asked for the
        // trace is often not the one the daemon runs as.
        let readable = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::ROTH;
        rustix::fs::fchmod(&fd, readable)
            .map_err(|errno| failed("fchmod")(errno).on(path.display()))?;
        Ok(Self { fd })
    }

    /// Takes over a descriptor, at whatever position it is.
    #[must_use]
    pub fn from_fd(fd: OwnedFd) -> Self {
        Self { fd }
    }

    /// Writes all of `data` where the last write ended.
    ///
    /// # Errors
    /// The first failure; part of `data` may have been written then.
    pub fn append(&self, mut data: &[u8]) -> Result<(), OsError> {
        while !data.is_empty() {
            let written = retry(|| rustix::io::write(&self.fd, data)).map_err(failed("write"))?;
            if written == 0 {
                // Not a thing files do; a loop that never ends would be worse than an error.
                return Err(failed("write")(Errno::IO));
            }
            data = data.get(written..).unwrap_or_default();
        }
        Ok(())
    }

    /// Waits until all that was written is on the disk. A pipe or terminal has nothing to wait for.
    ///
    /// # Errors
    /// When the disk failed; what was written before may be lost.
    pub fn sync(&self) -> Result<(), OsError> {
        match retry(|| rustix::fs::fdatasync(&self.fd)) {
            Ok(()) | Err(Errno::INVAL | Errno::ROFS | Errno::NOTSUP) => Ok(()),
            Err(errno) => Err(failed("fdatasync")(errno)),
        }
    }
}

fn retry<T>(mut call: impl FnMut() -> rustix::io::Result<T>) -> rustix::io::Result<T> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            other => return other,
        }
    }
}
