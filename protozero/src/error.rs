//! What can go wrong: one error for reading, one for writing. Both are small values that can be
//! compared, and neither needs an allocator.

use core::fmt;

/// Why a message could not be decoded, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DecodeError {
    /// What is wrong.
    pub kind: DecodeErrorKind,
    /// Byte offset of the offending field (its tag) or element, from the start of the bytes the
    /// reader was made from.
    pub offset: usize,
}

/// The ways bytes can fail to be a protobuf message.
///
/// As wide as a register on purpose: where a result is either a number or an error, the two then
/// share whole registers, and code that reads a field does not take numbers to pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(usize)]
pub enum DecodeErrorKind {
    /// A value, or the length in front of it, ends after the input does.
    Truncated,
    /// A varint of more than ten bytes.
    VarintTooLong,
    /// Field number 0, or one above 2^29-1.
    FieldNumber,
    /// The end of a group that is not open: of none, or of another than the innermost one.
    EndGroup,
    /// A wire type that does not exist (6 and 7).
    WireType,
    /// A known field came with another wire type than its schema says.
    WireTypeMismatch,
    /// A packed run of fixed-width numbers is not a multiple of their width.
    PackedLength,
    /// A string that is not UTF-8.
    Utf8,
    /// Messages or groups nested deeper than [`limits::DEPTH_MAX`](crate::decode::limits::DEPTH_MAX).
    TooDeep,
    /// More elements than the decoder's budget allows.
    TooManyElements,
    /// Structs of more bytes than so short an input may ask for; see [`Message::decode`](crate::Message::decode).
    TooMuchMemory,
    /// More input than the decoder's budget allows.
    TooLarge,
}

impl DecodeErrorKind {
    /// This kind of error at `offset`.
    #[must_use]
    pub const fn at(self, offset: usize) -> DecodeError {
        DecodeError { kind: self, offset }
    }
}

impl fmt::Display for DecodeErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Truncated => "the input ends inside a field",
            Self::VarintTooLong => "varint longer than 10 bytes",
            Self::FieldNumber => "field number out of range",
            Self::EndGroup => "end of a group that is not open",
            Self::WireType => "unknown wire type",
            Self::WireTypeMismatch => "wire type differs from the schema",
            Self::PackedLength => "packed run is not a multiple of its element width",
            Self::Utf8 => "string is not UTF-8",
            Self::TooDeep => "messages nested too deeply",
            Self::TooManyElements => "too many elements",
            Self::TooMuchMemory => "the messages in so few bytes would take too much memory",
            Self::TooLarge => "message too large",
        })
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.kind, self.offset)
    }
}

impl core::error::Error for DecodeError {}

/// Why what was written is not complete.
///
/// Setters never fail: after an error the stream swallows what follows and the error is reported
/// once, by whoever finishes the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WriteError {
    /// The caller's buffer of `capacity` bytes is full.
    Full {
        /// Bytes the buffer holds.
        capacity: usize,
    },
    /// The writer of an open message was forgotten (`mem::forget`), and nothing behind it could be
    /// written.
    Forgotten,
    /// A message whose length was announced has `by` bytes more (or fewer, if negative) than that.
    LengthMismatch {
        /// Bytes written less bytes announced.
        by: i64,
    },
    /// The sink had no memory to hand out (a shared-memory buffer the reader does not keep up with).
    Exhausted,
    /// The sink handed out a range of `len` bytes: too short for a length field.
    RangeTooShort {
        /// Bytes of the range.
        len: usize,
    },
    /// A message or string of `len` bytes: more than a length field can tell (2^28-1 for messages,
    /// 2^31-1 for strings and bytes).
    TooLong {
        /// Bytes of the body.
        len: u64,
    },
    /// A message whose length is still open does not fit the window of `len` bytes in which its
    /// length could be stored: see `WindowSink`.
    WindowFull {
        /// Bytes of the window.
        len: usize,
    },
    /// What takes the bytes out of a sink's window failed; the sink has the reason.
    Output,
    /// An owned message with more than `depth` levels of messages inside it: no reader goes so deep.
    TooDeep {
        /// Levels that can be written.
        depth: u32,
    },
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full { capacity } => write!(f, "buffer of {capacity} bytes is full"),
            Self::Forgotten => f.write_str("the writer of an open message was forgotten"),
            Self::LengthMismatch { by } => {
                write!(f, "message differs by {by} bytes from the length announced for it")
            }
            Self::Exhausted => f.write_str("no memory left to write into"),
            Self::RangeTooShort { len } => write!(f, "range of {len} bytes is too short"),
            Self::TooLong { len } => write!(f, "body of {len} bytes is too long"),
            Self::WindowFull { len } => {
                write!(f, "message outgrows the window of {len} bytes that its length waits in")
            }
            Self::Output => f.write_str("the output behind the window failed"),
            Self::TooDeep { depth } => write!(f, "messages nested deeper than {depth} levels"),
        }
    }
}

impl core::error::Error for WriteError {}
