//! What the kernel enforces for groups of processes, in either version of its control groups: a limit of memory, and
//! shares of the processors.

use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::Outcome;

/// A group of processes with a limit; removed when it is dropped.
pub struct Cgroup {
    folder: PathBuf,
    /// Bytes.
    pub limit: u64,
}

/// The folder of groups, and the names of limit and peak in it.
const VERSIONS: [(&str, &str, &str); 2] = [
    ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.max_usage_in_bytes"),
    ("/sys/fs/cgroup", "memory.max", "memory.peak"),
];

impl Cgroup {
    /// Makes one for processes that may use `limit` bytes.
    ///
    /// # Errors
    /// This process may not, or the kernel does not limit memory.
    pub fn make(limit: u64) -> Outcome<Self> {
        let mut reason = String::new();
        for (root, file, _) in VERSIONS {
            let folder = Path::new(root).join(format!("siege-{}", std::process::id()));
            if let Err(error) = fs::create_dir(&folder) {
                reason = format!("{}: {error}", folder.display());
                continue;
            }
            let group = Self { folder, limit };
            match fs::write(group.folder.join(file), limit.to_string()) {
                Ok(()) => return Ok(group),
                Err(error) => reason = format!("{file}: {error}"),
            }
        }
        Err(reason)
    }

    /// The file that takes the number of a process.
    pub fn processes(&self) -> PathBuf {
        self.folder.join("cgroup.procs")
    }

    /// What is used now, bytes.
    pub fn current(&self) -> Outcome<u64> {
        let names = ["memory.usage_in_bytes", "memory.current"];
        let text = names.iter().find_map(|name| fs::read_to_string(self.folder.join(name)).ok());
        text.and_then(|text| text.trim().parse().ok()).ok_or_else(|| "no use of memory".to_owned())
    }

    /// The most that was used at a time, bytes.
    pub fn peak(&self) -> Outcome<u64> {
        let text =
            VERSIONS.iter().find_map(|(.., file)| fs::read_to_string(self.folder.join(file)).ok());
        text.and_then(|text| text.trim().parse().ok()).ok_or_else(|| "no peak of memory".to_owned())
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.folder);
    }
}

/// What a group gets of the processors in relation to other groups, in systemd's units (`CPUWeight`).
#[derive(Clone, Copy)]
pub struct CpuWeight(pub u32);

impl CpuWeight {
    /// What systemd gives where nothing is said.
    pub const DEFAULT: Self = Self(100);
}

/// A group of processes with a share of the processors; removed when it is dropped.
pub struct CpuShare {
    folder: PathBuf,
}

/// The folders of groups with shares of the processors, the file with the share, and what it has for
/// [`CpuWeight::DEFAULT`]. Where all groups are in one tree, the root must hand the shares on.
const CPU_ROOTS: [(&str, &str, u32, bool); 2] = [
    ("/sys/fs/cgroup/cpu", "cpu.shares", 1024, false),
    ("/sys/fs/cgroup", "cpu.weight", 100, true),
];

impl CpuShare {
    /// Makes one and moves process `pid` into it. The threads and processes that it starts from now on are in it, too.
    ///
    /// # Errors
    /// This process may not, or the kernel has no such groups.
    pub fn give(pid: u32, weight: CpuWeight) -> Outcome<Self> {
        let mut reason = String::new();
        for (root, file, default, hands_on) in CPU_ROOTS {
            let root = Path::new(root);
            let folder = root.join(format!("siege-cpu-{pid}"));
            let made = match hands_on {
                true => fs::write(root.join("cgroup.subtree_control"), "+cpu"),
                false => Ok(()),
            };
            if let Err(error) = made.and_then(|()| fs::create_dir(&folder)) {
                reason = format!("{}: {error}", folder.display());
                continue;
            }
            let group = Self { folder };
            let share = (weight.0 * default / CpuWeight::DEFAULT.0).to_string();
            let written = fs::write(group.folder.join(file), share)
                .and_then(|()| fs::write(group.folder.join("cgroup.procs"), pid.to_string()));
            match written {
                Ok(()) => return Ok(group),
                Err(error) => reason = format!("{}: {error}", group.folder.display()),
            }
        }
        Err(reason)
    }
}

impl Drop for CpuShare {
    fn drop(&mut self) {
        // The kernel takes a moment to forget a process that has ended.
        for _ in 0..1000 {
            match fs::remove_dir(&self.folder) {
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                    std::thread::yield_now()
                }
                _ => return,
            }
        }
    }
}
