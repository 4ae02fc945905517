//! Waiting for many descriptors, and for a time of the boot clock: what a daemon sleeps on.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};

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

/// Events taken from the kernel at a time. Further ones wait for the next call, in order, so that a busy peer delays
/// the others by one turn at most.
const EVENTS_PER_TURN: usize = 64;

impl Poller {
    /// An empty set.
    ///
    /// # Errors
    /// When the system has no descriptor left.
    pub fn new() -> Result<Self, OsError> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(failed("epoll_create1"))?;
        Ok(Self { epoll })
    }

    /// Waits for `fd` from now on: for data if `read`, for room if `write`.
    ///
    /// # Errors
    /// When `fd` cannot be waited for (a regular file) or the kernel's limit of watches is reached.
    pub fn add(&self, fd: impl AsFd, key: u64, read: bool, write: bool) -> Result<(), OsError> {
        epoll::add(&self.epoll, fd, epoll::EventData::new_u64(key), flags(read, write))
            .map_err(failed("epoll_ctl"))
    }

    /// Changes what `fd` is waited for.
    ///
    /// # Errors
    /// When it was never added.
    pub fn modify(&self, fd: impl AsFd, key: u64, read: bool, write: bool) -> Result<(), OsError> {
        epoll::modify(&self.epoll, fd, epoll::EventData::new_u64(key), flags(read, write))
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

/// How far an [`Alarm`] may be off, ns. A time converted from another clock differs a little at each conversion, and
/// setting the timer again would cost a system call each time.
pub const ALARM_SLACK_NS: u64 = 20_000;

/// Wakes its poller at a given boot time. A wait with a timeout would not count the time that the machine was
/// suspended.
#[derive(Debug)]
pub struct Alarm {
    timer: OwnedFd,
    at_ns: Option<u64>,
}

impl Alarm {
    /// An alarm that is not set.
    ///
    /// # Errors
    /// When the system has no descriptor left.
    pub fn new() -> Result<Self, OsError> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let timer =
            timerfd_create(TimerfdClockId::Boottime, flags).map_err(failed("timerfd_create"))?;
        Ok(Self { timer, at_ns: None })
    }

    /// Sets the alarm to `at_ns`, boot time, and forgets the time before. A time in the past wakes at once, `None`
    /// never. The alarm may be [`ALARM_SLACK_NS`] early or late.
    ///
    /// # Errors
    /// None in practice.
    pub fn set(&mut self, at_ns: Option<u64>) -> Result<(), OsError> {
        let same = match (at_ns, self.at_ns) {
            (Some(new), Some(old)) => new.abs_diff(old) <= ALARM_SLACK_NS,
            (new, old) => new == old,
        };
        if same {
            return Ok(());
        }
        // Zero would mean never.
        let time = at_ns.map_or(Duration::ZERO, |at_ns| Duration::from_nanos(at_ns.max(1)));
        let it_value = Timespec {
            tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(time.subsec_nanos()),
        };
        let never = Timespec { tv_sec: 0, tv_nsec: 0 };
        let spec = Itimerspec { it_interval: never, it_value };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &spec)
            .map_err(failed("timerfd_settime"))?;
        self.at_ns = at_ns;
        Ok(())
    }

    /// Marks the alarm as not set, after it woke its poller.
    pub fn clear(&mut self) {
        let mut count = [0_u8; 8];
        let _ = rustix::io::read(&self.timer, &mut count);
        self.at_ns = None;
    }
}

impl AsFd for Alarm {
    /// Readable from the set time until [`clear`](Self::clear).
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.timer.as_fd()
    }
}

fn flags(read: bool, write: bool) -> epoll::EventFlags {
    let mut flags = epoll::EventFlags::empty();
    flags.set(epoll::EventFlags::IN, read);
    flags.set(epoll::EventFlags::OUT, write);
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
