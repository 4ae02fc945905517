//! Output files of the service.

use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{FileType, FlockOperation, Mode, OFlags, SeekFrom, flock};
use rustix::io::Errno;

use abi::error::OsError;
use abi::sync::{Arc, AtomicBool, Ordering};
use os::failed;

/// A file that the service appends to: it created the file, or a consumer sent it.
#[derive(Debug)]
pub struct OutputFile {
    fd: OwnedFd,
    /// A write may block for ever, as to a pipe or socket that is not read.
    may_block: bool,
    cancel: Cancel,
}

/// Cancels writes to one file, for example to a pipe that is not read. Clones cancel the same writes.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Cancels. A write that runs ends with an error within [`LOOK_MS`] milliseconds.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// How often a write that waits checks whether it was cancelled, ms.
pub const LOOK_MS: i64 = 200;

/// The smallest room of a pipe that is not full, bytes (`PIPE_BUF`).
const PIPE_BYTES: usize = 4096;

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
    ///
    /// # Errors
    /// When the file exists (a symbolic link counts), or cannot be created in the directory, or a recorder was faster.
    pub fn create(path: &Path) -> Result<Self, OsError> {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
        let fd = retry(|| rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR))
            .map_err(|errno| failed("open")(errno).on(path.display()))?;
        // Only a recorder that found the file at this instant can have locked it. Some file systems have no locks.
        if let Err(errno @ Errno::WOULDBLOCK) = flock(&fd, FlockOperation::NonBlockingLockExclusive)
        {
            return Err(failed("flock")(errno).on(path.display()));
        }
        // The umask would change the mode given to `open`, and the user who asked for the trace is often not the
        // user of the daemon.
        let readable = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::ROTH;
        rustix::fs::fchmod(&fd, readable)
            .map_err(|errno| failed("fchmod")(errno).on(path.display()))?;
        Ok(Self { fd, may_block: false, cancel: Cancel::default() })
    }

    /// Takes ownership of a descriptor, at its current position.
    #[must_use]
    pub fn from_fd(fd: OwnedFd) -> Self {
        let kind = rustix::fs::fstat(&fd).map(|stat| FileType::from_raw_mode(stat.st_mode));
        let may_block = kind != Ok(FileType::RegularFile);
        Self { fd, may_block, cancel: Cancel::default() }
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
            match self
                .writable_part(rest)
                .and_then(|rest| retry(|| rustix::io::write(&self.fd, rest)))
            {
                Ok(count @ 1..) => written += count,
                // A file never takes nothing without an error, but an endless loop would be worse than an error.
                Ok(0) => return Err(CutShort { written, error: failed("write")(Errno::IO) }),
                Err(errno) => return Err(CutShort { written, error: failed("write")(errno) }),
            }
        }
        Ok(())
    }

    /// The part of `data` that one write may take without blocking for ever.
    fn writable_part<'a>(&self, data: &'a [u8]) -> Result<&'a [u8], Errno> {
        loop {
            if self.cancel.is_set() {
                return Err(Errno::CANCELED);
            }
            if !self.may_block {
                return Ok(data);
            }
            let mut fds = [PollFd::new(&self.fd, PollFlags::OUT)];
            let look = Timespec { tv_sec: 0, tv_nsec: LOOK_MS * 1_000_000 };
            if retry(|| rustix::event::poll(&mut fds, Some(&look)))? > 0 {
                return Ok(data.get(..PIPE_BYTES).unwrap_or(data));
            }
        }
    }

    /// Removes the last `count` bytes that were written, if nothing was written behind them.
    ///
    /// # Errors
    /// When this is not a regular file.
    pub fn take_back(&self, count: u64) -> Result<(), OsError> {
        let stat = rustix::fs::fstat(&self.fd).map_err(failed("fstat"))?;
        let at = rustix::fs::seek(&self.fd, SeekFrom::Current(0)).map_err(failed("lseek"))?;
        match at.checked_sub(count) {
            Some(end) if u64::try_from(stat.st_size) == Ok(at) => {
                retry(|| rustix::fs::ftruncate(&self.fd, end)).map_err(failed("ftruncate"))
            }
            _ => Err(failed("ftruncate")(Errno::INVAL)),
        }
    }

    /// A second handle of the file, and its current length.
    ///
    /// # Errors
    /// When no descriptor is left, or the file cannot be read back, as a pipe.
    pub fn share(&self) -> Result<(Self, u64), OsError> {
        if self.may_block {
            return Err(failed("pread")(Errno::SPIPE));
        }
        let fd = rustix::io::fcntl_dupfd_cloexec(&self.fd, 0).map_err(failed("fcntl"))?;
        let stat = rustix::fs::fstat(&self.fd).map_err(failed("fstat"))?;
        let share = Self { fd, may_block: self.may_block, cancel: self.cancel.clone() };
        Ok((share, u64::try_from(stat.st_size).unwrap_or(0)))
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
            let got = retry(|| rustix::io::pread(&source.fd, &mut *piece, at))
                .map_err(failed("pread"))?;
            if got == 0 {
                return Err(failed("pread")(Errno::IO));
            }
            self.append(piece.get(..got).unwrap_or_default()).map_err(|cut| cut.error)?;
            at += got as u64;
        }
        Ok(())
    }

    /// Asks the system to start writing to the disk, so that [`sync`](Self::sync) waits less. Waits only for room in
    /// the queue of the disk; does nothing for a file that is not on a disk.
    pub fn begin_sync(&self) {
        if !self.may_block {
            super::writeback::begin(&self.fd);
        }
    }

    /// Waits until all written data is on the disk. For a pipe or terminal it returns at once.
    ///
    /// # Errors
    /// When the disk failed. Data written before may be lost.
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
