//! The scattered writer: the range being written and the sink that has the next one.

use super::cursor::{Cursor, Frame, Range, RangeState, Sink, SwapSink};
use super::nested::Scope;
use super::slot::{OpenSlots, SLOT_LEN, Slot};
use crate::error::WriteError;
use crate::wire::{tag, varint};

/// Number of no range; the largest of one is below it.
const NO_RANGE: u32 = u32::MAX;

/// A stream of messages into the ranges of `S`; see the [module](super).
pub struct StreamOf<S: ?Sized + Sink> {
    /// Where the next root message begins; nowhere while one is open, and without a range.
    at: Cursor,
    pub(super) state: RangeState,
    /// A place plus this (wrapping) is a position: bytes written since the stream was made.
    pub(super) skew: u64,
    /// The position of a cursor that is nowhere.
    swallowed: u64,
    /// Number of the current range: how many messages went on in another; [`NO_RANGE`] before the first.
    range: u32,
    /// Why this root message is being swallowed.
    pub(super) failed: Option<WriteError>,
    /// The first error of all.
    first_error: Option<WriteError>,
    sink: S,
}

/// A stream whose sink is known only at run time: what writers hold, so that generated code exists
/// once and not once per sink.
pub type Stream<'s> = StreamOf<dyn Sink + 's>;

impl<S: Sink> StreamOf<S> {
    /// A stream that asks `sink` for its first range when a message begins.
    #[inline]
    pub const fn new(sink: S) -> Self {
        Self {
            at: Cursor::NOWHERE,
            state: RangeState::NONE,
            skew: 0,
            swallowed: 0,
            range: NO_RANGE,
            failed: None,
            first_error: None,
            sink,
        }
    }

    /// A stream whose first range is there from the beginning, so that no message has to ask for it. As
    /// if `sink` had been asked for it.
    #[inline]
    pub(crate) fn with_range(sink: S, range: Range) -> Self {
        let mut stream = Self::new(sink);
        let (state, at) = RangeState::new(range, 0);
        // Else the first message asks for one and gets to know.
        if state.room(&at) >= SLOT_LEN {
            stream.skew = state.place_of(&at).wrapping_neg();
            stream.range = 0;
            (stream.state, stream.at) = (state, at);
        }
        stream
    }

    /// Begins a root message; dropping the scope ends it.
    ///
    /// A message whose scope was forgotten is given up first. An error of the previous message is
    /// over: the sink is asked again.
    #[inline]
    pub fn root(&mut self) -> Scope<'_> {
        if self.at.is_nowhere() {
            self.recover();
        }
        let at = self.at.take();
        let position = self.position(&at);
        let mut at = match self.sink.begin_root(self.state.used(&at)) {
            Ok(None) => at,
            // No message is open, so no two slots will have the same number and offset.
            Ok(Some(range)) => {
                self.install(range, position, if self.range == NO_RANGE { 0 } else { self.range })
            }
            Err(error) => self.fail(at, error),
        };
        if at.is_nowhere() {
            at = self.ask_first(position);
        }
        Scope::root(at, self, position)
    }

    /// As if so many ranges had been written.
    #[cfg(test)]
    pub(super) fn skip_ranges(&mut self, count: u32) {
        self.range = count;
    }

    /// Gives up a root message whose scope was forgotten (`mem::forget`), if there is one, and begins
    /// none.
    pub fn end_forgotten(&mut self) {
        if self.is_forgotten() {
            self.end_root(Cursor::NOWHERE);
        }
    }

    /// The last root message failed, was forgotten, or there was none yet.
    #[cold]
    #[inline(never)]
    fn recover(&mut self) {
        self.end_forgotten();
        self.failed = None;
    }

    #[cold]
    #[inline(never)]
    fn ask_first(&mut self, position: u64) -> Cursor {
        if self.failed.is_some() { Cursor::NOWHERE } else { self.ask(0, position) }
    }

    /// The sink, when the stream is not needed any more.
    pub fn into_sink(self) -> S {
        self.sink
    }
}

/// Between root messages.
impl<S: ?Sized + Sink> StreamOf<S> {
    /// Bytes written since the stream was made, swallowed ones included.
    ///
    /// A long message may have taken up to three bytes more for its length when it ended.
    #[inline]
    #[must_use]
    pub fn written(&self) -> u64 {
        self.position(&self.at)
    }

    /// Bytes of the current range that hold data.
    #[inline]
    #[must_use]
    pub fn used(&self) -> usize {
        self.state.used(&self.at)
    }

    /// Bytes that still fit the current range.
    #[inline]
    #[must_use]
    pub fn room(&self) -> usize {
        self.state.room(&self.at)
    }

    /// Why the last root message was swallowed.
    #[inline]
    #[must_use]
    pub fn error(&self) -> Option<WriteError> {
        if self.is_forgotten() { Some(WriteError::Forgotten) } else { self.failed }
    }

    /// The first error since the stream was made.
    #[inline]
    #[must_use]
    pub fn first_error(&self) -> Option<WriteError> {
        self.first_error.or_else(|| self.error())
    }

    /// True if a root message began and its scope was forgotten: nobody gave the cursor back.
    #[inline]
    fn is_forgotten(&self) -> bool {
        self.at.is_nowhere() && self.failed.is_none() && self.range != NO_RANGE
    }

    /// The sink.
    #[inline]
    #[must_use]
    pub fn sink(&self) -> &S {
        &self.sink
    }

    /// The sink. It must stay the one whose range the cursor is in: whoever calls this is part of the
    /// proofs (C2).
    #[inline]
    pub(crate) fn sink_inside(&mut self) -> &mut S {
        &mut self.sink
    }
}

impl<S: SwapSink> StreamOf<S> {
    /// The sink. What it hands out while the stream does not ask goes unnoticed.
    #[inline]
    pub fn sink_mut(&mut self) -> &mut S {
        &mut self.sink
    }
}

/// Within a root message, whose innermost scope has the cursor `at` and sits on `frame`.
impl<S: ?Sized + Sink> StreamOf<S> {
    /// Bytes written up to `at` since the stream was made.
    #[inline(always)]
    pub(super) fn position(&self, at: &Cursor) -> u64 {
        if at.is_nowhere() {
            self.swallowed
        } else {
            self.state.place_of(at).wrapping_add(self.skew)
        }
    }

    /// Goes on in `range`, which the sink just returned.
    #[inline]
    fn install(&mut self, range: Range, position: u64, number: u32) -> Cursor {
        self.range = number;
        let (state, at) = RangeState::new(range, number);
        self.state = state;
        self.skew = position.wrapping_sub(self.state.place_of(&at));
        if self.state.room(&at) < SLOT_LEN { self.too_short(at, range) } else { at }
    }

    #[cold]
    #[inline(never)]
    fn too_short(&mut self, at: Cursor, range: Range) -> Cursor {
        self.fail(at, WriteError::RangeTooShort { len: range.room() })
    }

    /// Swallows from here on. The cursor is nowhere then.
    #[cold]
    #[inline(never)]
    pub(super) fn fail(&mut self, at: Cursor, error: WriteError) -> Cursor {
        self.swallowed = self.position(&at);
        self.state.fail();
        self.failed = Some(error);
        self.first_error.get_or_insert(error);
        Cursor::NOWHERE
    }

    /// Asks the sink for a range.
    fn ask(&mut self, used: usize, position: u64) -> Cursor {
        self.swallowed = position;
        let mut open = OpenSlots::new(&mut self.state, self.range);
        match self.sink.next_range(used, &mut open) {
            // Places are ordered by the number of their range, so it must not wrap around.
            Ok(_) if self.range == NO_RANGE - 1 => {
                self.fail(Cursor::NOWHERE, WriteError::Exhausted)
            }
            Ok(range) => self.install(range, position, self.range.wrapping_add(1)),
            Err(error) => self.fail(Cursor::NOWHERE, error),
        }
    }

    /// Leaves the current range for the next one; nowhere if the stream swallows.
    #[cold]
    #[inline(never)]
    fn next_range(&mut self, at: Cursor, frame: Frame) -> Cursor {
        let at = self.check(at);
        if at.is_nowhere() {
            return at;
        }
        let at = self.state.widen(at, frame);
        let position = self.position(&at);
        self.ask(self.state.used(&at), position)
    }

    /// Notices that a child was forgotten: it has taken the cursor along.
    #[inline]
    fn check(&mut self, at: Cursor) -> Cursor {
        if at.is_nowhere() { self.lost(at) } else { at }
    }

    #[cold]
    #[inline(never)]
    fn lost(&mut self, at: Cursor) -> Cursor {
        if self.failed.is_some() {
            return at;
        }
        self.swallowed = self.state.first().wrapping_add(self.skew);
        self.fail(at, WriteError::Forgotten)
    }

    /// Appends `bytes`, over as many ranges as they take. A range is asked for only when bytes
    /// remain for it.
    #[inline(never)]
    pub(super) fn write(&mut self, mut at: Cursor, frame: Frame, mut bytes: &[u8]) -> Cursor {
        loop {
            let n = at.append(bytes);
            bytes = bytes.get(n..).unwrap_or_default();
            if bytes.is_empty() {
                return at;
            }
            at = self.next_range(at, frame);
            if at.is_nowhere() {
                self.swallowed = self.swallowed.wrapping_add(bytes.len() as u64);
                return at;
            }
        }
    }

    /// Appends a varint without a tag.
    pub(super) fn write_varint(&mut self, at: Cursor, frame: Frame, value: u64) -> Cursor {
        let mut out = [0; varint::LEN_MAX];
        let len = varint::encode(value, &mut out);
        self.write(at, frame, out.get(..len).unwrap_or_default())
    }

    /// Appends a tag alone.
    pub(super) fn write_tag(&mut self, at: Cursor, frame: Frame, tag: u32) -> Cursor {
        self.write_varint(at, frame, tag.into())
    }

    /// Prepares for `len` bytes that come in one piece: if they are many, open messages get long, and
    /// now there is little to move.
    pub(super) fn expect(&mut self, at: Cursor, frame: Frame, len: u64) -> Cursor {
        if len > u64::from(varint::ONE_BYTE_MAX) { self.state.widen(at, frame) } else { at }
    }

    /// Opens a message where [`Cursor::open`] cannot. A slot never straddles two ranges: if it does not
    /// fit, the tail of the old one stays unwritten.
    pub(super) fn open_slow(&mut self, mut at: Cursor, frame: Frame, tag: u32) -> (Cursor, Frame) {
        if self.state.is_long(&at, frame) {
            at = self.state.widen(at, frame);
        }
        if let Some(open) = at.open(&self.state, frame, tag::Encoded::of(tag)) {
            return open;
        }
        at = self.write_tag(at, frame, tag);
        self.open_with(at, frame, |state, at| state.open_tight(at, frame))
    }

    /// Opens a message with a wide slot.
    pub(super) fn open_padded(&mut self, at: Cursor, frame: Frame, tag: u32) -> (Cursor, Frame) {
        let at = self.state.widen(at, frame);
        let at = self.write_tag(at, frame, tag);
        self.open_with(at, frame, RangeState::open_wide)
    }

    fn open_with(
        &mut self,
        mut at: Cursor,
        frame: Frame,
        open: impl Fn(&mut RangeState, Cursor) -> Result<(Cursor, Frame), Cursor>,
    ) -> (Cursor, Frame) {
        loop {
            // No loop for long: a range too short for a slot is an error.
            match open(&mut self.state, at) {
                Ok(open) => return open,
                Err(full) => at = self.next_range(full, frame),
            }
            if at.is_nowhere() {
                self.swallowed = self.swallowed.wrapping_add(SLOT_LEN as u64);
                return (at, Frame::NONE);
            }
        }
    }

    /// Ends the message of `frame` where [`Cursor::close`] cannot; `skew` is what it was when the
    /// message began.
    pub(super) fn close_slow(&mut self, at: Cursor, frame: Frame, skew: u64) -> Cursor {
        let at = match self.state.close_long(at, frame) {
            Ok(at) => return at,
            Err(at) => self.check(at),
        };
        let at = self.state.widen(at, frame);
        // None: opened while swallowing.
        let Some((range, offset)) = frame.slot() else { return at };
        let here = range == self.range;
        if here && at.is_nowhere() {
            // The slot was in the range that was lost with the error.
            return at;
        }
        let len = self.position(&at).wrapping_sub(frame.wide_body().wrapping_add(skew));
        if len > u64::from(varint::PADDED_MAX) {
            return self.fail(at, WriteError::TooLong { len });
        }
        let length = varint::padded(len as u32);
        if here {
            return self.state.close_wide(at, frame, length);
        }
        self.sink.fill(Slot { range, offset }, length);
        at
    }

    /// Ends a message whose length was announced: its end was to be `end` bytes into that of `frame`.
    pub(super) fn close_sized(&mut self, at: Cursor, frame: Frame, skew: u64, end: u64) -> Cursor {
        let len = self.body_len(&at, frame, skew);
        if len == end || at.is_nowhere() {
            return at;
        }
        self.fail(at, WriteError::LengthMismatch { by: len.wrapping_sub(end) as i64 })
    }

    /// What a scope that just began at `at` remembers as its skew.
    pub(super) fn skew_at(&self, at: &Cursor) -> u64 {
        if at.is_nowhere() { self.swallowed } else { self.skew }
    }

    /// Bytes from the beginning of the message of `frame` to `at`.
    #[inline]
    pub(super) fn body_len(&self, at: &Cursor, frame: Frame, skew: u64) -> u64 {
        let body = self.state.body(frame).wrapping_add(skew);
        self.position(at).wrapping_sub(body)
    }

    /// Ends the root message.
    #[inline]
    pub(super) fn end_root(&mut self, at: Cursor) {
        let at = self.check(at);
        let used = self.sink.end_root(self.state.used(&at));
        self.at = self.state.rewind(at, used);
    }
}
