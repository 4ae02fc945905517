//! An open message. It borrows its parent, so that code that writes to the parent in the middle of
//! a child does not compile. Dropping it stores the length.

use super::cursor::{Cursor, Frame};
use super::slot::SMALL;
use super::slow::{self, End, number};
use super::stream::Stream;
use crate::error::WriteError;
use crate::wire::tag;

/// An open message, root or nested, of a [`StreamOf`](super::StreamOf).
///
/// Generated writers are wrappers around it. It has the write pointer while no child is open.
/// Leaking it (`mem::forget`) leaks no memory and breaks no invariant, but the pointer is lost with
/// it: the root message then ends with [`WriteError::Forgotten`].
// These functions use only this value, and pass its members to slow paths by value. No address of
// it escapes, so that the compiler can keep all of it in registers.
pub struct Scope<'w> {
    pub(super) at: Cursor,
    /// The message whose length includes the next fields: this one or, if it has no slot, an outer
    /// one.
    pub(super) frame: Frame,
    /// `StreamOf::skew` when `frame` began; for a root message its position.
    skew: u64,
    end: End,
    /// An argument of [`slow::end`].
    value: u64,
    /// Gets the cursor back. `None` for a root message.
    parent: Option<&'w mut Cursor>,
    pub(super) stream: &'w mut Stream<'w>,
}

impl<'w> Scope<'w> {
    #[inline(always)]
    pub(super) fn root(at: Cursor, stream: &'w mut Stream<'w>, position: u64) -> Self {
        let frame = Frame::NONE;
        Self { at, frame, skew: position, end: End::Root, value: 0, parent: None, stream }
    }

    /// Opens message field `N` inside this one. Its length has as few bytes as possible if the
    /// message ends in the range in which it began and is short or simple; otherwise it has four.
    #[inline(always)]
    pub fn nested<const N: u32>(&mut self) -> Scope<'_> {
        self.open(const { tag::Encoded::new(N, tag::LEN) })
    }

    /// Opens a message field whose number is known only at run time, for rewriters and dynamic
    /// messages. `None` if the number is invalid (0, or above 2^29-1).
    #[inline]
    pub fn nested_by_number(&mut self, number: u32) -> Option<Scope<'_>> {
        tag::Encoded::checked(number, tag::LEN).map(|tag| self.open(tag))
    }

    #[cfg_attr(not(feature = "small"), inline(always))]
    #[cfg_attr(feature = "small", inline(never))]
    fn open(&mut self, tag: tag::Encoded) -> Scope<'_> {
        if SMALL {
            return self.open_slow(number(tag), false);
        }
        match self.at.open(&self.stream.state, self.frame, tag) {
            Some(open) => {
                let skew = self.stream.skew;
                self.child(open, skew)
            }
            None => self.open_slow(number(tag), false),
        }
    }

    #[inline(always)]
    fn open_slow(&mut self, tag: u32, padded: bool) -> Scope<'_> {
        let (body, narrow) = self.frame.parts();
        let open = slow::open(self.stream, self.at.take(), body, narrow, tag, padded);
        let skew = self.stream.skew_at(&open.0);
        self.child(open, skew)
    }

    #[inline(always)]
    fn child(&mut self, (at, frame): (Cursor, Frame), skew: u64) -> Scope<'_> {
        let parent = Some(&mut self.at);
        Scope { at, frame, skew, end: End::Length, value: 0, parent, stream: self.stream }
    }

    /// Opens message field `N` with a length of four bytes. Its bytes never move.
    #[inline]
    pub fn nested_padded<const N: u32>(&mut self) -> Scope<'_> {
        let tag = const { tag::Encoded::new(N, tag::LEN) };
        self.open_slow(number(tag), true)
    }

    /// Opens message field `N`, whose body will have exactly `len` bytes. The length has as few
    /// bytes as possible, nothing moves, and no range needs a patch. If the body has another length
    /// in the end, the root message fails with [`WriteError::LengthMismatch`].
    #[inline]
    pub fn nested_sized<const N: u32>(&mut self, len: u32) -> Scope<'_> {
        self.varint_tagged(const { tag::Encoded::new(N, tag::LEN) }, u64::from(len));
        let end = self.frame_len().wrapping_add(u64::from(len));
        self.inside(End::Sized, end)
    }

    /// Opens group field `N`, or a message with delimited encoding: the body follows a tag without
    /// a length, and a second tag ends it.
    #[inline(always)]
    pub fn group<const N: u32>(&mut self) -> Scope<'_> {
        self.tag(const { tag::Encoded::new(N, tag::BEGIN_GROUP) });
        self.inside(End::Group, u64::from(const { tag::tag(N, tag::END_GROUP) }))
    }

    /// Continues in an inner scope without a slot.
    #[inline(always)]
    fn inside(&mut self, end: End, value: u64) -> Scope<'_> {
        let (at, frame, skew) = (self.at.take(), self.frame, self.skew);
        Scope { at, frame, skew, end, value, parent: Some(&mut self.at), stream: self.stream }
    }

    #[cfg_attr(not(feature = "small"), inline(always))]
    #[cfg_attr(feature = "small", inline(never))]
    fn tag(&mut self, tag: tag::Encoded) {
        if SMALL || !self.at.tag(tag) {
            let (body, narrow) = self.frame.parts();
            self.at = slow::tag(self.stream, self.at.take(), body, narrow, number(tag));
        }
    }

    /// Appends a part of this message's fields, split at any byte. The output depends only on the
    /// concatenation of all parts.
    #[inline]
    pub(crate) fn piece(&mut self, bytes: &[u8]) {
        let (body, narrow) = self.frame.parts();
        self.at = slow::piece(self.stream, self.at.take(), body, narrow, self.skew, bytes);
    }

    /// Length of the message so far, without its tag and length. For a group, or a message with an
    /// announced length, it is that of the next outer message that is neither.
    #[inline]
    #[must_use]
    pub fn body_len(&self) -> u64 {
        self.frame_len()
    }

    #[inline]
    fn frame_len(&self) -> u64 {
        self.stream.body_len(&self.at, self.frame, self.skew)
    }

    /// The error of this root message, if there is one.
    #[inline]
    #[must_use]
    pub fn error(&self) -> Option<WriteError> {
        self.stream.failed
    }
}

impl Drop for Scope<'_> {
    #[cfg_attr(not(feature = "small"), inline(always))]
    #[cfg_attr(feature = "small", inline(never))]
    fn drop(&mut self) {
        let mut at = self.at.take();
        if self.end == End::Root {
            return slow::end_root(self.stream, at);
        }
        let short = !SMALL && self.end == End::Length;
        if !short || !at.close(&self.stream.state, self.frame) {
            let (body, narrow) = self.frame.parts();
            at = slow::end(self.stream, at, body, narrow, self.skew, self.end, self.value);
        }
        if let Some(parent) = &mut self.parent {
            **parent = at;
        }
    }
}
