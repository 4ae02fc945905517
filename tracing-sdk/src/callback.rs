//! Calls into code of the program.

use core::fmt;
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

/// Runs `work`, which is `what`. A panic is reported; then there is no result.
pub(crate) fn run<R>(what: fmt::Arguments<'_>, work: impl FnOnce() -> R) -> Option<R> {
    catch(work).map_err(|panic| tell(what, &*panic)).ok()
}

/// Runs `work`, and returns what it panics with.
pub(crate) fn catch<R>(work: impl FnOnce() -> R) -> Result<R, Box<dyn Any + Send>> {
    let before = IN_CALLBACK.try_with(|inside| inside.replace(true)).unwrap_or(true);
    // What the panic leaves behind is a value of the program. The library uses none of its own in `work`.
    let result = catch_unwind(AssertUnwindSafe(work));
    let _ = IN_CALLBACK.try_with(|inside| inside.set(before));
    result
}

/// One function for all callbacks.
#[cold]
#[inline(never)]
fn tell(what: fmt::Arguments<'_>, panic: &(dyn Any + Send)) {
    crate::report::report!("{what} panicked, and the session goes on without it: {}", text(panic));
}

fn text(panic: &(dyn Any + Send)) -> &str {
    match (panic.downcast_ref::<&'static str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (None, Some(text)) => text,
        (None, None) => "a value that is no text",
    }
}
