//! Compressed packets: a packet with field 50 or 133 holds a compressed piece of a trace.

use std::io::Read;

use flate2::read::ZlibDecoder;
use protozero::{Reader, Value};
use structured_zstd::decoding::StreamingDecoder;

/// `TracePacket.compressed_packets`: zlib format (`trace_packet.proto`).
const DEFLATE: u32 = 50;
/// `TracePacket.zstd_compressed_packets`.
const ZSTD: u32 = 133;

/// The compressed packets within one packet: how long they are, and a reader of what they unpack to.
pub(super) struct Compressed<'p> {
    pub(super) len: usize,
    /// Holds one window of the format at a time: 32 KiB (zlib) or at most 128 MiB (zstd).
    pub(super) unpacked: Box<dyn Read + 'p>,
}

/// The compressed packets within `packet`, if it holds any.
pub(super) fn find(packet: &[u8]) -> Option<Compressed<'_>> {
    let mut reader = Reader::new(packet);
    while let Ok(Some(field)) = reader.next_field() {
        if let (number @ (DEFLATE | ZSTD), Value::Len(stream)) = (field.number, field.value) {
            let unpacked: Box<dyn Read> = match number {
                DEFLATE => Box::new(ZlibDecoder::new(stream)),
                _ => Box::new(StreamingDecoder::new(stream)),
            };
            return Some(Compressed { len: stream.len(), unpacked });
        }
    }
    None
}
