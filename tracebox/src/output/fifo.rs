//! Named pipes. Who opens one for reading as well never learns that its reader has left, and waits for
//! room for ever; who opens it for writing alone waits for a reader first.
//!
//! ```text
//!  we write, somebody reads   writer ─────────────────────▶ named pipe
//!  nobody reads yet           writer ──▶ pipe ──▶ thread ──▶ named pipe
//!                                                   └ waits for the reader: the recording does not
//!  the service writes         lent   ──▶ pipe ──▶ thread ──▶ named pipe
//!                                                   └ takes the rest, too, when the reader has left:
//!                                                     the signal of a broken pipe ends a C++ `traced`
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

use super::BUFFER_BYTES;

/// The writing end of a named pipe.
#[derive(Debug)]
pub(super) struct Fifo {
    /// None after the end.
    writer: Option<BufWriter<File>>,
    /// Between it and the named pipe.
    relay: Option<Relay>,
}

#[derive(Debug)]
struct Relay {
    thread: JoinHandle<io::Result<()>>,
    /// There is, or was, a reader.
    is_read: Arc<AtomicBool>,
}

impl Fifo {
    /// Is a pipe what `path` names?
    pub(super) fn is_at(path: &Path) -> bool {
        std::fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_fifo())
    }

    /// Opens the pipe at `path`, and waits for nobody.
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

    /// By way of a thread; `open` may take its time.
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
                // What failed first is told.
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

    /// Has nobody opened it for reading so far?
    pub(super) fn is_unread(&self) -> bool {
        self.relay.as_ref().is_some_and(|relay| !relay.is_read.load(Ordering::SeqCst))
    }

    /// A descriptor for somebody else to write to, before anything was written.
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

    /// Nothing more will come, also from whom it was lent to: waits until the reader has all of it, or
    /// has left. Without a reader it waits for one if there is something to read.
    pub(super) fn close(&mut self) -> io::Result<()> {
        let Some(mut writer) = self.writer.take() else { return Ok(()) };
        let flushed = writer.flush();
        let (file, _) = writer.into_parts();
        let Some(relay) = self.relay.take() else { return flushed };
        let is_empty = ioctl_fionread(&file).is_ok_and(|bytes| bytes == 0);
        drop(file);
        // In this order: who takes the last byte out has said before that it is read.
        if is_empty && !relay.is_read.load(Ordering::SeqCst) {
            return Ok(());
        }
        let copied = relay.thread.join();
        copied.unwrap_or_else(|_| Err(io::ErrorKind::Other.into())).and(flushed)
    }

    /// Something failed: writes what was gathered if somebody reads, and waits no longer.
    pub(super) fn abandon(mut self) {
        let is_unread = self.is_unread();
        if let Some(mut writer) = self.writer.take() {
            if !is_unread {
                // It is the failure that is told.
                let _ = writer.flush();
            }
            // Not flushed a second time.
            drop(writer.into_parts());
        }
    }
}
