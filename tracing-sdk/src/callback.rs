//! Calls into code of the program.

use core::fmt;
use std::any::Any;

use crate::inside::catch;

/// Runs `work`, which is `what`. A panic is reported; then there is no result.
pub(crate) fn run<R>(what: fmt::Arguments<'_>, work: impl FnOnce() -> R) -> Option<R> {
    catch(work).map_err(|panic| tell(what, &*panic)).ok()
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
