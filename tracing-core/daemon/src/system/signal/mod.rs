//! SIGINT, SIGTERM and SIGHUP as a descriptor to wait for.
//!
//! A signal handler may do very little, so `signal-hook` installs one that writes a byte to a socket. The loop reads
//! it at the other end.

use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::low_level::{pipe, unregister};

use abi::error::OsError;
use os::failed;

/// Makes a write beyond the allowed size of a file (`RLIMIT_FSIZE`) fail as on a full disk, where by default it would
/// end the process.
///
/// # Errors
/// When the system refuses.
pub fn ignore_file_size_signal() -> Result<(), OsError> {
    signal_hook::flag::register(SIGXFSZ, Arc::default()).map(drop).map_err(failed("sigaction"))
}

/// Whether this process ignores signal `number`, as `nohup` asks for.
#[must_use]
pub fn is_ignored(number: i32) -> bool {
    ignores(&std::fs::read_to_string("/proc/self/status").unwrap_or_default(), number)
}

/// Whether a process with this `status` ignores signal `number` (`SigIgn` of `proc(5)`).
fn ignores(status: &str, number: i32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (number - 1) & 1 == 1)
}

/// Catches SIGINT, SIGTERM, and SIGHUP unless it is ignored. After it is dropped they are ignored, and do not end the
/// process.
#[derive(Debug)]
pub struct StopSignals {
    receiver: UnixStream,
    handlers: Vec<signal_hook::SigId>,
}

impl StopSignals {
    /// Starts catching.
    ///
    /// # Errors
    /// When the system has no descriptor left.
    pub fn catch() -> Result<Self, OsError> {
        let (receiver, sender) = UnixStream::pair().map_err(failed("socketpair"))?;
        receiver.set_nonblocking(true).map_err(failed("fcntl"))?;
        let mut handlers = Vec::new();
        let sighup = (!is_ignored(SIGHUP)).then_some(SIGHUP);
        for signal in [SIGINT, SIGTERM].into_iter().chain(sighup) {
            let sender = sender.try_clone().map_err(failed("fcntl"))?;
            handlers.push(pipe::register(signal, sender).map_err(failed("sigaction"))?);
        }
        Ok(Self { receiver, handlers })
    }

    /// The number of signals since the last call.
    pub fn take(&mut self) -> usize {
        let mut count = 0;
        let mut buf = [0_u8; 16];
        while let Ok(read @ 1..) = self.receiver.read(&mut buf) {
            count += read;
        }
        count
    }
}

impl AsFd for StopSignals {
    /// Readable when a signal came.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.receiver.as_fd()
    }
}

impl Drop for StopSignals {
    fn drop(&mut self) {
        for handler in self.handlers.drain(..) {
            unregister(handler);
        }
    }
}

#[cfg(test)]
mod tests;
