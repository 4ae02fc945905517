//! The names that the files of `abi` know, without `std`.

pub use core::sync::atomic::{AtomicU32, Ordering};

/// There is one thread.
pub fn yield_now() {
    core::hint::spin_loop();
}
