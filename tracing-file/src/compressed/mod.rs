//! Compressed packets: a packet with field 50 or 133 holds a compressed piece of a trace.
//!
//! [`packets`](crate::packets) unpacks them by itself. This is for programs that look at the packets of a file as they
//! are:
//!
//! ```
//! use std::io::{self, Read};
//! use tracing_file::compressed::{self, Compressed};
//!
//! fn unpack(packet: &[u8]) -> io::Result<Option<Vec<u8>>> {
//!     let Some(Compressed { len, mut unpacked }) = compressed::find(packet) else { return Ok(None) };
//!     assert!(len < packet.len());
//!     let mut trace = Vec::new();
//!     unpacked.read_to_end(&mut trace)?;
//!     Ok(Some(trace))
//! }
//!
//! // A packet with a timestamp.
//! let packet = [0x40, 5];
//! assert_eq!(unpack(&packet)?, None);
//! assert!(!compressed::begins_with_compressed(&packet));
//! assert!(compressed::open(8, &[]).is_none(), "field 8 holds no packets");
//! # Ok::<(), io::Error>(())
//! ```

#[cfg(feature = "compressed")]
mod contained;
#[cfg(feature = "compressed")]
mod inflate;

#[cfg(all(test, feature = "compressed"))]
mod tests;

use std::io::{self, Read};

use protozero::{Reader, Value};

/// `TracePacket.compressed_packets`: zlib format (`trace_packet.proto`).
const DEFLATE: u32 = 50;
/// `TracePacket.zstd_compressed_packets`.
const ZSTD: u32 = 133;

/// The compressed packets within one packet: how long they are, and a reader of what they unpack to.
pub struct Compressed<'p> {
    /// Bytes of the compressed form.
    pub len: usize,
    /// Holds 32 KiB (zlib), or two windows of at most 128 MiB each (zstd).
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
    Some(Compressed { len: stream.len(), unpacked: unpack(number, stream)? })
}

/// The compressed packets within `packet`, with a copy of their bytes.
pub(crate) fn find_owned(packet: &[u8]) -> Option<Box<dyn Read>> {
    let mut reader = Reader::new(packet);
    while let Ok(Some(field)) = reader.next_field() {
        if let Value::Len(stream) = field.value
            && matches!(field.number, DEFLATE | ZSTD)
        {
            return unpack(field.number, io::Cursor::new(stream.to_vec()));
        }
    }
    None
}

/// A reader of what `stream`, the content of field `number`, unpacks to.
#[cfg(feature = "compressed")]
fn unpack<'p>(number: u32, stream: impl Read + 'p) -> Option<Box<dyn Read + 'p>> {
    use self::{contained::Contained, inflate::Inflate};
    Some(match number {
        DEFLATE => Box::new(Contained::new(Inflate::new(stream))),
        ZSTD => Box::new(Contained::new(zrip::FrameDecoder::new(stream))),
        _ => return None,
    })
}

/// Without the feature `compressed`, such packets cannot be read.
#[cfg(not(feature = "compressed"))]
fn unpack<'p>(number: u32, _stream: impl Read + 'p) -> Option<Box<dyn Read + 'p>> {
    struct Refused;
    impl Read for Refused {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("built without the feature `compressed`"))
        }
    }
    matches!(number, DEFLATE | ZSTD).then(|| Box::new(Refused) as Box<dyn Read>)
}

/// Whether a packet that begins with `bytes` begins with compressed packets, as the service writes them.
#[must_use]
pub fn begins_with_compressed(bytes: &[u8]) -> bool {
    // The tags of the two fields, length-delimited.
    bytes.starts_with(&[0x92, 0x03]) || bytes.starts_with(&[0xaa, 0x08])
}
