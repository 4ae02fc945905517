//! The loop of a service that has only clients of this process: it sleeps until one of them asks for something, or a
//! timer is due.

use std::os::fd::AsFd;

use super::engine::Engine;
use abi::error::OsError;
use os::clock;
use os::poll::{Alarm, Interest, Wake, wait_for};
use service::ServiceConfig;

use super::Log;

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Alone {
    pub(crate) engine: Engine,
    alarm: Alarm,
}

impl Alone {
    /// # Errors
    /// When the system has no descriptor left.
    pub(crate) fn new(service: ServiceConfig, log: Log) -> Result<Self, OsError> {
        let engine = Engine::new(service, log, Wake::new()?, true);
        Ok(Self { engine, alarm: Alarm::new()? })
    }

    /// Runs until [`Inbox::stop`](crate::local::Inbox::stop).
    pub(crate) fn run(mut self) -> Result<(), OsError> {
        while !self.engine.inbox.is_stopped() {
            self.alarm.set(self.engine.due_ns())?;
            let why = wait_for(self.alarm.as_fd(), Interest::READ, &self.engine.wake, None)?;
            if why.readable {
                self.alarm.clear();
            }
            if why.woken {
                self.engine.wake.clear();
            }
            self.engine.counters.count_wake(usize::from(why.readable) + usize::from(why.woken));
            self.engine.run_turn(clock::boot_ns());
            // Replies are in the mailboxes of their clients already.
            self.engine.dirty.clear();
        }
        self.finish()
    }

    /// Ends sessions, completes their files and tells their consumers.
    fn finish(mut self) -> Result<(), OsError> {
        let result = self.engine.finish_soon(|wake, left| {
            wait_for(wake.as_fd(), Interest::READ, wake, left)?;
            Ok(false)
        });
        self.engine.log_summary();
        result
    }
}
