//! Taking one tag, varint or run of bytes off the front of a slice.
//!
//! Values in, values out: a reader that is never borrowed by a call out of line can live in
//! registers. For the same reason the slow road of varints hands back two numbers.

use crate::error::DecodeErrorKind;
use crate::wire::varint;

const STOP: u64 = 0x8080_8080_8080_8080;

/// What was taken, and the rest.
pub(super) type Taken<'a, T> = Result<(T, &'a [u8]), DecodeErrorKind>;

/// Takes a tag: a field number that is not 0 and the wire type, whichever it is.
#[inline(always)]
pub(super) fn tag(from: &[u8]) -> Taken<'_, u32> {
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

/// Takes a varint. Of a tenth byte only the lowest bit counts, as in every implementation.
#[inline(always)]
pub(super) fn varint(from: &[u8]) -> Taken<'_, u64> {
    // Whether a number has one byte or two depends on its value too often for a branch to foresee it.
    // That it has no more than two does not.
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
            // More than there is, if none of the bytes there are ends a varint.
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

/// The first eight bytes, if there are four; where there are less than eight, zeros follow them.
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

/// Varints of nine or ten bytes, and the last three bytes. The length is 0 if there is none.
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

/// Takes `LEN` bytes.
#[inline(always)]
pub(super) fn array<const LEN: usize>(from: &[u8]) -> Taken<'_, [u8; LEN]> {
    match from.split_first_chunk() {
        Some((bytes, rest)) => Ok((*bytes, rest)),
        None => Err(DecodeErrorKind::Truncated),
    }
}

/// Takes a length and as many bytes.
#[inline(always)]
pub(super) fn bytes(from: &[u8]) -> Taken<'_, &[u8]> {
    // Most lengths are of one byte, so a branch foresees them and their numbers need not wait.
    if let [len @ ..0x80, rest @ ..] = from {
        return rest.split_at_checked(usize::from(*len)).ok_or(DecodeErrorKind::Truncated);
    }
    let (len, rest) = varint(from)?;
    exactly(rest, len)
}

/// Takes `len` bytes.
#[inline(always)]
pub(super) fn exactly(from: &[u8], len: u64) -> Taken<'_, &[u8]> {
    // Compared before it is narrowed: a length past the end must not wrap where usize is small.
    if len > from.len() as u64 {
        return Err(DecodeErrorKind::Truncated);
    }
    from.split_at_checked(len as usize).ok_or(DecodeErrorKind::Truncated)
}
