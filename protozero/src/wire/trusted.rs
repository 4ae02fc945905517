//! Reading the forms that our own writers produce, and no other.
//!
//! These functions are short because they know one form. `None` says that the bytes have another one,
//! not that they are wrong: a caller then goes on with [`hostile`](super::hostile). No byte has to be
//! trusted for safety; what is trusted is only that the usual form is usual.

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
    // The first three bytes go on, the fourth does not.
    if word & 0x8080_8080 != 0x0080_8080 {
        return None;
    }
    Some(word & 0x7f | word >> 1 & 0x3f80 | word >> 2 & 0x1f_c000 | word >> 3 & 0x0fe0_0000)
}

/// Takes a length of one to three bytes (below 2 MiB) off the front of `bytes`, and gives what follows.
/// `None` if it is longer or the bytes end inside it.
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
