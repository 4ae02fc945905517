//! What killed recordings of other users have left. Root is told of it, and does not use it: the records are for their
//! users.
//!
//! Trust: names, folders and files are those of any user. A folder counts if it is of the user that its path names, and
//! nobody else may write to it; no link is followed; and of a file it is read whether it is of this boot.

use std::ffi::CStr;
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use os::process;
use rustix::fs::{CWD, Dir, FileType, Mode, OFlags, fstat, openat};

use super::super::super::mux::{RECORD_SUFFIX, record_header};
use super::{IN_TMP, OF_SESSION, RECORDS, TMP, boot};
use crate::Root;

/// The folder with the folders of sessions, by user.
const SESSIONS: &str = "run/user";
/// Names that are read of a folder that any user may write to.
const NAMES_MAX: usize = 1 << 20;
/// Files of one user that are looked at.
const FILES_MAX: usize = 4096;
/// Users that are listed.
const USERS_MAX: usize = 256;

/// The records of recordings of one user, which run or were killed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FtraceRecords {
    /// The user.
    pub uid: u32,
    /// The folder of the records.
    pub folder: PathBuf,
    /// How many of this boot there are.
    pub count: usize,
}

/// The records of other users than that of this process, as far as it may read them. Changes nothing.
#[must_use]
pub fn ftrace_records_of_others() -> Vec<FtraceRecords> {
    of_others(&Root::system(), process::effective_uid())
}

/// The records of users other than `own_uid`, in the order of users.
pub(super) fn of_others(root: &Root, own_uid: u32) -> Vec<FtraceRecords> {
    let header = record_header(&boot(root));
    // A unit of systemd may have made it for any user.
    let of_unit = std::iter::once((None, root.join(RECORDS)));
    let sessions = root.join(SESSIONS);
    let of_sessions =
        uids(&sessions, "").map(|uid| (Some(uid), sessions.join(uid.to_string()).join(OF_SESSION)));
    let tmp = root.join(TMP);
    let in_tmp = uids(&tmp, IN_TMP).map(|uid| (Some(uid), tmp.join(format!("{IN_TMP}{uid}"))));
    let folders = of_unit.chain(of_sessions).chain(in_tmp);
    let records = folders.filter_map(|(uid, folder)| read(uid, folder, header.as_bytes()));
    let mut records: Vec<_> =
        records.filter(|records| records.uid != own_uid).take(USERS_MAX).collect();
    records.sort_unstable_by_key(|records| records.uid);
    records
}

/// The users whose numbers stand after `prefix` in names of a folder.
fn uids(folder: &Path, prefix: &str) -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().take(NAMES_MAX).flatten();
    entries.filter_map(move |entry| {
        let name = entry.file_name();
        let digits = name.to_str()?.strip_prefix(prefix)?;
        digits.parse().ok().filter(|uid: &u32| uid.to_string() == digits)
    })
}

/// The records in a folder, which must be of `uid` if that is known. `None`: it has none, or is no such folder.
fn read(uid: Option<u32>, folder: PathBuf, header: &[u8]) -> Option<FtraceRecords> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let open = openat(CWD, &folder, flags, Mode::empty()).ok()?;
    let stat = fstat(&open).ok()?;
    if uid.is_some_and(|uid| uid != stat.st_uid) || stat.st_mode & 0o022 != 0 {
        return None;
    }
    let entries = Dir::read_from(&open).ok()?.take(FILES_MAX).flatten();
    let is_record = |name: &CStr| {
        name.to_bytes().ends_with(RECORD_SUFFIX.as_bytes())
            && is_of_boot(&open, name, stat.st_uid, header)
    };
    let count = entries.filter(|entry| is_record(entry.file_name())).count();
    (count != 0).then_some(FtraceRecords { uid: stat.st_uid, folder, count })
}

/// Whether a record of `uid` begins as those of this boot do.
fn is_of_boot(folder: &OwnedFd, name: &CStr, uid: u32, header: &[u8]) -> bool {
    // A pipe must not make it wait.
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let Ok(file) = openat(folder, name, flags, Mode::empty()) else { return false };
    let is_file = fstat(&file).is_ok_and(|stat| {
        FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile && stat.st_uid == uid
    });
    let mut begin = Vec::new();
    is_file
        && File::from(file).take(header.len() as u64).read_to_end(&mut begin).is_ok()
        && begin == header
}
