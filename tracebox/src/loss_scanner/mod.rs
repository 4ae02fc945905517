//! What a trace itself says about what it lacks.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::FileExt;

use flate2::read::ZlibDecoder;
use protozero::decode::FrameReader;
use protozero::{Reader, Value};
use structured_zstd::decoding::StreamingDecoder;

/// Bytes of a file, or of what was compressed, looked at in one go.
const BLOCK_BYTES: usize = 128 * 1024;

/// Finds packets that follow a gap in their sequence, by `TracePacket.previous_packet_dropped`. The
/// service sets it for what it lost, and a producer for what it could not write at all, which no
/// counter knows of.
#[derive(Default, Debug)]
pub struct LossScanner {
    /// How many.
    pub found: u64,
    sequences: BTreeSet<u64>,
    /// The fields at the end of the last packet, from the service's first one on.
    suffix: Vec<u8>,
    /// Compressed packets are opened. It takes its time.
    thorough: bool,
}

impl LossScanner {
    const TRUSTED_UID: u32 = 3;
    const SEQUENCE_ID: u32 = 10;
    const PREVIOUS_PACKET_DROPPED: u32 = 42;
    /// First byte of the tag of that.
    const DROPPED_TAG: u8 = 0xd0;
    /// Lost, for a reason that is not told. A service of today says so of every first packet of a
    /// sequence, where nothing need be missing.
    const PRESENT: u64 = 1;
    /// Number of `Trace.packet`, also of what is compressed.
    const PACKET: u32 = 1;
    const COMPRESSED_PACKETS: u32 = 50;
    const ZSTD_COMPRESSED_PACKETS: u32 = 133;

    /// With `thorough` also in packets that are compressed.
    #[must_use]
    pub fn new(thorough: bool) -> Self {
        Self { thorough, ..Self::default() }
    }

    /// Looks at all packets of a trace file, from its beginning.
    ///
    /// # Errors
    /// When it cannot be read, or is no trace.
    pub fn look_through(&mut self, file: &File) -> io::Result<()> {
        self.scan(Whole { file, at: 0 })
    }

    fn scan(&mut self, mut input: impl Read) -> io::Result<()> {
        let no_trace = |error| io::Error::new(ErrorKind::InvalidData, error);
        let mut stream = FrameReader::new().skip_other_fields();
        let mut block = vec![0; BLOCK_BYTES];
        loop {
            let len = match input.read(&mut block) {
                Ok(0) => return stream.finish().map_err(no_trace),
                Ok(len) => len,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let mut frames = stream.read_block(block.get(..len).unwrap_or_default());
            while let Some(frame) = frames.next_frame().map_err(no_trace)? {
                if frame.number == Self::PACKET {
                    self.look(frame.body);
                }
            }
        }
    }

    /// Looks into compressed packets. One that cannot be opened is a gap.
    fn look_inside(&mut self, number: u32, stream: &[u8]) {
        // Packets that are compressed twice are nothing a service writes.
        self.thorough = false;
        let looked = match number {
            Self::COMPRESSED_PACKETS => self.scan(ZlibDecoder::new(stream)),
            _ => self.scan(StreamingDecoder::new(stream)),
        };
        self.thorough = true;
        self.found += u64::from(looked.is_err());
        self.suffix.clear();
    }

    /// Looks at one packet.
    #[inline]
    pub fn look(&mut self, packet: &[u8]) {
        // The service says the same behind each packet of a sequence, and packets of one sequence come one
        // after the other: what ends as the last one did belongs to its sequence, and nothing was lost
        // before it unless its own fields say so.
        if !self.suffix.is_empty()
            && let Some(own) = packet.strip_suffix(&self.suffix[..])
            && !own.contains(&Self::DROPPED_TAG)
        {
            return;
        }
        self.look_closely(packet);
    }

    #[cold]
    fn look_closely(&mut self, packet: &[u8]) {
        let (mut sequence, mut dropped) = (0, 0);
        let mut reader = Reader::new(packet);
        let (mut at, mut trusted_at) = (0, None);
        while let Ok(Some(field)) = reader.next_field() {
            match (field.number, field.value) {
                (Self::TRUSTED_UID, Value::Varint(_)) => trusted_at = Some(at),
                (Self::SEQUENCE_ID, Value::Varint(id)) => sequence = id,
                // The producer's word and the service's may both be there.
                (Self::PREVIOUS_PACKET_DROPPED, Value::Varint(reasons)) => dropped |= reasons,
                (
                    number @ (Self::COMPRESSED_PACKETS | Self::ZSTD_COMPRESSED_PACKETS),
                    Value::Len(stream),
                ) if self.thorough => return self.look_inside(number, stream),
                _ => {}
            }
            at = reader.position();
        }
        let first = self.sequences.insert(sequence);
        self.found += u64::from(dropped > Self::PRESENT || (dropped == Self::PRESENT && !first));
        self.suffix.clear();
        if dropped == 0
            && let Some(suffix) = trusted_at.and_then(|at| packet.get(at..))
        {
            self.suffix.extend_from_slice(suffix);
        }
    }
}

/// A file from its beginning, whoever else has its offset.
struct Whole<'f> {
    file: &'f File,
    at: u64,
}

impl Read for Whole<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let len = self.file.read_at(buf, self.at)?;
        self.at += len as u64;
        Ok(len)
    }
}

#[cfg(test)]
mod tests;
