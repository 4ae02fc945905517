//! What rustix has no types for: AF_VSOCK, and the names of sockets of any family.

use std::ffi::OsStr;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;

use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, Backlog, SockFlag, SockType, VsockAddr};
use rustix::net::{SocketAddrAny, SocketAddrUnix};

use super::Address;
use super::listen::BACKLOG;
use abi::error::OsError;

fn failed(call: &'static str) -> impl FnOnce(Errno) -> OsError {
    move |errno| OsError::new(call, errno as i32)
}

fn socket() -> Result<OwnedFd, OsError> {
    nix::sys::socket::socket(AddressFamily::Vsock, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)
        .map_err(failed("socket"))
}

pub(super) fn listen(cid: u32, port: u32) -> Result<OwnedFd, OsError> {
    let fd = socket()?;
    let address = VsockAddr::new(cid, port);
    nix::sys::socket::bind(fd.as_raw_fd(), &address).map_err(failed("bind"))?;
    let backlog = Backlog::new(BACKLOG).unwrap_or(Backlog::MAXCONN);
    nix::sys::socket::listen(&fd, backlog).map_err(failed("listen"))?;
    Ok(fd)
}

pub(super) fn connect(cid: u32, port: u32) -> Result<OwnedFd, OsError> {
    let fd = socket()?;
    let address = VsockAddr::new(cid, port);
    loop {
        match nix::sys::socket::connect(fd.as_raw_fd(), &address) {
            Ok(()) => return Ok(fd),
            Err(Errno::EINTR) => {}
            Err(errno) => return Err(failed("connect")(errno)),
        }
    }
}

fn address_of(any: SocketAddrAny) -> Option<Address> {
    if let Ok(inet) = SocketAddr::try_from(any.clone()) {
        return Some(Address::Tcp { host: inet.ip().to_string(), port: inet.port() });
    }
    let unix = SocketAddrUnix::try_from(any).ok()?;
    if let Some(path) = unix.path() {
        return Some(Address::Path(OsStr::from_bytes(path.to_bytes()).into()));
    }
    unix.abstract_name().map(|name| Address::Abstract(name.to_vec()))
}

fn vsock_address(name: nix::Result<VsockAddr>) -> Option<Address> {
    let name = name.ok()?;
    Some(Address::Vsock { cid: name.cid(), port: name.port() })
}

/// Where a bound socket is.
pub(super) fn name_of(fd: &OwnedFd) -> Option<Address> {
    rustix::net::getsockname(fd)
        .ok()
        .and_then(address_of)
        .or_else(|| vsock_address(nix::sys::socket::getsockname(fd.as_raw_fd())))
}

/// See [`Stream::peer_machine`](super::Stream::peer_machine).
pub(super) fn peer_machine(fd: &OwnedFd) -> String {
    let address = rustix::net::getpeername(fd)
        .ok()
        .flatten()
        .and_then(address_of)
        .or_else(|| vsock_address(nix::sys::socket::getpeername(fd.as_raw_fd())));
    match address {
        Some(Address::Tcp { host, .. }) => host,
        Some(Address::Vsock { cid, .. }) => format!("vsock:{cid}"),
        _ => String::new(),
    }
}
