//! Listening on a socket, without replacing the socket of a running daemon.
//!
//! A socket file outlives the process that bound it, so a file that exists may be stale or in use. A connection
//! attempt tells: a daemon accepts it, or the kernel refuses it. Between this check and `bind`, another daemon could
//! do the same, and both would start. So a daemon takes the [lock](super::lock) of the file first, and holds it while
//! it listens:
//!
//! ```text
//!   lock ── taken ──> refuse: another daemon is starting there, or listens
//!     │
//!   connect ── accepted ──> refuse: in use        ── no such file ──> bind, listen
//!     └───── refused by the kernel: stale ──> unlink, bind, listen
//! ```
//!
//! In a directory where every user may create files, a daemon of root [takes the path](super::claim) from any other
//! user: clients there speak with no service of another user but root ([fallback](super::fallback)).
//!
//! C++ daemons do not take the lock; for them only the check helps.

use std::fmt;
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Gid, Mode, Uid};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use super::claim::{self, Displaced};
use super::lock::{Lock, LockError};
use super::vsock::BACKLOG;
use super::{Address, Stream, descriptors, names, vsock};
use crate::{failed, failed_with_name, sys};
use abi::error::OsError;

/// Why a socket could not be bound.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ListenError {
    /// A service listens there.
    InUse(Address),
    /// Another service is starting there.
    Starting(Address),
    /// The path exists and is not a socket. It is not touched.
    NotASocket(Address),
    /// The file that locks the socket is none of this user, and this process may not remove it.
    Foreign {
        /// Where.
        address: Address,
        /// The file that locks it.
        file: PathBuf,
        /// The user that it belongs to.
        uid: u32,
    },
    /// A system call failed.
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
                write!(
                    f,
                    "cannot listen on {address}: the file exists and is not a socket; remove it, or give another path"
                )
            }
            Self::Foreign { address, file, uid } => write!(
                f,
                "cannot listen on {address}: {} belongs to user {uid} or is no regular file; if no \
                 service of that user runs there, that user or root has to remove it",
                file.display()
            ),
            Self::Os { address, error } => write!(f, "cannot listen on {address}: {error}"),
        }
    }
}

impl std::error::Error for ListenError {}

/// A listening socket. Dropping it removes its file, if it has one.
#[derive(Debug)]
pub struct Listener {
    fd: OwnedFd,
    address: Address,
    /// Device and inode of the file that `bind` made: only that file is removed.
    file: Option<(u64, u64)>,
    /// What another user had at its path.
    displaced: Option<Displaced>,
    /// Declared behind the socket, which is closed before the lock is released.
    lock: Option<Lock>,
    /// The kernel refuses descriptors on new connections, until [`Stream::take_descriptors`].
    refuses_descriptors: bool,
}

impl Listener {
    /// Starts listening. A stale socket file is replaced; its mode follows the umask. Root also replaces what another
    /// user has at the path, in a directory that all users write to: see [`displaced`](Self::displaced).
    ///
    /// # Errors
    /// When a service listens there already, the path is not a socket, or a system call fails.
    pub fn bind(address: &Address) -> Result<Self, ListenError> {
        let os = |error| ListenError::Os { address: address.clone(), error };
        let (mut file, mut displaced, mut lock) = (None, None, None);
        let fd = match address {
            Address::Path(path) => {
                let held = take_lock(path, address)?;
                let fd;
                (fd, displaced) = bind_file(path, address)?;
                let meta =
                    std::fs::symlink_metadata(path).map_err(|error| os(failed("stat")(error)))?;
                if !held.is_held() {
                    // Another daemon of root removed the file with the lock, and finds this socket or its lock.
                    return Err(ListenError::Starting(address.clone()));
                }
                (file, lock) = (Some((meta.dev(), meta.ino())), Some(held));
                fd
            }
            Address::Abstract(name) => {
                let name = SocketAddrUnix::new_abstract_name(name)
                    .map_err(|errno| os(failed("bind")(errno)))?;
                bind_unix(&name).map_err(|error| match error.errno {
                    code if code == Errno::ADDRINUSE.raw_os_error() => {
                        ListenError::InUse(address.clone())
                    }
                    _ => os(error),
                })?
            }
            Address::Tcp { host, port } => {
                let listener = TcpListener::bind((host.as_str(), *port)).map_err(|error| {
                    if error.raw_os_error() == Some(Errno::ADDRINUSE.raw_os_error()) {
                        ListenError::InUse(address.clone())
                    } else {
                        os(failed_with_name("bind")(error).on(address))
                    }
                })?;
                OwnedFd::from(listener)
            }
            Address::Vsock { cid, port } => {
                vsock::listen(*cid, *port).map_err(|error| match error.errno {
                    code if code == Errno::ADDRINUSE.raw_os_error() => {
                        ListenError::InUse(address.clone())
                    }
                    _ => os(error),
                })?
            }
        };
        rustix::io::ioctl_fionbio(&fd, true).map_err(|errno| os(failed("ioctl")(errno)))?;
        // An accepted socket inherits this.
        let refuses_descriptors = address.is_unix() && descriptors::refuse(fd.as_fd());
        Ok(Self { fd, address: address.clone(), file, displaced, lock, refuses_descriptors })
    }

    /// Listens on a socket that another process bound, such as systemd. Its file, if it has one, stays when this is
    /// dropped, because that process will use it again.
    ///
    /// # Errors
    /// When it is not a stream socket, or its address has no text form.
    pub fn inherit(fd: OwnedFd) -> Result<Self, OsError> {
        let kind = rustix::net::sockopt::socket_type(&fd).map_err(failed("getsockopt"))?;
        let address = names::name_of(&fd);
        if kind != SocketType::STREAM {
            return Err(failed("listen")(Errno::PROTOTYPE));
        }
        let address = address.ok_or_else(|| failed("getsockname")(Errno::AFNOSUPPORT))?;
        // An accepted socket inherits these options. Each adds a control message, which leaves too little room for the
        // descriptors, and the last one opens a descriptor with each message. A kernel without an option has it off.
        if address.is_unix() {
            for option in [libc::SO_PASSCRED, libc::SO_PASSSEC, sys::SO_PASSPIDFD] {
                let _ = sys::set_option(fd.as_fd(), option, 0);
            }
        }
        // A passed socket listens already; a second call only sets the length of its queue.
        rustix::net::listen(&fd, BACKLOG).map_err(failed("listen"))?;
        rustix::io::ioctl_fionbio(&fd, true).map_err(failed("ioctl"))?;
        let refuses_descriptors = address.is_unix() && descriptors::refuse(fd.as_fd());
        Ok(Self { fd, address, file: None, displaced: None, lock: None, refuses_descriptors })
    }

    /// The address.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// What other users had at the paths of the socket and of its lock. Something for the log of a daemon.
    pub fn displaced(&self) -> impl Iterator<Item = &Displaced> {
        let at_lock = self.lock.as_ref().and_then(|lock| lock.displaced.as_ref());
        at_lock.into_iter().chain(&self.displaced)
    }

    /// The next connection that waits, if there is one. Never blocks.
    ///
    /// # Errors
    /// When the system has no descriptor left; connections then wait in the kernel.
    pub fn accept(&self) -> Result<Option<Stream>, OsError> {
        loop {
            match rustix::net::accept_with(&self.fd, SocketFlags::CLOEXEC) {
                Ok(fd) => return Ok(Some(Stream::accepted(fd, self.address.is_unix()))),
                // The client closed the connection before it was accepted.
                Err(Errno::CONNABORTED | Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(None),
                Err(errno) => return Err(failed("accept4")(errno).on(&self.address)),
            }
        }
    }

    /// Gives the socket file to `group` with `mode` (for example `0o660`). Does nothing for an address without a
    /// file, or whose file another process made.
    ///
    /// # Errors
    /// When this process may not change the file.
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
        if self.file.is_none() && self.refuses_descriptors {
            // The other owner of an inherited socket may start a daemon that does not know how to take descriptors.
            descriptors::take(self.fd.as_fd());
        }
        if let (Address::Path(path), Some(ours)) = (&self.address, self.file)
            && std::fs::symlink_metadata(path).is_ok_and(|meta| (meta.dev(), meta.ino()) == ours)
        {
            // A failure does no harm: the next daemon finds the file stale.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// The lock of a socket file. A process that cannot take it may be told that a service listens there.
fn take_lock(path: &Path, address: &Address) -> Result<Lock, ListenError> {
    let address = address.clone();
    Lock::take(path).map_err(|error| match error {
        _ if probe(path).is_ok() => ListenError::InUse(address),
        LockError::Held => ListenError::Starting(address),
        LockError::Foreign { file, uid } => ListenError::Foreign { address, file, uid },
        LockError::Os(error) => ListenError::Os { address, error },
    })
}

fn bind_file(path: &Path, address: &Address) -> Result<(OwnedFd, Option<Displaced>), ListenError> {
    let instead =
        || bind_instead(path).map_err(|error| ListenError::Os { address: address.clone(), error });
    if claim::is_of_another_user(path) {
        return instead();
    }
    match bind_own(path, address) {
        // Another user makes files there, and removes them, at this moment.
        Err(ListenError::InUse(_) | ListenError::NotASocket(_)) if claim::may_take(path) => {
            instead()
        }
        bound => bound.map(|fd| (fd, None)),
    }
}

/// Listens at a path where nobody listens.
fn bind_own(path: &Path, address: &Address) -> Result<OwnedFd, ListenError> {
    let os = |error| ListenError::Os { address: address.clone(), error };
    match std::fs::symlink_metadata(path) {
        // There is none, or `bind` fails for the same reason.
        Err(_) => {}
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
            // The file exists but this process may not connect, so it must not replace it.
            Err(errno) => return Err(os(failed("connect")(errno))),
        },
    }
    let name = SocketAddrUnix::new(path).map_err(|errno| os(failed("bind")(errno)))?;
    bind_unix(&name).map_err(|error| match error.errno {
        code if code == Errno::ADDRINUSE.raw_os_error() => ListenError::InUse(address.clone()),
        _ => os(error),
    })
}

/// Listens at a path where another user has something.
fn bind_instead(path: &Path) -> Result<(OwnedFd, Option<Displaced>), OsError> {
    let ours = claim::name_beside(path)?;
    let name =
        SocketAddrUnix::new(&ours).map_err(|errno| failed("bind")(errno).on(ours.display()))?;
    let fd = bind_unix(&name)?;
    let theirs = || format!("what another user has at {}", path.display());
    let displaced =
        claim::take(&ours, path).map_err(|errno| failed("rename")(errno).on(theirs()))?;
    Ok((fd, displaced))
}

fn bind_unix(name: &SocketAddrUnix) -> Result<OwnedFd, OsError> {
    let fd = unix_socket(SocketFlags::CLOEXEC)?;
    rustix::net::bind(&fd, name).map_err(failed("bind"))?;
    rustix::net::listen(&fd, BACKLOG).map_err(failed("listen"))?;
    Ok(fd)
}

fn unix_socket(flags: SocketFlags) -> Result<OwnedFd, OsError> {
    rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)
        .map_err(failed("socket"))
}

/// Whether a process listens on the socket file: `Ok` if so, else the reason of the kernel.
fn probe(path: &Path) -> Result<(), Errno> {
    let name = SocketAddrUnix::new(path)?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let fd = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    match rustix::net::connect(&fd, &name) {
        // A full queue of connections means that a process listens.
        Ok(()) | Err(Errno::AGAIN) => Ok(()),
        Err(errno) => Err(errno),
    }
}
