//! Listening, without taking a living daemon's place.
//!
//! A socket file outlives the process that bound it, so a file that is there may be stale or in
//! use. Connecting tells: somebody accepts, or the kernel refuses. Between that look and our own
//! `bind` another daemon could do the same, and both would believe to have won; so the steps are
//! done under a lock that the kernel drops with its holder, an abstract socket named after the
//! file:
//!
//! ```text
//!   bind @lock ── taken ──> refuse: another daemon is starting there
//!       │
//!   connect ── accepted ──> refuse: in use        ── no such file ──> bind, listen
//!       └───── refused by the kernel: stale ──> unlink, bind, listen
//! ```
//!
//! The lock is held until we listen, so whoever gets it next finds us alive. Daemons of others do
//! not know it; against them the look alone has to do.

use std::fmt;
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use rustix::fs::{Gid, Mode, Uid};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use super::{Address, Stream, vsock};
use crate::{failed, failed_io, failed_with_name};
use abi::error::OsError;

/// Connections that wait to be accepted. More than the kernel's own limit means that limit (SOMAXCONN).
pub(super) const BACKLOG: i32 = 4096;

/// Why nobody listens.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ListenError {
    /// A service answers there.
    InUse(Address),
    /// Another one is about to.
    Starting(Address),
    /// The path is taken by something that is no socket; it is left alone.
    NotASocket(Address),
    /// The system refused.
    Os {
        /// Where.
        address: Address,
        /// Why.
        error: OsError,
    },
}

impl fmt::Display for ListenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InUse(address) => {
                write!(f, "cannot listen on {address}: another service is running there")
            }
            Self::Starting(address) => {
                write!(f, "cannot listen on {address}: another service is just starting there")
            }
            Self::NotASocket(address) => {
                write!(f, "cannot listen on {address}: the file exists and is not a socket")
            }
            Self::Os { address, error } => write!(f, "cannot listen on {address}: {error}"),
        }
    }
}

impl std::error::Error for ListenError {}

/// A listening socket. Its file, if it has one, goes with it.
#[derive(Debug)]
pub struct Listener {
    fd: OwnedFd,
    address: Address,
    /// Device and inode of the file we bound: only that one is ours to remove.
    file: Option<(u64, u64)>,
}

impl Listener {
    /// Starts listening. A stale socket file is replaced; its mode follows the umask.
    ///
    /// # Errors
    /// When somebody listens there already, something else is at that path, or the system refuses.
    pub fn bind(address: &Address) -> Result<Self, ListenError> {
        let os = |error| ListenError::Os { address: address.clone(), error };
        let (fd, file) = match address {
            Address::Path(path) => {
                let fd = bind_file(path, address)?;
                let file = std::fs::symlink_metadata(path)
                    .map(|meta| (meta.dev(), meta.ino()))
                    .map_err(|error| os(failed_io("stat")(error)))?;
                (fd, Some(file))
            }
            Address::Abstract(name) => {
                let name = SocketAddrUnix::new_abstract_name(name)
                    .map_err(|errno| os(failed("bind")(errno)))?;
                let fd = bind_unix(&name).map_err(|error| match error.errno {
                    code if code == Errno::ADDRINUSE.raw_os_error() => {
                        ListenError::InUse(address.clone())
                    }
                    _ => os(error),
                })?;
                (fd, None)
            }
            Address::Tcp { host, port } => {
                let listener = TcpListener::bind((host.as_str(), *port)).map_err(|error| {
                    if error.raw_os_error() == Some(Errno::ADDRINUSE.raw_os_error()) {
                        ListenError::InUse(address.clone())
                    } else {
                        os(failed_with_name("bind")(error).on(address))
                    }
                })?;
                (OwnedFd::from(listener), None)
            }
            Address::Vsock { cid, port } => {
                let fd = vsock::listen(*cid, *port).map_err(|error| match error.errno {
                    code if code == Errno::ADDRINUSE.raw_os_error() => {
                        ListenError::InUse(address.clone())
                    }
                    _ => os(error),
                })?;
                (fd, None)
            }
        };
        rustix::io::ioctl_fionbio(&fd, true).map_err(|errno| os(failed("ioctl")(errno)))?;
        Ok(Self { fd, address: address.clone(), file })
    }

    /// Takes a socket that somebody else bound, such as systemd, and listens on it. Its file, if it has one,
    /// stays when we go: whoever made it will want it again.
    ///
    /// # Errors
    /// When it is no stream socket, or has no name that we know how to write.
    pub fn inherit(fd: OwnedFd) -> Result<Self, OsError> {
        let kind = rustix::net::sockopt::socket_type(&fd).map_err(failed("getsockopt"))?;
        let address = vsock::name_of(&fd);
        if kind != SocketType::STREAM {
            return Err(failed("listen")(Errno::PROTOTYPE));
        }
        let address = address.ok_or_else(|| failed("getsockname")(Errno::AFNOSUPPORT))?;
        // Whoever passes sockets has them listen already; doing it again only sets the queue's length.
        rustix::net::listen(&fd, BACKLOG).map_err(failed("listen"))?;
        rustix::io::ioctl_fionbio(&fd, true).map_err(failed("ioctl"))?;
        Ok(Self { fd, address, file: None })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The next connection that waits, if any; never blocks.
    ///
    /// # Errors
    /// When the system has no descriptor left; connections then wait in the kernel.
    pub fn accept(&self) -> Result<Option<Stream>, OsError> {
        loop {
            match rustix::net::accept_with(&self.fd, SocketFlags::CLOEXEC) {
                Ok(fd) => return Ok(Some(Stream::accepted(fd, self.address.is_unix()))),
                // It left before we came.
                Err(Errno::CONNABORTED | Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(None),
                Err(errno) => return Err(failed("accept4")(errno).on(&self.address)),
            }
        }
    }

    /// Gives the socket file to `group` with `mode` (for example `0o660`). Nothing for addresses
    /// without a file of ours.
    ///
    /// # Errors
    /// When we may not.
    pub fn set_permissions(&self, group: u32, mode: u32) -> Result<(), OsError> {
        let (Address::Path(path), Some(_)) = (&self.address, self.file) else {
            return Ok(());
        };
        let owner = Uid::from_raw(crate::process::effective_uid());
        rustix::fs::chown(path, Some(owner), Some(Gid::from_raw(group)))
            .map_err(|errno| failed("chown")(errno).on(path.display()))?;
        rustix::fs::chmod(path, Mode::from_raw_mode(mode))
            .map_err(|errno| failed("chmod")(errno).on(path.display()))
    }
}

impl AsFd for Listener {
    /// Readable when a connection waits.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let (Address::Path(path), Some(ours)) = (&self.address, self.file)
            && std::fs::symlink_metadata(path).is_ok_and(|meta| (meta.dev(), meta.ino()) == ours)
        {
            // Nothing to do about a failure: the next daemon finds it stale.
            let _ = std::fs::remove_file(path);
        }
    }
}

fn bind_file(path: &Path, address: &Address) -> Result<OwnedFd, ListenError> {
    let os = |error| ListenError::Os { address: address.clone(), error };
    let _lock = lock(path, address)?;
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(os(failed_io("stat")(error))),
        Ok(meta) if !meta.file_type().is_socket() => {
            return Err(ListenError::NotASocket(address.clone()));
        }
        Ok(_) => match probe(path) {
            Ok(()) => return Err(ListenError::InUse(address.clone())),
            Err(Errno::CONNREFUSED) => match rustix::fs::unlink(path) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(errno) => return Err(os(failed("unlink")(errno))),
            },
            Err(Errno::NOENT) => {}
            // It is there but we may not ask: it is not ours to replace.
            Err(errno) => return Err(os(failed("connect")(errno))),
        },
    }
    let name = SocketAddrUnix::new(path).map_err(|errno| os(failed("bind")(errno)))?;
    bind_unix(&name).map_err(|error| match error.errno {
        code if code == Errno::ADDRINUSE.raw_os_error() => ListenError::InUse(address.clone()),
        _ => os(error),
    })
}

fn bind_unix(name: &SocketAddrUnix) -> Result<OwnedFd, OsError> {
    let fd = unix_socket(SocketFlags::CLOEXEC)?;
    rustix::net::bind(&fd, name).map_err(failed("bind"))?;
    rustix::net::listen(&fd, BACKLOG).map_err(failed("listen"))?;
    Ok(fd)
}

pub(super) fn unix_socket(flags: SocketFlags) -> Result<OwnedFd, OsError> {
    rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)
        .map_err(failed("socket"))
}

/// Whether a living process listens on the socket file: `Ok` if so, else the kernel's reason.
fn probe(path: &Path) -> Result<(), Errno> {
    let name = SocketAddrUnix::new(path)?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let fd = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    match rustix::net::connect(&fd, &name) {
        // A full queue of connections has an owner too.
        Ok(()) | Err(Errno::AGAIN) => Ok(()),
        Err(errno) => Err(errno),
    }
}

/// The lock of a socket file; see the module. Dropping the socket releases it.
fn lock(path: &Path, address: &Address) -> Result<OwnedFd, ListenError> {
    let os = |error| ListenError::Os { address: address.clone(), error };
    let directory = match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => Path::new("/"),
    };
    // Named by inode, so that two spellings of one directory are one lock.
    let meta = std::fs::metadata(directory)
        .map_err(|error| os(failed_io("stat")(error).on(directory.display())))?;
    let file = path.file_name().unwrap_or_default().as_encoded_bytes();
    let name = format!("perfetto-listen-{:x}-{:x}-{:016x}", meta.dev(), meta.ino(), fnv(file));
    let name = SocketAddrUnix::new_abstract_name(name.as_bytes())
        .map_err(|errno| os(failed("bind")(errno)))?;
    let fd = unix_socket(SocketFlags::CLOEXEC).map_err(os)?;
    match rustix::net::bind(&fd, &name) {
        Ok(()) => Ok(fd),
        Err(Errno::ADDRINUSE) => Err(ListenError::Starting(address.clone())),
        Err(errno) => Err(os(failed("bind")(errno))),
    }
}

/// FNV-1a: a short name for a long one.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
