//! Snapshots of all clocks, by which a reader converts between their domains.

use crate::limits;
use abi::time::Now;

/// The id of the time stamp counter of the processor.
const TSC: u32 = 9;

/// (builtin clock id, reading), in the order upstream writes them (`clock_snapshots.cc`).
pub(crate) fn readings(now: &Now) -> impl Iterator<Item = (u32, u64)> {
    let always = [
        (6, now.boot_ns),
        (2, now.real_coarse_ns),
        (4, now.mono_coarse_ns),
        (1, now.real_ns),
        (3, now.mono_ns),
        (5, now.mono_raw_ns),
    ];
    always.into_iter().chain(now.tsc.map(|tsc| (TSC, tsc)))
}

/// Whether some clock moved against boot time so far that a reader with only `old` would be wrong. A TSC counts
/// cycles, so with one this is always so after a while, as it is upstream (`SnapshotClocks`).
pub(crate) fn have_drifted(old: &Now, new: &Now) -> bool {
    have_moved(old, new, |_| true)
}

/// The same for the clocks that count time.
pub(crate) fn times_have_drifted(old: &Now, new: &Now) -> bool {
    have_moved(old, new, |id| id != TSC)
}

fn have_moved(old: &Now, new: &Now, is_meant: impl Fn(u32) -> bool) -> bool {
    let delta = |a: u64, b: u64| i128::from(b).saturating_sub(i128::from(a));
    let boot = delta(old.boot_ns, new.boot_ns);
    let mut pairs = readings(old).zip(readings(new)).filter(|((id, _), _)| is_meant(*id));
    pairs.any(|((_, a), (_, b))| {
        let moved = delta(a, b).saturating_sub(boot);
        moved.unsigned_abs() >= u128::from(limits::SNAPSHOT_DRIFT_NS)
    })
}
