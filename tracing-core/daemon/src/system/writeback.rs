//! Having files written to the disk before somebody waits for it.
#![allow(unsafe_code)]

use std::os::fd::{AsRawFd as _, OwnedFd};

/// Has the disk begin with all of a file that is not there yet. Waits for room in its queue, but not for the
/// data; what goes wrong is told to whoever waits for that.
pub fn begin(file: &OwnedFd) {
    let (from, to_the_end) = (0, 0);
    // SAFETY: plain numbers go in and out; the descriptor is open, because it is borrowed.
    let _ = unsafe {
        libc::sync_file_range(file.as_raw_fd(), from, to_the_end, libc::SYNC_FILE_RANGE_WRITE)
    };
}
