//! Guards of open slices.

use core::marker::PhantomData;
use core::panic::{RefUnwindSafe, UnwindSafe};

use super::kept::Kept;
use crate::clock::event_time::When;
use crate::sequence::thread::{self, Written};
use crate::sequence::{Arguments, Spec};
use crate::track::Track;

/// An open slice on the track of a thread. It ends when this is dropped, also by a panic.
///
/// Only sessions that got the beginning get the end, so that it never closes another slice. A guard that is leaked
/// leaves the slice open. So may one in a `thread_local!` that is dropped at the end of its thread, which is too late
/// to record anything: end it before.
///
/// ```
/// use tracing_sdk::{Slice, categories, slice};
///
/// categories! { NET = "net"; }
///
/// /// It lasts as long as the connection, which stays on its thread.
/// struct Connection {
///     _slice: Slice,
/// }
///
/// fn connect() -> Connection {
///     Connection { _slice: slice!(NET, "connection") }
/// }
/// # drop(connect());
/// ```
#[must_use = "the slice ends when the guard is dropped, at once by `let _ =`: name it, `let _slice = slice!(..)`"]
#[derive(Debug)]
pub struct Slice {
    written: Kept<Written>,
    not_send: PhantomData<dyn EndsOnItsThreadUnlikeTrackSliceAndAsyncSlice>,
}

/// The slice of a thread must end on that thread. The compiler names this type when a program sends a [`Slice`] to
/// another one, so its name says what to take instead: [`TrackSlice`] or [`AsyncSlice`](crate::AsyncSlice).
trait EndsOnItsThreadUnlikeTrackSliceAndAsyncSlice: Unpin + UnwindSafe + RefUnwindSafe {}

impl Slice {
    /// A slice that no session records.
    #[doc(hidden)]
    pub const OFF: Self = Self::new(Written { bits: 0, last_serial: 0 });

    pub(crate) const fn new(written: Written) -> Self {
        Self { written: Kept::new(written), not_send: PhantomData }
    }

    #[inline(always)]
    fn written(&self) -> Written {
        self.written.get().copied().unwrap_or_default()
    }

    /// Ends the slice.
    pub fn end(self) {}

    /// Whether a session records this slice. Ask before work that only the slice needs:
    ///
    /// ```
    /// # use tracing_sdk::{categories, end, slice};
    /// # categories! { NET = "net"; }
    /// let request = slice!(NET, "request");
    /// if request.is_recorded() {
    ///     let headers = "all of them".to_owned();
    ///     end!(request, headers = headers);
    /// }
    /// ```
    #[must_use]
    pub fn is_recorded(&self) -> bool {
        self.written().bits != 0
    }

    /// Ends the slice with arguments: see [`end!`](crate::end).
    #[doc(hidden)]
    pub fn end_with(mut self, when: When<'_>, mut arguments: Option<Arguments<'_>>) {
        let written = self.written.get_mut().map(core::mem::take).unwrap_or_default();
        write_end(written, None, when, arguments.as_mut());
    }
}

impl Drop for Slice {
    #[inline]
    fn drop(&mut self) {
        write_end(self.written(), None, When::NOW, None);
    }
}

/// An open slice on a track that the program named. It may be sent to another thread, and ends when it is dropped. As a
/// [`Slice`], it may stay open if a `thread_local!` has it.
///
/// ```
/// use tracing_sdk::{Track, TrackSlice, categories, end, slice};
///
/// categories! { NET = "net"; }
///
/// /// On any thread.
/// fn finish(upload: TrackSlice<'_>, bytes: &[u8]) {
///     if upload.is_recorded() {
///         end!(upload, bytes = bytes.len());
///     }
/// }
///
/// finish(slice!(NET, "PUT", track = Track::named("uploads").id(7)), b"abc");
/// ```
#[must_use = "the slice ends when the guard is dropped, at once by `let _ =`: name it, `let _slice = slice!(..)`"]
#[derive(Debug)]
pub struct TrackSlice<'a> {
    open: Kept<(Written, Track<'a>)>,
}

impl<'a> TrackSlice<'a> {
    pub(crate) const fn new(written: Written, track: Track<'a>) -> Self {
        Self { open: Kept::new((written, track)) }
    }

    /// A slice that no session records.
    #[doc(hidden)]
    pub const fn off() -> Self {
        Self::new(Written { bits: 0, last_serial: 0 }, Track::GLOBAL)
    }

    /// Ends the slice.
    pub fn end(self) {}

    /// Whether a session records this slice.
    #[must_use]
    pub fn is_recorded(&self) -> bool {
        self.open.get().is_some_and(|(written, _)| written.bits != 0)
    }

    /// Ends the slice with arguments: see [`end!`](crate::end).
    #[doc(hidden)]
    pub fn end_with(mut self, when: When<'_>, mut arguments: Option<Arguments<'_>>) {
        if let Some((written, track)) = self.open.get_mut() {
            write_end(core::mem::take(written), Some(track), when, arguments.as_mut());
        }
    }
}

impl Drop for TrackSlice<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some((written, track)) = self.open.get() {
            write_end(*written, Some(track), When::NOW, None);
        }
    }
}

/// Ends a slice where its beginning was written.
#[inline]
fn write_end(
    written: Written,
    track: Option<&Track<'_>>,
    when: When<'_>,
    arguments: Option<&mut Arguments<'_>>,
) {
    if written.bits != 0 {
        thread::write_to(written, &Spec { when, ..Spec::end(track) }, arguments);
    }
}
