//! Tracefs as the kernel mounts it.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::{FILE_BYTES_MAX, Polled, PolledPipe, Tracefs, is_below};
use crate::ftrace::RUN_AS_ROOT;
use crate::ftrace::drain::Pipe;

/// A read of a pipe does not wait for data.
const NONBLOCK: i32 = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();

/// Where `linux.ftrace` looks for tracefs, below the root of the file system; the first that can be read is taken.
pub const FTRACE_ROOTS: &[&str] = &["sys/kernel/tracing", "sys/kernel/debug/tracing"];

/// The directory of tracefs below `root`, which is `/` except in tests.
///
/// # Errors
/// None can be read. The text names each, with the reason.
pub(crate) fn find_root(root: &Path) -> Result<Mounted, String> {
    let mut reasons = Vec::new();
    for folder in FTRACE_ROOTS {
        let folder = root.join(folder);
        match File::open(folder.join("trace")) {
            Ok(_) => return Ok(Mounted::at(folder)),
            Err(error) => reasons.push(format!("{}: {error}", folder.display())),
        }
    }
    Err(format!("linux.ftrace cannot read tracefs ({}); {RUN_AS_ROOT}", reasons.join("; ")))
}

/// The files of a mounted tracefs.
#[derive(Clone, Debug)]
pub(crate) struct Mounted {
    root: PathBuf,
}

impl Mounted {
    /// The one mounted at `root`.
    pub(crate) fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Where it is mounted.
    pub(crate) fn folder(&self) -> &Path {
        &self.root
    }

    fn join(&self, path: &str) -> io::Result<PathBuf> {
        if is_below(path) {
            return Ok(self.root.join(path));
        }
        Err(io::Error::new(io::ErrorKind::InvalidInput, format!("`{path}` is no file of tracefs")))
    }

    /// Opens a file that exists. No option that makes one is ever set.
    fn open(&self, path: &str, options: &mut OpenOptions) -> io::Result<File> {
        options.open(self.join(path)?)
    }
}

impl Tracefs for Mounted {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let limit = FILE_BYTES_MAX as u64 + 1;
        self.open(path, OpenOptions::new().read(true))?.take(limit).read_to_end(&mut bytes)?;
        if bytes.len() > FILE_BYTES_MAX {
            let text = format!("{path} has more than {FILE_BYTES_MAX} bytes");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
        }
        Ok(bytes)
    }

    fn write(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        self.open(path, OpenOptions::new().write(true))?.write_all(bytes)
    }

    fn append(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        self.open(path, OpenOptions::new().append(true))?.write_all(bytes)
    }

    fn truncate(&self, path: &str) -> io::Result<()> {
        self.open(path, OpenOptions::new().write(true).truncate(true)).map(|_| ())
    }

    fn exists(&self, path: &str) -> bool {
        self.join(path).is_ok_and(|path| path.exists())
    }

    fn folders(&self, path: &str) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(self.join(path)?)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                names.extend(entry.file_name().into_string());
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn make_folder(&self, path: &str) -> io::Result<()> {
        std::fs::create_dir(self.join(path)?)
    }

    fn remove_folder(&self, path: &str) -> io::Result<()> {
        std::fs::remove_dir(self.join(path)?)
    }

    fn open_pipe(&self, path: &str) -> io::Result<Box<dyn PolledPipe>> {
        let mut options = OpenOptions::new();
        let file = self.open(path, options.read(true).custom_flags(NONBLOCK))?;
        Ok(Box::new(RawPipe(file)))
    }
}

/// An open `trace_pipe_raw`.
struct RawPipe(File);

impl Pipe for RawPipe {
    fn read(&mut self, page: &mut [u8]) -> io::Result<usize> {
        self.0.read(page)
    }
}

impl PolledPipe for RawPipe {
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.0.as_fd())
    }

    fn polled(&self) -> Polled {
        let mut fds = [PollFd::new(&self.0, PollFlags::IN)];
        let result = poll(&mut fds, Some(&Timespec::default()));
        let [fd] = fds;
        let broken = PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL;
        match result {
            Err(Errno::INTR) | Ok(0) => Polled::Waits,
            Ok(_) if !fd.revents().intersects(broken) => Polled::Ready,
            Ok(_) | Err(_) => Polled::Broken,
        }
    }
}
