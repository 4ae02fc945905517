//! Addresses of sockets that are connected or bound, of any family.
#![allow(unsafe_code)]

use std::ffi::OsStr;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;

use libc::sockaddr_vm;
use rustix::net::{AddressFamily, SocketAddrAny, SocketAddrUnix};

use super::Address;

/// The name of a socket of AF_VSOCK, for which `rustix` has no type.
fn read_vsock(any: &SocketAddrAny) -> Option<sockaddr_vm> {
    let is_whole = usize::try_from(any.addr_len()).is_ok_and(|len| len >= size_of::<sockaddr_vm>());
    if any.address_family() != AddressFamily::VSOCK || !is_whole {
        return None;
    }
    // SAFETY:
    // - in bounds: `any` holds `addr_len` bytes that are initialised, and that is at least the size of the type;
    // - every bit pattern is a `sockaddr_vm`: it is integers without padding;
    // - the read needs no alignment, and `any` lives until it is done.
    Some(unsafe { any.as_ptr().cast::<sockaddr_vm>().read_unaligned() })
}

fn address_of(any: SocketAddrAny) -> Option<Address> {
    if let Some(vsock) = read_vsock(&any) {
        return Some(Address::Vsock { cid: vsock.svm_cid, port: vsock.svm_port });
    }
    if let Ok(inet) = SocketAddr::try_from(any.clone()) {
        return Some(Address::Tcp { host: inet.ip().to_string(), port: inet.port() });
    }
    let unix = SocketAddrUnix::try_from(any).ok()?;
    if let Some(path) = unix.path() {
        return Some(Address::Path(OsStr::from_bytes(path.to_bytes()).into()));
    }
    unix.abstract_name().map(|name| Address::Abstract(name.to_vec()))
}

/// The address of a bound socket.
pub(super) fn name_of(fd: &OwnedFd) -> Option<Address> {
    rustix::net::getsockname(fd).ok().and_then(address_of)
}

/// See [`Stream::peer_machine`](super::Stream::peer_machine).
pub(super) fn peer_machine(fd: &OwnedFd) -> String {
    let address = rustix::net::getpeername(fd).ok().flatten().and_then(address_of);
    match address {
        Some(Address::Tcp { host, .. }) => host,
        Some(Address::Vsock { cid, .. }) => format!("vsock:{cid}"),
        _ => String::new(),
    }
}
