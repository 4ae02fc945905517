//! A trace file that this program opens.

use std::ffi::OsString;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::time::Duration;

use rustix::fs::{
    AtFlags, CWD, FlockOperation, OFlags, StatxAttributes, StatxFlags, fgetxattr, flock, statx,
};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::fifo::BUFFER_BYTES;
use super::file_packets::whole_packets;
use crate::console;
use crate::failure::{Context, Failure};

/// How long a service may take to close its copy of the file before the file counts as still open.
const CLOSE_WAIT: Duration = Duration::from_secs(2);

/// An open file.
#[derive(Debug)]
pub(super) struct TraceFile {
    writer: BufWriter<File>,
    /// The path as the user gave it.
    pub(super) name: PathBuf,
    /// Its absolute path: the program may leave its directory.
    path: PathBuf,
    /// This recording created it.
    created: bool,
    /// Its old content is gone.
    emptied: bool,
    /// A service has, or had, a copy of the descriptor.
    lent: bool,
    /// The absolute path of the older file, until this one takes its place.
    older_path: Option<PathBuf>,
    /// The older file, locked, also after that: another recording may have opened it before.
    older: Option<File>,
}

/// What a failure leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kept {
    /// Nothing of this recording.
    Nothing,
    /// So many bytes of whole packets.
    Packets(u64),
    /// What a service wrote, which still has the file open.
    StillOpen,
}

impl TraceFile {
    /// Opens the file at `path`, or creates it.
    pub(super) fn open(path: &Path, no_clobber: bool) -> Result<Self, Failure> {
        match create(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && !no_clobber => {}
            created => return Self::new(created.context(cannot_write(path))?, path, path, true),
        }
        match options().open(path) {
            // A link to a file that does not exist yet. If the recording fails, that file goes, and the link stays.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let created = options().create(true).open(path).context(cannot_write(path))?;
                let target = path.canonicalize().context(cannot_write(path))?;
                Self::new(created, path, &target, true)
            }
            opened => Self::new(opened.context(cannot_write(path))?, path, path, false),
        }
    }

    /// Creates a file beside `older`, which it replaces later.
    pub(super) fn beside(name: &Path, older: &Path) -> Result<Self, Failure> {
        // A file that cannot be read can be replaced all the same; a link or a pipe of another user is only that.
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
        let locked = OpenOptions::new().read(true).custom_flags(flags).open(older).ok();
        if let Some(locked) = &locked {
            lock(locked, name)?;
        }
        let path = path_beside(older);
        let file = create(&path).context(cannot_write(&path))?;
        Self::new(file, name, &path, true)?.replacing(older, locked)
    }

    /// Creates a file beside that at `name`, with the same mode. `None` if that file must be written itself: see the
    /// module above.
    pub(super) fn beside_own(name: &Path) -> Result<Option<Self>, Failure> {
        let Some((older, metadata)) = replaceable(name) else { return Ok(None) };
        // A file that its owner has made read-only is not replaced either.
        let Ok(locked) = options().open(&older) else { return Ok(None) };
        lock(&locked, name)?;
        let path = path_beside(&older);
        let Ok(file) = create(&path) else { return Ok(None) };
        // Others may read it as they may read the older one, and nobody else may.
        let group = file.metadata().map(|new| new.gid()).ok();
        let is_alike = group == Some(metadata.gid()) && !has_acl(&locked);
        if !is_alike || file.set_permissions(metadata.permissions()).is_err() {
            let _ = std::fs::remove_file(&path);
            return Ok(None);
        }
        Self::new(file, name, &path, true)?.replacing(&older, Some(locked)).map(Some)
    }

    fn new(file: File, name: &Path, path: &Path, created: bool) -> Result<Self, Failure> {
        refuse_terminal(&file)?;
        lock(&file, name)?;
        Ok(Self {
            writer: BufWriter::with_capacity(BUFFER_BYTES, file),
            name: name.to_owned(),
            path: absolute(path)?,
            created,
            emptied: created,
            lent: false,
            older_path: None,
            older: None,
        })
    }

    fn replacing(self, older: &Path, locked: Option<File>) -> Result<Self, Failure> {
        Ok(Self { older_path: Some(absolute(older)?), older: locked, ..self })
    }

    pub(super) fn file(&self) -> &File {
        self.writer.get_ref()
    }

    /// Whether it is, or replaces, the file with this metadata.
    pub(super) fn is_at(&self, metadata: &Metadata) -> bool {
        let files = [Some(self.file()), self.older.as_ref()];
        let mut found = files.into_iter().flatten().filter_map(|file| file.metadata().ok());
        found.any(|ours| is_same(&ours, metadata))
    }

    /// The writer, once the old content is gone.
    #[inline]
    pub(super) fn emptied(&mut self) -> io::Result<&mut BufWriter<File>> {
        if !self.emptied {
            // Pipes and devices have no length.
            if is_regular(self.file()) {
                self.file().set_len(0)?;
            }
            self.emptied = true;
        }
        Ok(&mut self.writer)
    }

    /// A descriptor for the service.
    pub(super) fn lend(&mut self) -> io::Result<OwnedFd> {
        self.lent = true;
        self.emptied()?.get_ref().try_clone().map(OwnedFd::from)
    }

    /// Removes the file if this recording created it.
    pub(super) fn remove_new(&self) -> io::Result<()> {
        if self.created { std::fs::remove_file(&self.path) } else { Ok(()) }
    }

    pub(super) fn replaces_later(&self) -> bool {
        self.older_path.is_some()
    }

    /// Takes the place of the older file.
    pub(super) fn put_in_place(&mut self) -> io::Result<()> {
        if let Some(older) = &self.older_path {
            std::fs::rename(&self.path, older)?;
        }
        if let Some(older) = self.older_path.take() {
            self.path = older;
            // It stays open for its lock, and gives its space to the new trace. That of a copy cannot be written.
            if let Some(file) = self.older.as_ref().filter(|file| is_without_name(file)) {
                let _ = file.set_len(0);
            }
        }
        Ok(())
    }

    /// The end after a failure. `bytes` of whole packets were written by this program.
    pub(super) fn abandon(mut self, bytes: u64) -> Kept {
        if self.replaces_later() {
            // A whole older trace is worth more than a part of a new one.
            let _ = self.remove_new();
            return Kept::Nothing;
        }
        if !self.emptied {
            return Kept::Nothing;
        }
        let flushed = self.writer.flush().is_ok();
        if flushed && bytes != 0 {
            return Kept::Packets(bytes);
        }
        let Self { writer, path, created, lent, .. } = self;
        // Dropping the writer would flush it again.
        let (file, _) = writer.into_parts();
        if !is_regular(&file) {
            return Kept::Nothing;
        }
        let is_empty = file.metadata().is_ok_and(|metadata| metadata.len() == 0);
        let file = match if lent { closed_by_service(file) } else { Lent::Closed(file) } {
            Lent::Closed(file) => file,
            Lent::Open => return Kept::StillOpen,
            Lent::Unknown if is_empty && created => {
                let _ = std::fs::remove_file(path);
                return Kept::Nothing;
            }
            Lent::Unknown if is_empty => return Kept::Nothing,
            Lent::Unknown => return Kept::StillOpen,
        };
        // A failed flush may have written part of a packet, and so may a service that was killed.
        let bytes = whole_packets(&file);
        let _ = file.set_len(bytes);
        if bytes != 0 {
            return Kept::Packets(bytes);
        }
        if created {
            let _ = std::fs::remove_file(path);
        }
        Kept::Nothing
    }
}

/// What a service does with a file that it was lent.
enum Lent {
    /// It has closed its copy. The same file, locked.
    Closed(File),
    Open,
    /// The file system has no locks, or `/proc` is not there.
    Unknown,
}

/// Whether the service has closed its copy of the descriptor: the lock of `file` lasts until then.
fn closed_by_service(file: File) -> Lent {
    let again = options().open(format!("/proc/self/fd/{}", file.as_raw_fd()));
    drop(file);
    let Ok(again) = again else { return Lent::Unknown };
    let (ended, wait) = channel();
    // This thread waits no longer than it may, the other one for the lock.
    let run = move || {
        let is_locked = flock(&again, FlockOperation::LockExclusive).is_ok();
        let _ = ended.send(if is_locked { Lent::Closed(again) } else { Lent::Unknown });
    };
    let thread = std::thread::Builder::new().name("closed".into()).spawn(run);
    match (thread, wait.recv_timeout(CLOSE_WAIT)) {
        (Err(_), _) => Lent::Unknown,
        (Ok(_), Ok(lent)) => lent,
        (Ok(_), Err(_)) => Lent::Open,
    }
}

/// The file at `name`, if it has something to keep, and another one of this user can take its place without a
/// difference to it.
fn replaceable(name: &Path) -> Option<(PathBuf, Metadata)> {
    let path = name.canonicalize().ok()?;
    let metadata = path.metadata().ok()?;
    let is_own = metadata.uid() == geteuid().as_raw() && metadata.nlink() == 1;
    // A file that is mounted at this path, as containers do it, cannot be renamed over. Linux before 5.8 does not tell.
    let found = statx(CWD, &path, AtFlags::empty(), StatxFlags::empty()).ok()?;
    let mount = StatxAttributes::MOUNT_ROOT;
    let is_mounted =
        !found.stx_attributes_mask.contains(mount) || found.stx_attributes.contains(mount);
    let is_empty = metadata.len() == 0;
    (metadata.is_file() && is_own && !is_empty && !is_mounted).then_some((path, metadata))
}

/// Whether a list of its own says who may read the file.
fn has_acl(file: &File) -> bool {
    fgetxattr(file, "system.posix_acl_access", &mut [0_u8; 0][..]).is_ok()
}

/// Whether the file has been renamed over.
fn is_without_name(file: &File) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.nlink() == 0)
}

fn path_beside(older: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(older.file_name().unwrap_or_default());
    name.push(format!(".{}", std::process::id()));
    older.with_file_name(name)
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path).context("no working directory")
}

/// Locks a file that a trace is written to, so that no other recording writes into it. The lock lasts until
/// every copy of the descriptor is closed, also one that a service was lent.
fn lock(file: &File, name: &Path) -> Result<(), Failure> {
    // Devices are shared, and some file systems have no locks.
    let lock = FlockOperation::NonBlockingLockExclusive;
    if is_regular(file) && flock(file, lock) == Err(Errno::WOULDBLOCK) {
        let text = format!("{}: another recording writes to it", cannot_write(name));
        return Err(Failure::new(text));
    }
    Ok(())
}

fn is_regular(file: &File) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.is_file())
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    options
}

fn create(path: &Path) -> io::Result<File> {
    options().create_new(true).open(path)
}

pub(super) fn refuse_terminal(file: &impl IsTerminal) -> Result<(), Failure> {
    if file.is_terminal() {
        let text = "a trace is binary: not written to a terminal (name a file with -o)";
        return Err(Failure::new(text));
    }
    Ok(())
}

pub(super) fn cannot_write(path: &Path) -> String {
    format!("cannot write {}", console::name(path))
}

pub(super) fn is_same(one: &Metadata, other: &Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}
