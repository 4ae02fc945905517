//! What call sites hand over: values of annotations, in an array of the call site.

use super::annotate::{Annotate, Simple};

/// The value of an annotation.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub enum AnnotationValue<'a> {
    /// Of a basic type, or nothing.
    Simple(Simple<'a>),
    /// It writes itself.
    Other(&'a dyn Annotate),
}

impl core::fmt::Debug for AnnotationValue<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("AnnotationValue")
    }
}

/// The value that a reference refers to.
#[inline(always)]
pub fn annotation_value<'a, T: Annotate + ?Sized>(value: &'a &'a T) -> AnnotationValue<'a> {
    (**value).simple().map_or(AnnotationValue::Other(value), AnnotationValue::Simple)
}
