//! Deflate in the zlib format.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::ZlibEncoder;

/// Upstream uses the default of zlib.
const LEVEL: u32 = 6;

/// `stream` as one zlib stream; none if there is no memory.
pub(super) fn encode(stream: &[u8]) -> Option<Vec<u8>> {
    // Traces usually shrink to a quarter or less.
    let out = Vec::with_capacity(stream.len() / 4 + 64);
    let mut encoder = ZlibEncoder::new(out, Compression::new(LEVEL));
    encoder.write_all(stream).ok()?;
    encoder.finish().ok()
}
