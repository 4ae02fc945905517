//! A connection: bytes and now and then a descriptor, both ways.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags,
};

use super::credentials::{self, Credentials};
use super::listen::unix_socket;
use super::{Address, vsock};
use crate::{failed, failed_with_name};
use abi::error::OsError;

/// A connected socket. Calls never block: they do what can be done now.
#[derive(Debug)]
pub struct Stream {
    fd: OwnedFd,
    unix: bool,
}

/// What one [`Stream::receive`] got.
#[derive(Debug)]
pub enum Received {
    /// So many bytes, and a descriptor if one came along.
    Bytes(usize, Option<OwnedFd>),
    /// Nothing waits.
    Nothing,
    /// The peer closed its end; it will send no more.
    End,
    /// The peer sent three descriptors or more at once: they were all closed and the connection
    /// cannot be trusted to be in step any more.
    TooManyDescriptors,
}

impl Stream {
    /// Connects to `address`, once.
    ///
    /// # Errors
    /// When nobody listens, or we may not.
    pub fn connect(address: &Address) -> Result<Self, OsError> {
        let name = match address {
            Address::Path(path) => SocketAddrUnix::new(path.as_path()),
            Address::Abstract(name) => SocketAddrUnix::new_abstract_name(name),
            Address::Tcp { host, port } => {
                let stream = TcpStream::connect((host.as_str(), *port))
                    .map_err(|error| failed_with_name("connect")(error).on(address))?;
                let fd = OwnedFd::from(stream);
                // Small requests must not wait for an acknowledgement of the one before.
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

    /// The machine at the other end, as text without a port: what tells machines apart that do not tell
    /// themselves. Empty on AF_UNIX.
    #[must_use]
    pub fn peer_machine(&self) -> String {
        vsock::peer_machine(&self.fd)
    }

    /// Who is at the other end. Other families than AF_UNIX say root (`unix_socket.cc`), which is
    /// why nobody should offer the consumer port there.
    ///
    /// # Errors
    /// None in practice.
    pub fn credentials(&self) -> Result<Credentials, OsError> {
        if !self.unix {
            return Ok(Credentials { uid: 0, pid: None });
        }
        credentials::of_peer(&self.fd)
    }

    /// Sends what fits now, with `fd` on the first byte. `Ok(0)`: no room.
    ///
    /// A descriptor went with the first byte if the count is not zero. Families that carry none
    /// drop it without a word.
    ///
    /// # Errors
    /// When the connection is gone. No SIGPIPE.
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

    /// Receives what is there. Of two descriptors the first is kept, as upstream does.
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
        // Our buffer may have room for more than upstream's, which holds two.
        if count > 2 || message.flags.contains(ReturnFlags::CTRUNC) {
            return Ok(Received::TooManyDescriptors);
        }
        match message.bytes {
            0 => Ok(Received::End),
            count => Ok(Received::Bytes(count, fd)),
        }
    }

    /// Tells the peer that nothing more will come, and takes nothing more from it.
    pub fn shutdown(&self) {
        let _ = rustix::net::shutdown(&self.fd, rustix::net::Shutdown::Both);
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
