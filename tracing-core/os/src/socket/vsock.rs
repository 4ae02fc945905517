//! Addresses of AF_VSOCK, for which `rustix` has no type, and the addresses of sockets of any family.
//!
//! ```text
//!   struct sockaddr_vm (linux/vm_sockets.h), 16 bytes
//!   0       2          4        8        12
//!   | family | reserved | port   | cid    | flags, zeros |
//! ```
#![allow(unsafe_code)]

use std::ffi::OsStr;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;

use rustix::io::Errno;
use rustix::net::addr::{SocketAddrArg, SocketAddrLen, SocketAddrOpaque};
use rustix::net::{AddressFamily, SocketAddrAny, SocketAddrUnix, SocketFlags, SocketType};

use super::Address;
use super::listen::BACKLOG;
use crate::failed;
use abi::error::OsError;

/// `struct sockaddr_vm`: twelve bytes of fields and four that are zero.
#[derive(Clone, Copy)]
#[repr(C)]
struct VsockAddress {
    family: u16,
    reserved: u16,
    port: u32,
    cid: u32,
    zeros: [u8; 4],
}

impl VsockAddress {
    fn new(cid: u32, port: u32) -> Self {
        Self { family: AddressFamily::VSOCK.as_raw(), reserved: 0, port, cid, zeros: [0; 4] }
    }

    /// The address that the kernel returned, if it is of this family.
    fn read(any: &SocketAddrAny) -> Option<Self> {
        let is_whole = usize::try_from(any.addr_len()).is_ok_and(|len| len >= size_of::<Self>());
        if any.address_family() != AddressFamily::VSOCK || !is_whole {
            return None;
        }
        // SAFETY:
        // - in bounds: `any` holds `addr_len` bytes that are initialised, and that is at least the size of `Self`;
        // - every bit pattern is a `Self`: it is integers without padding;
        // - the read needs no alignment, and `any` lives until it is done.
        Some(unsafe { any.as_ptr().cast::<Self>().read_unaligned() })
    }
}

// SAFETY: the pointer is to a whole `sockaddr_vm` on the stack, the length is its size, and it lives until `f`
// returns.
unsafe impl SocketAddrArg for VsockAddress {
    unsafe fn with_sockaddr<R>(
        &self,
        f: impl FnOnce(*const SocketAddrOpaque, SocketAddrLen) -> R,
    ) -> R {
        f((&raw const *self).cast(), size_of::<Self>() as SocketAddrLen)
    }
}

fn socket() -> Result<OwnedFd, OsError> {
    let (family, kind) = (AddressFamily::VSOCK, SocketType::STREAM);
    rustix::net::socket_with(family, kind, SocketFlags::CLOEXEC, None).map_err(failed("socket"))
}

pub(super) fn listen(cid: u32, port: u32) -> Result<OwnedFd, OsError> {
    let fd = socket()?;
    rustix::net::bind(&fd, &VsockAddress::new(cid, port)).map_err(failed("bind"))?;
    rustix::net::listen(&fd, BACKLOG).map_err(failed("listen"))?;
    Ok(fd)
}

pub(super) fn connect(cid: u32, port: u32) -> Result<OwnedFd, OsError> {
    let fd = socket()?;
    loop {
        match rustix::net::connect(&fd, &VsockAddress::new(cid, port)) {
            Ok(()) => return Ok(fd),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(failed("connect")(errno)),
        }
    }
}

fn address_of(any: SocketAddrAny) -> Option<Address> {
    if let Some(vsock) = VsockAddress::read(&any) {
        return Some(Address::Vsock { cid: vsock.cid, port: vsock.port });
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
