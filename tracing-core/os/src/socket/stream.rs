//! A connection: bytes and a few descriptors in both directions.

use std::io::{self, ErrorKind, IoSlice};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixStream;
use std::time::Duration;

#[cfg(feature = "host")]
use super::credentials::{self, Credentials};
#[cfg(feature = "host")]
use super::names;
use super::{Address, fallback, vsock};
use crate::clock::Deadline;
use crate::{failed, failed_with_name, sys};
use abi::error::OsError;

/// How long another machine may take to answer. The system would wait for minutes.
const REMOTE_TIMEOUT: Duration = Duration::from_secs(5);

/// A connected socket. Its calls never block.
#[derive(Debug)]
pub struct Stream {
    fd: OwnedFd,
    unix: bool,
}

/// The result of one [`Stream::receive`].
#[derive(Debug)]
pub enum Received {
    /// The number of bytes, and the descriptor that came with them.
    Bytes(usize, Option<OwnedFd>),
    /// No bytes wait.
    Nothing,
    /// The peer closed its end and will send no more.
    End,
    /// The peer sent three or more descriptors at once, or this process can open no more. They were closed, and
    /// requests can no longer be matched with descriptors on this connection.
    LostDescriptors,
}

impl Stream {
    /// Connects to `address`, once. On this machine it does not wait: `EAGAIN` if the process that listens there has a
    /// full queue of connections. Another machine has five seconds for its answer, after its name was looked up.
    ///
    /// # Errors
    /// When no process listens there, or this process may not connect; or when another user listens at a default
    /// socket in `/tmp`.
    pub fn connect(address: &Address) -> Result<Self, OsError> {
        Self::connect_within(address, Duration::ZERO)
    }

    /// As [`connect`](Self::connect), but waits up to `timeout` for room in a full queue, and at least as long for
    /// another machine.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub fn connect_within(address: &Address, timeout: Duration) -> Result<Self, OsError> {
        let stream = match address {
            Address::Path(path) => connect_unix((path.as_os_str().as_bytes(), false), timeout),
            Address::Abstract(name) => connect_unix((name, true), timeout),
            Address::Tcp { host, port } => {
                let stream = connect_tcp(host, *port, timeout.max(REMOTE_TIMEOUT))
                    .map_err(|error| failed_with_name("connect")(error).on(address))?;
                // A small request must not wait for the acknowledgement of the request before.
                let _ = stream.set_nodelay(true);
                return Ok(Self { fd: stream.into(), unix: false });
            }
            Address::Vsock { cid, port } => {
                let fd = vsock::connect(*cid, *port).map_err(|error| error.on(address))?;
                return Ok(Self { fd, unix: false });
            }
        };
        let stream = stream.map_err(|error| failed("connect")(error).on(address))?;
        fallback::check_service(address, stream.as_fd())?;
        Ok(Self { fd: stream.into(), unix: true })
    }

    /// Two ends of one connection, as AF_UNIX.
    ///
    /// # Errors
    /// When the system has no descriptor left.
    pub fn pair() -> Result<(Self, Self), OsError> {
        let (a, b) = UnixStream::pair().map_err(failed("socketpair"))?;
        Ok((Self { fd: a.into(), unix: true }, Self { fd: b.into(), unix: true }))
    }

    #[cfg(feature = "host")]
    pub(super) fn accepted(fd: OwnedFd, unix: bool) -> Self {
        if unix {
            // An urgent byte (MSG_OOB, Linux 5.15) is received like any other. Else the kernel drops it in the next
            // call that receives, and closes its descriptors there, which takes as long as the peer likes.
            let _ = sys::set_option(fd.as_fd(), libc::SO_OOBINLINE, 1);
        } else {
            let _ = rustix::net::sockopt::set_tcp_nodelay(&fd, true);
        }
        Self { fd, unix }
    }

    /// One end of [`pair`](Self::pair), by its descriptor.
    #[cfg(feature = "host")]
    #[must_use]
    pub fn of_pair(fd: OwnedFd) -> Self {
        Self { fd, unix: true }
    }

    /// Whether descriptors can pass: AF_UNIX.
    #[must_use]
    pub fn is_unix(&self) -> bool {
        self.unix
    }

    /// The address of the machine at the other end, as text without a port. It distinguishes machines that send no
    /// name. Empty on AF_UNIX.
    #[cfg(feature = "host")]
    #[must_use]
    pub fn peer_machine(&self) -> String {
        names::peer_machine(&self.fd)
    }

    /// The process at the other end. Families other than AF_UNIX report root (`unix_socket.cc`), so the consumer port
    /// should not be offered on them.
    ///
    /// # Errors
    /// None in practice.
    #[cfg(feature = "host")]
    pub fn credentials(&self) -> Result<Credentials, OsError> {
        if !self.unix {
            return Ok(Credentials { uid: 0, gid: 0, pid: None });
        }
        credentials::of_peer(self.fd.as_fd())
    }

    /// The supplementary groups of the process at the other end; none for families other than AF_UNIX.
    ///
    /// # Errors
    /// When the kernel does not tell (before Linux 4.13).
    #[cfg(feature = "host")]
    pub fn peer_groups(&self) -> Result<Vec<u32>, OsError> {
        if self.unix { credentials::groups_of_peer(self.fd.as_fd()) } else { Ok(Vec::new()) }
    }

    /// Sends as many bytes as fit, with `fd` on the first byte. `Ok(0)`: no room.
    ///
    /// If the count is not zero, the descriptor was sent. Families that carry no descriptors drop it without an error.
    ///
    /// # Errors
    /// When the connection is closed. There is no SIGPIPE.
    pub fn send(
        &self,
        bytes: &[IoSlice<'_>],
        fd: Option<BorrowedFd<'_>>,
    ) -> Result<usize, OsError> {
        let fd = fd.filter(|_| self.unix);
        loop {
            match sys::send(self.fd.as_fd(), bytes, fd) {
                Ok(sent) => return Ok(sent),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(0),
                Err(error) => return Err(failed("sendmsg")(error)),
            }
        }
    }

    /// Receives the bytes that wait. Of two descriptors the first is kept, as upstream does.
    ///
    /// # Errors
    /// When the connection broke (reset).
    pub fn receive(&self, buf: &mut [u8]) -> Result<Received, OsError> {
        let message = loop {
            match sys::receive(self.fd.as_fd(), buf) {
                Ok(message) => break message,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return Ok(Received::Nothing);
                }
                Err(error) => return Err(failed("recvmsg")(error)),
            }
        };
        Ok(match message.bytes {
            _ if message.lost_descriptors => Received::LostDescriptors,
            0 => Received::End,
            count => Received::Bytes(count, message.fd),
        })
    }

    /// Limits the memory in which the kernel keeps what was sent and not received by the peer: about twice `bytes`, on
    /// the account of this process.
    #[cfg(feature = "host")]
    pub fn limit_unread(&self, bytes: u32) {
        let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
        let _ = sys::set_option(self.fd.as_fd(), libc::SO_SNDBUF, bytes);
    }

    /// What was sent and not received by the peer, as memory of the kernel in bytes. Zero for families other than
    /// AF_UNIX.
    #[cfg(feature = "host")]
    #[must_use]
    pub fn bytes_unreceived(&self) -> usize {
        if self.unix { sys::bytes_unreceived(self.fd.as_fd()) } else { 0 }
    }

    /// Closes both directions: the peer gets an end of file, and nothing more is received.
    pub fn shutdown(&self) {
        sys::shutdown(self.fd.as_fd());
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Connects to a path, or to an abstract name. After `timeout` in a full queue the error is `EAGAIN`.
fn connect_unix((name, is_abstract): (&[u8], bool), timeout: Duration) -> io::Result<UnixStream> {
    let deadline = Deadline::after(Some(timeout));
    let stream = UnixStream::from(sys::unix_socket()?);
    loop {
        // The kernel takes the timeout of writes for that of the connection, too. All later calls do not block.
        match deadline.left().unwrap_or_default() {
            Duration::ZERO => stream.set_nonblocking(true)?,
            left => stream.set_write_timeout(Some(left))?,
        }
        match sys::connect_unix(stream.as_fd(), name, is_abstract) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            connected => return connected.map(|()| stream),
        }
    }
}

/// Connects to the first address of `host` that answers.
pub(super) fn connect_tcp(host: &str, port: u16, timeout: Duration) -> io::Result<TcpStream> {
    let addresses = (host, port).to_socket_addrs()?;
    let deadline = Deadline::after(Some(timeout));
    let mut last = io::Error::from(ErrorKind::HostUnreachable);
    for address in addresses {
        let left = deadline.left().unwrap_or_default();
        if left.is_zero() {
            break;
        }
        match TcpStream::connect_timeout(&address, left) {
            Ok(stream) => return Ok(stream),
            // The standard library gives it no number.
            Err(error) if error.kind() == ErrorKind::TimedOut => {
                last = io::Error::from_raw_os_error(libc::ETIMEDOUT);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}
