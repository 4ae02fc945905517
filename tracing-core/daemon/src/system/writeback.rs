//! Writing to the disk in advance, so that a later sync waits less.
#![allow(unsafe_code)]

use std::fs::File;
use std::os::fd::AsRawFd as _;

/// Starts writing the unwritten parts of a file to the disk. Waits for room in the queue of the disk, but not for
/// the data. An error of the disk is reported by the later sync.
pub fn begin(file: &File) {
    let (from, to_the_end) = (0, 0);
    // SAFETY: plain numbers go in and out; the descriptor is open, because it is borrowed.
    let _ = unsafe {
        libc::sync_file_range(file.as_raw_fd(), from, to_the_end, libc::SYNC_FILE_RANGE_WRITE)
    };
}
