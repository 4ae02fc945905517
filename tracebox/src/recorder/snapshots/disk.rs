//! Whether a disk has enough free bytes for one more snapshot.
//!
//! Any program can fire a trigger, as often as it likes. So a snapshot leaves a part of the disk to others, also where
//! no `max_per_24_h` limits how many there are.

use std::path::Path;

use protos::TraceConfig;

use crate::console;
use crate::failure::{Context, Failure};

/// A disk divided by this stays free, but not more than [`FREE_BYTES_MAX`].
const FREE_PART: u64 = 20;
/// What stays free at most, bytes.
const FREE_BYTES_MAX: u64 = 1 << 30;

/// Bytes that a disk has, and that this user can still write.
#[derive(Clone, Copy, Debug)]
pub(super) struct Disk {
    pub(super) total: u64,
    pub(super) free: u64,
}

impl Disk {
    /// The disk on which a file at `path` would be.
    pub(super) fn of(path: &Path) -> Result<Self, Failure> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        let stat = rustix::fs::statvfs(folder);
        let stat = stat.context(format_args!("cannot write in {}", console::name(folder)))?;
        let bytes = |blocks: u64| blocks.saturating_mul(stat.f_frsize);
        Ok(Self { total: bytes(stat.f_blocks), free: bytes(stat.f_bavail) })
    }

    /// Checks that a snapshot of at most `snapshot` bytes leaves enough.
    pub(super) fn check(self, snapshot: u64) -> Result<(), Failure> {
        let reserve = (self.total / FREE_PART).min(FREE_BYTES_MAX);
        if self.free >= snapshot.saturating_add(reserve) {
            return Ok(());
        }
        let [free, snapshot, reserve] = [self.free, snapshot, reserve].map(console::size);
        Err(Failure::new(format_args!(
            "the disk has {free} left, a snapshot takes up to {snapshot}, and {reserve} stay free for others; \
             remove older snapshots, or limit them by max_per_24_h"
        )))
    }
}

/// The most that a snapshot of a session takes: its buffers. Packets of the service are a small part of them.
pub(super) fn snapshot_bytes(config: &TraceConfig) -> u64 {
    let sizes = config.buffers.iter().map(|buffer| u64::from(buffer.size_kb.unwrap_or(0)));
    sizes.fold(0, u64::saturating_add).saturating_mul(1024)
}
