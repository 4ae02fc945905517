//! Who opened the other end of an AF_UNIX connection: process, user and groups, as the kernel says.

use std::os::fd::BorrowedFd;

use crate::{failed, sys};
use abi::error::OsError;

/// How many groups a process can be in (`NGROUPS_MAX`).
const GROUPS_MAX: usize = 65536;

/// The process that opened the other end, as the kernel recorded it at that moment.
///
/// It is not the process that holds the socket now, if it was passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credentials {
    /// Effective user. Zero for families without credentials.
    pub uid: u32,
    /// Effective group. Zero for families without credentials.
    pub gid: u32,
    /// Process id; none for families without credentials, and for a process in a namespace that this one does not see.
    pub pid: Option<i32>,
}

/// `SO_PEERCRED` of a connected AF_UNIX socket.
pub(super) fn of_peer(socket: BorrowedFd<'_>) -> Result<Credentials, OsError> {
    let cred = sys::peer_credentials(socket).map_err(failed("getsockopt"))?;
    let pid = Some(cred.pid).filter(|pid| *pid > 0);
    Ok(Credentials { uid: cred.uid, gid: cred.gid, pid })
}

/// `SO_PEERGROUPS` of a connected AF_UNIX socket.
pub(super) fn groups_of_peer(socket: BorrowedFd<'_>) -> Result<Vec<u32>, OsError> {
    let mut groups = vec![0; GROUPS_MAX];
    let count = sys::peer_groups(socket, &mut groups).map_err(failed("getsockopt"))?;
    groups.truncate(count);
    Ok(groups)
}
