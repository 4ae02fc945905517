//! The protocol of a service manager: it passes bound sockets (`LISTEN_FDS`, sd_listen_fds(3)) and gets a datagram
//! when the daemon is ready (`NOTIFY_SOCKET`, sd_notify(3)).

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};

use abi::error::OsError;
use os::failed;

/// The first descriptor that is passed.
const LISTEN_FDS_START: i32 = 3;
/// The most sockets that are taken.
const LISTEN_FDS_MAX: i32 = 1024;

/// A socket that was passed.
#[derive(Debug)]
pub struct Inherited {
    /// The socket.
    pub fd: OwnedFd,
    /// Its name in its unit (`FileDescriptorName=`, from `LISTEN_FDNAMES`); empty without one.
    pub name: String,
}

/// The sockets that were passed to this process, in order; none if the variables are for another process.
///
/// They are duplicates, which close on exec. The originals stay open, because a number in a variable does not prove
/// that this process owns the descriptor.
///
/// # Errors
/// When `LISTEN_FDS` is not a number, or a descriptor is not open, or on Linux before 5.6.
pub fn listen_fds() -> Result<Vec<Inherited>, OsError> {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    listen_fds_from(&variable("LISTEN_PID"), &variable("LISTEN_FDS"), &variable("LISTEN_FDNAMES"))
}

pub(super) fn listen_fds_from(
    pid: &str,
    count: &str,
    names: &str,
) -> Result<Vec<Inherited>, OsError> {
    if pid.parse() != Ok(getpid().as_raw_pid()) {
        return Ok(Vec::new());
    }
    let bad = || failed("LISTEN_FDS")(rustix::io::Errno::INVAL);
    let count: i32 = count.parse().map_err(|_| bad())?;
    if !(0..=LISTEN_FDS_MAX).contains(&count) {
        return Err(bad());
    }
    // Through a pidfd of this process: the only safe way to take a descriptor by its number.
    let own = pidfd_open(getpid(), PidfdFlags::empty()).map_err(failed("pidfd_open"))?;
    let mut names = names.split(':');
    let mut inherited = Vec::new();
    for number in LISTEN_FDS_START..LISTEN_FDS_START.saturating_add(count) {
        let fd = pidfd_getfd(&own, number, PidfdGetfdFlags::empty())
            .map_err(|errno| failed("pidfd_getfd")(errno).on(format!("descriptor {number}")))?;
        inherited.push(Inherited { fd, name: names.next().unwrap_or_default().to_owned() });
    }
    Ok(inherited)
}

/// Tells the service manager that started this process `state`: lines such as `READY=1`. Nothing happens if there is
/// none (`NOTIFY_SOCKET` is not set, or empty). No socket stays open: one that can send datagrams reaches all services
/// of the machine.
///
/// # Errors
/// When nobody listens at the address in the variable, or the datagram cannot be sent.
pub fn tell(state: &str) -> Result<(), OsError> {
    match std::env::var_os("NOTIFY_SOCKET") {
        Some(socket) if !socket.is_empty() => tell_at(&socket, state),
        _ => Ok(()),
    }
}

fn tell_at(socket: &OsStr, state: &str) -> Result<(), OsError> {
    let on = |error: std::io::Error| failed("connect")(error).on(socket.display());
    let address = match socket.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name),
        None => SocketAddr::from_pathname(socket),
    };
    let sender = UnixDatagram::unbound().map_err(failed("socket"))?;
    // A manager that does not read must not block the daemon.
    sender.set_nonblocking(true).map_err(failed("fcntl"))?;
    sender.connect_addr(&address.map_err(on)?).map_err(on)?;
    sender.send(state.as_bytes()).map(drop).map_err(failed("sendto"))
}

#[cfg(test)]
mod tests;
