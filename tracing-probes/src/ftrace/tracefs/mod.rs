//! The files of tracefs: what can be done to them, below one directory.
//!
//! ```text
//! controller, mux ──> dyn Tracefs ──┬── Mounted: the kernel's files, below a root
//!                                   └── Fake: a tree in memory that answers as the kernel does (tests)
//! ```
//!
//! Paths are relative to the root, with `/` between their parts. A path with an empty part, `.`, `..` or a NUL is
//! refused: names of events and instances come from configs.
//!
//! Control files are no regular files. None has a known length, so they are read until a read gives 0 bytes. A write
//! is a command: it may be refused, change other files, or be a command for each word. `O_APPEND` adds, `O_TRUNC`
//! clears, and a plain write does what the file says.

#[cfg(test)]
pub(super) mod fake;
mod mounted;
mod rings;
mod text;

#[cfg(test)]
mod tests;

pub use self::mounted::FTRACE_ROOTS;
pub(crate) use self::mounted::{Mounted, find_root};
pub(crate) use self::rings::ring_stats;
pub(crate) use self::text::{
    BufferKb, CpuStats, KprobeProfile, Stamp, buffer_kb, clocks, cpu_list, cpu_stats, cpus_of_mask,
    events_listed, functions_listed, kprobe_profile, mask_of_cpus, printk_formats,
};

use std::io;
use std::os::fd::BorrowedFd;

use super::drain::Pipe;

/// Longest control file that is read, bytes. A longer one is an error: half of a setting cannot be put back.
pub(crate) const FILE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// What can be done to the files below a root of tracefs.
pub(crate) trait Tracefs {
    /// All of a control file.
    ///
    /// # Errors
    /// The kernel's, or a file longer than [`FILE_BYTES_MAX`].
    fn read(&self, path: &str) -> io::Result<Vec<u8>>;

    /// Writes all of `bytes` to a file that exists.
    fn write(&self, path: &str, bytes: &[u8]) -> io::Result<()>;

    /// Writes all of `bytes` to a file that exists, which keeps what it has.
    fn append(&self, path: &str, bytes: &[u8]) -> io::Result<()>;

    /// Opens a file so that it is cleared.
    fn truncate(&self, path: &str) -> io::Result<()>;

    /// Is there such a file or folder?
    fn exists(&self, path: &str) -> bool;

    /// The names of the folders in a folder, sorted.
    fn folders(&self, path: &str) -> io::Result<Vec<String>>;

    /// Makes a folder: an instance.
    #[cfg_attr(not(test), expect(dead_code, reason = "tests make instances of their own"))]
    fn make_folder(&self, path: &str) -> io::Result<()>;

    /// Removes a folder: an instance.
    #[cfg_attr(not(test), expect(dead_code, reason = "tests make instances of their own"))]
    fn remove_folder(&self, path: &str) -> io::Result<()>;

    /// Opens the raw pipe of a CPU. Its reads do not block.
    fn open_pipe(&self, path: &str) -> io::Result<Box<dyn PolledPipe>>;
}

/// A pipe that can be waited for.
pub(crate) trait PolledPipe: Pipe {
    /// What `poll` waits for. `None`: nothing can be waited for.
    fn fd(&self) -> Option<BorrowedFd<'_>>;

    /// What `poll` says now.
    fn polled(&self) -> Polled;
}

/// What `poll` says of the pipe of a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Polled {
    /// The ring is less full than `buffer_percent`.
    Waits,
    /// The ring is as full as that.
    Ready,
    /// It cannot be waited for: the CPU was never on, or the kernel has no such poll.
    Broken,
}

/// The directory of tracefs that a data source uses, with the names of its files.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Directory {
    /// Empty for the root, else with `/` at its end.
    prefix: String,
}

impl Directory {
    /// The main one.
    pub(crate) fn root() -> Self {
        Self { prefix: String::new() }
    }

    /// The directory of an instance: the one with this name, which exists. A hypervisor's is beside `instances`.
    ///
    /// # Errors
    /// There is none that can be read.
    pub(crate) fn instance(tracefs: &dyn Tracefs, name: &str) -> Result<Self, String> {
        let mut prefixes = vec![format!("instances/{name}/")];
        if matches!(name, "hyp" | "hypervisor") {
            prefixes.insert(0, format!("{name}/"));
        }
        let found = prefixes.into_iter().find(|p| tracefs.exists(&format!("{p}trace")));
        let missing = || {
            format!(
                "instance_name: tracefs has no instance `{name}`; make it first: mkdir instances/{name} in tracefs"
            )
        };
        found.map(|prefix| Self { prefix }).ok_or_else(missing)
    }

    /// Is it the main one?
    pub(crate) fn is_root(&self) -> bool {
        self.prefix.is_empty()
    }

    /// CPUs that the kernel has rings for, whether they are on or not.
    pub(crate) fn cpus(&self, tracefs: &dyn Tracefs) -> u32 {
        let names = tracefs.folders(&self.path("per_cpu")).unwrap_or_default();
        let numbers = names.iter().filter_map(|name| name.strip_prefix("cpu")?.parse::<u32>().ok());
        // Readers of a trace refuse a CPU above 1023.
        numbers.max().map_or(0, |last| last.min(1023) + 1)
    }

    /// The path of a file of it.
    pub(crate) fn path(&self, file: &str) -> String {
        format!("{}{file}", self.prefix)
    }

    /// A name for texts and for the file of a record: `root`, or the name of the instance.
    pub(crate) fn name(&self) -> &str {
        match self.prefix.trim_end_matches('/').rsplit('/').next() {
            None | Some("") => "root",
            Some(name) => name,
        }
    }
}

/// Is it a path that leads to a file below the root?
pub(crate) fn is_below(path: &str) -> bool {
    !path.is_empty() && path.split('/').all(is_part)
}

/// Is it one part of a path, and no way out of the folder?
pub(crate) fn is_part(part: &str) -> bool {
    !matches!(part, "" | "." | "..") && part.bytes().all(|b| b != 0 && b != b'/')
}
