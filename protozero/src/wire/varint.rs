//! Varints: seven bits per byte, lowest first. The top bit means that more bytes follow.
//!
//! ```text
//! 300 = 0b10_0101100   canonical   ac 02
//!                      padded      ac 82 80 00   (always four bytes)
//! ```
//!
//! The padded form is legal protobuf, and is used for lengths that are written before the message
//! is known. The functions work on one 64-bit word instead of a loop over bytes: three shifts move
//! the groups of seven bits, so the cost does not depend on the value and there is no branch to
//! mispredict.

/// Maximum length of a varint in bytes.
pub const LEN_MAX: usize = 10;

/// Maximum length of a body whose length fits one byte (`proto_utils.h`: kMaxOneByteMessageLength).
pub const ONE_BYTE_MAX: u32 = 0x7f;

/// Maximum length of a body whose length fits the padded form (`proto_utils.h`: kMaxMessageLength).
pub const PADDED_MAX: u32 = 0x0fff_ffff;

const CONTINUE: u64 = 0x8080_8080_8080_8080;

/// Length of the canonical varint of `value`: 1 to 10 bytes.
#[inline(always)]
#[must_use]
pub const fn len(value: u64) -> usize {
    // One byte per started group of seven bits. `| 1` gives zero one byte. 9/64 is close enough to
    // 1/7 for 64 bits.
    ((value | 1).ilog2() as usize * 9 + 73) / 64
}

/// The low 56 bits of `value` as eight groups of seven, one per byte, with clear top bits.
#[inline(always)]
#[must_use]
pub const fn spread(value: u64) -> u64 {
    // Each step moves half of the groups to the left. Moving by n is the same as adding 2^n - 1
    // times the value.
    let x = value & 0x00ff_ffff_ffff_ffff;
    let x = x + 15 * (x & 0x00ff_ffff_f000_0000);
    let x = x + 3 * (x & 0x0fff_c000_0fff_c000);
    x + (x & 0x3f80_3f80_3f80_3f80)
}

/// Inverse of [`spread`]; ignores the top bit of each byte.
#[inline(always)]
#[must_use]
pub const fn gather(word: u64) -> u64 {
    let x = word & !CONTINUE;
    let x = (x & 0x007f_007f_007f_007f) | ((x & 0x7f00_7f00_7f00_7f00) >> 1);
    let x = (x & 0x0000_3fff_0000_3fff) | ((x & 0x3fff_0000_3fff_0000) >> 2);
    (x & 0x0000_0000_0fff_ffff) | ((x & 0x0fff_ffff_0000_0000) >> 4)
}

/// The canonical varint of a value below 2^56 as a little-endian word (the bytes after it are
/// zero), and its length, 1 to 8.
#[inline(always)]
#[must_use]
pub const fn word(value: u64) -> (u64, usize) {
    debug_assert!(value < 1 << 56);
    let len = len(value);
    let more = if len == 1 { 0 } else { top_bits(len as u32 - 1) };
    (spread(value) | more, len)
}

/// [`word`] for values of 128 or more, with fewer operations.
#[inline(always)]
pub(crate) const fn word_long(value: u64) -> (u64, usize) {
    debug_assert!(value >= 0x80 && value < 1 << 56);
    let more = (value.ilog2() * 9 + 9) / 64;
    (spread(value) | top_bits(more), 1 + more as usize)
}

/// The top bits of `count` bytes, 1 to 7.
#[inline(always)]
const fn top_bits(count: u32) -> u64 {
    CONTINUE.wrapping_shr((count * 8).wrapping_neg())
}

/// The canonical varint of a value of 2^56 or more: eight bytes as a little-endian word, the one or
/// two bytes after it, and its length, 9 or 10.
#[inline(always)]
#[must_use]
pub const fn wide(value: u64) -> (u64, u16, usize) {
    let high = value >> 56;
    let more = high >> 7;
    let tail = (high & 0x7f) | (more << 7) | (more << 8);
    (spread(value) | CONTINUE, tail as u16, 9 + more as usize)
}

/// Writes the canonical varint of `value` to the start of `out` and returns its length.
#[inline]
pub const fn encode(value: u64, out: &mut [u8; LEN_MAX]) -> usize {
    let mut rest = value;
    let mut len = 0;
    // By pattern and not by index, so that no level of optimisation keeps a check.
    let mut free: &mut [u8] = out;
    while let [byte, after @ ..] = free {
        len += 1;
        if rest < 0x80 {
            *byte = rest as u8;
            break;
        }
        *byte = rest as u8 | 0x80;
        rest >>= 7;
        free = after;
    }
    len
}

/// The four-byte padded varint of `value`. Only the low 28 bits count.
///
/// Byte 0 is never zero, so that in a chunk a stored length of zero differs from one that is not
/// stored yet.
#[inline(always)]
#[must_use]
pub const fn padded(value: u32) -> [u8; 4] {
    let x = (value & 0x3fff) | ((value & 0x0fff_c000) << 2);
    let x = (x & 0x007f_007f) | ((x & 0x3f80_3f80) << 1);
    (x | 0x0080_8080).to_le_bytes()
}
