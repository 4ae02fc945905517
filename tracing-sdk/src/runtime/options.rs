//! What a program can choose when it sets tracing up.

use std::time::Duration;

use os::socket::Address;

use super::startup::Startup;

/// The shared memory of a process, bytes. Two threads that record as fast as they can fill 256 KiB, the default of
/// services, faster than these take it out. In 4 MiB they lost events in one of 25 seconds, on two processors, in this
/// none in 60. Only what is in use at a time takes memory of the machine.
const SHM_BYTES: u32 = 8 * 1024 * 1024;

/// In the environment of a process: the default of [`Init::wait`](super::Init::wait), ms. `tracebox record` sets it for
/// its command.
const WAIT_MS: &str = "TRACING_INIT_WAIT_MS";

/// See the [module](self).
#[derive(Clone, Debug)]
pub(super) struct Options {
    pub(super) name: String,
    pub(super) address: Option<Address>,
    pub(super) shm_bytes: u32,
    pub(super) allow_stall: bool,
    pub(super) counter_clock: bool,
    /// For `traced` alone.
    pub(super) startup: Option<Startup>,
    /// For `traced` alone.
    pub(super) wait: Duration,
}

impl Options {
    pub(super) fn new() -> Self {
        let program = std::env::args_os().next().unwrap_or_default();
        let program = program.to_string_lossy();
        let name = program.rsplit('/').next().unwrap_or_default().to_owned();
        let wait = os::environment::variable(WAIT_MS).and_then(|text| text.to_str()?.parse().ok());
        Self {
            name,
            address: None,
            shm_bytes: SHM_BYTES,
            allow_stall: false,
            counter_clock: false,
            startup: None,
            wait: Duration::from_millis(wait.unwrap_or_default()),
        }
    }

    /// Whether nothing was chosen that matters to others.
    pub(super) fn are_defaults(&self) -> bool {
        self.set_up_as(&Self::new())
    }

    /// Whether tracing would be set up in the same way. Each call waits for itself.
    pub(super) fn set_up_as(&self, other: &Self) -> bool {
        let Self { name, address, shm_bytes, allow_stall, counter_clock, startup, wait: _ } = self;
        *name == other.name
            && *address == other.address
            && *shm_bytes == other.shm_bytes
            && *allow_stall == other.allow_stall
            && *counter_clock == other.counter_clock
            && *startup == other.startup
    }
}
