//! A connection: bytes and a few descriptors in both directions.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags,
};

#[cfg(feature = "host")]
use super::credentials::{self, Credentials};
use super::listen::unix_socket;
use super::{Address, vsock};
use crate::{failed, failed_with_name};
use abi::error::OsError;

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
    /// The peer sent three or more descriptors at once. They were closed, and requests can no longer be matched with
    /// descriptors on this connection.
    TooManyDescriptors,
}

impl Stream {
    /// Connects to `address`, once.
    ///
    /// # Errors
    /// When no process listens there, or this process may not connect.
    pub fn connect(address: &Address) -> Result<Self, OsError> {
        let name = match address {
            Address::Path(path) => SocketAddrUnix::new(path.as_path()),
            Address::Abstract(name) => SocketAddrUnix::new_abstract_name(name),
            Address::Tcp { host, port } => {
                let stream = TcpStream::connect((host.as_str(), *port))
                    .map_err(|error| failed_with_name("connect")(error).on(address))?;
                let fd = OwnedFd::from(stream);
                // A small request must not wait for the acknowledgement of the request before.
                let _ = rustix::net::sockopt::set_tcp_nodelay(&fd, true);
                return Ok(Self { fd, unix: false });
            }
            Address::Vsock { cid, port } => {
                let fd = vsock::connect(*cid, *port).map_err(|error| error.on(address))?;
                return Ok(Self { fd, unix: false });
            }
        }
        .map_err(|errno| failed("connect")(errno).on(address))?;
        let fd = unix_socket(SocketFlags::CLOEXEC)?;
        loop {
            match rustix::net::connect(&fd, &name) {
                Ok(()) => return Ok(Self { fd, unix: true }),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(failed("connect")(errno).on(address)),
            }
        }
    }

    /// Two ends of one connection, as AF_UNIX.
    ///
    /// # Errors
    /// When the system has no descriptor left.
    pub fn pair() -> Result<(Self, Self), OsError> {
        let (a, b) = rustix::net::socketpair(
            rustix::net::AddressFamily::UNIX,
            rustix::net::SocketType::STREAM,
            SocketFlags::CLOEXEC,
            None,
        )
        .map_err(failed("socketpair"))?;
        Ok((Self { fd: a, unix: true }, Self { fd: b, unix: true }))
    }

    pub(super) fn accepted(fd: OwnedFd, unix: bool) -> Self {
        if !unix {
            let _ = rustix::net::sockopt::set_tcp_nodelay(&fd, true);
        }
        Self { fd, unix }
    }

    /// Whether descriptors can pass: AF_UNIX.
    #[must_use]
    pub fn is_unix(&self) -> bool {
        self.unix
    }

    /// The address of the machine at the other end, as text without a port. It distinguishes machines that send no
    /// name. Empty on AF_UNIX.
    #[must_use]
    pub fn peer_machine(&self) -> String {
        vsock::peer_machine(&self.fd)
    }

    /// The process at the other end. Families other than AF_UNIX report root (`unix_socket.cc`), so the consumer port
    /// should not be offered on them.
    ///
    /// # Errors
    /// None in practice.
    #[cfg(feature = "host")]
    pub fn credentials(&self) -> Result<Credentials, OsError> {
        if !self.unix {
            return Ok(Credentials { uid: 0, pid: None });
        }
        credentials::of_peer(&self.fd)
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
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let fds = fd.map(|fd| [fd]);
        if let Some(fds) = &fds
            && self.unix
        {
            let fits = control.push(SendAncillaryMessage::ScmRights(fds));
            debug_assert!(fits, "space for one descriptor was reserved");
        }
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        loop {
            match rustix::net::sendmsg(&self.fd, bytes, &mut control, flags) {
                Ok(sent) => return Ok(sent),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(0),
                Err(errno) => return Err(failed("sendmsg")(errno)),
            }
        }
    }

    /// Receives the bytes that wait. Of two descriptors the first is kept, as upstream does.
    ///
    /// # Errors
    /// When the connection broke (reset).
    pub fn receive(&self, buf: &mut [u8]) -> Result<Received, OsError> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        let message = loop {
            let mut bytes = [IoSliceMut::new(buf)];
            match rustix::net::recvmsg(&self.fd, &mut bytes, &mut control, flags) {
                Ok(message) => break message,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(Received::Nothing),
                Err(errno) => return Err(failed("recvmsg")(errno)),
            }
        };
        let (mut fd, mut count) = (None, 0);
        for ancillary in control.drain() {
            if let RecvAncillaryMessage::ScmRights(fds) = ancillary {
                for one in fds {
                    count += 1;
                    // Dropping closes the others.
                    fd.get_or_insert(one);
                }
            }
        }
        // This buffer may have room for more descriptors than the one of upstream, which holds two.
        if count > 2 || message.flags.contains(ReturnFlags::CTRUNC) {
            return Ok(Received::TooManyDescriptors);
        }
        match message.bytes {
            0 => Ok(Received::End),
            count => Ok(Received::Bytes(count, fd)),
        }
    }

    /// Closes both directions: the peer gets an end of file, and nothing more is received.
    pub fn shutdown(&self) {
        let _ = rustix::net::shutdown(&self.fd, rustix::net::Shutdown::Both);
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
