//! Reads only the forms that our own writers produce.
//!
//! These functions are short because each knows one form. `None` means that the bytes have another
//! form, and the caller then uses [`hostile`](super::hostile). Wrong bytes are never a danger: the
//! functions only assume that the usual form is frequent.

/// The value of [`varint::padded`](super::varint::padded); `None` for any other four bytes.
///
/// ```
/// # use protozero::wire::{trusted, varint};
/// assert_eq!(trusted::padded(varint::padded(300)), Some(300));
/// assert_eq!(trusted::padded([0xac, 0x02, 0, 0]), None);
/// ```
#[inline]
#[must_use]
pub const fn padded(bytes: [u8; 4]) -> Option<u32> {
    let word = u32::from_le_bytes(bytes);
    // The top bit must be set in the first three bytes, and clear in the fourth.
    if word & 0x8080_8080 != 0x0080_8080 {
        return None;
    }
    Some(word & 0x7f | word >> 1 & 0x3f80 | word >> 2 & 0x1f_c000 | word >> 3 & 0x0fe0_0000)
}

/// Reads a length of one to three bytes (below 2 MiB), and returns it and the bytes after it.
/// `None` if it is longer or truncated.
#[inline]
#[must_use]
pub const fn length(bytes: &[u8]) -> Option<(usize, &[u8])> {
    match *bytes {
        [a @ ..0x80, ref rest @ ..] => Some((a as usize, rest)),
        [a, b @ ..0x80, ref rest @ ..] => Some((low_bits(a) | (b as usize) << 7, rest)),
        [a, b, c @ ..0x80, ref rest @ ..] => {
            Some((low_bits(a) | low_bits(b) << 7 | (c as usize) << 14, rest))
        }
        _ => None,
    }
}

const fn low_bits(byte: u8) -> usize {
    (byte & 0x7f) as usize
}
