//! Snapshots of clocks: moments at which a clock was read together with the boot clock.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::last_snapshot::LastSnapshot;
use crate::fork::Held;

/// Ids of clocks of a sequence (`clock_snapshot.proto`), without 64 and 65, which are those of the SDK.
pub(super) const IDS: core::ops::RangeInclusive<u32> = 66..=127;

/// Ids of the kernel's clocks (`builtin_clock.proto`).
pub(crate) mod id {
    pub(crate) const REALTIME: u32 = 1;
    pub(crate) const REALTIME_COARSE: u32 = 2;
    pub(crate) const MONOTONIC: u32 = 3;
    pub(crate) const MONOTONIC_COARSE: u32 = 4;
    pub(crate) const MONOTONIC_RAW: u32 = 5;
}

/// A moment at which two clocks were read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Snapshot {
    /// That of the clock.
    pub(crate) id: u32,
    pub(crate) unit_ns: u64,
    /// Counts the snapshots of the clock, from 1.
    pub(crate) version: u32,
    pub(crate) value: u64,
    pub(crate) boot_ns: u64,
}

impl Snapshot {
    /// The time of the boot clock at `value`.
    pub(crate) fn boot_ns_at(&self, value: u64) -> u64 {
        let units = i128::from(value) - i128::from(self.value);
        shifted(self.boot_ns, units.saturating_mul(self.unit_ns.into()))
    }
}

pub(crate) type Snapshots = Vec<Snapshot>;

/// The newest snapshot of each clock of the program.
static NEWEST: Mutex<Snapshots> = Mutex::new(Vec::new());

fn lock() -> MutexGuard<'static, Snapshots> {
    NEWEST.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn newest(id: u32) -> Option<Snapshot> {
    lock().iter().find(|snapshot| snapshot.id == id).copied()
}

/// Adds a snapshot of the clock with `last`, which takes `unit_ns` to count one further. It must be later than the one
/// before on both clocks, or it is ignored; so is the first one if no id is left.
pub(super) fn add(last: &LastSnapshot, unit_ns: u64, value: u64, boot_ns: u64) {
    let mut all = lock();
    let id = last.clock_id();
    if let Some(known) = all.iter_mut().find(|snapshot| Some(snapshot.id) == id) {
        if value >= known.value && boot_ns >= known.boot_ns {
            (known.value, known.boot_ns) = (value, boot_ns);
            known.version = known.version.wrapping_add(1).max(1);
            last.set_version(known.version);
        }
        return;
    }
    let Some(id) = IDS.clone().nth(all.len()) else { return };
    all.push(Snapshot { id, unit_ns, version: 1, value, boot_ns });
    last.set_first(id);
}

/// The list, while the process forks.
pub(crate) fn lock_for_fork() -> Held<Snapshots> {
    lock().into()
}

/// The time of the boot clock at `value` of the clock `id`, if this process knows the clock; otherwise `value`.
pub(crate) fn boot_ns_of(id: u32, value: u64) -> u64 {
    if let Some(snapshot) = newest(id) {
        return snapshot.boot_ns_at(value);
    }
    let now = os::clock::now();
    let then = match id {
        id::REALTIME => now.real_ns,
        id::REALTIME_COARSE => now.real_coarse_ns,
        id::MONOTONIC => now.mono_ns,
        id::MONOTONIC_COARSE => now.mono_coarse_ns,
        id::MONOTONIC_RAW => now.mono_raw_ns,
        _ => return value,
    };
    shifted(now.boot_ns, i128::from(value) - i128::from(then))
}

fn shifted(ns: u64, by: i128) -> u64 {
    let ns = i128::from(ns).saturating_add(by).max(0);
    u64::try_from(ns).unwrap_or(u64::MAX)
}
