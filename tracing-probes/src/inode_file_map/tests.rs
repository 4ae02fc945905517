use std::os::unix::fs::MetadataExt;

use protos::{
    DataSourceConfig, InodeFileConfig, InodeFileConfigMountPointMappingEntry as Mapping,
    InodeFileMap, InodeFileMapEntryType as Type, TracePacketData,
};

use super::cache::{Cache, Entry};
use super::mounts::mounts;
use super::*;
use crate::limits::{FOLDERS_PENDING_MAX, INODES_CACHED_MAX};
use crate::tests::{Alone, Packets, World};

/// A file system at /mnt, with the device that the tests' folder is on.
struct Disk {
    world: World,
    device: u64,
    out: Packets,
}

impl Disk {
    fn new() -> Self {
        let world = World::new();
        for file in ["a", "dir/b", "dir/deep/c", "other/d"] {
            world.put(&format!("mnt/{file}"), "x");
        }
        let device = std::fs::metadata(world.dir.path()).unwrap().dev();
        let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
        world.put(
            "proc/self/mountinfo",
            format!(
                "36 35 {major}:{minor} / /mnt rw - ext4 /dev/x rw\n37 35 0:9 / /no rw - x x rw\n"
            ),
        );
        Self { world, device, out: Packets::default() }
    }

    fn probe(&self, config: InodeFileConfig) -> Alone<InodeFileMapProbe> {
        let config = DataSourceConfig { inode_file_config: Some(config), ..Default::default() };
        Alone::new(&self.world.root, &config)
    }

    fn inode(&self, path: &str) -> u64 {
        std::fs::symlink_metadata(self.world.dir.path().join(path)).unwrap().ino()
    }

    fn facts(&self, paths: &[&str]) -> Facts {
        let mut inodes: Vec<_> = paths.iter().map(|path| (self.device, self.inode(path))).collect();
        inodes.sort_unstable();
        Facts { inodes, ..Facts::default() }
    }

    fn maps(&mut self) -> Vec<InodeFileMap> {
        let map = |packet: protos::TracePacket| match packet.data {
            Some(TracePacketData::InodeFileMap(map)) => map,
            other => panic!("{other:?}"),
        };
        self.out.take().into_iter().map(map).collect()
    }

    /// All paths that were told, with their types, sorted.
    fn told(&mut self) -> Vec<(String, Type)> {
        let device = self.device;
        let mut told = Vec::new();
        for map in self.maps() {
            assert_eq!(
                (map.block_device_id, &map.mount_points[..]),
                (Some(device), &["/mnt".to_owned()][..])
            );
            for mut entry in map.entries {
                let path = entry.paths.remove(0);
                assert_eq!(entry.inode_number, Some(self.inode(path.trim_start_matches('/'))));
                told.push((path, entry.r#type.unwrap()));
            }
        }
        told.sort();
        told
    }
}

fn millis(probe: &Alone<InodeFileMapProbe>) -> Option<u128> {
    probe.period().map(|period| period.as_millis())
}

#[test]
fn lines_of_mountinfo() {
    let text =
        b"36 35 98:300 / /mnt\\040a\\134\\x rw,noatime - ext3 /dev/root rw\nbad\n1 2 x:1 / /p rw\n\
        1 2 1:99999999999 / /p rw\n1 2 3 / /p rw\n1 2 3:4 / relative rw\n1 2 0:5 / /p\n";
    let mounts: Vec<_> = mounts(text).into_iter().map(|m| (m.device, m.point)).collect();
    let expected = [(0x10_622c, PathBuf::from("/mnt a\\\\x")), (5, PathBuf::from("/p"))];
    assert_eq!(mounts, expected);
}

#[test]
fn a_scan_finds_what_events_named() {
    let mut disk = Disk::new();
    let mut probe = disk.probe(InodeFileConfig::default());
    probe.start(&mut disk.out);
    assert_eq!(millis(&probe), None);
    let mut facts = disk.facts(&["mnt", "mnt/dir", "mnt/dir/b", "mnt/dir/deep/c"]);
    // One that nobody has, one of no device, one of a device without a mount.
    facts.inodes.extend([(disk.device, u64::MAX), (u64::MAX, 1)]);
    facts.inodes.insert(0, (0, 5));
    probe.facts(&facts, &mut disk.out);
    assert_eq!((disk.out.take().len(), millis(&probe)), (0, Some(10_000)), "the delay");
    probe.tick(&mut disk.out);
    let expected = [
        ("/mnt".to_owned(), Type::DIRECTORY),
        ("/mnt/dir".to_owned(), Type::DIRECTORY),
        ("/mnt/dir/b".to_owned(), Type::FILE),
        ("/mnt/dir/deep/c".to_owned(), Type::FILE),
    ];
    assert_eq!(disk.told(), expected);
    // Inodes that were not found are not searched for again either.
    assert_eq!(millis(&probe), None);
    probe.facts(&facts, &mut disk.out);
    assert_eq!((disk.out.take().len(), millis(&probe)), (0, None));
    // After a clear, what was found is told at once.
    probe.clear_incremental_state(&mut disk.out);
    probe.facts(&disk.facts(&["mnt/dir/b", "mnt"]), &mut disk.out);
    assert_eq!(disk.told(), [expected[0].clone(), expected[2].clone()]);
    assert_eq!(millis(&probe), None);
}

#[test]
fn a_scan_comes_in_parts_and_ends_early() {
    let mut disk = Disk::new();
    let config = InodeFileConfig {
        scan_interval_ms: Some(5),
        scan_delay_ms: Some(7),
        scan_batch_size: Some(1),
        ..Default::default()
    };
    let mut probe = disk.probe(config);
    probe.facts(&disk.facts(&["mnt/dir/deep"]), &mut disk.out);
    assert_eq!(millis(&probe), Some(7));
    // The scan looks at 4 files and 4 folders; 3 of these it finds first, and opens later.
    let mut ticks = 0;
    let told = loop {
        probe.tick(&mut disk.out);
        ticks += 1;
        let told = disk.told();
        if !told.is_empty() {
            break told;
        }
        assert_eq!(millis(&probe), Some(5));
        if ticks == 1 {
            // Too late for this scan, which has begun.
            probe.facts(&disk.facts(&["mnt", "mnt/other"]), &mut disk.out);
        }
        assert!(ticks < 11);
    };
    assert!(ticks > 1);
    assert_eq!(told, [("/mnt/dir/deep".to_owned(), Type::DIRECTORY)]);
    assert_eq!(millis(&probe), Some(7), "the next scan");
    for _ in 0..11 {
        probe.tick(&mut disk.out);
    }
    assert_eq!(disk.told().len(), 2);
    assert_eq!(millis(&probe), None);
}

#[test]
fn parts_of_a_scan_are_bounded() {
    let sizes = [None, Some(0), Some(7), Some(u32::MAX)].map(batch);
    assert_eq!(sizes, [15_000, 15_000, 7, 100_000]);
}

#[test]
fn what_a_config_admits_is_scanned() {
    let mut disk = Disk::new();
    let all = ["mnt/a", "mnt/dir/b"];
    let mut check = |config: InodeFileConfig, paths: &[&str]| {
        let mut probe = disk.probe(config);
        probe.facts(&disk.facts(&all), &mut disk.out);
        probe.tick(&mut disk.out);
        let told: Vec<_> = disk.told().into_iter().map(|(path, _)| path).collect();
        assert_eq!(told, paths);
        disk.world.log()
    };
    check(InodeFileConfig { do_not_scan: Some(true), ..Default::default() }, &[]);
    let points = |point: &str| InodeFileConfig {
        scan_mount_points: vec![point.to_owned()],
        ..Default::default()
    };
    check(points("/elsewhere"), &[]);
    check(points("/mnt"), &["/mnt/a", "/mnt/dir/b"]);
    let mapped = |root: &str| {
        let mapping = Mapping {
            mountpoint: Some("/mnt".to_owned()),
            scan_roots: vec![root.to_owned()],
            ..Default::default()
        };
        InodeFileConfig { mount_point_mapping: vec![mapping], ..Default::default() }
    };
    assert_eq!(check(mapped("/mnt/dir"), &["/mnt/dir/b"]), [""; 0]);
    assert_eq!(check(mapped("/mnt/other/../dir"), &[]).len(), 1);
    assert_eq!(check(mapped("/proc"), &[]).len(), 1);
}

#[test]
fn links_are_not_followed() {
    let mut disk = Disk::new();
    let mnt = disk.world.dir.path().join("mnt");
    disk.world.put("outside/file", "");
    std::os::unix::fs::symlink("../outside", mnt.join("link")).unwrap();
    std::os::unix::fs::symlink(".", mnt.join("loop")).unwrap();
    let mut probe = disk.probe(InodeFileConfig::default());
    probe.facts(&disk.facts(&["outside/file", "mnt/link"]), &mut disk.out);
    probe.tick(&mut disk.out);
    assert_eq!(disk.told(), [("/mnt/link".to_owned(), Type::UNKNOWN)]);
}

#[test]
fn other_file_systems_are_not_entered() {
    let world = World::new();
    world.put("mnt/a", "");
    // All but the first folder are taken for those of another file system.
    let folder = PathBuf::from("/mnt");
    let mut scan = Scan::new(&world.root, vec![folder]);
    scan.pending.iter_mut().for_each(|(_, file_system)| *file_system += 1);
    let mut found = 0;
    scan.step(100, &mut |_, _| {
        found += 1;
        true
    });
    assert_eq!(found, 0);
}

#[test]
fn what_is_remembered_is_bounded() {
    let mut cache = Cache::default();
    let entry = Entry { path: String::new(), kind: Type::FILE };
    (0..INODES_CACHED_MAX as u64).for_each(|inode| cache.insert((1, inode), entry.clone()));
    assert!(cache.get((1, 0)).is_some());
    cache.insert((2, 0), entry.clone());
    cache.insert((2, 0), entry);
    assert_eq!(cache.len(), INODES_CACHED_MAX);
    assert!(cache.get((1, 0)).is_some() && cache.get((1, 1)).is_none());

    let mut disk = Disk::new();
    let mut probe = disk.probe(InodeFileConfig::default());
    let device = disk.device;
    for first in [1 << 40, 1 << 41, 1 << 42] {
        let inodes = (0..INODES_KNOWN_MAX as u64 - 1).map(|inode| (device, first + inode));
        probe.facts(&Facts { inodes: inodes.collect(), ..Facts::default() }, &mut disk.out);
    }
    let probe = probe.probe();
    assert_eq!(probe.wanted.get(&device).map(BTreeSet::len), Some(INODES_KNOWN_MAX));
    assert!(probe.known.len() <= INODES_KNOWN_MAX);
}

#[test]
fn folders_that_wait_are_bounded() {
    let world = World::new();
    world.put("mnt/a/x", "").put("mnt/b/x", "");
    let mut folders = vec![PathBuf::from("/mnt/a"); FOLDERS_PENDING_MAX];
    folders.insert(0, PathBuf::from("/mnt"));
    let mut scan = Scan::new(&world.root, folders);
    scan.step(4, &mut |_, _| true);
    assert_eq!(scan.pending.len(), FOLDERS_PENDING_MAX - 1);
    assert_eq!(world.log().len(), 1);
}

/// Folders cost time, too, also those that tell nothing.
#[test]
fn folders_are_a_part_of_a_step() {
    let world = World::new();
    (0..10).for_each(|n| _ = world.put(&format!("mnt/{n}/x"), ""));
    let mut scan = Scan::new(&world.root, vec![PathBuf::from("/mnt")]);
    // The first one is told, three are found.
    assert!(scan.step(4, &mut |_, _| true));
    assert_eq!(scan.pending.len(), 3);
    scan.pending.iter_mut().for_each(|(_, file_system)| *file_system += 1);
    scan.step(7, &mut |_, _| true);
    assert_eq!(scan.pending.len(), 10);
    scan.pending.iter_mut().for_each(|(_, file_system)| *file_system += 1);
    assert!(scan.step(5, &mut |_, _| panic!("they are of another file system")));
    assert_eq!(scan.pending.len(), 5);
}
