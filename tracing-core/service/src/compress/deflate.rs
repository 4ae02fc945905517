//! Deflate in the zlib format.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::ZlibEncoder;

/// As upstream has it: what zlib itself calls its default.
const LEVEL: u32 = 6;

/// `stream` as one zlib stream; none only without memory.
pub(super) fn encode(stream: &[u8]) -> Option<Vec<u8>> {
    // Traces shrink to a quarter or less.
    let out = Vec::with_capacity(stream.len() / 4 + 64);
    let mut encoder = ZlibEncoder::new(out, Compression::new(LEVEL));
    encoder.write_all(stream).ok()?;
    encoder.finish().ok()
}
