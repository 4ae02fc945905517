//! The counters of an instance's rings.

use super::text::{CpuStats, cpu_stats};
use super::{Directory, Tracefs};

/// What the rings have counted, by CPU. A file that cannot be read is left out, and no other one.
pub(crate) fn ring_stats(tracefs: &dyn Tracefs, directory: &Directory) -> Vec<(u32, CpuStats)> {
    let ring = |cpu: u32| {
        let text = tracefs.read(&directory.path(&format!("per_cpu/cpu{cpu}/stats"))).ok()?;
        Some((cpu, cpu_stats(&text)))
    };
    (0..directory.cpus(tracefs)).filter_map(ring).collect()
}
