//! An open message. While it is open its parent is borrowed, so that writing to the parent in the
//! middle of a child does not compile; dropping it stores the length.

use super::slot::{NONE, Slot};
use super::stream::Stream;
use crate::wire::tag;

/// An open message, root or nested, of a [`StreamOf`](super::StreamOf).
///
/// Generated writers wrap it. Forgetting one (`mem::forget`) leaks no memory and breaks no
/// invariant: the message then ends where its parent does.
pub struct Scope<'w> {
    pub(super) stream: &'w mut Stream<'w>,
    slot: Slot,
    /// Offset of the next outer open slot of the same range.
    outer: u32,
    end: End,
    /// Where the body begins, as a position of the stream.
    body: u64,
}

/// How a message ends.
#[derive(Clone, Copy)]
enum End {
    Root,
    Length,
    Group(tag::Encoded),
}

impl<'w> Scope<'w> {
    #[inline(always)]
    pub(super) fn root(stream: &'w mut Stream<'w>) -> Self {
        let slot = Slot { range: stream.range, offset: NONE };
        let body = stream.written();
        Self { stream, slot, outer: NONE, end: End::Root, body }
    }

    /// Opens message field `N` inside this one.
    #[inline(always)]
    pub fn nested<const N: u32>(&mut self) -> Scope<'_> {
        self.open(const { tag::Encoded::new(N, tag::LEN) })
    }

    /// Opens the message field of a number that is known at run time only: rewriters and dynamic
    /// messages. `None` if it is no field number (0, or above 2^29-1).
    #[inline]
    pub fn nested_by_number(&mut self, number: u32) -> Option<Scope<'_>> {
        tag::Encoded::checked(number, tag::LEN).map(|tag| self.open(tag))
    }

    #[inline(always)]
    fn open(&mut self, tag: tag::Encoded) -> Scope<'_> {
        let stream = &mut *self.stream;
        let slot = match stream.cursor.open(tag, stream.head) {
            Some(offset) => Slot { range: stream.range, offset },
            None => stream.open_slow(tag),
        };
        // What is outside lies in an earlier range if this slot is the first of a new one, which
        // empties the list.
        let outer = stream.head;
        stream.head = slot.offset;
        let body = stream.written();
        Scope { stream, slot, outer, end: End::Length, body }
    }

    /// Opens field `N` of group kind, or of a message with delimited encoding: what is written
    /// follows a tag without a length, and a second tag ends it.
    #[inline(always)]
    pub fn group<const N: u32>(&mut self) -> Scope<'_> {
        let stream = &mut *self.stream;
        stream.tag(const { tag::Encoded::new(N, tag::BEGIN_GROUP) });
        let slot = Slot { range: stream.range, offset: NONE };
        let body = stream.written();
        let end = End::Group(const { tag::Encoded::new(N, tag::END_GROUP) });
        Scope { stream, slot, outer: NONE, end, body }
    }

    /// Bytes of the message so far, not counting its own tag and length.
    #[inline]
    #[must_use]
    pub fn body_len(&self) -> u64 {
        self.stream.written().wrapping_sub(self.body)
    }

    /// The stream written to: its errors and counts.
    #[inline]
    #[must_use]
    pub fn stream(&self) -> &Stream<'w> {
        self.stream
    }
}

impl Drop for Scope<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        let stream = &mut *self.stream;
        match self.end {
            End::Root => return stream.end_root(),
            End::Group(tag) => return stream.tag(tag),
            End::Length => {}
        }
        if self.slot.range == stream.range
            && self.slot.offset == stream.head
            && stream.cursor.close(self.slot.offset)
        {
            stream.head = self.outer;
        } else {
            stream.close_slow(self.slot, self.body, self.outer);
        }
    }
}
