//! Functions that run when this process exits or forks.
//!
//! An entry is never removed, so the code of the function must stay loaded.

#[cfg(not(miri))]
use crate::sys;

/// Calls `run` when the process exits: on the thread that called `exit` or returned from `main`, whose values of
/// `thread_local!` are gone by then. Not after a signal or an abort. False if that is not possible.
pub fn at_exit(run: extern "C" fn()) -> bool {
    #[cfg(miri)]
    return core::hint::black_box(run as usize) == 0;
    #[cfg(not(miri))]
    sys::at_exit(run)
}

/// Calls `before` on a thread that is about to fork, then `in_parent` and `in_child` on that thread in both processes.
/// False if that is not possible.
///
/// The child has no other thread, and locks that another thread held stay locked in it: `in_child` may take only those
/// that `before` took.
pub fn at_fork(
    before: extern "C" fn(),
    in_parent: extern "C" fn(),
    in_child: extern "C" fn(),
) -> bool {
    #[cfg(miri)]
    return core::hint::black_box([before, in_parent, in_child].len()) == 0;
    #[cfg(not(miri))]
    sys::at_fork(before, in_parent, in_child)
}
