//! Writes tags, varints and lengths into slices, vectors and small arrays.

#[cfg(feature = "alloc")]
use alloc::vec::Vec;

use super::{tag, varint};

/// Stores the canonical varint of `value` at the start of `to` and returns its length. If it does
/// not fit, stores nothing and returns 0.
#[inline]
pub fn varint(to: &mut [u8], value: u64) -> usize {
    if let [first, ..] = to
        && value < 0x80
    {
        *first = value as u8;
        return 1;
    }
    let len = varint::len(value);
    let Some(to) = to.get_mut(..len) else { return 0 };
    fill(to, value);
    len
}

/// Stores `value` as a varint of exactly `to.len()` bytes, with padding if it needs fewer. Bits
/// that do not fit are dropped.
#[inline]
pub fn fill(to: &mut [u8], value: u64) {
    let Some((last, front)) = to.split_last_mut() else { return };
    let mut rest = value;
    for byte in front {
        *byte = rest as u8 | 0x80;
        rest >>= 7;
    }
    *last = rest as u8 & 0x7f;
}

/// Appends the canonical varint of `value`.
#[cfg(feature = "alloc")]
#[inline]
pub fn append_varint(out: &mut Vec<u8>, value: u64) {
    if value < 0x80 {
        return out.push(value as u8);
    }
    let mut bytes = [0; varint::LEN_MAX];
    let len = varint::encode(value, &mut bytes);
    out.extend_from_slice(bytes.get(..len).unwrap_or(&bytes));
}

/// Appends the tag of field `number`, a number from 1 to [`tag::NUMBER_MAX`].
#[cfg(feature = "alloc")]
#[inline]
pub fn append_tag(out: &mut Vec<u8>, number: u32, wire_type: u32) {
    append_varint(out, u64::from(tag::tag(number, wire_type)));
}

/// Appends tag and length of a length-delimited field. The caller appends its `len` bytes.
#[cfg(feature = "alloc")]
#[inline]
pub fn append_head(out: &mut Vec<u8>, number: u32, len: usize) {
    append_tag(out, number, tag::LEN);
    append_varint(out, len as u64);
}

/// A few fields or lengths before or after a longer part: at most `N` bytes in an array, without an
/// allocation.
///
/// ```
/// # use protozero::wire::write::Prefix;
/// let mut head = Prefix::<16>::new();
/// head.uint(1, 7);
/// head.head(2, 300); // field 2, whose 300 bytes are elsewhere
/// assert_eq!(head.as_bytes(), [0x08, 7, 0x12, 0xac, 0x02]);
/// ```
#[derive(Clone, Debug)]
pub struct Prefix<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Prefix<N> {
    /// An empty prefix.
    #[inline]
    #[must_use]
    pub const fn new() -> Self {
        Self { bytes: [0; N], len: 0 }
    }

    /// Appends a varint.
    ///
    /// # Panics
    /// If it does not fit. `N` must be large enough for all values.
    #[inline]
    pub fn varint(&mut self, value: u64) {
        let count = varint(self.bytes.get_mut(self.len..).unwrap_or_default(), value);
        assert!(count != 0, "a prefix of {N} bytes is full");
        self.len += count;
    }

    /// Appends the varint field `number`.
    ///
    /// # Panics
    /// If it does not fit.
    #[inline]
    pub fn uint(&mut self, number: u32, value: u64) {
        self.varint(u64::from(tag::tag(number, tag::VARINT)));
        self.varint(value);
    }

    /// Appends tag and length of a field whose `len` bytes are not in this array.
    ///
    /// # Panics
    /// If they do not fit.
    #[inline]
    pub fn head(&mut self, number: u32, len: usize) {
        self.varint(u64::from(tag::tag(number, tag::LEN)));
        self.varint(len as u64);
    }

    /// The appended bytes.
    #[inline]
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }

    /// The whole array, with zeros after the appended bytes. Copying it has a constant length.
    #[inline]
    #[must_use]
    pub const fn as_array(&self) -> &[u8; N] {
        &self.bytes
    }

    /// Number of appended bytes.
    #[inline]
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// True if nothing was appended.
    #[inline]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl<const N: usize> Default for Prefix<N> {
    fn default() -> Self {
        Self::new()
    }
}
