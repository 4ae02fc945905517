//! Varints: seven bits a byte, lowest first, the top bit says "more follow".
//!
//! ```text
//! 300 = 0b10_0101100   canonical   ac 02
//!                      padded      ac 82 80 00   (always four bytes)
//! ```
//!
//! The padded form is legal protobuf; lengths written before their message is known use it.
//! Everything here works on one 64-bit word instead of a loop over bytes: the groups are spread
//! with three shifts, so that the cost does not depend on the value and no branch can mispredict.

/// Most bytes a varint can have.
pub const LEN_MAX: usize = 10;

/// Longest body whose length fits the one-byte form (`proto_utils.h`: kMaxOneByteMessageLength).
pub const ONE_BYTE_MAX: u32 = 0x7f;

/// Longest body whose length fits the padded form (`proto_utils.h`: kMaxMessageLength).
pub const PADDED_MAX: u32 = 0x0fff_ffff;

const CONTINUE: u64 = 0x8080_8080_8080_8080;

/// Bytes of the canonical varint of `value`: 1 to 10.
#[inline(always)]
#[must_use]
pub const fn len(value: u64) -> usize {
    // One byte per started group of seven bits; `| 1` gives zero its byte. Nine 64ths are a seventh,
    // near enough for 64 bits.
    ((value | 1).ilog2() as usize * 9 + 73) / 64
}

/// The low 56 bits of `value` as eight groups of seven, one per byte, top bits clear.
#[inline(always)]
#[must_use]
pub const fn spread(value: u64) -> u64 {
    // Half of the groups move left at a time; to move by n is to add 2^n - 1 times as much.
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

/// The canonical varint of a value below 2^56 as a little-endian word (bytes past it are zero) and
/// its length, 1 to 8.
#[inline(always)]
#[must_use]
pub const fn word(value: u64) -> (u64, usize) {
    debug_assert!(value < 1 << 56);
    let len = len(value);
    let more = if len == 1 { 0 } else { top_bits(len as u32 - 1) };
    (spread(value) | more, len)
}

/// The same of a value from 128: some operations less.
#[inline(always)]
pub(crate) const fn word_long(value: u64) -> (u64, usize) {
    debug_assert!(value >= 0x80 && value < 1 << 56);
    let more = (value.ilog2() * 9 + 9) / 64;
    (spread(value) | top_bits(more), 1 + more as usize)
}

/// The top bits of `count` bytes, 1 to 7: as many bytes of `CONTINUE`, moved down.
#[inline(always)]
const fn top_bits(count: u32) -> u64 {
    CONTINUE.wrapping_shr((count * 8).wrapping_neg())
}

/// The canonical varint of a value of 2^56 or more: eight bytes as a little-endian word, the one
/// or two after it, and its length, 9 or 10.
#[inline(always)]
#[must_use]
pub const fn wide(value: u64) -> (u64, u16, usize) {
    let high = value >> 56;
    let more = high >> 7;
    let tail = (high & 0x7f) | (more << 7) | (more << 8);
    (spread(value) | CONTINUE, tail as u16, 9 + more as usize)
}

/// Writes the canonical varint of `value` to the front of `out` and returns its length.
#[inline]
pub const fn encode(value: u64, out: &mut [u8; LEN_MAX]) -> usize {
    let mut rest = value;
    let mut len = 0;
    while rest >= 0x80 {
        out[len] = rest as u8 | 0x80;
        rest >>= 7;
        len += 1;
    }
    out[len] = rest as u8;
    len + 1
}

/// The four-byte padded varint of `value`, of which only the low 28 bits count.
///
/// Byte 0 is never zero: "not filled in yet" and "zero" stay distinguishable in a chunk.
#[inline(always)]
#[must_use]
pub const fn padded(value: u32) -> [u8; 4] {
    let x = (value & 0x3fff) | ((value & 0x0fff_c000) << 2);
    let x = (x & 0x007f_007f) | ((x & 0x3f80_3f80) << 1);
    (x | 0x0080_8080).to_le_bytes()
}
