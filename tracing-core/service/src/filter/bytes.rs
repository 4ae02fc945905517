//! Varints of hostile bytes, and canonical ones of ours.

/// Longest varint, bytes.
const VARINT_BYTES_MAX: usize = 10;

/// A varint at `at`: its value and where it ends. None if it does not end within `bytes` or ten bytes.
#[inline]
pub(super) fn varint(bytes: &[u8], at: usize) -> Result<(u64, usize), Cut> {
    let rest = bytes.get(at..).unwrap_or_default();
    if let Some(&byte) = rest.first()
        && byte < 0x80
    {
        return Ok((byte.into(), at.saturating_add(1)));
    }
    let mut value = 0u64;
    for (index, &byte) in rest.iter().take(VARINT_BYTES_MAX).enumerate() {
        let shift = u32::try_from(index).unwrap_or(0).wrapping_mul(7);
        value |= u64::from(byte & 0x7f).wrapping_shl(shift);
        if byte < 0x80 {
            return Ok((value, at.saturating_add(index).saturating_add(1)));
        }
    }
    Err(if rest.len() < VARINT_BYTES_MAX { Cut::Short } else { Cut::Long })
}

/// Why there is no varint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// The bytes end within it.
    Short,
    /// It has more than ten bytes.
    Long,
}

/// Bytes of the shortest varint of `value`.
pub(super) fn varint_len(value: u64) -> usize {
    let bits = 64usize.saturating_sub((value | 1).leading_zeros() as usize);
    bits.div_ceil(7)
}

/// Appends the shortest varint.
#[inline]
pub(super) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(low_bits(value) | 0x80);
        value >>= 7;
    }
    out.push(low_bits(value));
}

/// Writes a varint of exactly as many bytes as `to` has; `value` must fit.
pub(super) fn fill_varint(to: &mut [u8], mut value: u64) {
    let last = to.len().saturating_sub(1);
    for (index, byte) in to.iter_mut().enumerate() {
        *byte = low_bits(value) | if index < last { 0x80 } else { 0 };
        value >>= 7;
    }
}

/// The seven bits that go into one byte.
#[allow(clippy::cast_possible_truncation, reason = "masked to seven bits")]
const fn low_bits(value: u64) -> u8 {
    (value & 0x7f) as u8
}
