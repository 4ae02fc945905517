//! A value whose destructor is a function of its own.
//!
//! The compiler makes the code that drops a value anew in each unit of code that may drop it, with all that is in the
//! value, and once more for a panic in the middle. The state of a service is maps in maps, so this was a tenth of its
//! code. A function with a name is there once in a crate.
#![allow(unsafe_code, reason = "a value is dropped in place; see SAFETY.md")]

use core::mem::ManuallyDrop;
use core::ops::{Deref, DerefMut};

/// A `T` that is dropped by a call. A destructor that panics ends the process.
///
/// O1: the value is there until the destructor runs: nothing else drops it or moves it out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outlined<T>(ManuallyDrop<T>);

impl<T> Outlined<T> {
    /// Holds `value`.
    pub const fn new(value: T) -> Self {
        Self(ManuallyDrop::new(value))
    }
}

impl<T> Deref for Outlined<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Outlined<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T> Drop for Outlined<T> {
    #[inline(always)]
    fn drop(&mut self) {
        end(&mut self.0);
    }
}

/// Drops the value. Of the calling convention `C`, which cannot unwind, so that callers need no code for a panic.
#[inline(never)]
extern "C" fn end<T>(value: &mut ManuallyDrop<T>) {
    // SAFETY: the value is there (O1), and the only caller is the destructor of its owner, which runs once.
    unsafe { ManuallyDrop::drop(value) }
}
