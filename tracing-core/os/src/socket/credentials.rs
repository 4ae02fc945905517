//! The process that opened the other end of an AF_UNIX connection.

use std::os::fd::BorrowedFd;

use crate::{failed, sys};
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
pub(super) fn of_peer(socket: BorrowedFd<'_>) -> Result<Credentials, OsError> {
    let (uid, pid) = sys::peer_credentials(socket).map_err(failed("getsockopt"))?;
    Ok(Credentials { uid, pid: Some(pid).filter(|pid| *pid > 0) })
}
