//! Splits a stream into messages. The input comes in blocks of any size, cut at any byte.
//!
//! ```text
//!  blocks  | 0a 05 a b | c d e 0a 02 f g 0a | 01 h |
//!  frames    └──── copied ─────┘ └ borrowed ┘ └ copied
//! ```
//!
//! A frame is a field with a length: tag, length, body. Its number is the kind of message. A
//! `Trace` in a file or pipe is such a stream, and so is upstream's `proto_ring_buffer.h`. A frame
//! that lies in one block is borrowed from it. Otherwise the reader keeps the beginning of the
//! frame, and copies each of its bytes once. A field without a length is not a frame: it is an
//! error, or is skipped ([`FrameReader::skip_other_fields`]).

use alloc::vec::Vec;

use super::limits::DEPTH_MAX;
use super::take;
use crate::error::{DecodeErrorKind, ReadError};
use crate::wire::tag;

/// Default maximum length of a frame's body (`proto_ring_buffer.h`: kMaxMsgSize).
pub const FRAME_BYTES_MAX: usize = 64 << 20;

/// Memory that the reader keeps for the next incomplete frame. After a larger frame it frees the
/// rest.
const KEPT_BYTES_MAX: usize = 256 << 10;

/// A message of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Field number.
    pub number: u32,
    /// The message.
    pub body: &'a [u8],
    /// Offset of the body in the stream.
    pub offset: usize,
}

/// Reads the frames of a stream.
///
/// ```
/// # use protozero::decode::FrameReader;
/// let mut stream = FrameReader::new();
/// let mut bodies = Vec::new();
/// for block in [&b"\x0a\x05ab"[..], b"cde\x0a\x02fg\x0a", b"\x01h"] {
///     let mut frames = stream.read_block(block);
///     while let Some(frame) = frames.next_frame()? {
///         bodies.push(frame.body.to_vec());
///     }
/// }
/// stream.finish()?;
/// assert_eq!(bodies, [&b"abcde"[..], b"fg", b"h"]);
/// # Ok::<(), protozero::DecodeError>(())
/// ```
///
/// Memory grows with the received bytes, never with an announced length.
#[derive(Clone, Debug)]
pub struct FrameReader {
    /// From `start` on: frames that the caller has not read, and the beginning of an incomplete
    /// frame.
    kept: Vec<u8>,
    start: usize,
    /// Offset of the next frame in the stream.
    position: usize,
    frame_bytes_max: usize,
    /// Skip fields that are not frames.
    skip_other: bool,
    /// Numbers of the open groups that are being skipped, innermost last.
    groups: Vec<u32>,
    /// Number of skipped fields.
    skipped: u64,
    /// The first error. It is final: the position of the next frame is unknown after it.
    error: Option<ReadError>,
    /// A [`Frames`] of this stream exists.
    has_frames: bool,
}

impl Default for FrameReader {
    fn default() -> Self {
        Self::new()
    }
}

/// The next field of the stream.
enum NextField {
    /// A field, with the lengths of its head (tag and length) and of its body.
    Head { role: Role, head: usize, body: usize },
    /// More bytes are needed to read the head.
    Incomplete,
}

/// Role a field means for the stream.
#[derive(Clone, Copy)]
enum Role {
    Frame(u32),
    /// A field without a length, or inside of a group.
    Other,
    Begin(u32),
    End,
}

impl FrameReader {
    /// Reads a stream from its beginning. Frames have at most [`FRAME_BYTES_MAX`] bytes.
    #[must_use]
    pub const fn new() -> Self {
        Self::with_max(FRAME_BYTES_MAX)
    }

    /// Reads a stream from its beginning. Bodies of frames have at most `frame_bytes_max` bytes.
    #[must_use]
    pub const fn with_max(frame_bytes_max: usize) -> Self {
        Self {
            kept: Vec::new(),
            start: 0,
            position: 0,
            frame_bytes_max,
            skip_other: false,
            groups: Vec::new(),
            skipped: 0,
            error: None,
            has_frames: false,
        }
    }

    /// Skips numbers and groups instead of failing, as a parser of the whole stream as one message
    /// would. Fields inside of a group are not frames.
    ///
    /// ```
    /// # use protozero::decode::FrameReader;
    /// let mut stream = FrameReader::new().skip_other_fields();
    /// let mut frames = stream.read_block(b"\x38\x04\x0a\x02hi");
    /// assert_eq!(frames.next_frame()?.map(|frame| frame.body), Some(&b"hi"[..]));
    /// drop(frames);
    /// assert_eq!(stream.skipped(), 1);
    /// # Ok::<(), protozero::DecodeError>(())
    /// ```
    #[must_use]
    pub const fn skip_other_fields(mut self) -> Self {
        self.skip_other = true;
        self
    }

    /// Number of skipped fields; a group counts as one.
    #[must_use]
    pub const fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Received bytes that were not returned as frames.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.kept.len() - self.start
    }

    /// Allocated bytes.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.kept.capacity()
    }

    /// Reads the next block of the stream. Frames of this block that the caller does not read are
    /// returned with the next block.
    pub fn read_block<'r>(&'r mut self, block: &'r [u8]) -> Frames<'r> {
        // A leaked `Frames` (`mem::forget`) has lost the rest of its block.
        if core::mem::replace(&mut self.has_frames, true) && self.error.is_none() {
            self.fail(DecodeErrorKind::Truncated);
        }
        Frames { stream: self, block, borrowed_len: 0 }
    }

    /// Checks that the end of the stream is the end of a frame.
    ///
    /// # Errors
    /// [`DecodeErrorKind::Truncated`] at the offset of an incomplete frame, or the earlier error of
    /// the stream.
    pub fn finish(&self) -> Result<(), ReadError> {
        match self.error {
            Some(error) => Err(error),
            None if self.pending() == 0 && self.groups.is_empty() => Ok(()),
            None => Err(DecodeErrorKind::Truncated.at(self.position)),
        }
    }

    fn next_field(&self, from: &[u8]) -> Result<NextField, DecodeErrorKind> {
        let head = take::tag(from).and_then(|(tag, rest)| match tag & 7 {
            tag::LEN => {
                let (body, rest) = take::varint(rest)?;
                let body = usize::try_from(body).ok().filter(|body| *body <= self.frame_bytes_max);
                let frame = self.groups.is_empty();
                let role = if frame { Role::Frame(tag >> 3) } else { Role::Other };
                Ok((role, rest, body.ok_or(DecodeErrorKind::TooLarge)?))
            }
            _ => self.other_field(tag, rest),
        });
        match head {
            Ok((role, rest, body)) => {
                Ok(NextField::Head { role, head: from.len() - rest.len(), body })
            }
            // More bytes can complete this head.
            Err(DecodeErrorKind::Truncated) => Ok(NextField::Incomplete),
            Err(kind) => Err(kind),
        }
    }

    /// The head of a field without a length.
    fn other_field<'a>(
        &self,
        tag: u32,
        rest: &'a [u8],
    ) -> Result<(Role, &'a [u8], usize), DecodeErrorKind> {
        match tag & 7 {
            _ if !self.skip_other => Err(DecodeErrorKind::WireTypeMismatch),
            tag::VARINT => take::varint(rest).map(|(_, rest)| (Role::Other, rest, 0)),
            tag::FIXED32 => Ok((Role::Other, rest, 4)),
            tag::FIXED64 => Ok((Role::Other, rest, 8)),
            tag::BEGIN_GROUP if self.groups.len() >= DEPTH_MAX as usize => {
                Err(DecodeErrorKind::TooDeep)
            }
            tag::BEGIN_GROUP => Ok((Role::Begin(tag >> 3), rest, 0)),
            tag::END_GROUP if self.groups.last() == Some(&(tag >> 3)) => Ok((Role::End, rest, 0)),
            tag::END_GROUP => Err(DecodeErrorKind::EndGroup),
            _ => Err(DecodeErrorKind::WireType),
        }
    }

    /// Accounts for a skipped field.
    fn note_skipped(&mut self, role: Role) {
        self.skipped += u64::from(self.groups.is_empty());
        match role {
            Role::Begin(number) => self.groups.push(number),
            Role::End => drop(self.groups.pop()),
            Role::Frame(_) | Role::Other => {}
        }
    }

    /// Removes the first `len` kept bytes, which were returned as a frame or skipped.
    fn remove_front(&mut self, len: usize) {
        self.position = self.position.wrapping_add(len);
        self.start = self.start.saturating_add(len);
        if self.pending() == 0 {
            self.kept.clear();
            self.kept.shrink_to(KEPT_BYTES_MAX);
            self.start = 0;
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        // Moves at most as many bytes as were removed since the last move.
        if self.start > self.pending() {
            self.kept.drain(..self.start);
            self.start = 0;
        }
        self.kept.extend_from_slice(bytes);
    }

    #[cold]
    fn fail(&mut self, kind: DecodeErrorKind) -> ReadError {
        let error = kind.at(self.position);
        self.error = Some(error);
        self.kept = Vec::new();
        self.start = 0;
        error
    }
}

/// The complete frames of a block: [`FrameReader::read_block`]. Dropping it keeps the unread rest.
#[derive(Debug)]
pub struct Frames<'r> {
    stream: &'r mut FrameReader,
    block: &'r [u8],
    /// Length of the kept bytes that the last frame borrowed. The next call removes them.
    borrowed_len: usize,
}

impl<'r> Frames<'r> {
    /// The next complete frame. It borrows from `self` until the next call.
    ///
    /// # Errors
    /// The stream does not consist of frames, or a frame is too large:
    /// [`WireTypeMismatch`](DecodeErrorKind::WireTypeMismatch),
    /// [`FieldNumber`](DecodeErrorKind::FieldNumber),
    /// [`VarintTooLong`](DecodeErrorKind::VarintTooLong) or
    /// [`TooLarge`](DecodeErrorKind::TooLarge), at the offset of the frame in the stream. If other
    /// fields are skipped, the errors of groups and wire types replace the first of these. Every
    /// later call returns the same error.
    pub fn next_frame(&mut self) -> Result<Option<Frame<'_>>, ReadError> {
        let borrowed_len = core::mem::take(&mut self.borrowed_len);
        self.stream.remove_front(borrowed_len);
        if let Some(error) = self.stream.error {
            return Err(error);
        }
        while self.stream.pending() != 0 {
            match self.complete_kept() {
                Ok(None) => return Ok(None),
                Ok(Some((Role::Frame(number), head, body))) => {
                    self.borrowed_len = head + body;
                    let start = self.stream.start + head;
                    let body = self.stream.kept.get(start..start + body).unwrap_or_default();
                    let offset = self.stream.position.wrapping_add(head);
                    return Ok(Some(Frame { number, body, offset }));
                }
                Ok(Some((role, head, body))) => {
                    self.stream.note_skipped(role);
                    self.stream.remove_front(head + body);
                }
                Err(kind) => return Err(self.stream.fail(kind)),
            }
        }
        match self.borrowed_frame() {
            Ok(frame) => Ok(frame),
            Err(kind) => Err(self.stream.fail(kind)),
        }
    }

    /// The next frame, if it lies completely in the block.
    fn borrowed_frame(&mut self) -> Result<Option<Frame<'r>>, DecodeErrorKind> {
        while let NextField::Head { role, head, body } = self.stream.next_field(self.block)?
            && let Some(end) = head.checked_add(body)
            && let Some((frame, rest)) = self.block.split_at_checked(end)
        {
            self.block = rest;
            let offset = self.stream.position.wrapping_add(head);
            self.stream.position = self.stream.position.wrapping_add(end);
            if let Role::Frame(number) = role {
                let body = frame.get(head..).unwrap_or_default();
                return Ok(Some(Frame { number, body, offset }));
            }
            self.stream.note_skipped(role);
        }
        self.stream.keep(core::mem::take(&mut self.block));
        Ok(None)
    }

    /// Completes the field whose beginning is kept, with only the bytes that it needs.
    fn complete_kept(&mut self) -> Result<Option<(Role, usize, usize)>, DecodeErrorKind> {
        loop {
            let kept = self.stream.kept.get(self.stream.start..).unwrap_or_default();
            let (missing, found) = match self.stream.next_field(kept)? {
                NextField::Incomplete => (1, None),
                NextField::Head { role, head, body } => {
                    let end = head.saturating_add(body);
                    (end.saturating_sub(kept.len()), Some((role, head, body)))
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
        self.stream.remove_front(self.borrowed_len);
        if self.stream.error.is_none() {
            self.stream.keep(self.block);
        }
        self.stream.has_frames = false;
    }
}
