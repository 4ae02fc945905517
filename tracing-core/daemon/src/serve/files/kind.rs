//! To which descriptors of consumers the service writes.
//!
//! A socket may tell its receiver who sends: the kernel adds the process and the user of the service. So a consumer
//! that passes a socket as its file could speak for the service to a program that trusts it, such as the one that
//! started it (`sd_notify`). A pipe, a file and a connection over the network tell nothing.
//!
//! What is written to some of them stays in memory, as pages of this process ([`memory_of`]).

use std::os::fd::BorrowedFd;

use rustix::fs::{FileType, fstat, fstatfs};
use rustix::io::Errno;
use rustix::net::sockopt::{socket_domain, socket_peercred, socket_type};
use rustix::net::{AddressFamily, SocketType};

use crate::system::own_user::OwnUser;

/// Whether the service of user `own` writes to `fd`, which a consumer of user `uid` passed.
///
/// # Errors
/// Why it does not, and what to pass instead.
pub(super) fn check(fd: BorrowedFd<'_>, uid: u32, own: OwnUser) -> Result<(), &'static str> {
    if !own.limits(uid) {
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

/// What of a descriptor is in memory that this process has to pay for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Memory {
    /// The pages of a file.
    Pages,
    /// What was not read from a pipe.
    Pipe,
    /// What was not received from a socket of this machine.
    Socket,
}

/// File systems in memory, and the one that may lie on such, which every user can mount (`linux/magic.h`): tmpfs,
/// ramfs, hugetlbfs and overlayfs.
const IN_MEMORY: [u64; 4] = [0x0102_1994, 0x8584_58f6, 0x9584_58f6, 0x794c_7630];

/// What of `fd` is in memory. The kernel charges what passes through a connection over the network to who made it.
pub(super) fn memory_of(fd: BorrowedFd<'_>) -> Option<Memory> {
    match FileType::from_raw_mode(fstat(fd).ok()?.st_mode) {
        FileType::RegularFile => is_in_memory(fd).then_some(Memory::Pages),
        FileType::Fifo => Some(Memory::Pipe),
        FileType::Socket => {
            let is_local = socket_domain(fd) == Ok(AddressFamily::UNIX);
            is_local.then_some(Memory::Socket)
        }
        _ => None,
    }
}

fn is_in_memory(fd: BorrowedFd<'_>) -> bool {
    // Its type has other widths elsewhere.
    let kind = |system: rustix::fs::StatFs| u64::from((system.f_type as u64) as u32);
    fstatfs(fd).is_ok_and(|system| IN_MEMORY.contains(&kind(system)))
}
