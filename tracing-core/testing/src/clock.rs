//! Virtual time: it only moves when the simulation moves it.

use super::rng::Rng;
use abi::time::Now;

/// Resolution of the coarse clocks, ns.
const TICK_NS: u64 = 4_000_000;

/// All clocks of a machine that is suspended from time to time.
#[derive(Debug)]
pub(super) struct Clock {
    mono_ns: u64,
    slept_ns: u64,
    real_off_ns: u64,
}

impl Clock {
    pub(super) fn new(rng: &mut Rng) -> Self {
        Self {
            mono_ns: rng.within(1, 1_000_000) * 1_000_003,
            slept_ns: rng.below(1_000_000_000_000),
            real_off_ns: 1_700_000_000_000_000_000,
        }
    }

    pub(super) fn now(&self) -> Now {
        let boot_ns = self.boot_ns();
        Now {
            boot_ns,
            mono_ns: self.mono_ns,
            mono_coarse_ns: self.mono_ns / TICK_NS * TICK_NS,
            mono_raw_ns: self.mono_ns + self.mono_ns / 100_000,
            real_ns: boot_ns + self.real_off_ns,
            real_coarse_ns: (boot_ns + self.real_off_ns) / TICK_NS * TICK_NS,
            tsc: None,
        }
    }

    pub(super) fn boot_ns(&self) -> u64 {
        self.mono_ns + self.slept_ns
    }

    /// Time that passes only while the machine is awake.
    pub(super) fn awake_ns(&self) -> u64 {
        self.mono_ns
    }

    /// Moves forward to `boot_ns`, never back.
    pub(super) fn advance_to(&mut self, boot_ns: u64) {
        self.mono_ns += boot_ns.saturating_sub(self.boot_ns());
    }

    /// Suspends the machine: boot time continues, monotonic time does not.
    pub(super) fn sleep(&mut self, ns: u64) {
        self.slept_ns += ns;
    }

    /// Moves the wall clock, back if `offset_ns` is negative.
    pub(super) fn move_wall_clock(&mut self, offset_ns: i64) {
        self.real_off_ns = self.real_off_ns.saturating_add_signed(offset_ns);
    }
}
