//! Reading bytes that anybody may have written: each function checks all it relies on.
//!
//! A function takes what it reads off the front of a slice and gives it back with the rest. Values go
//! in and out, so that a reader which calls these can live in registers; for the same reason the slow
//! path of varints returns two numbers.

use super::varint;
use crate::error::DecodeErrorKind;

const STOP: u64 = 0x8080_8080_8080_8080;

/// What was taken, and the rest.
pub type Taken<'a, T> = Result<(T, &'a [u8]), DecodeErrorKind>;

/// Takes a tag: a field number that is not 0, and the wire type, whichever it is.
///
/// # Errors
/// [`DecodeErrorKind::FieldNumber`] for the number 0 or one above 2^29 - 1; otherwise as [`varint()`].
#[inline(always)]
pub fn tag(from: &[u8]) -> Taken<'_, u32> {
    match *from {
        // Numbers 1 to 15, and 16 to 2047: nearly all there are.
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

/// Takes a varint of at most ten bytes. Only the lowest bit of a tenth byte counts, as in every
/// implementation.
///
/// # Errors
/// [`DecodeErrorKind::Truncated`] if the bytes end inside it, [`DecodeErrorKind::VarintTooLong`] if its
/// tenth byte is not its last.
#[inline(always)]
pub fn varint(from: &[u8]) -> Taken<'_, u64> {
    // A branch cannot predict whether a number has one byte or two: that depends on its value. It can
    // predict that a number has no more than two.
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
    if let Some(word) = front(from) {
        let stops = !word & STOP;
        if stops != 0 {
            // All bits up to and including the stop bit of the last byte.
            let value = varint::gather(word & (stops ^ stops.wrapping_sub(1)));
            // The position is past the end if the stop bit is one of the zeros that `front` added.
            return match from.get((stops.trailing_zeros() / 8 + 1) as usize..) {
                Some(rest) => Ok((value, rest)),
                None => Err(DecodeErrorKind::Truncated),
            };
        }
    }
    let (value, len) = varint_slow(from);
    match from.get(len..) {
        Some(rest) if len != 0 => Ok((value, rest)),
        _ => Err(cut(from)),
    }
}

/// Takes a varint of at most `MAX` bytes (1 to 10), such as the length of a fragment (4) or of a packet (5).
///
/// # Errors
/// As [`varint()`], with `MAX` in place of ten.
#[inline]
pub fn varint_within<const MAX: usize>(from: &[u8]) -> Taken<'_, u64> {
    const { assert!(MAX >= 1 && MAX <= varint::LEN_MAX) };
    match varint(from) {
        Ok((value, rest)) if from.len() - rest.len() <= MAX => Ok((value, rest)),
        Ok(_) => Err(DecodeErrorKind::VarintTooLong),
        // No byte ends it, and there are enough bytes.
        Err(DecodeErrorKind::Truncated) if from.len() >= MAX => Err(DecodeErrorKind::VarintTooLong),
        Err(kind) => Err(kind),
    }
}

/// What follows the varint at the front, whose value does not matter.
///
/// # Errors
/// As [`varint()`].
#[inline(always)]
pub fn skip_varint(from: &[u8]) -> Result<&[u8], DecodeErrorKind> {
    if let [..0x80, rest @ ..] = from {
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

/// The same where fewer than eight bytes are left, or the varint has more.
#[inline(never)]
fn skip_varint_slow(from: &[u8]) -> Result<&[u8], DecodeErrorKind> {
    varint(from).map(|(_, rest)| rest)
}

/// The first eight bytes, if there are at least four; where there are fewer than eight, zeros follow.
#[inline(always)]
fn front(from: &[u8]) -> Option<u64> {
    if let Some(eight) = from.first_chunk() {
        return Some(u64::from_le_bytes(*eight));
    }
    // Two loads that overlap do for four and more.
    let (first, last) = (from.first_chunk()?, from.last_chunk()?);
    let shift = 8 * (from.len() - 4);
    Some(u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << shift)
}

/// Varints of nine or ten bytes, and the last three bytes of a slice. The length is 0 if there is none.
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

/// Why there is no varint.
#[cold]
fn cut(from: &[u8]) -> DecodeErrorKind {
    if from.len() < varint::LEN_MAX {
        DecodeErrorKind::Truncated
    } else {
        DecodeErrorKind::VarintTooLong
    }
}

/// Takes a length and as many bytes.
///
/// # Errors
/// As [`varint()`]; [`DecodeErrorKind::Truncated`] also if fewer bytes follow than the length says.
#[inline(always)]
pub fn delimited(from: &[u8]) -> Taken<'_, &[u8]> {
    // Most lengths are of one byte, so a branch predicts them and their numbers need not wait.
    if let [len @ ..0x80, rest @ ..] = from {
        return rest.split_at_checked(usize::from(*len)).ok_or(DecodeErrorKind::Truncated);
    }
    let (len, rest) = varint(from)?;
    exactly(rest, len)
}

/// Takes `len` bytes.
///
/// # Errors
/// [`DecodeErrorKind::Truncated`] if there are fewer.
#[inline(always)]
pub fn exactly(from: &[u8], len: u64) -> Taken<'_, &[u8]> {
    // Compared before it is narrowed: a length past the end must not wrap where usize is small.
    if len > from.len() as u64 {
        return Err(DecodeErrorKind::Truncated);
    }
    from.split_at_checked(len as usize).ok_or(DecodeErrorKind::Truncated)
}

/// A varint that comes one byte at a time, because it may lie in several slices or in memory that
/// cannot be a slice.
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
    /// No byte yet.
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

    /// Takes the next byte. With the last byte of a varint it gives the value and the number of bytes,
    /// and is empty again.
    ///
    /// # Errors
    /// [`DecodeErrorKind::VarintTooLong`] if a tenth byte is not the last one. It is empty then, too.
    #[inline]
    pub const fn push(&mut self, byte: u8) -> Result<Option<(u64, usize)>, DecodeErrorKind> {
        // The shift is at most 63, since at most nine bytes came before.
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
