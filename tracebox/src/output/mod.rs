//! The destination of a trace: stdout, a named pipe, or a file.
//!
//! A file that exists keeps its content until something better takes its place:
//!
//! ```text
//!  trace                     is written to              the older content goes
//!  that this program writes  the file                   before the first packet, or at an end without any
//!  that the service writes   a new file beside it       when the service has accepted the session
//!  a copy of a session       a new file beside it       when the copy is whole
//! ```
//!
//! The new file is `.FILE.PID`, and takes the place of the older one in one step. A service does not write beside a
//! file that has another owner, another group than new files, a list of access rights or a hard link, nor where a file
//! is mounted or none can be created: it writes to the file itself, which is emptied before the service is asked for
//! the session.
//!
//! A failure that comes before the older content has gone leaves the file as it was, and nothing beside it. A later one
//! leaves the whole packets that were written, and removes a new file without any. A file that the service still has
//! open is left as it is: the service writes the rest.

mod fifo;
mod file;
mod file_packets;

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::{self, BufWriter, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use self::fifo::{BUFFER_BYTES, Fifo};
pub use self::file::Kept;
use self::file::{TraceFile, cannot_write, is_same, refuse_terminal};
use crate::console;
use crate::failure::{Context, Failure};
use crate::loss_scanner::{LossScanner, NotSearched};

/// An open destination.
#[derive(Debug)]
pub struct Output {
    to: Destination,
    /// Bytes of the whole packets so far.
    bytes: u64,
    packets: u64,
}

#[derive(Debug)]
enum Destination {
    Stdout(BufWriter<io::Stdout>),
    File(TraceFile),
    /// A named pipe.
    Fifo(PathBuf, Fifo),
    /// A file that the service opens.
    Service(PathBuf),
}

impl Output {
    /// Opens `path` (`-`: stdout) for a trace that this program writes. A new file is for its owner alone.
    ///
    /// # Errors
    /// When it cannot be opened, exists although `no_clobber`, or is a terminal.
    pub fn open(path: &OsStr, no_clobber: bool) -> Result<Self, Failure> {
        Self::open_as(path, no_clobber, false)
    }

    /// Opens `path` for a trace that the service writes. `leaves`: this program ends before the trace does.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_for_service(path: &OsStr, no_clobber: bool, leaves: bool) -> Result<Self, Failure> {
        if path != "-"
            && !no_clobber
            && let Some(file) = TraceFile::beside_own(Path::new(path))?
        {
            return Ok(Self::to(Destination::File(file)));
        }
        Self::open_as(path, no_clobber, leaves)
    }

    fn open_as(path: &OsStr, no_clobber: bool, leaves: bool) -> Result<Self, Failure> {
        if path == "-" {
            let stdout = io::stdout();
            refuse_terminal(&stdout)?;
            return Ok(Self::to(Destination::Stdout(BufWriter::with_capacity(
                BUFFER_BYTES,
                stdout,
            ))));
        }
        let path = Path::new(path);
        // A program that exits cannot wait for a reader. So it opens a pipe for reading, too, as all files.
        if !leaves && !no_clobber && Fifo::is_at(path) {
            let fifo = Fifo::open(path).context(cannot_write(path))?;
            return Ok(Self::to(Destination::Fifo(path.to_owned(), fifo)));
        }
        Ok(Self::to(Destination::File(TraceFile::open(path, no_clobber)?)))
    }

    /// Opens `path` for a copy of a session, which replaces an older file when it is whole. With `follow` a link is
    /// followed to the file to replace, otherwise the link itself is replaced.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn replace(path: &OsStr, no_clobber: bool, follow: bool) -> Result<Self, Failure> {
        let name = Path::new(path);
        // Pipes and devices are written in place, and a link to nothing leads to a new file.
        let is_replaced = if follow { name.is_file() } else { name.symlink_metadata().is_ok() };
        if path == "-" || no_clobber || !is_replaced {
            // Where links are not followed, the file must be new: another user may have made one of that name since.
            return Self::open(path, no_clobber || !follow);
        }
        let replaced = if follow { name.canonicalize() } else { Ok(name.to_owned()) };
        let file = TraceFile::beside(name, &replaced.context(cannot_write(name))?)?;
        Ok(Self::to(Destination::File(file)))
    }

    /// A file that the service opens.
    #[must_use]
    pub fn of_service(path: &Path) -> Self {
        Self::to(Destination::Service(path.to_owned()))
    }

    fn to(to: Destination) -> Self {
        Self { to, bytes: 0, packets: 0 }
    }

    /// Its name for messages.
    #[must_use]
    pub fn name(&self) -> String {
        match &self.to {
            Destination::Stdout(_) => "stdout".into(),
            Destination::File(file) => console::name(&file.name),
            Destination::Fifo(path, _) | Destination::Service(path) => console::name(path),
        }
    }

    /// Whether it is a file that can be opened again.
    #[must_use]
    pub fn is_file(&self) -> bool {
        !matches!(self.to, Destination::Stdout(_) | Destination::Fifo(..))
    }

    /// Whether it is stdout, also by another name, such as `/dev/stdout`. Devices do not count: what several programs
    /// write to them does not mix.
    #[must_use]
    pub fn is_stdout(&self) -> bool {
        match &self.to {
            Destination::Stdout(_) => true,
            Destination::File(file) => is_stdout(|stdout| file.is_at(stdout)),
            Destination::Fifo(path, _) => {
                is_stdout(|stdout| path.metadata().is_ok_and(|fifo| is_same(&fifo, stdout)))
            }
            // The service creates it.
            Destination::Service(_) => false,
        }
    }

    /// Whether it is a named pipe.
    #[must_use]
    pub fn is_fifo(&self) -> bool {
        matches!(self.to, Destination::Fifo(..))
    }

    /// Whether it is a named pipe that no reader has opened so far.
    #[must_use]
    pub fn is_unread(&self) -> bool {
        matches!(&self.to, Destination::Fifo(_, fifo) if fifo.is_unread())
    }

    /// Gives a descriptor for the service to write to, of an empty file. `None` if the service opens it.
    ///
    /// # Errors
    /// When the file cannot be emptied.
    pub fn lend(&mut self) -> Result<Option<OwnedFd>, Failure> {
        let name = self.name();
        let lent = match &mut self.to {
            Destination::Stdout(writer) => writer.get_ref().as_fd().try_clone_to_owned().map(Some),
            Destination::File(file) => file.lend().map(Some),
            Destination::Fifo(_, fifo) => fifo.lend().map(Some),
            Destination::Service(_) => Ok(None),
        };
        lent.context(format_args!("cannot write {name}"))
    }

    /// Appends one packet: field 1 of `Trace`, with tag and length.
    ///
    /// # Errors
    /// When it cannot be written; part of it may have been.
    pub fn write_packet(&mut self, framed: &[u8]) -> io::Result<()> {
        match &mut self.to {
            Destination::Stdout(writer) => append(writer, framed)?,
            Destination::File(file) => append(file.emptied()?, framed)?,
            Destination::Fifo(_, fifo) => append(fifo.writer()?, framed)?,
            Destination::Service(_) => return Err(io::ErrorKind::Unsupported.into()),
        }
        self.packets += 1;
        self.bytes += framed.len() as u64;
        Ok(())
    }

    /// Writes what is still gathered, and tells the size of the trace. A trace without packets leaves an empty
    /// file: the old content is not its result.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(&mut self) -> io::Result<Written> {
        self.flush()?;
        self.put_in_place()?;
        self.close()?;
        Ok(Written { bytes: self.bytes, packets: Some(self.packets) })
    }

    /// Ends an output that gets no packets, because all are in other files: removes a new file, and leaves an old
    /// one as it was.
    ///
    /// # Errors
    /// When the file cannot be removed.
    pub fn finish_unused(&mut self) -> io::Result<Written> {
        if let Destination::File(file) = &self.to {
            file.remove_new()?;
        }
        self.close()?;
        Ok(Written { bytes: 0, packets: Some(0) })
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.to {
            Destination::Stdout(writer) => writer.flush(),
            Destination::File(file) => file.emptied()?.flush(),
            Destination::Fifo(_, fifo) => fifo.writer()?.flush(),
            Destination::Service(_) => Ok(()),
        }
    }

    /// Ends the trace, also for a service that was lent a descriptor: waits until a named pipe was read.
    ///
    /// # Errors
    /// When its reader has left.
    pub fn close(&mut self) -> io::Result<()> {
        if let Destination::Fifo(_, fifo) = &mut self.to { fifo.close() } else { Ok(()) }
    }

    /// Whether it takes the place of an older file later, by [`put_in_place`](Self::put_in_place).
    #[must_use]
    pub fn replaces_later(&self) -> bool {
        matches!(&self.to, Destination::File(file) if file.replaces_later())
    }

    /// Takes the place of the older file.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn put_in_place(&mut self) -> io::Result<()> {
        if let Destination::File(file) = &mut self.to { file.put_in_place() } else { Ok(()) }
    }

    /// Measures what the service wrote. `None` for a pipe.
    #[must_use]
    pub fn measure(&self) -> Option<u64> {
        let metadata = match &self.to {
            Destination::Stdout(_) | Destination::Fifo(..) => return None,
            Destination::File(file) => file.file().metadata(),
            Destination::Service(path) => std::fs::metadata(path),
        };
        metadata.ok().filter(std::fs::Metadata::is_file).map(|metadata| metadata.len())
    }

    /// Scans all that the service wrote: 0.4 s for a gigabyte of packets of 2 KiB, 2 s of packets of 60 bytes.
    /// `goes_on` is asked with the bytes of each block.
    ///
    /// # Errors
    /// Why not.
    pub fn search(
        &self,
        mut scanner: LossScanner,
        goes_on: impl FnMut(usize) -> bool,
    ) -> Result<LossScanner, NotSearched> {
        let opened;
        let file = match &self.to {
            Destination::Stdout(_) => return Err(NotSearched::impossible("it went to stdout")),
            Destination::Fifo(..) => return Err(NotSearched::impossible("it went into a pipe")),
            Destination::File(file) => file.file(),
            Destination::Service(path) => {
                opened = File::open(path).map_err(|error| match error.kind() {
                    io::ErrorKind::PermissionDenied => {
                        NotSearched::impossible(format!("this user cannot read it: {error}"))
                    }
                    _ => NotSearched::failed(format!("it cannot be opened: {error}")),
                })?;
                &opened
            }
        };
        if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
            return Err(NotSearched::impossible("its output is no regular file"));
        }
        match scanner.scan_file(file, goes_on) {
            Ok(()) => Ok(scanner),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                Err(NotSearched::failed("that was interrupted"))
            }
            Err(error) => Err(NotSearched::failed(format!("it cannot be read: {error}"))),
        }
    }

    /// After a failure: keeps or removes what was written, as the module says.
    pub fn abandon(self) -> Kept {
        match self.to {
            Destination::Stdout(mut writer) => {
                // The failure is reported, not this error.
                let _ = writer.flush();
            }
            Destination::File(file) => return file.abandon(self.bytes),
            Destination::Fifo(_, fifo) => fifo.abandon(),
            Destination::Service(_) => {}
        }
        Kept::Nothing
    }

    /// Calls [`abandon`](Self::abandon), and adds to `failure` what is kept.
    #[must_use]
    pub fn abandoned(self, failure: Failure) -> Failure {
        let name = self.name();
        let text = match self.abandon() {
            Kept::Nothing => return failure,
            Kept::Packets(bytes) => {
                format!("{failure}; {bytes} bytes of whole packets are in {name}")
            }
            Kept::StillOpen => {
                format!("{failure}; the service still has {name} open, and writes the rest")
            }
        };
        Failure { text, ..failure }
    }
}

/// Whether stdout is a pipe or a file, and `is` holds for it.
fn is_stdout(is: impl FnOnce(&Metadata) -> bool) -> bool {
    let stdout = io::stdout().as_fd().try_clone_to_owned().map(File::from);
    stdout.and_then(|file| file.metadata()).is_ok_and(|stdout| {
        let kind = stdout.file_type();
        !kind.is_char_device() && !kind.is_block_device() && is(&stdout)
    })
}

/// The size of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Written {
    /// Bytes.
    pub bytes: u64,
    /// Packets, also those in compressed ones, if they could be counted.
    pub packets: Option<u64>,
}

/// Appends one packet, so that each write to the system ends with a whole packet. If the program is killed between
/// two writes, the trace is valid.
#[inline]
fn append<W: Write>(writer: &mut BufWriter<W>, packet: &[u8]) -> io::Result<()> {
    if writer.buffer().len() + packet.len() > writer.capacity() {
        writer.flush()?;
    }
    // A packet that is larger than the buffer is written by itself.
    writer.write_all(packet)
}

#[cfg(test)]
mod tests;
