//! Reading untrusted bytes: each function checks everything.
//!
//! A function reads from the start of a slice, and returns the value and the rest of the slice.
//! Arguments and results are values, so that a reader can stay in registers. For the same reason
//! `varint_slow` returns two numbers.

use super::varint;
use crate::error::DecodeErrorKind;

const STOP: u64 = 0x8080_8080_8080_8080;

/// The value, and the bytes after it.
pub type Taken<'a, T> = Result<(T, &'a [u8]), DecodeErrorKind>;

/// Reads a tag: a field number other than 0, and any wire type.
///
/// # Errors
/// [`DecodeErrorKind::FieldNumber`] for number 0 or a number above 2^29 - 1, and those of
/// [`varint()`].
#[inline(always)]
pub fn tag(from: &[u8]) -> Taken<'_, u32> {
    match *from {
        // Numbers 1 to 15 here, 16 to 2047 below: these are nearly all fields.
        [a @ 8..0x80, ref rest @ ..] => Ok((u32::from(a), rest)),
        [a @ 0x80..=0xff, b @ 1..0x80, ref rest @ ..] => {
            Ok((u32::from(a & 0x7f) | u32::from(b) << 7, rest))
        }
        _ => tag_slow(from),
    }
}

#[cold]
#[inline(never)]
fn tag_slow(from: &[u8]) -> Taken<'_, u32> {
    let (value, rest) = varint(from)?;
    match u32::try_from(value) {
        Ok(tag) if tag >> 3 != 0 => Ok((tag, rest)),
        _ => Err(DecodeErrorKind::FieldNumber),
    }
}

/// Reads a varint of at most ten bytes. Only the lowest bit of a tenth byte counts, as in all
/// implementations.
///
/// # Errors
/// [`DecodeErrorKind::Truncated`] if `from` ends inside of it, [`DecodeErrorKind::VarintTooLong`]
/// if its tenth byte is not the last.
#[inline(always)]
pub fn varint(from: &[u8]) -> Taken<'_, u64> {
    // One or two bytes: depends on the value and is hard to predict, so there is no branch. More
    // than two bytes: rare and well predicted.
    if let [a, b, ..] = *from {
        if a & b < 0x80 {
            let more = a >> 7;
            let high = u64::from(b) & u64::from(more).wrapping_neg();
            let value = u64::from(a & 0x7f) | high << 7;
            return Ok((value, from.get(usize::from(1 + more)..).unwrap_or_default()));
        }
    } else if let [byte @ ..0x80] = from {
        return Ok((u64::from(*byte), &[]));
    }
    if let Some(word) = first_word(from) {
        let stops = !word & STOP;
        if stops != 0 {
            // All bits up to and including the stop bit of the last byte.
            let value = varint::gather(word & (stops ^ stops.wrapping_sub(1)));
            // `get` fails if the varint ends in the zeros that `first_word` added.
            return match from.get((stops.trailing_zeros() / 8 + 1) as usize..) {
                Some(rest) => Ok((value, rest)),
                None => Err(DecodeErrorKind::Truncated),
            };
        }
    }
    let (value, len) = varint_slow(from);
    match from.get(len..) {
        Some(rest) if len != 0 => Ok((value, rest)),
        _ => Err(varint_error(from)),
    }
}

/// Reads a varint of at most `MAX` bytes (1 to 10), such as the length of a fragment (4) or of a
/// packet (5).
///
/// # Errors
/// Those of [`varint()`], with `MAX` instead of ten.
#[inline]
pub fn varint_within<const MAX: usize>(from: &[u8]) -> Taken<'_, u64> {
    const { assert!(MAX >= 1 && MAX <= varint::LEN_MAX) };
    match varint(from) {
        Ok((value, rest)) if from.len() - rest.len() <= MAX => Ok((value, rest)),
        Ok(_) => Err(DecodeErrorKind::VarintTooLong),
        // `MAX` bytes are there, and none of them ends the varint.
        Err(DecodeErrorKind::Truncated) if from.len() >= MAX => Err(DecodeErrorKind::VarintTooLong),
        Err(kind) => Err(kind),
    }
}

/// Skips a varint and returns the bytes after it.
///
/// # Errors
/// Those of [`varint()`].
#[inline(always)]
pub fn skip_varint(from: &[u8]) -> Result<&[u8], DecodeErrorKind> {
    if let [0..0x80, rest @ ..] = from {
        return Ok(rest);
    }
    if let Some(word) = from.first_chunk() {
        let stops = !u64::from_le_bytes(*word) & STOP;
        if stops != 0
            && let Some(rest) = from.get((stops.trailing_zeros() / 8 + 1) as usize..)
        {
            return Ok(rest);
        }
    }
    skip_varint_slow(from)
}

/// [`skip_varint`] for fewer than eight bytes, and for a longer varint.
#[inline(never)]
fn skip_varint_slow(from: &[u8]) -> Result<&[u8], DecodeErrorKind> {
    varint(from).map(|(_, rest)| rest)
}

/// The first eight bytes, padded with zeros; `None` if there are fewer than four.
#[inline(always)]
fn first_word(from: &[u8]) -> Option<u64> {
    if let Some(eight) = from.first_chunk() {
        return Some(u64::from_le_bytes(*eight));
    }
    // Two overlapping loads read four to eight bytes.
    let (first, last) = (from.first_chunk()?, from.last_chunk()?);
    let shift = 8 * (from.len() - 4);
    Some(u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << shift)
}

/// Reads varints of nine or ten bytes, and varints within the last three bytes. The length is 0 if
/// there is no valid varint.
#[inline(never)]
fn varint_slow(from: &[u8]) -> (u64, usize) {
    if let Some((low, [high, more @ ..])) = from.split_first_chunk() {
        let high = u64::from(*high);
        let value = varint::gather(u64::from_le_bytes(*low)) | high << 57 >> 1;
        return match more {
            _ if high < 0x80 => (value, 9),
            [top @ ..0x80, ..] => (value | u64::from(*top) << 63, 10),
            _ => (0, 0),
        };
    }
    match *from {
        [a, b @ ..0x80, ..] => (u64::from(a & 0x7f) | u64::from(b) << 7, 2),
        [a, b, c @ ..0x80] => {
            (u64::from(a & 0x7f) | u64::from(b & 0x7f) << 7 | u64::from(c) << 14, 3)
        }
        _ => (0, 0),
    }
}

/// The reason why `from` does not begin with a varint.
#[cold]
fn varint_error(from: &[u8]) -> DecodeErrorKind {
    if from.len() < varint::LEN_MAX {
        DecodeErrorKind::Truncated
    } else {
        DecodeErrorKind::VarintTooLong
    }
}

/// Reads a length and that many bytes.
///
/// # Errors
/// Those of [`varint()`], and [`DecodeErrorKind::Truncated`] if `from` is shorter than the length.
#[inline(always)]
pub fn delimited(from: &[u8]) -> Taken<'_, &[u8]> {
    // Most lengths have one byte: this branch is well predicted, and the bytes after it need not
    // wait for the length.
    if let [len @ ..0x80, rest @ ..] = from {
        return rest.split_at_checked(usize::from(*len)).ok_or(DecodeErrorKind::Truncated);
    }
    let (len, rest) = varint(from)?;
    exactly(rest, len)
}

/// Reads `len` bytes.
///
/// # Errors
/// [`DecodeErrorKind::Truncated`] if there are fewer.
#[inline(always)]
pub fn exactly(from: &[u8], len: u64) -> Taken<'_, &[u8]> {
    // Compares before the conversion: a large length must not wrap where `usize` has 32 bits.
    if len > from.len() as u64 {
        return Err(DecodeErrorKind::Truncated);
    }
    from.split_at_checked(len as usize).ok_or(DecodeErrorKind::Truncated)
}

/// Decodes a varint from single bytes, because it lies in several slices or in memory that cannot
/// be a slice.
///
/// ```
/// # use protozero::wire::hostile::SplitVarint;
/// let mut varint = SplitVarint::new();
/// assert_eq!(varint.push(0xac), Ok(None));
/// assert_eq!(varint.push(0x02), Ok(Some((300, 2))));
/// assert!(varint.is_empty());
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct SplitVarint {
    value: u64,
    width: u32,
}

impl SplitVarint {
    /// A decoder without any bytes.
    #[inline]
    #[must_use]
    pub const fn new() -> Self {
        Self { value: 0, width: 0 }
    }

    /// True before the first byte of a varint.
    #[inline]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.width == 0
    }

    /// Adds the next byte. The last byte of a varint returns its value and its number of bytes, and
    /// resets the decoder.
    ///
    /// # Errors
    /// [`DecodeErrorKind::VarintTooLong`] if the tenth byte is not the last. This also resets the
    /// decoder.
    #[inline]
    pub const fn push(&mut self, byte: u8) -> Result<Option<(u64, usize)>, DecodeErrorKind> {
        // The shift is at most 63, because there were at most nine bytes before.
        let value = self.value | ((byte & 0x7f) as u64).wrapping_shl(self.width * 7);
        let width = self.width + 1;
        if byte < 0x80 {
            *self = Self::new();
            return Ok(Some((value, width as usize)));
        }
        if width as usize == varint::LEN_MAX {
            *self = Self::new();
            return Err(DecodeErrorKind::VarintTooLong);
        }
        *self = Self { value, width };
        Ok(None)
    }
}
