//! The process that opened the other end of an AF_UNIX connection.
//!
//! `rustix` has the same call, but its type has no value for process id 0, which the kernel returns for a process in a
//! namespace that this process does not see.
#![allow(unsafe_code)]

use std::os::fd::{AsFd, AsRawFd};

use crate::failed;
use abi::error::OsError;

/// The process that opened the other end, as the kernel recorded it at that moment.
///
/// It is not the process that holds the socket now, if it was passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credentials {
    /// Effective user. Zero for families without credentials.
    pub uid: u32,
    /// Process id; none for families without credentials, and for a process in a namespace that this one does not see.
    pub pid: Option<i32>,
}

/// `SO_PEERCRED` of a connected AF_UNIX socket.
pub(super) fn of_peer(socket: impl AsFd) -> Result<Credentials, OsError> {
    let mut cred = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut len = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY:
    // - `socket` is an open descriptor for as long as it is borrowed here;
    // - `cred` and `len` are ours alone, and live past the call; `len` is the size of `cred`, and the kernel
    //   writes no more bytes than that;
    // - every bit pattern is a `ucred`: it is three integers.
    let result = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut cred).cast(),
            &raw mut len,
        )
    };
    if result != 0 {
        let errno = std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL);
        return Err(failed("getsockopt")(rustix::io::Errno::from_raw_os_error(errno)));
    }
    Ok(Credentials { uid: cred.uid, pid: Some(cred.pid).filter(|pid| *pid > 0) })
}
