//! The scattered writer: a cursor over the current range and the sink that has the next one.

use super::cursor::{Cursor, Range, Sink};
use super::nested::Scope;
use super::slot::{NONE, OpenSlots, SLOT_LEN, Slot};
use crate::error::WriteError;
use crate::wire::{tag, varint};

/// A stream of messages into the ranges of `S`; see the [module](super).
pub struct StreamOf<S: ?Sized + Sink> {
    pub(super) cursor: Cursor,
    /// Offset of the innermost open slot of the current range; each slot holds the next outer.
    pub(super) head: u32,
    /// Number of the current range; `u32::MAX` before the first.
    pub(super) range: u32,
    /// Bytes written before the current range, less those the sink had put at its front.
    before: u64,
    /// Why this root message is being swallowed.
    failed: Option<WriteError>,
    /// The first error of all.
    first_error: Option<WriteError>,
    in_root: bool,
    sink: S,
}

/// A stream whose sink is known only at run time: what writers hold, so that generated code exists
/// once and not once per sink.
pub type Stream<'s> = StreamOf<dyn Sink + 's>;

impl<S: Sink> StreamOf<S> {
    /// A stream that asks `sink` for its first range when it needs one.
    #[inline]
    pub const fn new(sink: S) -> Self {
        Self {
            cursor: Cursor::empty(),
            head: NONE,
            range: u32::MAX,
            before: 0,
            failed: None,
            first_error: None,
            in_root: false,
            sink,
        }
    }

    /// Begins a root message; dropping the scope ends it.
    ///
    /// A message whose scope was forgotten is ended first. An error of the previous message is
    /// over: the sink is asked again.
    #[inline]
    pub fn root(&mut self) -> Scope<'_> {
        if self.in_root {
            self.end_root();
        }
        self.in_root = true;
        self.failed = None;
        match self.sink.begin_root(self.cursor.used()) {
            Ok(None) => {}
            Ok(Some(range)) => self.install(range),
            Err(error) => self.fail(error),
        }
        Scope::root(self)
    }

    /// The sink, when the stream is not needed any more.
    pub fn into_sink(self) -> S {
        self.sink
    }
}

impl<S: ?Sized + Sink> StreamOf<S> {
    /// Bytes written since the stream was made, swallowed ones included.
    ///
    /// Closing a short message takes three of its reserved bytes back.
    #[inline]
    #[must_use]
    pub fn written(&self) -> u64 {
        self.before.wrapping_add(self.cursor.used() as u64)
    }

    /// Bytes of the current range that hold data.
    #[inline]
    #[must_use]
    pub fn used(&self) -> usize {
        self.cursor.used()
    }

    /// Bytes that still fit the current range.
    #[inline]
    #[must_use]
    pub fn room(&self) -> usize {
        self.cursor.room()
    }

    /// Why the current, or else the last, root message was swallowed.
    #[inline]
    #[must_use]
    pub fn error(&self) -> Option<WriteError> {
        self.failed
    }

    /// The first error since the stream was made.
    #[inline]
    #[must_use]
    pub fn first_error(&self) -> Option<WriteError> {
        self.first_error
    }

    /// The sink.
    #[inline]
    #[must_use]
    pub fn sink(&self) -> &S {
        &self.sink
    }

    /// The sink. What it hands out while the stream does not ask goes unnoticed.
    #[inline]
    pub fn sink_mut(&mut self) -> &mut S {
        &mut self.sink
    }

    /// Goes on in `range`, which the sink just returned.
    #[inline]
    fn install(&mut self, range: Range) {
        let written = self.written();
        self.cursor.install(range);
        self.before = written.wrapping_sub(self.cursor.used() as u64);
        self.range = self.range.wrapping_add(1);
        self.head = NONE;
        if range.room() < SLOT_LEN {
            self.fail(WriteError::RangeTooShort { len: range.room() });
        }
    }

    /// Swallows from here on.
    #[cold]
    #[inline(never)]
    pub(super) fn fail(&mut self, error: WriteError) {
        self.before = self.written();
        self.cursor = Cursor::empty();
        self.head = NONE;
        self.failed = Some(error);
        self.first_error.get_or_insert(error);
    }

    /// Takes the next range; false if the stream swallows.
    #[cold]
    #[inline(never)]
    fn next_range(&mut self) -> bool {
        if self.failed.is_some() {
            return false;
        }
        let used = self.cursor.used();
        let mut open = OpenSlots::new(&mut self.cursor, self.head, self.range);
        match self.sink.next_range(used, &mut open) {
            Ok(range) => self.install(range),
            Err(error) => self.fail(error),
        }
        self.failed.is_none()
    }

    /// Appends `bytes`, over as many ranges as they take. A range is asked for only when bytes
    /// remain for it.
    #[inline(never)]
    pub(super) fn write(&mut self, mut bytes: &[u8]) {
        loop {
            let n = self.cursor.append(bytes);
            bytes = &bytes[n..];
            if bytes.is_empty() {
                return;
            }
            if !self.next_range() {
                self.before = self.before.wrapping_add(bytes.len() as u64);
                return;
            }
        }
    }

    /// Appends a tag alone.
    #[inline]
    pub(super) fn tag(&mut self, tag: tag::Encoded) {
        self.write(tag.bytes.to_le_bytes().get(..tag.len).unwrap_or_default());
    }

    /// Appends a tag and reserves four bytes in one piece; if they do not fit the current range its
    /// tail stays unwritten. The slot holds the list of open ones and is not part of it yet.
    #[cold]
    #[inline(never)]
    pub(super) fn open_slow(&mut self, tag: tag::Encoded) -> Slot {
        self.write(tag.bytes.to_le_bytes().get(..tag.len).unwrap_or_default());
        loop {
            // No loop for long: a range too short for a slot is an error.
            if let Some(offset) = self.cursor.reserve(self.head) {
                return Slot { range: self.range, offset };
            }
            if !self.next_range() {
                self.before = self.before.wrapping_add(SLOT_LEN as u64);
                return Slot { range: self.range, offset: NONE };
            }
        }
    }

    /// Ends the message of `slot` where closing it in place is not all there is to do.
    #[cold]
    #[inline(never)]
    pub(super) fn close_slow(&mut self, slot: Slot, body: u64, outer: u32) {
        let here = slot.range == self.range;
        if slot.offset == NONE || (here && self.failed.is_some()) {
            // Opened while swallowing, or in the range that was lost with the error.
            return;
        }
        self.close_forgotten(if here { slot.offset } else { NONE });
        let len = self.written().wrapping_sub(body);
        if here {
            if self.cursor.close(slot.offset) {
                self.head = outer;
            } else {
                self.fail(WriteError::TooLong { len });
            }
        } else if len <= u64::from(varint::PADDED_MAX) {
            self.sink.fill(slot, varint::padded(len as u32));
        } else {
            self.fail(WriteError::TooLong { len });
        }
    }

    /// Ends the open messages inside the one whose slot is at `until`: their scopes were forgotten,
    /// or else they would have ended by themselves.
    fn close_forgotten(&mut self, until: u32) {
        while self.head != until && self.head != NONE {
            let outer = self.cursor.read4(self.head);
            let at = self.head;
            // Forged links (shared memory) must lead outwards, and no further than `until`.
            self.head = if outer < at { outer } else { until };
            if until != NONE && self.head < until {
                self.head = until;
            }
            self.cursor.close(at);
        }
    }

    /// Ends the root message.
    #[inline]
    pub(super) fn end_root(&mut self) {
        if self.head != NONE {
            self.end_forgotten();
        }
        self.in_root = false;
        let used = self.sink.end_root(self.cursor.used());
        self.cursor.rewind(used);
    }

    #[cold]
    #[inline(never)]
    fn end_forgotten(&mut self) {
        self.close_forgotten(NONE);
    }
}
