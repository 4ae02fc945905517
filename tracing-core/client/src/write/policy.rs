//! What a writer does while there is no free chunk.

use core::time::Duration;

/// What a writer does when there is no free chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum BufferExhaustedPolicy {
    /// Drops packets until there is one. The next packet then says that packets are missing.
    #[default]
    Drop,
    /// Waits half a minute at most. After that the process counts as broken, and [`Park::give_up`] is called.
    Stall,
    /// Waits as [`Stall`](Self::Stall), then drops packets. While it drops packets it does not wait again.
    StallThenDrop,
}

/// How many times a stalled writer looks for a free chunk before it gives up
/// (`shared_memory_arbiter_impl.cc`): about 29 seconds.
const STALL_TRIES_MAX: u32 = 300;

/// Longest sleep between two attempts.
const SLEEP_MAX_US: u64 = 100_000;

/// The sleeps of one stall: 0, 8, 72, 584, 4680, 37448 us, then 100 ms each.
#[derive(Clone, Copy, Debug, Default)]
pub struct StallSchedule {
    tries: u32,
    sleep_us: u64,
}

impl StallSchedule {
    /// The next sleep; `None` after the last attempt.
    pub fn next_sleep(&mut self) -> Option<Duration> {
        self.tries = self.tries.saturating_add(1);
        if self.tries >= STALL_TRIES_MAX {
            return None;
        }
        let sleep = Duration::from_micros(self.sleep_us);
        self.sleep_us = SLEEP_MAX_US.min((self.sleep_us + 1) * 8);
        Some(sleep)
    }
}

/// How a stalled writer waits. Tests and simulations pass one that uses virtual time.
pub trait Park: Send + Sync {
    /// Waits about `time`; zero yields the processor. Called on the writer's thread, without a lock. The
    /// transport must run meanwhile, on another thread or in this call.
    fn park(&self, time: Duration);

    /// A writer of [`BufferExhaustedPolicy::Stall`] found no chunk in half a minute. With that policy a program
    /// ends rather than lose packets (`kStallThenAbort`), so the default aborts it. If this function
    /// returns, the packet is dropped.
    fn give_up(&self) {
        eprintln!(
            "tracing: the service freed no shared memory for half a minute; the policy `stall` ends the program"
        );
        std::process::abort();
    }
}

/// Wakes the transport, which then polls the arbiter.
///
/// Called without a lock, from any thread, and sometimes although there is nothing to poll.
pub trait Waker: Send + Sync {
    /// Makes the transport poll.
    fn wake(&self);
}

/// For tests and simulations whose transport polls anyway.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoWaker;

impl Waker for NoWaker {
    fn wake(&self) {}
}
