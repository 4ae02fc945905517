//! Constant memory: a window of fixed length, which is written to the output when it is full.
#![allow(unsafe_code)]

use core::fmt;

use super::borrowed::Borrowed;
use crate::encode::{OpenSlots, Range, Sink, Slot, StreamOf};
use crate::error::WriteError;
use crate::wire::{tag, trusted, varint};

/// Minimum length of a window.
const WINDOW_MIN: usize = 64;

/// Minimum length of a range.
const RANGE_MIN: usize = 16;

/// Length of an open length field.
const SLOT_LEN: usize = 4;

/// The output of a window.
///
/// A closure that takes bytes and returns a `Result` is an output, for example for the serial port
/// of a microcontroller.
pub trait Output {
    /// Why the output failed.
    type Error;

    /// Writes all of `bytes`, or fails. It is not called again after an error. A panic may abort
    /// the program, as for every [`Sink`].
    ///
    /// # Errors
    /// Those of the output.
    fn put(&mut self, bytes: &[u8]) -> Result<(), Self::Error>;
}

impl<F: FnMut(&[u8]) -> Result<(), E>, E> Output for F {
    type Error = E;

    #[inline]
    fn put(&mut self, bytes: &[u8]) -> Result<(), E> {
        self(bytes)
    }
}

/// Any [`std::io::Write`] as an output. It is not flushed.
#[cfg(feature = "std")]
#[derive(Debug)]
pub struct IoOutput<W>(pub W);

#[cfg(feature = "std")]
impl<W: std::io::Write> Output for IoOutput<W> {
    type Error = std::io::Error;

    #[inline]
    fn put(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.0.write_all(bytes)
    }
}

/// Any [`bytes::BufMut`] as an output: bytes are copied once, from the window. For a `BytesMut`,
/// [`AppendSink`](super::AppendSink) is better, because it writes in place.
#[cfg(feature = "bytes")]
#[derive(Debug)]
pub struct BufMutOutput<B>(pub B);

#[cfg(feature = "bytes")]
impl<B: bytes::BufMut> Output for BufMutOutput<B> {
    /// The buffer is full. This is the number of bytes that did not fit.
    type Error = usize;

    #[inline]
    fn put(&mut self, bytes: &[u8]) -> Result<(), usize> {
        let missing = bytes.len().saturating_sub(self.0.remaining_mut());
        if missing > 0 {
            return Err(missing);
        }
        self.0.put_slice(bytes);
        Ok(())
    }
}

/// Why the output is not complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowError<E> {
    /// A message was lost. All others are written.
    Write(WriteError),
    /// The output failed. Nothing was passed to it after that.
    Output(E),
}

impl<E: fmt::Display> fmt::Display for WindowError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Write(error) => error.fmt(f),
            Self::Output(error) => error.fmt(f),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> core::error::Error for WindowError<E> {}

#[cfg(feature = "std")]
impl From<WindowError<std::io::Error>> for std::io::Error {
    fn from(error: WindowError<std::io::Error>) -> Self {
        match error {
            WindowError::Write(error) => Self::new(std::io::ErrorKind::InvalidInput, error),
            WindowError::Output(error) => error,
        }
    }
}

/// Writes through a window of fixed length to an [`Output`].
///
/// ```text
///  window  | finished fields | tag | s s s s | open message ...          |
///          0                       ^ outermost length still open          len
///            written out ──────────┘
///          | s s s s | open message ... |  free                          |      moved to the front
/// ```
///
/// Written bytes cannot be changed, so the bytes of a message with an open length stay in the
/// window. Therefore **a message with an open length must fit the window**, together with its
/// nested messages. Otherwise it is lost: [`WriteError::WindowFull`]. If its tag is already
/// written, it remains as a field of length 0, and the following fields are readable. These have no
/// such limit, because they have no open length:
///
/// - the root message, unless each root is framed ([`WindowSink::framed`]): a lost framed root
///   message leaves nothing in the output;
/// - groups, and messages with an announced length or an encoded body;
/// - strings and bytes.
///
/// A message that is lost inside a group removes the group's end tag, too.
///
/// Each byte is moved at most twice within the window.
///
/// ```
/// use protozero::{WindowSink, field};
///
/// let mut sent = Vec::new();
/// let mut window = [0; 256];
/// let mut stream = WindowSink::stream(&mut window, |bytes: &[u8]| {
///     sent.extend_from_slice(bytes); // a serial port, a socket
///     Ok::<(), core::convert::Infallible>(())
/// });
/// {
///     let mut trace = stream.root(); // as long as it likes
///     for time in 0..1000 {
///         field::uint64::<8>(&mut trace.nested::<1>(), time); // each fits the window
///     }
/// }
/// stream.finish()?;
/// assert!(sent.len() > 10 * 256);
/// # Ok::<(), protozero::sink::WindowError<core::convert::Infallible>>(())
/// ```
pub struct WindowSink<'b, O: Output> {
    window: Borrowed<'b>,
    /// The memory of `window`, if this sink owns it.
    #[cfg(feature = "alloc")]
    _memory: alloc::vec::Vec<u8>,
    output: O,
    error: Option<O::Error>,
    /// The tag before each root message, if root messages are framed.
    frame: Option<tag::Encoded>,
    /// Index of the tag of the open root message.
    frame_at: usize,
    /// Number of bytes in the window, while no root message is open.
    filled: usize,
    /// Position after which the open root message has written nothing that must be kept.
    mark: usize,
    in_root: bool,
    failed: bool,
    /// The first bytes of the window are an open length that began in an earlier range.
    waiting: bool,
    /// The range before this one, and how far its bytes were moved.
    earlier: Option<(u32, usize)>,
}

impl<'b, O: Output> WindowSink<'b, O> {
    /// A stream through the caller's `window`, of at least 64 bytes, to `output`. Root messages
    /// follow each other without tags: a parser reads them as one message.
    pub fn stream(window: &'b mut [u8], output: O) -> StreamOf<Self> {
        StreamOf::new(Self::new(Borrowed::new(window), output, None))
    }

    /// A stream in which each root message is a field `N` of an outer message, like the packets of
    /// a trace. A root message must fit the window together with its tag, four bytes, and three
    /// more bytes for each nested message that is open at its longest point (but not for groups and
    /// announced lengths).
    pub fn framed<const N: u32>(window: &'b mut [u8], output: O) -> StreamOf<Self> {
        let tag = const { tag::Encoded::new(N, tag::LEN) };
        StreamOf::new(Self::new(Borrowed::new(window), output, Some(tag)))
    }

    fn new(window: Borrowed<'b>, output: O, frame: Option<tag::Encoded>) -> Self {
        Self {
            window,
            #[cfg(feature = "alloc")]
            _memory: alloc::vec::Vec::new(),
            output,
            error: None,
            frame,
            frame_at: 0,
            filled: 0,
            mark: 0,
            in_root: false,
            failed: false,
            waiting: false,
            earlier: None,
        }
    }

    /// The output.
    pub fn output(&self) -> &O {
        &self.output
    }

    /// The error of the output.
    pub fn output_error(&self) -> Option<&O::Error> {
        self.error.as_ref()
    }

    /// The first `used` bytes of the window.
    #[inline]
    fn bytes(&mut self, used: usize) -> &mut [u8] {
        // SAFETY:
        // - initialized: the window was initialized when it was borrowed or allocated;
        // - not written during this time: the stream writes only while it does not call this sink,
        //   and the reference ends with the call.
        unsafe { self.window.front(used) }
    }

    /// Writes the first `len` bytes to the output.
    fn put(&mut self, len: usize) -> Result<(), WriteError> {
        if self.error.is_some() {
            return Err(WriteError::Output);
        }
        if len == 0 {
            return Ok(());
        }
        // SAFETY: as in `bytes`; borrowed here because `output` is borrowed as well.
        let bytes = unsafe { self.window.front(len) };
        self.output.put(bytes).map_err(|error| {
            self.error = Some(error);
            WriteError::Output
        })
    }

    /// Stores `bytes` at `at`, if they fit.
    #[inline]
    fn store(&mut self, at: usize, bytes: &[u8]) {
        let len = self.window.len();
        if let Some(to) = self.bytes(len).get_mut(at..).and_then(|w| w.get_mut(..bytes.len())) {
            // Not `copy_from_slice`: without inlining it compares the lengths, and panics.
            to.iter_mut().zip(bytes).for_each(|(to, byte)| *to = *byte);
        }
    }

    /// Moves the bytes from `from` to `to` to the lower position `at`.
    #[inline]
    fn shift(&mut self, from: usize, to: usize, at: usize) {
        if at <= from && from <= to {
            let moved = self.bytes(to).get_mut(at..).unwrap_or_default();
            move_to_front(moved, from - at);
        }
    }

    /// Drops the open root message. The window is then as before this message or, if bytes of it
    /// are written, as after it.
    fn give_up(&mut self) {
        self.failed = true;
        self.filled = match self.frame {
            Some(_) => self.frame_at,
            None if self.waiting => {
                self.store(0, &varint::padded(0));
                SLOT_LEN
            }
            None => self.mark,
        };
        self.waiting = false;
        self.earlier = None;
    }

    fn written_out(&mut self) -> Result<(), WriteError> {
        let filled = self.filled;
        self.put(filled)?;
        self.filled = 0;
        Ok(())
    }
}

#[cfg(feature = "alloc")]
impl<O: Output> WindowSink<'static, O> {
    /// [`stream`](Self::stream) with its own window of `window_len` bytes.
    pub fn stream_with_window(window_len: usize, output: O) -> StreamOf<Self> {
        StreamOf::new(Self::owned(window_len, output, None))
    }

    /// [`framed`](Self::framed) with its own window of `window_len` bytes.
    pub fn framed_with_window<const N: u32>(window_len: usize, output: O) -> StreamOf<Self> {
        let tag = const { tag::Encoded::new(N, tag::LEN) };
        StreamOf::new(Self::owned(window_len, output, Some(tag)))
    }

    fn owned(window_len: usize, output: O, frame: Option<tag::Encoded>) -> Self {
        let mut memory = alloc::vec![0; window_len.max(WINDOW_MIN)];
        // SAFETY: `_memory` keeps the allocation, and is not used until it is dropped together with
        // the pointer. Moving a `Vec` does not move its allocation.
        let window = unsafe { Borrowed::of_allocation(&mut memory) };
        Self { _memory: memory, ..Self::new(window, output, frame) }
    }
}

// SAFETY:
// - valid: each range is the window, which is borrowed mutably for `'b` or owned by this sink;
// - unshared: this sink accesses the bytes only within the calls below and `flush`, in which the
//   stream does not write; every root begins with a new range;
// - thread: the memory of the window belongs to no thread.
unsafe impl<O: Output> Sink for WindowSink<'_, O> {
    fn next_range(&mut self, used: usize, open: &mut OpenSlots<'_>) -> Result<Range, WriteError> {
        let mut open = open.peekable();
        let outermost = open.peek().copied();
        let first = match (self.frame, outermost) {
            (Some(_), _) => self.frame_at,
            (None, _) if self.waiting => 0,
            (None, Some(slot)) => slot.offset as usize,
            (None, None) => used,
        };
        self.earlier = outermost.map(|slot| (slot.range, first));
        self.waiting |= self.frame.is_none() && outermost.is_some();
        // Iterating zeroes the bytes of the slots.
        open.for_each(drop);
        if first == 0 {
            self.mark = used;
            self.give_up();
            return Err(WriteError::WindowFull { len: self.window.len() });
        }
        if let Err(error) = self.put(first) {
            self.give_up();
            return Err(error);
        }
        self.shift(first, used, 0);
        self.frame_at = 0;
        self.mark = used.saturating_sub(first);
        let range = self.window.range().after(self.mark);
        if range.free_bytes() < RANGE_MIN {
            self.give_up();
            return Err(WriteError::WindowFull { len: self.window.len() });
        }
        Ok(range)
    }

    fn fill(&mut self, slot: Slot, length: [u8; 4]) {
        let Some((range, shift)) = self.earlier else { return };
        let Some(at) = (slot.offset as usize).checked_sub(shift) else { return };
        if slot.range == range {
            self.store(at, &length);
            if at == 0 && core::mem::take(&mut self.waiting) {
                // All fields before this are complete: a later failure may keep them.
                self.mark = SLOT_LEN + trusted::padded(length).unwrap_or_default() as usize;
            }
        }
    }

    fn begin_root(&mut self, _used: usize) -> Result<Option<Range>, WriteError> {
        self.in_root = true;
        self.failed = false;
        self.waiting = false;
        self.earlier = None;
        let len = self.window.len();
        if len < WINDOW_MIN {
            self.failed = true;
            return Err(WriteError::RangeTooShort { len });
        }
        let header = self.frame.map_or(0, |tag| tag.len + SLOT_LEN);
        if self.error.is_some() || len.saturating_sub(self.filled) < header + RANGE_MIN {
            self.written_out().inspect_err(|_| self.failed = true)?;
        }
        self.frame_at = self.filled;
        if let Some(tag) = self.frame {
            self.store(self.filled, tag.bytes.to_le_bytes().get(..tag.len).unwrap_or_default());
        }
        self.mark = self.filled + header;
        Ok(Some(self.window.range().after(self.mark)))
    }

    fn end_root(&mut self, used: usize) -> usize {
        self.in_root = false;
        if !self.failed && used < self.mark {
            // The message failed outside of this sink: a string is too long for every length field.
            self.give_up();
        }
        if self.failed {
            return used.min(self.filled);
        }
        self.filled = used.min(self.window.len());
        if core::mem::take(&mut self.waiting) {
            // Its scope was leaked (`mem::forget`): it ends together with its parent.
            self.store(0, &varint::padded(used.saturating_sub(SLOT_LEN) as u32));
        }
        if let Some(tag) = self.frame {
            let length_at = self.frame_at + tag.len;
            let body = length_at + SLOT_LEN;
            let len = used.saturating_sub(body);
            if len <= varint::ONE_BYTE_MAX as usize {
                self.store(length_at, &[len as u8]);
                self.shift(body, used, length_at + 1);
                self.filled = length_at + 1 + len;
            } else {
                self.store(length_at, &varint::padded(len as u32));
            }
        }
        self.filled
    }
}

impl<O: Output> StreamOf<WindowSink<'_, O>> {
    /// Writes all finished root messages to the output.
    ///
    /// # Errors
    /// [`WriteError::Output`]; the sink has the reason.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        let sink = self.sink_inside();
        // The scope of an open root was leaked: the next root finishes it.
        if sink.in_root { Ok(()) } else { sink.written_out() }
    }

    /// Writes everything to the output and returns it.
    ///
    /// # Errors
    /// [`WindowError::Output`] if the output failed; [`WindowError::Write`] if a message was lost
    /// and all others are written.
    pub fn finish(mut self) -> Result<O, WindowError<O::Error>> {
        let sink = self.sink_inside();
        if core::mem::take(&mut sink.in_root) && !sink.failed {
            // Its scope was leaked, so its end is unknown.
            sink.give_up();
        }
        let flushed = self.flush();
        let lost = self.first_error();
        let WindowSink { output, error, .. } = self.into_sink();
        match (error, flushed.err().or(lost)) {
            (Some(error), _) => Err(WindowError::Output(error)),
            (None, Some(error)) => Err(WindowError::Write(error)),
            (None, None) => Ok(output),
        }
    }
}

/// Moves the bytes from `from` on to the start.
///
/// Not by `copy_within`: without inlining it checks the range, and panics. A word is read before it is written, and
/// the next word begins behind it, so words may overlap.
fn move_to_front(bytes: &mut [u8], from: usize) {
    let mut at = 0;
    while let Some(word) = bytes.get(at..).and_then(|b| b.get(from..)?.first_chunk::<8>()).copied()
    {
        if let Some(to) = bytes.get_mut(at..).and_then(|to| to.first_chunk_mut::<8>()) {
            *to = word;
        }
        at += 8;
    }
    while let Some(byte) = bytes.get(at..).and_then(|b| b.get(from)).copied() {
        if let Some(to) = bytes.get_mut(at) {
            *to = byte;
        }
        at += 1;
    }
}
