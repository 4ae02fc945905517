//! Tags: the number and the wire type of a field in one varint, `number << 3 | type`.

/// Largest field number (protobuf language guide).
pub const NUMBER_MAX: u32 = (1 << 29) - 1;

/// Wire type of integers, bools and enums.
pub const VARINT: u32 = 0;
/// Wire type of eight-byte numbers.
pub const FIXED64: u32 = 1;
/// Wire type of everything with a length: messages, strings, bytes, packed fields.
pub const LEN: u32 = 2;
/// Wire type that opens a group: a nested message with an end tag instead of a length.
pub const BEGIN_GROUP: u32 = 3;
/// Wire type that ends the innermost open group.
pub const END_GROUP: u32 = 4;
/// Wire type of four-byte numbers.
pub const FIXED32: u32 = 5;

/// The tag of field `number` with `wire_type`, not yet encoded as a varint.
///
/// Generated readers match on the whole tag.
#[inline(always)]
#[must_use]
pub const fn tag(number: u32, wire_type: u32) -> u32 {
    number << 3 | wire_type
}

/// The tag of field `number` as one byte; for `const` contexts.
///
/// # Panics
/// If `number` is not in 1 to 15: other tags have more than one byte. In a `const`, that is a
/// compile error.
#[inline(always)]
#[must_use]
pub const fn one_byte(number: u32, wire_type: u32) -> u8 {
    assert!(number != 0 && number < 16, "the tag of this field has more than one byte");
    tag(number, wire_type) as u8
}

/// An encoded tag: its varint bytes and their number, 1 to 5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoded {
    pub(crate) bytes: u64,
    pub(crate) len: usize,
}

impl Encoded {
    /// Encodes the tag of field `number`; for `const` contexts.
    ///
    /// # Panics
    /// If `number` is 0 or above [`NUMBER_MAX`]. In a `const`, that is a compile error.
    #[inline(always)]
    #[must_use]
    pub const fn new(number: u32, wire_type: u32) -> Self {
        assert!(number != 0 && number <= NUMBER_MAX, "field number out of range");
        let (bytes, len) = super::varint::word(tag(number, wire_type) as u64);
        Self { bytes, len }
    }

    /// Encodes a whole [`tag`].
    #[inline]
    pub(crate) const fn of(tag: u32) -> Self {
        let (bytes, len) = super::varint::word(tag as u64);
        Self { bytes, len }
    }

    /// [`Encoded::new`] for a number that is known only at run time; `None` if the number is
    /// invalid.
    #[inline]
    #[must_use]
    pub const fn checked(number: u32, wire_type: u32) -> Option<Self> {
        if number == 0 || number > NUMBER_MAX {
            return None;
        }
        let (bytes, len) = super::varint::word(tag(number, wire_type) as u64);
        Some(Self { bytes, len })
    }
}
