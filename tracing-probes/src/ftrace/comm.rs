//! Names of threads, as records have them: sixteen bytes, with zeros or stale bytes behind the name.

/// Bytes of a name.
pub(super) const COMM: usize = 16;

/// The bytes before the first zero byte, 16 if there is none.
#[inline]
pub(super) fn comm_len(comm: u128) -> usize {
    const LOW: u128 = u128::from_le_bytes([1; COMM]);
    const HIGH: u128 = u128::from_le_bytes([0x80; COMM]);
    // The lowest zero byte is the lowest one whose top bit is set here.
    let zeros = comm.wrapping_sub(LOW) & !comm & HIGH;
    zeros.trailing_zeros() as usize / 8
}
