//! Zstandard frames.

use std::io::Write as _;

use zrip::FrameEncoder;

use super::encoder::Encoder;

/// Levels of the encoder. Those beyond search longer for matches, which costs a hundred times as much at the end of
/// the format's scale.
const LEVELS: std::ops::RangeInclusive<i32> = -7..=4;

/// The level of the encoder for one that a config asks for.
fn level(asked: i32) -> i32 {
    asked.clamp(*LEVELS.start(), *LEVELS.end())
}

/// `stream` as one frame. Better than [`Zstd`] for what is short: its tables have the size of it.
pub(super) fn encode_short(stream: &[u8], asked: i32) -> Option<Vec<u8>> {
    zrip::compress(stream, level(asked)).ok()
}

/// What the encoder keeps for one block, whatever the level, rounded up.
const BLOCK_BYTES: usize = 1024 * 1024;

/// One frame.
pub(super) struct Zstd(FrameEncoder<Vec<u8>>);

impl Zstd {
    pub(super) fn new(asked: i32) -> Option<Self> {
        Some(Self(FrameEncoder::new(Vec::new(), level(asked)).ok()?))
    }

    /// What its tables take, and its copy of the stream, in memory that doubles when it is full.
    pub(super) fn memory_bytes(asked: i32, stream_len: usize) -> usize {
        let hash_log = zrip::encode::strategy::max_hash_log(level(asked)).unwrap_or(0);
        let tables = (2 * size_of::<u32>()) << hash_log;
        let window = stream_len.saturating_mul(2);
        tables.saturating_add(window).saturating_add(BLOCK_BYTES)
    }
}

impl Encoder for Zstd {
    fn put(&mut self, piece: &[u8], _is_last: bool) -> Option<()> {
        self.0.write_all(piece).ok()
    }

    fn finish(self: Box<Self>) -> Option<Vec<u8>> {
        self.0.finish().ok()
    }
}
