//! Sockets between a virtual machine and its host: AF_VSOCK.

use std::io::ErrorKind;
use std::os::fd::{AsFd, OwnedFd};

use crate::{failed, sys};
use abi::error::OsError;

/// Connections that wait to be accepted. More than the kernel's own limit means that limit (SOMAXCONN).
#[cfg(feature = "host")]
pub(super) const BACKLOG: i32 = 4096;

#[cfg(feature = "host")]
pub(super) fn listen(cid: u32, port: u32) -> Result<OwnedFd, OsError> {
    let fd = sys::vsock_socket().map_err(failed("socket"))?;
    sys::bind_vsock(fd.as_fd(), cid, port).map_err(failed("bind"))?;
    rustix::net::listen(&fd, BACKLOG).map_err(failed("listen"))?;
    Ok(fd)
}

pub(super) fn connect(cid: u32, port: u32) -> Result<OwnedFd, OsError> {
    let fd = sys::vsock_socket().map_err(failed("socket"))?;
    loop {
        match sys::connect_vsock(fd.as_fd(), cid, port) {
            Ok(()) => return Ok(fd),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(failed("connect")(error)),
        }
    }
}
