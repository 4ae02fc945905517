//! Varints of the values that records have, at less cost than those of any value. Most are below 2^28: threads,
//! priorities, differences of times.

#[cfg(test)]
mod tests;

use protozero::wire::varint;

/// Values below this are for [`short`].
pub(super) const SHORT_END: u64 = 1 << 28;
/// Values below this are for [`long`].
pub(super) const LONG_END: u64 = 1 << 56;

/// The top bits of the bytes of a word.
const CONTINUE: u64 = 0x8080_8080_8080_8080;

/// The canonical varint of a value below [`SHORT_END`] as a little-endian word, and its length, 1 to 4. Zeros are
/// behind it.
#[inline(always)]
pub(super) const fn short(value: u32) -> (u32, usize) {
    debug_assert!((value as u64) < SHORT_END);
    // As `varint::len` does.
    let len = ((value | 1).ilog2() * 9 + 73) / 64;
    let halves = value + 3 * (value & 0x0fff_c000);
    let groups = halves + (halves & 0x3f80_3f80);
    // All but the last byte have the top bit.
    let more = 0x0080_8080_u32.wrapping_shr((8 * len).wrapping_neg());
    (groups | more, len as usize)
}

/// The same of a value below [`LONG_END`]: 1 to 8 bytes.
#[inline(always)]
pub(super) const fn long(value: u64) -> (u64, usize) {
    debug_assert!(value < LONG_END);
    let more = ((value | 1).ilog2() * 9 + 9) / 64;
    let before_last = (1_u64 << (8 * more)) - 1;
    (varint::spread(value) | CONTINUE & before_last, 1 + more as usize)
}
