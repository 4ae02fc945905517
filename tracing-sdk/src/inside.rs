//! Whether a thread is inside code of the program that the library called.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static IN_CALLBACK: Cell<bool> = const { Cell::new(false) };
}

/// Whether the calling thread is one of the library's that runs code of the program, or inside an interceptor. A
/// service may wait for it.
pub(crate) fn in_callback() -> bool {
    IN_CALLBACK.try_with(Cell::get).unwrap_or(false)
}

/// Runs `work`, and returns what it panics with.
pub(crate) fn catch<R>(work: impl FnOnce() -> R) -> Result<R, Box<dyn Any + Send>> {
    let before = IN_CALLBACK.try_with(|inside| inside.replace(true)).unwrap_or(true);
    // What the panic leaves behind is a value of the program. The library uses none of its own in `work`.
    let result = catch_unwind(AssertUnwindSafe(work));
    let _ = IN_CALLBACK.try_with(|inside| inside.set(before));
    result
}
