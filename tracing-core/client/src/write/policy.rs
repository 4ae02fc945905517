//! What a writer does when the service does not free chunks fast enough.

use core::time::Duration;

/// What a writer does when there is no free chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum BufferExhaustedPolicy {
    /// Drops packets until there is one. The next packet says that some are missing.
    #[default]
    Drop,
    /// Waits, half a minute at most; then the process is considered broken and
    /// [`Park::give_up`] is called.
    Stall,
    /// Waits as [`Stall`](Self::Stall), then drops. While dropping it does not wait again.
    StallThenDrop,
}

/// Times a stalling writer looks for a free chunk before it gives up
/// (`shared_memory_arbiter_impl.cc`): about 29 seconds.
pub const STALL_TRIES_MAX: u32 = 300;

/// Longest sleep between two looks.
const SLEEP_MAX_US: u64 = 100_000;

/// The sleeps of one stall: 0, 8, 72, 584, 4680, 37448 us, then 100 ms each.
#[derive(Clone, Copy, Debug, Default)]
pub struct StallSchedule {
    tries: u32,
    sleep_us: u64,
}

impl StallSchedule {
    /// The next sleep; `None` when it is time to give up.
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

/// How a stalled writer waits. Injected, so that tests and simulations wait in their own time.
pub trait Park: Send + Sync {
    /// Waits about `time`; zero gives the processor away. Called on the writer's thread, with nothing
    /// locked. The transport must be running meanwhile, on another thread, or from in here.
    fn park(&self, time: Duration);

    /// A writer of [`BufferExhaustedPolicy::Stall`] waited in vain. Whoever chose that policy prefers no
    /// process over an incomplete trace (`kStallThenAbort`), so the default ends it. If this returns,
    /// the packet is dropped.
    fn give_up(&self) {
        eprintln!("tracing: no free shared memory for half a minute, and the policy is to stall");
        std::process::abort();
    }
}

/// Called when something became pollable: the transport should poll the arbiter soon.
///
/// Called with nothing locked, from any thread, possibly for nothing.
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
