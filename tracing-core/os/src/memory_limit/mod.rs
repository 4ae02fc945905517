//! How much memory this process may use.
//!
//! ```text
//!   sysinfo                                             RAM ───────────────────────┐
//!   /proc/self/cgroup   0::/system.slice/traced.service                            ├─> the least
//!                         └─> memory.max of that group, and of those that it is in ┘
//! ```
//!
//! The kernel ends processes of a group that needs more.

use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::sys;

/// RAM, or the least memory that a control group leaves to this process, bytes. Zero if the kernel tells neither.
#[must_use]
pub fn read() -> u64 {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let ram = Some(sys::ram_bytes()).filter(|bytes| *bytes > 0);
    ram.into_iter().chain(of_groups(&groups, Path::new("/sys/fs/cgroup"))).min().unwrap_or(0)
}

/// The least limit of these groups, as `/proc/self/cgroup` names them, and of those that they are in. `root`: where
/// control groups are mounted.
fn of_groups(groups: &str, root: &Path) -> Option<u64> {
    let limits = groups.lines().filter_map(|line| {
        let (_, line) = line.split_once(':')?;
        let (kinds, group) = line.split_once(':')?;
        // Version 2 has one tree, version 1 one for each kind of resource.
        match kinds {
            "" => of_group(group, root, "memory.max"),
            _ if kinds.split(',').any(|kind| kind == "memory") => {
                of_group(group, &root.join("memory"), "memory.limit_in_bytes")
            }
            _ => None,
        }
    });
    limits.min()
}

/// The least number in `file` of a group and of all groups that it is in.
fn of_group(group: &str, tree: &Path, file: &str) -> Option<u64> {
    let group = Path::new(group.trim_start_matches('/'));
    // A group outside of what this process sees: then only the root of that is left.
    let is_outside = group.components().any(|part| part == Component::ParentDir);
    let group = if is_outside { Path::new("") } else { group };
    let limits = group.ancestors().filter_map(|group| {
        let text = fs::read_to_string(tree.join(group).join(file)).ok()?;
        // `max`: no limit.
        text.trim().parse().ok()
    });
    limits.min()
}

/// The control group of this process, if the kernel counts the memory of it (version 2, and not the group of all).
#[derive(Debug)]
pub struct Group(PathBuf);

impl Group {
    /// That of this process.
    #[must_use]
    pub fn own() -> Option<Self> {
        let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
        Self::of(&groups, Path::new("/sys/fs/cgroup"))
    }

    fn of(groups: &str, root: &Path) -> Option<Self> {
        let name = Path::new(groups.lines().find_map(|line| line.strip_prefix("0::/"))?);
        let is_inside = name.components().all(|part| matches!(part, Component::Normal(_)));
        let group = is_inside.then(|| Self(root.join(name)))?;
        group.unreclaimable_bytes().map(|_| group)
    }

    /// What the kernel cannot take back from the group as long as somebody needs it, bytes: files in memory, memory of
    /// the kernel itself such as what pipes hold, and what was swapped out. `None` if it does not tell.
    #[must_use]
    pub fn unreclaimable_bytes(&self) -> Option<u64> {
        let stat = fs::read_to_string(self.0.join("memory.stat")).ok()?;
        let of = |name: &str| -> Option<u64> {
            stat.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok())
        };
        let swapped = fs::read_to_string(self.0.join("memory.swap.current")).ok()?;
        let swapped: u64 = swapped.trim().parse().ok()?;
        Some(of("shmem")?.saturating_add(of("kernel")?).saturating_add(swapped))
    }
}

#[cfg(test)]
mod tests;
