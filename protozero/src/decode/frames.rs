//! Messages out of a stream: bytes come in blocks of any size, cut anywhere.
//!
//! ```text
//!  blocks  | 0a 05 a b | c d e 0a 02 f g 0a | 01 h |
//!  frames    └──── kept, glued ┘ └ lent ───┘  └ glued
//! ```
//!
//! A frame is a field with a length: tag, length, body; its number says what kind of message it is.
//! A `Trace` in a file or a pipe is such a stream, and so is what upstream calls a ring buffer of
//! messages (`proto_ring_buffer.h`). A frame that lies in one block is lent from it; of one that does
//! not, the beginning is kept, and every byte is copied once. Fields without a length are no frames:
//! an error, or stepped over ([`FrameReader::step_over`]).

use alloc::vec::Vec;

use super::limits::DEPTH_MAX;
use super::take;
use crate::error::{DecodeError, DecodeErrorKind};
use crate::wire::tag;

/// Bytes the body of a frame may have, unless told otherwise (`proto_ring_buffer.h`: kMaxMsgSize).
pub const FRAME_BYTES_MAX: usize = 64 << 20;

/// Memory kept for the next frame that is cut; what a larger one needed is given back.
const KEPT_BYTES_MAX: usize = 256 << 10;

/// A message of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Field number.
    pub number: u32,
    /// The message.
    pub body: &'a [u8],
    /// Bytes of the stream before the body.
    pub offset: usize,
}

/// Puts the frames of a stream together.
///
/// ```
/// # use protozero::decode::FrameReader;
/// let mut stream = FrameReader::new();
/// let mut bodies = Vec::new();
/// for block in [&b"\x0a\x05ab"[..], b"cde\x0a\x02fg\x0a", b"\x01h"] {
///     let mut frames = stream.feed(block);
///     while let Some(frame) = frames.next_frame()? {
///         bodies.push(frame.body.to_vec());
///     }
/// }
/// stream.finish()?;
/// assert_eq!(bodies, [&b"abcde"[..], b"fg", b"h"]);
/// # Ok::<(), protozero::DecodeError>(())
/// ```
///
/// Memory grows with the bytes that came, never with what a length promises.
#[derive(Clone, Debug)]
pub struct FrameReader {
    /// From `start` on: frames nobody took, and the beginning of the one that is cut.
    kept: Vec<u8>,
    start: usize,
    /// Bytes of the stream before the next frame.
    position: usize,
    frame_bytes_max: usize,
    /// What is no frame is stepped over.
    over: bool,
    /// Numbers of the groups that are being stepped over, the innermost last.
    groups: Vec<u32>,
    /// Fields stepped over.
    skipped: u64,
    /// Once a stream is out of step it stays so.
    error: Option<DecodeError>,
    /// A block is being read.
    feeding: bool,
}

impl Default for FrameReader {
    fn default() -> Self {
        Self::new()
    }
}

/// What the front of a stream is.
enum Front {
    /// A field, and bytes of head and body.
    Field { what: What, head: usize, body: usize },
    /// The beginning of a head.
    Cut,
}

/// What a field is, by its number.
#[derive(Clone, Copy)]
enum What {
    Frame(u32),
    /// Without a length, or within a group.
    Other,
    Begin(u32),
    End,
}

impl FrameReader {
    /// A stream from its beginning, of frames up to [`FRAME_BYTES_MAX`].
    #[must_use]
    pub const fn new() -> Self {
        Self::with_max(FRAME_BYTES_MAX)
    }

    /// A stream from its beginning, of frames whose bodies have up to `frame_bytes_max` bytes.
    #[must_use]
    pub const fn with_max(frame_bytes_max: usize) -> Self {
        Self {
            kept: Vec::new(),
            start: 0,
            position: 0,
            frame_bytes_max,
            over: false,
            groups: Vec::new(),
            skipped: 0,
            error: None,
            feeding: false,
        }
    }

    /// The same, which steps over numbers and groups, as those who read the stream as one message do,
    /// instead of failing. What is within a group is no frame.
    ///
    /// ```
    /// # use protozero::decode::FrameReader;
    /// let mut stream = FrameReader::new().step_over();
    /// let mut frames = stream.feed(b"\x38\x04\x0a\x02hi");
    /// assert_eq!(frames.next_frame()?.map(|frame| frame.body), Some(&b"hi"[..]));
    /// drop(frames);
    /// assert_eq!(stream.skipped(), 1);
    /// # Ok::<(), protozero::DecodeError>(())
    /// ```
    #[must_use]
    pub const fn step_over(mut self) -> Self {
        self.over = true;
        self
    }

    /// Fields that were stepped over; a group counts as one.
    #[must_use]
    pub const fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Bytes that came and were not given out.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.kept.len() - self.start
    }

    /// Bytes of memory held.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.kept.capacity()
    }

    /// Takes in the next block of the stream. Frames that the caller does not take out of it come
    /// with the next block.
    pub fn feed<'r>(&'r mut self, block: &'r [u8]) -> Frames<'r> {
        // Frames that were forgotten instead of dropped have taken bytes with them.
        if core::mem::replace(&mut self.feeding, true) && self.error.is_none() {
            self.fail(DecodeErrorKind::Truncated);
        }
        Frames { stream: self, block, lent: 0 }
    }

    /// At the end of the stream: is it also the end of a frame?
    ///
    /// # Errors
    /// [`DecodeErrorKind::Truncated`] if not, at the offset of the frame; or the error that had ended
    /// the stream before.
    pub fn finish(&self) -> Result<(), DecodeError> {
        match self.error {
            Some(error) => Err(error),
            None if self.pending() == 0 && self.groups.is_empty() => Ok(()),
            None => Err(DecodeErrorKind::Truncated.at(self.position)),
        }
    }

    fn front(&self, from: &[u8]) -> Result<Front, DecodeErrorKind> {
        let head = take::tag(from).and_then(|(tag, rest)| match tag & 7 {
            tag::LEN => {
                let (body, rest) = take::varint(rest)?;
                let body = usize::try_from(body).ok().filter(|body| *body <= self.frame_bytes_max);
                let frame = self.groups.is_empty();
                let what = if frame { What::Frame(tag >> 3) } else { What::Other };
                Ok((what, rest, body.ok_or(DecodeErrorKind::TooLarge)?))
            }
            _ => self.other(tag, rest),
        });
        match head {
            Ok((what, rest, body)) => {
                Ok(Front::Field { what, head: from.len() - rest.len(), body })
            }
            // More bytes may mend this one.
            Err(DecodeErrorKind::Truncated) => Ok(Front::Cut),
            Err(kind) => Err(kind),
        }
    }

    /// What has no length.
    fn other<'a>(
        &self,
        tag: u32,
        rest: &'a [u8],
    ) -> Result<(What, &'a [u8], usize), DecodeErrorKind> {
        match tag & 7 {
            _ if !self.over => Err(DecodeErrorKind::WireTypeMismatch),
            tag::VARINT => take::varint(rest).map(|(_, rest)| (What::Other, rest, 0)),
            tag::FIXED32 => Ok((What::Other, rest, 4)),
            tag::FIXED64 => Ok((What::Other, rest, 8)),
            tag::BEGIN_GROUP if self.groups.len() >= DEPTH_MAX as usize => {
                Err(DecodeErrorKind::TooDeep)
            }
            tag::BEGIN_GROUP => Ok((What::Begin(tag >> 3), rest, 0)),
            tag::END_GROUP if self.groups.last() == Some(&(tag >> 3)) => Ok((What::End, rest, 0)),
            tag::END_GROUP => Err(DecodeErrorKind::EndGroup),
            _ => Err(DecodeErrorKind::WireType),
        }
    }

    /// A field that is no frame is behind.
    fn passed(&mut self, what: What) {
        self.skipped += u64::from(self.groups.is_empty());
        match what {
            What::Begin(number) => self.groups.push(number),
            What::End => drop(self.groups.pop()),
            What::Frame(_) | What::Other => {}
        }
    }

    /// Gets rid of the first `len` bytes kept: they were given out.
    fn forget(&mut self, len: usize) {
        self.position = self.position.wrapping_add(len);
        self.start = self.start.saturating_add(len);
        if self.pending() == 0 {
            self.kept.clear();
            self.kept.shrink_to(KEPT_BYTES_MAX);
            self.start = 0;
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        // What moves is no more than what was given out since the last time.
        if self.start > self.pending() {
            self.kept.drain(..self.start);
            self.start = 0;
        }
        self.kept.extend_from_slice(bytes);
    }

    #[cold]
    fn fail(&mut self, kind: DecodeErrorKind) -> DecodeError {
        let error = kind.at(self.position);
        self.error = Some(error);
        self.kept = Vec::new();
        self.start = 0;
        error
    }
}

/// The frames that a block completes: [`FrameReader::feed`]. Dropping it keeps what is left.
#[derive(Debug)]
pub struct Frames<'r> {
    stream: &'r mut FrameReader,
    block: &'r [u8],
    /// How many of the bytes kept were lent as a frame, and may go now.
    lent: usize,
}

impl<'r> Frames<'r> {
    /// The next frame that is complete; lent until the next call.
    ///
    /// # Errors
    /// This is no stream of frames, or one is too large:
    /// [`WireTypeMismatch`](DecodeErrorKind::WireTypeMismatch) (where numbers and groups are stepped
    /// over: those of groups and unknown wire types),
    /// [`FieldNumber`](DecodeErrorKind::FieldNumber),
    /// [`VarintTooLong`](DecodeErrorKind::VarintTooLong) or
    /// [`TooLarge`](DecodeErrorKind::TooLarge), at the frame's offset in the stream. The stream is
    /// out of step then, and says the same for ever.
    pub fn next_frame(&mut self) -> Result<Option<Frame<'_>>, DecodeError> {
        let lent = core::mem::take(&mut self.lent);
        self.stream.forget(lent);
        if let Some(error) = self.stream.error {
            return Err(error);
        }
        while self.stream.pending() != 0 {
            match self.glue() {
                Ok(None) => return Ok(None),
                Ok(Some((What::Frame(number), head, body))) => {
                    self.lent = head + body;
                    let start = self.stream.start + head;
                    let body = self.stream.kept.get(start..start + body).unwrap_or_default();
                    let offset = self.stream.position.wrapping_add(head);
                    return Ok(Some(Frame { number, body, offset }));
                }
                Ok(Some((what, head, body))) => {
                    self.stream.passed(what);
                    self.stream.forget(head + body);
                }
                Err(kind) => return Err(self.stream.fail(kind)),
            }
        }
        match self.lend() {
            Ok(frame) => Ok(frame),
            Err(kind) => Err(self.stream.fail(kind)),
        }
    }

    /// A frame that lies in the block.
    fn lend(&mut self) -> Result<Option<Frame<'r>>, DecodeErrorKind> {
        while let Front::Field { what, head, body } = self.stream.front(self.block)?
            && let Some(end) = head.checked_add(body)
            && let Some((frame, rest)) = self.block.split_at_checked(end)
        {
            self.block = rest;
            let offset = self.stream.position.wrapping_add(head);
            self.stream.position = self.stream.position.wrapping_add(end);
            if let What::Frame(number) = what {
                let body = frame.get(head..).unwrap_or_default();
                return Ok(Some(Frame { number, body, offset }));
            }
            self.stream.passed(what);
        }
        self.stream.keep(core::mem::take(&mut self.block));
        Ok(None)
    }

    /// A frame of which the beginning is kept: takes what is missing of it, and no more.
    fn glue(&mut self) -> Result<Option<(What, usize, usize)>, DecodeErrorKind> {
        loop {
            let kept = self.stream.kept.get(self.stream.start..).unwrap_or_default();
            let (missing, found) = match self.stream.front(kept)? {
                Front::Cut => (1, None),
                Front::Field { what, head, body } => {
                    let end = head.saturating_add(body);
                    (end.saturating_sub(kept.len()), Some((what, head, body)))
                }
            };
            let (more, rest) = self.block.split_at(missing.min(self.block.len()));
            self.stream.keep(more);
            self.block = rest;
            if more.len() < missing {
                return Ok(None);
            }
            if found.is_some() {
                return Ok(found);
            }
        }
    }
}

impl Drop for Frames<'_> {
    fn drop(&mut self) {
        self.stream.forget(self.lent);
        if self.stream.error.is_none() {
            self.stream.keep(self.block);
        }
        self.stream.feeding = false;
    }
}
