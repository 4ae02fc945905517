//! Names for several traces of one kind: `panic.pftrace`, `panic-2.pftrace`, `panic-3.pftrace` ...
//!
//! There is a limit to how many of them a folder gets. A name that is free is taken first, then that of the oldest
//! file.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The name of number `number`, from 1.
fn numbered(path: &Path, number: usize) -> PathBuf {
    if number <= 1 {
        return path.to_owned();
    }
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{number}"));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

/// The name for the next trace: one of the first `count_max` numbers, which no file has, or that of the file that was
/// written first. Files in `kept` stay as they are; if there are no others, there is no name. A pipe or a device has no
/// numbers.
pub(super) fn next(path: &Path, count_max: usize, kept: &[PathBuf]) -> Option<PathBuf> {
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return Some(path.to_owned());
    }
    let mut oldest: Option<(SystemTime, PathBuf)> = None;
    for number in 1..=count_max.max(1) {
        let path = numbered(path, number);
        if kept.contains(&path) {
            continue;
        }
        let Ok(found) = fs::metadata(&path) else { return Some(path) };
        let written = found.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        if oldest.as_ref().is_none_or(|(other, _)| written < *other) {
            oldest = Some((written, path));
        }
    }
    oldest.map(|(_, path)| path)
}
