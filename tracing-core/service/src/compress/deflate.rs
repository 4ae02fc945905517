//! Deflate in the zlib format.

use miniz_oxide::DataFormat;
use miniz_oxide::deflate::core::{
    CompressionStrategy, CompressorOxide, TDEFLFlush, TDEFLStatus, compress_to_output,
};

use super::encoder::Encoder;

/// Upstream uses 6, the default of zlib. At that level a producer can choose data that take ten times as long as
/// usual; at this one it is five times, and real traces are as small as those of zlib.
const LEVEL: u8 = 4;
/// 32 KiB, the largest.
const WINDOW_BITS: u8 = 15;

/// What the encoder allocates, rounded up.
const STATE_BYTES: usize = 384 * 1024;

/// A zlib stream.
pub(super) struct Deflate {
    state: CompressorOxide,
    out: Vec<u8>,
}

impl Deflate {
    pub(super) fn new() -> Self {
        let strategy = CompressionStrategy::Default;
        let state = CompressorOxide::with_params(DataFormat::Zlib, LEVEL, strategy, WINDOW_BITS);
        Self { state, out: Vec::new() }
    }

    /// What its tables and windows take.
    pub(super) fn memory_bytes() -> usize {
        STATE_BYTES
    }
}

impl Encoder for Deflate {
    fn put(&mut self, piece: &[u8], is_last: bool) -> Option<()> {
        let Self { state, out } = self;
        let (flush, wanted) = match is_last {
            true => (TDEFLFlush::Finish, TDEFLStatus::Done),
            false => (TDEFLFlush::None, TDEFLStatus::Okay),
        };
        let (status, taken) = compress_to_output(state, piece, flush, |bytes| {
            out.extend_from_slice(bytes);
            true
        });
        (status == wanted && taken == piece.len()).then_some(())
    }

    fn finish(self: Box<Self>) -> Option<Vec<u8>> {
        Some(self.out)
    }
}
