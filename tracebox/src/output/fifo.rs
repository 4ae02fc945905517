//! Named pipes. A program that opens one for reading and writing never learns that the reader has left, and
//! waits for room for ever. A program that opens one for writing alone waits for a reader first.
//!
//! ```text
//!  it has a reader            writer ─────────────────────▶ named pipe
//!  it has none yet            writer ──▶ pipe ──▶ thread ──▶ named pipe
//!                                                   └ waits for the reader: the recording does not
//!  the service writes         lent   ──▶ pipe ──▶ thread ──▶ named pipe
//!                                                   └ reads on when the reader has left: the signal of a
//!                                                     broken pipe would end a C++ `traced`
//! ```

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::{Errno, ioctl_fionread};

/// Bytes gathered before they are written.
pub(super) const BUFFER_BYTES: usize = 256 * 1024;

/// The writing end of a named pipe.
#[derive(Debug)]
pub(super) struct Fifo {
    /// `None` after the end.
    writer: Option<BufWriter<File>>,
    /// The thread between it and the named pipe.
    relay: Option<Relay>,
}

#[derive(Debug)]
struct Relay {
    thread: JoinHandle<io::Result<()>>,
    /// There is a reader, or was one.
    is_read: Arc<AtomicBool>,
}

impl Fifo {
    /// Whether `path` names a pipe.
    pub(super) fn is_at(path: &Path) -> bool {
        std::fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_fifo())
    }

    /// Opens the pipe at `path`, without waiting for a reader.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let no_wait = OFlags::NONBLOCK.bits().cast_signed();
        match OpenOptions::new().write(true).custom_flags(no_wait).open(path) {
            Ok(file) => {
                // Writing may wait.
                fcntl_setfl(&file, OFlags::empty())?;
                Ok(Self::to(file, None))
            }
            Err(error) if Errno::from_io_error(&error) == Some(Errno::NXIO) => {
                // The program may leave its directory.
                let path = std::path::absolute(path)?;
                Self::relayed(move || OpenOptions::new().write(true).open(path))
            }
            Err(error) => Err(error),
        }
    }

    /// Opens the pipe on a thread, where `open` may wait.
    fn relayed(open: impl FnOnce() -> io::Result<File> + Send + 'static) -> io::Result<Self> {
        let (from, to) = io::pipe()?;
        let is_read = Arc::<AtomicBool>::default();
        let read = is_read.clone();
        let run = move || {
            let mut from = File::from(OwnedFd::from(from));
            let copied = open().and_then(|mut fifo| {
                read.store(true, Ordering::SeqCst);
                io::copy(&mut from, &mut fifo)
            });
            if copied.is_err() {
                // The first error is reported.
                let _ = io::copy(&mut from, &mut io::sink());
            }
            copied.map(drop)
        };
        let thread = std::thread::Builder::new().name("fifo".into()).spawn(run)?;
        Ok(Self::to(File::from(OwnedFd::from(to)), Some(Relay { thread, is_read })))
    }

    fn to(file: File, relay: Option<Relay>) -> Self {
        Self { writer: Some(BufWriter::with_capacity(BUFFER_BYTES, file)), relay }
    }

    /// Whether no reader has opened it so far.
    pub(super) fn is_unread(&self) -> bool {
        self.relay.as_ref().is_some_and(|relay| !relay.is_read.load(Ordering::SeqCst))
    }

    /// A descriptor for the service to write to. It must be lent before the first write.
    pub(super) fn lend(&mut self) -> io::Result<OwnedFd> {
        if self.relay.is_none() {
            let file = self.writer()?.get_ref().try_clone()?;
            *self = Self::relayed(move || Ok(file))?;
        }
        self.writer()?.get_ref().try_clone().map(OwnedFd::from)
    }

    pub(super) fn writer(&mut self) -> io::Result<&mut BufWriter<File>> {
        Ok(self.writer.as_mut().ok_or(io::ErrorKind::BrokenPipe)?)
    }

    /// Ends the trace, also for the service that was lent a descriptor: waits until the reader has all of it, or
    /// has left. Without a reader it waits for one if there is something to read.
    pub(super) fn close(&mut self) -> io::Result<()> {
        let Some(mut writer) = self.writer.take() else { return Ok(()) };
        let flushed = writer.flush();
        let (file, _) = writer.into_parts();
        let Some(relay) = self.relay.take() else { return flushed };
        let is_empty = ioctl_fionread(&file).is_ok_and(|bytes| bytes == 0);
        drop(file);
        // In this order: the thread sets `is_read` before it takes the last byte.
        if is_empty && !relay.is_read.load(Ordering::SeqCst) {
            return Ok(());
        }
        let copied = relay.thread.join();
        copied.unwrap_or_else(|_| Err(io::ErrorKind::Other.into())).and(flushed)
    }

    /// After a failure: writes what was gathered if there is a reader, and does not wait for one.
    pub(super) fn abandon(mut self) {
        let is_unread = self.is_unread();
        if let Some(mut writer) = self.writer.take() {
            if !is_unread {
                // The failure is reported, not this error.
                let _ = writer.flush();
            }
            // Dropping the writer would flush it again.
            drop(writer.into_parts());
        }
    }
}
