//! Guards of open slices.

use core::marker::PhantomData;

use protos::TrackEventType;

use crate::sequence::thread::{self, Written};
use crate::sequence::{EventName, Fill, Spec};
use crate::track::Track;

/// The end of a slice never has a name: a reader closes the innermost open slice.
pub(crate) const fn end_spec<'a>(track: Option<&'a Track<'a>>) -> Spec<'a, 'a> {
    Spec {
        kind: TrackEventType::TYPE_SLICE_END,
        members: None,
        name: EventName::None,
        track,
        time_ns: None,
        value: None,
    }
}

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
            thread::write_to(written, &end_spec(None), Some(fill));
        }
    }
}

impl Drop for Slice {
    #[inline]
    fn drop(&mut self) {
        if self.written.bits != 0 {
            thread::write_to(self.written, &end_spec(None), None);
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
            thread::write_to(written, &end_spec(Some(&self.track)), Some(fill));
        }
    }
}

impl Drop for TrackSlice<'_> {
    fn drop(&mut self) {
        if self.written.bits != 0 {
            thread::write_to(self.written, &end_spec(Some(&self.track)), None);
        }
    }
}
