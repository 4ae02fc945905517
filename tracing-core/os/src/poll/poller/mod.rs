//! Waiting for many descriptors: what a daemon sleeps on.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::{Timespec, epoll};
use rustix::io::Errno;

use super::Interest;
use crate::failed;
use abi::error::OsError;

/// The events that one descriptor is ready for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ready {
    /// The number it was added with.
    pub key: u64,
    /// A read returns data, the end of the file or an error at once.
    pub readable: bool,
    /// A write finds room, or returns an error at once.
    pub writable: bool,
}

/// A set of descriptors to wait on: level-triggered epoll.
///
/// Closing a descriptor removes it from the set, unless a duplicate of it is open.
#[derive(Debug)]
pub struct Poller {
    epoll: OwnedFd,
}

/// Events taken from the kernel at a time. Further ones wait for the next call, in order. So many that a daemon can
/// choose whom it serves first.
const EVENTS_PER_TURN: usize = 1024;

impl Poller {
    /// An empty set.
    ///
    /// # Errors
    /// When the system has no descriptor left.
    pub fn new() -> Result<Self, OsError> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(failed("epoll_create1"))?;
        Ok(Self { epoll })
    }

    /// Waits for `fd` from now on. Its events have the number `key`.
    ///
    /// # Errors
    /// When `fd` cannot be waited for (a regular file) or the kernel's limit of watches is reached.
    pub fn add(&self, fd: impl AsFd, key: u64, interest: Interest) -> Result<(), OsError> {
        epoll::add(&self.epoll, fd, epoll::EventData::new_u64(key), flags(interest))
            .map_err(failed("epoll_ctl"))
    }

    /// Changes what `fd` is waited for.
    ///
    /// # Errors
    /// When it was never added.
    pub fn modify(&self, fd: impl AsFd, key: u64, interest: Interest) -> Result<(), OsError> {
        epoll::modify(&self.epoll, fd, epoll::EventData::new_u64(key), flags(interest))
            .map_err(failed("epoll_ctl"))
    }

    /// Removes `fd`.
    ///
    /// # Errors
    /// When it was never added.
    pub fn remove(&self, fd: impl AsFd) -> Result<(), OsError> {
        epoll::delete(&self.epoll, fd).map_err(failed("epoll_ctl"))
    }

    /// Sleeps until a descriptor is ready or `timeout` has passed (`None`: for ever), and appends the ready
    /// descriptors to `ready`. After a signal it returns early, with none.
    ///
    /// # Errors
    /// None in practice; the kernel reserves the right.
    pub fn wait(&self, ready: &mut Vec<Ready>, timeout: Option<Duration>) -> Result<(), OsError> {
        let mut events = [const { MaybeUninit::uninit() }; EVENTS_PER_TURN];
        let timeout = timeout.map(timespec);
        let (events, _) = match epoll::wait(&self.epoll, &mut events[..], timeout.as_ref()) {
            Ok(events) => events,
            Err(Errno::INTR) => return Ok(()),
            Err(errno) => return Err(failed("epoll_wait")(errno)),
        };
        for event in events {
            // The fields are copied first, because the layout of the kernel is packed.
            let (data, flags) = (event.data, event.flags);
            let broken = flags.intersects(epoll::EventFlags::ERR | epoll::EventFlags::HUP);
            ready.push(Ready {
                key: data.u64(),
                readable: broken || flags.contains(epoll::EventFlags::IN),
                writable: broken || flags.contains(epoll::EventFlags::OUT),
            });
        }
        Ok(())
    }
}

fn flags(interest: Interest) -> epoll::EventFlags {
    let mut flags = epoll::EventFlags::empty();
    flags.set(epoll::EventFlags::IN, interest.read);
    flags.set(epoll::EventFlags::OUT, interest.write);
    flags
}

fn timespec(time: Duration) -> Timespec {
    // The kernel refuses longer timeouts as errors, so a year stands for ever.
    let time = time.min(Duration::from_secs(365 * 24 * 3600));
    Timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(time.subsec_nanos()),
    }
}

#[cfg(test)]
mod tests;
