//! The default sockets in `/tmp`, where any user can listen.
//!
//! A service of another user would get the data of this process, and could command the probes of root. So a client
//! speaks there only with a service of root or of its own user, unless a variable names the socket.

use std::ffi::OsString;
use std::os::fd::BorrowedFd;
use std::path::Path;

use super::address::{Address, TMP_CONSUMER, TMP_PRODUCER};
use crate::{environment, failed, sys};
use abi::error::OsError;

/// The variable that names the socket at `address`, if it is one of the default sockets in `/tmp`.
fn variable_of(address: &Address) -> Option<&'static str> {
    let Address::Path(path) = address else { return None };
    match path.as_path() {
        path if path == Path::new(TMP_PRODUCER) => Some("PERFETTO_PRODUCER_SOCK_NAME"),
        path if path == Path::new(TMP_CONSUMER) => Some("PERFETTO_CONSUMER_SOCK_NAME"),
        _ => None,
    }
}

/// Checks the service at the other end of a connection to `address`.
///
/// # Errors
/// `EACCES` if it is of another user, and nobody said that it may be.
pub(super) fn check_service(address: &Address, socket: BorrowedFd<'_>) -> Result<(), OsError> {
    let Some(variable) = variable_of(address) else { return Ok(()) };
    let peer = sys::peer_credentials(socket).map_err(failed("getsockopt"))?;
    check(address, variable, peer.uid, sys::effective_uid(), environment::variable(variable))
}

fn check(
    address: &Address,
    variable: &str,
    service_uid: u32,
    own_uid: u32,
    named: Option<OsString>,
) -> Result<(), OsError> {
    if service_uid == 0 || service_uid == own_uid || named.is_some_and(|name| !name.is_empty()) {
        return Ok(());
    }
    let subject =
        format!("{address} of user {service_uid} (to trust that user, set {variable}={address})");
    Err(OsError::new("connect", libc::EACCES).on(subject))
}

#[cfg(test)]
mod tests;
