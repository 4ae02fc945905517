//! Output files of the service.

use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{FileType, Mode, OFlags, SeekFrom};
use rustix::io::Errno;

use abi::error::OsError;
use abi::sync::{Arc, AtomicBool, Ordering};
use os::failed;

/// A file the service appends to: one it created, or one that came from a consumer.
#[derive(Debug)]
pub struct OutputFile {
    fd: OwnedFd,
    /// It may take nothing for ever, as pipes and sockets do that nobody reads.
    may_block: bool,
    unwanted: Unwanted,
}

/// Tells who writes to a pipe that nobody reads that it need not go on. Clones tell the same one.
#[derive(Clone, Debug, Default)]
pub struct Unwanted(Arc<AtomicBool>);

impl Unwanted {
    /// Tells it. What is being written ends with an error within [`LOOK_MS`] milliseconds.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// How often a write that has to wait looks whether it is still wanted, ms.
pub const LOOK_MS: i64 = 200;

/// What a pipe that has room at all has room for, bytes (`PIPE_BUF`).
const PIPE_BYTES: usize = 4096;

/// Why less was written than there was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CutShort {
    /// So many bytes of it are in the file.
    pub written: usize,
    /// What came then.
    pub error: OsError,
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
        Ok(Self { fd, may_block: false, unwanted: Unwanted::default() })
    }

    /// Takes over a descriptor, at whatever position it is.
    #[must_use]
    pub fn from_fd(fd: OwnedFd) -> Self {
        let kind = rustix::fs::fstat(&fd).map(|stat| FileType::from_raw_mode(stat.st_mode));
        let may_block = kind != Ok(FileType::RegularFile);
        Self { fd, may_block, unwanted: Unwanted::default() }
    }

    /// A way to make it give up.
    #[must_use]
    pub fn unwanted(&self) -> Unwanted {
        self.unwanted.clone()
    }

    /// Writes all of `data` where the last write ended.
    ///
    /// # Errors
    /// The first failure, and how much of `data` was written before.
    pub fn append(&self, data: &[u8]) -> Result<(), CutShort> {
        let mut written = 0;
        while let Some(rest) = data.get(written..).filter(|rest| !rest.is_empty()) {
            match self.room(rest).and_then(|rest| retry(|| rustix::io::write(&self.fd, rest))) {
                Ok(count @ 1..) => written += count,
                // Not a thing files do; a loop that never ends would be worse than an error.
                Ok(0) => return Err(CutShort { written, error: failed("write")(Errno::IO) }),
                Err(errno) => return Err(CutShort { written, error: failed("write")(errno) }),
            }
        }
        Ok(())
    }

    /// As much of `data` as can be written without waiting for ever.
    fn room<'a>(&self, data: &'a [u8]) -> Result<&'a [u8], Errno> {
        loop {
            if self.unwanted.is_set() {
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

    /// Takes back the last `count` bytes that were written, if nothing came behind them.
    ///
    /// # Errors
    /// When this is no file, but a pipe say.
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

    /// A second handle to the file, and its length now.
    ///
    /// # Errors
    /// When there are no descriptors left, or what went into it cannot be had again, as of a pipe.
    pub fn share(&self) -> Result<(Self, u64), OsError> {
        if self.may_block {
            return Err(failed("pread")(Errno::SPIPE));
        }
        let fd = rustix::io::fcntl_dupfd_cloexec(&self.fd, 0).map_err(failed("fcntl"))?;
        let stat = rustix::fs::fstat(&self.fd).map_err(failed("fstat"))?;
        let share = Self { fd, may_block: self.may_block, unwanted: self.unwanted.clone() };
        Ok((share, u64::try_from(stat.st_size).unwrap_or(0)))
    }

    /// Appends the first `len` bytes of another file, whose offset stays where it is.
    ///
    /// # Errors
    /// When the other one cannot be read, or not at an offset of our choice, or is shorter; and
    /// as [`append`](Self::append).
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

    /// Asks the system to begin with what [`sync`](Self::sync) will wait for. Waits only for room in the disk's
    /// queue; where there is no disk, or no such request, nothing happens.
    pub fn begin_sync(&self) {
        if !self.may_block {
            super::writeback::begin(&self.fd);
        }
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
