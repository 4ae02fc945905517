//! Files and processes, read without an effect.

use std::path::Path;

use rustix::fs::{Access, AtFlags, CWD, accessat};

use super::super::facts::{Owner, Process};

/// May this process do that with a file?
pub(super) fn may(path: &Path, access: Access) -> bool {
    accessat(CWD, path, access, AtFlags::EACCESS).is_ok()
}

/// A short file as text, without white space around it. Empty if it cannot be read.
pub(super) fn text(path: impl AsRef<Path>) -> String {
    use std::io::Read;
    let mut bytes = Vec::new();
    if let Ok(file) = std::fs::File::open(path) {
        // What came before an error counts.
        let _ = file.take(TEXT_BYTES_MAX).read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).trim().to_owned()
}

/// Longest file that is read, bytes.
const TEXT_BYTES_MAX: u64 = 1 << 20;

pub(super) fn owner(path: &Path) -> Option<Owner> {
    use std::os::unix::fs::MetadataExt;
    let metadata = std::fs::metadata(path).ok()?;
    Some(Owner {
        uid: metadata.uid(),
        gid: metadata.gid(),
        mode: metadata.mode() & 0o777,
        group: group_name(&text("/etc/group"), metadata.gid()),
    })
}

/// The name of a group, in the text of `/etc/group`.
pub(super) fn group_name(groups: &str, gid: u32) -> Option<String> {
    let line = |line: &str| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(gid)).then(|| name.to_owned())
    };
    groups.lines().find_map(line)
}

/// A process that runs.
pub(super) fn process(pid: i32) -> Process {
    let status = text(format!("/proc/{pid}/status"));
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
    Process {
        pid,
        name: field("Name:").unwrap_or("a process").trim().to_owned(),
        is_stopped: field("State:").is_some_and(|state| state.trim_start().starts_with(['T', 't'])),
    }
}
