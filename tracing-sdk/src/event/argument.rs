//! What call sites hand over: values of annotations, in an array of the call site.

use super::annotate::{Annotate, Simple};

/// The value of an annotation.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub enum Argument<'a> {
    /// Of a basic type, or nothing.
    Simple(Simple<'a>),
    /// It writes itself.
    Other(&'a dyn Annotate),
}

impl core::fmt::Debug for Argument<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Argument")
    }
}

/// The argument that a reference stands for.
#[inline(always)]
pub fn argument<'a, T: Annotate + ?Sized>(value: &'a &'a T) -> Argument<'a> {
    (**value).simple().map_or(Argument::Other(value), Argument::Simple)
}
