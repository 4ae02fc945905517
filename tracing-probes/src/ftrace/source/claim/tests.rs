use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::others::of_others;
use super::*;
use crate::tests::World;

#[test]
fn each_user_has_records_of_its_own() {
    let runtime = Path::new("/run/user/7");
    let of = |uid, runtime, probes_of: u32| {
        let owner = move |path: &Path| match path.to_str() {
            Some("/run/tracing-probes") => Some(probes_of),
            Some("/run/user/7") => Some(7),
            _ => None,
        };
        records_of(uid, runtime, owner).display().to_string()
    };
    assert_eq!(of(0, Some(runtime), 0), "/run/tracing-probes");
    assert_eq!(of(0, None, 7), "/run/tracing-probes");
    assert_eq!(of(7, Some(runtime), 7), "/run/tracing-probes");
    assert_eq!(of(7, Some(runtime), 0), "/run/user/7/tracing-probes");
    // The folder of a session is not used if it is another user's, as with `sudo -u`, or is no absolute path.
    assert_eq!(of(8, Some(runtime), 0), "/tmp/tracing-probes-8");
    assert_eq!(of(8, Some(Path::new("run")), 0), "/tmp/tracing-probes-8");
    assert_eq!(of(8, None, 0), "/tmp/tracing-probes-8");
}

const HEADER: &str = "ftrace 1 boot-7\n";

/// A machine whose files are all of the user of this test.
fn world() -> (World, u32) {
    let world = World::new();
    world.put("proc/sys/kernel/random/boot_id", "boot-7\n");
    (world, process::effective_uid())
}

/// Makes a folder that only its user may write to.
fn make(world: &World, folder: &str) {
    let folder = world.dir.path().join(folder);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::set_permissions(&folder, Permissions::from_mode(0o700)).unwrap();
}

/// The folders with records, and how many they have, for `own_uid`.
fn others(world: &World, own_uid: u32) -> Vec<(u32, String, usize)> {
    let shown =
        |folder: &Path| folder.strip_prefix(world.dir.path()).unwrap().to_str().unwrap().to_owned();
    let of = of_others(&world.root, own_uid).into_iter();
    of.map(|records| (records.uid, shown(&records.folder), records.count)).collect()
}

#[test]
fn records_of_other_users_are_found() {
    let (world, uid) = world();
    let folders = [
        "run/tracing-probes".to_owned(),
        format!("run/user/{uid}/tracing-probes"),
        format!("tmp/tracing-probes-{uid}"),
    ];
    for folder in &folders {
        make(&world, folder);
        world.put(&format!("{folder}/root.ftrace"), format!("{HEADER}trunc trace \n"));
        // None of these files is a record of this boot.
        world.put(&format!("{folder}/old.ftrace"), "ftrace 1 boot-6\n");
        world.put(&format!("{folder}/broken.ftrace"), &HEADER[..9]);
        world.put(&format!("{folder}/lock"), "");
    }
    world.put(&format!("{}/instance-a.ftrace", folders[2]), HEADER);
    let [unit, session, tmp] = folders;
    assert_eq!(others(&world, uid + 1), [(uid, unit, 1), (uid, session, 1), (uid, tmp, 2)]);
    // Its own.
    assert_eq!(others(&world, uid), []);
}

/// Any user can make folders and links in the folder for all users.
#[test]
fn what_is_not_the_record_of_a_user_does_not_count() {
    let (world, uid) = world();
    let path = |path: &str| world.dir.path().join(path);
    let tmp = format!("tmp/tracing-probes-{uid}");
    let is_found = || !others(&world, uid + 1).is_empty();
    // Names of others, and no names.
    for name in [format!("{}", uid + 7), format!("0{uid}"), format!("+{uid}"), String::new()] {
        make(&world, &format!("tmp/tracing-probes-{name}"));
        world.put(&format!("tmp/tracing-probes-{name}/root.ftrace"), HEADER);
        assert!(!is_found(), "{name}");
    }
    // Links, to a folder and to a file.
    make(&world, "else");
    world.put("else/root.ftrace", HEADER);
    symlink(path("else"), path(&tmp)).unwrap();
    assert!(!is_found());
    std::fs::remove_file(path(&tmp)).unwrap();
    make(&world, &tmp);
    symlink(path("else/root.ftrace"), path(&format!("{tmp}/root.ftrace"))).unwrap();
    assert!(!is_found());
    // A folder, and a pipe that nobody writes to.
    world.put(&format!("{tmp}/folder.ftrace/file"), HEADER);
    let mode = rustix::fs::Mode::RWXU;
    let pipe = path(&format!("{tmp}/pipe.ftrace"));
    rustix::fs::mknodat(rustix::fs::CWD, pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    assert!(!is_found());
    // In a folder that all users may write to, the record may be of anybody.
    world.put(&format!("{tmp}/root2.ftrace"), HEADER);
    assert!(is_found());
    std::fs::set_permissions(path(&tmp), Permissions::from_mode(0o777)).unwrap();
    assert!(!is_found());
}
