//! Sleeping until a descriptor is ready, a time is reached, or another thread asks.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

#[cfg(feature = "service")]
use libc::{ENOSYS, EOPNOTSUPP};
use libc::{POLLERR, POLLHUP, POLLIN, POLLNVAL, POLLOUT};

use crate::{failed, sys};
use abi::error::OsError;
use abi::sync::Arc;

#[cfg(feature = "service")]
mod alarm;
#[cfg(feature = "host")]
mod poller;

#[cfg(feature = "service")]
pub use self::alarm::{ALARM_SLACK_NS, Alarm};
#[cfg(feature = "host")]
pub use self::poller::{Poller, Ready};

/// What a descriptor is waited for. Its end and its errors are always waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interest {
    /// Bytes to read.
    pub read: bool,
    /// Room to write.
    pub write: bool,
}

impl Interest {
    /// Bytes to read alone.
    pub const READ: Self = Self { read: true, write: false };
}

/// Why [`wait_for`] ended. All is false after its timeout or a signal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Woken {
    /// A read returns bytes, the end or an error at once.
    pub readable: bool,
    /// A write finds room, or returns an error at once.
    pub writable: bool,
    /// [`Wake::wake`] was called, and not yet [`Wake::clear`].
    pub woken: bool,
}

/// Waits for one descriptor of a client, or for its [`Wake`], up to `timeout` (`None`: for ever).
///
/// # Errors
/// None in practice.
pub fn wait_for(
    fd: BorrowedFd<'_>,
    interest: Interest,
    wake: &Wake,
    timeout: Option<Duration>,
) -> Result<Woken, OsError> {
    let read = if interest.read { POLLIN } else { 0 };
    let write = if interest.write { POLLOUT } else { 0 };
    match sys::poll([(fd, read | write), (wake.as_fd(), POLLIN)], timeout) {
        Ok([got, woken]) => {
            let broken = POLLERR | POLLHUP | POLLNVAL;
            Ok(Woken {
                readable: got & (POLLIN | broken) != 0,
                writable: got & (POLLOUT | broken) != 0,
                woken: woken != 0,
            })
        }
        Err(error) if error.kind() == ErrorKind::Interrupted => Ok(Woken::default()),
        Err(error) => Err(failed("ppoll")(error)),
    }
}

/// Waits until `fd` takes a write: one that would not block, or fails. False after `timeout`.
///
/// # Errors
/// When a signal interrupts the wait.
pub fn wait_writable(fd: BorrowedFd<'_>, timeout: Duration) -> io::Result<bool> {
    sys::poll([(fd, POLLOUT)], Some(timeout)).map(|[got]| got != 0)
}

/// Writes the first bytes of `data` to a pipe or socket that another process may write to, too, and so fill after
/// [`wait_writable`]: returns how many it takes without waiting, whether or not the descriptor is set to wait.
///
/// Some writes wait until there is room all the same: to terminals, named pipes, pipes that were opened again through
/// `/proc`, other pipes before Linux 6.4, and sockets before Linux 6.5.
///
/// # Errors
/// `WouldBlock` when it takes none; and those of a write.
#[cfg(feature = "service")]
pub fn write_now(mut file: &File, data: &[u8]) -> io::Result<usize> {
    match sys::write_now(file.as_fd(), data) {
        Err(error) if matches!(error.raw_os_error(), Some(EOPNOTSUPP | ENOSYS)) => file.write(data),
        other => other,
    }
}

/// Wakes a sleeping thread from another one. Clones wake the same thread.
#[derive(Clone, Debug)]
pub struct Wake(Arc<File>);

impl Wake {
    /// A wake-up that no thread waits for yet.
    ///
    /// # Errors
    /// When the system has no descriptor left.
    pub fn new() -> Result<Self, OsError> {
        Ok(Self(Arc::new(sys::eventfd().map_err(failed("eventfd2"))?)))
    }

    /// Wakes the sleeping thread, or prevents its next sleep. Any thread may call it, but no signal handler. Never
    /// blocks.
    pub fn wake(&self) {
        // It can only fail when the counter is full, and then the thread is awake anyway.
        let _ = (&*self.0).write(&1_u64.to_ne_bytes());
    }

    /// Forgets the wake-ups so far. True if there were any.
    pub fn clear(&self) -> bool {
        (&*self.0).read(&mut [0; 8]).is_ok()
    }
}

impl AsFd for Wake {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(all(test, feature = "service"))]
mod tests;
