//! Output files of the service.

use std::fs::{File, OpenOptions, Permissions, TryLockError};
use std::io::{self, ErrorKind, Seek, Write};
#[cfg(feature = "host")]
use std::os::fd::BorrowedFd;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

use abi::error::OsError;
use abi::sync::{Arc, AtomicBool, Ordering};
use os::failed;
use os::poll::{wait_writable, write_now};

/// A file that the service appends to: it created the file, or a consumer sent it.
#[derive(Debug)]
pub struct OutputFile {
    file: File,
    /// A write may block for ever, as to a pipe or socket that is not read.
    may_block: bool,
    cancel: Cancel,
}

/// Cancels writes to one file, for example to a pipe that is not read. Clones cancel the same writes.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Cancels. A write that runs ends with an error within [`LOOK_MS`] milliseconds. Exception: a pipe or socket
    /// that another process fills at the same time. There the write may wait until somebody reads: [`write_now`] says
    /// where.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// How often a write that waits checks whether it was cancelled, ms.
pub const LOOK_MS: u64 = 200;

/// The smallest room of a pipe that is not full, bytes (`PIPE_BUF`).
const PIPE_BYTES: usize = 4096;

/// How long a write waits after another process was faster.
const AGAIN: Duration = Duration::from_millis(1);

/// A write that failed after some of its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CutShort {
    /// Bytes that are in the file.
    pub written: usize,
    /// The failure after them.
    pub error: OsError,
}

impl OutputFile {
    /// Creates the file, which must not exist: a privileged daemon must not open a file that another user may have put
    /// there. Its owner can write it, all users can read it. It is locked while it is open, as recorders lock theirs.
    /// `cancel` cancels writes to it.
    ///
    /// # Errors
    /// When the file exists (a symbolic link counts), or cannot be created in the directory, or a recorder was faster.
    pub fn create(path: &Path, cancel: Cancel) -> Result<Self, OsError> {
        let on_path =
            |call| move |error: io::Error| failed::<io::Error>(call)(error).on(path.display());
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
            .map_err(on_path("open"))?;
        // Only a recorder that found the file at this instant can have locked it. Some file systems have no locks.
        if let Err(error @ TryLockError::WouldBlock) = file.try_lock() {
            return Err(on_path("flock")(error.into()));
        }
        // The umask would change the mode given to `open`, and the user who asked for the trace is often not the
        // user of the daemon.
        file.set_permissions(Permissions::from_mode(0o644)).map_err(on_path("fchmod"))?;
        Ok(Self { file, may_block: false, cancel })
    }

    /// Takes ownership of a descriptor, at its current position.
    #[must_use]
    pub fn from_fd(fd: OwnedFd) -> Self {
        let file = File::from(fd);
        let may_block = !file.metadata().is_ok_and(|stat| stat.is_file());
        Self { file, may_block, cancel: Cancel::default() }
    }

    /// The file, whose writes `cancel` cancels, too.
    #[cfg(feature = "host")]
    #[must_use]
    pub(crate) fn cancelled_by(self, cancel: Cancel) -> Self {
        Self { cancel, ..self }
    }

    #[cfg(feature = "host")]
    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// A handle that cancels writes to this file.
    #[must_use]
    pub fn cancel(&self) -> Cancel {
        self.cancel.clone()
    }

    /// Writes all of `data` behind the last write.
    ///
    /// # Errors
    /// The first failure, and the number of bytes of `data` that were written before it.
    pub fn append(&self, data: &[u8]) -> Result<(), CutShort> {
        let mut written = 0;
        while let Some(rest) = data.get(written..).filter(|rest| !rest.is_empty()) {
            match self.writable_part(rest).and_then(|rest| retry(|| self.write(rest))) {
                Ok(count @ 1..) => written += count,
                Err(error) if self.may_block && error.kind() == ErrorKind::WouldBlock => {
                    std::thread::sleep(AGAIN);
                }
                // A file never takes nothing without an error, but an endless loop would be worse than an error.
                Ok(0) => return Err(CutShort { written, error: OsError::new("write", libc::EIO) }),
                Err(error) => return Err(CutShort { written, error: failed("write")(error) }),
            }
        }
        Ok(())
    }

    fn write(&self, data: &[u8]) -> io::Result<usize> {
        // Another process may have filled it: the consumer, or one that has the file from it.
        if self.may_block { write_now(&self.file, data) } else { (&self.file).write(data) }
    }

    /// The part of `data` that one write may take without blocking for ever.
    fn writable_part<'a>(&self, data: &'a [u8]) -> io::Result<&'a [u8]> {
        loop {
            if self.cancel.is_set() {
                return Err(io::Error::from_raw_os_error(libc::ECANCELED));
            }
            if !self.may_block {
                return Ok(data);
            }
            let look = Duration::from_millis(LOOK_MS);
            if retry(|| wait_writable(self.file.as_fd(), look))? {
                return Ok(data.get(..PIPE_BYTES).unwrap_or(data));
            }
        }
    }

    /// Removes the last `count` bytes that were written, if nothing was written behind them.
    ///
    /// # Errors
    /// When this is not a regular file.
    pub fn take_back(&self, count: u64) -> Result<(), OsError> {
        let len = self.file.metadata().map_err(failed("fstat"))?.len();
        let at = (&self.file).stream_position().map_err(failed("lseek"))?;
        match at.checked_sub(count) {
            Some(end) if len == at => self.file.set_len(end).map_err(failed("ftruncate")),
            _ => Err(OsError::new("ftruncate", libc::EINVAL)),
        }
    }

    /// A second handle of the file, and its current length.
    ///
    /// # Errors
    /// When no descriptor is left, or the file cannot be read back, as a pipe.
    pub fn share(&self) -> Result<(Self, u64), OsError> {
        if self.may_block {
            return Err(OsError::new("pread", libc::ESPIPE));
        }
        let file = self.file.try_clone().map_err(failed("fcntl"))?;
        let len = self.file.metadata().map_err(failed("fstat"))?.len();
        Ok((Self { file, may_block: self.may_block, cancel: self.cancel.clone() }, len))
    }

    /// Appends the first `len` bytes of another file, whose offset does not change.
    ///
    /// # Errors
    /// When the other file cannot be read at any offset, or is shorter; and as [`append`](Self::append).
    pub fn append_from(&self, source: &Self, len: u64) -> Result<(), OsError> {
        let mut buf = vec![0_u8; 128 * 1024];
        let mut at = 0;
        while at < len {
            let want = usize::try_from(len - at).unwrap_or(buf.len()).min(buf.len());
            let piece = buf.get_mut(..want).unwrap_or_default();
            let got = retry(|| source.file.read_at(piece, at)).map_err(failed("pread"))?;
            let bytes = piece.get(..got).filter(|bytes| !bytes.is_empty());
            let bytes = bytes.ok_or(OsError::new("pread", libc::EIO))?;
            self.append(bytes).map_err(|cut| cut.error)?;
            at += got as u64;
        }
        Ok(())
    }

    /// Asks the system to start writing to the disk, so that [`sync`](Self::sync) waits less. Waits only for room in
    /// the queue of the disk; does nothing for a file that is not on a disk.
    pub fn begin_sync(&self) {
        if !self.may_block {
            super::writeback::begin(&self.file);
        }
    }

    /// Waits until all written data is on the disk. For a pipe or terminal it returns at once.
    ///
    /// # Errors
    /// When the disk failed. Data written before may be lost.
    pub fn sync(&self) -> Result<(), OsError> {
        let Err(error) = self.file.sync_data() else { return Ok(()) };
        match error.raw_os_error() {
            Some(libc::EINVAL | libc::EROFS | libc::ENOTSUP) => Ok(()),
            _ => Err(failed("fdatasync")(error)),
        }
    }
}

fn retry<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}
