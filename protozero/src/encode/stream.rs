//! The stream: the current range, and the sink that provides the next one.

use super::cursor::{Cursor, Frame, Range, RangeState, Sink, SwapSink};
use super::nested::Scope;
use super::slot::{OpenSlots, SLOT_LEN, Slot};
use crate::error::WriteError;
use crate::wire::{tag, varint};

/// Means that there is no range. Numbers of ranges are smaller.
const NO_RANGE: u32 = u32::MAX;

/// A stream of messages into the ranges of `S`; see the [module](super).
pub struct StreamOf<S: ?Sized + Sink> {
    /// The start of the next root message. Nowhere while a root message is open, and without a
    /// range.
    at: Cursor,
    pub(super) state: RangeState,
    /// Place + `skew` (wrapping) = position: the number of bytes written since the stream was
    /// created.
    pub(super) skew: u64,
    /// The position of a cursor that is nowhere.
    nowhere_position: u64,
    /// Number of the current range; [`NO_RANGE`] before the first.
    range: u32,
    /// The error of this root message. All its further bytes are discarded.
    pub(super) failed: Option<WriteError>,
    /// The first error of the stream.
    first_error: Option<WriteError>,
    sink: S,
}

/// A stream whose sink is known only at run time. Writers contain this type, so that generated code
/// exists once and not once per sink.
pub type Stream<'s> = StreamOf<dyn Sink + 's>;

impl<S: Sink> StreamOf<S> {
    /// A stream that requests its first range from `sink` when a message begins.
    #[inline]
    pub const fn new(sink: S) -> Self {
        Self {
            at: Cursor::NOWHERE,
            state: RangeState::NONE,
            skew: 0,
            nowhere_position: 0,
            range: NO_RANGE,
            failed: None,
            first_error: None,
            sink,
        }
    }

    /// A stream that has its first range from the beginning, as if `sink` had returned it. No
    /// message needs to request it.
    #[inline]
    pub(crate) fn with_range(sink: S, range: Range) -> Self {
        let mut stream = Self::new(sink);
        let (state, at) = RangeState::new(range, 0);
        // If the range is too short, the first message requests one and gets the error.
        if state.free_bytes(&at) >= SLOT_LEN {
            stream.skew = state.place_of(&at).wrapping_neg();
            stream.range = 0;
            (stream.state, stream.at) = (state, at);
        }
        stream
    }

    /// Begins a root message. Dropping the scope ends it.
    ///
    /// If the scope of the previous message was leaked, that message is ended first. An error of
    /// the previous message is cleared, and the sink is asked for a range again.
    #[inline]
    pub fn root(&mut self) -> Scope<'_> {
        if self.at.is_nowhere() {
            self.recover();
        }
        let at = self.at.take();
        let position = self.position(&at);
        let mut at = match self.sink.begin_root(self.state.used(&at)) {
            Ok(None) => at,
            // No message is open, so two slots cannot have the same number and offset.
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

    /// Counts as if `count` ranges had been written.
    #[cfg(test)]
    pub(super) fn skip_ranges(&mut self, count: u32) {
        self.range = count;
    }

    /// Ends a root message whose scope was leaked (`mem::forget`), if there is one. Does not begin
    /// another.
    pub fn end_forgotten(&mut self) {
        if self.is_forgotten() {
            self.end_root(Cursor::NOWHERE);
        }
    }

    /// The last root message failed or was leaked, or there was none yet.
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

    /// Returns the sink.
    pub fn into_sink(self) -> S {
        self.sink
    }
}

/// Between root messages.
impl<S: ?Sized + Sink> StreamOf<S> {
    /// Number of bytes written since the stream was created, including discarded ones.
    ///
    /// When a long message ends, its length can add up to three bytes.
    #[inline]
    #[must_use]
    pub fn written(&self) -> u64 {
        self.position(&self.at)
    }

    /// Number of written bytes in the current range.
    #[inline]
    #[must_use]
    pub fn used(&self) -> usize {
        self.state.used(&self.at)
    }

    /// Number of bytes that still fit the current range.
    #[inline]
    #[must_use]
    pub fn free_bytes(&self) -> usize {
        self.state.free_bytes(&self.at)
    }

    /// The error of the last root message.
    #[inline]
    #[must_use]
    pub fn error(&self) -> Option<WriteError> {
        if self.is_forgotten() { Some(WriteError::Forgotten) } else { self.failed }
    }

    /// The first error since the stream was created.
    #[inline]
    #[must_use]
    pub fn first_error(&self) -> Option<WriteError> {
        self.first_error.or_else(|| self.error())
    }

    /// True if a root message began and its scope was leaked, so that it did not return the cursor.
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

    /// The sink. It must not be replaced, because the cursor is in its range: the caller is part of
    /// the proof (C2).
    #[inline]
    pub(crate) fn sink_inside(&mut self) -> &mut S {
        &mut self.sink
    }
}

impl<S: SwapSink> StreamOf<S> {
    /// The sink. The stream does not use ranges that it did not request.
    #[inline]
    pub fn sink_mut(&mut self) -> &mut S {
        &mut self.sink
    }
}

/// Functions within a root message: the innermost scope has the cursor `at` and the frame `frame`.
impl<S: ?Sized + Sink> StreamOf<S> {
    /// Number of bytes written up to `at` since the stream was created.
    #[inline(always)]
    pub(super) fn position(&self, at: &Cursor) -> u64 {
        if at.is_nowhere() {
            self.nowhere_position
        } else {
            self.state.place_of(at).wrapping_add(self.skew)
        }
    }

    /// Continues in `range`, which the sink just returned.
    #[inline]
    fn install(&mut self, range: Range, position: u64, number: u32) -> Cursor {
        self.range = number;
        let (state, at) = RangeState::new(range, number);
        self.state = state;
        self.skew = position.wrapping_sub(self.state.place_of(&at));
        if self.state.free_bytes(&at) < SLOT_LEN { self.too_short(at, range) } else { at }
    }

    #[cold]
    #[inline(never)]
    fn too_short(&mut self, at: Cursor, range: Range) -> Cursor {
        self.fail(at, WriteError::RangeTooShort { len: range.free_bytes() })
    }

    /// Ends writing with an error: all further bytes of the root message are discarded, and the
    /// cursor is nowhere.
    #[cold]
    #[inline(never)]
    pub(super) fn fail(&mut self, at: Cursor, error: WriteError) -> Cursor {
        self.nowhere_position = self.position(&at);
        self.state.fail();
        self.failed = Some(error);
        self.first_error.get_or_insert(error);
        Cursor::NOWHERE
    }

    /// Requests a range from the sink.
    fn ask(&mut self, used: usize, position: u64) -> Cursor {
        self.nowhere_position = position;
        let mut open = OpenSlots::new(&mut self.state, self.range);
        match self.sink.next_range(used, &mut open) {
            // Places are ordered by the number of their range, so the number must not wrap.
            Ok(_) if self.range == NO_RANGE - 1 => {
                self.fail(Cursor::NOWHERE, WriteError::Exhausted)
            }
            Ok(range) => self.install(range, position, self.range.wrapping_add(1)),
            Err(error) => self.fail(Cursor::NOWHERE, error),
        }
    }

    /// Continues in the next range. Returns a cursor that is nowhere after an error.
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

    /// Detects a leaked child, which did not return the cursor.
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
        self.nowhere_position = self.state.first().wrapping_add(self.skew);
        self.fail(at, WriteError::Forgotten)
    }

    /// Appends `bytes`, to several ranges if necessary. Requests a range only if bytes remain for
    /// it.
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
                self.nowhere_position = self.nowhere_position.wrapping_add(bytes.len() as u64);
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

    /// Appends a tag.
    pub(super) fn write_tag(&mut self, at: Cursor, frame: Frame, tag: u32) -> Cursor {
        self.write_varint(at, frame, tag.into())
    }

    /// Prepares for `len` bytes at once. If they are many, makes the open slots wide while only few
    /// bytes must move.
    pub(super) fn expect(&mut self, at: Cursor, frame: Frame, len: u64) -> Cursor {
        if len > u64::from(varint::ONE_BYTE_MAX) { self.state.widen(at, frame) } else { at }
    }

    /// Opens a message if [`Cursor::open`] cannot. A slot is always in one range: if it does not
    /// fit, the end of the old range stays unused.
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
            // This ends, because a range that is too short for a slot is an error.
            match open(&mut self.state, at) {
                Ok(open) => return open,
                Err(full) => at = self.next_range(full, frame),
            }
            if at.is_nowhere() {
                self.nowhere_position = self.nowhere_position.wrapping_add(SLOT_LEN as u64);
                return (at, Frame::NONE);
            }
        }
    }

    /// Ends the message of `frame` if [`Cursor::close`] cannot. `skew` is its value when the
    /// message began.
    pub(super) fn close_slow(&mut self, at: Cursor, frame: Frame, skew: u64) -> Cursor {
        let at = match self.state.close_long(at, frame) {
            Ok(at) => return at,
            Err(at) => self.check(at),
        };
        let at = self.state.widen(at, frame);
        // `None`: the message was opened after an error.
        let Some((range, offset)) = frame.slot() else { return at };
        let here = range == self.range;
        if here && at.is_nowhere() {
            // The slot was in the range that was lost through the error.
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

    /// Ends a message with an announced length. `end` is its announced end, counted from the start
    /// of the message of `frame`.
    pub(super) fn close_sized(&mut self, at: Cursor, frame: Frame, skew: u64, end: u64) -> Cursor {
        let len = self.body_len(&at, frame, skew);
        if len == end || at.is_nowhere() {
            return at;
        }
        self.fail(at, WriteError::LengthMismatch { by: len.wrapping_sub(end) as i64 })
    }

    /// The skew for a scope that begins at `at`.
    pub(super) fn skew_at(&self, at: &Cursor) -> u64 {
        if at.is_nowhere() { self.nowhere_position } else { self.skew }
    }

    /// Number of bytes from the start of the message of `frame` to `at`.
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
