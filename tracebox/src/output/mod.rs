//! The destination of a trace. An existing file keeps its content until there is a packet to write, and a new
//! file without any packet is removed.

mod fifo;
mod file_packets;

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use self::fifo::{BUFFER_BYTES, Fifo};
use self::file_packets::whole_packets;
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
    File {
        writer: BufWriter<File>,
        /// The path as the user gave it.
        name: PathBuf,
        /// The absolute path: the program may leave its directory.
        path: PathBuf,
        /// This recording created it.
        created: bool,
        /// Its old content is gone.
        emptied: bool,
        /// The path it is renamed to once there is something in it.
        replaces: Option<PathBuf>,
        /// The file that is to be replaced, locked.
        locked_target: Option<File>,
    },
    /// A named pipe.
    Fifo(PathBuf, Fifo),
    /// A file that the service opens.
    Service(PathBuf),
}

impl Output {
    /// Opens `path` (`-`: stdout) for reading and writing. A new file is for its owner alone. An existing file
    /// keeps its content for now.
    ///
    /// # Errors
    /// When it cannot be opened, exists although `no_clobber`, or is a terminal.
    pub fn open(path: &OsStr, no_clobber: bool) -> Result<Self, Failure> {
        Self::open_as(path, no_clobber, false)
    }

    /// Opens `path` for a program that lends it to the service and then exits.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_to_leave(path: &OsStr, no_clobber: bool) -> Result<Self, Failure> {
        Self::open_as(path, no_clobber, true)
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
        let cannot = || format!("cannot write {}", console::name(path));
        match create(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && !no_clobber => {}
            created => return Self::file(created.context(cannot())?, path, path, true, None),
        }
        // A program that exits cannot wait for a reader. So it opens a pipe for reading, too, as all files.
        if !leaves && Fifo::is_at(path) {
            let fifo = Fifo::open(path).context(cannot())?;
            return Ok(Self::to(Destination::Fifo(path.to_owned(), fifo)));
        }
        Self::file(options().open(path).context(cannot())?, path, path, false, None)
    }

    /// Opens a new file that replaces `path` in one step, when there is a packet to keep: a clone may fail late.
    /// With `follow` a link is followed to the file to replace, otherwise the link itself is replaced.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn replace(path: &OsStr, no_clobber: bool, follow: bool) -> Result<Self, Failure> {
        if path == "-" {
            return Self::open(path, no_clobber);
        }
        let name = Path::new(path);
        let replaced = match create(name) {
            Ok(file) => return Self::file(file, name, name, true, None),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && !no_clobber => {
                if follow {
                    name.canonicalize()
                } else {
                    Ok(name.to_owned())
                }
            }
            Err(error) => Err(error),
        };
        let replaced = match replaced {
            // Pipes and devices are written in place.
            Ok(path) if follow && !path.is_file() => {
                return Self::open(name.as_os_str(), no_clobber);
            }
            replaced => replaced.context(format_args!("cannot write {}", console::name(name)))?,
        };
        // A file that cannot be read can be replaced all the same.
        let target = File::open(&replaced).ok();
        if let Some(target) = &target {
            lock(target, name)?;
        }
        let mut file_name = OsString::from(".");
        file_name.push(replaced.file_name().unwrap_or_default());
        file_name.push(format!(".{}", std::process::id()));
        let path = replaced.with_file_name(file_name);
        let file = create(&path).context(format_args!("cannot write {}", console::name(&path)))?;
        let mut output = Self::file(file, name, &path, true, Some(&replaced))?;
        if let Destination::File { locked_target, .. } = &mut output.to {
            *locked_target = target;
        }
        Ok(output)
    }

    fn file(
        file: File,
        name: &Path,
        path: &Path,
        created: bool,
        replaces: Option<&Path>,
    ) -> Result<Self, Failure> {
        let from_root = |path: &Path| std::path::absolute(path).context("no working directory");
        refuse_terminal(&file)?;
        lock(&file, name)?;
        Ok(Self::to(Destination::File {
            writer: BufWriter::with_capacity(BUFFER_BYTES, file),
            name: name.to_owned(),
            path: from_root(path)?,
            created,
            emptied: created,
            replaces: replaces.map(from_root).transpose()?,
            locked_target: None,
        }))
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
            Destination::File { name: path, .. }
            | Destination::Fifo(path, _)
            | Destination::Service(path) => console::name(path),
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
        let metadata = match &self.to {
            Destination::Stdout(_) => return true,
            Destination::File { writer, .. } => writer.get_ref().metadata(),
            Destination::Fifo(path, _) => std::fs::metadata(path),
            // The service creates it.
            Destination::Service(_) => return false,
        };
        let stdout = io::stdout().as_fd().try_clone_to_owned().map(File::from);
        let (Ok(ours), Ok(stdout)) = (metadata, stdout.and_then(|file| file.metadata())) else {
            return false;
        };
        let is_device = ours.file_type().is_char_device() || ours.file_type().is_block_device();
        !is_device && (ours.dev(), ours.ino()) == (stdout.dev(), stdout.ino())
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

    /// Empties the file and gives a descriptor for the service to write to. `None` if the service opens it.
    ///
    /// # Errors
    /// When the file cannot be emptied.
    pub fn lend(&mut self) -> Result<Option<OwnedFd>, Failure> {
        let name = self.name();
        let lent = match &mut self.to {
            Destination::Stdout(writer) => writer.get_ref().as_fd().try_clone_to_owned().map(Some),
            Destination::File { writer, emptied, .. } => empty(writer.get_ref(), emptied)
                .and_then(|()| writer.get_ref().try_clone())
                .map(|file| Some(file.into())),
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
            Destination::File { writer, emptied, .. } => {
                if !*emptied {
                    empty(writer.get_ref(), emptied)?;
                }
                append(writer, framed)?;
            }
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
        if let Destination::File { writer, emptied, .. } = &mut self.to {
            empty(writer.get_ref(), emptied)?;
        }
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
        if let Destination::File { path, created: true, .. } = &self.to {
            std::fs::remove_file(path)?;
        }
        self.close()?;
        Ok(Written { bytes: 0, packets: Some(0) })
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.to {
            Destination::Stdout(writer) => writer.flush(),
            Destination::File { writer, .. } => writer.flush(),
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

    /// Renames the file to the path that it replaces.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn put_in_place(&mut self) -> io::Result<()> {
        if let Destination::File { path, replaces, .. } = &mut self.to
            && let Some(replaced) = replaces.take()
        {
            std::fs::rename(&path, &replaced)?;
            *path = replaced;
        }
        Ok(())
    }

    /// Measures what the service wrote. `None` for a pipe.
    #[must_use]
    pub fn measure(&self) -> Option<u64> {
        let metadata = match &self.to {
            Destination::Stdout(_) | Destination::Fifo(..) => return None,
            Destination::File { writer, .. } => writer.get_ref().metadata(),
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
            Destination::File { writer, .. } => writer.get_ref(),
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

    /// After a failure: keeps the whole packets that were written, and removes a new file without any. Returns
    /// the number of bytes that are kept.
    pub fn abandon(mut self) -> u64 {
        if let Destination::Fifo(_, fifo) = self.to {
            fifo.abandon();
            return self.bytes;
        }
        let flushed = self.flush().is_ok();
        if let Destination::File { writer, emptied, .. } = &mut self.to
            && *emptied
            && (!flushed || self.bytes == 0)
        {
            // A failed flush may have written part of a packet, and so may the service.
            self.bytes = whole_packets(writer.get_ref());
            let _ = writer.get_ref().set_len(self.bytes);
        }
        if self.bytes != 0 {
            // If it fails, the trace stays under its temporary name.
            let _ = self.put_in_place();
        }
        let Destination::File { writer, path, created, .. } = self.to else { return self.bytes };
        let (file, _) = writer.into_parts();
        let is_empty =
            file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() == 0);
        if created && is_empty {
            let _ = std::fs::remove_file(&path);
        }
        self.bytes
    }
}

impl Output {
    /// Calls [`abandon`](Self::abandon), and adds to `failure` what is kept.
    #[must_use]
    pub fn abandoned(self, failure: Failure) -> Failure {
        let (name, is_file) = (self.name(), self.is_file());
        match self.abandon() {
            0 => failure,
            bytes if is_file => Failure {
                text: format!("{failure}; {bytes} bytes of whole packets are in {name}"),
                ..failure
            },
            _ => failure,
        }
    }
}

fn refuse_terminal(file: &impl IsTerminal) -> Result<(), Failure> {
    if file.is_terminal() {
        let text = "a trace is binary: not written to a terminal (name a file with -o)";
        return Err(Failure::new(text));
    }
    Ok(())
}

/// Locks a file that a trace is written to, so that no other recording writes into it. The lock lasts until
/// every copy of the descriptor is closed, also one that a service was lent.
fn lock(file: &File, name: &Path) -> Result<(), Failure> {
    // Devices are shared, and some file systems have no locks.
    let is_file = file.metadata().is_ok_and(|metadata| metadata.is_file());
    if is_file && flock(file, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
        let text = format!("cannot write {}: another recording writes to it", console::name(name));
        return Err(Failure::new(text));
    }
    Ok(())
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    options
}

fn create(path: &Path) -> io::Result<File> {
    options().create_new(true).open(path)
}

fn empty(file: &File, emptied: &mut bool) -> io::Result<()> {
    // Pipes and devices have no length.
    if !*emptied && file.metadata()?.is_file() {
        file.set_len(0)?;
    }
    *emptied = true;
    Ok(())
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
