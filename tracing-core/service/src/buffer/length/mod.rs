//! Lengths in front of fragments: varints, of which writers nearly always spend four bytes.

/// The value of a varint that takes all four bytes.
#[inline]
pub(super) fn of_four_bytes(bytes: [u8; 4]) -> Option<u32> {
    let raw = u32::from_le_bytes(bytes);
    let group = |i: u32, mask: u32| raw.wrapping_shr(i) & mask;
    let all_go_on_but_the_last = raw & 0x8080_8080 == 0x0080_8080;
    all_go_on_but_the_last
        .then(|| group(0, 0x7f) | group(1, 0x3f80) | group(2, 0x1f_c000) | group(3, 0xfe0_0000))
}

#[cfg(test)]
mod tests;
