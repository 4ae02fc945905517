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
pub struct Compressed<'p> {
    /// Bytes of the compressed form.
    pub len: usize,
    /// Holds one window of the format at a time: 32 KiB (zlib) or at most 128 MiB (zstd).
    pub unpacked: Box<dyn Read + 'p>,
}

/// The compressed packets within `packet`, if it holds any.
#[must_use]
pub fn find(packet: &[u8]) -> Option<Compressed<'_>> {
    let mut reader = Reader::new(packet);
    while let Ok(Some(field)) = reader.next_field() {
        if let Value::Len(stream) = field.value
            && let Some(compressed) = open(field.number, stream)
        {
            return Some(compressed);
        }
    }
    None
}

/// The compressed packets that field `number` of a packet holds, if it is such a field.
#[must_use]
pub fn open(number: u32, stream: &[u8]) -> Option<Compressed<'_>> {
    let unpacked: Box<dyn Read> = match number {
        DEFLATE => Box::new(ZlibDecoder::new(stream)),
        ZSTD => Box::new(StreamingDecoder::new(stream)),
        _ => return None,
    };
    Some(Compressed { len: stream.len(), unpacked })
}

/// Whether a packet that begins with `bytes` begins with compressed packets, as the service writes them.
#[must_use]
pub fn begins_with_compressed(bytes: &[u8]) -> bool {
    // The tags of the two fields, length-delimited.
    bytes.starts_with(&[0x92, 0x03]) || bytes.starts_with(&[0xaa, 0x08])
}
