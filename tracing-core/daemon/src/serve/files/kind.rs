//! To which descriptors of consumers the service writes.
//!
//! A socket may tell its receiver who sends: the kernel adds the process and the user of the service. So a consumer
//! that passes a socket as its file could speak for the service to a program that trusts it, such as the one that
//! started it (`sd_notify`). A pipe, a file and a connection over the network tell nothing.

use std::os::fd::BorrowedFd;

use os::process::effective_uid;
use rustix::io::Errno;
use rustix::net::sockopt::{socket_domain, socket_peercred, socket_type};
use rustix::net::{AddressFamily, SocketType};

/// Whether the service writes to `fd`, which a consumer of user `uid` passed.
///
/// # Errors
/// Why it does not, and what to pass instead.
pub(super) fn check(fd: BorrowedFd<'_>, uid: u32) -> Result<(), &'static str> {
    if uid == 0 || uid == effective_uid() {
        return Ok(());
    }
    let kind = match socket_type(fd) {
        Err(Errno::NOTSOCK) => return Ok(()),
        kind => kind,
    };
    match (kind, socket_domain(fd)) {
        (Ok(SocketType::STREAM), Ok(AddressFamily::INET | AddressFamily::INET6)) => Ok(()),
        (Ok(SocketType::STREAM), Ok(AddressFamily::UNIX)) => match socket_peercred(fd) {
            Ok(peer) if peer.uid.as_raw() == uid => Ok(()),
            _ => Err("it is a socket whose other end is of another user: pass a pipe or a file"),
        },
        _ => Err("it is a socket, and no stream: pass a pipe or a file"),
    }
}
