use super::*;
use std::path::PathBuf;

/// A tree of control groups in a folder that is removed at the end.
struct Tree(PathBuf);

impl Tree {
    /// Of files with their content.
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let tree = Self(std::env::temp_dir().join(format!("groups-{name}-{}", std::process::id())));
        for (file, content) in files {
            let path = tree.0.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        tree
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn the_least_limit_of_a_group_and_those_around_it_counts() {
    let tree = Tree::new(
        "v2",
        &[
            ("system.slice/traced.service/memory.max", "max\n"),
            ("system.slice/memory.max", "2000\n"),
            ("memory.max", "3000\n"),
            ("other/memory.max", "1\n"),
        ],
    );
    assert_eq!(of_groups("0::/system.slice/traced.service\n", &tree.0), Some(2000));
    assert_eq!(of_groups("0::/", &tree.0), Some(3000));
    // Its name as another namespace sees it.
    assert_eq!(of_groups("0::/../other", &tree.0), Some(3000));
    assert_eq!(of_groups("0::/../other", &tree.0.join("system.slice")), Some(2000));
    assert_eq!(of_groups("0::/not/there", &tree.0), Some(3000));
}

#[test]
fn groups_of_version_1_have_a_tree_for_memory() {
    let tree = Tree::new(
        "v1",
        &[
            ("memory/a/b/memory.limit_in_bytes", "500\n"),
            ("memory/a/memory.limit_in_bytes", "700\n"),
            ("cpu/a/memory.limit_in_bytes", "1\n"),
        ],
    );
    let groups = "9:name=systemd:/\n4:cpu,memory:/a/b\n3:cpu:/a\n0::/\n";
    assert_eq!(of_groups(groups, &tree.0), Some(500));
    assert_eq!(of_groups("3:cpu:/a\nwrong\n", &tree.0), None);
}

#[test]
fn this_process_may_use_some() {
    let bytes = read();
    assert!((1 << 20..=sys::ram_bytes()).contains(&bytes), "{bytes}");
}

#[test]
fn what_a_group_keeps_is_files_in_memory_the_kernel_and_swap() {
    let stat = "anon 1\nfile 2\nkernel 400\nkernel_stack 8\nshmem 30\nshmem_thp 16\n";
    let tree = Tree::new(
        "kept",
        &[
            ("a/memory.stat", stat),
            ("a/memory.swap.current", "5000\n"),
            ("old/memory.stat", "anon 1\nshmem 30\n"),
            ("old/memory.swap.current", "0\n"),
            ("memory.stat", stat),
        ],
    );
    let unreclaimable =
        |groups| Group::of(groups, &tree.0).and_then(|group| group.unreclaimable_bytes());
    assert_eq!(unreclaimable("1:cpu:/x\n0::/a\n"), Some(5430));
    // Linux before 5.18, the group of all, another namespace, version 1.
    for groups in ["0::/old\n", "0::/\n", "0::/../a\n", "0::/not/there\n", "4:memory:/a\n"] {
        assert_eq!(unreclaimable(groups), None, "{groups}");
    }
    // Another namespace, where the path leads to a group.
    assert!(Group::of("0::/../a\n", &tree.0.join("old")).is_none());
}
