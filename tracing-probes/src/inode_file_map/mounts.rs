//! `/proc/self/mountinfo`: where the file systems of devices are.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::parse::{lines, number, words};

/// A file system at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mount {
    /// As user space numbers it: what events name.
    pub(super) device: u64,
    /// An absolute path.
    pub(super) point: PathBuf,
}

/// The mounts, in the order of the file. A line that does not parse is skipped.
pub(super) fn mounts(text: &[u8]) -> Vec<Mount> {
    lines(text).filter_map(mount).collect()
}

/// `36 35 98:0 /root /mnt\040point rw,noatime master:1 - ext3 /dev/root rw`
fn mount(line: &[u8]) -> Option<Mount> {
    let mut words = words(line).skip(2);
    let device = words.next()?;
    let point = unescaped(words.nth(1)?);
    let colon = device.iter().position(|byte| *byte == b':')?;
    let part = |digits: &[u8]| u32::try_from(number(digits)?).ok();
    let (major, minor) = (part(device.get(..colon)?)?, part(device.get(colon + 1..)?)?);
    let device = rustix::fs::makedev(major, minor);
    point.starts_with(b"/").then(|| Mount { device, point: OsStr::from_bytes(&point).into() })
}

/// A path without the kernel's escapes: `\` and three octal digits, for blanks and backslashes.
fn unescaped(path: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        let digits = after.get(..3).filter(|_| *byte == b'\\');
        let octal = digits.and_then(|digits| str::from_utf8(digits).ok());
        match octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(escaped) => {
                out.push(escaped);
                rest = after.get(3..).unwrap_or_default();
            }
            None => out.push(*byte),
        }
    }
    out
}
