//! Threads with a table of descriptors of their own.
//!
//! The threads of a process share one table: a number is the same file for all of them. A thread can have a copy of it,
//! in which it opens and closes descriptors alone. The kernel closes what is left in the copy when the thread ends.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::RawFd;

/// The input and the two outputs of a process.
const STANDARD: u32 = 3;

/// Gives the calling thread a copy of the table. It takes no signals from then on, and neither do threads that it
/// starts: the handler of one may use a descriptor of the process.
///
/// # Errors
/// When the system has no memory for it, or does not let this process have one.
///
/// # Safety
/// From then on the thread uses and closes no descriptor that another thread opens, closes or owns. Of those that were
/// open before the call it owns a copy of each, which it may take by its number.
pub unsafe fn unshare_descriptors() -> io::Result<()> {
    let mut all = core::mem::MaybeUninit::uninit();
    // SAFETY: `all` is ours alone, and large enough for a set of signals.
    let _ = unsafe { libc::sigfillset(all.as_mut_ptr()) };
    // SAFETY: `all` was just filled, and the call reads it. It stores no other mask.
    let blocked =
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, all.as_ptr(), core::ptr::null_mut()) };
    if blocked != 0 {
        return Err(io::Error::from_raw_os_error(blocked));
    }
    // SAFETY: the call takes a number. What it does to the descriptors of this thread is the caller's part.
    crate::sys::checked(unsafe { libc::unshare(libc::CLONE_FILES) }).map(drop)
}

/// As [`unshare_descriptors`]; then it closes all copies but that of `fd`. The input and the outputs of the thread are
/// `fd` from then on: copies of those of the process would keep pipes open that a program in the background has left.
///
/// # Errors
/// As there, and before Linux 5.9. The thread must end then, because it may have copies of all descriptors.
///
/// # Safety
/// As there.
pub unsafe fn unshare_all_but(fd: RawFd) -> io::Result<()> {
    // SAFETY: the caller's part.
    unsafe { unshare_descriptors()? };
    let number = fd.cast_unsigned();
    for (first, last) in
        [(STANDARD, number.saturating_sub(1)), (number.saturating_add(1), u32::MAX)]
    {
        if first <= last {
            let flags: libc::c_uint = 0;
            // SAFETY: the call takes numbers. These descriptors are in the table of this thread alone, and nothing owns
            // them.
            let closed = unsafe { libc::syscall(libc::SYS_close_range, first, last, flags) };
            crate::sys::checked(libc::c_int::try_from(closed).unwrap_or(-1))?;
        }
    }
    for standard in 0..STANDARD {
        // SAFETY: as above.
        crate::sys::checked(unsafe { libc::dup2(fd, standard.cast_signed()) })?;
    }
    Ok(())
}
