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

/// One frame.
pub(super) struct Zstd(FrameEncoder<Vec<u8>>);

impl Zstd {
    pub(super) fn new(asked: i32) -> Option<Self> {
        Some(Self(FrameEncoder::new(Vec::new(), level(asked)).ok()?))
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
