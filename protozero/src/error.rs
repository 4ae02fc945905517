//! The errors of readers, of decoding whole messages, and of writers.
//!
//! ```text
//!  Reader ──▶ ReadError { kind, offset }            two registers, no allocation
//!                 │
//!  Message::decode ──▶ DecodeError { kind, offset, path }    the path is found after the failure
//! ```

#[cfg(feature = "alloc")]
use alloc::boxed::Box;
use core::fmt;

/// Why a reader could not read a field, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ReadError {
    /// What is wrong.
    pub kind: DecodeErrorKind,
    /// Offset in bytes of the malformed field (its tag) or packed element, from the start of the
    /// reader's input.
    pub offset: usize,
}

/// Why a message could not be decoded, and where.
///
/// ```
/// # #[cfg(feature = "derive")] {
/// use protozero::Message;
///
/// #[derive(Clone, PartialEq, Debug, Default, Message)]
/// #[pb(skip_unknown)]
/// struct Order {
///     #[pb(message, 1, repeated)]
///     lines: Vec<Line>,
/// }
///
/// #[derive(Clone, PartialEq, Debug, Default, Message)]
/// #[pb(skip_unknown)]
/// struct Line {
///     #[pb(string, 1)]
///     name: String,
/// }
///
/// let error = Order::decode(b"\x0a\0\x0a\x03\x0a\x01\xff").unwrap_err();
/// assert_eq!(error.path(), "Order.lines[1].name");
/// assert_eq!(error.to_string(), "Order.lines[1].name: string is not UTF-8 at byte 4");
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct DecodeError {
    /// What is wrong.
    pub kind: DecodeErrorKind,
    /// Offset in bytes of the malformed field (its tag) or packed element, from the start of the
    /// input.
    pub offset: usize,
    #[cfg(feature = "alloc")]
    path: Box<str>,
}

impl DecodeError {
    /// Finds the path, which starts with the full name of the message.
    #[cfg(feature = "alloc")]
    #[cold]
    #[inline(never)]
    pub(crate) fn new(error: ReadError, path: Box<str>) -> Self {
        Self { kind: error.kind, offset: error.offset, path }
    }

    /// The malformed field: the full name of the message (of a struct without a schema, its name in Rust), and the
    /// names of the fields, with the index of an element and the key of a map's entry. A field without a name is its
    /// number. Empty if the error is not of a message, but of bytes around it.
    ///
    /// A path is for people. Its form may change.
    #[must_use]
    pub fn path(&self) -> &str {
        #[cfg(feature = "alloc")]
        return &self.path;
        #[cfg(not(feature = "alloc"))]
        return "";
    }

    /// The same error in an input with `bytes` more bytes before the message.
    #[cfg(feature = "alloc")]
    pub(crate) fn after(self, bytes: usize) -> Self {
        Self { offset: bytes.saturating_add(self.offset), ..self }
    }
}

/// Without a path.
impl From<ReadError> for DecodeError {
    #[cold]
    fn from(error: ReadError) -> Self {
        Self {
            kind: error.kind,
            offset: error.offset,
            #[cfg(feature = "alloc")]
            path: Box::default(),
        }
    }
}

/// Drops the path.
impl From<DecodeError> for ReadError {
    fn from(error: DecodeError) -> Self {
        error.kind.at(error.offset)
    }
}

/// What can be wrong with the bytes of a message.
///
/// `repr(usize)`, so that a result of a number or an error fits whole registers and decoding needs
/// no bit operations to separate them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(usize)]
pub enum DecodeErrorKind {
    /// A value, or the length before it, continues after the end of the input.
    Truncated,
    /// A varint of more than ten bytes.
    VarintTooLong,
    /// Field number 0, or one above 2^29-1.
    FieldNumber,
    /// The end tag of a group that is not open, or that is not the innermost open group.
    EndGroup,
    /// A wire type that does not exist (6 or 7).
    WireType,
    /// A known field has another wire type than in its schema.
    WireTypeMismatch,
    /// The length of a packed field is not a multiple of its element width.
    PackedLength,
    /// A string that is not UTF-8.
    Utf8,
    /// Messages or groups nested deeper than [`limits::DEPTH_MAX`](crate::decode::limits::DEPTH_MAX).
    TooDeep,
    /// More elements than the decoder's limit allows.
    TooManyElements,
    /// Decoded structs would take more memory than allowed for an input of this size; see
    /// `Message::decode`.
    TooMuchMemory,
    /// The input is larger than the decoder's limit allows.
    TooLarge,
}

impl DecodeErrorKind {
    /// This kind of error at `offset`.
    #[must_use]
    pub const fn at(self, offset: usize) -> ReadError {
        ReadError { kind: self, offset }
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
            Self::PackedLength => "length of a packed field is not a multiple of its element width",
            Self::Utf8 => "string is not UTF-8",
            Self::TooDeep => "messages nested too deeply",
            Self::TooManyElements => "too many elements",
            Self::TooMuchMemory => {
                "the decoded messages would take too much memory for an input of this size"
            }
            Self::TooLarge => "message too large",
        })
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.kind, self.offset)
    }
}

impl core::error::Error for DecodeErrorKind {}

impl core::error::Error for ReadError {}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path().is_empty() {
            write!(f, "{}: ", self.path())?;
        }
        write!(f, "{} at byte {}", self.kind, self.offset)
    }
}

impl core::error::Error for DecodeError {}

/// Why the written message is not complete.
///
/// Setters never fail. After an error the stream ignores all further writes, and `finish` returns
/// the error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WriteError {
    /// The caller's buffer of `capacity` bytes is full.
    Full {
        /// Size of the buffer in bytes.
        capacity: usize,
    },
    /// The writer of an open message was leaked (`mem::forget`), so nothing after it could be
    /// written.
    Forgotten,
    /// A message has `by` bytes more than its announced length; fewer, if `by` is negative.
    LengthMismatch {
        /// Written bytes minus announced bytes.
        by: i64,
    },
    /// The sink had no memory left, for example because the reader of a shared-memory buffer is too
    /// slow.
    Exhausted,
    /// The sink returned a range of `len` bytes, which is too short for a length field.
    RangeTooShort {
        /// Length of the range.
        len: usize,
    },
    /// A body of `len` bytes is longer than the maximum: 2^28-1 bytes for messages, 2^31-1 for
    /// strings and bytes.
    TooLong {
        /// Length of the body.
        len: u64,
    },
    /// An open message does not fit the window of `len` bytes, in which its length must be stored:
    /// see `WindowSink`.
    WindowFull {
        /// Length of the window.
        len: usize,
    },
    /// The output of a `WindowSink` failed; the sink has the reason.
    Output,
    /// An owned message contains more than `depth` levels of messages. No decoder accepts that.
    TooDeep {
        /// Maximum number of levels.
        depth: u32,
    },
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full { capacity } => write!(f, "buffer of {capacity} bytes is full"),
            Self::Forgotten => {
                f.write_str("the writer of an open message was leaked (mem::forget)")
            }
            Self::LengthMismatch { by } => {
                write!(f, "message differs by {by} bytes from the length announced for it")
            }
            Self::Exhausted => f.write_str("no memory left to write into"),
            Self::RangeTooShort { len } => write!(f, "range of {len} bytes is too short"),
            Self::TooLong { len } => write!(f, "body of {len} bytes is too long"),
            Self::WindowFull { len } => {
                write!(
                    f,
                    "message does not fit the window of {len} bytes in which its length must be stored"
                )
            }
            Self::Output => f.write_str("the output behind the window failed"),
            Self::TooDeep { depth } => write!(f, "messages nested deeper than {depth} levels"),
        }
    }
}

impl core::error::Error for WriteError {}
