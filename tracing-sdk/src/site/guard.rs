//! Guards of open slices.

use core::marker::PhantomData;

use crate::sequence::thread::{self, Written};
use crate::sequence::{Fill, Spec};
use crate::track::Track;

/// An open slice on the track of a thread. It ends when this is dropped, also by a panic.
///
/// Only sessions that got the beginning get the end, so that it never closes another slice. A guard that is leaked
/// leaves the slice open.
#[must_use = "the slice ends when the guard is dropped: name it, as in `let _slice = slice!(..)`"]
#[derive(Debug)]
pub struct Slice {
    written: Written,
    /// It must end on the thread on which it began.
    not_send: PhantomData<*const ()>,
}

impl Slice {
    /// A slice that no session records.
    #[doc(hidden)]
    pub const OFF: Self =
        Self { written: Written { bits: 0, last_serial: 0 }, not_send: PhantomData };

    pub(crate) fn new(written: Written) -> Self {
        Self { written, not_send: PhantomData }
    }

    /// Ends the slice.
    pub fn end(self) {}

    /// Whether a session records this slice.
    #[must_use]
    pub fn is_recorded(&self) -> bool {
        self.written.bits != 0
    }

    /// Ends the slice with arguments: see [`end!`](crate::end).
    #[doc(hidden)]
    pub fn end_with(mut self, fill: &mut Fill<'_>) {
        let written = core::mem::take(&mut self.written);
        if written.bits != 0 {
            thread::write_to(written, &Spec::end(None), Some(fill));
        }
    }
}

impl Drop for Slice {
    #[inline]
    fn drop(&mut self) {
        if self.written.bits != 0 {
            thread::write_to(self.written, &Spec::end(None), None);
        }
    }
}

/// An open slice on a track that the program named. It may be sent to another thread, and ends when it is dropped.
#[must_use = "the slice ends when the guard is dropped: name it, as in `let _slice = slice!(..)`"]
#[derive(Debug)]
pub struct TrackSlice<'a> {
    written: Written,
    track: Track<'a>,
}

impl<'a> TrackSlice<'a> {
    pub(crate) fn new(written: Written, track: Track<'a>) -> Self {
        Self { written, track }
    }

    /// A slice that no session records.
    #[doc(hidden)]
    pub const fn off() -> Self {
        Self { written: Written { bits: 0, last_serial: 0 }, track: Track::GLOBAL }
    }

    /// Ends the slice.
    pub fn end(self) {}

    /// Whether a session records this slice.
    #[must_use]
    pub fn is_recorded(&self) -> bool {
        self.written.bits != 0
    }

    /// Ends the slice with arguments: see [`end!`](crate::end).
    #[doc(hidden)]
    pub fn end_with(mut self, fill: &mut Fill<'_>) {
        let written = core::mem::take(&mut self.written);
        if written.bits != 0 {
            thread::write_to(written, &Spec::end(Some(&self.track)), Some(fill));
        }
    }
}

impl Drop for TrackSlice<'_> {
    fn drop(&mut self) {
        if self.written.bits != 0 {
            thread::write_to(self.written, &Spec::end(Some(&self.track)), None);
        }
    }
}
