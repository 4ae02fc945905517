//! Zstandard frames.

use structured_zstd::encoding::{CompressionLevel, compress_slice_to_vec};

/// Levels of the format's own library.
const LEVELS: std::ops::RangeInclusive<i32> = -131_072..=22;

/// `stream` as one frame. Level 0 is the library's default; those beyond its range are its last.
pub(super) fn encode(stream: &[u8], level: i32) -> Vec<u8> {
    let level = level.clamp(*LEVELS.start(), *LEVELS.end());
    compress_slice_to_vec(stream, CompressionLevel::from_level(level))
}
