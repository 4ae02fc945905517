//! The files of `/proc` about one process (`proc(5)`).

use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;

use crate::recorder::command::process_tree::Image;

/// Arguments are cut after this many bytes: a process may have megabytes of them.
const CMDLINE_BYTES_MAX: u64 = 32 * 1024;

impl Image {
    /// What process `pid` runs. `None`: there is no such process any more. Of a process that has ended and
    /// was not waited for, only the name is known.
    pub(super) fn read(pid: i32) -> Option<Self> {
        let uid = fs::metadata(format!("/proc/{pid}")).ok()?.uid();
        let name = fs::read(format!("/proc/{pid}/comm")).ok()?;
        let mut bytes = Vec::new();
        let file = fs::File::open(format!("/proc/{pid}/cmdline")).ok()?;
        file.take(CMDLINE_BYTES_MAX).read_to_end(&mut bytes).ok()?;
        let name = String::from_utf8_lossy(name.trim_ascii_end()).into_owned();
        Some(Self { name, cmdline: split_cmdline(&bytes), uid })
    }
}

/// Arguments end with a zero byte each.
fn split_cmdline(bytes: &[u8]) -> Vec<String> {
    let bytes = bytes.strip_suffix(b"\0").unwrap_or(bytes);
    if bytes.is_empty() {
        return Vec::new();
    }
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    bytes.split(|byte| *byte == 0).map(text).collect()
}

/// State and parent of a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stat {
    pub parent: i32,
    /// It has ended, whether or not its parent has waited for it.
    pub has_ended: bool,
}

impl Stat {
    pub(super) fn read(pid: i32) -> Option<Self> {
        Self::parse(&fs::read(format!("/proc/{pid}/stat")).ok()?)
    }

    /// `PID (NAME) STATE PARENT ...`; the name may have parentheses and spaces.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let end = bytes.iter().rposition(|byte| *byte == b')')?;
        let text = std::str::from_utf8(bytes.get(end + 1..)?).ok()?;
        let mut fields = text.split_ascii_whitespace();
        let has_ended = matches!(fields.next()?, "Z" | "X" | "x");
        Some(Self { parent: fields.next()?.parse().ok()?, has_ended })
    }
}

/// How to find the children of a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ChildLists {
    /// Each thread has a list (a kernel with `CONFIG_PROC_CHILDREN`).
    OfThreads,
    /// Every process of the machine is asked for its parent.
    OfMachine,
}

impl ChildLists {
    /// What this kernel has.
    pub(super) fn detect() -> Self {
        match fs::exists("/proc/thread-self/children") {
            Ok(true) => Self::OfThreads,
            _ => Self::OfMachine,
        }
    }

    /// Pairs of parent and child; the parents among `pids`.
    pub(super) fn children(self, pids: &[i32]) -> Vec<(i32, i32)> {
        match self {
            Self::OfThreads => pids
                .iter()
                .flat_map(|&pid| children_of(pid).into_iter().map(move |child| (pid, child)))
                .collect(),
            Self::OfMachine => numbers("/proc")
                .filter_map(|pid| Some((Stat::read(pid)?.parent, pid)))
                .filter(|(parent, _)| pids.contains(parent))
                .collect(),
        }
    }
}

fn children_of(pid: i32) -> Vec<i32> {
    let mut children = Vec::new();
    for thread in numbers(&format!("/proc/{pid}/task")) {
        let list = fs::read_to_string(format!("/proc/{pid}/task/{thread}/children"));
        let list = list.unwrap_or_default();
        children.extend(list.split_ascii_whitespace().filter_map(|pid| pid.parse::<i32>().ok()));
    }
    children
}

/// Entries of `directory` that are numbers.
fn numbers(directory: &str) -> impl Iterator<Item = i32> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

#[cfg(test)]
mod tests;
