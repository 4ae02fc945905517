//! `linux.inode_file_map`: which files the inodes are that events of ftrace name.
//!
//! ```text
//!  facts of ftrace: (device, inode) ─┬─ found before ──────────────────────────────> InodeFileMap
//!                                    └─ scan_delay_ms ─> scan of the file system ──> InodeFileMap
//!                                                        scan_batch_size entries each scan_interval_ms
//! ```
//!
//! An inode is told once until the incremental state is cleared, also if no scan has found it: a scan reads all folders
//! of a file system. Where a file system numbers its inodes otherwise for user space (overlayfs, subvolumes of btrfs),
//! nothing is found, or another file.
//!
//! Trust: a config names scan roots; one that is not below its mount point is refused. Paths are lossy UTF-8.

mod cache;
mod mounts;
mod scan;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::path::{Component, PathBuf};
use std::time::Duration;

use abi::map::SortedMap;
use protos::{DataSourceConfig, InodeFileConfig};

use self::cache::{Cache, Entry, Inode};
use self::mounts::{Mount, mounts};
use self::scan::Scan;
use crate::Root;
use crate::facts::{Facts, Wanted};
use crate::limits::{INODES_KNOWN_MAX, SCAN_BATCH_MAX};
use crate::output::Output;
use crate::probe::{Probe, Shared};

/// If the config has none, or 0.
const INTERVAL_MS: u32 = 10_000;
const DELAY_MS: u32 = 10_000;
const BATCH: u32 = 15_000;

/// What all instances share.
#[derive(Debug)]
pub(crate) struct Files {
    root: Root,
    cache: Cache,
    /// Those of this batch, once they were asked for.
    mounts: Option<Vec<Mount>>,
}

impl Shared for Files {
    fn new(root: &Root) -> Self {
        Self { root: root.clone(), cache: Cache::default(), mounts: None }
    }

    fn begin_batch(&mut self) {
        self.mounts = None;
    }
}

impl Files {
    fn mounts(&mut self) -> &[Mount] {
        let Self { root, mounts: known, .. } = self;
        known.get_or_insert_with(|| {
            let mut text = Vec::new();
            if let Err(error) = root.read("proc/self/mountinfo", &mut text) {
                root.warn(&format!("inode_file_map: /proc/self/mountinfo: {error}"));
            }
            mounts(&text)
        })
    }
}

/// One instance.
#[derive(Debug)]
pub(crate) struct InodeFileMapProbe {
    config: InodeFileConfig,
    /// Inodes that were told, or that a scan looks or has looked for.
    known: BTreeSet<Inode>,
    /// Inodes that the next scans are to find, by their devices.
    wanted: SortedMap<u64, BTreeSet<u64>>,
    search: Option<Search>,
}

/// A scan that goes on.
#[derive(Debug)]
struct Search {
    device: u64,
    /// Inodes that it has not found yet.
    wanted: BTreeSet<u64>,
    scan: Scan,
}

impl Probe for InodeFileMapProbe {
    const NAME: &'static str = "linux.inode_file_map";
    const HAS_INCREMENTAL_STATE: bool = true;

    type Shared = Files;

    fn new(_: &mut Files, config: &DataSourceConfig) -> Self {
        let config = config.inode_file_config.clone().unwrap_or_default();
        Self { config, known: BTreeSet::new(), wanted: SortedMap::new(), search: None }
    }

    fn start(&mut self, _: &mut Files, _: &mut dyn Output) {}

    fn period(&self) -> Option<Duration> {
        let ms =
            |configured: Option<u32>, default| configured.filter(|ms| *ms > 0).unwrap_or(default);
        let ms = match (&self.search, self.wanted.is_empty()) {
            (Some(_), _) => ms(self.config.scan_interval_ms, INTERVAL_MS),
            (None, false) => ms(self.config.scan_delay_ms, DELAY_MS),
            (None, true) => return None,
        };
        Some(Duration::from_millis(ms.into()))
    }

    fn tick(&mut self, files: &mut Files, out: &mut dyn Output) {
        let Some(mut search) = self.search.take().or_else(|| self.begin_search(files)) else {
            return;
        };
        let Search { device, wanted, scan } = &mut search;
        let mut found = Vec::new();
        let goes_on = scan.step(batch(self.config.scan_batch_size), &mut |inode, entry| {
            if wanted.remove(&inode) {
                files.cache.insert((*device, inode), entry.clone());
                found.push((inode, entry));
            }
            !wanted.is_empty()
        });
        write(*device, &found, files.mounts(), out);
        // What it has not found is not searched for again.
        self.search = goes_on.then_some(search);
    }

    fn wanted(_: &DataSourceConfig) -> Wanted {
        Wanted { inodes: true, ..Wanted::default() }
    }

    fn facts(&mut self, files: &mut Files, facts: &Facts, out: &mut dyn Output) {
        let named = facts.inodes.iter().copied();
        let new: Vec<Inode> = named.filter(|inode| !self.known.contains(inode)).collect();
        for of_device in new.chunk_by(|one, other| one.0 == other.0) {
            let Some((device, _)) = of_device.first().copied() else { continue };
            if self.known.len() + of_device.len() > INODES_KNOWN_MAX {
                self.known.clear();
            }
            self.known.extend(of_device.iter().copied());
            let mut cached = Vec::new();
            let mut missing = Vec::new();
            for inode in of_device {
                match files.cache.get(*inode) {
                    Some(entry) => cached.push((inode.1, entry.clone())),
                    None => missing.push(inode.1),
                }
            }
            write(device, &cached, files.mounts(), out);
            let waiting = self.wanted.values().map(BTreeSet::len).sum::<usize>();
            missing.truncate(INODES_KNOWN_MAX.saturating_sub(waiting));
            let may_scan = self.config.do_not_scan != Some(true);
            if may_scan && !missing.is_empty() && !self.folders(files, device).is_empty() {
                self.wanted.get_or_insert_with(device, BTreeSet::new).extend(missing);
            }
        }
    }

    fn clear_incremental_state(&mut self, _: &mut Files, _: &mut dyn Output) {
        // Those that a scan looks for are told when it finds them.
        self.known.clear();
    }
}

impl InodeFileMapProbe {
    /// A scan for the first device that inodes are wanted of.
    fn begin_search(&mut self, files: &mut Files) -> Option<Search> {
        let device = *self.wanted.first_key_value()?.0;
        let wanted = self.wanted.remove(&device)?;
        let folders = self.folders(files, device);
        Some(Search { device, wanted, scan: Scan::new(&files.root, folders) })
    }

    /// The folders that a scan of a device reads: its mount points that the config admits, or what that names in their
    /// place.
    fn folders(&self, files: &mut Files, device: u64) -> Vec<PathBuf> {
        let InodeFileConfig { scan_mount_points: points, mount_point_mapping: mapping, .. } =
            &self.config;
        let root = files.root.clone();
        let mut folders = Vec::new();
        for mount in files.mounts().iter().filter(|mount| mount.device == device) {
            let is = |text: &str| mount.point.as_os_str() == text;
            if !points.is_empty() && !points.iter().any(|point| is(point)) {
                continue;
            }
            let mapped = mapping.iter().find(|of| of.mountpoint.as_deref().is_some_and(is));
            let Some(mapped) = mapped else {
                folders.push(mount.point.clone());
                continue;
            };
            for folder in mapped.scan_roots.iter().map(PathBuf::from) {
                let is_plain = folder.components().all(|part| part != Component::ParentDir);
                if is_plain && folder.starts_with(&mount.point) {
                    folders.push(folder);
                } else {
                    root.warn(&format!(
                        "inode_file_map: the scan root {} is left out: it is not below {}",
                        folder.display(),
                        mount.point.display()
                    ));
                }
            }
        }
        folders
    }
}

/// How many entries a part of a scan has.
fn batch(configured: Option<u32>) -> usize {
    configured.filter(|size| *size > 0).unwrap_or(BATCH).min(SCAN_BATCH_MAX) as usize
}

/// Writes what was found on a device, if anything was.
fn write(device: u64, found: &[(u64, Entry)], mounts: &[Mount], out: &mut dyn Output) {
    if found.is_empty() {
        return;
    }
    let now_ns = out.clock()();
    out.packet(&mut |packet| {
        packet.timestamp(now_ns);
        let mut map = packet.inode_file_map();
        map.block_device_id(device);
        for mount in mounts.iter().filter(|mount| mount.device == device) {
            map.mount_points(&mount.point.to_string_lossy());
        }
        for (inode, entry) in found {
            map.entries().inode_number(*inode).paths(&entry.path).r#type(entry.kind);
        }
    });
}
