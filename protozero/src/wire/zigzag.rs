//! Zig-zag: maps small negative numbers to small unsigned ones (0, -1, 1, -2 to 0, 1, 2, 3).

/// Maps a signed 32-bit number.
#[inline(always)]
#[must_use]
pub const fn encode32(value: i32) -> u32 {
    ((value << 1) ^ (value >> 31)) as u32
}

/// Maps a signed 64-bit number.
#[inline(always)]
#[must_use]
pub const fn encode64(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// Inverse of [`encode32`].
#[inline(always)]
#[must_use]
pub const fn decode32(value: u32) -> i32 {
    (value >> 1) as i32 ^ -((value & 1) as i32)
}

/// Inverse of [`encode64`].
#[inline(always)]
#[must_use]
pub const fn decode64(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}
