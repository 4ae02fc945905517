//! A socket of this process, as a forked child finds it.
//!
//! A child has all descriptors of its parent. While it keeps a socket open, the peer does not learn that the parent has
//! ended. The child cannot close it: what owns the descriptor was copied, too, and would close its number a second
//! time. So the number becomes another name of a socket whose peer is gone.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::os::unix::net::UnixStream;

use crate::sys;

/// The number of a descriptor, and of the socket behind it. It does not keep the socket open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenSocket {
    fd: RawFd,
    /// The low bits of the number that the kernel gives each socket.
    inode: u32,
}

impl OpenSocket {
    /// `socket`, if it is one.
    #[must_use]
    pub fn of(socket: BorrowedFd<'_>) -> Option<Self> {
        Self::at(socket.as_raw_fd())
    }

    fn at(fd: RawFd) -> Option<Self> {
        Some(Self { fd, inode: sys::socket_inode(fd)? as u32 })
    }

    /// As a number that is not 0, for an atomic: a child may look at it whatever other threads of its parent did.
    #[must_use]
    pub fn to_bits(self) -> u64 {
        (u64::from(self.fd.cast_unsigned()) << 32 | u64::from(self.inode)).max(1)
    }

    /// The inverse of [`to_bits`](Self::to_bits).
    #[must_use]
    pub fn from_bits(bits: u64) -> Self {
        Self { fd: ((bits >> 32) as u32).cast_signed(), inode: bits as u32 }
    }

    /// In a forked child: this process has the socket no longer, and whatever owns its descriptor finds a connection
    /// that is closed. Does nothing if the descriptor is another file by now. It calls only what a child of a process
    /// with threads may call.
    pub fn leave_to_parent(self) {
        if Self::at(self.fd) != Some(self) {
            return;
        }
        let Ok((closed, peer)) = UnixStream::pair() else { return };
        drop(peer);
        let _ = sys::replace(self.fd, closed.as_fd());
    }
}

#[cfg(test)]
mod tests;
